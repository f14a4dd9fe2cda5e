"""The JSON of the OpenTelemetry SDK's console exporter, in all spellings from SDK 1.0.0rc1 on.

Source: `ReadableSpan.to_json` of opentelemetry-sdk. Ids are written with or without `0x`, the resource flat (up to
1.11) or nested, `trace_state` as the repr of a list of Python, a start time of zero as null.
"""

from __future__ import annotations

from array import array
from operator import le
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.formats.jsontext import dumps_strict
from spanview.formats.rows import SpanColumns, join_columns
from spanview.model.codes import KIND_NAMES, KIND_UNSPECIFIED, STATUS_NAMES
from spanview.model.ids import (
    SPAN_ID_DIGITS,
    TRACE_ID_DIGITS,
    UNUSABLE,
    parse_id,
    parse_sdk_span_ids,
    parse_sdk_trace_ids,
)
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME, parse_sdk_times, parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KINDS: Final = {spelling: value for value, name in enumerate(KIND_NAMES) for spelling in (f"SpanKind.{name}", name)}
_STATUSES: Final = {
    spelling: value for value, name in enumerate(STATUS_NAMES) for spelling in (name, f"StatusCode.{name}")
}
_NO_END: Final = int(Warnings.NO_END)
_NEGATIVE: Final = int(Warnings.NEGATIVE_DURATION)
_BAD_ID: Final = int(Warnings.BAD_ID)
_ODD_VALUE: Final = int(Warnings.ODD_VALUE)
_NO_PARENT: Final = "0x" + "0" * SPAN_ID_DIGITS
_MAX_ONE_BY_ONE: Final = 8
"""Spans that are converted one by one when one of them isn't as the SDK writes it."""

Fields: TypeAlias = tuple[Any, ...]
"""What the columns need of a span that is built as the SDK builds it, as the file has it: name, trace id, span id,
parent id, kind, start, end, status code, service."""

_Row: TypeAlias = tuple[int, int, int, int, int, str, str, int, int, int]
"""One span's values, in the order of `SpanColumns`."""


def is_span(value: Any) -> bool:
    """Tell whether a decoded document is a span of this format, and no event, link or foreign object."""
    return (
        isinstance(value, dict)
        and "name" in value
        and isinstance(value.get("context"), dict)
        and not value.keys().isdisjoint(("start_time", "end_time", "kind", "parent_id"))
    )


def fields_of(document: Any) -> Fields | Any:
    """Return what the columns need of a span that is built as the SDK builds it; any other document as it is.

    It is called for every span: what isn't a dict fails where something is looked up in it.
    """
    try:
        events, links, status = document["events"], document["links"], document["status"]
        if type(document["attributes"]) is not dict or not type(events) is type(links) is list:
            return document
        if (events or links or len(status) > 1) and _has_malformed_parts(document):
            return document
        context, resource = document["context"], document["resource"]
        if type(context["trace_state"]) is not str or type(resource.get("schema_url", "")) is not str:
            return document
        try:
            service = resource["attributes"]["service.name"]
        except KeyError:
            service = resource.get("attributes", resource).get("service.name", "")
        return (
            document["name"],
            context["trace_id"],
            context["span_id"],
            document["parent_id"],
            document["kind"],
            document["start_time"],
            document["end_time"],
            status["status_code"],
            service,
        )
    except (KeyError, TypeError, AttributeError):
        return document


def columns_of(spans: Sequence[Fields | dict[str, Any]]) -> SpanColumns:
    """Return the columns of spans, each as `fields_of` returns it; for documents, `is_span` must hold.

    They are converted column by column for all spans at once. Where one of them isn't as the SDK writes it, its
    neighbors go through `lenient_row` with it, which gives the same for every document.
    """
    parts: list[SpanColumns] = []
    pending: list[Sequence[Any]] = [spans] if spans else []
    while pending:
        part = pending.pop()
        columns = _columns_at_once(part) if {*map(type, part)} == {tuple} else None
        if columns is not None:
            parts.append(columns)
        elif len(part) <= _MAX_ONE_BY_ONE:
            parts.append(SpanColumns(*zip(*map(lenient_row, map(_document_of, part)), strict=True)))
        else:
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
    return parts[0] if len(parts) == 1 else join_columns(parts)


def _document_of(span: Fields | dict[str, Any]) -> dict[str, Any]:
    if isinstance(span, dict):
        return span
    name, trace_id, span_id, parent_id, kind, start, end, status, service = span
    return {
        "name": name,
        "context": {"trace_id": trace_id, "span_id": span_id},
        "parent_id": parent_id,
        "kind": kind,
        "start_time": start,
        "end_time": end,
        "status": {"status_code": status},
        "resource": {"attributes": {"service.name": service}},
    }


def _columns_at_once(spans: Sequence[Fields]) -> SpanColumns | None:
    count = len(spans)
    try:
        names, trace_ids, span_ids, parents, kinds, starts, ends, statuses, services = zip(*spans, strict=True)
        times = parse_sdk_times(starts + ends)
        parent_ids = [_NO_PARENT if parent is None else parent for parent in parents]
        ids = parse_sdk_span_ids([*span_ids, *parent_ids])
        columns = SpanColumns(
            trace_ids=parse_sdk_trace_ids(trace_ids),
            span_ids=ids[:count],
            parent_ids=ids[count:],
            start_ns=array("q", times[:count]),
            end_ns=array("q", times[count:]),
            names=_sharing_equal_texts(names),
            services=_sharing_equal_texts(services),
            kinds=array("B", bytes(map(_KINDS.__getitem__, kinds))),
            statuses=array("B", bytes(map(_STATUSES.__getitem__, statuses))),
            warnings=array("H", bytes(2 * count)),
        )
    except (KeyError, TypeError, ValueError):
        return None
    has_no_warnings = (
        {*map(type, names), *map(type, services)} == {str}
        and all(columns.trace_ids)
        and all(columns.span_ids)
        and all(map(le, columns.start_ns, columns.end_ns))
    )
    return columns if has_no_warnings else None


def _sharing_equal_texts(texts: Sequence[str]) -> list[str]:
    """Return texts with equal ones as one object, which saves memory and bytes sent to other processes."""
    known: dict[str, str] = {}
    return [*map(known.setdefault, texts, texts)]


def lenient_row(span: dict[str, Any]) -> _Row:
    """Return the columns of a span in any spelling, with a warning for what is unusable in it."""
    warnings = 0
    context = span["context"]
    trace_id = parse_id(context.get("trace_id"), TRACE_ID_DIGITS)
    span_id = parse_id(context.get("span_id"), SPAN_ID_DIGITS)
    parent_id, parent_is_bad = parse_parent(span.get("parent_id"))
    if UNUSABLE in (trace_id, span_id) or parent_is_bad:
        warnings |= _BAD_ID
    start, end = parse_time(span.get("start_time")), parse_time(span.get("end_time"))
    if (start == NO_TIME and span.get("start_time") is not None) or (
        end == NO_TIME and span.get("end_time") is not None
    ):
        warnings |= _ODD_VALUE
    if end == NO_TIME:
        warnings |= _NO_END
    elif start != NO_TIME and end < start:
        warnings |= _NEGATIVE
    attributes = resource_attributes(span.get("resource"))
    name, service = span["name"], attributes.get("service.name", "")
    kind, status = _lookup(_KINDS, span.get("kind")), _lookup(_STATUSES, _status_code(span.get("status")))
    if not isinstance(name, str) or kind is None or status is None or _has_malformed_parts(span):
        warnings |= _ODD_VALUE
    return (
        trace_id,
        span_id,
        parent_id,
        start,
        end,
        as_text(name),
        service if isinstance(service, str) else "",
        KIND_UNSPECIFIED if kind is None else kind,
        status or 0,
        warnings,
    )


def _has_malformed_parts(span: Mapping[str, Any]) -> bool:
    """Tell whether something in a span has a type that it can't have, so that it is left out or shown as text."""
    status, events, links = span.get("status", {}), span.get("events", []), span.get("links", [])
    if not (isinstance(events, list) and isinstance(links, list) and isinstance(span.get("attributes", {}), dict)):
        return True
    description = status.get("description") if isinstance(status, dict) else None
    resource = span.get("resource", {})
    return (
        not isinstance(resource, dict)
        or ("attributes" in resource and not isinstance(resource.get("schema_url"), str | None))
        or not isinstance(span["context"].get("trace_state"), str | None)
        or not isinstance(description, str | None)
        or not all(map(is_event, events))
        or not all(map(_is_link, links))
    )


def is_event(event: Any) -> bool:
    """Tell whether an event is one, with nothing of a type that it can't have."""
    return (
        isinstance(event, dict)
        and isinstance(event.get("name"), str)
        and isinstance(event.get("attributes", {}), dict | None)
        and (event.get("timestamp") is None or parse_time(event["timestamp"]) != NO_TIME)
    )


def _is_link(link: Any) -> bool:
    return (
        isinstance(link, dict)
        and isinstance(link.get("context"), dict)
        and isinstance(link.get("attributes", {}), dict | None)
        and isinstance(link["context"].get("trace_state"), str | None)
        and parse_id(link["context"].get("trace_id"), TRACE_ID_DIGITS) != UNUSABLE
        and parse_id(link["context"].get("span_id"), SPAN_ID_DIGITS) != UNUSABLE
    )


def parse_parent(value: object) -> tuple[int, bool]:
    """Return the parent's id, and whether the file has one there that is unusable; all zeros mean no parent."""
    parent_id = parse_id(value, SPAN_ID_DIGITS)
    is_none = (
        value is None or value == "" or (isinstance(value, str) and not value.lower().removeprefix("0x").strip("0"))
    )
    return parent_id, parent_id == UNUSABLE and not is_none


def _lookup(table: Mapping[str, int], key: object) -> int | None:
    return table.get(key) if isinstance(key, str) else None


def _status_code(status: object) -> object:
    return status.get("status_code") if isinstance(status, dict) else status


def resource_attributes(resource: object) -> Mapping[str, Any]:
    """Return the attributes of a resource, flat or nested."""
    if not isinstance(resource, dict):
        return {}
    attributes = resource.get("attributes")
    return attributes if isinstance(attributes, dict) else resource


def as_text(value: object) -> str:
    """Return a name as text, whatever JSON type the file gives it; what is nested as JSON, however deep."""
    if isinstance(value, dict | list):
        return dumps_strict(value).decode()
    return value if isinstance(value, str) else "" if value is None else str(value)
