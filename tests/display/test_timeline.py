"""Times above a waterfall.

0 ms        20 ms        40 ms  52 ms
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanview.display.timeline import ruler, stretch
from spanview.display.units import duration

MS = 1_000_000


def test_a_ruler() -> None:
    """The ruler has the start, the end, and round times between them, in their places."""
    assert ruler(0, 100 * MS, 70) == ("0 µs          20 ms         40 ms         60 ms         80 ms   100 ms")


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, 612 * MS, ["0 µs", "200 ms", "400 ms", "612 ms"]),
        (0, 10_000, ["0 µs", "2 µs", "4 µs", "6 µs", "8 µs", "10 µs"]),
        (20 * MS, 40 * MS, ["20 ms", "25 ms", "30 ms", "35 ms", "40 ms"]),
        (0, 3, ["0 µs", "1 ns", "2 ns", "3 ns"]),
        (22_180_000, 22_206_000, ["22.2 ms", "+10 µs", "+20 µs", "+26 µs"]),
        (3600 * 10**9, 3601 * 10**9, ["1 h 00 m", "+200 ms", "+400 ms", "+600 ms", "+800 ms", "+1 s"]),
    ],
)
def test_the_times_of_a_ruler(first: int, last: int, expected: list[str]) -> None:
    """The times between the ends are round, counted from the trace's start."""
    line = ruler(first, last, 70)
    assert [text.strip() for text in line.split("  ") if text.strip()] == expected


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**16), st.integers(0, 300))
def test_any_ruler_fits(first: int, length: int, width: int) -> None:
    """Whatever is shown and however wide: the ruler is that wide, or there is none."""
    line = ruler(first, first + length, width)
    assert len(line) in {0, width}
    # No text is cut, and none stands right behind another.
    begin, ends = duration(first), (duration(first + length), f"+{duration(length)}")
    assert (
        not line or line.strip() in ends or (line.startswith(f"{begin}  ") and line.endswith((f" {ends[0]}", ends[1])))
    )
    # All can be told apart.
    texts = [text for text in line.split("  ") if text]
    assert len({*texts[:-1]}) == len(texts[:-1])


STRETCHES = [
    ((3, 12), "   ├─ 5 ms ─┤       "),
    ((3, 5), "   ├─┤ 5 ms         "),
    ((15, 17), "          5 ms ├─┤  "),
    ((0, 19), "├────── 5 ms ──────┤"),
]


@pytest.mark.parametrize(("cells", "expected"), STRETCHES)
def test_a_stretch(cells: tuple[int, int], expected: str) -> None:
    """How long it is stands between its marks, else behind or before them."""
    assert stretch(*cells, 20, "5 ms") == expected


def test_no_room() -> None:
    """Where there is none beside it either, the marks are all."""
    assert stretch(1, 4, 6, "1.23 ms") == " ├──┤ "
