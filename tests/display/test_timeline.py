"""Times above a waterfall.

0 ms        20 ms        40 ms  52 ms
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanview.display.timeline import round_times, ruler, stretch
from spanview.display.units import duration_by

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
        (10_001_234_000, 10_001_240_500, ["10.001234 s", "10.001236 s", "10.001238 s", "10.001240 s"]),
        (59_999 * MS, 60_001 * MS, ["59.9990 s", "59.9995 s", "1 m 00.0000 s", "1 m 00.0010 s"]),
        (
            3_725_000 * MS,
            3_725_000 * MS + 3000,
            ["1 h 02 m 05.000000 s", "1 h 02 m 05.000001 s", "1 h 02 m 05.000003 s"],
        ),
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
    times = round_times(first, first + length, width // 14)
    start, end = (duration_by(ns, times.step) for ns in (first, first + length))
    assert not line or line.strip() == end or (line.startswith(f"{start}  ") and line.endswith(f" {end}"))


@given(st.integers(0, 10**15), st.integers(1, 10**13), st.integers(40, 300))
@example(559_353_361, 880_754, 241)
def test_no_two_texts_of_a_ruler_are_the_same(first: int, length: int, width: int) -> None:
    """However short the stretch and far from the start: each time has the digits that tell it from the previous one."""
    times = round_times(first, first + length, width // 14)
    texts = [duration_by(ns, times.step) for ns in times]
    assert len({*texts}) == len(texts)
    line = ruler(first, first + length, width)
    shown = [text.strip() for text in line.split("  ") if text.strip()]
    assert len({*shown}) == len(shown)


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
