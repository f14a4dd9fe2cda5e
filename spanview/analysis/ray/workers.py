"""Who a process is: its pid, the node that it runs on, and the actor or replica that it is.

name of the file                            what it says
----------------                            ------------
8714.txt, 8714.json, 8714.jsonl             pid 8714
worker-2f9c01-01000000-8714.out             pid 8714 of the job 01000000
node7-8714.jsonl                            pid 8714 on node7, where a record or this host's name agrees
node7-8714-1717000000.jsonl                 the same, followed by its start time
node7-8714-1717000000.2.started.jsonl       the same, of what has started there, and the second file of it
replica_app_Model_x6aahas8_tracing.json     the replica x6aahas8 of app/Model
proxy_192.0.2.2_tracing.json                the proxy on 192.0.2.2
worker-7@3f2a9c01b2d4/tmp/spans/8714.txt    pid 8714 on the node 3f2a9c01b2d4…, whose host is worker-7: collected there

What the name doesn't say, a record that the process wrote may: `ray.pid` or `process.pid`, of the span or of its
resource. A record takes precedence over the name: a file can hold the spans of several processes.

ray.worker_id                     who wrote the span
-------------                     ------------------
01000000ffffffffffffffff…         the driver of the job 01000000
5de2d0bdb6256c1ac6e24a83…         a worker
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.serve.requests import Part, part_of_name
from spanview.index.processes import END, job_of_file, pid_of_file
from spanview.index.table import NO_ROW
from spanview.model.codes import CONSUMER

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from spanview.analysis.ray.lanes import Lane
    from spanview.index.processes import SpanProcesses
    from spanview.index.store import Store
    from spanview.model.span import Span

# A number of up to 7 digits is a PID, one of 9 or more a time: ip-10-0-0-5-8714-1717000000.jsonl
_NODE_AND_PID: Final = re.compile(
    r"(?:^|[/\\])([^/\\]+?)-([0-9]{1,7})(?:-[0-9]{9,20})?(?:\.[0-9]{1,6})?(?:\.started)?"
    rf"\.(?:txt|json|jsonl|ndjson|log){END}"
)
_REPLICA: Final = re.compile(rf"(?:^|[/\\])replica_([^/\\]+)_([^_/\\]+)_tracing\.json{END}")
_PROXY: Final = re.compile(rf"(?:^|[/\\])proxy_([^/\\]+)_tracing\.json{END}")
_COLLECTED: Final = re.compile(r"(?:^|[/\\])(?P<host>[^/\\@]+)@(?P<node>[0-9a-f]{12})(?:\.[0-9]+)?[/\\]")
"""The folder of a node, as `spanview collect` names it."""
_NODES: Final = ("ray.node_id", "k8s.node.name", "host.name")
"""Attributes, of the span or of its resource, that say where a process runs."""
_PIDS: Final = ("ray.pid", "process.pid")
_DRIVER: Final = re.compile(r"([0-9a-f]{8})f{8,}")
"""The id that Ray gives the worker which is a job's driver."""
_FORMAT: Final = re.compile(rf"\.(?:txt|jsonl?|ndjson|log|out|err){END}")
_UUID: Final = re.compile(r"\b([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
"""An instance as SDKs name it: its first digits tell it from others."""
_MAX_PID_DIGITS: Final = 18
_MOST_WRITERS: Final = 4096
"""Processes that are remembered by what spans and files say of them."""
_MAX_BLOCKS: Final = 256
"""Blocks that are searched for one that another process has called."""
_MAX_CHARACTERS: Final = 200
SEVERAL: Final = "several processes"
"""The actor of a file that several processes wrote."""


class Role(Enum):
    """What a process does in Ray."""

    DRIVER = "driver"
    WORKER = "worker"
    """It runs tasks."""
    ACTOR = "actor"
    PROXY = "proxy"
    REPLICA = "replica"
    UNKNOWN = ""
    """It isn't known, or it has nothing to do with Ray."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Who a process is; what isn't known is empty. Texts from files, to be sanitised."""

    pid: str = ""
    node: str = ""
    actor: str = ""
    """The class of an actor, or `proxy`, or application and deployment of a replica."""
    actor_id: str = ""
    """Of an actor or a replica."""
    role: Role = Role.UNKNOWN
    job: str = ""
    """The job that it is the driver of."""
    ids: frozenset[str] = field(default=frozenset(), compare=False)
    """What tells it from all other processes: lanes that have one in common are of one process."""


def is_of_one_process(path: str) -> bool:
    """Return whether a file is named after a process: only that one writes to it, until its PID is reused."""
    return pid_of_file(path) is not None or _NODE_AND_PID.search(path) is not None


def is_told(processes: SpanProcesses, number: int) -> bool:
    """Return whether a process is told from all others: by its resource, or by a file that only it writes to."""
    file = processes.file(number)
    return file is None or is_of_one_process(file.path)


def count_processes(processes: SpanProcesses, of_spans: Iterable[tuple[int, int]]) -> int:
    """Return of how many processes spans are: of those that nothing tells apart, as a collector's, a service is one.

    Args:
        of_spans: The numbers of each span's process and service.
    """
    return len({(own, None if is_told(processes, own) else service) for own, service in {*of_spans}})


def empty_files(store: Store, pids: Container[str]) -> int:
    """Return how many empty files are named after processes other than these: what they ran, if anything, isn't known.

    The output of Ray's workers doesn't count: it is empty where they print nothing.
    """
    return sum(
        not (file.bytes or file.records)
        and not job_of_file(path)
        and (pid := pid_of_file(path)) is not None
        and str(pid) not in pids
        for path, file in store.tallies.each_file()
    )


@dataclass(frozen=True, slots=True)
class Writer:
    """The process that has written a span."""

    pid: int
    host: str
    """The host that it ran on, empty where that isn't known; from a file, to be sanitised."""
    is_named: bool = False
    """Whether the span itself names both."""


def writer_of(span: Span, path: str, here: str = "") -> Writer | None:
    """Return the process that has written a span; None if neither the span nor its file says.

    Args:
        here: The name of this host, which may be the node in a file's name.
    """
    return _writer(_first(span, ("host.name",)), _first(span, _PIDS), path, here)


@lru_cache(maxsize=_MOST_WRITERS)
def _writer(host: str, pid: str, path: str, here: str) -> Writer | None:
    collected = _COLLECTED.search(path)
    host = host or (collected["host"] if collected else "")
    if pid.isdecimal() and len(pid) <= _MAX_PID_DIGITS:
        return Writer(int(pid), host, is_named=bool(host))
    if (number := pid_of_file(path)) is not None:
        return Writer(number, host)
    if (match := _NODE_AND_PID.search(path)) is not None and is_same_host(match[1], host or here):
        return Writer(int(match[2]), host or match[1])
    return None


def driver_job_of(span: Span) -> str:
    """Return the job whose driver has written a span; empty where it is another process, or not known."""
    match = _DRIVER.fullmatch(_text(span.attributes.get("ray.worker_id")))
    return "" if match is None else match[1]


def is_same_host(name: str, other: str) -> bool:
    """Return whether two names may be of one host: one may include the domain."""
    return name.partition(".")[0].casefold() == other.partition(".")[0].casefold()


def process_name(processes: SpanProcesses, number: int) -> str:
    """Return how a process is called: by its file, without what says its format, or `api 627cc493` by its resource."""
    if (file := processes.file(number)) is None:
        return _UUID.sub(r"\1", processes.said(number))
    return _FORMAT.sub("", file.path.replace("\\", "/").rpartition("/")[2])


def node_of(span: Span) -> str:
    """Return where the process of a span runs: where its file was collected, or what the span says; else empty."""
    collected = _COLLECTED.search(span.source.file)
    return collected["node"] if collected else _first(span, _NODES)


def named(path: str) -> Worker:
    """Return what the name of its file says about a process."""
    pid = pid_of_file(path)
    if pid is not None:
        return Worker(pid=str(pid))
    if match := _PROXY.search(path):
        return Worker(node=match[1], actor="proxy", role=Role.PROXY)
    if match := _REPLICA.search(path):
        # With more underscores it is unclear where the application's name ends.
        actor = match[1].replace("_", "/") if match[1].count("_") == 1 else match[1]
        return Worker(actor=actor, actor_id=match[2], role=Role.REPLICA)
    return Worker()


def worker_of(store: Store, lane: Lane) -> Worker:
    """Return who a process is; a few of its records are read."""
    file = store.processes.file(lane.process)
    path = file.path if file is not None else store.sources[store.spans.source[lane.first_row]].path
    worker = named(path)
    if collected := _COLLECTED.search(path):
        worker = replace(worker, node=collected["node"])
    spans = [store.span(row) for row in _representative_rows(store, lane)]
    writers = [writer for span in spans if (writer := writer_of(span, path)) is not None]
    if len({writer.pid for writer in writers}) > 1:
        # A file that was combined from several.
        return Worker(actor=SEVERAL)
    if writers:
        worker = replace(worker, pid=str(writers[0].pid))
    for span in spans:
        attributes = span.attributes
        worker = replace(worker, node=worker.node or node_of(span))
        if job := driver_job_of(span):
            worker = replace(worker, role=Role.DRIVER, job=job)
        elif span.kind_value == CONSUMER and attributes.get("ray.remote") and worker.role is Role.UNKNOWN:
            worker = replace(worker, role=Role.WORKER)
        if not worker.actor and span.kind_value == CONSUMER and attributes.get("ray.actor_class"):
            actor, actor_id = (_text(attributes.get(key)) for key in ("ray.actor_class", "ray.actor_id"))
            worker = replace(worker, actor=actor, actor_id=actor_id, role=Role.ACTOR)
        worker = _in_serve(worker, span)
    ids = {text for span in spans for text in _ids(span, worker.pid)}
    if file is not None and is_of_one_process(path):
        ids.add(store.processes.text(lane.process))
    return replace(worker, ids=frozenset(ids))


def _ids(span: Span, pid: str) -> Iterator[str]:
    """Yield what tells the process of a span from all others, whichever file the span is in.

    Processes that were forked can share an instance, those of two sessions of Ray the id of a worker.
    """
    node, worker, instance = (_first(span, (key,)) for key in ("ray.node_id", "ray.worker_id", "service.instance.id"))
    if node and worker:
        yield f"{node} {worker} {pid}"
    if instance:
        yield f"{instance} {pid}"


def _in_serve(worker: Worker, span: Span) -> Worker:
    """Return what a span of Ray Serve says besides about its process."""
    parts = _text(span.attributes.get("app")), _text(span.attributes.get("deployment"))
    actor = "/".join(filter(None, parts))
    if worker.actor == "_".join(parts):
        return replace(worker, actor=actor)
    # A file that is named after no process may be of several.
    part = part_of_name(span.name) if worker.pid and worker.role is Role.UNKNOWN else None
    if part is Part.PROXY:
        return replace(worker, actor="proxy", role=Role.PROXY)
    if part is Part.REPLICA and parts[1]:
        replica_id = _text(span.attributes.get("replica_id"))
        return replace(worker, actor=actor, actor_id=replica_id, role=Role.REPLICA)
    return worker


def _representative_rows(store: Store, lane: Lane) -> list[int]:
    """Return the last block and the first, the last and the first that another process has called, and a call.

    A worker may have run tasks before it became an actor. Without blocks and calls, any span is returned.
    """
    rows, kinds = lane.blocks.rows, store.spans.kind
    chosen = [*rows[:1], *rows[-1:]]
    for some in (reversed(rows), iter(rows)):
        chosen += [*islice((row for row in islice(some, _MAX_BLOCKS) if kinds[row] == CONSUMER), 1)]
    chosen += [] if lane.call_row == NO_ROW else [lane.call_row]
    return [*dict.fromkeys(chosen)] or [lane.first_row]


def _first(span: Span, keys: tuple[str, ...]) -> str:
    for key in keys:
        if value := span.attributes.get(key) or span.resource.attributes.get(key):
            return _text(value)
    return ""


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:_MAX_CHARACTERS]
