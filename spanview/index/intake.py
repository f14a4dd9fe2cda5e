"""The way into the store: spans are told from doubles and grouped into traces as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from spanview.formats.decoder import decode_span, digest_of
from spanview.index.slots import Slots
from spanview.index.table import NO_ROW, FileSource, Interned, SpanTable, TraceTable
from spanview.index.tallies import Tallies
from spanview.model.problems import Warnings
from spanview.model.span import ERROR, Source
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from spanview.formats.rows import Batch, Columns

_DUPLICATE: Final = int(Warnings.DUPLICATE_ID)
_KEPT_TRACE_NUMBERS: Final = 4096
_SIXTY_FOUR_BITS: Final = 2**64 - 1
_T = TypeVar("_T")


class DetailReader(Protocol):
    """Gives back the bytes of a record."""

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they are gone."""


class Intake:
    """The tables, and what is needed to add to them.

    Args:
        details: Reads records again; a source's number is its place in `sources`.
    """

    def __init__(self, details: DetailReader) -> None:
        self.spans = SpanTable()
        self.traces = TraceTable()
        self.names = Interned()
        self.services = Interned()
        self.sources: list[FileSource] = []
        self.tallies = Tallies()
        self.changed: deque[list[int]] | None = None
        """The traces of each batch, for a reader that takes them out; None where there is none."""
        self.details = details
        spans, traces = self.spans, self.traces
        self._span_slots = Slots(lambda row: hash((spans.trace[row], spans.span_id[row])))
        self._trace_slots = Slots(lambda row: hash(traces.id_high[row] << 64 | traces.id_low[row]))
        self._recent: dict[int, int] = {}
        self._unplaced = NO_ROW
        """The trace that stands for the spans without a usable trace id."""
        self._digests: dict[tuple[int, int], dict[bytes, int]] = {}

    def add_source(self, path: str, generation: int = 0) -> int:
        """Take note of a file, or of its next generation, and return its number."""
        self.sources.append(FileSource(path, generation))
        self.tallies.file(path)
        return len(self.sources) - 1

    def add(self, source: int, batch: Batch) -> None:
        """Take the spans and the problems that one piece of a file has.

        Identical doubles are dropped and counted; different records with the same ids are kept and marked.
        """
        columns = batch.columns
        self.tallies.take(self.sources[source].path, batch)
        if not len(columns):
            return
        numbers = self._trace_numbers(columns.trace_ids)
        first = len(self.spans)
        known = self._place(numbers, columns)
        if known:
            fresh = [at for at in range(len(columns)) if at not in known]
            self._extend(source, batch, fresh)
            self._link(first)
            for at in known:
                self._add_known(source, batch, numbers[at], at)
        else:
            self._extend(source, batch, None)
            self._link(first)
        if self.changed is not None:
            self.changed.append(numbers)

    def _trace_numbers(self, trace_ids: Sequence[int]) -> list[int]:
        """Return the row of each trace, a new one where it is new."""
        recent = self._recent
        if len(recent) > _KEPT_TRACE_NUMBERS:
            recent.clear()
        traces, slots = self.traces, self._trace_slots
        highs, lows = traces.id_high, traces.id_low
        for trace_id in dict.fromkeys(trace_ids).keys() - recent.keys():
            high, low = trace_id >> 64, trace_id & _SIXTY_FOUR_BITS
            table, mask = slots.table, slots.mask
            slot = hash(trace_id) & mask
            while entry := table[slot]:
                if lows[entry - 1] == low and highs[entry - 1] == high:
                    recent[trace_id] = entry - 1
                    break
                slot = (slot + 1) & mask
            else:
                recent[trace_id] = number = traces.append(high, low)
                slots.insert(number)
                if not trace_id:
                    self._unplaced = number
        return [recent[trace_id] for trace_id in trace_ids]

    def expect(self, spans: int) -> None:
        """Make room for about so many spans; tables that grow bit by bit are filled several times over."""
        self._span_slots.reserve(spans)
        self._trace_slots.reserve(spans // 4)

    def _place(self, numbers: list[int], columns: Columns) -> dict[int, None]:
        """Append the ids of all spans that are new; return the places in the batch of those that may not be."""
        spans, slots = self.spans, self._span_slots
        slots.reserve(len(numbers))
        table, mask, traces, span_ids = slots.table, slots.mask, spans.trace, spans.span_id
        known: dict[int, None] = {}
        row = first = len(span_ids)
        for at, key in enumerate(zip(numbers, columns.span_ids, strict=True)):
            slot = hash(key) & mask
            while entry := table[slot]:
                if span_ids[entry - 1] == key[1] and traces[entry - 1] == key[0]:
                    known[at] = None
                    break
                slot = (slot + 1) & mask
            else:
                if not key[1] or key[0] == self._unplaced:
                    known[at] = None
                    continue
                row += 1
                table[slot] = row
                traces.append(key[0])
                span_ids.append(key[1])
        slots.used += row - first
        return known

    def _extend(self, source: int, batch: Batch, fresh: list[int] | None) -> None:
        """Append the other columns, of all spans of a batch or of those at the places `fresh`."""
        spans, columns = self.spans, batch.columns

        def chosen(values: Sequence[_T]) -> Sequence[_T]:
            return values if fresh is None else [values[at] for at in fresh]

        count = len(columns) if fresh is None else len(fresh)
        spans.parent_id.extend(chosen(columns.parent_ids))
        spans.start_ns.extend(chosen(columns.start_ns))
        spans.end_ns.extend(chosen(columns.end_ns))
        spans.name.extend(map(self.names.__getitem__, chosen(columns.names)))
        spans.service.extend(map(self.services.__getitem__, chosen(columns.services)))
        spans.kind.extend(chosen(columns.kinds))
        spans.status.extend(chosen(columns.statuses))
        spans.warnings.extend(chosen(columns.warnings))
        spans.source.extend([source] * count)
        spans.offset.extend(chosen(batch.offsets))
        spans.length.extend(chosen(batch.lengths))
        spans.next_row.extend([NO_ROW] * count)

    def _link(self, first: int) -> None:
        """Make the rows from `first` on part of their traces."""
        spans, traces = self.spans, self.traces
        last_rows, next_row, counts, starts, ends = (
            traces.last_row,
            spans.next_row,
            traces.span_count,
            traces.start_ns,
            traces.end_ns,
        )
        columns = (spans.trace, spans.start_ns, spans.end_ns, spans.status, spans.parent_id)
        for row, (trace, start, end, status, parent_id) in enumerate(
            zip(*[c[first:] for c in columns], strict=True), first
        ):
            last = last_rows[trace]
            last_rows[trace] = row
            counts[trace] += 1
            if last == NO_ROW:
                traces.first_row[trace] = row
                starts[trace], ends[trace] = start, end
            else:
                next_row[last] = row
                if (start < starts[trace] and start != NO_TIME) or starts[trace] == NO_TIME:
                    starts[trace] = start
                # NO_TIME is the least of all integers: a missing end needs no question.
                ends[trace] = max(ends[trace], end)
            if status == ERROR:
                traces.error_count[trace] += 1
            if not parent_id:
                traces.root_count[trace] += 1
                root = traces.root_row[trace]
                if root == NO_ROW or self._is_earlier(row, root):
                    traces.root_row[trace] = row

    def _is_earlier(self, row: int, other: int) -> bool:
        """Tell whether a row comes before another one as in the tree: by start, then id; without a start last."""
        starts, ids = self.spans.start_ns, self.spans.span_id
        if NO_TIME in (starts[row], starts[other]) and starts[row] != starts[other]:
            return starts[other] == NO_TIME
        return (starts[row], ids[row]) < (starts[other], ids[other])

    def _add_known(self, source: int, batch: Batch, trace: int, at: int) -> None:
        """Add the span at a place of the batch whose ids are known already or unusable, unless it is a double."""
        span_id = batch.columns.span_ids[at]
        key = (trace, span_id)
        record = self.details.read(source, batch.offsets[at], batch.lengths[at])
        place = (self.sources[source], batch.offsets[at])
        rows = [] if not span_id or trace == self._unplaced else self._rows_of(trace, span_id)
        double = self._double_of(key, record, rows)
        if double != NO_ROW:
            self.tallies.duplicates += 1
            if self.order(double) > (place[0].path, place[0].generation, place[1]):
                self.spans.source[double] = source
                self.spans.offset[double], self.spans.length[double] = batch.offsets[at], batch.lengths[at]
            return
        row = len(self.spans)
        self.spans.trace.append(trace)
        self.spans.span_id.append(span_id)
        self._extend(source, batch, [at])
        self._link(row)
        digest = self._digest(record)
        if digest is not None:
            self._digests.setdefault(key, {})[digest] = row
        if rows:
            for other in (*rows, row):
                self.spans.warnings[other] |= _DUPLICATE
            self._span_slots.insert(row)

    def _double_of(self, key: tuple[int, int], record: bytes | None, rows: list[int]) -> int:
        """Return the row that holds the same span as a record, or `NO_ROW`."""
        spans = self.spans
        known = self._digests.get(key)
        if known is None:
            for row in rows:
                # Doubled folders hold the same bytes: those need no decoding.
                if record == self.details.read(spans.source[row], spans.offset[row], spans.length[row]) is not None:
                    return row
            known = self._digests[key] = {}
            for row in rows:
                digest = self._digest(self.details.read(spans.source[row], spans.offset[row], spans.length[row]))
                if digest is not None:
                    known[digest] = row
        digest = self._digest(record)
        return NO_ROW if digest is None else known.get(digest, NO_ROW)

    def _digest(self, record: bytes | None) -> bytes | None:
        span = None if record is None else decode_span(record, Source("", 0, 0))
        return None if record is None or span is None else digest_of(record, span)

    def _rows_of(self, trace: int, span_id: int) -> list[int]:
        spans, slots = self.spans, self._span_slots
        rows = []
        slot = hash((trace, span_id)) & slots.mask
        while entry := slots.table[slot]:
            if spans.span_id[entry - 1] == span_id and spans.trace[entry - 1] == trace:
                rows.append(entry - 1)
            slot = (slot + 1) & slots.mask
        return rows

    def order(self, row: int) -> tuple[str, int, int]:
        """Return what rows are ordered by where their place decides: path, generation, offset."""
        source = self.sources[self.spans.source[row]]
        return source.path, source.generation, self.spans.offset[row]
