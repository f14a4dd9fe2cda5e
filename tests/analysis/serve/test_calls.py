"""Ray Serve's calls of its replicas under Ray's hook: which replica's span is the attempt of which call.

µs        0    5   10   15   20   25   30   35   40
route     ==========================
  call      =                                          refused: the replica was full
  call                =
  replica               =========================      ran the second call
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, store_of, trace_row
from spanview.analysis.diagnosis.finding import Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.reasons import Reason, reason_of, reasons_of
from spanview.analysis.serve.calls import is_serve_call
from spanview.tui.trace.stitched_trace import StitchedTrace

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

CALL: Final = "ServeReplica:app:App.handle_request_with_rejection ray.remote"
REPLICA: Final = "replica_handle_request App __call__"


def routing(
    *spans: tuple[str, float, float], trace: int = 1, name: str = "route_to_replica App __call__"
) -> list[Document]:
    """Return a routing with spans below it: names, starts and durations in microseconds."""
    build = Builder()
    documents = [build.span(name, trace=trace, span=1, kind="SERVER", start=0, duration=25)]
    for number, (below, start, duration) in enumerate(spans, 2):
        kind = "PRODUCER" if below.endswith("ray.remote") else "SERVER"
        documents.append(
            build.span(below, trace=trace, span=number, parent=1, kind=kind, start=start, duration=duration)
        )
    return documents


CASES: Final = [
    # What is below a routing, and the attempt of each call, as the number of its start.
    ([(CALL, 2, 1), (REPLICA, 6, 20)], [6]),
    ([(CALL, 2, 1), (CALL, 12, 1), (REPLICA, 14, 25)], [None, 14]),
    ([(CALL, 2, 1), (REPLICA, 5, 4), (CALL, 12, 1), (REPLICA, 14, 25)], [5, 14]),
    ([(CALL, 2, 1)], [None]),
    ([(CALL, 9, 1), (REPLICA, 6, 20)], [None]),
    ([("ServeReplica:app:App.check_health ray.remote", 2, 1), (REPLICA, 6, 20)], [None]),
]


def attempts_of(store: Store) -> list[int | None]:
    """Return when the attempt of each call started, in microseconds; by the calls' starts."""
    spans, first = store.spans, min(store.spans.start_ns)
    calls = sorted(calls_of(store), key=lambda call: spans.start_ns[call.row])
    return [(spans.start_ns[call.attempts[0]] - first) // 1000 if call.attempts else None for call in calls]


@pytest.mark.parametrize(("spans", "expected"), CASES)
def test_which_replica_ran_a_call(spans: list[tuple[str, float, float]], expected: list[int | None]) -> None:
    """A call was run by the replica that started next, unless another call of the same routing came before that."""
    assert attempts_of(store_of(*routing(*spans))) == expected
    # The same replica elsewhere is nobody's attempt.
    apart = [*routing(*[span for span in spans if span[0] != REPLICA]), *routing((REPLICA, 6, 20), trace=2)]
    assert attempts_of(store_of(*apart)) == [None] * len(expected)


def test_a_refused_call() -> None:
    """A call that left no attempt was refused by a full replica if its routing called again, or has no answer."""
    store = store_of(*routing((CALL, 2, 1), (CALL, 12, 1), (CALL, 22, 1)))
    whys = reasons_of(store, calls_of(store))
    reasons = [whys[row].reason for row in sorted(whys, key=store.spans.start_ns.__getitem__)]
    assert reasons == [Reason.SERVES_OWN, Reason.SERVES_OWN, Reason.UNKNOWN]
    # Tracing skips nothing here, so no finding says so.
    assert {finding.kind: finding.count for finding in diagnose(store).findings} == {Kind.NO_ATTEMPT: 1}
    (function,) = functions_of(store, calls_of(store))
    assert (function.serves_own, function.untraced, function.no_attempt) == (2, 0, 1)


def test_calls_of_the_controller() -> None:
    """Serve's exporter isn't called in the controller: its calls have no attempt unless Ray's hook writes them, too."""
    alone = store_of(Builder().span("ServeController.listen ray.remote", kind="PRODUCER", trace=1))
    why = reason_of(alone, 0)
    assert why is not None
    assert (why.reason, why.is_harmless) == (Reason.SERVES_OWN, True)


def test_in_a_trace_whose_calls_are_rows() -> None:
    """A call whose attempt stands beside it isn't said to have none."""
    store = store_of(*routing((CALL, 2, 1), (CALL, 12, 1), (REPLICA, 14, 25)))
    stitched = StitchedTrace(store, 0, store.tree(0), joins=True)
    assert [store.spans.start_ns[row] for row in stitched.served] == [max(store.spans.start_ns) - 2_000]


def test_waits_runs_and_findings() -> None:
    """Such an attempt counts as any other: for the outcome, the wait, the run, and for what is found odd."""
    store = store_of(*routing((CALL, 2, 1), (REPLICA, 6, 20)))
    (call,) = calls_of(store, [trace_row(store, 1)])
    assert (call.outcome, call.wait_ns, call.run_ns) == (Outcome.ENDED, 3_000, 20_000)
    assert Kind.NO_ATTEMPT not in {finding.kind for finding in diagnose(store).findings}


def test_names() -> None:
    """Only the methods that handle requests are such calls."""
    assert is_serve_call(CALL)
    assert is_serve_call("ServeReplica:a.b:App.handle_request_streaming ray.remote")
    assert not is_serve_call("ServeReplica:app:App.check_health ray.remote")
    assert not is_serve_call(f"{CALL}_worker")
