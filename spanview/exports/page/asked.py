"""What only queries ask of the rows and traces of a page, beside what its views show of them."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from spanview.analysis.intervals import time_between
from spanview.analysis.query.subject import RunUntil
from spanview.analysis.query.terms import OUTCOMES
from spanview.analysis.ray.exits import cut_off_among
from spanview.analysis.ray.outcomes import outcomes_of
from spanview.analysis.ray.unended import known_until
from spanview.analysis.root_groups import names_of_root
from spanview.index.arrays import copy_of
from spanview.index.lives import State
from spanview.index.processes import pid_of_file
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanview.analysis.ray.unended import Unended
    from spanview.exports.page.columns import Columns
    from spanview.index.store import Store


def asked(store: Store, traces: Sequence[int], unended: Mapping[int, Unended], columns: Columns) -> dict[str, Any]:
    """Return it as the page's script reads it; rows are told by their numbers.

    Returns:
        `outcome` of each row is one of `OUTCOMES`, counted from 1, or 0; `ran` is how long spans without an end are
        known to have run; `state` what processes say of rows. `root` is the row of each trace's root after its first
        one, -1 without one; `names` what else than its root's name a trace may be called, by the number of that name;
        and `ended` the durations of traces that queries see otherwise than the list.
    """
    until, spans, table = known_until(unended), store.spans, store.trace_table
    roots = [table.root_row[trace] for trace in traces]
    numbers = {row: number for number, row in columns.numbered({*roots} - {NO_ROW})}
    names = {store.names.texts[spans.name[row]] for row in numbers}
    lives = None if store.ask_lives is None or not (until or columns.known.reasons) else store.ask_lives(store)
    return {
        "outcome": _outcomes(store, unended, columns),
        "ran": _pairs((number, until[row] - spans.start_ns[row]) for number, row in columns.numbered(until)),
        "state": {
            state.value: [number for number, _ in columns.numbered(rows)]
            for state, rows in zip(State, repeat(()) if lives is None else lives.rows_in(*State), strict=False)
        },
        "root": [
            -1 if row == NO_ROW else numbers[row] - first
            for row, first in zip(roots, columns.firsts().tolist(), strict=True)
        ],
        "names": {str(columns.names[name]): others for name in sorted(names) if (others := [*names_of_root(name)][1:])},
        "ended": _pairs(_other_durations(store, traces, until, columns)),
        "pids": [*map(pid_of_file, columns.files)],
    }


def _pairs(values: Iterator[tuple[int, object]]) -> list[list[object]]:
    """Return keys, and their values."""
    pairs = [*values]
    return [[key for key, _ in pairs], [value for _, value in pairs]]


def _outcomes(store: Store, unended: Mapping[int, Unended], columns: Columns) -> list[int]:
    """Return what became of calls, for their rows and those of their last attempts."""
    calls = columns.known.calls
    if not len(calls):
        return []
    of_rows = np.zeros(len(store.spans.next_row), np.int64)
    has_attempt, finished = calls.counts > 0, np.zeros(len(calls), np.bool_)
    lasts = np.zeros(len(calls), np.int64)
    lasts[has_attempt] = calls.attempts[calls.firsts[1:][has_attempt] - 1]
    if store.ray is None:
        # Nearly all have finished, and what each span shows is asked one by one.
        status, ends = copy_of(store.spans.status)[lasts], copy_of(store.spans.end_ns)[lasts]
        finished = (calls.counts == 1) & (status != ERROR) & (ends != NO_TIME)
        finished &= ~np.isin(lasts, cut_off_among(store, lasts[finished]))
    of_calls = np.where(finished, OUTCOMES.index("finished") + 1, 0)
    others = np.flatnonzero(~finished)
    became = outcomes_of(store, [*calls.at(others.tolist())], columns.known.reasons, unended)
    of_calls[others] = [OUTCOMES.index(became[row].outcome.key) + 1 for row in calls.rows[others].tolist()]
    of_rows[calls.rows] = of_calls
    of_rows[lasts[has_attempt]] = of_calls[has_attempt]
    filled: list[int] = columns.filled(of_rows[columns.span_rows]).tolist()
    return filled


def _other_durations(
    store: Store, traces: Sequence[int], until: Mapping[int, int], columns: Columns
) -> Iterator[tuple[int, int | None]]:
    """Yield the places of traces whose duration isn't what the list says: that has what began last, too."""
    table, ran_until = store.trace_table, RunUntil.of(store, until).traces
    for place, (trace, length) in enumerate(zip(traces, columns.traces["length"], strict=True)):
        duration = time_between(table.start_ns[trace], max(table.end_ns[trace], ran_until.get(trace, NO_TIME)))
        if duration != length:
            yield place, duration
