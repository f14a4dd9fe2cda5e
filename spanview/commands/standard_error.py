"""What the commands say on standard error: what could not be read, that nothing was found, how far something is."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

from spanview.display.notices import NOTICED, notice_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spanview.analysis.query.query import Query
    from spanview.index.store import Store
    from spanview.index.tallies import Tallies

MAX_PROBLEM_NOTICES: Final = 20
Show: TypeAlias = "Callable[[int, int], None]"
"""Shows how much is done, and of how much."""
_AFTER_S: Final = 0.5


def notice(tallies: Tallies, paths: Iterable[str] = ()) -> None:
    """Say on standard error what could not be read, and where there was nothing."""
    if not notice_problems(tallies) and not tallies.records:
        say(nothing_in(tallies, paths))


def notice_problems(tallies: Tallies) -> bool:
    """Say on standard error what could not be read, and return whether a file or the watcher had such a problem."""
    problems = tallies.problems()
    too_large = sum(1 for problem in problems if problem.kind is ProblemKind.TOO_LARGE)
    noticed = [problem for problem in problems if problem.kind in NOTICED]
    for problem in noticed[:MAX_PROBLEM_NOTICES]:
        say(notice_text(problem))
    if len(noticed) > MAX_PROBLEM_NOTICES:
        say(f"and {len(noticed) - MAX_PROBLEM_NOTICES:,} more such problems; spanview check lists all of them")
    if too_large:
        say(f"{count(too_large, 'record')} skipped, longer than --max-span-size; spanview check says where")
    if tallies.records and tallies.torn:
        say(f"{count(tallies.torn, 'torn record')} skipped; spanview check says where")
    files = [file for _, file in tallies.each_file()]
    for spans, what in (
        (sum(file.fragments for file in files if tallies.records), "in logs can't be read there"),
        (sum(file.inspected for file in files if tallies.records), "printed by JavaScript can't be read"),
        (sum(file.unwritten for file in files), "could not be written when they ended"),
    ):
        if spans:
            say(f"{count(spans, 'span')} {what}; spanview check says why")
    return bool(noticed)


def nothing_in(tallies: Tallies, paths: Iterable[str]) -> str:
    """Return what there is instead of spans."""
    where = ", ".join(paths)
    files = [file for _, file in tallies.each_file() if file.bytes]
    damaged = sum(1 for file in files if file.gaps or file.fragments)
    if not files:
        what = f"{count(tallies.files, 'empty file')}" if tallies.files else "no files"
    elif printed := sum(1 for file in files if file.inspected):
        what = (
            f"{count(printed, 'file')} with spans that JavaScript printed, which isn't JSON: let the program export "
            "OTLP to spanview receive --dir spans"
        )
    elif damaged:
        what = f"{count(damaged, 'file')} with damaged records, listed by spanview check"
    elif all(file.events for file in files):
        what = f"{count(len(files), 'file')} of Ray's own events; the spans are in another folder"
    else:
        what = f"{count(len(files), 'file')} of another kind, listed by spanview check"
        what += next((f": {lacks}" for file in files if (lacks := file.first_skipped[2])), "")
    return f"{where}: no spans; {what}"


def say_if_nothing_matches(store: Store, chosen: Sequence[int], query: Query) -> None:
    """Say on standard error that what was asked for is not among what was read, why, and where else it may be."""
    if len(store.spans) and not chosen:
        say("; ".join(["nothing matches", *why_nothing(store, query)]))


def why_nothing(store: Store, query: Query) -> list[str]:
    """Return why a query matches nothing, a sentence each, safe to print."""
    from spanview.analysis.query.misses import misses_of
    from spanview.display.miss_text import Unnamed, miss_lines

    return [*miss_lines(misses_of(store, query)), *Unnamed(query.words).says(store.names.texts)]


def say(text: str) -> None:
    """Write one line to standard error, whatever is in the text; nothing where that is closed."""
    if sys.stderr is not None:
        sys.stderr.write(f"spanview: {sanitise(text)}\n")


@contextmanager
def quiet_libraries() -> Iterator[TextIO]:
    """Keep from the terminal what Ray prints, to Python's streams or past them; only `sys.stderr` still leads there.

    Yields:
        A stream to standard output.
    """
    streams = sys.stdout, sys.stderr
    copies = os.dup(1), os.dup(2)
    with (
        open(os.devnull, "w", encoding="utf-8") as null,
        os.fdopen(os.dup(1), "w") as standard_output,
        os.fdopen(os.dup(2), "w", 1, errors="replace") as standard_error,
    ):
        for stream in streams:
            if stream is not None:
                stream.flush()
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
        sys.stdout, sys.stderr = null, streams[1] and standard_error
        try:
            yield standard_output
        finally:
            standard_error.flush()
            sys.stdout, sys.stderr = streams
            for descriptor, copy in enumerate(copies, 1):
                os.dup2(copy, descriptor)
                os.close(copy)


@contextmanager
def progress(what: str, *, is_bytes: bool) -> Iterator[Show]:
    """Give what shows a bar once something takes long and isn't done; nothing where no person looks."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    late_s = time.monotonic() + _AFTER_S
    with ExitStack() as stack:
        update: Show | None = None

        def show(done: int, total: int) -> None:
            nonlocal update
            if update is None and done < total and time.monotonic() >= late_s:
                update = _bar(what, stack, is_bytes=is_bytes)
            if update is not None:
                update(done, total)

        yield show


def _bar(what: str, stack: ExitStack, *, is_bytes: bool) -> Show:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    done = [DownloadColumn(binary_units=True)] if is_bytes else [MofNCompleteColumn(), TextColumn("spans")]
    columns = TextColumn(what), BarColumn(), *done, TimeRemainingColumn()
    bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = bar.add_task(what)
    return lambda finished, total: bar.update(task, completed=finished, total=total)
