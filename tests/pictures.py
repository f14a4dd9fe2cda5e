"""Make pictures of the viewer from the fixtures.

python tests/pictures.py                                  the README's, into fixtures/pictures
python tests/pictures.py --to FOLDER [--size 80x24]       all screens, or those that are named
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

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
README_SHOTS: Final = tuple(shot for shot in SHOTS if shot.is_in_readme)
WATERFALL: Final = "waterfall"
"""The picture that the command writes."""
WATERFALL_WORDS: Final = ("tree", f"fixtures/{_RAY}/spans", "--trace", "18726b", "--no-cache", "--svg")
_COLUMNS: Final = 110


def viewer_of(folder: str, *, follow: bool = False, query: str = "") -> SpanviewApp:
    """Return a viewer of a folder, as the command makes it."""
    details = RecordReader()
    store = Store(details, notes_changes=True)
    # By name, not by age: colours go by the order in which files are read.
    options = ReadOptions((folder,), follow=follow)
    feed = Feed(store, lambda: Session(options, store, details), follow=follow)
    return SpanviewApp(store, Opening((folder,), query, None, follow), feed)


@asynccontextmanager
async def walked(shot: Shot, size: tuple[int, int] | None = None) -> AsyncIterator[tuple[SpanviewApp, Pilot[None]]]:
    """Show a fixture and press the keys that lead to a screen, from the folder in which the fixtures are."""
    app = viewer_of(f"fixtures/{shot.folder}/spans")
    async with app.run_test(size=size or (_COLUMNS, shot.lines)) as pilot:
        deadline = time.monotonic() + 20
        while app.feed_state.loading and time.monotonic() < deadline:
            await pilot.pause(0.02)
        await pilot.pause()
        for key in shot.keys:
            await pilot.press(key)
        await pilot.pause(0.2)
        await app.workers.wait_for_complete()
        for field in app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause()
        yield app, pilot


def picture_of(app: SpanviewApp) -> str:
    """Return what is on the screen as SVG that asks no other server for a font, and is the same each time."""
    picture = re.sub(r"\s*@font-face \{.*?\}", "", app.export_screenshot(title="spanview"), flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal", picture)


async def take(shot: Shot, folder: Path, size: tuple[int, int] | None = None) -> None:
    """Keep what is on a screen as a picture."""
    async with walked(shot, size) as (app, _):
        (folder / f"{shot.name}.svg").write_text(picture_of(app))


def _size(text: str) -> tuple[int, int]:
    columns, _, lines = text.partition("x")
    return int(columns), int(lines)


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description="Make pictures of the viewer from the fixtures.")
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these")
    parser.add_argument("--to", metavar="FOLDER", type=Path, help="pictures of all screens into this folder")
    parser.add_argument("--size", type=_size, help="columns and lines, as in 80x24; each picture's own without it")
    parser.add_argument("--snapshots", action="store_true", help="what the tests compare all screens with")
    given = parser.parse_args()
    if given.snapshots:
        given.to, given.size = SNAPSHOTS, SNAPSHOT_SIZE
    folder: Path = PICTURES if given.to is None else given.to.absolute()
    os.chdir(ROOT)
    os.environ["TZ"] = "UTC"
    time.tzset()
    folder.mkdir(exist_ok=True, parents=True)
    for shot in README_SHOTS if given.to is None else SHOTS:
        if not given.names or shot.name in given.names:
            asyncio.run(take(shot, folder, given.size))
    if not (given.snapshots or given.names) or WATERFALL in given.names:
        spanview([*WATERFALL_WORDS, str(folder / f"{WATERFALL}.svg"), "--force"])


if __name__ == "__main__":
    main()
