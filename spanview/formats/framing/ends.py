"""Where documents end, guessed by the ends of lines: right for nearly all of them, and much quicker than a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from spanview.formats.jsontext import BadJsonError, loads_quick

if TYPE_CHECKING:
    from collections.abc import Callable

_LINE_ENDS: Final = (b"\r", b"\n")
_BLANKS: Final = b" \t\r\n"
_CLOSE_BRACE: Final = ord("}")
_NOTHING: Final = object()
_MAX_ATTEMPTS: Final = 32
"""Line ends that are tried."""


def try_ends(data: bytes, position: int) -> tuple[int, Any, bool]:
    """Try the next line ends as the end of the document at a position.

    Returns:
        The end, 0 where none fits; the decoded value; whether there was a line end at all.
    """
    view = memoryview(data)
    many_lines = data[position + 1 : position + 2] in _LINE_ENDS
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


def try_rest(data: bytes, position: int) -> tuple[int, Any]:
    """Try all that is left as the document at a position; return its end, 0 if it isn't that, and its value."""
    rest = memoryview(data)[position:]
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError:
        return 0, None
    return len(data.rstrip(_BLANKS)), value


def take_straight(
    data: bytes, position: int, *, keep: Callable[[Any], Any], cap: int, base: int
) -> tuple[int, list[tuple[int, int, Any]]]:
    """Take documents that follow one another undamaged, as long as the next line that can end one does.

    The front of a document, as long as the shortest one so far, isn't searched for that line, which avoids reading
    most bytes twice. If a document is shorter, what is found doesn't decode, and all of it is searched. What isn't
    kept of a value is released at once, so that its memory is reused while it is in the cache.

    Args:
        keep: Returns what is kept of a decoded value.
        base: Offset in the file of the buffer.

    Returns:
        Where to go on, and of each document its offset in the file, its length and what is kept of it.
    """
    taken: list[tuple[int, int, Any]] = []
    view, find, loads, add, skipped = memoryview(data), data.find, orjson.loads, taken.append, 0
    first_bytes = data[position : position + 2]
    line_end, mark_bytes = (b"\n}", 2) if first_bytes[1:] in _LINE_ENDS else (b"\n", 0)
    next_bytes = b"\n" + first_bytes
    while first_bytes[:1] == b"{":
        end = find(line_end, position + skipped) + mark_bytes
        try:
            value = keep(loads(view[position:end])) if position < end <= position + cap else _NOTHING
        except orjson.JSONDecodeError:
            value = _NOTHING
        if value is _NOTHING:
            if not skipped:
                return position, taken
            skipped = 0
            continue
        while data[end - 1] != _CLOSE_BRACE:
            end -= 1
        add((base + position, end - position, value))
        if data[end : end + 3] != next_bytes:
            return end, taken
        if not 0 < skipped <= end - position - 2:
            skipped = end - position - 2
        position = end + 1
    return position, taken
