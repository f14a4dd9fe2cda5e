"""What the texts of many spans have in common, told from one record and proved on others.

record    {"name": "NNNN", … "trace_id": "0xTTTT", … "attributes": {"task": "VVVV"}, …}      literals, and gaps
object    "span_id":"SSSS", … "name":"NNNN", … "attributes":{"task":"VVVV"}, …               the same gaps

Where all literals stand, and in the gaps nothing that JSON writes in another way, a record gives the object with its
own values in the gaps. Where a gap comes to lie in the object is found with values that are made up, by the writer of
single spans; and with others that writer has to come to what the pattern says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.exports.pieces import row_of
from spanview.index.gather import Template
from spanview.model.times import format_time, parse_time
from spanview.quick import times
from spanview.quick.layouts import INDENTED, ONE_LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.bulk import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.quick.layouts import Layout

PLAIN: Final = rb"[ !#-\[\]-~]"
"""What JSON writes in a text as it is, whoever writes it."""
_TOKEN: Final = re.compile(
    rb'"((?:[^"\\]|\\.)*+)"(?:: (?:"(' + PLAIN + rb'+)"|-?([1-9][0-9]{0,14})(?=[,\s}]))?)?', re.DOTALL
)
"""A text; where it is a key that has a plain text or an integer, that too."""
_FIXED: Final = frozenset((b"trace_id", b"span_id", b"trace_state", b"schema_url", b"description", b"status_code"))
"""Keys whose values may mean something."""
_TIME_KEY: Final = b"timestamp"
_OBJECT: Final = re.compile(
    rb'"span_id":"([0-9a-f]{16})","parent_id":(?:null|"([0-9a-f]{16})"),"name":"(' + PLAIN + rb'*)","kind":"[A-Z]+",'
    rb'"start_time":"([^"]{27})","end_time":"([^"]{27})","duration_ns":([0-9]+),"self_time_ns":([0-9]+),'
)
SOURCE: Final = b',"source":{"file":'
BETWEEN: Final = b',"self_time_ns":'
BEHIND: Final = b',"offset":'
_QUOTE, _BACKSLASH, _BLANK, _LAST_PLAIN, _ZERO = b'"\\ ~0'


def _head_of(layout: Layout) -> re.Pattern[bytes]:
    before = [
        *(layout.name, layout.trace_id, layout.span_id, layout.trace_state + b"[]" + layout.kind),
        *(layout.parent_id, layout.start_time, layout.end_time, layout.status),
    ]
    name, trace_id, span_id, kind, parent_id, start, end, status = map(re.escape, before)
    return re.compile(
        name + b"(" + PLAIN + b"*)" + trace_id + b"([0-9a-f]{32})" + span_id + b"([0-9a-f]{16})" + kind + b"[A-Z]+"
        + parent_id + b'(?:null|"0x([0-9a-f]{16})")' + start + b'([^"]{27})' + end + b'([^"]{27})' + status + b'[A-Z]+"'
    )  # fmt: skip


_HEADS: Final = tuple(map(_head_of, (INDENTED, ONE_LINE)))


class _Gap(NamedTuple):
    """A value that differs from record to record."""

    at: int
    """In the record."""
    width: int
    is_number: bool
    is_time: bool

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.at + self.width

    def sample(self, number: int) -> bytes:
        """Return a value of the kind; few numbers give the same."""
        if self.is_time:
            return (format_time((1_000_000 + number) * 1_001_001_001_000) or "").encode()
        first, count = (ord("1"), 9) if self.is_number else (ord("A"), 26)
        return bytes(first + (number * (place + 1) + place // 3) % count for place in range(self.width))

    def odd(self, rows: Bytes) -> Flags | None:
        """Return which records have something else in the gap, None for no record."""
        texts = np.ascontiguousarray(rows[:, self.at : self.end])
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
        # Nearly always there is none, and to see that of all bytes at once is cheaper.
        return np.logical_or.reduce(bad, axis=1) if bad.any() else None


@dataclass(frozen=True, slots=True)
class Pattern:
    """Literals of records of one width, and of their objects.

    The object is `first`, the duration, `BETWEEN`, the self time, `second`, the path, `BEHIND`, the offset, `third`.
    """

    record: Template
    parts: tuple[tuple[int, int], ...]
    """Of name, trace id, span id, parent id, start and end: the places in the record, and the widths; 0 for none."""
    places: tuple[int, ...]
    """Of all but the trace id: the places in `first`."""
    first: Bytes
    second: Bytes
    third: Bytes
    gaps: tuple[_Gap, ...]
    gap_places: tuple[int, ...]
    """In `second`."""

    def take(self, buffer: Bytes, places: Places) -> tuple[Bytes, Flags]:
        """Return the records at some places, and which of them have the literals and nothing odd in the gaps."""
        rows, literal = self.record.take(buffer, places)
        fits = np.ones(len(rows), np.bool_) if literal is None else literal
        for odd in (gap.odd(rows) for gap in self.gaps):
            if odd is not None:
                fits &= ~odd
        return rows, fits


def pattern_of(record: bytes, differs: Flags, write: Callable[[bytes], bytes | None], ending: bytes) -> Pattern | None:
    """Return the pattern of a record, None where it has none.

    Args:
        record: The record of a span.
        differs: Which of its bytes others have not.
        write: Returns the span's object if this is its record, None where there is nothing to go by.
        ending: What the object has behind the resource, as far as the names of warnings.
    """
    head = next((match for each in _HEADS if (match := each.match(record))), None)
    if head is None:
        return None
    gaps = [gap for gap in _gaps_of(record, head.end()) if gap.is_time or differs[gap.at : gap.end].any()]
    samples = [
        _filled(record, gaps, [gap.sample(number + more) for number, gap in enumerate(gaps)]) for more in (0, 12)
    ]
    samples.append(record)
    made = [parts for sample in samples if (parts := _parts_of(write(sample), ending))]
    if len(made) < len(samples):
        return None
    first, second, third, match = made[0]
    moved = _moved(gaps, samples[0], second)
    for sample, others in zip(samples, made, strict=True):
        values = [sample[gap.at : gap.end] for gap in gaps]
        if moved is None or others[:3] != (first, _filled(second, moved, values), third):
            return None
    spans = [head.span(number) for number in range(1, 7)]
    columns = [(at, end - at) if at >= 0 else (0, 0) for at, end in spans]
    return Pattern(
        Template(*_template_parts(record, spans, gaps)),
        tuple(columns),
        tuple(max(0, match.start(group)) for group in (3, 1, 2, 4, 5)),
        row_of(first),
        row_of(second),
        row_of(third),
        tuple(gaps),
        tuple(gap.at for gap in moved or ()),
    )


def _gaps_of(record: bytes, begin: int) -> Iterator[_Gap]:
    """Yield where values stand that may be others."""
    for match in _TOKEN.finditer(record, begin):
        key, text, digits = match.groups()
        if key in _FIXED or b"\\" in key or (text is None and digits is None):
            continue
        at, end = match.span(2 if digits is None else 3)
        if key != _TIME_KEY:
            yield _Gap(at, end - at, digits is not None, False)
        elif text is not None and end - at == times.WIDTH and format_time(parse_time(text.decode())) == text.decode():
            yield _Gap(at, end - at, False, True)


def _filled(text: bytes, gaps: Sequence[_Gap], values: Sequence[bytes]) -> bytes:
    """Return a text with other values in its gaps."""
    result = bytearray(text)
    for gap, value in zip(gaps, values, strict=True):
        result[gap.at : gap.end] = value
    return bytes(result)


def _parts_of(text: bytes | None, ending: bytes) -> tuple[bytes, bytes, bytes, re.Match[bytes]] | None:
    """Return what a pattern has of an object, and where the values of columns are in it."""
    match = _OBJECT.match(text or b"")
    if text is None or match is None:
        return None
    second, found, names = text[match.end(7) :].rpartition(ending)
    behind = ending.rpartition(BEHIND)[2]
    if not found:
        return None
    length = behind[behind.index(b",") :]
    return text[: match.start(6)], second + SOURCE, length + names, match


def _moved(gaps: Sequence[_Gap], sample: bytes, second: bytes) -> list[_Gap] | None:
    """Return where gaps are in what was written for a sample."""
    moved, at = [], 0
    for gap in gaps:
        value = sample[gap.at : gap.end]
        found = re.compile((b":-?(%b)[,}]" if gap.is_number else b':"(%b)"') % re.escape(value)).search(second, at)
        if found is None:
            return None
        at = found.end(1)
        moved.append(gap._replace(at=found.start(1)))
    return moved


def _template_parts(record: bytes, columns: Sequence[tuple[int, int]], gaps: Sequence[_Gap]) -> Iterator[bytes | int]:
    """Yield literals, and for each gap its width."""
    spans = [(at, end, False) for at, end in columns if at >= 0] + [(gap.at, gap.end, gap.is_time) for gap in gaps]
    last = 0
    for at, end, is_time in sorted(spans):
        yield record[last:at]
        if is_time:
            yield from times.PARTS
        else:
            yield end - at
        last = end
    yield record[last:]
