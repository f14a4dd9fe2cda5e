"""`spanview explain`: what took the time, what failed, what is missing, in a few lines."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from spanview.commands.output import paint_for, terminal_width
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import notice, progress, say, say_if_nothing_matches
from spanview.commands.tables import TEXT, print_report
from spanview.reports.explanation import NOTHING, explanation
from spanview.reports.explanation_text import WIDTH, explanation_lines, shortened
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Print what can be said of the chosen traces."""
    selection = options.selection()
    store = read_all(options)
    notice(store.tallies, places(options))
    traces = None if selection.is_everything else selection.traces(store)
    if traces is not None:
        say_if_nothing_matches(store, traces, selection.query)
    session = latest_session(options.environment)
    by = options.by if options.by in NOTHING else ""
    with progress("explaining", is_bytes=False) as show:
        report = explanation(
            store,
            traces,
            by,
            unended=unended_in(store, session=session),
            session=session,
            rows=() if traces is None or len(traces) > 1 else selection.rows(store),
            asked=[
                *(word for query in options.queries for word in ("-q", query)),
                *(() if options.since is None else ("--since", options.since)),
            ],
            tell=lambda done: show(int(done * 100), 100),
        )
    if not report.rows and options.format == TEXT:
        if report.nothing and len(store.spans):
            say(report.nothing)
    elif options.format != TEXT:
        print_report(shortened(report, options.lines), options)
    else:
        width = terminal_width() or WIDTH
        given = "".join(f" {shlex.quote(path)}" for path in options.paths)
        lines = explanation_lines(
            store,
            report,
            width,
            options.lines,
            asking=lambda more: f"spanview {more}{given}",
            asking_for=lambda lines: f"--lines {lines}",
            paint=paint_for(options),
        )
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0
