"""OTLP's JSON as protobuf's own reader takes it, with the messages of opentelemetry-proto, and random documents."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, Final, TypeAlias

from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

Json: TypeAlias = dict[str, Any]
_IDS: Final = frozenset(("traceId", "spanId", "parentSpanId"))


def message_of(document: Json) -> TracesData:
    """Return the message of a document that has all as OTLP's JSON has it; what isn't so raises.

    Protobuf's JSON has bytes in base64, and OTLP's has ids in hex digits: that one difference is made up for.
    """
    message = TracesData()
    ParseDict(_with_base64(document), message)
    return message


def _with_base64(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_with_base64, value)]
    if not isinstance(value, dict):
        return value
    return {
        name: b64encode(bytes.fromhex(part)).decode() if name in _IDS else _with_base64(part)
        for name, part in value.items()
    }


def parts_of(*messages: TracesData) -> list[str]:
    """Return all spans of messages, each with its resource and scope, in one order whatever their grouping."""
    return sorted(
        json.dumps(
            [
                *(_filled(MessageToDict(part)) for part in (of_resource.resource, of_scope.scope, span)),
                *(of_resource.schema_url, of_scope.schema_url),
            ],
            sort_keys=True,
        )
        for message in messages
        for of_resource in message.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    )


def _filled(fields: Json) -> Json:
    """Return the fields that say something: a status that is there and empty is none."""
    return {name: value for name, value in fields.items() if value != {}}


def fields(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Return objects with some fields."""
    return st.fixed_dictionaries(required, optional=optional)


TEXTS: Final = st.text(min_size=1, max_size=5)
COUNTS: Final = st.integers(1, 2**32 - 1)
TIMES: Final = st.integers(1, 2**63 - 1).map(str)
TRACE_IDS: Final = st.integers(1, 2**128 - 1).map("{:032x}".format)
SPAN_IDS: Final = st.integers(1, 2**64 - 1).map("{:016x}".format)
STATES: Final = st.sampled_from(["a=1", "rojo=00f0,congo=t61", "x@y=a b=c"])
_ODD: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _pairs(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Json]]:
    pairs = st.fixed_dictionaries({"key": st.text(max_size=3), "value": values})
    return st.lists(pairs, min_size=1, max_size=4, unique_by=lambda pair: pair["key"])


VALUES: Final[st.SearchStrategy[Any]] = st.recursive(
    st.just({})
    | st.fixed_dictionaries({"stringValue": st.text(max_size=5)})
    | st.fixed_dictionaries({"boolValue": st.booleans()})
    | st.fixed_dictionaries({"intValue": st.integers(-(2**63), 2**63 - 1).map(str)})
    | st.fixed_dictionaries({"doubleValue": st.floats().map(lambda value: _ODD.get(str(value), value))})
    | st.fixed_dictionaries({"bytesValue": st.binary(max_size=5).map(lambda value: b64encode(value).decode())}),
    lambda inner: (
        st.fixed_dictionaries({"arrayValue": st.fixed_dictionaries({"values": st.lists(inner, max_size=3)})})
        | st.fixed_dictionaries({"kvlistValue": st.fixed_dictionaries({"values": _pairs(inner)})})
    ),
    max_leaves=5,
)
ATTRIBUTES: Final = _pairs(VALUES)
EVENTS: Final = fields({"name": TEXTS}, timeUnixNano=TIMES, attributes=ATTRIBUTES, droppedAttributesCount=COUNTS)
LINKS: Final = fields(
    {"traceId": TRACE_IDS, "spanId": SPAN_IDS},
    traceState=STATES,
    attributes=ATTRIBUTES,
    droppedAttributesCount=COUNTS,
    flags=COUNTS,
)
SPANS: Final = fields(
    {"traceId": TRACE_IDS, "spanId": SPAN_IDS},
    traceState=STATES,
    parentSpanId=SPAN_IDS,
    flags=COUNTS,
    name=TEXTS,
    kind=st.integers(1, 5),
    startTimeUnixNano=TIMES,
    endTimeUnixNano=TIMES,
    attributes=ATTRIBUTES,
    droppedAttributesCount=COUNTS,
    events=st.lists(EVENTS, min_size=1, max_size=2),
    droppedEventsCount=COUNTS,
    links=st.lists(LINKS, min_size=1, max_size=2),
    droppedLinksCount=COUNTS,
    status=fields({"code": st.integers(1, 2)}, message=TEXTS) | fields({"message": TEXTS}),
)
ENTITIES: Final = fields(
    {"type": TEXTS},
    schemaUrl=TEXTS,
    idKeys=st.lists(TEXTS, min_size=1, max_size=2),
    descriptionKeys=st.lists(TEXTS, min_size=1, max_size=2),
)
RESOURCES: Final = fields(
    {},
    attributes=ATTRIBUTES,
    droppedAttributesCount=COUNTS,
    entityRefs=st.lists(ENTITIES, min_size=1, max_size=2),
)
SCOPES: Final = fields({"name": TEXTS}, version=TEXTS, attributes=ATTRIBUTES, droppedAttributesCount=COUNTS)
OF_SCOPES: Final = fields({"spans": st.lists(SPANS, max_size=3)}, scope=SCOPES, schemaUrl=TEXTS)
OF_RESOURCES: Final = fields({"scopeSpans": st.lists(OF_SCOPES, max_size=2)}, resource=RESOURCES, schemaUrl=TEXTS)
DOCUMENTS: Final = fields({"resourceSpans": st.lists(OF_RESOURCES, max_size=2)})
"""Documents as OTLP's JSON has them: fields with a default are left out."""
