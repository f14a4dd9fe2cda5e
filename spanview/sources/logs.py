"""The log files that Ray leaves beside spans, and the lines in them that belong to a span.

<session>/logs/worker-<worker id>-<job>-<pid>.out, .err      what a worker has printed and logged
<session>/logs/serve/replica_<app>_<deployment>_<id>.log     what a replica of Serve has logged
<session>/logs/serve/proxy_<ip>.log                          what a proxy has

A file is a worker's only if its name has the worker id of the span; a replica's and a proxy's only if its lines name
the request. So no session is taken for another, wherever the files were copied to. They are looked for beside the
span's file, in the folders `logs` above it, in the session that the span names, and in Ray's latest ones.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from spanview.analysis.logs.lines import (
    Coverage,
    LogOwner,
    LogPart,
    SpanLog,
    lines_in_time,
    lines_of_request,
)
from spanview.analysis.telling import part, unheard
from spanview.sources.details import reason_of
from spanview.sources.line_file import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.telling import Tell

_LOGS, _SERVE = "logs", "serve"
_NOT_STARTED_FOR_A_JOB: Final = "ffffffff"
"""Stands in the place of the job in the name of a worker that was started in advance."""
_HEXADECIMAL: Final = re.compile("[0-9a-f]{1,64}")
# 01000000ffffffffffffffffffffffffffffffffffffffffffffffff
_DRIVER: Final = re.compile("[0-9a-f]{8}f{40,}")
"""A driver's worker id: its job, and nothing else."""
_TRACING: Final = "_tracing.json"
"""Ends the name of the span file of a process of Serve, as in `proxy_192.0.2.2_tracing.json`."""
_SERVE_LOG: Final = re.compile(r"(?:proxy|replica)_.*\.log")
_MAX_SESSIONS: Final = 20
"""So many of Ray's latest sessions are looked at."""
_MAX_ROTATED: Final = 20
"""Files that a log was continued from: `NAME.log.1` and so on."""
_MAX_SERVE_FILES: Final = 200
_CACHE_DURATION_S: Final = 2.0
"""Where nothing was found, it is looked again after so long."""
_CLOCK_TOLERANCE_NS: Final = 2_000_000_000


class Logs:
    """Finds logs, and remembers where they are.

    Args:
        session: The folder of Ray's latest session; the others stand beside it.
        within: The PATHs, where no file outside of them may be read.
    """

    def __init__(self, session: str, within: Sequence[str] | None = None) -> None:
        self._session = session
        self._within = None if within is None else [os.path.realpath(path) for path in within]
        self._files: dict[LogOwner, tuple[float, Sequence[str], str]] = {}
        """When the files of a process were looked for, which there are, or why there are none."""

    def files_of(self, owner: LogOwner) -> tuple[Sequence[str], str]:
        """Return the log files of a process, and in words why there are none."""
        known = self._files.get(owner)
        now = time.monotonic()
        if known is None or (not known[1] and now - known[0] > _CACHE_DURATION_S):
            known = self._files[owner] = now, *self._look_for(owner)
        return known[1:]

    def lines_of(self, owner: LogOwner, start_ns: int, end_ns: int | None, tell: Tell = unheard) -> SpanLog:
        """Return the lines that belong to a span of a process, by the span's times in ns since 1970; reads files."""
        files, reason = self.files_of(owner)
        parts = [
            _part_of(path, owner, start_ns, end_ns, part(tell, number / len(files), (number + 1) / len(files)))
            for number, path in enumerate(files)
        ]
        if not owner.worker_id:
            # Of Serve's many files only those count that name the request.
            named = [part for part in parts if part.lines]
            parts = named or [part for part in parts if part.problem]
            reason = reason or f"no line of the {len(files)} logs in {os.path.dirname(files[0])} names this request"
        elif parts and not any(part.lines or part.problem or os.path.getsize(part.path) for part in parts):
            reason = f"{' and '.join(os.path.basename(part.path) for part in parts)}: empty"
            parts = []
        return SpanLog(tuple(parts), "" if parts else reason)

    # -- where they are ----------------------------------------------------------------------------------------------

    def _look_for(self, owner: LogOwner) -> tuple[Sequence[str], str]:
        if not owner.is_known:
            return (), "the span names no worker of Ray and no request of Ray Serve"
        if _DRIVER.fullmatch(owner.worker_id):
            return (), "of a driver: Ray keeps no log of what it prints"
        folders = [*dict.fromkeys(self._folders(owner))]
        look = _worker_logs if owner.worker_id else _serve_logs
        denied = outside = ""
        for folder in folders:
            try:
                if files := look(folder, owner):
                    if all(map(self._may_be_read, files)):
                        return files, ""
                    outside = outside or f"a viewer in a browser reads no logs elsewhere: they are in {folder}"
            except PermissionError as error:
                denied = denied or f"{error.filename or folder}: {reason_of(error)}"
            except OSError:
                # Not there, or no folder.
                continue
        if denied or outside:
            return (), denied or outside
        what = f"worker-{owner.worker_id[:8]}…" if owner.worker_id else "proxy_*.log and replica_*.log"
        sessions = os.path.dirname(self._session)
        return (), f"no {what} beside the spans, nor in Ray's sessions in {sessions}; RAY_TMPDIR says where others are"

    def _may_be_read(self, file: str) -> bool:
        path = os.path.realpath(file)
        return self._within is None or any(os.path.commonpath((path, folder)) == folder for folder in self._within)

    def _folders(self, owner: LogOwner) -> Iterator[str]:
        """Yield the folders that may be a session's `logs`, those close to a span's file first."""
        folder = os.path.dirname(os.path.realpath(owner.path))
        yield folder
        above = os.path.dirname(folder)
        yield above
        while above != folder:
            folder, above = above, os.path.dirname(above)
            if os.path.basename(folder) == _LOGS:
                yield folder
        if owner.session:
            yield os.path.join(os.path.dirname(self._session), owner.session, _LOGS)
        yield os.path.join(os.path.realpath(self._session), _LOGS)
        with suppress(OSError):
            beside = os.path.dirname(self._session)
            # The names have the time at which they began.
            names = sorted((name for name in os.listdir(beside) if name.startswith("session_2")), reverse=True)
            yield from (os.path.join(beside, name, _LOGS) for name in names[:_MAX_SESSIONS])


def _worker_logs(folder: str, owner: LogOwner) -> Sequence[str]:
    """Return the output files of a worker in a folder.

    Raises:
        OSError: The folder can't be looked at.
    """
    # What becomes a part of a path must not lead out of the folder.
    if not _HEXADECIMAL.fullmatch(owner.worker_id):
        return ()
    if owner.pid.isdecimal() and _HEXADECIMAL.fullmatch(owner.job):
        # Nothing has to be listed: such a folder can have many thousands of files.
        for job in (owner.job, _NOT_STARTED_FOR_A_JOB):
            stem = os.path.join(folder, f"worker-{owner.worker_id}-{job}-{owner.pid}")
            if files := _output_files(stem):
                return files
        os.stat(folder)
    if os.path.basename(folder) != _LOGS:
        return ()
    name = re.compile(rf"(worker-{owner.worker_id}-[0-9a-f]+-[0-9]+)\.(?:out|err)")
    stems = {match[1] for entry in os.listdir(folder) if (match := name.fullmatch(entry))}
    return [path for stem in sorted(stems) for path in _output_files(os.path.join(folder, stem))]


def _output_files(stem: str) -> list[str]:
    return [path for end in (".err", ".out") if os.path.exists(stem + end) for path in _continued(stem + end)]


def _continued(path: str) -> list[str]:
    """Return a log with the files that it was continued from, the oldest first."""
    older = []
    for number in range(1, _MAX_ROTATED + 1):
        if not os.path.exists(rotated := f"{path}.{number}"):
            break
        older.append(rotated)
    return [*older[::-1], path]


def _serve_logs(folder: str, owner: LogOwner) -> Sequence[str]:
    """Return the logs of Serve that may name a request.

    Raises:
        OSError: The folder can't be looked at.
    """
    serve = os.path.join(folder, _SERVE)
    if os.path.isdir(serve):
        folder = serve
    names = sorted(name for name in os.listdir(folder) if _SERVE_LOG.fullmatch(name))
    span_file = os.path.basename(owner.path)
    own = f"{span_file.removesuffix(_TRACING)}.log" if span_file.endswith(_TRACING) else ""
    of_replica = [name for name in names if owner.replica_id and name.endswith(f"_{owner.replica_id}.log")]
    if of_replica or (own in names and own.startswith("replica_")):
        names = of_replica or [own]
    # A proxy, where the request began, has the lines of all.
    return [path for name in names[:_MAX_SERVE_FILES] for path in _continued(os.path.join(folder, name))]


# -- what is in them -------------------------------------------------------------------------------------------------


def _part_of(path: str, owner: LogOwner, start_ns: int, end_ns: int | None, tell: Tell) -> LogPart:
    label = _label(path, owner)
    try:
        if os.stat(path).st_mtime_ns < start_ns - _CLOCK_TOLERANCE_NS and not owner.worker_id:
            # It was finished before the request began.
            return LogPart(path, label, Coverage.REQUEST)
        file = LineFile(path)
    except OSError as error:
        return LogPart(path, label, problem=reason_of(error))
    try:
        if owner.worker_id:
            lines, coverage, is_cut = lines_in_time(file, start_ns, end_ns, tell)
        else:
            lines, is_cut = lines_of_request(file, owner.request_id, start_ns, end_ns, tell)
            coverage = Coverage.REQUEST
    finally:
        file.close()
    return LogPart(path, label, coverage, tuple(lines), is_cut)


def _label(path: str, owner: LogOwner) -> str:
    """Return what tells a file from the others of its process, or of its request."""
    name = os.path.basename(path)
    if owner.worker_id:
        return name.partition(".")[2]
    stem = name.partition(".log")[0]
    return "proxy" if stem.startswith("proxy_") else stem.removeprefix("replica_")
