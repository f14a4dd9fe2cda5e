"""Durations counted by power of ten, as a few blocks."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_FIRST_POWER, _LAST_POWER = 3, 11
"""From microseconds to what takes minutes, and more."""
HISTOGRAM: Final = _LAST_POWER - _FIRST_POWER
"""Cells of a histogram."""
SCALE: Final = "µs ms s".ljust(HISTOGRAM)
"""What its cells mean: each unit is over, or below, the cell that begins with it."""


def histogram_text(counts: Sequence[int]) -> str:
    """Return counts by power of ten as blocks, a cell each, as high as the logarithm of the count."""
    quickest, slowest = sum(counts[: _FIRST_POWER + 1]), sum(counts[_LAST_POWER - 1 :])
    inner = [quickest, *counts[_FIRST_POWER + 1 : _LAST_POWER - 1], slowest]
    most = max(inner)
    return "".join(
        " " if not number else _BLOCKS[round(log(number) / log(most) * (len(_BLOCKS) - 1)) if most > 1 else 0]
        for number in inner
    )


def cell_of(duration_ns: int) -> int:
    """Return the cell of a histogram in which a duration is counted."""
    power = len(str(duration_ns)) - 1 if duration_ns > 0 else 0
    return min(max(power - _FIRST_POWER, 0), HISTOGRAM - 1)
