"""The rows of Zipkin's spans that are just as its API has them, without making spans of them.

Whatever isn't usual is left to `read`, which gives the same for all that is.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.rows import PartRow, Row, ignore_part
from spanview.formats.tags import ERROR_TAG, KIND, STATUS_CODE, status_named, time_of_micros, times_of
from spanview.formats.usual import (
    NOWHERE,
    OWN_BYTES,
    UnusualError,
    each_usual,
    ids_of_all,
    row_of_span,
    time_warnings,
)
from spanview.formats.zipkin.read import ENDPOINT_KEYS, KEYS, add_endpoint, is_document, records_in, span_of, spans_of
from spanview.formats.zipkin.shared import SpanIds, keys_of
from spanview.formats.zipkin.write import LOCAL
from spanview.model.codes import ERROR, KIND_NAMES, KIND_UNSPECIFIED
from spanview.model.ids import SPAN_ID_DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["is_document", "kept_quickly", "parts_of", "rows_of", "spans_of"]

_KINDS: Final = {None: KIND_UNSPECIFIED} | {name: number for number, name in enumerate(KIND_NAMES)}
_NO_PARENT: Final = "0" * SPAN_ID_DIGITS
_ONLY_TEXT: Final = frozenset((str,))
_TEXT_OR_NONE: Final = frozenset((str, type(None)))
_MAX_ENDPOINTS: Final = 4096
"""Endpoints that are known at once."""
_LATE_MICROS: Final = 2**62 // 1_000
"""Times and durations before it have sums that are times."""


def kept_quickly(document: dict[str, Any]) -> PartRow | None:
    """Return the row of a span that is alone; None for anything else, and for what isn't usual."""
    return parts_of([document])[0]


def parts_of(documents: Sequence[dict[str, Any]]) -> Sequence[PartRow | None]:
    """Return the row of each span, as if it were alone; None for anything else, and for what isn't usual."""
    return each_usual(_parts_of, documents)


def _parts_of(documents: Sequence[dict[str, Any]]) -> list[PartRow]:
    if not {*chain.from_iterable(documents)} <= KEYS:
        raise UnusualError
    return [*map(PartRow, zip(_ids_of(documents), *_columns_of(documents), strict=True))]


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    records = [*records_in(value, pass_over)]
    all_ids = each_usual(_ids_of, records)
    keys: Sequence[SpanIds | None] = [None] * len(records)
    if None in all_ids or len({ids[:OWN_BYTES] for ids in all_ids if ids}) < len(records):
        # Perhaps, some share their ids.
        keys = keys_of(records)
    rows = list[Row]()
    values = each_usual(lambda records: [*zip(*_columns_of(records), strict=True)], records)
    for record, key, ids, rest in zip(records, keys, all_ids, values, strict=True):
        if ids is None or rest is None:
            rows.append(row_of_span(span_of(record, keys_of([record])[0] if key is None else key, NOWHERE)))
        else:
            rows.append(Row((ids if key is None else _bytes_of(key), *rest)))
    return rows


def _bytes_of(key: SpanIds) -> bytes:
    trace_id, span_id, parent_id = key
    return b"".join(number.to_bytes(size, "big") for number, size in ((trace_id, 16), (span_id, 8), (parent_id, 8)))


def _all(records: Iterable[dict[str, Any]], key: str, missing: Any = None) -> list[Any]:
    return [*map(dict.get, records, repeat(key), repeat(missing))]


def _ids_of(records: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return the ids of records as they have them.

    Raises:
        ValueError, TypeError: One isn't usual.
    """
    span_ids, parent_ids = [*map(str.lower, _all(records, "id"))], _all(records, "parentId")
    if _NO_PARENT in parent_ids or not {*map(type, parent_ids)} <= _TEXT_OR_NONE:
        raise UnusualError
    # A span that is its own parent is what some programs write for a root.
    parent_ids = [
        _NO_PARENT if not parent_id or parent_id.lower() == span_id else parent_id
        for parent_id, span_id in zip(parent_ids, span_ids, strict=True)
    ]
    return ids_of_all(_all(records, "traceId"), span_ids, parent_ids)


def _columns_of(records: Sequence[dict[str, Any]]) -> tuple[Sequence[Any], ...]:
    """Return what rows have of records, but for their ids, column by column.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: Something isn't usual.
    """
    names, tags, raw_kinds = _all(records, "name", ""), _all(records, "tags", {}), _all(records, "kind")
    times = _times_of(_all(records, "timestamp"), _all(records, "duration"))
    services = _services_at(_all(records, "localEndpoint"))
    peers = _services_at([record["remoteEndpoint"] for record in records if "remoteEndpoint" in record])
    annotations = [record["annotations"] for record in records if "annotations" in record]
    if (
        not {*map(type, chain(names, *map(dict.values, tags)))} <= _ONLY_TEXT
        or None in services
        or None in peers
        or not {*map(type, annotations)} <= {list}
        or not all(map(_is_annotation, chain.from_iterable(annotations)))
    ):
        raise UnusualError
    kinds = [*map(_KINDS.__getitem__, raw_kinds)]
    if None in raw_kinds:
        kinds = [
            0 if kind == KIND_UNSPECIFIED and of_span.get(KIND) == "internal" else kind
            for kind, of_span in zip(kinds, tags, strict=True)
        ]
    statuses = [
        ERROR if ERROR_TAG in of_span else status_named(of_span.get(STATUS_CODE)) or 0 if STATUS_CODE in of_span else 0
        for of_span in tags
    ]
    *starts_and_ends, warnings = times
    return *starts_and_ends, names, services, kinds, statuses, warnings, [""] * len(records)


def _times_of(starts: list[Any], durations: list[Any]) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return starts and ends in nanoseconds, as `times_of` does one by one, and what is to be said of them."""
    if {*map(type, starts), *map(type, durations)} == {int} and (
        0 < min(starts) <= max(starts) < _LATE_MICROS and 0 <= min(durations) <= max(durations) < _LATE_MICROS
    ):
        starts = [1_000 * start for start in starts]
        ends = [start + 1_000 * duration for start, duration in zip(starts, durations, strict=True)]
        return starts, ends, [0] * len(ends)
    known_starts, known_ends, are_malformed = zip(*map(times_of, starts, durations), strict=True)
    if any(are_malformed):
        raise UnusualError
    return known_starts, known_ends, [*map(time_warnings, known_starts, known_ends)]


def _is_annotation(annotation: dict[str, Any]) -> bool:
    return type(annotation["value"]) is str and not time_of_micros(annotation["timestamp"])[1]


def _services_at(endpoints: list[dict[str, Any] | None]) -> list[str | None]:
    """Return the service at each endpoint, empty for none; None for an endpoint that isn't usual."""
    there = [{} if endpoint is None else endpoint for endpoint in endpoints]
    if not {*map(type, there)} <= {dict}:
        raise UnusualError
    keys = (*ENDPOINT_KEYS.intersection(chain.from_iterable(there)),)
    return [*map(_service_named, repeat(keys, len(there)), *(_all(there, key) for key in keys))]


@lru_cache(_MAX_ENDPOINTS, typed=True)
def _service_named(keys: tuple[str, ...], *values: Any) -> str | None:
    name, is_malformed = add_endpoint({}, dict(zip(keys, values, strict=True)), LOCAL)
    return None if is_malformed else name
