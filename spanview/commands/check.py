"""`spanview check`: is the evidence whole, and why does it look the way it does?"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.query import parse_query
from spanview.analysis.select import selected_rows
from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import notice, read_all, say
from spanview.display.finding_text import finding_lines
from spanview.display.sanitise import sanitise
from spanview.display.units import count, size
from spanview.formats.jsontext import dumps_strict
from spanview.model.problems import QueryError, Warnings
from spanview.sources.places import latest_session

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.report import Report
    from spanview.commands.options import Options
    from spanview.index.store import Store
    from spanview.model.problems import Problem

_MOST_LINES = 200
_WIDTH = 100
"""Cells of a line that doesn't go to a terminal."""


def run(options: Options) -> int:
    """Print the counts, the findings and the problems; every record was decoded whole to find them."""
    fail_on = None if options.fail_on is None else parse_query(options.fail_on)
    if fail_on is not None and fail_on.is_empty:
        raise QueryError("--fail-on needs a query, as in --fail-on status=ERROR")
    store, session = read_all(options, decodes_all=True)
    session.close()
    report = diagnose(store, session=latest_session(options.environment))
    if options.json:
        document = {
            "summary": asdict(report.summary),
            "problems": [problem.to_json() for problem in report.problems],
            "findings": [finding.to_json() for finding in report.findings],
        }
        write_to_standard_output([dumps_strict(document) + b"\n"])
    else:
        _print_report(store, report)
    if not report.summary.spans:
        notice(store, options.paths)
    matches = 0 if fail_on is None else len(selected_rows(store, query=fail_on))
    if matches:
        say(f"--fail-on: {count(matches, 'span')} matched, as spanview spans -q would print them")
    return 1 if report.is_bad or matches else 0


def _print_report(store: Store, report: Report) -> None:
    summary, problems = report.summary, report.problems
    lines = [
        f"files            {summary.files:>12,}   {size(summary.bytes)}",
        f"spans            {summary.spans:>12,}   {count(summary.duplicates, 'double')} left out",
        f"traces           {summary.traces:>12,}",
        f"roots            {summary.roots:>12,}",
        f"missing parents  {summary.missing_parents:>12,}   not ended when the files were written, or lost",
        f"torn records     {summary.torn:>12,}",
        f"other documents  {summary.skipped:>12,}   JSON that is no span",
    ]
    for flag, text in (
        (Warnings.NO_END, "spans without an end"),
        (Warnings.BAD_ID, "spans with an unusable id"),
        (Warnings.DUPLICATE_ID, "spans that share their ids with another"),
        (Warnings.NEGATIVE_DURATION, "spans that end before they start"),
        (Warnings.ODD_VALUE, "spans with a field of the wrong type"),
    ):
        number = sum(1 for warnings in store.spans.warnings if warnings & flag)
        if number:
            lines.append(f"                 {number:>12,}   {text}")
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() else _WIDTH
    lines += [line for finding in report.findings for line in finding_lines(finding, width)]
    lines += [_line(problem) for problem in problems[:_MOST_LINES]]
    if len(problems) > _MOST_LINES:
        lines.append(f"and {len(problems) - _MOST_LINES:,} more; --json prints them all")
    sys.stdout.write("\n".join(lines) + "\n")


def _line(problem: Problem) -> str:
    where = f"{sanitise(problem.file)} @ {problem.offset:,}"
    return f"{problem.severity}: {problem.kind}: {where}: {sanitise(problem.detail)}"
