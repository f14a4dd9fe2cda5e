"""Spans straight from lines of OTLP to columns, many at a time, without decoding them.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[      a head: a resource and a scope
{"traceId":"…",…},{"traceId":"…",…}                                         spans
]}]},{"resource":{…},"scopeSpans":[{"spans":[                               an end and another head
{"traceId":"…",…}
]}]}]}                                                                      the end of a line

Heads and ends are known: each different one is decoded once. Of a span the front and the status are read, the other
members are skipped; where something in it is unusual, it alone is decoded. If that doesn't tell all of it, its line is
for the general decoder.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from spanview.formats.jsontext import loads_usual
from spanview.formats.otlp import read
from spanview.formats.otlp.rows import OF_DOCUMENTS, OF_RESOURCES, OF_SCOPES, objects_in, row_of
from spanview.formats.usual import NOWHERE
from spanview.index.gather import Template
from spanview.model.codes import KIND_NAMES, KIND_UNSPECIFIED, STATUS_NAMES
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME
from spanview.quick.brackets import Brackets, Objects
from spanview.quick.known_rows import NO_NUMBER, KnownTexts
from spanview.quick.objects import (
    COLUMNS,
    Identifier,
    Name,
    Nanoseconds,
    Number,
    ObjectField,
    ObjectLayout,
    ObjectScanner,
    no_spans,
    usual,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.quick.objects import Lines
    from spanview.quick.texts import Names

BEGIN: Final = b'{"resour'
"""What lines begin with."""
_SPAN_BEGIN: Final = b'{"traceI'
_DEPTH: Final = 7
"""Brackets that are open in a span."""
_LINK_DEPTH: Final = _DEPTH + 2
_COUNT: Final = rb'":(?:0|[1-9][0-9]{0,8})'
_LAYOUT: Final = (
    rb"(?:flags|dropped(?:Attributes|Events|Links)Count)" + _COUNT,
    ('attributes":[', 'events":[', 'links":['),
    ('status":{',),
    (),
)
_STATUS: Final = "0"
"""The place of the one that is in a column."""
MIN_BYTES: Final = len('{"traceId":"","spanId":"","name":"","kind":1,"startTimeUnixNano":""},') + 32 + 16 + 19
"""Bytes of a span that fits, if not more."""
_SCHEMA: Final = rb'(?:,"schemaUrl":"[^"\\]*")?'
_END: Final = rb"(?P<scope>\]" + _SCHEMA + rb"\})(?P<resource>\]" + _SCHEMA + rb"\})"
# `]}]}]}` · `],"schemaUrl":"https://a"}]}]}`
TAIL: Final = re.compile(_END + rb"\]\}")
# `]}]},{"resource":…` · `]},{"scope":…`: the end of a scope, perhaps that of a resource, and another one's head.
NEXT: Final = re.compile(_END + rb"?,(?P<head>\{.*)", re.DOTALL)
RESOURCES, SCOPES = rb'{"resourceSpans":[', rb'"scopeSpans":['
"""What precedes the head of a resource, and that of a scope."""
_CLOSE: Final = b"]}]}]}"
_SPAN: Final = {"traceId": "1" * 32, "spanId": "1" * 16, "startTimeUnixNano": "1", "endTimeUnixNano": "1"}
_SAME: Final = -2
"""The number of a head of another scope of the same resource."""
_PLAIN_END: Final = Template(b"}" + _CLOSE)
_ATTRIBUTES: Final = b',"attributes":['
_STATUS_KEY: Final = b',"status":'
_LATER: Final = len(STATUS_NAMES)
"""Stands for a status, if there is one, behind the attributes."""
_LATER_KEYS: Final = frozenset(
    (
        *("attributes", "status", "flags", "events", "links"),
        *("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
    )
)
"""Of a span, those that may come from its status on."""
_PENDING: Final = b"pending_span"
_ODD_SHARE: Final = 4
"""If more than one span in this many is unusual, decoding them one by one costs more than decoding all."""


class OtlpScanner:
    """Scans lines; it keeps what it has seen before, between and after spans.

    Args:
        service_number: Returns the number of a service.
        process_number: Returns the number of what a resource says of its process.
    """

    def __init__(
        self, names: Names, service_number: Callable[[str], int], process_number: Callable[[str], int], *, cap: int
    ) -> None:
        self._cap, self._names = cap, names
        self._service_number, self._process_number = service_number, process_number
        fields = (
            ObjectField("traceId", "trace", Identifier(32)),
            ObjectField("spanId", "span_id", Identifier(16)),
            ObjectField("parentSpanId", "parent_id", Identifier(16, is_optional=True), 0),
            ObjectField("flags", "", Number(), 0),
            ObjectField("name", "name", Name(names)),
            ObjectField("kind", "kind", Number(len(KIND_NAMES)), 0),
            ObjectField("startTimeUnixNano", "start_ns", Nanoseconds()),
            ObjectField("endTimeUnixNano", "end_ns", Nanoseconds(), NO_TIME),
        )
        self._objects = ObjectScanner(ObjectLayout(_DEPTH, fields, *_LAYOUT), _status_of)
        self._heads = KnownTexts(self._number_of_head)
        self._tails = KnownTexts(lambda text: 0 if TAIL.fullmatch(text) else NO_NUMBER)
        self._fronts = KnownTexts(_status_in_front)
        self._ends = KnownTexts(_status_in_end)
        self._resources: dict[tuple[int, int], int] = {}
        """By the numbers of service and process."""

    def take(self, data: bytearray, buffer: Bytes, lines: Lines) -> list[dict[str, NDArray[Any]]]:
        """Return columns of the spans of lines that fit, those of `COLUMNS`; a margin follows the bytes."""
        plain, others = self._take_plain(data, buffer, lines)
        return [plain, self._take_any(data, buffer, lines.at(others))]

    def _take_plain(self, data: bytearray, buffer: Bytes, lines: Lines) -> tuple[dict[str, NDArray[Any]], Places]:
        """Return the columns of lines with one span, in which nothing behind the status has to be found.

        Returns:
            Also the indexes of the other lines.
        """
        single = np.flatnonzero((lines.counts == 1) & (lines.ends - lines.starts <= self._cap))
        if not len(single):
            return no_spans(), np.arange(len(lines.starts))
        starts, ends, spans = lines.starts[single], lines.ends[single], lines.firsts[single] - len(b"{")
        columns, places, fits = self._objects.fronts(data, buffer, spans)
        bounds = zip(places.tolist(), ends.tolist(), strict=True)
        ends_of_front = np.array([data.find(_ATTRIBUTES, begin, end) for begin, end in bounds]) + len(_ATTRIBUTES)
        statuses = self._fronts.find(buffer, places, ends_of_front)
        fits &= usual(columns) & (statuses != NO_NUMBER)
        # What a front lacks may come behind the attributes.
        for key, are_lacking in (
            (b'"parentSpanId"', columns["parent_id"] == 0),
            (b'"kind":', columns["kind"] == 0),
            (b'"endTimeUnixNano"', columns["end_ns"] == NO_TIME),
        ):
            for index in np.flatnonzero(fits & are_lacking).tolist():
                fits[index] = data.find(key, int(ends_of_front[index]), int(ends[index])) < 0
        last, before = (buffer[ends - _PLAIN_END.width - distance] for distance in (1, 3))
        are_plain = fits & (last != ord("{")) & _PLAIN_END.fits(buffer, ends - _PLAIN_END.width, ends_of_front)
        # Without its last brackets, a line with events ends as one without events does.
        doubtful = np.flatnonzero(are_plain & ((last != ord("]")) | (before == ord("}")) | (before == ord(":"))))
        lists = [*map(data.find, repeat(b"["), ends_of_front[doubtful].tolist(), ends[doubtful].tolist())]
        for index in doubtful[np.array(lists) >= 0].tolist():
            are_plain[index] = data.find(b'"events":[{', int(ends_of_front[index]), int(ends[index])) < 0
        fits &= are_plain | (statuses == _LATER)
        later = np.flatnonzero(fits & (statuses == _LATER))
        if len(later):
            bounds = zip(ends_of_front[later].tolist(), ends[later].tolist(), strict=True)
            begins = np.array([data.rfind(_STATUS_KEY, begin, end) for begin, end in bounds])
            # Without a list before it, what precedes a status isn't known.
            is_odd = (begins >= 0) & (buffer[begins - 1] != ord("]"))
            begins = np.where(begins < 0, ends[later] - len(b"]}" + _CLOSE) * are_plain[later], begins)
            statuses[later] = np.where(is_odd, NO_NUMBER, self._ends.find(buffer, begins, ends[later]))
        self._leave_pending(data, columns, fits, (spans, ends))
        resources = self._heads.find(buffer, starts, spans)
        fits &= (resources != NO_NUMBER) & (statuses != NO_NUMBER)
        columns["status"] = statuses
        columns |= {"start": starts, "end": ends, "part": np.zeros_like(starts), "parts": np.ones_like(starts)}
        return self._columns(columns, resources, fits), np.delete(np.arange(len(lines.starts)), single[fits])

    def _take_any(self, data: bytearray, buffer: Bytes, lines: Lines) -> dict[str, NDArray[Any]]:
        """Return the columns of the spans of any lines."""
        if not len(lines.starts):
            return no_spans()
        data, buffer, starts, ends = lines.gathered(data, buffer)
        brackets = Brackets(buffer, starts, ends)
        spans, owners = inside(brackets, starts, ends)
        if not len(owners):
            return no_spans()
        columns, fits = self._objects.take(data, buffer, brackets, spans)
        line_starts, line_ends = starts, ends
        starts, ends = brackets.positions[spans.opens], brackets.positions[spans.closes] + 1
        fits &= usual(columns)
        columns["status"] = np.maximum(columns[_STATUS], 0)
        self._leave_pending(data, columns, fits, (starts, ends))
        resources = self._between(buffer, (starts, ends), owners, (line_starts, line_ends))
        counts = np.bincount(owners, minlength=len(line_starts))
        # Damage can leave another record, or a part of one, among attributes.
        known = counts
        if (lines.counts != counts).any():
            known = counts + np.bincount(
                inside(brackets, line_starts, line_ends, _LINK_DEPTH)[1], minlength=len(counts)
            )
        lines_fit = (counts > 0) & (line_ends - line_starts <= self._cap) & (lines.counts == known)
        lines_fit[owners[resources == NO_NUMBER]] = False
        odd = np.flatnonzero(~fits & lines_fit[owners] & (counts[owners] > 1))
        if len(odd) <= len(fits) // _ODD_SHARE:
            for index in odd.tolist():
                fits[index] = self._decode(bytes(data[starts[index] : ends[index]]), columns, index)
        lines_fit[owners[~fits]] = False
        firsts = np.cumsum(counts) - counts
        columns |= {"start": lines.starts[owners], "end": lines.ends[owners], "parts": counts[owners]}
        columns["part"] = np.arange(len(owners)) - firsts[owners]
        return self._columns(columns, resources, lines_fit[owners])

    def _columns(
        self, columns: dict[str, NDArray[Any]], resources: NDArray[np.int64], fits: Flags
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of spans that fit."""
        numbers = np.array([*self._resources, (0, 0)])[resources]
        columns |= {"service": numbers[:, 0], "process": numbers[:, 1]}
        columns["kind"] = np.where(columns["kind"] == 0, KIND_UNSPECIFIED, columns["kind"] - 1)
        chosen = np.flatnonzero(fits)
        return {name: columns[name][chosen] for name in COLUMNS}

    def _leave_pending(
        self, data: bytearray, columns: dict[str, NDArray[Any]], fits: Flags, spans: tuple[Places, Places]
    ) -> None:
        """Leave Logfire's pending spans to the decoder, which stand for their parents."""
        # They end when they start, as hardly any other span does.
        for index in np.flatnonzero(fits & (columns["start_ns"] == columns["end_ns"]) & (columns["parent_id"] != 0)):
            fits[index] = data.find(_PENDING, *(int(places[index]) for places in spans)) < 0

    def _between(
        self, buffer: Bytes, spans: tuple[Places, Places], owners: Places, lines: tuple[Places, Places]
    ) -> NDArray[np.int64]:
        """Return the number of each span's resource, `NO_NUMBER` where something before or behind isn't recognized."""
        (starts, ends), (line_starts, line_ends) = spans, lines
        are_first, are_last = np.diff(owners, prepend=-1) != 0, np.diff(owners, append=-1) != 0
        before = np.append(0, ends[:-1])
        before[are_first] = line_starts[owners[are_first]]
        others = np.flatnonzero((starts - before != 1) | (buffer[before] != ord(",")) | are_first)
        numbers = np.full(len(starts), _SAME)
        numbers[others] = self._heads.find(buffer, before[others], starts[others])
        # A span has the resource of the one before it, if no head names another.
        sources = np.maximum.accumulate(np.where(numbers == _SAME, 0, np.arange(len(numbers))))
        numbers = numbers[sources]
        tails = self._tails.find(buffer, ends[are_last], line_ends[owners[are_last]])
        numbers[np.flatnonzero(are_last)[tails == NO_NUMBER]] = NO_NUMBER
        return numbers

    def _number_of_head(self, text: bytes) -> int:
        """Return the number of the resource that a head is of, `_SAME` for one of a scope only."""
        following = NEXT.fullmatch(text)
        if following is None:
            names = names_in(text)
        elif following["resource"] is None:
            return NO_NUMBER if names_in(RESOURCES + b"{" + SCOPES + following["head"]) is None else _SAME
        else:
            names = names_in(RESOURCES + following["head"])
        if names is None:
            return NO_NUMBER
        service, process = names
        numbers = self._service_number(service), self._process_number(process)
        return self._resources.setdefault(numbers, len(self._resources))

    def _decode(self, text: bytes, columns: dict[str, NDArray[Any]], index: int) -> bool:
        """Put what a decoded span says into its columns; tell whether that is all there is to say."""
        value = loads_usual(text)
        row = None if value is None else row_of(value, "", "")
        if row is None or row[7] & ~Warnings.NO_END.value or row[1] == NO_TIME:
            return False
        ids, start, end, name, _, kind, status, _, _ = row
        words = (int.from_bytes(ids[first : first + 8]) for first in range(0, len(ids), 8))
        of_otlp = 0 if kind == KIND_UNSPECIFIED else kind + 1
        values = (*words, start, end, self._names.numbers.number(name), of_otlp, status)
        for column, value in zip(_DECODED, values, strict=True):
            columns[column][index] = value
        return True


_DECODED: Final = (
    *("trace_high", "trace_low", "span_id", "parent_id", "start_ns", "end_ns", "name", "kind", "status"),
)


def inside(brackets: Brackets, starts: Places, ends: Places, depth: int = _DEPTH) -> tuple[Objects, Places]:
    """Return the spans, or links, that have so many brackets open, in some lines, and the lines' indexes."""
    found = brackets.at(depth, _SPAN_BEGIN)
    places = brackets.positions[found.opens]
    owners = np.searchsorted(starts, places, "right") - 1
    chosen = np.flatnonzero((owners >= 0) & (places < ends[owners]))
    return Objects(found.opens[chosen], found.closes[chosen]), owners[chosen]


def _status_of(_: str, text: bytes) -> int:
    """Return the code of the text of a status; `NO_NUMBER` where it isn't usual."""
    status = loads_usual(text)
    row = None if status is None else row_of({**_SPAN, "status": status}, "", "")
    return NO_NUMBER if row is None else int(row[6])


def _status_in_front(text: bytes) -> int:
    """Return the code of the status between times and attributes, `_LATER` for none."""
    status = text.removeprefix(_STATUS_KEY).removesuffix(_ATTRIBUTES)
    return _status_of("", status) if status and status != text else _LATER if text == _ATTRIBUTES else NO_NUMBER


def _status_in_end(text: bytes) -> int:
    """Return the code of the status with which a line ends, or without one; `NO_NUMBER` where it isn't usual."""
    before, end, rest = ((b"]" if text.startswith(_STATUS_KEY) else b"") + text).rpartition(_CLOSE)
    span = loads_usual(b'{"attributes":[' + before) if end and not rest else None
    row = None if span is None or not span.keys() <= _LATER_KEYS else row_of({**_SPAN, **span}, "", "")
    return NO_NUMBER if row is None else int(row[6])


def names_in(head: bytes) -> tuple[str, str] | None:
    """Return service and process of the spans behind a head; None for what isn't usual."""
    try:
        document = orjson.loads(head + b"{" + b"}" + _CLOSE)
        (of_resource,) = objects_in(document, "resourceSpans", OF_DOCUMENTS)
        (of_scope,) = objects_in(of_resource, "scopeSpans", OF_RESOURCES)
        (_,) = objects_in(of_scope, "spans", OF_SCOPES)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    of_scope["spans"] = [_SPAN]
    (span,) = read.spans_of(document, NOWHERE)
    return None if span.warnings else (span.service, span.resource.process)
