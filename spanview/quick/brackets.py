"""Where the brackets of lines of JSON are, outside of texts, and how deep: many lines at once, without decoding them.

line      {"a": [1, "}"], "b": {}}
brackets  {      [       ]       {}}
depths    1      2       1       210    after each
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.index.gather import places_of, word, words_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places, Words
    from spanview.index.gather import Bytes

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = b'"\\{}'
_CASE: Final = np.uint8(0x20)
"""What makes a square bracket a curly one."""
_WORD_BITS: Final = 64
_BLOCK_BYTES: Final = 128 * 1024
"""Bytes that are looked at together: more would leave the processor's cache."""
_MAX_DEPTH: Final = 127
"""What is deeper isn't told apart."""
_MIN_BYTE: Final = -128


class Objects(NamedTuple):
    """Some objects, or lists, in the order of their beginnings."""

    opens: Places
    """Where each begins, as an index of brackets."""
    closes: Places
    """Where each ends, likewise."""


class Brackets:
    """The brackets of some lines, each of which is one whole object as far as its brackets say.

    Args:
        buffer: The bytes, with a margin after them.
        starts: Where each line begins: at a brace.
        ends: Where each line ends: after a brace.
    """

    def __init__(self, buffer: Bytes, starts: Places, ends: Places) -> None:
        begin, end = int(starts[0]), int(ends[-1])
        self.positions = _outside_of_texts(buffer, begin, end, starts) + begin
        signs = (buffer[self.positions] | _CASE == _OPEN).view(np.int8) * np.int8(2) - np.int8(1)
        depths = np.cumsum(signs, dtype=np.int8)
        # Going step by step, none gets past the least or the greatest of all bytes without having been there.
        if not _MIN_BYTE < depths.min(initial=0) <= depths.max(initial=0) < _MAX_DEPTH:
            depths = np.cumsum(signs, dtype=np.int32)
        firsts, lasts = (np.searchsorted(self.positions, places) for places in (starts, ends - 1))
        bases = np.where(firsts > 0, depths[firsts - 1], 0)
        fits = lasts < len(depths)
        lasts = np.minimum(lasts, len(depths) - 1)
        fits &= (self.positions[np.minimum(firsts, len(depths) - 1)] == starts) & (self.positions[lasts] == ends - 1)
        if bases.any():
            # What was not balanced before a line isn't a part of it.
            depths = depths.astype(np.int32)
            depths[firsts[0] :] -= np.repeat(bases, np.diff(firsts, append=len(depths)))
        chosen = np.flatnonzero(fits & (lasts > firsts))
        least = np.minimum.reduceat(depths, np.stack([firsts[chosen], lasts[chosen]], axis=1).ravel())[::2]
        chosen = chosen[(least > 0) & (depths[lasts[chosen]] == 0)]
        self.lines = chosen
        """The indexes of these lines."""
        # Of what opens its depth, of what closes the opposite of that: bytes are quicker to search.
        self._levels = np.minimum(depths, _MAX_DEPTH).astype(np.int8)
        self._levels ^= signs >> 1
        if (lasts[chosen] - firsts[chosen] + 1).sum() < len(depths):
            steps = np.zeros(len(depths) + 1, np.int8)
            steps[firsts[chosen]] += 1
            steps[lasts[chosen] + 1] -= 1
            self._levels[np.cumsum(steps[:-1], dtype=np.int8) == 0] = 0
        self._buffer = buffer

    def at(self, depth: int, key: bytes = b"") -> Objects:
        """Return the objects and lists that have so many brackets open, their own among them.

        Args:
            key: What they begin with, up to eight bytes that aren't white space.
        """
        opens, closes = (np.flatnonzero(self._levels == level) for level in (depth, -depth))
        if not key:
            return Objects(opens, closes)
        mask = np.uint64(word(b"\xff" * len(key)))
        chosen = np.flatnonzero(words_at(self._buffer, self.positions[opens]) & mask == np.uint64(word(key)))
        return Objects(opens[chosen], closes[chosen])


def _outside_of_texts(buffer: Bytes, begin: int, end: int, starts: Places) -> Places:
    """Return where brackets are outside of texts, from a place on."""
    count = -(-(end - begin) // _WORD_BITS) * _WORD_BITS
    size = min(count, _BLOCK_BYTES)
    quotes, opens = np.empty(count // _WORD_BITS, np.uint64), np.empty(count // _WORD_BITS, np.uint64)
    flags, more = np.empty(size, np.bool_), np.empty(size, np.bool_)
    for first in range(0, count, size):
        part = buffer[begin + first : begin + min(first + size, count)]
        words = slice(first // _WORD_BITS, (first + len(part)) // _WORD_BITS)
        np.equal(part, _QUOTE, out=flags[: len(part)])
        if np.equal(part, _BACKSLASH, out=more[: len(part)]).any():
            _clear_escaped(buffer, begin + first, flags[: len(part)], more[: len(part)])
        quotes[words] = _bits(flags[: len(part)])
        folded = np.bitwise_or(part, _CASE, out=more[: len(part)].view(np.uint8))
        found = np.equal(folded, _OPEN, out=flags[: len(part)])
        found |= np.equal(folded, _CLOSE)
        opens[words] = _bits(found)
    if (end - begin) % _WORD_BITS:
        # What follows the last line is none of it.
        opens[-1] &= np.uint64((1 << (end - begin) % _WORD_BITS) - 1)
    are_texts = _texts(quotes)
    places = starts - begin
    inside = _bit_at(are_texts, np.maximum(places - 1, 0)) & (places > 0)
    if inside.any():
        # No text goes on in another line.
        changes = np.flatnonzero(np.diff(inside, prepend=False))
        before = places[changes] - 1
        np.bitwise_xor.at(quotes, before // _WORD_BITS, np.uint64(1) << (before % _WORD_BITS).astype(np.uint64))
        are_texts = _texts(quotes)
    opens &= ~are_texts
    return np.flatnonzero(np.unpackbits(opens.view(np.uint8), bitorder="little").view(np.bool_))


def _clear_escaped(buffer: Bytes, begin: int, quotes: Flags, backslashes: Flags) -> None:
    """Clear the flags of quotes that are escaped: behind an odd number of backslashes."""
    behind = np.zeros(len(quotes) + 8, np.bool_)
    np.logical_and(quotes[1:], backslashes[:-1], out=behind[1 : len(quotes)])
    behind[0] = quotes[0] and begin and buffer[begin - 1] == _BACKSLASH
    places = places_of(behind, len(quotes))
    are_odd, going_on = np.ones(len(places), np.bool_), np.arange(len(places))
    back = places + begin - 2
    while len(going_on := going_on[(back[going_on] >= 0) & (buffer[back[going_on]] == _BACKSLASH)]):
        are_odd[going_on] ^= True
        back[going_on] -= 1
    quotes[places[are_odd]] = False


def _bits(flags: Flags) -> Words:
    return np.packbits(flags, bitorder="little").view(np.uint64)


def _texts(quotes: Words) -> Words:
    """Return the bits of texts, opening quotes included, of the bits of quotes."""
    inside = quotes.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        inside ^= inside << np.uint64(distance)
    ends_inside = np.logical_xor.accumulate((inside >> np.uint64(_WORD_BITS - 1)).astype(np.bool_))
    inside[1:] ^= np.where(ends_inside[:-1], np.uint64(2**64 - 1), np.uint64(0))
    return inside


def _bit_at(bits: Words, places: Places) -> Flags:
    shifted = bits[places // _WORD_BITS] >> (places % _WORD_BITS).astype(np.uint64)
    flags: NDArray[np.bool_] = (shifted & np.uint64(1)).astype(np.bool_)
    return flags
