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
from spanview.analysis.failures import newest_failures, newest_first, retried_attempts
from spanview.model.codes import ERROR
from spanview.tui.trace.stitched_trace import StitchedTrace

if TYPE_CHECKING:
    from builders import Document


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
    names = [store.names.texts[store.spans.name[trace.rows[position]]] for position in trace.newest_failed]
    assert [name.split()[0] for name in names] == order
    tree = trace.tree
    failed = [node for node, row in enumerate(tree.rows) if store.spans.status[row] == ERROR]
    found = retried_attempts(store, tree, failed)
    assert len(found) == (last != "ERROR")


@pytest.mark.parametrize("numpy_from", [0, 1 << 60])
def test_the_newest_failure_of_traces(numpy_from: int) -> None:
    """It is the failed span that ended last; a span without an end counts by its start."""
    build = Builder()
    store = store_of(
        build.span("slow", trace=1, start=0, duration=900, status="ERROR"),
        build.span("fine", trace=1, start=0, duration=2000),
        build.span("open", trace=2, start=40, duration=None, status="ERROR"),
        build.span("early", trace=2, start=5, duration=7, status="ERROR"),
        build.span("fine", trace=3),
    )
    with patch.object(failures, "_NUMPY_FROM_SPANS", numpy_from):
        ends = newest_failures(store, range(3))
    assert ends == {trace_row(store, number): EPOCH_NS + us * MICROSECOND for number, us in ((1, 900), (2, 40))}
