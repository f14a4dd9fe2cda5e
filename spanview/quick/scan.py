"""Spans straight from bytes to columns, many at a time, without decoding them.

A record is taken if every literal is where the layout has it, if what is between them is an id, a time, a kind or a
text, and if its tail, resource and closing brace, is one that was decoded before. Attributes are skipped. Any other
record is for the general decoder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from spanview.index.gather import Choice, Template, ids_of, rows_at
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.quick import times
from spanview.quick.known_rows import NO_NUMBER, KnownRows
from spanview.quick.layouts import INDENTED, ONE_LINE
from spanview.quick.tails import Ends, Tails

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.quick.layouts import Layout

MARGIN_BYTES: Final = 1024
"""Bytes after the last record in a buffer, so that reading beyond its end is possible."""
_NAME_BYTES: Final = 64
"""Bytes of a name, its quote included, that are compared for all records at once."""
_QUOTE, _BACKSLASH = b'"\\'
_NAME_MASKS: Final = (np.tri(_NAME_BYTES, _NAME_BYTES, -1, np.uint8) * np.uint8(255)).view(np.uint64)
"""For each length of a name, the words that mask what follows it."""


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


class TextNumbers(dict[bytes, int]):
    """Texts as in JSON, without their quotes, and the numbers of their values; -1 for what isn't a text."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        """The texts themselves, in the order of their numbers."""

    def __missing__(self, raw: bytes) -> int:
        try:
            number = self.number(orjson.loads(b'"' + raw + b'"'))
        except orjson.JSONDecodeError:
            number = NO_NUMBER
        self[raw] = number
        return number

    def number(self, text: str) -> int:
        """Return the number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))


class _Matches:
    """The records that fit so far: their indexes among all, the positions of their next parts, and their columns."""

    __slots__ = ("columns", "indexes", "positions")

    def __init__(self, indexes: Places, positions: Places, **columns: NDArray[Any]) -> None:
        self.indexes, self.positions, self.columns = indexes, positions, columns

    def keep(self, fits: Flags | None) -> bool:
        """Keep only those that fit; tell whether any were left out."""
        if fits is None or fits.all():
            return False
        # Numbers choose quicker than flags.
        selected = np.flatnonzero(fits)
        self.indexes, self.positions = self.indexes[selected], self.positions[selected]
        self.columns = {name: values[selected] for name, values in self.columns.items()}
        return True

    def take(self, template: Template, buffer: Bytes) -> Bytes:
        """Return the next bytes of the records that fit a template, and keep only these."""
        rows, fits = template.take(buffer, self.positions)
        self.positions = self.positions + template.width
        return rows[fits] if self.keep(fits) else rows


class LayoutScanner:
    """Scans records of both layouts; it keeps the texts and tails it has seen.

    Args:
        cap: Bytes of the longest record that is taken.
    """

    def __init__(self, *, cap: int) -> None:
        self._cap = cap
        self.names = TextNumbers()
        self.services = TextNumbers()
        self._states = TextNumbers()
        self._known_names = KnownRows(_NAME_BYTES)
        self._tails = {
            templates: Tails(templates.layout.tail, self.services.number)
            for templates in (INDENTED_TEMPLATES, ONE_LINE_TEMPLATES)
        }

    def take(
        self, data: bytearray, buffer: Bytes, starts: Places, ends: Places, templates: LayoutTemplates
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of the records that fit a layout, with `start` and `end` among them.

        Args:
            data: The bytes, with `MARGIN_BYTES` after them.
            buffer: The same bytes.
            starts: Where each record begins, if it is one.
            ends: Where it ends: after a brace.
            templates: The layout.
        """
        matches = self._heads(data, buffer, starts, templates)
        matches.columns["start"], matches.columns["end"] = starts[matches.indexes], ends[matches.indexes]
        self._middles(buffer, matches, templates)
        columns = matches.columns
        records = Ends(data, buffer, columns["start"], matches.positions, columns["end"])
        short_enough = np.flatnonzero(records.ends - records.starts <= self._cap)
        columns["service"] = self._tails[templates].services(records, short_enough)
        fits = columns["service"] >= 0
        fits &= (columns["trace_high"] | columns["trace_low"]) != 0
        fits &= columns["span_id"] != 0
        fits &= columns["start_ns"] <= columns["end_ns"]
        matches.keep(fits)
        return matches.columns

    def _heads(self, data: bytearray, buffer: Bytes, starts: Places, templates: LayoutTemplates) -> _Matches:
        """Take names and ids; the positions are then those of the kinds."""
        name_starts = starts + templates.name.width
        texts = rows_at(buffer, name_starts, _NAME_BYTES)
        lengths = (texts == _QUOTE).argmax(axis=1)
        rows, fits = templates.ids.take(buffer, name_starts + lengths)
        begin_well = templates.name.take(buffer, starts)[1]
        if begin_well is not None:
            fits = begin_well if fits is None else fits & begin_well
        escapes = texts == _BACKSLASH
        if escapes.any():
            plain = ~(escapes.any(axis=1) & (escapes.argmax(axis=1) < lengths))
            fits = plain if fits is None else fits & plain
        names = np.full(len(starts), NO_NUMBER, np.int64)
        digits = np.concatenate(
            [
                rows[:, templates.trace_offset : templates.trace_offset + 32],
                rows[:, templates.span_offset : templates.span_offset + 16],
            ],
            axis=1,
        )
        kinds = name_starts + lengths + templates.ids.width
        if fits is None:
            names = self._names(texts, lengths)
        else:
            names[fits] = self._names(texts[fits], lengths[fits])
            for index in np.flatnonzero(~fits).tolist():
                match = templates.head.match(data, int(starts[index]))
                if match and self._states[match[4]] >= 0:
                    names[index] = self.names[match[1]]
                    digits[index] = np.frombuffer(match[2] + match[3], np.uint8)
                    kinds[index] = match.end()
        ids, are_ids = ids_of(digits)
        matches = _Matches(np.arange(len(starts)), kinds, name=names, ids=ids)
        matches.keep(names >= 0 if are_ids is None else (names >= 0) & are_ids)
        ids = matches.columns.pop("ids")
        matches.columns |= {"trace_high": ids[:, 0], "trace_low": ids[:, 1], "span_id": ids[:, 2]}
        return matches

    def _names(self, texts: Bytes, lengths: Places) -> NDArray[np.int64]:
        """Return the numbers of names that end before their rows do, none of them with an escape."""
        words = texts.view(np.uint64) & _NAME_MASKS.take(lengths, axis=0)
        return self._known_names.find(words, lambda row: self.names[texts[row, : lengths[row]].tobytes()])

    def _middles(self, buffer: Bytes, matches: _Matches, templates: LayoutTemplates) -> None:
        """Take kinds, parents, times and statuses; the positions are then those of the attributes."""
        matches.columns["kind"], matches.positions, fits = _KINDS.take(buffer, matches.positions)
        matches.keep(fits)
        is_child = buffer[matches.positions + templates.parent_value_offset] == _QUOTE
        parent_ids = np.zeros(len(matches.indexes), np.uint64)
        fits = np.ones(len(matches.indexes), np.bool_)
        for template, selected in (
            (templates.child, np.flatnonzero(is_child)),
            (templates.root, np.flatnonzero(~is_child)),
        ):
            rows, some_fit = template.take(buffer, matches.positions[selected])
            fits[selected] = True if some_fit is None else some_fit
            matches.positions[selected] += template.width
            if template is templates.child:
                ids, are_ids = ids_of(rows[:, templates.parent_offset : templates.parent_offset + 16])
                parent_ids[selected] = ids[:, 0]
                fits[selected] &= True if are_ids is None else are_ids
        matches.columns["parent_id"] = parent_ids
        matches.keep(fits)
        start_and_end, fits = times.times_of(
            matches.take(templates.times, buffer), (templates.start_offset, templates.end_offset)
        )
        matches.columns["start_ns"], matches.columns["end_ns"] = start_and_end
        matches.keep(fits)
        matches.columns["status"], matches.positions, fits = _STATUSES.take(buffer, matches.positions)
        matches.keep(fits)
        matches.take(templates.attributes, buffer)
