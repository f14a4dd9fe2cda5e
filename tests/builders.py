"""Spans for tests, from short prototypes: ids count from 1, and so does the clock.

drawing of a trace        the spans it stands for (ids 1, 2, 3, 4; times in µs after EPOCH)
------------------        -----------------------------------------------------------------
a 0-10                    a from 0 to 10, no parent
  b 2-5                   b from 2 to 5, a child of a
    c 3-?                 c from 3, without an end, a child of b
  d 6-9                   d from 6 to 9, a child of a
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.formats.decoder import Decoder
from spanview.index.documents import DetailReader
from spanview.index.store import Store
from spanview.model.times import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Document: TypeAlias = dict[str, Any]
"""One span as the SDK's console exporter writes it, decoded."""

EPOCH_NS: Final = 1_700_000_000_000_000_000
"""2023-11-14T22:13:20Z, where the tests' clocks start."""
MICROSECOND: Final = 1_000
STEP_US: Final = 10
"""A span without times starts so long after the one before it, and takes as long."""


def trace_id(number: int) -> str:
    """Return a trace's id as the SDK writes it."""
    return f"0x{number:032x}"


def span_id(number: int) -> str:
    """Return a span's id as the SDK writes it."""
    return f"0x{number:016x}"


def time_text(us: float | None) -> str | None:
    """Return the time so many microseconds after `EPOCH_NS` as the SDK writes it; None gives None."""
    return None if us is None else format_time(EPOCH_NS + round(us * MICROSECOND))


class Builder:
    """Makes documents whose ids and times count up."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._starts = count(0, STEP_US)

    def span(  # every field of a span can be given, none has to be
        self,
        name: str = "span",
        *,
        trace: int = 1,
        span: int | None = None,
        parent: int | None = None,
        start: float | None = None,
        duration: float | None = STEP_US,
        kind: str = "INTERNAL",
        status: str = "UNSET",
        description: str | None = None,
        service: str = "",
        attributes: Mapping[str, Any] | None = None,
        resource: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Document:
        """Return one document.

        Args:
            name: The span's name.
            trace: Number of the trace.
            span: Number of the span, the next free one without.
            parent: Number of the parent.
            start: Microseconds after `EPOCH_NS`, the clock's next without.
            duration: Microseconds; None leaves the end out.
            kind: As `SpanKind` names it.
            status: As `StatusCode` names it.
            description: Of the status.
            service: The resource's `service.name`, left out where empty.
            attributes: The span's.
            resource: The resource's further attributes.
            fields: What the document has besides or instead, at its top level.
        """
        begin = next(self._starts) if start is None else start
        of_resource = ({"service.name": service} if service else {}) | dict(resource or {})
        return {
            "name": name,
            "context": {
                "trace_id": trace_id(trace),
                "span_id": span_id(next(self._ids) if span is None else span),
                "trace_state": "[]",
            },
            "kind": f"SpanKind.{kind}",
            "parent_id": None if parent is None else span_id(parent),
            "start_time": time_text(begin),
            "end_time": None if duration is None else time_text(begin + duration),
            "status": {"status_code": status} | ({} if description is None else {"description": description}),
            "attributes": dict(attributes or {}),
            "events": [],
            "links": [],
            "resource": {"attributes": of_resource, "schema_url": ""},
        } | fields

    def draw(self, drawing: str, *, trace: int = 1, **fields: Any) -> list[Document]:
        """Return the documents of a drawing as the module's docstring shows one.

        Args:
            drawing: A line a span: its name, and start and end in microseconds; indented below its parent.
            trace: Number of the trace.
            fields: What all spans have in common, as `span` takes it.
        """
        documents = []
        above: list[tuple[int, int]] = []
        for line in filter(str.strip, drawing.splitlines()):
            indent = len(line) - len(line.lstrip())
            name, _, times = line.strip().rpartition(" ")
            start, _, end = times.partition("-")
            while above and above[-1][0] >= indent:
                above.pop()
            number = next(self._ids)
            documents.append(
                self.span(
                    name,
                    trace=trace,
                    span=number,
                    parent=above[-1][1] if above else None,
                    start=float(start),
                    duration=None if end == "?" else float(end) - float(start),
                    **fields,
                )
            )
            above.append((indent, number))
        return documents


class MemoryReader(DetailReader):
    """Reads records again from files that exist in memory only."""

    def __init__(self) -> None:
        self.files: list[bytes | None] = []
        """The bytes of each source, or None where they are gone."""
        self.reads = 0
        """How often a record was asked for."""

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they are gone."""
        self.reads += 1
        data = self.files[source]
        return None if data is None else data[offset : offset + length]


def own_line(name: str) -> Document:
    """Return a span as spanview itself writes it, in a line; it is alone in its trace."""
    ids = {"span_id": "1" * 16, "trace_id": "2" * 32, "parent_id": None}
    return {**ids, "name": name, "status": {}, "attributes": {}}


def file_of(documents: Iterable[Document | bytes], *, indent: int | None = None) -> bytes:
    """Return the file in which these documents stand one after the other; bytes stand in it as they are."""
    parts = (part if isinstance(part, bytes) else json.dumps(part, indent=indent).encode() for part in documents)
    return b"".join(part + b"\n" for part in parts)


def store_of(*documents: Document | bytes, path: str = "spans/1.json") -> Store:
    """Return a store into which these documents were read, from one file."""
    return store_of_files({path: file_of(documents)})


def store_of_files(files: Mapping[str, bytes], *, reader: MemoryReader | None = None) -> Store:
    """Return a store into which these files were read, in this order.

    Args:
        files: The bytes of each path.
        reader: Where to keep them, for a test that takes them away again.
    """
    details = MemoryReader() if reader is None else reader
    store = Store(details)
    for path, data in files.items():
        source, decoder = store.add_source(path), Decoder()
        details.files.append(data)
        store.tallies.add_bytes(path, len(data))
        store.add(source, decoder.feed(data))
        store.add(source, decoder.close())
    return store


def trace_row(store: Store, number: int) -> int:
    """Return the row of the trace with this number as its id; rows don't come in the order of the numbers."""
    return next(row for row in range(len(store.trace_table)) if store.trace_table.trace_id(row) == number)
