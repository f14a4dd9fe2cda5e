"""What a compiled graph executes: several runs of one attempt, which nobody retried.

W.f ray.remote                    task   attempt
  W.f ray.remote_worker           t      0
  W.f ray.remote_worker  ERROR    t      0         failed, and nothing made that good
  W.f ray.remote_worker           t      0
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
import pytest

from builders import Builder, file_of, store_of, store_of_files
from spanview.analysis.answer import Doing, answer_of
from spanview.analysis.diagnosis.finding import Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.failures import retried_attempts
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.waits import wait_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
EXECUTED = [("t", 0), ("t", 0), ("t", 0)]
RETRIED = [("t", 0), ("t", 1), ("t", 2)]
UNNAMED = [(None, None)] * 3


def run(written: Sequence[tuple[str | None, int | None]], failed: int = -1) -> Store:
    """Return a call that was submitted until 2 µs, and ran for 5 µs from 10, 20 and 30 µs on.

    Args:
        written: The task and the attempt that each run names.
        failed: Which of them failed; -1 for none.
    """
    build = Builder()
    spans = [build.span("W.f ray.remote", kind="PRODUCER", start=0, duration=2)]
    for number, (task, attempt) in enumerate(written):
        attributes: dict[str, Any] = {"ray.task_id": task, "ray.attempt": attempt}
        spans.append(
            build.span(
                "W.f ray.remote_worker",
                kind="CONSUMER",
                parent=1,
                start=10 * number + 10,
                duration=5,
                attributes={key: value for key, value in attributes.items() if value is not None},
                status="ERROR" if number == failed else "UNSET",
            )
        )
    return store_of(*spans)


def test_attempts_of_two_processes_are_no_executions() -> None:
    """Ray tells methods of async actors no other number when they are tried again."""
    build, ids = Builder(), {"ray.task_id": "t", "ray.attempt": 0}
    call = build.span("A.f ray.remote", kind="PRODUCER", start=0, duration=2)
    first, second = (
        build.span("A.f ray.remote_worker", kind="CONSUMER", parent=1, start=start, duration=5, attributes=ids)
        for start in (10, 20)
    )
    calls = calls_of(store_of_files({"7.txt": file_of([call, first]), "8.txt": file_of([second])}))
    assert calls.are_retried.tolist() == [True]
    assert calls[0].outcome is Outcome.RETRIED


@pytest.mark.parametrize(
    ("written", "is_retried"), [(EXECUTED, False), (RETRIED, True), (UNNAMED, True), ([("t", 0), ("u", 0)] * 2, True)]
)
def test_executions_are_no_retries(written: Sequence[tuple[str | None, int | None]], *, is_retried: bool) -> None:
    """Runs of one task and one attempt are executions: nothing was retried, and none waited for the next."""
    store = run(written)
    calls = calls_of(store)
    (call,), (function,) = calls, functions_of(store, calls)
    assert call.outcome is (Outcome.RETRIED if is_retried else Outcome.ENDED)
    assert (function.retried, function.attempts) == (int(is_retried), len(written))
    unset = [finding.count for finding in diagnose(store).findings if finding.kind is Kind.UNSET_ATTEMPTS]
    assert unset == ([len(written) - 1] if is_retried else [])
    tree = store.tree(0)
    between = 5_000 if is_retried else None
    assert [wait_of(store, tree, node) for node in range(1, len(tree))] == [8_000, *[between] * (len(written) - 1)]
    doings = {part.doing for part in answer_of(store, 0).parts}
    assert (Doing.RETRYING in doings, Doing.LIVING in doings) == (is_retried, not is_retried)


@pytest.mark.parametrize(("written", "is_made_good"), [(EXECUTED, False), (RETRIED, True)])
def test_a_failed_execution(written: Sequence[tuple[str | None, int | None]], *, is_made_good: bool) -> None:
    """The next execution has another input: it makes nothing good."""
    store = run(written, failed=1)
    lasting, made_good = calls_of(store).failed_in(np.array([0]))
    assert (lasting, made_good) == (([], [2]) if is_made_good else ([2], []))
    assert retried_attempts(store, range(4)) == ({2} if is_made_good else set())
    assert (Doing.FAILING in {part.doing for part in answer_of(store, 0).parts}) == is_made_good


def test_a_recorded_graph() -> None:
    """Two actors, five executions: ten runs of two calls, of which none is a retry."""
    store = store_of_files({path.name: path.read_bytes() for path in (FIXTURES / "ray-compiled-graph/spans").iterdir()})
    functions = {function.function: function for function in functions_of(store, calls_of(store))}
    assert (functions["W.f"].calls, functions["W.f"].attempts, functions["W.f"].retried) == (2, 10, 0)
    assert [finding.kind for finding in diagnose(store).findings] == []


def test_two_records_of_a_call_are_read() -> None:
    """However many executions there are."""
    store = run(EXECUTED)
    with patch.object(store, "span", wraps=store.span) as read:
        assert all(are_executions(store, row, row + 1) for row in (1, 2))
        assert read.call_count == 2
