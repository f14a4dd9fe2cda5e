"""Zipkin's v2 JSON: lists of spans, lists of such lists, and single spans.

Source: `zipkin2-api.yaml` of openzipkin/zipkin-api; tags and annotations are read as "OpenTelemetry to Zipkin
Transformation" writes them, and as the OpenTelemetry collector does. What only Zipkin has is in `extra` under
`zipkin`, so that a span is written as it was read but for what is no valid Zipkin. Servers that share their client's id
get one of their own: `zipkin_shared` says how.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.formats.careful import Careful
from spanview.formats.console.columns import as_text
from spanview.formats.rows import ignore_part
from spanview.formats.tags import (
    ERROR_TAG,
    KIND,
    STATUS_CODE,
    STATUS_DESCRIPTION,
    Tags,
    format_state,
    parse_state,
    status_named,
    take_shared,
    time_of_micros,
    times_of,
)
from spanview.formats.zipkin.shared import SpanIds, keys_of
from spanview.formats.zipkin.write import (
    DESCRIBES_NOTHING,
    FORMAT,
    LINK,
    LOCAL,
    REMOTE,
    clean,
    clean_endpoint,
    parse_annotation,
    parse_collectors,
    value_of,
)
from spanview.model.codes import ERROR, KIND_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id
from spanview.model.span import Event, Link, Resource, Span, Status
from spanview.model.times import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.model.span import Source

__all__ = ["is_document", "spans_of", "value_of"]

_Record: TypeAlias = dict[str, Any]
_V1_KEY: Final = "binaryAnnotations"
_ONLY_ZIPKINS: Final = frozenset(("localEndpoint", "remoteEndpoint", "annotations", "shared"))
KEYS: Final = _ONLY_ZIPKINS | {*("traceId", "parentId", "id", "kind", "name", "timestamp", "duration", "debug", "tags")}
"""All keys of a span, and those that tell one from a record of another kind."""
ENDPOINT_KEYS: Final = frozenset(("serviceName", "ipv4", "ipv6", "port"))
_MAX_LINKS: Final = 128


def is_document(value: Any) -> bool:
    """Tell whether a decoded value is a span, a list of spans or a list of such lists."""
    if isinstance(value, list):
        return any(_is_span(part) or (isinstance(part, list) and any(map(_is_span, part))) for part in value)
    return _is_span(value)


def _is_span(value: Any) -> bool:
    """Tell whether a value is a span of Zipkin's: others' records have both ids, too, and write their times as text."""
    if not isinstance(value, dict) or "traceId" not in value or "id" not in value or _V1_KEY in value:
        return False
    keys = value.keys()
    return keys <= KEYS or not keys.isdisjoint(_ONLY_ZIPKINS) or isinstance(value.get("timestamp"), int | float)


def spans_of(value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
    """Return the spans of a value for which `is_document` holds, in its order.

    Servers that share their client's id are separated among all spans of the value: one that is alone keeps its id and
    its parent.
    """
    records = [*records_in(value, pass_over)]
    return [span_of(record, key, source) for record, key in zip(records, keys_of(records), strict=True)]


def records_in(value: Any, pass_over: Callable[[Any], None]) -> Iterator[_Record]:
    """Yield the objects of spans in a value; all else in it goes to `pass_over`."""
    for part in value if isinstance(value, list) else [value]:
        for record in part if isinstance(part, list) else [part]:
            if _is_span(record):
                yield record
            else:
                pass_over(record)


def span_of(record: _Record, key: SpanIds, source: Source) -> Span:
    """Return one span; what is unusable in it is left out, or shown as text, and marked."""
    trace_id, span_id, parent_id = key
    raw_parent = record.get("parentId")
    is_bad = parse_id(raw_parent, SPAN_ID_DIGITS) == UNUSABLE and raw_parent not in (None, "")
    reader = Careful()
    start, end, reader.is_malformed = times_of(record.get("timestamp"), record.get("duration"))
    pairs, events = _pairs(reader, record.get("tags")), _events(reader, record.get("annotations"))
    raw_kind, name = record.get("kind"), reader.text(record.get("name"))
    kind = KIND_NAMES.index(raw_kind) if isinstance(raw_kind, str) and raw_kind in KIND_NAMES else None
    reader.is_malformed |= kind is None and raw_kind not in (None, "")
    tags = Tags(pairs)
    scope, trace_state, extra = take_shared(tags)
    if kind is None:
        kind = tags.take(KIND, lambda value: 0 if value == "internal" else None)
    status, links = _status(tags), tuple(_links(tags))
    attributes = dict(tags.pairs)
    service, local_is_malformed = add_endpoint(attributes, record.get("localEndpoint"), LOCAL)
    peer, remote_is_malformed = add_endpoint(attributes, record.get("remoteEndpoint"), REMOTE)
    reader.is_malformed |= local_is_malformed or remote_is_malformed
    read = Span(
        trace_id=format_trace_id(trace_id) if trace_id != UNUSABLE else None,
        span_id=format_span_id(span_id) if span_id != UNUSABLE else None,
        parent_id=format_span_id(parent_id) if parent_id != UNUSABLE else None,
        name=name,
        kind_value=kind,
        start_ns=known(start),
        end_ns=known(end),
        status=status,
        attributes=attributes,
        events=events,
        links=links,
        trace_state=trace_state,
        resource=Resource({"service.name": service} if service else {}),
        scope=scope,
        extra=extra,
        source=source,
        warnings=reader.warnings(has_bad_id=is_bad or UNUSABLE in (trace_id, span_id)),
    )
    if peer and (value_of(read) or {}).get("remoteEndpoint", {}).get("serviceName") != peer:
        read = replace(read, attributes={REMOTE[0]: peer, **attributes})
    return _with_own(read, record, pairs)


def _with_own(decoded: Span, record: _Record, pairs: list[tuple[str, Any]]) -> Span:
    """Return a span with what its other fields don't keep: whatever would be lost when it is written again."""
    written = value_of(decoded)
    if written is None or written == record:
        return decoded
    raw = clean({**record, "tags": dict(pairs)})
    if raw.get("parentId") == raw.get("id") and "shared" not in raw:
        raw.pop("parentId", None)
    own = {
        key: raw.get(key)
        for key in (*raw, *written)
        if key not in ("tags", "name") and raw.get(key) != written.get(key)
    }
    tags, raw_tags = written.get("tags", {}), raw.get("tags", {})
    changed_tags = {key: raw_tags.get(key) for key in (*raw_tags, *tags) if raw_tags.get(key) != tags.get(key)}
    if changed_tags:
        own["tags"] = changed_tags
    return replace(decoded, extra={**decoded.extra, FORMAT: own}) if own else decoded


def _pairs(reader: Careful, tags: Any) -> list[tuple[str, Any]]:
    """Return keys and texts of tags."""
    texts = reader.object(tags)
    if {*map(type, texts.values())} <= {str}:
        return [*texts.items()]
    reader.is_malformed = True
    return [(key, as_text(text)) for key, text in texts.items()]


def _status(tags: Tags) -> Status:
    """Return the status: a span that has an `error` tag has failed, whatever the tag says."""
    error = tags.take_text(ERROR_TAG)
    code, description = tags.take(STATUS_CODE, status_named), tags.take_text(STATUS_DESCRIPTION)
    if error is not None:
        code = ERROR
        if description is None and error not in DESCRIBES_NOTHING:
            description = error
    return Status(code or 0, description)


def _links(tags: Tags) -> Iterator[Link]:
    """Take the tags of links, as long as they are numbered without a gap."""
    for number in range(_MAX_LINKS):
        link = tags.take(LINK.format(number), _link)
        if link is None:
            return
        yield link


def _link(text: str) -> Link | None:
    """Return a link from `trace|span|trace state|{attributes}|dropped`."""
    parts = text.split("|", 2)
    if len(parts) != len(("trace", "span", "rest")):
        return None
    trace_id, span_id = parse_id(parts[0], TRACE_ID_DIGITS), parse_id(parts[1], SPAN_ID_DIGITS)
    state, attributes, dropped = parse_collectors(parts[2])
    if UNUSABLE in (trace_id, span_id) or attributes is None or format_state(parse_state(state)) != state:
        return None
    extra = {"dropped_attributes_count": dropped} if dropped else {}
    return Link(format_trace_id(trace_id), format_span_id(span_id), parse_state(state), attributes, extra)


def add_endpoint(attributes: dict[str, Any], endpoint: Any, keys: tuple[str, str, str]) -> tuple[str, bool]:
    """Add address and port of an endpoint to attributes; return its name, and whether it is malformed."""
    if not isinstance(endpoint, dict):
        return "", endpoint is not None
    valid = clean_endpoint(endpoint)
    _, address_key, port_key = keys
    address = valid.get("ipv4", valid.get("ipv6"))
    if address is not None:
        attributes.setdefault(address_key, address)
    if "port" in valid:
        attributes.setdefault(port_key, valid["port"])
    known = {key: part for key, part in endpoint.items() if key in ENDPOINT_KEYS and not _is_nothing(key, part)}
    return as_text(endpoint.get("serviceName")), known != valid


def _is_nothing(key: str, part: Any) -> bool:
    """Tell whether a part of an endpoint is unknown: null, empty, or a port of zero."""
    return part is None or part == "" or (key == "port" and type(part) is int and part == 0)


def _events(reader: Careful, annotations: Any) -> tuple[Event, ...]:
    """Return the events of a span's annotations."""
    events = []
    for annotation in reader.objects(annotations):
        time, is_malformed = time_of_micros(annotation.get("timestamp"))
        value = annotation.get("value")
        reader.is_malformed |= is_malformed or not isinstance(value, str)
        name, attributes, dropped = parse_annotation(as_text(value))
        events.append(Event(name, known(time), attributes, {"dropped_attributes_count": dropped} if dropped else {}))
    return tuple(events)
