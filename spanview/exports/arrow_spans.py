"""Spans as columns of Arrow, a row a span, with OpenTelemetry's names.

What an attribute's value is, Arrow has no type for: attributes are JSON, which a reader such as DuckDB takes apart.
"""

from __future__ import annotations

from binascii import hexlify
from importlib import import_module
from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from spanview.analysis.forest_selftime import exact
from spanview.exports.span_texts import EXPONENT
from spanview.exports.tree_facts import NO_WAIT, TreeFacts
from spanview.formats.jsontext import INVALID_TEXT, has_long_integer, is_valid_text, valid_text
from spanview.formats.own.write import dumps_span, warning_names
from spanview.index.arrays import copy_of
from spanview.index.blocks import batches, read_records
from spanview.index.known_records import MAX_KEPT_TEXTS, KnownRecords
from spanview.index.whole_spans import spans_at
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.problems import ExportError
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.forest_selftime import Times
    from spanview.analysis.walk import Walk
    from spanview.formats.rows import SpanDetails
    from spanview.index.arrays import Flags
    from spanview.index.known_records import Tail
    from spanview.index.store import Store
    from spanview.model.span import Span

SIZE: Final = "size"
"""A column that goes no further: about how many bytes those have that differ in size."""
_BATCH_SPANS: Final = 4096
_PART_BYTES: Final = 128
"""Of an event or a link without its attributes, about."""
_DETAILS: Final = (
    "events",
    "links",
    "trace_state",
    "resource_attributes",
    "resource_schema_url",
    "scope_name",
    "scope_version",
    "scope_schema_url",
    "scope_attributes",
    "extra",
    "exception_type",
    "exception_message",
)
"""The columns of what records hold besides attributes."""
_FAR_NS: Final = 2**63
_FAR_TIMES: Final = "dropped {duration} of more than 292 years"
_EXTRA_OF_PARTS: Final = "dropped {field} of events, links, resources and scopes that only other formats have"


def arrow() -> Any:
    """Return the package.

    Raises:
        ExportError: It isn't installed.
    """
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ExportError("Parquet needs pyarrow: pip install 'spanview[parquet]'") from None


def schema() -> Any:
    """Return the schema, with `SIZE` as its last column."""
    pa = arrow()
    text, json, time, number = pa.string(), pa.json_(), pa.timestamp("ns", "UTC"), pa.int64()
    event = pa.struct({"name": text, "time": time, "attributes": json})
    link = pa.struct({"trace_id": text, "span_id": text, "trace_state": json, "attributes": json})
    return pa.schema(
        {
            "trace_id": text,
            "span_id": text,
            "parent_id": text,
            "name": text,
            "kind": text,
            "start_time": time,
            "end_time": time,
            "duration_ns": number,
            "self_time_ns": number,
            "wait_ns": number,
            "on_critical_path": pa.bool_(),
            "critical_path_ns": number,
            "depth": number,
            "status_code": text,
            "status_message": text,
            "exception_type": text,
            "exception_message": text,
            "service_name": text,
            "attributes": json,
            "events": pa.list_(event),
            "links": pa.list_(link),
            "trace_state": json,
            "resource_attributes": json,
            "resource_schema_url": text,
            "scope_name": text,
            "scope_version": text,
            "scope_schema_url": text,
            "scope_attributes": json,
            "extra": json,
            "warnings": pa.list_(text),
            "source_file": text,
            "source_offset": number,
            "source_length": number,
            SIZE: number,
        }
    )


class ArrowSpans:
    """The rows of the spans of a store that doesn't grow meanwhile."""

    def __init__(self, store: Store, facts: TreeFacts, lose: Callable[[str], None]) -> None:
        self._store, self._lose = store, lose
        self._waits, self._on_path = copy_of(facts.waits_ns), copy_of(facts.on_path_ns)
        self._pa, self._schema = arrow(), schema()
        self._known = KnownRecords(store)
        self._tails: dict[bytes, tuple[Any, ...]] = {}
        """What `_details` returns for records that end so."""
        self._services = [valid_text(text) or None for text in store.services.texts]

    def batches(self, walk: Walk, first: int, last: int) -> Iterator[Any]:
        """Yield the spans from one position of a walk to another, some at a time, in the columns of `schema`."""
        for batch in batches(self._store, walk.rows[first:last].tolist(), _BATCH_SPANS):
            positions = slice(first + batch.start, first + batch.stop)
            arrays = self._of_table(walk, positions) | self._of_records(walk, positions)
            yield self._pa.record_batch([arrays[name] for name in self._schema.names], schema=self._schema)

    def _of_table(self, walk: Walk, positions: slice) -> dict[str, Any]:
        """Return the columns that no record is read for."""
        spans, table, rows = self._store.spans, self._store.trace_table, walk.rows[positions]
        starts, ends, traces = (copy_of(column)[rows] for column in (spans.start_ns, spans.end_ns, spans.trace))
        high, low = copy_of(table.id_high)[traces], copy_of(table.id_low)[traces]
        span_ids, parent_ids = copy_of(spans.span_id)[rows], copy_of(spans.parent_id)[rows]
        exact_starts, exact_ends, have_both = exact(starts, ends)
        kinds = [KIND_NAMES[kind] if kind < len(KIND_NAMES) else None for kind in copy_of(spans.kind)[rows].tolist()]
        paths = [self._store.sources[source].path for source in copy_of(spans.source)[rows].tolist()]
        places = [self._store.place(row) for row in rows.tolist()]
        return {
            "trace_id": self._ids((high, low), (high | low) != 0),
            "span_id": self._ids((span_ids,), span_ids != 0),
            "parent_id": self._ids((parent_ids,), parent_ids != 0),
            "kind": self._array("kind", kinds),
            "start_time": self._times(starts, starts != NO_TIME),
            "end_time": self._times(ends, ends != NO_TIME),
            "duration_ns": self._durations(exact_ends - exact_starts, have_both),
            "self_time_ns": self._durations(walk.own[positions], walk.have[positions]),
            "wait_ns": self._durations(self._waits[rows], self._waits[rows] != NO_WAIT),
            "on_critical_path": self._array("on_critical_path", self._on_path[rows] > 0),
            "critical_path_ns": self._array("critical_path_ns", self._on_path[rows]),
            "depth": self._array("depth", walk.depths[positions]),
            "status_code": self._array("status_code", [STATUS_NAMES[status] for status in copy_of(spans.status)[rows]]),
            "service_name": self._array(
                "service_name", [self._services[service] for service in copy_of(spans.service)[rows].tolist()]
            ),
            "source_file": self._array("source_file", self._texts(paths)),
            "source_offset": self._array("source_offset", [offset for offset, _ in places]),
            "source_length": self._array("source_length", [length for _, length in places]),
        }

    def _of_records(self, walk: Walk, positions: slice) -> dict[str, Any]:
        """Return the columns that records are read for; of those that begin as usual, only the rest is decoded."""
        store, rows = self._store, walk.rows[positions].tolist()
        names = [store.names.texts[store.spans.name[row]] for row in rows]
        warnings = (copy_of(store.spans.warnings)[walk.rows[positions]] | walk.warned[positions]).tolist()
        messages: list[str | None] = [None] * len(rows)
        attributes, details = list[bytes](), list[tuple[Any, ...]]()
        all_parts = self._known.parts(read_records(store, rows), self._known.columns(rows))
        known = [None if parts is None else self._known_json(*parts) for parts in all_parts]
        others = spans_at(store, [row for row, parts in zip(rows, known, strict=True) if parts is None], self._known)
        for index, parts in enumerate(known):
            if parts is not None:
                attributes.append(parts[0])
                details.append(parts[1])
                continue
            span = next(others)
            names[index], messages[index] = span.name, span.status.description
            warnings[index] |= span.warnings.value
            attributes.append(self._dumps(span.attributes))
            details.append(self._details(span))
        columns = dict(zip(_DETAILS, map(list, zip(*details, strict=True)), strict=True))
        events, links = columns.pop("events"), columns.pop("links")
        texts = zip(names, messages, attributes, columns["resource_attributes"], strict=True)
        sizes = [
            len(name) + len(message or "") + len(value) + len(resource) for name, message, value, resource in texts
        ]
        for index, parts_of_span in enumerate(map(add, events, links)):
            sizes[index] += sum(_PART_BYTES + len(value) for *_, value in parts_of_span)
        return {
            "name": self._array("name", self._texts(names)),
            "status_message": self._array("status_message", self._texts(messages)),
            "attributes": self._array("attributes", attributes),
            "events": self._lists("events", events),
            "links": self._lists("links", links),
            "warnings": self._array("warnings", [*map(warning_names, warnings)]),
            SIZE: self._array(SIZE, sizes),
            **{name: self._array(name, values) for name, values in columns.items()},
        }

    def _known_json(self, text: bytes, attributes: Any, tail: Tail) -> tuple[bytes, tuple[Any, ...]] | None:
        """Return the parts of a record, attributes as JSON; None where the quick encoder can't be sure of these."""
        try:
            value = orjson.dumps(attributes)
        except orjson.JSONEncodeError:
            return None
        if EXPONENT in value and has_long_integer(text):
            return None
        details = self._tails.get(tail.text)
        if details is None:
            details = self._details(tail.details)
            if tail.is_kept:
                if len(self._tails) > MAX_KEPT_TEXTS:
                    self._tails.clear()
                self._tails[tail.text] = details
        return value, details

    def _details(self, span: Span | SpanDetails) -> tuple[Any, ...]:
        """Return the values of `_DETAILS`."""
        resource, scope = span.resource, span.scope
        for part in (resource, scope, *span.events, *span.links):
            if part is not None and part.extra:
                self._lose(_EXTRA_OF_PARTS)
        return (
            [(self._text(event.name), event.timestamp_ns, self._dumps(event.attributes)) for event in span.events],
            [
                (link.trace_id, link.span_id, self._dumps(link.trace_state), self._dumps(link.attributes))
                for link in span.links
            ],
            self._dumps(span.trace_state),
            self._dumps(resource.attributes),
            self._text(resource.schema_url),
            *(
                (None, None, None, None)
                if scope is None
                else (*self._texts([scope.name, scope.version, scope.schema_url]), self._dumps(scope.attributes))
            ),
            self._dumps(span.extra) if span.extra else None,
            *self._exception(span),
        )

    def _exception(self, span: Span | SpanDetails) -> tuple[str | None, str | None]:
        """Return type and message of a span's last exception event."""
        for event in reversed(span.events):
            if event.is_exception:
                values = (event.attributes.get(f"exception.{name}") for name in ("type", "message"))
                kind, message = (self._text(value) if isinstance(value, str) else None for value in values)
                return kind, message
        return None, None

    def _dumps(self, value: Mapping[str, Any]) -> bytes:
        return dumps_span(dict(value), self._lose) if value else b"{}"

    def _text(self, text: str) -> str:
        if is_valid_text(text):
            return text
        self._lose(INVALID_TEXT)
        return valid_text(text)

    def _texts(self, texts: Iterable[str | None]) -> list[str | None]:
        return [text if text is None or text.isascii() else self._text(text) for text in texts]

    def _array(self, name: str, values: Any) -> Any:
        """Return a column of plain values, JSON as bytes."""
        return self._typed(self._schema.field(name).type, values)

    def _typed(self, kind: Any, values: Any) -> Any:
        pa = self._pa
        if kind == pa.json_():
            return pa.ExtensionArray.from_storage(kind, pa.array(values, pa.binary()).view(pa.string()))
        return pa.array(values, kind)

    def _lists(self, name: str, lists: Sequence[Sequence[tuple[Any, ...]]]) -> Any:
        """Return a column of lists of structs."""
        pa, struct = self._pa, self._schema.field(name).type.value_type
        columns = [*zip(*chain.from_iterable(lists), strict=True)] or [()] * struct.num_fields
        fields = [struct.field(index) for index in range(struct.num_fields)]
        arrays = [self._typed(field.type, values) for field, values in zip(fields, columns, strict=True)]
        ends = pa.array([0, *accumulate(map(len, lists))], pa.int32())
        return pa.ListArray.from_arrays(
            ends, pa.StructArray.from_arrays(arrays, fields=fields), type=self._schema.field(name).type
        )

    def _times(self, times: NDArray[np.int64], are_known: Flags) -> Any:
        return self._pa.array(times, self._pa.int64(), mask=~are_known).view(self._schema.field("start_time").type)

    def _durations(self, durations: Times, are_known: Flags) -> Any:
        """Return differences of times, which may be Python's integers."""
        if durations.dtype == object:
            fit = np.array([-_FAR_NS <= duration < _FAR_NS for duration in durations.tolist()], np.bool_)
            for _ in range(int((are_known & ~fit).sum())):
                self._lose(_FAR_TIMES)
            are_known = are_known & fit
            durations = np.where(are_known, durations, 0).astype(np.int64)
        return self._pa.array(durations, self._pa.int64(), mask=~are_known)

    def _ids(self, halves: tuple[NDArray[np.uint64], ...], are_known: Flags) -> Any:
        """Return ids as hex digits, 16 for each part."""
        pa, width = self._pa, 16 * len(halves)
        digits = hexlify(np.stack(halves, axis=1).astype(">u8").tobytes())
        ends = np.arange(len(are_known) + 1, dtype=np.int32) * np.int32(width)
        known = np.packbits(are_known, bitorder="little")
        return pa.StringArray.from_buffers(
            len(are_known), pa.py_buffer(ends), pa.py_buffer(digits), pa.py_buffer(known)
        )
