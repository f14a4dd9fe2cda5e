"""A hash table of row numbers: 4 bytes a slot, because a dict of a million ids would outweigh the spans."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_INITIAL_SIZE: Final = 1024
_FREE: Final = 0

FIRST_FACTOR: Final = 0x85EBCA6B
SECOND_FACTOR: Final = 0x9E3779B97F4A7C15
"""Odd; the upper bits of products with them depend on all bits below. The second is 2^64 by the golden ratio."""
UPPER_HALF: Final = 2**32 - 1
_WORD_MASK: Final = 2**64 - 1


def slot_hash(first: int, second: int) -> int:
    """Return the hash of a key of two integers of up to 64 bits: 32 bits that depend on all of theirs.

    All is reckoned modulo 2^64, as numpy does it for many keys in `hashes_of`:

    key      = first * FIRST_FACTOR ^ second
    product  = (key ^ key >> 32) * SECOND_FACTOR
    hash     = upper half of the product, its own upper half folded into its lower one

    Ids may count in any of their digits, as those of little-endian counters do in their first: what is in the upper
    half of a key goes into its lower half, and the product carries that up again. The last bits of the upper half alone
    would repeat for ids that count by one, so those above are folded in.
    """
    key = (first * FIRST_FACTOR ^ second) & _WORD_MASK
    upper = (key ^ key >> 32) * SECOND_FACTOR >> 32 & UPPER_HALF
    return upper ^ upper >> 16


class Slots:
    """Rows found by the hash of their key, one row a key; the keys themselves stay in the columns.

    Args:
        hash_of: Returns the hash of a row's key; asked again for every row when the table grows.
    """

    __slots__ = ("_hash_of", "_make_table", "_table", "mask", "used")

    def __init__(self, hash_of: Callable[[int], int]) -> None:
        self._hash_of = hash_of
        self._make_table: Callable[[int], array[int]] | None = None
        self._table = array("I", [_FREE]) * _INITIAL_SIZE
        self.used = 0
        self.mask = _INITIAL_SIZE - 1

    @property
    def table(self) -> array[int]:
        """Row number plus one, or 0 where free; probe from `hash & mask` on, one by one, to the first free slot."""
        if self._make_table is not None:
            self._table, self._make_table = self._make_table(self.mask + 1), None
        return self._table

    def give_up(self, make_table: Callable[[int], array[int]]) -> None:
        """Release the table until it is needed.

        Args:
            make_table: Makes the same table, of so many slots.
        """
        self._table, self._make_table = array("I"), make_table

    def reserve(self, count: int) -> None:
        """Grow until so many more rows fit in; a caller that then fills slots on its own adds them to `used`."""
        size = self.size_for(count)
        if size > self.mask + 1:
            self._grow(size)

    def size_for(self, count: int) -> int:
        """Return how many slots there are if so many more rows come."""
        size = self.mask + 1
        while (self.used + count) * 3 > size * 2:
            size *= 2
        return size

    def take(self, table: array[int], used: int) -> None:
        """Take over the slots of another one, of which so many are used."""
        self._table, self.mask, self.used, self._make_table = table, len(table) - 1, used, None

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
        if self._make_table is None:
            entries, self._table = self._table, array("I", [_FREE]) * size
            for entry in entries if self.used else ():
                if entry != _FREE:
                    self._put(self._table, size - 1, entry - 1)
        self.mask = size - 1
