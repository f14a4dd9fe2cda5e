"""Traces merged by call path, against drawings and against the same by recursion over the exported trees.

a 0-10     a 0-20          a ×2
  b 2-5      c 0-20          c ×1
  b 6-9      b 1-3           b ×3
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, store_of, trace_row
from slow_paths import paths_of
from span_graphs import forests, graphs
from spanview.analysis import flame as flame_module
from spanview.analysis.flame import NOWHERE, flame, located
from spanview.analysis.stats import statistics
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME
from spanview.reports.statistics import BY_PATH, statistics_report
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document
    from slow_paths import Path
    from spanview.analysis.flame import CallPath, Flame, Located
    from spanview.index.store import Store

FIGURES = ("count", "errors", "total_ns", "self_ns", "p50_ns", "p95_ns")


def outline(merged: Flame) -> list[str]:
    """Return the paths as a drawing: names and counts, indented below what they are called by."""
    return [f"{'  ' * path.depth}{path.name or '?'} ×{path.count}" for path in merged.paths]


def whole_paths(merged: Flame) -> list[Path]:
    """Return each path with all that is above it."""
    whole: list[Path] = []
    for path in merged.paths:
        whole.append((*(() if path.parent == ROOT else whole[path.parent]), (path.name, path.service)))
    return whole


def test_a_drawing() -> None:
    """Spans with the same names above them are one path, siblings come by their totals."""
    build = Builder()
    store = store_of(
        *build.draw("a 0-10\n  b 2-5\n  b 6-9", trace=1),
        *build.draw("a 0-20\n  c 0-20\n  b 1-3", trace=2, status="ERROR"),
    )
    merged = flame(store)
    assert outline(merged) == ["a ×2", "  c ×1", "  b ×3"]
    assert (merged.traces, [*merged.durations]) == (2, [10_000, 20_000])
    root, called, often = merged.paths
    assert [(path.errors, path.total_ns, path.self_ns) for path in (root, called, often)] == [
        (1, 30_000, 4_000),
        (1, 20_000, 20_000),
        (1, 8_000, 8_000),
    ]
    assert ([*often.durations], often.p50_ns, often.p95_ns) == ([2_000, 3_000, 3_000], 3_000, 3_000)
    assert (root.parent, called.parent, often.parent) == (ROOT, 0, 0)


def test_recursion_goes_on_downwards() -> None:
    """A span of the same name below another is a path of its own."""
    assert outline(flame(store_of(*Builder().draw("f 0-9\n  f 1-8\n    f 2-7\n  g 8-9")))) == [
        "f ×1",
        "  f ×1",
        "    f ×1",
        "  g ×1",
    ]


def test_services_are_kept_apart_and_kinds_are_not() -> None:
    """The same name in another service is another path; in another kind it is the same."""
    build = Builder()
    merged = flame(
        store_of(
            build.span("GET", service="cart", kind="CLIENT", duration=2),
            build.span("GET", service="cart", kind="SERVER", duration=1),
            build.span("GET", service="catalogue", duration=1),
        )
    )
    assert [(path.name, path.service, path.count) for path in merged.paths] == [
        ("GET", "cart", 2),
        ("GET", "catalogue", 1),
    ]


def test_missing_parents() -> None:
    """Parents that no file holds are one path, of which nothing but their number is known."""
    build = Builder()
    store = store_of(
        build.span("a", trace=1, parent=70),
        build.span("a", trace=1, parent=70),
        build.span("a", trace=1, parent=71),
        build.span("a", trace=2, parent=70),
    )
    merged = flame(store)
    assert outline(merged) == ["? ×3", "  a ×4"]
    unknown = merged.paths[0]
    assert (unknown.total_ns, unknown.self_ns, unknown.p50_ns, unknown.first_row) == (0, 0, None, NO_ROW)
    assert unknown.service == ""


def test_what_was_submitted_stays_below_its_call() -> None:
    """A CONSUMER that starts after its PRODUCER has ended has its place under it, and its own time."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", span=1, start=0, duration=1, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=50, duration=9, kind="CONSUMER"),
    )
    call, attempt = flame(store).paths
    assert (call.name, call.total_ns, call.self_ns) == ("f ray.remote", 1_000, 1_000)
    assert (attempt.name, attempt.parent, attempt.total_ns) == ("f ray.remote_worker", 0, 9_000)


def test_the_first_span_of_a_path() -> None:
    """It is the one that started first; one without a start is taken where there is no other."""
    build = Builder()
    store = store_of(
        build.span("a", trace=1) | {"start_time": None},
        build.span("a", trace=1, start=7),
        build.span("a", trace=2, start=5),
        build.span("a", trace=2, start=5),
        build.span("b", trace=2) | {"start_time": None},
    )
    firsts = {path.name: path.first_row for path in flame(store).paths}
    assert store.spans.start_ns[firsts["a"]] == EPOCH_NS + 5_000
    assert store.names.texts[store.spans.name[firsts["b"]]] == "b"


def test_some_traces() -> None:
    """Where traces are given, only their spans count."""
    build = Builder()
    store = store_of(build.span("a", trace=1), build.span("b", trace=2), build.span("c", trace=3, parent=9))
    numbers = [trace_row(store, 2)]
    assert outline(flame(store, numbers)) == ["b ×1"]
    assert flame(store, []).paths == []


def test_nothing() -> None:
    """An empty store has no paths."""
    merged = flame(store_of())
    assert (merged.paths, merged.traces, merged.durations) == ([], 0, [])


def test_spans_without_a_trace_are_no_trace() -> None:
    """Their spans count, their group doesn't."""
    merged = flame(store_of(Builder().span("a", trace=0)))
    assert (outline(merged), merged.traces, [*merged.durations]) == (["a ×1"], 0, [])


@pytest.mark.parametrize("is_reversed", [False, True], ids=["parents first", "children first"])
def test_any_depth(is_reversed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A chain of twenty thousand calls has as many paths, whichever end starts first."""
    count = 20_000
    build = Builder()
    store = store_of(
        *(
            build.span("f", span=number, parent=number - 1 or None, start=count - number if is_reversed else number)
            for number in range(1, count + 1)
        )
    )
    merged = flame(store)
    assert [path.depth for path in merged.paths] == [*range(count)]
    assert all(path.count == 1 for path in merged.paths)


def test_centuries_are_added_up_exactly() -> None:
    """Sums that don't fit into 64 bits are right, and so is a single duration that doesn't."""
    build = Builder()
    times = {"start_time": "1700-01-01T00:00:00.000000Z", "end_time": "2200-01-01T00:00:00.000000Z"}
    documents = [build.span("a") | times for _ in range(2)]
    (path,) = flame(store_of(*documents)).paths
    length = 182_621 * 86_400 * 10**9
    assert length > 2**63
    assert (path.total_ns, path.self_ns, path.p50_ns) == (2 * length, 2 * length, length)


def check(documents: list[Document]) -> None:
    """Compare with the slow way of merging, however many levels are one step each."""
    store = store_of(*documents)
    every_second = [*range(0, len(store.trace_table), 2)]
    table = store.trace_table
    for traces in (None, every_second):
        ids = (
            None
            if traces is None
            else {f"{table.trace_id(trace):032x}" if table.trace_id(trace) else None for trace in traces}
        )
        expected = paths_of(documents, ids)
        for levels in (1, 64):
            with patch.object(flame_module, "_LEVELS_AT_ONCE", levels):
                found = located(store, traces)
            merged = found.flame
            assert expected == {
                whole: {key: getattr(path, key) for key in FIGURES}
                for whole, path in zip(whole_paths(merged), merged.paths, strict=True)
            }
            check_places(store, found, traces)


def check_places(store: Store, found: Located, traces: list[int] | None) -> None:
    """See to it that each span is where it is counted, and that a path's first row is its earliest."""
    column = [*found.column]
    assert len(column) == len(store.spans)
    spans = store.spans
    for number, path in enumerate(found.flame.paths):
        rows = [row for row, at in enumerate(column) if at == number]
        assert path.name is None or len(rows) == path.count
        assert {store.names.texts[spans.name[row]] for row in rows} == ({path.name} if rows else set())
        times = [(spans.start_ns[row] == NO_TIME, spans.start_ns[row], row) for row in rows]
        assert path.first_row == min(times, default=(False, 0, NO_ROW))[2]
    chosen = {*range(len(store.trace_table))} if traces is None else {*traces}
    assert all((at == NOWHERE) == (spans.trace[row] not in chosen) for row, at in enumerate(column))


@settings(max_examples=150, deadline=None)
@given(forests(most=20))
def test_forests(documents: list[Document]) -> None:
    """Every figure of every path is that of recursion over the exported trees."""
    check(documents)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(1, 4))
def test_graphs(documents: list[Document], names: int) -> None:
    """The same with doubled ids, circles, spans without ids, and times that are missing or the wrong way round."""
    for number, document in enumerate(documents):
        # Like names make paths meet; an attribute keeps the spans from being doubles.
        document["name"] = f"n{number % names}"
        document["attributes"] = {"number": number}
    check(documents)


@settings(max_examples=100, deadline=None)
@given(forests(most=20))
def test_order(documents: list[Document]) -> None:
    """Each path is followed by what is below it, and the greatest total comes first among siblings."""
    paths = flame(store_of(*documents)).paths
    line: list[int] = []
    before: dict[int, CallPath] = {}
    for number, path in enumerate(paths):
        del line[path.depth :]
        assert path.parent == (line[-1] if line else ROOT)
        sibling = before.get(path.parent)
        assert sibling is None or sibling.total_ns >= path.total_ns
        before[path.parent] = path
        line.append(number)


def test_a_report_has_each_path() -> None:
    """`stats --by call-path` has a row a path, with its figures; paths of one name differ by what is above them."""
    spans = Builder().draw("a 0-10\n  b 2-5\n  b 6-9\n  c 9-10\n    b 9-10")
    store = store_of(*spans, Builder().span("", trace=9, span=90, parent=91))
    rows = {row["key"]: row for row in statistics_report(store, BY_PATH).document()["rows"]}
    assert [(row["count"], row["self_time_ns"]) for row in (rows["a"], rows["a › b"], rows["a › c › b"])] == [
        (1, 3_000),
        (2, 6_000),
        (1, 1_000),
    ]
    assert "? parent not seen › (no name)" in rows
    paths = [path for path in flame(store).paths if path.name is not None]
    assert sorted((row["duration_ns"]["total"], row["self_time_ns"]) for row in rows.values()) == sorted(
        (path.total_ns, path.self_ns) for path in paths
    )


def test_of_a_store_that_grows() -> None:
    """Another thread goes on adding while its spans are counted and merged; neither hinders the other."""
    data, build = Growing(), Builder()
    failures: list[BaseException] = []
    stop = threading.Event()

    def add() -> None:
        try:
            while not stop.is_set():
                data.add(*(build.span(trace=at % 7 + 1, parent=None if at < 7 else at - 6) for at in range(20)))
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    adding = threading.Thread(target=add)
    adding.start()
    sizes = set[int]()
    try:
        # It grows by as much in the time that each look takes, and then each takes longer than the one before.
        while len(sizes) < 8 and not failures:
            sizes.add(len(data.store.spans))
            found = flame(data.store)
            groups = statistics(data.store)
            assert sum(group.count for group in groups) >= sum(path.count for path in found.paths if path.name)
    finally:
        stop.set()
        adding.join()
    assert not failures
