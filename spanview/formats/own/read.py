"""What spanview writes, read again: the lines of `spanview spans`, and the traces of `spanview export`.

Source: the page `export`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.careful import Careful
from spanview.formats.console.columns import parse_parent
from spanview.formats.rows import ignore_part
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.span import Event, Link, Resource, Scope, Span, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from spanview.model.span import Source

SCHEMA: Final = "spanview/trace-tree/v1"
_KEYS: Final = frozenset(("span_id", "parent_id", "name", "status", "attributes"))
_DIGITS: Final = {"trace_id": TRACE_ID_DIGITS, "span_id": SPAN_ID_DIGITS}
_KEPT_WARNINGS: Final = {flag.name.lower(): flag for flag in (Warnings.BAD_ID, Warnings.ODD_VALUE) if flag.name}
"""Known only from the original record; all others are determined again."""


def is_span(value: Any) -> bool:
    """Tell whether a decoded document is one span of this format, with its trace."""
    return isinstance(value, dict) and "trace_id" in value and value.keys() >= _KEYS


def is_document(value: Any) -> bool:
    """Tell whether a decoded value is a trace tree, one trace of it, or the line of a span."""
    if not isinstance(value, dict) or is_span(value):
        return isinstance(value, dict)
    traces = value.get("traces")
    is_tree = isinstance(traces, list) and (value.get("schema") == SCHEMA or any(map(_is_trace, traces)))
    return is_tree or _is_trace(value)


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "trace_id" in value and isinstance(value.get("roots"), list)


def spans_of(value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
    """Return the spans of a value for which `is_document` holds, parents before their children."""
    if is_span(value):
        return [span_of(value, source)]
    return [span_of({"trace_id": trace_id, **node}, source) for trace_id, node in nodes_of(value, pass_over)]


def nodes_of(value: Any, pass_over: Callable[[Any], None]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield the objects of spans in a tree, or in one trace of it, each with what its trace has for an id."""
    for trace in value["traces"] if isinstance(value.get("traces"), list) else [value]:
        for node in _nodes(trace, pass_over):
            yield trace.get("trace_id"), node


def _nodes(trace: Any, pass_over: Callable[[Any], None]) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of a trace; placeholders have no more than children."""
    pending: list[Any] = []
    if not isinstance(trace, dict) or not isinstance(trace.get("roots"), list):
        pass_over(trace)
    else:
        pending += reversed(trace["roots"])
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            pass_over(node)
            continue
        if node.keys() >= _KEYS:
            yield node
        elif not node.get("missing"):
            pass_over(node)
        children = node.get("children")
        if isinstance(children, list):
            pending += reversed(children)
        elif children is not None or any(map(_holds_node, node.values())):
            pass_over(children)


def _holds_node(value: Any) -> bool:
    """Tell whether a value is a list of nodes, as it is where the key of the children is damaged."""
    return isinstance(value, list) and any(isinstance(part, dict) and "children" in part for part in value)


def span_of(value: Mapping[str, Any], source: Source) -> Span:
    """Return the span of an object for which `is_span` holds; what is unusable in it is left out and marked."""
    reader = Careful()
    warnings = NO_WARNINGS
    for name in reader.items(value.get("warnings")):
        warnings |= _KEPT_WARNINGS.get(name, NO_WARNINGS) if isinstance(name, str) else NO_WARNINGS
    trace_id, span_id = (parse_id(value.get(key), digits) for key, digits in _DIGITS.items())
    parent_id, is_bad = parse_parent(value.get("parent_id"))
    kind, status = value.get("kind"), reader.object(value.get("status"))
    code = status.get("code")
    resource = reader.object(value.get("resource"))
    scope = value.get("scope")
    reader.is_malformed |= (kind is not None and kind not in KIND_NAMES) or code not in STATUS_NAMES
    return Span(
        trace_id=format_trace_id(trace_id) if trace_id != UNUSABLE else None,
        span_id=format_span_id(span_id) if span_id != UNUSABLE else None,
        parent_id=format_span_id(parent_id) if parent_id != UNUSABLE else None,
        name=reader.text(value.get("name")),
        kind_value=KIND_NAMES.index(kind) if kind in KIND_NAMES else None,
        start_ns=reader.time(value.get("start_time")),
        end_ns=reader.time(value.get("end_time")),
        status=Status(
            STATUS_NAMES.index(code) if code in STATUS_NAMES else 0, _text_or_none(reader, status.get("description"))
        ),
        attributes=reader.object(value.get("attributes")),
        events=tuple(_event(reader, event) for event in reader.objects(value.get("events"))),
        links=tuple(_link(reader, link) for link in reader.objects(value.get("links"))),
        trace_state=_texts(reader, value.get("trace_state")),
        resource=Resource(
            reader.object(resource.get("attributes")),
            reader.text(resource.get("schema_url")),
            reader.object(resource.get("extra")),
        ),
        scope=None if scope is None else _scope(reader, reader.object(scope)),
        extra=reader.object(value.get("extra")),
        source=source,
        # Evaluated last: by then, all has been read.
        warnings=warnings | reader.warnings(has_bad_id=is_bad),
    )


def _text_or_none(reader: Careful, value: Any) -> str | None:
    return None if value is None else reader.text(value)


def _texts(reader: Careful, value: Any) -> dict[str, str]:
    return {key: reader.text(text) for key, text in reader.object(value).items()}


def _event(reader: Careful, event: Mapping[str, Any]) -> Event:
    return Event(
        reader.text(event.get("name")),
        reader.time(event.get("timestamp")),
        reader.object(event.get("attributes")),
        reader.object(event.get("extra")),
    )


def _link(reader: Careful, link: Mapping[str, Any]) -> Link:
    trace_id, span_id = (_id_of_link(reader, link.get(key), digits) for key, digits in _DIGITS.items())
    return Link(
        format_trace_id(trace_id) if trace_id != UNUSABLE else None,
        format_span_id(span_id) if span_id != UNUSABLE else None,
        _texts(reader, link.get("trace_state")),
        reader.object(link.get("attributes")),
        reader.object(link.get("extra")),
    )


def _id_of_link(reader: Careful, value: Any, digits: int) -> int:
    number = parse_id(value, digits)
    reader.is_malformed |= number == UNUSABLE and value is not None
    return number


def _scope(reader: Careful, scope: Mapping[str, Any]) -> Scope:
    return Scope(
        reader.text(scope.get("name")),
        _text_or_none(reader, scope.get("version")),
        _text_or_none(reader, scope.get("schema_url")),
        reader.object(scope.get("attributes")),
        reader.object(scope.get("extra")),
    )
