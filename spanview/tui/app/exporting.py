"""Exports from the viewer: what is looked at, in a new file of the current folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.model.problems import ExportError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store

OFFERED: Final = {
    "otlp": "OTLP JSON lines, for collectors and most backends",
    "trace-tree": "JSON, one tree per trace",
    "jsonl": "JSON lines, one per span",
    "jaeger": "JSON for Jaeger's interface",
    "zipkin": "JSON for Zipkin",
    "chrome": "JSON for Perfetto and chrome://tracing",
    "html": "one page for any browser, to share",
    "parquet": "Parquet, one row per span, for DuckDB and data frames",
}
"""The formats, and what they are good for."""
_DIGITS: Final = 8
"""Of a trace's id, in a file's name."""


def export_traces(store: Store, traces: Sequence[int] | None, name: str, session: str, paths: Sequence[str]) -> str:
    """Write traces in a format, one of `OFFERED`, and return in words what came of it; for a thread."""
    from spanview.display.units import count
    from spanview.exports.by_name import ENDINGS, chunks_of
    from spanview.exports.files import shown_path, write_anew
    from spanview.exports.losses import Losses
    from spanview.exports.surroundings import Surroundings
    from spanview.sources.unended import unended_in

    chosen = range(len(store.trace_table)) if traces is None else traces
    trace_id = store.trace_table.hex_id(chosen[0]) if len(chosen) == 1 else None
    stem = f"trace-{trace_id[:_DIGITS]}" if trace_id else "traces"
    losses, around = Losses(name), Surroundings(partial(unended_in, session=session), session, paths)
    try:
        path = write_anew(
            stem if name == "html" else f"{stem}-{name}",
            ENDINGS[name],
            lambda: chunks_of(store, chosen, name, losses, around),
        )
    except ExportError as error:
        return str(error)
    lost = [*losses.lines()]
    more = f"; {lost[0]}" + (f" and {len(lost) - 1} more" if len(lost) > 1 else "") if lost else ""
    return f"wrote {count(len(chosen), 'trace')} to {shown_path(path)}{more}"
