"""Times at the beginning of lines, as programs that run on Ray write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from spanview.analysis.logs.times import log_time, may_have_times

MS: Final = 1_000_000
S: Final = 1_000 * MS
NOON_NS: Final = round(datetime(2026, 5, 28, 12, tzinfo=UTC).timestamp()) * S
"""Two in the afternoon, two hours further east."""


pytestmark = pytest.mark.usefixtures("two_hours_east")


@pytest.mark.parametrize(
    ("line", "after_noon_ns", "step_ns"),
    [
        (b"2026-05-28 14:00:04,864 INFO root loaded", 4_864 * MS, MS),
        (b"[2026-05-28 14:00:04,864 I 7 7] core_worker.cc:1: loaded", 4_864 * MS, MS),
        (b"INFO 2026-05-28 14:00:04,864 proxy 192.0.2.2 -- GET /", 4_864 * MS, MS),
        (b"2026-05-28 14:00:04 loaded", 4 * S, S),
        (b"2026-05-28T12:00:04.864123Z loaded", 4_864_123_000, 1_000),
        (b"2026-05-28T10:30:04.5-01:30 loaded", 4_500 * MS, 100 * MS),
        (b"2026-05-28 20:00:04.5+0800 | INFO | loaded", 4_500 * MS, 100 * MS),
        (b"I0528 14:00:04.864123 7 file.cc:1] loaded", 4_864_123_000, 1_000),
        (b"INFO 05-28 14:00:04 [core.py:1] loaded", 4 * S, S),
        (b'{"asctime": "2026-05-28 14:00:04,864", "message": "loaded"}', 4_864 * MS, MS),
        (b'{"message": "x", "timestamp_ns": %d}' % (NOON_NS + 7), 7, 1),
    ],
)
def test_layouts(line: bytes, after_noon_ns: int, step_ns: int) -> None:
    """Each is read as exactly as it is written; without a zone it is a local time."""
    assert log_time(line, NOON_NS) == (NOON_NS + after_noon_ns, step_ns)
    assert may_have_times(b"no\n  time\n" + line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b'  File "a.py", line 2026',
        b"ValueError: 2026-05-28",
        b'    "start_time": "2026-05-28T12:00:04.864123Z",',
        b"2026-02-31 14:00:04 loaded",
        b"2026-05-28 14:00",
        b"x" * 80 + b"2026-05-28 14:00:04",
        b"10.2026-05-28",
        b"0000-01-01 00:00:00",
        b"\x00\xff2026",
    ],
)
def test_what_is_no_time(line: bytes) -> None:
    """What only resembles a time, or doesn't begin a line, is none."""
    assert log_time(line, NOON_NS) is None


def test_the_year_that_is_missing_is_the_closest() -> None:
    """A line of the last of December belongs to a span of the first of January."""
    new_year_ns = round(datetime(2026, 1, 1, 1, tzinfo=UTC).timestamp()) * S
    time_ = log_time(b"W1231 23:59:59.000000 7 file.cc:1] late", new_year_ns)
    assert time_ is not None
    assert new_year_ns - time_.ns == (3 * 3600 + 1) * S
