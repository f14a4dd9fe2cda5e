"""Traces and their nodes as the public API hands them out: thin views of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.problems import Warnings
    from spanview.model.span import Span


class Trace:
    """One trace of a store; its trees are stitched when they are first asked for.

    Args:
        store: The store.
        number: The trace's row in the store's trace table.
    """

    __slots__ = ("_store", "_tree", "number")

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self.number = number
        self._tree: TraceTree | None = None

    @property
    def trace_id(self) -> str | None:
        """32 lower-case hex digits; None for the group of the spans without a usable trace id."""
        trace_id = self._store.trace_table.trace_id(self.number)
        return format_trace_id(trace_id) if trace_id else None

    @property
    def start_ns(self) -> int | None:
        """The least start of its spans, in nanoseconds since 1970; None where no span has one."""
        start = self._store.trace_table.start_ns[self.number]
        return None if start == NO_TIME else start

    @property
    def end_ns(self) -> int | None:
        """The greatest end of its spans, in nanoseconds since 1970; None where no span has one."""
        end = self._store.trace_table.end_ns[self.number]
        return None if end == NO_TIME else end

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds from the least start to the greatest end."""
        start, end = self.start_ns, self.end_ns
        return None if start is None or end is None else end - start

    @property
    def span_count(self) -> int:
        """How many spans it has, placeholders not counted."""
        return self._store.trace_table.span_count[self.number]

    @property
    def error_count(self) -> int:
        """How many of its spans have the status ERROR."""
        return self._store.trace_table.error_count[self.number]

    @property
    def services(self) -> list[str]:
        """The names of its services, sorted."""
        spans, texts = self._store.spans, self._store.services.texts
        return sorted({texts[spans.service[row]] for row in self._store.rows_of_trace(self.number)} - {""})

    @property
    def tree(self) -> TraceTree:
        """The stitched trees, as numbers."""
        if self._tree is None:
            self._tree = self._store.tree(self.number)
        return self._tree

    @property
    def complete(self) -> bool:
        """Whether it has a root, no missing parent and no circle of parents."""
        return self.tree.complete

    @property
    def roots(self) -> list[Node]:
        """The nodes without a parent, placeholders of missing parents among them, by start."""
        return [Node(self, node) for node in self.tree.roots]

    def walk(self) -> Iterator[tuple[Node, int]]:
        """Yield every node and its depth, parents before their children."""
        for node, depth in self.tree.walk():
            yield Node(self, node), depth

    def __repr__(self) -> str:
        return f"<Trace {self.trace_id} spans={self.span_count} errors={self.error_count}>"

    def span_of(self, node: int) -> Span | None:
        """Return the span of a node of its tree; None for the placeholder of a missing parent."""
        return None if self.tree.is_missing(node) else self._store.span(self.tree.rows[node])


class Node:
    """One place in a trace's trees: a span, or the placeholder of a parent that no file holds.

    Args:
        trace: The trace.
        number: The node's number in the trace's tree.
    """

    __slots__ = ("_trace", "number")

    def __init__(self, trace: Trace, number: int) -> None:
        self._trace = trace
        self.number = number

    @property
    def missing(self) -> bool:
        """Whether no file holds this span, which others name as their parent."""
        return self._trace.tree.is_missing(self.number)

    @property
    def span_id(self) -> str | None:
        """16 lower-case hex digits; None where the file's is unusable."""
        span_id = self._trace.tree.span_id(self.number)
        return format_span_id(span_id) if span_id else None

    @property
    def span(self) -> Span | None:
        """The span with all its details, read anew; None for a placeholder."""
        return self._trace.span_of(self.number)

    @property
    def children(self) -> list[Node]:
        """Its children by start, then span id."""
        return [Node(self._trace, child) for child in self._trace.tree.children(self.number)]

    @property
    def warnings(self) -> Warnings:
        """What only the tree tells: cycles and clock skew."""
        return self._trace.tree.warnings(self.number)

    def __repr__(self) -> str:
        return f"<Node {self.span_id}{' missing' if self.missing else ''}>"
