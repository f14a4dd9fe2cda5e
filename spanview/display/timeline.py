"""Round times along a line of time, and a stretch of it."""

from __future__ import annotations

from spanview.display.cells import fixed
from spanview.display.units import duration_by

_MIN_CELLS_APART = 14


def round_times(first_ns: int, last_ns: int, most: int) -> range:
    """Return round times between two others, about `most` of them at the most, one step apart."""
    step = _round_step(max(1, last_ns - first_ns) / max(1, most))
    return range((first_ns // step + 1) * step, last_ns, step)


def _round_step(ns: float) -> int:
    step: int = 10 ** (len(str(int(ns))) - 1)
    return next((step * factor for factor in (1, 2, 5) if step * factor >= ns), step * 10)


def stretch(first: int, last: int, width: int, text: str) -> str:
    """Return a line with a marked stretch of cells and how long it is: inside of the marks or else beside them."""
    inside = last - first - 1
    if len(text) + 2 <= inside:
        marked = f"├{f' {text} '.center(inside, '─')}┤"
    else:
        marked = f"├{'─' * inside}┤"
        marked = f"{marked} {text}" if last + 1 + len(text) < width else marked
        if not marked.endswith(text) and len(text) < first:
            return f"{text} {marked}".rjust(last + 1).ljust(width)
    return f"{' ' * first}{marked}".ljust(width)


def ruler(first_ns: int, last_ns: int, width: int) -> str:
    """Return a time ruler: the start, the end, and round times between them.

    Args:
        first_ns: Where it begins, in nanoseconds after the trace's start.
        width: Its cells; nothing is returned where the end alone has no room in them, and the end alone where the start
            has none beside it. Of no time, there is the start alone.
    """
    times = round_times(first_ns, last_ns, width // _MIN_CELLS_APART)
    if first_ns == last_ns:
        return fixed(duration_by(first_ns, times.step), width)
    line, end_text = ends = duration_by(first_ns, times.step), duration_by(last_ns, times.step)
    if len(line) + 2 + len(end_text) > width:
        return end_text.rjust(width) if width > len(end_text) else ""
    for ns in times:
        position = round((ns - first_ns) / max(1, last_ns - first_ns) * width)
        text = duration_by(ns, times.step)
        if text not in ends and position > len(line) + 1 and position + len(text) + 1 < width - len(end_text):
            line = line.ljust(position) + text
    return line.ljust(width - len(end_text)) + end_text
