"""When a line of a log was written, by the time that it begins with.

2026-05-28 18:05:04,864 INFO root loaded                    Python's logging
[2026-05-28 18:05:04,864 I 4242 4242] core_worker.cc:1      Ray's own
INFO 2026-05-28 18:05:04,864 proxy 192.0.2.2 -- GET /       Ray Serve's
{"asctime": "2026-05-28 18:05:04,864", …, "timestamp_ns": 1780000000000000000}
2026-05-28T18:05:04.864123Z loaded                          ISO 8601, with a zone or without
I0528 18:05:04.864123 4242 file.cc:1] loaded                glog: no year
INFO 05-28 18:05:04 [core.py:1] loaded                      vLLM's: no year

A time without a zone is one of the zone that this program runs in. A year that is missing is the one that brings the
time closest to that of the span that is asked about.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from spanview.model.times import NS_PER_SECOND

_HEAD_LENGTH: Final = 64
"""A time begins within so many bytes of a line."""
_JSON_LENGTH: Final = 4096
"""A time begins within so many bytes of a line that is a JSON object."""
_DIGITS: Final = 9
"""Of a second's fraction in nanoseconds."""
# 2026-05-28 18:05:04,864 and 2026-05-28T18:05:04.864123+02:00
_DATED: Final = re.compile(
    rb"(?<![0-9])([0-9]{4})-([01][0-9])-([0-3][0-9])[ T]([0-2][0-9]):([0-5][0-9]):([0-6][0-9])"
    rb"(?:[.,]([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
# I0528 18:05:04.864123
_GLOG: Final = re.compile(rb"[IWEFD]([01][0-9])([0-3][0-9]) ([0-2][0-9]):([0-5][0-9]):([0-6][0-9])(?:\.([0-9]{1,9}))?")
# INFO 05-28 18:05:04
_WITHOUT_YEAR: Final = re.compile(
    rb"[A-Z]{4,8} ([01][0-9])-([0-3][0-9]) ([0-2][0-9]):([0-5][0-9]):([0-6][0-9])(?:[.,]([0-9]{1,9}))?"
)
_TIMESTAMP: Final = re.compile(rb'"timestamp_ns": ?([0-9]{19})(?![0-9])')

# 18:05:04, and "timestamp_ns": 178
_CLOCK: Final = re.compile(rb'[0-2][0-9]:[0-5][0-9]:[0-6][0-9]|"timestamp_ns": ?[0-9]')


class LogTime(NamedTuple):
    """When a line was written, as exactly as it says."""

    ns: int
    """The beginning of it, in nanoseconds since 1970."""
    step_ns: int
    """How long the time is that the line names: 1 ms for `18:05:04,864`."""


def may_have_times(data: bytes) -> bool:
    """Tell whether lines of a log may have times: much quicker than asking each of them."""
    return _CLOCK.search(data) is not None


def log_time(line: bytes, near_ns: int) -> LogTime | None:
    """Return when a line was written, in a year close to `near_ns`; None if it doesn't begin with a time."""
    if line[:1] == b"{":
        if (stamp := _TIMESTAMP.search(line)) is not None:
            return LogTime(int(stamp[1]), 1)
        match = _DATED.search(line, 0, _JSON_LENGTH)
    else:
        match = _DATED.search(line, 0, _HEAD_LENGTH)
    try:
        if match is not None:
            if b'"' in line[: match.start()] and line[:1] != b"{":
                # A value of what was printed, as `"start_time": "2026-05-28T18:05:04.864123Z",`.
                return None
            *parts, fraction, zone = match.groups()
            year, month, day, hour, minute, second = map(int, parts)
            base_s = _seconds(year, month, day, hour, minute, zone)
        elif (match := _GLOG.match(line) or _WITHOUT_YEAR.match(line)) is not None:
            *parts, fraction = match.groups()
            month, day, hour, minute, second = map(int, parts)
            years = (datetime.fromtimestamp(near_ns / NS_PER_SECOND, UTC).year + step for step in (0, -1, 1))
            base_s = min(
                (_seconds(year, month, day, hour, minute, None) for year in years),
                key=lambda base_s: abs(base_s * NS_PER_SECOND - near_ns),
            )
        else:
            return None
    except (ValueError, OverflowError, OSError):
        # The 31st of February, or a span that is far from all years.
        return None
    digits = fraction or b""
    step_ns: int = 10 ** (_DIGITS - len(digits))
    return LogTime((base_s + second) * NS_PER_SECOND + int(digits or b"0") * step_ns, step_ns)


@lru_cache(1024)
def _seconds(year: int, month: int, day: int, hour: int, minute: int, zone: bytes | None) -> int:  # noqa: PLR0913, PLR0917 - of a minute, which thousands of lines have in common
    """Return when a minute began, in seconds since 1970.

    Raises:
        ValueError: There is no such minute.
        OverflowError: This platform doesn't know the zone of such a year.
    """
    moment = datetime(year, month, day, hour, minute, tzinfo=UTC)
    if zone is None:
        return int(time.mktime((year, month, day, hour, minute, 0, -1, -1, -1)))
    seconds = int(moment.timestamp())
    if zone == b"Z":
        return seconds
    offset_s = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return seconds - offset_s if zone[:1] == b"+" else seconds + offset_s
