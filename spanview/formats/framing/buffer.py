"""The bytes of a file that were fed and aren't framed yet."""

from __future__ import annotations

from typing import Final

_LF: Final = ord("\n")


class Buffer:
    """The front of what is left of a file from an offset on; positions count from its first byte."""

    __slots__ = ("_before", "data", "offset")

    def __init__(self, offset: int) -> None:
        self.data = b""
        self.offset = offset
        """Offset in the file of the first byte."""
        self._before = _LF

    def append(self, data: bytes) -> None:
        """Take the next bytes of the file."""
        self.data = self.data + data if self.data else data

    def cut(self, position: int) -> None:
        """Drop the bytes before a position."""
        self._before = self.byte_before(position)
        self.data = self.data[position:]
        self.offset += position

    def skip(self, size: int) -> None:
        """Continue after a hole of `size` bytes, as if at the start of a line; there must be no bytes left."""
        self.offset, self._before = self.offset + size, _LF

    def byte_before(self, position: int) -> int:
        """Return the byte before a position; a line end at the front of the file."""
        return self.data[position - 1] if position else self._before

    def is_line_start(self, position: int) -> bool:
        """Tell whether a line begins at a position."""
        return self.byte_before(position) == _LF
