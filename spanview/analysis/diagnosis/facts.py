"""What the detectors examine: the columns as they are now, and what several of them need, computed once."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.analysis.diagnosis.finding import HEALTH_CHECKS, MAX_PLACES, Place, finding_of
from spanview.analysis.ray.calls import calls_in
from spanview.analysis.ray.names import RAN, SUBMITTED, is_constructor
from spanview.analysis.ray.reasons import open_among, reasons_of
from spanview.analysis.ray.unended import NO_UNENDED, Fate
from spanview.analysis.reused_ids import ReusedIds, reused_ids
from spanview.analysis.serve.calls import is_serve_call
from spanview.index.forest import MISSING, ROOT, forest_of
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.problems import Warnings
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.diagnosis.finding import Finding, Kind
    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.unended import Unended
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store
    from spanview.index.tallies import FileTally
    from spanview.model.problems import Problem, Severity

_HEALTH: Final = re.compile(HEALTH_CHECKS)
_REQUEST: Final = re.compile(r"proxy_(?:http|grpc|websocket)_request\b")
_STARTS_REPLICA: Final = f".initialize_and_get_metadata{RAN}"
"""As in `ServeReplica:app:Model.initialize_and_get_metadata ray.remote_worker`."""
_MAX_RECORDS: Final = 20_000
"""Records that one detector reads again."""


class NameFlag(IntFlag):
    """What a span's name says."""

    SUBMITTED = 1
    RAN = 2
    PROXY = 4
    ROUTE = 8
    REPLICA = 16
    HEALTH = 32
    CONSTRUCTOR = 64
    TO_REPLICA = 128
    HAPROXY = 256
    REPLICA_STARTS = 512


def _flags_of(text: str) -> NameFlag:
    """Return the flags of a name."""
    name = NameFlag(0)
    if text.endswith(SUBMITTED):
        name |= NameFlag.SUBMITTED | (NameFlag.TO_REPLICA if is_serve_call(text) else 0)
    elif text.endswith(RAN):
        name |= NameFlag.RAN | (NameFlag.CONSTRUCTOR if is_constructor(text) else 0)
        name |= NameFlag.REPLICA_STARTS if text.endswith(_STARTS_REPLICA) else 0
    elif _REQUEST.match(text):
        name |= NameFlag.PROXY
    elif text.startswith(("route_to_replica", "proxy_route_to_replica")):
        name |= NameFlag.ROUTE
    elif text.startswith("replica_handle_request"):
        name |= NameFlag.REPLICA
    if text.startswith("HAProxyManager."):
        name |= NameFlag.HAPROXY
    return name | (NameFlag.HEALTH if _HEALTH.search(text) else 0)


class Facts:
    """A store as it is now; it may grow meanwhile."""

    def __init__(self, store: Store, unended: Mapping[int, Unended] = NO_UNENDED) -> None:
        self.store = store
        self.unended = unended
        """What has become of spans without an end, by row, as far as that was asked."""
        with stage("stitch"):
            self.forest: Forest = forest_of(store)
            """The trees of all traces: positions are rows."""
        self.size, self.traces = self.forest.size, self.forest.traces
        self.parents = self.forest.parents
        """The row of each span's parent, `ROOT` or `MISSING`."""
        self.starts: Places = self.column("start_ns")
        """When each span starts, in nanoseconds since 1970, or `NO_TIME`."""
        self.sources: Places = self.column("source").astype(np.int64)
        self.statuses: NDArray[np.uint8] = self.column("status")
        self.files: list[tuple[str, FileTally]] = store.tallies.each_file()
        self.problems: list[Problem] = store.problems()

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the span table."""
        return self.forest.of(name)

    @cached_property
    def name_flags(self) -> NDArray[np.uint16]:
        """What each span's name says, as bits of `NameFlag`."""
        names = self.column("name")
        of_texts = [int(_flags_of(text)) for text in self.store.names.texts[: int(names.max(initial=0)) + 1]]
        name_flags: NDArray[np.uint16] = np.array(of_texts or [0], np.uint16)[names]
        return name_flags

    def are_named(self, name: NameFlag) -> Flags:
        """Return which spans have a name with this flag."""
        flags: Flags = self.name_flags & np.uint16(name) != 0
        return flags

    @cached_property
    def submitted(self) -> Flags:
        """Which spans are calls that were submitted."""
        flags: Flags = (self.column("kind") == PRODUCER) & self.are_named(NameFlag.SUBMITTED)
        return flags

    @cached_property
    def ran(self) -> Flags:
        """Which spans are attempts of calls."""
        flags: Flags = (self.column("kind") == CONSUMER) & self.are_named(NameFlag.RAN)
        return flags

    @cached_property
    def are_roots(self) -> Flags:
        """Which spans have no parent id."""
        flags: Flags = self.parents == ROOT
        flags[self.forest.cut] = False
        return flags

    @cached_property
    def calls(self) -> Calls:
        """Ray's calls."""
        return calls_in(self.forest, is_everything=True)

    @cached_property
    def reasons(self) -> dict[int, Why]:
        """Why calls have no attempt, by row; those of merged runs are left out."""
        return {row: why for row, why in reasons_of(self.store, self.calls).items() if not self.of_merged_runs[row]}

    @cached_property
    def open_calls(self) -> frozenset[int]:
        """The rows of calls without an attempt that may still run: none that waits for what no node has."""
        return frozenset(row for row in open_among(self.store, self.reasons) if not self.reasons[row].is_stuck)

    @cached_property
    def without_end(self) -> list[int]:
        """The rows of spans whose records have no end."""
        rows: list[int] = np.flatnonzero(self.column("warnings") & int(Warnings.NO_END)).tolist()
        return rows

    @property
    def running(self) -> int:
        """How many of them run."""
        return sum(row in self.unended and self.unended[row].fate is Fate.RUNS for row in self.without_end)

    @cached_property
    def reused(self) -> ReusedIds:
        """Spans that have the ids of others."""
        return reused_ids(self.forest)

    @cached_property
    def of_merged_runs(self) -> Flags:
        """Which spans are in a trace in which ids are used again: whose parents and attempts they have isn't known."""
        are_merged: Flags = np.isin(self.traces, self.traces[self.reused.later])
        return are_merged

    @cached_property
    def orphans(self) -> Places:
        """The first child of each missing parent, by trace and the parent's id."""
        rows = np.flatnonzero(self.parents == MISSING)
        order = np.lexsort((self.column("parent_id")[rows], self.traces[rows]))
        keys = np.stack((self.traces[rows].astype(np.uint64), self.column("parent_id")[rows]))[:, order]
        is_first = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(rows)]
        first: Places = rows[order[is_first]]
        return first

    @cached_property
    def trace_count(self) -> int:
        """How many traces there are, those without an id left out."""
        return len(np.unique(self.traces[self.traces != self.store.intake.unplaced]))

    def read_again(self, rows: Sequence[int], holds: Callable[[Facts, int], bool]) -> tuple[list[int], str]:
        """Return the rows whose records pass a test, and `At least ` where more than the 20,000 that are read."""
        return [row for row in rows[:_MAX_RECORDS] if holds(self, row)], "At least " * (len(rows) > _MAX_RECORDS)

    def of_spans(self, kind: Kind, rows: Sequence[int], detail: str, severity: Severity | None = None) -> Finding:
        """Return a finding of one of `OF_SPANS`, which counts spans; the first of them are its evidence."""
        return replace(finding_of(kind, len(rows), detail, self.places(rows), severity=severity), rows=rows)

    # -- places ------------------------------------------------------------------------------------------------------

    def places(self, rows: Iterable[int]) -> list[Place]:
        """Return the first of some spans as places."""
        return [self.place(row) for _, row in zip(range(MAX_PLACES), rows, strict=False)]

    def place(self, row: int) -> Place:
        """Return a span as a place; one without usable ids by its file and offset."""
        spans = self.store.spans
        trace = spans.trace[row]
        trace_id, span_id = self.store.trace_table.trace_id(trace), spans.span_id[row]
        path = self.store.sources[spans.source[row]].path
        if not trace_id or not span_id:
            trace_id = span_id = 0
        name = self.store.names.texts[spans.name[row]]
        return Place(path, self._offset(row), trace_id, span_id, trace, row, name)

    def file_places(self, rows: Iterable[int]) -> list[Place]:
        """Return where the first of some spans are in files, each record or document once."""
        sources, spans, places = self.store.sources, self.store.spans, dict[Place, None]()
        for row in rows:
            places[Place(sources[spans.source[row]].path, self._offset(row))] = None
            if len(places) == MAX_PLACES:
                break
        return [*places]

    def _offset(self, row: int) -> int:
        """Return where a span's record begins, or the document that contains it."""
        spans = self.store.spans
        return self.store.intake.details.place(spans.source[row], spans.offset[row], spans.length[row])[0]
