"""`spanview export`: trace trees and other formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import places, read_all
from spanview.commands.selection import Selection
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.exports.by_name import chunks_of
from spanview.exports.files import write_atomically
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.losses import Losses
from spanview.sources.unended import unended_in
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.commands.options import Options
    from spanview.index.store import Store


def run(options: Options) -> int:
    """Write the chosen traces to a file, whole or not at all, or to standard output."""
    selection = Selection(options)
    store = read_all(options)
    notice(store.tallies, places(options))
    with stage("export"):
        losses = Losses(options.format)
        chunks = _chunks(store, options, selection, losses)
        if options.output not in (None, "-"):
            write_atomically(str(options.output), chunks, force=options.force)
        else:
            write_to_standard_output(chunks)
    for line in losses.lines():
        say(line)
    return 0


def _chunks(store: Store, options: Options, selection: Selection, losses: Losses) -> Iterator[bytes]:
    if options.format == "jsonl":
        rows = selection.rows(store)
        say_if_nothing_matches(store, rows, selection.query)
        return jsonl_chunks(store, rows, losses)
    traces = selection.traces(store)
    say_if_nothing_matches(store, traces, selection.query)
    return chunks_of(store, traces, options.format, losses, unended_in)
