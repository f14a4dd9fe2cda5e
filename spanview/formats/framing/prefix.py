r"""The names before each line that a process printed, in output of several processes.

(ProxyActor pid=18681) …                          Ray, in a driver's console
\x1b[36m(train pid=93, ip=192.0.2.7)\x1b[0m …     as it mostly is, terminal or not
(pid=93) …                                        of a worker that has neither a task nor an actor yet
api-1      | …                                    docker compose logs
[pod/api-6f/app] …                                kubectl logs --prefix
api-1      | (train pid=93) …                     both
"""

from __future__ import annotations

import re
from typing import Final

from spanview.formats.framing.marks import NOWHERE

_COLOR: Final = rb"(?:\x1b\[[0-9;]*m)*+"
_RAY: Final = rb"\(((?:[^\r\n]{1,200}? )?pid=[0-9]{1,20}(?:, ip=[0-9A-Za-z.:]{1,64})?)\)" + _COLOR + rb" ?"
_NOT_RAY: Final = (
    _COLOR + rb"(?:([A-Za-z0-9][A-Za-z0-9_.-]{0,100})\ +\||\[(pod/[^\]\r\n]{1,300})\])" + _COLOR + rb" ?" + _COLOR
)
# `\x1b[36m(train pid=93, ip=192.0.2.7)\x1b[0m ` is a name of Ray's, `api-1      | ` one of others.
_PREFIX: Final = re.compile(rb"(?:" + _NOT_RAY + rb"(?:" + _RAY + rb")?+|" + _COLOR + _RAY + rb")")
_IN_LOG: Final = re.compile(rb"(?:" + _NOT_RAY + rb"(?:" + _RAY + rb"|(?=\{))|" + _COLOR + _RAY + rb")")
"""A name in a line that shows what kind of file this is: without Ray's name, only before a document."""
_AT_LINE_START: Final = re.compile(rb"(?<=\n)" + _IN_LOG.pattern)
# `(train pid=9`, `api-`: a line that goes on may have a name.
_PARTIAL_PREFIX: Final = re.compile(rb"[\x1b(\[A-Za-z0-9][^\r\n{]*+\Z")
_MAX_PREFIX_BYTES: Final = 600
"""Bytes of a line after which it can't get a name any more."""


def match_prefix(line: bytes) -> tuple[bytes, int]:
    """Return the writer of a line, and where its text begins; b"" and 0 if there is no name."""
    match = _PREFIX.match(line)
    return (b"\n".join(filter(None, match.groups())), match.end()) if match else (b"", 0)


def names_writer(line: bytes) -> bool:
    """Tell whether a line begins with a name that shows what kind of file this is."""
    return _IN_LOG.match(line) is not None


def find_prefix(data: bytes, position: int, end: int, *, is_line: bool) -> tuple[int, bool]:
    """Return where the first line with a name begins, and True; else where the last that may get one does, and False.

    Args:
        end: Where to end, `NOWHERE` for the end of the buffer; a line that begins before counts.

    Returns:
        `NOWHERE` and False if there is neither.
    """
    end = len(data) if end == NOWHERE else end
    if is_line and _IN_LOG.match(data, position):
        return position, True
    # What begins in mid-line may itself follow a name.
    line_end = data.find(b"\n", max(position - 1, 0), end)
    last = end if data[end - 1 : end] == b"\n" else end + _MAX_PREFIX_BYTES
    match = None if line_end < 0 else _AT_LINE_START.search(data, max(position, line_end + 1), last)
    if match and match.start() < end:
        return match.start(), True
    line_start = data.rfind(b"\n", position, end) + 1 or (position if is_line else len(data))
    may_get_one = len(data) - line_start < _MAX_PREFIX_BYTES and _PARTIAL_PREFIX.match(data, line_start)
    return (line_start, False) if may_get_one else (NOWHERE, False)
