"""What became of tasks, by Ray's own events: the state that each reached last, and the error that it ended with.

made                     waits for its arguments
ready, and no more       waits for resources, which a node has or none; or for its actor to be created
sent, and no more        waits for its actor's turn; of a task, its worker is about to run it
runs, and no more        runs, as far as Ray has written
finished                 finished
failed                   by its error: WORKER_DIED, OUT_OF_MEMORY, …
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.analysis.ray.told_tasks import told_tasks
from spanview.formats.ray_events import NO_STATE, TASK_KINDS
from spanview.index.ray_tasks import UNKNOWN_TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.arrays import Places
    from spanview.index.ray_tasks import RayTasks
    from spanview.index.store import Store

_METHOD: Final = TASK_KINDS.index("ACTOR_TASK")
_MOST_CAUSE: Final = 160
"""Characters of why an actor died."""


class CallOutcome(StrEnum):
    """What became of a call."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WORKER_DIED = "worker died"
    NODE_DIED = "node died"
    OUT_OF_MEMORY = "out of memory"
    ACTOR_DIED = "actor died"
    CONSTRUCTOR_FAILED = "constructor failed"
    DEPENDENCY_FAILED = "argument failed"
    PENDING = "waiting"
    RUNNING = "running"
    NOT_SUBMITTED = "not submitted"
    UNKNOWN = "unknown"

    @property
    def key(self) -> str:
        """Its name in JSON and in queries, as `worker_died`."""
        return self.name.lower()

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it."""
        return self not in {CallOutcome.PENDING, CallOutcome.RUNNING}

    @property
    def has_failed(self) -> bool:
        """Whether it has failed, or was cancelled."""
        return self.is_over and self not in {CallOutcome.FINISHED, CallOutcome.UNKNOWN}


class ToldOutcome(NamedTuple):
    """What became of a task, as Ray says."""

    outcome: CallOutcome
    text: str
    """In a clause, of what waits or runs, or did, without its subject, `waits for 1 GPU`; with texts from files."""
    has_run: bool
    is_over: bool = True
    """Whether nothing more becomes of it; what waits, or runs, ends with its driver."""


_BY_ERROR: Final = {
    "WORKER_DIED": (CallOutcome.WORKER_DIED, "its worker died"),
    "OUT_OF_MEMORY": (CallOutcome.OUT_OF_MEMORY, "Ray killed its worker, because the node ran out of memory"),
    "NODE_DIED": (CallOutcome.NODE_DIED, "its node died"),
    "LOCAL_RAYLET_DIED": (CallOutcome.NODE_DIED, "its node's raylet died"),
    "TASK_CANCELLED": (CallOutcome.CANCELLED, "it was cancelled"),
    "ACTOR_DIED": (CallOutcome.ACTOR_DIED, "its actor died"),
    "ACTOR_UNAVAILABLE": (CallOutcome.ACTOR_DIED, "its actor could not be reached"),
    "ACTOR_CREATION_FAILED": (CallOutcome.CONSTRUCTOR_FAILED, "its actor's constructor failed"),
    "DEPENDENCY_RESOLUTION_FAILED": (CallOutcome.DEPENDENCY_FAILED, "an argument of it failed"),
    "RUNTIME_ENV_SETUP_FAILED": (CallOutcome.FAILED, "its runtime environment could not be set up"),
    "TASK_UNSCHEDULABLE_ERROR": (CallOutcome.FAILED, "no node could ever run it"),
    "ACTOR_UNSCHEDULABLE_ERROR": (CallOutcome.ACTOR_DIED, "no node could ever run its actor"),
    "TASK_PLACEMENT_GROUP_REMOVED": (CallOutcome.FAILED, "its placement group was removed"),
    "ACTOR_PLACEMENT_GROUP_REMOVED": (CallOutcome.ACTOR_DIED, "its actor's placement group was removed"),
    "TASK_EXECUTION_EXCEPTION": (CallOutcome.FAILED, "it failed"),
}
_FINISHED: Final = ToldOutcome(CallOutcome.FINISHED, "it finished", has_run=True)
_OF_ARGUMENT: Final = "At least one of the input arguments"
"""In the message of a task that failed because it could not have an argument."""


def told_outcomes(store: Store, calls: Sequence[int] | Places) -> dict[int, ToldOutcome]:
    """Return what became of calls, by the rows of their PRODUCERs; those that Ray says nothing of are left out."""
    told = told_tasks(store)
    if told is None:
        return {}
    rows = np.asarray(calls, np.int64)
    found = told.of_calls(rows)
    if not (found != UNKNOWN_TASK).any():
        return {}
    # Nearly all have finished.
    has_finished = told.tasks["has_finished"][found] & ~told.tasks["has_failed"][found]
    return {
        row: _FINISHED if done else _outcome_of(told.tasks, index)
        for row, index, done in zip(rows.tolist(), found.tolist(), has_finished.tolist(), strict=True)
        if index != UNKNOWN_TASK
    }


def outcome_of_attempt(store: Store, row: int) -> ToldOutcome | None:
    """Return what became of one attempt; None where Ray says nothing of it."""
    told = told_tasks(store)
    if told is None:
        return None
    (index,) = told.of_attempts(np.array([row]), np.array([_call_of(store, row)])).tolist()
    return None if index == UNKNOWN_TASK else _outcome_of(told.tasks, index)


def _call_of(store: Store, row: int) -> int:
    """Return the row of the call of an attempt; a negative number where no file holds it."""
    spans = store.spans
    of_trace = store.rows_of_trace(spans.trace[row])
    return next((each for each in of_trace if spans.span_id[each] == spans.parent_id[row]), UNKNOWN_TASK)


def _outcome_of(tasks: RayTasks, index: int) -> ToldOutcome:
    """Return what became of an attempt."""
    has_run = bool(tasks["runs"][index] != NO_STATE)
    if tasks["has_failed"][index]:
        return _failed(tasks, index, has_run=has_run)
    if tasks["has_finished"][index]:
        return _FINISHED
    # Its driver, or all of its session's.
    is_over = tasks.is_over(int(tasks.sessions[index]))
    if has_run:
        text = "ran until its driver ended" if is_over else "runs"
        return ToldOutcome(CallOutcome.UNKNOWN if is_over else CallOutcome.RUNNING, text, has_run, is_over)
    waits = _waits_for(tasks, index)
    text = f"waited {waits} until its driver ended" if is_over else f"waits {waits}"
    return ToldOutcome(CallOutcome.PENDING, text, has_run, is_over)


def _failed(tasks: RayTasks, index: int, *, has_run: bool) -> ToldOutcome:
    error, message = tasks.errors.texts[tasks["error"][index]], tasks.message(index)
    outcome, text = _BY_ERROR.get(error, (CallOutcome.FAILED, f"it failed with {error}" if error else "it failed"))
    if error == "ACTOR_DIED":
        if message.startswith("Traceback"):
            outcome, text = CallOutcome.CONSTRUCTOR_FAILED, "its actor's constructor failed"
        elif " because " in message:
            cause = message.partition(" because ")[2].partition(". ")[0].rstrip(".")
            text = f"{text}: {cause.splitlines()[0][:_MOST_CAUSE]}"
    elif _OF_ARGUMENT in message or error.startswith("OBJECT_"):
        outcome, text = CallOutcome.DEPENDENCY_FAILED, "a task failed whose result it takes"
    return ToldOutcome(outcome, text, has_run=has_run)


def _waits_for(tasks: RayTasks, index: int) -> str:
    if tasks["ready"][index] == NO_STATE:
        return "for its arguments"
    is_sent = tasks["sent"][index] != NO_STATE
    if tasks["kind"][index] == _METHOD:
        return "for its turn in its actor" if is_sent else "for its actor to be created"
    if is_sent:
        return "to be run by its worker"
    asked = tasks.resources.texts[tasks["resources"][index]]
    if not asked:
        return "for a worker"
    return f"for {asked} (no node has that)" if _lacks_node(tasks, index) else f"for {asked}"


def _lacks_node(tasks: RayTasks, index: int) -> bool:
    """Tell whether a task asks for more than any node of its session has, or had, as far as Ray names these."""
    session = tasks.sessions[index]
    nodes = [has for node, has in tasks.nodes.items() if tasks.session_of(node) == session]
    asked = tasks.resources.texts[tasks["resources"][index]]
    wanted = [part.partition(" ") for part in asked.split(", ")] if asked else []
    return bool(nodes) and all(any(has.get(name, 0) < float(amount) for amount, _, name in wanted) for has in nodes)
