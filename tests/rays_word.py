"""What Ray itself says that tasks waited for: its own events, read without a line of spanview.

Each process of Ray appends lines to `event_EXPORT_TASK_<pid>.log`, where it is asked to: when an attempt of a task
entered each state. Several lines, of the caller's process and of the worker's, speak of one attempt.

state  1 ──▶ 2 ──▶ 5 ──▶ 8 ──▶ the span starts
       │     │     │     └ a worker that runs its first task loads the function, and what traces it
       │     │     └ of an actor's task: until its turn came
       │     └ until there was a worker; of an actor's task: until its actor was created
       └ until the arguments existed
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

"""The variable by which Ray writes its events."""
_MADE, _HAS_ARGUMENTS, _SENT, _RUNS = "1", "2", "5", "8"
_FETCHING: Final = frozenset(("4", "6", "13"))
"""States in which arguments that exist are fetched."""


@dataclass(slots=True)
class Attempt:
    """What Ray says of one attempt of a task."""

    kind: str = ""
    """`NORMAL_TASK`, `ACTOR_TASK` or `ACTOR_CREATION_TASK`."""
    states: dict[str, int] = field(default_factory=dict)
    """When it entered each state, in nanoseconds since 1970."""
    worker: str = ""
    is_first: bool = False
    """Whether its worker ran nothing before."""

    def parts_ns(self, began_ns: int, started_ns: int) -> Counter[str]:
        """Return how long it waited for what, by the names that spanview has for that.

        Args:
            began_ns: When the process that ran it began; 0 where that isn't known.
            started_ns: When its span starts.
        """
        parts, states = Counter[str](), self.states
        order = sorted(states.items(), key=lambda state: state[1])
        fetched = {state: after - ns for (state, ns), (_, after) in pairwise(order)}
        if _HAS_ARGUMENTS not in states:
            return parts
        ready = states[_HAS_ARGUMENTS]
        parts["arguments"] = ready - states.get(_MADE, ready) + sum(fetched.get(state, 0) for state in _FETCHING)
        sent = states.get(_SENT, states.get(_RUNS, ready))
        if self.kind == "ACTOR_TASK":
            parts["creation"] = sent - ready
            parts["actor"] = states.get(_RUNS, sent) - sent - fetched.get("6", 0)
        else:
            is_made = self.is_first or self.kind == "ACTOR_CREATION_TASK"
            starting = min(max(began_ns, ready), sent) if is_made else sent
            parts["free_worker"] = starting - ready
            parts["worker_start"] = sent - starting
        if self.is_first or self.kind == "ACTOR_CREATION_TASK":
            parts["worker_start"] += max(0, started_ns - states.get(_RUNS, started_ns))
        return parts

    def has_begun(self, ns: int) -> bool:
        """Whether it ran at a time."""
        return self.states.get(_RUNS, ns + 1) <= ns


def attempts_in(files: Iterable[Path]) -> Mapping[str, list[Attempt]]:
    """Return what event files say of the attempts of tasks, the last one first, by the task's id in hex."""
    attempts: dict[tuple[str, int], Attempt] = {}
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)["event_data"]
            key = base64.b64decode(event["task_id"]).hex(), int(event["attempt_number"])
            attempt, news = attempts.setdefault(key, Attempt()), event.get("state_updates", {})
            attempt.kind = event.get("task_info", {}).get("type", attempt.kind)
            # An actor that is started again goes through the states of its first attempt once more.
            for state, ns in news.get("state_ts_ns", {}).items():
                attempt.states[state] = min(int(ns), attempt.states.get(state, int(ns)))
            attempt.worker = news.get("worker_id", attempt.worker)
    firsts: dict[str, Attempt] = {}
    for attempt in sorted(attempts.values(), key=lambda attempt: attempt.states.get(_RUNS, 0)):
        if _RUNS in attempt.states and attempt.worker:
            firsts.setdefault(attempt.worker, attempt).is_first = True
    of_tasks: dict[str, list[Attempt]] = {}
    for task, number in sorted(attempts, reverse=True):
        of_tasks.setdefault(task, []).append(attempts[task, number])
    return of_tasks
