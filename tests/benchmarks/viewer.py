"""The viewer at a real terminal: its first rows, and its keys."""

from __future__ import annotations

import re
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure, in_turns
from .terminal import DOWN, Terminal

if TYPE_CHECKING:
    from pathlib import Path

_ROW: Final = re.compile(rb"\d\d:\d\d:\d\d\.\d{3}")
"""The start of a trace, which every row has, and nothing else on the screen."""
_TEXT: Final = "one line of text"
_LINE: Final = re.compile(_TEXT.encode())
_SMALLEST_APP: Final = f"""
from textual.app import App
from textual.widgets import Static
class Smallest(App):
    def compose(self):
        yield Static("{_TEXT}")
Smallest().run()
"""
_SETTLED_S: Final = 2.5


def _viewer(folder: Path) -> Terminal:
    return Terminal("-m", "spanview", "view", "--no-cache", str(folder))


def first_rows(large: Path, small: Path, rounds: int) -> list[Figure]:
    """P8: from the start of the process to the first trace's row, against the smallest Textual app there is."""

    def seconds(folder: Path | None) -> float:
        with Terminal("-c", _SMALLEST_APP) if folder is None else _viewer(folder) as terminal:
            return terminal.seconds_until(_LINE if folder is None else _ROW)

    full, few, base = in_turns([lambda: seconds(large), lambda: seconds(small), lambda: seconds(None)], rounds)
    return [
        Figure(
            "P8", "first row of a full folder against a Textual app of one line", full * 1000, "ms", base * 1000, 1.25
        ),
        Figure("P8", "the same, of a folder of 200 spans", few * 1000, "ms", base * 1000, 1.25),
    ]


def keys_in_list(large: Path, small: Path, presses: int) -> list[Figure]:
    """P6: a key in a list of many traces against one in a list of few."""
    many, few = _keys(large, small, presses, opened=False)
    return [Figure("P6", "Down in a long list of traces against a short one, median", many, "ms", few, 1.5)]


def keys_in_trace(large: Path, small: Path, presses: int) -> list[Figure]:
    """P6: a key in a trace of many spans against one in a trace of few; and what opening the large one takes."""
    many, few = _keys(large, small, presses, opened=True)
    with _viewer(large) as terminal:
        terminal.seconds_until(_ROW)
        terminal.wait_until_quiet(_SETTLED_S)
        opening = terminal.seconds_of_key(b"\r", _SETTLED_S)
    return [
        Figure("P6", "Down in a long trace against a short one, median", many, "ms", few, 1.5),
        Figure("P6", "Enter on the long trace until something is drawn", opening * 1000, "ms"),
    ]


def _keys(large: Path, small: Path, presses: int, *, opened: bool) -> tuple[float, float]:
    """Return the medians of milliseconds from a key to its first byte, pressed in both viewers in turns."""
    with ExitStack() as stack:
        terminals = [stack.enter_context(_viewer(folder)) for folder in (large, small)]
        for terminal in terminals:
            terminal.seconds_until(_ROW)
            terminal.wait_until_quiet(_SETTLED_S)
            if opened:
                terminal.seconds_of_key(b"\r", _SETTLED_S)
        taken: list[list[float]] = [[], []]
        for _ in range(presses):
            for terminal, values in zip(terminals, taken, strict=True):
                values.append(terminal.seconds_of_key(DOWN))
    return median(taken[0]) * 1000, median(taken[1]) * 1000
