"""What is asked of all traces of a list, with numpy: their order, their groups, and what a plot has of them.

60,000 traces are listed in 2 ms of processor time, and counted by root name in 4 ms.
"""

from __future__ import annotations

from array import array
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spanview.analysis.percentiles import POWERS
from spanview.analysis.trace_lists import TraceColumn, TraceGroup
from spanview.index.arrays import copy_of
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.root_groups import RootGroups
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_NO_NAME: Final = -1
_NO_GROUP: Final = -2
_SAFE: Final = 2.0**62
"""Sums below it fit 64 bits."""
_NO_BOUND_NS: Final = 2**63 - 1


class TraceColumns:
    """What is known of all traces of a store now.

    Args:
        groups: What the traces are grouped by; without, each root name is a group.
        until: Until when traces are known to have run that lack an end, in nanoseconds since 1970.
    """

    def __init__(
        self, store: Store, groups: RootGroups | None = None, until: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        table = store.trace_table
        self.count = len(table)
        self.starts = copy_of(table.start_ns)[: self.count]
        self.spans = copy_of(table.span_count)[: self.count]
        self.errors = copy_of(table.error_count)[: self.count]
        ends, roots = copy_of(table.end_ns)[: self.count], copy_of(table.root_row)[: self.count]
        names = copy_of(store.spans.name)
        has_root = roots != NO_ROW
        self.names = np.full(self.count, _NO_NAME, np.int64)
        self.names[has_root] = names[roots[has_root]]
        self._texts: Sequence[str] = store.names.texts
        self.groups = self.names if groups is None else self._grouped(groups)
        """As `names`, of the groups."""
        lengths = ends - self.starts
        # Further apart than 64 bits can say.
        lengths[(ends > 0) & (self.starts < 0) & (lengths < 0)] = _NO_BOUND_NS
        self.durations = np.where((self.starts == NO_TIME) | (ends == NO_TIME), -1, lengths)
        for trace, ns in until.items():
            if trace < self.count and self.starts[trace] != NO_TIME:
                self.durations[trace] = max(int(self.durations[trace]), ns - int(self.starts[trace]))

    def _grouped(self, groups: RootGroups) -> Places:
        known = groups.groups.copy()
        if not known:
            return self.names
        numbers = {text: number for number, text in enumerate(self._texts)}
        # A group may have the name of a root, or one of its own.
        group_of = np.arange(len(self._texts) + 1)
        for name, text in known.items():
            group_of[name] = numbers.setdefault(text, len(numbers))
        self._texts = [*numbers]
        group_of[_NO_NAME] = _NO_NAME
        grouped: Places = group_of[self.names]
        return grouped

    def order(self, traces: Places, column: TraceColumn, called: Callable[[str], str], *, descending: bool) -> Places:
        """Return traces sorted by a column, by root as it is called; those that are equal stay as they are."""
        if column is TraceColumn.ROOT:
            used, which = np.unique(self.groups[traces], return_inverse=True)
            texts = [called(self._texts[name]) if name != _NO_NAME else "" for name in used.tolist()]
            ranks = {text: rank for rank, text in enumerate(sorted({*texts}))}
            keys = np.array([ranks[text] for text in texts], np.int64)[which]
        else:
            figures = {
                TraceColumn.DURATION: self.durations,
                TraceColumn.SPANS: self.spans,
                TraceColumn.ERRORS: self.errors,
            }
            keys = figures.get(column, self.starts)[traces].astype(np.int64)
        # Turned round without overflow: what is equal keeps its order.
        return traces[np.argsort(~keys if descending else keys, kind="stable")]

    def texts_of(self, names: Places) -> list[str | None]:
        """Return what numbers in `names` or `groups` stand for; None for no root."""
        return [None if name == _NO_NAME else self._texts[name] for name in names.tolist()]

    def flags_of(self, traces: Iterable[int], *, also_from: int | None = None) -> Flags:
        """Return which traces are among some, or come from a number on."""
        flags = np.zeros(self.count, np.bool_)
        numbers = np.fromiter(traces, np.int64)
        flags[numbers[numbers < self.count]] = True
        if also_from is not None:
            flags[also_from:] = True
        return flags

    def start_between(self, start_ns: int | None, end_ns: int | None) -> Flags:
        """Return the traces that start between two times; None for no bound."""
        flags = np.ones(self.count, np.bool_)
        if start_ns is not None:
            flags &= self.starts >= start_ns
        if end_ns is not None:
            flags &= self.starts <= end_ns
        return flags

    def group_is(self, text: str | None) -> Flags:
        """Return the traces of a group, which may be none by now; None for those without a root."""
        number = _NO_NAME if text is None else self._texts.index(text) if text in self._texts else _NO_GROUP
        flags: Flags = self.groups == number
        return flags


def as_array(traces: Places) -> array[int]:
    """Return numbers of traces as the list has them."""
    result = array("I")
    result.frombytes(traces.astype(np.uint32).tobytes())
    return result


class Points(NamedTuple):
    """Traces as a plot has them."""

    starts: Places
    """In nanoseconds since 1970; those without a start are left out."""
    durations: Places
    are_failed: Flags
    are_lit: Flags | None = None
    """Whether each is set off from all others; None where none is."""


def groups_of(columns: TraceColumns, failed: Flags, listed: array[int], incomplete: bytes | None) -> list[TraceGroup]:
    """Return traces by their groups, the most frequent first, then by name; also for a thread.

    Args:
        failed: Which of all traces count as failed.
        listed: Their numbers, in an array that nobody adds to.
        incomplete: 1 for each trace of the store that is incomplete; those behind its end weren't looked at.
    """
    if not listed:
        return []
    traces = np.array(listed, np.int64)
    # Quick sorts of small numbers: by duration, then by name.
    traces = traces[np.argsort(columns.durations[traces])]
    used, which = _ranks(columns.groups[traces])
    order = np.argsort(which.astype(np.min_scalar_type(len(used))), kind="stable")
    traces, which = traces[order], which[order]
    begins = np.searchsorted(which, np.arange(len(used)))
    counts = np.diff(begins, append=len(traces))
    durations = columns.durations[traces]
    have = durations >= 0
    timed = np.add.reduceat(have.astype(np.int64), begins)
    powers = np.maximum(np.searchsorted(10 ** np.arange(POWERS), durations, "right") - 1, 0)
    cells = (which * POWERS + powers)[have]
    histograms = np.bincount(cells, minlength=len(used) * POWERS).reshape(-1, POWERS).tolist()
    figures = (
        counts.tolist(),
        np.add.reduceat(failed[traces].astype(np.int64), begins).tolist(),
        [None] * len(used) if incomplete is None else _flagged(incomplete, columns.count, traces, begins),
        *(_ranked(durations, begins + counts - timed, timed, percent) for percent in (50, 95, 99, 100)),
        _sums(np.where(have, durations, 0), begins),
        map(tuple, histograms),
        np.maximum.reduceat(columns.starts[traces], begins).tolist(),
    )
    groups = [TraceGroup(*values) for values in zip(columns.texts_of(used), *figures, strict=True)]
    return sorted(groups, key=lambda group: (-group.traces, group.name or "", group.name is None))


def _ranks(numbers: Places) -> tuple[Places, Places]:
    """Return small numbers from -1 on in order, each once, and the place among them of each."""
    there = np.bincount(numbers + 1) > 0
    return np.flatnonzero(there) - 1, (np.cumsum(there) - 1)[numbers + 1]


def _flagged(flags: bytes, count: int, traces: Places, begins: Places) -> list[int]:
    """Return how many traces have a flag, from each place to the next."""
    known = np.frombuffer(flags, np.uint8)[:count]
    of_all = np.append(known, np.zeros(count - len(known), np.uint8))
    sums: list[int] = np.add.reduceat(of_all[traces].astype(np.int64), begins).tolist()
    return sums


def _ranked(values: NDArray[Any], begins: Places, counts: Places, percent: int) -> list[int | None]:
    """Return the nearest-rank percentile of so many sorted values from each place on; None where there are none."""
    positions = begins - (-percent * counts // 100) - 1
    percentiles = values[np.where(counts, positions, 0)].tolist()
    return [value if count else None for value, count in zip(percentiles, counts.tolist(), strict=True)]


def _sums(values: NDArray[Any], begins: Places) -> list[int]:
    """Return the sums of values from each place to the next, however large."""
    if values.sum(dtype=np.float64) < _SAFE:
        small: list[int] = np.add.reduceat(values, begins).tolist()
        return small
    return [sum(part.tolist()) for part in np.split(values, begins[1:])]
