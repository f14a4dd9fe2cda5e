"""Bodies of JSON to lines of OTLP's JSON, each field in the one spelling that all readers take.

Names in camel and in snake case, enums by name or number, integers as text or number and ids in hex digits or base64
are taken. A field that is null counts as absent, and unknown ones are kept. A value of another type than the protocol's
makes a span malformed. Half of a surrogate pair, which a text has that was cut in it, becomes U+FFFD.

Source: "JSON Protobuf Encoding" in the OTLP specification, and protobuf's JSON mapping.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from spanview.formats.otlp.fields import ENUMS, MESSAGES, FieldKind, snake_case
from spanview.formats.otlp.read import DOCUMENT_KEYS, RESOURCE_KEYS
from spanview.formats.otlp.values import INT64, NUMBER, UINT32, bytes_of, enum_number, integer
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS
from spanview.otlp.body import MalformedError, Refused, RefusedError, TooLargeError
from spanview.otlp.span_lines import Json, LineFrame, checked, frame_of, lines_of, most_parts, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.formats.otlp.fields import Field
    from spanview.otlp.body import Acceptance

    Convert: TypeAlias = Callable[[Any], Any]
    """Returns a value as it is written; raises `RefusedError` for one of another type."""
    Fields: TypeAlias = Mapping[str, tuple[str, Convert]]
    """By each spelling of a field's name how it is written, and what converts its value."""

# Half a pair: \\ud83d without \\ude00 behind it, and the other way round; not where its backslash is escaped.
_HALF: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*+)\\u[dD]"
    rb"(?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
_DECODED: Final = {b"{": 150, b"[": 64, b'"': 14, b",": 12}
"""Bytes that decoded values take for each of these: containers, texts, numbers, and their places. Keys are shared."""
_MAX_HALVES: Final = 100_000
"""Of a body; replacing them takes memory for each."""
_UINT64: Final = range(2**64)
_INT32: Final = range(-(2**31), 2**31)
_SPAN_DEFAULTS: Final[Json] = {field.name: field.default for field in MESSAGES["Span"]}
_SCOPE_KEYS: Final = ("scope", "instrumentationLibrary", "instrumentation_library")


def lines_of_json(data: bytes | bytearray, outcome: Acceptance) -> Iterator[bytes]:
    """Yield the lines of a body, an `ExportTraceServiceRequest`, and count what becomes of its spans.

    Raises:
        MalformedError: It isn't one; then no line was yielded.
    """
    document = document_of(data)
    # Nothing of it is kept meanwhile: frames take many times as much as scopes without spans.
    parts = most_parts(len(data))
    for _ in _scopes_of(document, parts):
        pass
    for frame, spans in _scopes_of(document, parts):
        yield from lines_of(frame, map(_span, spans), outcome)


def _scopes_of(document: Json, parts_left: int) -> Iterator[tuple[LineFrame, list[Any]]]:
    """Yield the frame of each scope that has spans, and these, of no more resources and scopes than there may be."""
    for of_resource in lists_in(document, DOCUMENT_KEYS):
        parts_left -= 1
        beside_resource = without(of_resource, ("resource", *RESOURCE_KEYS))
        for of_scope in lists_in(of_resource, RESOURCE_KEYS):
            parts_left -= 1
            if parts_left < 0:
                raise MalformedError("resources and scopes that are mostly empty")
            spans = of_scope.get("spans")
            if not isinstance(spans, list | None):
                raise MalformedError("spans that aren't a list")
            if not spans:
                continue
            scope: Any = next((of_scope[name] for name in _SCOPE_KEYS if of_scope.get(name) is not None), {})
            try:
                frame = frame_of(
                    _object(_FIELDS["Resource"], of_resource.get("resource") or {}),
                    _object(_BESIDE, beside_resource),
                    _object(_FIELDS["InstrumentationScope"], scope),
                    _object(_BESIDE, without(of_scope, ("spans", *_SCOPE_KEYS))),
                )
            except RefusedError as error:
                raise MalformedError(f"a resource or scope with {error}") from None
            except RecursionError:
                raise MalformedError("a resource or scope that nests too deep") from None
            yield frame, spans


def check_decoded_size(data: bytes | bytearray, limit: int) -> None:
    """Raise where a body may take more bytes of memory when it is decoded; what is in texts may count, too.

    Raises:
        TooLargeError: It may.
    """
    if len(data) * max(_DECODED.values()) > limit:
        size = len(data) + sum(data.count(mark) * number for mark, number in _DECODED.items())
        if size > limit:
            raise TooLargeError(
                f"JSON that needs about {size >> 20:,} MiB of memory, more than {limit >> 20:,}: "
                "send fewer spans at a time, or protobuf"
            )


def document_of(data: bytes | bytearray) -> Json:
    """Return the object that a body is.

    Raises:
        MalformedError: It isn't one.
    """
    try:
        try:
            document = orjson.loads(data or b"{}")
        except orjson.JSONDecodeError:
            if b"\\ud" not in data and b"\\uD" not in data:
                raise
            document = orjson.loads(_HALF.sub(rb"\1\\ufffd", data, _MAX_HALVES))
    except orjson.JSONDecodeError as error:
        raise MalformedError(f"a body that isn't JSON: {error}") from None
    if not isinstance(document, dict):
        raise MalformedError("a body that isn't a JSON object")
    return document


def lists_in(holder: Json, names: Sequence[str]) -> Iterator[Json]:
    """Yield the objects in the lists under some names.

    Raises:
        MalformedError: There is something else.
    """
    for name in names:
        items = holder.get(name)
        if not isinstance(items, list | None):
            raise MalformedError(f"{name} that isn't a list")
        for item in items or ():
            if not isinstance(item, dict):
                raise MalformedError(f"{name} with values that aren't objects")
            yield item


def _span(value: Any) -> Json | Refused:
    """Return the object of a span, or why it isn't kept."""
    called = value.get("name") if isinstance(value, dict) else ""
    called = called if isinstance(called, str) else ""
    try:
        fields = _SPAN_DEFAULTS | _object(_FIELDS["Span"], value)
        if fields["endTimeUnixNano"] == "0":
            fields["endTimeUnixNano"] = None
        return checked({name: part for name, part in fields.items() if part is not None})
    except RefusedError as error:
        return Refused(str(error), called)
    except RecursionError:
        return Refused("values that nest too deep", called)


def _object(fields: Fields, value: Any) -> Json:
    """Return an object with known names and values of the right types, and what isn't known as it is."""
    if type(value) is not dict:
        raise RefusedError("a value that isn't an object where one belongs")
    result = {}
    for name, part in value.items():
        known = fields.get(name)
        if known is None:
            result[name] = part
        elif part is not None:
            try:
                result[known[0]] = known[1](part)
            except _TypeError:
                raise RefusedError(f"{known[0]} of a wrong type or size") from None
    return result


class _TypeError(RefusedError):
    """A value of another type than its field's."""


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise _TypeError
    return value


def _number(limits: range, value: Any) -> int:
    number = integer(value)
    if number is None or number not in limits:
        raise _TypeError
    return number


def _number_text(limits: range, value: Any) -> str:
    """Return an integer of 64 bits, which JSON's numbers can't hold."""
    return str(_number(limits, value))


def _double(value: Any) -> float | str:
    if type(value) not in {int, float} and not (isinstance(value, str) and NUMBER.fullmatch(value)):
        raise _TypeError
    number: float | str = value
    return number


def _bytes(value: Any) -> str:
    if type(value) is not str or bytes_of(value) is None:
        raise _TypeError
    return value


def _id(digits: int, value: Any) -> str:
    """Return an id in hex digits; empty for zeros and for none."""
    if type(value) is not str:
        raise _TypeError
    if not value.strip("0"):
        return ""
    try:
        raw = bytes.fromhex(value) if len(value) == digits else bytes_of(value)
    except ValueError:
        raw = None
    if raw is None or len(raw) != digits // 2:
        raise _TypeError
    return raw.hex() if any(raw) else ""


def _enum(kind: FieldKind, value: Any) -> int:
    """Return the number of an enum; one that isn't known is kept, as protobuf has it."""
    return _number(_INT32, enum_number(kind, value))


def _list(convert: Convert, value: Any) -> list[Any]:
    return [convert(item) for item in _exactly(list, value)]


_FIELDS: Final[dict[str, dict[str, tuple[str, Convert]]]] = {message: {} for message in MESSAGES}
_TEXT: Final[Convert] = partial(_exactly, str)
_COUNT: Final = partial(_number, UINT32)
_SPAN_ID: Final = partial(_id, SPAN_ID_DIGITS)
_CONVERTS: Final[Mapping[FieldKind, Convert]] = {
    FieldKind.TEXT: _TEXT,
    FieldKind.TEXTS: partial(_list, _TEXT),
    FieldKind.TRACE_ID: partial(_id, TRACE_ID_DIGITS),
    FieldKind.SPAN_ID: _SPAN_ID,
    FieldKind.PARENT_ID: _SPAN_ID,
    FieldKind.TRACE_STATE: _TEXT,
    FieldKind.TIME: partial(_number_text, _UINT64),
    FieldKind.COUNT: _COUNT,
    FieldKind.FLAGS: _COUNT,
    **{kind: partial(_enum, kind) for kind in ENUMS},
    FieldKind.BOOL: partial(_exactly, bool),
    FieldKind.INT: partial(_number_text, INT64),
    FieldKind.DOUBLE: _double,
    FieldKind.BYTES: _bytes,
    FieldKind.ATTRIBUTES: partial(_list, partial(_object, _FIELDS["KeyValue"])),
}


def _convert_of(field: Field) -> Convert:
    if not field.message:
        return _CONVERTS[field.kind]
    of_one = partial(_object, _FIELDS[field.message])
    return of_one if field.kind is FieldKind.MESSAGE else partial(_list, of_one)


_BESIDE: Final[Fields] = dict.fromkeys(("schemaUrl", "schema_url"), ("schemaUrl", _TEXT))
"""What is known beside a resource or a scope."""
for _message, _of_message in MESSAGES.items():
    _FIELDS[_message] |= {
        spelling: (field.name, _convert_of(field))
        for field in _of_message
        for spelling in (field.name, snake_case(field.name))
    }
