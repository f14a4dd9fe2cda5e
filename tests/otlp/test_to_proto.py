"""Protobuf written: opentelemetry-proto's own classes read it, and it says what the JSON of the same spans says."""

from __future__ import annotations

import json
from contextlib import suppress
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from otlp_messages import DOCUMENTS, message_of, parts_of
from spanview.formats.otlp import read as otlp
from spanview.formats.otlp.write import Form, JsonForm, OtlpParts, grouped
from spanview.index.whole_spans import spans_at
from spanview.model.span import BytesText, Source, Span
from spanview.otlp.to_proto import ProtobufForm
from spanview.otlp.wire import fields_of, signed, varint
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterable

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sorted(path.parent.name for path in FIXTURES.glob("*/spans"))
NOWHERE: Final = Source("", 0, 0)


def written(spans: Iterable[Span], form: Form) -> bytes:
    """Return a document of spans."""
    parts = OtlpParts(lambda _: None, form)
    return form.document(grouped(map(parts.of, spans)))


def both(spans: list[Span]) -> tuple[list[str], list[str]]:
    """Return all spans as protobuf and as JSON have them."""
    of_json = message_of(json.loads(written(spans, JsonForm())))
    return parts_of(TracesData.FromString(written(spans, ProtobufForm()))), parts_of(of_json)


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_any_document(document: dict[str, Any]) -> None:
    """What a document says is in both forms."""
    spans = otlp.spans_of(document, NOWHERE)
    of_protobuf, of_json = both(spans)
    assert of_protobuf == of_json == parts_of(message_of(document))


@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings(name: str) -> None:
    """All spans of a recording are in both forms."""
    store = load_store([str(FIXTURES / name / "spans")])
    of_protobuf, of_json = both([*spans_at(store, range(len(store.spans)))])
    assert of_protobuf == of_json
    assert len(of_json) == len(store.spans) > 0


@pytest.mark.parametrize(
    "value",
    [
        *("", "ü" * 200, "x" * 300, BytesText("AAH/"), BytesText("no base64!")),
        *(False, True, 0, -1, 2**63 - 1, -(2**63), 2**64, 0.0, -1.5, nan, -inf),
        *(None, [], {}, [None, "", [1]], {"": {"a": [False]}}),
    ],
)
def test_values(value: Any) -> None:
    """Each kind of value is in both forms; the empty ones, too."""
    span = Span("1" * 32, "2" * 16, None, "", None, 1, 2, attributes={"a": value, "b": [value]})
    of_protobuf, of_json = both([span])
    assert of_protobuf == of_json


@given(st.integers(0, 2**64 - 1), st.binary(max_size=20))
@example(0, b"")
@example(2**64 - 1, b"\x00")
def test_wire(value: int, content: bytes) -> None:
    """What is written is read again; any other bytes are read, or are no message."""
    assert [*fields_of(b"\x08" + varint(value))] == [(1, value)]
    assert varint(signed(value)) == varint(value)
    with suppress(ValueError):
        assert all(number >= 0 for number, _ in fields_of(content))
