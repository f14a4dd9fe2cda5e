"""Some of the spans of a large store: what the columns have of them, as texts, and their records."""

from __future__ import annotations

from binascii import hexlify
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.exports.clock import time_rows
from spanview.exports.pieces import Texts, numbers
from spanview.model.codes import KIND_NAMES
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.bulk import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.index.store import Store

LONGEST: Final = 16 * 1024
"""Bytes of a record that is usual."""
MARGIN: Final = 64
"""Bytes behind the last record, so that a look beyond its end sees something."""
_BLOCK: Final = 512 * 1024
"""Bytes that are read at once."""
_GAP: Final = 512
"""So many bytes between two records are read too, rather than reading twice."""
_US: Final = 1_000


class Batch:
    """Spans that are written together; N is their number.

    Args:
        store: Where they are; it must not grow meanwhile.
        rows: Their rows.
        own: Their self times.
        have: Which of them have one.
        warned: What only trees tell of them, as bits of `Warnings`.
    """

    def __init__(
        self, store: Store, rows: Places, own: NDArray[np.int64], have: Flags, warned: NDArray[np.uint16]
    ) -> None:
        spans, table = store.spans, store.trace_table

        def column(name: str) -> NDArray[Any]:
            values: NDArray[Any] = np.asarray(getattr(spans, name))[rows]
            return values

        self.rows, self.own, self.have, self.warned = rows, own, have, warned
        self.places = np.full(len(rows), -1)
        """Where in the buffer the records are."""
        self.source, self.offset = column("source"), column("offset").astype(np.int64)
        self.length, self.name = column("length").astype(np.int64), column("name")
        self.kind, self.status = column("kind"), column("status")
        parents, starts, ends = column("parent_id"), column("start_ns"), column("end_ns")
        self.has_parent = parents != 0
        self.usual = (
            have
            & (column("warnings") == 0)
            & (self.length > 0)
            & (self.length <= LONGEST)
            & (self.kind < len(KIND_NAMES))
        )
        self.usual &= (
            (starts != NO_TIME) & (starts <= ends) & (starts == starts // _US * _US) & (ends == ends // _US * _US)
        )
        """Which of them can be as most are."""
        traces = column("trace")
        span_ids = column("span_id")
        self.usual &= span_ids != 0
        ids = (np.asarray(table.id_high)[traces], np.asarray(table.id_low)[traces], span_ids, parents)
        digits = hexlify(np.stack(ids, axis=1).astype(">u8").tobytes())
        self.ids: Bytes = np.frombuffer(digits, np.uint8).reshape(-1, 64)
        """Trace id, span id and parent id of each."""
        starts, ends = (np.where(self.usual, times, 0) for times in (starts, ends))
        self.starts, self.ends = time_rows(starts), time_rows(ends)
        self.numbers: list[Texts] = [numbers(each) for each in (ends - starts, own, self.offset)]
        """Durations, self times and offsets."""
        self._details = store.intake.details

    def read(self, buffer: Bytes) -> Bytes:
        """Read the records of usual spans, and return the buffer in which they are; what can't be read isn't usual.

        Args:
            buffer: Memory that may be used.
        """
        # Rows come as files are read: what are neighbours in a file are neighbours here.
        some = np.flatnonzero(self.usual)
        some = some[np.argsort(self.rows[some])]
        sources, starts = self.source[some], self.offset[some]
        ends = starts + self.length[some]
        gaps = starts[1:] - ends[:-1]
        far = (sources[1:] != sources[:-1]) | (gaps > _GAP) | (gaps < 0)
        breaks = [0, *(np.flatnonzero(far) + 1).tolist(), len(some)]
        room = int((ends - starts).sum() + _GAP * len(some) + MARGIN)
        if len(buffer) < room:
            buffer = np.zeros(room, np.uint8)
        view, filled = buffer.data, 0
        for first, last in pairwise(breaks):
            at = first
            while at < last:
                begin = int(starts[at])
                end = max(at + 1, at + int(np.searchsorted(ends[at:last], begin + _BLOCK, "right")))
                length = int(ends[end - 1]) - begin
                if self._details.read_into(int(sources[at]), begin, view[filled : filled + length]):
                    self.places[some[at:end]] = starts[at:end] + (filled - begin)
                    filled += length
                at = end
        self.usual &= self.places >= 0
        return buffer

    def keys(self, some: Places, name_widths: Places) -> Places:
        """Return a number for each of some usual spans; where it differs, no pattern fits both."""
        keys = self.length[some]
        parts = ((name_widths[self.name[some]], 8), (self.kind[some], 3), (self.status[some], 2))
        for values, bits in (*parts, (self.has_parent[some], 1), (self.warned[some], 16)):
            keys = keys << bits | values
        return keys
