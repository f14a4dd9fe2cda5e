"""What the detectors look at: the columns as they are now, and what several of them need, found out once."""

from __future__ import annotations

import re
from enum import IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.analysis.bulk_calls import served_of
from spanview.analysis.calls import RAN, SUBMITTED, calls_of
from spanview.analysis.diagnosis.finding import HEALTH_CHECKS, MOST_PLACES, Place, found
from spanview.analysis.reasons import reasons_of
from spanview.index.bulk import ROOT, copy_of, first_orphans, odd_traces, parent_rows_by_order
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.diagnosis.finding import Finding, Kind
    from spanview.analysis.reasons import Why
    from spanview.index.bulk import Flags, Places
    from spanview.index.store import Store
    from spanview.index.tallies import FileTally
    from spanview.model.problems import Problem, Severity

_HEALTH: Final = re.compile(HEALTH_CHECKS)
_REQUEST: Final = re.compile(r"proxy_(?:http|grpc|websocket)_request\b")
_MOST_READ: Final = 20_000
"""Records that one detector reads again."""
_SKEW_NS: Final = np.uint64(2_000)


class Name(IntFlag):
    """What a span's name says."""

    SUBMITTED = 1
    RAN = 2
    PROXY = 4
    ROUTE = 8
    REPLICA = 16
    HEALTH = 32
    CONSTRUCTOR = 64


def _said(text: str) -> Name:
    """Return what a name says."""
    name = Name(0)
    if text.endswith(SUBMITTED):
        name |= Name.SUBMITTED
    elif text.endswith(RAN):
        name |= Name.RAN | (Name.CONSTRUCTOR if text.endswith(f"__init__{RAN}") else 0)
    elif _REQUEST.match(text):
        name |= Name.PROXY
    elif text.startswith(("route_to_replica", "proxy_route_to_replica")):
        name |= Name.ROUTE
    elif text.startswith("replica_handle_request"):
        name |= Name.REPLICA
    return name | (Name.HEALTH if _HEALTH.search(text) else 0)


class Facts:
    """A store as it is now; it may grow meanwhile.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        # The column that is filled last.
        self.size = len(store.spans.next_row)
        self.files: list[tuple[str, FileTally]] = store.tallies.each_file()
        self.problems: list[Problem] = store.problems()

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the span table."""
        return copy_of(getattr(self.store.spans, name))[: self.size]

    @cached_property
    def traces(self) -> NDArray[np.uint32]:
        """The trace of each span."""
        return self.column("trace")

    @cached_property
    def starts(self) -> Places:
        """When each span starts, in nanoseconds since 1970, or `NO_TIME`."""
        return self.column("start_ns")

    @cached_property
    def sources(self) -> Places:
        """The source of each span."""
        return self.column("source").astype(np.int64)

    @cached_property
    def statuses(self) -> NDArray[np.uint8]:
        """The status of each span."""
        return self.column("status")

    @cached_property
    def said(self) -> NDArray[np.uint8]:
        """What each span's name says, as bits of `Name`."""
        names = self.column("name")
        of_texts = [int(_said(text)) for text in self.store.names.texts[: int(names.max(initial=0)) + 1]]
        said: NDArray[np.uint8] = np.array(of_texts or [0], np.uint8)[names]
        return said

    def says(self, name: Name) -> Flags:
        """Return which spans have a name that says this."""
        flags: Flags = self.said & np.uint8(name) != 0
        return flags

    @cached_property
    def submitted(self) -> Flags:
        """Which spans are calls that were submitted."""
        flags: Flags = (self.column("kind") == PRODUCER) & self.says(Name.SUBMITTED)
        return flags

    @cached_property
    def ran(self) -> Flags:
        """Which spans are attempts of calls."""
        flags: Flags = (self.column("kind") == CONSUMER) & self.says(Name.RAN)
        return flags

    @cached_property
    def parents(self) -> Places:
        """The row of each span's parent, `ROOT` or `MISSING`."""
        with stage("stitch"):
            return parent_rows_by_order(self.store.spans, self.size)

    @cached_property
    def has_attempt(self) -> Flags:
        """Which spans have an attempt of a call below them."""
        flags = np.zeros(self.size, np.bool_)
        parents = self.parents[self.ran]
        flags[parents[parents >= 0]] = True
        alone = np.flatnonzero(self.submitted & ~flags)
        flags[[*served_of(self.store, alone, self.parents)]] = True
        return flags

    @cached_property
    def reasons(self) -> dict[int, Why]:
        """Why calls have no attempt, by row."""
        return reasons_of(self.store, calls_of(self.store))

    @cached_property
    def _odd(self) -> Flags:
        count = max(len(self.store.trace_table), int(self.traces.max(initial=0)) + 1)
        return odd_traces(self.store.spans, self.parents, count, self.store.intake.unplaced)

    @cached_property
    def _of_odd_traces(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Children of missing parents, one of each, and spans before their parents, with these; stitched one by one."""
        orphans, early = list[int](), list[tuple[int, int]]()
        for trace in np.flatnonzero(self._odd).tolist():
            tree = self.store.tree(trace)
            orphans += [tree.rows[tree.children(len(tree.rows) + at)[0]] for at in range(len(tree.missing))]
            skewed = [node for node, warned in tree.warned().items() if Warnings.CLOCK_SKEW in warned]
            early += [(tree.rows[node], tree.rows[tree.parents[node]]) for node in skewed]
        return orphans, early

    @cached_property
    def orphans(self) -> Places:
        """One child of each parent that no file holds."""
        usual = first_orphans(self.store.spans, self.parents, self._odd)
        return np.append(usual, np.array(self._of_odd_traces[0], np.int64))

    @cached_property
    def trace_count(self) -> int:
        """How many traces there are, those without an id left out."""
        return len(np.unique(self.traces[self.traces != self.store.intake.unplaced]))

    @cached_property
    def early(self) -> tuple[Places, Places]:
        """Spans that start more than 2 µs before their parents, and these; circles of parents left out."""
        parents, starts = self.parents, self.starts
        above = np.maximum(parents, 0)
        both = (parents >= 0) & (starts != NO_TIME)
        both &= (starts[above] != NO_TIME) & (starts < starts[above]) if self.size else both
        rows = np.flatnonzero(both)
        by = starts[parents[rows]].astype(np.uint64) - starts[rows].astype(np.uint64)
        rows = rows[(by > _SKEW_NS) & ~self._odd[self.traces[rows]]]
        odd = [pair for pair in self._of_odd_traces[1] if max(pair) < self.size]
        ours, theirs = np.array(odd, np.int64).reshape(-1, 2).T
        return np.append(rows, ours), np.append(parents[rows], theirs)

    @cached_property
    def rootless(self) -> Places:
        """Traces without a span that has no parent."""
        roots = np.zeros(len(self._odd), np.bool_)
        roots[self.traces[self.parents == ROOT]] = True
        there = np.zeros(len(roots), np.bool_)
        there[self.traces] = True
        there[self.store.intake.unplaced : self.store.intake.unplaced + 1] = False
        return np.flatnonzero(there & ~roots)

    @property
    def root_count(self) -> int:
        """How many spans have no parent."""
        return int((self.parents == ROOT).sum())

    def read_again(self, rows: Sequence[int], holds: Callable[[Facts, int], bool]) -> tuple[list[int], str]:
        """Return the rows whose records hold something, and `At least ` where there are too many to be read.

        Args:
            rows: The rows to look at, of which the first 20,000 are read.
            holds: Tells it of a row.
        """
        return [row for row in rows[:_MOST_READ] if holds(self, row)], "At least " * (len(rows) > _MOST_READ)

    def of_spans(self, kind: Kind, rows: Sequence[int], detail: str, severity: Severity | None = None) -> Finding:
        """Return a finding that counts spans; the first of them are its evidence.

        Args:
            kind: One of `OF_SPANS`.
            rows: The rows of the spans.
            detail: One or two sentences.
            severity: Another one than the usual.
        """
        return found(kind, len(rows), detail, self.places(rows), severity=severity).of_rows(rows)

    # -- places ------------------------------------------------------------------------------------------------------

    def places(self, rows: Iterable[int]) -> list[Place]:
        """Return the first of some spans as places."""
        return [self.place(row) for _, row in zip(range(MOST_PLACES), rows, strict=False)]

    def place(self, row: int) -> Place:
        """Return a span as a place; one without usable ids by where it stands."""
        spans = self.store.spans
        trace = spans.trace[row]
        trace_id, span_id = self.store.trace_table.trace_id(trace), spans.span_id[row]
        path = self.store.sources[spans.source[row]].path
        if not trace_id or not span_id:
            trace_id = span_id = 0
        name = self.store.names.texts[spans.name[row]]
        return Place(path, self._offset(row), trace_id, span_id, trace, row, name)

    def file_places(self, rows: Iterable[int]) -> list[Place]:
        """Return where the first of some spans stand, each record or document once."""
        sources, spans, places = self.store.sources, self.store.spans, dict[Place, None]()
        for row in rows:
            places[Place(sources[spans.source[row]].path, self._offset(row))] = None
            if len(places) == MOST_PLACES:
                break
        return [*places]

    def _offset(self, row: int) -> int:
        """Return where a span's record begins, or the document that it stands in."""
        spans = self.store.spans
        return self.store.intake.details.place(spans.source[row], spans.offset[row], spans.length[row])[0]

    def trace_places(self, traces: Iterable[int]) -> list[Place]:
        """Return the first of some traces as places."""
        table, chosen = self.store.trace_table, [trace for _, trace in zip(range(MOST_PLACES), traces, strict=False)]
        return [Place(trace_id=table.trace_id(trace), trace=trace) for trace in chosen]
