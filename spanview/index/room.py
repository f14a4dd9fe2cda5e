"""What only adding needs is given up, and rebuilt when needed; and the rows that a scan has seen."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from spanview.index.arrays import array_of, hashes_of
from spanview.index.memory import release_freed
from spanview.index.table import NARROWED
from spanview.model.problems import Warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places, Words
    from spanview.index.intake import Intake
    from spanview.index.table import SpanTable


def give_up_room(intake: Intake) -> None:
    """Let go of what only adding needs; it comes again when something is added, or asked for by its ids."""
    narrow(intake.spans)
    forget_slots(intake)
    release_freed()


def narrow(spans: SpanTable) -> None:
    """Give columns the smallest items that hold what is in them."""
    for name in NARROWED:
        _fit(spans, name, np.asarray(getattr(spans, name)).max(initial=0))


def make_ready(spans: SpanTable, name: str, most: int) -> array[int]:
    """Return a column that takes numbers up to some; it has no larger items than all of them need, if it never had."""
    column: array[int] = getattr(spans, name)
    if name in NARROWED and (not column or most >> 8 * column.itemsize):
        _fit(spans, name, most)
    return getattr(spans, name)  # type: ignore[no-any-return]


def _fit(spans: SpanTable, name: str, most: int) -> None:
    column, typecode = getattr(spans, name), np.min_scalar_type(most).char
    if typecode != memoryview(column).format:
        setattr(spans, name, array_of(typecode, np.asarray(column)))


def forget_slots(intake: Intake) -> None:
    """Release the tables that find rows by their ids; they are rebuilt when needed."""
    spans, traces = intake.spans, intake.traces

    def span_slots(size: int) -> array[int]:
        numbers, ids = np.asarray(spans.trace), np.asarray(spans.span_id)
        rows = np.flatnonzero((ids != 0) & (numbers != intake.unplaced))
        rows = rows[_are_first(rows, numbers, ids, np.asarray(spans.warnings))]
        return _table_of(rows, hashes_of(numbers[rows], ids[rows]), size)

    def trace_slots(size: int) -> array[int]:
        highs, lows = np.asarray(traces.id_high), np.asarray(traces.id_low)
        return _table_of(np.arange(len(lows)), hashes_of(highs, lows), size)

    intake.span_slots.give_up(span_slots)
    intake.trace_slots.give_up(trace_slots)


def _are_first(rows: Places, traces: NDArray[Any], ids: NDArray[Any], warnings: NDArray[Any]) -> Flags:
    """Return which of some rows are the first with their ids: those of the others have no slots."""
    are_first = np.ones(len(rows), np.bool_)
    marked = np.flatnonzero(warnings[rows] & np.uint16(Warnings.DUPLICATE_ID))
    repeated = rows[marked]
    order = np.lexsort((repeated, ids[repeated], traces[repeated]))
    repeated = repeated[order]
    is_same = (traces[repeated][1:] == traces[repeated][:-1]) & (ids[repeated][1:] == ids[repeated][:-1])
    are_first[marked[order[1:][is_same]]] = False
    return are_first


def _table_of(rows: Places, hashes: Words, size: int) -> array[int]:
    """Return a table of slots with some rows."""
    table = array("I", bytes(4 * size))
    view, entries = np.asarray(table), (rows + 1).astype(np.uint32)
    slots = (hashes & np.uint64(size - 1)).astype(np.int64)
    while len(entries):
        # The last that takes a slot has it: in reverse order, that is the first.
        free = np.flatnonzero(view[slots] == 0)[::-1]
        view[slots[free]] = entries[free]
        left = view[slots] != entries
        entries, slots = entries[left], (slots[left] + 1) & (size - 1)
    return table


def are_scanned(intake: Intake) -> Flags:
    """Return of which rows the records were scanned, and not decoded."""
    flags = np.zeros(len(intake.spans), np.bool_)
    for run in intake.scanned:
        flags[run.start : run.stop] = True
    flags[[*intake.moved]] = False
    return flags
