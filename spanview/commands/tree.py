"""`spanview tree`: traces as trees of text; with --follow each when it is complete and quiet."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.known_calls import KnownCalls, has_lone_calls
from spanview.commands.following import until_interrupted, updates
from spanview.commands.output import paint_for
from spanview.commands.reading import begin, places, read_all
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.display.tree_text import trace_lines
from spanview.display.units import count
from spanview.model.problems import ExportError
from spanview.model.times import NO_TIME
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from spanview.analysis.query.selection import Selection
    from spanview.commands.options import Options
    from spanview.index.store import Store

_QUIET_S: Final = 2.0
"""A complete trace is printed when it has been quiet for so long."""
_INCOMPLETE_QUIET_S: Final = 10.0
_DEFAULT_WIDTH: Final = 100
_MAX_DRAWN: Final = 20
"""Traces that are drawn one below the other."""


def run(options: Options) -> int:
    """Print the trees of the chosen traces, or draw them.

    Raises:
        ExportError: The picture can't be drawn, or its file can't be written.
    """
    selection = options.selection()
    if options.svg is not None and options.follow:
        raise ExportError("--svg can't be combined with --follow")
    if not options.follow:
        store = read_all(options)
        notice(store.tallies, places(options))
        traces = selection.traces(store)
        if options.svg is not None:
            _write_picture(store, traces, options.svg, force=options.force)
            return 0
        say_if_nothing_matches(store, traces, selection.query)
        _print(store, traces[: options.limit], options)
        if more := len(traces[options.limit :]) if options.limit else 0:
            say(f"{count(more, 'trace')} left out by --limit {options.limit}")
        return 0
    store, session = begin(options)
    printer = _FollowingPrinter(store, selection, options)
    with until_interrupted() as stop:
        for _ in updates(session, store.tallies, stop):
            printer.print_ready(time.monotonic())
    session.close()
    printer.finish()
    return 0


def _write_picture(store: Store, traces: Sequence[int], path: str, *, force: bool) -> None:
    """Draw some traces, one below the other, into one SVG file.

    Raises:
        ExportError: There are no traces, or more than one can look at, or the file can't be written.
    """
    if not traces:
        raise ExportError(f"no trace to draw: {path} is not written")
    if len(traces) > _MAX_DRAWN:
        raise ExportError(
            f"{len(traces):,} traces to draw, but a picture has room for {_MAX_DRAWN}: choose some with --trace ID, "
            f"-q or --since; {path} is not written"
        )
    from spanview.commands.output import write_to_standard_output
    from spanview.exports.files import write_atomically
    from spanview.tui.trace.trace_picture import pictures_svg

    chunks = pictures_svg(store, traces, KnownCalls(store))
    if path == "-":
        write_to_standard_output(chunks)
    else:
        write_atomically(path, chunks, force=force)


def _print(store: Store, traces: Iterable[int], options: Options, printed: Container[int] = ()) -> None:
    write, known = sys.stdout.write, KnownCalls(store)
    for trace in traces:
        lines = _lines(store, trace, known, options)
        write(f"{next(lines)}{' · grown since it was printed' if trace in printed else ''}\n")
        for line in lines:
            write(line + "\n")
        write("\n")
    sys.stdout.flush()


def _lines(store: Store, trace: int, known: KnownCalls, options: Options) -> Iterator[str]:
    if options.bars:
        from spanview.display.picture_text import picture_lines
        from spanview.tui.trace.trace_picture import whole_picture

        yield from picture_lines(
            whole_picture(store, trace, known), options.width or _DEFAULT_WIDTH, paint_for(options)
        )
    else:
        unended = unended_in(store, trace, latest_session(options.environment))
        yield from trace_lines(store, trace, known, unended, paint_for(options))


class _FollowingPrinter:
    """Prints a trace once it is complete and quiet, an incomplete one later, and again if it grows."""

    def __init__(self, store: Store, selection: Selection, options: Options) -> None:
        self._store = store
        self._options = options
        self._selection = selection
        self._changed_at: dict[int, float] = {}
        self._printed: set[int] = set()

    def print_ready(self, now: float) -> None:
        """Print what has become ready by a monotonic time in seconds."""
        for trace in self._store.take_changed():
            self._changed_at[trace] = now
        ready = []
        for trace, changed_at in self._changed_at.items():
            quiet = now - changed_at
            if quiet >= _INCOMPLETE_QUIET_S or (quiet >= _QUIET_S and self._is_whole(trace)):
                ready.append(trace)
        self._print(ready)

    def _is_whole(self, trace: int) -> bool:
        tree = self._store.tree(trace)
        has_ends = NO_TIME not in map(self._store.spans.end_ns.__getitem__, tree.rows)
        return tree.complete and has_ends and not has_lone_calls(self._store, tree)

    def finish(self) -> None:
        """Print what is left, complete or not."""
        for trace in self._store.take_changed():
            self._changed_at[trace] = 0.0
        self._print(list(self._changed_at))

    def _print(self, ready: list[int]) -> None:
        if not ready:
            return
        for trace in ready:
            del self._changed_at[trace]
        chosen = set(ready)
        traces = [trace for trace in self._selection.traces(self._store) if trace in chosen]
        _print(self._store, traces, self._options, self._printed)
        self._printed.update(traces)
