"""Which traces a command is about: by id, by query, by time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanview.analysis.query.since import ended_after
from spanview.analysis.query.values import REQUEST_ID_KEYS, UUID
from spanview.model.ids import TRACE_ID_DIGITS, format_trace_id
from spanview.model.problems import TraceNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from spanview.analysis.query.query import Query
    from spanview.index.store import Store

_PREFIX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,32})")
_MAX_LISTED: Final = 10


def find_trace(store: Store, prefix: str) -> int:
    """Return the trace whose id has a prefix, as `traces_beginning` takes it.

    Raises:
        TraceNotFoundError: No trace's id has the prefix, or several do; these are listed.
    """
    matches = traces_beginning(store, prefix)
    only_trace([store.trace_table.trace_id(trace) for trace in matches], prefix)
    return matches[0]


def only_trace(trace_ids: Collection[int], prefix: str) -> None:
    """Complain unless one trace's id has a prefix.

    Args:
        trace_ids: Those with a prefix, as `traces_beginning` finds them.

    Raises:
        TraceNotFoundError: There is none, or there are several; these are listed.
    """
    digits = prefix.strip().lower().removeprefix("0x")
    if not trace_ids:
        raise TraceNotFoundError(f"no trace id begins with {digits}; `spanview tree` lists them")
    if len(trace_ids) > 1:
        ids = sorted(map(format_trace_id, trace_ids))
        more = f" and {len(ids) - _MAX_LISTED:,} more" if len(ids) > _MAX_LISTED else ""
        raise TraceNotFoundError(
            f"{len(ids):,} trace ids begin with {digits}; give more digits: {', '.join(ids[:_MAX_LISTED])}{more}"
        )


def traces_beginning(store: Store, prefix: str, first: int = 0) -> list[int]:
    """Return the traces whose ids have a prefix; in a store that still grows, any number is fine.

    Args:
        prefix: The first of the 32 hex digits, in either case, with or without `0x`.

    Raises:
        TraceNotFoundError: No id can have the prefix.
    """
    table, begins = store.trace_table, id_test(prefix)
    return [trace for trace in range(first, len(table)) if begins(table.trace_id(trace))]


def id_test(prefix: str) -> Callable[[int], bool]:
    """Return whether a trace's id has a prefix, as a function of the id.

    Raises:
        TraceNotFoundError: No id can have the prefix.
    """
    match = _PREFIX.fullmatch(prefix.strip())
    if match is None:
        is_request = UUID.fullmatch(prefix.strip())
        hint = f"; a request of Serve is found by -q {REQUEST_ID_KEYS[0]}={prefix.strip()}" if is_request else ""
        raise TraceNotFoundError(
            f"{prefix!r} isn't a trace id: give a prefix of its {TRACE_ID_DIGITS} hex digits{hint}"
        )
    missing = 4 * (TRACE_ID_DIGITS - len(match[1]))
    wanted = int(match[1], 16)
    return lambda trace_id: bool(trace_id) and trace_id >> missing == wanted


def selected_traces(
    store: Store,
    *,
    query: Query | None = None,
    since_cutoff: int | None = None,
    traces: Collection[int] | None = None,
) -> list[int]:
    """Return the selected traces, in the order of the exports: by start, then id.

    Args:
        since_cutoff: Keep traces that ended after it, nanoseconds since 1970; None keeps all.
    """
    chosen = [
        number
        for number in (store.traces_in_order() if traces is None or len(traces) > 1 else traces)
        if (traces is None or number in traces) and (since_cutoff is None or ended_after(store, number, since_cutoff))
    ]
    if query is None or query.is_empty:
        return chosen
    from spanview.analysis.query.matches import matching_traces

    matching = {number for batch, _ in matching_traces(store, query, chosen) for number in batch}
    return [number for number in chosen if number in matching]


def selected_rows(
    store: Store,
    *,
    query: Query | None = None,
    since_cutoff: int | None = None,
    traces: Collection[int] | None = None,
) -> list[int]:
    """Return the rows of the selected spans, in the order of the flat exports: by path and offset.

    Args:
        query: Keep spans that match, of traces for which its `trace.` terms hold; None keeps all.
        since_cutoff: Keep spans of traces that ended after it, nanoseconds since 1970; None keeps all.
    """
    rows = store.rows_in_order()
    if traces is not None or since_cutoff is not None:
        chosen = {*selected_traces(store, since_cutoff=since_cutoff, traces=traces)}
        rows = [row for row in rows if store.spans.trace[row] in chosen]
    if query is None or query.is_empty:
        return rows
    from spanview.analysis.query.matches import rows_that_match

    return rows_that_match(store, query, rows)
