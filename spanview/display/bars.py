"""Bars of eighth blocks: their ends are right to an eighth of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_FULL: Final = 8


def bar(fraction: float, width: int) -> str:
    """Return a bar from the left edge, at least an eighth long, padded with blanks to `width` cells."""
    eighths = max(1, min(width * _FULL, round(fraction * width * _FULL)))
    whole, rest = divmod(eighths, _FULL)
    return (EIGHTHS[_FULL] * whole + (EIGHTHS[rest] if rest else "")).ljust(width)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a bar that begins and ends anywhere."""

    character: str
    reverse: bool = False
    """Whether colour and background change places: block characters grow from the left only."""


def span_cells(start: float, end: float, width: int) -> tuple[int, list[Cell]]:
    """Return a bar between two places, given in cells, as its first cell and its cells.

    A bar is at least an eighth of a cell long, so that every span in sight leaves a mark.

    Args:
        start: Cells from the left edge.
        end: Cells from the left edge.
        width: Cells that there are; what lies outside is cut off.
    """
    first, last = round(max(0.0, start) * _FULL), round(min(float(width), end) * _FULL)
    first = min(first, width * _FULL - 1)
    last = max(last, first + 1)
    cells = []
    cell = first // _FULL
    for at in range(cell, (last - 1) // _FULL + 1):
        left, right = max(first - at * _FULL, 0), min(last - at * _FULL, _FULL)
        if left == 0:
            cells.append(Cell(EIGHTHS[right]))
        elif right == _FULL:
            cells.append(Cell(EIGHTHS[left], reverse=True))
        else:
            # Within one cell neither end is at its edge: the block is drawn from the left, as long as the span.
            cells.append(Cell(EIGHTHS[right - left]))
    return cell, cells
