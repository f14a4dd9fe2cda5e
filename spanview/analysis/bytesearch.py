r"""What the bytes of records say about an attribute, or about all texts, without decoding them.

the key isn't there      and no `\u0041` or `\/` that could spell it: no value
it is there once, as     `"key": `, in a record whose layout a scan has seen, with no object among its attributes:
                         the text, number or word after it is its value, and only that is decoded
anything else            the record is decoded

A text that may be anywhere is in no record whose bytes have neither the text nor an escape that could spell some of it;
all others are decoded.

A raw quote can't be within quotes: what begins and ends with one, and has no backslash before it, is a whole text.
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
"""A text without escapes, a number or a word, as in JSON; everything else is left to a decoder."""
_ESCAPES: Final = re.compile(rb"\\(?:/|u00[0-7]|u[dD][89a-fA-F])")
"""Escapes of printable ASCII, and those that may become some when a value is written again."""
_MAX_KNOWN_VALUES: Final = 65_536
_MAX_KNOWN_BYTES: Final = 256
"""Bytes of a value that is remembered; longer ones rarely come again."""
_SAMPLE_BYTES: Final = 64 * 1024
_MAX_ESCAPE_BYTES: Final = 6
"""Bytes of the longest escape."""


class ByteSearch:
    """Searches for one attribute.

    Args:
        wanted: Its key, and what it must equal.
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
        """Verdicts on values, as they are written."""
        self._rare: int | None = None

    def verdicts(self, block: Block, are_scanned: Flags) -> Verdicts:
        """Return for each record of a block `NO`, `YES` or `UNKNOWN`.

        Args:
            block: The records.
            are_scanned: Which of them have a layout that a scan has recognized.
        """
        verdicts = np.full(len(block.rows), UNKNOWN, np.uint8)
        if block.data is None or not self._key:
            return verdicts
        # Comparisons may reach a little beyond the end.
        padding = len(self._key) + len(self._value) + _MAX_ESCAPE_BYTES + len(b": ")
        buffer = np.frombuffer(block.data + bytes(padding), np.uint8)
        keys = self._keys(buffer)
        counts = _counts(keys, block)
        verdicts[counts == 0] = NO
        once = (counts == 1) & are_scanned
        if once.any() and not self._is_field:
            once &= _counts(np.flatnonzero(buffer == ord("{")), block) == _BRACES
            key_offsets = keys[np.minimum(np.searchsorted(keys, block.starts), len(keys) - 1)]
            once &= _matches_at(buffer, key_offsets + len(self._key), b": ") & (
                buffer[np.maximum(key_offsets - 1, 0)] != ord("\\")
            )
            value_offsets = key_offsets + len(self._key) + len(b": ")
            if self._is_equal:
                # Of texts, the bytes decide; the others may be numbers that are equal.
                are_texts = once & (buffer[np.minimum(value_offsets, len(buffer) - 1)] == ord('"'))
                verdicts[are_texts] = np.where(_matches_at(buffer, value_offsets[are_texts], self._value), YES, NO)
                once &= ~are_texts
            verdicts[once] = [self._verdict(block.data, offset) for offset in value_offsets[once].tolist()]
        verdicts[_are_escaped(block, buffer)] = UNKNOWN
        return verdicts

    def _verdict(self, data: bytes, offset: int) -> int:
        """Return the verdict on the value at an offset."""
        match = _VALUE.match(data, offset)
        if match is None:
            return UNKNOWN
        verdict = self._known.get(match[1])
        if verdict is None:
            try:
                verdict = YES if self._holds([orjson.loads(match[1])]) else NO
            except orjson.JSONDecodeError:
                verdict = UNKNOWN
            if len(self._known) < _MAX_KNOWN_VALUES and len(match[1]) <= _MAX_KNOWN_BYTES:
                self._known[match[1]] = verdict
        return verdict

    def _keys(self, buffer: Bytes) -> Places:
        """Return where the quoted key is."""
        if self._rare is None:
            # Its rarest byte is searched for first.
            frequency = np.bincount(buffer[:_SAMPLE_BYTES], minlength=256)
            self._rare = int(np.argmin(frequency[np.frombuffer(self._key, np.uint8)]))
        offsets = np.flatnonzero(buffer == self._key[self._rare]) - self._rare
        offsets = offsets[(offsets >= 0) & (offsets <= len(buffer) - len(self._key))]
        return offsets[_matches_at(buffer, offsets, self._key)]


class TextSearch:
    """Searches for one text anywhere in records.

    Args:
        wanted: The text.
    """

    def __init__(self, wanted: OfTexts) -> None:
        self._text = re.compile(re.escape(wanted.text.encode()))

    def verdicts(self, block: Block, _are_scanned: Flags) -> Verdicts:
        """Return for each record of a block `NO` or `UNKNOWN`."""
        if block.data is None:
            return np.full(len(block.rows), UNKNOWN, np.uint8)
        counts = [_counts(_offsets(pattern, block.data), block) for pattern in (self._text, _ESCAPES)]
        return np.where((counts[0] == 0) & (counts[1] == 0), NO, UNKNOWN).astype(np.uint8)


def _offsets(pattern: re.Pattern[bytes], data: bytes) -> Places:
    return np.fromiter((match.start() for match in pattern.finditer(data)), np.int64)


def _matches_at(buffer: Bytes, offsets: Places, text: bytes) -> Flags:
    """Return at which offsets a text is."""
    matches: Flags = (rows_at(buffer, offsets, len(text)) == np.frombuffer(text, np.uint8)).all(axis=1)
    return matches


def _counts(offsets: Places, block: Block) -> Places:
    """Return how many of these offsets are in each record."""
    return np.searchsorted(offsets, block.ends) - np.searchsorted(offsets, block.starts)


def _are_escaped(block: Block, buffer: Bytes) -> Flags:
    """Return in which records printable ASCII may be written as an escape."""
    if block.data is None or b"\\" not in block.data:
        return np.zeros(len(block.rows), np.bool_)
    offsets = np.flatnonzero(buffer == ord("\\"))
    are_escapes = _matches_at(buffer, offsets, b"\\/") | (
        _matches_at(buffer, offsets, b"\\u00") & (buffer[offsets + 4] >= ord("2")) & (buffer[offsets + 4] <= ord("7"))
    )
    return _counts(offsets[are_escapes], block) > 0
