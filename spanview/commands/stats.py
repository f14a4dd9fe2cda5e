"""`spanview stats`: counts, errors, percentiles and self time; or those of Ray's own spans."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.ray.unended import fates_text
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.commands.tables import JSON, arranged, print_report
from spanview.model.problems import QueryError
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.commands.options import Options
    from spanview.index.store import Store
    from spanview.reports.report import Report


_CALLS_BY: Final = {"ray": "function", "ray-actor": "actor", "ray-node": "node", "ray-job": "job"}
_ON_PATH, _BY_PATH = "critical-path", "call-path"
_EACH_CALL, _RUNNING = "ray-call", "running"
_OF_TRACES: Final = {
    "ray-worker": ("workers", "workers_report"),
    "trace": ("traces", "traces_report"),
    "trace-group": ("traces", "groups_report"),
    _RUNNING: ("running", "running_report"),
    "serve": ("serve", "serve_report"),
    "serve-request": ("serve", "requests_report"),
}
"""Modules and functions of reports that need no more than a store and traces."""
_OTHER_REPORTS: Final = (_ON_PATH, _BY_PATH, *_CALLS_BY, _EACH_CALL, *_OF_TRACES)


def run(options: Options) -> int:
    """Print the statistics of all spans, or of those in the traces that match."""
    if options.ray is not None:
        return _run_on_cluster(options, options.ray)
    selection = options.selection()
    store = read_all(options)
    notice(store.tallies, places(options))
    traces = None if selection.is_everything else selection.traces(store)
    if traces is not None:
        say_if_nothing_matches(store, traces, selection.query)
    counts = options.by != _RUNNING and options.format != JSON
    session = latest_session(options.environment)
    unended = {} if not counts else unended_in(store, session=session)
    if fates := fates_text(unended.values()):
        say(f"spans without an end are counted, but excluded from durations: {fates}")
    report = arranged(statistics_by(options.by, options.value, store, traces, session), options)
    if options.save is not None:
        from spanview.exports.baseline import baseline_chunks
        from spanview.exports.files import write_atomically

        write_atomically(options.save, baseline_chunks(store, traces, options.save), force=options.force)
    print_report(report, options)
    return 0


def _run_on_cluster(options: Options, address: str) -> int:
    """Have a Ray cluster count, and print the statistics."""
    from spanview.cluster.statistics import BY, statistics_on_cluster
    from spanview.commands.from_cluster import working
    from spanview.reports.statistics import report_of

    if options.by not in BY:
        raise QueryError(f"can't group by {options.by!r} on a cluster; there are {', '.join(BY)}")
    if options.value is not None:
        raise QueryError("--value isn't counted on a cluster: leave out --ray")
    with working(options, address) as work:
        groups, tallies = statistics_on_cluster(work.tasks, work.job, options.by)
    work.notice(tallies, len(groups))
    print_report(arranged(report_of(groups, options.by), options), options)
    return 0


def statistics_by(by: str, value: str | None, store: Store, traces: Sequence[int] | None, session: str) -> Report[Any]:
    """Return what is asked for by `--by` and `--value`.

    Args:
        session: The folder of Ray's latest session, beside which others are.

    Raises:
        QueryError: There is no such group, or it has no values.
    """
    if value is not None:
        from spanview.reports.values import values_report

        if by in _OTHER_REPORTS:
            raise QueryError(f"--value takes numbers of spans, which can't be grouped by {by}")
        return values_report(store, value, by, traces)
    if by in _OF_TRACES:
        module, name = _OF_TRACES[by]
        report: Report[Any] = getattr(import_module(f"spanview.reports.{module}"), name)(store, traces)
        return report
    if by == _EACH_CALL:
        from spanview.reports.each_call import each_call_report

        return each_call_report(store, traces, unended_in(store, session=session))
    if by in _CALLS_BY:
        from spanview.analysis.ray.call_groups import CallsBy
        from spanview.reports.calls import calls_report

        return calls_report(store, traces, CallsBy(_CALLS_BY[by]), unended_in(store, session=session))
    from spanview.analysis.grouping import FURTHER_GROUPINGS, GROUPINGS
    from spanview.analysis.query.misses import near_grouping
    from spanview.reports.statistics import BY_PATH, ON_PATH, statistics_report

    try:
        return statistics_report(store, {_ON_PATH: ON_PATH, _BY_PATH: BY_PATH}.get(by, by), traces)
    except QueryError as error:
        # These are no groups of spans.
        near = near_grouping(store, by, (*GROUPINGS, *FURTHER_GROUPINGS, *_OTHER_REPORTS))
        hint = "" if near is None else f"; did you mean {near}?"
        raise QueryError(f"{error}, {', '.join(_OTHER_REPORTS)}{hint}") from None
