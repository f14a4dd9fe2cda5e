"""`spanview stats`: counts, errors, percentiles and self time."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from spanview.analysis.stats import statistics, to_json
from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import notice, read_all
from spanview.commands.selection import Selection
from spanview.display.group_text import group_text
from spanview.display.units import duration
from spanview.formats.jsontext import dumps_strict

if TYPE_CHECKING:
    from spanview.analysis.stats import Group
    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Print the statistics of all spans, or of those in the traces that match."""
    selection = Selection(options, time.time_ns())
    store, session = read_all(options)
    session.close()
    notice(store, options.paths)
    groups = statistics(store, options.by, None if selection.is_everything else selection.traces(store))
    if options.json:
        write_to_standard_output([dumps_strict(to_json(groups, options.by)) + b"\n"])
    else:
        _print_table(groups, options.by)
    return 0


def _print_table(groups: list[Group], by: str) -> None:
    header = ("COUNT", "ERRORS", "TOTAL", "SELF", "MIN", "P50", "P95", "P99", "MAX", by.upper())
    rows = [
        (
            f"{group.count:,}",
            f"{group.errors:,}" if group.errors else "",
            *(duration(ns) for ns in (group.total_ns, group.self_ns, group.min_ns)),
            *(duration(ns) for ns in (group.p50_ns, group.p95_ns, group.p99_ns, group.max_ns)),
            group_text(group.key, by),
        )
        for group in groups
    ]
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header) - 1)]
    for row in (header, *rows):
        figures = "  ".join(f"{text:>{width}}" for text, width in zip(row, widths, strict=False))
        sys.stdout.write(f"{figures}  {row[-1]}".rstrip() + "\n")
