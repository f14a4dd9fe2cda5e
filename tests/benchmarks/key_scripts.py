"""The keys that are pressed to measure what each one takes, on each screen where it acts.

part      a screen, or what is typed into on it, and the keys that are pressed there, by Textual's names
=80x24    the terminal is that large now
~         nothing is pressed until all has been quiet for a moment
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.keys import key_to_character

from spanview.tui.app.themes import NAMES
from spanview.tui.keys import On, View, keys_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PLACES: Final = {
    "traces": On.TRACES,
    "groups": On.TRACES,
    "trace": On.TRACE,
    "span": On.SPAN,
    "stats": On.STATS,
    "spans": On.SPANS,
    "flame": On.FLAME,
    "diff": On.DIFF,
    "calls": On.CALLS,
    "functioncalls": On.CALLS,
    "workers": On.WORKERS,
    "serve": On.SERVE,
    "log": On.LOG,
    "check": On.CHECK,
    "help": On.HELP,
}
"""The screens, by the names that figures have."""
REST, SIZE = "~", "="
_MOVE: Final = "down down up pagedown pageup G g"
_THEMES: Final = " ".join("T" for _ in NAMES)
_SIZES: Final = "=80x24 ~ =200x50 ~ =120x40 ~"
_SENT: Final = {
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "pageup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "escape": b"\x1b",
    "enter": b"\r",
    "tab": b"\t",
    "backspace": b"\x7f",
    # Textual has other names for them than Unicode.
    "slash": b"/",
    "plus": b"+",
    "minus": b"-",
    "underscore": b"_",
}
_QUITS: Final = (On.TRACES, "q")
"""Ends the program: there is nothing to be painted."""

Script = tuple[tuple[str, str], ...]
_COMMON: Final[Script] = (("", f"{_MOVE} y space space {_THEMES} {_SIZES} colon"), ("palette", "down t h escape"))
_HELP: Final[Script] = (
    ("", "question_mark"),
    ("help", "question_mark"),
    ("", "question_mark"),
    ("help", f"{_MOVE} y {_THEMES} {_SIZES} colon"),
    ("palette", "escape"),
    ("help", "enter q"),
    ("", "question_mark"),
    ("help", "escape"),
)


def _on(place: str, *more: tuple[str, str]) -> Script:
    """Return what is pressed on every screen, and more on this one."""
    return tuple((at or place, keys) for at, keys in (*_COMMON, *_HELP, *more))


_STATS: Final[Script] = (
    ("stats", "~"),
    *_on("stats", ("stats", "s s s s s s S e b ~ b ~ b ~ b ~ b ~ B")),
    ("stats, typed", "r a y full_stop p i d enter"),
    ("stats", "~ down b ~ enter"),
    *_on("spans", ("spans", "s S s s e down enter")),
    ("trace", "~ escape"),
    ("spans", "q"),
    ("stats", "enter"),
    ("spans", "escape"),
    ("stats", "q"),
)
_FLAME: Final[Script] = (
    ("flame", "~"),
    *_on("flame", ("flame", "right left down right left e g down s s enter enter")),
    ("trace", "~ escape"),
    ("flame", "escape q"),
)
_DIFF: Final[Script] = (
    ("diff", "~"),
    *_on("diff", ("diff", "s s s s s S S e down enter ~")),
    ("spans", "escape"),
    ("diff", "escape"),
)
_LOG: Final[Script] = (
    ("log", "~"),
    *_on("log", ("log", "right left w W tab slash")),
    ("log, typed", "m o r e enter"),
    ("log", "~ n ~ N ~ escape q"),
)
_CALLS: Final[Script] = (
    ("calls", "~"),
    *_on("calls", ("calls", "s s s s s s S e ~ b ~ b ~ b ~ b ~ x ~ x ~ v ~ enter")),
    ("functioncalls", "~ s s s s S b x e down ~ v"),
    *_LOG,
    ("functioncalls", "enter"),
    ("trace", "~ escape"),
    ("functioncalls", "q"),
    ("calls", "q"),
)
_WORKERS: Final[Script] = (
    ("workers", "~"),
    *_on(
        "workers",
        (
            "workers",
            "right left down right s s s s s s S S x ~ x ~ plus greater_than_sign less_than_sign minus f 0 e E ~ enter",
        ),
    ),
    ("trace", "~ escape"),
    ("workers", "escape"),
)
_SERVE: Final[Script] = (("serve", "~"), *_on("serve", ("serve", "s s s S e enter q")))
_CHECK: Final[Script] = (("check", "~"), *_on("check", ("check", "down enter escape")))
_BACK: Final = ("escape", "q", "escape", "q")
"""The keys by which the scripts don't leave these screens."""
_RAY: Final = (("A", _CALLS), ("L", _WORKERS), ("H", _SERVE), ("exclamation_mark", _CHECK))


def _of_ray(place: str) -> Script:
    """Return what is pressed to look at calls, lanes, requests and the check, from a screen and back."""
    left_otherwise = [
        ((place, key), (script[0][0], f"~ {back}")) for (key, script), back in zip(_RAY, _BACK, strict=True)
    ]
    seen = [((place, key), *script) for key, script in _RAY]
    return tuple(step for steps in (*seen, *left_otherwise) for step in steps)


_FILTERED: Final[Script] = (
    ("traces", "slash"),
    ("traces, typed", "s t a g e underscore 1 enter"),
    ("traces", "down slash"),
    ("traces, typed", "2 backspace enter"),
)
LISTED: Final[Script] = (
    *_on("traces", ("traces", "s s s s S S s pagedown left_curly_bracket pagedown right_curly_bracket escape")),
    *_FILTERED,
    ("traces", "~ D"),
    ("otherside, typed", "~ enter"),
    ("diff", "~ q"),
    ("traces", "escape e"),
    ("trace", "escape"),
    ("traces", "enter"),
    ("trace", "escape"),
    ("traces", "X t"),
    *_STATS,
    ("traces", "F"),
    *_FLAME,
    *_of_ray("traces"),
    ("traces", "d d d down d"),
    *_DIFF,
    ("traces", "escape r"),
    *_on("groups", ("groups", f"{'s ' * 8}S S e")),
    ("trace", "escape"),
    ("groups", "enter"),
    ("traces", "G g s S escape"),
    ("groups", "t"),
    ("stats", "~ escape"),
    ("groups", "F"),
    ("flame", "~ escape"),
    ("groups", "d down d"),
    ("diff", "~ escape"),
    ("groups", "slash"),
    ("traces, typed", "1 2 enter"),
    ("groups", "escape X escape"),
    ("traces", "escape"),
)
"""From the list of many traces, and back there."""
_SEARCHED: Final[Script] = (
    ("trace", "slash"),
    ("trace, typed", "s t a g e underscore 0 1 enter"),
    ("trace", "~ n N m G g m escape"),
)
_SPAN: Final[Script] = (
    ("span", "~"),
    *_on("span", ("span", "tab tab tab ~ tab tab tab o o right left enter w W p w Y ~ I X v")),
    *_LOG,
    ("span", "escape"),
)
OPENED: Final[Script] = (
    ("traces", "enter"),
    ("trace", "~ left_square_bracket right_square_bracket R left right ~ G R w W p e E"),
    *_on(
        "trace",
        (
            "trace",
            "left right plus greater_than_sign less_than_sign minus f 0 1 ~ 2 3 4 5 1 2 3 4 5",
        ),
    ),
    ("trace", "right_parenthesis left_parenthesis"),
    ("trace", "left_square_bracket right right_square_bracket R G g R G g c ~ G g c C ~ C ~ C ~ C ~"),
    *_SEARCHED,
    ("trace", "tab tab tab ~ tab tab tab tab o o y Y ~ I X P ~ V ~ d d g ~ enter"),
    *_SPAN,
    ("trace", "v"),
    *_LOG,
    ("trace", "e enter"),
    ("span", "w w q"),
    ("trace", "t"),
    *_STATS,
    ("trace", "F"),
    *_FLAME,
    ("trace", "a ~ a ~"),
    *_of_ray("trace"),
    ("trace", "q"),
)
"""From the list of one trace, on its screen, and back."""


def pressed(script: Script) -> Iterator[tuple[str, str]]:
    """Yield each place and key of a script."""
    for place, keys in script:
        for key in keys.split():
            yield place, key


def sent(key: str) -> bytes:
    """Return what a terminal sends for a key."""
    if key in _SENT:
        return _SENT[key]
    character = key_to_character(key)
    if character is None:
        raise ValueError(f"no key is named {key}")
    return character.encode()


def left_out(scripts: Iterable[Script]) -> Sequence[tuple[str, str]]:
    """Return the screens and keys of the viewer's table that no script presses there; a view's once on any screen."""
    there = {(PLACES[place], key) for script in scripts for place, key in pressed(script) if place in PLACES}
    views, anywhere = {view.action for view in View}, {key for _, key in there}
    return [
        (str(screen.name), key.keys)
        for screen in On.EVERYWHERE
        for key in keys_on(screen)
        if not (key.action in views and key.keys in anywhere)
        and not any((screen, each) in there or (screen, each) == _QUITS for each in key.keys.split(","))
    ]
