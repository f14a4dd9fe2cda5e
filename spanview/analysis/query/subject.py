"""What a query is asked about: a span or a trace of a store. Whatever costs more than a column is read once."""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.analysis.intervals import time_between
from spanview.analysis.query.values import Number, number_of
from spanview.analysis.selftime import self_times
from spanview.index.processes import pid_of_file
from spanview.index.tree import ROOT
from spanview.model.ids import format_span_id
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.analysis.diagnosis.finding import Kind
    from spanview.analysis.query.timetext import Clock
    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.index.lives import Lives, State
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Span


_TOLD_FOR_S: Final = 0.5
"""Processes are asked again after so long."""


class RunUntil(NamedTuple):
    """Until when what has no end is known to have run, in nanoseconds since 1970."""

    rows: Mapping[int, int]
    """By the row of a span."""
    traces: Mapping[int, int]
    """By the number of a trace."""

    @classmethod
    def of(cls, store: Store, rows: Mapping[int, int]) -> RunUntil:
        """Make it of the times of a store's spans, by row."""
        traces = dict[int, int]()
        for row, ns in rows.items():
            trace = store.spans.trace[row]
            traces[trace] = max(ns, traces.get(trace, ns))
        return cls(rows, traces)


NOT_KNOWN: Final = RunUntil({}, {})


class QueryFacts:
    """What only the stitched trees of one store show, kept until a trace grows."""

    __slots__ = (
        *("_above", "_alive", "_calls", "_complete", "_depths", "_moments", "_of_findings", "_selves", "_stitched"),
        *("_store", "_timed"),
    )

    def __init__(self) -> None:
        self._store: Store | None = None
        self._stitched: dict[int, int] = {}
        """The version of each trace when it was stitched."""
        self._complete: dict[int, bool] = {}
        self._depths = array("I")
        self._timed: dict[int, int] = {}
        """The version of each trace when its self times were computed, which few queries ask for."""
        self._selves: list[int | None] = []
        self._of_findings: dict[Kind, tuple[Store, array[int], array[int], frozenset[int]]] = {}
        """The spans of findings, with the numbers of spans and of replaced records of each trace at that time."""
        self._above: dict[tuple[Callable[[Subject], bool], bool, int], tuple[Store, int, frozenset[int]]] = {}
        """By what must be below, and in which trace: the spans above, with the trace's version then."""
        self._moments: dict[Clock, tuple[Store, int, int]] = {}
        """What times of day mean, with the number of spans at that time."""
        self._calls: tuple[Store, KnownCalls] | None = None
        """What is known of the calls of a store."""
        self._alive: dict[State | None, tuple[Store, float, Any]] = {}
        """What processes have told, and when, by `time.monotonic`."""

    def moment(self, store: Store, clock: Clock) -> int:
        """Return the time that a time of day means: on the latest day on which there are spans before and after it."""
        known, spans = self._moments.get(clock), len(store.spans.next_row)
        if known is None or known[:2] != (store, spans):
            starts = store.spans.start_ns
            last = max(starts[:spans], default=NO_TIME)
            first = min((start for start in starts[:spans] if start != NO_TIME), default=NO_TIME)
            known = self._moments[clock] = store, spans, 0 if last == NO_TIME else clock.between(first, last)
        return known[2]

    def rows_in(self, store: Store, state: State) -> frozenset[int]:
        """Return the rows of the spans that are in a state; none where processes can't be asked."""
        rows: frozenset[int] = self._told(store, state, lambda lives: lives.rows_in(state)[0], frozenset())
        return rows

    def known_until(self, store: Store) -> RunUntil:
        """Return until when what has no end is known to have run; nothing where processes can't be asked."""
        until: RunUntil = self._told(store, None, lambda lives: RunUntil.of(store, lives.known_until()), NOT_KNOWN)
        return until

    def _told(self, store: Store, what: State | None, ask: Callable[[Lives], Any], otherwise: Any) -> Any:
        """Return what processes tell, the same to all spans of one search."""
        if store.ask_lives is None:
            return otherwise
        known, now = self._alive.get(what), time.monotonic()
        if known is None or known[0] is not store or now - known[1] > _TOLD_FOR_S:
            known = self._alive[what] = store, now, ask(store.ask_lives(store))
        return known[2]

    def is_above(self, store: Store, row: int, test: Callable[[Subject], bool], *, is_child: bool) -> bool:
        """Return whether a span below a span, or a child of it, passes a test."""
        trace = store.spans.trace[row]
        version = store.trace_table.version(trace)
        known = self._above.get((test, is_child, trace))
        if known is None or known[:2] != (store, version):
            above = self._rows_above(store, trace, test, is_child=is_child)
            known = self._above[test, is_child, trace] = store, version, above
        return row in known[2]

    def _rows_above(
        self, store: Store, trace: int, test: Callable[[Subject], bool], *, is_child: bool
    ) -> frozenset[int]:
        tree = store.tree(trace)
        above = set[int]()
        for node, row in enumerate(tree.rows):
            if not test(Subject(store, self, trace, row)):
                continue
            parent = tree.parents[node]
            while parent >= 0 and not tree.is_missing(parent) and parent not in above:
                above.add(parent)
                parent = ROOT if is_child else tree.parents[parent]
        return frozenset(tree.rows[node] for node in above)

    def is_in_finding(self, store: Store, row: int, kind: Kind) -> bool:
        """Return whether a finding of a kind counts a span."""
        table, trace = store.trace_table, store.spans.trace[row]
        known, part = self._of_findings.get(kind), slice(trace, trace + 1)
        versions = table.span_count[part], table.replaced[part]
        if known is None or known[0] is not store or versions != (known[1][part], known[2][part]):
            from spanview.analysis.diagnosis.report import spans_in_finding

            counts = table.span_count[:], table.replaced[:]
            known = self._of_findings[kind] = store, *counts, spans_in_finding(store, kind)
        return row in known[3]

    def wait_parts(self, store: Store, row: int) -> Mapping[str, int] | None:
        """Return how long the call of an attempt waited for what, in nanoseconds; None for any other span.

        Of several attempts it is the first one.
        """
        return self._calls_of(store).wait_parts_of(row)

    def outcome(self, store: Store, row: int) -> str | None:
        """Return what became of a call, for its span and that of its last attempt; None for any other span."""
        return self._calls_of(store).outcomes.get(row)

    def _calls_of(self, store: Store) -> KnownCalls:
        if self._calls is None or self._calls[0] is not store or not self._calls[1].is_current:
            from spanview.analysis.ray.known_calls import KnownCalls

            self._calls = store, KnownCalls(store)
        return self._calls[1]

    def depth(self, store: Store, row: int) -> int:
        """Return how many nodes stand above a span in its tree."""
        self._stitch(store, store.spans.trace[row])
        return self._depths[row]

    def complete(self, store: Store, trace: int) -> bool:
        """Return whether a trace is complete, as in the trace-tree format."""
        self._stitch(store, trace)
        return self._complete[trace]

    def self_ns(self, store: Store, row: int) -> int | None:
        """Return the self time of a span; None where it has no duration."""
        trace = store.spans.trace[row]
        tree = self._tree_if_new(store, trace, self._timed)
        if tree is not None:
            selves = self._selves
            selves.extend([None] * (len(store.spans) - len(selves)))
            # Placeholders come last among the nodes, and have no row.
            for tree_row, own in zip(tree.rows, self_times(tree, store.spans), strict=False):
                selves[tree_row] = own
        return self._selves[row]

    def _tree_if_new(self, store: Store, trace: int, versions: dict[int, int]) -> TraceTree | None:
        """Return a trace's tree, or None if nothing is new in it since it was last stitched."""
        if store is not self._store:
            self._store, self._depths, self._selves = store, array("I"), []
            self._stitched.clear()
            self._timed.clear()
        known, versions[trace] = versions.get(trace), store.trace_table.version(trace)
        return None if known == versions[trace] else store.tree(trace)

    def _stitch(self, store: Store, trace: int) -> None:
        tree, depths = self._tree_if_new(store, trace, self._stitched), self._depths
        if tree is None:
            return
        depths.extend([0] * (len(store.spans) - len(depths)))
        for node, depth in tree.walk():
            if not tree.is_missing(node):
                depths[tree.rows[node]] = depth
        self._complete[trace] = tree.complete


@dataclass(slots=True)
class Subject:
    """One span, or one trace, that a query's terms test."""

    store: Store
    facts: QueryFacts
    """What is known about the trees so far."""
    trace: int
    """The trace's number."""
    row: int = -1
    """The span's row; -1 where only the trace is asked about."""
    _span: Span | None = None

    @property
    def span(self) -> Span:
        """The span with its details, read once."""
        if self._span is None:
            self._span = self.store.span(self.row)
        return self._span

    @property
    def name(self) -> str:
        """The span's name."""
        return self.store.names.texts[self.store.spans.name[self.row]]

    @property
    def service(self) -> str:
        """The service's name, empty where it has none."""
        return self.store.services.texts[self.store.spans.service[self.row]]

    @property
    def trace_id(self) -> str:
        """The trace's id in hex digits, empty if it is invalid in the file."""
        return self.store.trace_table.hex_id(self.trace) or ""

    @property
    def span_id(self) -> str:
        """The span's id in hex digits, empty if it is invalid in the file."""
        return format_span_id(span_id) if (span_id := self.store.spans.span_id[self.row]) else ""

    @property
    def parent_id(self) -> str:
        """The parent's id in hex digits, empty where it has none."""
        return format_span_id(parent_id) if (parent_id := self.store.spans.parent_id[self.row]) else ""

    @property
    def file(self) -> str:
        """The path of the span's file."""
        return self.store.sources[self.store.spans.source[self.row]].path

    @property
    def pid(self) -> Number | None:
        """The process that wrote the span: by `ray.pid`, or else by the name of the file."""
        attributes = self.span.attributes
        if "ray.pid" in attributes:
            return number_of(attributes["ray.pid"])
        return pid_of_file(self.file)

    @property
    def duration_ns(self) -> int | None:
        """The span's duration, without an end as far as it is known to have run; None where it isn't known."""
        end = self.store.spans.end_ns[self.row]
        if end == NO_TIME:
            end = self.facts.known_until(self.store).rows.get(self.row, NO_TIME)
        return time_between(self.store.spans.start_ns[self.row], end)

    @property
    def start_ns(self) -> int | None:
        """The span's start, None where it has none."""
        start = self.store.spans.start_ns[self.row]
        return None if start == NO_TIME else start

    @property
    def self_ns(self) -> int | None:
        """The span's self time; None where it has no duration."""
        return self.facts.self_ns(self.store, self.row)

    @property
    def depth(self) -> int:
        """How many nodes stand above the span in its tree."""
        return self.facts.depth(self.store, self.row)

    @property
    def trace_spans(self) -> int:
        """How many spans the trace has."""
        return self.store.trace_table.span_count[self.trace]

    @property
    def trace_errors(self) -> int:
        """How many of these failed."""
        return self.store.trace_table.error_count[self.trace]

    @property
    def trace_duration_ns(self) -> int | None:
        """The time from the first start to the last end of the trace, or until something in it is known to have run.

        None where one of them is missing.
        """
        until_ns = self.facts.known_until(self.store).traces.get(self.trace, NO_TIME)
        return time_between(
            self.store.trace_table.start_ns[self.trace], max(self.store.trace_table.end_ns[self.trace], until_ns)
        )
