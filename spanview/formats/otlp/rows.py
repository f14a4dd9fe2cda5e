"""The rows of OTLP's spans that are just as the protocol has them, without making spans of them.

Whatever isn't usual is left to `read`, which gives the same for all that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.otlp import read
from spanview.formats.otlp.fields import MESSAGES, extra_of
from spanview.formats.otlp.read import is_document, spans_of
from spanview.formats.otlp.values import INT64, UINT32
from spanview.formats.rows import Row, ignore_part
from spanview.formats.usual import NOWHERE, UnusualError, names_in, row_of_span, time_warnings, usual_ids
from spanview.model.codes import KIND_NAMES, KIND_UNSPECIFIED, STATUS_NAMES
from spanview.model.span import PROCESS_KEYS
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_document", "kept_quickly", "rows_of", "spans_of"]

_USUAL_KINDS: Final = frozenset((("stringValue", str), ("boolValue", bool), ("doubleValue", float)))
"""Values that need no second look, by the member that holds them."""
_ONLY_TEXT: Final = frozenset((str,))
_KINDS: Final = (KIND_UNSPECIFIED, *range(len(KIND_NAMES)))
_TYPES_OF_SPAN: Final = (str, str, int, int)
"""Of a name, the message of a status, a kind and a code."""
_NOTHING: Final[dict[str, Any]] = {}
_INT_DIGITS: Final = 18
"""Digits of an integer that has 64 bits, if not more."""
_TIME_DIGITS: Final = 19
_LAST_TIME: Final = 2**63 - 1
_COUNTS: Final = extra_of("Span")
_COUNTS_OF_LINK: Final = extra_of("Link")
OF_DOCUMENTS: Final = frozenset(("resourceSpans",))
OF_RESOURCES: Final = frozenset(("resource", "scopeSpans", "schemaUrl"))
OF_SCOPES: Final = frozenset(("scope", "spans", "schemaUrl"))
_RESOURCE: Final = frozenset(("attributes",))
_SCOPE: Final = frozenset(("name", "version", "attributes"))
_STATUS: Final = frozenset(field.name for field in MESSAGES["Status"])
_EVENT: Final = frozenset(field.name for field in MESSAGES["Event"])
_SPAN: Final = frozenset(field.name for field in MESSAGES["Span"]) - {"traceState"}
_LINK: Final = frozenset(field.name for field in MESSAGES["Link"]) - {"traceState"}


def kept_quickly(document: dict[str, Any]) -> Row | None:
    """Return the row of a line with one span; None for anything else, and for what isn't usual."""
    try:
        (of_resource,) = objects_in(document, "resourceSpans", OF_DOCUMENTS)
        (of_scope,) = objects_in(of_resource, "scopeSpans", OF_RESOURCES)
        (span,) = objects_in(of_scope, "spans", OF_SCOPES)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    names = _names_in(of_resource)
    return None if names is None or not _is_scope(of_scope) else row_of(span, *names)


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    rows = list[Row]()
    for of_resource in read.of_resources(value, pass_over):
        names = _names_in(of_resource)
        for of_scope in read.of_scopes(of_resource, pass_over):
            are_usual = names is not None and _is_scope(of_scope)
            whole = None
            for span in read.spans_in(of_scope, pass_over):
                row = row_of(span, *names) if names is not None and are_usual else None
                if row is None:
                    whole = whole or read.parts_of(of_resource, of_scope)
                    row = row_of_span(read.span_of(span, whole, NOWHERE))
                rows.append(row)
    return rows


def objects_in(holder: dict[str, Any], key: str, keys: frozenset[str]) -> list[dict[str, Any]]:
    """Return the list under a key of an object that has no other keys than these.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: It isn't such an object.
    """
    objects = holder[key]
    if type(objects) is not list or not holder.keys() <= keys:
        raise UnusualError
    return objects


def _text(value: Any) -> str:
    if type(value) is not str:
        raise UnusualError
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise UnusualError
    return value


def _names_in(of_resource: dict[str, Any]) -> tuple[str, str] | None:
    """Return the service and the process of a resource; None where something about it isn't usual."""
    try:
        resource = of_resource.get("resource", {})
        attributes = resource.get("attributes", [])
        _check(attributes)
        _text(of_resource.get("schemaUrl", ""))
        if not (of_resource.keys() <= OF_RESOURCES and resource.keys() <= _RESOURCE):
            return None
        known = {pair["key"]: pair["value"] for pair in attributes if pair["key"] in PROCESS_KEYS}
        _text(known.get("service.name", {"stringValue": ""})["stringValue"])
        return names_in({key: value.get("stringValue", value.get("intValue")) for key, value in known.items()})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _is_scope(of_scope: dict[str, Any]) -> bool:
    """Tell whether all about a scope is usual, but for its spans."""
    try:
        scope = of_scope.get("scope", {})
        for text in (of_scope.get("schemaUrl", ""), scope.get("name", ""), scope.get("version", "")):
            _text(text)
        _check(scope.get("attributes", []))
        return of_scope.keys() <= OF_SCOPES and scope.keys() <= _SCOPE
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


def row_of(span: dict[str, Any], service: str, process: str) -> Row | None:
    """Return the row of a span; None where something isn't usual."""
    try:
        get = span.get
        status, kind = get("status", _NOTHING), get("kind", 0)
        code, start, end = status.get("code", 0), get("startTimeUnixNano", "0"), get("endTimeUnixNano", "0")
        if (
            not span.keys() <= _SPAN
            or not status.keys() <= _STATUS
            or (*map(type, (get("name", ""), status.get("message", ""), kind, code)),) != _TYPES_OF_SPAN
            or not (0 <= kind < len(_KINDS) and 0 <= code < len(STATUS_NAMES))
        ):
            return None
        _check(get("attributes", []))
        for event in _list(get("events", [])):
            _check_event(event)
        for link in _list(get("links", [])):
            _check_link(link)
        for count in _COUNTS:
            if count in span:
                _number(span[count], UINT32)
        ids, start, end = usual_ids(span["traceId"], span["spanId"], get("parentSpanId")), _time(start), _time(end)
        return Row((ids, start, end, get("name", ""), service, _KINDS[kind], code, time_warnings(start, end), process))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _check_event(event: dict[str, Any]) -> None:
    if not event.keys() <= _EVENT:
        raise UnusualError
    _text(event.get("name", ""))
    _time(event.get("timeUnixNano", "0"))
    _check(event.get("attributes", []))
    _number(event.get("droppedAttributesCount", 0), UINT32)


def _check_link(link: dict[str, Any]) -> None:
    if not link.keys() <= _LINK:
        raise UnusualError
    usual_ids(link["traceId"], link["spanId"], None)
    _check(link.get("attributes", []))
    for count in _COUNTS_OF_LINK:
        _number(link.get(count, 0), UINT32)


def _number(value: Any, limits: range) -> int:
    if type(value) is not int or value not in limits:
        raise UnusualError
    return value


def _time(value: str) -> int:
    """Return a time, or `NO_TIME` for zero."""
    if type(value) is not str or not (value.isascii() and value.isdigit() and len(value) <= _TIME_DIGITS):
        raise UnusualError
    number = int(value)
    if number > _LAST_TIME:
        raise UnusualError
    return number or NO_TIME


def _check(attributes: list[dict[str, Any]]) -> None:
    """Raise where something about attributes isn't usual."""
    keys, values = {pair["key"] for pair in _list(attributes)}, [pair["value"] for pair in attributes]
    kinds = {(member, type(part)) for value in values for member, part in value.items()}
    if (
        len(keys) != len(attributes)
        or sum(map(len, values)) != len(values)
        or read.SPAN_TYPE in keys
        or not {*map(type, keys)} <= _ONLY_TEXT
    ):
        raise UnusualError
    if not kinds <= _USUAL_KINDS:
        for value in values:
            for member, part in value.items():
                if (member, type(part)) not in _USUAL_KINDS:
                    _check_value(member, part)


def _check_value(member: str, value: Any) -> None:
    """Raise where a value isn't usual that is no text, truth value or fraction."""
    if type(value) is int and member in {"intValue", "doubleValue"}:
        _number(value, INT64)
        return
    if member == "intValue":
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= _INT_DIGITS:
            return
    if member == "arrayValue" and value.keys() == {"values"} and type(value["values"]) is list:
        for item in value["values"]:
            ((inner, part),) = item.items()
            if (inner, type(part)) not in _USUAL_KINDS:
                if inner == member:
                    raise UnusualError
                _check_value(inner, part)
        return
    raise UnusualError
