"""Statistics by whatever is asked for, as `stats --by` and `--value` name it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store
    from spanview.reports.report import Report

CALLS_BY: Final = {"ray": "function", "ray-actor": "actor", "ray-node": "node", "ray-job": "job"}
EACH_CALL, EACH_REQUEST, REQUESTS, RUNNING = "ray-call", "serve-request", "serve", "running"
CRITICAL_PATH, CALL_PATH = "critical-path", "call-path"
_OF_TRACES: Final = {
    "ray-worker": ("workers", "workers_report"),
    "trace": ("traces", "traces_report"),
    "trace-group": ("traces", "groups_report"),
    RUNNING: ("running", "running_report"),
    REQUESTS: ("serve", "serve_report"),
    EACH_REQUEST: ("serve", "requests_report"),
}
"""Modules and functions of reports that need no more than a store and traces."""
_OTHER_REPORTS: Final = (CRITICAL_PATH, CALL_PATH, *CALLS_BY, EACH_CALL, *_OF_TRACES)


def statistics_by(
    by: str,
    value: str | None,
    store: Store,
    traces: Sequence[int] | None,
    unended: Callable[[], Mapping[int, Unended]],
) -> Report[Any]:
    """Return what is asked for by `--by` and `--value`.

    Args:
        unended: Finds out what has become of spans without an end, where that counts.

    Raises:
        QueryError: There is no such group, or it has no values.
    """
    if value is not None:
        from spanview.analysis.amounts import amounts
        from spanview.reports.statistics import report_of_values

        if by in _OTHER_REPORTS:
            raise QueryError(f"--value takes numbers of spans, which can't be grouped by {by}")
        return report_of_values(amounts(store, value, by, traces), value, by)
    if by in _OF_TRACES:
        module, name = _OF_TRACES[by]
        report: Report[Any] = getattr(import_module(f"spanview.reports.{module}"), name)(store, traces)
        return report
    if by == EACH_CALL:
        from spanview.reports.each_call import each_call_report

        return each_call_report(store, traces, unended())
    if by in CALLS_BY:
        from spanview.analysis.ray.call_groups import CallsBy
        from spanview.reports.calls import calls_report

        return calls_report(store, traces, CallsBy(CALLS_BY[by]), unended())
    from spanview.analysis.grouping import FURTHER_GROUPINGS, GROUPINGS
    from spanview.analysis.query.misses import near_grouping
    from spanview.reports.statistics import BY_PATH, ON_PATH, statistics_report

    try:
        return statistics_report(store, {CRITICAL_PATH: ON_PATH, CALL_PATH: BY_PATH}.get(by, by), traces)
    except QueryError as error:
        # These are no groups of spans.
        near = near_grouping(store, by, (*GROUPINGS, *FURTHER_GROUPINGS, *_OTHER_REPORTS))
        hint = "" if near is None else f"; did you mean {near}?"
        raise QueryError(f"{error}, {', '.join(_OTHER_REPORTS)}{hint}") from None
