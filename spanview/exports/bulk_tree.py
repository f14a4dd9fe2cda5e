"""The traces of the trace-tree format, very many spans at once."""

from __future__ import annotations

from binascii import hexlify
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.bulk_walk import walk
from spanview.exports.bulk_texts import BulkTexts
from spanview.exports.clock import time_texts
from spanview.exports.pieces import texts_of
from spanview.exports.trace_nodes import Nodes, text_behind, text_between
from spanview.formats.jsontext import dumps_strict
from spanview.index.bulk import copy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.exports.pieces import Texts
    from spanview.index.bulk import Places
    from spanview.index.store import Store


def trace_parts(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the texts of traces, as they stand in the list of all.

    Args:
        store: Where they are; it must not grow meanwhile.
        traces: Their numbers.
        lose: Takes note of what JSON can't say.
    """
    before = _Before(store, np.array(traces, np.int64))
    walked = before.walk
    yield from BulkTexts(store, lose).chunks(walked.rows, walked.own, walked.have, walked.warned, before.texts)
    yield before.last


_HEAD: Final = (
    b'%b{"trace_id":"%b","start_time":"%b","end_time":"%b","duration_ns":%d,"span_count":%d,"error_count":%d,'
    b'"services":%b,"complete":true,"roots":[{'
)
"""Of a trace that has nothing odd, behind what closes the one before."""
_MOST_KEPT: Final = 4096


class _Before:
    """What stands before each span: heads of traces, and brackets.

    Args:
        store: Where the spans are.
        traces: The traces that are written, in that order.
    """

    def __init__(self, store: Store, traces: Places) -> None:
        self._store, self._traces = store, traces
        self.walk = walked = walk(store, traces)
        self._deepest = int(walked.depths.max(initial=0))
        self._odd: dict[int, Nodes] = {}
        """Those that were stitched one by one, by their places among the traces."""
        for at in np.flatnonzero(walked.odd[traces]).tolist():
            nodes = self._odd[at] = Nodes()
            nodes.add(store, int(traces[at]), b"")
            first = int(walked.firsts[at])
            some = slice(first, first + len(nodes.rows))
            walked.rows[some], walked.warned[some] = nodes.rows, nodes.warnings
            walked.own[some] = [0 if time is None else time for time in nodes.own]
            walked.have[some] = [time is not None for time in nodes.own]
        services = copy_of(store.spans.service)
        firsts = services[copy_of(store.trace_table.first_row)]
        of_rows = copy_of(store.spans.trace)
        self._mixed = np.zeros(len(firsts), np.bool_)
        """Which traces have more than one service."""
        self._mixed[of_rows[services != firsts[of_rows]]] = True
        self._service = firsts
        self._known: dict[frozenset[int], bytes] = {}
        """Lists of services."""

    @property
    def last(self) -> bytes:
        """What closes the last trace."""
        last = len(self._traces) - 1
        return self._odd[last].behind if last in self._odd else text_behind(int(self.walk.depths[-1]))

    def texts(self, first: int, last: int) -> Texts:
        """Return the texts before the spans from one place to another."""
        walked = self.walk
        depths = walked.depths[first:last]
        which = 1 - np.diff(depths, prepend=depths[:1])
        if first:
            which[0] = 1 + walked.depths[first - 1] - depths[0]
        parts = [text_between(levels) for levels in range(-1, self._deepest + 1)]
        begin, end = np.searchsorted(walked.firsts, [first, last]).tolist()
        which[walked.firsts[begin:end] - first] = range(len(parts), len(parts) + end - begin)
        parts += self._heads(begin, end)
        for trace in range(max(0, begin - 1), end) if self._odd else ():
            nodes = self._odd.get(trace)
            if nodes is not None:
                start = int(walked.firsts[trace])
                from_, to = max(start + 1, first), min(start + len(nodes.rows), last)
                which[from_ - first : to - first] = range(len(parts), len(parts) + max(0, to - from_))
                parts += nodes.before[from_ - start : to - start]
        return texts_of(parts)[which]

    def _heads(self, begin: int, end: int) -> list[bytes]:
        """Return what stands before the first spans of some traces."""
        table, some = self._store.trace_table, self._traces[begin:end]
        if not len(some):
            return []
        starts, ends = (copy_of(column)[some] for column in (table.start_ns, table.end_ns))
        counts, errors = (copy_of(column)[some].tolist() for column in (table.span_count, table.error_count))
        times = time_texts(starts), time_texts(ends)
        ids = np.stack([copy_of(column)[some] for column in (table.id_high, table.id_low)], axis=1).astype(">u8")
        digits = np.frombuffer(hexlify(ids.tobytes()), "V32").tolist()
        depths = self.walk.depths[self.walk.firsts[begin:end] - 1].tolist()
        behind = [text_behind(depth) + b",\n" for depth in depths]
        for trace in self._odd.keys() & range(begin - 1, end - 1):
            behind[trace + 1 - begin] = self._odd[trace].behind + b",\n"
        if not begin:
            behind[0] = b"\n"
        durations, services = (ends - starts).tolist(), map(self._services, some.tolist())
        heads = [*map(_HEAD.__mod__, zip(behind, digits, *times, durations, counts, errors, services, strict=True))]
        for trace in self._odd.keys() & range(begin, end):
            heads[trace - begin] = behind[trace - begin] + self._odd[trace].before[0]
        return heads

    def _services(self, trace: int) -> bytes:
        store = self._store
        if self._mixed[trace]:
            numbers = frozenset(map(store.spans.service.__getitem__, store.rows_of_trace(trace)))
        else:
            numbers = frozenset((int(self._service[trace]),))
        text = self._known.get(numbers)
        if text is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            names = sorted({store.services.texts[number] for number in numbers} - {""})
            text = self._known[numbers] = dumps_strict(names, has_odd_numbers=False)
        return text
