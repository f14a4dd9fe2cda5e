"""What only trees show of spans: how long they waited and for what, and what of them is on a critical path.

{"trace_id": …, "warnings": [], "wait_ns": 906000000, "waited_for": "worker_start", "on_critical_path": true}

A line has what applies: `wait_ns` where a call's attempt or a replica could wait, `waited_for` where Ray's own events
say it, `on_critical_path` where a span takes time of it.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.exports.shares import in_shares
from spanview.formats.tags import ignore_loss
from spanview.index.memory import without_collector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.ray.waited_for import WaitReasons
    from spanview.index.store import Store

_ON_PATH: Final = b',"on_critical_path":true'
NO_WAIT: Final = -1
_SHARE_SPANS: Final = 16_384
"""Spans of a share whose paths are found at a time: with fewer it takes longer."""


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """Columns, by the rows of a store."""

    waits_ns: array[int]
    """Nanoseconds, or `NO_WAIT`."""
    on_path_ns: array[int]
    """How much of the critical path of its trace a span takes, waits included; 0 for what isn't on it."""
    told: WaitReasons | None = None
    """What attempts waited for, where Ray's own events say so."""

    @classmethod
    def of(cls, store: Store, traces: Sequence[int], *, forks: bool = True) -> TreeFacts:
        """Return what is known of the spans of some traces; `forks` as in `written`."""
        import numpy as np

        from spanview.analysis.critical import times_on_paths
        from spanview.analysis.ray.known_calls import KnownCalls
        from spanview.analysis.ray.waits import have_waited, waits_in
        from spanview.index.forest import forest_of

        size = len(store.spans.next_row)
        of_rows, on_path = np.full(size, NO_WAIT, np.int64), np.zeros(size, np.int64)
        shares = [*store.trace_table.shares(traces, _SHARE_SPANS)]

        def write(share: Sequence[int], _: object) -> Iterator[bytes]:
            """Yield rows, and both columns of them."""
            forest = forest_of(store, share)
            waits, are_there = waits_in(forest), forest.rows < size
            are_known = have_waited(forest, waits) & (waits < 2**63)
            columns = forest.rows, np.where(are_known, waits.astype(np.int64), NO_WAIT), times_on_paths(forest, share)
            yield np.stack([column[are_there].astype(np.int64) for column in columns]).tobytes()

        # It makes many lists, and no circle of them.
        with without_collector():
            for pieces in in_shares(shares, write, ignore_loss, forks=forks):
                rows, *known = np.frombuffer(b"".join(pieces), np.int64).reshape(3, -1)
                of_rows[rows], on_path[rows] = known
        told = KnownCalls(store).told_waits
        return cls(array("q", of_rows.tobytes()), array("q", on_path.tobytes()), told)

    def cause(self, row: int) -> str | None:
        """Return what a span waited for, in one word, where that is certain; None without Ray's own events."""
        reason = None if self.told is None else self.told.get(row)
        if reason is None or not (reason.is_sure and reason.is_known and reason.is_most):
            return None
        return reason.waited_for.name.lower()

    def suffix(self, row: int) -> bytes:
        """Return what the object of a span ends with."""
        if row >= len(self.on_path_ns):
            # It came after the others.
            return b""
        path, wait = _ON_PATH if self.on_path_ns[row] else b"", self.waits_ns[row]
        if wait == NO_WAIT:
            return path
        cause = self.cause(row)
        return b',"wait_ns":%d%b%b' % (wait, f',"waited_for":"{cause}"'.encode() if cause else b"", path)
