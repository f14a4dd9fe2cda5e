"""The critical path, against drawings, against a path told microsecond by microsecond, and on the recordings.

a |==---====|
b    ===          a from 0 to 2, b from 2 to 5, a from 5 to 9: what the end of a waited for
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings

from builders import EPOCH_NS, Builder, store_of, trace_row
from one_path import Blame, critical_path
from slow_critical import SlowPath, length_of, nodes_of, sums_of
from span_graphs import graphs, whole_traces
from spanview.analysis.critical import critical_by_name
from spanview.analysis.genai.requests import model_calls
from spanview.analysis.ray.waits import wait_of
from spanview.index.table import Interned, SpanTable
from spanview.index.tree import TraceTree
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Document
    from one_path import CriticalPath
    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"
RECORDED: Final = sorted({path.parent.name for path in FIXTURES.glob("*/spans")} - {"made", "otlp-json"})
"""One was made to be odd, and in the other some spans stand twice, with other digits of their times."""

ROUTE, REPLICA = "route_to_replica App __call__", "replica_handle_request App __call__"
DRAWINGS = [
    # A span alone, and children one after the other.
    ("a 0-10", "a0-10"),
    ("a 0-10\n  b 2-5\n  c 6-9", "a0-2 b2-5 a5-6 c6-9 a9-10"),
    ("a 0-10\n  b 2-5\n  c 5-10", "a0-2 b2-5 c5-10"),
    # Of children that overlap, the one that ended last is waited for, and what it overlaps isn't.
    ("a 0-10\n  b 2-5\n  c 4-7", "a0-4 c4-7 a7-10"),
    ("a 0-10\n  b 2-8\n  c 3-5", "a0-2 b2-8 a8-10"),
    ("a 0-10\n  b 1-3\n  c 2-8\n  d 4-9", "a0-1 b1-3 a3-4 d4-9 a9-10"),
    # Of two that end together, the one that started first counts.
    ("a 0-10\n  b 4-8\n  c 2-8", "a0-2 c2-8 a8-10"),
    ("a 0-10\n  b 0-10", "b0-10"),
    # Grandchildren.
    ("a 0-10\n  b 2-9\n    c 3-5\n    d 6-8", "a0-2 b2-3 c3-5 b5-6 d6-8 b8-9 a9-10"),
    # A task of Ray: it starts after its submission, and the driver waits for it.
    ("a 0-10\n  p 1-2\n    c 5-8", "a0-1 p1-2 ~c2-5 c5-8 a8-10"),
    # Two of them, submitted one after the other: the one that ends last counts.
    ("a 0-20\n  p 1-2\n    c 5-18\n  q 3-4\n    d 6-12", "a0-1 p1-2 ~c2-5 c5-18 a18-20"),
    ("a 0-20\n  p 1-2\n    c 5-12\n  q 3-4\n    d 6-18", "a0-1 p1-2 a2-3 q3-4 ~d4-6 d6-18 a18-20"),
    # Two of them, the second submitted when the first had ended.
    ("a 0-20\n  p 1-2\n    c 3-8\n  q 9-10\n    d 14-18", "a0-1 p1-2 ~c2-3 c3-8 a8-9 q9-10 ~d10-14 d14-18 a18-20"),
    # The first attempt fails, the second is waited for.
    ("a 0-20\n  p 1-2\n    c 4-8\n    d 11-18", "a0-1 p1-2 ~c2-4 c4-8 ~d8-11 d11-18 a18-20"),
    # An attempt still runs when the other begins: it isn't what the other waited for.
    ("a 0-20\n  p 1-2\n    c 4-13\n    d 11-18", "a0-1 p1-2 ~d2-11 d11-18 a18-20"),
    # A task that starts before its submission is over waits for nothing.
    ("a 0-10\n  p 1-4\n    c 3-8", "a0-1 p1-3 c3-8 a8-10"),
    # A task within a task; the driver waits for the inner one only where it ends later than the outer one.
    ("a 0-20\n  p 1-2\n    c 3-15\n      q 4-5\n        d 6-12", "a0-1 p1-2 ~c2-3 c3-4 q4-5 ~d5-6 d6-12 c12-15 a15-20"),
    ("a 0-20\n  p 1-2\n    c 3-7\n      q 4-5\n        d 6-12", "a0-1 p1-2 ~c2-3 c3-4 q4-5 ~d5-6 d6-12 a12-20"),
    # What came next began before the inner task had ended: nobody waited for that.
    (
        "a 0-20\n  p 1-2\n    c 3-7\n      q 4-5\n        d 6-12\n  e 8-14",
        "a0-1 p1-2 ~c2-3 c3-4 q4-5 c5-7 a7-8 e8-14 a14-20",
    ),
    # The drawing in the module's docstring.
    (
        "a 0-40\n  p 4-6\n    c 16-36\n      i 22-30\n  q 8-10\n    d 12-21",
        "a0-4 p4-6 ~c6-16 c16-22 i22-30 c30-36 a36-40",
    ),
    # Nobody waits for a task: the trace ends with it, and its root had ended before.
    ("a 0-5\n  p 1-2\n    c 8-12", "a0-1 p1-2 a2-5 ~c5-8 c8-12"),
    ("a 0-9\n  b 2-4\n  p 1-2\n    c 5-12\n      d 10-11", "a0-1 p1-2 b2-4 a4-9 c9-10 d10-11 c11-12"),
    ("a 0-9\n  b 2-4\n  p 1-2\n    c 5-12\n      d 6-11", "a0-1 p1-2 b2-4 a4-9 d9-11 c11-12"),
    # A replica outlives the span that routed to it.
    ("a 0-20\n  r 1-6\n    s 4-18", "a0-1 r1-4 s4-18 a18-20"),
    # One of Ray Serve's is queued from the start of its routing, without what else was done for that.
    (f"a 0-20\n  {ROUTE} 1-6\n    {REPLICA} 4-18", f"a0-1 ~{REPLICA}1-4 {REPLICA}4-18 a18-20"),
    (f"a 0-20\n  {ROUTE} 1-8\n    {REPLICA} 4-6", f"a0-1 ~{REPLICA}1-4 {REPLICA}4-6 {ROUTE}6-8 a8-20"),
    (
        f"a 0-20\n  {ROUTE} 1-6\n    b 2-3\n    {REPLICA} 5-18",
        f"a0-1 ~{REPLICA}1-2 b2-3 ~{REPLICA}3-5 {REPLICA}5-18 a18-20",
    ),
    (f"a 0-20\n  {ROUTE} 1-3\n    b 2-2\n    {REPLICA} 5-18", f"a0-1 ~{REPLICA}1-5 {REPLICA}5-18 a18-20"),
    # It may close its span a little after its caller went on, as may its routing; not much later, and no one else.
    (
        f"a 0-40\n  {ROUTE} 1-6\n    {REPLICA} 4-26\n  b 25-38",
        f"a0-1 ~{REPLICA}1-4 {REPLICA}4-25 b25-38 a38-40",
    ),
    (
        f"a 0-1000000\n  {ROUTE} 1-6\n    {REPLICA} 4-640000\n  b 600000-900000",
        f"a0-1 ~{REPLICA}1-4 {REPLICA}4-600000 b600000-900000 a900000-1000000",
    ),
    (f"a 0-40\n  {ROUTE} 2-26\n    {REPLICA} 2-25\n  b 24-38", f"a0-2 {REPLICA}2-24 b24-38 a38-40"),
    (f"a 0-40\n  {ROUTE} 1-6\n    {REPLICA} 4-26\n  b 22-38", f"a0-1 {ROUTE}1-6 a6-22 b22-38 a38-40"),
    ("a 0-40\n  c 1-26\n  b 25-38", "a0-25 b25-38 a38-40"),
    # What its root had waited for, though it closed its span after that: of others a little later, of a proxy whenever.
    (
        f"a 0-20\n  e 1-18\n    {ROUTE} 2-15\n      {REPLICA} 5-24",
        f"a0-1 e1-2 ~{REPLICA}2-5 {REPLICA}5-18 a18-20 {REPLICA}20-24",
    ),
    (f"a 0-20\n  {ROUTE} 1-6\n    {REPLICA} 4-150000", f"a0-1 ~{REPLICA}1-4 {REPLICA}4-150000"),
    (
        f"a 0-20\n  e 1-18\n    {ROUTE} 2-15\n      {REPLICA} 5-150000",
        f"a0-1 e1-2 {ROUTE}2-15 e15-18 a18-20 {REPLICA}20-150000",
    ),
    # A routing without a replica runs, and a replica without a routing isn't queued.
    (f"a 0-20\n  {ROUTE} 1-20", f"a0-1 {ROUTE}1-20"),
    (f"a 0-20\n  b 1-6\n    {REPLICA} 4-18", f"a0-1 b1-4 {REPLICA}4-18 a18-20"),
    # What takes no time takes none of the path; a wait for it does.
    ("a 0-10\n  b 5-5", "a0-10"),
    ("a 0-10\n  p 1-2\n    c 6-6", "a0-1 p1-2 ~c2-6 a6-10"),
    ("a 5-5", ""),
]
"""A drawing, and its path: names with start and end in microseconds, `~` before those that wait to start."""

DOUBTFUL = [
    ("a 0-10\n  b 2-?", "a0-10", "1 span has no end"),
    ("a 0-10\n  b 2-?\n    c 3-6", "a0-2 b2-3 c3-6 a6-10", "1 span has no end"),
    ("a 0-?\n  b 2-5\n  c 6-8", "a0-2 b2-5 a5-6 c6-8", "1 span has no end"),
    ("a 0-50\n  b 1-?\n    c 2-5\n      d 3-20\n  e 15-40", "a0-15 e15-40 a40-50", "1 span has no end"),
    ("a 0-?", "", "1 span has no end"),
    ("a 0-10\n  b 5-2", "a0-10", "1 span ends before its start"),
    ("a 8-2\n  b 9-1", "", "2 spans end before their start"),
    ("a 5-10\n  b 0-7", "b5-7 a7-10", "1 span starts before its parent"),
    ("a 5-10\n  b 0-4", "a5-10", "1 span starts before its parent"),
    ("a 5-10\n  b 2-4\n    c 6-8", "~c5-6 c6-8 a8-10", "1 span starts before its parent"),
    ("a 0-4\nb 6-9", "b6-9", "there are 2 roots"),
    ("a 0-9\nb 2-3\nc 4-5", "a0-9", "there are 3 roots"),
    # A server that goes on after its answer, or whose clock is ahead.
    ("c 0-30000\n  s 100-34000", "c0-100 s100-34000", "1 server ends after its client"),
    ("c 0-30000\n  s 100-30900", "c0-100 s100-30900", ""),
    # A client that gave up has an error.
    ("c failed 0-30000\n  s 100-34000", "c failed0-100 s100-34000", ""),
    ("c 0-30000\n  s 30001-34000", "c0-30000 ~s30000-30001 s30001-34000", "1 server starts after its client's end"),
    # A deployment that asked another one, and gave up.
    (
        (
            f"a 0-90000\n  {ROUTE} 1000-2000\n    {REPLICA} 1500-60000\n"
            f"      {ROUTE} 3000-4000\n        {REPLICA} 3500-390000"
        ),
        (
            f"a0-1000 ~{REPLICA}1000-1500 {REPLICA}1500-3000 {ROUTE}3000-4000 {REPLICA}4000-60000 "
            f"a60000-90000 {REPLICA}90000-390000"
        ),
        f"{REPLICA} may have awaited what ran below it",
    ),
]
"""A drawing, its path, and why that isn't sure."""


def path_of(store: Store, trace: int = 0) -> CriticalPath:
    """Return the path of a trace."""
    return critical_path(store.tree(trace), store.names)


def written(store: Store, path: CriticalPath) -> str:
    """Return a path as `DRAWINGS` has it; a placeholder is `?`."""
    tree, spans = store.tree(0), store.spans

    def name(node: int) -> str:
        return "?" if tree.is_missing(node) else store.names.texts[spans.name[tree.rows[node]]]

    return " ".join(
        f"{'~' * (part.kind is Blame.WAIT)}{name(part.node)}{_us(part.start_ns)}-{_us(part.end_ns)}"
        for part in path.segments
    )


def _us(time_ns: int) -> int:
    return (time_ns - EPOCH_NS) // 1000


@pytest.mark.parametrize(("drawing", "expected"), DRAWINGS)
def test_drawings(drawing: str, expected: str) -> None:
    """Each moment is blamed on whom the end waited for, and nothing is in doubt."""
    store = store_of(*Builder().draw(drawing))
    path = path_of(store)
    assert (written(store, path), path.reason) == (expected, "")


@pytest.mark.parametrize(("drawing", "expected", "reason"), DOUBTFUL)
def test_doubtful_drawings(drawing: str, expected: str, reason: str) -> None:
    """Where times are missing or can't be, there is a path of what is there, and the reason why it isn't sure."""
    kinds = {"c": "SpanKind.CLIENT", "s": "SpanKind.SERVER"} if drawing.startswith("c ") else {}
    documents = Builder().draw(drawing)
    for document in documents:
        document["kind"] = kinds.get(document["name"].removesuffix(" failed"), document["kind"])
        document["status"] = {"status_code": "ERROR" if document["name"].endswith(" failed") else "UNSET"}
    store = store_of(*documents)
    path = path_of(store)
    assert (written(store, path), path.reason) == (expected, reason)


def test_a_missing_parent_is_taken_to_run_as_long_as_its_children() -> None:
    """Without a root, the path is that of the tree with the latest end, and time between is the missing one's."""
    build = Builder()
    store = store_of(
        build.span("a", parent=99, start=2, duration=3),
        build.span("b", parent=99, start=7, duration=3),
        build.span("c", parent=98, start=0, duration=9),
    )
    path = path_of(store)
    assert (written(store, path), path.reason) == ("a2-5 ?5-7 b7-10", "there is no root, 2 parents are missing")


def test_what_hangs_from_a_missing_parent_hangs_from_the_only_root() -> None:
    """A worker that was killed took its span with it, and what it had done is still of the trace."""
    build = Builder()
    store = store_of(build.span("a", start=0, duration=20), build.span("b", parent=99, start=5, duration=9))
    path = path_of(store)
    assert (written(store, path), path.reason) == ("a0-5 b5-14 a14-20", "1 parent is missing")
    outlives = build.span("c", parent=98, start=30, duration=5)
    store = store_of(build.span("a", span=1, start=0, duration=20), outlives)
    assert written(store, path_of(store)) == "a0-20 ~?20-30 c30-35"


def test_a_circle_that_was_cut() -> None:
    """Spans whose parents run in a circle have a path, with the reason why it isn't sure."""
    build = Builder()
    circle = build.span("a", parent=2, start=0, duration=10), build.span("b", parent=1, start=3, duration=4)
    store = store_of(*circle)
    path = path_of(store)
    assert (written(store, path), path.reason) == ("a0-3 b3-7 a7-10", "there is no root, 1 circle of parents was cut")


def test_a_span_without_a_start() -> None:
    """It starts with what is below it, at the latest with its own end."""
    build = Builder()
    store = store_of(
        build.span("a", start=0, duration=20),
        build.span("b", parent=1, start=0, duration=9, start_time=None),
        build.span("c", parent=2, start=4, duration=2),
    )
    path = path_of(store)
    assert (written(store, path), path.reason) == ("a0-4 c4-6 b6-9 a9-20", "1 span has no start")


def test_no_times_at_all() -> None:
    """Where no span has a time there is no path, and the reason says so."""
    store = store_of(Builder().span(start_time=None, duration=None), Builder().span(span=2, parent=1) | _TIMELESS)
    path = path_of(store)
    assert (path.segments, length_of(path), nodes_of(path)) == ((), 0, set())
    assert path.reason == "no span has a time"
    assert critical_path(TraceTree(SpanTable(), [], lambda _: ("", 0, 0)), Interned()).reason == "no span has a time"


_TIMELESS: Final = {"start_time": None, "end_time": None}


def test_sums() -> None:
    """Own time and waits are told by node, and together they are the length of the path."""
    store = store_of(*Builder().draw("a 0-20\n  p 1-2\n    c 4-8\n    d 11-18"))
    path = path_of(store)
    assert sums_of(path, Blame.SELF) == {0: 3000, 1: 1000, 2: 4000, 3: 7000}
    assert sums_of(path, Blame.WAIT) == {2: 2000, 3: 3000}
    assert length_of(path) == 20_000
    assert nodes_of(path) == {0, 1, 2, 3}


@settings(max_examples=500, deadline=None)
@given(whole_traces())
def test_is_the_path_told_tick_by_tick(documents: list[Document]) -> None:
    """On any whole trace, each microsecond is blamed as the rules say one after the other; only clocks are in doubt."""
    for named in (documents, as_of_serve(documents), as_of_clients(documents), as_made(documents)):
        store = store_of(*named)
        path = path_of(store)
        assert path.reason == clocks_in_doubt(named)
        check(store, 0, path)


def clocks_in_doubt(documents: list[Document]) -> str:
    """Return what is said of servers that start when their clients have ended."""
    clients = {one["context"]["span_id"]: one["end_time"] for one in documents if one["kind"] == "SpanKind.CLIENT"}
    servers = [one for one in documents if one["kind"] == "SpanKind.SERVER" and one["parent_id"] in clients]
    late = [one for one in servers if one["start_time"] > clients[one["parent_id"]]]
    if len(late) == 1:
        return "1 server starts after its client's end"
    return f"{len(late)} servers start after their clients' ends" if late else ""


def as_of_serve(documents: list[Document]) -> list[Document]:
    """Return the same spans as routings and replicas of Ray Serve, each with a span of neither name between them."""
    return [document | {"name": (ROUTE, REPLICA, "b")[at % 3]} for at, document in enumerate(documents)]


def as_of_clients(documents: list[Document]) -> list[Document]:
    """Return the same spans as clients and servers."""
    return [document | {"kind": f"SpanKind.{('CLIENT', 'SERVER')[at % 2]}"} for at, document in enumerate(documents)]


def as_made(documents: list[Document]) -> list[Document]:
    """Return the same spans as constructors of actors, with calls between them."""
    kinds, names = ("CONSUMER", "PRODUCER"), ("A.__init__ ray.remote_worker", "A.__init__ ray.remote")
    return [
        document | {"kind": f"SpanKind.{kinds[at % 2]}", "name": names[at % 2]} for at, document in enumerate(documents)
    ]


def test_who_made_an_actor_does_not_wait_for_it_to_be_made_again() -> None:
    """It waited for what it had called there, if for anything; after one that failed it did wait."""
    build, made = Builder(), "A.__init__ ray.remote_worker"
    drawing = f"a 0-60\n  p 1-2\n    {made} 4-10\n    {made} 40-50"
    for status, path in (("OK", f"a0-1 p1-2 ~{made}2-4 {made}4-10 a10-60"), ("ERROR", "")):
        documents = [
            one | {"kind": "SpanKind.CONSUMER", "status": {"status_code": status}} if one["name"] == made else one
            for one in build.draw(drawing)
        ]
        store = store_of(*documents)
        assert written(store, path_of(store)) == path or f"~{made}10-40" in written(store, path_of(store))
        check(store, 0, path_of(store))


def test_names_are_tested_by_functions_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they find is kept by them, so that no name is looked at again, and no more is kept each time."""
    asked, where = list[object](), Interned.where

    def noted(names: Interned, test: Callable[[str], bool]) -> frozenset[int]:
        asked.append(test)
        return where(names, test)

    monkeypatch.setattr(Interned, "where", noted)
    store = store_of(*Builder().draw("a 0-60\n  p 1-2\n    c 4-10"))
    rounds = []
    for _ in range(2):
        asked.clear()
        path_of(store)
        model_calls(store, ["1"])
        rounds.append([*asked])
    assert rounds[0] == rounds[1] != []


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ("c 3-10\n    d 4-5\n      e 8-20", "p0-1 ~c1-3 c3-4 d4-5 c5-10 e10-20"),
        ("c 3-4\n  c 6-10\n    d 7-8\n      e 8-20", "p0-1 ~c1-3 c3-4 ~c4-6 c6-7 d7-8 c8-10 e10-20"),
        ("c 3-?\n  c 6-10\n    d 7-8\n      e 8-20", "p0-1 ~c1-3 ~c3-6 c6-7 d7-8 e8-20"),
        ("e 8-20", "p0-1 ~e1-8 e8-20"),
    ],
)
def test_a_call_that_is_the_root_ends_with_its_last_attempt(attempts: str, expected: str) -> None:
    """It waited for nothing that outlives that; while one has no end, nobody knows when that was."""
    kinds = dict.fromkeys("pd", "SpanKind.PRODUCER") | dict.fromkeys("ce", "SpanKind.CONSUMER")
    documents = Builder().draw(f"p 0-1\n  {attempts}")
    store = store_of(*[one | {"kind": kinds[one["name"]]} for one in documents])
    assert written(store, path_of(store)) == expected
    check(store, 0, path_of(store))


def test_a_client_that_gave_up_waited_for_its_server() -> None:
    """Until then, and not what came after it, but for what went on after the root had ended."""
    build, own = Builder(), "a0-1 c1-2 s2-5 d5-20 a20-25"
    for last, path in ((60, f"{own} b25-50 a50-60"), (35, f"{own} b25-35 d35-38 s38-40")):
        documents = build.draw(f"a 0-{last}\n  c 1-20\n    s 2-40\n      d 5-38\n  b 25-{min(50, last)}")
        kinds = {"c": "SpanKind.CLIENT", "s": "SpanKind.SERVER"}
        store = store_of(*[one | {"kind": kinds.get(one["name"], one["kind"])} for one in documents])
        assert written(store, path_of(store)) == path
        check(store, 0, path_of(store))


@settings(max_examples=500, deadline=None)
@given(graphs())
def test_is_the_path_told_tick_by_tick_whatever_the_graph(documents: list[Document]) -> None:
    """Doubled ids, circles, missing parents and times that can't be change nothing about that, and are said."""
    for named in (documents, as_of_serve(documents), as_of_clients(documents), as_made(documents)):
        store = store_of(*named)
        for trace in range(len(store.trace_table)):
            check(store, trace, path_of(store, trace))
    for trace in range(len(store.trace_table)):
        path = path_of(store, trace)
        tree, spans = store.tree(trace), store.spans
        is_whole = tree.complete and len(tree.roots) == 1 and not tree.warned()
        is_timed = all(NO_TIME != spans.start_ns[row] <= spans.end_ns[row] for row in tree.rows)
        assert bool(path.reason) != (is_whole and is_timed)


def check(store: Store, trace: int, path: CriticalPath) -> None:
    """Compare a path with one that is told tick by tick, and see that it has no gap."""
    tree, spans = store.tree(trace), store.spans
    assert [
        (tick, part.node, part.kind.value)
        for part in path.segments
        for tick in range(part.start_ns // 1000, part.end_ns // 1000)
    ] == SlowPath(store, tree).ticks()
    for before, after in pairwise(path.segments):
        assert before.end_ns == after.start_ns
        assert (before.node, before.kind) != (after.node, after.kind)
    assert all(part.start_ns < part.end_ns for part in path.segments)
    assert sum([*sums_of(path, Blame.SELF).values(), *sums_of(path, Blame.WAIT).values()]) == length_of(path)
    times = [time for row in tree.rows for time in (spans.start_ns[row], spans.end_ns[row]) if time != NO_TIME]
    if path.segments:
        assert min(times) <= path.segments[0].start_ns < path.segments[-1].end_ns <= max(times)


@settings(max_examples=300, deadline=None)
@given(whole_traces(most=20))
def test_leads_from_the_root_to_the_latest_end(documents: list[Document]) -> None:
    """A path is as long as its trace; a wait is no longer than the call's, and of a lone attempt the same.

    After the root has ended, it is what is left of it then.
    """
    store = store_of(*documents)
    tree, spans, path = store.tree(0), store.spans, path_of(store)
    assert length_of(path) == store.trace_table.end_ns[0] - store.trace_table.start_ns[0]
    for node, waited in sums_of(path, Blame.WAIT).items():
        parent = tree.parents[node]
        wait_ns = wait_of(store, tree, node) or 0
        since_ns = spans.start_ns[tree.rows[node]] - spans.end_ns[tree.rows[parent]]
        assert waited <= since_ns
        if tree.children(parent) == [node]:
            assert waited == after_root(store, tree, node, since_ns)
            assert not wait_ns or waited == after_root(store, tree, node, wait_ns)


def after_root(store: Store, tree: TraceTree, node: int, wait_ns: int) -> int:
    """Return what is left of a wait when the root, or the call that it submits, has ended, if it has before that."""
    spans, root = store.spans, tree.roots[0]
    if tree.is_missing(root):
        return wait_ns
    below = [tree.rows[child] for child in tree.children(root)]
    attempts = [row for row in below if spans.kind[row] == CONSUMER]
    are_own = [tree.rows[root]]
    if spans.kind[tree.rows[root]] == PRODUCER:
        are_own = [*are_own, *attempts] if attempts else []
    ends, start_ns = [spans.end_ns[row] for row in are_own], spans.start_ns[tree.rows[node]]
    ended_ns = NO_TIME if NO_TIME in ends else max(ends, default=NO_TIME)
    if not NO_TIME < ended_ns < start_ns:
        return wait_ns
    return min(wait_ns, start_ns - ended_ns)


@settings(max_examples=300, deadline=None)
@given(whole_traces(most=20))
def test_what_is_not_on_the_path_makes_no_difference(documents: list[Document]) -> None:
    """Without one of the spans that are not on it and have no children, the path is the same."""
    store = store_of(*documents)
    tree, path = store.tree(0), path_of(store)
    told = told_by_id(store)
    leaves = [node for node in range(len(tree)) if node not in nodes_of(path) and not tree.children(node)]
    for leaf in leaves:
        span_id = f"0x{tree.span_id(leaf):016x}"
        rest = [document for document in documents if document["context"]["span_id"] != span_id]
        assert not rest or told_by_id(store_of(*rest)) == told


def told_by_id(store: Store) -> list[tuple[int, int, int, Blame]]:
    """Return a path with span ids for nodes."""
    tree = store.tree(0)
    return [(tree.span_id(part.node), part.start_ns, part.end_ns, part.kind) for part in path_of(store).segments]


@settings(max_examples=300, deadline=None)
@given(whole_traces(most=20, is_nested=True))
def test_of_nested_spans_is_the_classic_one(documents: list[Document]) -> None:
    """Where all children end with their parents at the latest, it is the chain of children that ended last."""
    store = store_of(*documents)
    path = path_of(store)
    by_id = sorted(path.segments, key=lambda part: part.start_ns)
    assert [(part.node, part.start_ns, part.end_ns) for part in by_id] == classic(store, 0)
    assert not sums_of(path, Blame.WAIT)


def classic(store: Store, node: int) -> list[tuple[int, int, int]]:
    """Return node, start and end of each stretch: into the child that ended last, and the one before it."""
    tree, spans = store.tree(0), store.spans
    start, time = spans.start_ns[tree.rows[node]], spans.end_ns[tree.rows[node]]
    parts: list[tuple[int, int, int]] = []
    while True:
        ends = {child: spans.end_ns[tree.rows[child]] for child in tree.children(node)}
        ended = [child for child, end in ends.items() if end <= time]
        last = max(ended, key=lambda child: (ends[child], -child), default=None)
        since = start if last is None else ends[last]
        if since < time:
            parts.insert(0, (node, since, time))
        if last is None:
            return parts
        parts[:0] = classic(store, last)
        time = spans.start_ns[tree.rows[last]]


@pytest.mark.parametrize("folder", RECORDED)
def test_recorded_waits_are_waits(folder: str) -> None:
    """On the path of a recorded Ray call there is its CONSUMER, with the wait that the call had."""
    store = load_store(str(FIXTURES / folder / "spans"))
    for trace in range(len(store.trace_table)):
        tree, path = store.tree(trace), path_of(store, trace)
        for node, waited in sums_of(path, Blame.WAIT).items():
            if tree.is_missing(node):
                # The worker was killed, and its wait is known from what it had done.
                assert path.reason
            elif len(tree.children(tree.parents[node])) == 1:
                assert waited == after_root(store, tree, node, wait_of(store, tree, node) or 0)
        if len(tree) == 2 and wait_of(store, tree, 1):
            assert [part.kind for part in path.segments] == [Blame.SELF, Blame.WAIT, Blame.SELF]
            assert [part.node for part in path.segments] == [0, 1, 1]


def test_recordings_leave_little_open() -> None:
    """Of the whole traces that were recorded, at most one in a hundred has a path that isn't sure."""
    whole: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    for folder in RECORDED:
        store = load_store(str(FIXTURES / folder / "spans"))
        for trace in range(len(store.trace_table)):
            path = path_of(store, trace)
            if store.tree(trace).complete:
                whole[folder] += 1
                unsure[folder] += bool(path.reason)
            else:
                assert path.reason
    # The SDK's own samples, with times made up to be impossible, share one trace; some of Go's spans have no times. In
    # the others, callers worked beside their calls.
    beside = {"pids-used-again", "ray-data", "ray-odd-ends"}
    assert {folder for folder, count in unsure.items() if count} == {"go", "sdk-versions", *beside}
    assert unsure.total() * 100 <= whole.total()


DEEP: Final = 100_000
CHAINS = [
    pytest.param(lambda at: (at, 2 * DEEP - at), 2 * DEEP - 1, id="nested"),
    pytest.param(lambda at: (at, DEEP + at), DEEP, id="each outlives its parent"),
    pytest.param(lambda at: (3 * at, 3 * at + 1), 2 * DEEP - 1, id="each starts after its parent"),
]
"""Start and end of each span of a chain, and how many segments its path has."""


@pytest.mark.parametrize(("times", "segments"), CHAINS)
def test_very_deep(times: Callable[[int], tuple[int, int]], segments: int) -> None:
    """A chain of 100,000 spans is followed without recursion, and in time, whichever way they end."""
    spans = SpanTable()
    for at in range(DEEP):
        start, end = times(at)
        spans.span_id.append(at + 1)
        spans.parent_id.append(at)
        spans.start_ns.append(start)
        spans.end_ns.append(end)
        spans.kind.append(PRODUCER)
    tree = TraceTree(spans, range(DEEP), lambda row: ("", 0, row))
    path = critical_path(tree, Interned())
    assert (len(path.segments), path.reason) == (segments, "")
    assert length_of(path) == max(spans.end_ns)
    assert len(nodes_of(path)) == DEEP


def test_by_name() -> None:
    """Each name has the traces on whose path it is, how many of these are unsure, its own time and its waits."""
    build = Builder()
    store = store_of(
        *build.draw("a 0-20\n  p 1-2\n    c 5-18\n  q 3-4", trace=1),
        *build.draw("a 0-20\n  p 1-2\n    c 3-9", trace=2),
        *build.draw("a 0-5\n  q 2-?", trace=3),
        build.span("c", trace=4, parent=99, start=0, duration=3),
        build.span("c", trace=4, parent=99, start=5, duration=3),
        build.span("no trace", trace=0, start=0, duration=900),
    )
    found = [
        (share.name, share.traces, share.unsure, share.self_ns, share.wait_ns) for share in critical_by_name(store)
    ]
    assert found == [
        ("c", 3, 1, 25_000, 4_000),
        ("a", 3, 1, 20_000, 0),
        ("p", 2, 0, 2_000, 0),
    ]
    some = critical_by_name(store, [trace_row(store, 3)])
    assert [(share.name, share.unsure, share.self_ns) for share in some] == [("a", 1, 5_000)]
    assert critical_by_name(store, []) == []


def test_what_follows_an_attempt_without_an_end_is_no_wait() -> None:
    """Nobody knows how much of that time the attempt ran."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", span=1, kind="PRODUCER", start=0, duration=1),
        build.span("f ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=5, end_time=None),
        build.span("f ray.remote_worker", span=3, parent=1, kind="CONSUMER", start=20, duration=4),
    )
    found = [(share.name, share.self_ns, share.wait_ns) for share in critical_by_name(store)]
    assert found == [("f ray.remote_worker", 4_000, 4_000), ("f ray.remote", 1_000, 0)]


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_by_name_is_the_sum_of_the_paths(documents: list[Document]) -> None:
    """What names take together is what the paths take, without placeholders."""
    store = store_of(*documents)
    own, waits = Counter[str](), Counter[str]()
    for trace in range(len(store.trace_table)):
        if not store.trace_table.trace_id(trace):
            continue
        tree = store.tree(trace)
        names = {node: store.names.texts[store.spans.name[row]] for node, row in enumerate(tree.rows)}
        path = path_of(store, trace)
        for sums, by_node in ((own, sums_of(path, Blame.SELF)), (waits, sums_of(path, Blame.WAIT))):
            sums.update({names[node]: 0 for node in by_node if node in names})
            for node, time_ns in by_node.items():
                if node in names:
                    sums[names[node]] += time_ns
    shares = critical_by_name(store)
    assert {share.name: share.self_ns for share in shares if share.self_ns} == dict(own)
    assert {share.name: share.wait_ns for share in shares if share.wait_ns} == dict(waits)
    taken = [(-share.self_ns - share.wait_ns, share.name) for share in shares]
    assert taken == sorted(taken)
