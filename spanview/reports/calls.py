"""Ray's calls by function, actor, node or job: what they waited, how long they ran, and how they went."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.ray.call_groups import CallsBy, call_group_names, call_groups
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import Function, functions_of
from spanview.analysis.ray.names import SUBMITTED
from spanview.analysis.ray.unended import NO_UNENDED
from spanview.display.call_text import waited_for_shares
from spanview.display.cells import data_text
from spanview.display.units import duration
from spanview.reports.report import Report
from spanview.reports.table import (
    INTEGER,
    Table,
    TableColumn,
    counted,
    fact,
    histogram_column,
    name_column,
    spread,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store

_COUNT: Final = 8
_LEAST_NAME, _USUAL_NAME = 18, 24
"""Cells of names for which figures go, and with which further ones come."""
_SHORTEST_NAME: Final = 8
NOTHING: Final = f"no Ray calls here; a call is a span of kind PRODUCER whose name ends in {SUBMITTED.strip()!r}"
_WAITED: Final = "the time from a call's submission to its first attempt"
_RAN: Final = "how long an attempt ran"


def _number(head: str, name: str, meaning: str, **more: Any) -> TableColumn[Function]:
    return counted(head, name, meaning, attrgetter(name), **({"width": _COUNT} | more))


def _unless_generator(count_of: Callable[[Function], int]) -> Callable[[Function], int]:
    return lambda function: 0 if function.generator else count_of(function)


def _percentiles(
    family: str, name: str, meaning: str, values_of: Callable[[Function], Sequence[int]], **more: Any
) -> Iterator[TableColumn[Function]]:
    def ns_of(figure: str) -> Callable[[Function], int | None]:
        percent = 100 if figure == "max" else int(figure[1:])
        return lambda function: nearest_rank(values_of(function), percent)

    turns: dict[str, dict[str, Any]] = {
        "p50": {"comes": 1},
        "p95": {"goes": 2 if family == "WAIT" else 3},
        "p99": {"comes": 13},
        "max": {"comes": 3},
    }
    for column in spread(family, name, meaning, ns_of, *turns.items()):
        yield replace(column, **{key: make(column) for key, make in more.items()})


def _or_unknown(column: TableColumn[Function]) -> Callable[[Function], str]:
    return lambda function: "unknown" if function.generator else duration(column.value and column.value(function))


_RETRIED: Final = _number(
    "RETRIED",
    "retried",
    "calls with more than one attempt, as spans show or Ray says",
    width=9,
    style="warning",
    comes=2,
)
_NO_ATTEMPT: Final = _number(
    "NO ATTEMPT", "no_attempt", "calls without an error that were not seen to run", width=12, style="warning", goes=1
)
_RUNNING: Final = _number(
    "RUNNING",
    "running",
    "calls whose last attempt is running, as its process shows, or as Ray says of one that left no span",
    width=9,
)
_LOST: Final = _number("LOST", "lost", "calls whose last attempt was lost with its process", width=7, style="error")
_NO_END: Final = _number(
    "NO END",
    "no_end",
    "calls that wait to be tried again, or whose last attempt has no end and was stopped in order, as by `ray.kill`, "
    "or nothing shows whether it runs",
    width=9,
)
_CUT_OFF: Final = _number(
    "CUT OFF", "cut_off", "calls whose last attempt was cut off, as its process was told to end", width=9
)
_CANCELLED: Final = _number("CANCELLED", "cancelled", "calls whose last attempt was cancelled while it ran", width=11)
_FAILED: Final = _number("FAILED", "failed", "calls that failed for good or were lost", width=9, style="error", goes=1)
_GOES_LATER: Final = {
    _NO_ATTEMPT: 8,
    _RUNNING: 8,
    _LOST: 9,
    _NO_END: 8,
    _CUT_OFF: 8,
    _CANCELLED: 8,
    _FAILED: 4,
    _RETRIED: 4,
}
"""When columns go that count any; those that count none have no better claim than figures that come with room.

What is lost, or runs, is the last to go.
"""
_ONLY_WHERE_ANY: Final = frozenset((_RUNNING, _LOST, _NO_END, _CUT_OFF, _CANCELLED))
_TOTAL_RUN: Final[TableColumn[Function]] = timed(
    "TOTAL RUN",
    "run_ns.total",
    "the sum of all run times that are known",
    lambda function: sum(function.known_runs_ns) if function.known_runs_ns else None,
    width=13,
    comes=9,
)
_FIGURES: Final[Sequence[TableColumn[Function]]] = (
    _number("CALLS", "calls", "how many calls", goes=6),
    counted(
        "ENDED",
        "ended",
        "calls whose last attempt ended without an error, and was neither cut off nor cancelled",
        _unless_generator(lambda function: function.ended),
        width=_COUNT,
        comes=4,
    ),
    _FAILED,
    _RETRIED,
    _NO_ATTEMPT,
    _RUNNING,
    _LOST,
    _NO_END,
    _CUT_OFF,
    _CANCELLED,
    _number("ATTEMPTS", "attempts", "how often they were seen to run", width=10, comes=10),
    _number("ERRORS", "errors", "attempts that failed", style="error", comes=10),
    _number("SUBMIT FAILED", "submit_errors", "calls that could not be submitted", width=15, style="error", comes=10),
    _number("NOT TRACED", "untraced", "calls that likely ran although tracing skips them", width=12, comes=11),
    _number("SERVE'S OWN", "serves_own", "calls without an attempt by which Ray Serve runs itself", width=13, comes=11),
    _number(
        "ALREADY EXISTED", "existing", "constructors that constructed nothing, so they aren't calls", width=17, comes=11
    ),
    timed(
        "TOTAL WAIT",
        "wait_ns.total",
        "the sum of all waits",
        lambda function: function.total_wait_ns if function.waits_ns else None,
        was="total_wait_ns",
        width=13,
        goes=5,
    ),
    TableColumn(
        "WAITED FOR",
        36,
        waited_for_shares,
        gap=2,
        aligns_left=True,
        comes=8,
        name="waited_for",
        meaning="what calls waited for: how many did, how long, and how much of it Ray itself says",
        schema={
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": dict.fromkeys(("calls", "total_wait_ns", "certain_ns"), INTEGER),
            },
        },
        json=lambda function: {
            waited_for.name.lower(): {"calls": part.calls, "total_wait_ns": part.ns, "certain_ns": part.certain_ns}
            for waited_for, part in function.waited_for.items()
        },
    ),
    _number("COLD", "cold_starts", "calls that were first in their worker", comes=5),
    timed(
        "COLD WAIT",
        "cold_wait_ns",
        "how long these waited in total",
        attrgetter("cold_wait_ns"),
        width=11,
        text=lambda function: duration(function.cold_wait_ns) if function.cold_starts else "",
        comes=12,
    ),
    *_percentiles("WAIT", "wait_ns", _WAITED, attrgetter("waits_ns")),
    histogram_column(
        "wait_histogram", "waits by powers of ten, from 1 ns on", attrgetter("wait_histogram"), style="", comes=6
    ),
    replace(_TOTAL_RUN, text=_or_unknown(_TOTAL_RUN)),
    *_percentiles("RUN", "run_ns", _RAN, attrgetter("known_runs_ns"), text=_or_unknown),
    histogram_column(
        "run_histogram", "runs by powers of ten, from 1 ns on", attrgetter("run_histogram"), style="", comes=6
    ),
    counted(
        "CONCURRENT",
        "max_concurrency",
        "the most attempts known to have run at the same time",
        _unless_generator(lambda function: function.max_concurrency),
        bound=lambda function: "≥ " if function.unknown_ends and function.max_concurrency else "",
        json=lambda function: None if function.generator else function.max_concurrency,
        width=13,
        comes=9,
    ),
    fact(
        "generator",
        "whether spans end when a generator is created, so run times aren't known",
        {"enum": [True, False, "likely"]},
        lambda function: "likely" if function.generator == "likely" else function.generator is not None,
    ),
)


_OF_ACTORS: Final[Sequence[TableColumn[Function]]] = (
    _number("RESTARTS", "restarts", "how often Ray started the actor again, by its own events", width=10, comes=4),
    TableColumn(
        "DIED",
        36,
        lambda function: data_text(function.death_cause, 36),
        gap=2,
        aligns_left=True,
        comes=7,
        name="death_cause",
        meaning="why the actor died last, by Ray's own events; empty where these don't say",
        json=attrgetter("death_cause"),
    ),
)


def columns_that_count(functions: Collection[Function]) -> frozenset[TableColumn[Function]]:
    """Return the columns that say something only where they count any, and do."""
    return frozenset(column for column in _GOES_LATER if column.value and any(map(column.value, functions)))


def calls_table(
    by: CallsBy, names: Mapping[str, str], counting: Collection[TableColumn[Function]] = ()
) -> Table[Function]:
    """Return the columns of functions, actors, nodes or jobs; `counting` is what `columns_that_count` returned."""

    def placed(column: TableColumn[Function]) -> TableColumn[Function]:
        if column in counting:
            return replace(column, comes=0, goes=_GOES_LATER[column])
        return replace(column, is_shown=False) if column in _ONLY_WHERE_ANY else column

    def whole(function: Function) -> str:
        return function.function or "(no name)"

    def name(function: Function) -> str:
        return names.get(function.function) or whole(function)

    key = fact(by.value, "what they are calls of", {"type": "string"}, attrgetter("function"))
    named = name_column(by.upper(), name, whole=whole)
    return Table(
        (named, key, *map(placed, _FIGURES), *(_OF_ACTORS if by is CallsBy.ACTOR else ())),
        "total wait",
        _LEAST_NAME,
        _USUAL_NAME,
        least_beside=_SHORTEST_NAME,
        floor=_SHORTEST_NAME,
    )


def calls_report(
    store: Store,
    traces: Sequence[int] | None = None,
    by: CallsBy = CallsBy.FUNCTION,
    unended: Mapping[int, Unended] = NO_UNENDED,
    known: KnownCalls | None = None,
) -> Report[Function]:
    """Return the calls of some traces, None for all, by function, actor, node or job; `known` is of all calls."""
    calls = calls_of(store, traces) if known is None else known.calls
    groups = None if by is CallsBy.FUNCTION else call_groups(store, calls, by)
    functions = functions_of(store, calls, groups, unended, known)
    table = calls_table(by, names_of(functions, by), columns_that_count(functions))
    old = "functions" if by is CallsBy.FUNCTION else ""
    return Report("calls", table, table.in_order(functions), {"by": by.value}, old, NOTHING)


def names_of(functions: Iterable[Function], by: CallsBy) -> Mapping[str, str]:
    """Return how functions, actors, nodes or jobs are called, by their keys."""
    return call_group_names((function.function for function in functions), by)
