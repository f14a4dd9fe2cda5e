"""What columns have for some rows: the same, however many there are and whatever their order."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from spanview.index.arrays import values_at


@pytest.mark.parametrize("count", [0, 1, 70, 1_000, 150_000])
@pytest.mark.parametrize("typecode", ["B", "I", "Q"])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_values_at(count: int, typecode: str, is_sorted: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Few rows are looked up one by one, many with a copy of each part of the column, or of all of it."""
    dice = np.random.default_rng(count)
    column = array(typecode, dice.integers(0, 250, 200_000).astype(np.dtype(typecode)).tobytes())
    rows = dice.integers(0, len(column), count)
    rows = np.sort(rows) if is_sorted else rows
    values = values_at(column, rows)
    assert values.dtype == np.dtype(typecode)
    assert values.tolist() == [column[row] for row in rows.tolist()]
    column.append(1)
    assert values_at(column, [*range(5)]).tolist() == column[:5].tolist()
