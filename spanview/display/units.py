"""Numbers with the units a person reads: durations, moments, counts, sizes."""

from __future__ import annotations

from datetime import UTC, datetime, timezone
from functools import lru_cache
from typing import Final

from spanview.index.lives import OpenEnd
from spanview.model.times import NO_TIME, NS_PER_SECOND

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400
_MANY_DAYS: Final = 100
_KIBI: Final = 1024
_MOST_ROUNDED: Final = 4096
"""Rounded times whose texts are remembered: there are few different ones."""
_UNITS: Final = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", NS_PER_SECOND))


def duration(ns: int | None) -> str:
    """Return nanoseconds as `17 µs`, `41.2 ms`, `1.03 s`, `2 m 05 s`, `3 h 07 m`, `2 d 03 h` or `106,752 d`."""
    if ns is None:
        return "–"
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    for unit, size in _UNITS:
        most = _MINUTE if unit == "s" else 1000
        # Most units are too small by far, and need no text.
        if ns >= most * size or (unit == "ns" and not ns % 1000):
            continue
        number = _three_digits(ns / size)
        if float(number) < most:
            return f"{sign}{number} {unit}"
    seconds = round(ns / NS_PER_SECOND)
    if seconds < _HOUR:
        return f"{sign}{seconds // _MINUTE} m {seconds % _MINUTE:02d} s"
    if seconds < _DAY:
        return f"{sign}{seconds // _HOUR} h {seconds % _HOUR // _MINUTE:02d} m"
    days = seconds // _DAY
    # What is this long is a wrong clock's, and has room in a column all the same.
    return f"{sign}{days} d {seconds % _DAY // _HOUR:02d} h" if days < _MANY_DAYS else f"{sign}{days:,} d"


_MARKS: Final = {None: "{}", OpenEnd.RUNS: "{}…", OpenEnd.EARLIEST: "≥ {}", OpenEnd.LATEST: "≤ {}"}


def lasted(ns: int | None, end: OpenEnd | None) -> str:
    """Return how long something lasted, with what is known of its end: `12.3 s`, `12.3 s…`, `≥ 12.3 s`, `≤ 12.3 s`."""
    return duration(ns) if ns is None else _MARKS[end].format(duration(max(0, ns) if end is OpenEnd.RUNS else ns))


def so_far(ns: int) -> str:
    """Return how long something has lasted that has not ended: `12.3 s…`."""
    return lasted(ns, OpenEnd.RUNS)


def duration_by(ns: int, step: int) -> str:
    """Return a time as `duration` does, but with as many digits as tell it from one a step of nanoseconds away."""
    if last_digit(abs(ns)) <= step:
        return duration(ns)
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    digits = next(digits for digits in range(10) if step * 10**digits >= NS_PER_SECOND)
    smallest = NS_PER_SECOND // 10**digits
    minutes, rest = divmod((ns + smallest // 2) // smallest * smallest, _MINUTE * NS_PER_SECOND)
    if not minutes:
        unit, size = next(each for each in reversed(_UNITS) if each[1] <= ns)
        digits = next(digits for digits in range(10) if size <= step * 10**digits)
        return f"{sign}{ns / size:.{digits}f} {unit}"
    hours, minutes = divmod(minutes, _MINUTE)
    days, hours = divmod(hours, _DAY // _HOUR)
    parts = [f"{days} d"] if days else []
    parts += [f"{hours:{'02d' if days else 'd'}} h"] if days or hours else []
    parts.append(f"{minutes:{'02d' if parts else 'd'}} m")
    return sign + " ".join([*parts, f"{rest / NS_PER_SECOND:0{digits + 2 + bool(digits)}.{digits}f} s"])


def last_digit(ns: int) -> int:
    """Return how many nanoseconds the last digit counts that `duration` shows of a time, 0 at its end included."""
    for _, size in _UNITS:
        number, most = ns / size, _MINUTE if size == NS_PER_SECOND else 1000
        if ns < most * size and float(_three_digits(number)) < most:
            return max(1, size // (1, 10, 100)[_decimals(number)])
    seconds = round(ns / NS_PER_SECOND)
    last = 1 if seconds < _HOUR else _MINUTE if seconds < _DAY else _HOUR if seconds < _DAY * _MANY_DAYS else _DAY
    return NS_PER_SECOND * last


def nearest(ns: int, step: int) -> int:
    """Return the multiple of a step that a time is nearest to, as the last digit of another time may be one."""
    return (ns + step // 2) // step * step


@lru_cache(maxsize=_MOST_ROUNDED)
def rounded(ns: int) -> str:
    """Return a time that was rounded already as `duration` does, without noughts at its end: `8.1 s`."""
    number, _, unit = duration(ns).rpartition(" ")
    return f"{number.rstrip('0').rstrip('.')} {unit}" if "." in number else duration(ns)


def _three_digits(number: float) -> str:
    if number == int(number) and number < 1000:  # noqa: PLR2004 - whole numbers need no decimals
        return str(int(number))
    return f"{number:.{_decimals(number)}f}"


def _decimals(number: float) -> int:
    return 2 if number < 9.995 else 1 if number < 99.95 else 0  # noqa: PLR2004 - where rounding reaches 10 and 100


def moment(ns: int | None, *, with_date: bool = True, zone: timezone | None = None, digits: int = 6) -> str:
    """Return a time in the local zone, as `2026-11-20 12:43:30.917865`; `–` for None and `NO_TIME`.

    Args:
        digits: Decimals of the second, 0 to 6.
    """
    if ns is None or ns == NO_TIME:
        return "–"
    seconds, fraction = divmod(ns, NS_PER_SECOND)
    when = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    text = when.strftime("%H:%M:%S")
    if digits:
        text += "." + f"{fraction:09d}"[:digits]
    return f"{when.year:04d}-{when.month:02d}-{when.day:02d} {text}" if with_date else text


def zone_name(ns: int) -> str:
    """Return the local zone at a time as `UTC` or `UTC+02:00`; summer and winter differ."""
    offset = datetime.fromtimestamp(ns // NS_PER_SECOND, UTC).astimezone().strftime("%z")
    return "UTC" if offset[1:] == "0000" else f"UTC{offset[:3]}:{offset[3:5]}"


def count(number: int, noun: str) -> str:
    """Return `1 span` or `60,319 spans`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "ch")) else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def count_or_blank(number: int) -> str:
    """Return a number of things; nothing where there is none."""
    return f"{number:,}" if number else ""


def amount(number: float) -> str:
    """Return a number of things, whole or not, as `3`, `0.25`, `17.3`, `1,204` or `<0.01`."""
    if number == int(number):
        return f"{int(number):,}"
    text = _three_digits(number)
    if "." not in text:
        return f"{number:,.0f}"
    return "<0.01" if text == "0.00" else text.rstrip("0").rstrip(".")


def size(bytes_: int) -> str:
    """Return bytes as `812 B`, `1.4 KiB`, `240 MiB`."""
    number = float(bytes_)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < _KIBI:
            return f"{bytes_} B" if unit == "B" else f"{_three_digits(number)} {unit}"
        number /= _KIBI
    return f"{_three_digits(number)} TiB"
