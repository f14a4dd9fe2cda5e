"""The formats by their names, for those who are told which one is wanted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.exports.losses import Losses
    from spanview.exports.surroundings import Surroundings
    from spanview.index.store import Store

ENDINGS: Final = {
    "trace-tree": "json",
    "jsonl": "jsonl",
    "otlp": "jsonl",
    "jaeger": "json",
    "zipkin": "json",
    "chrome": "json",
    "html": "html",
    "parquet": "parquet",
}
"""What files of a format end in."""


def chunks_of(
    store: Store,
    traces: Sequence[int],
    name: str,
    losses: Losses,
    around: Surroundings,
) -> Iterator[bytes]:
    """Yield whole traces in a format, one of `ENDINGS`."""
    if name == "html":
        from spanview.exports.html import html_chunks

        return html_chunks(store, traces, losses, around)
    if name == "jsonl":
        return jsonl_chunks(store, [row for trace in traces for row in store.rows_of_trace(trace)], losses)
    if name == "trace-tree":
        from spanview.index.summary import summary_of

        return trace_tree_chunks(store, traces, losses, summary=summary_of(store), problems=store.problems())
    # For each format of others there is a module, with a function of its name.
    module: Any = import_module(f"spanview.exports.{name}")
    foreign: Iterator[bytes] = getattr(module, f"{name}_chunks")(store, traces, losses)
    return foreign
