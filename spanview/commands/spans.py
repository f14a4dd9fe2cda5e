"""`spanview spans`: spans as JSON, one a line; with --follow each as soon as it is written.

A span that is written when it starts is printed then, without an end, and again when it has ended.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from spanview.commands.following import until_interrupted, updates
from spanview.commands.output import write_to_standard_output
from spanview.commands.reading import places, read_all, read_options, standard_input
from spanview.commands.standard_error import notice, say, say_if_nothing_matches, why_nothing
from spanview.exports.jsonl import jsonl_chunks, line_of
from spanview.index.store import Store
from spanview.model.problems import QueryError
from spanview.sources.details import RecordReader
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.new_spans import NewSpans, settled
from spanview.sources.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.query.selection import Selection
    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Print the spans that match: all at once by path and offset, or as they come."""
    selection = options.selection()
    if options.follow:
        return _follow(options, selection)
    store = read_all(options)
    notice(store.tallies, places(options))
    rows = selection.rows(store)
    say_if_nothing_matches(store, rows, selection.query)
    write_to_standard_output(jsonl_chunks(store, rows))
    return 0


def _follow(options: Options, selection: Selection) -> int:
    if selection.needs_newest_run and STANDARD_INPUT in options.paths:
        raise QueryError("in a pipe, the newest run is known only at the end: leave out --follow")
    selection = settled(selection, lambda: read_all(options).spans)
    details = RecordReader()
    store = Store(details, notes_changes=True)
    # They are printed by file and offset, and decoded whole.
    how = read_options(options)._replace(quick_from=sys.maxsize)
    session, new = Session(how, store, details, standard_input(how.paths)), NewSpans(store, selection)
    with until_interrupted() as stop:
        for _ in chain(session.load(), _loaded(store, selection), updates(session, store.tallies, stop)):
            write_to_standard_output(map(line_of, new.take()))
            if stop.is_set():
                break
    session.close()
    write_to_standard_output(map(line_of, new.take()))
    return 0


def _loaded(store: Store, selection: Selection) -> Iterator[None]:
    """Say, once all that is there was read, why nothing of it matches; yield once more, for the last of it.

    Raises:
        QueryError: No span has one of the keys as an attribute, and one of the language's own was probably meant.
    """
    yield
    if not selection.rows(store) and len(store.spans) and (reasons := why_nothing(store, selection.query)):
        # What few commands need is imported late.
        from spanview.analysis.query.misses import misses_of
        from spanview.display.miss_text import misspelt_attributes

        misspelt_attributes(misses_of(store, selection.query))
        say("; ".join(["nothing matches so far", *reasons]))
