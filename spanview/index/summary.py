"""What a store holds, and what is wrong with it, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.index.forest import forest_of
from spanview.model.problems import Summary
from spanview.telemetry import stage

if TYPE_CHECKING:
    from spanview.index.store import Store


def summary_of(store: Store) -> Summary:
    """Count everything; stitches every trace, because only then the missing parents are known."""
    tallies, table = store.tallies, store.trace_table
    with stage("stitch"):
        missing = len(forest_of(store).missing())
    return Summary(
        files=tallies.files,
        bytes=tallies.bytes,
        spans=len(store.spans),
        traces=sum(1 for trace in range(len(table)) if table.trace_id(trace)),
        roots=sum(table.root_count),
        missing_parents=missing,
        duplicates=tallies.duplicates,
        torn=tallies.torn,
        skipped=tallies.skipped,
    )
