"""Statistics: counts, errors, totals, self time and percentiles of groups of spans."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from spanview.analysis.forest_selftime import exact, times_in
from spanview.analysis.grouping import column_of
from spanview.analysis.percentiles import POWERS, histogram, nearest_rank, rank_of
from spanview.analysis.telling import unheard
from spanview.index.arrays import copy_of, rows_within, values_at
from spanview.index.forest import forests_of
from spanview.model.codes import ERROR
from spanview.model.problems import QueryError
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from spanview.analysis.forest_selftime import Times
    from spanview.analysis.grouping import Column
    from spanview.analysis.telling import Tell
    from spanview.index.forest import Forest
    from spanview.index.store import Store


@dataclass(frozen=True, slots=True)
class Group:
    """The spans with one key."""

    key: str | None
    """Empty for spans without a service or kind; None for those without the attribute."""
    count: int
    """Includes spans without an end, which are left out of all durations."""
    errors: int
    """Spans with status ERROR."""
    total_ns: int
    """Sum of the durations."""
    self_ns: int
    """Sum of the self times."""
    min_ns: int | None = None
    """None, as are percentiles and maximum, if no span has a duration."""
    p50_ns: int | None = None
    p95_ns: int | None = None
    p99_ns: int | None = None
    max_ns: int | None = None
    histogram: Sequence[int] = (0,) * POWERS
    """How many durations have each power of ten, from 1 ns on; `POWERS` counts."""
    no_end: int = 0
    """Spans without a duration: they have no end, because they run or were lost."""
    unsure: int = 0
    """Of what is on critical paths: in how many traces the path isn't sure."""


@dataclass(frozen=True, slots=True)
class GroupPart:
    """What some of all traces add to a group."""

    key: str | None
    """As in `Group`, like the figures."""
    count: int
    errors: int
    self_ns: int
    durations: Sequence[int]
    """Sorted, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class AmongName:
    """How a span compares with all of its name that have a duration, including itself."""

    quicker: int
    """How many of them are quicker."""
    count: int
    p50_ns: int
    p95_ns: int
    max_ns: int
    histogram: list[int]
    """As in `Group`."""


def statistics(store: Store, by: str = "name", traces: Iterable[int] | None = None) -> list[Group]:
    """Return the groups of spans, those with the greatest total first, then by key.

    Args:
        by: As in `column_of`; spans without it have the key None.

    Raises:
        QueryError: No span has it, not even in other traces.
    """
    numbers = None if traces is None else [*traces]
    try:
        column = column_of(store, by, numbers)
    except QueryError:
        if numbers is None:
            raise
        column = column_of(store, by)
    return groups_of(store, column, numbers)


def groups_of(store: Store, column: Column, traces: Sequence[int] | None = None, tell: Tell = unheard) -> list[Group]:
    """Return the groups of spans by a column, those with the greatest total first, then by key, None last."""
    return joined(parts_of(store, column, traces, tell))


def parts_of(
    store: Store, column: Column, traces: Sequence[int] | None = None, tell: Tell = unheard
) -> list[GroupPart]:
    """Return the groups of spans by a column, to be joined with those of other traces; arguments as for `groups_of`."""
    parts = list[GroupPart]()
    for forest, done in forests_of(store, traces):
        keys = np.full(len(forest), -1)
        known = forest.rows < len(column.numbers)
        keys[known] = values_at(column.numbers, forest.rows[known])
        parts += [
            GroupPart(column.texts[key], count, errors, self_ns, durations)
            for key, count, errors, durations, self_ns in grouped(forest, keys)
        ]
        tell(done)
        # Gone before the next one is made.
        del forest, keys, known
    return parts


def joined(parts: Iterable[GroupPart]) -> list[Group]:
    """Return whole groups, those with the greatest total first, then by key, None last."""
    parts_by_key = dict[str | None, list[GroupPart]]()
    for part in parts:
        parts_by_key.setdefault(part.key, []).append(part)
    groups = [_group_of(key, of_key) for key, of_key in parts_by_key.items()]
    return sorted(groups, key=lambda group: (-group.total_ns, group.key is None, group.key or ""))


def _group_of(key: str | None, parts: Sequence[GroupPart]) -> Group:
    durations = _merged([part.durations for part in parts])
    return Group(
        key=key,
        count=sum(part.count for part in parts),
        errors=sum(part.errors for part in parts),
        total_ns=_sum(durations),
        self_ns=sum(part.self_ns for part in parts),
        min_ns=durations[0] if durations else None,
        p50_ns=nearest_rank(durations, 50),
        p95_ns=nearest_rank(durations, 95),
        p99_ns=nearest_rank(durations, 99),
        max_ns=durations[-1] if durations else None,
        histogram=histogram(durations),
        no_end=sum(part.count for part in parts) - len(durations),
    )


def _merged(columns: Sequence[Sequence[int]]) -> Sequence[int]:
    """Return the values of sorted columns as one, sorted."""
    if len(columns) == 1:
        return columns[0]
    try:
        values = np.concatenate([np.asarray(column, np.int64) for column in columns])
    except OverflowError:
        return sorted(chain.from_iterable(columns))
    values.sort()
    return _packed(values)


def _packed(values: Times) -> Sequence[int]:
    # Millions of integers in a list would take five times as much.
    return values.tolist() if values.dtype == object else array("q", values.tobytes())


def _sum(durations: Sequence[int]) -> int:
    """Return the sum of sorted durations."""
    if not durations or max(-durations[0], durations[-1]) * len(durations) >= -NO_TIME:
        return sum(durations)
    return int(np.asarray(durations).sum())


def spans_of(store: Store, column: Column, key: str | None, traces: Iterable[int] | None, limit: int) -> list[int]:
    """Return the rows of the slowest spans of a group that have a duration, slowest first."""
    wanted = {number for number, text in enumerate(column.texts) if text == key}
    return slowest(store, column.numbers, wanted, traces, limit)


def slowest(
    store: Store, column: Sequence[int], wanted: AbstractSet[int], traces: Iterable[int] | None, limit: int
) -> list[int]:
    """Return the rows with one of the wanted numbers that have a duration, slowest first, then by row."""
    spans = store.spans
    count = min(len(column), len(spans.next_row))
    rows = rows_within(spans, np.flatnonzero(np.isin(copy_of(column)[:count], [*wanted])), traces)
    starts, ends, are_known = exact(copy_of(spans.start_ns)[rows], copy_of(spans.end_ns)[rows])
    rows, lengths = rows[are_known], (ends - starts)[are_known]
    if len(rows) > limit > 0:
        # Of half a million rows in a seventh of the time that sorting all of them takes.
        are_slow = lengths >= np.partition(lengths, -limit)[-limit]
        rows, lengths = rows[are_slow], lengths[are_slow]
    slowest_rows: list[int] = rows[np.argsort(-lengths, kind="stable")[:limit]].tolist()
    return slowest_rows


def among_name(store: Store, row: int) -> AmongName | None:
    """Return how a span compares with all of its name that have a duration.

    Returns:
        None if it has no duration.
    """
    spans = store.spans
    start, end = spans.start_ns[row], spans.end_ns[row]
    if NO_TIME in (start, end):
        return None
    rows = np.flatnonzero(copy_of(spans.name)[: len(spans.next_row)] == spans.name[row])
    starts, ends, are_known = exact(copy_of(spans.start_ns)[rows], copy_of(spans.end_ns)[rows])
    lengths = np.sort((ends - starts)[are_known])
    p50, p95 = (int(lengths[rank_of(len(lengths), percent)]) for percent in (50, 95))
    return AmongName(bisect_left(lengths, end - start), len(lengths), p50, p95, int(lengths[-1]), histogram(lengths))


def grouped(
    forest: Forest, keys: NDArray[Any], tell: Tell = unheard
) -> Iterator[tuple[int, int, int, Sequence[int], int]]:
    """Yield each key, how many spans have it, how many failed, their sorted durations, and the sum of self times.

    Args:
        keys: Of each position, negative for those that don't count.
    """
    times = times_in(forest)
    tell(0.5)
    counted = np.flatnonzero(keys >= 0)
    # Small integers are sorted much quicker.
    small = keys.astype(np.min_scalar_type(keys.max(initial=0)))
    counted = counted[np.argsort(small[counted], kind="stable")]
    firsts = np.flatnonzero(np.diff(small[counted], prepend=-1))
    failed = np.add.reduceat(forest.of("status")[counted] == ERROR, firsts, dtype=np.int64) if len(firsts) else firsts
    groups = small[counted[firsts]]
    timed = counted[times.are_known[counted]]
    lengths, own = times.durations[timed], np.append(0, np.cumsum(times.own[timed]))
    begins, ends = (np.searchsorted(small[timed], groups, side) for side in ("left", "right"))
    columns = (groups, np.diff(np.append(firsts, len(counted))), failed, begins, ends, own[ends] - own[begins])
    for key, count, errors, begin, end, self_ns in zip(*(column.tolist() for column in columns), strict=True):
        lengths[begin:end].sort()
        yield key, count, errors, _packed(lengths[begin:end]), self_ns
