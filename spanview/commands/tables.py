"""Reports as a command prints them: text for a terminal or a pipe, JSON, csv, Markdown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from spanview.commands.coloring import paint_for
from spanview.commands.output import terminal_width, write_to_standard_output
from spanview.commands.standard_error import say
from spanview.reports.lines import markdown_lines, table_lines

if TYPE_CHECKING:
    from spanview.commands.options import Options
    from spanview.reports.report import Report

TEXT, JSON, CSV, MARKDOWN = "text", "json", "csv", "markdown"
"""What tables are printed as."""


def print_report(report: Report[Any], options: Options) -> None:
    """Print a report in the format that was asked for; what JSON calls otherwise now is said on standard error."""
    if report.nothing and not report.rows:
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


def say_what_was_renamed(report: Report[Any]) -> None:
    """Say which names JSON has twice, for whoever reads the old ones."""
    if report.renamed and report.rows:
        names = ", ".join(f"{old} is {new}" for old, new in report.renamed.items())
        say(f"names in JSON have changed: {names}; the old ones stay until the next version")
