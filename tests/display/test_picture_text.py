"""Waterfalls in characters.

█ the span   ▒ spans below run   ┈ waiting for a worker   ╌ inferred   ▚ runs   ◆ event   ✖ error   ░▒▓█ how many
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from spanview.display.picture import Picture, PictureRow
from spanview.display.picture_text import picture_lines
from spanview.display.shades import QUIET

TITLE = "trace 1 · now · 100 ns · 2 spans · complete"


def row(name: str = "span", *, depth: int = 0, marks: tuple[str, ...] = ("",), lasted: str = "5 ms") -> PictureRow:
    """Return a row without a bar."""
    return PictureRow(depth, "  ", name, marks, (lasted,), name, 0)


def row_with(**drawn: Any) -> PictureRow:
    """Return a row with what is drawn of it."""
    return PictureRow(0, "  ", "a", ("",), ("5 ms",), "a", 0, **drawn)


def picture(*rows: PictureRow, left_out: str = "", is_lit: bool = False) -> Picture:
    """Return a picture of a trace of 100 ns."""
    return Picture("a", TITLE, 0, 100, rows, left_out, "service", (), is_lit)


WIDTH = 16 + 10 + 2 + 20
"""With names as narrow as can be, of which 20 are left for the time."""


def bar_of(one: PictureRow) -> str:
    """Return the time side of a row, of 20 cells."""
    return [*picture_lines(picture(one), WIDTH)][2][WIDTH - 20 :]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (row_with(bar=(0.0, 1.0), own=((0.0, 1.0),)), "█" * 20),
        (row_with(bar=(0.5, 1.0), own=((0.75, 1.0),)), " " * 10 + "▒▒▒▒▒█████"),
        (row_with(bar=(0.5, 0.6), own=((0.5, 0.6),), waits=((0.25, 0.5),)), "     ┈┈┈┈┈██"),
        (
            row_with(
                bar=(0.5, 0.6),
                own=((0.5, 0.6),),
                waits=((0.0, 0.5),),
                wait_parts=(("a", 0.0, 0.3), ("r", 0.3, 0.31), ("w", 0.31, 0.5)),
            ),
            "a┈┈┈┈┈w┈┈┈██",
        ),
        (row_with(bar=(0.0, 0.5), own=((0.0, 0.5),), events=(0.2, 1.0), is_error=True), "████◆█████✖        ◆"),
        (row_with(bar=(0.9, 1.0), own=((0.9, 1.0),), is_error=True), " " * 18 + "█✖"),
        (row_with(bar=(0.5, 0.5), own=((0.5, 0.5),)), " " * 10 + "▏"),
        (row_with(inferred=(0.5, 1.0), is_open=True), " " * 10 + "╌" * 10),
        (row_with(inferred=(1.0, 1.0), is_open=True), " " * 19 + "╌"),
        (row_with(runs=(0.5, 0.9), waits=((0.25, 0.5),)), "     ┈┈┈┈┈" + "▚" * 9),
        (row_with(bar=(-0.5, -0.1)), "‹"),
        (row_with(bar=(1.1, 1.5)), " " * 19 + "›"),
        (row_with(bar=(-3.0, 4.0), own=((-3.0, 4.0),)), "█" * 20),
        (row_with(density=(1.0, 0.5, 0.2, 0.0)), "█████▓▓▓▓▓░░░░░"),
        (row_with(density=(1.0,), failures=(0.1, 0.15, 0.5, 1.0)), "██✖███████✖████████✖"),
        (row_with(), ""),
    ],
    ids=[
        "whole",
        "children",
        "wait",
        "causes",
        "marks",
        "edge",
        "instant",
        "open",
        "open at the end",
        "runs",
        "before",
        "behind",
        "beyond",
        "run",
        "failures",
        "nothing",
    ],
)
def test_bars(one: PictureRow, expected: str) -> None:
    """A cell is a twentieth of the time."""
    assert bar_of(one) == expected


def test_everything_is_in_its_place() -> None:
    """Title, ruler, rows, what is left out, and what the characters mean that are used."""
    rows = (row_with(bar=(0.0, 1.0), own=((0.5, 1.0),)), row("below", depth=1, marks=("✖",)))
    lines = [*picture_lines(picture(*rows, left_out="… 3 more spans: not drawn", is_lit=True), 60)]
    assert lines[0] == TITLE
    assert lines[1].split() == ["SPAN", "DURATION", "0", "µs", "50", "ns", "100", "ns"]
    assert lines[3] == "│   below ✖           5 ms"
    assert lines[4:] == ["… 3 more spans: not drawn", "█ span   ▒ spans below run   • critical path"]


def test_a_narrow_title_is_wrapped() -> None:
    """The title goes on below where it is wider than is asked for."""
    assert [*picture_lines(picture(), 20)][:3] == ["trace 1 · now", "100 ns · 2 spans", "complete"]


def test_a_name_keeps_its_room() -> None:
    """Where there is little room, figures give way to the name, and many levels to their number."""
    many = row("a long name of a span", marks=("×8 ✖1 max 2 ms", "×8 ✖1"))
    assert [*picture_lines(picture(many), WIDTH)][2].startswith("  a lo…of a span ×8 ✖1 ")
    assert [*picture_lines(picture(row("deep", depth=1000)), WIDTH)][2].startswith("1000│   deep")


@given(
    st.lists(
        st.builds(
            PictureRow,
            st.integers(0, 10**6),
            st.sampled_from(["  ", "▸ ", "▾ "]),
            st.text("ab漢 ", max_size=90),
            st.sampled_from([("",), ("✖",), ("×1,000 ✖12 max 40 ms p95 1 ms", "×1,000 ✖12 max 40 ms", "×1k ✖12")]),
            st.sampled_from([("",), ("p50 13.5 ms", "13.5 ms"), ("no end",)]),
            st.just(""),
            st.integers(0, 99),
            bar=st.none() | st.tuples(st.floats(-9, 9), st.floats(0, 9)).map(lambda pair: (pair[0], sum(pair))),
            waits=st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), max_size=2).map(tuple),
            inferred=st.none() | st.tuples(st.floats(-9, 9), st.floats(-9, 9)),
            events=st.lists(st.floats(0, 1), max_size=3).map(tuple),
            is_error=st.booleans(),
        ),
        max_size=5,
    ),
    st.integers(40, 200),
)
def test_no_line_is_wider(rows: list[PictureRow], width: int) -> None:
    """Whatever the rows are, each stays within the columns that are asked for."""
    lines = [*picture_lines(picture(*rows), width)][1:]
    assert all(cell_len(line) <= width for line in lines[-1 - len(rows) : -1])


def test_what_the_letters_of_a_wait_mean() -> None:
    """Those are explained that stand there, and they step back with the dots."""
    wait = row_with(bar=(0.5, 1.0), waits=((0.0, 0.5),), wait_parts=(("a", 0.0, 0.3), ("r", 0.3, 0.31)))
    lines = [*picture_lines(picture(wait), 60, lambda text, shade: f"<{text}>" if shade == QUIET else text)]
    assert "<a┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈>" in lines[2]
    assert lines[3] == "▒ spans below run   ┈ waiting before it ran   a arguments"
