"""Changes that gates compare: what is asked, what has changed, and what noise explains.

samples of a gate     durations of the same long-tailed distribution, B's times a factor
"""

from __future__ import annotations

import random
from typing import Final

import pytest

from spanview.analysis.change import change_of, parse_change
from spanview.model.problems import QueryError

_RUNS: Final = 200
MISTAKES: Final = (
    ("", 0, "expected one of p50"),
    ("p95", 3, "expected : and a change here"),
    ("p95:10%", 3, "expected : and a change here"),
    ("p95:+10x", 5, "expected a percentage such as 10%, or a duration"),
    ("p95:+-10%", 5, "expected a percentage"),
    ("count:+5ms", 7, "or a number, after +"),
    ("p59x:+10%", 0, "expected one of p50"),
    ("mena:+10%", 0, "did you mean mean?"),
    ("self:+10%", 0, "did you mean self_time?"),
    ("count:-100%", 7, "count never changes by more than that"),
    ("rate(name=x):+1", 14, "rate never changes by more than that"),
    ("max:+10%", 0, "nothing tells a change of max from noise"),
    ("min(name=x):+10%", 0, "nothing tells a change of min from noise"),
    ("p95(name=):+10%", 9, "expected a value after ="),
    ("status=ERROR", 0, "expected one of p50"),
)


def sample(random_: random.Random, count: int, factor: float = 1.0) -> list[int]:
    """Return sorted durations in nanoseconds with a long tail."""
    return sorted(round(1e6 * factor * random_.lognormvariate(0, 0.5)) for _ in range(count))


@pytest.mark.parametrize(("text", "position", "expected"), MISTAKES)
def test_mistakes(text: str, position: int, expected: str) -> None:
    """A mistake has its place, and what was expected there."""
    with pytest.raises(QueryError) as raised:
        parse_change(text)
    assert (raised.value.text, raised.value.position) == (text, position)
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("text", "a", "b", "exceeds"),
    [
        ("p50:+10%", 100, 110, False),
        ("p50:+10%", 100, 111, True),
        ("p50:+10%", 100, 50, False),
        ("p50:-10%", 100, 90, False),
        ("p50:-10%", 100, 89, True),
        ("p50:+20ns", 100, 121, True),
        ("p50:+20 ns", 100, 120, False),
        ("count:+0", 2, 3, True),
        ("count:-0", 2, 3, False),
        ("p50(name=x): + 1us", 100, 1101, True),
        ("rate:+1%", 0.5, 0.506, True),
        ("rate:+0.01", 0.5, 0.506, False),
    ],
)
def test_limits(text: str, a: float, b: float, exceeds: object) -> None:
    """A share is of what A has, all else in the figure's own unit; the sign says which way."""
    assert parse_change(text).is_exceeded_by(a, b) is exceeds


@pytest.mark.parametrize("text", ["p50:+0%", "p95:+0%", "mean:+0%", "p95:-0%"])
def test_false_alarms_are_rare(text: str) -> None:
    """Where nothing has changed, a gate on ten groups fails in one of twenty runs at most."""
    random_, limit = random.Random(4), parse_change(text)
    alarms = 0
    for _ in range(_RUNS):
        changes = [change_of(limit, sample(random_, 150), sample(random_, 150), 10) for _ in range(10)]
        alarms += any(change.is_real for change in changes)
    assert alarms <= _RUNS * 0.05


@pytest.mark.parametrize(
    ("text", "factor"), [("p50:+10%", 1.5), ("p95:+10%", 2.0), ("mean:+10%", 1.5), ("p50:-10%", 0.6)]
)
def test_what_has_changed_is_found(text: str, factor: float) -> None:
    """Of ten groups, one that takes so much longer is found each time; all others pass."""
    random_, limit = random.Random(5), parse_change(text)
    for _ in range(20):
        change = change_of(limit, sample(random_, 500), sample(random_, 500, factor), 10)
        assert change.is_real
        assert not change.has_too_few


def test_counts_without_spread() -> None:
    """A third query in each of thirty traces is real; with two traces there are too few to tell."""
    limit = parse_change("count:+0")
    many, few = (change_of(limit, [2] * traces, [3] * traces) for traces in (30, 2))
    assert (many.is_real, many.has_too_few, few.is_real, few.has_too_few) == (True, False, False, True)
    assert (few.a, few.b, few.counts, few.least) == (2, 3, (2, 2), 30)


def test_few_spans_are_too_few() -> None:
    """P95 of seventy spans has no upper bound, however far B's are above; with 72 there is one."""
    limit = parse_change("p95:+10%")
    for count, is_real in ((71, False), (72, True)):
        change = change_of(
            limit, [1000 + number for number in range(count)], [5000 + number for number in range(count)]
        )
        assert (change.is_real, change.has_too_few, change.least) == (is_real, not is_real, 72)


def test_within_the_limit_nothing_is_asked() -> None:
    """There are no bounds, and nothing is too few."""
    change = change_of(parse_change("p95:+10%"), [1000], [1050])
    assert (change.bounds, change.is_real, change.has_too_few) == (None, False, False)
    change = change_of(parse_change("p95:+10%"), [], [1050])
    assert (change.a, change.b, change.is_real) == (None, 1050, False)
