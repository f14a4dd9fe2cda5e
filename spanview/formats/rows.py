"""What every format module hands to the index: columns for many spans, a Span where details are asked for."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, fields
from sys import byteorder
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from spanview.formats.framing.frames import Gap
    from spanview.formats.ray_events import RayUpdates
    from spanview.model.span import Event, Link, Resource, Scope


@dataclass(frozen=True, slots=True)
class SpanColumns:
    """The part of spans that the index keeps, column by column; the rest is read again when someone looks.

    The columns are of one length; whatever makes them, a decoder or a scan of the raw bytes, hands over these. Where
    they are arrays of the index's own type codes, they are taken over at once.
    """

    trace_ids: Sequence[int]
    """128 bits; `UNUSABLE` where the file's is."""
    span_ids: Sequence[int]
    """64 bits; `UNUSABLE` where the file's is."""
    parent_ids: Sequence[int]
    """64 bits; `UNUSABLE` for none."""
    start_ns: Sequence[int]
    """Nanoseconds since 1970, or `NO_TIME`."""
    end_ns: Sequence[int]
    """Nanoseconds since 1970, or `NO_TIME`."""
    names: Sequence[str]
    services: Sequence[str]
    kinds: Sequence[int]
    """Values of `opentelemetry.trace.SpanKind`, or `KIND_UNSPECIFIED`."""
    statuses: Sequence[int]
    """Values of `opentelemetry.trace.StatusCode`."""
    warnings: Sequence[int]
    """Bits of `Warnings`."""
    processes: Sequence[str] = ()
    """What resources say of their processes, as `Resource.process` has it; empty where none is asked."""

    def __len__(self) -> int:
        return len(self.span_ids)

    def at(self, indexes: Sequence[int]) -> SpanColumns:
        """Return the columns of the spans at some indexes."""
        values = [getattr(self, column.name) for column in fields(self)]
        return SpanColumns(*[[column[index] for index in indexes] if column else () for column in values])


def join_columns(parts: Iterable[SpanColumns]) -> SpanColumns:
    """Return the columns of several pieces as one."""
    processes: list[str] = []
    whole = SpanColumns([], [], [], [], [], [], [], [], [], [], processes)
    for part in parts:
        if part.processes:
            processes.extend([""] * (len(whole) - len(processes)))
        for field in fields(SpanColumns):
            getattr(whole, field.name).extend(getattr(part, field.name))
    processes.extend([""] * (len(whole) - len(processes)) if processes else ())
    return whole


class Row(tuple[Any, ...]):
    """What the columns have of one span.

    ids         of the trace, the span and its parent, 32 bytes; zeros where there is none, or an unusable one
    start, end  as the columns have them
    name, service, kind, status, warnings, process
    """

    __slots__ = ()


class PartRow(Row):
    """The row of a document that has one span and is no record of it: beside others it may mean more."""

    __slots__ = ()


class Rows(list[Row]):
    """The rows of the spans of one document, in its order."""

    __slots__ = ("passed",)

    def __init__(self, rows: Iterable[Row] = (), passed: int = 0) -> None:
        super().__init__(rows)
        self.passed = passed
        """Parts of the document that aren't spans where spans belong."""


def columns_of_rows(rows: Iterable[Row]) -> SpanColumns:
    """Return the columns of rows."""
    parts: list[tuple[Any, ...]] = [*zip(*rows, strict=True)] or [()] * len(fields(SpanColumns))
    ids, starts, ends, names, services, kinds, statuses, warnings, processes = parts[:9]
    words = array("Q", b"".join(ids))
    if byteorder == "little":
        words.byteswap()
    return SpanColumns(
        trace_ids=[high << 64 | low for high, low in zip(words[::4], words[1::4], strict=True)],
        span_ids=words[2::4],
        parent_ids=words[3::4],
        start_ns=array("q", starts),
        end_ns=array("q", ends),
        names=[*names],
        services=[*services],
        kinds=array("B", kinds),
        statuses=array("B", statuses),
        warnings=array("H", warnings),
        processes=[*processes],
    )


def ignore_part(_part: Any) -> None:
    """Ignore data that isn't a span where a span belongs."""


class SpanDetails(NamedTuple):
    """The part of a span that the index doesn't keep, and the ids by which it is recognized."""

    trace_id: int
    """128 bits; `UNUSABLE` where the file's is."""
    span_id: int
    """64 bits; `UNUSABLE` where the file's is."""
    status_description: str | None
    attributes: Mapping[str, Any]
    events: tuple[Event, ...]
    links: tuple[Link, ...]
    trace_state: Mapping[str, str]
    resource: Resource
    scope: Scope | None
    extra: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Unwritten:
    """What a writer says of spans that it could not write."""

    offset: int
    """Bytes from the start of the file to where it says so."""
    time_ns: int
    """When it wrote that, in nanoseconds since 1970; 0 where it doesn't say."""
    count: int
    reason: str


class Batch(NamedTuple):
    """What one piece of one file holds; the unit that a loader hands to the store."""

    columns: SpanColumns
    offsets: Sequence[int]
    """Bytes from the start of the file to each span's record."""
    lengths: Sequence[int]
    """Bytes of each span's record; 0 for the spans of `documents`, whose offsets count up from that of the document."""
    gaps: Sequence[Gap] = ()
    skipped: Sequence[tuple[int, int, str]] = ()
    """Offset and length of each whole JSON document that is no span, and what it lacks to be one."""
    documents: Sequence[tuple[int, int]] = ()
    """Offset and length of each document that holds several spans, or one that is no record by itself."""
    partial: Sequence[tuple[int, int, int]] = ()
    """Offset and length of each document with data that isn't a span where a span belongs, and how many such parts it
    has."""
    unwritten: Sequence[Unwritten] = ()
    ray: RayUpdates | None = None
    """What Ray's own events say; None where there is none of them."""
    has_text: bool = False
    """Whether there was text that is no JSON document."""
    repeated: int = 0
    """Marks in such text for lines that Ray's log de-duplication left out."""
    fragments: int = 0
    """Beginnings of spans in such text."""
    inspected: int = 0
    """Spans in such text that JavaScript has printed, which isn't JSON."""
    pids: Collection[int] = ()
    """Of the processes that a log names before lines of spans."""
