"""One trace and its nodes: thin views of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.analysis.ray.known_calls import KnownCalls
from spanview.display.tree_text import trace_lines, tree_lines
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.problems import Warnings
from spanview.model.times import known
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Span


def traces_of(store: Store) -> list[Trace]:
    """Return all traces by start, then id; spans without a usable trace id are a trace of their own, the last."""
    return [Trace(store, number) for number in store.traces_in_order()]


class Trace:
    """One trace of a store; its trees are stitched when they are first asked for.

    Traces are equal, and have equal hashes, if their ids are; groups of spans without one, if their stores are.
    """

    __slots__ = ("_number", "_stitched", "_store")

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self._number = number
        self._stitched: TraceTree | None = None

    @property
    def trace_id(self) -> str | None:
        """32 lower-case hex digits; None for the group of the spans without a usable trace id."""
        trace_id = self._store.trace_table.trace_id(self._number)
        return format_trace_id(trace_id) if trace_id else None

    @property
    def start_ns(self) -> int | None:
        """The least start of its spans, in nanoseconds since 1970; None where no span has one."""
        return known(self._store.trace_table.start_ns[self._number])

    @property
    def end_ns(self) -> int | None:
        """The greatest end of its spans, in nanoseconds since 1970; None where no span has one."""
        return known(self._store.trace_table.end_ns[self._number])

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds from the least start to the greatest end."""
        start, end = self.start_ns, self.end_ns
        return None if start is None or end is None else end - start

    @property
    def span_count(self) -> int:
        """How many spans it has, placeholders not counted."""
        return self._store.trace_table.span_count[self._number]

    @property
    def error_count(self) -> int:
        """How many of its spans have the status ERROR."""
        return self._store.trace_table.error_count[self._number]

    @property
    def services(self) -> list[str]:
        """The names of its services, sorted."""
        spans, texts = self._store.spans, self._store.services.texts
        return sorted({texts[spans.service[row]] for row in self._store.rows_of_trace(self._number)} - {""})

    @property
    def _tree(self) -> TraceTree:
        """The stitched trees, as numbers."""
        if self._stitched is None:
            self._stitched = self._store.tree(self._number)
        return self._stitched

    @property
    def complete(self) -> bool:
        """Whether it has a root, no missing parent and no circle of parents."""
        return self._tree.complete

    @property
    def roots(self) -> list[Node]:
        """The nodes without a parent, placeholders of missing parents among them, by start."""
        return [Node(self, node, self._store, self._tree) for node in self._tree.roots]

    def walk(self) -> Iterator[tuple[Node, int]]:
        """Yield every node and its depth, parents before their children."""
        for node, depth in self._tree.walk():
            yield Node(self, node, self._store, self._tree), depth

    def tree(self, *, times: bool = True) -> str:
        """Return its trees as text, as `spanview tree` prints them.

        Args:
            times: Without, what differs from run to run is left out: the line with id and start above them, starts,
                durations and waits, so that tests can compare them.
        """
        if not times:
            return "\n".join(tree_lines(self._store, self._number, self._tree, times=False))
        unended = unended_in(self._store, self._number)
        return "\n".join(trace_lines(self._store, self._number, KnownCalls(self._store), unended))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> object:
        return self.trace_id or id(self._store)

    def __repr__(self) -> str:
        return f"<Trace {self.trace_id} spans={self.span_count} errors={self.error_count}>"


class Node:
    """One place in a trace's trees: a span, or the placeholder of a parent that no file holds.

    Nodes are equal, and have equal hashes, if their traces and span ids are. Those that have no span id, or share
    it with others, are equal if they are also at the same position in their trees.
    """

    __slots__ = ("_number", "_store", "_trace", "_tree")

    def __init__(self, trace: Trace, number: int, store: Store, tree: TraceTree) -> None:
        self._trace = trace
        self._number = number
        self._store = store
        self._tree = tree

    @property
    def missing(self) -> bool:
        """Whether no file holds this span, which others name as their parent."""
        return self._tree.is_missing(self._number)

    @property
    def span_id(self) -> str | None:
        """16 lower-case hex digits; None where the file's is unusable."""
        span_id = self._tree.span_id(self._number)
        return format_span_id(span_id) if span_id else None

    @property
    def span(self) -> Span | None:
        """The span with all its details, read again; None for a placeholder."""
        return None if self.missing else self._store.span(self._tree.rows[self._number])

    @property
    def children(self) -> list[Node]:
        """Its children by start, then span id."""
        return [Node(self._trace, child, self._store, self._tree) for child in self._tree.children(self._number)]

    @property
    def warnings(self) -> Warnings:
        """The warnings that only the tree gives: cycles and clock skew."""
        return self._tree.warnings(self._number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        span_id = self._tree.span_id(self._number)
        has_own_id = span_id and (
            self.missing or not self._store.spans.warnings[self._tree.rows[self._number]] & Warnings.DUPLICATE_ID
        )
        return self._trace, span_id, None if has_own_id else self._number

    def __repr__(self) -> str:
        return f"<Node {self.span_id}{' missing' if self.missing else ''}>"
