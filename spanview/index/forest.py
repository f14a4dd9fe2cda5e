"""The trees of many traces as columns: every span has its parent here, however malformed its trace is.

What is decided here, once, as `TraceTree` decides it for one trace:

several spans with one id     the first of them by path, generation and offset is the parent of the children
a parent that no file holds   its children hang from a placeholder, which is no position
a circle of parents           is cut above its earliest span

Nothing that takes a forest asks again whether a trace is malformed. All columns are of the spans that there were when
the forest was made; the store may grow meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary, ref

import numpy as np

from spanview.index.arrays import copy_of, hashes_of, slices, values_at
from spanview.index.tree import SKEW_NS, TraceTree
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places, Words
    from spanview.index.store import Store

ROOT: Final = -1
"""The parent of a root, and of a span above which a circle was cut."""
MISSING: Final = -2
"""The parent of a span whose parent no file holds."""
_SIGN: Final = np.uint64(2**63)
_SHARE_SPANS: Final = 1 << 16
"""Spans of traces that are linked together, or more."""
_MAX_SHARES: Final = 16
"""For each share all rows are searched for those of its traces."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Forest:
    """The trees of the spans of some traces: N spans, whose positions 0 to N-1 are in the order of their rows."""

    store: Store
    size: int
    """How many rows there were in the store."""
    rows: Places
    """The row of each position; of a forest of all traces, position and row are the same."""
    traces: NDArray[np.uint32]
    """The number of the trace of each span."""
    parents: Places
    """The position of each span's parent, `ROOT` or `MISSING`; every chain of parents ends."""
    cut: Places
    """The positions above which a circle was cut, in order."""

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, name: str) -> NDArray[Any]:
        """Return a column of the span table, for each position."""
        return _values(getattr(self.store.spans, name), self.rows, self.size)

    def missing(self) -> Places:
        """Return one of the children of each parent that no file holds, the earliest, by trace and the parent's id."""
        orphans = np.flatnonzero(self.parents == MISSING)
        starts, ids = _late_last(self.of("start_ns")[orphans]), self.of("span_id")[orphans]
        traces, parent_ids = self.traces[orphans], self.of("parent_id")[orphans]
        order = np.lexsort((*self._places(orphans), ids, starts, parent_ids, traces))
        traces, parent_ids = traces[order], parent_ids[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (traces[1:] != traces[:-1]) | (parent_ids[1:] != parent_ids[:-1])
        first: Places = orphans[order[is_first]]
        return first

    def warnings(self) -> NDArray[np.uint16]:
        """Return the warnings that only trees give for each span, as bits of `Warnings`: cycles and clock skew."""
        warned = np.zeros(len(self), np.uint16)
        warned[self.cut] = Warnings.CYCLE.value
        starts, children = self.of("start_ns"), np.flatnonzero(self.parents >= 0)
        own, above = starts[children], starts[self.parents[children]]
        early = np.flatnonzero((own != NO_TIME) & (own < above))
        # As words, because the difference of two times may need all 64 bits.
        skew = above[early].view(np.uint64) - own[early].view(np.uint64)
        warned[children[early[skew > np.uint64(SKEW_NS)]]] = Warnings.CLOCK_SKEW.value
        return warned

    def sums_above(self, values: NDArray[Any]) -> Places:
        """Return for each span the sum of its own value and those of all spans above it; values are integers."""
        sums = values.astype(np.int64)
        for going, upper in self._steps_up():
            sums[going] += sums[upper]
        return sums

    def sums_below(self, values: NDArray[Any]) -> Places:
        """Return for each span the sum of its own value and those of all spans below it; values are integers."""
        sums = values.astype(np.int64)
        for going, upper in self._steps_up():
            np.add.at(sums, upper, sums[going])
        return sums

    def _steps_up(self) -> Iterator[tuple[Places, Places]]:
        """Yield spans with others above them, and those: each step goes twice as far, from where the last one ended."""
        above = self.parents.copy()
        going = np.flatnonzero(above >= 0)
        while len(going):
            upper = above[going]
            yield going, upper
            above[going] = above[upper]
            going = going[above[going] >= 0]

    def depths(self) -> Places:
        """Return how many spans and placeholders are above each span."""
        return self.sums_above(self.parents != ROOT)

    def sizes(self) -> Places:
        """Return how many spans each tree of a span has, itself among them."""
        return self.sums_below(np.ones(len(self), np.int64))

    def in_order(self) -> Places:
        """Return the positions by start, then span id, then place; those without a start come last."""
        starts, ids = _late_last(self.of("start_ns")), self.of("span_id")
        order: Places = np.argsort(starts, kind="stable")
        is_same = starts[order[1:]] == starts[order[:-1]]
        # A second key for all would cost more than setting right the few that start together.
        tied = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
        ties = order[tied]
        order[tied] = ties[np.lexsort((*self._places(ties), ids[ties], starts[ties]))]
        return order

    def children(self) -> tuple[Places, Places]:
        """Return the positions of all spans below others, and where the children of each position begin among them.

        Returns:
            Those of each parent together, in the order of `in_order`; N + 1 places, of which the last is the end.
        """
        order = self.in_order()
        counts = np.bincount(self.parents[self.parents >= 0], minlength=len(self))
        return self._children_in(order), np.append(0, np.cumsum(counts))

    def _children_in(self, order: Places) -> Places:
        below = order[self.parents[order] >= 0]
        return below[np.argsort(self.parents[below], kind="stable")]

    def preorder(self) -> Places:
        """Return the place of each span when trees are walked, parents before their children: a permutation.

        Traces come by number, trees and siblings by start, then span id, then place. A placeholder comes where its
        earliest child starts, then by its own id.
        """
        sizes, order = self.sizes(), self.in_order()
        tops = order[self.parents[order] < 0]
        offsets = np.zeros(len(self), np.int64)
        tops = tops[self._by_tree(tops)]
        offsets[tops] = np.cumsum(sizes[tops]) - sizes[tops]
        below = self._children_in(order)
        preceding = np.cumsum(sizes[below]) - sizes[below]
        parents = self.parents[below]
        firsts = np.flatnonzero(np.append(np.ones(min(1, len(below)), np.bool_), parents[1:] != parents[:-1]))
        counts = np.diff(np.append(firsts, len(below)))
        offsets[below] = preceding - np.repeat(preceding[firsts], counts) + 1
        return self.sums_above(offsets)

    def _by_tree(self, tops: Places) -> Places:
        """Return the order of spans without a parent among the spans, by trace and tree; they come as siblings do."""
        starts, ids, traces = _late_last(self.of("start_ns")[tops]), self.of("span_id")[tops], self.traces[tops]
        orphans = np.flatnonzero(self.parents[tops] == MISSING)
        if len(orphans):
            ids[orphans] = self.of("parent_id")[tops[orphans]]
            by_parent = orphans[np.lexsort((orphans, ids[orphans], traces[orphans]))]
            goes_on = (traces[by_parent[1:]] == traces[by_parent[:-1]]) & (ids[by_parent[1:]] == ids[by_parent[:-1]])
            firsts = np.flatnonzero(np.append(True, ~goes_on))
            starts[by_parent] = np.repeat(starts[by_parent[firsts]], np.diff(np.append(firsts, len(by_parent))))
        return np.lexsort((np.arange(len(tops)), ids, starts, traces))

    def _places(self, positions: Places) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the offsets of some spans and the ranks of their files by path and generation, for `lexsort`."""
        return _places_of(self.store, self.rows[positions])


_WHOLE: Final[WeakKeyDictionary[Store, tuple[int, ref[Forest]]]] = WeakKeyDictionary()
"""By store, the version that the last forest of all traces is of, and that forest as long as anybody has it."""


def forest_of(store: Store, traces: Iterable[int] | None = None) -> Forest:
    """Return the forest of some traces, or of all; the store may grow."""
    if traces is not None:
        return _made(store, traces)
    version, (known, whole) = store.version, _WHOLE.get(store, (-1, None))
    forest = None if whole is None or known != version else whole()
    if forest is None:
        forest = _made(store, None)
        _WHOLE[store] = version, ref(forest)
    return forest


def forests_of(store: Store, traces: Sequence[int] | None = None) -> Iterator[tuple[Forest, float]]:
    """Yield the forests of shares of some traces, or of all: they take less room, and fit the processor's cache.

    Yields:
        A forest, and which part of the traces is in those that were yielded by then.
    """
    table, size = store.trace_table, max(_SHARE_SPANS, len(store.spans) // _MAX_SHARES)
    shares = [*table.shares(range(len(table)) if traces is None else traces, size)]
    for number, share in enumerate(shares, 1):
        yield forest_of(store, None if traces is None and len(shares) == 1 else share), number / len(shares)


def _made(store: Store, traces: Iterable[int] | None) -> Forest:
    spans = store.spans
    # The column that is filled last.
    size = len(spans.next_row)
    if traces is None:
        rows = np.arange(size)
    else:
        numbers = np.array([*traces], np.int64)
        # The last one stands for all that follow.
        is_chosen = np.zeros(int(numbers.max(initial=0)) + 2, np.bool_)
        is_chosen[numbers] = True
        found = [
            np.flatnonzero(is_chosen.take(np.asarray(spans.trace[part]), mode="clip")) + part.start
            for part in slices(size)
        ]
        rows = np.concatenate([np.empty(0, np.int64), *found])
    of_rows, ids, parent_ids, starts = (
        _values(column, rows, size) for column in (spans.trace, spans.span_id, spans.parent_id, spans.start_ns)
    )
    parents = _parents(store, rows, of_rows, ids, parent_ids)
    return Forest(store, size, rows, of_rows, parents, _cut(parents, starts, ids))


def _values(column: array[int], rows: Places, size: int) -> NDArray[Any]:
    """Return what a column of a table of so many rows has for some of them, or for all."""
    return copy_of(column)[:size] if len(rows) == size else values_at(column, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The trees of some traces in one: first the spans of one trace after the other, then all placeholders."""

    tree: TraceTree
    """What is asked of one node, or of the nodes around it, is as in the tree of its trace."""
    traces: Places
    """Which of the traces each node is of, from 0 on."""
    count: int
    """How many traces there are."""

    @classmethod
    def alone(cls, tree: TraceTree) -> Self:
        """Return the tree of one trace."""
        return cls(tree, np.zeros(len(tree), np.int64), 1)

    def of(self, name: str) -> NDArray[Any]:
        """Return a column of the span table, for each node that is a span."""
        return values_at(getattr(self.tree.spans, name), self.tree.rows)

    def one(self, index: int) -> tuple[TraceTree, list[int]]:
        """Return the tree of one of the traces, and which nodes its nodes are here."""
        whole, count = self.tree, len(self.tree.rows)
        if self.count == 1:
            return whole, [*range(len(whole))]
        parts = self.traces[:count], self.traces[count:]
        (first, end), (first_missing, end_missing) = (
            np.searchsorted(part, (index, index + 1)).tolist() for part in parts
        )
        nodes = [*range(first, end), *range(count + first_missing, count + end_missing)]
        return whole.of(nodes), nodes


def trees_of(forest: Forest, traces: Sequence[int]) -> tuple[Trees, Places]:
    """Return the trees of some of a forest's traces, and the position in the forest of each node that is a span."""
    which = np.full(max(int(forest.traces.max(initial=0)), *traces, 0) + 1, -1)
    which[[*traces]] = np.arange(len(traces))
    in_order = forest.in_order()
    in_order = in_order[which[forest.traces[in_order]] >= 0]
    order = in_order[np.argsort(which[forest.traces[in_order]], kind="stable")]
    nodes = np.full(len(forest), ROOT)
    nodes[order] = np.arange(len(order))
    parents = np.where(forest.parents < 0, forest.parents, nodes[np.maximum(forest.parents, 0)])[order]
    # They come by their earliest children.
    orphans = np.flatnonzero(parents == MISSING)
    ids, of_orphans = forest.of("parent_id")[order[orphans]], which[forest.traces[order[orphans]]]
    missing = dict[tuple[int, int], int]()
    for orphan, *key in zip(orphans.tolist(), of_orphans.tolist(), ids.tolist(), strict=True):
        parents[orphan] = missing.setdefault(tuple(key), len(order) + len(missing))
    tree = TraceTree.made(
        forest.store.spans,
        forest.rows[order].tolist(),
        [span_id for _, span_id in missing],
        frozenset(nodes[forest.cut][which[forest.traces[forest.cut]] >= 0].tolist()),
        [*parents.tolist(), *[ROOT] * len(missing)],
    )
    of_nodes = np.append(which[forest.traces[order]], [trace for trace, _ in missing]).astype(np.int64)
    return Trees(tree, of_nodes, len(traces)), order


def incomplete_traces(store: Store, traces: Places) -> Flags:
    """Return for each of some traces whether it has no root, a missing parent, or a circle of parents.

    The store may grow.
    """
    forest, root_counts = forest_of(store, traces), copy_of(store.trace_table.root_count)
    incomplete: Flags = root_counts == 0
    incomplete[forest.traces[forest.parents == MISSING]] = True
    incomplete[forest.traces[forest.cut]] = True
    return incomplete[traces]


def _parents(store: Store, rows: Places, traces: NDArray[np.uint32], ids: Words, parent_ids: Words) -> Places:
    """Return the parents of some spans, circles among them.

    Positions are found by trace and id in a table of slots, at least twice as many as there are spans. In each round,
    those that have no slot yet try the next one.
    """
    table = np.zeros(1 << max(1, 2 * len(rows) - 1).bit_length(), np.uint32)
    mask = np.uint64(len(table) - 1)
    placed, replaced = _fill(table, mask, traces, ids)
    parents = np.full(len(rows), ROOT, np.int64)
    waiting = np.flatnonzero(parent_ids)
    slots = hashes_of(traces[waiting], parent_ids[waiting]) & mask
    while len(waiting):
        entries = table[slots]
        parents[waiting[entries == 0]] = MISSING
        filled = np.flatnonzero(entries)
        waiting, slots, entries = waiting[filled], slots[filled], entries[filled] - np.uint32(1)
        is_it = (ids[entries] == parent_ids[waiting]) & (traces[entries] == traces[waiting])
        parents[waiting[is_it]] = entries[is_it]
        waiting, slots = waiting[~is_it], (slots[~is_it] + np.uint64(1)) & mask
    if len(placed):
        first = np.arange(len(rows))
        first[placed] = _firsts(store, rows, placed, replaced)
        parents[parents >= 0] = first[parents[parents >= 0]]
    return parents


def _fill(table: NDArray[np.uint32], mask: np.uint64, traces: NDArray[np.uint32], ids: Words) -> tuple[Places, Places]:
    """Give each trace and id a slot in an empty table: the position of a span that has them, plus one.

    Returns:
        Spans with the ids of others: for each of them the one that has the slot, and itself.
    """
    # No span is the child of one without an id.
    waiting = np.flatnonzero(ids)
    slots = hashes_of(traces[waiting], ids[waiting]) & mask
    placed, replaced = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    while len(waiting):
        free = np.flatnonzero(table[slots] == 0)
        table[slots[free]] = waiting[free] + 1
        entries = table[slots] - np.uint32(1)
        left = np.flatnonzero(entries != waiting)
        waiting, slots, entries = waiting[left], slots[left], entries[left]
        is_duplicate = (ids[entries] == ids[waiting]) & (traces[entries] == traces[waiting])
        placed.append(entries[is_duplicate].astype(np.int64))
        replaced.append(waiting[is_duplicate])
        waiting, slots = waiting[~is_duplicate], (slots[~is_duplicate] + np.uint64(1)) & mask
    return np.concatenate(placed), np.concatenate(replaced)


def _firsts(store: Store, rows: Places, placed: Places, replaced: Places) -> Places:
    """Return for each of `placed` the first by path, generation and offset: itself, or one of its duplicates."""
    positions, groups = np.append(placed, replaced), np.append(placed, placed)
    order = np.lexsort((*_places_of(store, rows[positions]), groups))
    positions, groups = positions[order], groups[order]
    begins = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    firsts: Places = positions[begins[np.searchsorted(groups[begins], placed)]]
    return firsts


def _places_of(store: Store, rows: Places) -> tuple[NDArray[Any], NDArray[Any]]:
    if not len(rows):
        return rows, rows
    sources, offsets = values_at(store.spans.source, rows), values_at(store.spans.offset, rows)
    numbers, inverse = np.unique(sources, return_inverse=True)
    in_order = sorted(numbers.tolist(), key=store.intake.source_order)
    ranks = dict(zip(in_order, range(len(in_order)), strict=True))
    return offsets, np.array([ranks[number] for number in numbers.tolist()])[inverse]


def _cut(parents: Places, starts: NDArray[np.int64], ids: Words) -> Places:
    """Cut each circle of parents above its earliest span; return these spans."""
    children = np.flatnonzero(parents >= 0)
    # In every circle there is a span that doesn't start after its parent.
    doubtful = children[starts[children] <= starts[parents[children]]]
    if not len(doubtful):
        return np.empty(0, np.int64)
    above, steps = np.maximum(parents, ROOT), 1
    going = children
    # Each step goes twice as far up; what still has something above it goes round.
    while len(going) and steps <= 2 * len(parents):
        above[going] = above[above[going]]
        going, steps = going[above[going] >= 0], steps * 2
    circling = np.unique(above[going])
    if not len(circling):
        return circling
    order = circling[np.lexsort((ids[circling], _late_last(starts[circling])))]
    ranks = np.empty(len(parents), np.int64)
    ranks[order] = np.arange(len(order))
    # The least rank of each circle, found by all of its spans.
    least, above = ranks.copy(), parents.copy()
    steps = 1
    while steps < len(circling):
        upper = above[circling]
        least[circling] = np.minimum(least[circling], least[upper])
        above[circling], steps = above[upper], steps * 2
    cut: Places = circling[least[circling] == ranks[circling]]
    parents[cut] = ROOT
    return cut


def _late_last(starts: NDArray[np.int64]) -> Words:
    """Return numbers in the order of starts, but that `NO_TIME`, the least of all integers, comes last."""
    return (starts.view(np.uint64) ^ _SIGN) - np.uint64(1)
