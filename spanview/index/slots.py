"""A hash table of row numbers: 4 bytes a slot, because a dict of a million ids would outweigh the spans."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_SIZE: Final = 1024
_HALF: Final = 32
_FREE: Final = 0

IS_KNOWN_HASH: Final = (hash((4711, 2**64 - 1)), hash(2**127 - 5)) == (-3998393480211877877, 27)
"""Whether this Python computes hashes as they are computed for many rows at once, which doesn't work otherwise."""


def slot_hash(first: int, second: int) -> int:
    """Return the hash of a key of two integers; its last 32 bits depend on all of their bits.

    Those of Python's hash don't: ids that count in their first digits, as those of little-endian counters do, would
    all want the same slots.
    """
    key = hash((first, second))
    return key ^ key >> _HALF


class Slots:
    """Rows found by the hash of their key, one row a key; the keys themselves stay in the columns.

    Args:
        hash_of: Returns the hash of a row's key; asked again for every row when the table grows.
    """

    __slots__ = ("_again", "_hash_of", "_table", "mask", "used")

    def __init__(self, hash_of: Callable[[int], int]) -> None:
        self._hash_of = hash_of
        self._again: Callable[[int], array[int]] | None = None
        self._table = array("I", [_FREE]) * _FIRST_SIZE
        self.used = 0
        self.mask = _FIRST_SIZE - 1

    @property
    def table(self) -> array[int]:
        """Row number plus one, or 0 where free; probe from `hash & mask` on, one by one, to the first free slot."""
        if self._again is not None:
            self._table, self._again = self._again(self.mask + 1), None
        return self._table

    def give_up(self, again: Callable[[int], array[int]]) -> None:
        """Let go of the table until somebody asks for it.

        Args:
            again: Makes the same table, of so many slots.
        """
        self._table, self._again = array("I"), again

    def reserve(self, count: int) -> None:
        """Grow until so many more rows fit in; a caller that then fills slots on its own adds them to `used`."""
        size = self.mask + 1
        while (self.used + count) * 3 > size * 2:
            size *= 2
        if size > self.mask + 1:
            self._grow(size)

    def take(self, table: array[int], used: int) -> None:
        """Take over the slots of another one, of which so many are used."""
        self._table, self.mask, self.used, self._again = table, len(table) - 1, used, None

    def insert(self, row: int) -> None:
        """Put a row into the first free slot of its hash."""
        self.reserve(1)
        self._put(self.table, self.mask, row)
        self.used += 1

    def _put(self, table: array[int], mask: int, row: int) -> None:
        slot = self._hash_of(row) & mask
        while table[slot] != _FREE:
            slot = (slot + 1) & mask
        table[slot] = row + 1

    def _grow(self, size: int) -> None:
        table, mask = array("I", [_FREE]) * size, size - 1
        if self.used:
            for entry in self.table:
                if entry != _FREE:
                    self._put(table, mask, entry - 1)
        self._table, self.mask = table, mask
