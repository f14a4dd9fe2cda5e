"""`spanview check`: find missing, damaged or misconfigured spans, and fail where some match."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from spanview.analysis.diagnosis.finding import Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.query.gate import ask
from spanview.analysis.query.misses import NoAttribute
from spanview.analysis.query.query import parse_query
from spanview.commands.coloring import paint_for
from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.commands.tables import JSON, TEXT, print_report
from spanview.display.call_text import NOT_YET_SEEN
from spanview.display.finding_text import SEVERITIES, finding_lines
from spanview.display.miss_text import miss_lines
from spanview.display.sanitise import sanitise
from spanview.display.shades import WARNING
from spanview.display.units import count, size
from spanview.formats.jsontext import dumps_strict
from spanview.index.part import part_of
from spanview.model.problems import QueryError, Severity, Warnings
from spanview.reports.findings import findings_report
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diagnosis.report import Report
    from spanview.analysis.query.gate import Gate
    from spanview.analysis.query.query import Query
    from spanview.commands.options import Options
    from spanview.display.shades import Paint
    from spanview.index.store import Store
    from spanview.model.problems import Problem

_NOTHING_TO_MATCH = 2
"""The exit status where no query of `--fail-on` could match a span."""
_MAX_PROBLEM_LINES = 200
_WIDTH = 100
"""Cells of a line that doesn't go to a terminal."""


def run(options: Options) -> int:
    """Print the counts, the findings and the problems; every record was decoded whole to find them.

    Returns:
        0 where all is well, 1 where something was found or a span matches `--fail-on`, else 2 where none could match.
    """
    selection = options.selection()
    gates = [_gate(text) for text in options.fail_on]
    store = read_all(options, decodes_all=True)
    if selection.is_everything:
        traces, part = None, store
    else:
        traces = {*selection.traces(store)}
        part = part_of(store, traces)
    session = latest_session(options.environment)
    report = diagnose(part, session=session, unended=unended_in(part, session=session), given=options.paths)
    if traces is not None:
        # That few requests are left says nothing of how many were traced.
        report = replace(report, findings=[finding for finding in report.findings if finding.kind is not Kind.SAMPLING])
    asked = [ask(store, gate, traces) for gate in gates]
    verdict = _verdict(report, asked, allow_empty=options.allow_empty)
    findings = findings_report(report.findings)
    if options.format == JSON:
        document = {
            "schema": "spanview/check/v1",
            "verdict": asdict(verdict),
            "summary": asdict(report.summary),
            "problems": [problem.to_json() for problem in report.problems],
            "findings": findings.document()["rows"],
        }
        write_to_standard_output([dumps_strict(document) + b"\n"])
    elif options.format != TEXT:
        print_report(findings, options)
    else:
        _print_report(part, report, paint_for(options))
    if not len(store.spans):
        notice(store.tallies, places(options))
    elif traces is not None:
        say_if_nothing_matches(store, [*traces], selection.query)
    for gate in asked:
        _say(gate, allow_empty=options.allow_empty)
    return verdict.status


@dataclass(frozen=True, slots=True)
class Verdict:
    """How `check` ends."""

    status: int
    """The exit status."""
    reasons: tuple[str, ...]
    """What it rests on, a line each; empty where all is well."""


def _gate(text: str) -> Query:
    query = parse_query(text)
    if query.is_empty:
        raise QueryError("--fail-on needs a query, as in --fail-on status=ERROR")
    return query


def _verdict(report: Report, gates: Sequence[Gate], *, allow_empty: bool) -> Verdict:
    bad = [
        *(f"{finding.severity}: {finding.kind}" for finding in report.findings if finding.severity != Severity.INFO),
        *dict.fromkeys(
            f"{problem.severity}: {problem.kind}" for problem in report.problems if problem.severity != Severity.INFO
        ),
        *(f"--fail-on {gate.text}: {count(gate.matches, 'span')} matched" for gate in gates if gate.matches),
    ]
    unmatchable = [] if allow_empty else [_why_none(gate) for gate in gates if not gate.is_open_to_any]
    # What was found is certain, whatever else nothing could match.
    status = 1 if bad else _NOTHING_TO_MATCH if unmatchable else 0
    return Verdict(status, (*bad, *unmatchable))


def _why_none(gate: Gate) -> str:
    lacking = miss_lines(gate.misses)
    if not any(isinstance(miss, NoAttribute) for miss in gate.misses):
        lacking.insert(0, f"no span matches {gate.selects_none}" if gate.selects_none else "there are no spans")
    return f"--fail-on {gate.text}: nothing to test: {'; '.join(lacking)}"


def _say(gate: Gate, *, allow_empty: bool) -> None:
    if gate.matches:
        matched = count(gate.matches, "span")
        say(f"--fail-on {gate.text}: {matched} matched, as spanview spans -q would print them")
    elif allow_empty:
        return
    elif not gate.is_open_to_any:
        say(f"{_why_none(gate)} (if that is intended, add --allow-empty)")
    elif gate.misses:
        say(f"--fail-on {gate.text}: {'; '.join(miss_lines(gate.misses))}")


def _print_report(store: Store, report: Report, paint: Paint) -> None:
    def noted(number: int) -> str:
        return paint(f"{number:>12,}", WARNING if number else "")

    summary, problems = report.summary, report.problems
    lines = [
        f"files            {summary.files:>12,}   {size(summary.bytes)}",
        f"spans            {summary.spans:>12,}   {count(summary.duplicates, 'duplicate')}",
        f"traces           {summary.traces:>12,}",
        f"roots            {summary.roots:>12,}",
        f"missing parents  {noted(summary.missing_parents)}   unfinished when the files were written, or lost",
        f"torn records     {noted(summary.torn)}",
        f"other documents  {summary.skipped:>12,}   JSON that isn't a span",
    ]
    for flag, text in (
        (Warnings.NO_END, "spans without an end"),
        (Warnings.BAD_ID, "spans with an unusable id"),
        (Warnings.DUPLICATE_ID, "spans that share their ids with another"),
        (Warnings.NEGATIVE_DURATION, "spans that end before they start"),
        (Warnings.ODD_VALUE, "spans with a field of the wrong type"),
    ):
        number = sum(1 for warnings in store.spans.warnings if warnings & flag)
        running = f", {report.running:,} of them running" if flag is Warnings.NO_END and report.running else ""
        if number:
            lines.append(f"                 {noted(number)}   {text}{running}")
    if report.open_calls:
        lines.append(f"                 {len(report.open_calls):>12,}   calls {NOT_YET_SEEN}")
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() else _WIDTH
    for finding in report.findings:
        lines += finding_lines(finding, width, paint)
    lines += [_line(problem, paint) for problem in problems[:_MAX_PROBLEM_LINES]]
    if len(problems) > _MAX_PROBLEM_LINES:
        lines.append(f"and {len(problems) - _MAX_PROBLEM_LINES:,} more; --json prints them all")
    sys.stdout.write("\n".join(lines) + "\n")


def _line(problem: Problem, paint: Paint) -> str:
    where = f"{sanitise(problem.file)} @ {problem.offset:,}"
    severity = paint(f"{problem.severity}:", SEVERITIES[problem.severity])
    return f"{severity} {problem.kind}: {where}: {sanitise(problem.detail)}"
