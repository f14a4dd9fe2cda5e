"""A file of lines that may be huge, and may grow: read where it is looked at, never as a whole.

A line begins behind the end of the one before it. One that is longer than `MAX_LINE_BYTES` is cut at the multiples of
that number, so that the same lines are found from both sides: of a line that began at `start`, the next one begins at
the first multiple from `start + MAX_LINE_BYTES` on.

  LF | start ....................... | multiple .......... | multiple ..... LF
       at least MAX_LINE_BYTES         MAX_LINE_BYTES        the rest
"""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from spanview.sources.descriptors import read_at
from spanview.sources.details import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.telling import Tell

MAX_LINE_BYTES: Final = 64 * 1024
_BLOCK_BYTES: Final = 256 * 1024
_MAX_BLOCKS: Final = 16
_SEARCH_BYTES: Final = 4 * 1024 * 1024
_HEAD_BYTES: Final = 1024
_END: Final = b"\n"


class LineFile:
    """An open file, read in blocks, of which the last few are kept.

    Raises:
        OSError: It can't be opened, or is no regular file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = Lock()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        # Logs are opened by links, too: `session_latest` is one.
        self._descriptor, status = open_regular(path, by_links=True)
        self._identity = status.st_dev, status.st_ino
        self.size = status.st_size
        """As far as it is looked at; `look` takes note of more."""
        self._head = self._fresh(0, min(self.size, _HEAD_BYTES))
        """How it begins: one that was truncated may have grown beyond what it had."""

    def close(self) -> None:
        """Let go of the file; nothing can be read afterwards."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)

    def __del__(self) -> None:
        # One that couldn't be opened has no descriptor.
        if hasattr(self, "_descriptor"):
            self.close()

    # -- what has changed --------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Take note of what was appended; return False where the path has another file, or the file was truncated."""
        try:
            opened = os.fstat(self._descriptor)
        except OSError:
            return True
        # Where it was removed, or is being replaced, what is open stays readable.
        with suppress(OSError):
            now = os.stat(self.path)
            if (now.st_dev, now.st_ino) != self._identity:
                return False
        if opened.st_size < self.size:
            return False
        if opened.st_size > self.size:
            if self._fresh(0, len(self._head)) != self._head:
                return False
            with self._lock:
                # The last block has more by now.
                self._blocks.pop(self.size // _BLOCK_BYTES, None)
                self.size = opened.st_size
        return True

    # -- bytes -------------------------------------------------------------------------------------------------------

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file, fewer at its end; none where it can't be read any more."""
        end = min(offset + length, self.size)
        pieces = []
        while offset < end:
            number, start = divmod(offset, _BLOCK_BYTES)
            piece = self._block(number)[start : start + end - offset]
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)

    def _block(self, number: int) -> bytes:
        with self._lock:
            block = self._blocks.get(number)
            if block is None:
                offset = number * _BLOCK_BYTES
                try:
                    block = read_at(self._descriptor, min(_BLOCK_BYTES, self.size - offset), offset)
                except OSError:
                    block = b""
                self._blocks[number] = block
                if len(self._blocks) > _MAX_BLOCKS:
                    self._blocks.popitem(last=False)
            else:
                self._blocks.move_to_end(number)
            return block

    # -- lines -------------------------------------------------------------------------------------------------------

    def line_start(self, offset: int) -> int:
        """Return where the line begins that the byte at an offset belongs to."""
        offset = max(0, min(offset, self.size))
        first = max(0, offset - 2 * MAX_LINE_BYTES)
        end = self.read(first, offset - first).rfind(_END)
        if end >= 0 or not first:
            start = first + end + 1
            if offset < _next_cut(start):
                return start
        return offset - offset % MAX_LINE_BYTES

    def line_end(self, start: int) -> int:
        """Return where the line after the one that begins at `start` begins, or the file ends."""
        most = _next_cut(start)
        end = self.read(start, most - start).find(_END)
        return start + end + 1 if end >= 0 else min(most, self.size)

    def line(self, start: int) -> bytes:
        """Return the line that begins at `start`, without its end."""
        return self.read(start, self.line_end(start) - start).rstrip(b"\r\n")

    def starts_from(self, start: int, count: int) -> list[int]:
        """Return where up to so many lines begin, the first one at `start`."""
        starts: list[int] = []
        while start < self.size and len(starts) < count:
            starts.append(start)
            start = self.line_end(start)
        return starts

    def starts_before(self, start: int, count: int) -> list[int]:
        """Return where up to so many lines begin that come before the one at `start`, in the file's order."""
        starts: list[int] = []
        while start > 0 and len(starts) < count:
            start = self.line_start(start - 1)
            starts.append(start)
        return starts[::-1]

    def lines_from(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield where each line begins and what it says, without its end, from the one that begins at `start` on."""
        while start < self.size:
            data = self.read(start, _BLOCK_BYTES)
            if not data:
                return
            begin = 0
            while (end := data.find(_END, begin)) >= 0 and start + end < _next_cut(start + begin):
                yield start + begin, data[begin:end].rstrip(b"\r")
                begin = end + 1
            start += begin
            if not begin:
                # One line is longer than it may be, or the last one has no end.
                end = self.line_end(start)
                yield start, data[: end - start].rstrip(b"\r\n")
                start = end

    # -- searching ---------------------------------------------------------------------------------------------------

    def find(self, needle: bytes, start: int, by: int, tell: Tell, *, folds_case: bool) -> int | None:
        """Return the start of the next line with a text in it, or of the one before; None where there is none.

        Args:
            start: The start of a line. Searched is what comes before it, or what begins there.
            by: -1 for what comes before, 1 for what comes from there on.
        """
        if folds_case:
            needle = needle.lower()
        overlap = len(needle) - 1
        position = start
        total = max(1, self.size - start if by > 0 else start)
        while position < self.size if by > 0 else position > 0:
            tell(abs(position - start) / total)
            first = position if by > 0 else max(0, position - _SEARCH_BYTES)
            last = min(position + _SEARCH_BYTES, self.size) if by > 0 else position
            # What stands across the end of a piece is found with the piece that it begins in.
            data = self._fresh(first, min(last + overlap, self.size if by > 0 else start) - first)
            if folds_case:
                data = data.lower()
            index = data.find(needle) if by > 0 else data.rfind(needle)
            if index >= 0:
                return self.line_start(first + index)
            position = last if by > 0 else first
        return None

    def _fresh(self, offset: int, length: int) -> bytes:
        """Return bytes that aren't kept: who searches passes through everything once."""
        with self._lock:
            try:
                return read_at(self._descriptor, length, offset)
            except OSError:
                return b""


def _next_cut(start: int) -> int:
    """Return where a line that begins at `start` is cut at the latest."""
    return -(-(start + MAX_LINE_BYTES) // MAX_LINE_BYTES) * MAX_LINE_BYTES
