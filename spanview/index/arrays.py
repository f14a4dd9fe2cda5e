"""Columns of the tables as numpy has them, and what is done to many rows at once."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spanview.index.slots import FIRST_FACTOR, SECOND_FACTOR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.index.processes import SpanProcesses
    from spanview.index.table import SpanTable, TraceTable

Places: TypeAlias = "NDArray[np.int64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Words: TypeAlias = "NDArray[np.uint64]"

_FEW: Final = 256
"""Rows of which a table has so many times more are looked up one by one."""
_PART_ROWS: Final = 1 << 16
_FIRST_FACTOR: Final = np.uint64(FIRST_FACTOR)
_SECOND_FACTOR: Final = np.uint64(SECOND_FACTOR)
_HALF_BITS: Final = np.uint64(32)
_QUARTER_BITS: Final = np.uint64(16)


def copy_of(column: Sequence[Any]) -> NDArray[Any]:
    """Return what a column of a table has now, to be read; one that numpy itself looks at can't grow."""
    copied = np.asarray(column[:])
    # Of a view it is no copy.
    copied.flags.writeable = False
    return copied


def array_of(typecode: str, values: NDArray[Any]) -> array[int]:
    """Return a column of a table with some values."""
    column = array(typecode)
    column.frombytes(np.ascontiguousarray(values, typecode).view(np.uint8).data)
    return column


def values_at(column: array[int], rows: Sequence[int] | Places) -> NDArray[Any]:
    """Return what a column of a table has now for some rows, without a copy of all of it where they are few."""
    if _FEW * len(rows) < len(column):
        return np.fromiter(map(column.__getitem__, rows), copy_of(column[:0]).dtype, len(rows))
    rows = np.asarray(rows, np.int64)
    if (rows[1:] < rows[:-1]).any():
        return copy_of(column)[rows]
    values = np.empty(len(rows), copy_of(column[:0]).dtype)
    parts = [*slices(len(column))]
    ends = np.searchsorted(rows, [part.stop for part in parts]).tolist()
    for part, begin, end in zip(parts, [0, *ends], ends, strict=False):
        values[begin:end] = np.asarray(column[part])[rows[begin:end] - part.start]
    return values


def slices(count: int) -> Iterator[slice]:
    """Cut so many rows of a column: as many as are copied or renumbered together stay in the processor's cache."""
    for first in range(0, count, _PART_ROWS):
        yield slice(first, min(first + _PART_ROWS, count))


def hashes_of(first: Words | NDArray[np.uint32], second: Words) -> Words:
    """Return what `slot_hash` gives for pairs of integers; the first ones may be of any width, without a sign."""
    keys: Words = first * _FIRST_FACTOR ^ second
    keys ^= keys >> _HALF_BITS
    keys *= _SECOND_FACTOR
    keys >>= _HALF_BITS
    keys ^= keys >> _QUARTER_BITS
    return keys


def process_numbers(
    processes: SpanProcesses, sources: NDArray[Any], said: NDArray[Any], texts: Sequence[str]
) -> NDArray[np.uint32]:
    """Return the numbers of the processes of spans; new ones get theirs in the order in which they come.

    Args:
        said: What its resource says of its process, as an index of `texts`.
    """
    if not any(texts):
        # Mostly, each file is of one process.
        numbers = np.zeros(int(sources.max(initial=0)) + 1, np.uint32)
        for source in np.flatnonzero(np.bincount(sources)).tolist():
            numbers[source] = processes.number(source, "")
        return numbers.take(sources)
    pairs, firsts, indexes = np.unique(
        sources.astype(np.int64) * len(texts) + said, return_index=True, return_inverse=True
    )
    numbers = np.zeros(len(pairs), np.uint32)
    for index in np.argsort(firsts).tolist():
        source, text = divmod(int(pairs[index]), len(texts))
        numbers[index] = processes.number(source, texts[text])
    return numbers.take(indexes)


def rows_within(spans: SpanTable, rows: Places, traces: Iterable[int] | None) -> Places:
    """Return which of some rows are of some traces, None for all."""
    return rows if traces is None else rows[np.isin(copy_of(spans.trace)[rows], [*traces])]


def are_in_order(spans: SpanTable) -> bool:
    """Tell whether rows come by the number of their source, then offset."""
    sources, offsets = copy_of(spans.source), copy_of(spans.offset)
    is_same = sources[1:] == sources[:-1]
    return bool(((sources[1:] > sources[:-1]) | (is_same & (offsets[1:] >= offsets[:-1]))).all())


def rows_in_order(spans: SpanTable, sources: Sequence[int]) -> list[int]:
    """Return all rows by their source, then offset.

    Args:
        sources: The numbers of all sources, in their order.
    """
    # As many as there are now: the table may grow.
    count = len(spans.next_row)
    ranks = np.argsort(sources)
    rows: list[int] = np.lexsort((copy_of(spans.offset)[:count], ranks[copy_of(spans.source)[:count]])).tolist()
    return rows


def traces_in_order(table: TraceTable) -> array[int]:
    """Return all traces by start, then id; those without a start and the group without an id come last."""
    # As many as there are now: the table may grow.
    count = len(table)
    starts, high, low = (copy_of(column)[:count] for column in (table.start_ns, table.id_high, table.id_low))
    chosen = np.argsort(starts)
    in_order = starts[chosen]
    if not count or in_order[0] == NO_TIME or (in_order[1:] == in_order[:-1]).any() or not (high | low).all():
        chosen = np.lexsort((low, high, starts, starts == NO_TIME, (high | low) == 0))
    return array_of("I", chosen)


def runs_of(flags: Flags) -> list[range]:
    """Return where flags are set, as runs."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).tolist()
    return [range(first, stop) for first, stop in zip(edges[::2], edges[1::2], strict=True)]
