"""A JSON scanner that takes bytes in any pieces and reports where a document ends, or where it breaks.

It decides what no decoder reports: whether a document that doesn't decode is unfinished, or can never be whole.
Source: RFC 8259, with the SDK's NaN, Infinity and -Infinity.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from enum import Enum
from functools import cache
from typing import Final

from spanview.formats.framing.marks import LOOKBACK_BYTES

MAX_DEPTH: Final = 1_000_000
"""Deeper than this counts as broken: no span nests that deep, and memory stays bounded."""

_BLANK: Final = re.compile(rb"[ \t\r\n]*")
# All of `say \"hi\"` up to a quote, to a byte that no string has, or to half an escape.
_STRING_PART: Final = re.compile(rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
# `\` and `\u00e` at the end of the buffer.
_PARTIAL_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?\Z")
# `-1.5e3` or `true`, and what isn't one, such as `tru` or `1.2.3`.
_SCALAR: Final = re.compile(rb"[-+.0-9A-Za-z]+")
_WHOLE_SCALAR: Final = re.compile(
    rb"true|false|null|NaN|-?Infinity|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
)
_MAX_SCALAR_BYTES: Final = 1_000_000
_MAX_RUN_DEPTH: Final = 4


@cache
def _runs() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return what matches any number of members of an object, or elements of a list, each with its comma.

    What is nested deeper than the span of a known format is left to the scan by tokens.
    """
    blank = rb"[ \t\r\n]*+"
    string = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
    plain = rb"(?>" + string + rb"|(?>" + _WHOLE_SCALAR.pattern + rb")(?![-+.0-9A-Za-z]))"
    key = string + blank + rb":" + blank
    value, container = plain, rb""
    for _ in range(_MAX_RUN_DEPTH):
        of_object, of_list = (
            opening + blank + rb"(?>" + item + blank + rb"(?:," + blank + rb"(?!" + end + rb")|(?=" + end + rb")))*+"
            for opening, item, end in ((rb"\{", key + value, rb"\}"), (rb"\[", value, rb"\]"))
        )
        of_object, of_list = of_object + rb"\}", of_list + rb"\]"
        container = rb"(?>" + of_object + rb"|" + of_list + rb")"
        value = rb"(?>" + plain + rb"|" + container + rb")"
    one = rb"(?:" + plain + rb"|(?P<closed>" + container + rb"))" + blank + rb"," + blank
    return re.compile(rb"(?:" + key + one + rb")++"), re.compile(rb"(?:" + one + rb")++")


_MIN_RUN_BYTES: Final = 16 * 1024
"""Bytes left of the buffer from which on it pays to search for a run: compiling its pattern takes a moment."""

_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = b"{}[]"
_QUOTE, _COMMA, _COLON = b'",:'

_AROUND_ELEMENTS: Final = 2
"""Brackets that are open between two elements of a list in an object."""


class ScanVerdict(Enum):
    """The result of a scan."""

    WHOLE = "whole"
    """The document ends at the scanner's position."""
    BROKEN = "broken"
    """No bytes that follow can make it a document; it breaks at the scanner's position."""
    UNFINISHED = "unfinished"
    """So far it may be the beginning of a document."""


class _Expect(Enum):
    VALUE = "a value"
    FIRST_VALUE = "a value or ]"
    KEY = "a key"
    FIRST_KEY = "a key or }"
    COLON = "a colon"
    MORE = "a comma or an end"


_BEFORE_RUNS: Final = frozenset((_Expect.KEY, _Expect.FIRST_KEY, _Expect.VALUE, _Expect.FIRST_VALUE))
_MAX_DEPTH_WITH_RUNS: Final = MAX_DEPTH - _MAX_RUN_DEPTH


class Scanner:
    """One document, from its first byte on."""

    __slots__ = ("_expect", "_in_string", "_last_closed", "_open", "_start", "_starts", "_string_is_key", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self._start = position
        self._open = bytearray()
        self._starts = array("Q")
        """The position of each open bracket, from the document's first byte on."""
        self._last_closed = 0
        """Where the part that was closed last begins, from the document's first byte on."""
        self._expect = _Expect.VALUE
        self._in_string = False
        self._string_is_key = False

    def scan(self, data: bytes) -> ScanVerdict:
        """Continue at `position`; only new bytes are scanned.

        Args:
            data: The buffer; where its front was cut off, `shift` must have been called.
        """
        while True:
            if self._in_string:
                verdict = self._scan_string(data)
            else:
                match = _BLANK.match(data, self.position)
                self.position = match.end() if match else self.position
                if self.position >= len(data):
                    return ScanVerdict.UNFINISHED
                if self._skip_run(data):
                    continue
                verdict = self._scan_token(data, data[self.position])
            if verdict is not None:
                return verdict

    def shift(self, count: int) -> None:
        """Take note that `count` bytes were cut off the front of the buffer."""
        self.position -= count
        self._start -= count

    def is_in_element(self, first: int) -> bool:
        """Tell whether an element is open of the list in the document's object whose first element is at a position."""
        return len(self._starts) > _AROUND_ELEMENTS and self._start + self._starts[1] < first

    def is_unclosed(self, position: int) -> bool:
        """Tell whether there is an unclosed `{` or `[` at a position."""
        start = position - self._start
        index = bisect_left(self._starts, start)
        return index < len(self._starts) and self._starts[index] == start

    def search_from(self, max_bytes: int) -> int:
        """Return from where on a record may begin that has the break in it, or right after it.

        Args:
            max_bytes: Bytes before the break; a record that begins earlier isn't asked for.
        """
        closed = self._start + self._last_closed
        return min(self.position - LOOKBACK_BYTES, closed if self.position - closed <= max_bytes else self.position)

    def keep_from(self, max_bytes: int) -> int:
        """Return from where on `search_from` may need the scanned bytes, wherever the break will be."""
        first = bisect_left(self._starts, self.position - self._start - max_bytes)
        opened = self._start + self._starts[first] if first < len(self._starts) else self.position
        return min(self.search_from(max_bytes), opened)

    def _scan_string(self, data: bytes) -> ScanVerdict | None:
        match = _STRING_PART.match(data, self.position)
        end = match.end() if match else self.position
        self.position = end
        if end >= len(data) or _PARTIAL_ESCAPE.match(data, end):
            return ScanVerdict.UNFINISHED
        if data[end] != _QUOTE:
            return ScanVerdict.BROKEN
        self.position = end + 1
        self._in_string = False
        self._expect = _Expect.COLON if self._string_is_key else _Expect.MORE
        return None

    def _skip_run(self, data: bytes) -> bool:
        """Pass over whole members or elements, to the same state as token by token; tell whether there were any.

        Most of a large document is passed over this way, some twenty times as quick.
        """
        if self._expect not in _BEFORE_RUNS or not self._open or len(data) - self.position < _MIN_RUN_BYTES:
            return False
        is_object = self._open[-1] == _OPEN_BRACE
        if (
            is_object is (self._expect in (_Expect.VALUE, _Expect.FIRST_VALUE))
            or len(self._open) >= _MAX_DEPTH_WITH_RUNS
        ):
            return False
        of_object, of_list = _runs()
        match = (of_object if is_object else of_list).match(data, self.position)
        if match is None:
            return False
        self.position = match.end()
        if match.start("closed") >= 0:
            self._last_closed = match.start("closed") - self._start
        self._expect = _Expect.KEY if is_object else _Expect.VALUE
        return True

    def _scan_token(self, data: bytes, byte: int) -> ScanVerdict | None:
        expect = self._expect
        if expect is _Expect.COLON:
            if byte != _COLON:
                return ScanVerdict.BROKEN
            self._expect = _Expect.VALUE
        elif expect is _Expect.MORE and byte == _COMMA:
            self._expect = _Expect.KEY if self._open[-1] == _OPEN_BRACE else _Expect.VALUE
        elif byte in (_CLOSE_BRACE, _CLOSE_BRACKET):
            return self._close(byte)
        elif expect in (_Expect.KEY, _Expect.FIRST_KEY, _Expect.VALUE, _Expect.FIRST_VALUE):
            return self._start_value(data, byte, is_key=expect in (_Expect.KEY, _Expect.FIRST_KEY))
        else:
            return ScanVerdict.BROKEN
        self.position += 1
        return None

    def _close(self, byte: int) -> ScanVerdict | None:
        opener, empty = (
            (_OPEN_BRACE, _Expect.FIRST_KEY) if byte == _CLOSE_BRACE else (_OPEN_BRACKET, _Expect.FIRST_VALUE)
        )
        if self._expect not in (_Expect.MORE, empty) or self._open[-1] != opener:
            return ScanVerdict.BROKEN
        self._open.pop()
        self._last_closed = self._starts.pop()
        self.position += 1
        self._expect = _Expect.MORE
        return None if self._open else ScanVerdict.WHOLE

    def _start_value(self, data: bytes, byte: int, *, is_key: bool) -> ScanVerdict | None:
        if byte == _QUOTE:
            self._in_string, self._string_is_key = True, is_key
        elif is_key:
            return ScanVerdict.BROKEN
        elif byte in (_OPEN_BRACE, _OPEN_BRACKET):
            if len(self._open) >= MAX_DEPTH:
                return ScanVerdict.BROKEN
            self._open.append(byte)
            self._starts.append(self.position - self._start)
            self._expect = _Expect.FIRST_KEY if byte == _OPEN_BRACE else _Expect.FIRST_VALUE
        else:
            return self._scan_scalar(data)
        self.position += 1
        return None

    def _scan_scalar(self, data: bytes) -> ScanVerdict | None:
        match = _SCALAR.match(data, self.position)
        if match is None:
            return ScanVerdict.BROKEN
        if match.end() >= len(data):
            # A number may go on; it is scanned again when its end is there.
            too_long = match.end() - match.start() > _MAX_SCALAR_BYTES
            return ScanVerdict.BROKEN if too_long else ScanVerdict.UNFINISHED
        if not _WHOLE_SCALAR.fullmatch(match[0]):
            return ScanVerdict.BROKEN
        self.position = match.end()
        self._expect = _Expect.MORE
        return None
