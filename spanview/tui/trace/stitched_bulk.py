"""Many positions of a trace with numpy: the same as `stitched_trace` says of one after the other, in a few steps.

A name is found in 200,000 nodes in 0.7 ms of processor time, and in 22 ms by the other, which needs no numpy on the
screen's thread; of 1,000 nodes both do it within 0.1 ms.

The arrays of a stitched trace never change; those of the store grow, and are copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanview.index.arrays import copy_of
from spanview.index.table import NO_ROW

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence


def positions_of_rows(of_positions: array[int], rows: set[int]) -> list[int]:
    """Return the positions whose row in the span table is among some, in order."""
    wanted = np.fromiter(rows, np.int64, len(rows))
    in_order: list[int] = np.flatnonzero(np.isin(np.asarray(of_positions), wanted)).tolist()
    return in_order


def positions_of_value(of_positions: array[int], column: Sequence[int], value: int) -> list[int]:
    """Return the positions of the spans that have a value in a column of the span table, in order."""
    rows = np.asarray(of_positions)
    positions = np.flatnonzero(rows != NO_ROW)
    in_order: list[int] = positions[copy_of(column)[rows[positions]] == value].tolist()
    return in_order


def with_all_above(ends: array[int], positions: Sequence[int]) -> list[int]:
    """Return positions and those of all that stand above them, in order.

    Args:
        ends: The first position behind what hangs below each position.
    """
    before = np.zeros(len(ends) + 1, np.int64)
    before[np.asarray(positions, np.int64) + 1] = 1
    before = np.cumsum(before)
    in_order: list[int] = np.flatnonzero(before[np.asarray(ends)] > before[:-1]).tolist()
    return in_order
