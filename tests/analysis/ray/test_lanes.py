"""What each process did.

file 1                     file 2
------                     ------
main    0 -  40            work   20 - 50   (child of call)
  call  5 -   6              step 30 - 60
last   90 - 100            work   80 - 85   an error (child of call)
"""

from __future__ import annotations

from itertools import chain, pairwise
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, MemoryReader, file_of, store_of_files
from independent_reader import read_folder, without_doubles
from slow_lanes import SlowLane, busy_ns, longest_gap, names_of, shown_at, slow_lanes
from span_graphs import forests, graphs
from spanview.analysis.intervals import Covered
from spanview.analysis.ray.lanes import Lanes, joined, lanes_in
from spanview.analysis.ray.names import RAN, rays_own_names, uncounted_names
from spanview.analysis.ray.workers import Role, Worker, is_of_one_process, named, node_of, worker_of, writer_of
from spanview.formats.decoder import Decoder
from spanview.index.forest import forest_of
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME, format_time
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builders import Document
    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"


def documents() -> dict[str, list[Document]]:
    """Return the spans of each file of the drawing."""
    build = Builder()
    return {
        "1.txt": [
            build.span("call", span=2, parent=1, start=5, duration=1, kind="PRODUCER"),
            build.span("main", span=1, start=0, duration=40),
            build.span("last", span=3, start=90, duration=10),
        ],
        "2.txt": [
            build.span("work", span=4, parent=2, start=20, duration=30),
            build.span("step", span=5, parent=4, start=30, duration=30),
            build.span("work", span=6, parent=2, start=80, duration=5, status="ERROR"),
        ],
    }


def store_of_drawing(reader: MemoryReader | None = None) -> Store:
    """Return a store of the drawing."""
    return store_of_files({path: file_of(spans) for path, spans in documents().items()}, reader=reader)


def us(ns: int) -> int:
    """Return microseconds of the tests' clock."""
    return (ns - EPOCH_NS) // 1000


def test_the_drawing() -> None:
    """Blocks, busy times, gaps and errors of both files."""
    first, second = lanes_in(forest_of(store_of_drawing())).lanes
    assert (first.spans, first.errors, first.max_concurrency, first.busy_ns) == (3, 0, 1, 50_000)
    # While `work` runs below, `main` only awaits it.
    assert (first.active_ns, first.awaited_ns) == (30_000, 20_000)
    assert [*map(us, first.blocks.starts)] == [0, 90]
    assert first.gap is not None
    assert [*map(us, first.gap)] == [40, 90]
    assert (second.spans, second.errors, second.max_concurrency, second.busy_ns) == (3, 1, 1, 45_000)
    assert [*map(us, second.blocks.starts)] == [20, 80]
    assert (us(second.start_ns), us(second.end_ns)) == (20, 85)
    assert [*second.blocks.failed] == [1]


def test_at_and_nearest() -> None:
    """What runs at a time, the one that started last; else what is nearest, before or behind."""
    build = Builder()
    spans = [
        build.span("long", span=1, start=10, duration=40),
        build.span("short", span=2, start=20, duration=5),
        build.span("late", span=3, start=100, duration=0),
    ]
    (lane,) = lanes_in(forest_of(store_of_files({"1.txt": file_of(spans)}))).lanes
    blocks = lane.blocks
    at = {time: blocks.running_at(EPOCH_NS + time * 1000) for time in (0, 10, 22, 30, 60, 100, 101)}
    assert at == {0: None, 10: 0, 22: 1, 30: 0, 60: None, 100: 2, 101: None}
    nearest = {time: blocks.nearest(EPOCH_NS + time * 1000) for time in (0, 22, 30, 60, 90, 200)}
    assert nearest == {0: 0, 22: 1, 30: 0, 60: 0, 90: 2, 200: 2}
    assert lane.max_concurrency == 2


def slow_form(store: Store, found: Lanes) -> list[SlowLane]:
    """Return lanes in the form of the slow ones."""
    return [
        SlowLane(
            path=store.sources[store.spans.source[lane.first_row]].path,
            service=store.services.texts[lane.service],
            spans=lane.spans,
            errors=lane.errors,
            blocks=[
                (row, -1 if parent == NO_ROW else parent)
                for row, parent in zip(lane.blocks.rows, lane.blocks.parents, strict=True)
            ],
            failed=[*lane.blocks.failed],
            busy_ns=lane.busy_ns,
            gap=lane.gap,
            max_concurrency=lane.max_concurrency,
        )
        for lane in found.lanes
    ]


def plain(found: Lanes) -> list[Any]:
    """Return lanes in a form in which sequences of all kinds are equal."""
    lists = [
        (
            (lane.process, lane.service, lane.first_row, lane.spans, lane.errors, lane.gap, lane.max_concurrency),
            [[*getattr(lane.blocks, name)] for name in lane.blocks.__slots__],
            [[*column] for column in lane.busy],
        )
        for lane in found.lanes
    ]
    return [lists, dict(found.names), [*found.starts], [*found.ends], [*found.failures]]


def check(store: Store) -> None:
    """Compare with the slow lanes, for all traces and for some."""
    for traces in (None, range(0, len(store.trace_table), 2), range(0)):
        found, slow = lanes_in(forest_of(store, traces)), slow_lanes(store, traces)
        assert slow_form(store, found) == slow
        assert found.names == names_of(store, slow)
        assert [*found.starts] == sorted(store.spans.start_ns[row] for lane in slow for row, _ in lane.blocks)


def spread(spans: list[Document], files: list[int]) -> Store:
    """Return a store of spans in several files."""
    parts: dict[str, list[Document]] = {}
    for span, file in zip(spans, files, strict=False):
        parts.setdefault(f"{file}.txt", []).append(span)
    return store_of_files({path: file_of(part) for path, part in parts.items()})


FILES: Final = st.lists(st.integers(1, 3), min_size=30, max_size=30)


@settings(max_examples=200, deadline=None)
@given(forests(traces=4, most=30), FILES)
def test_forests(spans: list[Document], files: list[int]) -> None:
    """Spans with parents that are there or missing, in one file and another."""
    check(spread(spans, files))


@settings(max_examples=200, deadline=None)
@given(graphs(most=20), FILES)
def test_graphs(spans: list[Document], files: list[int]) -> None:
    """Doubled ids, ids of zero, circles, times that are missing or the wrong way round."""
    check(spread(spans, files))


def _slow_parents(
    store: Store, rows: Sequence[int], parents: Sequence[int], keys: Sequence[tuple[int, int]]
) -> list[int]:
    """Return the parents, where a root without a call is below the request within which it ran in its process."""
    spans, names, within = store.spans, store.names.texts, [*parents]
    ends = [inf if spans.end_ns[row] == NO_TIME else spans.end_ns[row] for row in rows]
    starts = [spans.start_ns[row] for row in rows]
    timed = [NO_TIME != start <= end for start, end in zip(starts, ends, strict=True)]
    requests = [at for at, row in enumerate(rows) if timed[at] and names[spans.name[row]] == REPLICA]

    held: list[tuple[int, int]] = []

    def root_of(position: int) -> int:
        return position if parents[position] < 0 else root_of(parents[position])

    for at in sorted(range(len(rows)), key=starts.__getitem__):
        is_call = spans.kind[rows[at]] in {PRODUCER, CONSUMER}
        if parents[at] != ROOT or is_call or not timed[at] or at in requests:
            continue
        fitting = [
            (ends[request], request)
            for request in requests
            if keys[request] == keys[at]
            and starts[root_of(request)] < starts[at]
            and starts[request] <= starts[at]
            and ends[request] >= ends[at]
            and all(
                ends[other] <= starts[at] for other in range(len(rows)) if within[other] == request != parents[other]
            )
        ]
        if fitting:
            within[at] = min(fitting)[1]
            held.append((at, within[at]))
    return within


def _slow_active_ns(store: Store) -> dict[tuple[int, int], int]:
    """Return how long each process was active: from one time that a span has to the next, span by span."""
    forest, spans, names = forest_of(store), store.spans, store.names.texts
    rows, parents = forest.rows.tolist(), forest.parents.tolist()
    keys = [(int(process), spans.service[row]) for process, row in zip(forest.of("process"), rows, strict=True)]
    times = [(spans.start_ns[row], spans.end_ns[row]) for row in rows]
    parents = _slow_parents(store, rows, parents, keys)
    for position, row in enumerate(rows):
        is_message = spans.kind[row] == CONSUMER and not names[spans.name[row]].endswith(RAN)
        if is_message and parents[position] >= 0 and keys[parents[position]] != keys[position]:
            parents[position] = ROOT
    below: dict[int, list[tuple[int, int]]] = {position: [] for position in range(len(rows))}
    for position, (start, end) in enumerate(times):
        since, parent = start, parents[position]
        if parent >= 0 and keys[parent] != keys[position]:
            above = rows[parent]
            if (spans.kind[above], spans.kind[rows[position]]) == (PRODUCER, CONSUMER):
                since = times[parent][1]
            elif (names[spans.name[above]], names[spans.name[rows[position]]]) == (ROUTED, REPLICA):
                since = times[parent][0]
        stretches = [(start, end)] if NO_TIME not in (start, end) else []
        stretches += [(since, start)] if NO_TIME not in (since, start) else []
        while parent >= 0:
            below[parent] += stretches
            parent = parents[parent]
    edges = sorted({time for pair in times for time in pair} - {NO_TIME})
    active: dict[tuple[int, int], int] = dict.fromkeys(keys, 0)
    for first, last in pairwise(edges):
        runs = {
            keys[position]
            for position, (start, end) in enumerate(times)
            if NO_TIME not in (start, end)
            and start <= first < last <= end
            and not any(begin <= first and last <= stop for begin, stop in below[position])
        }
        for key in runs:
            active[key] += last - first
    return active


ROUTED, REPLICA = "route_to_replica D f", "replica_handle_request D f"
_SORTS: Final = {
    "call": ({"kind": "SpanKind.PRODUCER", "name": "f ray.remote"}, {"kind": "SpanKind.CONSUMER", "name": f"f{RAN}"}),
    "message": ({"kind": "SpanKind.PRODUCER"}, {"kind": "SpanKind.CONSUMER"}),
    "serve": ({"name": ROUTED}, {"name": REPLICA}),
}
"""What spans are that one calls the other by, by how it does."""


@settings(max_examples=200, deadline=None)
@given(forests(traces=2, most=12), FILES, st.lists(st.sampled_from(("", *_SORTS)), min_size=30, max_size=30))
def test_what_only_awaits(spans: list[Document], files: list[int], sorts: list[str]) -> None:
    """A process is active while a span of it runs, and nothing below that span runs or is queued; messages are sent."""
    by_id = {(span["context"]["trace_id"], span["context"]["span_id"]): span for span in spans}
    for span, sort in zip(spans, sorts, strict=False):
        parent = by_id.get((span["context"]["trace_id"], span["parent_id"]))
        if sort and parent is not None:
            parent.update(_SORTS[sort][0])
            span.update(_SORTS[sort][1])
    store = spread(spans, files)
    found = {(lane.process, lane.service): lane.active_ns for lane in lanes_in(forest_of(store)).lanes}
    assert found == _slow_active_ns(store)


@settings(max_examples=200, deadline=None)
@given(forests(traces=2, most=12), FILES, st.lists(st.booleans(), min_size=30, max_size=30))
def test_what_has_no_end_awaits_what_it_awaited_with_its_end(
    spans: list[Document], files: list[int], are_open: list[bool]
) -> None:
    """Until when it is known to have run, an open span awaits what it would, had it ended then; nothing else ran."""
    store = spread(spans, files)
    known, ends = lanes_in(forest_of(store)).lanes, store.spans.end_ns
    until = {
        row: ns for row, (ns, is_open) in enumerate(zip(ends, are_open, strict=False)) if is_open and ns != NO_TIME
    }
    for row in until:
        ends[row] = NO_TIME
    for lane, closed in zip(lanes_in(forest_of(store), until=until).lanes, known, strict=True):
        stretches = sorted(chain(*(zip(one.starts, one.ends, strict=True) for one in (closed.active, lane.busy))))
        others = Covered.by([start for start, _ in stretches], [end for _, end in stretches])
        asked_ns = max(until.values(), default=closed.start_ns)
        awaited = lane.open_awaited.between(closed.start_ns, asked_ns) if lane.open_awaited.starts else 0
        assert awaited == closed.busy_ns - others.sums[-1]


def test_a_task_that_waits_for_its_calls_while_it_runs_awaits_others() -> None:
    """As long as its calls are queued or run elsewhere, also until now; what is over is over."""
    build, second = Builder(), 1_000_000
    calls = [
        build.span("f ray.remote", span=4 + number, parent=2, start=number * second, duration=1_000, kind="PRODUCER")
        for number in (1, 6)
    ]
    files = {
        "1.txt": [build.span("f ray.remote_worker", span=2, start=0, duration=None, kind="CONSUMER"), *calls],
        "2.txt": [
            build.span("f ray.remote_worker", parent=5, start=2 * second, duration=2 * second, kind="CONSUMER"),
            build.span("f ray.remote_worker", parent=10, start=8 * second, duration=None, kind="CONSUMER"),
        ],
    }
    store = store_of_files({path: file_of(spans) for path, spans in files.items()})
    caller, callee = lanes_in(forest_of(store), until=dict.fromkeys((0, 4), EPOCH_NS + 9 * second * 1_000)).lanes
    awaited = caller.open_awaited
    # From the end of the submission to the end of the call, then again, and on.
    assert [us(start) for start in awaited.starts] == [second + 1_000, 6 * second + 1_000]
    assert [us(awaited.ends[0]), awaited.ends[1]] == [4 * second, 2**63 - 1]
    assert callee.open_awaited.starts == ()
    assert not lanes_in(forest_of(store)).lanes[0].open_awaited.starts


def test_a_caller_without_an_end_awaits_a_call_without_an_attempt() -> None:
    """Likely, until it is known to have run: what it called may wait, or have been lost."""
    build = Builder()
    spans = [
        build.span("f ray.remote_worker", span=2, start=0, duration=None, kind="CONSUMER"),
        build.span("g ray.remote", span=3, parent=2, start=10, duration=5, kind="PRODUCER"),
    ]
    store = store_of_files({"1.txt": file_of(spans)})
    (lane,) = lanes_in(forest_of(store), until={0: EPOCH_NS + 90_000}).lanes
    assert [us(start) for start in lane.open_awaited.starts] == [15]
    # A call that couldn't be submitted is awaited by nobody.
    spans[1]["status"]["status_code"] = "ERROR"
    store = store_of_files({"1.txt": file_of(spans)})
    (lane,) = lanes_in(forest_of(store), until={0: EPOCH_NS + 90_000}).lanes
    assert not lane.open_awaited.starts


def test_a_proxy_awaits_its_replica() -> None:
    """From the routing on, while the request is queued and runs; until it answers, and behind it, the proxy is busy."""
    build = Builder()
    files = {
        "proxy.json": [
            build.span("proxy_http_request D", span=1, start=0, duration=100),
            build.span(ROUTED, span=2, parent=1, start=10, duration=60),
        ],
        "replica.json": [build.span(REPLICA, span=3, parent=2, start=65, duration=30)],
    }
    store = store_of_files({path: file_of(spans) for path, spans in files.items()})
    proxy, replica = lanes_in(forest_of(store)).lanes
    assert [(us(start), us(end)) for start, end in zip(proxy.active.starts, proxy.active.ends, strict=True)] == [
        (0, 10),
        (95, 100),
    ]
    assert (proxy.awaited_ns, replica.awaited_ns) == (85_000, 0)
    of_two = joined([proxy, replica], ())
    assert (of_two.busy_ns, of_two.active_ns) == (100_000, 45_000)


def test_a_request_counts_once() -> None:
    """Traces of FastAPI's are parts of requests: as many run at once as the replica takes, and awaiting is told apart.

    a  0 ================== 40        the replica's spans
         2 ============ 38            FastAPI's trace, which calls another deployment from 10 on
    b     5 ===================== 45
            7 ========= 39
    c                          46 = 50
    """
    build = Builder()
    front = [
        build.span(REPLICA, trace=trace, span=10 * trace, parent=1, start=start, duration=length)
        for trace, start, length in ((1, 0, 40), (2, 5, 40), (3, 46, 4))
    ]
    front += [
        build.span("GET /", trace=4, span=40, start=2, duration=36, kind="SERVER"),
        build.span(ROUTED, trace=4, span=41, parent=40, start=10, duration=2),
        build.span("GET /", trace=5, span=50, start=7, duration=32, kind="SERVER", status="ERROR"),
        # It began before any request did: it is a part of none.
        build.span("startup", trace=6, start=-9, duration=60),
    ]
    back = [build.span(REPLICA, trace=4, parent=41, start=11, duration=26)]
    store = store_of_files({"1.json": file_of(front), "2.json": file_of(back)})
    lane, other = lanes_in(forest_of(store), without={store.names.number("startup")}).lanes
    assert (lane.max_concurrency, len(lane.blocks.rows), lane.spans) == (2, 3, 6)
    assert [*lane.blocks.failed] == [1]
    # Of the 49 µs, b or c run all along; without b, a and its trace await the other deployment.
    assert (lane.busy_ns, lane.active_ns, other.max_concurrency) == (49_000, 49_000, 1)
    alone = store_of_files({"1.json": file_of([front[0], *front[3:5]]), "2.json": file_of(back)})
    assert lanes_in(forest_of(alone)).lanes[0].awaited_ns == 27_000


@pytest.mark.parametrize("duration", [40, None], ids=["ended", "lost"])
def test_a_worker_runs_what_it_has_submitted(duration: int | None) -> None:
    """What it left is over: its own call is a block of its own, and the only one that may run on."""
    build = Builder()
    above = build.span("f ray.remote_worker", span=1, start=0, duration=10, kind="CONSUMER")
    call = build.span("g ray.remote", span=2, parent=1, start=5, duration=1, kind="PRODUCER")
    own = build.span("g ray.remote_worker", span=3, parent=2, start=20, duration=duration, kind="CONSUMER")
    below = build.span("step", span=4, parent=3, start=25, duration=5)
    (lane,) = lanes_in(forest_of(store_of_files({"1.txt": file_of([above, call, own, below])}))).lanes
    assert [*map(us, lane.blocks.starts)] == [0, 20]
    assert [*lane.blocks.unended] == ([] if duration else [1])
    assert (lane.max_concurrency, lane.may_await) == (1, duration is None)


def test_chains_of_any_length() -> None:
    """A chain of a thousand spans in one process is one block; in two by turns, a block each."""
    build = Builder()
    chain = [build.span(span=at, parent=at - 1 or None, start=at, duration=1000) for at in range(1, 1001)]
    for store, blocks in ((spread(chain, [1] * 1000), [1]), (spread(chain, [1, 2] * 500), [500, 500])):
        found = lanes_in(forest_of(store))
        assert [len(lane.blocks.rows) for lane in found.lanes] == blocks


def test_times_that_no_clock_has_seen() -> None:
    """Lengths that don't fit 64 bits with a sign are counted all the same."""
    build = Builder()
    times = [(-(2**63) + 1, 2**63 - 1), (2**63 - 1, 2**63 - 1)]
    spans = [build.span() | {"start_time": format_time(start), "end_time": format_time(end)} for start, end in times]
    store = store_of_files({"1.txt": file_of(spans)})
    if NO_TIME in (*store.spans.start_ns, *store.spans.end_ns):
        pytest.skip("such times can't be written")
    (lane,) = lanes_in(forest_of(store)).lanes
    assert lane.busy_ns == 2**64 - 2


def test_a_store_that_grows() -> None:
    """What comes while all spans are looked at is left out, whatever traces and processes it brings along."""
    reader, build = MemoryReader(), Builder()
    store = store_of_drawing(reader)
    before = plain(lanes_in(forest_of(store)))
    late = [build.span("late", trace=trace, service="new", span=number) for number, trace in ((70, 1), (71, 2), (1, 1))]
    forest = forest_of(store)
    reader.files.append(file_of(late))
    store.add(store.add_source("3.txt"), Decoder().feed(file_of(late)))
    assert plain(lanes_in(forest)) == before
    assert len(lanes_in(forest_of(store)).lanes) == 3


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 9), st.integers(1, 3), st.booleans()), min_size=1))
def test_lanes_that_are_joined(drawn: list[tuple[int, int, int, bool]]) -> None:
    """What several processes did is what one would have done; each further one began at a restart."""
    build = Builder()
    spans = [
        build.span(start=start, duration=None if length < 0 else length, status="ERROR" if fails else "UNSET")
        for start, length, _, fails in drawn
    ]
    lanes = lanes_in(forest_of(spread(spans, [file for _, _, file, _ in drawn]))).lanes
    lane, (expected,) = joined(lanes, ()), lanes_in(forest_of(spread(spans, [1] * len(spans)))).lanes
    for name in ("spans", "errors", "gap", "max_concurrency", "busy_ns", "start_ns", "end_ns", "call_row"):
        assert getattr(lane, name) == getattr(expected, name)
    for name in ("starts", "ends", "failures"):
        assert sorted(getattr(lane.blocks, name)) == sorted(getattr(expected.blocks, name))
    assert [*lane.blocks.starts] == sorted(lane.blocks.starts)
    for name in ("unended", "failed"):
        assert len(getattr(lane.blocks, name)) == len(getattr(expected.blocks, name))
    assert [*lane.restarts] == sorted(one.start_ns for one in lanes)[1:]


def test_what_is_left_out() -> None:
    """Blocks of Ray's own functions go with all that is in them, and processes that ran nothing else."""
    build = Builder()
    files = {
        "1.txt": [
            build.span("main", span=1, duration=50),
            build.span("_StatsActor.update ray.remote", span=2, parent=1, kind="PRODUCER"),
            build.span("_StatsActor.update ray.remote", span=3, start=60, kind="PRODUCER"),
        ],
        "2.txt": [
            build.span("_StatsActor.update ray.remote_worker", span=4, parent=3, start=70, duration=9, kind="CONSUMER"),
            build.span("inside", span=5, parent=4, start=72, duration=1),
        ],
        "3.txt": [build.span("f ray.remote_worker", span=6, start=80, duration=5, kind="CONSUMER")],
    }
    store = store_of_files({path: file_of(spans) for path, spans in files.items()})
    found = lanes_in(forest_of(store), without=rays_own_names(store)).lanes
    # What its caller spent in calling it is a part of that.
    assert [(lane.process, lane.spans, len(lane.blocks.rows), lane.max_concurrency) for lane in found] == [
        (0, 2, 1, 1),
        (2, 1, 1, 1),
    ]
    assert [lane.awaited_ns for lane in found] == [0, 0]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8))), st.integers(-5, 40), st.integers(0, 20))
def test_covered(drawn: list[tuple[int, int]], start: int, length: int) -> None:
    """How much of any stretch some intervals cover."""
    intervals = sorted((first, first + lasts) for first, lasts in drawn)
    covered = Covered.by([first for first, _ in intervals], [last for _, last in intervals])
    assert covered.between(start, start + length) == shown_at(intervals, start, start + length)


@pytest.mark.parametrize("folder", ["ray-tasks-bundled-hook", "serve", "killed-workers"])
def test_recordings(folder: str) -> None:
    """Spans, errors, busy times and longest gaps of each file are those that its records come to."""
    files = read_folder(FIXTURES / folder / "spans")
    store = load_store(str(FIXTURES / folder / "spans"))
    found = lanes_in(forest_of(store)).lanes
    expected = []
    for path, records in sorted(files.items()):
        spans = without_doubles(records)
        times = [(span["start_ns"], max(span["start_ns"], span["end_ns"])) for span in spans]
        errors = sum(1 for span in spans if span["status"] == "ERROR")
        if spans:
            expected.append((path, len(spans), errors, busy_ns(times), longest_gap(times)))
    assert expected
    names = [Path(source.path).name for source in store.sources]
    assert expected == [
        (names[store.spans.source[lane.first_row]], lane.spans, lane.errors, lane.busy_ns, lane.gap) for lane in found
    ]
    outer = {(span["trace_id"], span["span_id"]): path for path, spans in files.items() for span in spans}

    def is_block(span: dict[str, Any], path: str) -> bool:
        # What a replica begins without a parent is FastAPI's, and within a request.
        is_of_request = span["parent_id"] is None and span["name"].startswith("GET") and "Ingress" in path
        return outer.get((span["trace_id"], span["parent_id"])) != path and not is_of_request

    assert [len(lane.blocks.rows) for lane in found] == [
        sum(1 for span in without_doubles(spans) if is_block(span, path))
        for path, spans in sorted(files.items())
        if spans
    ]


# -- who they are ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "worker"),
    [
        ("/tmp/spans/8714.txt", Worker(pid="8714")),  # noqa: S108 - a name
        ("8714.json", Worker(pid="8714")),
        ("8714.jsonl", Worker(pid="8714")),
        ("logs/worker-2f9c01-01000000-8714.out", Worker(pid="8714")),
        ("node7-8714.jsonl", Worker()),
        ("proxy_192.0.2.2_tracing.json", Worker(node="192.0.2.2", actor="proxy", role=Role.PROXY)),
        (
            "s/replica_app_Model_x6aahas8_tracing.json",
            Worker(actor="app/Model", actor_id="x6aahas8", role=Role.REPLICA),
        ),
        (
            "s/replica_my_app_Model_x6aahas8_tracing.json",
            Worker(actor="my_app_Model", actor_id="x6aahas8", role=Role.REPLICA),
        ),
        ("spans.json", Worker()),
    ],
)
def test_named(path: str, worker: Worker) -> None:
    """What the name of a file tells."""
    assert named(path) == worker


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("64410e981ec1-2997-1795431217909.jsonl", True),
        ("64410e981ec1-2997-1795431217909.started.jsonl", True),
        ("64410e981ec1-2997-1795431217909.2.jsonl", True),
        ("64410e981ec1-2997-1795431217909.12.started.jsonl", True),
        ("64410e981ec1-2997-1795431217909.ended.jsonl", False),
        ("64410e981ec1.jsonl", False),
    ],
)
def test_files_of_spanviews_hook(path: str, is_one: bool) -> None:  # noqa: FBT001 - a table
    """Each is of one process, also the second one, and what has started there."""
    assert is_of_one_process(path) == is_one


def test_told_by_records() -> None:
    """A pid, a node and an actor; the actor that a driver calls isn't the driver's."""
    build = Builder()
    common = {"ray.pid": "77", "ray.node_id": "n1", "ray.remote": "actor", "ray.actor_class": "A", "ray.actor_id": "a1"}
    called = build.span("A.f ray.remote_worker", start=9, kind="CONSUMER", attributes=common)
    # A worker had run a task before it became an actor.
    task = build.span("f ray.remote_worker", kind="CONSUMER", attributes={"ray.pid": "77", "ray.remote": "function"})
    own = build.span("main", span=1)
    driver = {"ray.worker_id": "02000000" + "f" * 48}
    calling = build.span("A.f ray.remote", parent=1, kind="PRODUCER", attributes=common | driver)
    files = {"x.json": [own, calling], "y.json": [task, called], "z.json": [task | {"parent_id": "0x1"}]}
    store = store_of_files({path: file_of(spans) for path, spans in files.items()})
    assert [worker_of(store, lane) for lane in lanes_in(forest_of(store)).lanes] == [
        Worker(pid="77", node="n1", role=Role.DRIVER, job="02000000"),
        Worker(pid="77", node="n1", actor="A", actor_id="a1", role=Role.ACTOR),
        Worker(pid="77", role=Role.WORKER),
    ]


def test_a_replica_told_by_its_records() -> None:
    """Where the name leaves open what the application is, a record tells."""
    build = Builder()
    attributes = {"app": "my_app", "deployment": "Model", "replica_id": "x6aahas8"}
    span = build.span("replica_handle_request", attributes=attributes, start_time=None)
    store = store_of_files({"replica_my_app_Model_x6aahas8_tracing.json": file_of([span])})
    (lane,) = lanes_in(forest_of(store)).lanes
    assert not lane.blocks.rows
    assert worker_of(store, lane) == Worker(actor="my_app/Model", actor_id="x6aahas8", role=Role.REPLICA)


def test_workers_of_recordings() -> None:
    """Driver, workers and actors of a recording."""
    store = load_store(str(FIXTURES / "ray-tasks-bundled-hook" / "spans"))
    workers = [worker_of(store, lane) for lane in lanes_in(forest_of(store)).lanes]
    assert {worker.node[:4] for worker in workers} == {"5d44"}
    found = {worker.pid: worker.actor for worker in workers}
    assert found | {"8367": "", "8714": "Counter", "8715": "Counter", "8771": "Async"} == found


@pytest.mark.parametrize("folder", ["worker-7@3f2a9c01b2d4", "worker-7@3f2a9c01b2d4.2"])
def test_where_a_file_was_collected(tmp_path: Path, folder: str) -> None:
    """The folder of `spanview collect` says on which node and host a file was, whatever else it says."""
    path = tmp_path / folder / "tmp" / "spans" / "8714.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes((FIXTURES / "ray-tasks-bundled-hook" / "spans" / "8714.txt").read_bytes())
    store = load_store(str(tmp_path))
    (lane,) = lanes_in(forest_of(store)).lanes
    assert worker_of(store, lane).node == "3f2a9c01b2d4"
    span = store.span(0)
    assert node_of(span) == "3f2a9c01b2d4"
    writer = writer_of(span, span.source.file, "here")
    assert writer is not None
    assert (writer.pid, writer.host) == (8714, "worker-7")


@pytest.mark.parametrize("path", ["all.jsonl", "1.txt"])
def test_a_file_of_several_processes(path: str) -> None:
    """No one of them is named for all."""
    build = Builder()
    documents = [build.span(trace=at, attributes={"ray.pid": str(at)}) for at in (1, 2)]
    store = store_of_files({path: file_of(documents)})
    (found,) = lanes_in(forest_of(store)).lanes
    assert worker_of(store, found).actor == "several processes"


@pytest.mark.parametrize("path", ["node7-77.jsonl", "ip-10-0-0-5-77-1717000000123.jsonl", "all.jsonl"])
def test_a_process_that_not_all_of_its_spans_name(path: str) -> None:
    """Those that Ray has made name it, those of one's own don't."""
    build = Builder()
    documents = [build.span(trace=1), build.span(trace=2, kind="PRODUCER", attributes={"ray.pid": "77"})]
    store = store_of_files({path: file_of(documents)})
    (found,) = lanes_in(forest_of(store)).lanes
    assert worker_of(store, found) == Worker(pid="77")


@pytest.mark.parametrize(
    ("path", "resource", "pid"),
    [
        ("node7-77.jsonl", {"host.name": "node7.example.org"}, "77"),
        ("node7-77.jsonl", {"process.pid": 77}, "77"),
        ("node7-77.jsonl", {"host.name": "node8"}, ""),
        ("run-3.jsonl", {}, ""),
    ],
)
def test_a_number_that_may_be_a_pid(path: str, resource: dict[str, Any], pid: str) -> None:
    """It is one where a record agrees."""
    store = store_of_files({path: file_of([Builder().span(resource=resource)])})
    (found,) = lanes_in(forest_of(store)).lanes
    assert worker_of(store, found).pid == pid


@pytest.mark.parametrize("files", [1, 2])
def test_what_ray_runs_itself_is_not_counted_beside_the_program(files: int) -> None:
    """Long polls of Serve's controller last as long as it does: they aren't calls of the program that run at once."""
    build = Builder()
    own = ("ServeController.listen_for_change", "ServeController.listen_for_change", "ServeReplica:app:A.check_health")
    names = [f"{name} ray.remote_worker" for name in (*own, "f", "ServeReplica:app:A.handle_request")]
    spans = [
        build.span(name, trace=number, start=5 * number, duration=100, kind="CONSUMER")
        for number, name in enumerate(names)
    ]
    store = spread(spans, [1 + number % files for number in range(len(spans))])
    lanes = lanes_in(forest_of(store)).lanes
    assert [lane.max_concurrency for lane in lanes] == ([2] if files == 1 else [1, 1])
    assert joined(lanes, uncounted_names(store)).max_concurrency == 2


def test_requests_below_what_serve_runs_itself_are_counted() -> None:
    """Serve puts the requests of a proxy below the call that started it."""
    build = Builder()
    started = build.span("ProxyActor.__init__ ray.remote_worker", span=1, start=0, duration=10, kind="CONSUMER")
    name = "proxy_http_request Shop GET /"
    requests = [build.span(name, span=n, parent=1, start=20 * n, duration=50, kind="SERVER") for n in (2, 3, 4)]
    (lane,) = lanes_in(forest_of(spread([started, *requests], [1] * 4))).lanes
    assert lane.max_concurrency == 3
    assert joined([lane, lane], uncounted_names(spread([started], [1]))).max_concurrency == 3


def test_long_polls_of_serve_await_news_and_nobody_awaits_them() -> None:
    """A replica is busy while it handles a request, though Serve asks its proxy all the time if the client has left.

    proxy     0 ==================================== 50
                   receive_asgi_messages    8 ====== 46
    replica         5 ========================= 45
                               10 ============== 40        another deployment, which it does await
    """
    build, polled, handled = Builder(), "ProxyActor.receive_asgi_messages", "ServeReplica:app:A.get_metadata"
    proxy = [
        build.span("proxy_http_request A GET", span=1, start=0, duration=50, kind="SERVER"),
        build.span(ROUTED, span=2, parent=1, start=1, duration=5),
        build.span(f"{polled} ray.remote_worker", span=5, parent=4, start=8, duration=38, kind="CONSUMER"),
        build.span("ServeController.listen_for_change ray.remote_worker", trace=2, start=60, duration=40),
    ]
    replica = [
        build.span(REPLICA, span=3, parent=2, start=5, duration=40),
        build.span(f"{polled} ray.remote", span=4, parent=3, start=6, duration=1, kind="PRODUCER"),
        build.span(f"{handled} ray.remote", span=6, parent=3, start=7, duration=1, kind="PRODUCER"),
    ]
    other = [build.span(f"{handled} ray.remote_worker", span=7, parent=6, start=20, duration=10, kind="CONSUMER")]
    back = [
        build.span(ROUTED, span=8, parent=3, start=10, duration=1),
        build.span(REPLICA, span=9, parent=8, start=11, duration=29),
    ]
    files = {"1.json": file_of(proxy), "2.json": file_of(replica), "3.json": file_of([*other, *back])}
    of_proxy, of_replica, of_back = lanes_in(forest_of(store_of_files(files))).lanes
    assert (of_replica.active_ns, of_replica.awaited_ns) == (10_000, 30_000)
    assert (of_proxy.active_ns, of_proxy.awaited_ns) == (6_000, 84_000)
    assert of_back.awaited_ns == 0
    (alone,) = lanes_in(forest_of(store_of_files({"1.json": file_of(proxy[3:])}))).lanes
    assert (alone.active_ns, alone.awaited_ns) == (0, 40_000)
