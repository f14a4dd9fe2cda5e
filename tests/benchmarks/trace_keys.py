"""Each key of a trace's screen at a real terminal: from the key to the first byte that it makes the program write.

trace     spans      as
-----     -----      --
usual     100,000    tasks that call tasks, of 24 functions
wide      100,000    one task that calls all others
deep      5,000      each task calls the next
"""

from __future__ import annotations

import re
import time
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure, share_of
from .folders import Form, Shape, folder_of
from .terminal import DOWN, ESCAPE, LEFT, PAGE_DOWN, PAGE_UP, RIGHT, UP, Terminal

if TYPE_CHECKING:
    from pathlib import Path

_ROW: Final = re.compile(rb"\d\d:\d\d:\d\d\.\d{3}")
_SETTLED_S: Final = 1.5
_QUIET_S: Final = 0.3
_MOST_MS: Final = 50
_ALL_ROWS: Final = "Enter, until all rows are there"
"""No key: the others can be pressed meanwhile."""
_KEYS: Final = (
    ("down", DOWN),
    ("up", UP),
    ("page down", PAGE_DOWN),
    ("page up", PAGE_UP),
    ("G", b"G"),
    ("g", b"g"),
    ("[", b"["),
    ("right, all collapsed", RIGHT),
    ("]", b"]"),
    ("R, each sibling", b"R"),
    ("left", LEFT),
    ("right", RIGHT),
    ("G, each sibling", b"G"),
    ("R, folded", b"R"),
    ("w", b"w"),
    ("W", b"W"),
    ("p", b"p"),
    ("e", b"e"),
    ("E", b"E"),
    ("+", b"+"),
    (">", b">"),
    ("<", b"<"),
    ("-", b"-"),
    ("f", b"f"),
    ("0", b"0"),
    *((str(number), str(number).encode()) for number in range(1, 6)),
    *((f"{number}, back", str(number).encode()) for number in range(1, 6)),
    ("c", b"c"),
    ("G, lit", b"G"),
    ("c, back", b"c"),
    *((f"C, {number}", b"C") for number in range(1, 5)),
    ("/", b"/"),
    *((f"typed: {letter}", letter.encode()) for letter in "stage_01"),
    ("Enter, found", b"\r"),
    ("n", b"n"),
    ("N", b"N"),
    ("m", b"m"),
    ("m, back", b"m"),
    ("Esc, found", ESCAPE),
    ("Tab", b"\t"),
    ("y", b"y"),
)
"""In the order in which they are pressed; the rows are folded, and not searched, at the end as at the beginning."""


def keys_of_trace(spans: int, rounds: int) -> list[Figure]:
    """P14: no key of a trace's screen takes longer than what a person takes for at once."""
    figures = []
    for form, number in ((Form.USUAL, spans), (Form.WIDE, spans), (Form.DEEP, spans // 20)):
        folder = folder_of(Shape(number, number, form=form))
        taken = _taken(folder, rounds)
        what = f"trace of {number:,} spans, {form}"
        everything = [each for values in taken.values() for each in values]
        figures.append(Figure("P14", f"{what}: all keys, p95", share_of(everything, 95), "ms", None, _MOST_MS))
        for name, values in taken.items():
            limit = _MOST_MS if name != _ALL_ROWS else None
            figures.append(Figure("P14", f"{what}: {name}, median", median(values), "ms", None, limit))
            figures.append(Figure("P14", f"{what}: {name}, longest", max(values), "ms"))
    return figures


def _taken(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each key, by its name."""
    taken: dict[str, list[float]] = {}
    with Terminal("-m", "spanview", "view", "--no-cache", str(folder)) as terminal:
        terminal.seconds_until(_ROW)
        terminal.wait_until_quiet(_SETTLED_S)
        for _ in range(rounds):
            began = time.perf_counter()
            taken.setdefault("Enter", []).append(1000 * terminal.seconds_of_key(b"\r", _SETTLED_S))
            # As long as it was waited for what came behind the first byte.
            whole = time.perf_counter() - began - _SETTLED_S
            taken.setdefault(_ALL_ROWS, []).append(1000 * whole)
            # The cursor is where it was last, from where Down may have nowhere to go.
            terminal.press(b"g")
            terminal.wait_until_quiet(_QUIET_S)
            for name, key in _KEYS:
                taken.setdefault(name, []).append(
                    1000 * terminal.seconds_of_key(key, _SETTLED_S if key in b"c" else 0.3)
                )
            taken.setdefault("Esc", []).append(1000 * terminal.seconds_of_key(ESCAPE, _SETTLED_S))
    return taken
