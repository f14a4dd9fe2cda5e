"""Changes that gates compare with a limit, and with noise: what `diff --fail-on` asks.

p95:+10%                          of each group of a comparison; also mean, sum, self_time, count and rate
p95(name="GET /"):+20ms           of spans that match, however they are grouped
rate(status=ERROR):+0.01          by one in a hundred; with %, of what A has
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.flame import NOWHERE
from spanview.analysis.noise import (
    FALSE_ALARMS,
    LEAST_FOR_MEAN,
    Bounds,
    least_for_percentile,
    mean_bounds,
    percentile_bounds,
    rate_bounds,
)
from spanview.analysis.query.aggregate import (
    COUNT,
    DURATION,
    PERCENTILE,
    RATE,
    SELF_TIME,
    Aggregate,
    amount_expected,
    figure_of,
    is_aggregate,
    parse_aggregate,
    parse_amount,
    values_by_row,
    values_in,
)
from spanview.analysis.query.parse import fail
from spanview.analysis.query.query import Query, mistakes_in, parse_query
from spanview.analysis.query.terms import meant_text, near_key
from spanview.analysis.query.values import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.analysis.flame import Located
    from spanview.index.store import Store

_OF_GROUPS: Final = ("p50", "p95", "p99", "mean", "sum", SELF_TIME, COUNT, RATE)
"""Any other percentile is one, too."""
_WORD: Final = re.compile(r"\s*(\w+)")
_CHANGE: Final = re.compile(r"\s*:\s*([+-])\s*")
_PERCENT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\s*")
_WITHOUT_BOUNDS: Final = frozenset(("min", "max"))
_PER_TRACE: Final = frozenset(("sum", COUNT))
"""What is compared per trace: one side may have more of them."""


@dataclass(frozen=True, slots=True)
class ChangeLimit:
    """How much a figure may change."""

    text: str
    """As it was given."""
    aggregate: Aggregate
    is_of_groups: bool
    """Whether it is of each group of a comparison."""
    is_increase: bool
    amount: Number
    """At least 0: of what A has, or in the figure's unit."""
    is_relative: bool

    def is_exceeded_by(self, a: Number, b: Number) -> bool:
        """Return whether the change from A to B is greater."""
        change = b - a if self.is_increase else a - b
        return change > (self.amount * abs(a) if self.is_relative else self.amount)


@dataclass(frozen=True, slots=True)
class Change:
    """How a figure has changed."""

    group: PathDiff | None
    """The group; None where the change is not of groups."""
    a: Number | None
    """The figure of A; None where it has nothing that it could be of."""
    b: Number | None
    counts: tuple[int, int]
    """Values of A and B."""
    is_increase: bool = True
    bounds: tuple[Bounds, Bounds] | None = None
    """What the true figures of A and B are rarely beyond; None where the change is within the limit."""
    least: int = 0
    """Values that both sides need for bounds."""

    @property
    def _gap(self) -> tuple[float, float] | None:
        """The bounds between which nothing is where the change is real: of the lower side, and of the higher one."""
        if self.bounds is None:
            return None
        lower, higher = self.bounds if self.is_increase else self.bounds[::-1]
        return lower.high, higher.low

    @property
    def has_too_few(self) -> bool:
        """Whether there are too few values to tell it from noise."""
        return self._gap is not None and inf in map(abs, self._gap)

    @property
    def is_real(self) -> bool:
        """Whether it is greater than what the spread of both sides explains."""
        return self._gap is not None and self._gap[0] < self._gap[1]


def parse_change(text: str) -> ChangeLimit:
    """Return what `--fail-on` asks of a comparison.

    Raises:
        QueryError: There is a mistake in it, with its position and what was expected there.
    """
    with mistakes_in(text):
        is_of_groups = not is_aggregate(text)
        aggregate, end = _figure_of_groups(text) if is_of_groups else parse_aggregate(text)
        if aggregate.function in _WITHOUT_BOUNDS:
            start = len(text) - len(text.lstrip())
            known = ", ".join(_OF_GROUPS)
            fail(start, f"expected one of {known}: nothing tells a change of {aggregate.function} from noise")
        change = _CHANGE.match(text, end)
        if change is None:
            fail(end, "expected : and a change here, such as :+10% or :-20ms")
        written = text[change.end() :]
        percent = _PERCENT.fullmatch(written)
        amount = float(percent[1]) / 100 if percent else parse_amount(written, aggregate)
        if amount is None or amount < 0:
            expected = "a number" if aggregate.function == RATE else amount_expected(aggregate)
            fail(change.end(), f"expected a percentage such as 10%, or {expected}, after {change[1]}")
        low, high = aggregate.bounds
        if amount >= (1 if percent and low == 0 and change[1] == "-" else inf if percent else high - low):
            fail(change.end(), f"{aggregate.function} never changes by more than that")
        return ChangeLimit(text, aggregate, is_of_groups, change[1] == "+", amount, percent is not None)


def _figure_of_groups(text: str) -> tuple[Aggregate, int]:
    word = _WORD.match(text)
    name = "" if word is None else word[1].lower()
    if word is None or (name not in {*_OF_GROUPS, *_WITHOUT_BOUNDS} and not PERCENTILE.fullmatch(name)):
        meant = meant_text(near_key(name, _OF_GROUPS))
        fail(len(text) - len(text.lstrip()), f"expected one of {', '.join(_OF_GROUPS)}, as in p95:+10%{meant}")
    every = Query("")
    if name == RATE:
        return Aggregate(RATE, every, parse_query("status=ERROR"), ""), word.end()
    if name == SELF_TIME:
        return Aggregate("sum", every, None, SELF_TIME), word.end()
    return Aggregate(name, every, None, "" if name == COUNT else DURATION), word.end()


def sample_of(limit: ChangeLimit, store: Store, traces: Sequence[int]) -> Sequence[Number]:
    """Return what a side has of a figure that is of no groups: of spans, or of traces where these are summed up."""
    aggregate = limit.aggregate
    if aggregate.function not in _PER_TRACE:
        return values_in(store, aggregate, {*traces})
    sums = dict[int, Number]()
    for row, value in values_by_row(store, aggregate, {*traces}):
        trace = store.spans.trace[row]
        sums[trace] = sums.get(trace, 0) + value
    # A side without such a span has nothing to compare.
    return sorted(sums.get(trace, 0) for trace in traces) if sums else []


def change_of(
    limit: ChangeLimit, a: Sequence[Number], b: Sequence[Number], compared: int = 1, group: PathDiff | None = None
) -> Change:
    """Return how a figure has changed.

    Args:
        a: What A has, as `sample_of` returns it, sorted.
        b: What B has.
        compared: How many changes the gate compares: together they have the chance of false alarms that one has.
        group: What it is of, where it compares groups.
    """
    function = limit.aggregate.function
    counts = len(a), len(b)
    of_a, of_b = (_figure(function, values) for values in (a, b))
    if of_a is None or of_b is None or not limit.is_exceeded_by(of_a, of_b):
        return Change(group, of_a, of_b, counts)
    error = FALSE_ALARMS / 2 / compared
    bounds = _bounds(function, a, error), _bounds(function, b, error)
    return Change(group, of_a, of_b, counts, limit.is_increase, bounds, _least(function, error))


def _figure(function: str, values: Sequence[Number]) -> Number | None:
    return figure_of("mean" if function in _PER_TRACE else function, values)


def _bounds(function: str, values: Sequence[Number], error: float) -> Bounds:
    if percentile := PERCENTILE.fullmatch(function):
        return percentile_bounds(values, int(percentile[1]), error)
    if function == RATE:
        return rate_bounds(int(sum(values)), len(values), error)
    return mean_bounds(values, error)


def _least(function: str, error: float) -> int:
    if percentile := PERCENTILE.fullmatch(function):
        return least_for_percentile(int(percentile[1]), error)
    return 1 if function == RATE else LEAST_FOR_MEAN


def changes_of_groups(limit: ChangeLimit, merged: Diff, sides: Sequence[tuple[Store, Located]]) -> list[Change]:
    """Return how a figure has changed in each group that both sides have."""
    values_of = [
        {merged.numbers[side][own]: values for own, values in _of_groups(limit, *of_side).items()}
        for side, of_side in enumerate(sides)
    ]
    known = []
    for path in merged.paths:
        values = [of_side.get(path.number, ()) for of_side in values_of]
        # Parents that were not seen are no spans.
        if path.name is not None and all(values):
            known.append((path, [_whole(limit, path, sides, side, each) for side, each in enumerate(values)]))
    return [change_of(limit, a, b, len(known), path) for path, (a, b) in known]


def _whole(
    limit: ChangeLimit, path: PathDiff, sides: Sequence[tuple[Store, Located]], side: int, values: Sequence[Number]
) -> Sequence[Number]:
    """Return the values of a group; of traces, also of those without it."""
    if limit.aggregate.function not in _PER_TRACE:
        return values
    return sorted([*values, *[0] * (_traces(path, sides, side) - len(values))])


def _traces(path: PathDiff, sides: Sequence[tuple[Store, Located]], side: int) -> int:
    """Return how many traces a side has with one of the roots that a group occurs below on either side."""
    names = {
        (root.name, root.service)
        for each, (_, located) in zip((path.a, path.b), sides, strict=True)
        if each is not None
        for root in (located.flame.roots[number] for number in each.roots)
    }
    return sum(root.traces for root in sides[side][1].flame.roots if (root.name, root.service) in names)


def _of_groups(limit: ChangeLimit, store: Store, side: Located) -> dict[int, Sequence[Number]]:
    """Return a side's values by the number of the group; where sums are compared, of traces that have it."""
    aggregate = limit.aggregate
    if aggregate.function in _PER_TRACE:
        return _sums_of_groups(store, side, aggregate.measure)
    if aggregate.function == RATE:
        return {
            number: [0] * (path.count - path.errors) + [1] * path.errors for number, path in enumerate(side.flame.paths)
        }
    return {number: path.durations for number, path in enumerate(side.flame.paths)}


def _sums_of_groups(store: Store, side: Located, measure: str) -> dict[int, Sequence[Number]]:
    import numpy as np

    from spanview.analysis.forest_selftime import times_in
    from spanview.index.arrays import copy_of
    from spanview.index.forest import forest_of

    groups = copy_of(side.column)
    rows = np.flatnonzero(groups != NOWHERE)
    weights: Any = np.ones(len(rows))
    if measure:
        times = times_in(forest_of(store))
        weights = np.where(times.are_known, times.own if measure == SELF_TIME else times.durations, 0)[rows]
    size = max(1, len(store.trace_table))
    pairs = groups[rows].astype(np.int64) * size + copy_of(store.spans.trace)[rows]
    keys, inverse = np.unique(pairs, return_inverse=True)
    sums = np.bincount(inverse, weights=weights.astype(np.float64), minlength=len(keys))
    found = dict[int, list[Number]]()
    for key, total in zip(keys.tolist(), sums.tolist(), strict=True):
        found.setdefault(key // size, []).append(total)
    return {**found}
