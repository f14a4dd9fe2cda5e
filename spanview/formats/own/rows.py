"""The rows of spanview's own spans that are just as it writes them, without making spans of them.

Whatever isn't usual is left to `read`, which gives the same for all that is.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.own.read import is_document, is_span, nodes_of, span_of, spans_of
from spanview.formats.rows import Row, ignore_part
from spanview.formats.usual import NOWHERE, names_in, row_of_span, time_warnings, usual_ids
from spanview.model.codes import KIND_NAMES, KIND_UNSPECIFIED, STATUS_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, parse_id
from spanview.model.times import NO_TIME, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["is_document", "is_span", "kept_quickly", "rows_of", "spans_of"]

_KEYS: Final = (
    *("span_id", "parent_id", "name", "kind", "start_time", "end_time", "status", "attributes", "events", "links"),
    *("trace_state", "resource", "scope", "warnings"),
)
"""Of a span, those that a row is made of."""
_MORE: Final = frozenset(("extra", "wait_ns", "waited_for", "on_critical_path"))
"""Keys that only some have, and no row needs."""
_ALL: Final = frozenset((*_KEYS, "trace_id", "duration_ns", "self_time_ns", "source"))
_fields: Final = itemgetter(*_KEYS)
_TYPES: Final = (str, dict, dict, list, list, dict, dict, list)
"""Of name, status, attributes, events, links, trace state, resource and warnings."""
_KINDS: Final = {None: KIND_UNSPECIFIED} | {name: number for number, name in enumerate(KIND_NAMES)}
_STATUSES: Final = {name: number for number, name in enumerate(STATUS_NAMES)}
_KEPT: Final = frozenset(("bad_id", "odd_value"))
"""Warnings that only the original record shows."""


def kept_quickly(document: dict[str, Any]) -> Row | None:
    """Return the row of a line with one span; None for anything else, and for what isn't usual."""
    if len(document) - len(document.keys() & _MORE) != len(_ALL) or not document.keys() >= _ALL:
        return None
    return _row(document["trace_id"], document)


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    nodes = [(value["trace_id"], value)] if is_span(value) else nodes_of(value, pass_over)
    return [
        _row(node.get("trace_id", trace_id), node) or row_of_span(span_of({"trace_id": trace_id, **node}, NOWHERE))
        for trace_id, node in nodes
    ]


def _row(trace_id: Any, node: Mapping[str, Any]) -> Row | None:
    """Return the row of a span; None where something isn't usual."""
    try:
        span_id, parent_id, name, kind, start_time, end_time, status, attributes, events, links, state, *rest = _fields(
            node
        )
        resource, scope, warnings = rest
        types = (*map(type, (name, status, attributes, events, links, state, resource, warnings)),)
        ids, start, end = usual_ids(trace_id, span_id, parent_id), parse_time(start_time), parse_time(end_time)
        if (
            types != _TYPES
            or (len(status) > 1 and type(status.get("description", "")) is not str)
            or (start == NO_TIME and start_time is not None)
            or (end == NO_TIME and end_time is not None)
            or not (_KEPT.isdisjoint(warnings) if warnings else True)
            or not (_are_texts(state) if state else True)
            or not (all(map(_is_event, events)) and all(map(_is_link, links)))
            or not (scope is None or _is_scope(scope))
            or type(resource["schema_url"]) is not str
            or not (_has_extra(resource) and _has_extra(node))
        ):
            return None
        service, process = names_in(resource["attributes"])
        return Row(
            (
                *(ids, start, end, name, service, _KINDS[kind], _STATUSES[status["code"]]),
                *(time_warnings(start, end), process),
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _are_texts(state: dict[str, Any]) -> bool:
    return {*map(type, state.values())} <= {str}


def _has_extra(part: Mapping[str, Any]) -> bool:
    """Tell whether what other formats have of a part is an object, if there is any."""
    return "extra" not in part or type(part["extra"]) is dict


def _is_event(event: dict[str, Any]) -> bool:
    time = event["timestamp"]
    return (
        (type(event["name"]), type(event["attributes"])) == (str, dict)
        and (time is None or parse_time(time) != NO_TIME)
        and _has_extra(event)
    )


def _is_link(link: dict[str, Any]) -> bool:
    return (
        (type(link["trace_state"]), type(link["attributes"])) == (dict, dict)
        and parse_id(link["trace_id"], TRACE_ID_DIGITS) != UNUSABLE
        and parse_id(link["span_id"], SPAN_ID_DIGITS) != UNUSABLE
        and _are_texts(link["trace_state"])
        and _has_extra(link)
    )


def _is_scope(scope: dict[str, Any]) -> bool:
    return (
        (type(scope["name"]), type(scope["attributes"])) == (str, dict)
        and type(scope["version"]) in {str, type(None)}
        and type(scope["schema_url"]) in {str, type(None)}
        and _has_extra(scope)
    )
