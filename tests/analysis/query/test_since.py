"""`--since`, and where the newest run begins.

run 1           pause of 60 s    run 2
|--a--|                          |--c--|
   |---b---|<------------------->|  |-----d …
           ^ the cutoff: what ended after it is of the newest run
"""

from __future__ import annotations

import pytest

from builders import EPOCH_NS, Builder, store_of, trace_row
from spanview.analysis.query.since import ended_after, parse_since
from spanview.model.problems import QueryError
from spanview.model.times import NO_TIME

SECOND_NS = 1_000_000_000
SECOND = 1_000_000
"""A second of the builders' clocks."""


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("1d", 86400), (" 10m ", 600), ("1.5h", 5400)]
)
def test_ago(text: str, seconds: int) -> None:
    """A duration is counted back from the present."""
    assert parse_since(text, EPOCH_NS).cutoff_ns(store_of()) == EPOCH_NS - seconds * SECOND_NS


def test_a_time() -> None:
    """An ISO time is itself the cutoff."""
    assert parse_since("2023-11-14T22:13:20Z", 0).cutoff_ns(store_of()) == EPOCH_NS


@pytest.mark.parametrize("text", ["", "yesterday", "10", "-10m", "2024-99-01", "lastly"])
def test_nonsense(text: str) -> None:
    """What is neither is answered with what is accepted."""
    with pytest.raises(QueryError, match=r"give 30s, 10m, 2h or 1d, an ISO time such as .* or last"):
        parse_since(text, 0)


def test_last_run() -> None:
    """The newest run is what came after the latest pause of a minute."""
    builder = Builder()
    store = store_of(
        builder.span("d", trace=4, start=72 * SECOND, duration=None),
        builder.span("a", trace=1, start=0, duration=5 * SECOND),
        builder.span("c", trace=3, start=70 * SECOND, duration=5 * SECOND),
        builder.span("b", trace=2, start=3 * SECOND, duration=7 * SECOND),
    )
    cutoff = parse_since("last", 0).cutoff_ns(store)
    assert cutoff == EPOCH_NS + 10 * SECOND_NS
    assert [ended_after(store, trace_row(store, number), cutoff) for number in (1, 2, 3, 4)] == [
        False,
        False,
        True,
        True,
    ]


def test_no_pause() -> None:
    """A pause of less than a minute parts nothing, nor does one in which a span was running."""
    builder = Builder()
    store = store_of(
        builder.span(trace=1, start=0, duration=SECOND),
        builder.span(trace=2, start=60.9 * SECOND, duration=SECOND),
        builder.span(trace=3, start=61 * SECOND, duration=200 * SECOND),
        builder.span(trace=4, start=190 * SECOND, duration=SECOND),
    )
    cutoff = parse_since("LAST", 0).cutoff_ns(store)
    assert cutoff == NO_TIME
    assert all(ended_after(store, trace, cutoff) for trace in range(4))


def test_a_trace_on_both_sides_of_a_pause_is_kept() -> None:
    """A trace that goes on after the pause is of the newest run, with all its spans."""
    builder = Builder()
    store = store_of(builder.span(start=0), builder.span(start=90 * SECOND))
    assert ended_after(store, 0, parse_since("last", 0).cutoff_ns(store))


def test_spans_without_times() -> None:
    """A trace in which nothing ended counts by its start; one without any time is in the newest run only if all are."""
    builder = Builder()
    store = store_of(
        builder.span(trace=1, start=0, duration=None), builder.span(trace=2, duration=None, start_time=None)
    )
    traces = [trace_row(store, number) for number in (1, 2)]
    assert [ended_after(store, trace, EPOCH_NS - 1) for trace in traces] == [True, False]
    assert [ended_after(store, trace, EPOCH_NS) for trace in traces] == [False, False]
    assert [ended_after(store, trace, parse_since("last", 0).cutoff_ns(store)) for trace in traces] == [True, True]
