"""Every row at its least size; `python -m tests.reliability` runs them at full size, as the README says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .rows import ROWS

if TYPE_CHECKING:
    from .figures import Row


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.name} {row.fault}" for row in ROWS])
def test_row(row: Row, tmp_path: Path) -> None:
    """A promise holds in each trial."""
    if reason := row.unavailable():
        pytest.skip(reason)
    assert row.mistakes(row.run(row.least, tmp_path), row.least) == []


def test_readme_has_the_rows() -> None:
    """The README's table has every row, made as often as the full size says, and clean."""
    text = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    lines = text.split("<!-- reliability -->\n", 1)[1].split("<!-- /reliability -->", 1)[0].splitlines()[2:]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [cells[:2] for cells in shown] == [[row.name, row.fault] for row in ROWS]
    for row, cells in zip(ROWS, shown, strict=True):
        count, _, unit = cells[2].partition(" ")
        assert int(count.replace(",", "")) >= row.full
        assert unit == row.unit
        assert cells[3:7] == ["0"] * 4
