"""The trace-tree format v1: whole traces with their trees, strict JSON of any depth in bounded memory.

A line of the text is a trace. Children are nested as deep as the trace is, so nothing here recurses and no encoder is
ever handed a tree: each span's object is encoded alone, and its children are written into it.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from itertools import chain, compress, islice
from operator import sub
from typing import TYPE_CHECKING, Final

from spanview.analysis.selftime import self_times
from spanview.exports.gathered import gathered
from spanview.exports.span_texts import BATCH, SpanTexts
from spanview.formats.jsontext import dumps_strict
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME, format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.problems import Problem, Summary

SCHEMA: Final = "spanview/trace-tree/v1"
_TOGETHER: Final = 64
"""So many spans make one of the small pieces."""


def trace_tree_chunks(
    store: Store, traces: Sequence[int], *, summary: Summary, problems: Sequence[Problem]
) -> Iterator[bytes]:
    """Yield the trace-tree document of some traces, in pieces of some 256 KiB.

    Args:
        store: Where the traces are.
        traces: Their numbers, in the order in which they are to be written.
        summary: Of the whole store.
        problems: Of the whole store.
    """
    return gathered(_parts(store, traces, summary, problems))


def _parts(store: Store, traces: Sequence[int], summary: Summary, problems: Sequence[Problem]) -> Iterator[bytes]:
    yield b'{"schema":' + dumps_strict(SCHEMA) + b',\n"traces":['
    yield from _trace_parts(store, traces)
    yield b'],\n"summary":' + dumps_strict(asdict(summary))
    yield b',\n"problems":['
    between = b"\n"
    for problem in problems:
        yield between + dumps_strict(problem.to_json())
        between = b",\n"
    yield b"]}\n"


def _trace_parts(store: Store, traces: Sequence[int]) -> Iterator[bytes]:
    """Yield the traces; most are small, so the texts of spans are asked for many traces at once."""
    texts, pending, between = SpanTexts(store), _Nodes(), b"\n"
    for trace in traces:
        pending.add(store, trace, between)
        between = b",\n"
        if len(pending.rows) >= BATCH:
            yield from pending.written(texts)
            pending = _Nodes(pending.behind)
    yield from pending.written(texts)
    yield pending.behind


class _Nodes:
    """Spans in the order of the text, and what stands between them.

    Args:
        behind: What is still to be written of the trace before.
    """

    def __init__(self, behind: bytes = b"") -> None:
        self.rows: list[int] = []
        self.behind = behind
        """What closes the last trace."""
        self._before: list[bytes] = []
        self._own: list[int | None] = []
        self._warnings: list[int] = []

    def add(self, store: Store, trace: int, between: bytes) -> None:
        """Add a trace, behind what stands between two of them."""
        tree = store.tree(trace)
        own, warned, rows = self_times(tree, store.spans), tree.warned(), tree.rows
        walked = [*tree.walk()]
        nodes, depths = [node for node, _ in walked], [depth for _, depth in walked]
        before = [b"".join((self.behind, between, _trace_head(store, trace, tree)[:-1], b',"roots":[{'))]
        before += map(_text_between, map(sub, depths, islice(depths, 1, None)))
        self.behind = _text_between(depths[-1])[:-2] + b"]}"
        if tree.missing:
            for at in [at for at, node in enumerate(nodes) if node >= len(rows)]:
                # A placeholder is no span, but its children are: they come behind it.
                missing = b'"span_id":%b,"missing":true' % dumps_strict(format_span_id(tree.span_id(nodes[at])))
                before[at + 1] = before[at] + missing + before[at + 1]
            are_spans = [*map(len(rows).__gt__, nodes)]
            nodes, before = [*compress(nodes, are_spans)], [*compress(before, are_spans)]
        self.rows += map(rows.__getitem__, nodes)
        self._before += before
        self._own += map(own.__getitem__, nodes)
        self._warnings += (
            [warned[node].value if node in warned else 0 for node in nodes] if warned else [0] * len(nodes)
        )

    def written(self, texts: SpanTexts) -> Iterator[bytes]:
        """Yield the text as far as the last span."""
        before = iter(self._before)
        for objects in texts.in_batches(self.rows, self._own, self._warnings):
            for first in range(0, len(objects), _TOGETHER):
                some = objects[first : first + _TOGETHER]
                yield b"".join(chain.from_iterable(zip(islice(before, len(some)), some, strict=True)))


@lru_cache(1024)
def _text_between(levels: int) -> bytes:
    """Return what stands between a span's object and the next one's, which is so many levels further up."""
    return b',"children":[{' if levels < 0 else b',"children":[]}' + b"]}" * levels + b",{"


def _trace_head(store: Store, trace: int, tree: TraceTree) -> bytes:
    table, spans = store.trace_table, store.spans
    trace_id = table.trace_id(trace)
    start, end = table.start_ns[trace], table.end_ns[trace]
    services = {store.services.texts[number] for number in {*map(spans.service.__getitem__, tree.rows)}}
    return dumps_strict(
        {
            "trace_id": format_trace_id(trace_id) if trace_id else None,
            "start_time": format_time(start),
            "end_time": format_time(end),
            "duration_ns": None if NO_TIME in (start, end) else end - start,
            "span_count": table.span_count[trace],
            "error_count": table.error_count[trace],
            "services": sorted(services - {""}),
            "complete": tree.complete,
        },
        has_odd_numbers=False,
    )
