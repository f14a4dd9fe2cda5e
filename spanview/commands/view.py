"""`spanview view`: the viewer."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, NoReturn

from spanview.commands.options import INTERNAL_ERROR
from spanview.commands.output import is_colorless
from spanview.index.store import Store
from spanview.model.problems import NoSuchPathError, SpanviewError
from spanview.sources.details import RecordReader
from spanview.sources.discover import STANDARD_INPUT, is_there
from spanview.sources.places import how_to_turn_tracing_on, latest_session, settings_folder
from spanview.tui.app.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.commands.options import Options
    from spanview.sources.session import Session
    from spanview.tui.app.app import SpanviewApp
    from spanview.tui.app.opening import Opening

_LIGHT: Final = frozenset(("7", "9", "10", "11", "12", "13", "14", "15"))
"""Numbers of light backgrounds in COLORFGBG, as rxvt counts colours."""


def run(options: Options) -> int:
    """Show the viewer until it is left."""
    paths, choose = checked_places(options), _choice(options)
    stream = _piped(options)
    app = _shown(options, paths, choose, stream, None)
    while app.again is not None:
        again = app.again
        del app
        # What was shown is released before the same is read again.
        gc.unfreeze()
        gc.collect()
        app = _shown(options._replace(follow=True), paths, choose, stream, again)
    if app.failure is not None:
        raise app.failure
    # Textual prints what was raised in it, and ends with 1.
    status = INTERNAL_ERROR if app.return_code == 1 else app.return_code or 0
    if app.is_busy:
        _end(status)
    return status


def _end(status: int) -> NoReturn:
    """End amid what threads do: waiting for them may take seconds, and what is in C++ aborts when Python ends them."""
    atexit._run_exitfuncs()  # noqa: SLF001 - it is what ends processes that scan, and removes what they share
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            # A program may be started without one.
            if stream is not None:
                stream.flush()
    os._exit(status)


def _piped(options: Options) -> IO[bytes] | None:
    """Return what is piped in."""
    if options.served is not None:
        return os.fdopen(int(options.served), "rb") if options.served else None
    return None if _has_keys() else _free_standard_input()


def checked_places(options: Options) -> tuple[str, ...]:
    """Return what is read, where it can be; mistakes in the options are reported before anything is shown.

    Raises:
        SpanviewError: A PATH doesn't exist, standard input can't be read, or a query or a time can't be understood.
    """
    from spanview.commands.reading import places, standard_input

    paths = places(options)
    if not options.follow:
        for path in paths:
            if not is_there(path):
                raise NoSuchPathError(f"{path}: no such file or folder")
    _choice(options)
    if STANDARD_INPUT in paths and _has_keys():
        raise SpanviewError("- is standard input, which is the terminal: pipe spans in, or give a file")
    standard_input(paths)
    return paths


def _has_keys() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _shown(
    options: Options,
    paths: tuple[str, ...],
    choose: Callable[[Store], set[int] | None] | None,
    stream: IO[bytes] | None,
    opening: Opening | None,
) -> SpanviewApp:
    """Show the viewer until it is left, or is to begin again."""
    _forget_terminal_size()
    details = RecordReader()
    store = Store(details, notes_changes=True)

    def open_session() -> Session:
        from spanview.commands.reading import read_options
        from spanview.sources.session import Session
        from spanview.sources.terms import WorkerStart

        how = read_options(options, newest_first=True)._replace(processes=WorkerStart.STARTED)
        return Session(how, store, details, stream)

    feed = Feed(store, open_session, follow=options.follow)
    # Most of the time until something is shown goes into this import; meanwhile the first spans are read.
    feed.start()
    from spanview.tui.app.app import SpanviewApp
    from spanview.tui.app.opening import Opening

    opening = opening or Opening(
        paths,
        _filter_text(options.queries),
        options.traces[0] if len(options.traces) == 1 else None,
        options.follow,
        nothing=options.nothing or how_to_turn_tracing_on(paths),
        choose=choose,
        session=latest_session(options.environment),
        settings=None if options.served is not None else _settings(),
        theme=_theme_for(options.environment),
        colorless=is_colorless(options),
        is_served=options.served is not None,
    )
    app = SpanviewApp(store, opening, feed)
    app.run()
    app.leave()
    return app


def _forget_terminal_size() -> None:
    """Take the size from the terminal, where it has one, not from variables: Textual believes any number of these."""
    try:
        is_told = all(os.get_terminal_size(sys.stdout.fileno()))
    except (OSError, ValueError):
        is_told = False
    if is_told:
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)


def _settings() -> str | None:
    folder = settings_folder()
    return None if folder is None else os.path.join(folder, "settings.json")


def _filter_text(queries: tuple[str, ...]) -> str:
    """Return what the filter begins with; one query is shown as it was given."""
    if not queries:
        return ""
    from spanview.analysis.query.query import joined

    return joined(queries)


def _theme_for(environment: Mapping[str, str]) -> str:
    """Return the theme that goes with the terminal's background, where the terminal reports it."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in _LIGHT else "dark"


def _choice(options: Options) -> Callable[[Store], set[int] | None] | None:
    """Return what limits the traces by time, or to several of them; one alone is opened, and the query is a filter."""
    if options.queries:
        from spanview.analysis.query.query import parse_queries

        parse_queries(options.queries)
    several = options.traces if len(options.traces) > 1 else ()
    if options.since is None and not several:
        return None
    selection = options._replace(queries=(), traces=several).selection()
    return lambda store: {*selection.traces(store)}


def _free_standard_input() -> IO[bytes] | None:
    """Return what is piped in, on another descriptor; the keys come from the terminal, which takes its place.

    Where standard input is closed, nothing is piped in.
    """
    stream = None if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError as error:
        raise SpanviewError(f"no terminal to read keys from ({error.strerror}); use spanview tree") from None
    if terminal:
        os.dup2(terminal, 0)
        os.close(terminal)
    sys.stdin = os.fdopen(0, "r")
    # Textual asks the one that the interpreter began with, which may be none.
    sys.__stdin__ = sys.stdin  # type: ignore[misc]
    return stream
