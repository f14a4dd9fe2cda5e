"""What runs and what waits now, oldest first."""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Final, cast

from rich.cells import cell_len

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.names import ShortNames
from spanview.display.cells import data_text, fitting, name_text
from spanview.display.sanitise import sanitise
from spanview.index.lives import State
from spanview.index.table import NO_ROW
from spanview.model.times import known
from spanview.reports.report import Report
from spanview.reports.table import TEXT, TIME_NS, Piece, Ranks, Table, TableColumn, fact, span_columns, timed, worded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.ray.running import OpenSpan, Running
    from spanview.index.store import Store

_LEAST_NAME: Final = 16
"""Cells of a name with which its trace is there, too."""
_NOTHING: Final = "nothing runs or waits here, as far as the processes of this host show"
_MARKS: Final = {State.RUNNING: "●", State.WAITING: "◌"}


def running_table(store: Store, now_ns: int) -> Table[OpenSpan]:
    """Return the columns of what runs and waits, with ages as of a time in nanoseconds since 1970."""
    spans, names, short = store.spans, store.names.texts, ShortNames(store.names)

    def state(span: OpenSpan) -> str:
        if span.certainty is None:
            return "may wait"
        return f"{span.state}{'?' * (span.certainty is Certainty.LIKELY)}"

    def beside(span: OpenSpan) -> str:
        root = store.trace_table.root_row[spans.trace[span.row]]
        where = "" if root in {NO_ROW, span.row} else f"in {names[spans.name[root]]}"
        # Of a call that is no process' yet, the reason says what it waits for, or why nobody knows.
        return span.text if span.pid is None else where

    def wants(span: OpenSpan) -> int:
        cells = [cell_len(sanitise(text)) for text in (names[spans.name[span.row]], beside(span))]
        return 2 * max(*cells, _LEAST_NAME) + 1

    def name(span: OpenSpan, cells: int) -> Iterator[Piece]:
        shared = (cells - 1) // 2 if cells > 2 * _LEAST_NAME else 0
        whole = names[spans.name[span.row]] or "(no name)"
        yield Piece(name_text(fitting([whole, short[whole]], shared or cells), shared or cells))
        if shared:
            yield Piece(" " + data_text(beside(span), shared), "dim")

    return Table(
        (
            timed("AGE", "age_ns", "how long ago it started, or was submitted", lambda span: span.age_ns(now_ns)),
            worded(
                "STATE",
                "state",
                "running or waiting",
                lambda span: span.state.value,
                10,
                text=lambda span: f"{_MARKS[span.state]} {state(span)}",
                style=lambda span: "accent" if span.state is State.RUNNING else "dim",
                gap=2,
                schema=TEXT,
            ),
            TableColumn(
                "PID",
                8,
                lambda span: "" if span.pid is None else str(span.pid),
                key="pid",
                value=lambda span: span.pid,
                ranks=Ranks.AMOUNTS,
                behind=1,
                goes=1,
                name="pid",
                meaning="the process that runs it",
                schema=TIME_NS,
            ),
            TableColumn(
                "SPAN",
                parts=name,
                wants=wants,
                key="name",
                value=lambda span: names[spans.name[span.row]],
                ranks=Ranks.NAMES,
                name="name",
                meaning="the span's name",
            ),
            fact("since_ns", "when that was, in nanoseconds since 1970", TIME_NS, lambda span: known(span.since_ns)),
            fact(
                "certainty",
                "certain or likely; null of a call that may wait or run, where nobody knows more",
                TEXT,
                lambda span: None if span.certainty is None else span.certainty.value,
            ),
            fact("reason", "why it is thought so", TEXT, lambda span: span.text),
            *span_columns(store, "its id", lambda span: span.row),
        ),
        "age",
        _LEAST_NAME,
    )


def running_report(store: Store, traces: Sequence[int] | None = None) -> Report[OpenSpan]:
    """Return what runs and waits in some traces, None for all, as processes of this host say it now."""
    # What is asked may end meanwhile.
    now_ns = time_ns()
    found: Sequence[OpenSpan] = ()
    if store.ask_lives is not None:
        running = cast("Running", store.ask_lives(store))
        found = running.open_spans(running.open_calls(), None if traces is None else {*traces})
    table = running_table(store, now_ns)
    return Report("running", table, table.in_order(found), nothing=_NOTHING)
