"""The JSON objects of many spans at once, without decoding what is known already.

record, as the SDK writes it                            object
----------------------------                            ------
{"name": … "status_code": "OK"}, "attributes":          from the columns, if the record has just these there
{"http.method": "GET", …}                               decoded and encoded
, "events": [], "links": [], "resource": {…}}           decoded and encoded once for all records that end so

That is the quick way. Where a record begins as the SDK writes its columns, and both other parts are JSON by themselves,
it is what they are together, wherever it was cut. Every other span goes the general way, by `Store.span`.
"""

from __future__ import annotations

import json
from array import array
from binascii import hexlify
from bisect import bisect_right
from functools import cache
from itertools import accumulate, chain, islice
from operator import sub
from sys import byteorder
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import orjson

from spanview.formats.console_spans import details_of
from spanview.formats.jsontext import has_long_integer
from spanview.formats.own_value import dumps_span, span_value, warning_names
from spanview.formats.tags import nothing_lost
from spanview.index.table import NUMPY_FROM_SPANS
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.ids import format_trace_id
from spanview.model.problems import Warnings
from spanview.model.span import Span
from spanview.model.times import NO_TIME, format_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spanview.index.store import Store

BATCH: Final = 4096
"""More spans than these aren't worth asking for at once."""
_TOGETHER: Final = 64
"""So many spans make a piece of the text."""
_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Of the records of those that are asked for at once."""
_BLOCK: Final = 128 * 1024
"""Bytes of records that are read at once, but for a record that is longer."""
_GAP: Final = 4096
"""So many bytes between two records are read too, rather than reading twice."""
_MOST_KEPT: Final = 4096
"""So many texts are kept for the spans that have them too."""
_LONGEST_KEPT: Final = 2048
_LINE_FEED: Final = ord("\n")
_TAIL_KEYS: Final = ["events", "links", "resource"]
_TAIL_STARTS: Final = (b'},\n    "events": [', b'}, "events": [')
_NOTHING_HAPPENED: Final = b'"events":[],"links":[],'
_NO_TAIL: Final = b"\n", b""
"""No record ends like this."""
_EXPONENT: Final = b"+" if b"+" in orjson.dumps(2.0**64) else b"e"
"""In the text of every float that an integer of more than 64 bits can have become."""


def are_many(store: Store, count: int) -> bool:
    """Tell whether so many spans of a store are written quicker with numpy; a store that grows can't be asked so."""
    return count >= max(1, NUMPY_FROM_SPANS) and not store.is_growing


class _Shape(NamedTuple):
    """What spans have in common of which name, kind and status are the same, with places for what they have not."""

    in_one_line: bytes
    """A record as far as the brace of its attributes: trace id, span id, parent id, start, end."""
    indented: bytes
    object: bytes
    """Span id, parent id, start, end, duration, self time, attributes, tail, offset, length, warnings."""


_Key: TypeAlias = tuple[int, int, int, bool, bool]
"""Name, kind and status, whether there is a parent, and whether the columns tell of anything odd."""


class _Shapes(dict[_Key, _Shape | None]):
    """The shapes of spans, made when they are asked for; None where nothing is usual.

    Args:
        names: The texts of the names.
    """

    __slots__ = ("_names",)

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, key: _Key) -> _Shape | None:
        number, kind, status, has_parent, is_odd = key
        name, shape = self._names[number], None
        if not is_odd and kind < len(KIND_NAMES) and len(name) <= _LONGEST_KEPT:
            try:
                texts = json.dumps(name).encode(), orjson.dumps(name)
            except orjson.JSONEncodeError:
                pass
            else:
                of_record, of_object = (text.replace(b"%", b"%%") for text in texts)
                in_one_line, indented, rest = parts_around_names(kind, status, has_parent=has_parent)
                shape = _Shape(of_record.join(in_one_line), of_record.join(indented), of_object.join(rest))
        self[key] = shape
        return shape


class SpanTexts:
    """The texts of a store's spans.

    Args:
        lose: Takes note of what JSON can't say.
    """

    def __init__(self, store: Store, lose: Callable[[str], None] = nothing_lost) -> None:
        self._store = store
        self._lose = lose
        self._shapes = _Shapes(store.names.texts)
        self._tails: dict[tuple[int, bytes], bytes] = {}

    def joined(
        self, before: Sequence[bytes], rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]
    ) -> Iterator[bytes]:
        """Yield what `of` returns for any number of rows, each behind what stands before it, some at a time."""
        first = 0
        for objects in self.in_batches(rows, own, warnings):
            pairs = zip(before[first : first + len(objects)], objects, strict=True)
            first += len(objects)
            while some := [*islice(pairs, _TOGETHER)]:
                yield b"".join(chain.from_iterable(some))

    def in_batches(
        self, rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]
    ) -> Iterator[list[bytes]]:
        """Yield what `of` returns for any number of rows, some at a time."""
        first = 0
        while first < len(rows):
            sizes = accumulate(map(self._store.spans.length.__getitem__, rows[first : first + BATCH]))
            last = first + max(1, bisect_right([*sizes], _BATCH_BYTES))
            yield self.of(rows[first:last], own[first:last], warnings[first:last])
            first = last

    def of(self, rows: Sequence[int], own: Sequence[int | None], warnings: Sequence[int]) -> list[bytes]:
        """Return the object of each span without its braces, as `dumps_span` encodes what `span_value` returns.

        Args:
            rows: Rows of the span table, so few that their records fit into memory.
            own: The self time of each in nanoseconds, or None.
            warnings: What of each only its tree tells, as bits of `Warnings`.
        """
        if not rows:
            return []
        # Rows come as files are read: what are neighbours in a file are neighbours here.
        order = sorted(range(len(rows)), key=rows.__getitem__)
        chosen = [*map(rows.__getitem__, order)]
        places = [[*map(column.__getitem__, chosen)] for column in self._places]
        of_tree = map(own.__getitem__, order), map(warnings.__getitem__, order)
        fields = zip(*places[1:], *self._columns(chosen), *of_tree, strict=True)
        quick: list[bytes | None] = []
        for source, first, end, count in _blocks(*places):
            data = self._store.intake.details.read(source, first, end - first)
            some = islice(fields, count)
            if data is None or len(data) < end - first:
                quick += [None for _ in some]
            else:
                quick += self._take(source, first, data, some)
        texts = [b""] * len(rows)
        for at, text in zip(order, quick, strict=True):
            texts[at] = text or self._general(rows[at], own[at], warnings[at])
        return texts

    @property
    def _places(self) -> tuple[Sequence[int], ...]:
        spans = self._store.spans
        return spans.source, spans.offset, spans.length

    def _general(self, row: int, own: int | None, warnings: int) -> bytes:
        return dumps_span(span_value(self._store.span(row), own, Warnings(warnings)), self._lose)[1:-1]

    def _columns(self, rows: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Yield shapes and what is filled into them: trace ids, span ids, parent ids, starts, ends, durations."""
        spans, table, shapes = self._store.spans, self._store.trace_table, self._shapes
        parents, starts, ends, traces, names, kinds, statuses, warnings = (
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
            )
        )
        if len(shapes) > _MOST_KEPT:
            shapes.clear()
        are_odd = map(bool, map(max, warnings, map(NO_TIME.__eq__, starts)))
        keys = zip(names, kinds, statuses, map(bool, parents), are_odd, strict=True)
        yield [*map(shapes.__getitem__, keys)]
        ids = {trace: format_trace_id(table.trace_id(trace)).encode() for trace in {*traces}}
        yield [*map(ids.__getitem__, traces)]
        yield _digits_of([*map(spans.span_id.__getitem__, rows)])
        yield _digits_of(parents)
        yield format_times(starts)
        yield format_times(ends)
        yield [*map(sub, ends, starts)]

    def _take(self, source: int, first: int, data: bytes, fields: Iterable[tuple[Any, ...]]) -> list[bytes | None]:
        """Return the texts of spans whose records stand in a block that begins at `first`; None for unusual ones."""
        loads, dumps, texts = orjson.loads, orjson.dumps, list[bytes | None]()
        tail, of_tail = _NO_TAIL
        for offset, length, shape, trace_id, span_id, parent_id, start, end, duration, own, warnings in fields:
            texts.append(None)
            # Those of a document that holds several have no bytes of their own.
            if shape is None or not length:
                continue
            begin, stop = offset - first, offset - first + length
            head = shape.indented if data[begin + 1] == _LINE_FEED else shape.in_one_line
            head %= trace_id, span_id, parent_id, start, end
            if not data.startswith(head, begin):
                continue
            begin += len(head) - 1
            if not data.endswith(tail, begin, stop):
                tail, of_tail = self._tail(source, data, begin, stop)
            text = data[begin : stop - len(tail)]
            try:
                # One level deeper, as it will be: the encoder doesn't go to any depth.
                value = dumps((loads(text),))[1:-1]
            except (orjson.JSONDecodeError, orjson.JSONEncodeError):
                continue
            if of_tail and not (_EXPONENT in value and has_long_integer(text)):
                names = _names_of(warnings)
                of_columns = span_id, parent_id, start, end, duration, own
                texts[-1] = shape.object % (*of_columns, value, of_tail, offset, length, names)
        return texts

    def _tail(self, source: int, data: bytes, begin: int, stop: int) -> tuple[bytes, bytes]:
        """Return how a record ends behind its attributes, and what the object has there; `_NO_TAIL` where it is odd."""
        at = max(data.find(mark, begin, stop) for mark in _TAIL_STARTS) + 1
        text = data[at:stop]
        if not at:
            return _NO_TAIL
        known = self._tails.get((source, text))
        if known is None:
            known = _object_of_tail(text, self._store.sources[source].path)
            # Events have times, and are nobody else's.
            if known.startswith(_NOTHING_HAPPENED) and len(text) <= _LONGEST_KEPT:
                if len(self._tails) > _MOST_KEPT:
                    self._tails.clear()
                self._tails[source, text] = known
        return (text, known) if known else _NO_TAIL


def _blocks(
    sources: Sequence[int], offsets: Sequence[int], lengths: Sequence[int]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield source, offset and end of what is read at once, and how many records it has."""
    source = first = end = count = 0
    for its_source, offset, length in zip(sources, offsets, lengths, strict=True):
        if count and (its_source != source or not first <= offset <= end + _GAP or offset + length > first + _BLOCK):
            yield source, first, end, count
            count = 0
        if not count:
            source, first, end = its_source, offset, offset
        end = max(end, offset + length)
        count += 1
    yield source, first, end, count


@cache
def parts_around_names(kind: int, status: int, *, has_parent: bool) -> list[list[bytes]]:
    """Return what shapes have before and behind a name."""
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
    # Zeros stand for no parent, and of them nothing is written.
    return [text.replace("null", "null%.0b").encode().split(b'"@"') for text in (*heads, value)]


def _object_of_tail(text: bytes, path: str) -> bytes:
    """Return what an object has from its events to its file; nothing where that isn't certain."""
    try:
        document = orjson.loads(b"{" + text[1:])
        if [*document] != _TAIL_KEYS or has_long_integer(text):
            return b""
        details = details_of({"context": {}, **document})
        span = Span(
            None, None, None, "", 0, 0, 0, events=details.events, links=details.links, resource=details.resource
        )
        value = span_value(span, None)
        parts = {key: value[key] for key in ("events", "links", "trace_state", "resource", "scope")}
        return orjson.dumps(parts)[1:-1] + b',"source":{"file":' + orjson.dumps(path)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return b""


def _digits_of(span_ids: Sequence[int]) -> list[bytes]:
    """Return span ids as `format_span_id` does, but quicker than one by one."""
    words = array("Q", span_ids)
    if byteorder == "little":
        words.byteswap()
    return hexlify(words, b",", words.itemsize).split(b",")


@cache
def _names_of(warnings: int) -> bytes:
    return orjson.dumps(warning_names(warnings))
