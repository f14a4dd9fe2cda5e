"""What Ray's files say of the end of a worker: that its raylet ended it in order, or that the GCS was told of its exit.

raylet.out      … Killing leased worker because its job finished. worker_id=2f9c01… job_id=01000000
gcs_server.out  … Reporting worker exit, worker id = 2f9c01…, node id = …, exit_type = SYSTEM_ERROR, exit_detail =
                Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: …

python-core-worker-2f9c01…_7.log
                … exit_type=INTENDED_USER_EXIT, exit_detail=The worker exits because the task f has received a force
                ray.cancel request., …

The raylet logs first why it ends a worker, or that one has gone; the GCS, on the head node, within milliseconds.

Source: ray/src/ray/raylet/node_manager.cc, and `HandleReportWorkerFailure` in ray/src/ray/gcs/gcs_worker_manager.cc.
"""

from __future__ import annotations

import os
import re
from glob import escape as glob_escape
from glob import glob
from itertools import takewhile
from typing import Final

from spanview.analysis.ray.names import SESSION
from spanview.analysis.ray.writers import WorkerExit
from spanview.sources.descriptors import read_at
from spanview.sources.details import open_regular

_LOG, _RAYLET_LOG = "gcs_server.out", "raylet.out"
_MAX_READ_BYTES: Final = 8 * 1024 * 1024
"""Of the end of a log: what ended lately is there."""
_WORKER_ID: Final = re.compile(r"[0-9a-f]{56}")
_EXIT: Final = re.compile(rb"exit_type = (\w+), exit_detail = ([^\n]*?)(?:\. |\.?\n|$)")
_GONE: Final = b"graceful=false"
"""In the line of a worker whose connection broke: whatever the raylet does after that is no cause of it."""
_WAS_GONE: Final = b"No such process"
"""In the line of a worker that the raylet wanted to end, and that something else had."""
_LEFT: Final = "it exited by itself, as after exit_actor or ray.cancel with force"
_CANCEL: Final = b"has received a force ray.cancel request"
_CANCELLED: Final = "ray.cancel was called with force"
_SHUT: Final = "its actor was killed, or had no more users"
_KILL: Final = b"was killed by `ray.kill`"
_KILLED: Final = "its actor was killed by ray.kill"
_IN_ORDER: Final = {
    b"because its job finished": "its job had finished",
    b"because its owner": "its owner had ended",
    b"Stop: sending SIGTERM": "its node was stopped",
    b"KillLocalActor": _SHUT,
    b"graceful=true, disconnect_type=1": "it had nothing more to do",
    b"graceful=true, disconnect_type=3": _LEFT,
}
"""What a raylet's line has that ended a worker, and why it did, the more exact before the others."""


def exit_of(path: str, worker_id: str, sessions: str, session: str) -> WorkerExit | None:
    """Return how a worker ended; None where no file says so.

    Args:
        path: The file of its spans, which may be in the folder `logs/spans` of its session.
        sessions: The folder of Ray's sessions, where only a session's name is known; empty to read none of these.
        session: The folder of the worker's session, or the session's name; empty where neither is known.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    is_beside = os.path.basename(folder) == "logs"
    if not is_beside:
        folder = os.path.join(sessions, session, "logs") if sessions and SESSION.fullmatch(session) else ""
    if not folder or not _WORKER_ID.fullmatch(worker_id):
        return None
    if cause := _cause_in(_end_of(os.path.join(folder, _RAYLET_LOG)), b"worker_id=" + worker_id.encode()):
        # The raylet says no more than that it left, or was shut; the worker says why.
        mark = {_LEFT: _CANCEL, _SHUT: _KILL}.get(cause)
        own_logs = glob(os.path.join(glob_escape(folder), f"python-core-worker-{worker_id}_*.log")) if mark else ()
        if not any(mark in _end_of(path) for path in own_logs if mark):
            return WorkerExit(cause, is_in_order=True, is_beside=is_beside)
        is_cancelled = mark == _CANCEL
        return WorkerExit(_CANCELLED if is_cancelled else _KILLED, True, is_cancelled, is_beside)
    log = _end_of(os.path.join(folder, _LOG))
    place = log.rfind(b"Reporting worker exit, worker id = " + worker_id.encode())
    match = _EXIT.search(log[place : log.find(b"\n", place) + 1 or None]) if place >= 0 else None
    if match is None:
        return None
    kind, detail = match[1].decode(), match[2].decode("utf-8", "replace")
    return WorkerExit(f"{kind}, {detail}", is_in_order=kind.startswith("INTENDED_"), is_beside=is_beside)


def _cause_in(log: bytes, worker: bytes) -> str:
    """Return why a raylet has ended a worker, in words; empty where it hasn't, as far as its log says."""
    lines, place = list[bytes](), log.find(worker)
    while place >= 0:
        end = log.find(b"\n", place)
        lines.append(log[log.rfind(b"\n", 0, place) + 1 : end if end >= 0 else None])
        place = log.find(worker, place + len(worker))
    if any(_WAS_GONE in line for line in lines):
        return ""
    lines = [*takewhile(lambda line: _GONE not in line, lines)]
    return next((cause for mark, cause in _IN_ORDER.items() if any(mark in line for line in lines)), "")


def _end_of(path: str) -> bytes:
    """Return the end of a file; nothing of one that can't be read, or is no regular file."""
    try:
        descriptor, status = open_regular(path)
    except (OSError, ValueError):
        return b""
    try:
        return read_at(descriptor, _MAX_READ_BYTES, max(0, status.st_size - _MAX_READ_BYTES))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
