"""What all commands share: from options to a store that is read, and a word on what could not be."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Final

from spanview.display.notices import NOTICED, notice_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.display.unnamed import Unnamed
from spanview.index.store import Store
from spanview.model.problems import NoSuchPathError, ProblemKind
from spanview.sources.details import Details
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.places import default_places, how_to_turn_tracing_on
from spanview.sources.session import Session
from spanview.sources.terms import Processes, ReadOptions
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spanview.analysis.query import Query
    from spanview.commands.options import Options
    from spanview.model.problems import Problem
    from spanview.sources.terms import Progress

_SHOW_PROGRESS_FROM: Final = 32 * 1024 * 1024
MOST_NOTICES: Final = 20


def places(options: Options) -> tuple[str, ...]:
    """Return the PATHs to read: those given, or the default places.

    Raises:
        NoSuchPathError: None is given, nobody follows, and none of the default places is there.
    """
    if options.paths:
        return options.paths
    looked_at = default_places(options.environment)
    there = tuple(place for place in looked_at if os.path.exists(place))
    if options.follow:
        return tuple(looked_at)
    if not there:
        raise NoSuchPathError("no spans: " + "\n".join(how_to_turn_tracing_on(looked_at)))
    return there


def read_options(options: Options, *, keep_details: bool = True, newest_first: bool = False) -> ReadOptions:
    """Return how a session is to read."""
    return ReadOptions(
        places(options),
        cap=options.cap,
        follow=options.follow,
        newest_first=newest_first,
        use_cache=options.use_cache,
        keep_details=keep_details,
    )


def standard_input(paths: Iterable[str]) -> IO[bytes] | None:
    """Return standard input where a PATH is `-`.

    Raises:
        NoSuchPathError: It is closed.
    """
    if STANDARD_INPUT not in paths:
        return None
    if sys.stdin is None:
        raise NoSuchPathError("-: standard input is closed; pipe spans in, as in: cat FILE | spanview tree -")
    return sys.stdin.buffer


def read_all(options: Options, *, decodes_all: bool = False) -> tuple[Store, Session]:
    """Read everything that is there, with a progress bar on a terminal's standard error.

    Args:
        options: What was given.
        decodes_all: Whether no damage may go unseen.

    Raises:
        SpanviewError: A PATH doesn't exist.
    """
    details = Details()
    store = Store(details, notes_changes=options.follow)
    how = replace(read_options(options), processes=Processes.FORKED, decodes_all=decodes_all)
    session = Session(how, store, details, standard_input(how.paths))
    with stage("load"), ExitStack() as stack:
        show: Callable[[Progress], None] | None = None
        for progress in session.load():
            if show is None and progress.bytes_total >= _SHOW_PROGRESS_FROM and sys.stderr.isatty():
                show = _progress_bar(stack)
            if show is not None:
                show(progress)
    session.keep()
    return store, session


def _progress_bar(stack: ExitStack) -> Callable[[Progress], None]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = stack.enter_context(
        Bar(
            TextColumn("reading"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
    )
    task = bar.add_task("reading")
    return lambda progress: bar.update(task, completed=progress.bytes_read, total=progress.bytes_total)


def notice(store: Store, paths: Iterable[str] = ()) -> None:
    """Say on standard error what could not be read, and where there was nothing."""
    if not notice_problems(store) and not len(store.spans):
        say(nothing_in(store, paths))


def notice_problems(store: Store) -> bool:
    """Say on standard error what could not be read, and tell whether a file or the watcher had such a problem."""
    problems = store.problems()
    too_large = sum(1 for problem in problems if problem.kind is ProblemKind.TOO_LARGE)
    noticed = [problem for problem in problems if problem.kind in NOTICED]
    for problem in noticed[:MOST_NOTICES]:
        say_problem(problem)
    if len(noticed) > MOST_NOTICES:
        say(f"and {len(noticed) - MOST_NOTICES:,} more such notices; spanview check lists them all")
    if too_large:
        say(f"{count(too_large, 'record')} over --max-span-size passed over; spanview check says where")
    if len(store.spans) and store.tallies.torn:
        say(f"{count(store.tallies.torn, 'torn record')} passed over; spanview check says where")
    lost = sum(file.fragments for _, file in store.tallies.each_file())
    if len(store.spans) and lost:
        say(f"{count(lost, 'span')} in logs can't be read there; spanview check says why")
    return bool(noticed)


def nothing_in(store: Store, paths: Iterable[str]) -> str:
    """Return what there is in the place of spans."""
    where = ", ".join(paths)
    files = [file for _, file in store.tallies.each_file() if file.bytes]
    damaged = sum(1 for file in files if file.gaps or file.fragments)
    if not files:
        what = f"{count(store.tallies.files, 'empty file')}" if store.tallies.files else "no files"
    elif damaged:
        what = f"{count(damaged, 'file')} with damaged records, listed by spanview check"
    else:
        what = f"{count(len(files), 'file')} with something else, listed by spanview check"
    return f"{where}: no spans; {what}"


def say_if_nothing_matches(store: Store, chosen: Sequence[int], query: Query) -> None:
    """Say on standard error that what was asked for is not among what was read, and where else it may be."""
    if len(store.spans) and not chosen:
        say("; ".join(["nothing matches", *Unnamed(query.words).says(store.names.texts)]))


def say_problem(problem: Problem) -> None:
    """Write a problem to standard error."""
    say(notice_text(problem))


def say(text: str) -> None:
    """Write one line to standard error, whatever is in the text; where that is closed, nobody wants to know."""
    if sys.stderr is not None:
        sys.stderr.write(f"spanview: {sanitise(text)}\n")
