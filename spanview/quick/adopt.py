"""Rows into the tables of the index, many at a time, with the same result as adding them one by one.

ids         new ones are found by the same slots, probed in rounds: each round is one step for all that have no slot yet
traces      rows of one trace are brought together by one sort
snapshots   records of one span before and after its end are joined
duplicates  left over, for the index to check one by one
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spanview.formats.rows import Batch, SpanColumns
from spanview.index.arrays import hashes_of, process_numbers, runs_of
from spanview.index.room import forget_slots, make_ready
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME
from spanview.quick.snapshots import join_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places, Words
    from spanview.index.intake import Intake
    from spanview.index.slots import Slots
    from spanview.index.store import Store
    from spanview.quick.processes import BlockReport
    from spanview.quick.rows import ScannedRows

Rows32: TypeAlias = "NDArray[np.uint32]"

_SHARED_COLUMNS: Final = ("span_id", "parent_id", "start_ns", "end_ns", "kind", "status", "offset", "length")
"""Columns that the span table has as the rows have them."""
_NO_END: Final = np.uint16(Warnings.NO_END)


class Adopted:
    """The numbers that the index gives to texts and files of a scan."""

    def __init__(self, intake: Intake, source_of: Callable[[int], int]) -> None:
        self._intake = intake
        self._source_of = source_of
        self._names = np.empty(0, np.uint32)
        self._services = np.empty(0, np.uint32)
        self._processes: list[str] = []

    def take_all(self, store: Store, rows: ScannedRows, report: BlockReport) -> None:
        """Take spans, and what was found in addition to them."""
        # These say where the documents are that several rows share.
        for number, batch in report.batches:
            store.add(self._source_of(number), batch)
        self.take_texts(report.names, report.services, report.processes)
        self.take(rows)

    def take_texts(self, names: list[str], services: list[str], processes: list[str]) -> None:
        """Take the texts that are new since the last time."""
        intake = self._intake
        self._processes += processes
        self._names = np.append(self._names, intake.names.numbers(names)).astype(np.uint32)
        self._services = np.append(self._services, intake.services.numbers(services)).astype(np.uint32)

    def take(self, rows: ScannedRows) -> None:
        """Take spans; the index decides about those whose ids it has already.

        Args:
            rows: Names, services and processes as numbers of the texts that were taken, files as numbers of the index.
        """
        if not rows.count:
            return
        intake = self._intake
        files, file_indexes = np.unique(rows["source"], return_inverse=True)
        sources = np.array([self._source_of(number) for number in files.tolist()], np.uint32)[file_indexes]
        # Those of one trace come together, each trace's in their order.
        order = np.lexsort((rows["trace_high"], rows["trace_low"]))
        numbers = _trace_numbers(intake, rows["trace_high"], rows["trace_low"], order)
        of_table, is_new = _assign_span_slots(intake, numbers, rows["span_id"])
        names, services = self._names[rows["name"]], self._services[rows["service"]]
        processes = process_numbers(intake.processes, sources, rows["process"], self._processes)
        known_rows = np.flatnonzero(~is_new)
        spans, first = intake.spans, len(intake.spans)
        _count(intake, sources[is_new])
        columns = {name: rows[name] for name in _SHARED_COLUMNS}
        columns |= {"trace": numbers, "name": names, "service": services, "process": processes, "source": sources}
        if len(known_rows):
            columns = {name: values[is_new] for name, values in columns.items()}
            order = (np.cumsum(is_new) - 1)[order[is_new[order]]]
        if len(order):
            columns["warnings"] = np.where(columns["end_ns"] == NO_TIME, _NO_END, np.uint16(0))
            columns["next_row"] = _next_rows(columns["trace"], order, first)
            for name, values in columns.items():
                column = make_ready(spans, name, int(values.max()))
                column.frombytes(np.ascontiguousarray(values, f"={column.typecode}").view(np.uint8).data)
            _link(intake, columns, order, first)
            for run in runs_of(rows["is_scanned"][is_new] != 0):
                intake.note_scanned(range(first + run.start, first + run.stop))
        if len(known_rows):
            # These may change rows.
            spans.widen()
            records = {name: rows[name][known_rows] for name in _SHARED_COLUMNS}
            of_known = sources[known_rows]
            records |= {"name": names[known_rows], "service": services[known_rows], "source": of_known}
            records["process"] = processes[known_rows]
            records["is_scanned"] = rows["is_scanned"][known_rows] != 0
            are_joined = join_snapshots(intake, records, of_table[known_rows])
            _count(intake, of_known[are_joined])
            self._add_known(rows, known_rows[~are_joined], names, services, sources)
        if intake.changed is not None:
            intake.changed.append(np.unique(numbers).tolist())

    def _add_known(
        self,
        rows: ScannedRows,
        known_rows: Places,
        names: NDArray[np.uint32],
        services: NDArray[np.uint32],
        sources: Rows32,
    ) -> None:
        """Have the index check spans whose ids it has already."""
        name_texts, service_texts = self._intake.names.texts, self._intake.services.texts
        for source in np.unique(sources[known_rows]).tolist():
            selected = known_rows[sources[known_rows] == source]
            halves = zip(rows["trace_high"][selected].tolist(), rows["trace_low"][selected].tolist(), strict=True)
            columns = SpanColumns(
                trace_ids=[high << 64 | low for high, low in halves],
                span_ids=rows["span_id"][selected].tolist(),
                parent_ids=rows["parent_id"][selected].tolist(),
                start_ns=rows["start_ns"][selected].tolist(),
                end_ns=rows["end_ns"][selected].tolist(),
                names=[name_texts[number] for number in names[selected].tolist()],
                services=[service_texts[number] for number in services[selected].tolist()],
                kinds=rows["kind"][selected].tolist(),
                statuses=rows["status"][selected].tolist(),
                warnings=np.where(rows["end_ns"][selected] == NO_TIME, _NO_END, np.uint16(0)).tolist(),
                processes=[self._processes[number] for number in rows["process"][selected].tolist()],
            )
            self._intake.add(
                source, Batch(columns, rows["offset"][selected].tolist(), rows["length"][selected].tolist())
            )


def _count(intake: Intake, sources: Rows32) -> None:
    """Count records by their files."""
    counts = np.bincount(sources)
    for source in np.flatnonzero(counts).tolist():
        intake.tallies.add_records(intake.sources[source].path, int(counts[source]))


def _trace_numbers(intake: Intake, high: Words, low: Words, order: Places) -> NDArray[np.uint32]:
    """Return the number of each span's trace; new traces get theirs."""
    lows, highs = low[order], high[order]
    is_first = np.append(True, (lows[1:] != lows[:-1]) | (highs[1:] != highs[:-1]))
    lows, highs = lows[is_first], highs[is_first]
    numbers, new = _assign_trace_slots(intake, highs, lows)
    intake.traces.extend(highs[new].tobytes(), lows[new].tobytes())
    result = np.empty(len(order), np.uint32)
    result[order] = numbers[np.cumsum(is_first) - 1]
    return result


def _assign_trace_slots(intake: Intake, highs: Words, lows: Words) -> tuple[Rows32, Flags]:
    """Give each trace that is new its slot; return the numbers of all, and which are new."""
    traces, first = intake.traces, len(intake.traces)
    known_low, known_high = np.asarray(traces.id_low), np.asarray(traces.id_high)

    def are_same(entries: Rows32, keys: Places) -> Flags:
        is_old = entries < first
        same = np.zeros(len(keys), np.bool_)
        old, keys = entries[is_old], keys[is_old]
        same[is_old] = (known_low[old] == lows[keys]) & (known_high[old] == highs[keys])
        return same

    return _assign_slots(intake, intake.trace_slots, hashes_of(highs, lows), first, are_same)


def _assign_span_slots(intake: Intake, numbers: Rows32, span_ids: Words) -> tuple[Rows32, Flags]:
    """Give each span whose ids are new its slot, in their order from the next row on.

    Returns:
        The row of each, and which are new.
    """
    spans, first = intake.spans, len(intake.spans)
    known_trace, known_id = np.asarray(spans.trace), np.asarray(spans.span_id)

    def are_same(entries: Rows32, keys: Places) -> Flags:
        is_old = entries < first
        same = np.empty(len(keys), np.bool_)
        for selected, (traces, ids, indexes) in (
            (is_old, (known_trace, known_id, entries[is_old])),
            (~is_old, (numbers, span_ids, entries[~is_old] - np.uint32(first))),
        ):
            same[selected] = (ids[indexes] == span_ids[keys[selected]]) & (traces[indexes] == numbers[keys[selected]])
        return same

    return _assign_slots(intake, intake.span_slots, hashes_of(numbers, span_ids), first, are_same)


def _assign_slots(
    intake: Intake, slots: Slots, hashes: Words, first: int, are_same: Callable[[Rows32, Places], Flags]
) -> tuple[Rows32, Flags]:
    """Give each key that is new a slot, in rounds.

    Args:
        hashes: Of the keys.
        first: The row of the first key that is new.
        are_same: Tells whether entries, rows below `first` or `first` plus the index of a key, have the keys at some
            indexes.

    Returns:
        The row of each key, and which keys are new; of equal keys, the first one is.
    """
    if slots.size_for(len(hashes)) > slots.mask + 1:
        # Made anew, which is done for all rows at once, they grow in a tenth of the time.
        forget_slots(intake)
    slots.reserve(len(hashes))
    table, mask = np.asarray(slots.table), slots.mask
    slot = (hashes & np.uint64(mask)).astype(np.int64)
    own = np.arange(first + 1, first + 1 + len(hashes), dtype=np.uint32)
    rows, waiting, probed = own.copy(), np.arange(len(hashes)), slot.copy()
    while len(waiting):
        # The last one to take a slot has it: in reverse order, that is the first.
        free = np.flatnonzero(table[probed] == 0)[::-1]
        table[probed[free]] = own[waiting[free]]
        entries = table[probed]
        others = np.flatnonzero(entries != own[waiting])
        waiting, probed, entries = waiting[others], probed[others], entries[others]
        same = are_same(entries - np.uint32(1), waiting)
        rows[waiting[same]] = entries[same]
        waiting, probed = waiting[~same], (probed[~same] + 1) & mask
        slot[waiting] = probed
    new = rows == own
    count = int(new.sum())
    if count < len(new):
        # Those whose keys came before among these have the numbers that these had first.
        again = np.flatnonzero(~new & (rows > first))
        rows[again] = own[np.cumsum(new)[rows[again] - own[0]] - 1]
        rows[new] = own[:count]
        table[slot[new]] = own[:count]
    slots.used += count
    return rows - np.uint32(1), new


def _next_rows(traces: Rows32, order: Places, first: int) -> Rows32:
    """Return the next row of each new span's trace, or `NO_ROW`."""
    following = np.full(len(order), NO_ROW, np.uint32)
    goes_on = traces[order[1:]] == traces[order[:-1]]
    following[order[:-1][goes_on]] = order[1:][goes_on] + first
    return following


def _link(intake: Intake, columns: dict[str, NDArray[Any]], order: Places, first: int) -> None:
    """Add new rows to their traces."""
    spans, traces = intake.spans, intake.traces
    numbers = columns["trace"][order]
    firsts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    lasts = np.append(firsts[1:], len(order)) - 1
    trace_numbers = numbers[firsts]
    first_row, last_row = np.asarray(traces.first_row), np.asarray(traces.last_row)
    previous_rows = last_row[trace_numbers]
    is_new = previous_rows == NO_ROW
    next_row = np.asarray(spans.next_row)
    next_row[previous_rows[~is_new]] = order[firsts[~is_new]] + first
    first_row[trace_numbers[is_new]] = order[firsts[is_new]] + first
    last_row[trace_numbers] = order[lasts] + first
    np.asarray(traces.span_count)[trace_numbers] += (lasts - firsts + 1).astype(np.uint32)
    errors = (columns["status"] == ERROR)[order].astype(np.uint32)
    np.asarray(traces.error_count)[trace_numbers] += np.add.reduceat(errors, firsts)
    starts, ends = np.asarray(traces.start_ns), np.asarray(traces.end_ns)
    # NO_TIME is the smallest integer.
    ends[trace_numbers] = np.maximum(ends[trace_numbers], np.maximum.reduceat(columns["end_ns"][order], firsts))
    earliest, known = np.minimum.reduceat(columns["start_ns"][order], firsts), starts[trace_numbers]
    starts[trace_numbers] = np.where((known == NO_TIME) | (earliest < known), earliest, known)
    _link_roots(intake, columns, order[columns["parent_id"][order] == 0], first)


def _link_roots(intake: Intake, columns: dict[str, NDArray[Any]], roots: Places, first: int) -> None:
    traces = intake.traces
    if not len(roots):
        return
    numbers = columns["trace"][roots]
    if (numbers[1:] == numbers[:-1]).any():
        roots = roots[np.lexsort((columns["span_id"][roots], columns["start_ns"][roots], numbers))]
        numbers = columns["trace"][roots]
    firsts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    trace_numbers = numbers[firsts]
    np.asarray(traces.root_count)[trace_numbers] += np.diff(firsts, append=len(roots)).astype(np.uint32)
    root_row = np.asarray(traces.root_row)
    rows, known = roots[firsts] + first, root_row[trace_numbers]
    is_first = known == NO_ROW
    root_row[trace_numbers[is_first]] = rows[is_first]
    for trace, row, other in zip(
        trace_numbers[~is_first].tolist(), rows[~is_first].tolist(), known[~is_first].tolist(), strict=True
    ):
        if intake.is_earlier(row, other):
            root_row[trace] = row
