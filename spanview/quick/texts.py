"""Texts of records, and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.formats.jsontext import loads_usual
from spanview.index.gather import rows_at
from spanview.quick.known_rows import NO_NUMBER, KnownRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.gather import Bytes

NAME_BYTES: Final = 64, 128
"""Bytes of names, their closing quotes included, that are compared for all records at once: up to so many, or more."""
_NAME_MASKS: Final = [(np.tri(width, dtype=np.uint8) * np.uint8(255)).view(np.uint64) for width in NAME_BYTES]
"""For each length of a name, the words that mask what follows its quote."""


class TextNumbers(dict[bytes, int]):
    """Texts as in JSON, without their quotes, and the numbers of their values; -1 for what isn't a text."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        """The texts themselves, in the order of their numbers."""

    def __missing__(self, raw: bytes) -> int:
        text = loads_usual(b'"' + raw + b'"')
        number = self[raw] = NO_NUMBER if text is None else self.number(text)
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
        self._known = [KnownRows(width) for width in NAME_BYTES]

    def find(self, buffer: Bytes, places: Places, lengths: Places) -> NDArray[np.int64]:
        """Return the number of the text of so many bytes at each place; `NO_NUMBER` for what is none in JSON."""
        numbers, least = np.full(len(lengths), NO_NUMBER), 0
        for width, masks, known in zip(NAME_BYTES, _NAME_MASKS, self._known, strict=True):
            chosen = np.flatnonzero((lengths >= least) & (lengths < width))
            least = width
            if len(chosen):
                texts, sizes = rows_at(buffer, places[chosen], width), lengths[chosen]

                def number_of(row: int, texts: Bytes = texts, sizes: Places = sizes) -> int:
                    return self.numbers[texts[row, : sizes[row]].tobytes()]

                numbers[chosen] = known.find(texts.view(np.uint64) & masks.take(sizes, axis=0), number_of)
        for index in np.flatnonzero(lengths >= least).tolist():
            numbers[index] = self.numbers[buffer[places[index] : places[index] + lengths[index]].tobytes()]
        return numbers
