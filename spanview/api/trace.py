"""One trace and its nodes: thin views of a store's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spanview.api.report import Explanation
from spanview.api.views import SharedTraces, TraceView
from spanview.display.tree_text import trace_lines, tree_lines
from spanview.index.part import part_of
from spanview.index.tree import ROOT
from spanview.model.codes import STATUS_NAMES, known_kind
from spanview.model.ids import format_span_id
from spanview.model.problems import Warnings
from spanview.model.times import known
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import SpanKind

    from spanview.index.store import Store
    from spanview.model.span import Span

_NOTHING: Final[Mapping[str, Any]] = {}


def traces_of(store: Store) -> list[Trace]:
    """Return all traces by start, then id; spans without a usable trace id are a trace of their own, the last."""
    return [*map(Trace, SharedTraces(store))]


class Trace:
    """One trace of a store; its trees are stitched when they are first asked for.

    Traces are equal, and have equal hashes, if their ids are; groups of spans without one, if their stores are.
    """

    __slots__ = ("_number", "_store", "_view")

    def __init__(self, view: TraceView) -> None:
        self._view = view
        self._store = view.store
        self._number = view.number

    @property
    def trace_id(self) -> str | None:
        """32 lower-case hex digits; None for the group of the spans without a usable trace id."""
        return self._store.trace_table.hex_id(self._number)

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
    def complete(self) -> bool:
        """Whether it has a root, no missing parent and no circle of parents."""
        return self._view.tree.complete

    @property
    def roots(self) -> list[Node]:
        """The nodes without a parent, placeholders of missing parents among them, by start."""
        return [Node(self._view, self._view.row_of(number)) for number in self._view.tree.roots]

    def walk(self) -> Iterator[tuple[Node, int]]:
        """Yield every node and its depth, parents before their children."""
        view = self._view
        for row, depth in view.walk():
            yield Node(view, row), depth

    def tree(self, *, times: bool = True) -> str:
        """Return its trees as text, as `spanview tree` prints them.

        Args:
            times: Without, what differs from run to run is left out: the line with id and start above them, starts,
                durations and waits, so that tests can compare them.
        """
        if not times:
            return "\n".join(tree_lines(self._store, self._number, self._view.tree, times=False))
        unended = unended_in(self._store, self._number)
        return "\n".join(trace_lines(self._store, self._number, self._view.views.known, unended))

    def critical_path(self) -> list[PathSection]:
        """Return what the ends of its root, and of it, waited for, by time, without a gap; empty without any times.

        What isn't sure about it is said in `answer().doubts`.
        """
        from spanview.analysis.critical import paths_in
        from spanview.index.forest import Trees

        path = paths_in(Trees.alone(self._view.tree), self._store.names)
        columns = (path.nodes, path.starts_ns, path.ends_ns, path.are_waits)
        return [
            PathSection(Node(self._view, self._view.row_of(node)), start, end, is_wait)
            for node, start, end, is_wait in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def answer(self) -> Answer:
        """Return where its time went, as the line above its tree in the viewer says it."""
        from spanview.analysis.answer import answer_of
        from spanview.analysis.ray.unended import known_until, open_end_of
        from spanview.display.answer_text import answer_texts, as_far_as_known

        store, trace, tree, known = self._store, self._number, self._view.tree, self._view.views.known
        unended = unended_in(store, trace)
        until = known_until(unended, store.trace_table.end_ns[trace])
        answer = answer_of(store, trace, tree, until, known)
        _, open_calls = known.reasons_and_open(tree)
        texts = answer_texts(answer, open_calls=len(open_calls))
        (text, *_) = as_far_as_known(texts, open_end_of(unended, store.trace_table.end_ns[trace]))
        parts = tuple(
            AnswerPart(
                part.doing.value,
                part.ns,
                part.spans,
                part.longest,
                {kind.name.lower(): ns for kind, ns in part.causes if ns},
            )
            for part in answer.parts
        )
        return Answer(text, answer.total_ns, parts, answer.doubts)

    def explain(self, *, lines: int = 40) -> Explanation:
        """Return what took its time, what failed and what is missing, as `Store.explain` does."""
        return Explanation(self._store, [self._number], self._view.views.known, "", lines)

    def to_svg(self) -> str:
        """Return its waterfall as an SVG picture, as `spanview tree --svg` draws it."""
        from spanview.tui.trace.trace_picture import pictures_svg

        return b"".join(pictures_svg(self._store, [self._number], self._view.views.known)).decode()

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> object:
        return self.trace_id or id(self._store)

    def __reduce__(self) -> tuple[object, ...]:
        # Its spans travel with their records, the rest of the store doesn't.
        return _only_trace, (part_of(self._store, [self._number]),)

    def __repr__(self) -> str:
        return f"<Trace {self.trace_id} spans={self.span_count} errors={self.error_count}>"


def _only_trace(store: Store) -> Trace:
    (trace,) = traces_of(store)
    return trace


class Node:
    """One place in a trace's trees: a span, or the placeholder of a parent that no file holds.

    Nodes are equal, and have equal hashes, if their traces and span ids are. Those that have no span id, or share
    it with others, are equal if they are also at the same position in their trees.
    """

    __slots__ = ("_row", "_view")

    def __init__(self, view: TraceView, row: int) -> None:
        self._view = view
        self._row = row

    @property
    def trace(self) -> Trace:
        """The trace that it is in."""
        return Trace(self._view)

    @property
    def missing(self) -> bool:
        """Whether no file holds this span, which others name as their parent."""
        return self._row < 0

    @property
    def span_id(self) -> str | None:
        """16 lower-case hex digits; None where the file's is unusable."""
        span_id = self._span_id
        return format_span_id(span_id) if span_id else None

    @property
    def _span_id(self) -> int:
        if self._row < 0:
            return self._view.tree.missing[-self._row - 1]
        return self._view.store.spans.span_id[self._row]

    @property
    def name(self) -> str:
        """The span's name; empty for a placeholder."""
        store = self._view.store
        return store.names.texts[store.spans.name[self._row]] if self._row >= 0 else ""

    @property
    def service(self) -> str:
        """The `service.name` of the span's resource, or an empty string."""
        store = self._view.store
        return store.services.texts[store.spans.service[self._row]] if self._row >= 0 else ""

    @property
    def kind(self) -> SpanKind | None:
        """The kind as opentelemetry-api has it; None for a placeholder, and where the file has none."""
        from opentelemetry.trace import SpanKind

        value = known_kind(self._view.store.spans.kind[self._row]) if self._row >= 0 else None
        return None if value is None else SpanKind(value)

    @property
    def status(self) -> str:
        """`UNSET`, `OK` or `ERROR`, as `span.status` has it."""
        return STATUS_NAMES[self._view.store.spans.status[self._row]] if self._row >= 0 else STATUS_NAMES[0]

    @property
    def start_ns(self) -> int | None:
        """Nanoseconds since 1970; None for a placeholder, and where the file has none."""
        return known(self._view.store.spans.start_ns[self._row]) if self._row >= 0 else None

    @property
    def end_ns(self) -> int | None:
        """Nanoseconds since 1970; None for a placeholder, and where the file has none."""
        return known(self._view.store.spans.end_ns[self._row]) if self._row >= 0 else None

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds from start to end, negative where the file says so, None where one of them is missing."""
        start, end = self.start_ns, self.end_ns
        return None if start is None or end is None else end - start

    @property
    def self_time_ns(self) -> int | None:
        """Nanoseconds in which nothing below it ran, as the page export defines self time."""
        return self._view.self_time_ns(self._row)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The span's attributes, read again; empty for a placeholder."""
        return _NOTHING if self._row < 0 else self._view.views.attributes(self._row)

    @property
    def span(self) -> Span | None:
        """The span with all its details, read again; None for a placeholder."""
        return None if self._row < 0 else self._view.views.span(self._row)

    @property
    def parent(self) -> Node | None:
        """The node above it; None for a root."""
        parent = self._view.tree.parents[self._number]
        return None if parent == ROOT else Node(self._view, self._view.row_of(parent))

    @property
    def children(self) -> list[Node]:
        """Its children by start, then span id."""
        return [Node(self._view, self._view.row_of(child)) for child in self._view.tree.children(self._number)]

    @property
    def warnings(self) -> Warnings:
        """The warnings that only the tree gives: cycles and clock skew."""
        return self._view.tree.warnings(self._number)

    @property
    def _number(self) -> int:
        return self._view.number_of(self._row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        span_id = self._span_id
        has_own_id = span_id and (
            self.missing or not self._view.store.spans.warnings[self._row] & Warnings.DUPLICATE_ID
        )
        return self.trace, span_id, None if has_own_id else self._number

    def __reduce__(self) -> tuple[object, ...]:
        return _node_at, (self.trace, self._number)

    def __repr__(self) -> str:
        return f"<Node {self.span_id}{' missing' if self.missing else f' {self.name!r}'}>"


def _node_at(trace: Trace, number: int) -> Node:
    view = trace._view  # noqa: SLF001 - a node is a part of its trace
    return Node(view, view.row_of(number))


@dataclass(frozen=True, slots=True)
class PathSection:
    """A stretch of a critical path."""

    node: Node
    """Which is to blame."""
    start_ns: int
    end_ns: int
    is_wait: bool
    """Whether it had been called, and had not started; else it ran itself."""

    @property
    def duration_ns(self) -> int:
        """Nanoseconds from start to end."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of a trace's time."""

    doing: str
    """What it was spent on: `waiting`, `running`, `spans`, `submitting`, `retrying`, `queued` …."""
    duration_ns: int
    spans: int
    """How many spans or calls share it; 0 where that says nothing."""
    name: str
    """The name of the span that has most of it; may be empty."""
    waited_for: Mapping[str, int]
    """What it waited for and how long, in nanoseconds, where Ray's own events say all of it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a trace's time went."""

    text: str
    """In one line."""
    duration_ns: int
    """What the parts add up to."""
    parts: tuple[AnswerPart, ...]
    doubts: str
    """Why that isn't sure; empty where it is."""

    def __str__(self) -> str:
        return self.text
