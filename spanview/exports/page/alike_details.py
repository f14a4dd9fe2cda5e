"""The details of spans whose records are similar: all that have a template get what changes put into one text at once.

What a gap of a template is to the details is found out: the sample is told again with other digits in that gap.

record     "attributes": {"task": "~~~~", "ray.pid": "~~~~~"}, … "resource": {"attributes": {"id": "~~"}}
head       "",[["task","~~~~"],["ray.pid","~~~~~"]],[],[]          what stands there just in one place
process    ray.pid, id and the file                                what changes the resource or the writer

Where a gap changes anything else, as the time of an event does, its spans are read one by one, as others are.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.display.stacks import BEGINS
from spanview.exports.alike_texts import NO_TEMPLATE, AlikeTexts
from spanview.exports.page.details import BLOCK_SPANS, DetailTexts, Process
from spanview.exports.page.packed import block, encoded
from spanview.index.gather import rows_at
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.exports.alike_records import VaryingValue
    from spanview.exports.alike_texts import SpanBatch
    from spanview.exports.page.details import AlikeSpan
    from spanview.index.arrays import Places
    from spanview.index.store import Store
    from spanview.model.span import Span

_MAX_PROCESSES: Final = 16_384
"""Processes that are remembered, each once for a template; spans of others are read one by one."""
_BEGINS: Final = BEGINS.encode()
_OTHER_DIGITS: Final = bytes(ord("2") if byte == ord("1") else ord("1") for byte in range(256))


class _Head(NamedTuple):
    """What spans of a template have in common."""

    text: bytes
    gaps: list[tuple[VaryingValue, int]]
    """Each with its place in the text."""
    of_process: list[VaryingValue]


class AlikeDetails:
    """Tells of spans what their details say; the store must not grow meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._alike = AlikeTexts(store)
        self._losses: list[str] = []
        self._details = DetailTexts(self._losses.append)
        self._heads: dict[int, _Head | None] = {}
        """By the number of the template."""
        self._processes: dict[tuple[int, int, bytes], Process | None] = {}
        """By template, file, and what the gaps hold that tell processes apart."""

    def spans(self, rows: Sequence[int]) -> Iterator[Span | AlikeSpan]:
        """Yield what details say of spans whose records are similar, and the others as they are."""
        none = [0] * len(rows)
        for chosen, batch, matches in self._alike.matched(rows, none, none):
            found: list[AlikeSpan | None] = [None] * len(matches)
            for number in np.unique(matches[matches != NO_TEMPLATE]).tolist():
                self._find(batch, number, np.flatnonzero(matches == number), found)
            others = spans_at(self._store, [row for row, span in zip(rows[chosen], found, strict=True) if span is None])
            for span in found:
                yield next(others) if span is None else span

    def _find(self, batch: SpanBatch, number: int, chosen: Places, found: list[AlikeSpan | None]) -> None:
        """Put in what is found of spans that have a template."""
        if number not in self._heads:
            self._heads[number] = self._head(batch, number, int(chosen[0]))
        if (head := self._heads[number]) is None:
            return
        texts = np.empty((len(chosen), len(head.text)), np.uint8)
        texts[:] = np.frombuffer(head.text, np.uint8)
        places = batch.places[chosen]
        for gap, target in head.gaps:
            texts[:, target : target + gap.width] = rows_at(self._alike.records, places + gap.position, gap.width)
        data = texts.tobytes()
        if _BEGINS in data:
            # A stack trace is told line by line.
            return
        in_gaps = [rows_at(self._alike.records, places + gap.position, gap.width) for gap in head.of_process]
        keys = [row.tobytes() for row in np.hstack(in_gaps)] if in_gaps else [b""] * len(chosen)
        of_columns = (column[chosen].tolist() for column in (batch.source, batch.offset, batch.length))
        width = len(head.text)
        begins = range(0, len(data), width)
        for index, begin, key, source, offset, length in zip(chosen.tolist(), begins, keys, *of_columns, strict=True):
            of_process = number, source, key
            process = self._processes.get(of_process)
            if process is None and of_process not in self._processes and len(self._processes) < _MAX_PROCESSES:
                process = self._processes[of_process] = self._process(batch, index)
            if process is not None:
                found[index] = data[begin : begin + width], process, offset, length

    def _head(self, batch: SpanBatch, number: int, index: int) -> _Head | None:
        """Return what spans of a template have in common, None where their details may differ in anything else."""
        record = self._record(batch, index)
        told = self._told(batch, index, record)
        if told is None:
            return None
        text, process = told
        gaps: list[tuple[VaryingValue, int]] = []
        of_process: list[VaryingValue] = []
        for gap in self._alike.templates[number].gaps:
            end = gap.position + gap.width
            value = record[gap.position : end]
            other = value.translate(_OTHER_DIGITS)
            changed = self._told(batch, index, record[: gap.position] + other + record[end:])
            if changed is None:
                return None
            if changed[1] != process:
                of_process.append(gap)
            elif changed[0] == text:
                return None
            if changed[0] != text:
                target = next(place for place, byte in enumerate(text) if changed[0][place : place + 1] != b"%c" % byte)
                before, after = text[:target], text[target + gap.width :]
                if (before + value + after, before + other + after) != (text, changed[0]):
                    return None
                gaps.append((gap, target))
        return _Head(text, gaps, of_process)

    def _process(self, batch: SpanBatch, index: int) -> Process | None:
        """Return who has written a span."""
        told = self._told(batch, index, self._record(batch, index))
        return None if told is None else told[1]

    def _told(self, batch: SpanBatch, index: int, record: bytes) -> tuple[bytes, Process] | None:
        """Return what details say of a span if this is its record, None where a head isn't enough for that."""
        span = self._store.span_in(int(batch.rows[index]), record)
        described, fields, events, links, resource, scope, state, warnings, _, writer = self._details.alone(span)
        texts = [encoded(part, self._losses.append) for part in ([described, fields, events, links], resource, writer)]
        path = encoded(span.source.file, self._losses.append)
        is_more = events or scope or state or warnings or self._losses
        self._losses.clear()
        return None if is_more else (texts[0][:-1], Process(resource, texts[1], path, texts[2]))

    def _record(self, batch: SpanBatch, index: int) -> bytes:
        return rows_at(self._alike.records, batch.places[[index]], int(batch.length[index])).tobytes()


def detail_blocks(
    store: Store, rows: Sequence[int], alike: AlikeDetails | None, share: Sequence[int], lose: Callable[[str], None]
) -> Iterator[bytes]:
    """Yield the details of some of a page's spans in blocks.

    Args:
        rows: The rows of all spans of the page, in its order.
        alike: Finds what spans have whose records are similar; None for few spans.
        share: Positions among them, one after the other.
    """
    first, chosen = share[0], [rows[position] for position in share]
    spans = iter(spans_at(store, chosen) if alike is None else alike.spans(chosen))
    details = DetailTexts(lose)
    while batch := [*islice(spans, BLOCK_SPANS)]:
        yield block("details", details.of(batch), first)
        first += len(batch)
