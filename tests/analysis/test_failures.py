"""In which order failed spans are looked at.

trace          failed spans, by end   order
-----          --------------------   -----
a 0-90 ✖
  b 10-60 ✖    raised what a passed   b, a: one exception
  c 70-80 ✖    caught by a            c
d 20-95 ✖      ended last             d
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from builders import EPOCH_NS, MICROSECOND, Builder, store_of, time_text, trace_row
from spanview.analysis import failures
from spanview.analysis.failures import (
    errors_made_good,
    failed_rows,
    in_order_of_visits,
    newest_failures,
    newest_first,
    retried_attempts,
)
from spanview.tui.trace.stitched_trace import StitchedTrace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from builders import Document
    from spanview.index.store import Store


def documents(messages: dict[str, str]) -> list[Document]:
    """Return the spans of the table, all of them failed, with the exceptions that some of them recorded."""
    drawn = Builder().draw(
        """
        a 0-90
          b 10-60
          c 70-80
        d 20-95
        """
    )
    for document in drawn:
        document["status"] = {"status_code": "ERROR"}
        if message := messages.get(document["name"]):
            attributes = {"exception.type": "OSError", "exception.message": message}
            document["events"] = [{"name": "exception", "timestamp": time_text(50), "attributes": attributes}]
    return drawn


@pytest.mark.parametrize(
    ("messages", "order"),
    [
        ({"a": "f failed: gone", "b": "gone", "c": "other", "d": "gone"}, "dbac"),
        ({"a": "its own", "b": "gone", "c": "other"}, "dacb"),
        ({}, "dcab"),
        ({"a": "gone", "b": "gone"}, "dcab"),
    ],
)
def test_an_exception_comes_from_within(messages: dict[str, str], order: str) -> None:
    """It is visited from where it began; by what spans recorded, or by their times where they recorded nothing."""
    store = store_of(*documents(messages))
    assert "".join("abcd"[index] for index in newest_first(store, [0, 1, 2, 3], [-1, 0, 0, -1])) == order


def test_no_more_records_are_read_than_a_key_may_wait_for() -> None:
    """Beyond these, times decide."""
    store = store_of(*documents({"a": "f failed: gone", "b": "gone", "c": "other", "d": "gone"}))
    with patch.object(failures, "_MAX_RECORDS", 0), patch.object(type(store), "span", side_effect=AssertionError):
        assert newest_first(store, [0, 1, 2, 3], [-1, 0, 0, -1]) == [3, 2, 0, 1]


@pytest.mark.parametrize(
    ("last", "order"), [("OK", ["g", "sql", "f"]), ("UNSET", ["g", "sql", "f"]), ("ERROR", ["f", "sql", "f", "g"])]
)
def test_what_a_retry_made_good_comes_last(last: str, order: list[str]) -> None:
    """With what failed below it, though it ended later; where the last attempt failed, too, all of them lasted."""
    build = Builder()
    f = "f ray.remote_worker"
    store = store_of(
        build.span("g", span=9, start=0, duration=5, status="ERROR"),
        build.span("f ray.remote", span=1, start=0, duration=1, kind="PRODUCER"),
        build.span(f, span=2, parent=1, start=10, duration=10, kind="CONSUMER", status="ERROR"),
        build.span("sql", span=3, parent=2, start=11, duration=2, status="ERROR"),
        build.span(f, span=4, parent=1, start=30, duration=10, kind="CONSUMER", status=last),
    )
    trace = StitchedTrace(store, 0, store.tree(0), joins=False)
    assert names_in(store, [trace.rows[position] for position in trace.newest_failed[0]]) == order
    assert len(retried_attempts(store, trace.tree.rows)) == (last != "ERROR")
    # As columns tell it, of all traces at once.
    made_good = errors_made_good(store)
    assert {names_in(store, [row])[0] for row in made_good} == ({"f", "sql"} if last != "ERROR" else set())
    visits = names_in(store, in_order_of_visits(store, failed_rows(store).tolist(), made_good))
    assert visits == (["g", "f", "sql"] if last != "ERROR" else ["f", "f", "sql", "g"])


def names_in(store: Store, rows: Iterable[int]) -> list[str]:
    """Return the first words of spans' names."""
    return [store.names.texts[store.spans.name[row]].split()[0] for row in rows]


def test_the_newest_failure_of_traces() -> None:
    """It is the failed span that ended last, of those that lasted; a span without an end counts by its start."""
    build = Builder()
    store = store_of(
        build.span("slow", trace=1, start=0, duration=900, status="ERROR"),
        build.span("fine", trace=1, start=0, duration=2000),
        build.span("open", trace=2, start=40, duration=None, status="ERROR"),
        build.span("early", trace=2, start=5, duration=7, status="ERROR"),
        build.span("fine", trace=3),
        build.span("lasted", trace=4, start=10, duration=20, status="ERROR"),
        build.span("retried", trace=4, start=40, duration=20, status="ERROR"),
        build.span("retried", trace=5, start=40, duration=20, status="ERROR"),
    )
    ends = newest_failures(store, range(5), made_good=[6, 7])
    expected = {1: (True, 900), 2: (True, 40), 4: (True, 30), 5: (False, 60)}
    assert ends == {
        trace_row(store, number): (lasts, EPOCH_NS + us * MICROSECOND) for number, (lasts, us) in expected.items()
    }
