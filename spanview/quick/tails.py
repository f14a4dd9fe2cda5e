"""The ends of records, after the events: recognized by those that were decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.formats.console import columns as console
from spanview.formats.jsontext import loads_usual
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
        self._tails: dict[bytes, int] = {}
        """The numbers of the services."""
        self._recent: tuple[Template, int] | None = None
        self._widths: dict[int, KnownRows] = {}

    def services(self, records: Ends, remaining: Places) -> tuple[NDArray[np.int64], Places]:
        """Return the numbers of the services, `NO_NUMBER` where the tail isn't recognized, and where tails begin.

        Args:
            remaining: The indexes of those that are asked for.
        """
        services, begins = np.full(len(records.ends), NO_NUMBER, np.int64), records.ends.copy()
        if self._recent is not None:
            # Nearly always, all have the most recent one.
            tail, service = self._recent
            fits = tail.fits(records.buffer, records.ends[remaining] - tail.width, records.attributes[remaining])
            services[remaining[fits]] = service
            begins[remaining[fits]] -= tail.width
            remaining = remaining[~fits]
        for width in [*self._widths]:
            remaining = self._look_up(records, remaining, width, services, begins)
        while len(remaining):
            index = int(remaining[0])
            text, service = self._tail_of(records, index)
            width = len(text)
            if service == NO_NUMBER or width > _MAX_TAIL_BYTES or len(self._widths) >= _MAX_WIDTHS:
                services[index] = service
                begins[index] -= width
                remaining = remaining[1:]
                continue
            self._widths[width] = KnownRows(width)
            remaining = self._look_up(records, remaining, width, services, begins)
        return services, begins

    def _look_up(
        self, records: Ends, remaining: Places, width: int, services: NDArray[np.int64], begins: Places
    ) -> Places:
        """Note the services of those whose tails have a width, and where these begin; return the others."""
        if not len(remaining):
            return remaining
        tail_starts = records.ends[remaining] - width
        fits = self._template.fits(records.buffer, tail_starts, records.attributes[remaining])
        selected = remaining[fits]

        def number_of(row: int) -> int:
            text, number = self._tail_of(records, int(selected[row]))
            if number != NO_NUMBER:
                self._recent = Template(text), number
            return number

        services[selected] = self._widths[width].find_at(records.buffer, tail_starts[fits], number_of)
        begins[selected] = tail_starts[fits]
        return remaining[~fits]

    def _tail_of(self, records: Ends, index: int) -> tuple[bytes, int]:
        """Return a record's tail, decoded with the whole record where it is new, and the number of its service."""
        data, end = records.data, int(records.ends[index])
        begin = data.rfind(self._begin, int(records.attributes[index]), end)
        text = bytes(data[begin:end]) if begin >= 0 else b""
        number = self._tails.get(text, NO_NUMBER)
        if text and number == NO_NUMBER:
            service = _service_of(bytes(data[int(records.starts[index]) : end]), text)
            if service is not None:
                if len(self._tails) >= _MAX_TAILS:
                    self._tails.clear()
                number = self._tails[text] = self._number_of(service)
        return text, number


def _service_of(record: bytes, tail: bytes) -> str | None:
    """Return the service of a record without warnings, with nothing else in its tail; None for any other."""
    fields, rest = console.fields_of(loads_usual(record)), loads_usual(b'{"events": [' + tail)
    if type(fields) is not tuple or rest is None or rest.keys() != {"events", "links", "resource"}:
        return None
    columns = console.columns_of([fields])
    return None if columns.warnings[0] else columns.services[0]
