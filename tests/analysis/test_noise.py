"""Bounds of figures, against those that exact sums give, and against samples whose true figures are known."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb, inf
from typing import TYPE_CHECKING, Final

import pytest

from spanview.analysis.noise import (
    LEAST_FOR_MEAN,
    Bounds,
    least_for_percentile,
    mean_bounds,
    percentile_bounds,
    rate_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ERROR: Final = 0.025
_SAMPLES: Final = 400


def exactly(count: int, percent: int) -> tuple[float, float]:
    """Return the ranks of both bounds, as fractions give them; minus infinity or infinity where there are none."""
    share = Fraction(percent, 100)
    chances = [comb(count, number) * share**number * (1 - share) ** (count - number) for number in range(count + 1)]
    low = max((rank for rank in range(1, count + 1) if sum(chances[:rank]) <= ERROR), default=-inf)
    high = min((rank for rank in range(1, count + 1) if sum(chances[rank:]) <= ERROR), default=inf)
    return low, high


@pytest.mark.parametrize("percent", [1, 50, 95, 99])
@pytest.mark.parametrize("count", [1, 5, 6, 71, 72, 73, 200])
def test_ranks_are_those_of_exact_sums(count: int, percent: int) -> None:
    """A bound is the value at the nearest rank that is wrong rarely enough."""
    assert percentile_bounds(range(1, count + 1), percent, ERROR) == exactly(count, percent)


@pytest.mark.parametrize(("percent", "least"), [(50, 6), (95, 72), (5, 72), (99, 368)])
def test_what_bounds_need(percent: int, least: int) -> None:
    """With one value fewer, one of the bounds is missing."""
    assert least_for_percentile(percent, ERROR) == least
    assert inf not in map(abs, percentile_bounds(range(least), percent, ERROR))
    assert inf in map(abs, percentile_bounds(range(least - 1), percent, ERROR))


def test_rates_and_means_that_tables_have() -> None:
    """Those of Clopper and Pearson for 0, 3 and 10 of 10, and Student's t for 29 degrees of freedom."""
    for successes, low, high in ((0, 0.0, 0.3085), (3, 0.0667, 0.6525), (10, 0.6915, 1.0)):
        assert rate_bounds(successes, 10, ERROR) == pytest.approx((low, high), abs=1e-4)
    # Deviations of 1 from the mean, of 30 values: the error of the mean is 1 / sqrt(29).
    assert mean_bounds([-1.0, 1.0] * 15, ERROR) == pytest.approx((-2.0452 / 29**0.5, 2.0452 / 29**0.5), abs=1e-4)
    assert mean_bounds([5] * LEAST_FOR_MEAN, ERROR) == (5, 5)
    assert mean_bounds([5] * (LEAST_FOR_MEAN - 1), ERROR) == Bounds(-inf, inf)


@pytest.mark.parametrize(
    ("bounds_of", "true"),
    [
        (lambda values: percentile_bounds(sorted(values), 50, ERROR), 1.0),
        (lambda values: percentile_bounds(sorted(values), 95, ERROR), 5.18),
        (lambda values: rate_bounds(sum(value > 5.18 for value in values), len(values), ERROR), 0.05),
    ],
    ids=["p50", "p95", "rate"],
)
def test_true_figures_are_rarely_beyond(bounds_of: Callable[[Sequence[float]], Bounds], true: float) -> None:
    """Of durations with a long tail, the true figure is beyond each bound as rarely as it is said, or more rarely."""
    random_ = random.Random(30)
    beyond = [0, 0]
    for _ in range(_SAMPLES):
        low, high = bounds_of([random_.lognormvariate(0, 1) for _ in range(150)])
        beyond[0] += low > true
        beyond[1] += high < true
    # Three standard deviations above the 10 that are expected.
    assert max(beyond) <= _SAMPLES * ERROR + 3 * (_SAMPLES * ERROR) ** 0.5


def test_many_values() -> None:
    """Bounds of a million values are close together, and on both sides of the figure."""
    low, high = percentile_bounds(range(1_000_000), 95, ERROR)
    assert 949_000 < low < 950_000 < high < 951_000
    low, high = rate_bounds(50_000, 1_000_000, ERROR)
    assert 0.0495 < low < 0.05 < high < 0.0505
