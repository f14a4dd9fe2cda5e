"""What Ray's files say of the end of a worker: a line that the GCS, on the head node, logs within milliseconds of it.

… Reporting worker exit, worker id = 2f9c01…, node id = …, exit_type = SYSTEM_ERROR, exit_detail = Worker unexpectedly
exits with a connection error code 2. End of file. Some common causes include: …

Source: `GcsWorkerManager::HandleReportWorkerFailure` in ray/src/ray/gcs/gcs_worker_manager.cc.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Final

from spanview.sources.descriptors import read_at
from spanview.sources.details import OPEN_FLAGS

_LOG: Final = "gcs_server.out"
_MAX_READ_BYTES: Final = 8 * 1024 * 1024
"""Of the end of the log: what ended lately is there."""
_WORKER_ID: Final = re.compile(r"[0-9a-f]{56}")
_EXIT: Final = re.compile(rb"exit_type = (\w+), exit_detail = ([^\n]*?)(?:\. |\.?\n|$)")


def exit_of(path: str, worker_id: str) -> str:
    """Return how a worker ended, in words of Ray's; empty where no file says so.

    Args:
        path: The file of its spans, in the folder `logs/spans` of its session.
        worker_id: Its id, in 56 hex digits.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    if not _WORKER_ID.fullmatch(worker_id) or os.path.basename(folder) != "logs":
        return ""
    log = _end_of(os.path.join(folder, _LOG))
    place = log.rfind(b"Reporting worker exit, worker id = " + worker_id.encode())
    match = _EXIT.search(log[place : log.find(b"\n", place) + 1 or None]) if place >= 0 else None
    return "" if match is None else f"{match[1].decode()}, {match[2].decode('utf-8', 'replace')}"


def _end_of(path: str) -> bytes:
    """Return the end of a file; nothing of one that can't be read, or is no regular file."""
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b""
        return read_at(descriptor, _MAX_READ_BYTES, max(0, status.st_size - _MAX_READ_BYTES))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
