"""Whole traces as Chrome's trace events: drafted side by side, numbered one after the other."""

from __future__ import annotations

import marshal
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from spanview.exports.shares import ALIKE_SHARES, gathered, in_shares, shares_of_traces
from spanview.exports.walks import alike_spans, spans_in_place
from spanview.formats.chrome import ChromeDrafts, ChromeWriter, Drafted, TraceDraft
from spanview.formats.jsontext import dumps_strict
from spanview.model.times import NO_TIME, format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store


def chrome_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield traces in their order as `{"traceEvents": […], …}`, an event a line."""
    return gathered(_parts(store, traces, lose))


def _parts(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    starts = [start for start in map(store.trace_table.start_ns.__getitem__, traces) if start != NO_TIME]
    # Whole microseconds stay whole ones.
    base = min(starts, default=0) // 1000 * 1000
    writer = ChromeWriter(base)

    alike = alike_spans(store, traces, lambda span, lose: ChromeDrafts(base, lose).told(span), since_ns=base)

    columns = store.spans

    def drafts(share: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
        drafts, of_traces = ChromeDrafts(base, lose), list[TraceDraft]()
        for _, spans in groupby(spans_in_place(store, share, alike, lose), itemgetter(0)):
            drafted = list[Drafted | None]()
            for _, span, _ in spans:
                if isinstance(span, tuple):
                    text, process, row, *_ = span
                    ids, kind = (columns.span_id[row], columns.parent_id[row]), columns.kind[row]
                    times = columns.start_ns[row], columns.end_ns[row]
                    drafted.append(Drafted(*ids, kind, *times, text, process.told))
                else:
                    drafted.append(drafts.drafted(span))
            of_traces.append(drafts.of([*filter(None, drafted)]))
        yield marshal.dumps(of_traces)

    yield b'{"traceEvents":['
    prefix = b"\n"
    for pieces in in_shares(shares_of_traces(store, traces, ALIKE_SHARES if alike else 1), drafts, lose):
        for event in chain.from_iterable(map(writer.events_of, marshal.loads(b"".join(pieces)))):  # noqa: S302 - our own
            yield prefix + event
            prefix = b",\n"
    metadata = {"source": "spanview", "base_time": format_time(base), "base_ns": str(base)}
    yield b'],\n"displayTimeUnit":"ns","metadata":%b}\n' % dumps_strict(metadata)
