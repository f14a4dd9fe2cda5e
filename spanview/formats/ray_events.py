"""Ray's own events, of which it writes a line each, where it is asked to: what became of tasks and actors, and when.

<session>/logs/export_events/event_EXPORT_TASK_7.log
{"event_data": {"task_id": "yO9F…", "attempt_number": 0, "state_updates": {"state_ts_ns": {"1": "17…", "2": "17…"}, …},
 "task_info": {"type": "NORMAL_TASK", "func_or_class_name": "load", …}}, "source_type": "EXPORT_TASK", …}

Several lines, of the process that submitted a task and of the one that ran it, speak of one attempt; each has a part of
what there is. Whatever isn't as expected is left out: other releases of Ray write more, or less.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

TASK_KINDS: Final = ("", "NORMAL_TASK", "ACTOR_CREATION_TASK", "ACTOR_TASK", "DRIVER_TASK")
"""What Ray calls the kinds of tasks, by their numbers here; 0 is not known."""
STATES: Final = {"1": "made", "2": "ready", "5": "sent", "8": "runs", "12": "failed"}
"""States of tasks whose times are kept, as Ray numbers them.

made      submitted; its arguments don't exist yet
ready     they do; it waits for a worker, or for its actor to be created
sent      given to a worker, or to its actor, where it waits for its turn
runs      runs
failed    its caller heard that it had failed, for good or for this attempt
"""
WAYS: Final = {state: (state, *(("6", "7") if state == "5" else ())) for state in STATES}
"""The states that show that one was entered, itself first: what an actor has got was sent to it."""
_FINISHED, _FAILED = "11", "12"
_GONE: Final = frozenset(("DEAD", "RESTARTING"))
"""States of actors."""
FETCHING: Final = frozenset(("4", "6", "13"))
"""States in which arguments that exist are fetched."""
TASK_ID_BYTES: Final = 24
_MAX_TEXT: Final = 400
"""Characters of a message that are kept."""
OF_ARGUMENT: Final = "At least one of the input arguments"
"""In the message of a task that failed because it could not have an argument; what follows is of another task."""
_TAKES_ARGUMENTS: Final = "task:deserialize_arguments"
_ERROR_OF_TASK: Final = '{"type": "<class \'ray.exceptions.RayTaskError'
OF_ITS_GROUP: Final = " of its placement group"
"""What the names of resources end with that a placement group holds."""
_OF_GROUP: Final = re.compile("_group_(?:[0-9]+_)?[0-9a-f]{36}$")
_RAISED: Final = re.compile(r"(?:CreationTaskError: )?User exception:\n(.*?)(?:\n\nSystem error:|\Z)", re.DOTALL)
_FRAME, _REMOTE = "  File ", ("ray::", "\x1b[36mray::")
"""What lines begin with that lead to an exception."""
_EXCEPTION: Final = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception): ")
NO_STATE: Final = 2**63 - 1
"""The time of a state that isn't known: later than any other."""
_MOST_SECONDS: Final = NO_STATE // 1_000_000_000


class TaskUpdate(NamedTuple):
    """What one line says of an attempt of a task; empty, or 0, where it says nothing."""

    task: bytes
    attempt: int
    states: Sequence[int]
    """When it entered each of `STATES`, in nanoseconds since 1970; `NO_STATE` where that isn't said."""
    has_finished: bool
    has_failed: bool
    """For good, or for this attempt."""
    fetched_ns: int
    """How long it fetched arguments."""
    kind: int
    """The number of one of `TASK_KINDS`."""
    name: str
    """As Ray has it: `load`, `Counter.add`."""
    worker: bytes
    node: bytes
    resources: str
    """What it asks for, as in `1 CPU, 2 GPU`."""
    has_environment: bool
    """Whether it has a runtime environment, its own or its job's."""
    error: str
    """The type of its error, as `WORKER_DIED`."""
    message: str


class ActorUpdate(NamedTuple):
    """What one line says of an actor."""

    actor: bytes
    state: str
    """As Ray has it: `ALIVE`, `RESTARTING`, …"""
    node: bytes
    cause: str
    """Why it died."""
    freed_ns: int
    """When it died, for good or not, and left what it had asked for, in nanoseconds since 1970; 0 otherwise."""
    pid: int
    """Of its process, also of one that died; 0 for none."""


class NodeUpdate(NamedTuple):
    """What one line says of a node."""

    node: bytes
    resources: Mapping[str, float]


class TaskLines(NamedTuple):
    """What many lines say of attempts, most of which say the same but for tasks and times."""

    says: Sequence[TaskUpdate]
    """What they say besides, each once or more often."""
    numbers: NDArray[np.int64]
    """Which of these each line says."""
    keys: NDArray[np.uint64]
    """As `task_key` makes them."""
    states: NDArray[np.int64]
    """For each line the times of `STATES`."""


class JobUpdate(NamedTuple):
    """What one line says of a job."""

    job: bytes
    is_over: bool
    """Whether its driver has ended."""


class RayUpdates(NamedTuple):
    """What lines of events say."""

    tasks: Sequence[TaskUpdate] = ()
    actors: Sequence[ActorUpdate] = ()
    nodes: Sequence[NodeUpdate] = ()
    jobs: Sequence[JobUpdate] = ()
    scanned: TaskLines | None = None
    """More of tasks, of which nothing is in `tasks`."""

    @property
    def lines(self) -> int:
        """How many lines say them."""
        scanned = 0 if self.scanned is None else len(self.scanned.numbers)
        return len(self.tasks) + len(self.actors) + len(self.nodes) + len(self.jobs) + scanned


def is_event(value: Any) -> bool:
    """Tell whether a decoded value is one of Ray's events, of any kind."""
    return type(value) is dict and type(value.get("event_data")) is dict and type(value.get("source_type")) is str


def updates_of(events: Iterable[Mapping[str, Any]]) -> RayUpdates:
    """Return what events say of tasks, actors, nodes and jobs."""
    tasks, actors, nodes = list[TaskUpdate](), list[ActorUpdate](), list[NodeUpdate]()
    jobs = list[JobUpdate]()
    for event in events:
        data = event["event_data"]
        match event["source_type"]:
            case "EXPORT_TASK":
                task = _id(data.get("task_id"))
                if len(task) == TASK_ID_BYTES:
                    tasks.append(_task_update(task, data))
            case "EXPORT_ACTOR":
                actors.append(_actor_update(data, _number(event.get("timestamp"), 0)))
            case "EXPORT_NODE":
                resources = {
                    name: value
                    for name, value in _object(data, "resources_total").items()
                    if isinstance(value, (int, float))
                }
                nodes.append(NodeUpdate(_id(data.get("node_id")), resources))
            case "EXPORT_DRIVER_JOB":
                jobs.append(JobUpdate(_id(data.get("job_id")), data.get("is_dead") is True))
    return RayUpdates(tasks, actors, nodes, jobs)


def _task_update(task: bytes, data: Mapping[str, Any]) -> TaskUpdate:
    news, info = _object(data, "state_updates"), _object(data, "task_info")
    times, error = _object(news, "state_ts_ns"), _object(news, "error_info")
    kind = info.get("type")
    environment = _object(info, "runtime_env_info").get("serialized_runtime_env", "{}")
    return TaskUpdate(
        task,
        _number(data.get("attempt_number"), 0),
        [_entered(times, ways) for ways in WAYS.values()],
        _FINISHED in times,
        _FAILED in times,
        _fetched(times) if not FETCHING.isdisjoint(times) else 0,
        TASK_KINDS.index(kind) if kind in TASK_KINDS else 0,
        _text(info, "func_or_class_name"),
        _id(news.get("worker_id")),
        _id(news.get("node_id")),
        _asked(_object(info, "required_resources")),
        environment not in {"", "{}"},
        _text(error, "error_type"),
        OF_ARGUMENT if _got_error(data) else _message(error),
    )


def _entered(times: Mapping[str, Any], states: Iterable[str]) -> int:
    """Return when the first of some states was entered that a line has."""
    return next((_number(times[state], NO_STATE) for state in states if state in times), NO_STATE)


def _got_error(data: Mapping[str, Any]) -> bool:
    """Tell whether a worker got an error as an argument, by what it took for a task's arguments."""
    parts = _object(data, "profile_events").get("events")
    return any(
        isinstance(part, dict)
        and part.get("event_name") == _TAKES_ARGUMENTS
        and _text(part, "extra_data").startswith(_ERROR_OF_TASK)
        for part in (parts if isinstance(parts, list) else ())
    )


def _fetched(times: Mapping[str, Any]) -> int:
    """Return how long arguments were fetched, as far as one line has the state that came next."""
    in_order = sorted((_number(ns, 0), state) for state, ns in times.items())
    return sum(after - ns for (ns, state), (after, _) in pairwise(in_order) if state in FETCHING)


def _actor_update(data: Mapping[str, Any], seconds: int) -> ActorUpdate:
    state, is_asking = _text(data, "state"), bool(_object(data, "required_resources"))
    causes = [cause for cause in _object(data, "death_cause").values() if isinstance(cause, dict)]
    texts = (_text(cause, "error_message") or _last_line(cause) for cause in causes)
    return ActorUpdate(
        _id(data.get("actor_id")),
        state,
        _id(data.get("node_id")),
        next(filter(None, texts), ""),
        min(seconds, _MOST_SECONDS) * 1_000_000_000 if is_asking and state in _GONE else 0,
        _number(data.get("pid"), 0),
    )


def _message(error: Mapping[str, Any]) -> str:
    """Return the message of an error, of an exception of the program's own what it says, as `ValueError: no`."""
    text = _text(error, "error_message", whole=True)
    raised = None if OF_ARGUMENT in text else _RAISED.match(text)
    if _text(error, "error_type") == "RUNTIME_ENV_SETUP_FAILED":
        # A traceback, or several, and what was asked for.
        return next(filter(_EXCEPTION.match, reversed(text.split("\n"))), text)[:_MAX_TEXT]
    if raised is None:
        return text[:_MAX_TEXT]
    lines = raised[1].split("\n")
    # Of a long message Ray keeps the end, in which there may be no frames of the program's own.
    frames, remotes = ([at for at, line in enumerate(lines) if line.startswith(begin)] for begin in (_FRAME, _REMOTE))
    last = max(frames or remotes, default=0)
    said = (line for line in lines[last + 1 :] if line.strip() and not line.startswith(" "))
    return next(said, "")[:_MAX_TEXT]


def _last_line(cause: Mapping[str, Any]) -> str:
    lines = _text(cause, "formatted_exception_string", whole=True).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:_MAX_TEXT]


def _asked(resources: Mapping[str, Any]) -> str:
    """Return resources in words; those of a placement group, whose names hold its id, once, and without its bundles."""
    amounts = {
        _OF_GROUP.sub(OF_ITS_GROUP, name): amount
        for name, amount in sorted(resources.items())
        if type(amount) in (int, float) and not name.startswith("bundle_group_")
    }
    return ", ".join(f"{amount:g} {name}" for name, amount in amounts.items())


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if type(part) is dict else {}


def _text(value: Mapping[str, Any], key: str, *, whole: bool = False) -> str:
    part = value.get(key)
    return (part if whole else part[:_MAX_TEXT]) if type(part) is str else ""


def _number(value: Any, otherwise: int) -> int:
    """Return a number that may be written as a text, as 64 bits are; `otherwise` where it is none, or too large."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return otherwise
    return number if 0 <= number < NO_STATE else otherwise


def _id(value: Any) -> bytes:
    """Return an id; empty for none."""
    try:
        return a2b_base64(value) if value else b""
    except (Error, TypeError, ValueError):
        return b""
