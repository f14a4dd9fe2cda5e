"""The objects of spans whose records are similar: what a template has is put into one buffer for all its spans at once.

rows        as many at once as fit into some memory
records     read by file and offset into one buffer
templates   made from one record, looked for in all whose columns are the same
texts       put into another buffer, each at its place, with its prefix; the plain writer makes the others

    record     {"name": "f", "context": {…}, … "attributes": {"task": "cd34"}, "events": [], …}
    template   {"name": "~", "context": {…}, … "attributes": {"task": "~~~~"}, "events": [], …}      ~ is a gap
    buffer     …,{"span_id":"~", … "attributes":{"task":"~~~~"},"events":[],…      put for all its spans at once,
    buffer     …,{"span_id":"…", … "attributes":{"task":"cd34"},"events":[],…      then the values of each

What it pays for: 200,000 spans of tasks as a trace tree need 1.1 s of processor time, with the plain writer alone
1.9 s; as lines 0.8 s and 1.7 s; from lines of OTLP 1.4 s and 6 to 8 s. Encoding the same objects with orjson takes
0.25 s. Why both write the same is said in `alike_records`.
"""

from __future__ import annotations

import re
from binascii import hexlify
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from spanview.exports.alike_records import (
    PLAIN,
    SPAN_ID_DIGITS,
    TRACE_ID_DIGITS,
    WITH_GAPS,
    RecordTemplate,
    Sample,
    template_of,
)
from spanview.exports.shared_lines import NOT_THERE, SharedLines
from spanview.exports.span_texts import SpanTexts
from spanview.formats.jsontext import dumps_strict
from spanview.index.arrays import copy_of
from spanview.index.gather import rows_at
from spanview.model.codes import KIND_NAMES
from spanview.model.times import NO_TIME, NS_PER_SECOND, format_time
from spanview.quick.times import NANOSECOND_DIGITS
from spanview.quick.times import WIDTH as TIME_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.index.store import Store
    from spanview.model.span import Span

_MAX_BATCH_SPANS: Final = 32_768
_MAX_BATCH_BYTES: Final = 24 * 1024 * 1024
"""Of the records of a batch, but for one that is longer."""
_MAX_RECORD_BYTES: Final = 16 * 1024
"""Of a record that is looked at."""
_MANY: Final = 4
"""Where more than one span in so many is decoded, it costs less to decode all of its line."""
_SHARED_BYTES: Final = 1024
"""Of a record that shares a line with others, with what is around it, about."""
_MAX_READ_BYTES: Final = 512 * 1024
"""Bytes that are read at once."""
_MAX_GAP_BYTES: Final = 512
"""Bytes between two records that are read too, rather than reading twice."""
_MARGIN: Final = 64
"""Bytes after the last record: templates compare whole words."""
_MAX_COMPARED_BYTES: Final = 512 * 1024
"""Bytes that are compared at once: more would be new memory each time."""
_MIN_ALIKE: Final = 32
"""For fewer spans of a batch no template is made."""
_WORTH_SPANS: Final = 128
"""A template pays for so many spans, if all batches of the store have as many as this one."""
_MAX_SAMPLES: Final = 512
"""Records that are compared to see where their values differ."""
_MAX_TEMPLATES: Final = 16
"""Templates of spans whose columns are the same."""
_MAX_TRIES: Final = 64
"""Templates that are tried, and one more for so many spans each that had one."""
_MAX_WIDTHS: Final = 64
"""Texts of one width are put together; where there are more widths, texts are put one by one."""
_PIECE_BYTES: Final = 256 * 1024
NO_TEMPLATE: Final = -1
_US: Final = 1_000
_LONGEST_TIME: Final = len("2024-05-28T18:05:04.864137001Z")
_COMMA: Final = ord(",")
_NAME: Final = re.compile(PLAIN + b"{0,255}")
_THOUSAND: Final = np.array([f"{number:03d}".encode() for number in range(1000)]).view(np.uint8).reshape(-1, 3)
"""The digits of all numbers below a thousand."""


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts of any widths, one after the other or not."""

    data: Bytes
    starts: Places
    widths: Places

    def __getitem__(self, chosen: Places | slice) -> _Texts:
        """Return some of them, in that order."""
        return _Texts(self.data, self.starts[chosen], self.widths[chosen])

    def text(self, index: int) -> bytes:
        """Return one of them."""
        start = int(self.starts[index])
        return self.data[start : start + int(self.widths[index])].tobytes()


def _texts_of(parts: Sequence[bytes]) -> _Texts:
    widths = [*map(len, parts)]
    starts = [0, *accumulate(widths)][: len(parts)]
    return _Texts(np.frombuffer(b"".join(parts), np.uint8), np.array(starts, np.int64), np.array(widths, np.int64))


def _decimals(numbers: NDArray[Any]) -> _Texts:
    """Return integers in digits."""
    data = np.frombuffer(orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY), np.uint8)
    if not len(numbers):
        return _texts_of([])
    ends = np.append(np.flatnonzero(data == _COMMA), len(data) - 1)
    starts = np.append(0, ends[:-1]) + 1
    return _Texts(data, starts, ends - starts)


def _time_rows(times: NDArray[np.int64]) -> tuple[Bytes, Flags]:
    """Return times as `format_time` writes them, N x 30, and which of them have all 30; three times as quick."""
    # Quotients are much quicker than remainders.
    seconds = times // NS_PER_SECOND
    ns = times - seconds * NS_PER_SECOND
    micros = ns // _US
    thousands = micros // 1000
    distinct, inverse = np.unique(seconds, return_inverse=True)
    texts = "".join([(format_time(second * NS_PER_SECOND) or "")[:20] for second in distinct.tolist()])
    rows = np.full((len(times), _LONGEST_TIME), ord("Z"), np.uint8)
    rows[:, :20] = np.frombuffer(texts.encode(), np.uint8).reshape(-1, 20)[inverse]
    rows[:, 20:23], rows[:, 23:26] = _THOUSAND[thousands], _THOUSAND[micros - thousands * 1000]
    are_fine = ns != micros * _US
    if are_fine.any():
        rows[are_fine, 26:29] = _THOUSAND[ns - micros * _US][are_fine]
    return rows, are_fine


def _nanosecond_rows(times: NDArray[np.int64]) -> Bytes:
    """Return times from 2001 on as OTLP has them, N x 19."""
    rows = np.empty((len(times), NANOSECOND_DIGITS), np.uint8)
    for end in range(NANOSECOND_DIGITS, 1, -3):
        thousands = times // 1000
        rows[:, end - 3 : end] = _THOUSAND[times - thousands * 1000]
        times = thousands
    rows[:, 0] = times + ord("0")
    return rows


def _put_rows(buffer: Bytes, places: Places, rows: Bytes) -> None:
    """Put rows of one width, N x width or 1 x width for all the same, at N places of a buffer."""
    width = rows.shape[1]
    if width and len(places):
        _windows(buffer, width)[places] = np.ascontiguousarray(rows).view(f"V{width}").ravel()


def _put_times(buffer: Bytes, places: Places, times: Bytes, are_fine: Flags) -> None:
    """Put times as `_time_rows` returns them."""
    if not are_fine.any():
        _put_rows(buffer, places, times[:, :TIME_WIDTH])
        return
    _put_rows(buffer, places[~are_fine], times[~are_fine, :TIME_WIDTH])
    _put_rows(buffer, places[are_fine], times[are_fine])


def _put(buffer: Bytes, places: Places, texts: _Texts) -> None:
    """Put texts at places of a buffer."""
    if not len(places):
        return
    widths = np.flatnonzero(np.bincount(texts.widths))
    if len(widths) > _MAX_WIDTHS:
        target, source = buffer.data, texts.data.data
        for position, start, width in zip(places.tolist(), texts.starts.tolist(), texts.widths.tolist(), strict=True):
            target[position : position + width] = source[start : start + width]
        return
    for width in widths.tolist():
        chosen = np.flatnonzero(texts.widths == width) if len(widths) > 1 else slice(None)
        if width:
            _windows(buffer, width)[places[chosen]] = _windows(texts.data, width)[texts.starts[chosen]]


def _windows(buffer: Bytes, width: int) -> NDArray[np.void]:
    """Return what begins at each place of a buffer, without a copy."""
    return np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, strides=(1,))


class SpanBatch:
    """Spans that are written together, N, in columns; `warned` are bits of `Warnings` that only trees give."""

    def __init__(self, store: Store, rows: Sequence[int], own: Sequence[int | None], warned: Sequence[int]) -> None:
        spans, table = store.spans, store.trace_table
        self.rows = np.array(rows, np.int64)

        def column(name: str) -> NDArray[Any]:
            values: NDArray[Any] = copy_of(getattr(spans, name))[self.rows]
            return values

        self.known_own, self.warned = own, np.array(warned, np.int64)
        self.places = np.full(len(rows), -1)
        """Where in the buffer the records are."""
        self.around = np.full(len(rows), NOT_THERE)
        """What is around them in their lines, if they share these, as numbers that `SharedLines` has given."""
        self.source, self.offset = column("source"), column("offset").astype(np.int64)
        self.length, self.name = column("length").astype(np.int64), column("name")
        self.record_offset, self.record_length, self.width = self.offset, self.length, self.length
        """Where in its file each record is, and its bytes; the last with what is around it in its line."""
        self.kind, self.status = column("kind"), column("status")
        traces, span_ids, parents, starts, ends = map(column, ("trace", "span_id", "parent_id", "start_ns", "end_ns"))
        self.has_parent = parents != 0
        self.alike: Flags = np.array([time is not None for time in own])
        """Which of them may have a template."""
        self.alike &= (column("warnings") == 0) & (span_ids != 0) & (self.kind < len(KIND_NAMES))
        self.alike &= (starts != NO_TIME) & (starts <= ends)
        ids = copy_of(table.id_high)[traces], copy_of(table.id_low)[traces], span_ids, parents
        digits = hexlify(np.stack(ids, axis=1).astype(">u8").tobytes())
        of_ids = np.frombuffer(digits, np.uint8).reshape(-1, TRACE_ID_DIGITS + 2 * SPAN_ID_DIGITS)
        self.trace_ids, self.span_ids, self.parent_ids = np.split(of_ids, (TRACE_ID_DIGITS, 48), axis=1)
        self.start_ns, self.end_ns = (np.where(self.alike, times, 0) for times in (starts, ends))
        self.starts, self.start_is_fine = _time_rows(self.start_ns)
        self.ends, self.end_is_fine = _time_rows(self.end_ns)
        self.durations = _decimals(self.end_ns - self.start_ns)
        self.own = _decimals(np.array([time or 0 for time in own]))

    def keys(self, chosen: Places, name_widths: Places) -> Places:
        """Return a number for each of some similar spans; where it differs, no template fits both."""
        keys = self.width[chosen]
        parts = ((name_widths[self.name[chosen]], 8), (self.kind[chosen], 3), (self.status[chosen], 2))
        flags = ((flag[chosen], 1) for flag in (self.has_parent, self.start_is_fine, self.end_is_fine))
        for values, bits in (*parts, *flags, (self.warned[chosen], 16)):
            keys = keys << bits | values
        return keys

    def take_shared(self, lines: SharedLines) -> None:
        """Take where records are that share lines with others; what is told of them is where their line is."""
        shared = np.flatnonzero(self.length == 0)
        records = lines.find(self.source[shared], self.offset[shared])
        self.record_offset, self.record_length, self.width = (
            column.copy() for column in (self.offset, self.length, self.length)
        )
        self.record_offset[shared], self.record_length[shared] = records.starts, records.ends - records.starts
        self.offset[shared], self.length[shared] = records.line_starts, records.line_lengths
        self.around[shared] = records.around
        sizes = np.array([*(len(head) + len(tail) for head, tail in lines.around), 0])
        self.width[shared] = self.record_length[shared] + sizes[records.around]

    @cached_property
    def offsets(self) -> _Texts:
        """Where records are, or lines that several share."""
        return _decimals(self.offset)

    @cached_property
    def lengths(self) -> _Texts:
        """How long these are."""
        return _decimals(self.length)

    @cached_property
    def nanoseconds(self) -> tuple[Bytes, Bytes]:
        """Starts and ends as OTLP has them."""
        return _nanosecond_rows(self.start_ns), _nanosecond_rows(self.end_ns)


class AlikeTexts:
    """The texts of spans whose records are similar, and of others; the store must not grow meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._losses: list[str] = []
        """What JSON can't say of samples."""
        self._sample_texts = SpanTexts(store, self._losses.append)
        self.templates: list[RecordTemplate] = []
        self._of_keys: dict[int, list[int]] = {}
        """Numbers of templates, by what the columns hold."""
        self._differs: dict[int, tuple[Bytes, Flags]] = {}
        """A record, and which of its bytes aren't the same in all samples, by what the columns hold."""
        names = [text.encode("utf-8", "surrogatepass") for text in store.names.texts]
        self._names = _texts_of(names)
        self._are_plain = np.array([_NAME.fullmatch(name) is not None for name in names], np.bool_)
        self._paths = _texts_of([dumps_strict(source.path) for source in store.sources])
        self._shared = SharedLines(store.intake.details)
        self._tries = self._written = 0
        # Used again for each batch, because new memory costs something.
        self.records: Bytes = np.empty(0, np.uint8)
        """Those of a batch."""
        self._text: Bytes = np.empty(0, np.uint8)

    def joined(
        self,
        plain: SpanTexts,
        prefixes: Sequence[bytes],
        rows: Sequence[int],
        own: Sequence[int | None],
        warned: Sequence[int],
    ) -> Iterator[bytes]:
        """Yield what `SpanTexts.joined` does, in pieces of some 256 KiB; `plain` writes those that aren't similar."""
        for chosen, batch, matches in self.matched(rows, own, warned):
            text = self._laid_out(batch, matches, _texts_of(prefixes[chosen]), plain).data
            for first in range(0, len(text), _PIECE_BYTES):
                yield bytes(text[first : first + _PIECE_BYTES])

    def matched(
        self, rows: Sequence[int], own: Sequence[int | None], warned: Sequence[int]
    ) -> Iterator[tuple[slice, SpanBatch, Places]]:
        """Yield batches of any number of rows, and the number of each span's template, `NO_TEMPLATE` for none."""
        for chosen in self._batches(rows):
            batch = SpanBatch(self._store, rows[chosen], own[chosen], warned[chosen])
            batch.alike &= self._are_plain[batch.name]
            if not batch.length.all():
                batch.take_shared(self._shared)
            batch.alike &= (batch.record_length > 0) & (batch.width <= _MAX_RECORD_BYTES)
            self._read(batch)
            yield chosen, batch, self._matched(batch)

    def _batches(self, rows: Sequence[int]) -> Iterable[slice]:
        lengths = copy_of(self._store.spans.length)[np.array(rows, np.int64)]
        ends = np.cumsum(np.where(lengths, lengths, _SHARED_BYTES), dtype=np.int64)
        first = 0
        while first < len(rows):
            most = (int(ends[first - 1]) if first else 0) + _MAX_BATCH_BYTES
            last = max(first + 1, min(first + _MAX_BATCH_SPANS, int(np.searchsorted(ends, most, "right"))))
            yield slice(first, last)
            first = last

    def _read(self, batch: SpanBatch) -> None:
        """Read the records of those that may be similar; what can't be read isn't.

        Those that share a line get one of their own.
        """
        # Rows come as files are read: what are neighbours in a file are neighbours here.
        chosen = np.flatnonzero(batch.alike)
        chosen = chosen[np.argsort(batch.rows[chosen])]
        sources, starts = batch.source[chosen], batch.record_offset[chosen]
        ends = starts + batch.record_length[chosen]
        gaps = starts[1:] - ends[:-1]
        far = (sources[1:] != sources[:-1]) | (gaps > _MAX_GAP_BYTES) | (gaps < 0)
        breaks = [0, *(np.flatnonzero(far) + 1).tolist(), len(chosen)]
        room = int((ends - starts + batch.width[chosen]).sum() + _MAX_GAP_BYTES * len(chosen) + _MARGIN)
        if len(self.records) < room:
            self.records = np.zeros(room, np.uint8)
        view, filled = self.records.data, 0
        for first, last in pairwise(breaks):
            index = first
            while index < last:
                begin = int(starts[index])
                stop = max(index + 1, index + int(np.searchsorted(ends[index:last], begin + _MAX_READ_BYTES, "right")))
                size = int(ends[stop - 1]) - begin
                data = self._store.intake.details.read(int(sources[index]), begin, size)
                if data is not None:
                    view[filled : filled + size] = data
                    batch.places[chosen[index:stop]] = starts[index:stop] + (filled - begin)
                    filled += size
                index = stop
        batch.alike &= batch.places >= 0
        for index in np.flatnonzero(batch.alike & (batch.around != NOT_THERE)).tolist():
            place, length = int(batch.places[index]), int(batch.record_length[index])
            head, tail = self._shared.around[batch.around[index]]
            record = b"".join((head, view[place : place + length], tail))
            view[filled : filled + len(record)] = record
            batch.places[index] = filled
            filled += len(record)

    def _matched(self, batch: SpanBatch) -> Places:
        """Return the number of each span's template, `NO_TEMPLATE` for none."""
        matches = np.full(len(batch.rows), NO_TEMPLATE)
        chosen = np.flatnonzero(batch.alike)
        keys = batch.keys(chosen, self._names.widths)
        order = np.argsort(keys, kind="stable")
        chosen, keys = chosen[order], keys[order]
        breaks = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        for first, last in pairwise([0, *breaks.tolist(), len(keys)] if len(keys) else []):
            self._match(batch, int(keys[first]), chosen[first:last], matches)
        return matches

    def _match(self, batch: SpanBatch, key: int, left: Places, matches: Places) -> None:
        """Note the templates of spans whose columns are the same."""
        numbers = self._of_keys.setdefault(key, [])
        for number in numbers:
            left = self._take(batch, number, left, matches)
        while (
            len(left) >= _MIN_ALIKE
            and len(left) * len(self._store.spans) >= _WORTH_SPANS * len(batch.rows)
            and len(numbers) < _MAX_TEMPLATES
            and self._tries <= _MAX_TRIES + self._written // _MAX_TRIES
        ):
            self._tries += 1
            samples = rows_at(self.records, batch.places[left[:_MAX_SAMPLES]], int(batch.width[left[0]]))
            first, differs = self._differs.setdefault(key, (samples[0], np.zeros(samples.shape[1], np.bool_)))
            differs |= (samples != first).any(axis=0)
            template = template_of(self._sample(batch, int(left[0]), samples[0].tobytes()), differs)
            if template is None:
                break
            numbers.insert(0, len(self.templates))
            self.templates.append(template)
            left = self._take(batch, numbers[0], left, matches)

    def _sample(self, batch: SpanBatch, index: int, record: bytes) -> Sample:
        row, own, warned = int(batch.rows[index]), batch.known_own[index], int(batch.warned[index])
        ids = (
            batch.trace_ids[index],
            batch.span_ids[index],
            batch.parent_ids[index][: SPAN_ID_DIGITS * batch.has_parent[index]],
        )
        times = format_time(int(batch.start_ns[index])), format_time(int(batch.end_ns[index]))
        return Sample(
            record,
            int(batch.kind[index]),
            int(batch.status[index]),
            (
                self._names.text(int(batch.name[index])),
                *(digits.tobytes() for digits in ids),
                *((time or "").encode() for time in times),
            ),
            (b"%d" % batch.start_ns[index], b"%d" % batch.end_ns[index]),
            tuple(texts.text(0) for texts in self._between(batch, slice(index, index + 1))),
            self._told(row, own, warned, record) or b"",
            partial(self._told, row, own, warned),
        )

    def _told(self, row: int, own: int | None, warned: int, record: bytes) -> bytes | None:
        """Return what the plain writer makes of a span if that is its record; None where JSON can't say all."""
        text = self._sample_texts.of_span(self._store.span_in(row, record), own, warned)
        are_lost = bool(self._losses)
        self._losses.clear()
        return None if are_lost else text

    def _take(self, batch: SpanBatch, number: int, left: Places, matches: Places) -> Places:
        """Note which spans have a template, and return the others."""
        template = self.templates[number]
        step, others = max(1, _MAX_COMPARED_BYTES // template.record.width), [left[:0]]
        for first in range(0, len(left), step):
            chosen = left[first : first + step]
            records, fits = template.take(self.records, batch.places[chosen])
            for (position, width), texts in zip(template.fields, self.fields(batch, chosen, template), strict=True):
                values = np.ascontiguousarray(records[:, position : position + width])
                # Comparing all at once is much cheaper, and nearly always enough.
                if values.tobytes() != np.ascontiguousarray(texts[:, :width]).tobytes():
                    fits &= (values == texts[:, :width]).all(axis=1)
            matches[chosen[fits]] = number
            others.append(chosen[~fits])
        result: Places = np.concatenate(others)
        self._written += len(left) - len(result)
        return result

    def fields(self, batch: SpanBatch, chosen: Places, template: RecordTemplate) -> list[Bytes]:
        """Return what columns say of some spans, as `RecordTemplate.fields` has it."""
        both_times = batch.starts, batch.ends
        if template.fields[-1][1] == NANOSECOND_DIGITS:
            both_times = batch.nanoseconds
        of_columns = batch.trace_ids, batch.span_ids, batch.parent_ids, *both_times
        known, width = [values[chosen] for values in of_columns], template.fields[0][1]
        starts = self._names.starts[batch.name[chosen]]
        return [rows_at(self._names.data, starts, width) if width else known[0][:, :0], *known]

    def _laid_out(self, batch: SpanBatch, matches: Places, prefixes: _Texts, plain: SpanTexts) -> Bytes:
        """Return the text of a batch, by the number of each span's template; `plain` writes those without."""
        unlike = np.flatnonzero(matches == NO_TEMPLATE)
        # Mostly there are none, and then nothing has to be chosen.
        alike: Places | slice = np.flatnonzero(matches != NO_TEMPLATE) if len(unlike) else slice(None)
        between = self._between(batch, alike)
        numbers, matches = np.unique(matches[alike], return_inverse=True)
        templates = [self.templates[number] for number in numbers.tolist()]

        def of_templates(values: Sequence[int]) -> Places:
            return np.array(values, np.int64)[matches] if values else matches

        # Where each literal begins, and what comes behind it, counted from the beginning of its object.
        literals: list[Places] = []
        behind: list[Places] = []
        size_of_alike = np.zeros(len(matches), np.int64)
        for part in range(len(between) + 1):
            literals.append(size_of_alike)
            behind.append(size_of_alike + of_templates([len(template.literals[part]) for template in templates]))
            size_of_alike = behind[-1] + between[part].widths if part < len(between) else behind[-1]
        texts = _texts_of(self._plain_texts(batch, unlike, plain))
        widths = prefixes.widths.copy()
        widths[unlike] += texts.widths
        widths[alike] += size_of_alike
        ends = np.cumsum(widths)
        begins = ends - widths
        size = int(ends[-1])
        if len(self._text) < size:
            self._text = np.empty(size + size // 8, np.uint8)
        text = self._text[:size]
        _put(text, begins, prefixes)
        begins += prefixes.widths
        _put(text, begins[unlike], texts)
        begins = begins[alike]
        self._put_templates(text, batch.places[alike], templates, matches, [begins + starts for starts in literals])
        of_ids, of_parents, of_names, of_starts, of_ends = (
            begins + of_templates([template.targets[part] for template in templates]) for part in range(5)
        )
        has_parent = batch.has_parent[alike]
        _put_rows(text, of_ids, batch.span_ids[alike])
        _put_rows(text, of_parents[has_parent], batch.parent_ids[alike][has_parent])
        _put(text, of_names, self._names[batch.name[alike]])
        _put_times(text, of_starts, batch.starts[alike], batch.start_is_fine[alike])
        _put_times(text, of_ends, batch.ends[alike], batch.end_is_fine[alike])
        for starts, values in zip(behind, between, strict=False):
            _put(text, begins + starts, values)
        return text

    def _between(self, batch: SpanBatch, chosen: Places | slice) -> list[_Texts]:
        """Return what some spans have as `Sample.between`."""
        return [
            *(texts[chosen] for texts in (batch.durations, batch.own)),
            self._paths[batch.source[chosen]],
            *(texts[chosen] for texts in (batch.offsets, batch.lengths)),
        ]

    def _put_templates(
        self,
        text: Bytes,
        records: Places,
        templates: Sequence[RecordTemplate],
        matches: Places,
        targets: Sequence[Places],
    ) -> None:
        """Put what templates have, and what records have in the gaps."""
        for number, template in enumerate(templates):
            chosen = np.flatnonzero(matches == number)
            for places, literal in zip(targets, template.literals, strict=True):
                _put_rows(text, places[chosen], np.frombuffer(literal, np.uint8).reshape(1, -1))
            for gap in template.gaps:
                values = rows_at(self.records, records[chosen] + gap.position, gap.width)
                _put_rows(text, targets[WITH_GAPS][chosen] + gap.target, values)

    def _plain_texts(self, batch: SpanBatch, unlike: Places, plain: SpanTexts) -> list[bytes]:
        rows, own = batch.rows[unlike].tolist(), [batch.known_own[index] for index in unlike.tolist()]
        warned = batch.warned[unlike].tolist()
        if (spans := self.apart(batch, unlike)) is not None:
            return [plain.of_span(*each) for each in zip(spans, own, warned, strict=True)]
        return [text for texts in plain.in_batches(rows, own, warned) for text in texts]

    def apart(self, batch: SpanBatch, chosen: Places) -> Iterator[Span] | None:
        """Return few spans that share lines, each decoded from its own record; None where many or others are asked."""
        if len(chosen) * _MANY > len(batch.rows) or not (batch.around[chosen] != NOT_THERE).any():
            return None
        rows = batch.rows[chosen].tolist()
        records = (self.record(batch, index) for index in chosen.tolist())
        return (
            self._store.span(row) if record is None else self._store.span_in(row, record)
            for row, record in zip(rows, records, strict=True)
        )

    def record(self, batch: SpanBatch, index: int) -> bytes | None:
        """Return the record of a span of the batch that was read last, in a line of its own; None where it has none."""
        place = int(batch.places[index])
        return None if place < 0 else self.records[place : place + int(batch.width[index])].tobytes()
