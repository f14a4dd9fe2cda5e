"""Times as texts, many at once, in the 27 characters that the SDK writes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from spanview.model.times import NS_PER_SECOND, format_time, format_times
from spanview.quick.times import WIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.gather import Bytes

_DAY = 86_400


def time_rows(times: NDArray[np.int64]) -> Bytes:
    """Return times of whole microseconds as `format_time` writes them, N x 27."""
    # Quotients are much quicker than remainders.
    seconds = times // NS_PER_SECOND
    micros = (times - seconds * NS_PER_SECOND) // 1000
    first = micros // 1000
    micros -= first * 1000
    days = seconds // _DAY
    seconds -= days * _DAY
    clocks, thousands = _tables()
    rows = np.empty((len(times), WIDTH), np.uint8)
    # Of most programs all times are of one day.
    for day in {*days[:1].tolist()} if (days == days[:1]).all() else {*days.tolist()}:
        rows[days == day, :11] = np.frombuffer((format_time(day * _DAY * NS_PER_SECOND) or "")[:11].encode(), np.uint8)
    rows[:, 11:20] = clocks[seconds]
    rows[:, 20:23] = thousands[first]
    rows[:, 23:26] = thousands[micros]
    rows[:, 26] = ord("Z")
    return rows


def time_texts(times: NDArray[np.int64]) -> list[bytes]:
    """Return times as `format_time` writes them."""
    if (times % 1000).any():
        return format_times(times.tolist())
    texts: list[bytes] = time_rows(times).view(f"V{WIDTH}").ravel().tolist()
    return texts


@cache
def _tables() -> tuple[Bytes, Bytes]:
    """Return the clock of each second of a day, with a point behind it, and all numbers of three digits."""
    digits = np.array([f"{number:03d}".encode() for number in range(1000)]).view(np.uint8).reshape(-1, 3)
    two = digits[:60, 1:]
    seconds = np.arange(_DAY)
    clocks = np.full((_DAY, 9), ord(":"), np.uint8)
    clocks[:, 0:2], clocks[:, 3:5], clocks[:, 6:8] = two[seconds // 3600], two[seconds // 60 % 60], two[seconds % 60]
    clocks[:, 8] = ord(".")
    return clocks, digits
