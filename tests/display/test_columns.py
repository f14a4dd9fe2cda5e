"""Tables of names and figures, as commands print them.

NAME            COUNT  ERRORS
my_mod…process     12       3
"""

from __future__ import annotations

from typing import Final

import pytest

from spanview.display.columns import named

LONG: Final = "my_module.the_class_of_it.its_method.process_" + "0123456789" * 3
ROWS: Final = [("NAME", "COUNT", "LOST", "ERRORS"), (LONG, "12", "", "3"), ("b", "1", "", "")]
FIGURES: Final = len("  COUNT  ERRORS")


@pytest.mark.parametrize("width", [60, 70, len(LONG) + FIGURES])
def test_on_a_terminal(width: int) -> None:
    """Names are cut in the middle so that lines fit, and a column without a figure is left out."""
    heads, first, last = named(ROWS, width=width)
    assert (heads.split(), last.split()) == (["NAME", "COUNT", "ERRORS"], ["b", "1"])
    assert len(heads) == len(first) == width
    assert first.startswith("my_module.the")
    assert first.split()[0].endswith("0123456789" * 2)
    assert ("…" in first) is (width < len(LONG) + FIGURES)


def test_where_figures_leave_no_room() -> None:
    """Names keep enough cells to be told from each other; the terminal breaks the lines."""
    _, first, _ = named(ROWS, width=20)
    assert len(first.split()[0]) == 40


def test_elsewhere() -> None:
    """Nothing is cut or left out where there is no terminal; nor are heads where there are no rows."""
    heads, first, _ = named(ROWS)
    assert heads.split() == ["NAME", "COUNT", "LOST", "ERRORS"]
    assert first.split() == [LONG, "12", "3"]
    assert [line.split() for line in named(ROWS[:1], width=60)] == [["NAME", "COUNT", "LOST", "ERRORS"]]
