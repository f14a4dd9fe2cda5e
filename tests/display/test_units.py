"""Numbers with units, by tables.

ns, µs, ms and s have three digits at the most where they aren't whole; from a minute on two units stand together
"""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import EPOCH_NS
from spanview.display.units import amount, count, duration, moment, size
from spanview.model.times import NO_TIME

MS = 1_000_000
SECOND = 1_000 * MS
DURATIONS = [
    (None, "–"),
    (0, "0 µs"),
    (1, "1 ns"),
    (999, "999 ns"),
    (1_000, "1 µs"),
    (1_001, "1.00 µs"),
    (17_000, "17 µs"),
    (17_340, "17.3 µs"),
    (999_400, "999 µs"),
    (999_500, "1.00 ms"),
    (MS, "1 ms"),
    (9_994_000, "9.99 ms"),
    (9_995_000, "10.0 ms"),
    (41_200_000, "41.2 ms"),
    (99_949_999, "99.9 ms"),
    (99_950_000, "100 ms"),
    (612 * MS, "612 ms"),
    (999_500_000, "1.00 s"),
    (1_030 * MS, "1.03 s"),
    (59_940 * MS, "59.9 s"),
    (59_960 * MS, "1 m 00 s"),
    (60 * SECOND, "1 m 00 s"),
    (125 * SECOND, "2 m 05 s"),
    (3_599 * SECOND, "59 m 59 s"),
    (3_599_600 * MS, "1 h 00 m"),
    (11_220 * SECOND, "3 h 07 m"),
    (86_399 * SECOND, "23 h 59 m"),
    (86_400 * SECOND, "1 d 00 h"),
    (51 * 3_600 * SECOND, "2 d 03 h"),
    (99 * 86_400 * SECOND, "99 d 00 h"),
    (2**63 - 1, "106,751 d"),
    (-(2**63), "-106,751 d"),
    (-41_200_000, "-41.2 ms"),
    (-1, "-1 ns"),
]
"""Nanoseconds and what a person reads."""


AMOUNTS = [
    (0, "0"),
    (3, "3"),
    (1204.0, "1,204"),
    (0.5, "0.5"),
    (1 / 3, "0.33"),
    (0.0051, "0.01"),
    (0.0049, "<0.01"),
    (1.996, "2"),
    (9.999, "10"),
    (17.26, "17.3"),
    (99.96, "100"),
    (1203.7, "1,204"),
]


@pytest.mark.parametrize(("number", "expected"), AMOUNTS)
def test_amounts(number: float, expected: str) -> None:
    """A number has decimals where it isn't whole, and no more than tell something."""
    assert amount(number) == expected


@pytest.mark.parametrize(("ns", "expected"), DURATIONS)
def test_durations(ns: int | None, expected: str) -> None:
    """A duration has the unit that leaves it with few digits."""
    assert duration(ns) == expected


@given(st.integers(0, 999 * 86_400 * SECOND))
def test_durations_fit_their_column(ns: int) -> None:
    """Every duration below a thousand days fits its column of ten cells."""
    assert len(duration(ns)) <= 10


@given(st.integers(1, 59 * SECOND))
def test_durations_are_right_to_three_digits(ns: int) -> None:
    """What is shown is the duration to half a percent."""
    number, unit = duration(ns).split()
    shown = float(number) * {"ns": 1, "µs": 1_000, "ms": MS, "s": SECOND}[unit]
    assert abs(shown - ns) <= ns * 0.0051


@pytest.mark.parametrize(
    ("ns", "arguments", "expected"),
    [
        (NO_TIME, {}, "–"),
        (0, {"zone": UTC}, "1970-01-01 00:00:00.000000"),
        (-1, {"zone": UTC}, "1969-12-31 23:59:59.999999"),
        (EPOCH_NS, {"zone": UTC}, "2023-11-14 22:13:20.000000"),
        (EPOCH_NS + 917_865_999, {"zone": UTC}, "2023-11-14 22:13:20.917865"),
        (EPOCH_NS + 917_865_999, {"zone": UTC, "digits": 3}, "2023-11-14 22:13:20.917"),
        (EPOCH_NS + 917_865_999, {"zone": UTC, "digits": 0, "with_date": False}, "22:13:20"),
        (EPOCH_NS, {"zone": timezone(timedelta(hours=5, minutes=30)), "digits": 0}, "2023-11-15 03:43:20"),
    ],
)
def test_moments(ns: int, arguments: dict[str, object], expected: str) -> None:
    """A moment is a local time whose decimals are cut, never rounded up to a second that hasn't come."""
    assert moment(ns, **arguments) == expected  # type: ignore[arg-type]


@given(st.integers(NO_TIME + 1, 2**63 - 1))
def test_any_moment_can_be_written(ns: int) -> None:
    """Whatever time a file claims, it can be shown in the column that is made for it."""
    assert len(moment(ns, zone=UTC, digits=3)) == 23


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "span", "0 spans"),
        (1, "span", "1 span"),
        (60_319, "span", "60,319 spans"),
        (2, "process", "2 processes"),
        (1, "process", "1 process"),
        (2, "match", "2 matches"),
        (2, "query", "2 queries"),
    ],
)
def test_counts(number: int, noun: str, expected: str) -> None:
    """A count has its noun in the right number and commas at the thousands."""
    assert count(number, noun) == expected


@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1434, "1.40 KiB"),
        (240 * 2**20, "240 MiB"),
        (3 * 2**40, "3 TiB"),
        (5_000 * 2**40, "5000 TiB"),
    ],
)
def test_sizes(bytes_: int, expected: str) -> None:
    """Bytes are counted by 1,024."""
    assert size(bytes_) == expected
