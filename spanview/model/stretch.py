"""A stretch of a file, recognised later by its checksum."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Stretch:
    """Bytes that are known by their checksum, which is made from what was read, never from what is there later."""

    __slots__ = ("_hash", "_length", "_offset")

    def __init__(self, offset: int) -> None:
        self._offset, self._length, self._hash = offset, 0, blake2b(digest_size=16)

    def extend(self, offset: int, data: bytes, most: int) -> None:
        """Take in the bytes at an offset where they follow, up to so many in all."""
        if data and offset == self._offset + self._length and self._length < most:
            taken = data[: most - self._length]
            self._hash.update(taken)
            self._length += len(taken)

    def is_read_by(self, read: Callable[[int, int], bytes]) -> bool:
        """Tell whether a file has these bytes.

        Args:
            read: Returns so many bytes of the file at an offset, fewer at its end.
        """
        if not self._length:
            return True
        return blake2b(read(self._length, self._offset), digest_size=16).digest() == self._hash.digest()
