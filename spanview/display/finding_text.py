"""Findings as lines of text: what was found, where, and what to do about it.

error: trace_ctx: 3 calls were refused with a TypeError about _ray_trace_ctx, an
    argument that only tracing adds.
    at trace dbf0079028ca620540f0e1d82f0f6b72 span 766c9968598da0f6 A.gen ray.remote, and 2 more
    do: Ray 2.60 can't trace …
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, chop_cells

from spanview.display.sanitise import sanitise
from spanview.display.shades import ERROR, QUIET, WARNING, plain
from spanview.display.units import count, size
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.problems import Severity

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.finding import Finding, Place
    from spanview.display.shades import Paint
    from spanview.model.problems import Summary

SEVERITIES: Final = {Severity.ERROR: ERROR, Severity.WARNING: WARNING, Severity.INFO: QUIET}
"""The shades of severities."""
_INDENT: Final = "    "
_MAX_NAME_LENGTH: Final = 80
"""Characters of a span's name."""
_MIN_WIDTH: Final = 12
"""Cells of a line, however narrow it is."""


def looked_at_text(summary: Summary) -> str:
    """Return what findings were looked for in: `7 files (12 KiB), 31 spans, …`."""
    return (
        f"{count(summary.files, 'file')} ({size(summary.bytes)}), {count(summary.spans, 'span')}, "
        f"{count(summary.traces, 'trace')}, {count(summary.duplicates, 'duplicate')}, "
        f"{count(summary.missing_parents, 'missing parent')}, {count(summary.torn, 'torn record')}"
    )


def place_text(place: Place) -> str:
    """Return a place in words, safe to print."""
    if place.trace_id:
        span = f" span {format_span_id(place.span_id)}" if place.span_id else ""
        name = f" {sanitise(place.name, _MAX_NAME_LENGTH)}" if place.name else ""
        return f"trace {format_trace_id(place.trace_id)}{span}{name}"
    return sanitise(place.file) + ("" if place.offset is None else f" @ {place.offset:,}")


def wrapped(text: str, width: int, *, first: str = "", rest: str = "", breaks_words: bool = True) -> list[str]:
    """Return a text in lines of so many cells, broken at blanks; a word that is longer is broken too, if it may be."""
    width = max(_MIN_WIDTH, width)
    lines = wrap(
        sanitise(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=breaks_words,
    )
    if not breaks_words:
        return lines
    # Some characters take two cells.
    return [part for line in lines for part in ([line] if cell_len(line) <= width else chop_cells(line, width))]


def finding_lines(finding: Finding, width: int, paint: Paint = plain) -> list[str]:
    """Return a finding as lines of so many cells, but for the one that says where; `paint` colours them."""
    likely = " (likely)" if finding.certainty == "likely" else ""
    lines = wrapped(f"{finding.severity}: {finding.kind}{likely}: {finding.detail}", width, rest=_INDENT)
    severity = f"{finding.severity}:"
    lines[0] = paint(severity, SEVERITIES[finding.severity]) + lines[0].removeprefix(severity)
    if finding.evidence:
        # What is counted may be spans of a file, and the place is the file's.
        more = finding.more_places
        # In one line, however long: a path is there to be copied.
        where = f"{_INDENT}at {place_text(finding.evidence[0])}" + (f", and {more:,} more" if more else "")
        lines.append(paint(where, QUIET))
    # So is a path in a command.
    return lines + wrapped(
        finding.advice.replace("`", ""), width, first=f"{_INDENT}do: ", rest=_INDENT, breaks_words=False
    )
