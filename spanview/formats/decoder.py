"""One file's bytes to batches: framing, recognition by content, and the columns of what is a span.

This is the general decoder. In large folders a scan stands in front of it, which leaves to it what is not as the SDK
itself writes it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from spanview.formats import console
from spanview.formats.framing import DEFAULT_CAP, Framer
from spanview.formats.jsontext import dumps_sorted, loads_exact
from spanview.formats.rows import Batch

if TYPE_CHECKING:
    from spanview.formats.frames import Frames
    from spanview.formats.rows import Details
    from spanview.model.span import Source, Span

DIGEST_SIZE: Final = 16
_UNIDENTIFIED: Final = frozenset(("source", "warnings"))


class Decoder:
    """The decoding of one file, from its first byte on; pieces of any size give the same spans.

    Args:
        cap: Bytes of the longest record that is kept.
        offset: Where in the file the first byte stands that `feed` will get.
    """

    __slots__ = ("_framer",)

    def __init__(self, *, cap: int = DEFAULT_CAP, offset: int = 0) -> None:
        self._framer = Framer(console.is_span, console.fields_of, cap=cap, offset=offset)

    @property
    def offset(self) -> int:
        """Offset in the file of the first byte that waits for more."""
        return self._framer.offset

    @property
    def waiting(self) -> bool:
        """Whether a record has begun that isn't whole yet."""
        return self._framer.waiting

    @property
    def is_clean(self) -> bool:
        """Whether what was fed has settled: it makes no difference who decodes the bytes from `offset` on."""
        return self._framer.is_clean

    def move_to(self, offset: int) -> None:
        """Go on at another offset, behind a line end, as if nothing had been fed; only where it `is_clean`."""
        self._framer.move_to(offset)

    @property
    def unread(self) -> bytes:
        """The bytes from `offset` on that wait for more."""
        return self._framer.unread

    def feed(self, data: bytes) -> Batch:
        """Take the next bytes and return the spans that they complete."""
        return batch_of(self.frame(data))

    def frame(self, data: bytes) -> Frames:
        """Take the next bytes and return the documents that they complete, for `batch_of` to make more of."""
        return self._framer.feed(data)

    def skip(self, size: int) -> Batch:
        """Pass over a hole of so many bytes and return the spans that end before it."""
        return batch_of(self._framer.skip(size))

    def tail(self) -> Batch:
        """Return the spans that are whole though no line end follows them; for a file that has become quiet."""
        return batch_of(self._framer.tail())

    def close(self) -> Batch:
        """Return what the end of the file settles."""
        return batch_of(self._framer.close())


def batch_of(frames: Frames) -> Batch:
    """Return the spans among documents, and what else there was."""
    documents = frames.documents
    skipped = []
    if {type(kept) for _, _, kept in documents} != {tuple}:
        skipped = [(at, size) for at, size, kept in documents if type(kept) is not tuple and not console.is_span(kept)]
        documents = [part for part in documents if type(part[2]) is tuple or console.is_span(part[2])]
    return Batch(
        columns=console.columns_of([kept for _, _, kept in documents]),
        offsets=[at for at, _, _ in documents],
        lengths=[size for _, size, _ in documents],
        gaps=frames.gaps,
        skipped=skipped,
        has_text=frames.has_text,
        repeated=frames.repeated,
        fragments=frames.fragments,
    )


def decode_span(record: bytes, source: Source) -> Span | None:
    """Return the span that a record holds, or None where it holds none.

    Args:
        record: The bytes of one whole record.
        source: Where it stands.
    """
    try:
        document = loads_exact(record)
    except ValueError:
        return None
    return console.span_of(document, source) if console.is_span(document) else None


def decode_details(record: bytes) -> Details | None:
    """Return what the columns don't have of the span that a record holds, or None where it holds none.

    Args:
        record: The bytes of one whole record.
    """
    try:
        document = loads_exact(record)
    except ValueError:
        return None
    return console.details_of(document) if console.is_span(document) else None


def digest_of(record: bytes, span: Span) -> bytes:
    """Return what two records have in common exactly when they are doubles.

    Doubles are equal as spans, value types included, whatever their layout, key order and place. Where an id is
    unusable, its spelling counts too.

    Args:
        record: The bytes of one whole record.
        span: What `decode_span` makes of it.
    """
    if span.trace_id is None or span.span_id is None:
        text = dumps_sorted(loads_exact(record))
    else:
        text = dumps_sorted({name: getattr(span, name) for name in span.__slots__ if name not in _UNIDENTIFIED})
    return blake2b(text, digest_size=DIGEST_SIZE).digest()
