"""`--since`: a time, or the newest run, after which a trace must have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from spanview.analysis.query.timetext import parse_duration, parse_moment
from spanview.model.problems import QueryError
from spanview.model.times import NO_TIME, NS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.index.store import Store
    from spanview.index.table import SpanTable

PAUSE_NS: Final = 60 * NS_PER_SECOND
"""A pause this long without a running span separates two runs."""
Run: TypeAlias = "tuple[int, int]"
"""When it begins and ends, nanoseconds since 1970."""


class Since(NamedTuple):
    """What a person gave as `--since`."""

    text: str
    moment_ns: int | None
    """Nanoseconds since 1970; None for the newest run, which only a store knows."""

    def cutoff_ns(self, store: Store) -> int:
        """Return the time after which a trace must have ended, nanoseconds since 1970.

        For the newest run it is the end of the previous run, or `NO_TIME` if there is only one.
        """
        return end_before_latest(runs_of_spans(store.spans)) if self.moment_ns is None else self.moment_ns


def parse_since(text: str, now_ns: int) -> Since:
    """Return what a `--since` means.

    Args:
        text: `10m`, `2h`, `30s`, `1d`; an ISO time, local unless it says otherwise; or `last`.

    Raises:
        QueryError: It is none of these.
    """
    cleaned = text.strip()
    if cleaned.lower() == "last":
        return Since(text, None)
    ago = parse_duration(cleaned)
    moment = parse_moment(cleaned) if ago is None else now_ns - ago
    if moment is None:
        raise QueryError(
            f"{text!r} isn't a time: give 30s, 10m, 2h or 1d, an ISO time such as 2024-05-28T18:05:04 "
            "or 2024-05-28 (local unless Z or +02:00 follows), or last"
        )
    return Since(text, moment)


def ended_after(store: Store, trace: int, cutoff_ns: int) -> bool:
    """Return whether a trace ended after a time in ns since 1970; one without any end counts by its start.

    All traces ended after `NO_TIME`.
    """
    table = store.trace_table
    end = table.end_ns[trace]
    return cutoff_ns == NO_TIME or (table.start_ns[trace] if end == NO_TIME else end) > cutoff_ns


def runs_of_spans(spans: SpanTable) -> list[Run]:
    """Return the runs of some spans, in their order.

    A span without an end counts as a moment: if it counted as running, it would hide every later pause.
    """
    times = ((start, max(start, end)) for start, end in zip(spans.start_ns, spans.end_ns, strict=False))
    return runs_of(time for time in times if time[0] != NO_TIME)


def runs_of(times: Iterable[Run]) -> list[Run]:
    """Return the runs of spans, or of what are runs of some of them each, in their order."""
    runs: list[Run] = []
    for start, end in sorted(times):
        if runs and start - runs[-1][1] < PAUSE_NS:
            runs[-1] = runs[-1][0], max(runs[-1][1], end)
        else:
            runs.append((start, end))
    return runs


def end_before_latest(runs: list[Run]) -> int:
    """Return when the run before the newest one ended, or `NO_TIME` if there is only one."""
    return runs[-2][1] if len(runs) > 1 else NO_TIME
