"""Parents and times without contradictions, against drawings.

written                 taken as true
-------                 -------------
a 5-10                  a 5-10
  b 2-7                 b 5-7, a child of a
?                       ? 6-9, a child of a as well
  c 6-9                 c 6-9
"""

from __future__ import annotations

import pytest

from builders import EPOCH_NS, Builder, store_of
from spanview.analysis.consistent import ConsistentTraces, consistent
from spanview.index.forest import Trees
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME

DRAWINGS = [
    ("a 0-10\n  b 2-15\n    c 20-30", [(0, 10), (2, 15), (20, 30)]),
    ("a 5-10\n  b 2-7", [(5, 7), (5, 10)]),
    ("a 5-10\n  b 2-4", [(5, 5), (5, 10)]),
    ("a 5-10\n  b 2-4\n    c 3-8", [(5, 5), (5, 8), (5, 10)]),
    ("a 0-10\n  b 7-4", [(0, 10), (4, 4)]),
    ("a 6-10\n  b 7-4", [(6, 10), (6, 6)]),
    ("a 0-?", [(0, 0)]),
    ("a 0-?\n  b 2-5\n    c 3-8\n  d 9-?", [(0, 9), (2, 5), (3, 8), (9, 9)]),
]
"""A drawing, and start and end of each node, which come by start, in microseconds."""


def times_of(trace: ConsistentTraces) -> list[tuple[int, int]]:
    """Return start and end of each node in microseconds."""
    return [
        ((start - EPOCH_NS) // 1000, (end - EPOCH_NS) // 1000)
        for start, end in zip(trace.starts, trace.ends, strict=True)
    ]


@pytest.mark.parametrize(("drawing", "expected"), DRAWINGS)
def test_times(drawing: str, expected: list[tuple[int, int]]) -> None:
    """Nobody ends before it starts, or starts before its parent."""
    store = store_of(*Builder().draw(drawing))
    assert times_of(consistent(Trees.alone(store.tree(0)))) == expected


def test_what_fits_together_stays() -> None:
    """A whole trace has its own parents and times, and no doubts."""
    store = store_of(*Builder().draw("a 0-10\n  b 2-15\n    c 20-30"))
    tree = store.tree(0)
    trace = consistent(Trees.alone(tree))
    assert (trace.parents, trace.doubts) == (tree.parents, [""])


def test_a_missing_parent_hangs_from_the_only_root() -> None:
    """It runs as long as what hangs from it, and no earlier than the root."""
    build = Builder()
    root = build.span(start=5, duration=10)
    store = store_of(root, build.span(parent=99, start=6, duration=3), build.span(parent=99, start=2, duration=1))
    trace = consistent(Trees.alone(store.tree(0)))
    assert trace.parents == [3, ROOT, 3, 1]
    assert times_of(trace) == [(5, 5), (5, 15), (6, 9), (5, 9)]
    assert trace.doubts == ["1 parent is missing"]


def test_trees_stay_apart_where_there_are_several_roots() -> None:
    """Nothing tells from which of them a missing parent hangs."""
    build = Builder()
    store = store_of(build.span(start=0), build.span(start=1), build.span(parent=99, start=2))
    trace = consistent(Trees.alone(store.tree(0)))
    assert trace.parents == [ROOT, ROOT, 3, ROOT]
    assert trace.doubts == ["there are 2 roots, 1 parent is missing"]


def test_a_span_without_a_start() -> None:
    """It starts with what is below it, at the latest with its own end; where there is neither, with its parent."""
    build = Builder()
    store = store_of(
        build.span(start=0, duration=20),
        build.span(parent=1, start=0, duration=9, start_time=None),
        build.span(parent=2, start=4, duration=2),
        build.span(parent=3, start=0, duration=5, start_time=None),
        build.span(parent=3, start_time=None, duration=None),
    )
    assert times_of(consistent(Trees.alone(store.tree(0)))) == [(0, 20), (4, 6), (4, 9), (5, 5), (4, 4)]


def test_a_tree_without_times_has_none() -> None:
    """Where nothing in a tree has a time, none is made up."""
    build = Builder()
    store = store_of(build.span(start_time=None, duration=None), build.span(parent=1, start_time=None, duration=None))
    trace = consistent(Trees.alone(store.tree(0)))
    assert {*trace.starts, *trace.ends} == {NO_TIME}
