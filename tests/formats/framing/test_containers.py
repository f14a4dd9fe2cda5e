"""Documents that are too large, or damaged, read element by element.

{"schema": "spanview/trace-tree/v1", "traces": [{…}, {…}, {…      each trace that is whole is read
"""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder
from seeds import THOROUGH
from spanview.formats.decoder import Decoder
from spanview.formats.framing import containers, framer
from spanview.formats.framing.containers import first_element
from spanview.formats.framing.scanner import Scanner
from spanview.formats.own import read as own
from spanview.formats.own.write import span_value
from spanview.formats.usual import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.formats.rows import Batch

SPANS: Final = 6


def tree(count: int, *, indent: int | None = None) -> bytes:
    """Return a trace tree with so many traces, each of `SPANS` spans below one another."""
    traces = []
    for trace in range(1, count + 1):
        build = Builder()
        node: dict[str, Any] = {}
        for number in range(SPANS, 0, -1):
            parent = f"{number - 1:016x}" if number > 1 else None
            line = {"trace_id": f"{trace:032x}", "span_id": f"{number:016x}", "parent_id": parent, "name": f"s{number}"}
            more = {"start_time": build.span()["start_time"], "status": {"code": "OK"}, "attributes": {"n": number}}
            children = [node] if node else []
            node = span_value(own.span_of(line | more, NOWHERE), None) | {"children": children}
        traces.append({"trace_id": f"{trace:032x}", "roots": [node]})
    value = {"schema": own.SCHEMA, "traces": traces, "summary": {"files": 1}, "problems": [{"kind": "torn"}]}
    return json.dumps(value, indent=indent).encode()


def decoded(pieces: Iterable[bytes], cap: int = 1 << 24) -> list[Batch]:
    """Return what a decoder makes of pieces of a file."""
    decoder = Decoder(cap=cap)
    return [*map(decoder.feed, pieces), decoder.close()]


def counts(batches: list[Batch]) -> tuple[int, int, int]:
    """Return how many spans, gaps and other documents there are."""
    return (
        sum(len(batch.offsets) for batch in batches),
        sum(len(batch.gaps) for batch in batches),
        sum(len(batch.skipped) for batch in batches),
    )


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("cap", [1 << 24, 20_000])
def test_larger_than_the_cap(indent: int | None, cap: int) -> None:
    """A document over the cap is read element by element, whatever it is cut into, and what comes behind it, too."""
    data = tree(40, indent=indent)
    assert len(data) > 20_000
    more = data + b"\n" + tree(2) + b"\n"
    for size in (len(more), 4096, 1000, 77):
        pieces = [more[at : at + size] for at in range(0, len(more), size)]
        assert counts(decoded(pieces, cap)) == (42 * SPANS, 0, 0)


def test_each_element_has_its_place() -> None:
    """The place of an element is where it stands in the file."""
    data = tree(40)
    places = [place for batch in decoded([data], cap=20_000) for place in batch.documents]
    assert len(places) == 40
    for number, (offset, length) in enumerate(places, 1):
        assert json.loads(data[offset : offset + length])["trace_id"] == f"{number:032x}"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_cut_anywhere(data: st.DataObject) -> None:
    """A document that breaks off keeps each trace before the break, and the damage is told with its place."""
    whole = tree(5, indent=data.draw(st.sampled_from([None, 1])))
    cut = data.draw(st.integers(60, len(whole) - 2))
    spans, gaps, skipped = counts(decoded([whole[:cut]]))
    ends = [offset + length for batch in decoded([whole], cap=6_000) for offset, length in batch.documents]
    assert (spans, skipped) == (sum(end <= cut for end in ends) * SPANS, 0)
    assert gaps >= 1


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_anywhere(data: st.DataObject) -> None:
    """A byte that can't stand there costs the trace that it stands in, and no other where each begins a line."""
    whole = tree(5).replace(b'{"trace_id": "' + b"0" * 31, b'\n{"trace_id": "' + b"0" * 31)
    at = data.draw(st.integers(60, len(whole) - 200))
    spans, gaps, _ = counts(decoded([whole[:at] + b"\x01" + whole[at + 1 :] + b"\n" + tree(1)]))
    assert spans >= 5 * SPANS
    assert gaps >= 1


def jaeger(count: int, *, indent: int | None = None) -> bytes:
    """Return a download of Jaeger's with so many traces, each of `SPANS` spans."""
    traces = [
        {
            "traceID": f"{trace:032x}",
            "spans": [
                {
                    "traceID": f"{trace:032x}",
                    "spanID": f"{number:016x}",
                    "operationName": "f",
                    "references": [],
                    "startTime": 1_700_000_000_000_000,
                    "duration": number,
                    "tags": [],
                    "logs": [],
                    "processID": "p1",
                }
                for number in range(1, SPANS + 1)
            ],
            "processes": {"p1": {"serviceName": "app", "tags": []}},
        }
        for trace in range(1, count + 1)
    ]
    return json.dumps({"data": traces, "total": 0, "errors": None}, indent=indent).encode()


def otlp(count: int, *, indent: int | None = None) -> bytes:
    """Return a document of OTLP's with so many resources, each with `SPANS` spans."""
    resources = [
        {
            "resource": {"attributes": []},
            "scopeSpans": [
                {
                    "scope": {"name": "s"},
                    "spans": [
                        {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": "f"}
                        for number in range(1, SPANS + 1)
                    ],
                }
            ],
        }
        for trace in range(1, count + 1)
    ]
    return json.dumps({"resourceSpans": resources}, indent=indent).encode()


def zipkin(count: int, *, indent: int | None = None) -> bytes:
    """Return a list of Zipkin's with so many traces, each of `SPANS` spans."""
    spans = [
        {"traceId": f"{trace:016x}", "id": f"{number:016x}", "name": "f", "timestamp": 1, "localEndpoint": {}}
        for trace in range(1, count + 1)
        for number in range(1, SPANS + 1)
    ]
    return json.dumps(spans, indent=indent).encode()


FORMATS: Final = {"tree": tree, "jaeger": jaeger, "otlp": otlp, "zipkin": zipkin}


@pytest.mark.shortened
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", FORMATS)
def test_damage_costs_one_element(name: str, indent: int | None) -> None:
    """A byte that can't stand there costs the element that it stands in and no other, all in one line or not."""
    whole = FORMATS[name](20, indent=indent)
    ids = [f"{number:016x}".encode() for number in range(1, 21)]
    chance, lost = random.Random(1), SPANS if name != "zipkin" else 1
    for _ in range(40 if THOROUGH else 10):
        at = chance.randrange(whole.index(ids[0]), whole.rindex(ids[4]))
        batches = decoded([whole[:at] + b"\x01" + whole[at:] + b"\n"])
        spans, gaps, _ = counts(batches)
        # Between two elements it costs none of them.
        assert 20 * SPANS - 2 * lost <= spans <= 20 * SPANS
        assert gaps >= 1
        assert any(gap.offset <= at < gap.offset + gap.length for batch in batches for gap in batch.gaps)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", FORMATS)
def test_all_formats_larger_than_the_cap(name: str, indent: int | None) -> None:
    """Lists of any length are read element by element, whatever they are cut into."""
    data = FORMATS[name](40, indent=indent)
    for size in (len(data), 997):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert counts(decoded(pieces, 8_000)) == (40 * SPANS, 0, 0)


@pytest.mark.parametrize("name", ["tree", "jaeger", "otlp"])
def test_one_trace_larger_than_the_cap(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An element may be larger than a record, within bounds; beyond them it is told."""
    one, three = (len(FORMATS[name](count)) for count in (1, 3))
    each = (three - one) // 2
    assert counts(decoded([FORMATS[name](3)], each // 2)) == (3 * SPANS, 0, 0)
    monkeypatch.setattr(containers, "ELEMENT_CAP_FACTOR", 1)
    spans, gaps, _ = counts(decoded([FORMATS[name](3)], each // 2))
    assert (spans, gaps > 0) == (0, True)


def test_what_is_none() -> None:
    """Other documents are as they were: one whole, or one that is damaged."""
    for text in (b'{"name": "x"}', b'{"data": {}}', b'{"data": []}', b'{"other": [{', b'{"data": [1', b""):
        assert first_element(text, 0, 1 << 24) == 0
    assert counts(decoded([b'{"data": [{"x": 1}, {"x": 2}]}\n'])) == (0, 0, 1)


def test_nested_without_an_end() -> None:
    """Documents within documents cost no more than their bytes."""
    times = []
    for count in (2_000, 20_000):
        data = b'{"data": [{}, ' * count
        began = time.process_time()
        decoded([data], cap=100_000)
        times.append(time.process_time() - began)
    assert times[1] < 40 * times[0] + 0.5


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_many_at_once(name: str, data: st.DataObject) -> None:
    """Elements that are taken at once are those that are found one by one, whatever damages them and between them."""
    whole = FORMATS[name](data.draw(st.integers(2, 12)), indent=data.draw(st.sampled_from([None, 1])))
    inserted = st.sampled_from([b"", b"\x01", b'"', b"}", b"{", b",", b"\n", b"]", b'},{"trace_id":', b"\0", b"text\n"])
    for _ in range(data.draw(st.integers(0, 4))):
        at, begin = (data.draw(st.integers(0, len(whole))) for _ in range(2))
        end = data.draw(st.sampled_from([at, at + 1, at + 40, at + 900]))
        piece = data.draw(inserted | st.sampled_from([whole[begin : begin + 700]]))
        whole = whole[:at] + piece + whole[end:]
    size, cap = data.draw(st.sampled_from([101, 1_000, len(whole) + 1])), data.draw(st.sampled_from([900, 4_000]))
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framer, "take_elements", lambda _data, position, **_: (position, []))
        one_by_one = told(decoded(pieces, cap))
    assert told(decoded(pieces, cap)) == one_by_one


def told(batches: list[Batch]) -> list[list[Any]]:
    """Return what batches have of names, places, gaps and other documents."""
    parts = [
        [[*batch.columns.names], [*batch.offsets], batch.documents, batch.gaps, batch.skipped, batch.partial]
        for batch in batches
    ]
    return [[item for part in some for item in part] for some in zip(*parts, strict=True)]


@pytest.mark.parametrize("name", FORMATS)
def test_few_are_scanned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large document, no more elements are scanned than pieces end in one."""
    scanned: list[int] = []

    def noted(position: int) -> Scanner:
        scanned.append(position)
        return Scanner(position)

    monkeypatch.setattr(framer, "Scanner", noted)
    data = FORMATS[name](400)
    pieces = [data[at : at + 40_000] for at in range(0, len(data), 40_000)]
    assert counts(decoded(pieces, 20_000)) == (400 * SPANS, 0, 0)
    assert len(scanned) <= len(pieces) + 1
