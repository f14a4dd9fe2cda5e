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
_MAX_WIDTH: Final = 4096
"""Bytes of a text that is looked up; a longer one has no number."""
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
        if len(words) > 1 and (words[1:] == words[0]).all():
            # Often, all are the same.
            return np.repeat(self.find(words[:1], number_of), len(words))
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


class KnownTexts:
    """Texts of any widths, and their numbers.

    Args:
        number_of: Returns the number of a text; called once for each new one.
        are_numbers_alike: Whether texts are the same that differ in the digits of their numbers only. A zero is no
            other number, and no front of one.
    """

    def __init__(self, number_of: Callable[[bytes], int], *, are_numbers_alike: bool = False) -> None:
        self._number_of, self._are_numbers_alike = number_of, are_numbers_alike
        self._known: dict[int, KnownRows] = {}

    def find(self, buffer: Bytes, begins: Places, ends: Places) -> NDArray[np.int64]:
        """Return the number of the text between each two places, `NO_NUMBER` for what has none."""
        widths = ends - begins
        numbers = np.full(len(widths), NO_NUMBER)
        counts = np.bincount(widths[(widths > 0) & (widths <= _MAX_WIDTH)])
        for width in np.flatnonzero(counts).tolist():
            chosen = np.flatnonzero(widths == width)
            known = self._known.get(width) or self._known.setdefault(width, KnownRows(width))
            places = begins[chosen]

            def number_of(index: int, width: int = width, places: Places = places) -> int:
                return self._number_of(buffer[places[index] : places[index] + width].tobytes())

            if not self._are_numbers_alike:
                numbers[chosen] = known.find_at(buffer, places, number_of)
                continue
            rows = np.zeros((len(chosen), -(-width // WORD) * WORD), np.uint8)
            rows[:, :width] = rows_at(buffer, places, width)
            numbers[chosen] = known.find(_with_equal_numbers(rows).view(np.uint64), number_of)
        return numbers


def _with_equal_numbers(rows: Bytes) -> Bytes:
    """Return rows in which each digit is a one, but for zeros with no digit before them."""
    # No text begins with a digit.
    flat = rows.reshape(-1)
    are_digits = flat - np.uint8(ord("0")) <= 9  # noqa: PLR2004
    are_digits[1:] &= are_digits[:-1] | (flat[1:] != ord("0"))
    flat[are_digits] = ord("1")
    return rows
