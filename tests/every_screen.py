"""Opens every screen of the viewer, whatever the versions of its libraries: `python tests/every_screen.py`.

Each way begins on Traces, of a Ray program and of Ray Serve together; where it has led to is printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from viewers import Growing, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Document
    from viewers import Look

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
LOGGED: Final = FIXTURES / "session-with-logs" / "logs" / "spans" / "25109.txt"
WAYS: Final[dict[str, tuple[str, ...]]] = {
    "traces_screen": (),
    "trace_screen": ("enter", "c", "1", "2", "R", "a", "C"),
    "span_screen": ("enter", "enter", "tab", "o"),
    "stats_screen": ("t", "s", "b"),
    "spans_screen": ("t", "enter"),
    "running_screen": ("J", "s"),
    "calls_screen": ("A", "s"),
    "function_calls_screen": ("A", "enter"),
    "serve_screen": ("H", "s"),
    "RequestsScreen": ("H", "enter"),
    "log_screen": ("enter", "v"),
    "workers_screen": ("L", "right", "plus"),
    "flame_screen": ("F", "s"),
    "diff_screen": ("d", "down", "d"),
    "other_side_screen": ("D",),
    "check_screen": ("exclamation_mark", "enter"),
    "explanation_screen": ("x", "down", "down"),
    "help_screen": ("question_mark",),
    "PageScreen": ("question_mark", "G", "enter"),
    "palette": ("colon",),
    "prompt": ("slash", "l", "e"),
}
"""Modules with a screen, or with what lies over one, and classes beside one, and the keys that lead there."""


def documents() -> Iterator[Document]:
    """Yield the spans of two recordings."""
    decoder = json.JSONDecoder()
    for folder in ("ray-tasks-bundled-hook", "serve"):
        for path in sorted((FIXTURES / folder / "spans").iterdir()):
            text = path.read_text(encoding="utf-8").strip()
            while text:
                document, end = decoder.raw_decode(text)
                yield document
                text = text[end:].lstrip()


def call_with_log() -> Iterator[Document]:
    """Yield the span of a call whose log is there, as the root of the newest trace."""
    document = json.loads(LOGGED.read_text(encoding="utf-8").splitlines()[-1])
    yield document | {"parent_id": None}


def is_at_rest(look: Look) -> bool:
    """Tell whether no work goes on behind a screen."""
    return all(worker.is_finished for worker in look.app.workers)


async def open_every_screen() -> None:
    """Go each way, in a viewer of its own; print the modules and classes of what has the keys there."""
    data = Growing(*documents())
    data.add(*call_with_log(), path=str(LOGGED))
    for keys in WAYS.values():
        async with looking_at(data=data) as look:
            for key in keys:
                await look.press(key)
                # The next key is meant for what a screen finds out behind it.
                await look.until(partial(is_at_rest, look))
            focused = look.app.focused
            parts = [look.screen] if focused is None else [look.screen, focused]
            kinds = [(type(part).__module__.rpartition(".")[2], type(part).__name__) for part in parts]
            sys.stdout.write(" ".join(name for names in kinds for name in names) + "\n")


if __name__ == "__main__":
    asyncio.run(open_every_screen())
