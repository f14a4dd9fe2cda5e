"""What the beginning of a document looks like, among blanks, in text, and in what is left of a torn record."""

from __future__ import annotations

import re
from typing import Final

_INDENT: Final = rb"(?:[ \t\r\x00,]|\xef\xbb\xbf)*+"
_SEPARATOR: Final = re.compile(rb"(?:[ \t\r\n\x00,]|\xef\xbb\xbf)*")
_LINE_OR_RECORD: Final = re.compile(rb"\n" + _INDENT + rb'[{\[]|\{[ \t\r\n]*+"name"[ \t\r\n]*+:')
_RESYNC: Final = re.compile(rb'(?:(?<=\n)|(?<=\x00))[{]|\{[ \t\r\n]*"name"[ \t\r\n]*:')
_RECORD_SO_FAR: Final = re.compile(rb'\{[ \t\r\n]*(?:"(?:n(?:a(?:m(?:e(?:"[ \t\r\n]*)?)?)?)?)?)?\Z')
_BLANK_LINE_SO_FAR: Final = re.compile(rb"\n" + _INDENT + rb"(\xef?+\xbb?+)\Z")
_MARK_SO_FAR: Final = re.compile(rb"\xef\xbb?\Z")

_BRACE, _LF, _NUL = b"{\n\x00"
NOWHERE: Final = -1
LOOK_BACK: Final = 256
"""Bytes before the end of a buffer, or before a break, in which the beginning of a record is looked for."""


def skip_separators(data: bytes, position: int) -> int:
    """Return where the blanks, commas and byte order marks end that may stand between documents."""
    match = _SEPARATOR.match(data, position)
    return match.end() if match else position


def is_mark_so_far(data: bytes, position: int) -> bool:
    """Tell whether the bytes from `position` on may become a byte order mark."""
    return _MARK_SO_FAR.match(data, position) is not None


def find_in_text(data: bytes, position: int) -> int:
    """Return where a document may begin: at the start of a line, or a record anywhere; `NOWHERE` if nowhere."""
    match = _LINE_OR_RECORD.search(data, position)
    if match is None:
        return NOWHERE
    return match.end() - 1 if data[match.start()] == _LF else match.start()


def find_in_gap(data: bytes, position: int, before: int) -> int:
    """Return where a record may begin behind a torn one; `NOWHERE` if nowhere.

    Args:
        data: The buffer.
        position: Where to begin.
        before: The byte before `position`, to which the pattern can't look back beyond the buffer.
    """
    if before in (_LF, _NUL) and data[position : position + 1] == b"{":
        return position
    match = _RESYNC.search(data, position)
    return match.start() if match else NOWHERE


def find_record_so_far(data: bytes, position: int) -> int:
    """Return where the end of the buffer may become the beginning of a record; `NOWHERE` if nowhere."""
    brace = data.rfind(b"{", max(position, len(data) - LOOK_BACK))
    return brace if brace >= 0 and _RECORD_SO_FAR.match(data, brace) else NOWHERE


def find_end_of_blank_line(data: bytes, position: int) -> int:
    """Return where a last line ends that is blank so far; `NOWHERE` if there is more in it."""
    line = data.rfind(b"\n", position)
    match = _BLANK_LINE_SO_FAR.match(data, line) if line >= 0 else None
    # A byte order mark that isn't whole yet may be the last of it.
    return match.start(1) if match else NOWHERE
