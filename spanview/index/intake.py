"""The way into the store: duplicates are dropped and spans grouped into traces as they arrive.

A span may have several records, of which those written before it ended have no end. They have its ids, its parent, its
start, its kind and its service in common, and one of them counts, whatever the order in which they are read:

records                                                    what counts
---------------------------------------------------------  ------------------------------------------------------
without an end, and with one                               the one with an end
without an end, several that differ                        the last one by path, generation and offset
with an end, several that differ                           all: they are other spans with the same ids
the same as the one that counts                            the first one; the others are counted as duplicates
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import chain, compress, islice
from operator import gt, not_
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from spanview.formats.decoder import decode_span, digest_of
from spanview.index.documents import DetailReader, Documents
from spanview.index.processes import SpanProcesses
from spanview.index.slots import FIRST_FACTOR, SECOND_FACTOR, UPPER_HALF, Slots, slot_hash
from spanview.index.table import NO_ROW, FileSource, Interned, SpanTable, TraceTable
from spanview.index.tallies import Duplicates, Tallies
from spanview.model.codes import ERROR
from spanview.model.ids import format_span_id
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator, Sequence

    from spanview.formats.ray_events import RayUpdates
    from spanview.formats.rows import Batch
    from spanview.index.ray_tasks import RayTasks

_DUPLICATE: Final = int(Warnings.DUPLICATE_ID)
_FACTS: Final = ("length", "parent_id", "start_ns", "end_ns", "name", "service", "kind", "status")
"""Columns that tell apart spans whose records can't be read."""
SAME_COLUMNS: Final = ("parent_id", "start_ns", "service", "kind")
"""What two records of one span have in common, besides the ids."""
_SAME_FACTS: Final = [_FACTS.index(name) for name in SAME_COLUMNS]
_MAX_RECENT_TRACES: Final = 32768
_SIXTY_FOUR_BITS: Final = 2**64 - 1
_T = TypeVar("_T")
_Place: TypeAlias = tuple[int, int, int]
"""Number of a file, offset and length of a record."""


@dataclass(slots=True)
class _Clash:
    """Different records that have the same ids. One of them has a slot: many in a row would make every search long."""

    first: int
    """The row that came first; `NO_ROW` where the ids are unusable."""
    unread: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Rows whose records haven't been read, or couldn't be, by a hash of their columns; every row's hash is a key."""
    digests: dict[bytes, int] = field(default_factory=dict)
    """The other rows by what their records say: a record is read only when another one with the same columns comes."""
    has_open: bool = False
    """Whether a row has, or had, no end."""

    def rows(self) -> list[int]:
        """Return all rows, in order."""
        return sorted({*self.digests.values(), *chain.from_iterable(self.unread.values())})


@dataclass(slots=True)
class _Snapshots:
    """Records of one span that has not ended."""

    last: _Place
    """Of the last one, which counts."""
    shown: bytes
    """The digest of that one."""
    firsts: dict[bytes, _Place]
    """Where what they say stands first, by digest."""
    copies: list[int] = field(default_factory=list)
    """Of each that says what one before it says the number of its file."""

    def renumbered(self, files: Sequence[int]) -> _Snapshots:
        """Return this with new numbers of files, by the old ones."""

        def moved(place: _Place) -> _Place:
            return files[place[0]], *place[1:]

        firsts = {digest: moved(place) for digest, place in self.firsts.items()}
        return _Snapshots(moved(self.last), self.shown, firsts, [files[source] for source in self.copies])


class Intake:
    """The tables, and what is needed to add to them."""

    def __init__(self, details: DetailReader) -> None:
        self.spans = SpanTable()
        self.traces = TraceTable()
        self.names = Interned()
        self.services = Interned()
        self.sources: list[FileSource] = []
        self.processes = SpanProcesses(self.sources)
        self.tallies = Tallies()
        self.ray: RayTasks | None = None
        """What Ray's own events say of tasks; None where no file has any."""
        self._duplicates = Duplicates()
        self.changed: deque[list[int]] | None = None
        """The traces of each batch, for a reader that takes them out; None where there is none."""
        self.details = Documents(details)
        spans, traces = self.spans, self.traces
        self.span_slots = Slots(lambda row: slot_hash(spans.trace[row], spans.span_id[row]))
        self.trace_slots = Slots(lambda row: slot_hash(traces.id_high[row], traces.id_low[row]))
        self._recent: dict[int, int] = {}
        self.unplaced = NO_ROW
        """The trace of the spans without a usable trace id."""
        self._clashes: dict[tuple[int, int], _Clash] | None = None
        """By number of the trace and span id, where different records have them; None until needed."""
        self.scanned: list[range] = []
        """Rows whose records had one of the layouts that are scanned."""
        self.moved: set[int] = set()
        """Rows whose places are those of other records by now."""
        self.replaced = array("I")
        """Each row whose record was replaced by one that says more, in the order in which that happened."""
        self._snapshots: dict[int, _Snapshots] = {}
        """By row, where several records without an end are known, and none with one."""

    def add_source(self, path: str, generation: int = 0, real_path: str = "") -> int:
        """Take note of a file, or of its next generation, and return its number."""
        self.sources.append(FileSource(path, generation, real_path or path))
        self.tallies.file(path)
        return len(self.sources) - 1

    def note_scanned(self, rows: range) -> None:
        """Take note that the records of rows have a layout that is scanned, except for what is skipped there."""
        if self.scanned and self.scanned[-1].stop == rows.start:
            rows = range(self.scanned.pop().start, rows.stop)
        self.scanned.append(rows)

    def noted_rows(self) -> list[int]:
        """Return the rows of which more is known than the tables have: they had several records that differ."""
        return [*self._snapshots, *chain.from_iterable(clash.rows() for clash in (self._clashes or {}).values())]

    def snapshots(self) -> Iterator[tuple[int, _Place]]:
        """Yield further places of records of spans that haven't ended: the row of the span, file, offset and length.

        If there are other records elsewhere, one of these may be the one that counts.
        """
        spans = self.spans
        for row, known in self._snapshots.items():
            for place in {*known.firsts.values(), known.last} - {
                (spans.source[row], spans.offset[row], spans.length[row])
            }:
                yield row, place

    @property
    def duplicates(self) -> dict[tuple[str, str], int]:
        """How many spans two files have in common, by the path of the record that counts and that of the other one."""
        open_spans = ((row, source) for row, known in [*self._snapshots.items()] for source in known.copies)
        return self._duplicates.by_files(self.spans.source, [source.path for source in self.sources], open_spans)

    def take_duplicates(self, counted: dict[tuple[str, str], int]) -> None:
        """Take what `duplicates` returns."""
        self._duplicates.take(counted)

    def is_in_order(self) -> bool:
        """Tell whether files and rows are numbered by path, generation and offset, as one process reads them."""
        from spanview.index.arrays import are_in_order

        places = [*map(self.source_order, range(len(self.sources)))]
        if any(map(gt, places, islice(places, 1, None))):
            return False
        return are_in_order(self.spans)

    def take_numbers(self, files: Sequence[int], rows: Sequence[int], traces: Sequence[int]) -> None:
        """Renumber files, rows and traces; each list has the new number at each old one."""
        self.details.take_numbers(files)
        self.processes.forget_files()
        self._duplicates.take_numbers(files, rows)
        self.replaced = array("I", map(rows.__getitem__, self.replaced))
        self._snapshots = {int(rows[row]): known.renumbered(files) for row, known in self._snapshots.items()}
        self._recent.clear()
        if self.unplaced != NO_ROW:
            self.unplaced = int(traces[self.unplaced])
        if self._clashes is not None:
            self._clashes = {
                (int(traces[trace]), span_id): self._with_rows(clash, rows)
                for (trace, span_id), clash in self._clashes.items()
            }
        if self.changed is not None:
            self.changed.clear()
            self.changed.append([*range(len(self.traces))])

    def _with_rows(self, clash: _Clash, numbers: Sequence[int]) -> _Clash:
        """Return this clash with new numbers of rows, by the old ones; the columns have them already."""
        first = NO_ROW if clash.first == NO_ROW else min(int(numbers[row]) for row in clash.rows())
        renumbered = _Clash(first, has_open=clash.has_open)
        for digest, row in clash.digests.items():
            self._enter(renumbered, int(numbers[row]), digest)
        for row in chain.from_iterable(clash.unread.values()):
            self._enter(renumbered, int(numbers[row]))
        return renumbered

    def add(self, source: int, batch: Batch) -> None:
        """Take the spans and the problems that one piece of a file has.

        Identical duplicates are dropped and counted; of the records of a span that has not ended, the latest is kept,
        until one with an end comes; other records with the same ids are kept and marked.
        """
        columns = batch.columns
        self.tallies.take(self.sources[source].path, batch)
        self.details.note(source, batch.documents)
        if batch.ray is not None:
            self._take_ray(source, batch.ray)
        if not len(columns):
            return
        self.spans.widen()
        numbers = self._trace_numbers(columns.trace_ids)
        first = len(self.spans)
        known = self._add_new_ids(numbers, columns.span_ids)
        self._extend(source, batch, [index for index in range(len(columns)) if index not in known] if known else None)
        self._link(first)
        for index in sorted(known):
            self._add_known(source, batch, numbers[index], index)
        if self.changed is not None:
            self.changed.append(numbers)

    def _take_ray(self, source: int, updates: RayUpdates) -> None:
        """Take what Ray's own events in a file say."""
        if self.ray is None:
            from spanview.index.ray_tasks import RayTasks

            self.ray = RayTasks()
        # A link leads to another session later, with other tasks of the same ids.
        self.ray.take(self.sources[source].real_path, updates)

    def _trace_numbers(self, trace_ids: Sequence[int]) -> list[int]:
        """Return the row of each trace, a new one where it is new."""
        recent = self._recent
        if len(recent) > _MAX_RECENT_TRACES:
            recent.clear()
        numbers = [*map(recent.get, trace_ids)]
        if None not in numbers:
            return cast(list[int], numbers)
        traces, slots = self.traces, self.trace_slots
        highs, lows = traces.id_high, traces.id_low
        for trace_id in {trace_id: None for trace_id in trace_ids if trace_id not in recent}:
            high, low = trace_id >> 64, trace_id & _SIXTY_FOUR_BITS
            table, mask = slots.table, slots.mask
            slot = slot_hash(high, low) & mask
            while entry := table[slot]:
                if lows[entry - 1] == low and highs[entry - 1] == high:
                    recent[trace_id] = entry - 1
                    break
                slot = (slot + 1) & mask
            else:
                recent[trace_id] = number = traces.append(high, low)
                slots.insert(number)
                if not trace_id:
                    self.unplaced = number
        return [recent[trace_id] for trace_id in trace_ids]

    def expect(self, spans: int) -> None:
        """Make room for about so many spans; tables that grow bit by bit are filled several times over."""
        self.span_slots.reserve(spans)
        self.trace_slots.reserve(spans // 4)

    def _add_new_ids(self, numbers: list[int], span_ids: Sequence[int]) -> set[int]:
        """Append the ids of all spans that are new; return the indexes in the batch of those that may not be."""
        spans, slots, unplaced = self.spans, self.span_slots, self.unplaced
        known: set[int] = set()
        indexes: Sequence[int] = range(len(numbers))
        if not all(span_ids) or unplaced in numbers:
            known = {index for index in indexes if not span_ids[index] or numbers[index] == unplaced}
            indexes = [index for index in indexes if index not in known]
            numbers, span_ids = [numbers[index] for index in indexes], [span_ids[index] for index in indexes]
        slots.reserve(len(indexes))
        table, mask, traces, ids = slots.table, slots.mask, spans.trace, spans.span_id
        row = first = len(ids)
        # All are appended, and those that turn out to be known are taken out again.
        traces.extend(numbers)
        ids.extend(span_ids)
        for index, number, span_id in zip(indexes, numbers, span_ids, strict=True):
            # This is `slot_hash`, without a call: the number of a trace has 32 bits, and so the key no more than 64.
            key = number * FIRST_FACTOR ^ span_id
            upper = (key ^ key >> 32) * SECOND_FACTOR >> 32 & UPPER_HALF
            slot = (upper ^ upper >> 16) & mask
            while entry := table[slot]:
                if ids[entry - 1] == ids[row] and traces[entry - 1] == traces[row]:
                    known.add(index)
                    del ids[row], traces[row]
                    break
                slot = (slot + 1) & mask
            else:
                row += 1
                table[slot] = row
        slots.used += row - first
        return known

    def _extend(self, source: int, batch: Batch, indexes: list[int] | None) -> None:
        """Append the other columns, of all spans of a batch or of those at `indexes`."""
        spans, columns = self.spans, batch.columns

        def chosen(values: Sequence[_T]) -> Sequence[_T]:
            return values if indexes is None else [values[index] for index in indexes]

        count = len(columns) if indexes is None else len(indexes)
        spans.parent_id.extend(_packed("Q", chosen(columns.parent_ids)))
        spans.start_ns.extend(_packed("q", chosen(columns.start_ns)))
        spans.end_ns.extend(_packed("q", chosen(columns.end_ns)))
        spans.name.extend(_packed("I", self.names.numbers(chosen(columns.names))))
        spans.service.extend(_packed("I", self.services.numbers(chosen(columns.services))))
        spans.process.extend(_packed("I", self._process_numbers(source, batch, indexes)))
        spans.kind.extend(_packed("B", chosen(columns.kinds)))
        spans.status.extend(_packed("B", chosen(columns.statuses)))
        spans.warnings.extend(_packed("H", chosen(columns.warnings)))
        spans.source.extend(array("I", [source]) * count)
        spans.offset.extend(_packed("Q", chosen(batch.offsets)))
        spans.length.extend(_packed("I", chosen(batch.lengths)))
        spans.next_row.extend(array("I", [NO_ROW]) * count)

    def _process_numbers(self, source: int, batch: Batch, indexes: list[int] | None) -> Sequence[int]:
        """Return the numbers of the processes of all spans of a batch, or of those at `indexes`."""
        texts = batch.columns.processes
        count = len(batch.columns) if indexes is None else len(indexes)
        if texts and indexes is not None:
            texts = [texts[index] for index in indexes]
        if not any(texts):
            return array("I", [self.processes.number(source, "")]) * count if count else ()
        numbers: dict[str, int] = {}
        for text in texts:
            if text not in numbers:
                numbers[text] = self.processes.number(source, text)
        return [*map(numbers.__getitem__, texts)]

    def _link(self, first: int) -> None:
        """Make the rows from `first` on part of their traces."""
        spans, traces = self.spans, self.traces
        last_rows, next_row, counts = traces.last_row, spans.next_row, traces.span_count
        starts, ends = traces.start_ns, traces.end_ns
        of_trace = spans.trace[first:]
        columns = (of_trace, spans.start_ns[first:], spans.end_ns[first:])
        for row, (trace, start, end) in enumerate(zip(*columns, strict=True), first):
            last = last_rows[trace]
            last_rows[trace] = row
            counts[trace] += 1
            if last == NO_ROW:
                traces.first_row[trace] = row
                starts[trace], ends[trace] = start, end
                continue
            next_row[last] = row
            # NO_TIME is the least of all integers: a missing end needs no question.
            if end > ends[trace]:  # noqa: PLR1730 - twice as quick
                ends[trace] = end
            earliest = starts[trace]
            if (start < earliest and start != NO_TIME) or earliest == NO_TIME:
                starts[trace] = start
        for trace in compress(of_trace, map(ERROR.__eq__, spans.status[first:])):
            traces.error_count[trace] += 1
        self._link_roots(first)

    def _link_roots(self, first: int) -> None:
        spans, traces = self.spans, self.traces
        for row in compress(range(first, len(spans)), map(not_, spans.parent_id[first:])):
            trace = spans.trace[row]
            traces.root_count[trace] += 1
            root = traces.root_row[trace]
            if root == NO_ROW or self.is_earlier(row, root):
                traces.root_row[trace] = row

    def is_earlier(self, row: int, other: int) -> bool:
        """Tell whether a row comes before another one as in the tree: by start, id and place; without a start last."""
        starts, ids = self.spans.start_ns, self.spans.span_id
        if NO_TIME in (starts[row], starts[other]) and starts[row] != starts[other]:
            return starts[other] == NO_TIME
        if (starts[row], ids[row]) == (starts[other], ids[other]):
            return self.order(row) < self.order(other)
        return (starts[row], ids[row]) < (starts[other], ids[other])

    def _add_known(self, source: int, batch: Batch, trace: int, index: int) -> None:
        """Add the span at an index of the batch whose ids are known already or unusable, unless it is a duplicate."""
        span_id = batch.columns.span_ids[index]
        if self._takes_snapshot(source, batch, trace, index):
            return
        place, facts = (source, batch.offsets[index], batch.lengths[index]), self._facts_of(batch, index)
        known_row, is_gone, digest = self._row_of_bytes((trace, span_id), place, facts), False, None
        if known_row == NO_ROW:
            clash = self._clash_of((trace, span_id))
            if hash(facts[1:]) in clash.unread:
                digest = self._digest(self.details.read(*place))
                known_row, is_gone = self._duplicate_in(clash, digest, facts)
        if known_row != NO_ROW:
            dropped = source
            if is_gone or self.order(known_row) > (*self.source_order(source), batch.offsets[index]):
                dropped = self.spans.source[known_row]
                self._move(known_row, batch, index, place)
            self.tallies.duplicates += 1
            self._duplicates.add(known_row, dropped)
            if self._duplicates.are_many:
                counted = self._duplicates.by_files(self.spans.source, [source.path for source in self.sources])
                self._duplicates.take(counted)
            return
        row = len(self.spans)
        self.spans.trace.append(trace)
        self.spans.span_id.append(span_id)
        self._extend(source, batch, [index])
        self._link(row)
        if clash.first != NO_ROW:
            self.spans.warnings[clash.first] |= _DUPLICATE
            self.spans.warnings[row] |= _DUPLICATE
        self._enter(clash, row, digest)

    def _takes_snapshot(self, source: int, batch: Batch, trace: int, index: int) -> bool:
        """Return whether a record is of a span that is there, one of both is without an end, and they differ.

        Then the one that counts is the span's from now on.
        """
        columns, spans = batch.columns, self.spans
        first = self._first_row(trace, columns.span_ids[index])
        if first == NO_ROW or columns.start_ns[index] == NO_TIME:
            return False
        key = trace, columns.span_ids[index]
        has_end, rows = columns.end_ns[index] != NO_TIME, [first]
        if spans.warnings[first] & _DUPLICATE:
            clash = self._clash_of(key)
            # Among thousands of others with its ids, each would be held against all before it.
            rows = [] if has_end and not clash.has_open else clash.rows()
        same = self._facts_of(batch, index)
        for row in rows:
            known, had_end = self._facts_of_row(row), spans.end_ns[row] != NO_TIME
            if (has_end and had_end) or any(same[fact] != known[fact] for fact in _SAME_FACTS):
                continue
            if has_end:
                self._forget_snapshots(row)
                self._replace(row, batch, index, (source, batch.offsets[index], batch.lengths[index]))
                return True
            if not had_end:
                self._take_open(row, source, batch, index)
            return True
        return False

    def _take_open(self, row: int, source: int, batch: Batch, index: int) -> None:
        """Take a record of the span of a row, both without an end; the later one is the span's then."""
        place = source, batch.offsets[index], batch.lengths[index]
        known_place = self.spans.source[row], self.spans.offset[row], self.spans.length[row]
        # Where a record is gone, the columns say what is left of it.
        digest = self._digest(self.details.read(*place)) or repr(self._facts_of(batch, index)).encode()
        known = self._digest_of_row(row) or repr(self._facts_of_row(row)).encode()
        snapshots = self._snapshots.get(row)
        if snapshots is None:
            snapshots = self._snapshots[row] = _Snapshots(known_place, known, {known: known_place})
        first = snapshots.firsts.get(digest)
        is_first = first is None or self._place_order(place) < self._place_order(first)
        if first is not None:
            snapshots.copies.append(first[0] if is_first else source)
            self.tallies.duplicates += 1
        if is_first:
            snapshots.firsts[digest] = place
        if self._place_order(place) > self._place_order(snapshots.last):
            snapshots.last, snapshots.shown = place, digest
        if snapshots.shown == digest and (digest != known or known_place != snapshots.firsts[digest]):
            self._replace(row, batch, index, snapshots.firsts[digest])

    def _forget_snapshots(self, row: int) -> None:
        """Forget what records without an end said of a span that has ended."""
        snapshots = self._snapshots.pop(row, None)
        if snapshots is not None:
            self.tallies.duplicates -= len(snapshots.copies)

    def _place_order(self, place: _Place) -> tuple[str, int, int]:
        return *self.source_order(place[0]), place[1]

    def _replace(self, row: int, batch: Batch, index: int, place: _Place) -> None:
        """Let a row be of another record of its span: a later one, or the one with its end."""
        spans, traces, columns = self.spans, self.traces, batch.columns
        trace, status, end = spans.trace[row], columns.statuses[index], columns.end_ns[index]
        traces.error_count[trace] += (status == ERROR) - (spans.status[row] == ERROR)
        traces.end_ns[trace] = max(traces.end_ns[trace], end)
        spans.name[row] = self.names.number(columns.names[index])
        spans.status[row] = status
        spans.end_ns[row] = end
        self._move(row, batch, index, place)
        clash = (self._clashes or {}).get((trace, spans.span_id[row]))
        if clash is not None:
            self._enter(clash, row)
        traces.replaced[trace] += 1
        self.replaced.append(row)

    def _move(self, row: int, batch: Batch, index: int, place: _Place) -> None:
        """Let a row be of the record at another place, which the batch has at an index."""
        spans, root_row, trace = self.spans, self.traces.root_row, self.spans.trace[row]
        before = self.order(row)
        spans.source[row], spans.offset[row], spans.length[row] = place
        (spans.process[row],) = self._process_numbers(place[0], batch, [index])
        spans.warnings[row] = batch.columns.warnings[index] | spans.warnings[row] & _DUPLICATE
        self.moved.add(row)
        if spans.parent_id[row]:
            return
        rivals = [row]
        if root_row[trace] == row and self.order(row) > before and spans.warnings[row] & _DUPLICATE:
            # Between roots with the same start and id, places decide.
            rivals = [
                other for other in self._clash_of((trace, spans.span_id[row])).rows() if not spans.parent_id[other]
            ]
        for other in rivals:
            if self.is_earlier(other, root_row[trace]):
                root_row[trace] = other

    def _row_of_bytes(self, key: tuple[int, int], place: _Place, facts: tuple[int, ...]) -> int:
        """Return the one row with some ids, if its record is the same to the byte, else `NO_ROW`.

        Copied folders hold the same bytes: those need no decoding.
        """
        first = NO_ROW if key in self._known_clashes() else self._first_row(*key)
        if first == NO_ROW or self._facts_of_row(first) != facts:
            return NO_ROW
        spans = self.spans
        known = self.details.read(spans.source[first], spans.offset[first], spans.length[first])
        return first if known is not None and known == self.details.read(*place) else NO_ROW

    def _duplicate_in(self, clash: _Clash, digest: bytes | None, facts: tuple[int, ...]) -> tuple[int, bool]:
        """Return the row that holds the same span as a record, or `NO_ROW`, and whether that row's own record is gone.

        Args:
            clash: The rows with its ids.
            facts: As `_facts_of` returns them.
        """
        key = hash(facts[1:])
        for row in clash.unread[key]:
            if digest in clash.digests:
                break
            if (known := self._digest_of_row(row)) is not None:
                clash.unread[key] = tuple(other for other in clash.unread[key] if other != row)
                clash.digests.setdefault(known, row)
            elif clash.first != NO_ROW and self._facts_of_row(row) == facts:
                # All that is known of it is the same.
                if digest is not None:
                    clash.digests[digest] = row
                return row, True
        return (NO_ROW if digest is None else clash.digests.get(digest, NO_ROW)), False

    def _known_clashes(self) -> dict[tuple[int, int], _Clash]:
        """Return all clashes; of an index that was kept, those that its rows mark."""
        if self._clashes is None:
            self._clashes = {}
            spans = self.spans
            for row in compress(range(len(spans)), map(_DUPLICATE.__and__, spans.warnings)):
                key = spans.trace[row], spans.span_id[row]
                self._enter(self._clashes.setdefault(key, _Clash(row)), row)
        return self._clashes

    def _clash_of(self, key: tuple[int, int]) -> _Clash:
        """Return what is known of the records with some ids that are known already or unusable."""
        clashes = self._known_clashes()
        clash = clashes.get(key)
        if clash is None:
            first = self._first_row(*key)
            clash = clashes[key] = _Clash(first)
            if first != NO_ROW:
                self._enter(clash, first)
        return clash

    def _enter(self, clash: _Clash, row: int, digest: bytes | None = None) -> None:
        """Make a row one of a clash; without its digest where that isn't known yet."""
        clash.has_open |= self.spans.end_ns[row] == NO_TIME
        key = hash(self._facts_of_row(row)[1:])
        clash.unread[key] = (*clash.unread.get(key, ()), *((row,) if digest is None else ()))
        if digest is not None:
            clash.digests[digest] = row

    def _facts_of(self, batch: Batch, index: int) -> tuple[int, ...]:
        """Return what the columns are to have of a span, in the order of `_FACTS`."""
        columns = batch.columns
        return (
            batch.lengths[index],
            columns.parent_ids[index],
            columns.start_ns[index],
            columns.end_ns[index],
            self.names.number(columns.names[index]),
            self.services.number(columns.services[index]),
            columns.kinds[index],
            columns.statuses[index],
        )

    def _facts_of_row(self, row: int) -> tuple[int, ...]:
        """Return what the columns have of a row's span, in the order of `_FACTS`."""
        return tuple(getattr(self.spans, name)[row] for name in _FACTS)

    def _digest(self, record: bytes | None, ids: tuple[str | None, str | None] | None = None) -> bytes | None:
        """Return what a record says; None where it can't be read, or has other ids than are asked for."""
        from spanview.formats.usual import NOWHERE

        span = None if record is None else decode_span(record, NOWHERE)
        if record is None or span is None or (ids is not None and (span.trace_id, span.span_id) != ids):
            return None
        return digest_of(record, span)

    def _digest_of_row(self, row: int) -> bytes | None:
        """Return what the record of a span says; None where it can't be read, or was replaced by another."""
        spans = self.spans
        span_id = spans.span_id[row]
        ids = self.traces.hex_id(spans.trace[row]), format_span_id(span_id) if span_id else None
        return self._digest(self.details.read(spans.source[row], spans.offset[row], spans.length[row]), ids)

    def _first_row(self, trace: int, span_id: int) -> int:
        """Return the row that came first with some ids; `NO_ROW` where there is none, or they are unusable."""
        spans, slots = self.spans, self.span_slots
        if not span_id or trace == self.unplaced:
            return NO_ROW
        slot = slot_hash(trace, span_id) & slots.mask
        while entry := slots.table[slot]:
            if spans.span_id[entry - 1] == span_id and spans.trace[entry - 1] == trace:
                return entry - 1
            slot = (slot + 1) & slots.mask
        return NO_ROW

    def order(self, row: int) -> tuple[str, int, int]:
        """Return what rows are ordered by where their place decides: path, generation, offset."""
        return *self.source_order(self.spans.source[row]), self.spans.offset[row]

    def source_order(self, number: int) -> tuple[str, int]:
        """Return what files are ordered by: path and generation."""
        source = self.sources[number]
        return source.path, source.generation


def _packed(typecode: str, values: Sequence[int]) -> array[int]:
    """Return values as an array: another one takes it in at once, a list item by item."""
    if isinstance(values, array) and values.typecode == typecode:
        return values
    return array(typecode, [*values])
