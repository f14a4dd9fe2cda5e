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
from spanview.display.columns import named
from spanview.display.group_text import group_text
from spanview.display.sanitise import sanitise
from spanview.display.shades import ERROR, WARNING
from spanview.display.units import count_or_blank, duration
from spanview.formats.jsontext import dumps_strict
from spanview.model.problems import QueryError
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.calls import Function
    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.serve_groups import RequestGroup
    from spanview.analysis.stats import Group
    from spanview.commands.options import Options
    from spanview.index.store import Store

    _Report: TypeAlias = tuple[Callable[[], dict[str, Any]], Callable[[], Sequence[tuple[str, ...]]]]
    """What was counted: for `--json`, and as a table, heads first, of names in its first column and figures."""
    _Generators: TypeAlias = dict[str | None, Certainty]
    """How sure it is that the spans of a name are attempts of a generator, by the name."""

_SHADES: Final = {"ERRORS": ERROR, "NOT SUBMITTED": ERROR, "RETRIED": WARNING, "NO ATTEMPT": WARNING}
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
    value, lines = {"ray": _by_ray, "serve": _by_serve}.get(options.by, partial(_by, options.by))(store, traces)
    if not options.json and (fates := fates_text(unended_in(store).values())):
        say(f"spans without an end are counted, and left out of durations: {fates}")
    _print((value, lines), options)
    return 0


def _run_on_cluster(options: Options, address: str) -> int:
    """Have a Ray cluster count all spans, and print the statistics."""
    from spanview.cluster.shared_files import search
    from spanview.cluster.statistics import BY, statistics_on_cluster
    from spanview.cluster.tasks import connected

    if options.by not in BY:
        raise QueryError(f"can't group by {options.by!r} on a cluster; there are {', '.join(BY)}")
    files, problems = search(options.paths)
    with quiet_libraries(), connected(address):
        groups, tallies = statistics_on_cluster(files, options.by, options.cap)
    for problem in problems:
        tallies.add_problem(problem)
    notice(tallies, options.paths)
    _print(_by_groups(groups, options.by, dict), options)
    return 0


def _print(report: _Report, options: Options) -> None:
    value, lines = report
    if options.json:
        write_to_standard_output([dumps_strict(value()) + b"\n"])
        return
    rows = lines()
    heads = rows[0]
    paint, width = paint_for(options), terminal_width()
    for line in named(rows, paint, lambda column: _SHADES.get(heads[column], ""), width=width):
        sys.stdout.write(line + "\n")


def _by(by: str, store: Store, traces: Sequence[int] | None) -> _Report:
    from spanview.analysis.stats import statistics

    try:
        groups = statistics(store, by, traces)
    except QueryError as error:
        # These two are no groups of spans.
        raise QueryError(f"{error}, ray, serve") from None
    return _by_groups(groups, by, partial(_generators, store, groups) if by == "name" else dict)


def _by_groups(groups: Sequence[Group], by: str, generators: Callable[[], _Generators]) -> _Report:
    from spanview.analysis.stats import to_json

    return partial(to_json, groups, by), partial(_lines, groups, by, generators)


def _lines(groups: Sequence[Group], by: str, generators: Callable[[], _Generators]) -> list[tuple[str, ...]]:
    header = (by.upper(), "COUNT", "ERRORS", "TOTAL", "SELF", "MIN", "P50", "P95", "P99", "MAX")
    generators_by_name = generators()
    rows = [
        (
            group_text(group.key, by) + _generator_note(generators_by_name.get(group.key)),
            f"{group.count:,}",
            count_or_blank(group.errors),
            *(duration(ns) for ns in (group.total_ns, group.self_ns, group.min_ns)),
            *(duration(ns) for ns in (group.p50_ns, group.p95_ns, group.p99_ns, group.max_ns)),
        )
        for group in groups
    ]
    return [header, *rows]


def _generators(store: Store, groups: Sequence[Group]) -> _Generators:
    from spanview.analysis.ray_names import RAN

    if not any(group.key is not None and group.key.endswith(RAN) for group in groups):
        return {}
    from spanview.analysis.generators import generators_of

    return {function + RAN: certainty for function, certainty in generators_of(store).items()}


def _by_ray(store: Store, traces: Sequence[int] | None) -> _Report:
    from spanview.analysis import calls
    from spanview.analysis.ray_names import SUBMITTED

    functions = calls.functions_of(store, calls.calls_of(store, traces))
    if not functions:
        say(f"no Ray calls here; a call is a span of kind PRODUCER whose name ends in {SUBMITTED.strip()!r}")
    return partial(calls.to_json, functions), partial(_ray_lines, functions)


def _ray_lines(functions: Sequence[Function]) -> list[tuple[str, ...]]:
    from spanview.analysis.calls import percentiles

    header = (
        *("FUNCTION", "CALLS", "FAILED", "ATTEMPTS", "ERRORS", "NOT SUBMITTED", "RETRIED", "NO ATTEMPT", "UNTRACED"),
        "EXISTING",
        *(
            "TOTAL WAIT",
            "WAIT P50",
            "P95",
            "MAX",
            "COLD",
            "COLD WAIT",
            "RUN P50",
            "P95",
            "MAX",
            "AT ONCE",
            "MOSTLY FOR",
        ),
    )
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
            "" if function.mostly_for is None else function.mostly_for.brief,
        )
        for function in functions
    ]
    return [header, *rows]


def _generator_note(generator: Certainty | None) -> str:
    if generator is None:
        return ""
    from spanview.analysis.generators import generator_text

    return f"  ({generator_text(generator)})"


def _by_serve(store: Store, traces: Sequence[int] | None) -> _Report:
    from spanview.analysis import serve_groups

    groups = serve_groups.serve_groups(store, traces)
    if not groups:
        say(
            "no Serve requests here; their spans are named proxy_…_request, route_to_replica and replica_handle_request"
        )
    return partial(serve_groups.to_json, groups), partial(_serve_lines, groups)


def _serve_lines(groups: Sequence[RequestGroup]) -> list[tuple[str, ...]]:
    from spanview.display.serve_text import failures_text, request_text, status_text

    times = (
        "P50",
        "P95",
        "P99",
        "MAX",
        "QUEUE P50",
        "P95",
        "HANDLING P50",
        "P95",
        "ROUTE P50",
        "P95",
        "OTHER P50",
        "P95",
    )
    rows = [
        (
            request_text(group.key),
            status_text(group.key),
            f"{group.count:,}",
            failures_text(group),
            *map(duration, (group.total.p50, group.total.p95, group.total.p99, group.total.max)),
            *(
                duration(ns)
                for spread in (group.queue, group.handling, group.route, group.other)
                for ns in (spread.p50, spread.p95)
            ),
        )
        for group in groups
    ]
    return [("REQUEST", "STATUS", "COUNT", "ERRORS", *times), *rows]
