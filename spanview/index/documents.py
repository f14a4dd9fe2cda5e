"""Records of spans that share a document with others, as in a line of OTLP, or in the download of a trace.

file        {"resourceSpans": [ … three spans … ]}
rows        offset 0, 1 and 2, each of length 0: the first, second and third span of the document that begins at 0
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from operator import add
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from spanview.formats.decoder import spans_in_document
from spanview.formats.framing.prefixed import MixedLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanview.model.span import Span

_COMPRESSION_LEVEL: Final = 1
_MAX_CACHED_BYTES: Final = 32 * 1024 * 1024
"""Of the documents whose spans are cached, except the last one."""
_CONTEXT_LENGTHS: Final = 3
"""Where documents are mixed, this many times its length is read before and after one."""
_MAX_CONTEXT_BYTES: Final = 8 * 1024 * 1024
"""No more bytes than this are read before and after a mixed document."""


class DetailReader(Protocol):
    """Gives back the bytes of a record."""

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they are gone."""


class HeldRecords(DetailReader):
    """Records in memory: of spans that no file holds, or that were taken to another process.

    Args:
        stretches: Source, offset and bytes of each; those of a source don't overlap.
    """

    def __init__(self, stretches: Iterable[tuple[int, int, bytes]]) -> None:
        self._data: dict[int, bytes] = {}
        """The stretches of each source, one after the other."""
        self._offsets: dict[int, array[int]] = {}
        """Where each begins in the source."""
        self._begins: dict[int, array[int]] = {}
        """Where each begins in the data, and behind them its size."""
        parts: dict[int, list[bytes]] = {}
        for source, offset, data in sorted(stretches):
            parts.setdefault(source, []).append(data)
            self._offsets.setdefault(source, array("Q")).append(offset)
            begins = self._begins.setdefault(source, array("Q", [0]))
            begins.append(begins[-1] + len(data))
        self._data = {source: b"".join(of_source) for source, of_source in parts.items()}

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they aren't held."""
        offsets = self._offsets.get(source, ())
        index = bisect_right(offsets, offset) - 1
        if index < 0:
            return None
        begins = self._begins[source]
        begin = begins[index] + offset - offsets[index]
        return self._data[source][begin : begin + length] if begin + length <= begins[index + 1] else None

    def __getstate__(self) -> dict[str, object]:
        packed = {source: zlib.compress(data, _COMPRESSION_LEVEL) for source, data in self._data.items()}
        return self.__dict__ | {"_data": packed}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._data = {source: zlib.decompress(data) for source, data in self._data.items()}


@dataclass(slots=True)
class _Places:
    """Where the documents of one source are, by offset."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    lengths: array[int] = field(default_factory=lambda: array("I"))


class Documents:
    """A reader of records that knows of documents with several spans.

    Args:
        reader: Gives back the bytes of files; a source's number is that of the index.
    """

    def __init__(self, reader: DetailReader) -> None:
        self.reader = reader
        self.places: dict[int, _Places] = {}
        """Where they are, by source."""
        self._spans: OrderedDict[tuple[int, int], tuple[int, list[Span]]] = OrderedDict()
        """Lengths and spans of the documents that were used last, by source and offset."""
        self._kept = 0
        """Bytes of these documents."""
        self._last = (-1, 0, 0)
        """Source, offset and end of the document that was read last."""
        self._mixed: tuple[int, MixedLines] | None = None
        """The part of a log around it where documents are mixed, and its source."""
        self._lock = Lock()

    @property
    def are_there(self) -> bool:
        """Whether there is any such document."""
        return bool(self.places)

    def note(self, source: int, documents: Sequence[tuple[int, int]]) -> None:
        """Take note of documents with several spans: offset and length of each."""
        if not documents:
            return
        with self._lock:
            places = self.places.setdefault(source, _Places())
            for offset, length in documents:
                # In a log, what began later may end before it.
                index = bisect_right(places.offsets, offset)
                places.offsets.insert(index, offset)
                places.lengths.insert(index, length)

    def take_numbers(self, numbers: Sequence[int]) -> None:
        """Renumber files; `numbers` has the new number at each old one."""
        with self._lock:
            self.places = {numbers[source]: places for source, places in self.places.items()}
            self._spans.clear()
            self._kept = 0

    def place(self, source: int, offset: int, length: int) -> tuple[int, int]:
        """Return offset and length of a span's record, or of the document that contains it."""
        if length:
            return offset, length
        with self._lock:
            places = self.places[source]
            index = bisect_right(places.offsets, offset) - 1
            return places.offsets[index], places.lengths[index]

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return a span's record, its line where it has none of its own, or None where it is gone."""
        if length:
            return self.reader.read(source, offset, length)
        from spanview.formats.own.write import dumps_span, span_value

        span = self.span(source, offset)
        return None if span is None else dumps_span({"trace_id": span.trace_id, **span_value(span, None)})

    def span(self, source: int, offset: int) -> Span | None:
        """Return a span that has no record of its own, without its place; None where it is gone."""
        begin, size = self.place(source, offset, 0)
        with self._lock:
            spans = self._spans_of(source, begin, size)
        return spans[offset - begin] if offset - begin < len(spans) else None

    def _spans_of(self, source: int, offset: int, length: int) -> list[Span]:
        known = self._spans.get((source, offset))
        if known is not None:
            self._spans.move_to_end((source, offset))
            return known[1]
        document = self._document(source, offset, length)
        spans = [] if document is None else spans_in_document(document)
        # Without the lines of others inside it.
        size = 0 if document is None else len(document)
        self._spans[source, offset] = size, spans
        self._kept += size
        while self._kept > _MAX_CACHED_BYTES and len(self._spans) > 1:
            self._kept -= self._spans.popitem(last=False)[1][0]
        return spans

    def _document(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes of a document; without the lines of others where several such documents were asked for."""
        if self._mixed is not None and self._mixed[0] == source:
            document = self._mixed[1].document(offset, length)
            if document is not None:
                return document
        (last_source, first, end), self._last = self._last, (source, offset, offset + length)
        if last_source == source and first != offset and first < offset + length and offset < end:
            # They are mixed: reading each with all that is between its lines would cost the square of their number.
            document = self._document_among_others(source, offset, length)
            if document is not None:
                return document
        return self.reader.read(source, offset, length)

    def _document_among_others(self, source: int, offset: int, length: int) -> bytes | None:
        """Read the part of a log around a document, keep it at hand, and return the document's own lines."""
        places, reach = self.places[source], min(_CONTEXT_LENGTHS * length, _MAX_CONTEXT_BYTES)
        first, last = bisect_left(places.offsets, offset - reach), bisect_right(places.offsets, offset + reach)
        ends = map(add, places.offsets[first:last], places.lengths[first:last])
        begin = places.offsets[first]
        data = self.reader.read(source, begin, max(ends) - begin)
        if data is None:
            return None
        self._mixed = source, MixedLines(data, begin)
        return self._mixed[1].document(offset, length)
