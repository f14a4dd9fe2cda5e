"""The processes that have written spans, and whether they are alive, as far as the processes of this host show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from spanview.analysis.ray.names import session_in
from spanview.analysis.ray.workers import writer_of
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.ray.workers import Writer
    from spanview.index.store import Store

_MAX_RECORDS_KEPT: Final = 20_000
"""Records whose facts are remembered."""


class Life(Enum):
    """Whether the process that has written a span is alive."""

    HOLDS = "it holds the file open"
    LIKELY = "a process that can be it is alive"
    UNKNOWN = "unknown"
    GONE = "no process of this host is it"

    @property
    def is_alive(self) -> bool:
        """Whether it is, or probably is."""
        return self in {Life.HOLDS, Life.LIKELY}


@dataclass(frozen=True, slots=True)
class RayWorker:
    """A process of Ray's on this host."""

    pid: int
    title: str
    """What it calls itself: `IDLE`, the task or the method that it runs, or the class of an actor that runs nothing."""
    logs: str
    """The folder that its session logs to, empty where it isn't known."""
    job: str
    """The job that it works for, empty where it isn't known."""


class WorkerExit(NamedTuple):
    """How a worker of Ray's ended, as Ray says."""

    text: str
    """In a few words; from a file, and so to be sanitised."""
    is_in_order: bool = False
    """Whether Ray ended it, because nobody needed it any more or somebody asked for it."""
    is_cancelled: bool = False
    """Whether that was `ray.cancel`, with force."""
    is_beside: bool = False
    """Whether the worker's spans are where they were written, beside what says so."""


class Host(Protocol):
    """Knows the processes of this host."""

    @property
    def host(self) -> str:
        """The host's name."""

    def life(self, pid: int, host: str, path: str, seen_ns: int, *, is_named: bool = False) -> Life:
        """Return whether the process that has written a span into a file is alive.

        Args:
            host: The host that it ran on, empty where that isn't known.
            seen_ns: When it was seen to run, in nanoseconds since 1970.
            is_named: Whether the span itself names host and process.
        """

    def asked_ns(self, pid: int) -> int:
        """Return when the last answer of `life` about a process was found out, in nanoseconds since 1970."""

    def written_ns(self, path: str) -> int:
        """Return when a file was written last, in nanoseconds since 1970; for a copy that is when it was copied."""

    def exit_of(self, path: str, worker_id: str, session: str) -> WorkerExit | None:
        """Return what Ray's files say of the end of a worker; None where they say nothing.

        Args:
            path: A file of its spans.
            session: The folder of its session, or the session's name; empty where neither is known.
        """

    def logs_of(self, pid: int) -> str:
        """Return the folder that the Ray session of a process logs to, empty where it isn't known."""

    def ray_workers(self) -> Sequence[RayWorker]:
        """Return the workers of Ray that are alive."""


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What a span's record says."""

    writer: Writer | None
    actor: str
    """The id of the actor that ran an attempt, or that a call goes to; empty for a task."""
    job: str
    worker: str
    """The id of the Ray worker that wrote it, empty where it isn't known."""
    session: str
    """The folder of that worker's session, or the session's name; empty where neither is known."""


class Writers:
    """Knows who has written spans, and which of these processes were seen alive. For one thread at a time.

    Args:
        clock: Returns the time in seconds, from any origin.
    """

    def __init__(self, store: Store, host: Host, clock: Callable[[], float]) -> None:
        self._store = store
        self._host = host
        self._clock = clock
        self._looked_at = clock()
        self._record_facts: dict[int, RecordFacts] = {}
        """By row: a record is read from a file."""
        self.sessions: dict[int, str] = {}
        """The log folders of the Ray sessions of callers that were seen alive, by pid."""
        self._alive_since: dict[tuple[int, int], int] = {}
        """The earliest known time of processes that were seen alive, by the number of a process and the pid."""
        self._seen_ns: dict[tuple[int, int], int] = {}
        """When such a process was last seen alive, in nanoseconds since 1970."""
        self._ended_at: dict[tuple[int, int], float] = {}
        """When such a process was first seen to have ended, by the clock."""

    def facts_of(self, row: int) -> RecordFacts:
        """Return what a span's record says."""
        facts = self._record_facts.get(row)
        if facts is None:
            if len(self._record_facts) > _MAX_RECORDS_KEPT:
                self._record_facts.clear()
            span, path = self._store.span(row), self._store.sources[self._store.spans.source[row]].path
            attributes = span.attributes
            # A task that an actor submits may have the actor's own id.
            is_task = attributes.get("ray.remote") == "function"
            actor, job = ("" if is_task else attributes.get("ray.actor_id")), attributes.get("ray.job_id")
            resource = span.resource.attributes
            worker = attributes.get("ray.worker_id") or resource.get("ray.worker_id")
            facts = self._record_facts[row] = RecordFacts(
                writer_of(span, path, self._host.host),
                actor if isinstance(actor, str) else "",
                job if isinstance(job, str) else "",
                worker if isinstance(worker, str) else "",
                session_in(resource),
            )
        return facts

    def life(self, row: int, writer: Writer) -> Life:
        """Return whether the process that has written a span is alive, and remember it."""
        spans, ran_ns = self._store.spans, self._ran_ns(row)
        if ran_ns == NO_TIME:
            return Life.UNKNOWN
        key, path = (spans.process[row], writer.pid), self._store.sources[spans.source[row]].path
        life = self._host.life(writer.pid, writer.host, path, ran_ns, is_named=writer.is_named)
        if life.is_alive:
            self._alive_since[key] = min(ran_ns, self._alive_since.get(key, ran_ns))
            self._seen_ns[key] = self._host.asked_ns(writer.pid)
            self._ended_at.pop(key, None)
            if logs := self._host.logs_of(writer.pid):
                self.sessions[writer.pid] = logs
        elif life is Life.GONE and self.was_alive(row, writer):
            self._ended_at.setdefault(key, self._clock())
        return life

    def was_alive(self, row: int, writer: Writer) -> bool:
        """Return whether the process that has written a span was seen alive, not an earlier one with its pid."""
        since = self._alive_since.get((self._store.spans.process[row], writer.pid))
        return since is not None and self._ran_ns(row) >= since

    def _ran_ns(self, row: int) -> int:
        """Return a time at which the process of a span ran; `NO_TIME` where the span has none."""
        spans = self._store.spans
        return spans.end_ns[row] if spans.start_ns[row] == NO_TIME else spans.start_ns[row]

    def seen_ns(self, row: int, writer: Writer) -> int:
        """Return when the process that has written a span was last seen alive; `NO_TIME` if it never was."""
        return self._seen_ns.get((self._store.spans.process[row], writer.pid), NO_TIME)

    def look(self) -> None:
        """Begin a look at many spans: `has_ended` says the same of all that a process has written."""
        self._looked_at = self._clock()

    def has_ended(self, row: int, writer: Writer, after_s: float) -> bool:
        """Return whether a process that was seen alive was seen to have ended so long before the last `look`."""
        since = self._ended_at.get((self._store.spans.process[row], writer.pid))
        return since is not None and self._looked_at - since >= after_s
