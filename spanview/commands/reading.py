"""What all commands share: from options to a store that is read."""

from __future__ import annotations

import os
import sys
from threading import active_count
from typing import IO, TYPE_CHECKING

from spanview.commands.piped import is_readable
from spanview.commands.standard_error import progress
from spanview.index.memory import keep_freed
from spanview.index.store import Store
from spanview.index.table import NUMPY_FROM_SPANS
from spanview.model.problems import NoSuchPathError
from spanview.sources.details import RecordReader
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.places import default_places, event_folder, events_beside, how_to_turn_tracing_on
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions, WorkerStart
from spanview.sources.unended import let_ask
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.commands.options import Options


def places(options: Options) -> tuple[str, ...]:
    """Return the PATHs to read: those given, or the default places.

    Raises:
        NoSuchPathError: None is given, none of the default places exists, and nothing is followed.
    """
    if options.paths:
        return options.paths
    looked_at = default_places(options.environment)
    existing = tuple(place for place in looked_at if os.path.exists(place))
    if options.follow:
        return tuple(looked_at)
    if not existing:
        raise NoSuchPathError("no spans: " + "\n".join(how_to_turn_tracing_on(looked_at)))
    return existing


def read_options(options: Options, *, newest_first: bool = False) -> ReadOptions:
    """Return how a session is to read."""
    return ReadOptions(
        places(options),
        events=events_beside(options.paths) if options.paths else (event_folder(options.environment),),
        cap=options.cap,
        follow=options.follow,
        newest_first=newest_first,
        use_cache=options.use_cache,
    )


def standard_input(paths: Iterable[str]) -> IO[bytes] | None:
    """Return standard input where a PATH is `-`.

    Raises:
        NoSuchPathError: It is closed, or open for writing only.
    """
    if STANDARD_INPUT not in paths:
        return None
    if not is_readable():
        raise NoSuchPathError(
            "-: standard input is closed, or can't be read; pipe spans in, as in: cat FILE | spanview tree -"
        )
    return sys.stdin.buffer


def read_all(options: Options, *, decodes_all: bool = False) -> Store:
    """Read everything that is there, as `begin` does, and nothing more."""
    store, session = begin(options, decodes_all=decodes_all)
    session.close()
    return store


def begin(options: Options, *, decodes_all: bool = False) -> tuple[Store, Session]:
    """Read everything that is there, with a progress bar on a terminal's standard error; the session can go on.

    Raises:
        SpanviewError: A PATH doesn't exist.
    """
    details = RecordReader()
    store = Store(details, notes_changes=options.follow)
    let_ask(store)
    # A process that has threads isn't forked.
    processes = WorkerStart.FORKED if active_count() == 1 else WorkerStart.STARTED
    how = read_options(options)._replace(processes=processes, decodes_all=decodes_all)
    session = Session(how, store, details, standard_input(how.paths))
    with stage("load"), progress("reading", is_bytes=True) as show:
        for done in session.load():
            show(done.bytes_read, done.bytes_total)
    session.keep()
    if len(store.intake.spans) >= NUMPY_FROM_SPANS and not options.follow:
        keep_freed()
    return store, session
