"""The SDK's records straight from bytes to columns, many at a time, without decoding them.

A record is taken if every literal is where the layout has it, if what is between them is an id, a time, a kind or a
text, and if its tail, resource and closing brace, is one that was decoded before. Attributes are skipped. Any other
record is for the general decoder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.index.gather import Choice, Template, ids_of
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.quick import times
from spanview.quick.layouts import INDENTED, ONE_LINE
from spanview.quick.matches import Matches
from spanview.quick.tails import Ends, Tails
from spanview.quick.texts import TextNumbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.gather import Bytes
    from spanview.quick.layouts import Layout
    from spanview.quick.texts import Names

_QUOTE: Final = ord('"')
_KINDS: Final = Choice([f'{name}"'.encode() for name in KIND_NAMES])
_STATUSES: Final = Choice([f'{name}"'.encode() for name in STATUS_NAMES])


class LayoutTemplates:
    """A layout, made ready to be compared with."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.name = Template(layout.name)
        self.ids = Template(layout.trace_id, 32, layout.span_id, 16, layout.trace_state, b"[]", layout.kind)
        self.trace_offset = len(layout.trace_id)
        self.span_offset = self.trace_offset + 32 + len(layout.span_id)
        self.parent_value_offset = len(layout.parent_id)
        self.child = Template(layout.parent_id, b'"0x', 16, b'"')
        self.root = Template(layout.parent_id, b"null")
        self.parent_offset = self.parent_value_offset + 3
        self.times = Template(layout.start_time, *times.PARTS, layout.end_time, *times.PARTS, layout.status)
        self.start_offset = len(layout.start_time)
        self.end_offset = self.start_offset + times.WIDTH + len(layout.end_time)
        self.attributes = Template(layout.attributes)
        text = rb'((?:[^"\\\x00-\x1f]|\\.)*+)'
        parts = (layout.name, layout.trace_id, layout.span_id, layout.trace_state, layout.kind)
        name, trace_id, span_id, state, kind = map(re.escape, parts)
        digits = (rb"([0-9a-fA-F]{32})", rb"([0-9a-fA-F]{16})")
        self.head = re.compile(name + text + trace_id + digits[0] + span_id + digits[1] + state + text + kind)
        widths = (
            self.ids.width,
            len("CLIENT"),
            self.root.width,
            self.times.width,
            len("OK"),
            self.attributes.width,
        )
        self.min_bytes = len(layout.name) + sum(widths)
        """Bytes from the beginning of a record that fits to its attributes, if not more."""


INDENTED_TEMPLATES: Final = LayoutTemplates(INDENTED)
ONE_LINE_TEMPLATES: Final = LayoutTemplates(ONE_LINE)


class LayoutScanner:
    """Scans records of both layouts; it keeps the texts and tails it has seen."""

    def __init__(self, names: Names, number_of: Callable[[str], int], *, cap: int) -> None:
        self._cap = cap
        self._names = names
        self._states = TextNumbers()
        self._tails = {
            templates: Tails(templates.layout.tail, number_of) for templates in (INDENTED_TEMPLATES, ONE_LINE_TEMPLATES)
        }

    def take(
        self, data: bytearray, buffer: Bytes, starts: Places, ends: Places, templates: LayoutTemplates
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of the records that fit a layout, with `start` and `end` among them.

        Args:
            data: The bytes, with `MARGIN_BYTES` after them.
            starts: Where each record begins, if it is one.
            ends: Where each record ends: after a brace.
        """
        matches = self._heads(data, buffer, starts, templates)
        matches.columns["start"], matches.columns["end"] = starts[matches.indexes], ends[matches.indexes]
        self._middles(buffer, matches, templates)
        columns = matches.columns
        records = Ends(data, buffer, columns["start"], matches.positions, columns["end"])
        short_enough = np.flatnonzero(records.ends - records.starts <= self._cap)
        columns["service"] = self._tails[templates].services(records, short_enough)
        columns["process"] = np.zeros(len(columns["service"]), np.uint32)
        fits = columns["service"] >= 0
        fits &= (columns["trace_high"] | columns["trace_low"]) != 0
        fits &= columns["span_id"] != 0
        fits &= columns["start_ns"] <= columns["end_ns"]
        matches.keep(fits)
        starts = matches.columns["start"]
        return matches.columns | {"part": np.zeros_like(starts), "parts": np.ones_like(starts)}

    def _heads(self, data: bytearray, buffer: Bytes, starts: Places, templates: LayoutTemplates) -> Matches:
        """Take names and ids; the positions are then those of the kinds."""
        name_starts = starts + templates.name.width
        texts, lengths = self._names.texts_at(buffer, name_starts)
        rows, fits = templates.ids.take(buffer, name_starts + lengths)
        fits &= templates.name.take(buffer, starts)[1]
        digits = np.concatenate(
            [
                rows[:, templates.trace_offset : templates.trace_offset + 32],
                rows[:, templates.span_offset : templates.span_offset + 16],
            ],
            axis=1,
        )
        kinds = name_starts + lengths + templates.ids.width
        names = self._names.find(texts, lengths, fits)
        for index in np.flatnonzero(~fits).tolist():
            match = templates.head.match(data, int(starts[index]))
            if match and self._states[match[4]] >= 0:
                names[index] = self._names.numbers[match[1]]
                digits[index] = np.frombuffer(match[2] + match[3], np.uint8)
                kinds[index] = match.end()
        ids, are_ids = ids_of(digits)
        matches = Matches(np.arange(len(starts)), kinds, name=names, ids=ids)
        matches.keep((names >= 0) & are_ids)
        ids = matches.columns.pop("ids")
        matches.columns |= {"trace_high": ids[:, 0], "trace_low": ids[:, 1], "span_id": ids[:, 2]}
        return matches

    def _middles(self, buffer: Bytes, matches: Matches, templates: LayoutTemplates) -> None:
        """Take kinds, parents, times and statuses; the positions are then those of the attributes."""
        matches.columns["kind"], matches.positions, fits = _KINDS.take(buffer, matches.positions)
        matches.keep(fits)
        is_child = buffer[matches.positions + templates.parent_value_offset] == _QUOTE
        parent_ids = np.zeros(len(matches.indexes), np.uint64)
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
        matches.take(templates.attributes, buffer)
