"""What the formats' ways from documents to rows have in common, where all is as usual, and where it isn't.

as the format has it, and not rare     a row
anything else                          the row of a whole span
"""

from __future__ import annotations

from binascii import unhexlify
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

from spanview.formats.rows import Row
from spanview.model.codes import KIND_UNSPECIFIED
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS
from spanview.model.problems import Warnings
from spanview.model.span import PROCESS_KEYS, Source, process_text
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.model.span import Span

_T = TypeVar("_T")
_U = TypeVar("_U")
NOWHERE: Final = Source("", 0, 0)
"""The source of a span whose source isn't needed."""
TRACE_BYTES: Final = TRACE_ID_DIGITS // 2
OWN_BYTES: Final = TRACE_BYTES + SPAN_ID_DIGITS // 2
"""Bytes of a row's ids that are the trace's and the span's; those of the parent follow."""
_ID_BYTES: Final = OWN_BYTES + SPAN_ID_DIGITS // 2
_NO_TRACE_ID, _NO_SPAN_ID = "0" * TRACE_ID_DIGITS, "0" * SPAN_ID_DIGITS
_NO_END, _NEGATIVE = Warnings.NO_END.value, Warnings.NEGATIVE_DURATION.value
_MAX_KNOWN_NAMES: Final = 4096
"""Resources of which service and process are known at once."""


class UnusualError(ValueError):
    """Something isn't just as a format has it, or is rare: a whole span is to be made."""


def usual_ids(trace_id: str, span_id: str, parent_id: str | None) -> bytes:
    """Return the ids of a row; the upper half of a trace's may be left out.

    Raises:
        ValueError, TypeError: One of them is unusable, or doesn't have all its hex digits and nothing else.
    """
    parent_id = _NO_SPAN_ID if parent_id is None or parent_id == "" else parent_id
    if len(trace_id) == SPAN_ID_DIGITS:
        trace_id = _NO_SPAN_ID + trace_id
    ids = bytes.fromhex(trace_id + span_id + parent_id)
    # Blanks between digits are none of the ids.
    if (
        len(ids) != _ID_BYTES
        or len(trace_id) != TRACE_ID_DIGITS
        or not len(span_id) == len(parent_id) == SPAN_ID_DIGITS
        or trace_id == _NO_TRACE_ID
        or span_id == _NO_SPAN_ID
    ):
        raise UnusualError
    return ids


def ids_of_all(trace_ids: Sequence[str], span_ids: Sequence[str], parent_ids: Sequence[str]) -> list[bytes]:
    """Return the ids of rows as `usual_ids` does, of which parents without an id have zeros.

    Raises:
        ValueError, TypeError: One of them is unusable, or doesn't have all its hex digits and nothing else.
    """
    if not {*map(len, trace_ids)} <= {TRACE_ID_DIGITS}:
        trace_ids = [_NO_SPAN_ID + own if len(own) == SPAN_ID_DIGITS else own for own in trace_ids]
    if (
        not {*map(len, trace_ids)} <= {TRACE_ID_DIGITS}
        or not {*map(len, span_ids), *map(len, parent_ids)} <= {SPAN_ID_DIGITS}
        or _NO_TRACE_ID in trace_ids
        or _NO_SPAN_ID in span_ids
    ):
        raise UnusualError
    ids = unhexlify("".join(chain.from_iterable(zip(trace_ids, span_ids, parent_ids, strict=True))))
    return [ids[first : first + _ID_BYTES] for first in range(0, len(ids), _ID_BYTES)]


def each_usual(take: Callable[[Sequence[_T]], list[_U]], parts: Sequence[_T]) -> Sequence[_U | None]:
    """Return what `take` makes of each of some parts, given all; None for those that aren't usual, found by halving."""
    try:
        return take(parts)
    except (ValueError, TypeError, KeyError, AttributeError):
        middle = len(parts) // 2
        return [*each_usual(take, parts[:middle]), *each_usual(take, parts[middle:])] if middle else [None]


def time_warnings(start: int, end: int) -> int:
    """Return the bits of what is to be said of a span's times."""
    return _NO_END if end == NO_TIME else _NEGATIVE if end < start else 0


@lru_cache(_MAX_KNOWN_NAMES, typed=True)
def _names_of(*values: Any) -> tuple[str, str]:
    service = values[0]
    return service if isinstance(service, str) else "", process_text(dict(zip(PROCESS_KEYS, values, strict=True)))


def names_in(attributes: Mapping[str, Any]) -> tuple[str, str]:
    """Return service and process of a resource by its attributes.

    Raises:
        TypeError: One of those that tell a process is a list or an object.
    """
    return _names_of(*map(attributes.get, PROCESS_KEYS))


def row_of_span(span: Span) -> Row:
    """Return the row of a span, whatever its format."""
    start = NO_TIME if span.start_ns is None else span.start_ns
    end = NO_TIME if span.end_ns is None else span.end_ns
    warnings = span.warnings.value | time_warnings(start, end)
    if span.trace_id is None or span.span_id is None:
        warnings |= Warnings.BAD_ID.value
    return Row(
        (
            bytes.fromhex(
                (span.trace_id or _NO_TRACE_ID) + (span.span_id or _NO_SPAN_ID) + (span.parent_id or _NO_SPAN_ID)
            ),
            start,
            end,
            span.name,
            span.service,
            KIND_UNSPECIFIED if span.kind_value is None else span.kind_value,
            span.status.code_value,
            warnings,
            span.resource.process,
        )
    )
