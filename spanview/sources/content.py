"""What can't be read again where it came from: kept in the spool while it is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.formats.decoder import Decoder

if TYPE_CHECKING:
    from spanview.sources.spool import Spool
    from spanview.sources.terms import ReadOptions, Sink


class Content:
    """The content of a stream, or of a compressed file, from its first byte on."""

    def __init__(self, path: str, source: int, sink: Sink, spool: Spool, options: ReadOptions) -> None:
        self._path, self._source = path, source
        self._sink, self._spool, self._options = sink, spool, options
        self._decoder = Decoder(cap=options.cap)
        self.size = 0
        """Bytes so far."""

    def take(self, data: bytes, count: int) -> None:
        """Take the next bytes.

        Args:
            count: How many bytes of the stream or file were read for them.
        """
        self._sink.tallies.add_bytes(self._path, count, content=len(data))
        if not data:
            return
        self._spool.write(self._source, self.size, data)
        self.size += len(data)
        self._sink.add(self._source, self._decoder.feed(data))
        if not self._options.keep_details:
            self._spool.forget(self._source, self._decoder.offset)

    def flush(self) -> None:
        """Take what is complete without a line end, where more may come."""
        self._sink.add(self._source, self._decoder.tail())

    def close(self) -> None:
        """Take what is left at the end; data that still comes starts over."""
        self._sink.add(self._source, self._decoder.close())
        self._decoder = Decoder(cap=self._options.cap, offset=self.size)
