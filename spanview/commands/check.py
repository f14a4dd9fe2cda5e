"""`spanview check`: find missing, damaged or misconfigured spans, and fail where some match."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spanview.analysis.diagnosis.finding import Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.query.aggregate import COUNT, figure_meant, is_aggregate, parse_limited
from spanview.analysis.query.gate import ask, compare
from spanview.analysis.query.misses import NoAttribute
from spanview.analysis.query.query import Query, parse_query
from spanview.analysis.query.terms import near_text
from spanview.commands.options import NO_SEVERITY
from spanview.commands.output import paint_for, terminal_width, write_to_standard_output
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.commands.tables import FOR_CI, JSON, MARKDOWN, TEXT, gate_case, last_end, print_for_ci, print_report
from spanview.display.call_text import NOT_YET_SEEN
from spanview.display.finding_text import SEVERITIES, finding_lines, looked_at_text
from spanview.display.miss_text import miss_lines
from spanview.display.sanitise import sanitise
from spanview.display.shades import WARNING, plain
from spanview.display.units import count, size
from spanview.formats.jsontext import dumps_strict
from spanview.index.arrays import copy_of
from spanview.index.part import part_of
from spanview.model.problems import ProblemKind, QueryError, Severity, Warnings
from spanview.reports.ci import Case, Level
from spanview.reports.findings import findings_report
from spanview.reports.gates import GateOutcome, GateRow, amount_text, gates_report
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanview.analysis.diagnosis.report import Diagnosis
    from spanview.analysis.query.aggregate import Limited
    from spanview.analysis.query.gate import Gate
    from spanview.analysis.ray.unended import Unended
    from spanview.commands.options import Options
    from spanview.display.shades import Paint
    from spanview.index.store import Store
    from spanview.model.problems import Problem
    from spanview.reports.report import Report

_NOTHING_TO_MATCH = 2
"""The exit status where no query of `--fail-on` could match a span."""
_LEVELS = {Severity.INFO: Level.NOTICE, Severity.WARNING: Level.WARNING, Severity.ERROR: Level.ERROR}
_MAX_PROBLEM_LINES = 200
_WIDTH = 100
"""Cells of a line that doesn't go to a terminal."""


def run(options: Options) -> int:
    """Print the counts, the findings and the problems; every record was decoded whole to find them.

    Returns:
        0 where all is well, 1 where something was found or `--fail-on` holds, else 2 where it could not have held.
    """
    selection = options.selection()
    gates = [_gate(text) for text in options.fail_on]
    ignored = _kinds(options.ignore)
    store = read_all(options, decodes_all=True)
    traces = None if selection.is_everything else {*selection.traces(store)}
    part = store if traces is None else part_of(store, traces)
    unended = unended_in(part, session=latest_session(options.environment))
    report = diagnosis(part, options, unended, is_whole=traces is None)
    report = replace(
        report,
        findings=[finding for finding in report.findings if finding.kind not in ignored],
        problems=[problem for problem in report.problems if problem.kind not in ignored],
    )
    asked = [ask(store, gate, traces) if isinstance(gate, Query) else compare(store, gate, traces) for gate in gates]
    verdict = _verdict(report, asked, options)
    rows = [_row(gate, allow_empty=options.allow_empty) for gate in asked]
    if options.format in FOR_CI:
        cases = [*map(gate_case, rows), *_cases(report, options.severity)]
        print_for_ci(options, cases, last_end(store))
    else:
        _print(part, report, verdict, gates_report(rows), options)
    if not len(store.spans):
        notice(store.tallies, places(options))
    elif traces is not None:
        say_if_nothing_matches(store, [*traces], selection.query)
    for gate in asked:
        _say(gate, allow_empty=options.allow_empty)
    return verdict.status


def diagnosis(store: Store, options: Options, unended: Mapping[int, Unended], *, is_whole: bool) -> Diagnosis:
    """Return what is found in a store that may be a part of what was read from the PATHs."""
    session = latest_session(options.environment)
    report = diagnose(store, session=session, unended=unended, given=options.paths)
    if is_whole:
        return report
    # That few requests are left says nothing of how many were traced.
    return replace(report, findings=[finding for finding in report.findings if finding.kind is not Kind.SAMPLING])


@dataclass(frozen=True, slots=True)
class Verdict:
    """How `check` ends."""

    status: int
    """The exit status."""
    reasons: tuple[str, ...]
    """What it rests on, a line each; empty where all is well."""


def _gate(text: str) -> Query | Limited:
    if is_aggregate(text):
        return parse_limited(text)
    try:
        query = parse_query(text)
    except QueryError as error:
        raise QueryError(f"{error}{figure_meant(text)}", error.text, error.position) from None
    if query.is_empty:
        raise QueryError("--fail-on needs a query, as in --fail-on status=ERROR")
    return query


def _kinds(ignored: Sequence[str]) -> set[str]:
    """Return the kinds of findings and problems that don't count.

    Raises:
        QueryError: There is no such kind.
    """
    known: list[str] = [*Kind, *ProblemKind]
    for kind in ignored:
        if kind not in known:
            near = near_text(kind, known)
            hint = "the page check lists them" if near is None else f"did you mean {near}?"
            raise QueryError(f"--ignore {kind}: there is no such kind of finding or problem; {hint}")
    return {*ignored}


def _counts(severity: Severity, least: str) -> bool:
    """Return whether a severity is at least as bad as one; none is as bad as `none`."""
    return least != NO_SEVERITY and [*Severity].index(severity) >= [*Severity].index(Severity(least))


def _verdict(report: Diagnosis, gates: Sequence[Gate], options: Options) -> Verdict:
    found = [(finding.severity, finding.kind.value) for finding in report.findings]
    found += dict.fromkeys((problem.severity, problem.kind.value) for problem in report.problems)
    bad = [
        *(f"{severity}: {kind}" for severity, kind in found if _counts(severity, options.severity)),
        *(f"--fail-on {gate.text}: {_figure(gate)}" for gate in gates if gate.is_shut),
    ]
    empty = [] if options.allow_empty else [_why_none(gate) for gate in gates if _is_empty(gate)]
    # What was found is certain, whatever else nothing could match.
    status = 1 if bad else _NOTHING_TO_MATCH if empty else 0
    return Verdict(status, (*bad, *empty))


def _is_empty(gate: Gate) -> bool:
    return not gate.is_shut and not gate.is_open_to_any


def _figure(gate: Gate) -> str:
    """Return what a gate found, in words."""
    if gate.limited is None:
        return f"{count(gate.matches, 'span') if gate.matches else 'no span'} matched"
    aggregate = gate.limited.aggregate
    of = "" if aggregate.function == COUNT else f", {count(gate.matches, 'span')}"
    return f"{amount_text(aggregate, gate.value)}{of}"


def _row(gate: Gate, *, allow_empty: bool) -> GateRow:
    is_empty = _is_empty(gate)
    outcome = GateOutcome.FAILED if gate.is_shut else GateOutcome.PASSED
    if is_empty and not allow_empty:
        outcome = GateOutcome.NO_SPANS
    detail = _why_none(gate).removeprefix(f"--fail-on {gate.text}: ") if is_empty else _figure(gate)
    value = gate.matches if gate.limited is None else gate.value
    return GateRow(gate.text, outcome, detail, gate.matches, value)


def _cases(report: Diagnosis, least: str) -> Iterator[Case]:
    """Yield all that may be found, and what was."""
    found = {finding.kind: finding for finding in report.findings}
    for kind in Kind:
        if kind not in found:
            yield Case("finding", kind)
            continue
        finding = found[kind]
        file = next((place.file for place in finding.evidence if place.file), "")
        text = f"{finding.detail} {finding.advice}"
        yield Case("finding", kind, text, _LEVELS[finding.severity], _counts(finding.severity, least), file)
    for problem in report.problems:
        name = f"{problem.kind} {problem.file} @ {problem.offset}"
        fails = _counts(problem.severity, least)
        yield Case("problem", name, problem.detail, _LEVELS[problem.severity], fails, problem.file)


def _why_none(gate: Gate) -> str:
    lacking = miss_lines(gate.misses)
    if not any(isinstance(miss, NoAttribute) for miss in gate.misses):
        lacking.insert(0, f"no span matches {gate.selects_none}" if gate.selects_none else "there are no spans")
    return f"--fail-on {gate.text}: nothing to test: {'; '.join(lacking)}{figure_meant(gate.text)}"


def _say(gate: Gate, *, allow_empty: bool) -> None:
    if gate.is_shut:
        say(f"--fail-on {gate.text}: {_figure(gate)}{', as spanview spans -q would print them' * (not gate.limited)}")
    elif allow_empty:
        return
    elif not gate.is_open_to_any:
        say(f"{_why_none(gate)} (if that is intended, add --allow-empty)")
    elif gate.misses:
        say(f"--fail-on {gate.text}: {'; '.join(miss_lines(gate.misses))}")


def _print(part: Store, report: Diagnosis, verdict: Verdict, gates: Report[GateRow], options: Options) -> None:
    problems = f"no finding, but {count(len(report.problems), 'problem')} in the files" if report.problems else ""
    findings = findings_report(report.findings, f"{problems or 'nothing found'}: {looked_at_text(report.summary)}")
    if options.format == JSON:
        document = {
            "schema": "spanview/check/v1",
            "verdict": asdict(verdict),
            "summary": asdict(report.summary),
            "gates": gates.document()["rows"],
            "problems": [problem.to_json() for problem in report.problems],
            "findings": findings.document()["rows"],
        }
        write_to_standard_output([dumps_strict(document) + b"\n"])
    elif options.format == TEXT:
        _print_report(part, report, paint_for(options))
        if gates.rows:
            sys.stdout.write("\n")
            print_report(gates, options)
    else:
        if gates.rows and options.format == MARKDOWN:
            print_report(gates, options)
            sys.stdout.write("\n")
        print_report(findings, options)


def _print_report(store: Store, report: Diagnosis, paint: Paint) -> None:
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
        number = int(np.count_nonzero(copy_of(store.spans.warnings) & int(flag)))
        running = f", {report.running:,} of them running" if flag is Warnings.NO_END and report.running else ""
        if number:
            lines.append(f"                 {noted(number)}   {text}{running}")
    if report.open_calls:
        lines.append(f"                 {len(report.open_calls):>12,}   calls {NOT_YET_SEEN}")
    width = terminal_width() or _WIDTH
    for finding in report.findings:
        lines += finding_lines(finding, width, paint)
    lines += [problem_line(problem, paint) for problem in problems[:_MAX_PROBLEM_LINES]]
    if len(problems) > _MAX_PROBLEM_LINES:
        lines.append(f"and {len(problems) - _MAX_PROBLEM_LINES:,} more; --json prints them all")
    sys.stdout.write("\n".join(lines) + "\n")


def problem_line(problem: Problem, paint: Paint = plain) -> str:
    """Return a problem as one line, safe to print."""
    where = f"{sanitise(problem.file)} @ {problem.offset:,}"
    severity = paint(f"{problem.severity}:", SEVERITIES[problem.severity])
    return f"{severity} {problem.kind}: {where}: {sanitise(problem.detail)}"
