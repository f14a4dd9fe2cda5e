"""Traces counted into the cells of a plot, with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanview.model.times import NO_TIME
from spanview.tui.traces.plot_model import POWERS, Grid, powers_of, rows_of

if TYPE_CHECKING:
    from spanview.analysis.trace_columns import Points


def grid_of(points: Points, width: int, rows: int) -> Grid | None:
    """Return traces in cells.

    Args:
        width: How many columns there are.
        rows: How many rows there are; the lowest has all that is quicker, too.

    Returns:
        None where no trace has a start.
    """
    known = points.starts != NO_TIME
    if not known.any():
        return None
    starts, durations, are_failed = (column[known] for column in points[:3])
    is_lit = np.ones(len(starts), np.bool_) if points.are_lit is None else points.are_lit[known]
    first, last = int(starts.min()), int(starts.max())
    powers = np.maximum(np.searchsorted(np.array(POWERS), durations, "right") - 1, 0)
    of_rows = powers_of(np.bincount(powers, minlength=len(POWERS)).tolist(), rows)
    across = np.clip(((starts - first) / (last - first + 1) * width).astype(np.int64), 0, width - 1)
    cells = across * rows + np.array(rows_of(of_rows))[powers]
    counts = np.bincount(cells[is_lit])
    used, counted, failed = (
        [divmod(cell, rows) for cell in np.flatnonzero(numbers).tolist()]
        for numbers in (np.bincount(cells), counts, np.bincount(cells[is_lit & are_failed]))
    )
    of_cells = dict(zip(counted, counts[counts > 0].tolist(), strict=True))
    return Grid(width, first, last + 1, of_rows, int(powers.min()), frozenset(used), of_cells, frozenset(failed))
