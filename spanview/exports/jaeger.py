"""Whole traces as a document of Jaeger, span by span: what is kept of a trace are its processes."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from spanview.exports.losses import CIRCLES
from spanview.exports.shares import shares_of_traces, written
from spanview.exports.walks import Above, spans_in_place
from spanview.formats.jaeger.write import (
    ProcessTable,
    value_of,
    warnings_of_trace,
    with_references_within,
)
from spanview.formats.jsontext import dumps_reporting, dumps_strict
from spanview.formats.tags import short_trace_id
from spanview.model.ids import format_trace_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store


def jaeger_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield traces in their order as `{"data": [trace, …]}`, each on a line of its own."""
    yield b'{"data":['
    prefix = b"\n"
    for piece in written(shares_of_traces(store, traces), partial(_traces, store), lose, between=b",\n"):
        yield prefix + piece
        prefix = b""
    yield b'],"total":0,"limit":0,"offset":0,"errors":null}\n'


def _traces(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield traces with a comma and a line feed between them."""
    between = b""
    for trace, spans in groupby(spans_in_place(store, traces), itemgetter(0)):
        trace_id = dumps_strict(short_trace_id(format_trace_id(store.trace_table.trace_id(trace))))
        prefix = b'%b{"traceID":%b,"spans":[\n' % (between, trace_id)
        processes, warnings = ProcessTable(), list[str]()
        for _, span, above in spans:
            value = value_of(span, processes, lose)
            if value is not None:
                if above is Above.MISSING:
                    value = with_references_within(value, 1, lose)
                elif above is Above.CIRCLE:
                    lose(CIRCLES)
                    value = with_references_within(with_references_within(value, 1, lose), 0)
                yield prefix + dumps_reporting(value, lose)
                prefix = b",\n"
                warnings += warnings_of_trace(span)
        if prefix == b",\n":
            yield b'],"processes":%b,"warnings":%b}' % (
                dumps_reporting(processes.values, lose),
                dumps_reporting(warnings or None, lose),
            )
            between = b",\n"
