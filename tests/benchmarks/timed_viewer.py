"""The viewer, which writes down what each key took: `python -m tests.benchmarks.timed_viewer FOLDER [PATH]…`.

key comes      acts          painted        next key
|--------------|-------------|---------------|
|           taken            |     beats     |
|      processor time        | the longest   |

`times` in the folder has a line a key, as JSON; `done` grows by a line when one was painted: its screen. `busy` is
there while what the screen shows is being computed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from textual.events import Key, Resize
from textual.widgets import Input

from spanview import cli
from spanview.tui.app import app
from spanview.tui.app.app import SpanviewApp
from spanview.tui.app.palette import PaletteScreen
from spanview.tui.calls.function_calls_screen import CallLog
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen

if TYPE_CHECKING:
    from textual.events import Event

TIMES, DONE, BUSY = "times", "done", "busy"
_BEAT_S: Final = 0.008
"""Each look at the clock is a part of what is measured."""
_NOTHING_TO_PAINT_S: Final = 0.1


@dataclass(slots=True)
class Pressed:
    """A key, and what it took; all times in milliseconds."""

    screen: str
    key: str
    taken: float = 0.0
    """From its coming until it has acted and is painted."""
    own: float = 0.0
    """The processor's time for it of the thread that paints, other programs left out."""
    process: float = 0.0
    """The processor's time of all threads meanwhile."""
    held: float = 0.0
    """The longest time, of the processor for the thread that paints, from one chance for a key to the next, until the
    next key."""


class TimedViewer(SpanviewApp):
    """The viewer, with a clock.

    Args:
        arguments: As the viewer has them.
    """

    CSS_PATH = str(Path(app.__file__).with_name(str(SpanviewApp.CSS_PATH)))
    folder = Path()
    """Where the times are written to."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pressed: Pressed | None = None
        self._came = self._acted = self._own = self._process = 0.0
        self._is_painted, self._is_busy = True, False

    def on_mount(self) -> None:
        """Begin to look at the clock; what the viewer does then is called by Textual, too."""
        self._beat = asyncio.create_task(self._watch())

    async def on_event(self, event: Event) -> None:
        """Take the time when a key has acted, or when the terminal has got another size."""
        if not isinstance(event, Key | Resize) or (isinstance(event, Key) and event.is_forwarded):
            await super().on_event(event)
            return
        what = event.key if isinstance(event, Key) else f"{event.size.width}x{event.size.height}"
        self._write_down()
        self._pressed, self._is_painted, self._acted = Pressed(self._place(), what), False, 0.0
        self._came, self._own, self._process = event.time, time.thread_time(), time.process_time()
        await super().on_event(event)
        self._acted = time.monotonic()
        self._take_times()

    def _display(self, screen: Any, renderable: Any) -> None:
        super()._display(screen, renderable)
        if renderable is not None and not self._is_painted and self._acted:
            self._take_times()
            self._say_it_is_painted()

    def _take_times(self) -> None:
        if self._pressed is not None:
            self._pressed.taken = 1000 * (time.monotonic() - self._came)
            self._pressed.own = 1000 * (time.thread_time() - self._own)
            self._pressed.process = 1000 * (time.process_time() - self._process)

    def _say_it_is_painted(self) -> None:
        self._is_painted = True
        if self._pressed is not None:
            with (self.folder / DONE).open("a") as file:
                file.write(f"{self._pressed.screen}\n")

    def _place(self) -> str:
        screen = self.screen
        name = type(screen).__name__.removesuffix("Screen").lower()
        if isinstance(screen.focused, Input) and not isinstance(screen, PaletteScreen):
            return f"{name}, typed"
        return "groups" if isinstance(screen, TracesScreen) and screen.grouped else name

    async def _watch(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(_BEAT_S)
            now = time.thread_time()
            if self._pressed is not None:
                self._pressed.held = max(self._pressed.held, 1000 * (now - before))
            before = now
            self._say_if_busy()
            if self._acted and not self._is_painted and time.monotonic() - self._acted > _NOTHING_TO_PAINT_S:
                self._say_it_is_painted()

    def _say_if_busy(self) -> None:
        screen = self.screen if self.screen_stack else None
        is_at_work = any(worker.node is screen and worker.is_running for worker in self.workers)
        live, log = getattr(screen, "live", None), getattr(screen, "_log", None)
        is_filtering = isinstance(screen, TracesScreen) and screen.filter.left > 0
        is_stitching = isinstance(screen, TraceScreen) and not screen.stitcher.has_rows
        is_looking = isinstance(log, CallLog) and log._logs._asked is not None
        is_busy = is_at_work or is_filtering or is_stitching or is_looking or (live is not None and live.is_asked)
        if is_busy != self._is_busy:
            self._is_busy = is_busy
            (self.folder / BUSY).touch() if is_busy else (self.folder / BUSY).unlink()

    def _write_down(self) -> None:
        if self._pressed is not None:
            with (self.folder / TIMES).open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(self._pressed)) + "\n")


def main(words: list[str]) -> int:
    """Show the viewer."""
    TimedViewer.folder = Path(words[0])
    # Pictures go there, too.
    os.chdir(words[0])
    with patch.object(app, "SpanviewApp", TimedViewer):
        return cli.main(["view", *words[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
