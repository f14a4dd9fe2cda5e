"""The spans of many traces in the order in which their trees are walked, with what only the trees show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.forest_selftime import times_in
from spanview.index.forest import MISSING, forest_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.analysis.forest_selftime import Times
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store

_MAX_DEPTH: Final = 1_000
"""Traces with more levels are walked one by one: the text between two spans grows with each level."""


@dataclass(frozen=True, slots=True)
class Walk:
    """N spans trace by trace, parents before their children, siblings by start."""

    forest: Forest
    positions: Places
    """In the forest."""
    rows: Places
    depths: Places
    own: Times
    """Self times."""
    have: Flags
    """Which spans have one."""
    warned: NDArray[np.uint16]
    """What only the trees show, as bits of `Warnings`."""
    firsts: Places
    """Where each trace begins."""
    irregular: Flags
    """Which traces, by number, are incomplete, have spans without ids or times, or are very deep."""


def walk(store: Store, traces: Places) -> Walk:
    """Walk some traces of a store that doesn't grow meanwhile, one after the other."""
    count = len(store.trace_table)
    forest = forest_of(store, None if len(traces) == count else traces.tolist())
    times, depths = times_in(forest), forest.depths()
    irregular = np.zeros(count, np.bool_)
    irregular[forest.traces[(forest.parents == MISSING) | ~times.are_known | (depths > _MAX_DEPTH)]] = True
    irregular[forest.traces[forest.cut]] = irregular[forest.traces[forest.of("span_id") == 0]] = True
    irregular[store.intake.unplaced : store.intake.unplaced + 1] = True
    counts = np.bincount(forest.traces, minlength=count)
    sizes = counts[traces]
    firsts = np.cumsum(sizes) - sizes
    # The forest is walked by the numbers of traces; here they are in the order of the argument.
    moved = np.cumsum(counts) - counts
    moved[traces] -= firsts
    order = np.empty(len(forest), np.int64)
    order[forest.preorder() - moved[forest.traces]] = np.arange(len(forest))
    return Walk(
        forest=forest,
        positions=order,
        rows=forest.rows[order],
        depths=depths[order],
        own=times.own[order],
        have=times.are_known[order],
        warned=forest.warnings()[order],
        firsts=firsts,
        irregular=irregular,
    )


def of_all(store: Store) -> tuple[Times, Flags, NDArray[np.uint16]]:
    """Return the self time of every row, which rows have one, and the warnings that only trees show.

    The store must not grow meanwhile.
    """
    forest = forest_of(store)
    times = times_in(forest)
    return times.own, times.are_known, forest.warnings()
