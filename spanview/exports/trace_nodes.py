"""The spans of traces in the order of the trace-tree format, and what comes between them."""

from __future__ import annotations

from functools import lru_cache
from itertools import compress, islice
from operator import add, sub
from typing import TYPE_CHECKING

from spanview.analysis.selftime import self_times
from spanview.formats.jsontext import dumps_strict
from spanview.model.ids import format_span_id
from spanview.model.times import NO_TIME, format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.walk import Walk
    from spanview.exports.tree_facts import TreeFacts
    from spanview.index.store import Store


class Nodes:
    """Spans in the order of the text, and what comes between them."""

    def __init__(self, facts: TreeFacts, ending: bytes = b"") -> None:
        self._facts = facts
        self.rows: list[int] = []
        self.ending = ending
        """What closes the last trace."""
        self.prefixes: list[bytes] = []
        """What comes before each span's object."""
        self.own: list[int | None] = []
        self.warnings: list[int] = []
        """The warnings that only the trees give them, as bits of `Warnings`."""

    def add(self, store: Store, trace: int) -> None:
        """Add a trace, stitched."""
        tree = store.tree(trace)
        own, warned, rows = self_times(tree, store.spans), tree.warned(), tree.rows
        walked = [*tree.walk()]
        nodes, depths = [node for node, _ in walked], [depth for _, depth in walked]
        prefixes = self._prefixes(trace_head(store, trace, rows, is_complete=tree.complete), depths)
        if tree.missing:
            for index in [index for index, node in enumerate(nodes) if node >= len(rows)]:
                # A placeholder is no span, but its children are: they come after it.
                missing = b'"span_id":%b,"missing":true' % dumps_strict(format_span_id(tree.span_id(nodes[index])))
                prefixes[index + 1] = prefixes[index] + missing + prefixes[index + 1]
            are_spans = [*map(len(rows).__gt__, nodes)]
            nodes, prefixes = [*compress(nodes, are_spans)], [*compress(prefixes, are_spans)]
        self._add([*map(rows.__getitem__, nodes)], prefixes)
        self.own += map(own.__getitem__, nodes)
        self.warnings += [warned[node].value if node in warned else 0 for node in nodes] if warned else [0] * len(nodes)

    def add_walked(self, store: Store, trace: int, walked: Walk, first: int) -> None:
        """Add a trace without anything unusual, which begins there in the walk."""
        part = slice(first, first + store.trace_table.span_count[trace])
        rows = walked.rows[part].tolist()
        head = trace_head(store, trace, rows, is_complete=True)
        self._add(rows, self._prefixes(head, walked.depths[part].tolist()))
        self.own += walked.own[part].tolist()
        self.warnings += walked.warned[part].tolist()

    def _add(self, rows: Sequence[int], prefixes: Sequence[bytes]) -> None:
        """Add spans and what comes before each; the objects end with what the trees show."""
        *suffixes, last = map(self._facts.suffix, rows)
        self.rows += rows
        self.prefixes += prefixes[0], *map(add, suffixes, prefixes[1:])
        self.ending = last + self.ending

    def _prefixes(self, head: bytes, depths: Sequence[int]) -> list[bytes]:
        """Return what comes before the spans and placeholders of the next trace."""
        between = b",\n" if self.ending else b""
        prefixes = [b"".join((self.ending, between, head[:-1], b',"roots":[{'))]
        prefixes += map(text_between, map(sub, depths, islice(depths, 1, None)))
        self.ending = text_after(depths[-1])
        return prefixes


@lru_cache(1024)
def text_between(levels: int) -> bytes:
    """Return what comes between a span's object and the next one's, which is so many levels further up."""
    return b',"children":[{' if levels < 0 else b',"children":[]}' + b"]}" * levels + b",{"


def text_after(depth: int) -> bytes:
    """Return what closes a trace after its last span's object, which is so many levels below a root."""
    return text_between(depth)[:-2] + b"]}"


def trace_head(store: Store, trace: int, rows: Sequence[int], *, is_complete: bool) -> bytes:
    """Return the object of a trace, whose rows these are, with all but its roots."""
    table, spans = store.trace_table, store.spans
    start, end = table.start_ns[trace], table.end_ns[trace]
    services = {store.services.texts[number] for number in {*map(spans.service.__getitem__, rows)}}
    return dumps_strict(
        {
            "trace_id": table.hex_id(trace),
            "start_time": format_time(start),
            "end_time": format_time(end),
            "duration_ns": None if NO_TIME in (start, end) else end - start,
            "span_count": table.span_count[trace],
            "error_count": table.error_count[trace],
            "services": sorted(services - {""}),
            "complete": is_complete,
        },
        has_non_finite=False,
    )
