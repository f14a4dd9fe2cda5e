"""`spanview stats`: counts, errors, percentiles and self time."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from spanview.analysis import calls, stats
from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import notice, read_all, say
from spanview.commands.selection import Selection
from spanview.display.sanitise import sanitise
from spanview.display.units import duration
from spanview.formats.jsontext import dumps_strict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.commands.options import Options
    from spanview.index.store import Store


def run(options: Options) -> int:
    """Print the statistics of all spans, or of those in the traces that match."""
    selection = Selection(options, time.time_ns())
    store, session = read_all(options)
    session.close()
    notice(store, options.paths)
    traces = None if selection.is_everything else selection.traces(store)
    figures, rows = (_ray if options.by == "ray" else _groups)(store, options.by, traces)
    if options.json:
        write_to_standard_output([dumps_strict(figures) + b"\n"])
    else:
        _print_table(rows)
    return 0


def _groups(store: Store, by: str, traces: Sequence[int] | None) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Return statistics by a key as JSON, and as rows of a table with its heads."""
    groups = stats.statistics(store, by, traces)
    header = ("COUNT", "ERRORS", "TOTAL", "SELF", "MIN", "P50", "P95", "P99", "MAX", by.upper())
    rows = [
        (
            f"{group.count:,}",
            _some(group.errors),
            *(duration(ns) for ns in (group.total_ns, group.self_ns, group.min_ns)),
            *(duration(ns) for ns in (group.p50_ns, group.p95_ns, group.p99_ns, group.max_ns)),
            group.key,
        )
        for group in groups
    ]
    return stats.to_json(groups, by), [header, *rows]


def _ray(store: Store, _: str, traces: Sequence[int] | None) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Return Ray's calls by function as JSON, and as rows of a table with its heads."""
    functions = calls.functions_of(store, calls.calls_of(store, traces))
    if not functions:
        say(f"no Ray calls here: these are spans of kind PRODUCER whose names end in {calls.SUBMITTED.strip()!r}")
    header = (
        *("CALLS", "ATTEMPTS", "ERRORS", "NOT SUBMITTED", "RETRIED", "NO ATTEMPT"),
        *("WAIT P50", "P95", "MAX", "RUN P50", "P95", "MAX", "AT ONCE", "FUNCTION"),
    )
    rows = [
        (
            *(f"{number:,}" for number in (function.calls, function.attempts)),
            *map(_some, (function.errors, function.submit_errors, function.retried, function.no_attempt)),
            *(
                duration(ns)
                for values in (function.waits_ns, function.runs_ns)
                for ns in calls.percentiles(values).values()
            ),
            _some(function.max_concurrency),
            function.function,
        )
        for function in functions
    ]
    return calls.to_json(functions), [header, *rows]


def _some(number: int) -> str:
    return f"{number:,}" if number else ""


def _print_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows, the heads first; the last column has texts from files, all others are figures."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    for row in rows:
        figures = "  ".join(f"{text:>{width}}" for text, width in zip(row, widths, strict=False))
        sys.stdout.write(f"{figures}  {sanitise(row[-1])}".rstrip() + "\n")
