"""The thread that filters: everything is looked at, while it comes, and nothing again and again."""

from __future__ import annotations

import threading
from typing import Any
from unittest.mock import patch

import pytest

from builders import Builder
from one_by_one import matches_trace
from spanview.analysis.query import matches
from spanview.analysis.query.query import parse_query
from spanview.tui.traces.matching import TraceMatcher
from viewers import Growing


class Finding:
    """A thread that looks, again and again, for what matches.

    Args:
        matcher: What looks.
    """

    def __init__(self, matcher: TraceMatcher) -> None:
        self._matcher = matcher
        self._is_over = False
        self.found = set[int]()
        self.left = 1.0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _tell(self, share: float) -> None:
        self.left = 1 - share

    def _run(self) -> None:
        while True:
            is_last = self._is_over
            self.found.update(*self._matcher.matches(self._tell))
            if is_last:
                return

    def end(self) -> None:
        """Look at all that has come, and end."""
        self._is_over = True
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("text", ["k=v", "status=ERROR", "depth=1", "trace.spans>2 k=v", "-k=v"])
def test_while_it_grows(text: str) -> None:
    """Whatever comes meanwhile, in the end those are found that match."""
    build, data = Builder(), Growing()
    query = parse_query(text)
    matcher = TraceMatcher(data.store, query)
    matcher.look_at(range(len(data.store.trace_table)))
    finding = Finding(matcher)
    for number in range(40):
        trace = 1 + number % 13
        data.add(
            build.span(
                trace=trace,
                parent=number - 12 if number > 12 else None,
                status="ERROR" if number % 5 == 0 else "OK",
                attributes={"k": "v"} if number % 7 == 0 else {},
            )
        )
        matcher.look_at(data.store.take_changed())
    expected = {trace for trace in range(13) if matches_trace(query, data.store, trace)}
    finding.end()
    assert finding.found >= expected
    assert finding.left == 0
    assert expected or "depth" in text
    if "-" not in text:
        assert finding.found == expected


def test_each_span_is_looked_at_once() -> None:
    """However often it is told that traces have grown."""
    build, data, looked_at = Builder(), Growing(), list[int]()
    matching_rows = matches.matching_rows

    def noted(store: Any, query: Any, rows: Any) -> Any:
        # Threads of other tests may not have ended yet.
        if store is data.store:
            looked_at.extend(rows.tolist())
        return matching_rows(store, query, rows)

    with patch.object(matches, "matching_rows", noted):
        matcher = TraceMatcher(data.store, parse_query("k=v"))
        finding = Finding(matcher)
        for _ in range(50):
            data.add(build.span(trace=1, attributes={"k": "v"}))
            matcher.look_at(data.store.take_changed())
            matcher.look_at([0])
        finding.end()
    assert sorted(looked_at) == [*range(50)]
