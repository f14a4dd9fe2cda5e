"""The fields of OTLP's messages: what writes them, and what takes requests, goes by these, in JSON and in protobuf.

Source: trace.proto, common.proto and resource.proto of opentelemetry-proto 1.11.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import cache
from typing import Any, Final, NamedTuple

from spanview.model.codes import KIND_NAMES, STATUS_NAMES


class FieldKind(Enum):
    """What a field holds, and how JSON and protobuf have it."""

    TEXT = auto()
    TEXTS = auto()
    """A list of them; in protobuf, each is a field."""
    TRACE_ID = auto()
    """Hex digits; bytes."""
    SPAN_ID = auto()
    PARENT_ID = auto()
    """A span id; roots have none."""
    TRACE_STATE = auto()
    """Text, as W3C's header has it."""
    TIME = auto()
    """Nanoseconds since 1970: decimal digits as text; 64 bits."""
    COUNT = auto()
    """Up to 32 bits: a number; a varint."""
    FLAGS = auto()
    """A number; 32 bits."""
    SPAN_KIND = auto()
    """The number of an enum; a varint."""
    STATUS_CODE = auto()
    BOOL = auto()
    INT = auto()
    """Up to 64 bits with a sign: text; a varint."""
    DOUBLE = auto()
    """A number, or the name of one that isn't finite; 64 bits."""
    BYTES = auto()
    """Base64; bytes."""
    MESSAGE = auto()
    MESSAGES = auto()
    """A list of them; in protobuf, each is a field."""
    ATTRIBUTES = auto()
    """A list of `KeyValue`."""


ENUMS: Final = {
    FieldKind.SPAN_KIND: ("SPAN_KIND_", ("UNSPECIFIED", *KIND_NAMES)),
    FieldKind.STATUS_CODE: ("STATUS_CODE_", STATUS_NAMES),
}
"""What the names of an enum's values begin with, and the rest of them, in the order of their numbers."""


class Field(NamedTuple):
    """A field of a message."""

    name: str
    """As JSON has it, in camel case."""
    number: int
    """In protobuf."""
    kind: FieldKind
    message: str = ""
    """Of a field that holds messages: which."""
    part: str = ""
    """The attribute that holds it of what spanview makes of the message; else it is in `extra`, in snake case."""
    default: Any = None
    """What is written of a span that doesn't have it, so that its line can be scanned; None for nothing."""


MESSAGES: Final = {
    "Span": (
        # In the order in which `spanview.ray.lines` has them.
        Field("traceId", 1, FieldKind.TRACE_ID, part="trace_id", default=""),
        Field("spanId", 2, FieldKind.SPAN_ID, part="span_id", default=""),
        Field("parentSpanId", 4, FieldKind.PARENT_ID, part="parent_id"),
        Field("flags", 16, FieldKind.FLAGS),
        Field("name", 5, FieldKind.TEXT, part="name", default=""),
        Field("kind", 6, FieldKind.SPAN_KIND, part="kind_value", default=0),
        Field("startTimeUnixNano", 7, FieldKind.TIME, part="start_ns", default="0"),
        Field("endTimeUnixNano", 8, FieldKind.TIME, part="end_ns"),
        Field("status", 15, FieldKind.MESSAGE, "Status", "status", default={}),
        Field("attributes", 9, FieldKind.ATTRIBUTES, part="attributes", default=[]),
        Field("events", 11, FieldKind.MESSAGES, "Event", "events"),
        Field("links", 13, FieldKind.MESSAGES, "Link", "links"),
        Field("traceState", 3, FieldKind.TRACE_STATE, part="trace_state"),
        Field("droppedAttributesCount", 10, FieldKind.COUNT),
        Field("droppedEventsCount", 12, FieldKind.COUNT),
        Field("droppedLinksCount", 14, FieldKind.COUNT),
    ),
    "Status": (
        Field("code", 3, FieldKind.STATUS_CODE, part="code_value"),
        Field("message", 2, FieldKind.TEXT, part="description"),
    ),
    "Event": (
        Field("timeUnixNano", 1, FieldKind.TIME, part="timestamp_ns"),
        Field("name", 2, FieldKind.TEXT, part="name"),
        Field("attributes", 3, FieldKind.ATTRIBUTES, part="attributes"),
        Field("droppedAttributesCount", 4, FieldKind.COUNT),
    ),
    "Link": (
        Field("traceId", 1, FieldKind.TRACE_ID, part="trace_id"),
        Field("spanId", 2, FieldKind.SPAN_ID, part="span_id"),
        Field("flags", 6, FieldKind.FLAGS),
        Field("traceState", 3, FieldKind.TRACE_STATE, part="trace_state"),
        Field("attributes", 4, FieldKind.ATTRIBUTES, part="attributes"),
        Field("droppedAttributesCount", 5, FieldKind.COUNT),
    ),
    "Resource": (
        Field("attributes", 1, FieldKind.ATTRIBUTES, part="attributes"),
        Field("droppedAttributesCount", 2, FieldKind.COUNT),
        Field("entityRefs", 3, FieldKind.MESSAGES, "EntityRef"),
    ),
    "EntityRef": (
        Field("schemaUrl", 1, FieldKind.TEXT),
        Field("type", 2, FieldKind.TEXT),
        Field("idKeys", 3, FieldKind.TEXTS),
        Field("descriptionKeys", 4, FieldKind.TEXTS),
    ),
    "InstrumentationScope": (
        Field("name", 1, FieldKind.TEXT, part="name"),
        Field("version", 2, FieldKind.TEXT, part="version"),
        Field("attributes", 3, FieldKind.ATTRIBUTES, part="attributes"),
        Field("droppedAttributesCount", 4, FieldKind.COUNT),
    ),
    "KeyValue": (
        Field("key", 1, FieldKind.TEXT),
        Field("value", 2, FieldKind.MESSAGE, "AnyValue"),
    ),
    "AnyValue": (
        Field("stringValue", 1, FieldKind.TEXT),
        Field("boolValue", 2, FieldKind.BOOL),
        Field("intValue", 3, FieldKind.INT),
        Field("doubleValue", 4, FieldKind.DOUBLE),
        Field("arrayValue", 5, FieldKind.MESSAGE, "ArrayValue"),
        Field("kvlistValue", 6, FieldKind.MESSAGE, "KeyValueList"),
        Field("bytesValue", 7, FieldKind.BYTES),
    ),
    "ArrayValue": (Field("values", 1, FieldKind.MESSAGES, "AnyValue"),),
    "KeyValueList": (Field("values", 1, FieldKind.ATTRIBUTES),),
}
"""The messages that are taken apart, by the protocol's names; those around spans stand where they are walked."""

_CAPITAL: Final = re.compile("[A-Z]")


@cache
def snake_case(name: str) -> str:
    """Return a field's name as the protocol's definition has it: `trace_id` for `traceId`."""
    return _CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)


@cache
def extra_of(message: str) -> tuple[str, ...]:
    """Return the names of a message's counts and flags, which spanview keeps in `extra`."""
    return tuple(field.name for field in MESSAGES[message] if field.kind in {FieldKind.COUNT, FieldKind.FLAGS})
