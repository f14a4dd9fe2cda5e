"""The table of fields says what the protocol's own definition says.

field in the table           in opentelemetry-proto
------------------           ----------------------
name, in camel case          the same name in JSON
number                       the same number
kind                         a type that holds it, once or repeatedly
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from google.protobuf.descriptor import FieldDescriptor
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from spanview.formats.otlp.fields import MESSAGES, FieldKind

TYPES: Final = {
    FieldKind.TEXT: FieldDescriptor.TYPE_STRING,
    FieldKind.TEXTS: FieldDescriptor.TYPE_STRING,
    FieldKind.TRACE_ID: FieldDescriptor.TYPE_BYTES,
    FieldKind.SPAN_ID: FieldDescriptor.TYPE_BYTES,
    FieldKind.PARENT_ID: FieldDescriptor.TYPE_BYTES,
    FieldKind.TRACE_STATE: FieldDescriptor.TYPE_STRING,
    FieldKind.TIME: FieldDescriptor.TYPE_FIXED64,
    FieldKind.COUNT: FieldDescriptor.TYPE_UINT32,
    FieldKind.FLAGS: FieldDescriptor.TYPE_FIXED32,
    FieldKind.SPAN_KIND: FieldDescriptor.TYPE_ENUM,
    FieldKind.STATUS_CODE: FieldDescriptor.TYPE_ENUM,
    FieldKind.BOOL: FieldDescriptor.TYPE_BOOL,
    FieldKind.INT: FieldDescriptor.TYPE_INT64,
    FieldKind.DOUBLE: FieldDescriptor.TYPE_DOUBLE,
    FieldKind.BYTES: FieldDescriptor.TYPE_BYTES,
    FieldKind.MESSAGE: FieldDescriptor.TYPE_MESSAGE,
    FieldKind.MESSAGES: FieldDescriptor.TYPE_MESSAGE,
    FieldKind.ATTRIBUTES: FieldDescriptor.TYPE_MESSAGE,
}
OF_PROFILES: Final = "Strindex"
"""What the names of fields end with that spans don't have: places in a dictionary of texts."""
REPEATED: Final = {FieldKind.TEXTS, FieldKind.MESSAGES, FieldKind.ATTRIBUTES}


def described() -> dict[str, Any]:
    """Return the messages that are reached from the spans of a resource, by name."""
    waiting: list[Any] = [ResourceSpans.DESCRIPTOR]
    messages: dict[str, Any] = {}
    while waiting:
        message = waiting.pop()
        if message.name not in messages:
            messages[message.name] = message
            waiting += [field.message_type for field in message.fields if field.message_type is not None]
    return messages


@pytest.mark.parametrize("name", MESSAGES)
def test_as_the_protocol_has_it(name: str) -> None:
    """Every field of a message is there, with its number and what it holds."""
    message = described()[name]
    of_table = {
        field.name: (
            field.number,
            TYPES[field.kind],
            field.kind in REPEATED,
            "KeyValue" if field.kind is FieldKind.ATTRIBUTES else field.message,
        )
        for field in MESSAGES[name]
    }
    of_protocol = {
        field.json_name: (
            field.number,
            field.type,
            field.is_repeated,
            "" if field.message_type is None else field.message_type.name,
        )
        for field in message.fields
        if not field.json_name.endswith(OF_PROFILES)
    }
    assert of_table == of_protocol


def test_all_messages_below_scopes() -> None:
    """No message is missing but those that are walked around spans."""
    assert described().keys() - MESSAGES.keys() == {"ResourceSpans", "ScopeSpans"}
