"""Times: what the SDK writes, what others write, and what is no time.

text                                   nanoseconds since 1970
----                                   ----------------------
2023-11-14T22:13:20.000001Z            1700000000000001000
2023-11-14T22:13:20Z                   1700000000000000000
2023-11-14 23:13:20,5+01:00            1700000000500000000
2016-12-31T23:59:60.000000Z            1483228800000000000: a leap second
2023-02-29T00:00:00.000000Z            none: there is no such day
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Builder, store_of
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME, format_time, parse_sdk_times, parse_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000

GOOD: list[tuple[str, int]] = [
    ("2023-11-14T22:13:20.000001Z", 1_700_000_000_000_001_000),
    ("2023-11-14T22:13:20.999999Z", 1_700_000_000_999_999_000),
    ("1970-01-01T00:00:00.000000Z", 0),
    ("1970-01-01T00:00:00.000002Z", 2_000),
    ("1969-12-31T23:59:59.999999Z", -1_000),
    ("2023-11-14T22:13:20Z", 1_700_000_000 * SECOND),
    ("2023-11-14T22:13:20", 1_700_000_000 * SECOND),
    ("2023-11-14t22:13:20z", 1_700_000_000 * SECOND),
    (" 2023-11-14T22:13:20Z\n", 1_700_000_000 * SECOND),
    ("2023-11-14 23:13:20,5+01:00", 1_700_000_000 * SECOND + SECOND // 2),
    ("2023-11-14T17:43:20.000000-0430", 1_700_000_000 * SECOND),
    ("2023-11-14T22:13:20.1Z", 1_700_000_000_100_000_000),
    ("2023-11-14T22:13:20.123456789Z", 1_700_000_000_123_456_789),
    ("2023-11-14T22:13:20.1234567891234Z", 1_700_000_000_123_456_789),
    ("2016-12-31T23:59:60.000000Z", 1_483_228_800 * SECOND),
    ("2016-12-31T23:59:59.000000Z", 1_483_228_799 * SECOND),
    ("2024-02-29T00:00:00.000000Z", 1_709_164_800 * SECOND),
    ("2262-04-11T23:47:16.854775Z", 2**63 // 1000 * 1000),
    ("2262-04-11T23:47:16.854775807Z", 2**63 - 1),
]
BAD: list[object] = [
    None,
    "",
    "now",
    "2023-02-29T00:00:00.000000Z",
    "2023-13-01T00:00:00.000000Z",
    "2023-11-14T24:13:20.000000Z",
    "2023-11-14T22:13:61.000000Z",
    "2023-11-14T22:13:20.00000xZ",
    "2023-11-14T22:13:20.000000X",
    "2023-11-14",
    "2023-11-14T22:13:20.\u0661\u0661\u0661\u0661\u0661\u0661Z",
    "202\u0663-11-14T22:13:20.000000Z",
    "0000-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00.000000Z",
    "2262-04-11T23:47:16.854776Z",
    "2262-04-11T23:47:16.999999Z",
    "1677-09-21T00:12:43.000000Z",
    1_700_000_000,
    1_700_000_000.5,
    True,
    [],
    {},
]


@pytest.mark.parametrize(("text", "ns"), GOOD)
def test_time(text: str, ns: int) -> None:
    """Every layout gives its nanoseconds, the first time and when its second is known already."""
    assert [parse_time(text), parse_time(text)] == [ns, ns]


@pytest.mark.parametrize("value", BAD, ids=ascii)
def test_no_time(value: object) -> None:
    """What is no time of the calendar gives the integer that stands for none, also when it is asked again."""
    assert [parse_time(value), parse_time(value)] == [NO_TIME, NO_TIME]


@given(st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_sdk_layout(moment: datetime) -> None:
    """Every microsecond that fits into 64 bits of nanoseconds survives the way in and out."""
    text = moment.isoformat(timespec="microseconds") + "Z"
    ns = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1000
    assert parse_time(text) == ns
    assert format_time(ns) == text
    assert parse_sdk_times([text]) == [ns]


@given(st.integers(-(2**62), 2**63 - 1))
def test_nanoseconds_round_trip(ns: int) -> None:
    """Times come out with six digits, with nine where the nanoseconds aren't zero, and parse to themselves."""
    text = format_time(ns)
    assert text is not None
    assert len(text) == (27 if ns % 1000 == 0 else 30)
    assert parse_time(text) == ns


def test_formatting() -> None:
    """A missing time gives None; zero and early years keep their leading zeros."""
    assert format_time(NO_TIME) is None
    assert format_time(0) == "1970-01-01T00:00:00.000000Z"
    assert format_time(1) == "1970-01-01T00:00:00.000000001Z"
    assert format_time(-1) == "1969-12-31T23:59:59.999999999Z"


@given(st.lists(st.sampled_from([text for text, _ in GOOD] + [value for value in BAD if isinstance(value, str)])))
def test_many_at_once(texts: list[str]) -> None:
    """A list of times is read at once to what each gives on its own, or refused as a whole."""
    one_by_one = list(map(parse_time, texts))
    try:
        at_once = parse_sdk_times(texts)
    except ValueError:
        return
    assert at_once == one_by_one
    assert NO_TIME not in at_once


def test_many_at_once_takes_the_sdk_layout() -> None:
    """Times as the SDK writes them are not refused."""
    texts = [text for text, _ in GOOD[:5]]
    assert parse_sdk_times(texts) == [ns for _, ns in GOOD[:5]]


def test_shifted_neighbours_are_refused() -> None:
    """Texts whose lengths only add up are not cut at the wrong places."""
    with pytest.raises(ValueError, match="layout"):
        parse_sdk_times(["2023-11-14T22:13:20.00000Z", "2023-11-14T22:13:20.0000000Z"])
    with pytest.raises(TypeError):
        parse_sdk_times([None])  # type: ignore[list-item]


def test_no_span_is_lost_to_a_far_future() -> None:
    """Spans that share a second which doesn't fit into 64 bits are all kept, without that time."""
    build = Builder()
    documents = [build.span(f"{number}", end_time="9999-12-31T23:59:59.999999Z") for number in range(3)]
    store = store_of(*documents)
    assert list(store.spans.end_ns) == [NO_TIME] * 3
    assert list(store.spans.warnings) == [Warnings.NO_END | Warnings.ODD_VALUE] * 3
