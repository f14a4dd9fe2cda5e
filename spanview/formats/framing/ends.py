"""Where a document ends, guessed by the ends of lines: right for nearly all of them, and much quicker than a scan."""

from __future__ import annotations

from typing import Any, Final

from spanview.formats.jsontext import BadJsonError, loads_quick

LINE_ENDS: Final = (b"\r", b"\n")
_BLANKS: Final = b" \t\r\n"
_MAX_ATTEMPTS: Final = 32
"""Line ends that are tried."""


def try_ends(data: bytes, position: int) -> tuple[int, Any, bool]:
    """Try the next line ends as the end of the document at a position.

    Returns:
        The end, 0 where none fits; the decoded value; whether there was a line end at all.
    """
    view = memoryview(data)
    many_lines = data[position + 1 : position + 2] in LINE_ENDS
    end, has_line_end = position, False
    for _ in range(_MAX_ATTEMPTS if many_lines else 1):
        end = data.find(b"\n}" if many_lines else b"\n", end)
        if end < 0:
            break
        has_line_end = True
        end += 2 if many_lines else 0
        try:
            value = loads_quick(view[position:end])
        except BadJsonError:
            continue
        while data[end - 1] in _BLANKS:
            end -= 1
        return end, value, True
    return 0, None, has_line_end
