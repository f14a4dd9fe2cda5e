"""Where a trace's time went: the parts, held to random traces and to the recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, store_of
from one_path import Blame, critical_path
from slow_answers import SlowAnswer
from span_graphs import forests, graphs, programs, whole_traces
from spanview.analysis.answer import Doing, answer_of, answers_along, typical_answers
from spanview.analysis.critical import paths_in
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.serve.requests import serve_requests
from spanview.index.forest import forest_of, trees_of
from spanview.sources.loading import load_store

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"


@given(whole_traces(most=20))
def test_the_parts_add_up(documents: list[dict[str, object]]) -> None:
    """The parts of a trace without doubts are as long as the trace, and none of them is empty."""
    store = store_of(*documents)
    for trace in range(len(store.trace_table)):
        answer, table = answer_of(store, trace), store.trace_table
        assert answer.total_ns == sum(part.ns for part in answer.parts)
        assert answer.total_ns == table.end_ns[trace] - table.start_ns[trace]
        assert all(part.ns > 0 for part in answer.parts)


@given(
    st.one_of(programs(), programs(traces=1), forests(), graphs()),
    st.dictionaries(st.integers(0, 20), st.integers(0, 30)),
)
def test_many_traces_at_once_are_told_as_each_is_stretch_by_stretch(
    documents: list[dict[str, object]], lasted: dict[int, int]
) -> None:
    """All traces together have the paths and the answers that each has by itself, told one stretch after the other."""
    store = store_of(*documents)
    until = {row: EPOCH_NS + 1_000 * us for row, us in lasted.items() if row < len(store.spans)}
    # Any order will do.
    traces = [*reversed(range(len(store.trace_table)))]
    trees, _ = trees_of(forest_of(store, traces), traces)
    paths = paths_in(trees, store.names, until)
    known = KnownCalls(store, traces)
    answers = answers_along(store, traces, trees, paths, known)
    for index, (trace, answer) in enumerate(zip(traces, answers, strict=True)):
        path = critical_path(store.tree(trace), store.names, until)
        assert paths.reasons[index] == path.reason
        stretches = slice(*paths.bounds[index : index + 2].tolist())
        assert [*zip(paths.starts_ns[stretches].tolist(), paths.ends_ns[stretches].tolist(), strict=True)] == [
            (segment.start_ns, segment.end_ns) for segment in path.segments
        ]
        assert answer == answer_of(store, trace, until=until)
        if not answer.is_request:
            assert {part[:6] for part in answer.parts} == SlowAnswer(store, trace, path).parts()
            assert answer.doubts == path.reason


@pytest.mark.parametrize("recording", ["ray-odd-ends", "ray-tasks-bundled-hook", "serve"])
def test_recordings(recording: str) -> None:
    """Waits are those of the critical path, and the parts of a request those of the list of requests."""
    store = load_store(FIXTURES / recording / "spans")
    waits, requests = {Doing.WAITING, Doing.RETRYING, Doing.QUEUED}, serve_requests(store)
    of_root = {request.rows[0]: request for request in requests}
    for trace in range(len(store.trace_table)):
        answer = answer_of(store, trace)
        if answer.is_request:
            request = of_root[store.trace_table.root_row[trace]]
            parts = {part.doing: part.ns for part in answer.parts}
            # A replica goes on when the proxy has given up.
            assert answer.total_ns >= (request.total_ns or 0)
            queue, handling, nested = request.queue_ns or 0, request.handling_ns or 0, request.nested_queue_ns or 0
            assert (parts[Doing.QUEUED], parts[Doing.HANDLING]) == (queue + nested, handling - nested)
            continue
        path = critical_path(store.tree(trace), store.names)
        assert sum(part.ns for part in answer.parts if part.doing in waits) == sum(
            segment.end_ns - segment.start_ns for segment in path.segments if segment.kind is Blame.WAIT
        )
        assert answer.doubts == path.reason


def test_a_call_that_runs() -> None:
    """An attempt without an end counts until it is known to have run; without that, there is only what came before."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", span=1, start=0, duration=200, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=4_000, duration=None, kind="CONSUMER"),
    )
    until = {1: EPOCH_NS + 9_000_000_000}
    answer = answer_of(store, 0, until=until)
    assert answer.total_ns == 9_000_000_000
    assert not answer.doubts
    assert {part.doing: part.ns for part in answer.parts} == {
        Doing.RUNNING: 9_000_000_000 - 4_000_000,
        Doing.WAITING: 3_800_000,
        Doing.SUBMITTING: 200_000,
    }
    assert answer_of(store, 0).doubts == "1 span has no end"


def test_typical_traces_are_those_that_have_ended() -> None:
    """A trace in which a span has no end isn't among them, though its root has one: it may have lasted longer."""
    build = Builder()
    ended = [build.span("a", trace=trace, span=trace, duration=trace) for trace in (1, 2, 3)]
    open_below = build.span("lost", trace=3, span=9, parent=3, duration=None)
    typical = typical_answers(store_of(*ended, open_below))
    assert typical is not None
    assert (typical.traces, typical.without_end) == (2, 1)
    assert typical.slowest.total_ns == 2_000
