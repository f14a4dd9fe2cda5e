"""What lines of OTLP have before their span and after it: recognized by those that were decoded.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[     the head, of a resource and a scope
{"traceId":"…",…                                                           the span
}]}]}]}                                                                    the tail, the same in all lines of a head
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from spanview.formats.otlp import read as otlp
from spanview.formats.otlp.rows import OF_DOCUMENTS, OF_RESOURCES, OF_SCOPES, objects_in
from spanview.formats.usual import NOWHERE
from spanview.index.gather import Template
from spanview.quick.known_rows import NO_NUMBER, KnownRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.arrays import Places
    from spanview.index.gather import Bytes

_MAX_HEADS: Final = 4096
"""If there are more, all are forgotten."""
_MAX_HEAD_BYTES: Final = 4096
_SCHEMA: Final = rb'(?:,"schemaUrl":"[^"\\]*")?'
# `}]}]}]}` · `}],"schemaUrl":"https://a"}]}]}`
_TAIL: Final = re.compile(rb"\}\]" + _SCHEMA + rb"\}\]" + _SCHEMA + rb"\}\]\}\Z")
_SPAN: Final = {"traceId": "1" * 32, "spanId": "1" * 16, "startTimeUnixNano": "1", "endTimeUnixNano": "1"}


@dataclass(frozen=True, slots=True)
class OtlpLines:
    """Where lines are that have one span each."""

    starts: Places
    spans: Places
    """Where the span of each begins: at its brace."""
    ends: Places
    """Where each line ends: after a brace."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What begins a line that was decoded."""

    template: Template
    tail: Template
    service: int
    process: int


class Heads:
    """The heads that were seen.

    Args:
        process_number: Returns the number of what a resource says of its process.
    """

    def __init__(self, service_number: Callable[[str], int], process_number: Callable[[str], int]) -> None:
        self._service_number, self._process_number = service_number, process_number
        self._forget()

    def _forget(self) -> None:
        self._heads: list[_Head] = []
        self._known: dict[bytes, int] = {}
        """Of each head that was decoded its index, `NO_NUMBER` where lines can't begin so."""
        self._recent = NO_NUMBER
        self._widths: dict[int, KnownRows] = {}

    def numbers(
        self, data: bytearray, buffer: Bytes, lines: OtlpLines, attributes: Places
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the numbers of services, `NO_NUMBER` where head and tail aren't recognized, and those of processes.

        Args:
            attributes: Where the attributes of each line begin.
        """
        if len(self._known) >= _MAX_HEADS:
            self._forget()
        heads = self._look_up(data, buffer, lines)
        services, processes = np.full(len(heads), NO_NUMBER, np.int64), np.zeros(len(heads), np.uint32)
        for number in np.unique(heads[heads != NO_NUMBER]).tolist():
            head = self._heads[number]
            rows = np.flatnonzero(heads == number)
            fits = head.tail.fits(buffer, lines.ends[rows] - head.tail.width, attributes[rows])
            services[rows[fits]], processes[rows[fits]] = head.service, head.process
        return services, processes

    def _look_up(self, data: bytearray, buffer: Bytes, lines: OtlpLines) -> NDArray[np.int64]:
        """Return the number of each line's head."""
        widths = lines.spans - lines.starts
        heads = np.full(len(widths), NO_NUMBER, np.int64)
        remaining = np.flatnonzero(widths <= _MAX_HEAD_BYTES)
        if self._recent != NO_NUMBER:
            # Mostly, all have the most recent one.
            recent = self._heads[self._recent].template
            rows = remaining[widths[remaining] == recent.width]
            heads[rows[recent.take(buffer, lines.starts[rows])[1]]] = self._recent
            remaining = remaining[heads[remaining] == NO_NUMBER]
        for width in np.unique(widths[remaining]).tolist():
            rows = remaining[widths[remaining] == width]

            def number_of(row: int, rows: Places = rows) -> int:
                start, span, end = (int(places[rows[row]]) for places in (lines.starts, lines.spans, lines.ends))
                return self._head_of(bytes(data[start:span]), bytes(data[span:end]))

            known = self._widths.setdefault(width, KnownRows(width))
            heads[rows] = known.find_at(buffer, lines.starts[rows], number_of)
        return heads

    def _head_of(self, text: bytes, rest: bytes) -> int:
        """Return the number of a line's head, decoded where it is new."""
        number = self._known.get(text)
        if number is None:
            tail = _TAIL.search(rest)
            names = None if tail is None else _names_in(text, tail[0])
            number = NO_NUMBER
            if tail is not None and names is not None:
                number, (service, process) = len(self._heads), names
                numbers = self._service_number(service), self._process_number(process)
                self._heads.append(_Head(Template(text), Template(tail[0]), *numbers))
            self._known[text] = number
        if number != NO_NUMBER:
            self._recent = number
        return number


def _names_in(head: bytes, tail: bytes) -> tuple[str, str] | None:
    """Return service and process of lines with one span between a head and a tail; None for what isn't usual."""
    try:
        document = orjson.loads(head + b"{" + tail)
        (of_resource,) = objects_in(document, "resourceSpans", OF_DOCUMENTS)
        (of_scope,) = objects_in(of_resource, "scopeSpans", OF_RESOURCES)
        (_,) = objects_in(of_scope, "spans", OF_SCOPES)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    of_scope["spans"] = [_SPAN]
    (span,) = otlp.spans_of(document, NOWHERE)
    return None if span.warnings else (span.service, span.resource.process)
