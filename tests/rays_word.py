"""What Ray itself says of tasks: its own events, read without a line of spanview.

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
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

"""The variable by which Ray writes its events."""
_MADE, _HAS_ARGUMENTS, _SENT, _RUNS, _FAILED = "1", "2", "5", "8", "12"
_OUTCOMES: Final = {
    "WORKER_DIED": "worker_died",
    "OUT_OF_MEMORY": "out_of_memory",
    "NODE_DIED": "node_died",
    "TASK_CANCELLED": "cancelled",
    "ACTOR_DIED": "actor_died",
}
_OF_GROUP: Final = re.compile("_group_(?:[0-9]+_)?[0-9a-f]{36}$")
NODE: Final = "7a" * 28
"""The id of the node on which tasks run whose lines tests write."""
_CANCELLED: Final = re.compile(r"^[\w.]*\bCancelledError\b", re.MULTILINE)
_HANDOVER_NS: Final = 20_000_000
_FETCHING: Final = frozenset(("4", "6", "13"))
"""States in which arguments that exist are fetched."""


@dataclass(slots=True)
class Attempt:
    """What Ray says of one attempt of a task."""

    kind: str = ""
    """`NORMAL_TASK`, `ACTOR_TASK` or `ACTOR_CREATION_TASK`."""
    states: dict[str, int] = field(default_factory=dict)
    """When it entered each state, in nanoseconds since 1970."""
    name: str = ""
    number: int = 0
    before: dict[str, int] | None = None
    """The states of the attempt before it; None where Ray says nothing of that."""
    error: str = ""
    message: str = ""
    worker: str = ""
    is_over: bool = False
    """Whether the drivers of its session have ended."""
    asked: str = ""
    """What it asks for, as in `1 CPU and a runtime environment`."""
    asks_more: bool = False
    """Whether it asks for something other than CPUs, too: a worker may be there long before that is free."""
    is_first: bool = False
    """Whether its worker ran nothing before."""
    frees: Sequence[int] = ()
    """When others of its session left what they had asked for, because they died."""
    nodes: int = 1
    """How many nodes its session has, or had."""

    def was_up(self, began_ns: int) -> bool:
        """Return whether its worker had begun long before it could get this; 0 where it isn't known when."""
        return bool(began_ns) and self.states.get(_HAS_ARGUMENTS, 0) - began_ns > 5_000_000_000

    def is_new(self, began_ns: int) -> bool:
        """Return whether its worker may have been started for it."""
        is_first = self.is_first or self.kind == "ACTOR_CREATION_TASK"
        return self.kind != "ACTOR_TASK" and is_first and not self.was_up(began_ns)

    def may_lack(self, began_ns: int, started_ns: int) -> bool:
        """Return whether others may have held what it asks for, and nobody knows when its worker was started.

        Args:
            began_ns: As of `parts_ns`, and `started_ns`.
        """
        is_creation = self.kind == "ACTOR_CREATION_TASK"
        if not self.is_new(began_ns) or self.asks_more or not self.asked:
            return False
        ready = self.states.get(_HAS_ARGUMENTS, 0)
        ran = self.states.get(_RUNS, max(started_ns, self.states.get(_SENT, ready)))
        is_late = is_creation and ran - began_ns > began_ns - self.made_ns
        is_unsure = began_ns < self.made_ns or is_late
        return is_unsure and any(ready < ns <= self.states.get(_SENT, ran) for ns in self.frees)

    def may_fetch(self, since_ns: int, started_ns: int) -> bool:
        """Return whether its arguments may have been brought to its node, as they were made late, perhaps on another.

        Args:
            since_ns: As of `parts_ns`, and `started_ns`.
        """
        ready = self.states.get(_HAS_ARGUMENTS, 0)
        sent = min(started_ns, self.states.get(_SENT, self.states.get(_RUNS, started_ns)))
        late = ready - max(since_ns, self.states.get(_MADE, ready))
        is_task = self.kind != "ACTOR_TASK"
        return is_task and self.nodes > 1 and min(late, sent - max(ready, since_ns)) > 5 * _HANDOVER_NS

    def parts_ns(self, since_ns: int, began_ns: int, started_ns: int, prepared_ns: int = 0) -> Counter[str]:
        """Return how long it waited for what, by the names that spanview has for that.

        Args:
            since_ns: Since when its caller waited.
            began_ns: When the process that ran it began; 0 where that isn't known.
            started_ns: When its span starts.
            prepared_ns: When its actor had been made, as spans show; 0 where they don't.
        """
        parts, states = Counter[str](), self.states
        order = sorted(states.items(), key=lambda state: state[1])
        fetched = {state: after - ns for (state, ns), (_, after) in pairwise(order)}

        def put(part: str, start: int, end: int) -> None:
            parts[part] += max(0, min(end, started_ns) - max(start, since_ns))

        if _HAS_ARGUMENTS not in states:
            return parts
        ready = states[_HAS_ARGUMENTS]
        if not self.number:
            put("arguments", states.get(_MADE, ready), ready)
            # A call without any takes a moment, too, up to some 40 ms on a busy machine.
            parts["arguments"] *= parts["arguments"] > 5 * _HANDOVER_NS
        elif self.kind != "ACTOR_TASK" and self.number == 1 and self.before is not None and _SENT in self.before:
            # What the first one waited for is known, though it left no span.
            sent_first = self.before[_SENT]
            ready_first = self.before.get(_HAS_ARGUMENTS, sent_first)
            put("arguments", self.before.get(_MADE, ready_first), ready_first)
            parts["arguments"] *= parts["arguments"] > 5 * _HANDOVER_NS
            put("resources", ready_first, sent_first)
            put("retry", sent_first, ready)
        elif self.kind != "ACTOR_TASK" or (self.before is not None and _RUNS in self.before):
            put("retry", since_ns, ready)
        elif self.before is not None:
            # Whether it ran in an actor that died isn't known; before it was sent, it waited for that to be made.
            put("retry", self.before.get(_FAILED, ready), ready)
            if _HAS_ARGUMENTS in self.before and _SENT in self.before:
                put("creation", self.before[_HAS_ARGUMENTS], self.before[_SENT])
        ran = states.get(_RUNS, max(started_ns, states.get(_SENT, ready)))
        sent = states.get(_SENT, ran)
        if self.kind == "ACTOR_TASK":
            # Calls are sent in their order: one that was made before may wait for its arguments.
            is_behind = prepared_ns <= ready or sent - prepared_ns > 5 * _HANDOVER_NS
            created = min(max(prepared_ns, ready), sent) if prepared_ns and is_behind else sent
            put("creation", ready, created)
            put("actor", created, ran)
            parts["actor"] -= fetched.get("6", 0)
        else:
            is_first = self.is_new(began_ns)
            is_alone = is_first and not self.asks_more and not self.may_lack(began_ns, started_ns)
            # One that was there before, and took no time, was up.
            is_made = is_alone and (not began_ns or began_ns >= self.made_ns or sent - ready >= 50_000_000)
            starting = min(max(began_ns, ready), sent) if is_made else sent
            put("resources", ready, starting)
            # It was not yet there.
            is_late = is_first and _RUNS in states and ran - sent >= 50_000_000
            put("worker_start", starting, ran if is_late else sent)
        if self.kind != "ACTOR_TASK":
            put("loading", ran, started_ns)
        parts["arguments"] += sum(fetched.get(state, 0) for state in _FETCHING)
        parts["unknown"] = max(0, started_ns - since_ns - parts.total())
        return +parts

    def hear(self, info: Mapping[str, Any], news: Mapping[str, Any]) -> None:
        """Take what a line says of it."""
        self.kind, self.name = info.get("type", self.kind), info.get("func_or_class_name", self.name)
        self.asked, self.worker = _asked(info) or self.asked, self.worker or news.get("worker_id", "")
        self.asks_more |= bool({*info.get("required_resources", {})} - {"CPU"})
        error = news.get("error_info", {})
        self.error = self.error or error.get("error_type", "")
        self.message = self.message or error.get("error_message", "")
        # An actor that is started again goes through the states of its first attempt once more.
        for state, ns in news.get("state_ts_ns", {}).items():
            self.states[state] = min(int(ns), self.states.get(state, int(ns)))
        # What an actor has got was sent to it.
        if got := [self.states[state] for state in (_SENT, "6", "7") if state in self.states]:
            self.states[_SENT] = min(got)

    @property
    def begun_ns(self) -> int:
        """When it entered its first state."""
        return min(self.states.values(), default=0)

    @property
    def made_ns(self) -> int:
        """When it was submitted; 0 where that isn't known."""
        return self.states.get(_MADE, 0)

    @property
    def outcome(self) -> str:
        """What became of it, by the name that spanview has for that."""
        if _FAILED in self.states:
            if "At least one of the input arguments" in self.message:
                return "dependency_failed"
            if self.error == "ACTOR_DIED" and "Traceback" in self.message:
                return "constructor_failed"
            # As `ray.cancel` ends what an actor awaits.
            if self.error == "TASK_EXECUTION_EXCEPTION" and _CANCELLED.search(self.message):
                return "cancelled"
            return _OUTCOMES.get(self.error, "failed")
        if "11" in self.states:
            return "finished"
        return "pending" if _RUNS not in self.states else "unknown" if self.is_over else "running"

    def has_begun(self, ns: int) -> bool:
        """Whether it ran at a time."""
        return self.states.get(_RUNS, ns + 1) <= ns


def line_of(
    task: str,
    states: Mapping[str, int],
    *,
    attempt: int = 0,
    name: str = "f",
    kind: str = "NORMAL_TASK",
    error: str = "",
    message: str = "",
    asked: Mapping[str, float] | None = None,
) -> bytes:
    """Return a line as Ray writes one of an attempt of a task.

    Args:
        task: The id, in hex.
        states: When it entered which, in nanoseconds since 1970.
        error: The type of its error.
        message: Of that error.
        asked: The resources that it asks for; one CPU without.
    """
    news = {"state_ts_ns": {state: str(ns) for state, ns in states.items()}, "node_id": _text_of(NODE)}
    info = {"type": kind, "func_or_class_name": name, "required_resources": {"CPU": 1} if asked is None else asked}
    data = {
        "task_id": _text_of(task),
        "attempt_number": attempt,
        "state_updates": news | ({"error_info": {"error_type": error, "error_message": message}} if error else {}),
        "task_info": info,
    }
    return json.dumps({"event_data": data, "source_type": "EXPORT_TASK"}).encode() + b"\n"


def _text_of(id_: str) -> str:
    return base64.b64encode(bytes.fromhex(id_)).decode()


def _asked(info: Mapping[str, Any]) -> str:
    required = info.get("required_resources", {})
    # Of a placement group each is there twice, of one bundle and of any, and a bundle besides.
    wanted = {_OF_GROUP.sub("", name): amount for name, amount in required.items() if not name.startswith("bundle_")}
    plural, of_group = {"CPU", "GPU"}, " of its placement group" * any(map(_OF_GROUP.search, required))
    amounts = ", ".join(
        f"{_amount(name, amount)} {name}{'s' * (amount > 1 and name in plural)}{of_group}"
        for name, amount in sorted(wanted.items())
    )
    amounts += ", which may have to be made first" * bool(of_group)
    environment = json.loads(info.get("runtime_env_info", {}).get("serialized_runtime_env") or "{}")
    return " and ".join(filter(None, (amounts, "a runtime environment" * bool(environment))))


def _amount(name: str, amount: float) -> str:
    """Return an amount as text; of memory with its unit."""
    units = iter(("B", "KiB", "MiB", "GiB"))
    if not name.endswith("memory"):
        return f"{amount:g}"
    unit = next(units)
    while amount >= 1024 and unit != "GiB":
        amount, unit = amount / 1024, next(units)
    return f"{amount:.4g} {unit} of"


def _is_over(folder: Path) -> bool:
    """Return whether all drivers of a session have ended that its files name."""
    jobs: dict[str, bool] = {}
    for path in folder.glob("event_EXPORT_DRIVER_JOB*"):
        whole, _, _ = path.read_text().rpartition("\n")
        events = (json.loads(line)["event_data"] for line in whole.splitlines())
        jobs |= {event["job_id"]: bool(event.get("is_dead")) for event in events}
    return bool(jobs) and all(jobs.values())


def _nodes(folder: Path) -> int:
    """Return how many nodes a session's files name."""
    wholes = (path.read_text().rpartition("\n")[0] for path in folder.glob("event_EXPORT_NODE*"))
    return len({json.loads(line)["event_data"]["node_id"] for whole in wholes for line in whole.splitlines()})


def _actors_freed(folder: Path) -> Iterator[int]:
    """Yield when actors left what they had asked for, in nanoseconds since 1970, each a whole second."""
    for path in folder.glob("event_EXPORT_ACTOR*"):
        whole, _, _ = path.read_text().rpartition("\n")
        for event in map(json.loads, whole.splitlines()):
            data = event["event_data"]
            if data["state"] in {"DEAD", "RESTARTING"} and data.get("required_resources"):
                yield int(event.get("timestamp", 0)) * 1_000_000_000


def attempts_in(files: Iterable[Path]) -> Mapping[str, list[Attempt]]:
    """Return what event files say of the attempts of tasks, the last one first, by the task's id in hex."""
    attempts: dict[tuple[str, int], Attempt] = {}
    files = [*files]
    for path in files:
        is_over, nodes = _is_over(path.parent), _nodes(path.parent)
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            try:
                event = json.loads(line)["event_data"]
            except json.JSONDecodeError:
                assert not line.endswith("\n"), "only the last one may still be written"
                continue
            key = base64.b64decode(event["task_id"]).hex(), int(event["attempt_number"])
            attempt = attempts.setdefault(key, Attempt(number=key[1], is_over=is_over, nodes=nodes))
            attempt.hear(event.get("task_info", {}), event.get("state_updates", {}))
    firsts: dict[str, Attempt] = {}
    frees = [each.states[_FAILED] for each in attempts.values() if {_FAILED, _RUNS} <= {*each.states} and each.asked]
    frees += [ns for folder in {path.parent for path in files} for ns in _actors_freed(folder)]
    for attempt in attempts.values():
        attempt.frees = frees

    def begun(attempt: Attempt) -> int:
        return attempt.states.get(_RUNS, attempt.states.get(_SENT, 0))

    for attempt in sorted(attempts.values(), key=begun):
        if begun(attempt) and attempt.worker:
            firsts.setdefault(attempt.worker, attempt).is_first = True
    for (task, number), attempt in attempts.items():
        before = attempts.get((task, number - 1))
        attempt.before = None if before is None else before.states
    of_tasks: dict[str, list[Attempt]] = {}
    for task, number in sorted(attempts, reverse=True):
        of_tasks.setdefault(task, []).append(attempts[task, number])
    return of_tasks
