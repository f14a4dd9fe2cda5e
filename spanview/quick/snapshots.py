"""Records of spans before and after their ends, joined many at a time, as the index does it one by one.

there              comes              what is done
-----              -----              ------------
without an end     with an end        the row is of the new record
with an end        without an end     nothing
anything else                         left to the index, and so is what it knows more of than the tables have
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.index.intake import SAME_COLUMNS
from spanview.index.room import are_scanned
from spanview.model.codes import ERROR
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags
    from spanview.index.intake import Intake

_REPLACED: Final = ("name", "status", "process", "source", "offset", "length", "end_ns")


def join_snapshots(intake: Intake, records: Mapping[str, NDArray[Any]], rows: NDArray[np.uint32]) -> Flags:
    """Join records to the rows of their spans.

    Args:
        rows: The row that has the ids of each.

    Returns:
        Which records are joined.
    """
    spans = intake.spans
    has_end, had_end = records["end_ns"] != NO_TIME, np.asarray(spans.end_ns)[rows] != NO_TIME
    # One that was decoded may have taken the place of one that was scanned: the index knows what becomes of that.
    joins: Flags = (has_end != had_end) & (records["is_scanned"] | ~has_end)
    if not joins.any():
        return joins
    for name in SAME_COLUMNS:
        joins &= records[name] == np.asarray(getattr(spans, name))[rows]
    joins &= np.asarray(spans.warnings)[rows] & np.uint16(Warnings.DUPLICATE_ID) == 0
    # Of several records of one span, their order decides.
    _, positions, counts = np.unique(rows, return_inverse=True, return_counts=True)
    joins &= counts[positions] == 1
    if noted := intake.noted_rows():
        joins &= ~np.isin(rows, noted)
    ended = np.flatnonzero(joins & has_end)
    _note_scanned(intake, rows[ended])
    _replace(intake, {name: records[name][ended] for name in _REPLACED}, rows[ended])
    return joins


def _note_scanned(intake: Intake, rows: NDArray[np.uint32]) -> None:
    """Take note that the records of rows were scanned, also of rows whose records were decoded so far."""
    decoded = np.sort(rows[~are_scanned(intake)[rows]]).astype(np.int64)
    if len(decoded):
        intake.moved.difference_update(decoded.tolist())
        for run in np.split(decoded, np.flatnonzero(np.diff(decoded) > 1) + 1):
            intake.note_scanned(range(int(run[0]), int(run[-1]) + 1))


def _replace(intake: Intake, records: Mapping[str, NDArray[Any]], rows: NDArray[np.uint32]) -> None:
    """Let rows be of other records, which have the ends of their spans."""
    spans, table = intake.spans, intake.traces
    traces = np.asarray(spans.trace)[rows]
    errors = (records["status"] == ERROR).astype(np.int64) - (np.asarray(spans.status)[rows] == ERROR)
    # A number below zero wraps around, and so does the sum.
    np.add.at(np.asarray(table.error_count), traces, errors.astype(np.uint32))
    np.maximum.at(np.asarray(table.end_ns), traces, records["end_ns"])
    np.add.at(np.asarray(table.replaced), traces, np.uint32(1))
    for name, values in records.items():
        np.asarray(getattr(spans, name))[rows] = values
    np.asarray(spans.warnings)[rows] = 0
    intake.replaced.frombytes(rows.astype(np.uint32).view(np.uint8).data)
