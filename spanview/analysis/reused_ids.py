"""Spans that share their ids although they are different spans: most likely runs that drew the same random numbers.

trace  span  kind      start      is one of them
-----  ----  --------  ---------  ----------------------------------------------------
1      7     INTERNAL    0 s      yes
1      7     INTERNAL   42 s      yes
1      8     CLIENT      0 s      no: Zipkin's client and server share the id of a call
1      8     SERVER      1 s      no
1      9     INTERNAL    0 s      no: formats round times differently
1      9     INTERNAL    0.4 ms   no
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.index.arrays import copy_of
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Places, Words
    from spanview.index.forest import Forest
    from spanview.index.store import Store

_ROUNDED_NS: Final = 1_000_000
"""One span's start differs by no more between formats."""


@dataclass(frozen=True, slots=True)
class ReusedIds:
    """Pairs of spans with the same ids, each with the next later one, as positions in a forest."""

    earlier: Places
    later: Places
    gaps_ns: Words
    """From start to start."""

    def __bool__(self) -> bool:
        return bool(len(self.later))


def traces_with_reused_ids(store: Store) -> frozenset[int]:
    """Return the numbers of the traces in which spans share their ids although they are different ones."""
    from spanview.index.forest import forest_of

    spans = store.spans
    marked = np.flatnonzero(copy_of(spans.warnings)[: len(spans.next_row)] & int(Warnings.DUPLICATE_ID))
    if not len(marked):
        return frozenset()
    forest = forest_of(store, np.unique(copy_of(spans.trace)[marked]).tolist())
    return frozenset(forest.traces[reused_ids(forest).later].tolist())


def reused_ids(forest: Forest) -> ReusedIds:
    """Return the spans of a forest that share trace id, span id and kind, and started at different times."""
    of: dict[str, NDArray[Any]] = {name: forest.of(name) for name in ("span_id", "kind", "start_ns")}
    marked = forest.of("warnings") & int(Warnings.DUPLICATE_ID) != 0
    rows = np.flatnonzero(marked & (of["start_ns"] != NO_TIME) & (of["span_id"] != 0))
    starts, kinds, ids, traces = of["start_ns"][rows], of["kind"][rows], of["span_id"][rows], forest.traces[rows]
    order = np.lexsort((starts, kinds, ids, traces))
    same = np.ones(max(len(rows) - 1, 0), np.bool_)
    for column in (traces, ids, kinds):
        same &= column[order[1:]] == column[order[:-1]]
    # As words, because the difference of two times may need all 64 bits.
    words = starts[order].view(np.uint64)
    gaps_ns = words[1:] - words[:-1]
    pairs = np.flatnonzero(same & (gaps_ns > np.uint64(_ROUNDED_NS)))
    return ReusedIds(rows[order[pairs]], rows[order[pairs + 1]], gaps_ns[pairs])
