"""The keys that are pressed to measure what each one takes, on each screen where it acts.

part      a screen, or what is typed into on it, and the keys that are pressed there, by Textual's names
=80x24    the terminal is that large now
~         nothing is pressed until all has been quiet for a moment
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.keys import key_to_character

from spanview.tui.app.themes import NAMES
from spanview.tui.keys import On, keys_on

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
    "otherside": On.PAIRS,
    "calls": On.CALLS,
    "functioncalls": On.CALLS,
    "workers": On.WORKERS,
    "serve": On.SERVE,
    "requests": On.SPANS,
    "log": On.LOG,
    "check": On.CHECK,
    "explanation": On.EXPLANATION,
    "running": On.RUNNING,
    "help": On.HELP,
    "page": On.HELP,
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
_COMMON: Final[Script] = (("", f"{_MOVE} y P ~ space space {_THEMES} {_SIZES} colon"), ("palette", "down t h escape"))
_HELP: Final[Script] = (
    ("", "question_mark"),
    ("help", "question_mark"),
    ("", "question_mark"),
    ("help", f"{_MOVE} y {_THEMES} {_SIZES} colon"),
    ("palette", "escape"),
    ("help", "enter G enter"),
    ("page", f"~ {_MOVE} y escape"),
    ("help", "q"),
    ("", "question_mark"),
    ("help", "escape"),
)


def _on(place: str, *more: tuple[str, str]) -> Script:
    """Return what is pressed on every screen, and more on this one."""
    return tuple((at or place, keys) for at, keys in (*_COMMON, *_HELP, *more))


_BACK_FROM_FAILURE: Final[Script] = (("trace", "~ escape"),)
_STATS: Final[Script] = (
    ("stats", "~"),
    *_on("stats", ("stats", "s s s s s s S e")),
    *_BACK_FROM_FAILURE,
    ("stats", "b ~ b ~ b ~ b ~ b ~ B"),
    ("stats, typed", "r a y full_stop p i d enter"),
    ("stats", "~ down b ~ s ~ g enter"),
    *_on("spans", ("spans", "s S s s e")),
    *_BACK_FROM_FAILURE,
    ("spans", "down enter"),
    ("trace", "~ escape"),
    ("spans", "q"),
    ("stats", "enter"),
    ("spans", "escape"),
    ("stats", "q"),
)
_FLAME: Final[Script] = (
    ("flame", "~"),
    *_on("flame", ("flame", "right left down right left e")),
    *_BACK_FROM_FAILURE,
    ("flame", "g down s s enter enter"),
    ("trace", "~ escape"),
    ("flame", "escape q"),
)
_DIFF: Final[Script] = (
    ("diff", "~"),
    *_on("diff", ("diff", "s s s s s S S e")),
    *_BACK_FROM_FAILURE,
    ("diff", "b ~ b ~ b ~ down enter ~"),
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
    *_on("calls", ("calls", "s s s s s s S e")),
    *_BACK_FROM_FAILURE,
    ("calls", "~ b ~ b ~ b ~ b ~ x ~ x ~ v ~ s ~ g enter"),
    ("functioncalls", "~ s s s s S b x e"),
    *_BACK_FROM_FAILURE,
    ("functioncalls", "down ~ v"),
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
            "right left down right s s s s s s S S x ~ x ~ plus greater_than_sign less_than_sign minus f 0 z Z e",
        ),
    ),
    *_BACK_FROM_FAILURE,
    ("workers", "E"),
    *_BACK_FROM_FAILURE,
    ("workers", "g ~ v"),
    *_LOG,
    ("workers", "~ enter"),
    ("trace", "~ escape"),
    ("workers", "escape"),
)
_SERVE: Final[Script] = (
    ("serve", "~"),
    *_on("serve", ("serve", "s s s S e")),
    *_BACK_FROM_FAILURE,
    ("serve", "~ enter"),
    ("requests", "~"),
    *_on("requests", ("requests", "s s s s s s S S down enter")),
    ("trace", "~ escape"),
    ("requests", "escape"),
    ("serve", "q"),
)
_CHECK: Final[Script] = (
    ("check", "~"),
    *_on("check", ("check", "down e")),
    *_BACK_FROM_FAILURE,
    ("check", "enter escape"),
)
_EXPLANATION: Final[Script] = (
    ("explanation", "~"),
    *_on("explanation", ("explanation", "down G g e")),
    *_BACK_FROM_FAILURE,
    ("explanation", "down down enter"),
    ("trace", "~ escape"),
    ("explanation", "x"),
)
_RUNNING: Final[Script] = (
    ("running", "~"),
    *_on("running", ("running", "s s s s s S S v enter J")),
)
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


_VIEWS: Final = {
    "A": "calls",
    "L": "workers",
    "H": "serve",
    "t": "stats",
    "F": "flame",
    "exclamation_mark": "check",
}
"""The keys that lead to a view from everywhere, but those to groups and to what is compared."""


def _switched() -> Iterator[tuple[str, str]]:
    """Yield the keys that go from each view to each other one, in one way through all of them, from the list."""
    views = [*_VIEWS.items()]
    # 0 1 0 2 … 0 5 1 2 1 3 … 4 5 0
    pairs = [(one, other) for at, one in enumerate(views) for other in views[at + 1 :]]
    place = "traces"
    for key, to in (*(view for pair in pairs for view in pair), views[0]):
        yield place, f"~ {key}"
        place = to
    yield place, "~ escape"


def _left_for_views(way: Script, place: str, own: str, *, base: str = "traces", anew: Script = ()) -> Script:
    """Return what is pressed to leave a screen for each view, and to come back to what it was opened from.

    Args:
        way: What leads there from its base.
        place: The screen.
        own: The key of the view that it belongs to; it leads back to the base.
        base: The list of traces, or a trace.
        anew: What leads to the base from the list of traces.
    """
    steps: list[tuple[str, str]] = []
    for key, view in _VIEWS.items():
        steps += [*way, (place, key), (base, REST) if key == own else (view, "~ escape")]
    steps += [*way, (place, "J"), (base, REST) if place == "running" else ("running", "~ escape")]
    steps += [*way, (place, "r"), ("groups", "r"), *anew]
    if own == "D":
        steps += [*way, (place, "D"), ("traces", REST)]
    elif base == "traces":
        steps += [*way, (place, "D"), ("otherside", "escape")]
    else:
        # A single trace can't be compared.
        steps += [*way, (place, "D"), (place, "escape")] if way else [(place, "D")]
    return tuple(steps)


_LEFT: Final[Script] = tuple(
    step
    for steps in (
        *(_left_for_views((("traces", key),), place, key) for key, place in _VIEWS.items()),
        _left_for_views((("traces", "t"), ("stats", "~ enter ~")), "spans", "t"),
        _left_for_views((("traces", "A"), ("calls", "~ enter"), ("functioncalls", "~ v ~")), "log", "A"),
        _left_for_views((("traces", "question_mark"),), "help", ""),
        _left_for_views((("traces", "x"),), "explanation", ""),
        _left_for_views((("traces", "J"),), "running", ""),
        (("traces", "J"), ("running", "~ escape"), ("traces", "J"), ("running", "~ q")),
        (("traces", "x"), ("explanation", "~ escape"), ("traces", "x"), ("explanation", "~ q")),
        _left_for_views((("traces", "D"),), "otherside", "D"),
        (("traces", "d down"), *_left_for_views((("traces", "d"),), "diff", "D"), ("traces", "up d")),
    )
    for step in steps
)
_GROUPS_LEFT: Final[Script] = tuple(
    step for key, place in _VIEWS.items() for step in (("groups", key), (place, "~ escape"))
)
_PREVIEWED: Final[Script] = (
    ("traces", "=200x50 ~ down ~ down ~ up ~ pagedown ~ G ~ g ~ s ~ S ~ s s s s s s s S space space y"),
    ("traces", "slash"),
    ("traces, typed", "s t a g e underscore 1 enter"),
    ("traces", "~ down ~ escape ~ enter"),
    ("trace", "~ down up e escape"),
    ("traces", "~ =120x40 ~"),
)
"""Where the screen is wide, the selected trace is shown beside the list."""
_FILTERED: Final[Script] = (
    ("traces", "slash"),
    ("traces, typed", "s t a g e underscore 1 enter"),
    ("traces", "down slash"),
    ("traces, typed", "2 backspace enter"),
)
LISTED: Final[Script] = (
    *_on("traces", ("traces", "f ~ f s s s s S S s pagedown left_curly_bracket pagedown right_curly_bracket escape")),
    *_FILTERED,
    ("traces", "~ D"),
    *_on("otherside", ("otherside", "q")),
    ("traces", "D"),
    ("otherside", "~ slash"),
    ("otherside, typed", "escape"),
    ("otherside", "~ enter"),
    ("diff", "~ q"),
    ("traces", "escape"),
    *_PREVIEWED,
    ("traces", "e"),
    ("trace", "e e e escape"),
    ("traces", "enter"),
    ("trace", "escape"),
    ("traces", "X t"),
    *_STATS,
    ("traces", "F"),
    *_FLAME,
    *_of_ray("traces"),
    ("traces", "x"),
    *_EXPLANATION,
    ("traces", "J"),
    *_RUNNING,
    *_switched(),
    *_LEFT,
    # What has failed: some keys of a comparison are for that.
    ("traces", "f ~ d d d down d"),
    *_DIFF,
    ("traces", "escape ~ escape r"),
    *_on("groups", ("groups", f"{'s ' * 8}S S e")),
    ("trace", "escape"),
    ("groups", "enter"),
    ("traces", "G g s S escape"),
    *_GROUPS_LEFT,
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
_AGAIN: Final[Script] = (("traces", "enter"), ("trace", "~"))
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
    ("trace", "z z Z right_parenthesis left_parenthesis x"),
    ("explanation", "~ x"),
    ("trace", "left_square_bracket right right_square_bracket R G g R G g c ~ G g c C ~ C ~ C ~ C ~"),
    *_SEARCHED,
    ("trace", "tab tab tab ~ tab tab tab tab o o y Y ~ I X i ~ V ~ d d g ~ enter"),
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
    *_left_for_views((), "trace", "", base="trace", anew=_AGAIN),
    *_left_for_views((("trace", "enter"),), "span", "", base="trace", anew=_AGAIN),
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
    """Return the screens and keys of the viewer's table that no script presses there."""
    there = {(PLACES[place], key) for script in scripts for place, key in pressed(script) if place in PLACES}
    return [
        (str(screen.name), key.keys)
        for screen in On.EVERYWHERE
        for key in keys_on(screen)
        if not any((screen, each) in there or (screen, each) == _QUITS for each in key.keys.split(","))
    ]
