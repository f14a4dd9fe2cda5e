"""Bytes at many places of a buffer at once, and what they say.

Shapes: places are N integers; bytes are N x width.
"""

from __future__ import annotations

from binascii import Error, unhexlify
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places, Words

Bytes: TypeAlias = "NDArray[np.uint8]"

WORD: Final = 8
_HEX: Final = np.full(256, 255, np.uint8)
_HEX[np.frombuffer(b"0123456789abcdefABCDEF", np.uint8)] = [*range(16), *range(10, 16)]


def rows_at(buffer: Bytes, places: Places, width: int) -> Bytes:
    """Return so many bytes from each place on."""
    windows = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, strides=(1,))
    return windows[places].view(np.uint8).reshape(len(places), width)


def words_at(buffer: Bytes, places: Places) -> Words:
    """Return the eight bytes from each place on as one number."""
    windows = np.ndarray((len(buffer) - WORD + 1,), np.uint64, buffer, strides=(1,))
    return windows[places]


def places_of(flags: Flags, count: int) -> Places:
    """Return where flags are set, of which few are: of eight at a time, only those are looked at that aren't all clear.

    Args:
        flags: The flags, and room for seven more.
    """
    whole = -(-count // WORD) * WORD
    flags[count:whole] = False
    words = np.flatnonzero(flags[:whole].view(np.uint64) != 0)
    inner = np.flatnonzero(flags[:whole].view(f"V{WORD}")[words].view(np.bool_))
    return words[inner // WORD] * WORD + inner % WORD


def word(text: bytes) -> int:
    """Return up to eight bytes as a number, as `words_at` has them."""
    return int.from_bytes(text.ljust(WORD, b"\0"), "little")


class Template:
    """Literal bytes with gaps, each given as its width, that match anything."""

    __slots__ = ("_last", "_mask", "_text", "_width", "width")

    def __init__(self, *parts: bytes | int) -> None:
        text = b"".join(part if isinstance(part, bytes) else bytes(part) for part in parts)
        mask = b"".join(b"\xff" * len(part) if isinstance(part, bytes) else bytes(part) for part in parts)
        self.width = len(text)
        self._width = -(-self.width // WORD) * WORD
        self._text = np.frombuffer(text.ljust(self._width, b"\0"), np.uint64)
        # Where there are no gaps, only the last word has bytes that don't count.
        self._mask = np.frombuffer(mask.ljust(self._width, b"\0"), np.uint64) if b"\0" in mask else None
        self._last = np.uint64(word(b"\xff" * (self.width - self._width + WORD)))

    def take(self, buffer: Bytes, places: Places) -> tuple[Bytes, Flags]:
        """Return the bytes at each place, and where the literals match."""
        rows = rows_at(buffer, places, self._width)
        words = rows.view(np.uint64)
        if self._mask is None:
            words[:, -1] &= self._last
        else:
            words = words & self._mask
        fits = np.ones(len(rows), np.bool_)
        # Mostly nearly all fit: looking for the others is cheaper than asking row by row.
        fits[np.flatnonzero(words != self._text) // words.shape[1]] = False
        return rows, fits

    def fits(self, buffer: Bytes, places: Places, limits: Places) -> Flags:
        """Return which places aren't before their limits and have the literals; places may be before the buffer."""
        fits: Flags = (places >= limits) & self.take(buffer, np.maximum(places, 0))[1]
        return fits


class Choice:
    """One of some words, and the bytes after it.

    Args:
        texts: The words, each with what ends it; their second letters differ.
    """

    def __init__(self, texts: list[bytes]) -> None:
        fronts = [text[:WORD] for text in texts]
        # Nothing is the word that is none of them.
        self._words = np.array([*map(word, fronts), 1], np.uint64)
        self._masks = np.array([word(b"\xff" * len(front)) for front in fronts] + [0], np.uint64)
        self._widths = np.array([len(text) - 1 for text in texts] + [0])
        self._numbers = np.full(256, len(texts), np.uint8)
        self._numbers[[text[1] for text in texts]] = range(len(texts))

    def take(self, buffer: Bytes, places: Places) -> tuple[NDArray[np.uint8], Places, Flags]:
        """Return the number of the word at each place, where it ends, and where there is one."""
        numbers = self._numbers[buffer[places + 1]]
        fits = words_at(buffer, places) & self._masks[numbers] == self._words[numbers]
        return numbers, places + self._widths[numbers], fits


def ids_of(digits: Bytes) -> tuple[Words, Flags]:
    """Return the numbers that hexadecimal digits stand for, and where all are digits.

    Args:
        digits: N x 16k digits.

    Returns:
        N x k numbers.
    """
    shape = digits.shape[0], digits.shape[1] // 16
    fit = np.ones(len(digits), np.bool_)
    try:
        packed = np.frombuffer(unhexlify(digits.tobytes()), ">u8")
    except Error:
        values = _HEX[digits]
        fit = np.all(values < 16, axis=1)  # noqa: PLR2004
        values &= 15
        packed = (values[:, ::2] << 4 | values[:, 1::2]).view(">u8")
    return packed.reshape(shape).astype(np.uint64), fit
