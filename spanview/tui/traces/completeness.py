"""Which traces are incomplete: all are stitched for it, so it is found out in a thread, and anew where they grow."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from spanview.index.table import PAYS_FROM

if TYPE_CHECKING:
    from spanview.index.store import Store


class Completeness:
    """Remembers of each trace whether it was incomplete when it was looked at, and how many spans it had.

    Args:
        store: The store, which may grow meanwhile.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts = array("I")
        self._flags = bytearray()

    def flags(self) -> bytes:
        """Stitch what has grown, and return 1 for each trace that is incomplete, else 0; for one thread at a time."""
        store = self._store
        counts = store.trace_table.span_count[: len(store.trace_table)]
        new = len(counts) - len(self._counts)
        self._flags.extend(bytes(new))
        self._counts.extend(array("I", [0]) * new)
        grown = _different(counts, self._counts)
        if sum(counts[trace] for trace in grown) >= PAYS_FROM:
            from spanview.index.forest import incomplete_traces

            self._flags[:] = incomplete_traces(store, len(counts)).tobytes()
        else:
            for trace in grown:
                self._flags[trace] = not store.tree(trace).complete
        self._counts = counts
        return bytes(self._flags)


def _different(counts: array[int], known: array[int]) -> list[int]:
    """Return the places at which two arrays of one length differ."""
    if len(counts) >= PAYS_FROM:
        import numpy as np

        places: list[int] = np.flatnonzero(np.asarray(counts) != np.asarray(known)).tolist()
        return places
    return [place for place, pair in enumerate(zip(counts, known, strict=True)) if pair[0] != pair[1]]
