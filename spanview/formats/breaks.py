"""A document that broke off: which of the documents that stand in it are its own, and which may follow it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanview.formats.scanner import Scanner

_BREAK: Final = re.compile(rb"[ \t\r\n]*\Z")
_LIST_GOES_ON: Final = re.compile(rb"[ \t\r\n]*(?:\]?[ \t\r\n]*\Z|,[ \t\r\n]*(?:\Z|\{))")
# No longer than the beginning of a document that is still at hand when the rest was passed over.
_FIRST_LINE: Final = re.compile(rb"[{\[][ \t\r]{0,40}\n([ \t]{0,200})")
ONE_LINE: Final = -1
"""In the place of an indent: the document stands on one line."""


class Break:
    """The last document that broke off, until the next whole one.

    What it holds whole is its own, though it look like a record: attributes nest. But where it broke off in the place
    of a value, the record that was glued to it was scanned as that value; then it broke right behind that one.

    Args:
        scanner: The scan that found the break, or the end of the file.
        indent: Blanks before the document's members; see `indent_of_members`.
    """

    __slots__ = ("_indent", "_scanner")

    def __init__(self, scanner: Scanner, indent: int) -> None:
        self._scanner = scanner
        self._indent = indent

    def shift(self, count: int) -> None:
        """Take note that so many bytes were cut off the buffer's front."""
        self._scanner.shift(count)

    def leaves_open(self, position: int) -> bool:
        """Tell whether what begins at a position isn't whole either, because it was still open at the break."""
        return self._scanner.leaves_open(position)

    def holds(self, data: bytes, start: int, end: int, *, has_commas: bool) -> bool:
        """Tell whether a whole document that stands at these positions is a part of the one that broke off.

        Args:
            data: The buffer.
            start: Where the document begins.
            end: Where it ends.
            has_commas: Whether the file has commas between its documents.
        """
        if end > self._scanner.position:
            return False
        if 0 <= self._indent < indent_of_members(data, start):
            return True
        may_follow = _LIST_GOES_ON if has_commas else _BREAK
        return may_follow.match(data, end, self._scanner.position) is None


def indent_of_members(data: bytes, position: int) -> int:
    """Return the blanks before the first member of the document at a position; `ONE_LINE` where it stands on one."""
    match = _FIRST_LINE.match(data, position)
    return ONE_LINE if match is None else len(match[1])
