"""The spans of many traces in the order in which their trees are walked, for large stores.

level 0     a           sizes are added up from the last level to the first,
level 1     b   d       and places given from the first to the last: behind the parent and the siblings before
level 2     c
place       a0 b1 c2 d3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.bulk import own_times
from spanview.index.bulk import MISSING, copy_of, odd_traces, parent_rows
from spanview.index.tree import SKEW_NS
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.analysis.bulk import Times
    from spanview.index.bulk import Flags, Places, Words
    from spanview.index.store import Store
    from spanview.index.table import SpanTable

_NOT_ASKED: Final = -1
_DEEPEST: Final = 1_000
"""Traces with more levels are walked one by one: each level costs something."""


@dataclass(frozen=True, slots=True)
class Walk:
    """N spans trace by trace, of those traces that can be walked at once; the others' places are free."""

    rows: Places
    depths: NDArray[np.int32]
    own: Times
    """Self times."""
    have: Flags
    """Which spans have one."""
    warned: NDArray[np.uint16]
    """What only the trees tell of them, as bits of `Warnings`."""
    firsts: Places
    """Where each trace begins."""
    odd: Flags
    """Which traces have to be walked one by one: all that aren't complete, or have spans without times."""


def walk(store: Store, traces: Places) -> Walk:
    """Walk some traces, one after the other.

    Args:
        store: Where they are; it must not grow meanwhile.
        traces: Their numbers.
    """
    spans, count = store.spans, len(store.trace_table)
    parents = parent_rows(spans, store.intake.span_slots)
    of_rows, starts, ids = copy_of(spans.trace), copy_of(spans.start_ns), copy_of(spans.span_id)
    doubtful = odd_traces(spans, parents, count, store.intake.unplaced)
    own, have = own_times(store, parents, doubtful)
    odd = doubtful.copy()
    odd[of_rows[(parents == MISSING) | ~have]] = True
    sizes = copy_of(store.trace_table.span_count)[traces].astype(np.int64)
    firsts = np.cumsum(sizes) - sizes
    begins = np.full(count, _NOT_ASKED)
    begins[traces] = firsts
    rows, levels = _levels(parents, of_rows, starts, ids, np.where(odd, _NOT_ASKED, begins))
    if len(levels) > _DEEPEST:
        odd[of_rows[rows[levels[-1].nodes]]] = True
        rows, levels = _levels(parents, of_rows, starts, ids, np.where(odd, _NOT_ASKED, begins))
    places = _places(levels, len(rows), begins[of_rows[rows]])
    walked = np.zeros(int(sizes.sum()), np.int64)
    walked[places] = rows
    depths = np.zeros(len(walked), np.int32)
    for depth, level in enumerate(levels):
        depths[places[level.nodes]] = depth
    return Walk(walked, depths, own[walked], have[walked], _skewed(spans, parents)[walked], firsts, odd)


def of_all(store: Store) -> tuple[Times, Flags, NDArray[np.uint16]]:
    """Return the self time of every row, which rows have one, and what only its tree tells of it, in any order of rows.

    Args:
        store: Where they are; it must not grow meanwhile.
    """
    spans = store.spans
    parents = parent_rows(spans, store.intake.span_slots)
    odd = odd_traces(spans, parents, len(store.trace_table), store.intake.unplaced)
    own, have = own_times(store, parents, odd)
    warned = _skewed(spans, parents)
    for trace in np.flatnonzero(odd).tolist():
        tree = store.tree(trace)
        warned[tree.rows] = 0
        for node, of_tree in tree.warned().items():
            warned[tree.rows[node]] = of_tree.value
    return own, have, warned


def _skewed(spans: SpanTable, parents: Places) -> NDArray[np.uint16]:
    """Return `CLOCK_SKEW` for each row that starts too early before its parent."""
    starts = copy_of(spans.start_ns)
    children = np.flatnonzero(parents >= 0)
    of = starts[parents[children]]
    early = (starts[children] != NO_TIME) & (of != NO_TIME) & (starts[children] < of - SKEW_NS)
    warned = np.zeros(len(parents), np.uint16)
    warned[children[early]] = Warnings.CLOCK_SKEW.value
    return warned


@dataclass(frozen=True, slots=True)
class _Level:
    """Spans that are equally far below a root, by parent, start and span id."""

    nodes: Places
    counts: Places
    """How many of them each span of the level above has."""


def _levels(
    parents: Places, of_rows: NDArray[np.uint32], starts: Times, ids: Words, begins: Places
) -> tuple[Places, list[_Level]]:
    """Return the rows of the traces that are asked for, and their levels, in which rows are numbered."""
    rows = np.flatnonzero(begins[of_rows] != _NOT_ASKED)
    count = len(rows)
    numbers = np.empty(len(of_rows), np.int64)
    numbers[rows] = np.arange(count)
    above = parents[rows]
    # Roots are the children of their traces, which are numbered behind the rows.
    above = np.where(above >= 0, numbers[above], count + of_rows[rows])
    starts, ids = starts[rows], ids[rows]
    order = np.argsort(starts, kind="stable")
    same = np.diff(starts[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    # Few start together, and those stand together.
    some = order[tied]
    order[tied] = some[np.lexsort((ids[some], starts[some]))]
    order = order[np.argsort(above[order], kind="stable")]
    counts = np.bincount(above, minlength=count + len(begins))
    firsts = np.cumsum(counts) - counts
    levels = [_Level(order[firsts[count] :], counts[count:])] if count else []
    while len(levels) <= _DEEPEST and levels and len(levels[-1].nodes):
        nodes = levels[-1].nodes
        of_nodes = counts[nodes]
        ends = np.cumsum(of_nodes)
        places = np.arange(ends[-1]) + np.repeat(firsts[nodes] - ends + of_nodes, of_nodes)
        levels.append(_Level(order[places], of_nodes))
    return rows, levels


def _places(levels: list[_Level], count: int, begins: Places) -> Places:
    """Return the place of each span: behind its parent and all that is below the siblings before it."""
    sizes = np.ones(count, np.int64)
    for above, below in zip(levels[-2::-1], levels[:0:-1], strict=True):
        summed = np.append(0, np.cumsum(sizes[below.nodes]))
        ends = np.cumsum(below.counts)
        sizes[above.nodes] += summed[ends] - summed[ends - below.counts]
    places = np.empty(count, np.int64)
    for number, level in enumerate(levels):
        before = np.cumsum(sizes[level.nodes]) - sizes[level.nodes]
        firsts = np.repeat(np.cumsum(level.counts) - level.counts, level.counts)
        inside = before - before[firsts]
        if number:
            places[level.nodes] = np.repeat(places[levels[number - 1].nodes] + 1, level.counts) + inside
        else:
            places[level.nodes] = begins[level.nodes] + inside
    return places
