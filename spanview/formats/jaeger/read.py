"""Jaeger's JSON: what its query service answers with, and what its user interface downloads.

Source: `internal/uimodel/model.go` of jaegertracing/jaeger; the parts of a span that are tags are those of
"OpenTelemetry to Jaeger Transformation". What only Jaeger has is in `extra` under `jaeger`, so that a trace is
written as it was read but for the order of tags, the names of processes and what is no valid Jaeger.

document                                        span
--------                                        ----
references, the first one within the trace      parent_id
all other references                            links
processes                                       resource
tags span.kind, error, otel.status_…, …scope…   kind, status, scope
logs, and their field `event`                   events, and their names
startTime 0                                     no start
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.careful import Careful
from spanview.formats.console.columns import as_text
from spanview.formats.jaeger.write import (
    EVENT,
    EVENT_DROPPED,
    FORMAT,
    KINDS,
    NO_END,
    PARENT_TYPES,
    is_count,
    log_of,
    process_of,
    references_of,
    tag_changes,
    tag_of,
    tags_of,
    texts_in,
)
from spanview.formats.rows import ignore_part
from spanview.formats.tags import (
    ERROR_TAG,
    KIND,
    STATUS_CODE,
    STATUS_DESCRIPTION,
    Tags,
    ignore_loss,
    short_trace_id,
    status_named,
    take_shared,
    time_of_micros,
    times_of,
)
from spanview.model.codes import ERROR
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id
from spanview.model.span import BytesText, Event, Link, Resource, Span, Status
from spanview.model.times import NO_TIME, known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.model.span import Source

# `-42`: an int64 as text.
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_NON_FINITE_NAMES: Final = ("NaN", "Infinity", "-Infinity")
_BOOLS: Final = {"true": True, "false": False}
_RESPONSE_KEYS: Final = frozenset(("total", "limit", "offset", "errors"))


def is_document(value: Any) -> bool:
    """Tell whether a decoded value is a document, `{"data": [trace, …]}` or `{"data": trace}`, or one trace of it."""
    if not isinstance(value, dict):
        return False
    data = value.get("data")
    if isinstance(data, list):
        return any(map(_is_trace, data)) or (not data and not _RESPONSE_KEYS.isdisjoint(value))
    return _is_trace(data) or _is_trace(value)


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "traceID" in value and isinstance(value.get("spans"), list)


def spans_of(value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
    """Return the spans of a value for which `is_document` holds, in its order."""
    return [span for trace in traces_in(value, pass_over) for span in _spans_of_trace(trace, source, pass_over)]


def traces_in(value: dict[str, Any], pass_over: Callable[[Any], None]) -> Iterator[dict[str, Any]]:
    """Yield the traces of a value for which `is_document` holds; data that isn't one goes to `pass_over`."""
    data = value.get("data")
    traces = data if isinstance(data, list) else [data if _is_trace(data) else value]
    return _valid_parts(traces, _is_trace, pass_over)


def valid_records(trace: dict[str, Any], pass_over: Callable[[Any], None]) -> Iterator[dict[str, Any]]:
    """Yield the objects of spans of a trace; data that isn't one goes to `pass_over`."""
    return _valid_parts(trace["spans"], lambda part: isinstance(part, dict), pass_over)


def resources_of(trace: dict[str, Any]) -> dict[str, tuple[Resource, bool]]:
    """Return the resource of each process of a trace by its name, and whether the process is malformed."""
    processes = trace.get("processes")
    return {name: _resource(process) for name, process in (processes.items() if isinstance(processes, dict) else ())}


def _valid_parts(parts: list[Any], is_one: Callable[[Any], bool], pass_over: Callable[[Any], None]) -> Iterator[Any]:
    """Yield those parts that are what they should be."""
    for part in parts:
        if is_one(part):
            yield part
        else:
            pass_over(part)


def _spans_of_trace(trace: dict[str, Any], source: Source, pass_over: Callable[[Any], None]) -> list[Span]:
    resources = resources_of(trace)
    spans = [span_of(span, trace, resources, source) for span in valid_records(trace, pass_over)]
    warnings = texts_in(trace.get("warnings"))
    if spans and warnings:
        spans[0] = _with_own(spans[0], {"traceWarnings": warnings})
    return spans


def _with_own(span: Span, own: dict[str, Any]) -> Span:
    return replace(span, extra={**span.extra, FORMAT: {**span.extra.get(FORMAT, {}), **own}}) if own else span


def span_of(
    span: dict[str, Any], trace: dict[str, Any], resources: dict[str, tuple[Resource, bool]], source: Source
) -> Span:
    """Return one span; what is unusable in it is left out, or shown as text, and marked."""
    own_trace = trace["traceID"] if span.get("traceID") is None else span["traceID"]
    trace_id, span_id = parse_id(own_trace, TRACE_ID_DIGITS), parse_id(span.get("spanID"), SPAN_ID_DIGITS)
    raw_references, is_bad = _references(span, trace_id)
    parent_id, links = _family(raw_references, trace_id)
    reader = Careful()
    start, end, reader.is_malformed = times_of(span.get("startTime"), span.get("duration"))
    pairs = _pairs(reader, span.get("tags"))
    all_warnings = texts_in(span.get("warnings"))
    kept_warnings = [text for text in all_warnings if text != NO_END]
    if len(kept_warnings) < len(all_warnings) and span.get("duration") == 0:
        end = NO_TIME
    events = _events(reader, span.get("logs"))
    process = span.get("processID")
    if isinstance(span.get("process"), dict):
        resource, resource_is_malformed = _resource(span["process"])
    else:
        resource, resource_is_malformed = resources.get(process if isinstance(process, str) else "", (Resource(), True))
    reader.is_malformed |= resource_is_malformed or not isinstance(span.get("operationName"), str)
    tags = Tags(pairs)
    scope, trace_state, extra = take_shared(tags)
    kind = tags.take(KIND, lambda value: KINDS.get(value) if isinstance(value, str) else None)
    status = _status(tags)
    read = Span(
        trace_id=format_trace_id(trace_id) if trace_id != UNUSABLE else None,
        span_id=format_span_id(span_id) if span_id != UNUSABLE else None,
        parent_id=parent_id,
        name=as_text(span.get("operationName")),
        kind_value=kind,
        start_ns=known(start),
        end_ns=known(end),
        status=status,
        attributes=dict(tags.pairs),
        events=events,
        links=links,
        trace_state=trace_state,
        resource=resource,
        scope=scope,
        extra=extra,
        source=source,
        warnings=reader.warnings(has_bad_id=is_bad or UNUSABLE in (trace_id, span_id)),
    )
    return _with_own(read, _own(read, span, pairs, raw_references, kept_warnings))


def _own(
    decoded: Span,
    span: dict[str, Any],
    pairs: list[tuple[str, Any]],
    references: list[dict[str, Any]],
    warnings: list[str],
) -> dict[str, Any]:
    """Return what the span's other fields don't keep: whatever would be lost when it is written again."""
    if decoded.trace_id is None or decoded.span_id is None:
        return {}
    own = tag_changes(tags_of(decoded), [tag_of(key, value) for key, value in pairs])
    if references_of(decoded) != references:
        own["references"] = references
    if decoded.end_ns is None and is_count(span.get("duration")) and NO_END not in texts_in(span.get("warnings")):
        own["duration"] = span["duration"]
    if is_count(span.get("flags")):
        own["flags"] = span["flags"]
    return {**own, "warnings": warnings} if warnings else own


def _status(tags: Tags) -> Status:
    failed = tags.take(ERROR_TAG, lambda value: True if value is True or value == "true" else None)
    code = tags.take(STATUS_CODE, status_named)
    return Status(ERROR if failed else code or 0, tags.take_text(STATUS_DESCRIPTION))


def _references(span: dict[str, Any], trace_id: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the usable references as they are written, and whether there are others."""
    references, is_bad = span.get("references"), False
    items = references if isinstance(references, list) else [] if references is None else [references]
    if not items and parse_id(span.get("parentSpanID"), SPAN_ID_DIGITS) != UNUSABLE:
        # As it was before there were references.
        items = [{"refType": "CHILD_OF", "traceID": None, "spanID": span["parentSpanID"]}]
    usable = []
    for item in items:
        kind, id_of_trace, id_of_span = (
            (item.get("refType"), item.get("traceID"), parse_id(item.get("spanID"), SPAN_ID_DIGITS))
            if isinstance(item, dict)
            else (None, None, UNUSABLE)
        )
        of_trace = trace_id if id_of_trace is None else parse_id(id_of_trace, TRACE_ID_DIGITS)
        if UNUSABLE in (of_trace, id_of_span) or not isinstance(kind, str):
            is_bad = True
            continue
        usable.append(
            {
                "refType": kind,
                "traceID": short_trace_id(format_trace_id(of_trace)),
                "spanID": format_span_id(id_of_span),
            }
        )
    return usable, is_bad


def _family(references: list[dict[str, Any]], trace_id: int) -> tuple[str | None, tuple[Link, ...]]:
    """Return the parent's id and the links."""
    parent_id, links = None, []
    for reference in references:
        of_trace = parse_id(reference["traceID"], TRACE_ID_DIGITS)
        if parent_id is None and of_trace == trace_id and reference["refType"] in PARENT_TYPES:
            parent_id = reference["spanID"]
        else:
            links.append(Link(format_trace_id(of_trace), reference["spanID"]))
    return parent_id, tuple(links)


def _resource(process: Any) -> tuple[Resource, bool]:
    """Return the resource of a process, and whether the process is malformed."""
    if not isinstance(process, dict):
        return Resource(), True
    reader = Careful()
    pairs, name = _pairs(reader, process.get("tags")), reader.text(process.get("serviceName"))
    attributes = {**({"service.name": name} if name else {}), **dict(pairs)}
    if name:
        attributes["service.name"] = name
    resource = Resource(attributes)
    written = process_of(resource, ignore_loss)
    own = tag_changes(written["tags"], [tag_of(key, value) for key, value in pairs])
    return (replace(resource, extra={FORMAT: own}) if own else resource), reader.is_malformed


def _events(reader: Careful, logs: Any) -> tuple[Event, ...]:
    """Return the events of a span's logs."""
    events = []
    for log in reader.objects(logs):
        time, is_malformed = time_of_micros(log.get("timestamp"))
        pairs = _pairs(reader, log.get("fields"))
        reader.is_malformed |= is_malformed
        tags = Tags(pairs)
        name = tags.take(EVENT, lambda value: value if isinstance(value, str) and value else None)
        dropped = tags.take(EVENT_DROPPED, lambda value: value if type(value) is int and 0 < value < 2**32 else None)
        extra = {} if dropped is None else {"dropped_attributes_count": dropped}
        event = Event(name or "", known(time), dict(tags.pairs), extra)
        own = tag_changes(log_of(event)["fields"], [tag_of(key, value) for key, value in pairs])
        events.append(replace(event, extra={**extra, FORMAT: own}) if own else event)
    return tuple(events)


def _pairs(reader: Careful, tags: Any) -> list[tuple[str, Any]]:
    """Return keys and values of tags."""
    pairs = []
    for tag in reader.objects(tags):
        if isinstance(tag.get("key"), str):
            kind, value = tag.get("type"), tag.get("value")
            is_text = kind == "string" and type(value) is str
            pairs.append((tag["key"], value if is_text else _value(reader, kind, value)))
        else:
            reader.is_malformed = True
    return pairs


def _value(reader: Careful, kind: Any, value: Any) -> Any:
    """Return the value of a tag in its type; one that has another is shown as text."""
    in_type = _TYPES.get(kind) if isinstance(kind, str) else None
    if in_type is None:
        reader.is_malformed |= not isinstance(kind, str | None)
        return value
    read = in_type(value)
    reader.is_malformed |= read is None
    return as_text(value) if read is None else read


def _integer(value: Any) -> int | None:
    """Return an integer, which is text where it is a large one."""
    if isinstance(value, str):
        return int(value) if _INTEGER.fullmatch(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in _NON_FINITE_NAMES):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "string": lambda value: value if isinstance(value, str) else None,
    "binary": lambda value: BytesText(value) if isinstance(value, str) else None,
    "bool": lambda value: value if isinstance(value, bool) else _BOOLS.get(value) if isinstance(value, str) else None,
    "int64": _integer,
    "float64": _float,
}
"""What reads a value of each type; None for one of another type."""
