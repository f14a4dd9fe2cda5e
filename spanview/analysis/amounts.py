"""Numbers that spans have as an attribute, such as tokens or bytes: sums and percentiles by group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final

from spanview.analysis.genai.fields import spellings
from spanview.analysis.grouping import column_of
from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.query.matches import rows_that_match
from spanview.analysis.query.misses import having, near_grouping
from spanview.analysis.query.values import number_of, values_of
from spanview.index.whole_spans import spans_at
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.query.values import Number
    from spanview.index.store import Store

_MAX: Final = 1e100
"""Numbers beyond it can't be added up, and aren't counted."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """The numbers of a group, of which there is at least one; percentiles are nearest-rank."""

    key: str | None
    """As in `stats.Group`."""
    count: int
    """How many numbers; a span that has a list of them has several."""
    total: Number
    min: Number
    p50: Number | None
    p95: Number | None
    p99: Number | None
    max: Number


def amounts(store: Store, attribute: str, by: str = "name", traces: Sequence[int] | None = None) -> list[Amounts]:
    """Return the numbers of an attribute by group, the greatest total first, then by key.

    Args:
        attribute: Its key; spans may spell it in another way that `spellings` knows. Digits in a text count.
        by: As in `column_of`.

    Raises:
        QueryError: No span has such numbers, or what is grouped by.
    """
    keys, spans = spellings(attribute), store.spans
    among = range(len(spans)) if traces is None else [row for trace in traces for row in store.rows_of_trace(trace)]
    rows = sorted({row for key in keys for row in rows_that_match(store, having(key), among)})
    column = column_of(store, by, traces)
    numbers = defaultdict[str | None, list["Number"]](list)
    for row, span in zip(rows, spans_at(store, rows), strict=True):
        values = next((values for key in keys if (values := values_of(span, key)) is not None), ())
        found = [number for value in values if (number := number_of(value)) is not None and abs(number) <= _MAX]
        if found and row < len(column.numbers):
            numbers[column.texts[column.numbers[row]]] += found
    if not numbers:
        near = near_grouping(store, attribute, ())
        hint = "" if near is None or rows else f"; did you mean {near}?"
        raise QueryError(f"no span has {'a number as ' if rows else ''}{attribute}{hint}")
    groups = [_amounts_of(key, sorted(of_group)) for key, of_group in numbers.items()]
    return sorted(groups, key=lambda group: (-group.total, group.key is None, group.key or ""))


def _amounts_of(key: str | None, numbers: Sequence[Number]) -> Amounts:
    is_whole = all(isinstance(number, int) for number in numbers)
    p50, p95, p99 = (nearest_rank(numbers, percent) for percent in (50, 95, 99))
    total = sum(numbers) if is_whole else fsum(numbers)
    return Amounts(key, len(numbers), total, numbers[0], p50, p95, p99, numbers[-1])
