"""One trace's spans, stitched into trees by parent id; every span is in it exactly once, whatever the ids say.

Nodes are small integers: first the spans, in the order of their starts, then the placeholders of missing parents.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, compress, islice
from operator import eq, le, sub
from typing import TYPE_CHECKING, Final, Self, cast

from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.table import SpanTable

ROOT: Final = -1
"""The parent of a root."""
SKEW_NS: Final = 2_000
"""The console exporter rounds times to microseconds through a float: a child may seem this much too early."""
_LAST: Final = 2**63
_NO_NODES: Final[frozenset[int]] = frozenset()


class TraceTree:
    """The trees of one trace.

    Args:
        order: Returns by what two rows with the same ids are ordered: path, generation and offset.
    """

    __slots__ = ("_children", "_firsts", "_is_usual", "_roots", "cut", "missing", "parents", "rows", "spans")

    def __init__(self, spans: SpanTable, rows: Sequence[int], order: Callable[[int], tuple[str, int, int]]) -> None:
        self.spans = spans
        """Where the rows are."""
        self.rows = self._sorted(rows)
        """The row of each node that is a span, by start, then span id."""
        self.missing: list[int] = []
        """The span id of each node that is a placeholder; the first of them is node `len(rows)`."""
        self.cut = _NO_NODES
        """The nodes above which a circle of parents was cut."""
        self.parents = self._find_parents(order)
        """The parent of each node, or `ROOT`."""
        # The usual trace has every parent before its children, and no circle can be in it.
        self._is_usual = True not in map(le, range(len(self.parents)), self.parents)
        if not self._is_usual:
            self._cut_cycles()
        self._children: list[int] | None = None
        """The nodes that are spans, by parent, then by start, then by span id."""
        self._firsts: list[int] = []
        """Where the children of each node begin in it."""
        self._roots: list[int] = []

    @classmethod
    def made(
        cls, spans: SpanTable, rows: list[int], missing: list[int], cut: frozenset[int], parents: list[int]
    ) -> Self:
        """Return a tree whose nodes have their parents already.

        Args:
            rows: Of the nodes that are spans, in the order in which siblings are to come.
            missing: The span ids of the placeholders, whose nodes come after them.
            cut: The nodes above which a circle was cut.
            parents: The parent of each node, or `ROOT`; there is no circle.
        """
        tree = cls(spans, (), lambda _: ("", 0, 0))
        tree.rows, tree.missing, tree.cut, tree.parents = rows, missing, cut, parents
        tree._is_usual = True not in map(le, range(len(parents)), parents)
        return tree

    def of(self, nodes: Sequence[int]) -> Self:
        """Return a tree of some nodes, in ascending order; those whose parents aren't among them are roots."""
        here, first = {node: number for number, node in enumerate(nodes)}, bisect_left(nodes, len(self.rows))
        return self.made(
            self.spans,
            [self.rows[node] for node in nodes[:first]],
            [self.span_id(node) for node in nodes[first:]],
            frozenset(here[node] for node in self.cut.intersection(nodes)),
            [here.get(self.parents[node], ROOT) for node in nodes],
        )

    def _sorted(self, rows: Sequence[int]) -> list[int]:
        starts, ids = self.spans.start_ns, self.spans.span_id
        in_order = sorted(rows, key=starts.__getitem__)
        times = [*map(starts.__getitem__, in_order)]
        # A second key for all would cost more than setting right the few that start together.
        first = 0
        for tied in compress(range(1, len(times)), map(eq, times, islice(times, 1, None))):
            if tied >= first:
                first, last = tied - 1, bisect_right(times, times[tied], tied)
                in_order[first:last] = sorted(in_order[first:last], key=ids.__getitem__)
                first = last
        if times and times[0] == NO_TIME:
            # It is the least of all integers, but what never started comes last.
            unstarted = bisect_right(times, NO_TIME)
            return in_order[unstarted:] + in_order[:unstarted]
        return in_order

    def _find_parents(self, order: Callable[[int], tuple[str, int, int]]) -> list[int]:
        """Now each node has a parent or is a root; circles are still in it."""
        ids, rows = self.spans.span_id, self.rows
        by_id = dict(zip(map(ids.__getitem__, rows), range(len(rows)), strict=True))
        if len(by_id) < len(rows):
            by_id = self._first_by_id(order)
        by_id[0] = ROOT
        parent_ids = [*map(self.spans.parent_id.__getitem__, rows)]
        parents = [*map(by_id.get, parent_ids)]
        if None in parents:
            return self._add_missing(parents, parent_ids)
        return cast(list[int], parents)

    def _first_by_id(self, order: Callable[[int], tuple[str, int, int]]) -> dict[int, int]:
        """Now each id is a node's, of several the first by path and place; and several with one start come so too."""
        ids, rows = self.spans.span_id, self.rows
        starts = self.spans.start_ns
        rows.sort(key=lambda row: (_LAST if starts[row] == NO_TIME else starts[row], ids[row], order(row)))
        by_id: dict[int, int] = {}
        for node, row in enumerate(rows):
            first = by_id.setdefault(ids[row], node)
            if first != node and order(row) < order(rows[first]):
                by_id[ids[row]] = node
        return by_id

    def _add_missing(self, parents: list[int | None], parent_ids: list[int]) -> list[int]:
        """Now each parent that no file holds is a node too, after all spans."""
        count = len(parents)
        by_id: dict[int, int] = {}
        for node in [node for node, parent in enumerate(parents) if parent is None]:
            parents[node] = by_id.setdefault(parent_ids[node], count + len(by_id))
        self.missing.extend(by_id)
        return [*cast(list[int], parents), *[ROOT] * len(by_id)]

    def _cut_cycles(self) -> None:
        """Now every chain of parents ends at a root: each circle is cut above its earliest span."""
        parents, count = self.parents, len(self.rows)
        marks = [0] * len(parents)
        cut = []
        # In every circle there is a span that comes before its parent: the earliest does.
        for start in [node for node, parent in enumerate(parents) if node <= parent < count]:
            node, mark = start, start + 1
            while node != ROOT and not marks[node]:
                marks[node] = mark
                node = parents[node]
            if node != ROOT and marks[node] == mark:
                # Nodes are numbered by start, so the least of the circle is its earliest.
                earliest, other = node, parents[node]
                while other != node:
                    earliest, other = min(earliest, other), parents[other]
                cut.append(earliest)
        for node in cut:
            parents[node] = ROOT
        self.cut = frozenset(cut)

    def _order_children(self) -> None:
        """Now the children are in order: nodes come by start, and a placeholder starts with its earliest child.

        That waits until they are needed, because counting and self time need the parents only. They stand in one
        list, those of each node together: a list for each would be work for the garbage collector ever after.
        """
        parents, count = self.parents, len(self.rows)
        below = [0] * (len(parents) + 1)
        for parent in parents[:count]:
            # Those of no parent are counted first.
            below[parent + 1] += 1
        children = sorted(range(count), key=parents.__getitem__)
        roots, child_of = children[: below[0]], [*accumulate(below)]
        if self.missing:
            roots.extend(range(count, len(parents)))
            firsts = {node: children[child_of[node]] if self.is_missing(node) else node for node in roots}
            roots.sort(key=lambda node: (self._place(firsts[node]), self.span_id(node)))
        # Last of all, for readers in other threads.
        self._roots, self._firsts, self._children = roots, child_of, children

    def _place(self, node: int) -> int:
        start = self.spans.start_ns[self.rows[node]]
        return _LAST if start == NO_TIME else start

    @property
    def roots(self) -> list[int]:
        """The nodes without a parent, by start, then span id; not to be changed."""
        if self._children is None:
            self._order_children()
        return self._roots

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def complete(self) -> bool:
        """Whether there is a span without a parent, and neither a missing parent nor a circle."""
        # Then every chain of parents ends at a span without one.
        return not self.missing and not self.cut and bool(self.rows)

    def is_missing(self, node: int) -> bool:
        """Tell whether a node is the placeholder of a parent that no file holds."""
        return node >= len(self.rows)

    def span_id(self, node: int) -> int:
        """Return the span id of a node as 64 bits."""
        count = len(self.rows)
        return self.missing[node - count] if node >= count else self.spans.span_id[self.rows[node]]

    def start_ns(self, node: int) -> int:
        """Return when a node starts; a placeholder starts with its earliest child."""
        if node >= len(self.rows):
            return self.start_ns(self._in_order[self._firsts[node]])
        return self.spans.start_ns[self.rows[node]]

    def children(self, node: int) -> list[int]:
        """Return the children of a node by start, then span id."""
        return self._in_order[self._firsts[node] : self._firsts[node + 1]]

    @property
    def _in_order(self) -> list[int]:
        """The children of all nodes; those of each begin where `_firsts` says."""
        if self._children is None:
            self._order_children()
        return cast(list[int], self._children)

    def is_last(self, node: int) -> bool:
        """Tell whether no other child of a node's parent, or no other root, comes after it."""
        parent, children = self.parents[node], self._in_order
        return (self._roots[-1] if parent == ROOT else children[self._firsts[parent + 1] - 1]) == node

    def previous_sibling(self, node: int) -> int | None:
        """Return the child of a node's parent that comes right before it, None for the first one and for a root."""
        parent = self.parents[node]
        if parent == ROOT:
            return None
        children, first = self._in_order, self._firsts[parent]
        # Nodes come by start, and children do.
        position = bisect_left(children, node, first, self._firsts[parent + 1])
        return children[position - 1] if position > first else None

    def with_children(self, fewest: int) -> list[int]:
        """Return the nodes that have so many children or more, at least one."""
        if self._children is None:
            self._order_children()
        counts = map(sub, islice(self._firsts, 1, None), self._firsts)
        return [node for node, count in enumerate(counts) if count >= fewest]

    def in_order(self) -> list[int]:
        """Return every node, parents before their children."""
        children, firsts = self._in_order, self._firsts
        order, pending = list[int](), [*reversed(self._roots)]
        while pending:
            node = pending.pop()
            order.append(node)
            first, end = firsts[node], firsts[node + 1]
            if end > first:
                pending += children[first:end][::-1]
        return order

    def ends_in(self, order: Sequence[int]) -> list[int]:
        """Return for each place in an order as `in_order` has it the place behind all that is below its node."""
        # The last number is that of no node, and takes what roots have.
        sizes, parents = [1] * len(self.parents) + [0], self.parents
        for node in reversed(order):
            sizes[parents[node]] += sizes[node]
        return [place + sizes[node] for place, node in enumerate(order)]

    def walk(self) -> Iterator[tuple[int, int]]:
        """Yield every node and its depth, parents before their children."""
        # The last is that of no node: of what is above the roots.
        depths, parents = [*self.parents, -1], self.parents
        for node in self.in_order():
            depths[node] = depth = depths[parents[node]] + 1
            yield node, depth

    def warned(self) -> dict[int, Warnings]:
        """Return the spans that the tree warns about, and the warnings."""
        # Nodes come by start, so one that starts before its parent comes before it.
        early = (
            []
            if self._is_usual
            else [child for child, parent in enumerate(self.parents) if child < parent < len(self.rows)]
        )
        return {node: warnings for node in (*early, *self.cut) if (warnings := self.warnings(node))}

    def warnings(self, node: int) -> Warnings:
        """Return the warnings that only the tree gives for a node: cycles and clock skew."""
        warnings = Warnings.CYCLE if node in self.cut else NO_WARNINGS
        parent = self.parents[node]
        if parent == ROOT or self.is_missing(parent):
            return warnings
        start, parent_start = self.start_ns(node), self.start_ns(parent)
        if NO_TIME not in (start, parent_start) and start < parent_start - SKEW_NS:
            warnings |= Warnings.CLOCK_SKEW
        return warnings
