"""Documents that follow one another undamaged, as nearly all files have them from front to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from spanview.formats.framing.ends import LINE_ENDS

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOSE_BRACE: Final = ord("}")
_NOTHING: Final = object()


def take_straight(
    data: bytes, position: int, *, keep: Callable[[Any], Any], cap: int, base: int
) -> tuple[int, list[tuple[int, int, Any]]]:
    """Take documents as long as the next line that can end one does.

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
    line_end, mark_bytes = (b"\n}", 2) if first_bytes[1:] in LINE_ENDS else (b"\n", 0)
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
