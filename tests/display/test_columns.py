"""Tables of names and figures, as commands print them.

NAME            COUNT  ERRORS
my_mod…process     12       3
"""

from __future__ import annotations

from typing import Final

import pytest

from spanview.display.columns import Head, named

LONG: Final = "my_module.the_class_of_it.its_method.process_" + "0123456789" * 3
HEADS: Final = [Head("NAME"), Head("COUNT"), Head("LOST"), Head("ERRORS")]
ROWS: Final = [(LONG, "12", "", "3"), ("b", "1", "", "")]
FIGURES: Final = len("  COUNT  ERRORS")


@pytest.mark.parametrize("width", [60, 70, len(LONG) + FIGURES])
def test_on_a_terminal(width: int) -> None:
    """Names are cut in the middle so that lines fit, and a column without a figure is left out."""
    heads, first, last = named(HEADS, ROWS, width=width)
    assert (heads.split(), last.split()) == (["NAME", "COUNT", "ERRORS"], ["b", "1"])
    assert len(heads) == len(first) == width
    assert first.startswith("my_module.the")
    assert first.split()[0].endswith("0123456789" * 2)
    assert ("…" in first) is (width < len(LONG) + FIGURES)


def test_where_figures_leave_no_room() -> None:
    """Names keep enough cells to be told from each other; the terminal breaks the lines."""
    _, first, _ = named(HEADS, ROWS, width=20)
    assert len(first.split()[0]) == 12


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (110, "NAME COUNT WAIT P50 P95 RUN P50 P95"),
        (74, "NAME COUNT WAIT P50 RUN P50 P95"),
        (67, "NAME COUNT RUN P50 P95"),
        (58, "NAME COUNT RUN P95"),
        (50, "NAME COUNT"),
        (30, "NAME COUNT"),
    ],
)
def test_figures_go_in_their_turns(width: int, expected: str) -> None:
    """Until names have enough room; the first of a family that is left says of what it is. Lines fit."""
    heads = [Head("NAME"), Head("COUNT"), Head("P50", 2, "WAIT"), Head("P95", 1, "WAIT")]
    heads += [Head("P50", 3, "RUN"), Head("P95", 4, "RUN")]
    first, line = named(heads, [(LONG, "1", "2 ms", "3 ms", "4 ms", "5 ms")], width=width)
    assert first.split() == expected.split()
    assert max(len(first), len(line)) <= width
    assert line.split()[0].endswith("456789")
    if width > 50:
        assert len(line.split()[0]) >= 40


def test_elsewhere() -> None:
    """Nothing is cut or left out where there is no terminal; nor are heads where there are no rows."""
    heads, first, _ = named(HEADS, ROWS)
    assert heads.split() == ["NAME", "COUNT", "LOST", "ERRORS"]
    assert first.split() == [LONG, "12", "3"]
    assert [line.split() for line in named(HEADS, [], width=60)] == [["NAME", "COUNT", "LOST", "ERRORS"]]
