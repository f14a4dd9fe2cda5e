"""Durations over time, counted into cells: a column a stretch of time, a row a power of ten of nanoseconds.

 1 s ┤     ▁        ✖
100 ms┤▁▂▁ ▂▃▂    ▂▄▂
 10 ms┤▆▇▆ ▅▅▆ ▇▇▆▅▆▇
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.display.bars import height_by_logarithm
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.trace_columns import Points

POWERS: Final = tuple(10**power for power in range(19))
"""Nanoseconds from which on a row of its own begins."""
FAILED: Final = "✖"
OTHERS: Final = "·"
"""Stands for traces that aren't lit."""
_UNITS: Final = ("ns", "µs", "ms", "s")


class Grid(NamedTuple):
    """Traces in cells."""

    columns: int
    start_ns: int
    """Where the first column begins."""
    end_ns: int
    """Where the last column ends."""
    powers: tuple[int, ...]
    """The power of ten from which on traces are in each row, from the top; some may be left out below the first."""
    least: int
    """The least power of ten of all durations; what is less than that of the lowest row is in it, too."""
    used: frozenset[tuple[int, int]]
    """Cells with a trace, by column and row from the top."""
    counts: dict[tuple[int, int], int]
    """How many traces are in a cell, of those that are set off from all others, or of all where none are."""
    failed: frozenset[tuple[int, int]]
    """Cells with one of these traces that has an error."""

    @property
    def most(self) -> int:
        """How many traces the fullest cell has, of those that are drawn as blocks."""
        return max(self.counts.values(), default=0)

    def glyph(self, column: int, row: int, most: int) -> str:
        """Return what is drawn in a cell, where the fullest has so many traces."""
        cell = column, row
        count = self.counts.get(cell, 0)
        if not count:
            return OTHERS if cell in self.used else " "
        if cell in self.failed:
            return FAILED
        return height_by_logarithm(count, most)

    def label(self, row: int, rows: int) -> str:
        """Return from which duration on traces are in a row, or below which one they are, at the lower edge."""
        if row >= len(self.powers):
            return ""
        power = self.powers[row]
        above = self.powers[row - 1] if row else power + 1
        if row == rows - 1 and self.least < power:
            return f"<{label_of(above)}"
        return f"≥{label_of(power)}" if above > power + 1 else label_of(power)

    def time_of(self, column: float) -> int:
        """Return the time at which a column begins, in nanoseconds since 1970."""
        return self.start_ns + int((self.end_ns - self.start_ns) * column / self.columns)

    def near(self, column: int, most: int) -> int:
        """Return the nearest column with a trace, no further away than so many; else the column itself."""
        used = sorted({candidate for candidate, _ in self.used if abs(candidate - column) <= most})
        return min(used, key=lambda candidate: abs(candidate - column), default=column)

    def column_of(self, ns: int) -> int:
        """Return the column of a time, the first or the last where it lies outside."""
        share = (ns - self.start_ns) / max(1, self.end_ns - self.start_ns)
        return max(0, min(self.columns - 1, int(share * self.columns)))


def powers_of(numbers: Sequence[int], rows: int) -> tuple[int, ...]:
    """Return the power of ten from which on traces are in each row, from the top.

    The top row is the slowest trace's. The others are next to one another, where most traces are in the row of their
    own power.
    """
    slowest = max(power for power, number in enumerate(numbers) if number)
    if slowest < rows or rows == 1:
        return tuple(range(slowest, max(-1, slowest - rows), -1))
    seconds = range(rows - 2, slowest)
    second = max(seconds, key=lambda power: (sum(numbers[power - rows + 2 : power + 1]), power))
    return (slowest, *range(second, second - rows + 1, -1))


def rows_of(powers: Sequence[int]) -> list[int]:
    """Return the row of each power of ten: the first that begins no later, the lowest for what is less than all."""
    below = len(powers) - 1
    return [next((row for row, least in enumerate(powers) if power >= least), below) for power in range(len(POWERS))]


def label_of(power: int) -> str:
    """Return a power of ten of nanoseconds as `1 µs`, `100 ms`, `10 s`, `1e4 s`."""
    unit = min(power // 3, len(_UNITS) - 1)
    rest = power - 3 * unit
    return f"{10**rest:,} {_UNITS[unit]}" if rest <= 3 else f"1e{rest} {_UNITS[unit]}"  # noqa: PLR2004 - seven cells


def grid_of(points: Points, width: int, rows: int) -> Grid | None:
    """Return traces in cells.

    Returns:
        None where no trace has a start.
    """
    import numpy as np

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
