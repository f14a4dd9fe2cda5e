"""What the processes of this host show: whether one is the writer of a file, and which Ray worker runs what.

Asked in this order, whether a process with the id of a file's writer is that writer:

is it                                                     no, it is none of its writers     else
--------------------------------------------------------  --------------------------------  ---------------------
of this host, as far as the spans name one                unknown                           the next question
there, and neither ends nor has ended                     GONE                              the next question
older than the span (PIDs are reused)                     GONE                              the next question
holding the file open                                     the next question                 HOLDS, that is certain
named by the span itself, and its host, too               the next question                 LIKELY
a kernel's thread, a shell, a daemon of the system        GONE                              the next question
one whose open files can be listed                        LIKELY, if it is Python           unknown

That a process is alive and has the file closed says nothing: an exporter may open its file again for each span,
and the file may be a copy.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import SESSION
from spanview.analysis.ray.workers import is_same_host
from spanview.analysis.ray.writers import Life, RayWorker
from spanview.index.processes import job_of_file
from spanview.sources.worker_exits import exit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import psutil

    from spanview.analysis.ray.writers import WorkerExit

_CACHE_DURATION_S: Final = 1.0
_LIFE_KEPT_S: Final = 0.5
"""So long an answer about one process is kept: it has to show soon that one has ended."""
_START_TOLERANCE_S: Final = 2.0
"""The system's start times are only roughly right."""
_PYTHON: Final = re.compile(r"(?:python|pypy|ray::)")
"""`python3.12`, `pypy3`, and what Ray calls its workers: `ray::train`."""
_NO_WRITER: Final = re.compile(
    r"(?:a|ba|c|da|fi|k|tc|z)?sh|sshd.*|login|su|sudo|init|cron|crond|agetty|getty|tmux.*|screen|dockerd|containerd.*|"
    r"launchd|systemd.*|\(sd-pam\)|dbus-.*|tail|less|cat|sleep"
)
"""Programs that hold or read a span file, or have its writer's number by now, and write none: `bash`, `sshd: ada`."""
_DELETED_SUFFIX: Final = " (deleted)"
"""Follows the path of an open file that was removed, in `/proc/4242/fd`."""
_RAY_TITLE_PREFIX: Final = "ray::"
# /tmp/ray/session_latest/logs/python-core-driver-01000000ffff_4242.log
_RAY_LOG: Final = re.compile(r"(.*)[/\\]python-core-(?:driver|worker)-[^/\\]*\.log")


@dataclass(frozen=True, slots=True)
class _Files:
    """What a process has open."""

    ids: frozenset[tuple[int, int]] = frozenset()
    """Device and inode."""
    removed: frozenset[str] = frozenset()
    """Paths of files that are open and have been removed."""
    logs: str = ""
    job: str = ""


@dataclass
class _ProcessInfo:
    """What is known of a process since it was last asked about."""

    process: psutil.Process
    began_s: float
    """When it began, in seconds since 1970."""
    name: str
    """Its command."""

    @cached_property
    def files(self) -> _Files | None:
        """What it has open; None where that can't be asked."""
        return _files_of(self.process)


class Processes:
    """Asks the system about processes, about each twice a second at the most."""

    host: Final = platform.node()
    """The name of this host."""

    def __init__(self, session: str = SESSION) -> None:
        self._sessions = os.path.dirname(session)
        self._known: dict[int, tuple[float, int, _ProcessInfo | None]] = {}
        """When each was asked, by the monotonic clock and since 1970, and the answer, None for those that are gone."""
        self._exits: dict[str, tuple[float, WorkerExit | None]] = {}
        """When it was looked for, and what was found, by worker."""
        self._workers: tuple[float, Sequence[RayWorker]] | None = None

    def life(self, pid: int, host: str, path: str, seen_ns: int, *, is_named: bool = False) -> Life:
        """Tell whether a process that has written a span is alive: its id can be another's by now.

        Args:
            host: The host that it ran on, as the spans name it; empty where they don't.
            seen_ns: When it was seen to run, in nanoseconds since 1970.
            is_named: Whether the span itself names host and process.
        """
        if host and not is_same_host(host, self.host):
            return Life.UNKNOWN
        info = self._info(pid)
        if info is None or info.began_s - _START_TOLERANCE_S > seen_ns / 1e9:
            return Life.GONE
        files = info.files
        if files is not None and _holds(files, path):
            return Life.HOLDS
        if host and is_named:
            return Life.LIKELY
        if _NO_WRITER.fullmatch(info.name):
            return Life.GONE
        return Life.LIKELY if files is None and _PYTHON.match(info.name) else Life.UNKNOWN

    def asked_ns(self, pid: int) -> int:
        """Return when the last answer about a process was found out, in nanoseconds since 1970."""
        return self._known[pid][1]

    def written_ns(self, path: str) -> int:
        """Return when a file was written last, or copied with its times; 0 where it isn't there."""
        try:
            stat = os.stat(path)
        except (OSError, ValueError):
            return 0
        # A copy that keeps the time of writing can't keep the other one, which Windows doesn't have.
        return stat.st_mtime_ns if sys.platform == "win32" else max(stat.st_mtime_ns, stat.st_ctime_ns)

    def exit_of(self, path: str, worker_id: str, session: str) -> WorkerExit | None:
        """Return what Ray's files say of the end of a worker, as `worker_exits.exit_of` does; None for nothing."""
        now = time.monotonic()
        asked_at, said = self._exits.get(worker_id, (0.0, None))
        if not asked_at or (not said and now - asked_at > _CACHE_DURATION_S):
            said = exit_of(path, worker_id, self._sessions, session)
            self._exits[worker_id] = now, said
        return said

    def logs_of(self, pid: int) -> str:
        """Return the folder that the Ray session of a process logs to; empty where it isn't known."""
        info = self._info(pid)
        return "" if info is None or info.files is None else info.files.logs

    def ray_workers(self) -> Sequence[RayWorker]:
        """Return the workers of Ray that are alive on this host."""
        now = time.monotonic()
        if self._workers is None or now - self._workers[0] > _CACHE_DURATION_S:
            self._workers = now, [*self._look_for_workers()]
        return self._workers[1]

    def _look_for_workers(self) -> Iterator[RayWorker]:
        import psutil

        for process in psutil.process_iter():
            try:
                title = next(iter(process.cmdline()), "")
            except (psutil.Error, OSError):
                continue
            if title.startswith(_RAY_TITLE_PREFIX) and (info := self._info(process.pid)) is not None:
                files = info.files or _Files()
                # Some releases of Ray write `ray::f()`.
                yield RayWorker(
                    process.pid,
                    title.removeprefix(_RAY_TITLE_PREFIX).rstrip().removesuffix("()"),
                    files.logs,
                    files.job,
                )

    def _info(self, pid: int) -> _ProcessInfo | None:
        asked_at, _, info = self._known.get(pid, (0.0, 0, None))
        now = time.monotonic()
        if not asked_at or now - asked_at > _LIFE_KEPT_S:
            asked_ns = time.time_ns()
            info = _info_of(pid)
            self._known[pid] = now, asked_ns, info
        return info


def _info_of(pid: int) -> _ProcessInfo | None:
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            try:
                # A process that was killed loses it at once, and may take a while to go; a kernel's thread has none.
                is_live = bool(process.cmdline())
            except psutil.AccessDenied:
                is_live = True
            return _ProcessInfo(process, float(process.create_time()), process.name()) if is_live else None
    except (psutil.Error, OSError, OverflowError, ValueError):
        return None


def _holds(files: _Files, path: str) -> bool:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path) in files.removed
    return (stat.st_dev, stat.st_ino) in files.ids


def _files_of(process: psutil.Process) -> _Files | None:
    """Return what a process has open; None where this can't be asked."""
    import psutil

    try:
        paths = _open_files(process)
    except (psutil.Error, OSError):
        return None
    ids, removed, logs, job = set[tuple[int, int]](), set[str](), "", ""
    for path, identity in paths.items():
        if identity is not None:
            ids.add(identity)
        if path.endswith(_DELETED_SUFFIX):
            removed.add(path.removesuffix(_DELETED_SUFFIX))
        if match := _RAY_LOG.fullmatch(path):
            logs = match[1]
        elif (number := job_of_file(path)) and number.strip("f"):
            # A worker that was started in advance, for no job yet, has `ffffffff` there.
            job = number
    return _Files(frozenset(ids), frozenset(removed), logs, job)


def _open_files(process: psutil.Process) -> Mapping[str, tuple[int, int] | None]:
    """Return device and inode of the files that a process has open, by path; None where they are unknown."""
    if not os.path.isdir(folder := f"/proc/{process.pid}/fd"):
        return {file.path: _identity(file.path) for file in process.open_files()}
    identities: dict[str, tuple[int, int] | None] = {}
    for descriptor in os.scandir(folder):
        try:
            path = os.readlink(descriptor.path)
        except OSError:
            continue
        if path.startswith("/"):
            identities[path] = _identity(descriptor.path)
    return identities


def _identity(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
