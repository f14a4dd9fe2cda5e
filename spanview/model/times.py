"""Times: ISO 8601 in, nanoseconds since 1970 in UTC inside, ISO 8601 out."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_TIME: Final = -(2**63)
"""The integer that stands for a time the file doesn't have."""

NS_PER_SECOND: Final = 1_000_000_000
ROUNDED_NS: Final = 2_000
"""The SDK's times are right to two microseconds."""
_MAX_NS: Final = 2**63 - 1
_MAX_SECONDS: Final = _MAX_NS // NS_PER_SECOND
"""Seconds of which every nanosecond fits are fewer than this, before and after 1970."""
_SDK_LENGTH: Final = len("2024-05-28T18:05:04.864137Z")
_SDK_LAYOUT: Final = b"0000-00-00T00:00:00.000000Z"
_DIGITS_AS_0: Final = bytes.maketrans(b"123456789", b"000000000")
_CACHED_SECONDS: Final = 65536

_ISO: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?\s*(?:[Zz]|([+-])(\d\d):?(\d\d)|)",
    re.ASCII,
)
_seconds: dict[str, int] = {}
_texts: dict[int, str] = {}


class Bound(int):
    """A time that isn't the one that is meant: that may be any later one, or, as Ray says, an earlier one."""


def known(ns: int) -> int | None:
    """Return a time of the columns as a span has it: None for `NO_TIME`."""
    return None if ns == NO_TIME else ns


def parse_time(value: object) -> int:
    """Return the nanoseconds since 1970 that an ISO time stands for, or `NO_TIME`.

    Times without a zone are taken as UTC, as the SDK means them. Digits after the ninth are cut off.
    """
    if not isinstance(value, str):
        return NO_TIME
    if len(value) == _SDK_LENGTH and value[19] == "." and value[26] == "Z":
        micros = value[20:26]
        # Spans of one file share their seconds: the calendar is asked once a second, not once a span.
        seconds = _seconds.get(value[:19])
        if seconds is not None and micros.isdigit() and micros.isascii():
            return seconds + int(micros) * 1000
    return _parse_any(value)


def parse_sdk_times(texts: Sequence[str]) -> list[int]:
    """Return the nanoseconds of times that are all written as the SDK writes them; much quicker than one by one.

    Raises:
        ValueError: One of them has another layout.
        TypeError: One of them is no text.
    """
    joined = "".join(texts).encode()
    if {*map(len, texts)} != {_SDK_LENGTH} or joined.translate(_DIGITS_AS_0) != _SDK_LAYOUT * len(texts):
        raise ValueError("not the SDK's layout")
    seconds = [text[:19] for text in texts]
    for second in {*seconds}.difference(_seconds):
        if parse_time(second + ".000000Z") == NO_TIME or second not in _seconds:
            raise ValueError("not a time")
    # One list of numbers in JSON is read quicker than one number by int(). They begin with a 1, because JSON has no
    # leading zeros; it adds a second too much.
    numbers = bytearray(b",1000000000" * len(texts))
    for digit in range(6):
        numbers[2 + digit :: 11] = joined[20 + digit :: _SDK_LENGTH]
    numbers[0] = ord("[")
    fractions = orjson.loads(numbers + b"]")
    return [_seconds[second] + fraction - NS_PER_SECOND for second, fraction in zip(seconds, fractions, strict=True)]


def _parse_any(value: str) -> int:
    match = _ISO.fullmatch(value.strip())
    if match is None:
        return NO_TIME
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return NO_TIME
    seconds = timegm(moment.utctimetuple()) + max(second - 59, 0)
    if second > 60:  # noqa: PLR2004 - a minute has 60 seconds, 61 with a leap second
        return NO_TIME
    if match[8]:
        offset = int(match[9]) * 3600 + int(match[10]) * 60
        seconds += offset if match[8] == "-" else -offset
    elif second < 60 and len(value) == _SDK_LENGTH and value[10] == "T" and abs(seconds) < _MAX_SECONDS:  # noqa: PLR2004
        if len(_seconds) >= _CACHED_SECONDS:
            _seconds.clear()
        _seconds[value[:19]] = seconds * NS_PER_SECOND
    ns = seconds * NS_PER_SECOND + int((match[7] or "0").ljust(9, "0"))
    return ns if NO_TIME < ns <= _MAX_NS else NO_TIME


def format_time(ns: int | None) -> str | None:
    """Return a time as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, with nine digits where the nanoseconds aren't zero."""
    if ns is None or ns == NO_TIME:
        return None
    seconds, fraction = divmod(ns, NS_PER_SECOND)
    text = _texts.get(seconds) or _text_of(seconds)
    return f"{text}.{fraction:09d}Z" if fraction % 1000 else f"{text}.{fraction // 1000:06d}Z"


def _text_of(seconds: int) -> str:
    if len(_texts) >= _CACHED_SECONDS:
        _texts.clear()
    # strftime leaves out the leading zeros of early years on some platforms; isoformat doesn't.
    text = _texts[seconds] = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
    return text
