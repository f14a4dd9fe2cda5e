r"""What the records of a run of spans have in common, and where their values differ.

record    {"name": "f", … "attributes": {"task": "ab12", "x": true}, "events": [], "links": [], …}      a sample
template  {"name": "~", … "attributes": {"task": "~~~~", "x": true}, "events": [], "links": [], …}      ~ is a gap
object    "span_id":"~", … "attributes":{"task":"~~~~","x":true},"events":[],"links":[],…              of all of them

Where a value stands in the object is found out: the sample is told again with another one in its place. If that changes
just as many bytes there, at one place, the value gets a gap; all else is a part of the template.

Why an object made so is to the byte what the plain writer makes: another record of the template has the same bytes but
for its gaps, and in these, ids, times and name as the columns say, or texts of printable ASCII without `"` and `\`,
integers of up to 15 digits, and times. Such values decode and encode to themselves everywhere but under keys that have
no gaps (`_FIXED`, `_ALL_FIXED`, in OTLP all but `_COPIED_OF_OTLP`); so its object is the sample's with its own values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.formats.decoder import decode_span
from spanview.formats.usual import NOWHERE
from spanview.index.gather import Template
from spanview.index.known_records import parts_around_names
from spanview.model.times import format_time, parse_time
from spanview.quick import times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes

PLAIN: Final = rb"[ !#-\[\]-~]"
"""What JSON has in a text as it is."""
TRACE_ID_DIGITS: Final = 32
SPAN_ID_DIGITS: Final = 16
_TOKEN: Final = re.compile(
    rb'"(?P<key>[^"\\]*)": ?(?:"(?P<text>' + PLAIN + rb'+)"|-?(?P<number>[1-9][0-9]{0,14})(?=[,\s}]))'
    rb'|"(?:[^"\\]|\\.)*+"|[^\s"]+',
    re.DOTALL,
)
"""`"key": "plain text"`, `"key":12`, and all else but white space: `"a\\"b"`, `},`, `1.5`."""
_NUMBER: Final = re.compile(rb"[1-9][0-9]{0,14}")
_OF_OTLP: Final = b'{"resourceSpans":'
_OTHERS: Final = re.compile(rb'\{\s*"name": |\{"trace_id":')
"""How records begin: in OTLP, of the SDK, and spanview's own."""
_FIXED: Final = frozenset(
    (b"schema_url", b"trace_state", b"trace_id", b"span_id", b"status_code", b"description", b"name")
)
"""Keys whose values may be written in another way than they are read; the name of a span is in the columns."""
_ALL_FIXED: Final = (b'"trace_state"', b'"extra"')
"""Objects of such values, whatever their keys."""
_COPIED_OF_OTLP: Final = frozenset((b"stringValue", b"intValue"))
"""Keys whose values are written as they are read, if they are texts, or integers."""
_UNREAD: Final = frozenset((b"duration_ns", b"self_time_ns", b"wait_ns", b"file", b"offset", b"length"))
"""Keys of spanview's own lines whose values, whatever they are, nothing is read of."""
_TIME_KEY: Final = b"timestamp"
_VALUE: Final = re.compile(rb"%(?:\.0)?[bd]")
"""`%b`, `%d`, `%.0b`: a value in what `parts_around_names` returns."""
_NAME: Final = b'"%b"'
WITH_GAPS: Final = 2
"""The index of the literal of objects that has their attributes, and all behind them up to the path."""
UNWRITTEN: Final = -1
_FIELDS: Final = ("name", "trace_id", "span_id", "parent_id", "start_ns", "end_ns")
"""What the columns have of a record."""
_OTHER_DIGITS: Final = bytes(ord("2") if byte == ord("1") else ord("1") for byte in range(256))
_QUOTE, _BACKSLASH, _BLANK, _LAST_PLAIN, _ZERO = b'"\\ ~0'


class VaryingValue(NamedTuple):
    """A value that differs from record to record."""

    position: int
    """In the record."""
    width: int
    is_number: bool
    is_time: bool
    target: int
    """In the literal `WITH_GAPS`."""

    def unusual(self, rows: Bytes) -> Flags | None:
        """Return which records have something else in the gap, None for no record."""
        texts = np.ascontiguousarray(rows[:, self.position : self.position + self.width])
        if self.is_time:
            are_times = times.times_of(texts, (0,))[1]
            return None if are_times is None else ~are_times
        if self.is_number:
            bad = texts - np.uint8(_ZERO) > 9  # noqa: PLR2004
            bad[:, 0] |= texts[:, 0] == _ZERO
        else:
            bad = texts - np.uint8(_BLANK) > _LAST_PLAIN - _BLANK
            bad |= texts == _QUOTE
            bad |= texts == _BACKSLASH
        # Nearly always there is none, and checking all bytes at once is cheaper.
        return np.logical_or.reduce(bad, axis=1) if bad.any() else None


@dataclass(frozen=True, slots=True)
class RecordTemplate:
    """What records of one width have in common, and their objects."""

    record: Template
    fields: tuple[tuple[int, int], ...]
    """Of name, trace id, span id, parent id, start and end: places in the record, and widths; 0 for what is empty."""
    literals: tuple[bytes, ...]
    """The parts of the object, between which are `Sample.between`."""
    targets: tuple[int, ...]
    """Of span id, parent id, name, start and end: places in the first of them."""
    gaps: tuple[VaryingValue, ...]
    unwritten: tuple[VaryingValue, ...]
    """Gaps of what objects don't have, as the self time in a line of spanview's own."""

    def take(self, buffer: Bytes, places: Places) -> tuple[Bytes, Flags]:
        """Return the records at some places, and which of them have the literals and nothing unusual in the gaps."""
        rows, fits = self.record.take(buffer, places)
        for unusual in (gap.unusual(rows) for gap in (*self.gaps, *self.unwritten)):
            if unusual is not None:
                fits &= ~unusual
        return rows, fits


class Sample(NamedTuple):
    """A span, and what the plain writer makes of it."""

    record: bytes
    kind: int
    status: int
    fields: tuple[bytes, ...]
    """Name, trace id, span id, parent id, start and end, as its object has them; nothing for no parent."""
    nanoseconds: tuple[bytes, bytes]
    """Start and end, as OTLP has them."""
    between: tuple[bytes, ...]
    """Duration, self time, path of the file, offset and length."""
    text: bytes
    tell: Callable[[bytes], bytes | None]
    """Returns what the text would be with another record; None where that can't say all."""

    def with_other(self, begin: int, end: int) -> bytes:
        """Return the record with another value there."""
        return self.record[:begin] + other_than(self.record[begin:end]) + self.record[end:]

    def places_of_fields(self) -> list[tuple[int, int]] | None:
        """Return where the record has the fields, and their widths; None where it hasn't each just once.

        What is there once may be another value with the same text: then the field itself is a part of the template, and
        so the same in all its records.
        """
        found, places = defaultdict[bytes, list[tuple[int, int]]](list), list[tuple[int, int]]()
        for match in _TOKEN.finditer(self.record):
            begin, end = match.span("text")
            # The SDK has ids so.
            begin += 2 if self.record.startswith(b"0x", max(begin, 0)) else 0
            found[self.record[begin:end]].append((begin, end))
        for name, *forms in zip(_FIELDS, self.fields, (*self.fields[:4], *self.nanoseconds), strict=True):
            at = [place for form in {*forms} for place in found[form]] if forms[0] else [(0, 0)]
            if len(at) > 1:
                at = [place for place in at if self._changes(name, place)]
            if len(at) != 1:
                return None
            places.append((at[0][0], at[0][1] - at[0][0]))
        return places

    def _changes(self, name: str, place: tuple[int, int]) -> bool:
        """Tell whether another value at a place of the record changes a field of the span."""
        span, changed = (decode_span(record, NOWHERE) for record in (self.record, self.with_other(*place)))
        return changed is None or getattr(span, name) != getattr(changed, name)

    def target_of(self, begin: int, end: int) -> int | None:
        """Return where the text has a value of the record, `UNWRITTEN` for nowhere; None where it has it otherwise."""
        value, text = self.record[begin:end], self.text
        other, changed = other_than(value), self.tell(self.with_other(begin, end))
        places = None if changed is None else places_of(value, other, text, changed)
        return None if places is None or len(places) > 1 else places[0] if places else UNWRITTEN


def places_of(value: bytes, other: bytes, text: bytes, changed: bytes) -> list[int] | None:
    """Return where a text has a value, by what it is with another one; None where more than that changes."""
    if len(changed) != len(text):
        return None
    differs, expected = (
        np.flatnonzero(np.frombuffer(one, np.uint8) != np.frombuffer(another, np.uint8))
        for one, another in ((text, changed), (value, other))
    )
    places: list[int] = (differs[:: len(expected)] - expected[0]).tolist()
    are_there = all(
        place >= 0 and text.startswith(value, place) and changed.startswith(other, place) for place in places
    )
    return places if are_there and len(places) * len(expected) == len(differs) else None


def other_than(value: bytes) -> bytes:
    """Return a value of the same width with other digits; of a time another time of its day."""
    is_of_otlp = len(value) == times.NANOSECOND_DIGITS and value.isdigit()
    first, last = (20, 26) if _is_time(value) else (10 if is_of_otlp else 0, len(value))
    return value[:first] + value[first:last].translate(_OTHER_DIGITS) + value[last:]


def template_of(sample: Sample, differs: Flags) -> RecordTemplate | None:
    """Return the template of a sample, whose record differs in some bytes from others; None where it has none."""
    record, text, (name, _, span_id, parent_id, *both_times) = sample.record, sample.text, sample.fields
    *_, of_object = parts_around_names(sample.kind, sample.status, has_parent=bool(parent_id))
    parts, values = _VALUE.split(_NAME.join(of_object)), (span_id, parent_id, name, *both_times)
    targets = [*_fields(parts, [*map(len, values)])]
    duration, own, path, offset, length = sample.between
    first = sum(targets[-1]) + len(parts[5])
    middle = b"".join((duration, parts[6], own))
    end = b"".join((path, parts[9], offset, parts[10], length))
    second, last = first + len(middle), text.rfind(end)
    if text[first:second] != middle or last < second:
        return None
    if any(text[place : place + width] != value for (place, width), value in zip(targets, values, strict=True)):
        return None
    fields = sample.places_of_fields()
    if fields is None or not (record.startswith(_OF_OTLP) or _OTHERS.match(record)):
        return None
    found = [*_gaps(sample, differs, fields)]
    unwritten = tuple(gap for gap in found if gap.target == UNWRITTEN)
    gaps = tuple(gap._replace(target=gap.target - second) for gap in found if second <= gap.target <= last - gap.width)
    return RecordTemplate(
        Template(*_template_parts(record, fields, (*gaps, *unwritten))),
        tuple(fields),
        (text[:first], parts[6], text[second:last], parts[9], parts[10], text[last + len(end) :]),
        tuple(position for position, _ in targets),
        gaps,
        unwritten,
    )


def _fields(literals: Sequence[bytes], widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the positions of values that each follow a literal, and their widths."""
    position = 0
    for literal, width in zip(literals, widths, strict=False):
        position += len(literal)
        yield position, width
        position += width


def _gaps(sample: Sample, differs: Flags, fields: Sequence[tuple[int, int]]) -> Iterator[VaryingValue]:
    """Yield what gets a gap, with its targets in the whole text."""
    is_of_otlp = sample.record.startswith(_OF_OTLP)
    depth, fixed_below = 0, None
    for match in _TOKEN.finditer(sample.record):
        key, value = match["key"], match["text"] or match["number"]
        if not match[0].startswith(b'"'):
            depth += sum(map(match[0].count, (b"{", b"["))) - sum(map(match[0].count, (b"}", b"]")))
            if fixed_below is not None and depth <= fixed_below:
                fixed_below = None
        elif match[0] in _ALL_FIXED and fixed_below is None:
            fixed_below = depth
        is_copied = key in _COPIED_OF_OTLP if is_of_otlp else key not in _FIXED
        if value is None or not is_copied or fixed_below is not None:
            continue
        begin, end = match.span("number" if match["text"] is None else "text")
        is_time = key == _TIME_KEY and _is_time(value)
        if not (is_time or differs[begin:end].any()) or any(begin <= place < end for place, _ in fields):
            continue
        target = sample.target_of(begin, end)
        if target is None or (target == UNWRITTEN and key not in _UNREAD):
            continue
        is_text = match["text"] is not None and (target == UNWRITTEN or sample.text[target - 1 : target] == b'"')
        if is_text or _NUMBER.fullmatch(value):
            yield VaryingValue(begin, end - begin, not is_text, is_time, target)


def _is_time(text: bytes) -> bool:
    return len(text) == times.WIDTH and format_time(parse_time(text.decode())) == text.decode()


def _template_parts(
    record: bytes, fields: Sequence[tuple[int, int]], gaps: Sequence[VaryingValue]
) -> Iterator[bytes | int]:
    """Yield literals, and for each gap its width."""
    spans = [(position, width, False) for position, width in fields] + [
        (gap.position, gap.width, gap.is_time) for gap in gaps
    ]
    last = 0
    for position, width, is_time in sorted(spans):
        yield record[last:position]
        if is_time:
            yield from times.PARTS
        else:
            yield width
        last = position + width
    yield record[last:]
