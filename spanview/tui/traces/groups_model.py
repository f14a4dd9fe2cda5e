"""Some traces by root name, counted one after the other; `traces_bulk` does the same with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanview.analysis.percentiles import histogram, nearest_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from spanview.index.table import TraceTable


class GroupRow(NamedTuple):
    """Traces of one root name."""

    name: str | None
    """None for traces whose root is missing."""
    traces: int
    """How many traces, with those that lack a start or an end, which are left out of all durations."""
    failed: int
    """Traces in which something failed, with an error or without."""
    incomplete: int | None
    """Of the traces that were looked at; None where none was."""
    p50_ns: int | None
    """None, as are the other durations, where no trace has one."""
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    total_ns: int
    """Sum of the durations."""
    histogram: tuple[int, ...]
    """How many durations have each power of ten of nanoseconds."""
    newest_ns: int
    """The latest start, or `NO_TIME`."""
    open_ns: Mapping[int, bool] = {}
    """The durations, until now or as far as they were seen, of traces that lack an end, and whether one runs."""

    @property
    def share(self) -> float:
        """What share of the traces has failed, from 0 to 1."""
        return self.failed / self.traces


def groups_of(
    table: TraceTable,
    traces: Iterable[int],
    incomplete: bytes | None,
    name_of: Callable[[int], str | None],
    duration_of: Callable[[int], int],
) -> list[GroupRow]:
    """Return traces by root name, the most frequent first; as failed count those with an error.

    Args:
        incomplete: 1 for each trace of the store that is incomplete; those behind its end weren't looked at.
        duration_of: Returns the duration of a trace in nanoseconds, -1 where it has none.
    """
    members: dict[str | None, list[int]] = {}
    for trace in traces:
        members.setdefault(name_of(trace), []).append(trace)
    rows = []
    for name, members_of_name in members.items():
        durations = sorted(length for trace in members_of_name if (length := duration_of(trace)) >= 0)
        p50_ns, p95_ns, p99_ns, max_ns = (nearest_rank(durations, percent) for percent in (50, 95, 99, 100))
        rows.append(
            GroupRow(
                name,
                len(members_of_name),
                sum(1 for trace in members_of_name if table.error_count[trace]),
                None
                if incomplete is None
                else sum(incomplete[trace] for trace in members_of_name if trace < len(incomplete)),
                p50_ns,
                p95_ns,
                p99_ns,
                max_ns,
                sum(durations),
                tuple(histogram(durations)),
                max(table.start_ns[trace] for trace in members_of_name),
            )
        )
    return in_usual_order(rows)


def in_usual_order(rows: Iterable[GroupRow]) -> list[GroupRow]:
    """Return groups by how many traces they have, the most frequent first, then by name."""
    by_name = sorted(sorted(rows, key=lambda row: row.name is None), key=lambda row: row.name or "")
    return sorted(by_name, key=lambda row: row.traces, reverse=True)
