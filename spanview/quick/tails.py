"""The ends of records, after the attributes: recognized by those that were decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from spanview.formats.console import columns as console
from spanview.index.gather import Template
from spanview.quick.known_rows import NO_NUMBER, KnownRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.gather import Bytes

_MAX_WIDTHS: Final = 16
"""Widths of tails that are looked up for all records at once; if there are more, each record is looked up."""
_MAX_TAIL_BYTES: Final = 4096
"""Bytes of a tail that is compared with others."""
_MAX_TAILS: Final = 4096


@dataclass(frozen=True, slots=True)
class _Tail:
    """What ends a record that was decoded."""

    text: bytes
    template: Template
    service: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Where the ends of records are."""

    data: bytearray
    buffer: Bytes
    """The bytes as an array."""
    starts: Places
    """Where each record begins."""
    attributes: Places
    """Where its attributes begin."""
    ends: Places
    """Where it ends: after a brace."""


class Tails:
    """The tails that were seen in one layout.

    Args:
        begin: What each of them begins with.
    """

    def __init__(self, begin: bytes, number_of: Callable[[str], int]) -> None:
        self._begin, self._template = begin, Template(begin)
        self._number_of = number_of
        self._tails: dict[bytes, _Tail] = {}
        self._recent: _Tail | None = None
        self._widths: dict[int, KnownRows] = {}

    def services(self, records: Ends, remaining: Places) -> NDArray[np.int64]:
        """Return the numbers of the services, `NO_NUMBER` where the tail isn't recognized.

        Args:
            remaining: The indexes of those that are asked for.
        """
        services = np.full(len(records.ends), NO_NUMBER, np.int64)
        if self._recent is not None:
            # Nearly always, all have the most recent one.
            remaining = self._compare(records, remaining, self._recent, services)
        for width in [*self._widths]:
            remaining = self._look_up(records, remaining, width, services)
        while len(remaining):
            index = int(remaining[0])
            tail = self._tail_of(records, index)
            if tail is None or len(tail.text) > _MAX_TAIL_BYTES or len(self._widths) >= _MAX_WIDTHS:
                services[index] = NO_NUMBER if tail is None else tail.service
                remaining = remaining[1:]
                continue
            self._recent = tail
            remaining = self._compare(records, remaining, tail, services)
            self._widths[len(tail.text)] = KnownRows(len(tail.text))
            remaining = self._look_up(records, remaining, len(tail.text), services)
        return services

    def _compare(self, records: Ends, remaining: Places, tail: _Tail, services: NDArray[np.int64]) -> Places:
        """Note the service of those that have a tail; return the others."""
        fits = tail.template.fits(
            records.buffer, records.ends[remaining] - tail.template.width, records.attributes[remaining]
        )
        services[remaining[fits]] = tail.service
        return remaining[~fits]

    def _look_up(self, records: Ends, remaining: Places, width: int, services: NDArray[np.int64]) -> Places:
        """Note the services of those whose tails have a width; return the others."""
        if not len(remaining):
            return remaining
        tail_starts = records.ends[remaining] - width
        fits = self._template.fits(records.buffer, tail_starts, records.attributes[remaining])
        selected = remaining[fits]

        def number_of(row: int) -> int:
            tail = self._tail_of(records, int(selected[row]))
            if tail is None:
                return NO_NUMBER
            self._recent = tail
            return tail.service

        services[selected] = self._widths[width].find_at(records.buffer, tail_starts[fits], number_of)
        return remaining[~fits]

    def _tail_of(self, records: Ends, index: int) -> _Tail | None:
        """Return the tail of a record, decoded with the whole record where it is new."""
        data, end = records.data, int(records.ends[index])
        begin = data.rfind(self._begin, int(records.attributes[index]), end)
        if begin < 0:
            return None
        text = bytes(data[begin:end])
        tail = self._tails.get(text)
        if tail is None:
            service = _service_of(bytes(data[int(records.starts[index]) : end]), text)
            if service is None:
                return None
            if len(self._tails) >= _MAX_TAILS:
                self._tails.clear()
            tail = self._tails[text] = _Tail(text, Template(text), self._number_of(service))
        return tail


def _service_of(record: bytes, tail: bytes) -> str | None:
    """Return the service of a record without warnings, with nothing else in its tail; None for any other."""
    try:
        document, rest = orjson.loads(record), orjson.loads(b'{"attributes": {' + tail)
    except orjson.JSONDecodeError:
        return None
    fields = console.fields_of(document)
    if type(fields) is not tuple or rest.keys() != {"attributes", "events", "links", "resource"}:
        return None
    columns = console.columns_of([fields])
    return None if columns.warnings[0] else columns.services[0]
