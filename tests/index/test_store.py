"""The store: doubles are counted once, different spans with one id are all kept, and lost details cost no span.

records with the same ids            spans    duplicates    warnings
-------------------------            -----    ----------    --------
the same bytes twice                 1        1
the same span in two layouts         1        1
1 and 1.0 in an attribute            2        0             duplicate_id on both
the same, the other, the same        2        1             duplicate_id on both

The table of what is the same, and mixtures of it, are in `reliability/doubles.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import (
    EPOCH_NS,
    Builder,
    Document,
    MemoryReader,
    file_of,
    store_of,
    store_of_files,
    trace_row,
)
from records import whole
from spanview.formats.decoder import Decoder
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.model.problems import ProblemKind, Summary, Warnings
from spanview.model.span import Resource, Source
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable


def one(**fields: Any) -> Document:
    """Return a span whose ids are always the same."""
    return Builder().span("one", span=1, **fields)


def names(store: Store, rows: Iterable[int]) -> list[str]:
    """Return the names of rows."""
    return [store.names.texts[store.spans.name[row]] for row in rows]


# Doubles --------------------------------------------------------------------------------------------------------------


def test_first_by_place_is_kept() -> None:
    """Of doubles in several files the first by path and offset is the span's source, whichever was read first."""
    data = {
        "b.json": file_of([one(), one()]),
        "a.json": b"\n\n" + file_of([one()], indent=4),
        "c.json": file_of([one()]),
    }
    for order in (["b.json", "a.json", "c.json"], ["c.json", "b.json", "a.json"], ["a.json", "b.json", "c.json"]):
        store = store_of_files({path: data[path] for path in order})
        assert store.span(0).source == Source("a.json", 2, len(data["a.json"]) - 3)
        assert (len(store.spans), summary_of(store).duplicates) == (1, 3)


def test_warnings_are_those_of_the_place() -> None:
    """Of doubles, one with a value that is left out, the one that is the span's source decides."""
    data = {"a.json": file_of([one(status=7)]), "b.json": file_of([one()])}
    for order in (["a.json", "b.json"], ["b.json", "a.json"]):
        store = store_of_files({path: data[path] for path in order})
        assert (len(store.spans), store.span(0).source.file) == (1, "a.json")
        assert store.span(0).warnings == Warnings.ODD_VALUE


def test_doubles_of_a_whole_folder() -> None:
    """Two folders with the same spans in two layouts are one folder's spans, and as many doubles."""
    documents = [Builder().span(f"{number}", span=number + 1, start=number) for number in range(500)]
    store = store_of_files({"core/1.txt": file_of(documents), "serve/1.json": file_of(documents, indent=4)})
    assert (len(store.spans), summary_of(store).duplicates) == (500, 500)
    assert {store.sources[source].path for source in store.spans.source} == {"core/1.txt"}


def test_processes_with_the_same_ids() -> None:
    """Of processes that all make the same ids no record is read to tell their spans apart; of copies both are."""
    processes, spans = 8, 50
    files = {
        f"{process}.json": file_of(Builder().span("one", span=span + 1, start=process) for span in range(spans))
        for process in range(processes)
    }
    reader = MemoryReader()
    store = store_of_files(files, reader=reader)
    assert (len(store.spans), summary_of(store).duplicates, reader.reads) == (processes * spans, 0, 0)
    assert {*store.spans.warnings} == {Warnings.DUPLICATE_ID.value}
    data = files["5.json"]
    reader.files.append(data)
    store.add(store.add_source("copy.json"), Decoder().feed(data))
    assert (len(store.spans), summary_of(store).duplicates, reader.reads) == (processes * spans, spans, 2 * spans)


@pytest.mark.parametrize(
    ("changes", "spans"),
    [
        ({}, 1),
        ({"attributes": {"longer": 1}}, 2),
        ({"parent": 7}, 2),
        ({"start": 1}, 2),
        ({"name": "eno"}, 2),
        ({"kind": "PRODUCER"}, 2),
        ({"service": "s"}, 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("there", [None, file_of([Builder().span("two", span=2)])], ids=["nothing", "another"])
def test_record_that_is_gone(changes: dict[str, Any], spans: int, there: bytes | None) -> None:
    """Of a record that can't be read again the columns and the length tell whether another one is its double."""
    reader = MemoryReader()
    store = store_of_files({"1.json": file_of([one()])}, reader=reader)
    reader.files[0] = there
    for number in (2, 3):
        fields: dict[str, Any] = {"name": "one", "span": 1} | changes
        data, decoder = file_of([Builder().span(**fields)]), Decoder()
        reader.files.append(data)
        store.add(store.add_source(f"{number}.json"), decoder.feed(data))
        assert (len(store.spans), summary_of(store).duplicates) == (spans, number - spans)
    # The place is that of a record which is there.
    assert store.span(spans - 1).warnings == (Warnings.DUPLICATE_ID if spans > 1 else Warnings(0))


# Details --------------------------------------------------------------------------------------------------------------


def test_span_has_its_details() -> None:
    """What the columns don't have is read from the record."""
    document = one(attributes={"k": [1]}, status="ERROR", description="no", service="s", resource={"r": 2})
    span = store_of(document).span(0)
    assert (span.attributes, span.status.description) == ({"k": [1]}, "no")
    assert span.resource == Resource({"service.name": "s", "r": 2})
    assert span.warnings == Warnings(0)


LOST: dict[str, bytes | None] = {
    "gone": None,
    "empty": b"",
    "cut": file_of([one(service="s", status="ERROR")])[:-30],
    "another span": file_of([Builder().span("two", span=2)]),
    "another trace": file_of([Builder().span("one", trace=2, span=1)]),
    "zeros": bytes(1_000),
    "no span": b'{"name": 1}' + b" " * 1_000,
}


@pytest.mark.parametrize("data", LOST.values(), ids=LOST)
def test_lost_details(data: bytes | None) -> None:
    """A record that is gone or another one by now costs the details, not the span, and the span says so."""
    reader = MemoryReader()
    document = one(parent=9, kind="CLIENT", status="ERROR", description="no", service="s", attributes={"k": 1})
    store = store_of_files({"1.json": file_of([document])}, reader=reader)
    before = store.span(0)
    reader.files[0] = data
    after = store.span(0)
    assert after.warnings == Warnings.DETAIL_LOST
    for field in ("trace_id", "span_id", "parent_id", "name", "kind_value", "start_ns", "end_ns", "source", "service"):
        assert getattr(after, field) == getattr(before, field)
    assert after.status.code_value == before.status.code_value
    assert (after.attributes, after.events, after.links) == ({}, (), ())
    reader.files[0] = file_of([document])
    assert whole(store.span(0)) == whole(before)


def test_record() -> None:
    """A span's raw text is the bytes of its record, without the line end."""
    document = one()
    assert store_of(document).record(0) == json.dumps(document).encode()


# Traces ---------------------------------------------------------------------------------------------------------------


def test_trace_columns() -> None:
    """A trace's start, end, counts and root come from its spans, missing times left out, in any order of arrival."""
    build = Builder()
    documents = [
        build.span("no times", span=1, duration=None) | {"start_time": None},
        build.span("root", span=2, start=5, duration=100),
        build.span("error", span=3, parent=2, start=3, duration=None, status="ERROR"),
        build.span("late", span=4, parent=2, start=90, duration=50),
        build.span("other root", span=5, start=6, duration=1),
        build.span("tied root", span=6, start=5, duration=1),
    ]
    for order in (documents, documents[::-1], documents[2:] + documents[:2]):
        store = store_of(*order)
        table = store.trace_table
        assert table.start_ns[0] == EPOCH_NS + 3_000
        assert table.end_ns[0] == EPOCH_NS + 140_000
        assert (table.span_count[0], table.error_count[0], table.root_count[0]) == (6, 1, 4)
        assert names(store, [table.root_row[0]]) == ["root"]
        assert sorted(names(store, store.rows_of_trace(0))) == sorted(document["name"] for document in documents)


def test_trace_without_times_or_root() -> None:
    """Where no span has a time or none is a root, the trace has none."""
    store = store_of(Builder().span("a", parent=7, duration=None) | {"start_time": None})
    table = store.trace_table
    assert (table.start_ns[0], table.end_ns[0], table.root_count[0]) == (NO_TIME, NO_TIME, 0)
    assert table.root_row[0] == 0xFFFFFFFF


def test_orders() -> None:
    """Traces come by start, then id, those without a start and the one without an id last; rows by path and offset."""
    build = Builder()
    store = store_of_files(
        {
            "b.json": file_of(
                [
                    build.span("no id", trace=0, start=0),
                    build.span("third", trace=9, start=5),
                    build.span("unstarted", trace=1) | {"start_time": None},
                ]
            ),
            "a.json": file_of([build.span("second", trace=2, start=5), build.span("first", trace=8, start=4)]),
        }
    )
    assert names(store, (store.trace_table.first_row[trace] for trace in store.traces_in_order())) == [
        "first",
        "second",
        "third",
        "unstarted",
        "no id",
    ]
    assert names(store, store.rows_in_order()) == ["second", "first", "no id", "third", "unstarted"]
    assert summary_of(store).traces == 4


def test_generations_come_before_offsets() -> None:
    """A file that was truncated goes on as its next generation, behind the one before."""
    reader = MemoryReader()
    store = store_of_files(
        {"1.txt": file_of([Builder().span("old 1", span=1), Builder().span("old 2", span=2)])}, reader=reader
    )
    data, decoder = file_of([Builder().span("new", span=3)]), Decoder()
    reader.files.append(data)
    store.add(store.add_source("1.txt", generation=1), decoder.feed(data))
    assert names(store, store.rows_in_order()) == ["old 1", "old 2", "new"]
    assert summary_of(store).files == 1


def test_spans_of_many_traces() -> None:
    """Two thousand traces with equal span ids stay apart, however their spans are interleaved."""
    build = Builder()
    documents = [
        build.span("x", trace=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, span=span, start=number)
        for span in (1, 2)
        for number in range(1, 2_001)
    ]
    store = store_of(*documents)
    assert (summary_of(store).traces, summary_of(store).spans, summary_of(store).duplicates) == (2_000, 4_000, 0)
    assert set(store.trace_table.span_count) == {2}


def test_changed_traces() -> None:
    """A store that notes changes tells each trace that grew, once."""
    reader = MemoryReader()
    store, decoder = Store(reader, notes_changes=True), Decoder()
    build = Builder()
    source = store.add_source("1.json")
    reader.files.append(b"")
    assert store.take_changed() == set()
    store.add(source, decoder.feed(file_of([build.span(trace=1), build.span(trace=2), build.span(trace=1)])))
    assert {store.trace_table.trace_id(trace) for trace in store.take_changed()} == {1, 2}
    assert store.take_changed() == set()
    store.add(source, decoder.feed(file_of([build.span(trace=2)])))
    assert store.take_changed() == {trace_row(store, 2)}


# Counts and problems --------------------------------------------------------------------------------------------------


def test_summary_and_problems() -> None:
    """Each count and each problem is that of its file, in the order of files and offsets."""
    build = Builder()
    torn = file_of([build.span("torn")])[:-20]
    whole = file_of([build.span("whole", trace=2, span=2, parent=1)])
    files = {
        "e/empty.json": b"",
        "d/foreign.json": b'{"a": 1}\n{"b": 2}\n[3]\n',
        "c/text.log": b"only text\n",
        "b/torn.json": whole + torn,
        "a/only-torn.json": torn,
        "blank.json": b"\n\n",
    }
    store = store_of_files(files)
    assert summary_of(store) == Summary(
        files=6,
        bytes=sum(map(len, files.values())),
        spans=1,
        traces=1,
        roots=0,
        missing_parents=1,
        duplicates=0,
        torn=2,
        skipped=3,
    )
    problems = [(problem.file, problem.kind, problem.offset, problem.length) for problem in store.problems()]
    assert problems == [
        ("a/only-torn.json", ProblemKind.NO_SPANS, 0, len(torn)),
        ("a/only-torn.json", ProblemKind.TORN, 0, len(torn)),
        ("b/torn.json", ProblemKind.TORN, len(whole), len(torn)),
        ("c/text.log", ProblemKind.NO_SPANS, 0, 10),
        ("d/foreign.json", ProblemKind.NO_SPANS, 0, 22),
        ("d/foreign.json", ProblemKind.SKIPPED, 0, 8),
    ]
    assert "2 more" in store.problems()[-1].detail
    assert all(problem.detail.strip() for problem in store.problems())


def test_too_large_record_is_a_problem() -> None:
    """A record above the cap has a problem of its own kind, and isn't counted as torn."""
    reader, decoder = MemoryReader(), Decoder(cap=1_000)
    data = file_of([one(attributes={"v": "x" * 2_000}), Builder().span("b", span=2)])
    reader.files.append(data)
    store = Store(reader)
    store.add(store.add_source("1.json"), decoder.feed(data))
    assert [(problem.kind, problem.offset) for problem in store.problems()] == [(ProblemKind.TOO_LARGE, 0)]
    assert (summary_of(store).torn, summary_of(store).spans) == (0, 1)


def test_columns_are_buffers() -> None:
    """The columns are buffers, some 70 bytes a span, and of one length."""
    store = store_of(*(Builder().span(span=number) for number in range(1, 50)))
    columns = [getattr(store.spans, name) for name in store.spans.__slots__]
    assert {len(memoryview(column)) for column in columns} == {49}
    assert sum(column.itemsize for column in columns) <= 80
