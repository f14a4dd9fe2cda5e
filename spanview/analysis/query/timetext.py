"""Times and durations as a person types them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Final, NamedTuple

from spanview.model.times import NS_PER_SECOND

DURATIONS: Final = "7ns, 5us, 3ms, 1.5s, 2m, 1h or 1d"
"""Examples of durations, for messages."""
TIMES: Final = "18:05:04, 2024-05-28T18:05:04 or 2024-05-28, local unless Z or +02:00 follows a date"
"""Examples of times, for messages."""

UNITS_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_SECOND,
    "m": 60 * NS_PER_SECOND,
    "h": 3_600 * NS_PER_SECOND,
    "d": 86_400 * NS_PER_SECOND,
}
PATTERNS: Final = {
    "duration": rf"([0-9]{{1,18}}(?:\.[0-9]{{1,18}})?)({'|'.join(UNITS_NS)})",
    "time": r"(\d{4}-\d\d-\d\d)(?:[Tt ]((?:[01]\d|2[0-3]):\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?"
    r"(?:([Zz])|([+-])(\d\d):?(\d\d))?)?",
    "clock": r"\d?\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?",
}
"""Regular expressions of whole texts, which mean the same in JavaScript."""
_DURATION, _TIME, _CLOCK = (re.compile(pattern, re.ASCII) for pattern in PATTERNS.values())


class Clock(NamedTuple):
    """A local time of day, such as `18:05:04.25`."""

    text: str

    def between(self, first_ns: int, last_ns: int) -> int:
        """Return this time on the latest day on which it lies between two others; if there is none, on the second's."""
        day = datetime.fromtimestamp(last_ns // NS_PER_SECOND, UTC).astimezone().date()
        then = parse_moment(f"{day}T{self.text}")
        before = parse_moment(f"{day - timedelta(days=1)}T{self.text}")
        if then is None or (then > last_ns and before is not None and before >= first_ns):
            return before or 0
        return then


def parse_clock(text: str) -> Clock | None:
    """Return a time of day, such as `18:05`, `18:05:04` or `18:05:04.25`, or None if it isn't one."""
    if not _CLOCK.fullmatch(text):
        return None
    clock = Clock(f"0{text}" if text[1] == ":" else text)
    return clock if parse_moment(f"2024-05-28T{clock.text}") is not None else None


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration such as `1.5s`, or None if it isn't one; `0` needs no unit."""
    if text == "0":
        return 0
    match = _DURATION.fullmatch(text)
    return None if match is None else round(Fraction(match[1]) * UNITS_NS[match[2]])


def parse_moment(text: str) -> int | None:
    """Return the nanoseconds since 1970 of an ISO time, or None if it isn't one.

    A time without a zone is local; a date alone is its midnight.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    date, clock, fraction, is_utc, sign, hours, minutes = match.groups()
    try:
        naive = datetime.fromisoformat(f"{date}T{clock or '00:00'}")
        if sign:
            offset = timedelta(hours=int(hours), minutes=int(minutes))
            moment = naive.replace(tzinfo=timezone(-offset if sign == "-" else offset))
        else:
            moment = naive.replace(tzinfo=UTC) if is_utc else naive.astimezone()
        seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except (ValueError, OverflowError, OSError):
        # A date that doesn't exist, or is beyond the platform's time zone rules.
        return None
    return seconds * NS_PER_SECOND + int((fraction or "0").ljust(9, "0"))
