"""Which traces are incomplete: all are stitched for it, so it is found out in a thread, and anew where they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanview.index.arrays import copy_of
from spanview.index.forest import incomplete_traces

if TYPE_CHECKING:
    from spanview.index.store import Store


class Completeness:
    """Remembers of each trace whether it was incomplete when it was looked at, and how many spans it had."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts = np.zeros(0, np.uint32)
        self._flags = np.zeros(0, np.bool_)

    def flags(self) -> bytes:
        """Stitch what has grown, and return 1 for each trace that is incomplete, else 0; for one thread at a time."""
        table = self._store.trace_table
        counts = copy_of(table.span_count)[: len(table)]
        room = (0, len(counts) - len(self._counts))
        self._counts, self._flags = np.pad(self._counts, room), np.pad(self._flags, room)
        grown = np.flatnonzero(counts != self._counts)
        self._flags[grown] = incomplete_traces(self._store, grown)
        self._counts = counts
        return self._flags.tobytes()
