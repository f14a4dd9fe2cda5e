"""Self time, against drawings and against a count of single microseconds.

a |==========|
b   |===|          a is alone for 2 + 3 of its 10
c     |===|
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from builders import Builder, store_of
from span_graphs import forests, graphs
from spanview.analysis.selftime import self_times, self_times_of
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

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
]
"""A drawing and the self time of each node, which come by start, in microseconds."""


@pytest.mark.parametrize(("drawing", "expected"), DRAWINGS)
def test_drawings(drawing: str, expected: list[int | None]) -> None:
    """Children count once where they overlap, and only where the span itself runs."""
    store = store_of(*Builder().draw(drawing))
    own = self_times(store.tree(0), store.spans)
    assert [time if time is None else time // 1000 for time in own] == expected


def test_a_placeholder_has_none() -> None:
    """A parent that no file holds has no self time, and takes none from anybody."""
    store = store_of(Builder().span(parent=9))
    assert self_times(store.tree(0), store.spans) == [10_000, None]


def test_without_a_start_there_is_none() -> None:
    """A span without a start has no self time and adds nothing to its parent's children."""
    builder = Builder()
    store = store_of(builder.span(), builder.span(parent=1, start_time=None), builder.span(start=2, parent=2))
    assert self_times(store.tree(0), store.spans) == [10_000, 10_000, None]


@settings(max_examples=500, deadline=None)
@given(graphs())
def test_is_the_count_of_uncovered_microseconds(documents: list[Document]) -> None:
    """Whatever the graph, self time is the number of microseconds in which no child runs."""
    store = store_of(*documents)
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        assert self_times(tree, store.spans) == [_slowly(store, trace, node) for node in range(len(tree))]


@settings(max_examples=200, deadline=None)
@given(forests(traces=8, most=30))
def test_many_traces_at_once_are_as_one_by_one(documents: list[Document]) -> None:
    """Traces that are stitched together have the self times that each has alone."""
    store = store_of(*documents)
    traces = range(len(store.trace_table))
    rows, own = self_times_of(store, traces)
    alone = {
        row: time
        for trace in traces
        for row, time in zip(store.tree(trace).rows, self_times(store.tree(trace), store.spans), strict=False)
    }
    assert dict(zip(rows, own, strict=True)) == alone
    assert sorted(rows) == [*range(len(store.spans))]


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_many_traces_at_once_with_any_ids(documents: list[Document]) -> None:
    """Ids that are there twice, or in two traces, don't mix traces up."""
    store = store_of(*documents)
    rows, own = self_times_of(store, range(len(store.trace_table)))
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        expected = dict(zip(tree.rows, self_times(tree, store.spans), strict=False))
        assert {row: time for row, time in zip(rows, own, strict=True) if row in expected} == expected


def _slowly(store: Store, trace: int, node: int) -> int | None:
    tree, spans = store.tree(trace), store.spans
    if tree.is_missing(node):
        return None
    start, end = spans.start_ns[tree.rows[node]], spans.end_ns[tree.rows[node]]
    if NO_TIME in (start, end):
        return None
    free = {*range(start // 1000, end // 1000)}
    for child in tree.children(node):
        child_start, child_end = spans.start_ns[tree.rows[child]], spans.end_ns[tree.rows[child]]
        if NO_TIME not in (child_start, child_end):
            free -= {*range(child_start // 1000, child_end // 1000)}
    return len(free) * 1000
