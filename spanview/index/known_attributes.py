"""The attributes of many spans, and nothing else of their records, where these are as the SDK writes them.

record    {"name": "f", "context": {"trace_id": "0x…", "span_id": "0x…", …}, …, "attributes": {"n": 1}, "events": [], …}
                                              ======               ====     ===============^^^^^^^^    known end
looked at                                     the row's            the row's, all at once  decoded

A record with the row's ids where they should be is the one that the columns are of; so is a line of OTLP with one span
that has them. All others are decoded one by one.
"""

from __future__ import annotations

from binascii import hexlify
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import orjson

from spanview.formats.jsontext import has_long_integer
from spanview.formats.otlp.read import SPAN_TYPE
from spanview.formats.otlp.values import Reader
from spanview.index.arrays import copy_of
from spanview.index.blocks import blocks, in_file_order
from spanview.index.known_lines import TAIL, KnownLines
from spanview.index.known_records import KnownRecords, places_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags
    from spanview.index.arrays import Places as Rows
    from spanview.index.blocks import Block
    from spanview.index.known_records import PlacesOfForms
    from spanview.index.store import Store

_ATTRIBUTES: Final = np.frombuffer(b'"attributes": ', np.uint8)
_LINE_FEED: Final = 10
_UNUSUAL: Final = (0, 0, 0)


class _Heads(NamedTuple):
    """What the records of some rows should have before their attributes."""

    places: NDArray[np.int64]
    """In one line, and indented, where trace id, span id and attributes begin; zeros where nothing is usual."""
    trace_ids: NDArray[np.uint8]
    span_ids: NDArray[np.uint8]
    """Digits."""


class KnownAttributes:
    """Reads attributes, and remembers what records have in common."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records = KnownRecords(store)
        self._lines = KnownLines()
        self._places: dict[int, PlacesOfForms] = {}
        """By name, kind and so on, as one number."""

    def at(self, rows: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """Return the attributes of the spans of some rows, as `Store.span` returns them."""
        store, found, first = self._store, dict[int, Any](), 0
        ordered = in_file_order(store, np.array(rows, np.int64))
        ordered = ordered[copy_of(store.spans.length)[ordered] > 0]
        heads = self._heads(ordered)
        for block in blocks(store, ordered):
            part = slice(first, first + len(block.rows))
            if block.data is not None:
                of_records = self._of_block(block, block.data, heads, part)
                found |= of_records or self._of_lines(block, block.data, heads, part)
            first = part.stop
        for row in rows:
            if row not in found:
                found[row] = self._of_row(row)
        return found

    def _of_row(self, row: int) -> Mapping[str, Any]:
        store = self._store
        record = store.record(row) if store.spans.length[row] else None
        details = None if record is None else self._lines.details(record)
        ids = store.trace_table.trace_id(store.spans.trace[row]), store.spans.span_id[row]
        # Otherwise the record is gone, or another one is there by now.
        is_here = details is not None and (details.trace_id, details.span_id) == ids
        return details.attributes if details is not None and is_here else store.span(row).attributes

    def _heads(self, rows: Rows) -> _Heads:
        spans, table = self._store.spans, self._store.trace_table
        names, kinds, statuses, parents, warnings, traces = (
            copy_of(column)[rows]
            for column in (spans.name, spans.kind, spans.status, spans.parent_id, spans.warnings, spans.trace)
        )
        codes = names.astype(np.int64)
        # Kinds and statuses have few bits; what is more than that has no layout.
        for values, bits in ((kinds, 8), (statuses, 8), (parents != 0, 1), (warnings != 0, 1)):
            codes = codes << bits | values
        distinct, numbers = np.unique(codes, return_inverse=True)
        for code in {*distinct.tolist()} - self._places.keys():
            layout = self._records.layout(
                (code >> 18, code >> 10 & 255, code >> 2 & 255, bool(code & 2), bool(code & 1))
            )
            self._places[code] = places_in(layout) or (_UNUSUAL, _UNUSUAL)
        places = np.array([self._places[code] for code in distinct.tolist()], np.int64).reshape(-1, 2, 3)[numbers]
        span_ids = _digits((copy_of(spans.span_id)[rows],))
        trace_ids = _digits((copy_of(table.id_high)[traces], copy_of(table.id_low)[traces]))
        return _Heads(places, trace_ids, span_ids)

    def _of_block(self, block: Block, data: bytes, heads: _Heads, part: slice) -> dict[int, dict[str, Any]]:
        """Return the attributes of the records of a block that are as usual, by row."""
        text = np.frombuffer(data, np.uint8)
        forms = text[np.minimum(block.starts + 1, len(text) - 1)] == _LINE_FEED
        places = heads.places[part][np.arange(len(forms)), forms.astype(np.int64)]
        trace_starts, span_starts, starts = (block.starts[:, None] + places).T
        usual = (places[:, 2] > 0) & (starts < block.ends)
        usual &= _have(text, trace_starts, heads.trace_ids[part])
        usual &= _have(text, span_starts, heads.span_ids[part])
        usual &= _have(text, starts - len(_ATTRIBUTES), _ATTRIBUTES[None, :])
        found, texts, ending, loads = dict[int, dict[str, Any]](), list[bytes](), b"\n", orjson.loads
        chosen = (column[usual].tolist() for column in (block.rows, block.starts, starts, block.ends))
        for row, start, begin, end in zip(*chosen, strict=True):
            # No record ends with a line feed.
            if not data.endswith(ending, begin, end):
                tail = self._records.tail(data[start:end], begin - start)
                if tail is None:
                    continue
                ending = tail.text
            of_attributes = data[begin : end - len(ending)]
            with suppress(orjson.JSONDecodeError):
                found[row] = loads(of_attributes)
                texts.append(of_attributes)
        # Such a one is rare, and would be a float.
        return {} if has_long_integer(b" ".join(texts)) else found

    def _of_lines(self, block: Block, data: bytes, heads: _Heads, part: slice) -> dict[int, dict[str, Any]]:
        """Return the attributes of the only spans of lines of OTLP, by row; of a line with the row's ids alone."""
        if has_long_integer(data):
            return {}
        found, head, loads, attributes_of = dict[int, dict[str, Any]](), b"\n", orjson.loads, Reader().attributes
        ids = (_ids_in(digits[part]) for digits in (heads.trace_ids, heads.span_ids))
        places = (column.tolist() for column in (block.rows, block.starts, block.ends))
        for row, begin, end, trace_id, span_id in zip(*places, *ids, strict=True):
            # Most have the head of the line before; none begins with a line feed.
            if not data.startswith(head, begin):
                head = self._lines.head(data[begin:end]) or b"\n"
            if head == b"\n" or not data.endswith(TAIL, begin, end):
                continue
            with suppress(orjson.JSONDecodeError):
                span = loads(data[begin + len(head) : end - len(TAIL)])
                if type(span) is dict and (span.get("traceId"), span.get("spanId")) == (trace_id, span_id):
                    attributes = attributes_of(span.get("attributes"))
                    if SPAN_TYPE not in attributes:
                        found[row] = attributes
        return found


def _ids_in(digits: NDArray[np.uint8]) -> list[str]:
    """Return ids as texts."""
    text, length = digits.tobytes().decode(), digits.shape[1]
    return [text[first : first + length] for first in range(0, len(text), length)]


def _digits(halves: tuple[NDArray[np.uint64], ...]) -> NDArray[np.uint8]:
    """Return ids as hex digits, a row each."""
    words = np.stack(halves, axis=1).astype(">u8")
    return np.frombuffer(hexlify(words.tobytes()), np.uint8).reshape(len(words), 16 * len(halves))


def _have(text: NDArray[np.uint8], starts: Rows, expected: NDArray[np.uint8]) -> Flags:
    """Tell where a text has what is expected."""
    positions = np.clip(starts[:, None] + np.arange(expected.shape[1]), 0, len(text) - 1)
    flags: Flags = (text[positions] == expected).all(axis=1)
    return flags
