"""Statistics of spans that no machine could hold, counted trace by trace in tasks of a cluster.

partition   a store again, in which the index decides about spans of several files; its groups of spans
driver      joins the groups; their durations are all that it gets of a span, 8 bytes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.grouping import GROUPINGS, SERVICE_AND_NAME, column_of
from spanview.analysis.stats import GroupPart, joined, parts_of
from spanview.cluster.shuffle import Job, Tasks, partitions, read_on
from spanview.cluster.span_rows import store_of
from spanview.index.tallies import Tallies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.stats import Group
    from spanview.cluster.span_rows import SpanRows

BY: Final = (*GROUPINGS, SERVICE_AND_NAME, "status")
"""What spans can be grouped by here: what the columns have."""


def statistics_on_cluster(tasks: Tasks, job: Job, by: str) -> tuple[list[Group], Tallies]:
    """Return what `statistics` does, and what else was counted.

    How many duplicates there are isn't: those of several files are known to the partitions, those of one to its task.

    Raises:
        CollectError: A node can't read a file, or has another spanview, or none.
        TraceNotFoundError: The trace that is asked for isn't there, or isn't the only one.
    """
    tallies, parts = Tallies(), list[GroupPart]()
    reading = read_on(tasks, job)
    for report in reading.reports:
        tallies.take_state(report.tallies)
    counts = [tasks.start(_count, reading.job, by, *rows)[0] for rows in reading.shares]
    # What nobody refers to any more makes room for others.
    reading.shares.clear()
    for count in counts:
        parts += tasks.take(count)
    return joined(parts), tallies


def _count(job: Job, by: str, *rows: Sequence[SpanRows]) -> list[GroupPart]:
    """Return what was counted in the partitions of a share."""
    parts = list[GroupPart]()
    for rows_of_traces, reader in partitions(job, rows):
        store = store_of(rows_of_traces, reader)
        traces = None if job.selection.is_everything else job.selection.traces(store)
        parts += parts_of(store, column_of(store, by), traces)
    return parts
