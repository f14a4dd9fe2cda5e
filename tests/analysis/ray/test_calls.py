"""Ray calls: by hand, on recordings, and on random spans, each against a slow count from the records.

µs    0    2         10        20
f     |====|                        submitted
f          ┈┈┈┈┈┈┈┈┈┈|=========|    waits 8, runs 10
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import slow_calls
from builders import EPOCH_NS, Builder, MemoryReader, file_of, store_of, store_of_files
from independent_reader import read_folder, read_text, without_doubles
from rays_word import NODE, line_of
from span_graphs import forests, graphs
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.unended import Fate, Unended
from spanview.formats.decoder import Decoder
from spanview.index import forest
from spanview.reports.calls import calls_report
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builders import Document
    from spanview.index.store import Store
FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
RECORDINGS: Final = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "spans").is_dir())
_ENDINGS: Final = {"PRODUCER": " ray.remote", "CONSUMER": " ray.remote_worker"}


def functions(store: Store, traces: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Return what `stats --by ray` prints, without the reasons of waits, which have tests of their own."""
    return slow_calls.comparable(calls_report(store, traces).document()["rows"])


def call_of(*times: tuple[str, int, int, str], producer: str = "UNSET") -> Store:
    """Return a store with one call of f, submitted from 0 to 2 µs; of its attempts name, start, end and status."""
    build = Builder()
    documents = [build.span("f ray.remote", span=1, start=0, duration=2, kind="PRODUCER", status=producer)]
    documents += [
        build.span(name, span=at, parent=1, start=start, duration=end - start, kind="CONSUMER", status=status)
        for at, (name, start, end, status) in enumerate(times, 2)
    ]
    return store_of(*documents)


@pytest.mark.parametrize(
    ("attempts", "producer", "outcome", "wait_us", "run_us"),
    [
        ([("f", 10, 20, "UNSET")], "UNSET", Outcome.ENDED, 8, 10),
        ([("A.f", 1, 20, "OK")], "UNSET", Outcome.ENDED, 0, 19),
        ([("f", 10, 20, "ERROR")], "UNSET", Outcome.ERROR, 8, 10),
        ([("f", 10, 20, "ERROR"), ("f", 30, 35, "UNSET")], "UNSET", Outcome.RETRIED, 8, 5),
        ([("f", 10, 20, "ERROR"), ("f", 30, 35, "ERROR")], "UNSET", Outcome.ERROR, 8, 5),
        ([], "UNSET", Outcome.NO_ATTEMPT, None, None),
        ([], "ERROR", Outcome.SUBMIT_ERROR, None, None),
        ([("f", 10, 20, "UNSET")], "ERROR", Outcome.ENDED, 8, 10),
    ],
)
def test_one_call(
    attempts: list[tuple[str, int, int, str]],
    producer: str,
    outcome: Outcome,
    wait_us: int | None,
    run_us: int | None,
) -> None:
    """A call waits until its first attempt, and went as its last one did."""
    store = call_of(*((f"{each[0]} ray.remote_worker", *each[1:]) for each in attempts), producer=producer)
    (call,) = calls_of(store)
    assert (call.function, call.outcome, len(call.attempts)) == ("f", outcome, len(attempts))
    assert (call.wait_ns, call.run_ns) == tuple(None if us is None else us * 1000 for us in (wait_us, run_us))


def test_what_is_no_call() -> None:
    """Producers and consumers of other libraries are none, nor what has only the name, nor an attempt by itself."""
    build = Builder()
    assert not calls_of(
        store_of(
            build.span("f ray.remote", kind="INTERNAL"),
            build.span("f send", kind="PRODUCER"),
            build.span("f ray.remote_worker", parent=77, kind="CONSUMER"),
        )
    )


@pytest.mark.parametrize(
    ("times", "most"),
    [([], 0), ([(3, 3)], 1), ([(2, 4), (4, 6)], 1), ([(2, 5), (4, 6)], 2), ([(2, 9), (3, 3), (3, 3)], 3)],
)
def test_how_many_at_once(times: list[tuple[int, int]], most: int) -> None:
    """What ends as another starts is over; what takes no time is there all the same."""
    store = call_of(*(("f ray.remote_worker", start, end, "UNSET") for start, end in times))
    assert functions(store)[0]["max_concurrency"] == most


@pytest.mark.parametrize(("seen_us", "most"), [(20, 1), (35, 2)])
def test_what_was_lost_ran_beside_others_as_long_as_it_was_seen(seen_us: int, most: int) -> None:
    """It counts, as what has an end does, until its process was last seen; more may have run at the same time."""
    build = Builder()
    calls = [build.span("f ray.remote", span=span, kind="PRODUCER", duration=5) for span in (1, 2)]
    fields: dict[str, Any] = {"kind": "CONSUMER"}
    runs = [
        build.span("f ray.remote_worker", span=3, parent=1, start=10, duration=None, **fields),
        build.span("f ray.remote_worker", span=4, parent=2, start=30, duration=9, **fields),
    ]
    store = store_of(*calls, *runs)
    lost = Unended(Fate.LOST, "", seen_ns=EPOCH_NS + 1_000 * seen_us)
    (function,) = functions_of(store, calls_of(store), unended={2: lost})
    assert (function.max_concurrency, function.unknown_ends, len(function.runs_ns)) == (most, 1, 1)
    alive = Unended(Fate.RUNS, "", seen_ns=EPOCH_NS + 1_000 * seen_us)
    (function,) = functions_of(store, calls_of(store), unended={2: alive})
    assert (function.max_concurrency, function.unknown_ends) == (most, 0)


@pytest.mark.parametrize(
    ("states", "error", "counts"),
    [
        # It waits for its next attempt, which is none that runs; it runs; it was cancelled; it failed for good.
        ({"1": 60}, "", {"no_end": 1}),
        ({"1": 60, "8": 70}, "", {"running": 1}),
        ({"1": 60, "12": 80}, "TASK_CANCELLED", {"cancelled": 1}),
        ({"1": 60, "12": 80}, "WORKER_DIED", {"lost": 1, "failed": 1}),
    ],
)
def test_what_became_of_the_next_attempt_counts(states: dict[str, int], error: str, counts: dict[str, int]) -> None:
    """Where Ray says it of one that left no span; the last one that did was lost."""
    task = "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    build, reader = Builder(), MemoryReader()
    fields: dict[str, Any] = {"kind": "CONSUMER", "attributes": ids, "duration": None}
    ran = build.span("f ray.remote_worker", span=2, parent=1, start=20, **fields)
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    store = store_of_files({"spans/7.json": file_of([call]), "spans/8.json": file_of([ran])}, reader=reader)
    first = {state: EPOCH_NS + 1_000 * us for state, us in {"1": 0, "8": 20, "12": 50}.items()}
    second = {state: EPOCH_NS + 1_000 * us for state, us in states.items()}
    lines = line_of(task, first, error="WORKER_DIED") + line_of(task, second, attempt=1, error=error)
    reader.files.append(lines)
    store.add(store.add_source("logs/export_events/event_EXPORT_TASK_7.log"), Decoder().feed(lines))
    (function,) = functions_of(store, calls_of(store), unended={1: Unended(Fate.LOST, "")})
    names = ("ended", "running", "lost", "no_end", "cancelled", "failed", "cut_off")
    assert {name: count for name in names if (count := getattr(function, name))} == counts


def test_times_centuries_apart() -> None:
    """Waits and runs that 64 bits don't hold are told all the same."""
    early, late = "1700-01-01T00:00:00.000000Z", "2250-01-01T00:00:00.000000Z"
    build = Builder()
    producer = build.span("f ray.remote", span=1, kind="PRODUCER", start_time=early, end_time=early)
    ran = build.span(
        "f ray.remote_worker", span=2, parent=1, kind="CONSUMER", start_time=late, end_time=early, status="ERROR"
    )
    (found,) = functions(store_of(producer, ran))
    length = 550 * 365 * 86_400 * 10**9
    assert found["wait_ns"]["max"] == found["cold_wait_ns"] == -found["run_ns"]["max"] > length


@pytest.mark.parametrize("recording", RECORDINGS)
def test_recordings(recording: str) -> None:
    """Counts, waits and runs are those of an independent calculation from the files, to the nanosecond."""
    folder = FIXTURES / recording / "spans"
    files = read_folder(folder)
    records = without_doubles([record for each in files.values() for record in each])
    file_of = {id(record): file for file, each in files.items() for record in each}
    assert functions(load_store([str(folder)])) == slow_calls.functions_of(records, file_of)


def test_the_recorded_calls() -> None:
    """The bundled hook's recording has one call that died, one that was retried, and two functions that failed."""
    found = {each["function"]: each for each in functions(load_store([str(FIXTURES / "ray-tasks-bundled-hook/spans")]))}
    counts = {
        name: (each["calls"], each["attempts"], each["errors"], each["retried"], each["no_attempt"])
        for name, each in found.items()
    }
    assert sum(calls for calls, *_ in counts.values()) == 47
    assert counts["__main__.flaky"] == (1, 3, 2, 1, 0)
    assert counts["__main__.die"] == (1, 0, 0, 0, 1)


def renamed(documents: list[Document]) -> list[Document]:
    """Return spans of Ray's hooks in place of others of the same kinds."""
    for document in documents:
        kind = document["kind"].removeprefix("SpanKind.")
        document["name"] += _ENDINGS.get(kind, "")
    return documents


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_spans(data: st.DataObject) -> None:
    """Parents missing or doubled, ids of zero, times missing or the wrong way round: the same."""
    documents = data.draw(st.one_of(forests(traces=3, most=20), graphs(most=12)))
    for document in documents:
        document["kind"] = "SpanKind." + data.draw(st.sampled_from(("PRODUCER", "CONSUMER", "INTERNAL")))
    text = "".join(json.dumps(document) for document in renamed(documents))
    store = store_of(*documents)
    # Where a circle is cut, what hung from its end is a root, and no attempt any more.
    assume(not any(store.tree(trace).cut for trace in range(len(store.trace_table))))
    records = without_doubles(read_text(text))
    assert functions(store) == slow_calls.functions_of(records)
    some = [trace for trace in range(len(store.trace_table)) if trace % 2]
    chosen = {store.trace_table.trace_id(trace) for trace in some}
    counted = {None if number == 0 else f"{number:032x}" for number in chosen}
    assert functions(store, some) == slow_calls.functions_of(records, traces=counted)


def test_calls_are_listed_by_few_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether attempts were cut off is read of all at once: one by one, it took seconds for the calls of a function."""
    build, reads = Builder(), list[int]()
    documents = [
        document
        for span in range(1, 401, 2)
        for document in (
            build.span("f ray.remote", span=span, start=span, duration=1, kind="PRODUCER"),
            build.span("f ray.remote_worker", span=span + 1, parent=span, start=span + 2, duration=9, kind="CONSUMER"),
        )
    ]
    (tmp_path / "7.txt").write_bytes(file_of(documents))
    calls, read = calls_of(load_store(tmp_path)), RecordReader.read

    def counted(reader: RecordReader, source: int, offset: int, length: int) -> bytes | None:
        reads.append(length)
        return read(reader, source, offset, length)

    monkeypatch.setattr(RecordReader, "read", counted)
    assert [call.outcome for call in calls] == [Outcome.ENDED] * 200
    assert len(reads) <= 2


def test_shares_of_the_traces_give_the_same_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of their rows, each with its attempts, however many traces are linked together."""
    build, documents = Builder(), []
    for span, name, kind in ((1, "f ray.remote", "PRODUCER"), (3, "f ray.remote_worker", "CONSUMER")):
        for trace in (5, 2, 4, 1, 3):
            for again in range(trace if span == 3 else 1):
                ids: dict[str, Any] = {"trace": trace, "span": span + again, "parent": 1 if span == 3 else None}
                documents.append(build.span(name, kind=kind, start=10 * span + again, **ids))
    # The last one is of the first trace.
    store = store_of(*documents, build.span("f ray.remote", kind="PRODUCER", trace=5, span=90, start=900))
    whole = calls_of(store)
    monkeypatch.setattr(forest, "_SHARE_SPANS", 2)
    shares = calls_of(store)
    for name in ("rows", "attempts", "firsts", "counts"):
        assert getattr(shares, name).tolist() == getattr(whole, name).tolist()
    assert whole.rows.tolist() == [0, 1, 2, 3, 4, 20]
    assert whole.counts.tolist() == [5, 2, 4, 1, 3, 0]
