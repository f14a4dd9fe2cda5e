"""Bars of eighth blocks: their ends are right to an eighth of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_FULL: Final = 8
_RIGHT_EIGHTH: Final = "▕"
WAIT: Final = "┈"
_FEWEST_WAITING: Final = 2
"""Cells that a part of a wait needs for its letter: a dot follows."""
OPENINGS: Final = "██▐▐▐▐▕▕"
"""What a bar begins with, by the eighths of its first cell that come before it."""


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
