"""Records that begin as the columns say: only what these don't have is decoded.

record, as the SDK writes it                            what is made of it
----------------------------                            ------------------
{"name": … "status_code": "OK"}, "attributes":          nothing, if the record has just what the columns hold there
{"http.method": "GET", …}                               decoded
, "events": [], "links": [], "resource": {…}}           decoded once for all records that end so

Where a record begins as the SDK writes its columns, and both other parts are JSON by themselves, it is what they are
together, wherever it was cut. Every other record goes the general way, by `Store.span_in`.
"""

from __future__ import annotations

import json
from array import array
from binascii import hexlify
from functools import cache
from sys import byteorder
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import orjson

from spanview.formats.console.spans import details_of
from spanview.formats.jsontext import has_long_integer, loads_usual
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, format_trace_id
from spanview.model.span import STATUSES
from spanview.model.times import NO_TIME, format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.formats.rows import SpanDetails
    from spanview.index.store import Store
    from spanview.model.span import Status

MAX_KEPT_TEXTS: Final = 4096
"""Texts that are kept for other spans that have them too."""
_MAX_KEPT_LENGTH: Final = 2048
_INDENTED: Final = b"{\n"
_TAIL_KEYS: Final = ["events", "links", "resource"]
_TAIL_STARTS: Final = (b'},\n    "events": [', b'}, "events": [')


class SpanLayout(NamedTuple):
    """What spans of one name, kind and status have in common, with places for the rest."""

    name: str
    kind: int
    status: Status
    has_parent: bool
    in_one_line: bytes
    """A record as far as the brace of its attributes: trace id, span id, parent id, start, end."""
    indented: bytes
    object: bytes
    """Span id, parent id, start, end, duration, self time, attributes, tail, offset, length, warnings."""


class Tail(NamedTuple):
    """How a record ends after its attributes."""

    text: bytes
    details: SpanDetails
    """Events, links and resource; no other part of it counts."""
    is_kept: bool
    """Whether all records that end so have this same object: nothing has happened in them."""


class RowColumns(NamedTuple):
    """What the columns hold for N rows, in the order of the rows."""

    layouts: Sequence[SpanLayout | None]
    """None where something is unusual."""
    trace_ids: Sequence[bytes]
    span_ids: Sequence[bytes]
    parent_ids: Sequence[bytes]
    """Digits; zeros for no parent."""
    start_texts: Sequence[bytes]
    end_texts: Sequence[bytes]
    starts: Sequence[int]
    ends: Sequence[int]
    sources: Sequence[int]
    offsets: Sequence[int]
    lengths: Sequence[int]


Places: TypeAlias = tuple[int, int, int]
"""Where a record of a layout has the digits of its trace id and span id, and its attributes."""
PlacesOfForms: TypeAlias = tuple[Places, Places]
"""Of records in one line, and of indented ones."""
Parts: TypeAlias = tuple[bytes, Any, Tail]
"""The text of the attributes, the attributes, and the tail."""
_Key: TypeAlias = tuple[int, int, int, bool, bool]
"""Name, kind and status, whether there is a parent, and whether the columns have anything unusual."""


class _Layouts(dict[_Key, SpanLayout | None]):
    """The layouts of spans, made when they are asked for; None where nothing is usual."""

    __slots__ = ("_names",)

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, key: _Key) -> SpanLayout | None:
        number, kind, status, has_parent, is_unusual = key
        name, layout = self._names[number], None
        if not is_unusual and kind < len(KIND_NAMES) and len(name) <= _MAX_KEPT_LENGTH:
            try:
                texts = json.dumps(name).encode(), orjson.dumps(name)
            except orjson.JSONEncodeError:
                pass
            else:
                of_record, of_object = (text.replace(b"%", b"%%") for text in texts)
                in_one_line, indented, rest = parts_around_names(kind, status, has_parent=has_parent)
                heads = of_record.join(in_one_line), of_record.join(indented)
                layout = SpanLayout(name, kind, STATUSES[status], has_parent, *heads, of_object.join(rest))
        self[key] = layout
        return layout


class KnownRecords:
    """Cuts the records of a store's spans where the columns say how they begin."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._layouts = _Layouts(store.names.texts)
        self._tails: dict[bytes, Tail | None] = {}

    def layout(self, key: _Key) -> SpanLayout | None:
        """Return what spans of one name, kind and status have in common."""
        return self._layouts[key]

    def columns(self, rows: Sequence[int]) -> RowColumns:
        """Return what the columns hold for some rows, at least one."""
        spans, table, layouts = self._store.spans, self._store.trace_table, self._layouts
        parents, starts, ends, traces, names, kinds, statuses, warnings, sources, offsets, lengths = (
            [*map(column.__getitem__, rows)]
            for column in (
                spans.parent_id,
                spans.start_ns,
                spans.end_ns,
                spans.trace,
                spans.name,
                spans.kind,
                spans.status,
                spans.warnings,
                spans.source,
                spans.offset,
                spans.length,
            )
        )
        if len(layouts) > MAX_KEPT_TEXTS:
            layouts.clear()
        are_unusual = map(bool, map(max, warnings, map(NO_TIME.__eq__, starts)))
        keys = zip(names, kinds, statuses, map(bool, parents), are_unusual, strict=True)
        ids = {trace: format_trace_id(table.trace_id(trace)).encode() for trace in {*traces}}
        return RowColumns(
            layouts=[*map(layouts.__getitem__, keys)],
            trace_ids=[*map(ids.__getitem__, traces)],
            span_ids=_digits_of([*map(spans.span_id.__getitem__, rows)]),
            parent_ids=_digits_of(parents),
            start_texts=[(format_time(ns) or "").encode() for ns in starts],
            end_texts=[(format_time(ns) or "").encode() for ns in ends],
            starts=starts,
            ends=ends,
            sources=sources,
            offsets=offsets,
            lengths=lengths,
        )

    def parts(self, records: Iterable[bytes | None], columns: RowColumns) -> Iterator[Parts | None]:
        """Yield the parts of each record; None where it isn't usual, or isn't there."""
        loads, tail, text = orjson.loads, None, b"\n"
        for record, layout, trace_id, span_id, parent_id, start, end in zip(records, *columns[:6], strict=True):
            if record is None or layout is None:
                yield None
                continue
            head = layout.indented if record.startswith(_INDENTED) else layout.in_one_line
            head %= trace_id, span_id, parent_id, start, end
            if not record.startswith(head):
                yield None
                continue
            attributes_start = len(head) - 1
            # No record ends with a line feed.
            if not record.endswith(text, attributes_start):
                tail = self.tail(record, attributes_start)
                text = b"\n" if tail is None else tail.text
            of_attributes = record[attributes_start : len(record) - len(text)]
            try:
                attributes = loads(of_attributes)
            except orjson.JSONDecodeError:
                yield None
                continue
            yield None if tail is None else (of_attributes, attributes, tail)

    def tail(self, record: bytes, begin: int) -> Tail | None:
        """Return how a record ends after its attributes, which begin there; None where it is unusual."""
        start = max(record.find(mark, begin) for mark in _TAIL_STARTS) + 1
        text = record[start:]
        if not start or text in self._tails:
            return self._tails[text] if start else None
        tail = _tail_of(text)
        # Events have times, so no other record has the same.
        if tail is not None and tail.is_kept:
            if len(self._tails) > MAX_KEPT_TEXTS:
                self._tails.clear()
            self._tails[text] = tail
        return tail


def _tail_of(text: bytes) -> Tail | None:
    document = loads_usual(b"{" + text[1:])
    if document is None or [*document] != _TAIL_KEYS or has_long_integer(text):
        return None
    details = details_of({"context": {}, **document})
    return Tail(text, details, len(text) <= _MAX_KEPT_LENGTH and not details.events and not details.links)


@cache
def parts_around_names(kind: int, status: int, *, has_parent: bool) -> list[list[bytes]]:
    """Return what layouts have before and after a name."""
    span = {
        "name": "@",
        "context": {"trace_id": "0x%b", "span_id": "0x%b", "trace_state": "[]"},
        "kind": f"SpanKind.{KIND_NAMES[kind]}",
        "parent_id": "0x%b" if has_parent else None,
        "start_time": "%b",
        "end_time": "%b",
        "status": {"status_code": STATUS_NAMES[status]},
        "attributes": {},
    }
    one_line, indented = (json.dumps(span, indent=indent) for indent in (None, 4))
    parent = '"%b"' if has_parent else "null"
    value = (
        f'"span_id":"%b","parent_id":{parent},"name":"@","kind":"{KIND_NAMES[kind]}","start_time":"%b",'
        f'"end_time":"%b","duration_ns":%d,"self_time_ns":%d,"status":{{"code":"{STATUS_NAMES[status]}"}},'
        '"attributes":%b,%b,"offset":%d,"length":%d},"warnings":%b'
    )
    heads = [text[: text.rindex("{") + 1] for text in (one_line, indented)]
    # Zeros mean no parent, and aren't written.
    return [text.replace("null", "null%.0b").encode().split(b'"@"') for text in (*heads, value)]


def places_in(layout: SpanLayout | None) -> PlacesOfForms | None:
    """Return where records of a layout have their ids and attributes; None where nothing is usual."""
    if layout is None:
        return None
    trace_id, span_id, time = b"t" * TRACE_ID_DIGITS, b"s" * SPAN_ID_DIGITS, (format_time(0) or "").encode()

    def places(head: bytes) -> Places:
        record = head % (trace_id, span_id, span_id, time, time)
        # A name may have such letters, too.
        trace_start = record.rindex(trace_id)
        return trace_start, record.index(span_id, trace_start), len(record) - 1

    return places(layout.in_one_line), places(layout.indented)


def _digits_of(span_ids: Sequence[int]) -> list[bytes]:
    """Return span ids as `format_span_id` does, but quicker than one by one."""
    words = array("Q", span_ids)
    if byteorder == "little":
        words.byteswap()
    return hexlify(words, b",", words.itemsize).split(b",")
