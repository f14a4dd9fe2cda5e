"""In which traces something failed without an error, found out in a thread, and anew where they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.silent import silent_failures
from spanview.index.arrays import copy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_MAX_ASKED_AGAIN: Final = 500
"""Traces with calls that may run that are looked at again, the newest."""


class SilentTraces:
    """Remembers what failed in traces none of whose spans has an error, and their versions.

    Args:
        store: The store, which may grow meanwhile.
        may_run: Whether a call without an attempt may wait or run, by its row, as far as processes show.
    """

    def __init__(self, store: Store, may_run: Callable[[int], bool]) -> None:
        self._store = store
        self._may_run = may_run
        self._counts = np.zeros(0, np.uint32)
        self._labels: dict[int, str] = {}
        self.open_traces: set[int] = set()
        """Those with calls that may run."""

    def labels(self, tell: Tell) -> Mapping[int, str]:
        """Look at what has grown, and at calls that may have ended, and return how traces failed.

        For one thread at a time.
        """
        table, traces = self._store.trace_table, self._store.spans.trace
        counts = copy_of(table.span_count)[: len(table)]
        counts = counts + copy_of(table.replaced)[: len(counts)]
        known = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        changed = counts != known
        changed[sorted(self.open_traces)[-_MAX_ASKED_AGAIN:]] = True
        # A trace with an error is marked by that.
        looked_at = np.flatnonzero(changed & (copy_of(table.error_count)[: len(counts)] == 0)).tolist()
        failures, open_calls = silent_failures(self._store, looked_at, self._may_run, tell) if looked_at else ({}, [])
        kept = {trace: label for trace, label in self._labels.items() if not changed[trace]}
        for row, failure in sorted(failures.items()):
            kept.setdefault(traces[row], failure.label)
        self.open_traces = {traces[row] for row in open_calls}
        self._counts, self._labels = counts, kept
        return dict(kept)
