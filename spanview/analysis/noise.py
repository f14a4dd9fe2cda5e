"""Whether a figure of B is above A's, or below it, by more than the spread of both explains.

Each side has bounds that its true figure is rarely beyond; where B's lower bound is above A's upper one, the change is
real. Nothing is assumed of how durations are distributed but for means, for which spans, or traces, must be many.

percentiles   order statistics: the value at the rank that a binomial count of smaller values rarely reaches
rates         the exact binomial bounds of Clopper and Pearson
means         Student's t, of spans; of sums and counts, of what each trace has

Source: W. J. Conover, Practical Nonparametric Statistics, 3.2; C. J. Clopper and E. S. Pearson, Biometrika 26 (1934).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.query.values import Number

FALSE_ALARMS: Final = 0.05
"""In how many runs without any change one may seem real, whatever else is compared beside it."""
LEAST_FOR_MEAN: Final = 30
"""Values from which on a mean's spread is known well enough."""
_DEVIATIONS: Final = 12
"""Standard deviations beyond which nothing of a binomial distribution is left."""
_HALVINGS: Final = 40


class Bounds(NamedTuple):
    """What a true figure is rarely below, and rarely above; minus and plus infinity where there are too few values."""

    low: float
    high: float


def percentile_bounds(values: Sequence[Number], percent: int, error: float) -> Bounds:
    """Return the bounds of a percentile of sorted values, each wrong with a chance of `error` at most."""
    low, high = _ranks(len(values), percent, error)
    return Bounds(values[low - 1] if low else -inf, values[high - 1] if high <= len(values) else inf)


def least_for_percentile(percent: int, error: float) -> int:
    """Return how many values both bounds need."""
    extreme = max(percent, 100 - percent) / 100
    return ceil(log(error) / log(extreme))


@lru_cache(maxsize=4096)
def _ranks(count: int, percent: int, error: float) -> tuple[int, int]:
    """Return the ranks of both bounds, from 1; 0 and one after the last where there are none."""
    share = percent / 100
    low, below = 0, 0.0
    high, above = count + 1, 0.0
    for number, chance in _binomial(count, share):
        below += chance
        if below > error:
            break
        # With as few smaller values, the value at the next rank is above the percentile.
        low = number + 1
    for number, chance in reversed(_binomial(count, share)):
        above += chance
        if above > error:
            break
        high = number
    return min(low, count), high


def _binomial(count: int, share: float) -> list[tuple[int, float]]:
    """Return numbers of successes with their chances, but for those that are next to impossible."""
    if not 0 < share < 1:
        return [(count if share else 0, 1.0)]
    far = _DEVIATIONS * (1 + sqrt(count * share * (1 - share)))
    numbers = range(max(0, int(count * share - far)), min(count, int(count * share + far)) + 1)
    logs = log(share), log1p(-share)
    whole = lgamma(count + 1)
    return [
        (
            number,
            exp(
                whole - lgamma(number + 1) - lgamma(count - number + 1) + number * logs[0] + (count - number) * logs[1]
            ),
        )
        for number in numbers
    ]


def rate_bounds(successes: int, count: int, error: float) -> Bounds:
    """Return the bounds of a share of one value or more, each wrong with a chance of `error` at most."""

    def bound(least: float, most: float, *, is_low: bool) -> float:
        for _ in range(_HALVINGS):
            share = (least + most) / 2
            chance = sum(
                chance
                for number, chance in _binomial(count, share)
                if (number >= successes if is_low else number <= successes)
            )
            if (chance < error) == is_low:
                least = share
            else:
                most = share
        return least if is_low else most

    observed = successes / count
    low = bound(0.0, observed, is_low=True) if successes else 0.0
    high = bound(observed, 1.0, is_low=False) if successes < count else 1.0
    return Bounds(low, high)


def mean_bounds(values: Sequence[Number], error: float) -> Bounds:
    """Return the bounds of a mean, each wrong with a chance of about `error`."""
    count = len(values)
    if count < LEAST_FOR_MEAN:
        return Bounds(-inf, inf)
    mean = sum(values) / count
    spread = sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
    reach = _student(error, count - 1) * spread
    return Bounds(mean - reach, mean + reach)


def _student(error: float, freedom: int) -> float:
    """Return what Student's t exceeds with a chance of `error`.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z = NormalDist().inv_cdf(1 - error)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
