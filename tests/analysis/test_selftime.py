"""Self time, against drawings and against sets of single microseconds.

a |==========|
b   |===|           a is alone for 2 + 2 of its 10
c         |=|       c is below b, and runs after it
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import forests, graphs, whole_traces
from spanview.analysis import selftime
from spanview.analysis.selftime import own_stretches, self_time, self_times
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from builders import Document
    from spanview.index.table import SpanTable
    from spanview.index.tree import TraceTree

DRAWINGS = [
    ("a 0-10", [10]),
    ("a 0-10\n  b 2-5\n  c 4-7", [5, 3, 3]),
    ("a 0-10\n  b 2-5\n    c 3-4", [7, 2, 1]),
    ("a 0-10\n  b 2-8\n  c 3-5", [4, 6, 2]),
    ("a 0-10\n  b 5-15", [5, 10]),
    ("a 5-10\n  b 0-7", [7, 3]),
    ("a 0-10\n  b 0-10", [0, 10]),
    ("a 5-10\n  b 0-20", [20, 0]),
    ("a 0-10\n  b 20-30", [10, 10]),
    ("a 0-10\n  b 2-?", [10, None]),
    ("a 0-?\n  b 2-5", [None, 3]),
    ("a 0-10\n  b 5-2", [10, 0]),
    ("a 10-5\n  b 6-7", [1, 0]),
    # What lies outside of a child counts for the next span above.
    ("a 0-10\n  b 2-4\n    c 4-7", [5, 2, 3]),
    ("a 0-10\n  b 2-4\n    c 3-7", [5, 1, 4]),
    ("a 0-10\n  b 2-4\n    c 6-15", [4, 2, 9]),
    ("a 0-10\n  b 1-2\n    c 3-4\n      d 5-6", [7, 1, 1, 1]),
    ("a 0-10\n  b 1-2\n    c 3-4\n      d 3-9", [3, 1, 0, 6]),
    ("a 0-10\n  b 1-2\n    c 4-6\n  d 5-8", [5, 1, 2, 3]),
    ("a 0-10\n  b 5-7\n    c 2-6", [5, 4, 1]),
    ("a 0-10\n  b 5-7\n    c 1-9", [2, 8, 0]),
    ("a 4-10\n  b 6-7\n    c 3-5\n      d 0-8", [8, 0, 2, 0]),
    # What has no length of its own passes on what is below it.
    ("a 0-10\n  b 2-?\n    c 4-7", [7, None, 3]),
    ("a 0-10\n  b 5-2\n    c 6-7", [9, 0, 1]),
    ("a 0-10\n  b 3-3\n    c 3-5", [8, 0, 2]),
    ("a 0-?\n  b 2-5\n    c 6-7", [None, 3, 1]),
    # One stretch for all that runs side by side.
    ("a 0-10\n  b 1-2\n    c 3-6\n  d 1-2\n    e 4-8", [4, 1, 1, 3, 4]),
]
"""A drawing and the self time of each node, which come by start, in microseconds."""


@pytest.mark.parametrize(("drawing", "expected"), DRAWINGS)
def test_drawings(drawing: str, expected: list[int | None]) -> None:
    """What is below a span counts once where it overlaps, and only where the span itself runs."""
    store = store_of(*Builder().draw(drawing))
    own = self_times(store.tree(0), store.spans)
    assert [time if time is None else time // 1000 for time in own] == expected


def test_a_placeholder_has_none() -> None:
    """A parent that no file holds has no self time, and takes none from anybody."""
    store = store_of(Builder().span(parent=9))
    assert self_times(store.tree(0), store.spans) == [10_000, None]


def test_without_a_start_there_is_none() -> None:
    """A span without a start has no self time and takes none from its parent; what is below it does."""
    builder = Builder()
    store = store_of(builder.span(), builder.span(parent=1, start_time=None), builder.span(start=2, parent=2))
    assert self_times(store.tree(0), store.spans) == [2_000, 10_000, None]
    store = store_of(builder.span(), builder.span(parent=4, start_time=None), builder.span(parent=5, start_time=None))
    assert self_times(store.tree(0), store.spans) == [10_000, None, None]


@settings(max_examples=500, deadline=None)
@given(st.one_of(graphs(), graphs(most=25), forests(traces=1, most=25), whole_traces(most=25)))
def test_is_what_no_descendant_covers(documents: list[Document]) -> None:
    """Whatever the graph: for all nodes at once, for each alone, and as stretches."""
    store = store_of(*documents)
    spans = store.spans
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        expected = _slowly(tree, spans)
        assert self_times(tree, spans) == [None if free is None else 1_000 * len(free) for free in expected]
        assert [self_time(tree, spans, node) for node in range(len(tree))] == self_times(tree, spans)
        stretches: list[list[int]] = [[] for _ in range(len(tree))]
        for node, start, end in own_stretches(tree, spans):
            assert start < end
            stretches[node] += range(start // 1_000, end // 1_000)
        # In order, and none twice.
        assert stretches == [sorted(free or ()) for free in expected]


@settings(max_examples=300, deadline=None)
@given(st.one_of(graphs(), forests(traces=1, most=25), whole_traces(most=25)))
def test_self_times_of_a_trace_add_up_to_the_time_in_which_something_runs(documents: list[Document]) -> None:
    """To no less, and to just that where only one span at a time has nothing below it that runs."""
    store = store_of(*documents)
    for trace in range(len(store.trace_table)):
        tree, spans = store.tree(trace), store.spans
        times = [(spans.start_ns[row] // 1_000, spans.end_ns[row] // 1_000) for row in tree.rows]
        busy = {*chain.from_iterable(range(*pair) for pair in times if NO_TIME // 1_000 not in pair)}
        free = [each or set() for each in _slowly(tree, spans)]
        at_once = max(Counter(chain.from_iterable(free)).values(), default=0)
        total = sum(filter(None, self_times(tree, spans)))
        assert total == 1_000 * len(busy) if at_once <= 1 else total > 1_000 * len(busy)


SHAPES: dict[str, Callable[[int, int], tuple[int, int, int]]] = {
    "nested": lambda number, count: (number - 1, number, 4 * count - number),
    "each after its parent": lambda number, _: (number - 1, 3 * number, 3 * number + 2),
    "each outlives its parent": lambda number, count: (number - 1, number, count + 2 * number),
    "each before its parent": lambda number, count: (number - 1, 3 * (count - number), 3 * (count - number) + 2),
    "each longer on both sides": lambda number, count: (number - 1, count - number, count + number + 1),
    "at any time": lambda number, count: (number - 1, number * 7_919 % count, number * 7_919 % count + 3),
    "wide": lambda number, count: (
        min(number, 1) - 1,
        number and number * 7_919 % count,
        2 * count if not number else number * 7_919 % count + 2,
    ),
    "wide, all before": lambda number, count: (
        min(number, 1) - 1,
        2 * number or 3 * count,
        2 * number + 1 if number else 4 * count,
    ),
    "wide, all after": lambda number, _: (min(number, 1) - 1, 2 * number, 2 * number + 1),
    "a chain, each with a leaf that runs late": lambda number, count: (
        (number - 2, number, number + 3)
        if not number % 2
        else (number - 1, 2 * count + number * 7_919 % count, 4 * count)
    ),
    "a late chain, each with an early leaf": lambda number, count: (
        (number - 2, 9 * count - number, 9 * count)
        if not number % 2
        else (number - 1, number * 7_919 % (8 * count), number * 7_919 % (8 * count) + 3)
    ),
}
"""What a span's parent is, and when the span runs, by its number and how many there are."""


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_as_many_spans_take_four_times_as_many_steps(shape: str) -> None:
    """However deep or wide a trace, and however its spans lie; of each size the figures are right."""
    small, large = (_steps(SHAPES[shape], count) / count for count in (150, 600))
    # A logarithm may show; a square would be 4.
    assert large < 1.6 * small


def _steps(shape: Callable[[int, int], tuple[int, int, int]], count: int) -> int:
    """Return how many lines of the module run for a trace of so many spans, and check what it comes to."""
    build = Builder()
    documents = []
    for number in range(count):
        parent, start, end = shape(number, count)
        above = None if parent < 0 else parent + 1
        documents.append(build.span(span=number + 1, parent=above, start=start, duration=end - start))
    store = store_of(*documents)
    tree = store.tree(0)
    tree.in_order()
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != selftime.__file__:
            return None
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        own = self_times(tree, store.spans)
    finally:
        sys.settrace(before)
    assert own == [self_time(tree, store.spans, node) for node in range(len(tree))]
    return lines


def _slowly(tree: TraceTree, spans: SpanTable) -> list[set[int] | None]:
    """Return the microseconds in which each node runs and no descendant does; None where there are no times."""
    times = [(spans.start_ns[row] // 1_000, spans.end_ns[row] // 1_000) for row in tree.rows]
    runs = [None if NO_TIME // 1_000 in pair else {*range(*pair)} for pair in times] + [None] * len(tree.missing)
    free = [None if run is None else {*run} for run in runs]
    for node, run in enumerate(runs):
        above = tree.parents[node]
        while above != ROOT:
            free[above] = None if (rest := free[above]) is None else rest - (run or set())
            above = tree.parents[above]
    return free
