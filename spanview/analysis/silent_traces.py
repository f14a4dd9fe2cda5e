"""In which traces something failed without an error, found out in a thread, and anew where they grow."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.silent import silent_failures
from spanview.analysis.trace_lists import FailedSilently
from spanview.index.arrays import copy_of
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_MAX_ASKED_AGAIN: Final = 500
"""Traces with calls that may run that are looked at again, the newest."""


class SilentTraces:
    """Remembers what failed in traces without an error, and their versions.

    Args:
        may_run: Whether a call without an attempt may wait or run, by its row; None where processes don't show it.
    """

    def __init__(self, store: Store, may_run: Callable[[int], bool | None]) -> None:
        self._store = store
        self._may_run = may_run
        self._counts = np.zeros(0, np.uint32)
        self._found: dict[int, FailedSilently] = {}
        self._open_calls: Mapping[int, int] = {}

    def look(self, tell: Tell) -> tuple[Mapping[int, FailedSilently], Mapping[int, int]]:
        """Look at what has grown, and at calls that may have ended.

        For one thread at a time.

        Returns:
            How traces failed, and how many calls of which traces may still run.
        """
        table, traces = self._store.trace_table, self._store.spans.trace
        counts = copy_of(table.span_count)[: len(table)]
        counts = counts + copy_of(table.replaced)[: len(counts)]
        known = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        changed = counts != known
        asked_again = sorted(self._open_calls)[-_MAX_ASKED_AGAIN:]
        changed[asked_again] = True
        looked_at = np.flatnonzero(changed).tolist()
        failures, open_calls = silent_failures(self._store, looked_at, self._may_run, tell) if looked_at else ({}, [])
        by_trace, times = defaultdict[int, Counter[str]](Counter), dict[int, int]()
        for row, failure in sorted(failures.items()):
            by_trace[trace := traces[row]][failure.label] += 1
            times[trace] = max(self._store.spans.last_ns(row), times.get(trace, NO_TIME))
        found = {trace: FailedSilently(_label(labels), True, times[trace]) for trace, labels in by_trace.items()}
        self._found = {trace: failed for trace, failed in self._found.items() if not changed[trace]} | found
        self._open_calls = Counter(traces[row] for row in open_calls)
        self._counts = counts
        return self._found, self._open_calls


def _label(labels: Counter[str]) -> str:
    """Return how a trace failed: `HTTP 404`, `no attempt ×6`, `no attempt ×6, …`."""
    (label, number), *others = labels.items()
    return f"{label}{f' ×{number:,}' if number > 1 else ''}{', …' if others else ''}"
