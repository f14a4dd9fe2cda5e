"""Every row at its least size; `python -m tests.reliability` runs them at full size, as the page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from busy import Busy
from pages import TEXTS, between, rows
from seeds import THOROUGH

from .rows import ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from .figures import Row


_SOAKS: Final = "30b"
"""The row of fifty writers, beside which nothing is to be timed."""
_RAY: Final = ("36", "37a", "37b")
"""The rows that start real Ray programs."""
_ROWS: Final = [row for row in ROWS if THOROUGH or row.name not in {"36", "37b", "38"}]
"""All, and of those that start Ray one without `THOROUGH=1`."""


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row.name} {row.fault}",
            marks=[
                *([pytest.mark.machine] if row.ceiling_s is not None or row.name == _SOAKS else []),
                *([pytest.mark.ray] if row.name in _RAY else []),
            ],
        )
        for row in _ROWS
    ],
)
def test_row(row: Row, tmp_path: Path) -> None:
    """A promise holds in each trial; the ceilings of an idle machine are as many times as high on a busy one."""
    if reason := row.unavailable():
        pytest.skip(reason)
    if row.ceiling_s is None:
        assert row.mistakes(row.run(row.least, tmp_path), row.least) == []
        return
    with Busy() as busy:
        figures = row.run(row.least, tmp_path)
    assert row.mistakes(figures, row.least, busy.factor) == []


def test_the_page_has_the_rows() -> None:
    """The table of the page about reliability has every row, made as often as the full size says, and clean."""
    shown = rows(between(TEXTS["spanview/docs/reliability.md"], "reliability"))
    assert [cells[:2] for cells in shown] == [[row.name, row.fault] for row in ROWS]
    for row, cells in zip(ROWS, shown, strict=True):
        count, _, unit = cells[2].partition(" ")
        assert int(count.replace(",", "")) >= row.full
        assert unit == row.unit
        assert cells[3:7] == ["0"] * 4
