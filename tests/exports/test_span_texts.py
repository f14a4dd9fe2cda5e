"""Many spans at once, and their objects, are those that are made one by one.

records in a file         A  B  B'  C      in any layout, damaged, odd
afterwards                A  x      C      the same, cut, changed or gone
rows asked for            C  A  B          in any order
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, MemoryReader, file_of, span_id, store_of_files, trace_id
from spanview.exports.span_texts import BATCH_SPANS, SpanTexts
from spanview.formats.own.write import dumps_span, span_value
from spanview.index.store import Store
from spanview.index.whole_spans import spans_at
from spanview.model.problems import Warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from builders import Document

RESOURCE: Final = {"service.name": "shop", "process.pid": 7}
RAW_NUMBERS: Final = (
    "1.0",
    "1e5",
    "1E+2",
    "-0",
    "-0.0",
    "0.1",
    "1e-7",
    "1e22",
    "1e400",
    "NaN",
    "-Infinity",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "1234567890123456789012345678901234567890",
)
RAW_TEXTS: Final = (
    r'"\u00e9"',
    r'"\ud83d\ude42"',
    r'"\ud800"',
    r'"\/"',
    r'"\b\u0001"',
    '"é漢"',
    '"}, \\"events\\": [], \\"links\\": []"',
    '": "',
    '"0000000000000000000000000"',
    '"1+1, 00000000000000000000000"',
    '"\x7f"',
    '"a\nb"',
    '"\t"',
)
RAW_PARTS: Final = (
    *RAW_NUMBERS,
    *RAW_TEXTS,
    "null",
    "true",
    "[]",
    '{"k": 1, "k": 2}',
    '[{"k": [null, 1.50]}]',
    "[" * 126 + "]" * 126,
    "[" * 252 + "]" * 252,
    "[" * 253 + "]" * 253,
    "[" * 254 + "]" * 254,
    "[" * 1100 + "]" * 1100,
    "",
    "1,,2",
)
raw = st.sampled_from(RAW_PARTS)
"""A value of JSON as it is written, or nearly."""
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
attributes = st.dictionaries(st.text(st.characters(), max_size=4), values, max_size=3)
names = st.sampled_from(["GET /", '50% é \\ "q" %b', "", "\ud800", "@", "x" * 3000]) | st.text(max_size=3)
events = st.lists(
    st.fixed_dictionaries(
        {
            "name": names,
            "timestamp": st.sampled_from(["2023-11-14T22:13:20.000001Z", "?", None]),
            "attributes": attributes,
        }
    )
    | values,
    max_size=2,
)
links = st.lists(
    st.fixed_dictionaries(
        {"context": st.fixed_dictionaries({"trace_id": st.just(trace_id(1))}), "attributes": attributes}
    )
    | values,
    max_size=1,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "events": events,
        "links": links,
        "resource": st.just({"attributes": RESOURCE, "schema_url": ""})
        | st.fixed_dictionaries({"attributes": attributes, "schema_url": st.text(max_size=2)})
        | values,
        "attributes": attributes | values,
        "status": st.sampled_from([{"status_code": "ERROR", "description": "no"}, {"status_code": "OK", "x": 1}, "OK"]),
        "kind": st.sampled_from(["SpanKind.SERVER", "CLIENT", "?", None]),
        "parent_id": st.sampled_from([None, span_id(1), span_id(0), span_id(9), "0XF", "?", 5]),
        "start_time": st.sampled_from(
            [None, "2023-11-14T22:13:20.000001500Z", "2023-11-14T22:13:20Z", "1969-12-31T23:59:59.999999Z"]
        ),
        "end_time": st.sampled_from([None, "2023-11-14T22:13:21.000000001Z", "1680-01-01T00:00:00.000000Z"]),
        "context": st.fixed_dictionaries(
            {
                "trace_id": st.sampled_from([trace_id(1), trace_id(2), trace_id(0), "?"]),
                "span_id": st.sampled_from([span_id(1), span_id(2), span_id(0), 7]),
                "trace_state": st.sampled_from(["[]", "['{key=a, value=b}']", None]),
            }
        ),
        "more": values,
    },
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Return the text of a record, usual or odd in one way or several."""
    document = Builder().span(draw(names), span=draw(st.integers(1, 5)), trace=draw(st.integers(1, 2)), start=5)
    document |= {"attributes": {"a": "@", "b": 1}, "resource": {"attributes": RESOURCE, "schema_url": ""}}
    if draw(st.booleans()):
        document |= draw(fields)
    if draw(st.integers(0, 9)) == 0:
        document = dict(draw(st.permutations([*document.items()])))
    indent = draw(st.sampled_from([None, 4, 4, 2]))
    text = json.dumps(document, indent=indent, ensure_ascii=draw(st.integers(0, 9)) > 0)
    if draw(st.booleans()):
        text = text.replace('"@"', draw(raw), 1)
    data = text.encode("utf-8", "surrogatepass")
    return data.replace(b"\n", b"\r\n") if draw(st.integers(0, 19)) == 0 else data


changes = st.sampled_from(
    [
        lambda data, _: data,
        lambda data, _: data,
        lambda data, at: data[:at],
        lambda data, at: data[:at] + b"}" + data[at + 1 :],
        lambda data, at: data[:at] + b" " + data[at:],
        lambda data, at: data[:at] + data[at + 1 :],
        lambda data, _: data.replace(b'"b": 1', b'"b": 2'),
        lambda data, _: data.replace(b'"b": 1', b'"b": ,'),
        lambda data, _: data.replace(b"GET /", b"PUT /"),
        lambda data, _: data.replace(b"0000000001", b"0000000002"),
        lambda data, _: data.replace(b'"events": []', b'"events": {}'),
        lambda data, _: data.replace(b'"links": []', b'"name": ""'),
        lambda data, _: data.replace(b'    "links"', b'    "attributes": {},\n    "links"'),
        lambda data, _: data.replace(b'shop"', b"shop\xff"),
        lambda *_: None,
    ]
)
"""What became of a file since it was read."""


def one_by_one(store: Store, rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]) -> list[bytes]:
    """Return what `SpanTexts.of` is to return."""
    return [
        dumps_span(span_value(store.span(row), self_time, Warnings(bits)))[1:-1]
        for row, self_time, bits in zip(rows, own, warnings, strict=True)
    ]


def of_tree(store: Store, rows: Sequence[int]) -> tuple[list[int | None], list[int]]:
    """Return some self time for each row that has a duration, and for some a warning."""
    spans = store.spans
    own = [
        None if store.span(row).duration_ns is None else max(0, spans.end_ns[row] - spans.start_ns[row]) for row in rows
    ]
    return own, [int(Warnings.CLOCK_SKEW) * (row % 2) for row in rows]


@settings(max_examples=700, deadline=None)
@given(st.lists(st.lists(records(), min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_the_same_as_one_by_one(files: list[list[bytes]], data: st.DataObject) -> None:
    """Whatever the records are, and whatever became of them, the texts are the same to the byte."""
    reader = MemoryReader()
    store = store_of_files(
        {f"spans/\udcff{at}" if at == 2 else f"spans/{at}": file_of(file) for at, file in enumerate(files)},
        reader=reader,
    )
    for source, text in enumerate(reader.files):
        assert text is not None
        reader.files[source] = data.draw(changes)(text, data.draw(st.integers(0, len(text))))
    rows = data.draw(st.permutations(range(len(store.spans))))
    own, warnings = of_tree(store, rows)
    assert SpanTexts(store).of(rows, own, warnings) == one_by_one(store, rows, own, warnings)
    assert repr([*spans_at(store, rows)]) == repr([*map(store.span, rows)])


def refuse(_: Store, row: int, *_record: bytes | None) -> NoReturn:
    """Stand in for the general way."""
    raise AssertionError(row)


def usual(count: int) -> list[Document]:
    """Return spans as programs write them, of which every third has an event."""
    builder, spans = Builder(), []
    for number in range(count):
        attributes: Mapping[str, Any] = {"http.status_code": 200, "ratio": 0.5, "path": "/é", "list": [1, None]}
        span = builder.span(
            "GET /",
            kind="SERVER",
            parent=number or None,
            attributes=attributes if number % 5 else {},
            resource=RESOURCE,
        )
        if number % 3 == 0:
            span["events"] = [{"name": "e", "timestamp": "2023-11-14T22:13:20.000001Z", "attributes": {}}]
        spans.append(span)
    return spans


@pytest.mark.parametrize("indent", [None, 4])
def test_usual_spans_go_the_quick_way(indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the SDK writes in its two layouts, no record is decoded as a whole."""
    store = store_of_files({"a": file_of(usual(50), indent=indent)})
    rows = range(50)
    own, warnings = of_tree(store, rows)
    expected, spans = one_by_one(store, rows, own, warnings), [*map(store.span, rows)]
    monkeypatch.setattr(Store, "span", refuse)
    monkeypatch.setattr(Store, "span_in", refuse)
    assert SpanTexts(store).of(rows, own, warnings) == expected
    assert repr([*spans_at(store, rows)]) == repr(spans)


DEEP: Final = [f'"a": {"[" * depth}1e-7{"]" * depth}' for depth in range(248, 257)]
"""Around the depth from which on another encoder has to write the whole span, which has its own way with floats."""


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'"a": 1', r'"a": 18446744073709551617'),
        (r'"a": 1', r'"a": [18446744073709551615, -9223372036854775808]'),
        (r'"a": 1', r'"a": 1, "a": 1e16'),
        *[(r'"a": 1', deep) for deep in DEEP],
        (r'"process.pid": 7', r'"process.pid": 18446744073709551617'),
        (r'"process.pid": 7', r'"process.pid": NaN'),
        *[(r'"process.pid": 7', deep) for deep in DEEP],
        (r'"attributes": \{\s*"a": 1\s*\}', r'"attributes": [{"a": 1}]'),
        (r'"links": \[\]', r'"links": [], "attributes": {"b": 2}'),
        (r'"links": \[\]', r'"links": [], "context": {}'),
        (r'"links": \[\],', r""),
        (r'"links": \[\]', r'"links": [5]'),
        (r',\s*"events".*', r"}"),
        (r',\s*"links".*', r"}"),
        (r'"events": \[\]', r'"events": [], "events": [{"name": "e", "timestamp": null, "attributes": {"x": 1e16}}]'),
        (r"\}\s*$", r', "events": [{"name": "e"}]}'),
    ],
)
def test_odd_in_one_place(old: str, new: str, indent: int | None) -> None:
    """A record between two usual ones that differs in one place from what the SDK writes is told from them."""
    builder = Builder()
    records = [
        json.dumps(builder.span(attributes={"a": 1}, resource=RESOURCE), indent=indent).encode() for _ in range(3)
    ]
    records[1] = re.sub(old.encode(), new.encode(), records[1], count=1, flags=re.DOTALL)
    store = store_of_files({"a": file_of(records)})
    rows = range(3)
    assert len(store.spans) == 3
    own, warnings = of_tree(store, rows)
    assert SpanTexts(store).of(rows, own, warnings) == one_by_one(store, rows, own, warnings)
    assert repr([*spans_at(store, rows)]) == repr([*map(store.span, rows)])


def test_neighbours_are_read_together() -> None:
    """One call reads many records; what stands far from the others is left out."""
    reader = MemoryReader()
    spans = usual(60)
    foreign = json.dumps({"far": "x" * 100_000}).encode()
    store = store_of_files({"a": file_of([*spans[:30], foreign, *spans[30:]]), "b": file_of([])}, reader=reader)
    reader.reads = 0
    SpanTexts(store).of(range(60), [0] * 60, [0] * 60)
    assert reader.reads == 2


def test_batches_are_bounded() -> None:
    """However many rows there are, no more than a batch of them is asked for, and of large records only some."""
    large = [Builder().span(span=number, attributes={"x": "y" * 1_000_000}) for number in range(1, 10)]
    small = usual(2 * BATCH_SPANS + 1)
    for spans in (large, small):
        store = store_of_files({"a": file_of(spans)})
        rows = range(len(store.spans))
        own, warnings = of_tree(store, rows)
        batches = [*SpanTexts(store).in_batches(rows, own, warnings)]
        assert len(batches) == 3
        assert [text for batch in batches for text in batch] == one_by_one(store, rows, own, warnings)


def test_no_spans() -> None:
    """Nothing comes of nothing."""
    assert SpanTexts(store_of_files({})).of([], [], []) == []


def test_long_integers_stay_exact() -> None:
    """An integer that the quick decoder would round isn't."""
    record = file_of([Builder().span(attributes={"n": 0})]).replace(b'"n": 0', b'"n": 18446744073709551617')
    (text,) = SpanTexts(store_of_files({"a": record})).of([0], [0], [0])
    assert b'"attributes":{"n":18446744073709551617}' in text
    with pytest.raises(orjson.JSONEncodeError):
        orjson.dumps(18446744073709551617)
