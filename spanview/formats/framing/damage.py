r"""The stretch of a file that is passed over because of damage, and the document there that broke off.

{"name": "a", "links": [{"cont{"name": "b"}     the first breaks off before the second brace; `b` follows it
{"name": "a", "x": {"name": "b"}, "y": \0       breaks off at the hole; `{"name": "b"}` is a part of it
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanview.formats.framing.frames import Gap
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from spanview.formats.framing.scanner import Scanner

_BREAK: Final = re.compile(rb"[ \t\r\n]*\Z")
# `]`, `, {` or nothing at all between the end of a document and the break.
_LIST_GOES_ON: Final = re.compile(rb"[ \t\r\n]*(?:\]?[ \t\r\n]*\Z|,[ \t\r\n]*(?:\Z|\{))")
# No longer than what is kept of the beginning of a document when the rest was passed over.
_FIRST_LINE: Final = re.compile(rb"[{\[][ \t\r]{0,40}\n([ \t]{0,200})")
ONE_LINE: Final = -1
"""Instead of an indent: the document is on one line."""


class Damage:
    """The gap that is open now, if there is one, and the last document in it that broke off."""

    __slots__ = ("_indent", "_kind", "_scanner", "_start")

    def __init__(self) -> None:
        self._start: int | None = None
        self._kind = ProblemKind.TORN
        self._scanner: Scanner | None = None
        """Of the last document that broke off, until the next whole one."""
        self._indent = ONE_LINE

    @property
    def is_open(self) -> bool:
        """Whether a stretch is being passed over."""
        return self._start is not None

    def open(self, offset: int, kind: ProblemKind = ProblemKind.TORN) -> None:
        """Begin a gap at an offset of the file, or go on with it; if anything in it is too large, that is its kind."""
        if self._start is None:
            self._start, self._kind = offset, kind
        elif kind is ProblemKind.TOO_LARGE:
            self._kind = kind

    def break_off(self, scanner: Scanner, indent: int) -> None:
        """Take note of a document that broke off.

        Whole documents in it are its own, even if they look like records: attributes nest. But if it broke off where a
        value belongs, the record right after it was scanned as that value; then the break is right after that record.

        Args:
            indent: Blanks before the document's members; see `indent_of_members`.
        """
        self._scanner, self._indent = scanner, indent

    def close(self, offset: int) -> list[Gap]:
        """End at an offset of the file; return the gap, if there was one."""
        start, self._start, self._scanner = self._start, None, None
        return [] if start is None else [Gap(self._kind, start, offset - start)]

    def shift(self, count: int) -> None:
        """Take note that `count` bytes were cut off the front of the buffer."""
        if self._scanner is not None:
            self._scanner.shift(count)

    def is_unclosed(self, position: int) -> bool:
        """Tell whether what begins at a position is unfinished, too: it was open where the last document broke off."""
        return self._scanner is not None and self._scanner.is_unclosed(position)

    def contains(self, data: bytes, start: int, end: int, *, has_commas: bool) -> bool:
        """Tell whether a whole document at these positions is a part of the one that broke off last.

        Args:
            has_commas: Whether the file has commas between its documents.
        """
        if self._scanner is None or end > self._scanner.position:
            return False
        if 0 <= self._indent < indent_of_members(data, start):
            return True
        may_follow = _LIST_GOES_ON if has_commas else _BREAK
        return may_follow.match(data, end, self._scanner.position) is None


def indent_of_members(data: bytes, position: int) -> int:
    """Return the blanks before the first member of the document at a position; `ONE_LINE` if it is on one."""
    match = _FIRST_LINE.match(data, position)
    return ONE_LINE if match is None else len(match[1])
