"""Every row at its least size; `python -m tests.reliability` runs them at full size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rows import ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from .figures import Row


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.name} {row.fault}" for row in ROWS])
def test_row(row: Row, tmp_path: Path) -> None:
    """A promise holds in each trial."""
    if reason := row.unavailable():
        pytest.skip(reason)
    assert row.mistakes(row.run(row.least, tmp_path), row.least) == []
