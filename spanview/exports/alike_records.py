r"""What the records of a run of spans have in common, and where their values differ.

record    {"name": "f", … "attributes": {"task": "ab12", "x": true}, "events": [], "links": [], …}      a sample
template  {"name": "~", … "attributes": {"task": "~~~~", "x": true}, "events": [], "links": [], …}      ~ is a gap
object    "span_id":"~", … "attributes":{"task":"~~~~","x":true},"events":[],"links":[],…              of all of them

Why an object made so is to the byte what the plain writer makes: that writer's text of the sample is what the columns
hold and then, from the status on, the sample without white space (with a trace state, a scope and a file put in), or
there is no template. Another record of the template has the same bytes but for its gaps, and in these, ids, times and
name as the columns say, or texts of printable ASCII without `"` and `\`, integers of up to 15 digits, and times.
Such values decode and encode to themselves everywhere but under the keys in `_FIXED`, which have no gaps; so
its object is the sample's with its own values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import orjson

from spanview.index.gather import Template
from spanview.index.known_records import parts_around_names
from spanview.model.times import format_time, parse_time
from spanview.quick import times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes

PLAIN: Final = rb"[ !#-\[\]-~]"
"""What JSON has in a text as it is."""
TRACE_ID_DIGITS: Final = 32
SPAN_ID_DIGITS: Final = 16
_TOKEN: Final = re.compile(
    rb'(?P<key>"[^"\\]*": )(?:"(?P<text>' + PLAIN + rb'+)"|-?(?P<number>[1-9][0-9]{0,14})(?=[,\s}]))'
    rb'|(?P<other>"(?:[^"\\]|\\.)*+"|[^\s"]+)',
    re.DOTALL,
)
"""`"key": "plain text"`, `"key": 12`, and all else but white space: `"a\\"b"`, `},`, `1.5`."""
_FIXED: Final = frozenset(
    b'"%b": ' % key for key in (b"schema_url", b"trace_state", b"trace_id", b"span_id", b"status_code", b"description")
)
"""Keys whose values may be written in another way than they are read."""
_TIME_KEY: Final = b'"timestamp": '
_VALUE: Final = re.compile(rb"%(?:\.0)?[bd]")
"""`%b`, `%d`, `%.0b`: a value in what `parts_around_names` returns."""
_NAME: Final = b'"%b"'
_STATUS, _CODE = b'"status_code"', b'"code"'
"""The key of a status, in a record and in an object."""
_LINKS: Final = b'"links":[],'
_TRACE_STATE: Final = b'"trace_state":{},'
_SOURCE: Final = b',"scope":null,"source":{"file":'
_QUOTE, _BACKSLASH, _BLANK, _LAST_PLAIN, _ZERO = b'"\\ ~0'


class VaryingValue(NamedTuple):
    """A value that differs from record to record."""

    position: int
    """In the record."""
    width: int
    is_number: bool
    is_time: bool
    target: int
    """In `RecordTemplate.second`."""

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
    """What records of one width have in common, and their objects.

    The object is `first`, the duration, `before_own`, the self time, `second`, the path of the file, `before_offset`,
    the offset, `third`.
    """

    record: Template
    fields: tuple[tuple[int, int], ...]
    """Of name, trace id, span id, parent id, start and end: places in the record, and widths; 0 for no parent."""
    targets: tuple[int, ...]
    """Of span id, parent id, name, start and end: places in `first`."""
    first: bytes
    before_own: bytes
    second: bytes
    before_offset: bytes
    third: bytes
    gaps: tuple[VaryingValue, ...]

    def take(self, buffer: Bytes, places: Places) -> tuple[Bytes, Flags]:
        """Return the records at some places, and which of them have the literals and nothing unusual in the gaps."""
        rows, literal = self.record.take(buffer, places)
        fits = np.ones(len(rows), np.bool_) if literal is None else literal
        for unusual in (gap.unusual(rows) for gap in self.gaps):
            if unusual is not None:
                fits &= ~unusual
        return rows, fits


class Sample(NamedTuple):
    """A span, and what the plain writer makes of it."""

    record: bytes
    kind: int
    status: int
    has_parent: bool
    name: bytes
    duration: bytes
    own: bytes
    """Its self time, in digits as the duration and the offset."""
    path: bytes
    """Its file's, as JSON."""
    offset: bytes
    text: bytes


def template_of(sample: Sample, differs: Flags) -> RecordTemplate | None:
    """Return the template of a sample, whose record differs in some bytes from others; None where it has none."""
    record, text = sample.record, sample.text
    layouts = parts_around_names(sample.kind, sample.status, has_parent=sample.has_parent)
    one_line, indented, of_object = (_VALUE.split(_NAME.join(parts)) for parts in layouts)
    of_record = indented if record[1:2] == b"\n" else one_line
    ids = SPAN_ID_DIGITS, SPAN_ID_DIGITS if sample.has_parent else 0
    name, both_times = len(sample.name), (times.WIDTH, times.WIDTH)
    fields = [*_fields(of_record, (name, TRACE_ID_DIGITS, *ids, *both_times))]
    targets = [*_fields(of_object, (*ids, name, *both_times))]
    head_end = sum(fields[-1])
    of_record[6] = of_record[6][: of_record[6].index(_STATUS) + len(_STATUS)]
    places = *(position - len(literal) for literal, (position, _) in zip(of_record, fields, strict=False)), head_end
    if not all(map(record.startswith, of_record, places)):
        return None
    first_end = sum(targets[-1]) + len(of_object[5])
    try:
        squeezed, gaps = _squeezed(record, head_end + len(of_record[6]), differs)
    except orjson.JSONDecodeError:
        return None
    before_links, links, rest = squeezed.partition(_LINKS)
    cut = len(before_links) + len(links)
    status = of_object[7][: of_object[7].index(_CODE) + len(_CODE)]
    second = b"".join((status, before_links, links, _TRACE_STATE, rest[:-1], _SOURCE))
    before_own, before_offset = of_object[6], of_object[9]
    last = text[text.rfind(before_offset) + len(before_offset) + len(sample.offset) :]
    first = text[:first_end]
    whole = first, sample.duration, before_own, sample.own, second, sample.path, before_offset, sample.offset, last
    if not links or _LINKS in rest or b"".join(whole) != text:
        return None
    moved = [
        gap._replace(target=gap.target + len(status) + (len(_TRACE_STATE) if gap.target >= cut else 0)) for gap in gaps
    ]
    return RecordTemplate(
        Template(*_template_parts(record, fields, gaps)),
        tuple(fields),
        tuple(position for position, _ in targets),
        first,
        before_own,
        second,
        before_offset,
        last,
        tuple(moved),
    )


def _fields(literals: Sequence[bytes], widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the positions of values that each follow a literal, and their widths."""
    position = 0
    for literal, width in zip(literals, widths, strict=False):
        position += len(literal)
        yield position, width
        position += width


def _squeezed(record: bytes, begin: int, differs: Flags) -> tuple[bytes, list[VaryingValue]]:
    """Return a record from a position on without its white space, and the gaps, with their targets in that."""
    kept, gaps = bytearray(), list[VaryingValue]()
    for match in _TOKEN.finditer(record, begin):
        key = match["key"]
        if key is None:
            other = match["other"]
            # "\u00e9" is written as é.
            kept += orjson.dumps(orjson.loads(other)) if b"\\" in other else other
            continue
        kept += key[:-1]
        value, end = match.end("key"), match.end()
        is_number = match["text"] is None
        start, stop = match.span("number" if is_number else "text")
        is_time = key == _TIME_KEY
        is_gap = key not in _FIXED and (is_time or bool(differs[start:stop].any()))
        if is_gap and (not is_time or _is_time(match["text"])):
            gaps.append(VaryingValue(start, stop - start, is_number, is_time, len(kept) + start - value))
        kept += record[value:end]
    return bytes(kept), gaps


def _is_time(text: bytes | None) -> bool:
    return text is not None and len(text) == times.WIDTH and format_time(parse_time(text.decode())) == text.decode()


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
