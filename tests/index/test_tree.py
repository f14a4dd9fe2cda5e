"""Spans stitched to trees, drawn: children are indented, `?` is a missing parent, `*` a circle cut above the span.

files                        tree
-----                        ----
a, b under a                 a
                               b
b under a, no a              ?000000000000000a
                               b
a under b, b under a         *a          (a starts first)
                               b
a, a', b under a             a           (a stands first by path and offset)
                               b
                             a'

Random graphs, and all orders of arrival, are tried in `reliability/trees.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import EPOCH_NS, Builder, file_of, store_of, store_of_files, trace_row
from seeds import THOROUGH
from spanview.formats.rows import Batch, SpanColumns
from spanview.index.documents import DetailReader
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.index.tree import ROOT, TraceTree
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence


def label(store: Store, tree: TraceTree, node: int) -> str:
    """Return how a node is drawn."""
    if tree.is_missing(node):
        return f"?{tree.span_id(node):016x}"
    return "*" * (node in tree.cut) + store.names.texts[store.spans.name[tree.rows[node]]]


def drawn(store: Store, trace: int = 0) -> str:
    """Return a trace's trees as a drawing."""
    tree = store.tree(trace)
    return "\n".join("  " * depth + label(store, tree, node) for node, depth in tree.walk())


def dedent(text: str) -> str:
    """Return a drawing without its margin and its empty first and last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[margin:].rstrip() for line in lines)


# Drawings -------------------------------------------------------------------------------------------------------------


def test_children_stand_by_start_then_id() -> None:
    """Siblings are in the order of their starts, and of their ids where they start together."""
    build = Builder()
    store = store_of(
        build.span("late", span=5, parent=1, start=9),
        build.span("second", span=4, parent=1, start=3),
        build.span("first", span=3, parent=1, start=3),
        build.span("root", span=1, start=5),
        build.span("no start", span=2, parent=1, start=0) | {"start_time": None},
    )
    assert drawn(store) == dedent("""
        root
          first
          second
          late
          no start
    """)


def test_drawing_of_a_whole_trace() -> None:
    """A trace that is whole is its drawing, in whatever order its spans were written."""
    documents = Builder().draw("""
        root 0-100
          left 10-40
            leaf 20-30
          right 50-90
            one 51-52
            two 60-?
    """)
    for order in (documents, documents[::-1]):
        store = store_of(*order)
        assert drawn(store) == dedent("""
            root
              left
                leaf
              right
                one
                two
        """)
        assert store.tree(0).complete


def test_missing_parent() -> None:
    """A parent that no file holds is a node in its place, as early as its earliest child, and the trace incomplete."""
    build = Builder()
    store = store_of(
        build.span("root", span=1, start=5),
        build.span("second orphan", span=3, parent=10, start=9),
        build.span("orphan", span=2, parent=10, start=2),
        build.span("other", span=4, parent=11, start=50),
    )
    assert drawn(store) == dedent("""
        ?000000000000000a
          orphan
          second orphan
        root
        ?000000000000000b
          other
    """)
    tree = store.tree(0)
    assert not tree.complete
    assert [tree.start_ns(root) for root in tree.roots] == [EPOCH_NS + us * 1_000 for us in (2, 5, 50)]
    assert summary_of(store).missing_parents == 2


def test_missing_parent_that_comes() -> None:
    """The placeholder of a parent that ended late is replaced by it."""
    build = Builder()
    store = store_of_files({"1.json": file_of([build.span("child", span=2, parent=1, start=3)])})
    assert drawn(store) == "?0000000000000001\n  child"
    from spanview.formats.decoder import Decoder

    store.add(0, Decoder(offset=10_000).feed(file_of([build.span("parent", span=1, start=0)])))
    assert drawn(store) == "parent\n  child"
    assert store.tree(0).complete


def test_parent_of_another_trace_is_missing() -> None:
    """A parent is looked for in the span's own trace only."""
    build = Builder()
    store = store_of(build.span("a", trace=1, span=7), build.span("b", trace=2, span=8, parent=7))
    assert drawn(store, trace_row(store, 2)) == "?0000000000000007\n  b"


def test_several_roots() -> None:
    """All spans without a parent are roots, by start, and that alone makes a trace no less complete."""
    build = Builder()
    store = store_of(build.span("late", start=20), build.span("early", start=10), build.span("last", start=30))
    assert drawn(store) == "early\nlate\nlast"
    assert (store.tree(0).complete, summary_of(store).roots) == (True, 3)


def test_circle_is_cut_at_its_earliest_span() -> None:
    """A circle of parents hangs below its earliest span, with what hangs below it, and the trace is incomplete."""
    build = Builder()
    store = store_of(
        build.span("root", span=1, start=0),
        build.span("cat", span=4, parent=3, start=30),
        build.span("ant", span=2, parent=4, start=10),
        build.span("bee", span=3, parent=2, start=20),
        build.span("below", span=5, parent=4, start=31),
    )
    assert drawn(store) == dedent("""
        root
        *ant
          bee
            cat
              below
    """)
    tree = store.tree(0)
    assert not tree.complete
    cut = tree.rows.index(2)
    assert set(tree.cut) == {cut}
    assert (tree.warnings(cut), tree.warnings(0)) == (Warnings.CYCLE, Warnings(0))
    assert tree.warned() == {cut: Warnings.CYCLE}


def test_own_parent() -> None:
    """A span that is its own parent is a circle of one."""
    build = Builder()
    store = store_of(build.span("self", span=1, parent=1), build.span("child", span=2, parent=1))
    assert drawn(store) == "*self\n  child"
    assert summary_of(store).roots == 0


def test_two_circles() -> None:
    """Every circle of a trace is cut, each at its own earliest span."""
    build = Builder()
    store = store_of(
        build.span("a", span=1, parent=2, start=5),
        build.span("b", span=2, parent=1, start=4),
        build.span("c", span=3, parent=4, start=1),
        build.span("d", span=4, parent=3, start=2),
    )
    assert drawn(store) == "*c\n  d\n*b\n  a"


def test_children_go_to_the_first_by_place() -> None:
    """Of several spans with one id the first by path and offset has the children, whichever came or started first."""
    build = Builder()
    files = {
        "b.json": file_of([build.span("second", span=2, parent=1, start=1), build.span("child", span=3, parent=2)]),
        "a.json": file_of([build.span("root", span=1, start=0), build.span("first", span=2, parent=1, start=9)]),
    }
    expected = dedent("""
        root
          second
          first
            child
    """)
    assert drawn(store_of_files(files)) == expected
    assert drawn(store_of_files(dict(sorted(files.items())))) == expected


@pytest.mark.parametrize(("early_us", "is_skewed"), [(0, False), (1, False), (2, False), (2.001, True), (500, True)])
def test_clock_skew(early_us: float, is_skewed: bool) -> None:  # noqa: FBT001 - a table's column
    """A child may seem two microseconds early, because of the exporter's rounding; more is a clock's fault."""
    build = Builder()
    parent, child = (
        build.span("parent", span=1, start=1_000),
        build.span("child", span=2, parent=1, start=1_000 - early_us),
    )
    store = store_of(parent, child)
    tree = store.tree(0)
    warnings = {label(store, tree, node): tree.warnings(node) for node in range(2)}
    assert warnings == {"parent": Warnings(0), "child": Warnings.CLOCK_SKEW if is_skewed else Warnings(0)}
    assert [*tree.warned().values()] == [Warnings.CLOCK_SKEW] * is_skewed


def test_no_skew_where_a_time_is_missing() -> None:
    """Neither a missing parent nor a missing start makes a child seem early."""
    build = Builder()
    store = store_of(
        build.span("orphan", span=1, parent=9, start=0),
        build.span("no start", span=2, parent=1) | {"start_time": None},
        build.span("below", span=3, parent=2, start=0),
        build.span("late", span=4, parent=1, start=5),
    )
    tree = store.tree(0)
    assert [tree.warnings(node) for node in range(len(tree))] == [Warnings(0)] * 5
    assert tree.warned() == {}


# Depth and width ------------------------------------------------------------------------------------------------------


class NoReader(DetailReader):
    """Has no records."""

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return none, whatever the place."""


def store_of_columns(parent_ids: Sequence[int], starts: Sequence[int]) -> Store:
    """Return a store of one trace whose spans have the ids 1, 2, 3, …."""
    count = len(parent_ids)
    columns = SpanColumns(
        trace_ids=[1] * count,
        span_ids=range(1, count + 1),
        parent_ids=parent_ids,
        start_ns=starts,
        end_ns=[NO_TIME] * count,
        names=["span"] * count,
        services=[""] * count,
        kinds=[0] * count,
        statuses=[0] * count,
        warnings=[0] * count,
    )
    store = Store(NoReader())
    store.add(store.add_source("1.json"), Batch(columns, range(count), [1] * count))
    return store


@pytest.mark.parametrize("is_backwards", [False, True])
def test_very_deep(is_backwards: bool) -> None:  # noqa: FBT001 - both directions
    """A chain of 100,000 spans is walked without recursion, also where the last of it starts first."""
    count = 100_000
    starts = range(count, 0, -1) if is_backwards else range(count)
    tree = store_of_columns(range(count), starts).tree(0)
    assert [depth for _, depth in tree.walk()] == list(range(count))
    assert [tree.span_id(node) for node, _ in tree.walk()] == list(range(1, count + 1))


def test_very_long_circle() -> None:
    """A circle of 100,000 spans is cut once."""
    count = 100_000
    tree = store_of_columns([count, *range(1, count)], range(count)).tree(0)
    assert tree.cut == {0}
    assert [depth for _, depth in tree.walk()] == list(range(count))


@pytest.mark.shortened
def test_very_wide() -> None:
    """A root with as many children as nobody looks at has them all, in order."""
    count = 1_000_000 if THOROUGH else 100_000
    tree = store_of_columns([0, *[1] * count], range(count + 1)).tree(0)
    assert tree.roots == [0]
    assert tree.children(0) == list(range(1, count + 1))
    assert tree.parents == [ROOT, *[0] * count]


def test_many_missing_parents() -> None:
    """100,000 orphans with parents of their own have 100,000 placeholders, by start."""
    count = 100_000
    tree = store_of_columns(range(count + 1, 2 * count + 1), range(count, 0, -1)).tree(0)
    assert len(tree.missing) == count
    assert [tree.span_id(root) for root in tree.roots] == list(range(2 * count, count, -1))
