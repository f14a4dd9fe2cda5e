"""Many durations in a few numbers: percentiles, and counts by power of ten."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=float)
POWERS: Final = 16
"""Powers of ten of nanoseconds by which durations are counted; longer ones count for the last."""


def nearest_rank(values: Sequence[_Number], percent: int) -> _Number | None:
    """Return a percentile of sorted values: the one at rank ceil(p·n), counted from 1; None where there are none."""
    return values[rank_of(len(values), percent)] if values else None


def rank_of(count: int, percent: int) -> int:
    """Return the index of a percentile among so many sorted values."""
    return -(-percent * count // 100) - 1


def histogram(durations: Sequence[int] | NDArray[Any]) -> list[int]:
    """Return how many of the sorted durations have each power of ten."""
    bounds = [0, *(bisect_left(durations, 10**power) for power in range(1, POWERS)), len(durations)]
    return [after - before for before, after in pairwise(bounds)]
