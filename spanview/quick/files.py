"""What is scanned, and how."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.formats.decoder import Decoder

_MAX_ATTEMPTS: Final = 3
"""Tries of a failing read, because the file isn't read again later."""
_RETRY_PAUSE_S: Final = 0.02
_HEAD_BYTES: Final = 1024
_LAST_BYTES: Final = 2048
"""Bytes of the usual last record, and more."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How files are scanned."""

    cap: int
    """Bytes of the longest record that is kept."""
    decodes_all: bool = False
    """Whether each record that fits is decoded, too, and only taken if that gives the same."""
    leaves_ends: bool = False
    """Whether the files are read on later: what is unfinished at their ends is left open."""


class QuickFile:
    """A file, and how far it was read.

    Args:
        open: Returns a descriptor, which is closed here.
        offset: Where to begin: at the start of a record.
    """

    def __init__(self, source: int, open: Callable[[], int], offset: int = 0) -> None:  # noqa: A002 - it is what it does
        self.source, self.open = source, open
        self.offset = offset
        """How far it was read; the next page begins here."""
        self.decoder: Decoder | None = None
        """Decodes what doesn't fit; when all was read, it still has what is unfinished at the end of the file."""
        self.failure: OSError | None = None
        """Why it could not be read, or not further."""
        self.descriptor = -1
        self.is_read = False
        self.head = self.last = b""
        """The first bytes that were read, and the last, of files that are read on."""

    @property
    def reported_until(self) -> int:
        """All that begins before this offset was reported."""
        is_open = self.decoder is not None and self.decoder.waiting
        return self.decoder.offset if self.decoder is not None and is_open else self.offset

    def note_ends(self, data: bytes, offset: int) -> None:
        """Note what is compared when the file is read on, of bytes at an offset that were done with."""
        if not offset:
            self.head = data[:_HEAD_BYTES]
        self.last = data[-_LAST_BYTES:] or self.last

    def read_into(self, view: memoryview) -> int:
        """Read the next bytes; return how many, fewer than fit at the end of the file and where reading fails."""
        count = 0
        try:
            if self.descriptor < 0:
                self.descriptor = self.open()
            while count < len(view):
                size = self._read(view[count:], self.offset + count)
                if not size:
                    self.is_read = True
                    break
                count += size
        except OSError as error:
            self.failure, self.is_read = error, True
        if self.is_read and self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        return count

    def _read(self, view: memoryview, offset: int) -> int:
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                return os.preadv(self.descriptor, [view], offset)
            except OSError:
                if not attempts_left:
                    raise
                time.sleep(_RETRY_PAUSE_S)
        return 0


class ReadBytes(QuickFile):
    """Bytes of a file that were read already, from an offset on where a record begins."""

    def __init__(self, source: int, data: bytes, offset: int) -> None:
        super().__init__(source, lambda: -1, offset)
        self._data, self._begin = data, offset

    def read_into(self, view: memoryview) -> int:
        """Copy the next bytes; return how many."""
        piece = memoryview(self._data)[self.offset - self._begin :][: len(view)]
        view[: len(piece)] = piece
        self.is_read = self.offset + len(piece) == self._begin + len(self._data)
        return len(piece)
