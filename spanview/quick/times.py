"""Times as the SDK writes them, `2023-11-14T22:13:20.000001Z`, and as OTLP does, to nanoseconds since 1970."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.model.times import NO_TIME, NS_PER_SECOND, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Flags
    from spanview.index.gather import Bytes

PARTS: Final = (10, b"T", 2, b":", 2, b":", 2, b".", 6, b"Z")
"""Of a template: the day is looked up, the rest counted."""
WIDTH: Final = 27
_DAY_CHARS: Final = 10
_DIGITS: Final = np.array([11, 12, 14, 15, 17, 18, 20, 21, 22, 23, 24, 25])
_WEIGHTS: Final = np.array(
    [part * NS_PER_SECOND for part in (36_000, 3_600, 600, 60, 10, 1)] + [10**power for power in range(8, 2, -1)],
    np.float64,
)
"""Nanoseconds of a digit at each of these; sums are below 2**53, so they are exact."""
_NS_PER_DAY: Final = 86_400 * NS_PER_SECOND
NANOSECOND_DIGITS: Final = 19
"""Of a time as OTLP has it, from 2001 to 2262."""
_HALVES: Final = np.array(
    [[10**power, 0] for power in range(9, -1, -1)] + [[0, 10**power] for power in range(8, -1, -1)], np.float64
)
"""What a digit adds to the seconds, and to the nanoseconds; sums are exact."""
_MAX_SECONDS: Final = 2**63 // NS_PER_SECOND


def times_of(texts: Bytes, positions: tuple[int, ...]) -> tuple[NDArray[np.int64], Flags]:
    """Return nanoseconds since 1970, and where all of the texts are times.

    Args:
        texts: N rows of bytes, which fit `PARTS` from each of `positions` on.

    Returns:
        For each position N numbers.
    """
    digits = texts.take(np.add.outer(positions, _DIGITS), axis=1).reshape(-1, len(_DIGITS)) - np.uint8(ord("0"))
    fits = np.ones(len(digits), np.bool_)
    if (digits > 9).any() or (digits[:, 2:5:2] > 5).any():  # noqa: PLR2004
        fits &= np.all(digits <= 9, axis=1) & np.all(digits[:, 2:5:2] <= 5, axis=1)  # noqa: PLR2004
    ns = (digits.astype(np.float64) @ _WEIGHTS).astype(np.int64)
    fits &= ns < _NS_PER_DAY
    days = texts.take(np.add.outer(positions, np.arange(_DAY_CHARS)), axis=1).view(f"S{_DAY_CHARS}").ravel()
    # Mostly, all are of one day.
    different_days, day_indexes = days[:1], np.zeros(len(days), np.int64)
    if (days != days[:1]).any():
        different_days, day_indexes = np.unique(days, return_inverse=True)
    starts = np.array([_start_of(day) for day in different_days.tolist()], np.int64)
    # Where a day isn't one, the sum isn't used.
    ns += starts[day_indexes]
    fits &= (starts != NO_TIME)[day_indexes]
    shape = len(texts), len(positions)
    return ns.reshape(shape).T, np.all(fits.reshape(shape), axis=1)


def nanoseconds_of(texts: Bytes, position: int) -> tuple[NDArray[np.int64], Flags]:
    """Return nanoseconds since 1970, and which of the texts are times: 19 digits, within 64 bits.

    Args:
        texts: N rows of bytes.
    """
    digits = texts[:, position : position + NANOSECOND_DIGITS] - np.uint8(ord("0"))
    seconds, nanoseconds = (digits.astype(np.float64) @ _HALVES).astype(np.int64).T
    fits = seconds < _MAX_SECONDS
    if (digits > 9).any():  # noqa: PLR2004
        fits &= np.all(digits <= 9, axis=1)  # noqa: PLR2004
    return seconds * NS_PER_SECOND + nanoseconds, fits


@lru_cache(4096)
def _start_of(day: bytes) -> int:
    """Return the nanoseconds since 1970 at which a day begins, or `NO_TIME` if not all of it can be represented."""
    text = day.decode("latin-1")
    begin, end = (parse_time(f"{text}T{clock}Z") for clock in ("00:00:00.000000", "23:59:59.999999"))
    return NO_TIME if NO_TIME in (begin, end) else begin
