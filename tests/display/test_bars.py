"""Bars, drawn: ends are right to an eighth of a cell, and the shortest span leaves a mark.

0     1     2     3     4     cells from the left edge
      ██████████▌             a span from 1 to 2.5 starts in cell 1 and ends with half a block
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanview.display.bars import EIGHTHS, bar, span_cells, wait_cells

BARS = [
    (0.0, 4, "▏   "),
    (0.001, 4, "▏   "),
    (1 / 32, 4, "▏   "),
    (2 / 32, 4, "▎   "),
    (7 / 32, 4, "▉   "),
    (8 / 32, 4, "█   "),
    (0.5, 4, "██  "),
    (17 / 32, 4, "██▏ "),
    (1.0, 4, "████"),
    (7.0, 4, "████"),
]
"""A fraction, cells, and the bar."""
SPANS = [
    (0, 4, (0, "████")),
    (1, 2, (1, "█")),
    (1, 2.5, (1, "█▌")),
    (1, 2.125, (1, "█▏")),
    (1, 2.875, (1, "█▉")),
    (0.5, 2, (0, "▐█")),
    (0.25, 2, (0, "▐█")),
    (0.625, 2, (0, "▐█")),
    (0.75, 2, (0, "▕█")),
    (0.875, 2, (0, "▕█")),
    (0.125, 2, (0, "██")),
    (1.75, 2.25, (1, "▕▎")),
    # both ends in one cell
    (2, 2.5, (2, "▌")),
    (2, 2.125, (2, "▏")),
    (2.75, 2.875, (2, "▕")),
    (2.25, 2.5, (2, "▎")),
    # nothing is so short that it isn't seen
    (2, 2, (2, "▏")),
    (2.9, 2.9, (2, "▕")),
    (4, 4, (3, "▕")),
    (0, 0, (0, "▏")),
    # what lies outside is cut off
    (-3, 2, (0, "██")),
    (3, 9, (3, "█")),
    (-5, 50, (0, "████")),
    (-5, 0, (0, "▏")),
    (4, 9, (3, "▕")),
]
"""Start and end in cells, of four, and the first cell with the characters."""


@pytest.mark.parametrize(("fraction", "width", "expected"), BARS)
def test_bars_of_fractions(fraction: float, width: int, expected: str) -> None:
    """A bar is as long as its fraction of the width, to an eighth of a cell."""
    assert bar(fraction, width) == expected


@pytest.mark.parametrize(("start", "end", "expected"), SPANS)
def test_bars_of_spans(start: float, end: float, expected: tuple[int, str]) -> None:
    """A span's bar stands where the span lies."""
    assert span_cells(start, end, 4) == expected


@given(st.floats(-100, 300), st.floats(0, 300), st.integers(1, 200))
def test_a_bar_is_inside_and_ends_where_the_span_ends(start: float, length: float, width: int) -> None:
    """Any bar lies within the width, isn't empty, and ends within an eighth of where its span does."""
    cell, drawn = span_cells(start, start + length, width)
    assert drawn
    assert 0 <= cell < width
    assert cell + len(drawn) <= width
    end = min(float(width), start + length)
    if len(drawn) > 1:
        last = drawn[-1]
        assert abs(cell + len(drawn) - 1 + EIGHTHS.index(last) / 8 - end) <= 1 / 16 + 1e-9


@pytest.mark.parametrize(
    ("parts", "drawn"),
    [
        ([], "┈┈┈┈┈┈┈┈"),
        ([("a", 2, 6), ("r", 6, 10)], "a┈┈┈r┈┈┈"),
        # what has no room for a dot behind its letter has none
        ([("a", 2, 2.1), ("r", 2.1, 9), ("w", 9, 10)], "r┈┈┈┈┈┈┈"),
        ([("a", 2, 8.4), ("w", 8.4, 10)], "a┈┈┈┈┈w┈"),
        # what is out of sight begins at the edge, or isn't there
        ([("t", -9, -3), ("a", -3, 4), ("r", 4, 99)], "a┈r┈┈┈┈┈"),
        ([("a", -9, 99)], "a┈┈┈┈┈┈┈"),
    ],
)
def test_waits(parts: list[tuple[str, float, float]], drawn: str) -> None:
    """From cell 2 until before cell 10 there are dots, and a letter where each part begins that has room."""
    assert wait_cells(2, 10, parts) == drawn
    assert wait_cells(5, 4, parts) == ""
