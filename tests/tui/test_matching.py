"""The thread that filters: everything is looked at, while it comes, and nothing again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from builders import Builder
from spanview.analysis import bulk_query
from spanview.analysis.query import parse_query
from spanview.tui.traces import matching
from spanview.tui.traces.matching import TraceMatcher
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Callable


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("many", [0, 1 << 60])
@pytest.mark.parametrize("text", ["k=v", "status=ERROR", "depth=1", "trace.spans>2 k=v", "-k=v"])
def test_while_it_grows(text: str, many: int) -> None:
    """Whatever comes meanwhile, in the end those are found that match."""
    build, data = Builder(), Growing()
    told: list[tuple[set[int], float]] = []
    query = parse_query(text)
    with patch.object(matching, "PAYS_FROM", many):
        matcher = TraceMatcher(data.store, query, lambda _, found, waiting: told.append((found, waiting)))
        matcher.look_at(range(len(data.store.trace_table)))
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
        expected = {trace for trace in range(13) if query.matches_trace(data.store, trace)}
        _until(lambda: {trace for found, _ in [*told] for trace in found} >= expected)
        _until(lambda: told[-1][1] == 0)
        matcher.cancel()
    assert expected or "depth" in text
    if "-" not in text:
        assert {trace for found, _ in told for trace in found} == expected


def test_each_span_is_looked_at_once() -> None:
    """However often it is told that traces have grown."""
    build, data, looked_at = Builder(), Growing(), list[int]()
    matching_rows = bulk_query.matching_rows

    def noted(store: Any, query: Any, rows: Any) -> Any:
        # Threads of other tests may not have ended yet.
        if store is data.store:
            looked_at.extend(rows.tolist())
        return matching_rows(store, query, rows)

    told: list[float] = []
    with patch.object(matching, "PAYS_FROM", 0), patch.object(bulk_query, "matching_rows", noted):
        matcher = TraceMatcher(data.store, parse_query("k=v"), lambda _, __, waiting: told.append(waiting))
        for _ in range(50):
            data.add(build.span(trace=1, attributes={"k": "v"}))
            matcher.look_at(data.store.take_changed())
            matcher.look_at([0])
        _until(lambda: len(looked_at) >= 50)
        _until(lambda: bool(told) and told[-1] == 0)
        matcher.cancel()
    assert sorted(looked_at) == [*range(50)]
