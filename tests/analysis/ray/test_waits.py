"""What spans waited before they ran: the same for the list of requests, the trace, its text and its critical path.

µs        0    5   10   15   20   25   30
f                   ==                        a call, submitted from 10 to 12
f worker                 =====                waited 3
route     ===========
replica       ===============                 queued 4
"""

from __future__ import annotations

from itertools import pairwise
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, store_of
from one_path import Blame, critical_path
from slow_critical import nodes_of, sums_of
from spanview.analysis.critical import critical_by_name
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.joined import joined, joined_in
from spanview.analysis.ray.waits import wait_in, wait_of, wait_word, waiting_in, waits_in
from spanview.analysis.serve.requests import Part, serve_requests
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_parts
from spanview.display.tree_text import tree_lines
from spanview.display.units import duration
from spanview.exports.page.columns import Columns
from spanview.index.forest import forest_of
from spanview.model.times import NO_TIME
from spanview.sources.loading import load_store
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.row_texts import RowTexts
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.serve.requests import Request
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"


@pytest.mark.parametrize("recording", sorted(path.parent.name for path in FIXTURES.glob("*/spans")))
def test_all_waits_at_once(recording: str) -> None:
    """Of a forest, waits and joined calls are those of its trees, in every recording."""
    store = load_store(FIXTURES / recording / "spans")
    forest, waits, calls = forest_of(store), dict[int, int | None](), set[int]()
    for tree in map(store.tree, range(len(store.trace_table))):
        waits |= {row: wait_of(store, tree, node) for node, row in enumerate(tree.rows)}
        calls |= {*joined(store, tree)[1].values()}
    at_once = (None if wait == NO_TIME else wait for wait in waits_in(forest).tolist())
    assert dict(zip(forest.rows.tolist(), at_once, strict=True)) == waits
    assert {*forest.rows[joined_in(forest)].tolist()} == calls


def queued_requests(store: Store) -> Iterator[tuple[Request, TraceTree, int]]:
    """Yield the requests that have a queue, with the tree and the node of the replica."""
    for request in serve_requests(store):
        if request.queue_ns is not None:
            row = request.rows[request.parts.index(Part.REPLICA)]
            tree = store.tree(store.spans.trace[row])
            yield request, tree, tree.rows.index(row)


def test_the_drawing() -> None:
    """A Ray call waits from the end of its submission, a replica of Serve from the start of its routing."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", kind="PRODUCER", start=10, duration=2),
        build.span("f ray.remote_worker", kind="CONSUMER", parent=1, start=15, duration=5),
        build.span("route_to_replica App f", trace=2, span=3, kind="SERVER", start=0, duration=10),
        build.span("replica_handle_request App f", trace=2, span=4, parent=3, kind="SERVER", start=4, duration=15),
    )
    waits = [
        [(wait_of(store, tree, node), wait_word(store, tree.rows[node])) for node in range(len(tree)) if node]
        for tree in map(store.tree, store.traces_in_order())
    ]
    assert sorted(waits) == [[(3000, "waited")], [(4000, "queued")]]


@pytest.mark.parametrize(("function", "waits"), [("f", [3_000, 7_000]), ("A.__init__", [3_000, None])])
def test_attempts_after_the_first(function: str, waits: list[int | None]) -> None:
    """A retry waits from the end of the attempt before; an actor that was started anew has lived in between.

    Rows and pages show no wait for that one, not one of nothing.
    """
    build = Builder()
    store = store_of(
        build.span(f"{function} ray.remote", kind="PRODUCER", start=10, duration=2),
        build.span(f"{function} ray.remote_worker", kind="CONSUMER", parent=1, start=15, duration=5),
        build.span(f"{function} ray.remote_worker", kind="CONSUMER", parent=1, start=27, duration=5),
    )
    tree = store.tree(0)
    assert [wait_of(store, tree, node) for node in (1, 2)] == waits
    assert [wait_in(calls_of(store), 0, tree.rows[node]) for node in (1, 2)] == waits
    (share,) = (share for share in critical_by_name(store) if share.name.endswith("worker"))
    assert share.wait_ns == sum(filter(None, waits))
    model = TraceModel(store, 0, StitchedTrace(store, 0, tree, joins=True))
    texts = RowTexts(model, Appearance(model))
    assert [texts.waited(node) for node, _ in model.rows] == [[""], *([duration(wait)] for wait in waits)]
    assert Columns(store, [0], {}).rows["wait"] == [None, *waits]
    (call,) = calls_of(store)
    assert call.outcome is (Outcome.RETRIED if function == "f" else Outcome.RESTARTED)


def test_an_attempt_after_one_without_an_end() -> None:
    """How long it waited isn't known: the one before, whose worker was killed, ran in that time."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", kind="PRODUCER", start=10, duration=2),
        build.span("f ray.remote_worker", kind="CONSUMER", parent=1, start=15, end_time=None),
        build.span("f ray.remote_worker", kind="CONSUMER", parent=1, start=27, duration=5),
    )
    assert [wait_of(store, store.tree(0), node) for node in (1, 2)] == [3_000, None]


def test_late_clocks_and_missing_times() -> None:
    """A replica whose clock runs behind waits for nothing, and so does one whose routing nobody has."""
    build = Builder()
    route = build.span("route_to_replica App f", kind="SERVER", start=10, duration=5)
    replica = "replica_handle_request App f"
    for below in (
        build.span(replica, span=2, parent=1, start=8),
        build.span(replica, span=2, parent=1, start=12, start_time=None),
        build.span(replica, span=2, parent=99, start=12),
    ):
        store = store_of(route, below)
        tree = store.tree(0)
        assert [wait_of(store, tree, node) for node in range(len(tree))] == [0] * len(tree)


@pytest.mark.parametrize("recording", ["serve", "serve-grpc"])
def test_one_queue_everywhere(recording: str) -> None:
    """The queue of each recorded request is the wait in its trace, in the text, in the details and on the path."""
    store = load_store(FIXTURES / recording / "spans")
    requests = [*queued_requests(store)]
    assert len(requests) >= 15
    on_path = 0
    for request, tree, node in requests:
        row, trace, queue = tree.rows[node], store.spans.trace[tree.rows[node]], request.queue_ns
        assert queue
        assert wait_of(store, tree, node) == StitchedTrace(store, trace, tree).wait(node) == queue
        walked = [walked for walked, _ in tree.walk()]
        assert f"(queued {duration(queue)})" in [*tree_lines(store, trace, tree)][walked.index(node)]
        parts = timing_parts(SpanInTree(store.span(row), store, trace, tree, node), None)
        assert [(part.key, part.whole) for part in parts if part.key in ("queued", "waited")] == [
            ("queued", str(queue))
        ]
        path = critical_path(tree, store.names)
        waits = sums_of(path, Blame.WAIT)
        if node in waits:
            on_path += 1
            # What else ran below the routing meanwhile is on the path itself.
            assert waits[node] <= queue
            if tree.children(tree.parents[node]) == [node]:
                assert waits[node] == queue
        elif node in nodes_of(path):
            # Another one was waited for, and this one closed its span after the root had ended.
            ended_ns = store.spans.end_ns[tree.rows[tree.roots[0]]]
            assert all(part.start_ns >= ended_ns for part in path.segments if part.node == node)
    assert on_path * 2 >= len(requests)


@pytest.mark.parametrize("recording", ["ray-tasks-bundled-hook", "killed-workers", "ray-data"])
def test_what_waits(recording: str) -> None:
    """How many calls wait adds up to what each of them has waited, over all of the time and between any two moments."""
    store = load_store(str(FIXTURES / recording / "spans"))
    calls, ends = calls_of(store), store.spans.end_ns
    waits = [(ends[call.row], ends[call.row] + call.wait_ns) for call in calls if call.wait_ns]
    levels = waiting_in(store, calls)
    lengths = [later - earlier for earlier, later in pairwise(levels.times.tolist())]
    assert sum(map(mul, levels.counts.tolist(), lengths)) == sum(end - start for start, end in waits)
    first, last = min(start for start, _ in waits), max(end for _, end in waits)
    edges = [first + (last - first) * part // 7 for part in range(8)]
    moments = [ns for wait in waits for ns in wait]
    assert levels.most_between(edges) == [
        max(
            sum(start <= ns < end for start, end in waits)
            for ns in (begin, *(ns for ns in moments if begin < ns <= stop))
        )
        for begin, stop in pairwise(edges)
    ]
    assert not waiting_in(store, calls, without=range(len(store.names.texts))).times.size
