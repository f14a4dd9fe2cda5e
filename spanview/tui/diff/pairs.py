"""What can be compared without a query: the folders that traces are in, and those that failed, or took longest.

/runs/before/1.json  /runs/after/2.json      before → after
traces, some of them with an error           without an error → with an error
twenty traces or more                        all others → the slowest tenth
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.percentiles import rank_of
from spanview.analysis.reused_ids import traces_with_reused_ids
from spanview.display.sanitise import sanitise
from spanview.display.units import duration
from spanview.index.arrays import copy_of
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME
from spanview.tui.diff.side import MarkedSide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags
    from spanview.index.store import Store

_MOST_FOLDERS: Final = 4
"""Of more, nobody wants each compared with each."""
_FEWEST_FOR_TENTH: Final = 20
_MAX_NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides that have no trace in common, and traces each."""

    a: MarkedSide
    b: MarkedSide


def pairs_of(store: Store) -> list[Pair]:
    """Return what can be compared, the folders first, the older one as A; for a thread.

    Traces that are likely several runs with the same ids are on no side: each would be of all its runs.
    """
    return [*_folders(store), *_failed(store), *_slowest(store)]


def _folders(store: Store) -> list[Pair]:
    # What is asked later may be of more traces.
    sources, (starts,) = _sources_of_traces(store), _columns(store, "start_ns")
    is_one_run = _are_one_run(store, len(sources))
    starts, sources = starts[: len(sources)][is_one_run], sources[is_one_run]
    used, first = np.unique(sources), dict[str, int]()
    names = _names_of_folders([store.sources[source].path for source in used.tolist()])
    if "" in names or not 1 < len({*names}) <= _MOST_FOLDERS:
        return []
    own = {name: used[[other == name for other in names]] for name in names}
    for start_ns, source in zip(starts.tolist(), sources.tolist(), strict=False):
        name = names[int(np.searchsorted(used, source))]
        first[name] = min(start_ns, first.get(name, start_ns))
    sides = [_side(name, partial(_are_of, store, own[name])) for name in sorted(first, key=lambda name: first[name])]
    return [Pair(a, b) for a, b in combinations(sides, 2)]


def _are_of(store: Store, sources: NDArray[np.int64]) -> Flags:
    """Return which traces were read from some sources."""
    flags: Flags = np.isin(_sources_of_traces(store), sources)
    return flags & _are_one_run(store, len(flags))


def _are_one_run(store: Store, size: int) -> Flags:
    """Return which of the first so many traces are not several runs with the same ids."""
    flags = np.ones(size, np.bool_)
    flags[[trace for trace in traces_with_reused_ids(store) if trace < size]] = False
    return flags


def _names_of_folders(paths: Sequence[str]) -> list[str]:
    """Return the folder of each path below what all have in common; empty for a file that is right there."""
    parts = [path.split(os.sep) for path in paths]
    levels = enumerate(zip(*parts, strict=False))
    common = next((depth for depth, names in levels if len({*names}) > 1), 0)
    return [path[common] if len(path) > common + 1 else "" for path in parts]


def _failed(store: Store) -> list[Pair]:
    def failed() -> Flags:
        (errors,) = _columns(store, "error_count")
        return errors > 0

    return _divided(store, failed, "without an error", "with an error")


def _slowest(store: Store) -> list[Pair]:
    def durations() -> NDArray[np.uint64]:
        starts, ends = _columns(store, "start_ns", "end_ns")
        # Times may be centuries apart: their differences fit in 64 bits without a sign.
        lengths: NDArray[np.uint64] = ends.view(np.uint64) - starts.view(np.uint64)
        return np.where((starts != NO_TIME) & (ends > starts), lengths, np.uint64(0))

    known = np.sort(durations())
    if len(known) < _FEWEST_FOR_TENTH:
        return []
    # Of twenty, the nineteenth: it and the one behind are a tenth.
    least = known[rank_of(len(known), 91)]
    return _divided(
        store, lambda: durations() >= least, "all others", f"the slowest tenth, {duration(int(least))} or more"
    )


def _divided(store: Store, chosen: Callable[[], Flags], others: str, what: str) -> list[Pair]:
    """Return the pair of the traces that are chosen and of all others of the same roots, if there are both.

    What begins with another root does something else: it would differ in everything.
    """

    def sides() -> tuple[Flags, Flags]:
        flags = chosen()
        roots, is_one_run = _root_names(store)[: len(flags)], _are_one_run(store, len(flags))
        b = flags & is_one_run
        return ~flags & is_one_run & np.isin(roots, roots[b]), b

    a, b = sides()
    if not a.any() or not b.any():
        return []
    has_all = bool((a | b).all())
    return [
        Pair(_side(others if has_all else f"{others}, same root", lambda: sides()[0]), _side(what, lambda: sides()[1]))
    ]


def _side(what: str, chosen: Callable[[], Flags]) -> MarkedSide:
    def traces() -> Sequence[int]:
        numbers: Sequence[int] = chosen().nonzero()[0].tolist()
        return numbers

    return MarkedSide(None, sanitise(what, _MAX_NAME_LENGTH), traces)


def _sources_of_traces(store: Store) -> NDArray[np.int64]:
    """Return where the root of each trace was read, or its first span."""
    roots, firsts = _columns(store, "root_row", "first_row")
    sources: NDArray[np.int64] = copy_of(store.spans.source)[np.where(roots != NO_ROW, roots, firsts)]
    return sources


def _root_names(store: Store) -> NDArray[np.int64]:
    """Return the name of each trace's root, as its number in the store's names; -1 where there is no root."""
    (roots,) = _columns(store, "root_row")
    names = np.full(len(roots), -1, "q")
    names[roots != NO_ROW] = copy_of(store.spans.name)[roots[roots != NO_ROW]]
    return names


def _columns(store: Store, *names: str) -> list[NDArray[np.int64]]:
    """Return columns of the trace table, equally long however it grows meanwhile."""
    table = store.trace_table
    size = len(table)
    return [copy_of(getattr(table, name)[:size]).astype("q") for name in names]
