"""Everything in the order of path and offset, whatever the order in which it came: the same input is the same store.

Several processes read files, the newest may come first, and a pipe comes last. Where the first of something is wanted,
or equals are chosen from, the numbers of rows, traces, names and files decide. So these are numbered as one
process would number them that reads file by file.

files       by path, then generation
rows        by file, then offset
traces      by their first row; names, services and processes, too
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spanview.index.arrays import array_of, runs_of, slices
from spanview.index.room import are_scanned, forget_slots, narrow
from spanview.index.table import NO_ROW

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.intake import Intake
    from spanview.index.table import Interned, SpanTable

Rows32: TypeAlias = "NDArray[np.uint32]"

_ROW_BITS: Final = np.uint64(32)


def arrange(intake: Intake) -> Sequence[int]:
    """Put files, rows, traces and texts of an index in order, which nobody reads or adds to meanwhile.

    Returns:
        The new number of each file, by the one that it had.
    """
    spans = intake.spans
    forget_slots(intake)
    narrow(spans)
    files = np.array(sorted(range(len(intake.sources)), key=intake.source_order), np.int64)
    new_files = _inverse(files)
    intake.sources[:] = [intake.sources[number] for number in files.tolist()]
    # Where the last files have no spans, the numbers of others may need larger items than before.
    spans.source = array_of(np.min_scalar_type(len(files)).char, np.asarray(spans.source))
    _renumber(spans.source, new_files)
    rows = _rows_in_order(spans)
    new_rows = _inverse(rows)
    is_scanned, moved = are_scanned(intake)[rows], new_rows[[*intake.moved]]
    for name in (name for name in spans.__slots__ if name != "next_row"):
        _fill(spans, name, np.asarray(getattr(spans, name))[rows])
    del rows
    for name, texts in (("name", intake.names), ("service", intake.services), ("process", intake.processes.texts)):
        _renumber(getattr(spans, name), _number_texts(texts, np.asarray(getattr(spans, name))))
    new_traces = _arrange_traces(intake, new_rows)
    intake.take_numbers(numbers := array_of("I", new_files), array_of("I", new_rows), array_of("I", new_traces))
    intake.scanned, intake.moved = runs_of(is_scanned), {*moved.tolist()}
    return numbers


def _inverse(order: Places) -> Rows32:
    inverse = np.empty(len(order), np.uint32)
    inverse[order] = np.arange(len(order), dtype=np.uint32)
    return inverse


def _fill(table: object, name: str, values: NDArray[Any]) -> None:
    """Fill a column of a table in its place, as new memory takes longer than filling it; there may be fewer rows."""
    column = getattr(table, name)
    if len(values) < len(column):
        del column[len(values) :]
    np.asarray(column)[:] = values


def _renumber(column: array[int], new: NDArray[Any]) -> None:
    """Put new numbers in the place of old ones, by which they are found."""
    values = np.asarray(column)
    for part in slices(len(values)):
        values[part] = new[values[part]]


def _rows_in_order(spans: SpanTable) -> Places:
    files, offsets = np.asarray(spans.source), np.asarray(spans.offset)
    if not len(files):
        return np.empty(0, np.int64)
    # Rows come in long runs that are in order.
    breaks = np.flatnonzero((files[1:] != files[:-1]) | (offsets[1:] < offsets[:-1]))
    begins, lasts = np.append(0, breaks + 1), np.append(breaks, len(files) - 1)
    order = np.lexsort((offsets[begins], files[begins]))
    begins, lasts = begins[order], lasts[order]
    if ((files[begins[1:]] == files[lasts[:-1]]) & (offsets[begins[1:]] < offsets[lasts[:-1]])).any():
        return np.lexsort((offsets, files))
    steps = np.ones(len(files), np.int64)
    steps[np.append(0, np.cumsum(lasts - begins + 1)[:-1])] = begins - np.append(0, lasts[:-1])
    return np.cumsum(steps, out=steps)


def _number_texts(texts: Interned, column: NDArray[Any]) -> Places:
    """Number texts by the rows that have them first, and forget those that no row has; return their new numbers."""
    first = np.full(len(texts.texts), NO_ROW, np.uint32)
    # Of several values for one place the last one stays.
    for part in [*slices(len(column))][::-1]:
        first[column[part][::-1]] = np.arange(part.start, part.stop)[::-1]
    numbers = np.flatnonzero(first != NO_ROW)
    numbers = numbers[np.argsort(first[numbers])]
    new = np.zeros(len(texts.texts), np.int64)
    new[numbers] = np.arange(len(numbers))
    kept = [texts.texts[number] for number in numbers.tolist()]
    cut = {new_number for new_number, number in enumerate(numbers.tolist()) if number in texts.cut}
    texts.clear()
    for text in kept:
        _ = texts[text]
    texts.cut = cut
    return new


def _arrange_traces(intake: Intake, new_rows: Rows32) -> Rows32:
    """Number traces by their first rows, and link their rows; return the new number of each."""
    spans, traces = intake.spans, intake.traces
    column = np.asarray(spans.trace)
    # By trace, then row.
    keys = column.astype(np.uint64)
    keys <<= _ROW_BITS
    for part in slices(len(keys)):
        keys[part] |= np.arange(part.start, part.stop, dtype=np.uint64)
    keys.sort()
    rows = keys.astype(np.uint32)
    keys >>= _ROW_BITS
    goes_on = keys[1:] == keys[:-1]
    are_first, are_last = (np.append(*edge)[: len(keys)] for edge in ((True, ~goes_on), (~goes_on, True)))
    numbers, firsts, lasts = keys[are_first].astype(np.uint32), rows[are_first], rows[are_last]
    del keys
    order = np.argsort(firsts)
    order, firsts, lasts = (values[order] for values in (numbers, firsts, lasts))
    roots = np.asarray(traces.root_row)[order]
    roots[roots != NO_ROW] = new_rows[roots[roots != NO_ROW]]
    for name in traces.__slots__:
        _fill(traces, name, np.asarray(getattr(traces, name))[order])
    for name, values in (("first_row", firsts), ("last_row", lasts), ("root_row", roots)):
        _fill(traces, name, values)
    following, next_row = np.full(len(rows), NO_ROW, np.uint32), np.asarray(spans.next_row)
    following[:-1][goes_on] = rows[1:][goes_on]
    for part in slices(len(rows)):
        next_row[rows[part]] = following[part]
    new = _inverse(order)
    _renumber(spans.trace, new)
    return new
