"""One file's bytes to batches: framing, recognition by content, and the columns of what is a span.

This is the general decoder. In large folders a scan precedes it, which leaves to it what isn't exactly as the SDK
writes it.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.console import columns as console
from spanview.formats.framing.containers import is_element
from spanview.formats.framing.framer import DEFAULT_CAP, Framer
from spanview.formats.framing.frames import Frames, Mixed
from spanview.formats.framing.prefixed import PrefixedLines, unmixed
from spanview.formats.jsontext import BadJsonError, dumps_sorted, loads_exact
from spanview.formats.rows import Batch, PartRow, Row, Rows, SpanColumns, Unwritten, columns_of_rows, join_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanview.formats.framing.frames import Document
    from spanview.formats.ray_events import RayUpdates
    from spanview.formats.rows import SpanDetails
    from spanview.model.span import Source, Span

DIGEST_SIZE: Final = 16
_LARGE_BYTES: Final = 1024 * 1024
"""Bytes of an unfinished document from which on new pieces are gathered."""
_HELD_SHARE: Final = 4
"""New pieces are gathered until they are one part in this many of an unfinished document."""
_NOT_COMPARED: Final = frozenset(("source", "warnings"))
_LOGS_KEY: Final = "resourceLogs"
_EVENT_KEY: Final = "event_data"


class Decoder:
    """The decoding of one file, from its first byte on; pieces of any size give the same spans.

    Args:
        offset: Offset in the file of the first byte that `feed` will get.
    """

    __slots__ = ("_framer", "_held", "_held_size", "_new_framer")

    def __init__(self, *, cap: int = DEFAULT_CAP, offset: int = 0) -> None:
        self._new_framer = partial(Framer, is_record, kept_of, kept_of_each, cap=cap)
        self._framer: Framer | PrefixedLines = self._new_framer(offset=offset)
        self._held: list[bytes] = []
        """Pieces of a large document; appending each would cost the square of its size."""
        self._held_size = 0

    @property
    def offset(self) -> int:
        """Offset in the file of the first byte that waits for more."""
        return self._framer.offset

    @property
    def waiting(self) -> bool:
        """Whether a record has begun that isn't complete yet."""
        return self._framer.waiting or bool(self._held)

    @property
    def is_clean(self) -> bool:
        """Whether nothing of what was fed affects how the bytes from `offset` on are decoded."""
        return self._framer.is_clean

    def move_to(self, offset: int) -> None:
        """Continue at another offset, after a line end, as if nothing had been fed; only if it `is_clean`."""
        self._framer = self._new_framer(offset=offset)

    @property
    def unread(self) -> bytes:
        """The bytes from `offset` on that wait for more."""
        return b"".join(self.unread_parts)

    @property
    def unread_parts(self) -> list[bytes]:
        """The bytes from `offset` on that wait for more, in pieces, without copying."""
        return [self._framer.unread, *self._held]

    def feed(self, data: bytes) -> Batch:
        """Take the next bytes and return the spans that they complete."""
        return batch_of(self.frame(data))

    def frame(self, data: bytes) -> Frames:
        """Take the next bytes and return the documents that they complete, for `batch_of` to make more of."""
        self._held.append(data)
        self._held_size += len(data)
        if len(self._framer.unread) > max(_LARGE_BYTES, self._held_size * _HELD_SHARE) and isinstance(
            self._framer, Framer
        ):
            return Frames()
        return self._feed_held()

    def skip(self, size: int) -> Batch:
        """Pass over a hole of `size` bytes and return the spans that end before it."""
        frames = self._close()
        frames.add(self._framer.skip(size))
        return batch_of(frames)

    def tail(self) -> Batch:
        """Return the spans that are whole though no line end follows them; for a file that has become quiet."""
        frames = self._feed_held()
        frames.add(self._go_on(self._framer.tail()))
        return batch_of(frames)

    def close(self) -> Batch:
        """Return what is complete at the end of the file."""
        return batch_of(self._close())

    def _feed_held(self) -> Frames:
        data, self._held, self._held_size = b"".join(self._held), [], 0
        return self._go_on(self._framer.feed(data)) if data else Frames()

    def _close(self) -> Frames:
        frames = self._feed_held()
        frames.add(self._go_on(self._framer.close()))
        frames.add(self._framer.close())
        return frames

    def _go_on(self, frames: Frames) -> Frames:
        """Frame what waits by writer once a line names one."""
        if self._framer.meets_prefix:
            unread = self._framer.unread
            self._framer = PrefixedLines(self._new_framer, offset=self._framer.offset)
            frames.add(self._framer.feed(unread))
        return frames


def is_record(value: Any) -> bool:
    """Tell whether a decoded value is or holds spans, or is an event, and means the same alone as in a list."""
    if console.is_span(value):
        return True
    from spanview.formats.foreign import format_of

    return (format_of(value) is not None and not is_element(value)) or _is_event(value)


def _is_event(value: Any) -> bool:
    """Tell whether a decoded value is one of Ray's own events."""
    if type(value) is not dict or _EVENT_KEY not in value:
        return False
    from spanview.formats.ray_events import is_event

    return is_event(value)


def kept_of(document: Any) -> Any:
    """Return what the columns need of a document: fields of the SDK's span, rows of all others; what isn't so as it is.

    What is of the SDK's, and not just as that writes it, is kept as it is, too.
    """
    if type(document) is dict and "context" in document:
        kept = console.fields_of(document)
        if kept is not document or console.is_span(document):
            return kept
    if _is_event(document):
        return document
    from spanview.formats import foreign

    return foreign.kept_of(document)


def kept_of_each(elements: list[Any]) -> Iterable[Any]:
    """Return what the columns need of each element of a document: of spans in a list together, which is quicker."""
    if not is_element(elements[0]):
        return map(kept_of, elements)
    from spanview.formats.zipkin.rows import parts_of

    parts = zip(parts_of(elements), elements, strict=True)
    return (kept_of(element) if part is None else part for part, element in parts)


def batch_of(frames: Frames) -> Batch:
    """Return the spans among documents, and what else there was."""
    are_plain = {type(kept) for _, _, kept in frames.documents} in ({tuple}, {PartRow})
    return (_plain_batch_of if are_plain else _mixed_batch_of)(frames.documents)._replace(
        gaps=frames.gaps,
        has_text=frames.has_text,
        repeated=frames.repeated,
        fragments=frames.fragments,
        inspected=frames.inspected,
        pids=frames.pids,
    )


def _plain_batch_of(documents: Sequence[Document]) -> Batch:
    """Return spans that are all as the SDK writes them, or all parts of a list."""
    kept = [kept for _, _, kept in documents]
    offsets, sizes = [offset for offset, _, _ in documents], [size for _, size, _ in documents]
    if type(kept[0]) is tuple:
        return Batch(console.columns_of(kept), offsets, sizes)
    return Batch(columns_of_rows(kept), offsets, [0] * len(sizes), documents=[*zip(offsets, sizes, strict=True)])


def _mixed_batch_of(documents: Sequence[Document]) -> Batch:
    """Return the spans among documents of any kind, and those that are none."""
    parts, offsets, lengths = list[SpanColumns](), list[int](), list[int]()
    skipped, holding, partial = list[tuple[int, int, str]](), list[tuple[int, int]](), list[tuple[int, int, int]]()
    unwritten, events = list[Unwritten](), list[dict[str, Any]]()

    for is_own, grouped in groupby(documents, _is_of_sdk):
        group = [*grouped]
        if is_own:
            parts.append(console.columns_of([_kept_of(kept) for _, _, kept in group]))
            for offset, size, kept in group:
                is_mixed = type(kept) is Mixed
                holding += [(offset, size)] if is_mixed else []
                offsets.append(offset)
                lengths.append(0 if is_mixed else size)
            continue
        rows = list[Row]()
        for offset, size, kept in group:
            if type(kept) is Row:
                rows.append(kept)
                offsets.append(offset)
                lengths.append(size)
                continue
            value = _kept_of(kept)
            of_document = Rows([value]) if isinstance(value, Row) else value
            if type(of_document) is Rows:
                rows += of_document
                partial += [(offset, size, of_document.passed)] if of_document.passed else []
                holding += [(offset, size)] if of_document else []
                offsets += range(offset, offset + len(of_document))
                lengths += [0] * len(of_document)
                continue
            if _is_event(value):
                events.append(value)
                continue
            from spanview.formats import foreign

            skipped.append((offset, size, foreign.what_it_lacks(value)))
            if type(value) is dict and _LOGS_KEY in value:
                from spanview.formats.unwritten import unwritten_in

                unwritten += unwritten_in(value, offset)
        parts += [columns_of_rows(rows)] if rows else []
    return Batch(
        columns=parts[0] if len(parts) == 1 else join_columns(parts),
        offsets=offsets,
        lengths=lengths,
        skipped=skipped,
        unwritten=unwritten,
        documents=holding,
        partial=partial,
        ray=_updates_of(events) if events else None,
    )


def _updates_of(events: Sequence[dict[str, Any]]) -> RayUpdates:
    from spanview.formats.ray_events import updates_of

    return updates_of(events)


def _is_of_sdk(document: Document) -> bool:
    """Tell whether a document is a span of the SDK's."""
    value = _kept_of(document[2])
    return type(value) is tuple or console.is_span(value)


def _kept_of(kept: Any) -> Any:
    return kept.kept if type(kept) is Mixed else kept


def spans_in_document(document: bytes) -> list[Span]:
    """Return the spans of a whole document, in its order; none if it isn't a document with spans any more."""
    from spanview.formats.foreign import format_of
    from spanview.formats.usual import NOWHERE

    try:
        value = _loads_unmixed(document)
    except ValueError:
        return []
    if console.is_span(value):
        from spanview.formats.console.spans import span_of

        return [span_of(value, NOWHERE)]
    format_ = format_of(value)
    return [] if format_ is None else format_.spans_of(value, NOWHERE)


def _loads_unmixed(document: bytes) -> Any:
    if document.startswith((b"{", b"[")):
        with suppress(BadJsonError):
            return loads_exact(document)
    return loads_exact(unmixed(document))


def decode_span(record: bytes, source: Source) -> Span | None:
    """Return the span that one whole record holds, or None where it holds none."""
    try:
        document = loads_exact(record)
    except ValueError:
        return None
    if console.is_span(document):
        from spanview.formats.console.spans import span_of

        return span_of(document, source)
    return _foreign_span_of(document, source)


def decode_details(record: bytes) -> SpanDetails | None:
    """Return what the columns don't have of the span that one whole record holds, or None where it holds none."""
    try:
        document = loads_exact(record)
    except ValueError:
        return None
    if console.is_span(document):
        from spanview.formats.console.spans import details_of

        return details_of(document)
    from spanview.formats.foreign import details_of as details_of_span
    from spanview.formats.usual import NOWHERE

    span = _foreign_span_of(document, NOWHERE)
    return None if span is None else details_of_span(span)


def _foreign_span_of(document: Any, source: Source) -> Span | None:
    """Return the span of a document that isn't the console exporter's, if it has exactly one."""
    if type(document) is dict and "resourceSpans" in document:
        from spanview.formats.otlp import read as otlp

        spans = otlp.spans_of(document, source)
        return spans[0] if len(spans) == 1 else None
    from spanview.formats.foreign import reader_alone

    read = reader_alone(document)
    return None if read is None else read(document, source)


def digest_of(record: bytes, span: Span) -> bytes:
    """Return what two records have in common exactly when they are duplicates.

    Duplicates are equal as spans, value types included, whatever their layout, key order and position. Where an id is
    unusable, its spelling counts too.
    """
    if span.trace_id is None or span.span_id is None:
        text = dumps_sorted(loads_exact(record))
    else:
        parts = {name: getattr(span, name) for name in span.__slots__ if name not in _NOT_COMPARED}
        text = dumps_sorted(parts | {"description": span.status.description})
    return blake2b(text, digest_size=DIGEST_SIZE).digest()
