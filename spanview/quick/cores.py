"""How many processes work at the same time."""

from __future__ import annotations

import os
import sys
from typing import Final

_MAX_PROCESSES: Final = 8


def process_count(tasks: int) -> int:
    """Return how many processes to use for some tasks: one a core, and only this one where processes aren't shared."""
    if not sys.platform.startswith("linux"):
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), _MAX_PROCESSES, tasks))
