"""Many rows of the tables at once, with numpy, whose import costs something: it is for large stores.

parent_id   0      a's   b's    x's
row         a      b     c      d
parent row  ROOT   a     b      MISSING
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spanview.index.slots import FIRST_FACTOR, SECOND_FACTOR
from spanview.index.table import NARROWED
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.intake import Intake
    from spanview.index.slots import Slots
    from spanview.index.store import Store
    from spanview.index.table import SpanTable, TraceTable

Places: TypeAlias = "NDArray[np.int64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Words: TypeAlias = "NDArray[np.uint64]"

ROOT: Final = -1
MISSING: Final = -2
_MOST_STEPS: Final = 64
_FIRST_FACTOR: Final = np.uint64(FIRST_FACTOR)
_SECOND_FACTOR: Final = np.uint64(SECOND_FACTOR)
_HALF: Final = np.uint64(32)
_QUARTER: Final = np.uint64(16)


def copy_of(column: Sequence[Any]) -> NDArray[Any]:
    """Return what a column of a table has now; one that numpy itself looks at can't grow."""
    return np.asarray(column[:])


def hashes_of(first: Words, second: Words) -> Words:
    """Return what `slot_hash` gives for pairs of integers."""
    keys = first * _FIRST_FACTOR ^ second
    keys ^= keys >> _HALF
    keys *= _SECOND_FACTOR
    keys >>= _HALF
    keys ^= keys >> _QUARTER
    return keys


def give_up_room(intake: Intake) -> None:
    """Let go of what only adding needs; it comes again when something is added, or asked for by its ids."""
    spans = intake.spans
    for name in NARROWED:
        values = np.asarray(getattr(spans, name))
        column = array(np.min_scalar_type(values.max()).char)
        column.frombytes(values.astype(column.typecode).view(np.uint8).data)
        setattr(spans, name, column)

    forget_slots(intake)
    # The C library keeps what is free between the columns, unless it is told.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def forget_slots(intake: Intake) -> None:
    """Let go of the tables that find rows by their ids; they are made anew when somebody asks for them."""
    spans, traces = intake.spans, intake.traces

    def span_slots(size: int) -> array[int]:
        numbers, ids = np.asarray(spans.trace), np.asarray(spans.span_id)
        rows = np.flatnonzero((ids != 0) & (numbers != intake.unplaced))
        rows = rows[_are_first(rows, numbers, ids, np.asarray(spans.warnings))]
        return _table_of(rows, hashes_of(numbers[rows].astype(np.uint64), ids[rows]), size)

    def trace_slots(size: int) -> array[int]:
        highs, lows = np.asarray(traces.id_high), np.asarray(traces.id_low)
        return _table_of(np.arange(len(lows)), hashes_of(highs, lows), size)

    intake.span_slots.give_up(span_slots)
    intake.trace_slots.give_up(trace_slots)


def _are_first(rows: Places, traces: NDArray[Any], ids: NDArray[Any], warnings: NDArray[Any]) -> Flags:
    """Return which of some rows are the first with their ids: those of the others have no slots."""
    are_first = np.ones(len(rows), np.bool_)
    doubled = np.flatnonzero(warnings[rows] & np.uint16(Warnings.DUPLICATE_ID))
    again = rows[doubled]
    order = np.lexsort((again, ids[again], traces[again]))
    again = again[order]
    is_same = (traces[again][1:] == traces[again][:-1]) & (ids[again][1:] == ids[again][:-1])
    are_first[doubled[order[1:][is_same]]] = False
    return are_first


def _table_of(rows: Places, hashes: Words, size: int) -> array[int]:
    """Return a table of slots with some rows."""
    table = array("I", bytes(4 * size))
    view, entries = np.asarray(table), (rows + 1).astype(np.uint32)
    at = (hashes & np.uint64(size - 1)).astype(np.int64)
    while len(entries):
        # The last that takes a slot has it: in reverse order, that is the first.
        free = np.flatnonzero(view[at] == 0)[::-1]
        view[at[free]] = entries[free]
        left = view[at] != entries
        entries, at = entries[left], (at[left] + 1) & (size - 1)
    return table


def parent_rows(spans: SpanTable, slots: Slots) -> Places:
    """Return the row of each span's parent, `ROOT` or `MISSING`; of several with the parent's ids any one.

    Args:
        spans: The span table.
        slots: Where rows are found by number of the trace and span id.
    """
    count = len(spans.next_row)
    traces, ids, parent_ids = (copy_of(each)[:count] for each in (spans.trace, spans.span_id, spans.parent_id))
    parents = np.full(len(ids), ROOT, np.int64)
    waiting = np.flatnonzero(parent_ids)
    table = np.asarray(slots.table)
    mask = len(table) - 1
    slot = (hashes_of(traces[waiting].astype(np.uint64), parent_ids[waiting]) & np.uint64(mask)).astype(np.int64)
    while len(waiting):
        entries = table[slot]
        parents[waiting[entries == 0]] = MISSING
        there = entries != 0
        waiting, slot, entries = waiting[there], slot[there], entries[there].astype(np.int64) - 1
        # Rows that a growing store has had since then are passed over.
        known = np.minimum(entries, count - 1)
        found = (entries == known) & (ids[known] == parent_ids[waiting]) & (traces[known] == traces[waiting])
        parents[waiting[found]] = entries[found]
        waiting, slot = waiting[~found], (slot[~found] + 1) & mask
    return parents


def odd_traces(spans: SpanTable, parents: Places, count: int, unplaced: int) -> Flags:
    """Return which traces have to be looked at one by one: with doubled ids, without ids, with circles.

    Args:
        spans: The span table.
        parents: As `parent_rows` returns them.
        count: How many traces there are.
        unplaced: The trace of the spans without a usable trace id, if there is one.
    """
    traces, ids, warnings = (copy_of(each)[: len(parents)] for each in (spans.trace, spans.span_id, spans.warnings))
    odd = np.zeros(count, np.bool_)
    odd[traces[warnings & np.uint16(Warnings.DUPLICATE_ID) != 0]] = True
    odd[traces[ids == 0]] = True
    odd[unplaced : unplaced + 1] = True
    # Each step goes twice as far up; where no root is reached, there is a circle, or a chain longer than any.
    above = np.maximum(parents, ROOT)
    going = np.flatnonzero(above >= 0)
    for _ in range(_MOST_STEPS):
        if not len(going):
            break
        above[going] = above[above[going]]
        going = going[above[going] >= 0]
    odd[traces[going]] = True
    return odd


def incomplete_traces(store: Store, count: int) -> Flags:
    """Return which of the first traces have no root, a missing parent, or a circle of parents; the store may grow.

    Args:
        store: The store.
        count: How many traces are asked for.
    """
    spans, table = store.spans, store.trace_table
    parents = parent_rows_by_order(spans, len(spans.next_row))
    traces = copy_of(spans.trace)[: len(parents)]
    every = max(len(table), int(traces.max(initial=0)) + 1)
    incomplete = np.zeros(every, np.bool_)
    incomplete[:count] = copy_of(table.root_count)[:count] == 0
    incomplete[traces[parents == MISSING]] = True
    for trace in np.flatnonzero(odd_traces(spans, parents, every, store.intake.unplaced)[:count]).tolist():
        incomplete[trace] = not store.tree(trace).complete
    return incomplete[:count]


def parent_rows_by_order(spans: SpanTable, size: int) -> Places:
    """Return what `parent_rows` does without the slots, which only the thread that adds may ask for.

    Args:
        spans: The span table.
        size: How many of its rows count.
    """
    traces, ids, parent_ids = (copy_of(each)[:size] for each in (spans.trace, spans.span_id, spans.parent_id))
    parents = np.full(size, ROOT, np.int64)
    waiting = np.flatnonzero(parent_ids)
    # Ids by their rank, so that with the number of the trace they fit one word.
    ranks = np.unique(np.append(ids, parent_ids[waiting]), return_inverse=True)[1].astype(np.uint64)
    keys = traces.astype(np.uint64) << np.uint64(32) | ranks[:size]
    wanted = traces[waiting].astype(np.uint64) << np.uint64(32) | ranks[size:]
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), size - 1)
    found = order[at]
    parents[waiting] = np.where(keys[found] == wanted, found, MISSING)
    return parents


def missing_parents(store: Store) -> int:
    """Return how many parents no file holds, counted once in each trace."""
    spans, intake = store.spans, store.intake
    parents = parent_rows(spans, intake.span_slots)
    odd = odd_traces(spans, parents, len(store.trace_table), intake.unplaced)
    return len(first_orphans(spans, parents, odd)) + sum(
        len(store.tree(trace).missing) for trace in np.flatnonzero(odd).tolist()
    )


def first_orphans(spans: SpanTable, parents: Places, odd: Flags) -> Places:
    """Return one child of each parent that no file holds, by trace and parent, in the traces that aren't odd.

    Args:
        spans: The span table.
        parents: As `parent_rows` returns them.
        odd: As `odd_traces` returns them.
    """
    traces, parent_ids = (copy_of(column)[: len(parents)] for column in (spans.trace, spans.parent_id))
    rows = np.flatnonzero((parents == MISSING) & ~odd[traces])
    rows = rows[np.lexsort((parent_ids[rows], traces[rows]))]
    differ = (np.diff(traces[rows]) != 0) | (np.diff(parent_ids[rows]) != 0)
    first: Places = rows[np.append(True, differ)] if len(rows) else rows
    return first


def are_scanned(intake: Intake) -> Flags:
    """Return of which rows a scan has seen that their records stand in the SDK's own layout."""
    flags = np.zeros(len(intake.spans), np.bool_)
    runs, moved = intake.scanned
    for run in runs:
        flags[run.start : run.stop] = True
    flags[[*moved]] = False
    return flags


def are_in_order(spans: SpanTable) -> bool:
    """Tell whether rows come by the number of their source, then offset."""
    sources, offsets = copy_of(spans.source), copy_of(spans.offset)
    is_same = sources[1:] == sources[:-1]
    return bool(((sources[1:] > sources[:-1]) | (is_same & (offsets[1:] >= offsets[:-1]))).all())


def rows_in_order(spans: SpanTable, ranks: Sequence[int]) -> list[int]:
    """Return all rows by the rank of their source, then offset."""
    of_rows = np.array(ranks, np.int64)[copy_of(spans.source)]
    rows: list[int] = np.lexsort((copy_of(spans.offset), of_rows)).tolist()
    return rows


def traces_in_order(table: TraceTable) -> list[int]:
    """Return all traces by start, then id; those without a start and the group without an id come last."""
    # As many as there are now, of a table that grows.
    count = len(table)
    starts, high, low = (copy_of(column)[:count] for column in (table.start_ns, table.id_high, table.id_low))
    chosen = np.argsort(starts)
    in_order = starts[chosen]
    if not count or in_order[0] == NO_TIME or (in_order[1:] == in_order[:-1]).any() or not (high | low).all():
        chosen = np.lexsort((low, high, starts, starts == NO_TIME, (high | low) == 0))
    order: list[int] = chosen.tolist()
    return order
