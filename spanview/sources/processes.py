"""Which processes of this host are alive: a hint only, as a file can come from another one."""

from __future__ import annotations

import time
from typing import Final

_ASK_AGAIN_S: Final = 1.0
_SLACK_S: Final = 2.0
"""The system's times of start are about right."""


class Processes:
    """Asks the system about processes, about each once a second at the most."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float | None]] = {}
        """When it was asked of each, and when that began, in seconds since 1970; None for those that are gone."""

    def lives(self, pid: int, seen_ns: int) -> bool:
        """Tell whether the process that had an id at some time is alive: the id can be another's by now.

        Args:
            pid: Its id.
            seen_ns: When it was seen to run, in nanoseconds since 1970.
        """
        began = self._began(pid)
        return began is not None and began - _SLACK_S <= seen_ns / 1e9

    def _began(self, pid: int) -> float | None:
        asked_at, began = self._known.get(pid, (0.0, None))
        now = time.monotonic()
        if not asked_at or now - asked_at > _ASK_AGAIN_S:
            began = _time_of_start(pid)
            self._known[pid] = now, began
        return began


def _time_of_start(pid: int) -> float | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except (psutil.Error, OSError, OverflowError, ValueError):
        return None
