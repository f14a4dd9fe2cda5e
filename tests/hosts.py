"""A host for tests, whose processes are what a test says."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.workers import is_same_host
from spanview.analysis.ray.writers import Life, RayWorker, WorkerExit

if TYPE_CHECKING:
    from collections.abc import Iterable

SESSION: Final = "ray/session/logs"


@dataclass
class FakeHost:
    """Processes by their ids.

    Args:
        alive: Those that hold their files open.
        titles: What Ray workers call themselves, by their pids.
    """

    alive: set[int] = field(default_factory=set)
    titles: dict[int, str] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    """Processes of which nothing can be told."""
    sessions: dict[int, str] = field(default_factory=dict)
    """Where the sessions of processes log to, if not to `SESSION`."""
    jobs: dict[int, str] = field(default_factory=dict)
    began_ns: dict[int, int] = field(default_factory=dict)
    """When processes began that are younger than some spans."""
    written: dict[str, int] = field(default_factory=dict)
    """When files were written last."""
    exits: dict[str, WorkerExit] = field(default_factory=dict)
    """What Ray says of the ends of workers."""
    host: str = "here"

    def life(self, pid: int, host: str, path: str, seen_ns: int, *, is_named: bool = False) -> Life:  # noqa: ARG002
        """Tell whether a process is alive."""
        assert path
        if pid in self.unknown or (host and not is_same_host(host, self.host)):
            return Life.UNKNOWN
        is_older = seen_ns >= self.began_ns.get(pid, 0)
        return Life.HOLDS if pid in self.alive and is_older else Life.GONE

    def asked_ns(self, pid: int) -> int:  # noqa: ARG002
        """Return when a process was asked about: now."""
        return time.time_ns()

    def exit_of(self, path: str, worker_id: str, session: str) -> WorkerExit | None:  # noqa: ARG002
        """Return what Ray says of a worker's end."""
        assert path
        return self.exits.get(worker_id)

    def written_ns(self, path: str) -> int:
        """Return when a file was written last."""
        return self.written.get(path, 0)

    def logs_of(self, pid: int) -> str:
        """Return where the session of a process logs to."""
        return self.sessions.get(pid, SESSION) if pid in self.alive else ""

    def ray_workers(self) -> list[RayWorker]:
        """Return the Ray workers that are alive."""
        return [
            RayWorker(pid, title, self.sessions.get(pid, SESSION), self.jobs.get(pid, ""))
            for pid, title in self.titles.items()
            if pid in self.alive
        ]

    def end(self, pids: Iterable[int]) -> None:
        """End some processes."""
        self.alive.difference_update(pids)
