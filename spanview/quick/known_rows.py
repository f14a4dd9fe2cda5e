"""Bytes that were seen before, looked up for many records at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.index.gather import WORD, rows_at, word

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Places, Words
    from spanview.index.gather import Bytes

NO_NUMBER: Final = -1
_MAX_ROWS: Final = 1024
"""If there are more, all are forgotten: looking them up gets slow."""
_LOOKUP_BYTES: Final = 64 * 1024
"""Bytes of rows that are looked up together; more would need new memory each time."""
_SPREAD: Final = np.array(
    [
        *(0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93),
        *(0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3),
    ],
    np.uint64,
)
"""Odd numbers, which spread words over 64 bits; equal sums are compared byte for byte."""


class KnownRows:
    """Rows of bytes of one width, and their numbers."""

    def __init__(self, width: int) -> None:
        self._width = width
        count = -(-width // WORD)
        rounds = np.arange(count, dtype=np.uint64) // np.uint64(len(_SPREAD))
        self._spread = np.resize(_SPREAD, count) + rounds * np.uint64(2)
        self._forget()

    def _forget(self) -> None:
        # An entry after all sums, so that a search always finds one.
        self._sums = np.array([2**64 - 1], np.uint64)
        self._words = np.zeros((1, len(self._spread)), np.uint64)
        self._numbers = np.array([NO_NUMBER])

    def find_at(self, buffer: Bytes, places: Places, number_of: Callable[[int], int]) -> NDArray[np.int64]:
        """Return the number of the row at each place, as `find` does; `number_of` gets the index of a place."""
        numbers = np.empty(len(places), np.int64)
        step = max(1, _LOOKUP_BYTES // self._width)
        for first in range(0, len(places), step):
            part = places[first : first + step]
            words = rows_at(buffer, part, len(self._spread) * WORD).view(np.uint64)
            if self._width % WORD:
                words[:, -1] &= np.uint64(word(b"\xff" * (self._width % WORD)))
            numbers[first : first + step] = self.find(words, lambda row, first=first: number_of(first + row))  # type: ignore[misc]
        return numbers

    def find(self, words: Words, number_of: Callable[[int], int]) -> NDArray[np.int64]:
        """Return the number of each row, `NO_NUMBER` for what has none.

        Args:
            words: The rows, N x as many words as the width has; bytes beyond the width are equal in all.
            number_of: Returns the number of the row at an index; called once for each new row.
        """
        sums = words @ self._spread
        positions = np.searchsorted(self._sums, sums)
        new = np.flatnonzero(self._sums[positions] != sums)
        if len(new):
            if len(self._sums) > _MAX_ROWS:
                self._forget()
                new = np.arange(len(sums))
            rows = new[np.unique(sums[new], return_index=True)[1]]
            numbers = [number_of(row) for row in rows.tolist()]
            known = np.append(sums[rows], self._sums)
            order = np.argsort(known)
            self._sums = known[order]
            self._words = np.concatenate([words[rows], self._words])[order]
            self._numbers = np.append(np.array(numbers, np.int64), self._numbers)[order]
            positions = np.searchsorted(self._sums, sums)
        result = self._numbers[positions]
        result[np.flatnonzero(self._words.take(positions, axis=0) != words) // words.shape[1]] = NO_NUMBER
        return result
