"""Spans as Zipkin's v2 JSON.

Source: `zipkin2-api.yaml` of openzipkin/zipkin-api for the record, "OpenTelemetry to Zipkin Transformation" for what
is where in it. Zipkin has no links; they are written as the OpenTelemetry collector writes them, in tags.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.console.columns import as_text
from spanview.formats.jsontext import dumps_strict, loads_exact
from spanview.formats.tags import (
    ERROR_TAG,
    EVENTS_AT_ZERO,
    KIND,
    RESERVED,
    STATUS_CODE,
    STATUS_DESCRIPTION,
    dropped_in,
    format_state,
    ignore_loss,
    lose_extra,
    lose_reserved,
    lose_unsupported,
    micros_of,
    shared_tags,
    short_trace_id,
    text_of,
)
from spanview.model.codes import ERROR
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.model.span import Event, Link, Span

FORMAT: Final = "zipkin"
"""The key of `extra` for what only Zipkin has."""
KINDS: Final = ("CLIENT", "SERVER", "PRODUCER", "CONSUMER")
LINK: Final = "otlp.link.{}"
LOCAL: Final = ("service.name", "network.local.address", "network.local.port")
REMOTE: Final = ("peer.service", "network.peer.address", "network.peer.port")
"""Attributes for an endpoint's name, address and port."""
_ENDPOINT_ATTRIBUTES: Final = frozenset((*LOCAL, *REMOTE))
LOOKED_AT: Final = _ENDPOINT_ATTRIBUTES | RESERVED | {ERROR_TAG}
"""Attributes whose values change more than what is written of themselves."""
_REMOTE_NAMES: Final = ("server.address", "net.peer.name")
"""What else a remote endpoint may be named by; these stay tags as well."""
DESCRIBES_NOTHING: Final = ("", "true", "false")
"""What an `error` tag says that describes nothing."""
_MAX_DIGITS: Final = 10
_PORT_LIMIT: Final = 2**16


def value_of(span: Span, lose: Callable[[str], None] = ignore_loss) -> dict[str, Any] | None:
    """Return one span, or None where it can't be written because an id is unusable."""
    if span.trace_id is None or span.span_id is None:
        lose("dropped {span} without usable ids")
        return None
    own = span.extra.get(FORMAT)
    lose_unsupported(span, FORMAT, lose)
    attributes, kind, service = span.attributes, span.kind_name, _service(span, lose)
    local: dict[str, Any] = {"serviceName": service} if service else {}
    remote: dict[str, Any] = {}
    tag_attributes = attributes
    if not _ENDPOINT_ATTRIBUTES.isdisjoint(attributes):
        local = _endpoint(service, *map(attributes.get, LOCAL[1:]))
        remote = _endpoint(*map(attributes.get, REMOTE))
        taken = {key for keys, part in ((LOCAL, local), (REMOTE, remote)) for key in keys if part and key in attributes}
        if taken:
            tag_attributes = {
                key: value for key, value in attributes.items() if key not in taken or not _is_taken(key, value)
            }
    if "serviceName" not in remote and kind in ("CLIENT", "PRODUCER"):
        remote |= _named({"serviceName": next((attributes[key] for key in _REMOTE_NAMES if key in attributes), "")})
    value = {
        "traceId": short_trace_id(span.trace_id),
        "id": span.span_id,
        "parentId": span.parent_id,
        "name": span.name,
        "kind": kind if kind in KINDS else None,
        **_times(span, lose),
        "localEndpoint": local,
        "remoteEndpoint": remote,
        "annotations": _annotations(span, lose) if span.events else None,
        "tags": _tags(span, tag_attributes, lose),
    }
    if isinstance(own, dict):
        _change(value, own)
    return _without_empty(value)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """Return all but null and what is empty."""
    return {key: part for key, part in value.items() if part or part == 0}


def _change(value: dict[str, Any], own: Mapping[str, Any]) -> None:
    """Write what the file had instead; what isn't valid Zipkin is ignored."""
    tags = own.get("tags")
    valid = clean(own)
    for key in own.keys() & {*value, "shared", "debug"} - {"traceId", "tags"}:
        if key in valid or (own[key] is None and key != "id"):
            value[key] = valid.get(key)
    if isinstance(tags, dict):
        for key, text in tags.items():
            if text is None:
                value["tags"].pop(key, None)
            elif isinstance(text, str):
                value["tags"][key] = text


def _times(span: Span, lose: Callable[[str], None]) -> dict[str, int | None]:
    if span.start_ns is None:
        if span.end_ns is not None:
            lose("dropped the ends of {span} without a start")
        return {"timestamp": None, "duration": None}
    start = micros_of(span.start_ns, lose)
    if span.end_ns is None:
        return {"timestamp": start, "duration": None}
    duration = micros_of(span.end_ns, lose) - start
    if duration < 0:
        lose("dropped {negative duration}")
        return {"timestamp": start, "duration": None}
    if not duration:
        lose("rounded {duration} up to 1 µs")
    return {"timestamp": start, "duration": max(duration, 1)}


# -- endpoints -------------------------------------------------------------------------------------------------------


def _service(span: Span, lose: Callable[[str], None]) -> str:
    service = span.resource.attributes.get("service.name")
    if service is not None and not isinstance(service, str):
        lose("wrote {attribute} as text")
    return as_text(service)


def _endpoint(name: Any, address: Any, port: Any) -> dict[str, Any]:
    if name is None and address is None and port is None:
        return {}
    return {**_named({"serviceName": name, "port": port}), **_address(address)}


def _named(endpoint: dict[str, Any]) -> dict[str, Any]:
    name, port = endpoint.get("serviceName"), endpoint.get("port")
    named = {"serviceName": name} if isinstance(name, str) and name else {}
    return {**named, **({"port": port} if type(port) is int and 0 < port < _PORT_LIMIT else {})}


def _address(text: Any) -> dict[str, str]:
    if isinstance(text, str):
        for key, kind in (("ipv4", IPv4Address), ("ipv6", IPv6Address)):
            try:
                kind(text)
            except AddressValueError:
                continue
            return {key: text}
    return {}


def _is_taken(key: str, value: Any) -> bool:
    """Tell whether an endpoint has an attribute as it is."""
    if key == "service.name":
        return False
    if key.endswith(".address"):
        return bool(_address(value))
    return bool(_named({"port" if key.endswith(".port") else "serviceName": value}))


# -- tags ------------------------------------------------------------------------------------------------------------


def _tags(span: Span, attributes: Mapping[str, Any], lose: Callable[[str], None]) -> dict[str, str]:
    """Return the tags; those for parts of the span come before its attributes, and these before its resource's."""
    tags = {key: text_of(value) for key, value in shared_tags(span, lose)}
    tags |= _status_tags(span)
    if span.kind_name == "INTERNAL":
        tags[KIND] = "internal"
    for index, link in enumerate(_usable(span.links, lose) if span.links else ()):
        tags[LINK.format(index)] = _link_text(link, lose)
    lose_reserved(tags.items(), attributes, ("internal",), lose)
    for key, value in attributes.items():
        if key in tags:
            lose("dropped {attribute} with names reserved by Zipkin")
        elif key == ERROR_TAG:
            lose("dropped {error attribute} of spans that didn't fail")
        else:
            tags[key] = value if type(value) is str else _text(value, lose)
    for key, value in span.resource.attributes.items():
        if key in tags:
            lose("dropped {resource attribute} that spans have under the same name")
        elif key not in ("service.name", ERROR_TAG):
            lose("moved {resource attribute} onto spans")
            tags[key] = value if type(value) is str else _text(value, lose)
    return tags


def _text(value: Any, lose: Callable[[str], None]) -> str:
    if type(value) is not str:
        lose("wrote {attribute} as text")
    return text_of(value)


def _status_tags(span: Span) -> dict[str, str]:
    code, description = span.status.code_value, span.status.description
    tags = {STATUS_CODE: str(span.status)} if code else {}
    if code == ERROR:
        tags[ERROR_TAG] = description or ""
    if description is not None and (code != ERROR or description in DESCRIBES_NOTHING):
        tags[STATUS_DESCRIPTION] = description
    return tags


def _usable(links: tuple[Link, ...], lose: Callable[[str], None]) -> list[Link]:
    usable = [link for link in links if link.trace_id is not None and link.span_id is not None]
    for _ in range(len(links) - len(usable)):
        lose("dropped {link} without usable ids")
    return usable


def _link_text(link: Link, lose: Callable[[str], None]) -> str:
    dropped = dropped_in(link.extra, "dropped_attributes_count") or 0
    lose_extra(link.extra, FORMAT, lose, "dropped_attributes_count")
    attributes = dumps_strict(dict(link.attributes)).decode()
    return f"{link.trace_id}|{link.span_id}|{format_state(link.trace_state)}|{attributes}|{dropped}"


# -- annotations -----------------------------------------------------------------------------------------------------


def _annotations(span: Span, lose: Callable[[str], None]) -> list[dict[str, Any]]:
    annotations: dict[tuple[int, str], dict[str, Any]] = {}
    for event in span.events:
        if event.timestamp_ns is None:
            lose(EVENTS_AT_ZERO)
        time, text = micros_of(event.timestamp_ns, lose), annotation_of(event, lose)
        if (time, text) in annotations:
            lose("dropped {duplicate event}")
        annotations[time, text] = {"timestamp": time, "value": text}
    return [*annotations.values()]


def annotation_of(event: Event, lose: Callable[[str], None] = ignore_loss) -> str:
    """Return an event as text: its name, or `"name": {attributes}` where it has attributes.

    What was dropped of it is written as the OpenTelemetry collector does, `name|{attributes}|number`. A name that would
    be taken for one of the other forms is written with no attributes.
    """
    dropped = dropped_in(event.extra, "dropped_attributes_count") or 0
    lose_extra(event.extra, FORMAT, lose, "dropped_attributes_count")
    if not event.attributes and not dropped and parse_annotation(event.name) == (event.name, {}, 0):
        return event.name
    attributes = dumps_strict(dict(event.attributes)).decode()
    if dropped:
        text = f"{event.name}|{attributes}|{dropped}"
        if parse_annotation(text)[::2] == (event.name, dropped):
            return text
        lose("dropped {count} of attributes that events had dropped")
    return f"{dumps_strict(event.name).decode()}: {attributes}"


def parse_annotation(text: str) -> tuple[str, dict[str, Any], int]:
    """Return the name of an event, its attributes, and how many of them were dropped."""
    if text[:1] in ('"', "{"):
        named = json_object(f"{{{text}}}" if text[0] == '"' else text)
        if named is not None and len(named) == 1:
            ((name, attributes),) = named.items()
            if isinstance(attributes, dict):
                return name, attributes, 0
    else:
        name, attributes, dropped = parse_collectors(text)
        if attributes is not None:
            return name, attributes, dropped
    return text, {}, 0


def parse_collectors(text: str) -> tuple[str, dict[str, Any] | None, int]:
    """Return the parts of `text|{attributes}|dropped`, as the OpenTelemetry collector writes; None for no attributes.

    The attributes begin at the first `|{`: to search further would take the square of a long text.
    """
    rest, _, dropped = text.rpartition("|")
    before, _, attributes = rest.partition("|{")
    if not (attributes and dropped.isascii() and dropped.isdigit() and len(dropped) <= _MAX_DIGITS):
        return text, None, 0
    return before, json_object("{" + attributes), int(dropped)


def json_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, or None."""
    try:
        value = loads_exact(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# -- what is valid ---------------------------------------------------------------------------------------------------


def clean(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid parts of a record, as the writer writes them."""
    trace_id, span_id, parent_id = (
        parse_id(value.get(key), digits)
        for key, digits in (("traceId", TRACE_ID_DIGITS), ("id", SPAN_ID_DIGITS), ("parentId", SPAN_ID_DIGITS))
    )
    duration, timestamp = whole_number(value.get("duration")), whole_number(value.get("timestamp"))
    kind, tags, name = value.get("kind"), value.get("tags"), value.get("name")
    annotations = value.get("annotations")
    cleaned = {
        "traceId": "" if trace_id == UNUSABLE else short_trace_id(format_trace_id(trace_id)),
        "id": "" if span_id == UNUSABLE else format_span_id(span_id),
        "parentId": "" if parent_id == UNUSABLE else format_span_id(parent_id),
        "name": name if isinstance(name, str) else "",
        "kind": kind if isinstance(kind, str) and kind in KINDS else "",
        "timestamp": timestamp or None,
        "duration": duration if duration and duration > 0 else None,
        "debug": True if value.get("debug") is True else None,
        "shared": True if value.get("shared") is True else None,
        "localEndpoint": clean_endpoint(value.get("localEndpoint")),
        "remoteEndpoint": clean_endpoint(value.get("remoteEndpoint")),
        "annotations": _clean_annotations(annotations if isinstance(annotations, list) else []),
        "tags": {k: text for k, text in tags.items() if isinstance(text, str)} if isinstance(tags, dict) else {},
    }
    return _without_empty(cleaned)


def whole_number(value: object) -> int | None:
    """Return a number cut to a whole one; None for anything else, and if it needs more than 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**63:
        return None
    return int(value // 1)


def clean_endpoint(value: Any) -> dict[str, Any]:
    """Return the valid parts of an endpoint."""
    if not isinstance(value, dict):
        return {}
    addresses: dict[str, Any] = {key: value[key] for key in ("ipv4", "ipv6") if key in _address(value.get(key))}
    return _named(value) | addresses


def _clean_annotations(annotations: list[Any]) -> list[dict[str, Any]]:
    cleaned: dict[tuple[int, str], dict[str, Any]] = {}
    for annotation in annotations:
        if isinstance(annotation, dict) and isinstance(annotation.get("value"), str):
            key = whole_number(annotation.get("timestamp")) or 0, annotation["value"]
            cleaned[key] = {"timestamp": key[0], "value": key[1]}
    return [*cleaned.values()]
