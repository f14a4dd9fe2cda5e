"""Spans straight from lines of OTLP to columns, many at a time, without decoding them.

A line is taken if it has one trace id only, if every literal is where the layout has it, if what is between them is an
id, a time, a number or a text, and if what it has before and after its span was decoded before. From its attributes
to the end of its span all is skipped. Any other line is for the general decoder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from spanview.index.gather import Template, ids_of
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.times import NO_TIME
from spanview.quick import layouts
from spanview.quick.heads import Heads, OtlpLines
from spanview.quick.matches import Matches
from spanview.quick.times import NANOSECOND_DIGITS, nanoseconds_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.gather import Bytes
    from spanview.quick.texts import Names

_LAYOUT: Final = layouts.OTLP
_IDS: Final = Template(_LAYOUT.trace_id, 32, _LAYOUT.span_id, 16, b'",')
_SPAN_ID: Final = len(_LAYOUT.trace_id) + 32 + len(_LAYOUT.span_id)
_PARENT: Final = Template(_LAYOUT.parent_id, 16, b'",')
_FLAGS: Final = Template(_LAYOUT.flags, 3, _LAYOUT.name)
_KIND: Final = Template(_LAYOUT.kind)
_START: Final = Template(_LAYOUT.kind, 1, _LAYOUT.start_time, NANOSECOND_DIGITS, b'"')
_START_TIME: Final = len(_LAYOUT.kind) + 1 + len(_LAYOUT.start_time)
_END: Final = Template(_LAYOUT.end_time, NANOSECOND_DIGITS, b'"')
_UNSET: Final = Template(_LAYOUT.status, _LAYOUT.attributes)
_CODED: Final = Template(_LAYOUT.status, _LAYOUT.code, 1, _LAYOUT.attributes)
_CODE: Final = len(_LAYOUT.status + _LAYOUT.code)
MIN_BYTES: Final = _IDS.width + _FLAGS.width + _START.width + _UNSET.width
"""Bytes of a line that fits, if not more."""
_TEXT: Final = rb'"((?:[^"\\\x00-\x1f]|\\.)*+)"'
_NAME: Final = re.compile(_TEXT + re.escape(_LAYOUT.kind[1:]))
_DESCRIBED: Final = re.compile(
    re.escape(_LAYOUT.status + _LAYOUT.code) + rb'([0-2]),"message":' + _TEXT + re.escape(_LAYOUT.attributes)
)
_PENDING: Final = b"pending_span"
_ZERO, _PARENT_LETTER, _END_LETTER, _CLOSE = b"0pe}"


class OtlpScanner:
    """Scans lines; it keeps what it has seen before and after spans.

    Args:
        process_number: Returns the number of what a resource says of its process.
    """

    def __init__(
        self, names: Names, service_number: Callable[[str], int], process_number: Callable[[str], int], *, cap: int
    ) -> None:
        self._cap = cap
        self._names = names
        self._heads = Heads(service_number, process_number)

    def take(self, data: bytearray, buffer: Bytes, lines: OtlpLines) -> dict[str, NDArray[Any]]:
        """Return the columns of the lines that fit, with `start` and `end` among them; a margin follows the bytes."""
        matches = Matches(np.arange(len(lines.starts)), lines.spans, start=lines.starts, end=lines.ends)
        matches.keep(lines.ends - lines.starts <= self._cap)
        rows = matches.take(_IDS, buffer)
        begin = len(_LAYOUT.trace_id)
        digits = np.concatenate([rows[:, begin : begin + 32], rows[:, _SPAN_ID : _SPAN_ID + 16]], axis=1)
        ids, fits = ids_of(digits)
        matches.columns |= {"trace_high": ids[:, 0], "trace_low": ids[:, 1], "span_id": ids[:, 2]}
        matches.keep(fits)
        self._take_parents(buffer, matches)
        self._take_names(data, buffer, matches)
        self._take_times(buffer, matches)
        self._take_statuses(data, buffer, matches)
        columns = matches.columns
        chosen = OtlpLines(lines.starts[matches.indexes], lines.spans[matches.indexes], lines.ends[matches.indexes])
        columns["service"], columns["process"] = self._heads.numbers(data, buffer, chosen, matches.positions)
        fits = columns["service"] >= 0
        fits &= (columns["trace_high"] | columns["trace_low"]) != 0
        fits &= columns["span_id"] != 0
        # Logfire's pending spans, which stand for their parents, end when they start, as hardly any other span does.
        for index in np.flatnonzero(fits & (columns["start_ns"] == columns["end_ns"]) & (columns["parent_id"] != 0)):
            fits[index] = data.find(_PENDING, int(columns["start"][index]), int(columns["end"][index])) < 0
        matches.keep(fits)
        return matches.columns

    def _take_parents(self, buffer: Bytes, matches: Matches) -> None:
        """Take parents and flags; the positions are then those of the names."""
        has_parent = buffer[matches.positions + 1] == _PARENT_LETTER
        parent_ids = np.zeros(len(has_parent), np.uint64)
        rows, fits = matches.take_where(has_parent, _PARENT, buffer)
        begin = len(_LAYOUT.parent_id)
        ids, are_ids = ids_of(rows[:, begin : begin + 16])
        parent_ids[has_parent] = ids[:, 0]
        fits[has_parent] &= are_ids
        matches.columns["parent_id"] = parent_ids
        matches.keep(fits)
        rows = matches.take(_FLAGS, buffer)
        begin = len(_LAYOUT.flags)
        digits = rows[:, begin : begin + 3] - np.uint8(_ZERO)
        matches.keep((digits <= 9).all(axis=1) & (digits[:, 0] != 0))  # noqa: PLR2004

    def _take_names(self, data: bytearray, buffer: Bytes, matches: Matches) -> None:
        """Take names; the positions are then those of their ends."""
        starts = matches.positions
        texts, lengths = self._names.texts_at(buffer, starts)
        ends = starts + lengths
        fits = _KIND.take(buffer, ends)[1]
        names = self._names.find(texts, lengths, fits)
        for index in np.flatnonzero(~fits).tolist():
            match = _NAME.match(data, int(starts[index]) - 1)
            if match:
                names[index], ends[index] = self._names.numbers[match[1]], match.end(1)
        matches.columns["name"], matches.positions = names, ends
        matches.keep(names >= 0)

    def _take_times(self, buffer: Bytes, matches: Matches) -> None:
        """Take kinds, starts and ends; a line without an end is of a span that hadn't ended."""
        rows = matches.take(_START, buffer)
        kinds = rows[:, len(_LAYOUT.kind)] - np.uint8(_ZERO + 1)
        matches.columns["kind"] = kinds
        matches.columns["start_ns"], fits = nanoseconds_of(rows, _START_TIME)
        fits &= kinds < len(KIND_NAMES)
        fits &= matches.columns["start_ns"] > 0
        matches.keep(fits)
        has_end = buffer[matches.positions + 2] == _END_LETTER
        ends = np.full(len(has_end), NO_TIME)
        rows, fits = matches.take_where(has_end, _END, buffer)
        ends[has_end], are_times = nanoseconds_of(rows, len(_LAYOUT.end_time))
        fits[has_end] &= are_times & (ends[has_end] >= matches.columns["start_ns"][has_end])
        matches.columns["end_ns"] = ends
        matches.keep(fits)

    def _take_statuses(self, data: bytearray, buffer: Bytes, matches: Matches) -> None:
        """Take statuses; the positions are then those of the attributes."""
        is_coded = buffer[matches.positions + len(_LAYOUT.status)] != _CLOSE
        begins = matches.positions
        statuses = np.zeros(len(begins), np.uint8)
        rows, fits = matches.take_where(is_coded, _CODED, buffer)
        statuses[is_coded] = rows[:, _CODE] - np.uint8(_ZERO)
        fits &= (statuses < len(STATUS_NAMES)) & matches.take_where(~is_coded, _UNSET, buffer)[1]
        for index in np.flatnonzero(is_coded & ~fits).tolist():
            match = _DESCRIBED.match(data, int(begins[index]))
            if match and _is_text(match[2]):
                fits[index], statuses[index], matches.positions[index] = True, int(match[1]), match.end()
        matches.columns["status"] = statuses
        matches.keep(fits)


def _is_text(raw: bytes) -> bool:
    """Return whether bytes between quotes are a text of JSON."""
    try:
        orjson.loads(b'"%b"' % raw)
    except orjson.JSONDecodeError:
        return False
    return True
