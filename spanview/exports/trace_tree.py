"""The trace-tree format v1: whole traces with their trees, strict JSON of any depth in bounded memory.

A line of the text is a trace. Children are nested as deep as the trace is, so nothing here recurses and no encoder is
ever handed a tree: each span's object is encoded alone, and its children are written into it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from spanview.exports.shares import ALIKE_SHARES, gathered, shares_of_traces, written
from spanview.exports.span_texts import BATCH_SPANS, SpanTexts, are_many
from spanview.exports.trace_nodes import Nodes
from spanview.exports.tree_facts import TreeFacts
from spanview.formats.jsontext import dumps_strict
from spanview.formats.tags import ignore_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store
    from spanview.model.problems import Problem, Summary

SCHEMA: Final = "spanview/trace-tree/v1"


def trace_tree_chunks(
    store: Store,
    traces: Sequence[int],
    lose: Callable[[str], None] = ignore_loss,
    *,
    summary: Summary,
    problems: Sequence[Problem],
) -> Iterator[bytes]:
    """Yield the trace-tree document of some traces in their order, in pieces of some 256 KiB.

    Summary and problems are those of the whole store.
    """
    return gathered(_parts(_trace_parts(store, traces, lose), summary, problems))


def _parts(traces: Iterator[bytes], summary: Summary, problems: Sequence[Problem]) -> Iterator[bytes]:
    yield b'{"schema":' + dumps_strict(SCHEMA) + b',\n"traces":['
    yield from traces
    yield b'],\n"summary":' + dumps_strict(asdict(summary))
    yield b',\n"problems":['
    between = b"\n"
    for problem in problems:
        yield between + dumps_strict(problem.to_json())
        between = b",\n"
    yield b"]}\n"


def _trace_parts(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the traces; for many spans the order is computed once, before shares of them are written in parallel."""
    begins: dict[int, int] = {}
    facts, alike = TreeFacts.of(store, traces), None
    if are_many(store, sum(map(store.trace_table.span_count.__getitem__, traces))):
        from spanview.exports.alike_texts import AlikeTexts

        alike = AlikeTexts(store)
    if not store.is_growing:
        import numpy as np

        from spanview.analysis.walk import walk

        walked = walk(store, np.array(traces, np.int64))
        begins = dict(zip(traces, walked.firsts.tolist(), strict=True))
        for trace in walked.irregular.nonzero()[0].tolist():
            begins.pop(trace, None)

    scale = 1 if alike is None else ALIKE_SHARES

    def joined(plain: SpanTexts, nodes: Nodes) -> Iterator[bytes]:
        """Yield the text as far as the last span."""
        columns = nodes.prefixes, nodes.rows, nodes.own, nodes.warnings
        return alike.joined(plain, *columns) if alike else plain.joined(*columns)

    def write(share: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
        # Most traces are small, so the texts of spans are asked for many traces at once.
        plain, pending = SpanTexts(store, lose), Nodes(facts)
        for trace in share:
            if trace in begins:
                pending.add_walked(store, trace, walked, begins[trace])
            else:
                pending.add(store, trace)
            if len(pending.rows) >= scale * BATCH_SPANS:
                yield from joined(plain, pending)
                pending = Nodes(facts, pending.ending)
        yield from joined(plain, pending)
        yield pending.ending

    prefix = b"\n"
    shares = shares_of_traces(store, traces, scale)
    for piece in written(shares, write, lose, between=b",\n"):
        yield prefix + piece
        prefix = b""
