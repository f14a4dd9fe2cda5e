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
"""

from __future__ import annotations

import random
from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, Document, file_of, store_of, store_of_files, trace_row
from span_graphs import graphs
from spanview.formats.rows import Batch, Columns
from spanview.index.store import Store
from spanview.index.tree import ROOT, TraceTree
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

Nested: TypeAlias = tuple[str, list[Any]]
"""A node's label and its children."""


def label(store: Store, tree: TraceTree, node: int) -> str:
    """Return how a node is drawn."""
    if tree.is_missing(node):
        return f"?{tree.span_id(node):016x}"
    return "*" * (node in tree.cut) + store.names.texts[store.spans.name[tree.rows[node]]]


def drawn(store: Store, trace: int = 0) -> str:
    """Return a trace's trees as a drawing."""
    tree = store.tree(trace)
    return "\n".join("  " * depth + label(store, tree, node) for node, depth in tree.walk())


def nested(store: Store, trace: int = 0) -> list[Nested]:
    """Return a trace's trees as labels in lists."""
    tree = store.tree(trace)
    made: list[Nested] = [(label(store, tree, node), []) for node in range(len(tree))]
    for node in range(len(tree)):
        made[node][1].extend(made[child] for child in tree.children(node))
    return [made[root] for root in tree.roots]


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
    assert store.summary().missing_parents == 2


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
    assert (store.tree(0).complete, store.summary().roots) == (True, 3)


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


def test_own_parent() -> None:
    """A span that is its own parent is a circle of one."""
    build = Builder()
    store = store_of(build.span("self", span=1, parent=1), build.span("child", span=2, parent=1))
    assert drawn(store) == "*self\n  child"
    assert store.summary().roots == 0


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


# Order of arrival -----------------------------------------------------------------------------------------------------


def one_a_file(documents: Sequence[Document]) -> list[tuple[str, bytes]]:
    """Return a file for each span, in which it stands alone."""
    return [(f"{number:03}.json", file_of([document])) for number, document in enumerate(documents)]


def five(*rows: tuple[str, int, int | None, int]) -> list[Document]:
    """Return spans with these names, ids, parents and starts."""
    return [Builder().span(name, span=number, parent=parent, start=start) for name, number, parent, start in rows]


FIVE: dict[str, list[Document]] = {
    "chain": Builder().draw("a 0-9\n  b 1-8\n    c 2-7\n      d 3-6\n        e 4-5"),
    "missing": five(("a", 1, None, 5), ("b", 2, 9, 1), ("c", 3, 9, 6), ("d", 4, 2, 2), ("e", 5, 8, 5)),
    "circle": five(("a", 1, 3, 3), ("b", 2, 1, 3), ("c", 3, 2, 3), ("d", 4, 4, 1), ("e", 5, 2, 0)),
    "doubled ids": five(("a", 1, None, 0), ("b", 1, None, 0), ("c", 2, 1, 0), ("d", 2, 2, 0), ("e", 3, 2, 0)),
}


@pytest.mark.parametrize("documents", FIVE.values(), ids=FIVE)
def test_all_orders_of_five(documents: list[Document]) -> None:
    """All 120 orders in which five spans can arrive give one tree."""
    trees = {drawn(store_of_files(dict(order))) for order in permutations(one_a_file(documents))}
    assert len(trees) == 1
    assert sum(1 for line in trees.pop().splitlines() if "?" not in line) == 5


def test_shuffles() -> None:
    """A thousand random orders of forty spans with every fault in them give one tree each."""
    chance = random.Random(24)
    for _ in range(10):
        build = Builder()
        documents = [
            build.span(
                f"span {number}",
                span=chance.randrange(1, 40),
                parent=chance.choice([None, chance.randrange(1, 60), chance.randrange(1, 60)]),
                start=chance.randrange(12),
            )
            for number in range(40)
        ]
        files = one_a_file(documents)
        expected = drawn(store_of_files(dict(files)))
        for _ in range(100):
            chance.shuffle(files)
            assert drawn(store_of_files(dict(files))) == expected


# Any graph ------------------------------------------------------------------------------------------------------------


class SlowTrees:
    """One trace's trees, stitched by searching, walking and recursion.

    Args:
        documents: The trace's spans in the order of their places.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.places = range(len(documents))
        circles = filter(None, map(self.circle_of, self.places))
        self.cut = {min(circle, key=self.order) for circle in circles}

    def number(self, place: int, key: str) -> int:
        """Return the span id or the parent id of a document, 0 for none."""
        document = self.documents[place]
        return int((document["parent_id"] if key == "parent_id" else document["context"][key]) or "0", 16)

    def order(self, place: int) -> tuple[bool, str, int, int]:
        """Return what siblings are ordered by."""
        start = self.documents[place]["start_time"]
        return start is None, start or "", self.number(place, "span_id"), place

    def parent_of(self, place: int) -> int | None:
        """Return the first document that has the parent's id."""
        wanted = self.number(place, "parent_id")
        return next((other for other in self.places if wanted and self.number(other, "span_id") == wanted), None)

    def circle_of(self, place: int) -> list[int]:
        """Return the circle of parents that a document is in."""
        chain: list[int] = []
        at: int | None = place
        while at is not None and at not in chain:
            chain.append(at)
            at = self.parent_of(at)
        return chain if at == place else []

    def below(self, place: int) -> Nested:
        """Return a document and all below it."""
        children = [child for child in self.places if child not in self.cut and self.parent_of(child) == place]
        name = "*" * (place in self.cut) + self.documents[place]["name"]
        return name, list(map(self.below, sorted(children, key=self.order)))

    def roots(self) -> list[Nested]:
        """Return all trees, those below missing parents among them."""
        tops: list[tuple[Any, Nested]] = []
        orphans: dict[int, list[int]] = {}
        for place in self.places:
            parent_id = self.number(place, "parent_id")
            if place in self.cut or not parent_id:
                tops.append((self.order(place)[:3], self.below(place)))
            elif self.parent_of(place) is None:
                orphans.setdefault(parent_id, []).append(place)
        for parent_id, children in orphans.items():
            children.sort(key=self.order)
            top = f"?{parent_id:016x}", list(map(self.below, children))
            tops.append(((*self.order(children[0])[:2], parent_id), top))
        return [top for _, top in sorted(tops, key=lambda top: top[0])]


@settings(max_examples=1_500, deadline=None)
@given(graphs(most=14))
def test_any_graph(documents: list[Document]) -> None:
    """Whatever the ids, parents and times, every span is in its trace's trees once, where a slow search puts it."""
    store = store_of(*documents)
    assert len(store.spans) == len(documents)
    by_trace: dict[int, list[Document]] = {}
    for document in documents:
        by_trace.setdefault(int(document["context"]["trace_id"], 16), []).append(document)
    assert {store.trace_table.trace_id(trace) for trace in range(len(store.trace_table))} == by_trace.keys()
    for trace in range(len(store.trace_table)):
        expected = by_trace[store.trace_table.trace_id(trace)]
        tree = store.tree(trace)
        walked = [node for node, _ in tree.walk()]
        assert sorted(walked) == list(range(len(tree)))
        assert sorted(tree.rows) == sorted(store.rows_of_trace(trace))
        assert nested(store, trace) == SlowTrees(expected).roots()
        assert tree.complete == (not tree.missing and not tree.cut)


@settings(max_examples=300, deadline=None)
@given(graphs(most=30), st.randoms(use_true_random=False))
def test_any_graph_in_any_order(documents: list[Document], chance: random.Random) -> None:
    """The order in which files are read makes no difference to any tree."""
    files = one_a_file(documents)
    first = store_of_files(dict(files))
    chance.shuffle(files)
    second = store_of_files(dict(files))
    for trace, tree in first.trees():
        other = trace_row(second, first.trace_table.trace_id(trace))
        assert drawn(first, trace) == drawn(second, other)
        assert len(tree.missing) == len(second.tree(other).missing)


# Depth and width ------------------------------------------------------------------------------------------------------


class NoReader:
    """Has no records."""

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return none, whatever the place."""


def store_of_columns(parent_ids: Sequence[int], starts: Sequence[int]) -> Store:
    """Return a store of one trace whose spans have the ids 1, 2, 3, …."""
    count = len(parent_ids)
    columns = Columns(
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


def test_very_wide() -> None:
    """A root with 1,000,000 children has them all, in order."""
    count = 1_000_000
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
