"""`spanview export`: trace trees and other formats."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import notice, read_all, say
from spanview.commands.selection import Selection
from spanview.exports.files import write_atomically
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.otlp import otlp_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.commands.options import Options
    from spanview.index.store import Store


def run(options: Options) -> int:
    """Write the chosen traces to a file, whole or not at all, or to standard output."""
    selection = Selection(options, time.time_ns())
    store, session = read_all(options)
    session.close()
    notice(store, options.paths)
    with stage("export"):
        lost = Counter[str]()
        chunks = _chunks(store, options, selection, lambda what: lost.update((what,)))
        if options.output not in (None, "-"):
            write_atomically(str(options.output), chunks, force=options.force)
        else:
            write_to_standard_output(chunks)
    for what, times in sorted(lost.items()):
        say(f"{options.format} can't say: {what} ({times:,} times)")
    return 0


def _chunks(store: Store, options: Options, selection: Selection, lose: Callable[[str], None]) -> Iterator[bytes]:
    if options.format == "jsonl":
        return jsonl_chunks(store, selection.rows(store))
    traces = selection.traces(store)
    if options.format == "otlp":
        return otlp_chunks(store, traces, lose)
    return trace_tree_chunks(store, traces, summary=store.summary(), problems=store.problems())
