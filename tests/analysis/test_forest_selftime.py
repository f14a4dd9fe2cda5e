"""Self times of a forest are those of its trees one by one, on random spans of any kind."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import forests, graphs, whole_traces
from spanview.analysis import forest_selftime
from spanview.analysis.forest_selftime import stretches_in_forest, stretches_of, times_in
from spanview.analysis.selftime import own_stretches, self_times
from spanview.analysis.stats import statistics
from spanview.index.forest import forest_of
from spanview.model.times import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builders import Document
    from spanview.index.store import Store


def check(store: Store, traces: Sequence[int] | None = None) -> None:
    """Compare the times in a forest with those in its trees."""
    forest = forest_of(store, traces)
    times, spans = times_in(forest), store.spans
    expected = dict[int, int | None]()
    for trace in range(len(store.trace_table)) if traces is None else traces:
        tree = store.tree(trace)
        expected |= dict(zip(tree.rows, self_times(tree, spans), strict=False))
    rows, known = forest.rows.tolist(), times.are_known.tolist()
    own = [time if is_known else None for time, is_known in zip(times.own.tolist(), known, strict=True)]
    assert dict(zip(rows, own, strict=True)) == expected
    for row, duration, is_known in zip(rows, times.durations.tolist(), known, strict=True):
        assert not is_known or duration == spans.end_ns[row] - spans.start_ns[row]


@settings(max_examples=150, deadline=None)
@given(st.one_of(graphs(most=20), forests(traces=4, most=30)))
def test_any_spans(documents: list[Document]) -> None:
    """Missing parents, doubled ids, ids of zero, circles, times that are missing or the wrong way round."""
    store = store_of(*documents)
    check(store)
    check(store, range(0, len(store.trace_table), 2))


@pytest.mark.parametrize("depth", [1, 2, 3, 64, 65, 1_000])
def test_chains_and_circles_of_any_length(depth: int) -> None:
    """What hangs from a root is counted at once, what goes round is cut as in its tree."""
    build = Builder()
    chain = [
        build.span(trace=1, span=at, parent=at - 1 or None, start=at, duration=depth) for at in range(1, depth + 1)
    ]
    circle = [build.span(trace=2, span=at, parent=at % depth + 1, start=at, duration=9) for at in range(1, depth + 1)]
    check(store_of(*chain, *circle))


@given(st.lists(st.sampled_from((-(2**63) + 2 * 10**9, -(2**62), 0, 2**62, 2**63 - 2 * 10**9)), min_size=2, max_size=8))
def test_times_whose_sums_are_too_large(times: list[int]) -> None:
    """Centuries are added up exactly, in self times and in statistics."""
    build = Builder()
    store = store_of(
        *(
            build.span(
                "a", span=at, parent=at - 1 or None, start_time=format_time(min(pair)), end_time=format_time(max(pair))
            )
            for at, pair in enumerate(pairwise(times), 1)
        )
    )
    check(store)
    lengths = [abs(one - other) for one, other in pairwise(times)]
    (group,) = statistics(store)
    tree = store.tree(0)
    assert group.total_ns == sum(lengths)
    assert (group.min_ns, group.max_ns) == (min(lengths), max(lengths))
    assert group.self_ns == sum(filter(None, self_times(tree, store.spans)))


@settings(max_examples=250, deadline=None)
@given(st.one_of(graphs(most=20), forests(traces=2, most=30), whole_traces(most=30)), st.sampled_from((1, 6)))
def test_stretches_of_own_time(documents: list[Document], pieces: int) -> None:
    """Of a long trace, when each span runs alone is found at once, as for one span after the other."""
    store = store_of(*documents)
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        with patch.object(forest_selftime, "_MAX_PIECES_PER_SPAN", pieces):
            columns = stretches_of(tree, store.spans)
        if columns is None:
            assert pieces == 1
            continue
        stretches = [*zip(*(column.tolist() for column in columns), strict=True)]
        assert stretches == sorted(stretches)
        moments: list[list[list[int]]] = [[[] for _ in range(len(tree))] for _ in range(2)]
        for number, found in enumerate((stretches, own_stretches(tree, store.spans))):
            for node, start, end in found:
                assert start < end
                moments[number][node] += range(start // 1_000, end // 1_000)
        assert moments[0] == moments[1]


def all_stretches(store: Store) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """Return the stretches of all rows in a forest, and those of its trees, by time for each row."""
    forest = forest_of(store)
    positions, starts, ends = (column.tolist() for column in stretches_in_forest(forest))
    trees = map(store.tree, range(len(store.trace_table)))
    of_trees = [
        (tree.rows[node], start, end) for tree in trees for node, start, end in own_stretches(tree, store.spans)
    ]
    # Sorting keeps the order of those of one row.
    in_forest = zip(forest.rows[positions].tolist(), starts, ends, strict=True)
    return sorted(in_forest, key=itemgetter(0)), sorted(of_trees, key=itemgetter(0))


@settings(max_examples=150, deadline=None)
@given(st.one_of(graphs(most=20), forests(traces=3, most=30)), st.sampled_from((0, 1, 6)))
def test_stretches_of_own_time_of_a_forest(documents: list[Document], pieces: int) -> None:
    """When each span runs alone is the same as in its tree, also where it is left to the trees."""
    with patch.object(forest_selftime, "_MAX_PIECES_PER_SPAN", pieces):
        in_forest, of_trees = all_stretches(store_of(*documents))
    assert in_forest == of_trees


def test_stretches_of_centuries() -> None:
    """Times whose sum doesn't fit into 64 bits are left to the other way."""
    store = store_of(
        *(
            Builder().span(trace=1, span=at, parent=at - 1 or None, start_time="1700-01-01T00:00:00.000000Z")
            for at in range(1, 60)
        )
    )
    assert stretches_of(store.tree(0), store.spans) is None
    in_forest, of_trees = all_stretches(store)
    assert in_forest == of_trees


@settings(max_examples=150, deadline=None)
@given(st.one_of(graphs(most=20), forests(traces=3, most=30)), st.integers(0, 3), st.integers(0, 2))
def test_what_is_handed_up_too_far_is_left_to_its_trace(documents: list[Document], steps: int, pieces: int) -> None:
    """However early it is given up, self times are the same."""
    with (
        patch.object(forest_selftime, "_MAX_STEPS", steps),
        patch.object(forest_selftime, "_MAX_PIECES_PER_SPAN", pieces),
    ):
        check(store_of(*documents))


@pytest.mark.parametrize("count", [500, 2_000])
def test_what_is_handed_up_is_no_square(count: int) -> None:
    """In a chain in which each span outlives its parent, each leaves something to all above it."""
    build = Builder()
    store = store_of(
        *(build.span(span=at + 1, parent=at or None, start=at, duration=2 * (count + at)) for at in range(count)),
        *build.draw("a 0-10\n  b 2-4\n    c 3-12", trace=2),
    )
    with patch.object(forest_selftime, "_covered", wraps=forest_selftime._covered) as covered:
        own = times_in(forest_of(store)).own
    (_, of, begins, ends), _ = covered.call_args
    assert len(of) == len(begins) == len(ends) < 10 * count
    assert own[-3:].tolist() == [2_000, 1_000, 9_000]
    assert own[: count - 1].tolist() == [1_000] * (count - 1)
