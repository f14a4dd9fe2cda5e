"""Some traces by root name, counted one after the other; `groups_bulk` does the same with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.analysis.stats import histogram, nearest_rank
from spanview.tui.traces.group_list import GroupRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.index.store import Store
    from spanview.tui.traces.traces_model import TracesModel


def groups_of(store: Store, model: TracesModel, traces: Iterable[int], incomplete: bytes | None) -> list[GroupRow]:
    """Return traces by root name, the most frequent first.

    Args:
        store: Where the traces are.
        model: Knows their names and durations.
        traces: Their numbers.
        incomplete: 1 for each trace of the store that is incomplete; those behind its end weren't looked at.
    """
    model.root_groups.look()
    members: dict[str | None, list[int]] = {}
    for trace in traces:
        members.setdefault(model.group_name(trace), []).append(trace)
    table = store.trace_table
    rows = []
    for name, some in members.items():
        durations = sorted(length for trace in some if (length := model.duration_ns(trace)) >= 0)
        p50_ns, p95_ns, p99_ns, max_ns = (nearest_rank(durations, percent) for percent in (50, 95, 99, 100))
        rows.append(
            GroupRow(
                name,
                len(some),
                sum(1 for trace in some if table.error_count[trace]),
                None if incomplete is None else sum(incomplete[trace] for trace in some if trace < len(incomplete)),
                p50_ns,
                p95_ns,
                p99_ns,
                max_ns,
                sum(durations),
                tuple(histogram(durations)),
                max(table.start_ns[trace] for trace in some),
            )
        )
    return in_usual_order(rows)


def in_usual_order(rows: Iterable[GroupRow]) -> list[GroupRow]:
    """Return groups by how many traces they have, the most frequent first, then by name."""
    by_name = sorted(sorted(rows, key=lambda row: row.name is None), key=lambda row: row.name or "")
    return sorted(by_name, key=lambda row: row.traces, reverse=True)
