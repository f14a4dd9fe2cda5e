"""Statistics: counts, errors, totals, self time and percentiles of spans that have something in common."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import asdict, dataclass
from heapq import nlargest
from itertools import compress, pairwise
from operator import sub
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.grouping import column_of
from spanview.analysis.selftime import self_times_of
from spanview.analysis.telling import unheard
from spanview.index.slots import IS_KNOWN_HASH
from spanview.index.table import PAYS_FROM
from spanview.model.codes import ERROR
from spanview.model.problems import QueryError
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from spanview.analysis.grouping import Column
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

POWERS: Final = 16
"""Powers of ten of nanoseconds that durations are counted by; what is longer has the last."""


@dataclass(frozen=True, slots=True)
class Group:
    """The spans with one key."""

    key: str | None
    """Empty for spans without a service, or without a kind; None for those without the attribute."""
    count: int
    """Spans without an end included, which are left out of all durations."""
    errors: int
    """Spans with status ERROR."""
    total_ns: int
    """Sum of the durations."""
    self_ns: int
    """Sum of the self times."""
    min_ns: int | None
    """None, as all below, where no span has a duration."""
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    histogram: list[int]
    """How many durations have each power of ten, from 1 ns on; `POWERS` of them."""


@dataclass(frozen=True, slots=True)
class AmongName:
    """How a span stands among all of its name that have a duration, itself among them."""

    quicker: int
    """How many of them are quicker."""
    count: int
    p50_ns: int
    p95_ns: int
    max_ns: int
    histogram: list[int]
    """As a `Group` has it."""


def statistics(store: Store, by: str = "name", traces: Iterable[int] | None = None) -> list[Group]:
    """Return the groups of spans, those with the greatest total first, then by key.

    Args:
        store: Where the spans are.
        by: As `column_of` takes it; spans without it have the key None.
        traces: Numbers of the traces that count; None for all.

    Raises:
        QueryError: No span has it, in other traces either.
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
    """Return the groups of spans by a column, those with the greatest total first, then by key, None last.

    Args:
        store: Where the spans are.
        column: What they are grouped by; rows that have come since it was made don't count.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    found = grouped(store, column.numbers, traces, at_once=pays_at_once(store), tell=tell)
    groups = (
        _group(column.texts[key], count, errors, durations, self_ns) for key, count, errors, durations, self_ns in found
    )
    return sorted(groups, key=lambda group: (-group.total_ns, group.key is None, group.key or ""))


def spans_of(store: Store, column: Column, key: str | None, traces: Iterable[int] | None, most: int) -> list[int]:
    """Return the rows of the spans of a group that have a duration, slowest first.

    Args:
        store: Where the spans are.
        column: What they are grouped by.
        key: The group's.
        traces: Numbers of the traces that count; None for all.
        most: So many at the most.
    """
    wanted = {number for number, text in enumerate(column.texts) if text == key}
    return slowest(store, column.numbers, wanted, traces, most)


def slowest(
    store: Store, column: Sequence[int], wanted: AbstractSet[int], traces: Iterable[int] | None, most: int
) -> list[int]:
    """Return the rows with some numbers in a column that have a duration, slowest first, then by row.

    Args:
        store: Where the spans are.
        column: A number for each row that there was.
        wanted: The numbers.
        traces: Numbers of the traces that count; None for all.
        most: So many rows at the most.
    """
    spans = store.spans
    if len(spans) >= PAYS_FROM:
        from spanview.analysis import bulk

        return bulk.slowest(store, column, wanted, traces, most)
    chosen = None if traces is None else {*traces}
    rows = [
        row
        for row, number in enumerate(column[: len(spans)])
        if number in wanted
        and NO_TIME not in (spans.start_ns[row], spans.end_ns[row])
        and (chosen is None or spans.trace[row] in chosen)
    ]
    return nlargest(most, rows, key=lambda row: (spans.end_ns[row] - spans.start_ns[row], -row))


def among_name(store: Store, row: int) -> AmongName | None:
    """Return how a span stands among all of its name that have a duration.

    Args:
        store: Where the spans are.
        row: The span's row.

    Returns:
        None where it has no duration.
    """
    spans = store.spans
    start, end = spans.start_ns[row], spans.end_ns[row]
    if NO_TIME in (start, end):
        return None
    if len(spans) >= PAYS_FROM:
        from spanview.analysis import bulk

        return AmongName(*bulk.among(store, spans.name, row))
    lengths = sorted(
        spans.end_ns[other] - spans.start_ns[other]
        for other, name in enumerate(spans.name[: len(spans)])
        if name == spans.name[row] and NO_TIME not in (spans.start_ns[other], spans.end_ns[other])
    )
    p50, p95 = (lengths[rank_of(len(lengths), percent)] for percent in (50, 95))
    return AmongName(bisect_left(lengths, end - start), len(lengths), p50, p95, lengths[-1], histogram(lengths))


def pays_at_once(store: Store) -> bool:
    """Tell whether it pays, and is possible, to count all spans of a store at once with numpy."""
    if not IS_KNOWN_HASH or len(store.spans) < PAYS_FROM or store.is_growing:
        return False
    from spanview.analysis import bulk

    return bulk.is_for(store)


def grouped(
    store: Store,
    column: Sequence[int] | dict[int, int],
    traces: Sequence[int] | None,
    *,
    at_once: bool,
    tell: Tell = unheard,
) -> Iterable[tuple[int, int, int, list[int], int]]:
    """Return keys, and for each how many spans have it, how many failed, their sorted durations, and own times' sum.

    Args:
        store: Where the spans are.
        column: The key of each row.
        traces: Numbers of the traces that count; None for all.
        at_once: Whether all spans are counted at once, as `pays_at_once` has told; the column is a sequence then.
        tell: Told how far it is.
    """
    if at_once and not isinstance(column, dict):
        from spanview.analysis import bulk

        return bulk.grouped(store, column, traces, tell)
    rows, own = self_times_of(store, range(len(store.trace_table)) if traces is None else traces, tell)
    if not isinstance(column, dict) and max(rows, default=-1) >= len(column):
        # Of a store that grows, the column doesn't have the newest rows.
        known = [row < len(column) for row in rows]
        rows, own = [*compress(rows, known)], [*compress(own, known)]
    keys = [*map(column.__getitem__, rows)]
    lengths = map(sub, map(store.spans.end_ns.__getitem__, rows), map(store.spans.start_ns.__getitem__, rows))
    statuses = map(store.spans.status.__getitem__, rows)
    counts, errors = Counter(keys), Counter(compress(keys, map(ERROR.__eq__, statuses)))
    durations: dict[int, list[int]] = {key: [] for key in counts}
    selves = dict.fromkeys(counts, 0)
    for key, length, self_time in zip(keys, lengths, own, strict=True):
        if self_time is not None:
            durations[key].append(length)
            selves[key] += self_time
    return [(key, count, errors[key], sorted(durations[key]), selves[key]) for key, count in counts.items()]


def to_json(groups: Iterable[Group], by: str) -> dict[str, Any]:
    """Return the statistics as `spanview stats --json` prints them."""
    return {"by": by, "groups": [asdict(group) for group in groups]}


def nearest_rank(values: Sequence[int], percent: int) -> int | None:
    """Return a percentile of sorted values: the one at rank ceil(p·n), counted from 1; None where there are none."""
    return values[rank_of(len(values), percent)] if values else None


def rank_of(count: int, percent: int) -> int:
    """Return the place of a percentile among so many sorted values, counted from 0."""
    return -(-percent * count // 100) - 1


def _group(key: str | None, count: int, errors: int, durations: list[int], self_ns: int) -> Group:
    return Group(
        key=key,
        count=count,
        errors=errors,
        total_ns=sum(durations),
        self_ns=self_ns,
        min_ns=durations[0] if durations else None,
        p50_ns=nearest_rank(durations, 50),
        p95_ns=nearest_rank(durations, 95),
        p99_ns=nearest_rank(durations, 99),
        max_ns=durations[-1] if durations else None,
        histogram=histogram(durations),
    )


def histogram(durations: Sequence[int]) -> list[int]:
    """Return how many of some sorted durations have each power of ten."""
    bounds = [0, *(bisect_left(durations, 10**power) for power in range(1, POWERS)), len(durations)]
    return [after - before for before, after in pairwise(bounds)]
