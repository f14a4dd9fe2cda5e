"""`spanview export`: trace trees and other formats."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, TextIO

from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.exports.by_name import chunks_of
from spanview.exports.files import check_target, write_atomically
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.losses import Losses
from spanview.exports.surroundings import Surroundings
from spanview.model.problems import ExportError
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.query.selection import Selection
    from spanview.commands.options import Options
    from spanview.index.store import Store


def run(options: Options) -> int:
    """Write the chosen traces to a file, whole or not at all, or to standard output."""
    folder = _table_folder(options) if options.format == "parquet" else None
    if options.ray is not None:
        return _run_on_cluster(options, options.ray)
    selection = options.selection()
    store = read_all(options)
    notice(store.tallies, places(options))
    with stage("export"):
        losses = Losses(options.format)
        if folder is not None:
            from spanview.api.tables import write_tables

            traces = selection.traces(store)
            say_if_nothing_matches(store, traces, selection.query)
            write_tables(store, traces, folder, losses, force=options.force)
        else:
            _write(_chunks(store, options, selection, losses), options)
    for line in losses.lines():
        say(line)
    return 0


def _run_on_cluster(options: Options, address: str) -> int:
    """Have a Ray cluster read and write: into a file, or into a folder, part by part."""
    from spanview.cluster.export import FORMATS, ClusterExport
    from spanview.cluster.parts import check_behind, part_folder, write_behind
    from spanview.cluster.shared_files import is_uri
    from spanview.commands.from_cluster import working

    if options.format not in FORMATS:
        raise ExportError(f"a cluster writes {', '.join(FORMATS[:-1])} or {FORMATS[-1]}: give one of them as --format")
    target = None if options.output in (None, "-") else str(options.output)
    folder = None if target is None else part_folder(target)
    # What takes minutes isn't to end with this.
    if folder is not None and not options.force and folder.parts(options.format):
        raise ExportError(f"{target} already has parts of an export: give --force to replace them, or another folder")
    if folder is not None:
        folder.make()
    elif target is not None:
        check = check_behind if is_uri(target) else check_target
        check(target, force=options.force)
    losses = Losses(options.format)
    with working(options, address) as work:
        export = ClusterExport(work.tasks, work.job, options.format, losses)
        work.notice(export.tallies, export.spans)
        if folder is None and target is not None and is_uri(target):
            write_behind(target, export.chunks())
        elif folder is None:
            _write(export.chunks(), options, work.standard_output)
        else:
            export.write_parts(folder)
    for line in losses.lines():
        say(line)
    return 0


def _write(chunks: Iterator[bytes], options: Options, standard_output: TextIO | None = None) -> None:
    if options.output not in (None, "-"):
        write_atomically(str(options.output), chunks, force=options.force)
    else:
        write_to_standard_output(chunks, standard_output)


def _table_folder(options: Options) -> str | None:
    """Return the folder that tables go to, None for a file with the spans; complain before anything is read."""
    from spanview.api.tables import check_folder, is_folder
    from spanview.exports.arrow_spans import arrow

    arrow()
    if options.output not in {None, "-"}:
        target = str(options.output)
        # On a cluster a folder has parts.
        if options.ray is not None or not is_folder(target):
            return None
        check_folder(target, force=options.force)
        return target
    if sys.stdout.isatty():
        raise ExportError("Parquet can't be shown on a terminal: give -o FILE, or redirect the output with >")
    return None


def _chunks(store: Store, options: Options, selection: Selection, losses: Losses) -> Iterator[bytes]:
    if options.format == "jsonl":
        rows = selection.rows(store)
        say_if_nothing_matches(store, rows, selection.query)
        return jsonl_chunks(store, rows, losses)
    traces = selection.traces(store)
    say_if_nothing_matches(store, traces, selection.query)
    session = latest_session(options.environment)
    around = Surroundings(partial(unended_in, session=session), session, options.paths)
    return chunks_of(store, traces, options.format, losses, around)
