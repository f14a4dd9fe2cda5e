r"""What the bytes of records tell of an attribute without decoding them.

the key isn't there      and no `\u0041` or `\/` that could spell it: no value
it is there once, as     `"key": "`, in a record whose layout a scan has seen, with no object among its attributes:
                         its value is a text, and is the one that is asked for or not
anything else            the record is to be decoded

Between quotes a raw quote can't stand: what begins and ends with one, and has no backslash before it, is a whole text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from spanview.index.gather import rows_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.analysis.query_terms import OfAttribute
    from spanview.index.blocks import Block
    from spanview.index.bulk import Flags, Places
    from spanview.index.gather import Bytes

Verdicts: TypeAlias = "NDArray[np.uint8]"

NO, YES, UNKNOWN = range(3)
"""What is known of a span: that it doesn't fit, that it does, or nothing."""

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]+")
"""Printable ASCII that JSON writes as it is."""
_FIELDS: Final = frozenset(
    (
        *(
            "name",
            "context",
            "trace_id",
            "span_id",
            "trace_state",
            "kind",
            "parent_id",
            "start_time",
            "end_time",
            "status",
        ),
        *("status_code", "description", "attributes", "events", "links", "resource", "schema_url"),
    )
)
"""What the layout itself has between quotes."""
_BRACES: Final = 6
"""Of the record, its context, status, attributes and resource, and those of the resource's attributes."""
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
        value = wanted.text is not None and wanted.key not in _FIELDS and _PLAIN.fullmatch(wanted.text)
        self._value = f'"{wanted.text}"'.encode() if value else b""
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
        padding = len(self._key) + len(self._value) + _MOST_ESCAPE
        buffer = np.frombuffer(block.data + bytes(padding), np.uint8)
        keys = self._keys(buffer)
        counts = _counts(keys, block)
        found[counts == 0] = NO
        if self._value and (counts == 1).any():
            once = (counts == 1) & are_scanned
            once &= _counts(np.flatnonzero(buffer == ord("{")), block) == _BRACES
            at = keys[np.minimum(np.searchsorted(keys, block.starts), len(keys) - 1)]
            before = buffer[np.maximum(at - 1, 0)]
            once &= _stands(buffer, at + len(self._key), b': "') & (before != ord("\\"))
            fits = _stands(buffer, at + len(self._key) + len(b": "), self._value)
            found[once] = np.where(fits[once], YES, NO)
        found[_are_escaped(block, buffer)] = UNKNOWN
        return found

    def _keys(self, buffer: Bytes) -> Places:
        """Return where the key stands between quotes."""
        if self._rare is None:
            # Its rarest byte is looked for first.
            frequency = np.bincount(buffer[:_SAMPLE], minlength=256)
            self._rare = int(np.argmin(frequency[np.frombuffer(self._key, np.uint8)]))
        places = np.flatnonzero(buffer == self._key[self._rare]) - self._rare
        places = places[(places >= 0) & (places <= len(buffer) - len(self._key))]
        return places[_stands(buffer, places, self._key)]


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
