"""Records of one span, of which those written before its end have none: they are one span, in whatever order they come.

records, in the order of their places       what is there
------------------------------------       ------------------------------------------------------
a 1-?, a 1-5                                a 1-5
a 1-5, a 1-?                                a 1-5
a 1-?, A 1-?                                A 1-?
a 1-?, a 1-?                                a 1-?, and 1 duplicate
a 1-?, a 2-5                                both: they start at other times, and so are two spans
a 1-?, a 1-5 below another parent           both
a 1-?, a 1-? of another service             both
a 1-?, A 1-? of another resource            A 1-?
a 1-?, a 1-5, A 1-5                         the last two: both have ended
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, MemoryReader, file_of
from programs import Following, spanview
from spanview.formats.decoder import Decoder
from spanview.index.arrange import arrange
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from builders import Document

TRACE_ID: Final = f"{1:032x}"
Found = list[tuple[str, int | None, int | None, str, bool]]
"""Of each span name, start and end in microseconds, status, and whether it is marked as one of several."""


def one(name: str = "a", start: int = 1, end: int | None = None, **fields: Any) -> Document:
    """Return a record of a span whose ids are always the same."""
    duration = None if end is None else end - start
    return Builder().span(name, span=1, start=start, duration=duration, **fields)


def read_in_turn(documents: Sequence[Document], order: Iterable[int], *, is_arranged: bool = False) -> Store:
    """Return a store into which these documents were read in an order, each from a file named after its index.

    Args:
        documents: The documents.
        order: Their indexes.
        is_arranged: Whether files, rows and traces get their numbers anew after each, by path and offset.
    """
    details = MemoryReader()
    store = Store(details)
    for index in order:
        data = file_of([documents[index]])
        details.files.append(data)
        store.add(store.add_source(f"spans/{index}.json"), Decoder().feed(data))
        if is_arranged:
            numbers = arrange(store.intake)
            details.files = [data for _, data in sorted(zip(numbers, details.files, strict=True))]
    return store


def found(store: Store) -> Found:
    """Return what there is, sorted."""
    spans = [store.span(row) for row in range(len(store.spans))]
    assert not any(Warnings.DETAIL_LOST in span.warnings for span in spans)
    what = [
        (
            span.name,
            span.start_ns and (span.start_ns - EPOCH_NS) // 1000,
            span.end_ns and (span.end_ns - EPOCH_NS) // 1000,
            span.status,
            Warnings.DUPLICATE_ID in span.warnings,
        )
        for span in spans
    ]
    return sorted(what, key=str)


@pytest.mark.parametrize(
    ("documents", "spans", "duplicates"),
    [
        ([one(), one(end=5)], [("a", 1, 5, "UNSET", False)], 0),
        ([one(end=5), one()], [("a", 1, 5, "UNSET", False)], 0),
        ([one(), one("A")], [("A", 1, None, "UNSET", False)], 0),
        ([one(), one()], [("a", 1, None, "UNSET", False)], 1),
        ([one(), one(), one(end=5)], [("a", 1, 5, "UNSET", False)], 0),
        ([one(), one(end=5), one(), one(end=5)], [("a", 1, 5, "UNSET", False)], 1),
        ([one(), one("A"), one()], [("a", 1, None, "UNSET", False)], 1),
        ([one(), one("A"), one("A"), one(), one(end=9)], [("a", 1, 9, "UNSET", False)], 0),
        ([one(), one("A"), one("A"), one("A")], [("A", 1, None, "UNSET", False)], 2),
        ([one(), one("B", end=5, status="ERROR")], [("B", 1, 5, "ERROR", False)], 0),
        ([one(), one(start=2, end=5)], [("a", 1, None, "UNSET", True), ("a", 2, 5, "UNSET", True)], 0),
        ([one(), one(end=5, parent=9)], [("a", 1, 5, "UNSET", True), ("a", 1, None, "UNSET", True)], 0),
        ([one(), one(end=5, kind="CLIENT")], [("a", 1, 5, "UNSET", True), ("a", 1, None, "UNSET", True)], 0),
        ([one(), one(end=5, service="b")], [("a", 1, 5, "UNSET", True), ("a", 1, None, "UNSET", True)], 0),
        ([one(), one(service="b")], [("a", 1, None, "UNSET", True)] * 2, 0),
        ([one(), one("A", resource={"pid": 1})], [("A", 1, None, "UNSET", False)], 0),
        ([one(), one(resource={"pid": 1}), one(end=5)], [("a", 1, 5, "UNSET", False)], 0),
        ([one(), one(resource={"pid": 1}), one(), one(resource={"pid": 2})], [("a", 1, None, "UNSET", False)], 1),
        (
            [one(), one(end=5, kind="CLIENT"), one(end=7)],
            [("a", 1, 5, "UNSET", True), ("a", 1, 7, "UNSET", True)],
            0,
        ),
        (
            [one(end=7), one(end=5, kind="CLIENT"), one()],
            [("a", 1, 5, "UNSET", True), ("a", 1, 7, "UNSET", True)],
            0,
        ),
        ([one(), one(end=5), one("A", end=5)], [("A", 1, 5, "UNSET", True), ("a", 1, 5, "UNSET", True)], 0),
        (
            [one(start=2), one(), one(end=5), one(start=2, end=7)],
            [("a", 1, 5, "UNSET", True), ("a", 2, 7, "UNSET", True)],
            0,
        ),
    ],
)
def test_records_of_one_span(documents: list[Document], spans: Found, duplicates: int) -> None:
    """Whatever the order in which records come, the same ones count, and so does the trace as a whole."""
    for order in permutations(range(len(documents))):
        store = read_in_turn(documents, order)
        assert (found(store), store.tallies.duplicates) == (spans, duplicates), order
        table = store.trace_table
        assert table.span_count[0] == len(spans)
        assert table.error_count[0] == sum(span[3] == "ERROR" for span in spans)
        ends = [span[2] for span in spans if span[2] is not None]
        assert table.end_ns[0] == (EPOCH_NS + max(ends) * 1000 if ends else NO_TIME)
        roots = [row for row, parent in enumerate(store.spans.parent_id) if not parent]
        assert table.root_row[0] == min(roots, key=lambda row: (store.spans.start_ns[row], store.intake.order(row)))


RECORDS: Final = [
    one(name, start, end, service=service, resource={"pid": pid}, parent=parent)
    for name, end, pid in (("a", None, 1), ("a", None, 2), ("A", None, 2), ("a", 5, 1), ("a", 5, 2))
    for start, service, parent in ((1, "a", None), (1, "a", 9), (1, "b", None), (2, "a", None))
]


@given(documents=st.lists(st.sampled_from(RECORDS), min_size=3, max_size=4), is_arranged=st.booleans())
def test_any_records_in_any_order(documents: list[Document], *, is_arranged: bool) -> None:
    """Whatever the records, one order of reading gives what another gives, also where rows are renumbered between."""
    outcomes = set()
    for order in permutations(range(len(documents))):
        store = read_in_turn(documents, order, is_arranged=is_arranged)
        files = sorted(store.span(row).source.file for row in range(len(store.spans)))
        outcomes.add(repr((found(store), files, store.tallies.duplicates, store.intake.duplicates)))
    assert len(outcomes) == 1


def test_many_records_in_any_order() -> None:
    """A trace of many spans, each begun before or after it ended, is the same in every order."""
    dice, builder = random.Random(7), Builder()
    ended = [builder.span(f"s{number}", parent=number or None, start=number) for number in range(1, 60)]
    begun = [dict(span, end_time=None, attributes={"begun": True}) for span in ended]
    expected = None
    for _ in range(20):
        documents = [*ended, *dice.sample(begun, 40), *begun[:3]]
        dice.shuffle(documents)
        store = read_in_turn(documents, range(len(documents)))
        expected = expected or found(store)
        assert found(store) == expected
        assert len(store.spans) == len(ended)
        assert store.tallies.duplicates == 0


def test_versions_tell_what_is_new() -> None:
    """A trace has another version when the end of one of its spans has become known, and so has the store."""
    store = Store(reader := MemoryReader(), notes_changes=True)
    reader.files = [file_of([one()]), file_of([one(end=5)]), file_of([one()])]
    versions = []
    for number, data in enumerate(reader.files):
        store.add(store.add_source(f"{number}.json"), Decoder().feed(data or b""))
        versions.append((store.version, store.trace_table.version(0), store.take_changed()))
    assert versions == [(1, 1, {0}), (2, 2, {0}), (2, 2, {0})]


# -- OTLP --------------------------------------------------------------------------------------------------------------


def otlp_line(span: int = 1, *, end_ns: int | None = None, **fields: Any) -> bytes:
    """Return a line of OTLP with one span."""
    value = {"traceId": TRACE_ID, "spanId": f"{span:016x}", "name": "a", "startTimeUnixNano": str(EPOCH_NS)} | fields
    if end_ns is not None:
        value["endTimeUnixNano"] = str(end_ns)
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [value]}]}]}).encode() + b"\n"


def test_marks_in_a_file_of_their_own(tmp_path: Path) -> None:
    """Spans that are marked as begun in one file, and that ended in another: the ended ones count, the rest is open."""
    end = EPOCH_NS + 5_000
    (tmp_path / "n-7-1700000000000.jsonl").write_bytes(otlp_line(1, end_ns=end) + otlp_line(3, end_ns=end))
    (tmp_path / "n-7-1700000000000.started.jsonl").write_bytes(b"".join(otlp_line(number) for number in (1, 2, 3)))
    store = load_store([str(tmp_path)])
    spans = [*map(store.span, range(len(store.spans)))]
    assert {(span.span_id or "")[-1]: span.end_ns for span in spans} == {"1": end, "2": None, "3": end}
    assert all(Warnings.DUPLICATE_ID not in span.warnings for span in spans)
    assert summary_of(store).duplicates == 0


def test_snapshots_that_grow(tmp_path: Path) -> None:
    """Of several snapshots of a span in one file, the last counts, until the span has ended."""
    file = tmp_path / "spans.jsonl"
    attributes = [{"key": "rows", "value": {"intValue": 3}}]
    file.write_bytes(otlp_line() + otlp_line(attributes=attributes) + otlp_line(name="b", attributes=attributes))
    store = load_store([str(file)])
    (span,) = map(store.span, range(len(store.spans)))
    assert (span.name, span.attributes, span.end_ns) == ("b", {"rows": 3}, None)


def pending(parent: str) -> bytes:
    """Return what Logfire writes when the span 1 starts: a span of its own, whose parent that is."""
    attributes = {"logfire.span_type": "pending_span", "logfire.pending_parent_id": parent}
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return otlp_line(77, end_ns=EPOCH_NS, parentSpanId=f"{1:016x}", attributes=pairs)


@pytest.mark.parametrize("parent", [f"{0:016x}", f"{5:016x}"])
def test_pending_spans_of_logfire(tmp_path: Path, parent: str) -> None:
    """A pending span stands for the span that has begun, with that one's id and parent, and without an end."""
    file, parent_id = tmp_path / "spans.jsonl", parent if parent.strip("0") else None
    file.write_bytes(pending(parent))
    store = load_store([str(file)])
    (span,) = map(store.span, range(len(store.spans)))
    assert (span.span_id, span.parent_id, span.end_ns) == (f"{1:016x}", parent_id, None)
    assert span.warnings == Warnings.NO_END
    ended: dict[str, Any] = {} if parent_id is None else {"parentSpanId": parent_id}
    file.write_bytes(pending(parent) + otlp_line(end_ns=EPOCH_NS + 9, **ended))
    store = load_store([str(file)])
    (span,) = map(store.span, range(len(store.spans)))
    assert (span.end_ns, span.warnings) == (EPOCH_NS + 9, Warnings(0))


# -- every way of reading ----------------------------------------------------------------------------------------------


def test_large_folders(tmp_path: Path) -> None:
    """The scan of large files, whose spans have ended, and the decoder, which reads the others, agree."""
    builder = Builder()
    ended = [builder.span(f"s{number % 7}", trace=number // 10 + 1, start=number) for number in range(4_000)]
    begun = [dict(span, end_time=None) for span in ended[::3]]
    for name, documents in (("b.json", ended), ("a.json", begun[::2]), ("c.json", begun[1::2])):
        text = "".join(json.dumps(document) + "\n" for document in documents)
        (tmp_path / name).write_text(text)
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions(paths=(str(tmp_path),), quick_from=0), store, details)
    for _ in session.load():
        pass
    assert len(store.spans) == len(ended)
    assert NO_TIME not in store.spans.end_ns
    assert not any(store.spans.warnings)
    assert not store.tallies.duplicates
    assert store.intake.scanned
    assert store.span(0).source.file.endswith("b.json")
    session.close()


def test_following_in_pieces(tmp_path: Path) -> None:
    """While files grow, in whatever pieces, a span is open until its end comes."""
    details = RecordReader()
    store = Store(details, notes_changes=True)
    session = Session(ReadOptions(paths=(str(tmp_path),), follow=True), store, details)
    for _ in session.load():
        pass
    begun, ended = otlp_line(), otlp_line(end_ns=EPOCH_NS + 7)
    steps = [("x.started.jsonl", begun[:50]), ("x.started.jsonl", begun[50:]), ("x.jsonl", ended[:99])]
    seen = []
    for name, data in [*steps, ("x.jsonl", ended[99:])]:
        with (tmp_path / name).open("ab") as file:
            file.write(data)
        session.look()
        seen.append([*store.spans.end_ns])
    assert seen == [[], [NO_TIME], [NO_TIME], [EPOCH_NS + 7]]
    session.close()


def ends_by_id(lines: Iterable[str]) -> dict[str, list[tuple[str | None, list[str]]]]:
    """Return the ends, and the warnings, that spans have in lines, by their ids' last digits."""
    ends = defaultdict[str, list[tuple[str | None, list[str]]]](list)
    for span in map(json.loads, lines):
        ends[span["span_id"][-1]].append((span["end_time"], span["warnings"]))
    return ends


END: Final = "2023-11-14T22:13:20.000000007Z"


def test_spans_as_lines(tmp_path: Path) -> None:
    """Commands have a span once, with its end where that is known."""
    (tmp_path / "x.started.jsonl").write_bytes(otlp_line(1) + otlp_line(2))
    (tmp_path / "x.jsonl").write_bytes(otlp_line(1, end_ns=EPOCH_NS + 7))
    lines = spanview("spans", tmp_path).text.splitlines()
    assert ends_by_id(lines) == {"1": [(END, [])], "2": [(None, ["no_end"])]}


def test_spans_as_they_come(tmp_path: Path) -> None:
    """With --follow a span is printed when it has begun, and when it has ended, and what began it no more then."""
    (tmp_path / "x.started.jsonl").write_bytes(otlp_line(1) + otlp_line(2))
    (tmp_path / "x.jsonl").write_bytes(otlp_line(1, end_ns=EPOCH_NS + 7))
    with Following("spans", "-f", tmp_path) as following:
        following.wait_for(lambda: len(following.lines) == 2)
        with (tmp_path / "x.jsonl").open("ab") as file:
            file.write(otlp_line(2, end_ns=EPOCH_NS + 7) + otlp_line(3, end_ns=EPOCH_NS + 7))
        following.wait_for(lambda: len(following.lines) == 4)
    expected = {"1": [(END, [])], "2": [(None, ["no_end"]), (END, [])], "3": [(END, [])]}
    assert ends_by_id(following.lines) == expected
