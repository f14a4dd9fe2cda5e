"""Statistics: counts, errors, totals, self time and percentiles of spans that have something in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import compress
from operator import sub
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.selftime import self_times_of
from spanview.index.slots import IS_KNOWN_HASH
from spanview.index.table import PAYS_FROM
from spanview.model.problems import QueryError
from spanview.model.span import ERROR, KIND_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanview.index.store import Store

GROUPINGS: Final = ("name", "service", "kind")
"""What spans can be grouped by."""


@dataclass(frozen=True, slots=True)
class Group:
    """The spans with one key."""

    key: str
    """Empty for spans without a service, or without a kind."""
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


def statistics(store: Store, by: str = "name", traces: Iterable[int] | None = None) -> list[Group]:
    """Return the groups of spans, those with the greatest total first, then by key.

    Args:
        store: Where the spans are.
        by: One of `GROUPINGS`.
        traces: Numbers of the traces that count; None for all.

    Raises:
        QueryError: There is no such grouping.
    """
    texts: Sequence[str]
    if by == "name":
        column, texts = store.spans.name, store.names.texts
    elif by == "service":
        column, texts = store.spans.service, store.services.texts
    elif by == "kind":
        column, texts = store.spans.kind, (*KIND_NAMES, "")
    else:
        raise QueryError(f"can't group by {by!r}: expected one of {', '.join(GROUPINGS)}")
    numbers = None if traces is None else [*traces]
    groups = (
        _group(texts[key], count, errors, durations, self_ns)
        for key, count, errors, durations, self_ns in grouped(store, column, numbers)
    )
    return sorted(groups, key=lambda group: (-group.total_ns, group.key))


def pays_at_once(store: Store) -> bool:
    """Tell whether it pays, and is possible, to count all spans of a store at once with numpy."""
    if not IS_KNOWN_HASH or len(store.spans) < PAYS_FROM:
        return False
    from spanview.analysis import bulk

    return bulk.is_for(store)


def grouped(
    store: Store, column: Sequence[int], traces: Sequence[int] | None
) -> Iterable[tuple[int, int, int, list[int], int]]:
    """Return keys, and for each how many spans have it, how many failed, their sorted durations, and own times' sum.

    Args:
        store: Where the spans are.
        column: The key of each row.
        traces: Numbers of the traces that count; None for all.
    """
    if pays_at_once(store):
        from spanview.analysis import bulk

        return bulk.grouped(store, column, traces)
    rows, own = self_times_of(store, range(len(store.trace_table)) if traces is None else traces)
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
    return values[-(-percent * len(values) // 100) - 1] if values else None


def _group(key: str, count: int, errors: int, durations: list[int], self_ns: int) -> Group:
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
    )
