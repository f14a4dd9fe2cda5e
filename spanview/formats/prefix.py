r"""The name that Ray puts before each line which a worker printed, when it shows that line in a driver's console.

(ProxyActor pid=18681) …                          without colours
\x1b[36m(train pid=93, ip=192.0.2.7)\x1b[0m …     as it mostly is, terminal or not
"""

from __future__ import annotations

import re
from typing import Final

from spanview.formats.marks import NOWHERE

_PREFIX: Final = re.compile(
    rb"(?:\x1b\[[0-9;]*m)*\(([^\r\n]{1,200}? pid=[0-9]{1,20}(?:, ip=[0-9A-Za-z.:]{1,64})?)\)(?:\x1b\[[0-9;]*m)* ?"
)
_AT_LINE_START: Final = re.compile(rb"(?<=\n)" + _PREFIX.pattern)
_FIRST: Final = (b"\x1b", b"(")
_LONGEST: Final = 400
"""Bytes of a line after which it doesn't become one with a name any more."""


def match_prefix(line: bytes) -> tuple[bytes, int]:
    """Return who printed a line, and where what was printed begins; nobody and 0 where no name is there."""
    match = _PREFIX.match(line)
    return (match[1], match.end()) if match else (b"", 0)


def find_prefix(data: bytes, position: int, end: int, *, is_line: bool) -> tuple[int, bool]:
    """Return where the first line begins that has a name, and True; else the last one that may get one, and False.

    Args:
        data: The buffer.
        position: Where to begin.
        end: Where to end, `NOWHERE` for the end of the buffer; a line that begins before counts.
        is_line: Whether a line begins at `position`.

    Returns:
        `NOWHERE` and False if there is neither.
    """
    end = len(data) if end == NOWHERE else end
    if is_line and _PREFIX.match(data, position):
        return position, True
    match = _AT_LINE_START.search(data, position, end + _LONGEST)
    if match and match.start() < end:
        return match.start(), True
    last = data.rfind(b"\n", position, end) + 1 or (position if is_line else len(data))
    may_get_one = data[last : last + 1] in _FIRST and len(data) - last < _LONGEST and data.find(b"\n", last) < 0
    return (last, False) if may_get_one else (NOWHERE, False)
