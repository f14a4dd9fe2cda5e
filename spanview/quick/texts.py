"""Texts of records, and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from spanview.index.gather import rows_at
from spanview.quick.known_rows import NO_NUMBER, KnownRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes

_NAME_BYTES: Final = 64
"""Bytes of a name, its quote included, that are compared for all records at once."""
_QUOTE, _BACKSLASH = b'"\\'
_NAME_MASKS: Final = (np.tri(_NAME_BYTES, _NAME_BYTES, -1, np.uint8) * np.uint8(255)).view(np.uint64)
"""For each length of a name, the words that mask what follows it."""


class TextNumbers(dict[bytes, int]):
    """Texts as in JSON, without their quotes, and the numbers of their values; -1 for what isn't a text."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        """The texts themselves, in the order of their numbers."""

    def __missing__(self, raw: bytes) -> int:
        try:
            number = self.number(orjson.loads(b'"' + raw + b'"'))
        except orjson.JSONDecodeError:
            number = NO_NUMBER
        self[raw] = number
        return number

    def number(self, text: str) -> int:
        """Return the number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))

    def numbers_of(self, texts: Sequence[str]) -> NDArray[np.uint32]:
        """Return the numbers of texts."""
        for text in {*texts}.difference(self.numbers):
            self.number(text)
        return np.array([*map(self.numbers.__getitem__, texts)], np.uint32)


class Names:
    """The names that were seen, looked up for many records at once."""

    def __init__(self) -> None:
        self.numbers = TextNumbers()
        self._known = KnownRows(_NAME_BYTES)

    def texts_at(self, buffer: Bytes, positions: Places) -> tuple[Bytes, Places]:
        """Return the bytes from the start of each name on, and how many are before a quote or an escape.

        Of a name that is too long there are none.
        """
        texts = rows_at(buffer, positions, _NAME_BYTES)
        return texts, ((texts == _QUOTE) | (texts == _BACKSLASH)).argmax(axis=1)

    def find(self, texts: Bytes, lengths: Places, fits: Flags) -> NDArray[np.int64]:
        """Return the numbers of names; `NO_NUMBER` for those that don't fit: have an escape, or are too long."""
        if not fits.all():
            numbers = np.full(len(fits), NO_NUMBER, np.int64)
            numbers[fits] = self.find(texts[fits], lengths[fits], fits[fits])
            return numbers
        words = texts.view(np.uint64) & _NAME_MASKS.take(lengths, axis=0)
        return self._known.find(words, lambda row: self.numbers[texts[row, : lengths[row]].tobytes()])
