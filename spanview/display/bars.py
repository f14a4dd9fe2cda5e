"""Bars of eighth blocks: their ends are right to an eighth of a cell; and blocks as high as a number."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_FULL: Final = 8
_RIGHT_EIGHTH: Final = "▕"
WAIT: Final = "┈"
_FEWEST_WAITING: Final = 2
"""Cells that a part of a wait needs for its letter: a dot follows."""
OPENINGS: Final = "██▐▐▐▐▕▕"
"""What a bar begins with, by the eighths of its first cell that come before it."""
HEIGHTS: Final = " ▁▂▃▄▅▆▇█"
_FIRST_POWER, _LAST_POWER = 3, 11
"""From microseconds to what takes minutes, and more."""
HISTOGRAM: Final = _LAST_POWER - _FIRST_POWER
"""Cells of a histogram."""
SCALE: Final = "µs ms s".ljust(HISTOGRAM)
"""What its cells mean: each unit is over, or below, the cell that begins with it."""


def bar(fraction: float, width: int) -> str:
    """Return a bar from the left edge, at least an eighth long, padded with blanks to `width` cells."""
    eighths = max(1, min(width * _FULL, round(fraction * width * _FULL)))
    whole, rest = divmod(eighths, _FULL)
    return (EIGHTHS[_FULL] * whole + (EIGHTHS[rest] if rest else "")).ljust(width)


def wait_cells(first: int, end: int, parts: Iterable[tuple[str, float, float]]) -> str:
    """Return a wait from one cell until before another: dots, and a letter where each part begins that has room.

    Args:
        parts: A letter, and the places between which each part lies, in cells.
    """
    cells = [WAIT] * max(0, end - first)
    for letter, since, until in parts:
        begin = max(first, round(since))
        if min(end, round(until)) - begin >= _FEWEST_WAITING:
            cells[begin - first] = letter
    return "".join(cells)


def span_cells(start: float, end: float, width: int) -> tuple[int, str]:
    """Return a bar between two places as its first cell and its characters.

    Its end is right to an eighth of a cell; blocks grow from the left only, so its start is right to about a third.
    A bar leaves at least a thin mark, however short the span.
    """
    first, last = round(max(0.0, start) * _FULL), round(min(float(width), end) * _FULL)
    first = min(first, width * _FULL - 1)
    last = max(last, first + 1)
    cell, left = divmod(first, _FULL)
    whole, rest = divmod(last, _FULL)
    if cell == whole:
        # Both ends are in one cell: a mark as thick as the span, at the side where it lies.
        return cell, EIGHTHS[rest - left] if left + rest <= _FULL else _RIGHT_EIGHTH
    return cell, OPENINGS[left] + EIGHTHS[_FULL] * (whole - cell - 1) + (EIGHTHS[rest] if rest else "")


def height_of(number: int, most: int) -> str:
    """Return a block as high as a number, of so many that have all of a cell; what there is can be seen."""
    return HEIGHTS[-(-number * _FULL // max(1, most))]


def height_by_logarithm(number: int, most: int) -> str:
    """Return a block as high as a number's logarithm, so that one shows beside a thousand."""
    if not number:
        return HEIGHTS[0]
    return HEIGHTS[1 + (round(log(number) / log(most) * (_FULL - 1)) if most > 1 else 0)]


def histogram_text(counts: Sequence[int]) -> str:
    """Return counts by power of ten as blocks, a cell each, as high as the logarithm of the count."""
    quickest, slowest = sum(counts[: _FIRST_POWER + 1]), sum(counts[_LAST_POWER - 1 :])
    inner = [quickest, *counts[_FIRST_POWER + 1 : _LAST_POWER - 1], slowest]
    most = max(inner)
    return "".join(height_by_logarithm(number, most) for number in inner)


def cell_of(duration_ns: int) -> int:
    """Return the cell of a histogram in which a duration is counted."""
    power = len(str(duration_ns)) - 1 if duration_ns > 0 else 0
    return min(max(power - _FIRST_POWER, 0), HISTOGRAM - 1)
