"""The store: all spans as columns, grouped into traces; details on demand.

One thread adds, any thread reads: a row's columns are complete before anything points to it.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import TYPE_CHECKING, Any

from spanview.formats.decoder import decode_details, decode_span
from spanview.formats.rows import SpanDetails
from spanview.index.intake import Intake
from spanview.index.table import NO_ROW, NUMPY_FROM_SPANS
from spanview.index.tree import TraceTree
from spanview.model.codes import known_kind
from spanview.model.ids import UNUSABLE, format_span_id, format_trace_id
from spanview.model.problems import NO_WARNINGS, ProblemKind, Warnings
from spanview.model.times import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.formats.rows import Batch
    from spanview.index.documents import DetailReader
    from spanview.index.lives import Lives
    from spanview.index.ray_tasks import RayTasks
    from spanview.model.problems import Problem
    from spanview.model.span import Span


class Store:
    """Spans, traces and problems of everything that was read.

    Args:
        details: Reads records again; a source's number is its place in `sources`.
        notes_changes: Whether `take_changed` is called now and then.
    """

    def __init__(self, details: DetailReader, *, notes_changes: bool = False) -> None:
        self.intake = Intake(details)
        if notes_changes:
            self.intake.changed = deque()
        self.spans = self.intake.spans
        self.trace_table = self.intake.traces
        self.names = self.intake.names
        self.services = self.intake.services
        self.sources = self.intake.sources
        self.processes = self.intake.processes
        self.tallies = self.intake.tallies
        self.is_growing = False
        """Whether another thread adds to it: then not all of it can be looked at in one step."""
        self.ask_lives: Callable[[Store], Lives] | None = None
        """Returns of the store, itself, what knows which of its spans run; None where nobody can ask the processes."""

    def __getstate__(self) -> dict[str, Any]:
        """Take along the records that files have here, but nothing that asks the processes of this host."""
        from spanview.index.documents import HeldRecords
        from spanview.index.state import columns_of, state_of

        documents = self.intake.details
        places = sorted({(self.spans.source[row], *self.place(row)) for row in range(len(self.spans))})
        records = ((source, offset, documents.reader.read(source, offset, size)) for source, offset, size in places)
        return {
            "sources": [(source.path, source.generation) for source in self.sources],
            "columns": [array(memoryview(column).format, bytes(column)) for column in columns_of(self.intake)],
            "state": state_of(self.intake, [*ProblemKind]),
            "documents": documents.places,
            "ray": self.ray,
            "records": HeldRecords((source, offset, data) for source, offset, data in records if data is not None),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        from spanview.index.state import take_state

        Store.__init__(self, state["records"])
        for path, generation in state["sources"]:
            self.add_source(path, generation)
        take_state(self.intake, state["state"], state["columns"])
        self.intake.details.places, self.intake.ray = state["documents"], state["ray"]

    def add_source(self, path: str, generation: int = 0, real_path: str = "") -> int:
        """Take note of a file, or of its next generation, and return its number."""
        return self.intake.add_source(path, generation, real_path)

    def add(self, source: int, batch: Batch) -> None:
        """Take the spans and the problems that one piece of a file has, as `Intake.add` does."""
        self.intake.add(source, batch)

    def give_up_room(self) -> None:
        """Let go of what only adding needs, where that is much; it comes again when something is added or looked up."""
        if len(self.spans) >= NUMPY_FROM_SPANS and isinstance(self.spans.trace, array):
            from spanview.index.room import give_up_room

            give_up_room(self.intake)

    def take_changed(self) -> set[int]:
        """Return the traces that have grown since the last call; of a store that notes changes."""
        changed: set[int] = set()
        batches = self.intake.changed
        while batches:
            changed.update(batches.popleft())
        return changed

    @property
    def version(self) -> int:
        """A number that grows whenever there is a new span, or one's end, or Ray's word on a task, has become known."""
        return len(self.spans) + len(self.intake.replaced) + (0 if self.ray is None else self.ray.version)

    @property
    def ray(self) -> RayTasks | None:
        """What Ray's own events say of tasks; None where no file has any."""
        return self.intake.ray

    def rows_in_order(self) -> list[int]:
        """Return all rows by path, generation and offset."""
        from spanview.index.arrays import rows_in_order

        return rows_in_order(self.spans, sorted(range(len(self.sources)), key=self.intake.source_order))

    def rows_of_trace(self, trace: int) -> list[int]:
        """Return the rows of a trace in the order of arrival."""
        rows = []
        next_row, row = self.spans.next_row, self.trace_table.first_row[trace]
        while row != NO_ROW:
            rows.append(row)
            row = next_row[row]
        return rows

    def tree(self, trace: int) -> TraceTree:
        """Stitch a trace."""
        return TraceTree(self.spans, self.rows_of_trace(trace), self.intake.order)

    def traces_in_order(self) -> array[int]:
        """Return all traces by start, then id; those without a start and the group without an id come last."""
        from spanview.index.arrays import traces_in_order

        return traces_in_order(self.trace_table)

    def span(self, row: int) -> Span:
        """Return a span with all its details; where they are gone, what the columns have, marked `detail_lost`."""
        if self.spans.length[row]:
            return self.span_in(row, self.record(row))
        from spanview.formats.foreign import details_of

        span = self.intake.details.span(self.spans.source[row], self.spans.offset[row])
        return self._span_with(row, None if span is None else details_of(span), span)

    def span_in(self, row: int, record: bytes | None) -> Span:
        """Return what `span` has if this is its record, None for one that is gone."""
        if record is None:
            return self._span_with(row, None, None)
        if self.spans.name[row] not in self.names.cut:
            return self._span_with(row, decode_details(record), None)
        from spanview.formats.foreign import details_of
        from spanview.formats.usual import NOWHERE

        # Decoded once: such a record may have many megabytes.
        whole = decode_span(record, NOWHERE)
        return self._span_with(row, None if whole is None else details_of(whole), whole)

    def _span_with(self, row: int, details: SpanDetails | None, whole: Span | None) -> Span:
        """Return a span; `whole` is what its record holds, asked for where the tables haven't all of its name."""
        from spanview.model.span import STATUSES, Source, Span, Status

        spans = self.spans
        trace_id, span_id, warnings = self._trace_id(row), spans.span_id[row], spans.warnings[row]
        if details is None or (details.trace_id, details.span_id) != (trace_id, span_id):
            # Another record may be there by now.
            details, whole = self._no_details(row), None
            warnings |= Warnings.DETAIL_LOST.value
        parent_id, status, description = spans.parent_id[row], spans.status[row], details.status_description
        return Span(
            trace_id=format_trace_id(trace_id) if trace_id else None,
            span_id=format_span_id(span_id) if span_id else None,
            parent_id=format_span_id(parent_id) if parent_id else None,
            name=self.names.texts[spans.name[row]] if whole is None else whole.name,
            kind_value=known_kind(spans.kind[row]),
            start_ns=known(spans.start_ns[row]),
            end_ns=known(spans.end_ns[row]),
            status=STATUSES[status] if description is None else Status(status, description),
            attributes=details.attributes,
            events=details.events,
            links=details.links,
            trace_state=details.trace_state,
            resource=details.resource,
            scope=details.scope,
            extra=details.extra,
            source=Source(self.sources[spans.source[row]].path, *self.place(row)),
            warnings=Warnings(warnings) if warnings else NO_WARNINGS,
        )

    def record(self, row: int) -> bytes | None:
        """Return the bytes of a span's record as the file has them, or None where they are gone."""
        spans = self.spans
        return self.intake.details.read(spans.source[row], spans.offset[row], spans.length[row])

    def place(self, row: int) -> tuple[int, int]:
        """Return offset and length of a span's record in its file, or of the document that contains it."""
        spans = self.spans
        return self.intake.details.place(spans.source[row], spans.offset[row], spans.length[row])

    def _trace_id(self, row: int) -> int:
        return self.trace_table.trace_id(self.spans.trace[row])

    def _no_details(self, row: int) -> SpanDetails:
        from spanview.model.span import Resource

        service = self.services.texts[self.spans.service[row]]
        resource = Resource({"service.name": service} if service else {})
        return SpanDetails(UNUSABLE, UNUSABLE, None, {}, (), (), {}, resource, None)

    def problems(self) -> list[Problem]:
        """Return the problems of all files, by path and offset."""
        return self.tallies.problems()
