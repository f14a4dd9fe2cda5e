"""Traces: one by one, and by what their roots are called."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from spanview.analysis.ray.names import names_in_list
from spanview.analysis.serve.requests import Part, name_of_trace, part_of_name
from spanview.analysis.telling import unheard
from spanview.analysis.trace_lists import TraceColumn, TraceGroup
from spanview.display.cells import data_text, fixed, name_text
from spanview.display.sanitise import MAX_LENGTH, sanitise
from spanview.display.units import lasted, moment
from spanview.index.lives import most_open
from spanview.model.times import known
from spanview.reports.report import Report
from spanview.reports.table import (
    FIGURES,
    INTEGER,
    SHARE,
    TEXT,
    TIME_NS,
    Piece,
    Ranks,
    Table,
    TableColumn,
    counted,
    fact,
    histogram_column,
    moments,
    timed,
)
from spanview.reports.traces_model import TracesModel, has_services, service_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.index.store import Store
    from spanview.reports.traces_model import TraceFacts

_LEAST_NAME: Final = 20
"""Cells that columns leave to the name of a trace, which is the last to go."""
_LEAST_ROOT, _USUAL_ROOT = 24, 36
"""Cells that names of groups have before a column goes for them, and before another one comes."""
LONGEST_SERVICE: Final = 26
_MARK: Final = 2
_SHORTEST_REASON: Final = 12
"""Cells of what is said of a failure without an error that say something."""
"""Cells of the mark before a name."""
NO_ROOT: Final = "? no root seen"
_STYLES: Final = {"●": "accent", "✖": "error"}


def traces_table(
    store: Store,
    model: TracesModel,
    service_cells: int = 0,
    *,
    has_date: bool = True,
    marked: Callable[[int], str] = lambda _: "",
) -> Table[int]:
    """Return the columns of traces, by their numbers.

    Args:
        service_cells: Cells of the services; 0 where there is none to tell from another.
        has_date: Whether starts have their dates.
        marked: Returns what stands before the name of a trace.
    """
    table = store.trace_table

    def start_ns(trace: int) -> int | None:
        return known(table.start_ns[trace])

    def start(trace: int) -> str:
        return moment(table.start_ns[trace], with_date=has_date, digits=3)

    def duration(trace: int) -> str:
        return lasted(*model.lasted(trace))

    def of_facts(told: Callable[[TraceFacts], Any], unknown: str | None, trace: int) -> Any:
        facts = model.facts(trace)
        return unknown if facts is None else told(facts)

    def name_cells(trace: int) -> int:
        return cell_len("".join(piece.text for piece in name_pieces(model, trace, MAX_LENGTH)).rstrip())

    columns: list[TableColumn[int]] = [
        moments(
            "START",
            "start_ns",
            "when its first span began, in nanoseconds since 1970",
            start_ns,
            width=23 if has_date else 12,
            text=start,
            goes=5,
        ),
        timed(
            "DURATION",
            "duration_ns",
            "from its first start to its last end",
            table.duration_ns,
            text=duration,
            behind=1,
            goes=6,
        ),
        # Asked for each time: an index that is kept brings columns of its own.
        counted("SPANS", "span_count", "number of spans", lambda trace: table.span_count[trace], width=8, goes=4),
        counted(
            "ERR",
            "error_count",
            "spans with status ERROR",
            lambda trace: table.error_count[trace],
            width=6,
            style="error",
            key=TraceColumn.ERRORS,
            goes=3,
        ),
        TableColumn(
            "PROCS",
            7,
            partial(of_facts, lambda facts: f"{facts.processes:,}", "…"),
            "dim",
            goes=2,
            name="processes",
            meaning="how many processes its spans are of",
            schema=INTEGER,
            json=partial(of_facts, attrgetter("processes"), None),
        ),
        TableColumn(
            "SERVICE",
            service_cells,
            partial(of_facts, lambda facts: service_text(store, facts.service, facts.services), "…"),
            gap=2,
            aligns_left=True,
            goes=1,
            name="service",
            meaning="the service of its root, and how many more",
            is_shown=bool(service_cells),
        ),
        TableColumn(
            "  TRACE",
            parts=lambda trace, cells: name_pieces(model, trace, cells, marked(trace)),
            wants=name_cells,
            gap=2,
            key=TraceColumn.ROOT,
            value=model.name_of,
            ranks=Ranks.NAMES,
            name="name",
            meaning="what its root is called, of a request to Ray Serve with the route",
        ),
        fact(
            "requested",
            "the path that was asked for, where its name has a route",
            TEXT,
            lambda trace: model.requested(trace) or None,
        ),
        fact("state", "what is said of it beside its figures", TEXT, lambda trace: model.state(trace)[1] or None),
        fact("lasted_ns", "how long it lasted, as far as that is known", TIME_NS, lambda trace: model.lasted(trace)[0]),
        fact(
            "lasted_bound",
            "so far, at least or at most: what is known of that where a span of it has no end",
            TEXT,
            lambda trace: None if (end := model.lasted(trace)[1]) is None else end.value,
        ),
        fact(
            "complete",
            "whether no parent of a span is missing",
            {"type": "boolean"},
            partial(of_facts, attrgetter("complete"), None),
        ),
        fact("trace_id", "its trace", TEXT, store.trace_table.hex_id),
    ]
    return Table(columns, TraceColumn.START, _LEAST_NAME)


def name_pieces(model: TracesModel, trace: int, cells: int, marked: str = "") -> Iterator[Piece]:
    """Yield the mark of a trace, what stands before its name, the name, and what is said of it, in so many cells."""
    name, style = model.root_name(trace), ""
    state, word = model.state(trace)
    word = word or model.requested(trace)
    room = max(0, cells - _MARK - len(marked))
    if name is None:
        facts = model.facts(trace)
        missing = f" ({facts.missing[:8]})" if facts and facts.missing else ""
        shown, style = data_text(f"{model.name_without_root(trace)}{missing}", room), "dim"
    else:
        shown = name_text(name or "(no name)", room)
    yield Piece(fixed(f"{state} ", min(_MARK, cells)), _STYLES.get(state, "warning"))
    yield Piece(marked, "accent")
    left = room - cell_len(shown.rstrip()) - 2
    # How something failed is worth its beginning; that something runs comes first, and has room mostly.
    word = word if len(word) <= left or state == "!" else word.partition(",")[0]
    if word and (len(word) <= left or (state == "!" and left >= _SHORTEST_REASON)):
        yield Piece(f"{shown.rstrip()}  ", style)
        yield Piece(data_text(word, left), "warning" if state == "!" else "dim")
    else:
        yield Piece(shown, style)


def traces_report(store: Store, traces: Sequence[int] | None = None) -> Report[int]:
    """Return some traces, None for all, one by one, newest first."""
    model = known_model(store, traces)
    services = LONGEST_SERVICE if has_services(store) else 0
    return Report("traces", traces_table(store, model, services), model.order)


def known_model(store: Store, traces: Sequence[int] | None) -> TracesModel:
    """Return some traces, None for all, in the order of the table, with all that the viewer finds out by and by."""
    model = TracesModel(store)
    model.stitches_huge = True
    model.limit_to(None if traces is None else {*traces})
    model.refresh()
    if not model.order:
        return model
    from spanview.analysis.failures import errors_made_good
    from spanview.analysis.reused_ids import traces_with_reused_ids
    from spanview.analysis.silent import SilentTraces

    lives = None if store.ask_lives is None else store.ask_lives(store)
    may_run = (lambda _: None) if lives is None else lives.is_open
    silent, model.open_calls = SilentTraces(store, may_run).look(unheard)
    model.merged, model.made_good = traces_with_reused_ids(store), errors_made_good(store)
    living = None if lives is None else lives.living()
    if living is None:
        model.mark_silent(silent, {}, {})
    else:
        model.take_living(living, time_ns())
        model.mark_silent(silent, living.lost, living.lost_spans)
    return model


def groups_table(
    called: Callable[[TraceGroup], str], *, before: int = 0, is_loading: Callable[[], bool] = lambda: False
) -> Table[TraceGroup]:
    """Return the columns of traces by what their roots are called.

    Args:
        called: Returns the name of a group, from a file.
        before: Cells that names leave before them.
        is_loading: Tells whether there is more to read: what is incomplete isn't known yet.
    """

    def name(group: TraceGroup, cells: int) -> Iterator[Piece]:
        yield Piece(group_name_text(group, called(group), cells))

    def incomplete(group: TraceGroup) -> str:
        if is_loading() or group.incomplete is None:
            return "…"
        return f"◌{group.incomplete:,}" if group.incomplete else ""

    columns: Sequence[TableColumn[TraceGroup]] = (
        TableColumn(
            f"{' ' * before}ROOT",
            parts=name,
            wants=lambda group: cell_len(sanitise(called(group))),
            key="root name",
            value=lambda group: None if group.name is None else called(group),
            ranks=Ranks.NAMES,
            name="name",
            meaning="what their roots are called, of requests to Ray Serve with the route; null where no root was seen",
        ),
        counted("TRACES", "traces", "number of traces", attrgetter("traces"), goes=7),
        counted(
            "FAILED",
            "failed",
            "traces in which something failed, with an error or without, that no retry made good",
            attrgetter("failed"),
            width=8,
            style="error",
            goes=5,
        ),
        TableColumn(
            "FAILED%",
            9,
            lambda group: share_text(group.failed, group.traces),
            "error",
            key="share failed",
            value=attrgetter("share"),
            goes=1,
            name="failed_share",
            meaning="what share of the traces that is, from 0 to 1",
            schema=SHARE,
        ),
        counted(
            "INCOMPLETE",
            "incomplete",
            "traces in which a parent is missing",
            attrgetter("incomplete"),
            text=incomplete,
            width=13,
            style="warning",
            key="incomplete traces",
            goes=2,
        ),
        *(_time(head, **more) for head, more in _TURNS.items()),
        timed(
            "TOTAL",
            "duration_ns.total",
            "the sum of the durations",
            attrgetter("total_ns"),
            text=total_text,
            comes=3,
        ),
        fact(
            "unknown_ends",
            "whether some of the durations are only at least: of traces that run, or lack an end",
            {"type": "boolean"},
            lambda group: bool(group.open_ns),
        ),
        histogram_column("histogram", "durations by powers of ten, from 1 ns on", attrgetter("histogram"), comes=2),
        moments(
            "NEWEST",
            "newest_start_ns",
            "when the newest trace began, in nanoseconds since 1970",
            attrgetter("newest_ns"),
            width=23,
            gap=2,
            key="newest start",
            comes=4,
        ),
    )
    least, usual, floor = (before + cells for cells in (_LEAST_ROOT, _USUAL_ROOT, 1))
    return Table(columns, "traces", least=least, usual=usual, least_beside=least, floor=floor)


_TURNS: Final[Mapping[str, Mapping[str, int]]] = {
    "P50": {"goes": 3},
    "P95": {"goes": 6},
    "P99": {"comes": 1},
    "MAX": {"goes": 4},
}
"""When figures of durations come or go."""


def groups_report(store: Store, traces: Sequence[int] | None = None) -> Report[TraceGroup]:
    """Return some traces, None for all, by what their roots are called."""
    model = known_model(store, traces)
    groups = list[TraceGroup]()
    if model.order:
        import numpy as np

        from spanview.index.forest import incomplete_traces

        groups = model.groups(incomplete_traces(store, np.arange(len(store.trace_table))).tobytes())
    table = groups_table(partial(group_name, names_of_groups(groups)))
    return Report("trace-groups", table, table.in_order(groups), {"by": "trace-group"})


def names_of_groups(groups: Sequence[TraceGroup]) -> Mapping[str, str]:
    """Return what Ray's functions are called among groups."""
    return names_in_list([group.name for group in groups if group.name])


def group_name(short: Mapping[str, str], group: TraceGroup) -> str:
    """Return the name of a group as it is shown, from a file."""
    return NO_ROOT if group.name is None else name_of_trace(short.get(group.name, group.name)) or "(no name)"


def group_name_text(group: TraceGroup, called: str, cells: int) -> str:
    """Return the name of a group, safe to print, in so many cells."""
    return name_text(shortened(called, cells) if part_of_name(group.name or "") is Part.PROXY else called, cells)


def figure_text(group: TraceGroup, ns: int | None) -> str:
    """Return the duration of one of a group's traces, so far where that runs, at least where its end was lost."""
    return lasted(ns, None if ns is None else group.open_ns.get(ns))


def total_text(group: TraceGroup) -> str:
    """Return the total of a group, so far where one of its traces runs, at least where an end was lost."""
    return lasted(group.total_ns, most_open(group.open_ns.values()) if group.open_ns else None)


def _time(head: str, **more: Any) -> TableColumn[TraceGroup]:
    figure = head.lower()
    ns_of: Callable[[TraceGroup], int | None] = attrgetter(f"{figure}_ns")
    text, meaning = lambda group: figure_text(group, ns_of(group)), f"{FIGURES[figure]} of the durations"
    return timed(head, f"duration_ns.{figure}", meaning, ns_of, text=text, **more)


def shortened(request: str, room: int) -> str:
    """Return the name of a request to Ray Serve from the word on from which on it fits: `… /cart/{n}`.

    What tells such names apart is at their end.
    """
    words = request.split(" ", 2)
    rests = [request, *(f"… {' '.join(words[first:])}" for first in range(1, len(words)))]
    return next((rest for rest in rests if len(rest) <= room), rests[-1])


def share_text(part: int, whole: int) -> str:
    """Return a share in percent; only nothing is empty, and only everything is `100 %`."""
    if not part:
        return ""
    if part == whole:
        return "100 %"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %"
