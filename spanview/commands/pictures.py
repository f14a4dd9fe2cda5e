"""Traces as pictures and as bars of characters; imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.known_calls import KnownCalls
from spanview.commands.output import write_to_standard_output
from spanview.display.picture_text import picture_lines
from spanview.display.shades import plain
from spanview.exports.files import write_atomically
from spanview.model.problems import ExportError
from spanview.tui.trace.whole_picture import pictures_svg, whole_picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.display.shades import Paint
    from spanview.index.store import Store

_MAX_TRACES: Final = 20
"""Traces that are drawn one below the other."""


def write_picture(store: Store, traces: Sequence[int], path: str, *, force: bool) -> None:
    """Draw some traces, one below the other, into one SVG file.

    Raises:
        ExportError: There are no traces, or more than one can look at, or the file can't be written.
    """
    if not traces:
        raise ExportError(f"no trace to draw: {path} is not written")
    if len(traces) > _MAX_TRACES:
        raise ExportError(
            f"{len(traces):,} traces to draw, but a picture has room for {_MAX_TRACES}: choose some with --trace ID, "
            f"-q or --since; {path} is not written"
        )
    chunks = pictures_svg(store, traces, KnownCalls(store))
    if path == "-":
        write_to_standard_output(chunks)
    else:
        write_atomically(path, chunks, force=force)


def bar_lines(store: Store, trace: int, known: KnownCalls, width: int, paint: Paint = plain) -> Iterator[str]:
    """Yield one trace's waterfall in characters."""
    return picture_lines(whole_picture(store, trace, known), width, paint)
