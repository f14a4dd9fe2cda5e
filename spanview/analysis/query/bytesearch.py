r"""What the bytes of records say about an attribute, or about all texts, without decoding them.

the key isn't there      and no `\u0041` or `\/` that could spell it: no value
it is there once, as     `"key": `, in a record whose layout a scan has seen, with no object among its attributes:
                         the text, number or word after it is its value, and only that is decoded
or as                    `{"key":"key","value":{`, in a line of OTLP whose layout a scan has seen, which has no other
                         lists than the usual ones: the same, also of two, the resource's and the span's
anything else            the record is decoded

A text that may be anywhere is in no record whose bytes have neither the text nor an escape that could spell some of it;
all others are decoded.

A raw quote can't be within quotes: what begins and ends with one, and has no backslash before it, is a whole text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from spanview.formats.jsontext import loads_usual
from spanview.index.gather import WORD, Template, places_of, rows_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.analysis.query.base import OfAttribute, OfTexts
    from spanview.index.arrays import Flags, Places
    from spanview.index.blocks import Block
    from spanview.index.gather import Bytes

Verdicts: TypeAlias = "NDArray[np.uint8]"

NO, YES, UNKNOWN = range(3)
"""What is known of a span: that it doesn't fit, that it does, or nothing."""

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]+")
"""Printable ASCII that JSON writes as it is."""
_OF_OTHERS: Final = re.compile(r"True|False|nan|-?inf|[-+.0-9e]+|[\[{].*")
"""Keys that may not have been texts in the file: these are read as text."""
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
_LINE: Final = b'{"resourceSpans":[{"resource":{"attributes":['
"""What a line of OTLP begins with."""
_SPANS, _SPAN = b'"spans":', b'[{"traceId":"'
"""What is around the fourth bracket of a line, where that begins the list of its span."""
_OF_RESOURCE, _OF_SPAN = (2, 0), (5, 1)
"""Lists that begin and end before an attribute of the resource, and before one of the span."""
_MAX_KEYS: Final = 2
"""A key may be one of the resource and one of the span."""
_PAIR, _PAIR_VALUE = b'{"key":', b',"value":{'
"""Before and after an attribute's key, where the attribute is in the list of the resource or of the span."""
_TEXT_VALUE, _TEXT_VALUE_END = b'"stringValue":"', b'"}}'
_ANY_VALUE: Final = re.compile(
    rb'(?:"stringValue":("[^"\\\x00-\x1f]*")|"intValue":"(0|-?[1-9][0-9]{0,17})"|"boolValue":(true|false)'
    rb'|"doubleValue":(-?(?:0|[1-9][0-9]{0,15})\.[0-9]{1,20}))\}\}'
)
"""An attribute's value as OTLP has it, with the ends of the value and of its pair."""
_ESCAPES: Final = re.compile(rb"\\(?:/|u00[0-7]|u[dD][89a-fA-F])")
"""Escapes of printable ASCII, and those that may become some when a value is written again."""
_MAX_KNOWN_VALUES: Final = 65_536
_MAX_KNOWN_BYTES: Final = 256
"""Bytes of a value that is remembered; longer ones rarely come again."""
_SAMPLE_BYTES: Final = 64 * 1024


class ByteSearch:
    """Searches for one attribute with one value."""

    def __init__(self, wanted: OfAttribute) -> None:
        plain = _PLAIN.fullmatch(wanted.key) and not _OF_OTHERS.fullmatch(wanted.key)
        self._key = f'"{wanted.key}"'.encode() if plain else b""
        self._is_field = wanted.key in _FIELDS
        value = wanted.text is not None and _PLAIN.fullmatch(wanted.text)
        self._value = f"{wanted.text}".encode() if value else b""
        self._is_equal = bool(value)
        self._holds = wanted.holds
        self._known: dict[bytes, int] = {}
        """Verdicts on values, as they are written."""
        self._rare: int | None = None

    def verdicts(self, block: Block, are_scanned: Flags) -> Verdicts:
        """Return for each record of a block `NO`, `YES` or `UNKNOWN`.

        Args:
            are_scanned: Which of them have a layout that a scan has recognized.
        """
        verdicts = np.full(len(block.rows), UNKNOWN, np.uint8)
        if block.data is None or not self._key:
            return verdicts
        # Comparisons may reach a little beyond the end.
        padding = len(self._key) + len(self._value) + len(_LINE) + 2 * WORD
        buffer = np.frombuffer(block.data + bytes(padding), np.uint8)
        keys = self._keys(buffer)
        counts = _counts(keys, block)
        verdicts[counts == 0] = NO
        few = np.flatnonzero((counts > 0) & (counts <= _MAX_KEYS) & are_scanned)
        if len(few):
            first = np.searchsorted(keys, block.starts[few])
            firsts, lasts, counts = keys[first], keys[first + counts[few] - 1], counts[few]
            are_lines = _matches_at(buffer, block.starts[few], _LINE)
            if are_lines.any():
                records = few[are_lines]
                verdicts[records] = self._decide_pairs(block, buffer, records, firsts[are_lines], lasts[are_lines])
            are_members = ~are_lines & (counts == 1)
            if are_members.any() and not self._is_field:
                records = few[are_members]
                verdicts[records] = self._decide_members(block, buffer, records, firsts[are_members])
        verdicts[_are_escaped(block, buffer)] = UNKNOWN
        return verdicts

    def _decide_members(self, block: Block, buffer: Bytes, records: Places, keys: Places) -> Verdicts:
        """Return the verdicts on records of the SDK, each of which has the key at one offset."""
        verdicts = np.full(len(records), UNKNOWN, np.uint8)
        values = keys + len(self._key) + len(b": ")
        fit = _matches_at(buffer, values - len(b": "), b": ") & (buffer[np.maximum(keys - 1, 0)] != ord("\\"))
        if self._is_equal:
            # Of texts, the bytes decide, wherever the key is; the others may be numbers that are equal.
            are_texts = fit & (buffer[values] == ord('"'))
            are_same = are_texts & _matches_at(buffer, values, b'"' + self._value + b'"')
            verdicts[are_texts & ~are_same] = NO
            fit &= are_same | ~are_texts
        if not fit.any():
            return verdicts
        fit &= _counts(_places_of(buffer, ord("{")), block)[records] == _BRACES
        if self._is_equal:
            verdicts[fit & are_same] = YES
            fit &= ~are_same
        data = block.data or b""
        verdicts[fit] = [self._verdict(_VALUE.match(data, offset)) for offset in values[fit].tolist()]
        return verdicts

    def _decide_pairs(self, block: Block, buffer: Bytes, records: Places, firsts: Places, lasts: Places) -> Verdicts:
        """Return the verdicts on lines of OTLP, each of which has the quoted key at one offset, or at two.

        How many lists begin and end before a key tells in which one it is: what comes before the span was decoded once,
        and its layout was seen up to its attributes.
        """
        begins, ends = (_places_of(buffer, ord(bracket)) for bracket in "[]")
        first_begins, first_ends = (np.searchsorted(offsets, block.starts[records]) for offsets in (begins, ends))

        def are_in(keys: Places, begun: int, ended: int) -> Flags:
            are: Flags = (np.searchsorted(begins, keys) - first_begins == begun) & self._are_pairs(buffer, keys)
            are &= np.searchsorted(ends, keys) - first_ends == ended
            return are

        spans = begins[np.minimum(first_begins + 3, len(begins) - 1)]
        are_of_span = are_in(lasts, *_OF_SPAN) & _matches_at(buffer, spans - len(_SPANS), _SPANS + _SPAN)
        are_of_resource = are_in(firsts, *_OF_RESOURCE)
        # Of two in one list, the last would count.
        fit = np.where(firsts == lasts, are_of_span | are_of_resource, are_of_span & are_of_resource)
        verdicts = np.full(len(records), UNKNOWN, np.uint8)
        if self._is_equal:
            verdicts[fit] = self._are_equal(buffer, firsts[fit])
            two = np.flatnonzero(fit & (firsts != lasts) & (verdicts != YES))
            others = self._are_equal(buffer, lasts[two])
            verdicts[two] = np.where((others == YES) | (verdicts[two] == NO), others, UNKNOWN)
            fit &= verdicts == UNKNOWN
        data, behind = block.data or b"", len(self._key) + len(_PAIR_VALUE)
        verdicts[fit] = [
            self._verdict(
                *(_ANY_VALUE.match(data, key + behind) for key in ([last, first] if first < last else [first]))
            )
            for first, last in zip(firsts[fit].tolist(), lasts[fit].tolist(), strict=True)
        ]
        return verdicts

    def _are_pairs(self, buffer: Bytes, keys: Places) -> Flags:
        """Return at which offsets the key is that of a pair in a list."""
        are_pairs = _matches_at(buffer, keys - len(_PAIR), _PAIR)
        are_pairs &= np.isin(buffer[keys - len(_PAIR) - 1], (ord("["), ord(",")))
        return are_pairs & _matches_at(buffer, keys + len(self._key), _PAIR_VALUE)

    def _are_equal(self, buffer: Bytes, keys: Places) -> Verdicts:
        """Return the verdicts on values, of which texts that take as many bytes are decided: no other spelling does."""
        size = len(_TEXT_VALUE) + len(self._value)
        rows = rows_at(buffer, keys + len(self._key) + len(_PAIR_VALUE), size + len(_TEXT_VALUE_END))
        are_texts = _are(rows[:, : len(_TEXT_VALUE)], _TEXT_VALUE) & _are(rows[:, size:], _TEXT_VALUE_END)
        are_same = _are(rows[:, len(_TEXT_VALUE) : size], self._value)
        return np.where(are_texts, np.where(are_same, YES, NO), UNKNOWN).astype(np.uint8)

    def _verdict(self, *matches: re.Match[bytes] | None) -> int:
        """Return the verdict on values, each the group of a pattern that has matched."""
        values = [match[match.lastindex or 0] for match in matches if match is not None]
        if len(values) < len(matches):
            return UNKNOWN
        written = b",".join(values)
        verdict = self._known.get(written)
        if verdict is None:
            known = loads_usual(b"[%b]" % written)
            verdict = UNKNOWN if known is None else YES if self._holds(known) else NO
            if len(self._known) < _MAX_KNOWN_VALUES and len(written) <= _MAX_KNOWN_BYTES:
                self._known[written] = verdict
        return verdict

    def _keys(self, buffer: Bytes) -> Places:
        """Return where the quoted key is."""
        if self._rare is None:
            # Its rarest byte is searched for first.
            frequency = np.bincount(buffer[:_SAMPLE_BYTES], minlength=256)
            self._rare = int(np.argmin(frequency[np.frombuffer(self._key, np.uint8)]))
        offsets = _places_of(buffer, self._key[self._rare]) - self._rare
        offsets = offsets[(offsets >= 0) & (offsets <= len(buffer) - len(self._key))]
        return offsets[_matches_at(buffer, offsets, self._key)]


class TextSearch:
    """Searches for one text anywhere in records."""

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


def _places_of(buffer: Bytes, byte: int) -> Places:
    """Return where a byte is; what follows the data is room for the last ones."""
    return places_of(buffer == byte, len(buffer) - WORD)


def _matches_at(buffer: Bytes, offsets: Places, text: bytes) -> Flags:
    """Return at which offsets a text is."""
    return Template(text).take(buffer, offsets)[1]


def _are(rows: Bytes, text: bytes) -> Flags:
    """Return which rows of bytes are a text."""
    are: Flags = (rows == np.frombuffer(text, np.uint8)).all(axis=1)
    return are


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
