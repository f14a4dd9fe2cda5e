"""One file that is read once, or again and again while it grows; it knows when it is not the same file any more."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from spanview.formats.decoder import Decoder
from spanview.sources.details import OPEN_FLAGS, is_file, read_at

if TYPE_CHECKING:
    from spanview.formats.rows import Batch
    from spanview.sources.discover import FoundFile

BLOCK: Final = 192 * 1024
"""Bytes that are read at once."""
_HEAD: Final = 1024
"""Bytes at the front of a file by which it is recognised."""
_TICK_NS: Final = 20_000_000
"""Longer than a file system's clock takes from one tick to the next, but for those that count whole seconds."""
_SECOND_NS: Final = 1_000_000_000


class FileTail:
    """A file, how far it was read, and by what it is recognised.

    Args:
        found: The file as the search found it.
        cap: Bytes of the longest record that is kept.

    Raises:
        OSError: It can't be opened, or isn't the file any more that the search found.
    """

    __slots__ = ("_descriptor", "_head", "_is_settled", "_last", "_stamp", "decoder", "found", "position", "source")

    def __init__(self, found: FoundFile, *, cap: int) -> None:
        self.found = found
        self.source = -1
        """Its number in the sink, which whoever opened it sets."""
        self.decoder = Decoder(cap=cap)
        self.position = 0
        """Bytes read so far."""
        self._descriptor: int | None = None
        self._head = (0, b"")
        self._last = (0, 0, b"")
        self._stamp: tuple[int, int] | None = None
        self._is_settled = True
        self._open()

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        return self.found.identity

    @property
    def is_open(self) -> bool:
        """Whether a descriptor is held."""
        return self._descriptor is not None

    def _open(self) -> int:
        if self._descriptor is None:
            descriptor = os.open(self.found.real, OPEN_FLAGS)
            if not is_file(descriptor, *self.identity):
                os.close(descriptor)
                raise FileNotFoundError(0, "the file was replaced while it was opened", self.found.real)
            self._descriptor = descriptor
        return self._descriptor

    def move(self, found: FoundFile) -> bool:
        """Go on where the file is now, shown as before; tell whether it is this file still.

        An inode alone doesn't say so: that of a removed file is given to the next one.
        """
        before, self.found = self.found, replace(found, shown=self.found.shown)
        try:
            is_same = not self.was_rewritten()
        except OSError:
            is_same = False
        if not is_same:
            self.found = before
        return is_same

    def close(self) -> None:
        """Give the descriptor back; the next read opens the file again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def has_news(self) -> bool:
        """Tell whether the file's size or time has changed since it was read last.

        Raises:
            OSError: The file can't be opened again.
        """
        status = os.fstat(self._open())
        stamp = status.st_size, status.st_mtime_ns
        if stamp == self._stamp:
            return False
        # Within one tick of the file system's clock a file can change again and keep its time.
        tick_ns = _TICK_NS if status.st_mtime_ns % _SECOND_NS else 2 * _SECOND_NS
        is_fresh = abs(time.time_ns() - status.st_mtime_ns) < tick_ns
        self._stamp = None if is_fresh else stamp
        return True

    def look_again(self) -> None:
        """Have news next time, whatever the file's size and time."""
        self._stamp = None

    def was_rewritten(self) -> bool:
        """Tell whether what was read already isn't there any more: the file was cut, or cut and written anew.

        Records of one width grow again to the same boundaries, so the front of the file and the whole last record
        are compared, not the size alone.
        """
        descriptor = self._open()
        if os.fstat(descriptor).st_size < self.position:
            return True
        length, digest = self._head
        if length and _digest(read_at(descriptor, length, 0)) != digest:
            return True
        offset, length, digest = self._last
        return bool(length) and _digest(read_at(descriptor, length, offset)) != digest

    def read(self) -> bytes:
        """Return the next bytes, at most `BLOCK`; empty at the end of the file, and where it was rewritten just now.

        Raises:
            OSError: The file can't be read.
        """
        stamp, self._stamp = self._stamp, None
        data = read_at(self._open(), BLOCK, self.position)
        # Looked at afterwards, because between a look and a read it could be cut and grow again beyond the position.
        if data and self.was_rewritten():
            return b""
        if self._head[0] < _HEAD and data:
            head = read_at(self._open(), min(_HEAD, self.position + len(data)), 0)
            self._head = len(head), _digest(head)
        self._stamp = stamp
        self.position += len(data)
        self._is_settled = self._is_settled and not data
        return data

    def decode(self, data: bytes) -> Batch:
        """Return the spans that bytes which were just read complete."""
        batch = self.decoder.feed(data)
        if batch.offsets:
            self._remember(batch.offsets[-1], batch.lengths[-1])
        return batch

    def _remember(self, offset: int, length: int) -> None:
        """Keep the checksum of the last whole record; a huge one is known by its front."""
        length = min(length, BLOCK)
        try:
            record = read_at(self._open(), length, offset)
        except OSError:
            # The spans are here already; the front of the file alone tells then whether it is the same.
            record = b""
        self._last = (offset, len(record), _digest(record))

    def settle(self) -> Batch | None:
        """Return the spans that are whole though no line end follows, once after each growth."""
        if self._is_settled or not self.decoder.waiting:
            return None
        self._is_settled = True
        return self.decoder.tail()


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
