"""Spanview's own lines of spans straight to columns, many at a time, without decoding them.

A line is taken if all is in it that spanview writes, and in its order; attributes, events and where the span was read
from are skipped. Any other line is for the general decoder.

Source: `spanview/formats/own/write.py`, `spanview/exports/tree_facts.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from spanview.formats.jsontext import loads_usual
from spanview.formats.own.rows import kept_quickly
from spanview.quick.brackets import Brackets
from spanview.quick.known_rows import NO_NUMBER
from spanview.quick.objects import (
    COLUMNS,
    Identifier,
    KindText,
    Moment,
    Name,
    ObjectField,
    ObjectLayout,
    ObjectScanner,
    no_spans,
    usual,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spanview.index.gather import Bytes
    from spanview.quick.objects import Lines
    from spanview.quick.texts import Names

_SPAN: Final[dict[str, Any]] = {
    "trace_id": "1" * 32,
    "span_id": "1" * 16,
    "parent_id": None,
    "name": "",
    "kind": None,
    "start_time": "2001-01-01T00:00:00.000000Z",
    "end_time": "2001-01-01T00:00:00.000000Z",
    "duration_ns": 0,
    "self_time_ns": 0,
    "status": {"code": "UNSET"},
    "attributes": {},
    "events": [],
    "links": [],
    "trace_state": {},
    "resource": {"attributes": {}, "schema_url": ""},
    "scope": None,
    "source": {},
    "warnings": [],
}
BEGIN: Final = b'{"trace_'
"""What lines begin with."""
_SKIPPED: Final = ('attributes":{', 'events":[', 'links":[', 'extra":{', 'source":{')
_KNOWN: Final = ('status":{', 'resource":{', 'trace_state":{', 'warnings":[', 'scope":{')
_STATUS, _RESOURCE = "01"
"""Places of those that are in columns."""
_SCALARS: Final = (
    rb'(?:duration|self_time)_ns":(?:null|-?(?:0|[1-9][0-9]*))|scope":null'
    rb'|wait_ns":(?:0|[1-9][0-9]*)|waited_for":"[a-z_]+"|on_critical_path":true'
)
MIN_BYTES: Final = len(orjson.dumps(_SPAN))


class OwnScanner:
    """Scans lines; it keeps what members of theirs it has seen."""

    def __init__(
        self, names: Names, service_number: Callable[[str], int], process_number: Callable[[str], int], *, cap: int
    ) -> None:
        self._cap = cap
        self._service_number, self._process_number = service_number, process_number
        fields = (
            ObjectField("trace_id", "trace", Identifier(32)),
            ObjectField("span_id", "span_id", Identifier(16)),
            ObjectField("parent_id", "parent_id", Identifier(16, is_optional=True)),
            ObjectField("name", "name", Name(names)),
            ObjectField("kind", "kind", KindText()),
            ObjectField("start_time", "start_ns", Moment()),
            ObjectField("end_time", "end_ns", Moment()),
        )
        required = (*_SKIPPED[:3], *_KNOWN[:4])
        self._objects = ObjectScanner(ObjectLayout(1, fields, _SCALARS, _SKIPPED, _KNOWN, required), self._number_of)
        self._resources: dict[tuple[int, int], int] = {}
        """Numbers of the service and the process."""

    def _number_of(self, key: str, text: bytes) -> int:
        """Return the number of the text of a member; what says nothing has zero."""
        value = loads_usual(text)
        row = None if value is None else kept_quickly({**_SPAN, key: value})
        if row is None:
            return NO_NUMBER
        _, _, _, _, service, _, status, _, process = row
        if key == "resource":
            numbers = self._service_number(service), self._process_number(process)
            return self._resources.setdefault(numbers, len(self._resources))
        return int(status)

    def take(self, data: bytearray, buffer: Bytes, lines: Lines) -> dict[str, NDArray[Any]]:
        """Return the columns of the lines that fit, those of `COLUMNS`."""
        lines = lines.at(np.flatnonzero((lines.counts == 1) & (lines.ends - lines.starts <= self._cap)))
        if not len(lines.starts):
            return no_spans()
        data, buffer, starts, ends = lines.gathered(data, buffer)
        brackets = Brackets(buffer, starts, ends)
        if not len(brackets.lines):
            return no_spans()
        starts, ends = lines.starts[brackets.lines], lines.ends[brackets.lines]
        columns, fits = self._objects.take(data, buffer, brackets, brackets.at(1))
        resources = np.array([*self._resources, (NO_NUMBER, 0)])[columns[_RESOURCE]]
        fits &= usual(columns)
        columns |= {"service": resources[:, 0], "process": resources[:, 1], "status": columns[_STATUS]}
        columns |= {"start": starts, "end": ends, "part": np.zeros_like(starts), "parts": np.ones_like(starts)}
        chosen = np.flatnonzero(fits)
        return {name: columns[name][chosen] for name in COLUMNS}
