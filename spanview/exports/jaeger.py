"""Whole traces as a document of Jaeger, span by span: what is kept of a trace are its processes."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from spanview.exports.losses import CIRCLES
from spanview.exports.shares import ALIKE_SHARES, shares_of_traces, written
from spanview.exports.walks import Above, alike_spans, spans_in_place
from spanview.formats.jaeger.write import (
    LOOKED_AT,
    ProcessTable,
    own_extra,
    value_of,
    warnings_of_trace,
    with_references_within,
)
from spanview.formats.jsontext import dumps_reporting, dumps_strict
from spanview.formats.tags import ignore_loss, short_trace_id
from spanview.model.ids import format_trace_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.exports.alike_spans import AlikeSpans
    from spanview.index.store import Store
    from spanview.model.span import Resource, Span

_PROCESS: Final = b'"processID":"%b"'
"""No text in a span has a quotation mark like that."""
_FIRST: Final = _PROCESS % b"p1"


def jaeger_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield traces in their order as `{"data": [trace, …]}`, each on a line of its own."""
    yield b'{"data":['
    prefix, alike = b"\n", alike_spans(store, traces, _told, LOOKED_AT)
    shares = shares_of_traces(store, traces, ALIKE_SHARES if alike else 1)
    for piece in written(shares, partial(_traces, store, alike), lose, between=b",\n"):
        yield prefix + piece
        prefix = b""
    yield b'],"total":0,"limit":0,"offset":0,"errors":null}\n'


def _told(span: Span, lose: Callable[[str], None]) -> tuple[bytes, Resource] | None:
    """Return what is written of a span as if its process was the first one, and its resource.

    None where that depends on two values being equal: of a link, on whose trace it leads into; of tags, on those that
    the file had.
    """
    value = value_of(span, ProcessTable(), lose)
    if value is None or span.links or any(map(own_extra, (span.extra, *(event.extra for event in span.events)))):
        return None
    return dumps_reporting(value, lose), span.resource


def _traces(
    store: Store, alike: AlikeSpans | None, traces: Sequence[int], lose: Callable[[str], None]
) -> Iterator[bytes]:
    """Yield traces with a comma and a line feed between them."""
    between, known = b"", dict[int, Any]()
    for trace, spans in groupby(spans_in_place(store, traces, alike, lose), itemgetter(0)):
        trace_id = dumps_strict(short_trace_id(format_trace_id(store.trace_table.trace_id(trace))))
        prefix = b'%b{"traceID":%b,"spans":[\n' % (between, trace_id)
        processes, warnings = ProcessTable(known), list[str]()
        for _, span, above in spans:
            if isinstance(span, tuple):
                text, process, *_ = span
                name = _PROCESS % processes.of(process.told, ignore_loss).encode()
                yield prefix + (text if name == _FIRST else text.replace(_FIRST, name))
                prefix = b",\n"
                continue
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
