"""How far something is, on a terminal's standard error."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Show: TypeAlias = "Callable[[int, int], None]"
"""Shows how much is done, and of how much."""
_AFTER_S: Final = 0.5


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
