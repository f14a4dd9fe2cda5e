"""One span as JSON: the object that the trace tree nests and that the flat export prints a line of."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import orjson

from spanview.formats.jsontext import INVALID_TEXT, dumps_strict, is_valid_text, parts_in
from spanview.formats.tags import ignore_loss
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.span import BytesText
from spanview.model.times import format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.model.span import Event, Link, Resource, Scope, Span, Status

_NULL: Final = b"null"
"""What the quick encoder writes for NaN and infinities; see `dumps_span`."""


def span_value(span: Span, self_time_ns: int | None, of_tree: Warnings = NO_WARNINGS) -> dict[str, Any]:
    """Return the JSON object of a span, its keys in the order of the trace-tree format, without trace and children.

    Args:
        self_time_ns: How much of its duration has nothing below it that runs; None where there is no duration.
        of_tree: Warnings that only the tree has.
    """
    return {
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "kind": span.kind_name,
        "start_time": format_time(span.start_ns),
        "end_time": format_time(span.end_ns),
        "duration_ns": span.duration_ns,
        "self_time_ns": self_time_ns,
        "status": _status(span.status),
        "attributes": span.attributes,
        "events": [_event(event) for event in span.events] if span.events else [],
        "links": [_link(link) for link in span.links] if span.links else [],
        "trace_state": span.trace_state,
        "resource": {
            "attributes": span.resource.attributes,
            "schema_url": span.resource.schema_url,
            **_extra(span.resource),
        },
        "scope": None if span.scope is None else _scope(span.scope),
        **_extra(span),
        "source": {"file": span.source.file, "offset": span.source.offset, "length": span.source.length},
        "warnings": warning_names(span.warnings.value | of_tree.value),
    }


def dumps_span(value: dict[str, Any], lose: Callable[[str], None] = ignore_loss) -> bytes:
    """Encode a span's object as strict JSON.

    The quick encoder silently writes NaN and infinities as null. So the nulls in its text are compared with those that
    the fields of the span, its resource and its scope account for: if there are more, each value is checked.
    """
    text = b""
    with suppress(orjson.JSONEncodeError):
        text = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
        parts = value, value.get("resource"), value.get("scope")
        if text.count(_NULL) == sum([*part.values()].count(None) for part in parts if isinstance(part, dict)):
            return text
    losses = [sentence for part in parts_in(value) if (sentence := _lost_of(part))]
    for sentence in losses:
        lose(sentence)
    return dumps_strict(value) if losses or not text else text


def _lost_of(part: Any) -> str:
    """Return what JSON can't represent of a value that isn't nested; "" if nothing."""
    if isinstance(part, float):
        return "" if isfinite(part) else "wrote {non-finite number} as text"
    if isinstance(part, BytesText):
        return "wrote {bytes value} as base64 text"
    return INVALID_TEXT if isinstance(part, str) and not is_valid_text(part) else ""


def _status(status: Status) -> dict[str, str]:
    value = {"code": str(status)}
    if status.description is not None:
        value["description"] = status.description
    return value


def _event(event: Event) -> dict[str, Any]:
    return {
        "name": event.name,
        "timestamp": format_time(event.timestamp_ns),
        "attributes": event.attributes,
        **_extra(event),
    }


def _link(link: Link) -> dict[str, Any]:
    return {
        "trace_id": link.trace_id,
        "span_id": link.span_id,
        "trace_state": link.trace_state,
        "attributes": link.attributes,
        **_extra(link),
    }


def _scope(scope: Scope) -> dict[str, Any]:
    return {
        "name": scope.name,
        "version": scope.version,
        "schema_url": scope.schema_url,
        "attributes": scope.attributes,
        **_extra(scope),
    }


def _extra(part: Span | Resource | Scope | Event | Link) -> dict[str, Any]:
    """Return what only some formats have, if any."""
    return {"extra": part.extra} if part.extra else {}


@cache
def warning_names(bits: int) -> list[str]:
    """Return the names of a combination of warnings; the lists are shared and not to be changed."""
    return Warnings(bits).names()
