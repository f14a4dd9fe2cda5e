"""The viewer at a real terminal: its first rows, and its keys."""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import ExitStack
from itertools import chain, count, cycle
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure, in_turns, share_of
from .terminal import DOWN, UP, Terminal

if TYPE_CHECKING:
    from pathlib import Path

_ROW: Final = re.compile(rb"\d\d:\d\d:\d\d\.\d{3}")
"""The start of a trace, which every row has, and nothing else on the screen."""
_CURSOR: Final = re.compile(rb"\x1b\[(\d+);1H(?:\x1b\[1;[\d;]+m(?:\x1b\[0m)?)+(\d\d:\d\d:\d\d\.\d{3})")
"""The row under the cursor, the only bold one: its line on the screen and the start of its trace."""
LOADED: Final = re.compile(rb"\x1b\[1;1H\x1b\[[\d;]+m (?:(?!reading )[^\x1b])+ traces?\b(?:(?!reading )[^\x1b])*\x1b")
"""The header when all was read: how many traces there are, and no word of reading. A long path stands in it alone."""
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
_BETWEEN_KEYS_S: Final = 0.06
_LONGEST_KEY_S: Final = 1.0
_LONGEST_HEADER: Final = 1024
"""Bytes of what `LOADED` and `_CURSOR` find, at most."""


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
    return [Figure("P6", "Down in a long list of traces against a short one, median", many, "ms", few, 1.3)]


def keys_in_trace(large: Path, small: Path, presses: int) -> list[Figure]:
    """P6: a key in a trace of many spans against one in a trace of few; and what opening the large one takes."""
    many, few = _keys(large, small, presses, opened=True)
    with _viewer(large) as terminal:
        terminal.seconds_until(_ROW)
        terminal.wait_until_quiet(_SETTLED_S)
        opening = terminal.seconds_of_key(b"\r", _SETTLED_S)
    return [
        Figure("P6", "Down in a long trace against a short one, median", many, "ms", few, 1.3),
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
            else:
                _go_to_list(terminal)
        taken: list[list[float]] = [[], []]
        for _ in range(presses):
            for terminal, values in zip(terminals, taken, strict=True):
                values.append(terminal.seconds_of_key(DOWN))
    return median(taken[0]) * 1000, median(taken[1]) * 1000


def _go_to_list(terminal: Terminal) -> None:
    """Leave Groups for the list of traces, if the viewer has begun there: many traces of a few names."""
    terminal.press(b"r")
    if not _ROW.search(terminal.wait_until_quiet(_SETTLED_S)):
        terminal.press(b"r")
        terminal.wait_until_quiet(_SETTLED_S)


def keys_while_loading(folder: Path, rounds: int) -> list[Figure]:
    """P7: a key in the list of traces, from the first row on until the folder is loaded.

    The screen is painted for other reasons meanwhile; so what the key itself does is told by the cursor's row.
    """
    first: list[float] = []
    moved: list[float] = []
    for _ in range(rounds):
        with _viewer(folder) as terminal:
            terminal.seconds_until(_ROW)
            pressing = _Pressing(terminal)
            pressing.until_loaded()
            first += pressing.until_first_byte
            moved += pressing.until_moved
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
    what = f"Down and Up while {size:.2g} GB load, {len(moved):,} keys"
    return [
        Figure("P7", f"{what}, until the first byte of anything, p95", 1000 * share_of(first, 95), "ms", None, 50),
        Figure("P7", "the same until the cursor is drawn elsewhere, p95", 1000 * share_of(moved, 95), "ms", None, 50),
        Figure("P7", "the same, median", 1000 * median(moved), "ms"),
    ]


class _Pressing:
    """Presses keys in a viewer that loads.

    Args:
        terminal: The viewer.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.until_first_byte: list[float] = []
        """Seconds of each key."""
        self.until_moved: list[float] = []
        """The same until the cursor is drawn elsewhere; of a key that does nothing, as long as was waited for it."""
        self._terminal = terminal
        self._written = b""
        self._cursor: tuple[bytes, ...] = ()
        self._is_loaded = False

    def until_loaded(self) -> None:
        """Press keys until all was read."""
        # Further down first: at the upper end the cursor could not go up.
        for key in chain([DOWN] * 3, cycle((UP, DOWN))):
            due = time.perf_counter() + _BETWEEN_KEYS_S
            while (left := due - time.perf_counter()) > 0 or self._take(0):
                self._take(max(0, left))
            if self._is_loaded:
                return
            self._press(key)

    def _press(self, key: bytes) -> None:
        before, began = self._cursor, time.perf_counter()
        self._terminal.press(key)
        self._take(_LONGEST_KEY_S)
        self.until_first_byte.append(time.perf_counter() - began)
        while self._cursor == before and (left := began + _LONGEST_KEY_S - time.perf_counter()) > 0:
            self._take(left)
        self.until_moved.append(time.perf_counter() - began)

    def _take(self, seconds: float) -> bool:
        """Take in what is written within some seconds; tell whether anything was."""
        piece = self._terminal.read(seconds)
        self._written = self._written[-_LONGEST_HEADER:] + piece
        self._is_loaded = self._is_loaded or LOADED.search(self._written) is not None
        for match in _CURSOR.finditer(self._written):
            self._cursor = match.groups()
        return bool(piece)


def second_opening(folder: Path, rounds: int) -> list[Figure]:
    """P13: from the start of the process until all traces are listed, the second time against the first."""
    with tempfile.TemporaryDirectory() as scratch:
        numbers = count()
        cache = ""

        def seconds() -> float:
            words = ("-m", "spanview", "view", str(folder))
            with Terminal(*words, environment={"XDG_CACHE_HOME": cache}) as terminal:
                taken = terminal.seconds_until(LOADED)
                terminal.wait_until_quiet(_SETTLED_S)
                terminal.leave(b"q")
            return taken

        def first() -> float:
            nonlocal cache
            cache = f"{scratch}/{next(numbers)}"
            return seconds()

        again, base = in_turns([first, seconds], rounds)[::-1]
    return [Figure("P13", "second opening until all traces are listed, against the first", again, "s", base, 0.2)]
