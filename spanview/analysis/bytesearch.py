r"""What the bytes of records tell of an attribute, or of all texts, without decoding them.

the key isn't there      and no `\u0041` or `\/` that could spell it: no value
it is there once, as     `"key": `, in a record whose layout a scan has seen, with no object among its attributes:
                         the text, number or word behind it is its value, which alone is decoded
anything else            the record is to be decoded

Of a text that may stand anywhere, bytes without it, and without an escape that could spell some of it, tell that it
stands nowhere; all else is to be decoded.

Between quotes a raw quote can't stand: what begins and ends with one, and has no backslash before it, is a whole text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import orjson

from spanview.index.gather import rows_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.analysis.query_base import OfAttribute, OfTexts
    from spanview.index.arrays import Flags, Places
    from spanview.index.blocks import Block
    from spanview.index.gather import Bytes

Verdicts: TypeAlias = "NDArray[np.uint8]"

NO, YES, UNKNOWN = range(3)
"""What is known of a span: that it doesn't fit, that it does, or nothing."""

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]+")
"""Printable ASCII that JSON writes as it is."""
_FIELDS: Final = frozenset(
    re.findall(
        r"\w+",
        "name context trace_id span_id trace_state kind parent_id start_time end_time status status_code description "
        "attributes events links resource schema_url",
    )
)
"""What the layout itself has between quotes."""
_BRACES: Final = 6
"""Of the record, its context, status, attributes and resource, and those of the resource's attributes."""
_VALUE: Final = re.compile(
    rb'("[^"\\\x00-\x1f]*"|-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,20})?(?![.0-9eE])|true|false|null)(?=[,}\s])'
)
"""A text without escapes, a number or a word, as JSON has them; what else there is, is for a decoder."""
_ESCAPES: Final = re.compile(rb"\\(?:/|u00[0-7]|u[dD][89a-fA-F])")
"""What printable ASCII may be written as, or may come of it where a value is written anew."""
_MOST_KNOWN: Final = 65_536
_LONGEST_KNOWN: Final = 256
"""Bytes of a value that is kept; few of those that are longer come again."""
_SAMPLE: Final = 64 * 1024
_MOST_ESCAPE: Final = 6
"""Bytes of the longest escape."""


class ByteSearch:
    """Looks for one attribute.

    Args:
        wanted: Its key, and what it shall equal.
    """

    def __init__(self, wanted: OfAttribute) -> None:
        plain = _PLAIN.fullmatch(wanted.key) is not None
        self._key = f'"{wanted.key}"'.encode() if plain else b""
        self._is_field = wanted.key in _FIELDS
        value = wanted.text is not None and _PLAIN.fullmatch(wanted.text)
        self._value = f'"{wanted.text}"'.encode() if value else b'"'
        self._is_equal = bool(value)
        self._holds = wanted.holds
        self._known: dict[bytes, int] = {}
        """What is known of values as they are written."""
        self._rare: int | None = None

    def verdicts(self, block: Block, are_scanned: Flags) -> Verdicts:
        """Return for each record of a block `NO`, `YES` or `UNKNOWN`.

        Args:
            block: The records.
            are_scanned: Of which of them a scan has seen the layout.
        """
        found = np.full(len(block.rows), UNKNOWN, np.uint8)
        if block.data is None or not self._key:
            return found
        # There may be looked a little beyond the end.
        padding = len(self._key) + len(self._value) + _MOST_ESCAPE + len(b": ")
        buffer = np.frombuffer(block.data + bytes(padding), np.uint8)
        keys = self._keys(buffer)
        counts = _counts(keys, block)
        found[counts == 0] = NO
        once = (counts == 1) & are_scanned
        if once.any() and not self._is_field:
            once &= _counts(np.flatnonzero(buffer == ord("{")), block) == _BRACES
            at = keys[np.minimum(np.searchsorted(keys, block.starts), len(keys) - 1)]
            once &= _stands(buffer, at + len(self._key), b": ") & (buffer[np.maximum(at - 1, 0)] != ord("\\"))
            places = at + len(self._key) + len(b": ")
            if self._is_equal:
                # Of texts, the bytes decide; the others may be numbers that are equal.
                are_texts = once & (buffer[np.minimum(places, len(buffer) - 1)] == ord('"'))
                found[are_texts] = np.where(_stands(buffer, places[are_texts], self._value), YES, NO)
                once &= ~are_texts
            found[once] = [self._verdict(block.data, place) for place in places[once].tolist()]
        found[_are_escaped(block, buffer)] = UNKNOWN
        return found

    def _verdict(self, data: bytes, place: int) -> int:
        """Return what the value at a place says."""
        match = _VALUE.match(data, place)
        if match is None:
            return UNKNOWN
        verdict = self._known.get(match[1])
        if verdict is None:
            try:
                verdict = YES if self._holds([orjson.loads(match[1])]) else NO
            except orjson.JSONDecodeError:
                verdict = UNKNOWN
            if len(self._known) < _MOST_KNOWN and len(match[1]) <= _LONGEST_KNOWN:
                self._known[match[1]] = verdict
        return verdict

    def _keys(self, buffer: Bytes) -> Places:
        """Return where the key stands between quotes."""
        if self._rare is None:
            # Its rarest byte is looked for first.
            frequency = np.bincount(buffer[:_SAMPLE], minlength=256)
            self._rare = int(np.argmin(frequency[np.frombuffer(self._key, np.uint8)]))
        places = np.flatnonzero(buffer == self._key[self._rare]) - self._rare
        places = places[(places >= 0) & (places <= len(buffer) - len(self._key))]
        return places[_stands(buffer, places, self._key)]


class TextSearch:
    """Looks for one text anywhere in records.

    Args:
        wanted: The text.
    """

    def __init__(self, wanted: OfTexts) -> None:
        self._text = re.compile(re.escape(wanted.text.encode()))

    def verdicts(self, block: Block, _are_scanned: Flags) -> Verdicts:
        """Return for each record of a block `NO` or `UNKNOWN`."""
        if block.data is None:
            return np.full(len(block.rows), UNKNOWN, np.uint8)
        found = [_counts(_places(pattern, block.data), block) for pattern in (self._text, _ESCAPES)]
        return np.where((found[0] == 0) & (found[1] == 0), NO, UNKNOWN).astype(np.uint8)


def _places(pattern: re.Pattern[bytes], data: bytes) -> Places:
    return np.fromiter((match.start() for match in pattern.finditer(data)), np.int64)


def _stands(buffer: Bytes, places: Places, text: bytes) -> Flags:
    """Return at which places a text stands."""
    stands: Flags = (rows_at(buffer, places, len(text)) == np.frombuffer(text, np.uint8)).all(axis=1)
    return stands


def _counts(places: Places, block: Block) -> Places:
    """Return how many of some places are in each record."""
    return np.searchsorted(places, block.ends) - np.searchsorted(places, block.starts)


def _are_escaped(block: Block, buffer: Bytes) -> Flags:
    """Return in which records printable ASCII may be written as an escape."""
    if block.data is None or b"\\" not in block.data:
        return np.zeros(len(block.rows), np.bool_)
    places = np.flatnonzero(buffer == ord("\\"))
    are_odd = _stands(buffer, places, b"\\/") | (
        _stands(buffer, places, b"\\u00") & (buffer[places + 4] >= ord("2")) & (buffer[places + 4] <= ord("7"))
    )
    return _counts(places[are_odd], block) > 0
