"""Lines of OTLP whose resource and scope were decoded before say what each says by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import MemoryReader, file_of, store_of_files
from otlp_messages import DOCUMENTS
from spanview.formats.decoder import decode_details
from spanview.formats.jsontext import BadJsonError, loads_exact
from spanview.index import known_lines
from spanview.index.known_attributes import KnownAttributes
from spanview.index.known_lines import KnownLines
from spanview.index.whole_spans import spans_at
from spanview.model.problems import Warnings

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
A_IS_B: Final = {"key": "a", "value": {"stringValue": "b"}}
USUAL: Final = {
    "traceId": "1" * 32,
    "spanId": "2" * 16,
    "parentSpanId": "3" * 16,
    "flags": 768,
    "name": "f",
    "kind": 4,
    "startTimeUnixNano": "1780000000054206000",
    "endTimeUnixNano": "1780000000054481000",
    "status": {"code": 2, "message": "m"},
    "attributes": [
        A_IS_B,
        {"key": "n", "value": {"intValue": "18446744073709551616"}},
    ],
}
ODD: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"traceId": None},
    {"traceId": "xyz"},
    {"spanId": "0" * 16},
    {"parentSpanId": ""},
    {"parentSpanId": "0" * 16},
    {"parentSpanId": "no id"},
    {"parentSpanId": 7},
    {"flags": "768"},
    {"flags": -1},
    {"flags": 0},
    {"flags": True},
    {"flags": None},
    {"flags": 2**70},
    {"status": None},
    {"status": 7},
    {"status": {"message": 7}},
    {"status": {"message": ""}},
    {"attributes": None},
    {"attributes": [1, {"key": 2, "value": {"boolValue": False}}, {"key": "x"}]},
    {"attributes": [{"key": "logfire.span_type", "value": {"stringValue": "pending_span"}}]},
    {"events": [{"name": "e"}]},
    {"links": [{"traceId": "1" * 32, "spanId": "2" * 16}]},
    {"traceState": "a=1"},
    {"droppedAttributesCount": 3},
    {"trace_id": "4" * 32},
    {"unknown": 1},
)


def line_of(span: Any, resource: Any = None, scope: Any = None) -> bytes:
    """Return a line as the hook writes it."""
    of_scope = {"scope": {"name": "s"} if scope is None else scope, "spans": [span]}
    resource = (
        {"attributes": [{"key": "service.name", "value": {"stringValue": "x"}}]} if resource is None else resource
    )
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [of_scope]}]}
    return json.dumps(document, separators=(",", ":")).encode()


@pytest.mark.parametrize("change", ODD, ids=repr)
def test_odd_spans(change: dict[str, Any]) -> None:
    """Whatever a field has, the details are those that the line has by itself."""
    lines = KnownLines()
    for record in (line_of(USUAL), line_of(USUAL | change), line_of(USUAL)):
        assert repr(lines.details(record)) == repr(decode_details(record))


def test_spans_of_a_store() -> None:
    """They are what each is by itself, also where another record has come into a record's place."""
    spans = [USUAL | {"spanId": f"{number:016x}"} | change for number, change in enumerate(ODD, 1)]
    spans += [{name: part for name, part in USUAL.items() if name != left_out} for left_out in USUAL]
    text = file_of(map(line_of, spans))
    reader = MemoryReader()
    store = store_of_files({"a.jsonl": text}, reader=reader)
    rows = range(len(store.spans))
    assert len(rows) > 20
    assert repr([*spans_at(store, rows)]) == repr([*map(store.span, rows)])
    reader.files[0] = text.replace(b"1" * 32, b"7" * 32).replace(b'"spanId":"00', b'"spanId":"77')
    changed = [*spans_at(store, rows)]
    assert repr(changed) == repr([*map(store.span, rows)])
    assert any(Warnings.DETAIL_LOST in span.warnings for span in changed)


VALUES: Final[tuple[Any, ...]] = (
    {"stringValue": "ü\ud83d"},
    {"stringValue": 7},
    {"stringValue": None},
    {"stringValue": "a", "intValue": "1"},
    {"intValue": "1", "stringValue": "a"},
    {"doubleValue": 0.5},
    {},
    None,
    "stringValue",
    ["stringValue"],
)


@pytest.mark.parametrize("more", [0, 2**70])
def test_attributes_of_a_store(more: int) -> None:
    """Attributes that are read many at a time are those of each span, odd ones and lost ones too."""
    spans = [USUAL | {"spanId": f"{number:016x}"} | change for number, change in enumerate(ODD, 1)]
    texts = {"key": "k", "value": {"stringValue": "v"}}
    for number, value in enumerate(VALUES, 100):
        pairs = [texts, {"key": "x", "value": value}]
        spans += [USUAL | {"spanId": f"{number:016x}", "attributes": pairs}]
        spans += [USUAL | {"spanId": f"{number + 100:016x}", "attributes": [*pairs, texts]}]
    spans[3]["flags"] = more
    text = file_of(map(line_of, spans)) + line_of(USUAL | {"spanId": "5" * 16}, scope={"name": "other"}) + b"\n"
    reader = MemoryReader()
    store = store_of_files({"a.jsonl": text}, reader=reader)
    rows = range(len(store.spans))
    assert len(rows) > 40
    for was, now in ((b"", b""), (b'"spanId":"00', b'"spanId":"77')):
        reader.files[0] = text.replace(was, now) if was else text
        found = KnownAttributes(store).at(rows)
        assert repr([found[row] for row in rows]) == repr([store.span(row).attributes for row in rows])


def test_attributes_of_usual_lines_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of the hook's is read and decoded alone for the attributes of its span."""
    spans = [USUAL | {"spanId": f"{number:016x}", "attributes": [A_IS_B]} for number in range(1, 9)]
    store = store_of_files({"a.jsonl": file_of(map(line_of, spans))})
    monkeypatch.setattr(KnownAttributes, "_of_row", None)
    assert KnownAttributes(store).at(range(8)) == {row: {"a": "b"} for row in range(8)}


def test_lines_of_the_hook_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its usual lines is decoded whole but for the first, which shows the head."""
    lines = KnownLines()
    expected = decode_details(line_of(USUAL))

    def not_whole(_: bytes) -> None:
        raise AssertionError

    monkeypatch.setattr(known_lines, "decode_details", not_whole)
    assert lines.details(line_of(USUAL)) == lines.details(line_of(USUAL)) == expected


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, st.booleans())
def test_any_document(document: dict[str, Any], is_spaced: bool) -> None:  # noqa: FBT001 - drawn
    """Any line says what it says by itself, and so do its damaged parts."""
    lines = KnownLines()
    record = json.dumps(document, separators=None if is_spaced else (",", ":")).encode()
    for _ in range(2):
        assert repr(lines.details(record)) == repr(decode_details(record))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_spliced_lines(data: st.DataObject) -> None:
    """What stands between head and tail may be anything: more spans, no object, text that looks like a key."""
    texts = [
        json.dumps(USUAL),
        "{}",
        "[]",
        "7",
        ",",
        "]",
        "}",
        '],"spans":[',
        "]},{",
        '"spans":[',
        "",
        " ",
        '{"a":"',
        '\\"spans\\":[',
        "]}]}]}",
    ]
    middle = "".join(data.draw(st.lists(st.sampled_from(texts), max_size=4)))
    head, tail = line_of("@").split(b'"@"')
    lines = KnownLines()
    lines.details(line_of(USUAL))
    record = head + middle.encode() + tail
    try:
        loads_exact(record)
    except BadJsonError:
        # No such record is ever in a store.
        return
    assert repr(lines.details(record)) == repr(decode_details(record))


def test_spans_elsewhere() -> None:
    """What looks like the list of spans may be another one, which means nothing."""
    there = line_of(USUAL).replace(b'"spans":[', b'"spans" :[')
    record = there[:-1] + b',"x":[{"y":[{"spans":[' + json.dumps(USUAL | {"attributes": []}).encode() + b"]}]}]}"
    lines = KnownLines()
    for _ in range(2):
        assert repr(lines.details(record)) == repr(decode_details(record))


@pytest.mark.parametrize("resource", [{}, {"schemaUrl": "x"}, {"attributes": [{"key": '"spans":[', "value": {}}]}, 7])
def test_other_heads(resource: Any) -> None:
    """Resources and scopes of any kind say what they say."""
    lines = KnownLines()
    for scope in ({}, None, {"name": '"spans":['}, {"name": "a\\"}):
        record = line_of(USUAL, resource, scope)
        for _ in range(2):
            assert repr(lines.details(record)) == repr(decode_details(record))
