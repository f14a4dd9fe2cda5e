"""Times and durations as they are typed, in a zone two hours east of Greenwich.

2024-05-28T18:05:04          16:05:04 UTC
2024-05-28T18:05:04Z         18:05:04 UTC
2024-05-28                   22:00:00 UTC of the day before
"""

from __future__ import annotations

import pytest

from spanview.analysis.query.timetext import parse_clock, parse_duration, parse_moment
from spanview.model.times import parse_time


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("7ns", 7),
        ("5us", 5_000),
        ("5µs", 5_000),
        ("5μs", 5_000),
        ("3ms", 3_000_000),
        ("1.5s", 1_500_000_000),
        ("0.0000000005s", 0),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1d", 86_400_000_000_000),
        ("0.1us", 100),
        ("0", 0),
        ("5", None),
        ("", None),
        ("ms", None),
        ("-5ms", None),
        ("5 ms", None),
        ("1.s", None),
        ("5MS", None),
        ("9" * 19 + "s", None),
    ],
)
def test_durations(text: str, ns: int | None) -> None:
    """A duration is a number with its unit; only nothing at all needs none."""
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-05-28T18:05:04", "2024-05-28T16:05:04Z"),
        ("2024-05-28 18:05:04", "2024-05-28T16:05:04Z"),
        ("2024-05-28T18:05", "2024-05-28T16:05:00Z"),
        ("2024-05-28", "2024-05-27T22:00:00Z"),
        ("2024-05-28T18:05:04Z", "2024-05-28T18:05:04Z"),
        ("2024-05-28t18:05:04z", "2024-05-28T18:05:04Z"),
        ("2024-05-28T18:05:04+01:30", "2024-05-28T16:35:04Z"),
        ("2024-05-28T18:05:04-0130", "2024-05-28T19:35:04Z"),
        ("2024-05-28T18:05:04.123456789Z", "2024-05-28T18:05:04.123456789Z"),
        ("2024-05-28T18:05:04,5", "2024-05-28T16:05:04.5Z"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z"),
    ],
)
@pytest.mark.usefixtures("two_hours_east")
def test_moments(text: str, utc: str) -> None:
    """A time is local unless it names a zone; a date alone is its midnight."""
    assert parse_moment(text) == parse_time(utc)


@pytest.mark.parametrize(
    "text",
    ["", "now", "18:05", "2024-13-01", "2024-05-28T25:00", "2024-05-28T18", "2024-05-28Z", "2024-05-28T18:05:04+99:99"],
)
def test_no_moments(text: str) -> None:
    """What is no time, or one that no clock shows, is none."""
    assert parse_moment(text) is None


@pytest.mark.parametrize(
    ("text", "first", "last", "utc"),
    [
        ("18:05", "2024-05-28T10:00:00Z", "2024-05-28T20:00:00Z", "2024-05-28T16:05:00Z"),
        ("8:05:04.25", "2024-05-28T10:00:00Z", "2024-05-28T20:00:00Z", "2024-05-28T06:05:04.25Z"),
        # The last is at 00:30 here.
        ("23:55", "2024-05-28T20:00:00Z", "2024-05-28T22:30:00Z", "2024-05-28T21:55:00Z"),
        ("00:10", "2024-05-28T20:00:00Z", "2024-05-28T22:30:00Z", "2024-05-28T22:10:00Z"),
        ("12:00", "2024-05-28T20:00:00Z", "2024-05-28T22:30:00Z", "2024-05-29T10:00:00Z"),
    ],
)
@pytest.mark.usefixtures("two_hours_east")
def test_times_of_day(text: str, first: str, last: str, utc: str) -> None:
    """A time of day is local, on the latest day that has it between the first time and the last, or on the last day."""
    clock, begin, end = parse_clock(text), parse_time(first), parse_time(last)
    assert clock is not None
    assert begin is not None
    assert end is not None
    assert clock.between(begin, end) == parse_time(utc)


@pytest.mark.parametrize("text", ["", "now", "18", "24:00", "18:5", "18:05:", "18:05.5", "118:05", "18:05Z"])
def test_no_times_of_day(text: str) -> None:
    """What no clock shows is none."""
    assert parse_clock(text) is None
