"""What Ray knows of this process and of the task that it runs.

Ray says most of it through members that it doesn't document. All use of these is here, or in `calls`, and whatever
they don't say is left out.

ray.get_runtime_context() aborts a process that isn't connected yet, and warns when a driver asks for a task: so it is
asked in workers alone, once they are connected. Nothing is asked in a forked process, where Ray's threads don't run.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCRIPT_MODE, _WORKER_MODE = 0, 1
_NIL: Final = frozenset("f")
"""The only digit of an id that isn't known yet."""
_KV_NAMESPACE: Final = b"spanview"
_KV_TIMEOUT_S: Final = 2.0
_UNLIKE_RAY: Final = (AttributeError, TypeError, ValueError, KeyError, RuntimeError, AssertionError)
"""What is raised where another release of Ray has other members."""


@dataclass(frozen=True, slots=True)
class RayProcess:
    """A process of a Ray session, as far as it is known by now."""

    node: Any
    """Ray's object, another one in each session that a process joins."""
    logs: str
    """The folder of the session's logs."""
    node_id: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Of the resource."""
    service: str = ""
    """The name of the job, or of its driver's script."""
    is_settled: bool = False
    """Whether all is known."""


def ray_process(known: RayProcess | None) -> RayProcess | None:
    """Return what Ray says of this process.

    Args:
        known: What it said last.

    Returns:
        The same object if that is still so, None if there is no Ray.
    """
    worker = _worker()
    node = None if worker is None else worker.node
    if node is None or (known is not None and known.node is node and known.is_settled):
        # After `ray.shutdown()`, what was so is what its last spans belong to.
        return known
    return _ask(worker, node)


def task_attributes(name: str) -> Mapping[str, Any]:
    """Return what Ray says of the task that this thread runs; nothing in a driver.

    Args:
        name: Of the function or the method that the span is an attempt of; empty for other spans.
    """
    worker = _worker()
    if worker is None or worker.mode != _WORKER_MODE or not worker.connected:
        return {}
    with suppress(*_UNLIKE_RAY):
        return _of_task(worker, name)
    return {}


def _of_task(worker: Any, name: str) -> Mapping[str, Any]:
    context = sys.modules["ray"].get_runtime_context()
    attributes: dict[str, Any] = {}
    if task_id := context.get_task_id():
        attributes["ray.task_id"] = task_id
    if actor_id := context.get_actor_id():
        attributes["ray.actor_id"] = actor_id
        actor = worker.actors.get(worker.actor_id)
        if actor is not None:
            attributes["ray.actor_class"] = type(actor).__name__
    if name:
        # Of methods of async actors it is always 0.
        if not worker.core_worker.current_actor_is_asyncio():
            attributes["ray.attempt"] = worker.core_worker.get_current_task_attempt_number()
        if group := context.get_placement_group_id():
            attributes["ray.placement_group_id"] = group
        # `A.step`, or what `options(name=…)` says; Ray calls the function `__main__.A.step`.
        task_name = context.get_task_name()
        if task_name and task_name.rpartition(".")[2] != name.rpartition(".")[2]:
            attributes["ray.task_name"] = task_name
    return attributes


def _worker() -> Any | None:
    # Whoever isn't in Ray doesn't import it for that.
    return getattr(sys.modules.get("ray._private.worker"), "global_worker", None)


def _ask(worker: Any, node: Any) -> RayProcess:
    ids: dict[str, str] = {}
    logs = service = ""
    with suppress(*_UNLIKE_RAY):
        logs = node.get_logs_dir_path()
        ids["ray.session"] = node.session_name
        # A program may have its sessions anywhere, and its spans elsewhere.
        ids["ray.session_dir"] = os.path.dirname(logs)
        ids["ray.node_id"] = node.node_id
        ids["ray.worker_id"] = worker.worker_id if isinstance(worker.worker_id, str) else worker.worker_id.hex()
        ids["ray.job_id"] = worker.current_job_id.hex()
        ids["ray.version"] = sys.modules["ray"].__version__
    attributes = {name: value for name, value in ids.items() if value and not _NIL.issuperset(value)}
    job = attributes.get("ray.job_id", "")
    if job:
        # The service is a name only: a cluster that doesn't answer doesn't keep a span from being written.
        with suppress(Exception):
            service = _service(worker, job)
    return RayProcess(
        node, logs, attributes.get("ray.node_id", ""), attributes, service, bool(worker.connected and job)
    )


def _service(worker: Any, job: str) -> str:
    """Return a job's name: its driver leaves it with the cluster for its workers."""
    key = f"service:{job}".encode()
    if worker.mode != _SCRIPT_MODE:
        name = worker.gcs_client.internal_kv_get(key, _KV_NAMESPACE, _KV_TIMEOUT_S)
        return name.decode() if name else ""
    metadata = worker.core_worker.get_job_config().metadata
    name = metadata.get("job_name", "")
    if not name or name == metadata.get("job_submission_id"):
        name = script_name()
    if name:
        worker.gcs_client.internal_kv_put(key, name.encode(), True, _KV_NAMESPACE, _KV_TIMEOUT_S)
    return str(name)


def script_name() -> str:
    """Return the name of the program, `train` for train.py and for `python -m train`; empty where it has none."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name).removesuffix(".__main__")
    path = getattr(main, "__file__", None) or ""
    return os.path.splitext(os.path.basename(path))[0]
