"""Bodies of protobuf to lines of OTLP's JSON.

The messages around spans are taken apart here, and each span is decoded on its own: a damaged one doesn't cost the
others, and no body becomes messages of many times its size all at once. Spans, resources and scopes themselves are
decoded by opentelemetry-proto. Protobuf's own way to JSON takes four times as long, and writes ids in base64.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache, partial
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanview.formats.jsontext import non_finite_name
from spanview.formats.otlp.fields import MESSAGES, FieldKind, snake_case
from spanview.otlp.body import MalformedError, Refused, RefusedError
from spanview.otlp.span_lines import MAX_LINE_BYTES, Json, LineFrame, checked, frame_of, lines_of, most_parts
from spanview.otlp.wire import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from google.protobuf.message import Message

    from spanview.formats.otlp.fields import Field
    from spanview.otlp.body import Acceptance

    Convert: TypeAlias = Callable[[Any], Any]
    """Returns a value of a message as JSON has it."""
    Read: TypeAlias = tuple[str, Any, Convert, Convert]
    """The name of a field in JSON, what is written where it isn't there, what gets it, and what converts it."""

_RESOURCE_SPANS: Final = 1
_RESOURCE, _SCOPE_SPANS, _RESOURCE_SCHEMA = 1, 2, 3
_LIBRARY_SPANS: Final = 1000
"""What `scope_spans` was until 2022; the fields in it have kept their numbers."""
_SCOPE, _SPANS, _SCOPE_SCHEMA = 1, 2, 3
_MIN_SPAN_BYTES: Final = 28
"""Bytes of a span that has its ids and nothing else."""
_MAX_PARTS: Final = 200_000
"""Fields of a span, a resource or a scope, with all that is in it: decoded, they take many times their bytes."""
_PARTS_FROM_BYTES: Final = 2 * _MAX_PARTS
"""Bytes of so many fields, if not more."""
_PARTS: Final = {
    name: {
        field.number: field.message or "KeyValue"
        for field in fields
        if field.kind in {FieldKind.MESSAGE, FieldKind.MESSAGES, FieldKind.ATTRIBUTES}
    }
    for name, fields in MESSAGES.items()
}
"""By message, which of its fields are messages, by their numbers, and which messages these are."""
_MAX_CACHED_BYTES: Final = 64 * 1024


def lines_of_protobuf(data: bytes | bytearray, outcome: Acceptance) -> Iterator[bytes]:
    """Yield the lines of a body, an `ExportTraceServiceRequest`, and count what becomes of its spans.

    Raises:
        MalformedError: It isn't one; then no line was yielded.
    """
    # Nothing of it is kept meanwhile: a scope takes four bytes there, and fifty times as many here.
    for _ in _scopes_of(data):
        pass
    for frame, of_scope in _scopes_of(data):
        yield from lines_of(frame, _spans_of(of_scope), outcome)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of the fields of a message that are messages or texts."""
    try:
        for number, content in fields_of(message):
            if not isinstance(content, int):
                yield number, content
    except ValueError as error:
        raise MalformedError(f"protobuf with {error}") from None


def _scopes_of(data: bytes | bytearray) -> Iterator[tuple[LineFrame, memoryview]]:
    """Yield the frame of each scope, and the message with its spans."""
    parts_left = most_parts(len(data))
    for number, of_resource in _fields(memoryview(data)):
        if number == _RESOURCE_SPANS:
            parts_left -= 1
            resource, schema = _joined(of_resource, _RESOURCE, _RESOURCE_SCHEMA)
            for field, of_scope in _fields(of_resource):
                if field in {_SCOPE_SPANS, _LIBRARY_SPANS}:
                    parts_left -= 1
                    if parts_left < 0:
                        break
                    scope, scope_schema = _joined(of_scope, _SCOPE, _SCOPE_SCHEMA)
                    parts = resource, schema, scope, scope_schema
                    make = _cached_frame if sum(map(len, parts)) <= _MAX_CACHED_BYTES else _frame
                    yield make(*parts), of_scope
        if parts_left < 0:
            raise MalformedError("resources and scopes that are mostly empty")


def _joined(message: memoryview, number: int, schema_number: int) -> tuple[bytes, bytes]:
    """Return the message in a field and the text in another.

    As protobuf has it, of a message that is there repeatedly all counts, and of a text the last one.
    """
    joined, schema = bytearray(), memoryview(b"")
    for field, content in _fields(message):
        if field == number:
            joined += content
        elif field == schema_number:
            schema = content
    return bytes(joined), bytes(schema)


def _frame(resource: bytes, schema: bytes, scope: bytes, scope_schema: bytes) -> LineFrame:
    if len(resource) + len(scope) > MAX_LINE_BYTES:
        raise MalformedError("a resource and scope that are too long")
    if _has_many_parts(memoryview(resource), "Resource") or _has_many_parts(memoryview(scope), "InstrumentationScope"):
        raise MalformedError("a resource or scope with too many attributes")
    try:
        return frame_of(
            _object(_RESOURCE_READS, Resource.FromString(resource)),
            _schema(schema),
            _object(_SCOPE_READS, InstrumentationScope.FromString(scope)),
            _schema(scope_schema),
        )
    except (DecodeError, UnicodeDecodeError, RefusedError) as error:
        raise MalformedError(f"a resource or scope that can't be decoded: {error}") from None


_cached_frame: Final = lru_cache(maxsize=256)(_frame)


def _schema(url: bytes) -> Json:
    return {"schemaUrl": url.decode()} if url else {}


def _spans_of(of_scope: memoryview) -> Iterator[Json | Refused]:
    for number, content in _fields(of_scope):
        if number == _SPANS:
            yield _decoded(content)


def _decoded(content: memoryview) -> Json | Refused:
    if len(content) < _MIN_SPAN_BYTES:
        return Refused("a span without a trace id or span id")
    if len(content) > MAX_LINE_BYTES:
        return Refused(f"a span of {len(content):,} bytes, more than readers take")
    if _has_many_parts(content, "Span"):
        return Refused(f"a span with more than {_MAX_PARTS:,} values in its attributes, events and links")
    try:
        span = Span.FromString(bytes(content))
    except DecodeError:
        return Refused("a span that isn't protobuf of this protocol")
    try:
        return checked(_object(_SPAN_READS, span))
    except RefusedError as error:
        # An error that went on from here would hold the decoded span, which can be large.
        return Refused(str(error), span.name)


def _has_many_parts(message: memoryview, name: str) -> bool:
    """Return whether a message has more fields, with all that is in it, than can be decoded in little memory."""
    if len(message) < _PARTS_FROM_BYTES:
        return False
    left, waiting = _MAX_PARTS, [(message, name)]
    try:
        while waiting:
            message, name = waiting.pop()
            parts = _PARTS[name]
            for number, content in fields_of(message):
                left -= 1
                if left < 0:
                    return True
                if number in parts and not isinstance(content, int):
                    waiting.append((content, parts[number]))
    except ValueError:
        # The decoder says what is wrong.
        return False
    return False


def _object(reads: Sequence[Read], message: Message) -> Json:
    """Return the fields of a message that it has, and those that are always written."""
    result = {}
    for name, default, get, convert in reads:
        value = get(message)
        if value:
            result[name] = convert(value)
        elif default is not None:
            result[name] = default
    return result


def _attributes(pairs: Iterable[Any]) -> list[Json]:
    result = []
    for pair in pairs:
        value = pair.value
        # Most values are short texts: a call for each would cost more than all else.
        text = value.string_value
        result.append({"key": pair.key, "value": {"stringValue": text} if text else _value(value)})
    return result


def _value(value: Any) -> Json:
    member = _MEMBERS.get(value.WhichOneof("value"))
    # What a later version of the protocol adds isn't known.
    if member is None:
        return {}
    name, get, convert = member
    return {name: convert(get(value))}


def _array(array: Any) -> Json:
    return {"values": [*map(_value, array.values)]}


def _map(pairs: Any) -> Json:
    return {"values": _attributes(pairs.values)}


def _double(value: float) -> float | str:
    return value if isfinite(value) else non_finite_name(value)


_CONVERTS: Final[Mapping[FieldKind, Convert]] = {
    FieldKind.TEXT: str,
    FieldKind.TEXTS: list,
    FieldKind.TRACE_ID: bytes.hex,
    FieldKind.SPAN_ID: bytes.hex,
    FieldKind.PARENT_ID: bytes.hex,
    FieldKind.TRACE_STATE: str,
    FieldKind.TIME: str,
    FieldKind.COUNT: int,
    FieldKind.FLAGS: int,
    FieldKind.SPAN_KIND: int,
    FieldKind.STATUS_CODE: int,
    FieldKind.BOOL: bool,
    FieldKind.INT: str,
    FieldKind.DOUBLE: _double,
    FieldKind.BYTES: lambda value: b64encode(value).decode(),
    FieldKind.ATTRIBUTES: _attributes,
}


def _reads_of(description: Any) -> list[Read]:
    """Return how the fields of a message are read, of which an earlier opentelemetry-proto may not have all."""
    return [
        (field.name, field.default, attrgetter(known.name), _convert_of(field, known))
        for field in MESSAGES[description.name]
        if (known := description.fields_by_name.get(snake_case(field.name))) is not None
    ]


def _convert_of(field: Field, known: Any) -> Convert:
    if not field.message:
        return _CONVERTS[field.kind]
    of_one = partial(_object, _reads_of(known.message_type))
    return of_one if field.kind is FieldKind.MESSAGE else lambda messages: [*map(of_one, messages)]


_SPAN_READS: Final = _reads_of(Span.DESCRIPTOR)
_RESOURCE_READS: Final = _reads_of(Resource.DESCRIPTOR)
_SCOPE_READS: Final = _reads_of(InstrumentationScope.DESCRIPTOR)
_MEMBERS: Final = {
    snake_case(field.name): (
        field.name,
        attrgetter(snake_case(field.name)),
        {"arrayValue": _array, "kvlistValue": _map}.get(field.name) or _CONVERTS[field.kind],
    )
    for field in MESSAGES["AnyValue"]
}
"""Of `AnyValue`: by the name of a member in protobuf, its name in JSON, what gets it, and what converts it."""
