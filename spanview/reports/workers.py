"""Workers: how busy each process was, and how long it did nothing."""

from __future__ import annotations

from operator import attrgetter
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from spanview.analysis.ray.unended import seen_until
from spanview.analysis.telling import unheard
from spanview.display.cells import fitting, name_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count_or_blank, duration
from spanview.model.times import known
from spanview.reports.report import Report
from spanview.reports.table import INTEGER, SHARE, TEXT, TIME_NS, Piece, Table, TableColumn, counted, fact, timed
from spanview.reports.workers_model import Identities, Sort, WorkersModel, WorkersShape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store

_NARROWEST, _NARROW, _WIDE = 72, 96, 150
"""Cells from which on there is room for gaps, for the number of spans, and for two more figures."""
_NOTHING: Final = "no spans here, so no workers"


def _share_column(
    model: WorkersModel, head: str, name: str, meaning: str, share_of: Callable[[int], float | None], **more: Any
) -> TableColumn[int]:
    def text(index: int) -> str:
        share = share_of(index)
        return "–" if share is None else f"{share:.0%}"

    def bound(index: int) -> str:
        share = share_of(index)
        return "" if share is None else model.bound_text(index, share)

    return TableColumn(head, text=text, bound=bound, name=name, meaning=meaning, json=share_of, schema=SHARE, **more)


def workers_table(model: WorkersModel) -> Table[int]:
    """Return the columns of workers, by their indices among all; who each is takes what the others leave."""

    def of_lane(name: str) -> Callable[[int], Any]:
        value = attrgetter(name)
        return lambda index: value(model.lane(index))

    def of_worker(name: str) -> Callable[[int], str | None]:
        value = attrgetter(name)
        return lambda index: str(value(model.shape.workers[index])) or None

    def own_time(part: int) -> Callable[[int], int]:
        return lambda index: model.own_time(index)[part]

    def indent() -> str:
        return " " if model.has_headings else ""

    def name(index: int, cells: int) -> Iterator[Piece]:
        room = cells - 1 - len(indent())
        yield Piece(f"{indent()}{name_text(fitting(model.labels(index), room), room)} ")

    def name_cells(index: int) -> int:
        return cell_len(sanitise(model.labels(index)[0])) + 1 + len(indent())

    def own_share(index: int) -> float | None:
        busy_ns, length_ns = model.own_time(index)
        is_known = length_ns and model.is_busy_known(index) and not model.has_lost_end(index)
        return busy_ns / length_ns if is_known else None

    def shown_share(index: int) -> float | None:
        return model.shown_share(index) if model.is_busy_known(index) else None

    return Table(
        (
            TableColumn(
                "WORKER",
                parts=name,
                wants=name_cells,
                key=Sort.NAME.value,
                name="name",
                meaning="who it is: the driver, a worker, an actor, a replica, or a process of a service",
                json=lambda index: model.labels(index)[0],
            ),
            counted("SPANS", "span_count", "its spans", of_lane("spans"), width=8, from_width=_NARROW),
            counted(
                "ERR", "error_count", "spans with status ERROR", of_lane("errors"), width=6, style="error", key="errors"
            ),
            _share_column(
                model,
                "BUSY",
                "busy_share",
                "what share of the time of all workers it was busy, from 0 to 1; of what is shown, on the screen; `~` "
                "where it likely only awaited others besides",
                shown_share,
                width=7,
                key=Sort.BUSY.value,
            ),
            _share_column(
                model,
                "OF OWN",
                "own_busy_share",
                "what share of its own time it was; not known where the last thing that it ran was lost, or has no end",
                own_share,
                width=8,
                from_width=_WIDE,
            ),
            counted(
                "CONCURRENT",
                "max_concurrency",
                "how many of its outermost spans ran at the same time, at most, besides calls of Ray's own",
                of_lane("max_concurrency"),
                text=lambda index: count_or_blank(model.lane(index).max_concurrency) or "–",
                bound=lambda index: "≥ " if model.at_most(index) and model.lane(index).max_concurrency else "",
                width=12,
                from_width=_WIDE,
            ),
            timed(
                "MAX GAP",
                "max_gap_ns",
                "the longest time in which it did nothing",
                model.gap_ns,
                text=lambda index: duration(model.gap_ns(index) or None),
                bound=lambda index: "≤ " if model.gap_ns(index) and model.at_most(index) else "",
                width=11,
                style="dim",
                key=Sort.GAP.value,
                from_width=_NARROWEST,
            ),
            fact(
                "busy_ns",
                "how long it was busy, and didn't only await others",
                INTEGER,
                lambda index: model.own_time(index)[0],
            ),
            fact(
                "own_ns",
                "how long its own time was, from its first start to its last end",
                INTEGER,
                lambda index: model.own_time(index)[1],
            ),
            fact(
                "unknown_ends",
                "whether something that it ran may have lasted longer than is known: shares and counts are at least, "
                "gaps at most",
                {"type": "boolean"},
                lambda index: bool(model.at_most(index)),
            ),
            fact("awaited_share", "what share of that it only awaited others, likely", SHARE, model.awaited_share),
            fact(
                "start_ns",
                "when its first span began, in nanoseconds since 1970",
                TIME_NS,
                lambda index: known(model.lane(index).start_ns),
            ),
            fact("restarts", "how often it was restarted", INTEGER, lambda index: len(model.lane(index).restarts)),
            *(fact(name, f"its {name.replace('_', ' ')}", TEXT, of_worker(name)) for name in _OF_WORKER),
        ),
    )


_OF_WORKER: Final = ("pid", "node", "actor", "actor_id", "job")


def workers_model(store: Store, traces: Sequence[int] | None = None) -> WorkersModel:
    """Return what each process did in some traces, None for all, and until when it is known to have run."""
    until = {} if store.ask_lives is None else seen_until(store.ask_lives(store).unended())
    if traces is not None:
        chosen = {*traces}
        until = {row: ns for row, ns in until.items() if store.spans.trace[row] in chosen}
    model = WorkersModel(store)
    model.take(WorkersShape.of(store, Identities(store), traces, unheard, until=until))
    model.take_running((), until, time_ns())
    return model


def workers_report(store: Store, traces: Sequence[int] | None = None, model: WorkersModel | None = None) -> Report[int]:
    """Return what each process did in some traces, None for all, in the order in which they began, by node."""
    model = workers_model(store, traces) if model is None else model
    return Report("workers", workers_table(model), model.order, nothing=_NOTHING)
