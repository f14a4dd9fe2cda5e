"""Make pictures of the viewer from the fixtures.

python tests/pictures.py                                  the README's, into fixtures/pictures
python tests/pictures.py --to FOLDER [--size 80x24]       all screens, or those that are named
python tests/pictures.py --to FOLDER --looks              the same at each size, in each theme, and without colours
python tests/pictures.py --snapshots                      what the tests hold all screens to, into tests/snapshots

The pictures are what the viewer really shows, and what `tree --svg` really writes; a test walks the same ways.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.widgets import Input

from spanview.cli import main as spanview
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions
from spanview.tui.app.app import SpanviewApp
from spanview.tui.app.feed import Feed
from spanview.tui.app.opening import Opening
from spanview.tui.app.themes import NAMES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from textual.pilot import Pilot

ROOT: Final = Path(__file__).parent.parent
PICTURES: Final = ROOT / "fixtures" / "pictures"
SNAPSHOTS: Final = Path(__file__).parent / "snapshots"
SNAPSHOT_SIZE: Final = (80, 24)
_RAY, _SERVE = "ray-tasks-bundled-hook", "serve"
_FILTER: Final = (*"name~Async", "space", *"duration>10ms")


@dataclass(frozen=True, slots=True)
class Shot:
    """A screen and the way to it."""

    name: str
    folder: str
    keys: tuple[str, ...] = ()
    lines: int = 30
    is_in_readme: bool = False


SHOTS: Final = (
    Shot("traces", _RAY),
    Shot("groups", _SERVE, ("r",), lines=24),
    Shot("filter", _RAY, ("slash", *_FILTER)),
    Shot("trace", _RAY, ("enter", "down", "down"), lines=36, is_in_readme=True),
    Shot("critical", _RAY, ("enter", "c"), lines=36),
    Shot("span", _RAY, ("enter", "down", "down", "enter")),
    Shot("error", _RAY, ("e", "enter"), is_in_readme=True),
    Shot("statistics", _RAY, ("t",)),
    Shot("flame", _SERVE, ("F",), lines=24),
    Shot("calls", _RAY, ("A",)),
    Shot("requests", _SERVE, ("H",)),
    Shot("workers", _RAY, ("L",)),
    Shot("comparison", _RAY, ("d", "G", "d")),
    Shot("check", _SERVE, ("exclamation_mark",)),
    Shot("help", _RAY, ("question_mark",)),
)
VIEWS: Final = (
    *SHOTS,
    Shot("group", _SERVE, ("r", "enter")),
    Shot("mistake", _RAY, ("slash", *"durat>1", "enter")),
    Shot("range", _RAY, ("down", "down", "left_curly_bracket")),
    Shot("found", _RAY, ("enter", "slash", *"leaf", "enter")),
    Shot("spans of calls", _RAY, ("enter", "a", "1", "2", "3", "5")),
    Shot("zoomed", _RAY, ("enter", "down", "down", "f", "minus")),
    Shot("failure", _RAY, ("e",)),
    Shot("orphans", "killed-workers", ("e",)),
    Shot("raw", _RAY, ("enter", "down", "enter", "o")),
    Shot("rows of statistics", _RAY, ("t", "enter")),
    Shot("calls by actor", _RAY, ("A", "b")),
    Shot("calls of a function", _RAY, ("A", "enter")),
    Shot("requests of a deployment", _SERVE, ("H", "enter")),
    Shot("workers of a session", "killed-workers", ("L", "right", "plus", "s")),
    Shot("log", "session-with-logs/logs", ("enter", "G", "v")),
    Shot("failed findings", "killed-workers", ("exclamation_mark", "enter")),
    Shot("other side", _RAY, ("D",)),
    Shot("path of a comparison", _RAY, ("d", "G", "d", "enter")),
    Shot("palette", _RAY, ("colon",)),
    Shot("page", _RAY, ("question_mark", "G", "enter")),
)
"""Everything that can be looked at: the snapshots, and what else there is."""
SIZES: Final = ((60, 20), (80, 24), (110, 32), (200, 50))
COLORLESS: Final = "no colour"
LOOKS: Final = (*NAMES, COLORLESS)
README_SHOTS: Final = tuple(shot for shot in SHOTS if shot.is_in_readme)
WATERFALL: Final = "waterfall"
"""The picture that the command writes."""
WATERFALL_WORDS: Final = ("tree", f"fixtures/{_RAY}/spans", "--trace", "18726b", "--no-cache", "--svg")
_COLUMNS: Final = 110
_RESTS_S: Final = 0.15
"""Longer than the cursor rests until what follows it is shown."""


def viewer_of(folder: str, *, follow: bool = False, query: str = "", colorless: bool = False) -> SpanviewApp:
    """Return a viewer of a folder, as the command makes it."""
    details = RecordReader()
    store = Store(details, notes_changes=True)
    # By name, not by age: colours go by the order in which files are read.
    options = ReadOptions((folder,), follow=follow)
    feed = Feed(store, lambda: Session(options, store, details), follow=follow)
    return SpanviewApp(store, Opening((folder,), query, None, follow, colorless=colorless), feed)


@asynccontextmanager
async def walked(
    shot: Shot, size: tuple[int, int] | None = None, *, colorless: bool = False
) -> AsyncIterator[tuple[SpanviewApp, Pilot[None]]]:
    """Show a fixture and press the keys that lead to a screen, from the folder in which the fixtures are."""
    app = viewer_of(f"fixtures/{shot.folder}/spans", colorless=colorless)
    async with app.run_test(size=size or (_COLUMNS, shot.lines)) as pilot:
        deadline = time.monotonic() + 20
        while app.feed_state.loading and time.monotonic() < deadline:
            await pilot.pause(0.02)
        await pilot.pause()
        for key in shot.keys:
            await pilot.press(key)
        # It would begin within a second.
        app.first_screen.marks.find()
        await pilot.pause(0.2)
        await app.workers.wait_for_complete()
        for field in app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause()
        yield app, pilot


async def settled(app: SpanviewApp, pilot: Pilot[None]) -> None:
    """Wait until everything is shown that is found out in threads, and that follows the cursor when it rests."""
    # What failed without an error is asked once a second.
    app.first_screen.marks.find()
    for _ in range(2):
        await pilot.pause(_RESTS_S)
        await app.workers.wait_for_complete()
        await pilot.pause()


async def looks(
    shot: Shot, sizes: Sequence[tuple[int, int]] = SIZES
) -> AsyncIterator[tuple[tuple[int, int], str, SpanviewApp]]:
    """Show a screen at each size in each look; yield both, and the viewer."""
    for colorless in (False, True):
        async with walked(shot, sizes[0], colorless=colorless) as (app, pilot):
            for size in sizes:
                await pilot.resize_terminal(*size)
                await settled(app, pilot)
                for look in (COLORLESS,) if colorless else NAMES:
                    if not colorless:
                        app.show_theme(look)
                        # What the key does says so.
                        app.said = ""
                        app.refresh_frame()
                        await pilot.pause()
                    yield size, look, app


def picture_of(app: SpanviewApp) -> str:
    """Return what is on the screen as SVG that asks no other server for a font, and is the same each time."""
    picture = re.sub(r"\s*@font-face \{.*?\}", "", app.export_screenshot(title="spanview"), flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal", picture)


async def take(shot: Shot, folder: Path, size: tuple[int, int] | None = None) -> None:
    """Keep what is on a screen as a picture."""
    async with walked(shot, size) as (app, _):
        (folder / f"{shot.name}.svg").write_text(picture_of(app))


async def take_looks(shot: Shot, folder: Path) -> None:
    """Keep a screen at each size in each look."""
    async for (columns, lines), look, app in looks(shot):
        name = f"{shot.name} {columns}x{lines} {look}".replace(" ", "-")
        (folder / f"{name}.svg").write_text(picture_of(app))


def _size(text: str) -> tuple[int, int]:
    columns, _, lines = text.partition("x")
    return int(columns), int(lines)


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description="Make pictures of the viewer from the fixtures.")
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these")
    parser.add_argument("--to", metavar="FOLDER", type=Path, help="pictures of all screens into this folder")
    parser.add_argument("--size", type=_size, help="columns and lines, as in 80x24; each picture's own without it")
    parser.add_argument("--looks", action="store_true", help="at each size, in each theme, and without colours")
    parser.add_argument("--snapshots", action="store_true", help="what the tests compare all screens with")
    given = parser.parse_args()
    if given.snapshots:
        given.to, given.size = SNAPSHOTS, SNAPSHOT_SIZE
    folder: Path = PICTURES if given.to is None else given.to.absolute()
    os.chdir(ROOT)
    os.environ["TZ"] = "UTC"
    time.tzset()
    folder.mkdir(exist_ok=True, parents=True)
    shots = README_SHOTS if given.to is None else SHOTS if given.snapshots else VIEWS
    for shot in shots:
        if not given.names or shot.name in given.names:
            asyncio.run(take_looks(shot, folder) if given.looks else take(shot, folder, given.size))
    if not (given.snapshots or given.looks or given.names) or WATERFALL in given.names:
        spanview([*WATERFALL_WORDS, str(folder / f"{WATERFALL}.svg"), "--force"])


if __name__ == "__main__":
    main()
