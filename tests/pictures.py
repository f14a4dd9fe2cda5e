"""Make the README's pictures from the fixtures: `python tests/pictures.py`.

The pictures are what the viewer really shows; a test walks the same way through the screens.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from pathlib import Path

from spanview.index.store import Store
from spanview.sources.details import Details
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions
from spanview.tui.app import Opening, SpanviewApp

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "fixtures" / "pictures"
SHOTS = (
    ("traces", "ray-tasks-bundled-hook", (110, 30), ()),
    ("trace", "ray-tasks-bundled-hook", (110, 36), ("enter", "down", "down")),
    ("groups", "serve", (110, 24), ("r",)),
    ("error", "ray-tasks-bundled-hook", (110, 30), ("e", "enter", "tab")),
)


def viewer_of(folder: str, *, follow: bool = False, query: str = "") -> SpanviewApp:
    """Return a viewer of a folder, as the command makes it."""
    details = Details()
    store = Store(details, notes_changes=True)
    options = ReadOptions((folder,), follow=follow, newest_first=True)
    return SpanviewApp(store, Opening((folder,), query, None, follow), lambda: Session(options, store, details))


async def take(name: str, folder: str, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    """Show a fixture, press keys, and keep what is on the screen."""
    app = viewer_of(f"fixtures/{folder}/spans")
    async with app.run_test(size=size) as pilot:
        deadline = time.monotonic() + 20
        while app.feed_state.loading and time.monotonic() < deadline:
            await pilot.pause(0.02)
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause(0.2)
        picture = app.export_screenshot(title="spanview")
        # The picture must not ask another server for a font.
        (PICTURES / f"{name}.svg").write_text(re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL))


def main() -> None:
    """Take all pictures, or those that are named."""
    os.chdir(ROOT)
    os.environ["TZ"] = "UTC"
    time.tzset()
    PICTURES.mkdir(exist_ok=True)
    for name, folder, size, keys in SHOTS:
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            asyncio.run(take(name, folder, size, keys))


if __name__ == "__main__":
    main()
