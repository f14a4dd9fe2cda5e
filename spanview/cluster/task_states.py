"""What Ray's head knows of tasks that wait, run or have failed, where processes don't write events of them.

DIR/head/export_events/event_EXPORT_TASK.log   lines as Ray's processes write them where they are told to

What a task or a node became since the head was asked last is a line, with the time of asking. The head knows 100,000
tasks, hands over 10,000 at most, and forgets those of a job some time after that has ended.
"""

from __future__ import annotations

import base64
import json
import os
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spanview.cluster.collection import Collection

_TaskAttempt: TypeAlias = tuple[bytes, int]
"""A task's id, and the number of its attempt."""

FILE: Final = os.path.join("head", "export_events", "event_EXPORT_TASK.log")
_MOST: Final = 10_000
"""Tasks in an answer, as with Ray's own commands."""
_ANSWER_S: Final = 5.0
"""Seconds within which the head has to answer."""
_LEAST_S: Final = 2.0
"""Seconds between two questions at least."""
_SHARE: Final = 0.05
"""Of the time at most, for asking."""
_FINISHED: Final = "FINISHED"
_FINISHED_NUMBER: Final = "11"
"""Of this state, as times of states have it."""
_DEFAULTS: Final = ("task_info", "type", "NORMAL_TASK"), ("state_updates.error_info", "error_type", "WORKER_DIED")
"""What a message doesn't spell out, being first of its kind."""


def task_states(collection: Collection) -> TaskStates | None:
    """Return what asks the head of the cluster that this process is connected to; None where Ray can't do that."""
    # It needs gRPC, which not every Ray comes with, and modules that another release may have elsewhere.
    with suppress(ImportError, AttributeError):
        return TaskStates(collection)
    return None


class TaskStates:
    """The tasks that the head knows, as far as they were written to a file.

    Raises:
        ImportError: gRPC isn't installed.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        path = os.path.join(collection.folder, FILE)
        self._size = os.path.getsize(path) if os.path.exists(path) else 0
        self._ray: Any = import_module("ray")
        self._messages: Any = import_module("ray.core.generated.gcs_service_pb2")
        self._as_object: Any = import_module("google.protobuf.json_format").MessageToDict
        context = self._ray.get_runtime_context()
        channel = import_module("ray._private.grpc_utils").init_grpc_channel(context.gcs_address)
        self._ask: Any = import_module("ray.core.generated.gcs_service_pb2_grpc").TaskInfoGcsServiceStub(channel)
        self._error: type[Exception] = import_module("grpc").RpcError
        self._own_job = bytes.fromhex(context.get_job_id())
        self._nodes: dict[str, Mapping[str, Any]] = {}
        self._open = _unfinished_in(path)
        """What was written last of tasks that weren't known to have finished."""
        self._answers: dict[_TaskAttempt, bytes] = {}
        """The same as it came: to compare that costs less."""
        self._next_s = 0.0

    def look(self) -> None:
        """Write what is new, if it is time to ask again; an answer that doesn't come is let go.

        Raises:
            CollectError: The file can't be written.
        """
        began_s = time.monotonic()
        if began_s < self._next_s:
            return
        lines: list[Mapping[str, Any]] = []
        with suppress(self._error):
            lines = [*self._new_nodes(), *self._new_tasks()]
        self._next_s = time.monotonic() + max(_LEAST_S, (time.monotonic() - began_s) / _SHARE)
        if lines:
            # An earlier call may have been killed in the middle of a line.
            data = b"\n" * bool(self._size) + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            self._collection.append(FILE, self._size, memoryview(data))
            self._size += len(data)

    def _new_nodes(self) -> Iterator[Mapping[str, Any]]:
        for node in self._ray.nodes():
            state = "ALIVE" if node["Alive"] else "DEAD"
            said = {"state": state, "node_name": node["NodeManagerHostname"], "resources_total": node["Resources"]}
            if self._nodes.get(node["NodeID"]) != said:
                self._nodes[node["NodeID"]] = said
                node_id = base64.b64encode(bytes.fromhex(node["NodeID"])).decode()
                yield _line("EXPORT_NODE", {"node_id": node_id, **said})

    def _new_tasks(self) -> Iterator[Mapping[str, Any]]:
        listed = self._tasks("NOT_EQUAL")
        finished = self._tasks("EQUAL") if self._open.keys() - listed.keys() else {}
        for key, task in listed.items():
            answer = task.SerializeToString(deterministic=True)
            if self._answers.get(key) != answer:
                self._answers[key], said = answer, self._as_event(task)
                if self._open.get(key) != said:
                    self._open[key] = said
                    yield _line("EXPORT_TASK", said)
        for key in self._open.keys() & finished.keys():
            del self._open[key]
            self._answers.pop(key, None)
            yield _line("EXPORT_TASK", self._as_event(finished[key]))

    def _tasks(self, predicate: str) -> dict[_TaskAttempt, Any]:
        """Return tasks that have finished, or those that have not, of all jobs but this one."""
        request, predicates = self._messages.GetTaskEventsRequest(limit=_MOST), self._messages.FilterPredicate
        request.filters.exclude_driver = True
        request.filters.state_filters.add(state=_FINISHED, predicate=predicates.Value(predicate))
        request.filters.job_filters.add(job_id=self._own_job, predicate=predicates.Value("NOT_EQUAL"))
        tasks = self._ask.GetTaskEvents(request, timeout=_ANSWER_S).events_by_task
        for task in tasks:
            task.ClearField("profile_events")
        return {(task.task_id, task.attempt_number): task for task in tasks}

    def _as_event(self, task: Any) -> Mapping[str, Any]:
        """Return what a line of Ray's processes has under `event_data`."""
        data = {"attempt_number": 0, **self._as_object(task, preserving_proto_field_name=True)}
        for path, name, value in _DEFAULTS:
            part: Any = data
            for key in path.split("."):
                part = part.get(key, {})
            if part:
                part.setdefault(name, value)
        return data


def _line(source: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"event_data": data, "source_type": source, "timestamp": int(time.time())}


def _unfinished_in(path: str) -> dict[_TaskAttempt, Mapping[str, Any]]:
    """Return what a file of an earlier call says last of tasks that it doesn't say have finished."""
    tasks: dict[_TaskAttempt, Mapping[str, Any]] = {}
    with suppress(FileNotFoundError), open(path, "rb") as file:
        for line in file:
            # The last line may be a part of one.
            with suppress(ValueError, KeyError):
                data = json.loads(line)["event_data"]
                key = base64.b64decode(data["task_id"]), int(data["attempt_number"])
                if _FINISHED_NUMBER in data["state_updates"]["state_ts_ns"]:
                    tasks.pop(key, None)
                else:
                    tasks[key] = data
    return tasks
