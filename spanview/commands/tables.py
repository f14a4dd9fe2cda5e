"""Reports as a command prints them: text for a terminal or a pipe, JSON, csv, Markdown."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from spanview.commands.output import paint_for, terminal_width, write_to_standard_output
from spanview.commands.standard_error import say
from spanview.display.units import count
from spanview.model.times import NO_TIME
from spanview.reports.ci import Case, Level, github_lines, junit_lines
from spanview.reports.gates import STYLES
from spanview.reports.lines import markdown_lines, table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.commands.options import Options
    from spanview.index.store import Store
    from spanview.reports.gates import GateRow
    from spanview.reports.report import Report

Row = TypeVar("Row")
TEXT, JSON, CSV, MARKDOWN, GITHUB, JUNIT = "text", "json", "csv", "markdown", "github", "junit"
"""What tables are printed as."""
FOR_CI: Final = frozenset((GITHUB, JUNIT))
"""What has no tables in it, but what passed and what failed."""


def print_report(report: Report[Any], options: Options) -> None:
    """Print a report in the format that was asked for; what JSON calls otherwise now is said on standard error."""
    if report.nothing and not report.rows:
        if options.format == MARKDOWN:
            # It stands for the table in a comment, too, where nobody sees standard error.
            sys.stdout.write(f"{report.nothing}\n")
            return
        say(report.nothing)
    if options.format == JSON:
        write_to_standard_output(report.json_chunks())
        say_what_was_renamed(report)
    elif options.format == CSV:
        write_to_standard_output([report.csv_text().encode(errors="replace")])
    elif options.format == MARKDOWN:
        sys.stdout.writelines(f"{line}\n" for line in markdown_lines(report))
    else:
        lines = table_lines(report.table, report.rows, paint_for(options), terminal_width())
        sys.stdout.writelines(f"{line}\n" for line in lines)


def arranged(report: Report[Row], options: Options) -> Report[Row]:
    """Return a report in the order that was asked for, with as many rows as were; more are said on standard error.

    Raises:
        QueryError: There is no such column to sort by.
    """
    if options.sort is not None:
        report = report.sorted_by(options.sort)
    if options.limit is None or len(report.rows) <= options.limit:
        return report
    say(f"{count(len(report.rows) - options.limit, 'row')} left out by --limit {options.limit}")
    return replace(report, rows=report.rows[: options.limit])


def print_for_ci(options: Options, cases: Sequence[Case], end_ns: int) -> None:
    """Print what was checked, for a CI system."""
    suite = f"spanview {options.command}"
    lines = github_lines(cases) if options.format == GITHUB else junit_lines(suite, cases, end_ns)
    sys.stdout.writelines(f"{line}\n" for line in lines)


def gate_case(row: GateRow) -> Case:
    """Return a gate as something that was checked."""
    name = f"{row.gate}: {row.group}" if row.group else row.gate
    level = {"error": Level.ERROR, "warning": Level.WARNING}.get(STYLES.get(row.outcome, ""))
    return Case("gate", name, row.detail, level, level is Level.ERROR)


def last_end(store: Store) -> int:
    """Return when the last span of a store ended, in nanoseconds since 1970; 0 where none has."""
    return max((end for end in store.trace_table.end_ns[: len(store.trace_table)] if end != NO_TIME), default=0)


def say_what_was_renamed(report: Report[Any]) -> None:
    """Say which names JSON has twice, for whoever reads the old ones."""
    if report.renamed and report.rows:
        names = ", ".join(f"{old} is {new}" for old, new in report.renamed.items())
        say(f"names in JSON have changed: {names}; the old ones stay until the next version")
