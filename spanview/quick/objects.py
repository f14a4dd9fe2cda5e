"""Spans in lines of JSON straight to columns, many at a time, without decoding them: by a table for each format.

{"traceId":"…","spanId":"…","name":"…","kind":2      fields, each by its key, in the order of the table
,"attributes":[  …  ]                                a member that is a list or an object: skipped
,"droppedLinksCount":1,"status":{"code":2}           one that is known: each different one is decoded once
,"flags":256}

What is between is known, too: of all that are the same but for the digits of numbers, one is looked at.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from spanview.index.gather import WORD, Choice, Template, ids_of, rows_at, word, words_at
from spanview.model.codes import KIND_NAMES, KIND_UNSPECIFIED
from spanview.model.times import NO_TIME
from spanview.quick import times
from spanview.quick.known_rows import NO_NUMBER, KnownTexts
from spanview.quick.texts import NAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.quick.brackets import Brackets, Objects
    from spanview.quick.texts import Names

_OPEN, _QUOTE, _BACKSLASH, _ZERO, _LAST_OF_TIME = b'{"\\0Z'
_NULL: Final = np.uint64(word(b"null"))
_NULL_MASK: Final = np.uint64(word(b"\xff" * len(b"null")))
_MAX_DIGITS: Final = 9
_FEW: Final = 2
"""Lines that are less than one part in so many of the bytes from the first to the last are looked at in a copy."""
MARGIN_BYTES: Final = 1024
"""Bytes after the last record in a buffer, so that reading beyond its end is possible."""
_TEXT: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*+"')


class Lines(NamedTuple):
    """Lines that may have spans."""

    starts: Places
    ends: Places
    """Where each ends: after a brace."""
    counts: Places
    """How many trace ids each has."""
    firsts: Places
    """Where the first one's key is."""

    def at(self, indexes: Places) -> Lines:
        """Return some of the lines."""
        return Lines(*(values[indexes] for values in self))

    def gathered(self, data: bytearray, buffer: Bytes) -> tuple[bytearray, Bytes, Places, Places]:
        """Return bytes in which there is not much but the lines, also as an array, and where each starts and ends.

        These are the given ones, or a copy where the lines are few.
        """
        sizes = self.ends - self.starts
        if sizes.sum() * _FEW > self.ends[-1] - self.starts[0]:
            return data, buffer, self.starts, self.ends
        view = memoryview(data)
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        copy = bytearray(b"\n").join([*(view[begin:end] for begin, end in bounds), bytes(MARGIN_BYTES)])
        ends = np.cumsum(sizes + 1) - 1
        return copy, np.frombuffer(copy, np.uint8), ends - sizes, ends


class Found(NamedTuple):
    """Values at many places."""

    values: NDArray[Any]
    ends: Places
    fits: Flags


class Value(Protocol):
    """Reads values of one kind."""

    def take(self, data: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return the value at each place."""


class ObjectField(NamedTuple):
    """A member of a span that is in a column."""

    key: str
    column: str
    """Empty for none."""
    value: Value
    missing: int | None = None
    """What it is where it is left out; None if it must be there."""


class Identifier:
    """Hexadecimal digits between quotes, 16 for each word; nothing where `is_optional`: null, or no digits."""

    def __init__(self, digits: int, *, is_optional: bool = False) -> None:
        self._digits, self._is_optional = digits, is_optional
        self._template = Template(b'"', digits, b'"')

    def take(self, _: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return ids, N x words; zeros for none."""
        rows, fits = self._template.take(buffer, places)
        ids, are_ids = ids_of(np.ascontiguousarray(rows[:, 1 : 1 + self._digits]))
        fits &= are_ids
        widths = np.full(len(places), self._template.width)
        if self._is_optional and not fits.all():
            words = words_at(buffer, places)
            are_null = words & _NULL_MASK == _NULL
            are_empty = words & np.uint64(0xFFFF) == word(b'""')
            ids[are_null | are_empty] = 0
            widths[are_null], widths[are_empty] = len(b"null"), len(b'""')
            fits |= are_null | are_empty
        return Found(ids, places + widths, fits)


class Number:
    """Some digits, or one only.

    Args:
        limit: The last number.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit

    def take(self, _: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return the first digits."""
        digits = rows_at(buffer, places, _MAX_DIGITS + 1) - np.uint8(_ZERO)
        counts = (digits > 9).argmax(axis=1)  # noqa: PLR2004
        fits = (counts == 1) | ((counts > 0) & (digits[:, 0] != 0))
        if self._limit is not None:
            fits &= (counts == 1) & (digits[:, 0] <= self._limit)
        return Found(digits[:, 0], places + counts, fits)


class KindText:
    """The name of a kind between quotes, or null."""

    _names: Final = Choice([f'{name}"'.encode() for name in KIND_NAMES])

    def take(self, _: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return the numbers of kinds."""
        numbers, ends, fits = self._names.take(buffer, places + 1)
        fits &= buffer[places] == _QUOTE
        ends = ends + 1
        if not fits.all():
            are_null = words_at(buffer, places) & _NULL_MASK == _NULL
            numbers[are_null] = KIND_UNSPECIFIED
            ends = np.where(are_null, places + len(b"null"), ends)
            fits |= are_null
        return Found(numbers, ends, fits)


class Nanoseconds:
    """A time as OTLP has it."""

    _template: Final = Template(b'"', times.NANOSECOND_DIGITS, b'"')

    def take(self, _: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return nanoseconds since 1970."""
        rows, fits = self._template.take(buffer, places)
        values, are_times = times.nanoseconds_of(rows, 1)
        return Found(values, places + self._template.width, fits & are_times & (values > 0))


class Moment:
    """A time as spanview writes it, with six or nine digits after the second, or null."""

    _template: Final = Template(b'"', *times.PARTS[:-1])
    _width: Final = times.WIDTH + len('""')

    def take(self, _: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return nanoseconds since 1970, `NO_TIME` for null."""
        fits = self._template.take(buffer, places)[1]
        rows = rows_at(buffer, places, self._width + len("000"))
        (values,), are_times = times.times_of(rows, (1,))
        fits &= are_times
        are_short = (rows[:, self._width - 2] == _LAST_OF_TIME) & (rows[:, self._width - 1] == _QUOTE)
        if not are_short.all():
            digits = rows[:, self._width - 2 : self._width + 1] - np.uint8(_ZERO)
            are_long = (rows[:, -2] == _LAST_OF_TIME) & (rows[:, -1] == _QUOTE) & (digits <= 9).all(axis=1)  # noqa: PLR2004
            values = np.where(are_short, values, values + digits @ np.array([100, 10, 1]))
            fits &= are_short | are_long
            # The last nanoseconds of all would be too many.
            fits &= values != NO_TIME
        ends = places + self._width + np.where(are_short, 0, len("000"))
        if not fits.all():
            are_null = words_at(buffer, places) & _NULL_MASK == _NULL
            values, ends = np.where(are_null, NO_TIME, values), np.where(are_null, places + len(b"null"), ends)
            fits |= are_null
        return Found(values, ends, fits)


class Name:
    """A text that is interned."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def take(self, data: bytearray, buffer: Bytes, places: Places) -> Found:
        """Return the numbers of texts."""
        begins, lengths, fits = places + 1, np.zeros_like(places), np.zeros(len(places), np.bool_)
        for width in NAME_BYTES:
            others = np.flatnonzero(~fits)
            texts = rows_at(buffer, begins[others], width)
            lengths[others] = ((texts == _QUOTE) | (texts == _BACKSLASH)).argmax(axis=1)
            # Of a name that is longer no end was found.
            fits[others] = buffer[begins[others] + lengths[others]] == _QUOTE
        for index in np.flatnonzero(~fits).tolist():
            if match := _TEXT.match(data, int(places[index])):
                lengths[index], fits[index] = match.end() - 2 - places[index], True
        numbers, chosen = np.full(len(places), NO_NUMBER), np.flatnonzero(fits & (buffer[places] == _QUOTE))
        numbers[chosen] = self._names.find(buffer, begins[chosen], lengths[chosen])
        return Found(numbers, begins + lengths + 1, numbers != NO_NUMBER)


class ObjectLayout(NamedTuple):
    """What a format has of spans."""

    depth: int
    """Brackets that are open in a span, its own among them."""
    fields: Sequence[ObjectField]
    """Those at the front of a span."""
    scalars: bytes
    """A pattern of the members between the others that count for nothing, without their first quotes."""
    skipped: Sequence[str]
    """Lists and objects that are skipped, each as its key and its bracket: `links":[`."""
    known: Sequence[str]
    """Those of which each different text is decoded."""
    required: Sequence[str]
    """Those of both that must be there."""


class Scanned(NamedTuple):
    """What was read of some spans."""

    columns: dict[str, NDArray[Any]]
    """Of fields by the names of their columns, of members that are known by their places in the layout: `NO_NUMBER`
    where one isn't there."""
    fits: Flags
    """Which of the spans fit; of the others the values are anything."""


class ObjectScanner:
    """Reads spans; it keeps what was seen between their members, and in those that are known.

    Args:
        number_of: Returns the number of the text of a member that is known, given its key, and `NO_NUMBER` for what
            isn't usual.
    """

    def __init__(self, layout: ObjectLayout, number_of: Callable[[str, bytes], int]) -> None:
        self._layout = layout
        self._keys = [Template(f'"{field.key}":'.encode()) for field in layout.fields]
        members = [*layout.known, *layout.skipped]
        self._numbers = {member.encode(): number for number, member in enumerate(members)}
        self._end = len(members)
        self._required = sum(1 << members.index(member) for member in layout.required) | 1 << self._end
        either = b"|".join(map(re.escape, self._numbers))
        self._between = re.compile(rb'(?:,"(?:' + layout.scalars + rb'))*(?:,"(' + either + rb")|\})")
        self._betweens = KnownTexts(self._number_between, are_numbers_alike=True)
        self._known = [KnownTexts(partial(number_of, member.partition('"')[0])) for member in layout.known]

    def _number_between(self, text: bytes) -> int:
        match = self._between.fullmatch(text)
        return NO_NUMBER if match is None else self._numbers[match[1]] if match[1] else self._end

    def take(self, data: bytearray, buffer: Bytes, brackets: Brackets, spans: Objects) -> Scanned:
        """Read spans, at least one."""
        starts, ends = brackets.positions[spans.opens], brackets.positions[spans.closes] + 1
        columns, places, fits = self.fronts(data, buffer, starts)
        members = brackets.at(self._layout.depth + 1)
        owners = np.searchsorted(spans.opens, members.opens) - 1
        inside = np.flatnonzero((owners >= 0) & (members.opens < spans.closes[owners]))
        owners = owners[inside]
        opens, closes = (brackets.positions[places[inside]] for places in members)
        # Of each span its members, and its end, which comes last.
        order = np.arange(len(owners)) + owners
        begins, until = np.empty((2, len(owners) + len(starts)), np.int64)
        lasts = np.cumsum(np.bincount(owners, minlength=len(starts)) + 1) - 1
        until[order], until[lasts] = opens + 1, ends
        begins[order + 1] = closes + 1
        begins[np.append(0, lasts[:-1] + 1)] = places
        numbers = self._betweens.find(buffer, begins, until)
        bits = np.left_shift(1, np.where(numbers == NO_NUMBER, self._end + 1, numbers))
        firsts = np.append(0, lasts[:-1] + 1)
        # What is there twice makes a sum that is no union.
        seen = np.add.reduceat(bits, firsts)
        fits &= (seen & self._required == self._required) & (seen == np.bitwise_or.reduceat(bits, firsts))
        fits &= seen <= (1 << self._end + 1) - 1
        of_members = numbers[order]
        for number, known in enumerate(self._known):
            chosen = np.flatnonzero(of_members == number)
            values = known.find(buffer, opens[chosen], closes[chosen] + 1)
            column = columns[str(number)] = np.full(len(starts), NO_NUMBER)
            column[owners[chosen]] = values
            fits[owners[chosen[values == NO_NUMBER]]] = False
        return Scanned(columns, fits)

    def fronts(self, data: bytearray, buffer: Bytes, starts: Places) -> tuple[dict[str, NDArray[Any]], Places, Flags]:
        """Return the columns of fields, where what follows them begins, and which spans fit."""
        columns: dict[str, NDArray[Any]] = {}
        places, fits = starts + 1, buffer[starts] == _OPEN
        limit = len(buffer) - 2 * WORD * WORD
        for number, (field, key) in enumerate(zip(self._layout.fields, self._keys, strict=True)):
            # Where a span doesn't fit, its place is anywhere.
            places = np.minimum(places, limit)
            before = places if not number else places + 1
            are_there = key.take(buffer, before)[1]
            if number:
                are_there &= buffer[places] == ord(",")
            if field.missing is None or are_there.all():
                fits &= are_there
                values, places, are_values = field.value.take(data, buffer, np.minimum(before + key.width, limit))
                fits &= are_values
            else:
                chosen = np.flatnonzero(are_there)
                found = field.value.take(data, buffer, np.minimum(before[chosen] + key.width, limit))
                values = np.full((len(starts), *found.values.shape[1:]), field.missing, found.values.dtype)
                values[chosen], fits[chosen[~found.fits]] = found.values, False
                places = places.copy()
                places[chosen] = found.ends
            if field.column:
                columns[field.column] = values
        return columns, places, fits


COLUMNS: Final = (
    *("trace_high", "trace_low", "span_id", "parent_id", "name", "kind", "start_ns", "end_ns", "status"),
    *("service", "process", "start", "end", "part", "parts"),
)
"""Of spans that fit: also where their record starts and ends, which of its spans each is, and how many it has."""


def no_spans() -> dict[str, NDArray[Any]]:
    """Return the columns of none."""
    return {name: np.empty(0, np.int64) for name in COLUMNS}


def usual(columns: dict[str, NDArray[Any]]) -> Flags:
    """Return which spans have ids and times of which nothing is to be said; ids get columns of their own."""
    trace_ids = columns.pop("trace")
    columns |= {"trace_high": trace_ids[:, 0], "trace_low": trace_ids[:, 1]}
    columns |= {name: columns[name][:, 0] for name in ("span_id", "parent_id")}
    starts, ends = columns["start_ns"], columns["end_ns"]
    fits: Flags = (starts != NO_TIME) & ((ends == NO_TIME) | (ends >= starts)) & (columns["span_id"] != 0)
    fits &= (trace_ids != 0).any(axis=1)
    return fits
