"""The SDK's records straight from bytes to columns, many at a time, without decoding them.

A record is taken if every literal is where the layout has it, if what is between them is an id, a time, a kind, a text
or a list of events, and if its tail, resource and closing brace, is one that was decoded before. Attributes are
skipped. Any other record is for the general decoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.formats.console.columns import is_event
from spanview.formats.jsontext import loads_usual
from spanview.index.gather import Choice, Template, ids_of
from spanview.model.codes import ERROR, KIND_NAMES, STATUS_NAMES
from spanview.quick import times
from spanview.quick.layouts import INDENTED, ONE_LINE
from spanview.quick.matches import Matches
from spanview.quick.tails import Ends, Tails
from spanview.quick.texts import Names

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.gather import Bytes
    from spanview.quick.layouts import Layout
    from spanview.quick.objects import Lines

_QUOTE: Final = ord('"')
_KINDS: Final = Choice([f'{name}"'.encode() for name in KIND_NAMES])
_STATUSES: Final = Choice([f'{name}"'.encode() for name in STATUS_NAMES])
KIND: Final = b"SpanKind"
"""Occurs exactly once in a record."""


class LayoutTemplates:
    """A layout, made ready to be compared with."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.name = Template(layout.name)
        self.ids = Template(layout.trace_id, 32, layout.span_id, 16, layout.trace_state)
        self.kind = Template(layout.kind)
        self.trace_key_offset, offset = layout.trace_id.index(b'"trace_id"'), len(layout.trace_id)
        self.digits = (offset, 32), (offset + 32 + len(layout.span_id), 16)
        self.parent_value_offset = len(layout.parent_id)
        self.child = Template(layout.parent_id, b'"0x', 16, b'"')
        self.root = Template(layout.parent_id, b"null")
        self.parent_offset = self.parent_value_offset + 3
        self.times = Template(layout.start_time, *times.PARTS, layout.end_time, *times.PARTS, layout.status)
        self.start_offset = len(layout.start_time)
        self.end_offset = self.start_offset + times.WIDTH + len(layout.end_time)
        self.attributes, self.no_events = Template(layout.attributes), Template(layout.events)
        parts = self.name, self.ids, self.kind, self.root, self.times, self.attributes
        self.min_bytes = sum(part.width for part in parts) + len("CLIENT" + "OK")
        """Bytes from the beginning of a record that fits to its attributes, if not more."""


INDENTED_TEMPLATES: Final = LayoutTemplates(INDENTED)
ONE_LINE_TEMPLATES: Final = LayoutTemplates(ONE_LINE)


class LayoutScanner:
    """Scans records of both layouts; it keeps the texts and tails it has seen."""

    def __init__(self, names: Names, number_of: Callable[[str], int], *, cap: int) -> None:
        self._cap = cap
        self._names, self._states = names, Names()
        self._tails = {
            templates: Tails(templates.layout.tail, number_of) for templates in (INDENTED_TEMPLATES, ONE_LINE_TEMPLATES)
        }

    def take(
        self, data: bytearray, buffer: Bytes, records: Lines, kinds: Places, templates: LayoutTemplates
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of the records that fit a layout, with `start` and `end` among them.

        Args:
            data: The bytes, with `MARGIN_BYTES` after them.
            records: What may be records, with one trace id each.
            kinds: Where `KIND` is in each.
        """
        matches = self._heads(buffer, records, kinds + len(KIND) + len("."), templates)
        self._middles(data, buffer, matches, templates)
        columns = matches.columns
        ends = Ends(data, buffer, columns["start"], matches.positions, columns["end"])
        short_enough = np.flatnonzero(ends.ends - ends.starts <= self._cap)
        columns["service"], tails = self._tails[templates].services(ends, short_enough)
        columns["process"] = np.zeros(len(columns["service"]), np.uint32)
        fits = columns["service"] >= 0
        fits &= (columns["trace_high"] | columns["trace_low"]) != 0
        fits &= columns["span_id"] != 0
        fits &= columns["start_ns"] <= columns["end_ns"]
        have_none = templates.no_events.fits(buffer, tails - templates.no_events.width, matches.positions)
        for index in np.flatnonzero(fits & ~have_none).tolist():
            fits[index] = _are_events(data, templates.layout.events, int(matches.positions[index]), int(tails[index]))
        matches.keep(fits)
        starts = matches.columns["start"]
        return matches.columns | {"part": np.zeros_like(starts), "parts": np.ones_like(starts)}

    def _heads(self, buffer: Bytes, records: Lines, kinds: Places, templates: LayoutTemplates) -> Matches:
        """Take names and ids; the positions are then those of the kinds."""
        name_ends = records.firsts - templates.trace_key_offset
        lengths = name_ends - records.starts - templates.name.width
        matches = Matches(name_ends, start=records.starts, end=records.ends, kind=kinds, name=lengths)
        matches.keep((lengths >= 0) & templates.name.take(buffer, records.starts)[1])
        rows = matches.take(templates.ids, buffer)
        digits = [rows[:, offset : offset + count] for offset, count in templates.digits]
        ids, fits = ids_of(np.concatenate(digits, axis=1))
        columns, states, ends = matches.columns, matches.positions, matches.columns["kind"] - templates.kind.width
        fits &= templates.kind.fits(buffer, ends, states) & (self._states.find(buffer, states, ends - states) >= 0)
        columns |= {"trace_high": ids[:, 0], "trace_low": ids[:, 1], "span_id": ids[:, 2]}
        matches.positions = columns["kind"]
        matches.keep(fits)
        columns = matches.columns
        columns["name"] = self._names.find(buffer, columns["start"] + templates.name.width, columns["name"])
        matches.keep(columns["name"] >= 0)
        return matches

    def _middles(self, data: bytearray, buffer: Bytes, matches: Matches, templates: LayoutTemplates) -> None:
        """Take kinds, parents, times and statuses; the positions are then those of the attributes."""
        matches.columns["kind"], matches.positions, fits = _KINDS.take(buffer, matches.positions)
        matches.keep(fits)
        is_child = buffer[matches.positions + templates.parent_value_offset] == _QUOTE
        parent_ids = np.zeros(len(is_child), np.uint64)
        rows, fits = matches.take_where(is_child, templates.child, buffer)
        ids, are_ids = ids_of(rows[:, templates.parent_offset : templates.parent_offset + 16])
        parent_ids[is_child] = ids[:, 0]
        fits[is_child] &= are_ids
        matches.columns["parent_id"] = parent_ids
        matches.keep(fits & matches.take_where(~is_child, templates.root, buffer)[1])
        start_and_end, fits = times.times_of(
            matches.take(templates.times, buffer), (templates.start_offset, templates.end_offset)
        )
        matches.columns["start_ns"], matches.columns["end_ns"] = start_and_end
        matches.keep(fits)
        matches.columns["status"], matches.positions, fits = _STATUSES.take(buffer, matches.positions)
        matches.keep(fits)
        for index in np.flatnonzero(matches.columns["status"] == ERROR).tolist():
            position, end = int(matches.positions[index]), int(matches.columns["end"][index])
            if data.startswith(templates.layout.description, position):
                begin = position + len(templates.layout.description)
                end = data.find(templates.layout.attributes, begin, end)
                if end >= 0 and loads_usual(data[begin - 1 : end + 1]) is not None:
                    matches.positions[index] = end
        matches.take(templates.attributes, buffer)


def _are_events(data: bytearray, key: bytes, begin: int, end: int) -> bool:
    """Tell whether between attributes that begin somewhere and the end of a list there are events, as they should be.

    Args:
        key: What is before the first of them.
    """
    at = data.find(key, begin, end)
    events = loads_usual(data[at + len(key) - 1 : end + 1]) if at >= 0 else None
    return events is not None and all(map(is_event, events))
