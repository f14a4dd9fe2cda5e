"""Bytes to batches, and the digest that tells doubles from spans that only share their ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder, Document, file_of, span_id, time_text, trace_id
from spanview.formats.decoder import DIGEST_SIZE, Decoder, decode_span, digest_of
from spanview.model.problems import ProblemKind
from spanview.model.span import Source

if TYPE_CHECKING:
    from spanview.formats.rows import Batch

PLACE = Source("spans/1.json", 7, 11)

FOREIGN: Final = "without context (OpenTelemetry SDK), resourceSpans (OTLP), data (Jaeger)"
LACKING: Final = "resourceSpans (OTLP), data (Jaeger), traceId (Zipkin)"
FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"


def digest(record: bytes) -> bytes:
    """Return the digest of the span that a record holds."""
    span = decode_span(record, PLACE)
    assert span is not None
    return digest_of(record, span)


def dump(document: Document, **options: Any) -> bytes:
    """Return a document's text."""
    return json.dumps(document, **options).encode()


def test_batch() -> None:
    """A batch has the spans with their places, and what is no span beside them."""
    build = Builder()
    one, two, torn = build.span("one", service="a"), build.span("two", status="ERROR"), build.span("torn")
    data = dump(one) + b'\n{"no": "span"}\nsome text\n' + dump(torn)[:-9] + b"\n" + dump(two, indent=4) + b"\n[1]\n"
    batch = Decoder().feed(data)
    assert batch.columns.names == ["one", "two"]
    assert list(batch.columns.services) == ["a", ""]
    assert list(batch.columns.statuses) == [0, 2]
    for document, offset, length in zip((one, two), batch.offsets, batch.lengths, strict=True):
        assert json.loads(data[offset : offset + length]) == document
    assert [data[at : at + size] for at, size, _ in batch.skipped] == [b'{"no": "span"}', b"[1]"]
    assert [(gap.kind, gap.offset) for gap in batch.gaps] == [(ProblemKind.TORN, data.index(dump(torn)[:-9]))]
    assert batch.has_text


PRINTED: Final = (FIXTURES / "javascript" / "console.txt").read_bytes()
PRINTED_BEFORE: Final = b"""\
{
  traceId: '9f35bbaad5b1d76d9b275ba3d0a1593c',
  parentId: 'b61f471bfc1d7e76',
  traceState: undefined,
  name: 'charge',
  id: '2867b6c79a73e2c5',
  kind: 0,
  timestamp: 1795503053386000,
  duration: 462.458,
  attributes: {},
  status: { code: 0 },
  events: [],
  links: [
    {
      context: {
        traceId: '7ab5bbaad5b1d76d9b275ba3d0a15111',
        spanId: '58fb6c79a73e2c12'
      }
    }
  ]
}
"""
"""As release 1.0 prints a span."""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize(("printed", "count"), [(PRINTED, 2), (PRINTED_BEFORE, 1)])
def test_what_javascript_prints(printed: bytes, count: int, size: int) -> None:
    """It is text, as are Ray's own logs, not torn, in pieces of any size; its spans are counted, others are read."""
    build = Builder()
    others = b"\n{ route: '/cart', n: 1 }\n- pending demands:\n\t{gone: 1, label_selectors: [{}, ]} * 1\n"
    data = printed + dump(build.span("a"), indent=4) + others + printed + dump(build.span("b"))
    decoder = Decoder()
    batches = [decoder.feed(data[first : first + size]) for first in range(0, len(data), size)] + [decoder.close()]
    assert [name for batch in batches for name in batch.columns.names] == ["a", "b"]
    assert [gap for batch in batches for gap in batch.gaps] == []
    assert sum(batch.inspected for batch in batches) == 2 * count


@pytest.mark.parametrize(
    ("document", "lacks"),
    [
        (
            {
                "id": "1",
                "name": "ChatOpenAI",
                "run_type": "llm",
                "trace_id": "1",
                "start_time": "…",
                "dotted_order": "…",
            },
            f"its keys are id, name, run_type, trace_id, start_time, …, without context (OpenTelemetry SDK), {LACKING}",
        ),
        (
            [{"data": 1}],
            "its keys are data, without context (OpenTelemetry SDK), resourceSpans (OTLP), traceId (Zipkin)",
        ),
        (
            [{"traceId": "1", "id": "obs-1", "type": "SPAN", "name": "chat", "startTime": "…", "metadata": {}}],
            f"its keys are traceId, id, type, name, startTime, …, {FOREIGN}, timestamp (Zipkin)",
        ),
        (
            {"traceId": "1", "spanId": "2", "startTimeUnixNano": "3"},
            f"its keys are traceId, spanId, startTimeUnixNano, {FOREIGN}, id (Zipkin)",
        ),
        ([1], ""),
    ],
)
def test_another_kind_of_json(document: Any, lacks: str) -> None:
    """What a document has, and which key of a known format it would need, is noted with where it is."""
    data = json.dumps(document).encode() + b"\n"
    assert Decoder().feed(data).skipped == [(0, len(data) - 1, lacks)]


def test_offset_and_waiting() -> None:
    """A decoder says where it waits, and counts places from where its file's reading began."""
    text = dump(Builder().span())
    decoder = Decoder(offset=100)
    assert decoder.feed(text[:50]).offsets == []
    assert (decoder.offset, decoder.waiting) == (100, True)
    decoder.feed(text[50:])
    batch = decoder.tail()
    assert (batch.offsets, batch.lengths) == ([100], [len(text)])
    assert (decoder.offset, decoder.waiting) == (100 + len(text), False)


def test_cap() -> None:
    """A record above the cap is a gap, not a span."""
    build = Builder()
    data = file_of([build.span("a"), build.span("big", attributes={"v": "x" * 1_000}), build.span("b")])
    batch: Batch = Decoder(cap=1_000).feed(data)
    assert batch.columns.names == ["a", "b"]
    assert [gap.kind for gap in batch.gaps] == [ProblemKind.TOO_LARGE]


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b"{}", b'{"name": "event"}', b"\x00" * 9, b"[" * 200_000])
def test_record_without_a_span(record: bytes) -> None:
    """What holds no span by now gives none, without an error."""
    assert decode_span(record, PLACE) is None


def test_source_of_a_span() -> None:
    """A decoded span says where it stands."""
    span = decode_span(dump(Builder().span()), PLACE)
    assert span is not None
    assert span.source is PLACE


# Doubles ----------------------------------------------------------------------------------------------------------


def rich() -> Document:
    """Return a span with something in every field."""
    document = Builder().span(
        "é",
        parent=9,
        kind="CLIENT",
        status="ERROR",
        description="it broke",
        service="s",
        attributes={"n": 1, "l": [1, "a", None], "d": {"x": 1, "y": 2}},
        events=[{"name": "e", "timestamp": time_text(3), "attributes": {"k": "v"}}],
        links=[{"context": {"trace_id": trace_id(4), "span_id": span_id(5), "trace_state": "[]"}, "attributes": {}}],
    )
    document["context"]["trace_state"] = "['{key=a, value=1}']"
    return document


def backwards(value: Any) -> Any:
    """Return a value with all keys in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return [backwards(item) for item in value] if isinstance(value, list) else value


def test_doubles_have_one_digest() -> None:
    """Layout, key order, escapes, the spelling of ids and kinds, and the place make no difference."""
    document = rich()
    spelled = rich() | {"kind": "CLIENT", "parent_id": "0" * 15 + "9"}
    spelled["context"] = document["context"] | {"trace_id": "0" * 31 + "1", "span_id": "0X1"}
    texts = [
        dump(document),
        dump(document, indent=4),
        dump(document, separators=(",", ":"), ensure_ascii=False),
        dump(backwards(document), indent=0),
        dump(document, indent=4).replace(b"\n", b"\r\n"),
        dump(spelled),
        dump(document).replace(b"10Z", b"10+00:00").replace(b"00Z", b"00+00:00"),
    ]
    assert len(set(texts)) == len(texts)
    assert {digest(text) for text in texts} == {digest(texts[0])}
    assert len(digest(texts[0])) == DIGEST_SIZE


@pytest.mark.parametrize(
    "change",
    [
        {"name": "e"},
        {"kind": "SpanKind.SERVER"},
        {"parent_id": None},
        {"parent_id": span_id(8)},
        {"start_time": time_text(1)},
        {"end_time": None},
        {"status": {"status_code": "ERROR"}},
        {"status": {"status_code": "ERROR", "description": "it broke."}},
        {"status": {"status_code": "OK", "description": "it broke"}},
        {"attributes": {}},
        {"attributes": {"n": 1, "l": ["a", 1, None], "d": {"x": 1, "y": 2}}},
        {"events": []},
        {"events": [{"name": "e", "timestamp": time_text(3), "attributes": {}}]},
        {"events": [{"name": "e", "timestamp": time_text(4), "attributes": {"k": "v"}}]},
        {"links": []},
        {"resource": {"attributes": {}, "schema_url": ""}},
        {"resource": {"attributes": {"service.name": "s"}, "schema_url": "u"}},
        {"context": {"trace_id": trace_id(1), "span_id": span_id(1), "trace_state": "[]"}},
        {"context": {"trace_id": trace_id(1), "span_id": span_id(2), "trace_state": "['{key=a, value=1}']"}},
        {"context": {"trace_id": trace_id(2), "span_id": span_id(1), "trace_state": "['{key=a, value=1}']"}},
    ],
)
def test_any_difference_is_another_digest(change: dict[str, Any]) -> None:
    """A difference in one field is enough to be another span."""
    assert digest(dump(rich())) != digest(dump(rich() | change))


def test_value_types_count() -> None:
    """1, 1.0, true and "1" are four values, and so are the empty ones."""
    values: list[Any] = [1, 1.0, True, "1", [1], 0, 0.0, False, "", None, [], {}, 2**64, 2.0**64, 2**64 + 1]
    digests = {digest(dump(Builder().span(attributes={"v": value}))) for value in values}
    assert len(digests) == len(values)


def test_odd_values_are_their_own_doubles() -> None:
    """NaN, surrogates and nesting without an end are doubles of themselves."""
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    for value in (float("nan"), "\ud800", deep):
        text = dump(Builder().span(attributes={"v": value}))
        assert digest(text) == digest(text + b"  ")


def test_unusable_ids_count_as_they_are_spelled() -> None:
    """Where an id says nothing, two records are doubles only if their texts say the same."""
    documents = []
    for spelling in ("?", "!", None, 0):
        document = Builder().span()
        document["context"]["span_id"] = spelling
        documents.append(document)
    assert len({digest(dump(document)) for document in documents}) == len(documents)
    assert digest(dump(documents[0])) == digest(dump(backwards(documents[0]), indent=4))
