"""All reports, without rows: for pages and schemas, which say what is in them, and for what tests ask of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.diff import diff
from spanview.analysis.diff_groups import DiffBy
from spanview.analysis.flame import flame
from spanview.analysis.ray.call_groups import CallsBy
from spanview.reports.calls import calls_table
from spanview.reports.comparison import comparison_report
from spanview.reports.each_call import each_call_report
from spanview.reports.explanation import explanation_table
from spanview.reports.findings import findings_report
from spanview.reports.gates import gates_report
from spanview.reports.report import Report
from spanview.reports.running import running_table
from spanview.reports.serve import requests_table, serve_table
from spanview.reports.statistics import ON_PATH, report_of, report_of_values
from spanview.reports.traces import groups_report, traces_report
from spanview.reports.workers import workers_report

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.reports.report import AnyReport

COMMANDS: Final = {
    "statistics": "spanview stats",
    "critical-path": "spanview stats --by critical-path",
    "values": "spanview stats --value http.status_code",
    "traces": "spanview stats --by trace",
    "trace-groups": "spanview stats --by trace-group",
    "running": "spanview stats --by running",
    "calls": "spanview stats --by ray",
    "each-call": "spanview stats --by ray-call",
    "workers": "spanview stats --by ray-worker",
    "requests-by-route": "spanview stats --by serve",
    "requests": "spanview stats --by serve-request",
    "findings": "spanview check",
    "gates": "spanview check --fail-on status=ERROR",
    "comparison": "spanview diff",
    "explanation": "spanview explain",
}
"""What prints each kind of report."""


def empty_reports(store: Store) -> list[AnyReport]:
    """Return one report of each kind without rows, in the order of `COMMANDS`."""
    nothing = flame(store)
    return [
        report_of([], "name"),
        report_of([], ON_PATH),
        report_of_values([], "gen_ai.usage.output_tokens"),
        traces_report(store),
        groups_report(store),
        Report("running", running_table(store, 0), []),
        Report("calls", calls_table(CallsBy.FUNCTION, {}), [], {"by": "function"}, "functions"),
        each_call_report(store),
        workers_report(store),
        Report("requests-by-route", serve_table({}), [], {"by": "serve"}, "requests"),
        Report("requests", requests_table(store), []),
        findings_report([]),
        gates_report([]),
        comparison_report(diff(nothing, nothing), [], DiffBy.PATH, {"a": {}, "b": {}}),
        Report("explanation", explanation_table(store), [], {"traces": 0, "trace_id": None}),
    ]
