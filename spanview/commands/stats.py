"""`spanview stats`: counts, errors, percentiles and self time; or those of Ray's own spans."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.analysis.unended import fates_text
from spanview.commands.coloring import paint_for
from spanview.commands.output import terminal_width, write_to_standard_output
from spanview.commands.reading import places, read_all
from spanview.commands.selection import Selection
from spanview.commands.standard_error import notice, quiet_libraries, say, say_if_nothing_matches
from spanview.commands.tables import JSON, print_report
from spanview.display.columns import Head, named
from spanview.display.sanitise import sanitise
from spanview.display.shades import ERROR, WARNING
from spanview.display.units import count_or_blank, duration
from spanview.formats.jsontext import dumps_strict
from spanview.model.problems import QueryError
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.calls import Function
    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.commands.options import Options
    from spanview.index.store import Store
    from spanview.reports.report import Report

    _Table: TypeAlias = tuple[Sequence[Head], Sequence[tuple[str, ...]]]
    """Heads, and rows of a name and figures."""
    _Report: TypeAlias = tuple[Callable[[], dict[str, Any]], Callable[[], _Table]]
    """What was counted: for `--json`, and as a table."""

_BY_RAY: Final = (
    *(Head("FUNCTION"), Head("CALLS"), Head("FAILED"), Head("ATTEMPTS", goes=6), Head("ERRORS", goes=7)),
    *(Head("SUBMIT FAILED", goes=8), Head("RETRIED", goes=9), Head("NO ATTEMPT"), Head("NOT TRACED", goes=1)),
    *(Head("ALREADY EXISTED", goes=1), Head("TOTAL WAIT", goes=13)),
    *(Head("P50", 11, "WAIT"), Head("P95", 5, "WAIT"), Head("MAX", 4, "WAIT")),
    *(Head("COLD", goes=7), Head("COLD WAIT", goes=2)),
    *(Head("P50", 12, "RUN"), Head("P95", 5, "RUN"), Head("MAX", 4, "RUN")),
    *(Head("CONCURRENT", goes=3), Head("LIKELY FOR", goes=10)),
)
"""Heads, and what goes first where a terminal has no room for all."""
_OTHER_REPORTS: Final = ("ray", "serve", "serve:request")
_SHADES: Final = {"ERRORS": ERROR, "SUBMIT FAILED": ERROR, "RETRIED": WARNING, "NO ATTEMPT": WARNING}
"""The shades of columns by their heads."""


def run(options: Options) -> int:
    """Print the statistics of all spans, or of those in the traces that match."""
    if options.ray is not None:
        return _run_on_cluster(options, options.ray)
    selection = Selection(options)
    store = read_all(options)
    notice(store.tallies, places(options))
    traces = None if selection.is_everything else selection.traces(store)
    if traces is not None:
        say_if_nothing_matches(store, traces, selection.query)
    unended = {} if options.format == JSON else unended_in(store, session=latest_session(options.environment))
    if fates := fates_text(unended.values()):
        say(f"spans without an end are counted, but excluded from durations: {fates}")
    if options.by == "ray":
        _print(_by_ray(store, traces), options)
    else:
        print_report(_report(options.by, store, traces), options)
    return 0


def _run_on_cluster(options: Options, address: str) -> int:
    """Have a Ray cluster count, and print the statistics."""
    from spanview.cluster.shared_files import search
    from spanview.cluster.shuffle import RayTasks, job_of
    from spanview.cluster.statistics import BY, statistics_on_cluster
    from spanview.cluster.tasks import connected, watched
    from spanview.reports.statistics import report_of

    if options.by not in BY:
        raise QueryError(f"can't group by {options.by!r} on a cluster; there are {', '.join(BY)}")
    choice = Selection(options).choice
    files, problems = search(options.paths)
    with quiet_libraries(), connected(address), watched():
        groups, tallies = statistics_on_cluster(RayTasks(), job_of(files, options.cap, choice), options.by)
    for problem in problems:
        tallies.add_problem(problem)
    notice(tallies, options.paths)
    if tallies.records and not groups:
        say("nothing matches")
    print_report(report_of(groups, options.by), options)
    return 0


def _print(report: _Report, options: Options) -> None:
    value, table = report
    if options.format == JSON:
        write_to_standard_output([dumps_strict(value()) + b"\n"])
        return
    heads, rows = table()
    paint, width = paint_for(options), terminal_width()
    for line in named(heads, rows, paint, lambda head: _SHADES.get(head, ""), width=width):
        sys.stdout.write(line + "\n")


def _report(by: str, store: Store, traces: Sequence[int] | None) -> Report[Any]:
    if by in {"serve", "serve:request"}:
        from spanview.reports import serve

        return (serve.serve_report if by == "serve" else serve.requests_report)(store, traces)
    from spanview.reports.statistics import statistics_report

    try:
        return statistics_report(store, by, traces)
    except QueryError as error:
        # These are no groups of spans.
        raise QueryError(f"{error}, {', '.join(_OTHER_REPORTS)}") from None


def _by_ray(store: Store, traces: Sequence[int] | None) -> _Report:
    from spanview.analysis import calls
    from spanview.analysis.ray_names import SUBMITTED

    functions = calls.functions_of(store, calls.calls_of(store, traces), unended=unended_in(store))
    if not functions:
        say(f"no Ray calls here; a call is a span of kind PRODUCER whose name ends in {SUBMITTED.strip()!r}")
    return partial(calls.to_json, functions), partial(_ray_table, functions)


def _ray_table(functions: Sequence[Function]) -> _Table:
    from spanview.analysis.calls import percentiles
    from spanview.display.call_text import waited_for_shares

    rows = [
        (
            (sanitise(function.function) or "(no name)") + _generator_note(function.generator),
            *(f"{function.calls:,}", count_or_blank(function.failed), f"{function.attempts:,}"),
            *map(count_or_blank, (function.errors, function.submit_errors, function.retried, function.no_attempt)),
            *map(count_or_blank, (function.untraced, function.existing)),
            duration(function.total_wait_ns) if function.waits_ns else "–",
            *map(duration, percentiles(function.waits_ns).values()),
            count_or_blank(function.cold_starts),
            duration(function.cold_wait_ns) if function.cold_starts else "",
            *map(duration, percentiles(function.known_runs_ns).values()),
            "" if function.generator else count_or_blank(function.max_concurrency),
            waited_for_shares(function),
        )
        for function in functions
    ]
    return _BY_RAY, rows


def _generator_note(generator: Certainty | None) -> str:
    if generator is None:
        return ""
    from spanview.analysis.generators import generator_text

    return f"  ({generator_text(generator)})"
