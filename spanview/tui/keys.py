"""The one table of keys: handlers, footer, help and the page `viewer` are made of it."""

from __future__ import annotations

from enum import Enum, Flag, auto
from functools import reduce
from operator import or_
from typing import Final, NamedTuple


class On(Flag):
    """The screens on which a key means something."""

    TRACES = auto()
    TRACE = auto()
    SPAN = auto()
    STATS = auto()
    SPANS = auto()
    FLAME = auto()
    DIFF = auto()
    CALLS = auto()
    WORKERS = auto()
    SERVE = auto()
    LOG = auto()
    CHECK = auto()
    HELP = auto()
    PAIRS = auto()
    EXPLANATION = auto()
    RUNNING = auto()
    EVERYWHERE = (TRACES | TRACE | SPAN | STATS | SPANS | FLAME | DIFF) | (
        CALLS | WORKERS | SERVE | LOG | CHECK | HELP | PAIRS | EXPLANATION | RUNNING
    )


_SCREENS: Final = {
    On.TRACES: "Traces",
    On.TRACE: "Trace",
    On.SPAN: "Span",
    On.STATS: "Statistics",
    On.SPANS: "Spans",
    On.FLAME: "Flame",
    On.DIFF: "Comparison",
    On.CALLS: "Calls",
    On.WORKERS: "Workers",
    On.SERVE: "Requests",
    On.LOG: "Log",
    On.CHECK: "Check",
    On.PAIRS: "Compare",
    On.EXPLANATION: "Explain",
    On.RUNNING: "Running",
}
"""What screens are called."""


class KeyGroup(Enum):
    """What keys are for: the parts of the help."""

    GO = "go to"
    FIND = "find"
    ZOOM = "zoom"
    COPY = "copy and save"
    DISPLAY = "display"


_GROUPS: Final = {
    KeyGroup.GO: "help view explain running move page edge open back leave parent sibling next_pane log next_log "
    "own_lines palette",
    KeyGroup.FIND: "search match only_matches same_name longest error only_failed pick mark",
    KeyGroup.ZOOM: "zoom pan fit whole",
    KeyGroup.COPY: "copy copy_json copy_trace_id copy_command copy_text page_to_share picture",
}
"""The groups of actions; all others are of `DISPLAY`."""
_GROUP_OF: Final = {name: group for group, names in _GROUPS.items() for name in names.split()}
_OTHER_WORDS: Final = {
    "view('GROUPS')": "endpoints routes group by name",
    "view('CALLS')": "tasks actors methods slowest waits",
    "view('REQUESTS')": "http deployments replicas slowest latency",
    "view('WORKERS')": "lanes gantt processes nodes idle",
    "view('STATS')": "percentiles p95 p99 latency slowest histogram average",
    "view('FLAME')": "flame graph flamegraph icicle profile slowest",
    "view('COMPARE')": "diff before after regression",
    "view('CHECK')": "doctor diagnose findings problems warnings",
    "explain": "why summary slow cause answer",
    "search": "query grep search filter",
    "error": "failure failed exception stack trace traceback",
    "only_failed": "failure errors exceptions status filter",
    "critical": "slowest bottleneck longest",
    "running": "jobs top live now active open",
    "longest": "wait queue idle slowest",
    "sort": "slowest longest fastest newest order",
    "color": "color legend",
    "theme": "color colour background",
    "rays_own": "internal system hide actors tasks",
    "join_calls": "raw spans producer consumer",
    "raw": "source record",
    "page_to_share": "export html browser web save report",
    "picture": "export image screenshot png",
    "copy_text": "export share ascii",
    "copy": "clipboard yank",
    "mark": "diff",
    "pause": "tail live stop freeze",
    "leave": "exit close",
    "log": "logs output stdout stderr print file",
    "fit": "zoom",
    "whole": "zoom out reset",
}
"""What people call an action besides, by the action or its name: the palette finds it by these words, too."""


class Key(NamedTuple):
    """One action and its keys."""

    keys: str
    """As Textual names them, joined by commas."""
    action: str
    shown: str
    """As a person reads them."""
    text: str
    """What it does, for the help."""
    on: On
    hint: str = ""
    """What it does, for the footer; empty where the footer leaves it out."""

    @property
    def _name(self) -> str:
        return self.action.partition("(")[0]

    @property
    def group(self) -> KeyGroup:
        """What it is for."""
        return _GROUP_OF.get(self._name, KeyGroup.DISPLAY)

    @property
    def other_words(self) -> str:
        """What people call it besides."""
        return _OTHER_WORDS.get(self.action) or _OTHER_WORDS.get(self._name, "")


class View(Enum):
    """Something to look at, by a key of its own from every screen; the bar of views has them in this order.

    A view is of what the bar names at its right: a trace, a group, what a filter leaves, or everything.
    """

    TRACES = "Traces", "", ""
    GROUPS = "Groups", "r", "traces grouped by root name; r again: all traces"
    CALLS = "Calls", "A", "Ray calls: waiting and running time"
    REQUESTS = "Requests", "H", "Ray Serve requests: queue and handling time"
    WORKERS = "Workers", "L", "timeline of each worker"
    STATS = "Stats", "t", "statistics of the spans"
    FLAME = "Flame", "F", "flame graph: where the time goes, by call path"
    COMPARE = "Compare", "D", "compare the marked or shown traces with a query or with all others"
    CHECK = "Check", "!", "missing, damaged or misconfigured spans, with advice"

    def __init__(self, label: str, key: str, text: str) -> None:
        self.label = label
        """As the bar shows it."""
        self.key = key
        """As a person reads it; none where the key of the view that one is in leads back there."""
        self.text = text
        """What it shows, for the help."""

    @property
    def action(self) -> str:
        """What its key does."""
        return f"view('{self.name}')"


_TEXTUAL_NAMES: Final = {"!": "exclamation_mark"}
_TABLES: Final = On.TRACES | On.STATS | On.SPANS | On.DIFF | On.CALLS | On.SERVE | On.RUNNING
"""Screens whose lists have columns to sort by."""
_COUNTED: Final = (On.CALLS | On.SERVE | On.STATS | On.SPANS | On.FLAME | On.DIFF) | (
    On.WORKERS | On.CHECK | On.EXPLANATION
)
"""Screens behind whose rows are failures."""
KEYS: Final = (
    Key("question_mark", "help", "?", "this help, and the pages of the manual", On.EVERYWHERE, "help"),
    *(
        Key(_TEXTUAL_NAMES.get(view.key, view.key), view.action, view.key, view.text, On.EVERYWHERE)
        for view in View
        if view.key
    ),
    Key(
        "x",
        "explain",
        "x",
        "say what took the time, what failed and what is missing",
        On.TRACES | On.TRACE | On.EXPLANATION,
    ),
    Key("J", "running", "J", "what runs or waits now, oldest first", On.EVERYWHERE),
    Key("up,k", "move(-1)", "↑ k", "one row up", On.EVERYWHERE),
    Key("down,j", "move(1)", "↓ j", "one row down", On.EVERYWHERE),
    Key("pageup", "page(-1)", "PgUp", "one page up", On.EVERYWHERE),
    Key("pagedown", "page(1)", "PgDn", "one page down", On.EVERYWHERE),
    Key("space", "page(1)", "␣", "one page down, as in `less`", On.LOG),
    Key("g,home", "edge(0)", "g Home", "to the first row", On.EVERYWHERE),
    Key("G,end", "edge(1)", "G End", "to the last row", On.EVERYWHERE),
    Key("enter", "open", "⏎", "open the selected row", On.EVERYWHERE ^ On.SPAN ^ On.LOG ^ On.CHECK ^ On.HELP, "open"),
    Key(
        "enter",
        "open",
        "⏎",
        "unfold a finding's evidence, or go to the trace or span under the cursor",
        On.CHECK,
        "open",
    ),
    Key("enter", "open", "⏎", "follow the link, unfold the value, or open the log under the cursor", On.SPAN),
    Key("enter", "open", "⏎", "run the action or open the page under the cursor", On.HELP, "do it"),
    Key("escape", "back", "Esc", "go back; first clears the filter", On.EVERYWHERE, "back"),
    Key("q", "leave", "q", "go back; on the first screen: quit", On.EVERYWHERE),
    Key("left,h", "collapse", "← h", "collapse, or go to the parent", On.TRACE | On.SPAN),
    Key("right,l", "expand", "→ l", "expand, or go to the first child", On.TRACE | On.SPAN, "fold"),
    Key("left_square_bracket", "collapse_all", "[", "collapse all", On.TRACE),
    Key("right_square_bracket", "expand_all", "]", "expand all", On.TRACE),
    Key("R", "runs", "R", "fold or unfold ten or more similar siblings", On.TRACE),
    Key("a", "join_calls", "a", "show one row per Ray call (wait and run), or one per span", On.TRACE),
    Key(
        "slash",
        "search",
        "/",
        "filter the traces; in a trace or a log: search; before a comparison: a query",
        On.TRACES | On.TRACE | On.LOG | On.PAIRS,
        "find",
    ),
    Key("n", "match(1)", "n", "next match", On.TRACE | On.LOG),
    Key("N", "match(-1)", "N", "previous match", On.TRACE | On.LOG),
    Key("left,h", "pan_text(-1)", "← h", "scroll left", On.LOG),
    Key("right,l", "pan_text(1)", "→ l", "scroll right", On.LOG),
    Key("w", "own_lines(1)", "w", "next lines of the span", On.LOG, "span's lines"),
    Key("W", "own_lines(-1)", "W", "previous lines of the span", On.LOG),
    Key("tab", "next_log", "Tab", "next log of the process, or of the request", On.LOG, "next log"),
    Key("m", "only_matches", "m", "show only matches and the spans above them, or everything", On.TRACE),
    Key("p", "parent", "p", "go to the parent of the selected span", On.TRACE | On.SPAN),
    Key("w", "same_name(1)", "w", "next span with the same name", On.TRACE | On.SPAN),
    Key("W", "same_name(-1)", "W", "previous span with the same name", On.TRACE | On.SPAN),
    Key(
        "e",
        "error(1)",
        "e",
        "next failure, then the next older failed trace; on Traces: open the newest",
        On.TRACES | On.TRACE,
        "error",
    ),
    Key("e", "error(1)", "e", "open the newest failure of the row or block, then the next", _COUNTED, "error"),
    Key("E", "error(-1)", "E", "previous failure", On.TRACE | On.WORKERS),
    Key("z", "longest(1)", "z", "go to the longest wait of a call, then the next longest", On.TRACE),
    Key("Z", "longest(-1)", "Z", "previous, longer wait", On.TRACE),
    Key("z", "longest(1)", "z", "go to the longest idle gap of a worker, then the next longest", On.WORKERS),
    Key("Z", "longest(-1)", "Z", "previous, longer gap", On.WORKERS),
    Key("plus,equals_sign", "zoom(1)", "+", "zoom in", On.TRACE),
    Key("plus,equals_sign", "zoom(1)", "+", "zoom in around the selected block", On.WORKERS, "zoom"),
    Key("minus", "zoom(-1)", "-", "zoom out", On.TRACE | On.WORKERS),
    Key("less_than_sign", "pan(-1)", "<", "earlier", On.TRACE | On.WORKERS),
    Key("greater_than_sign", "pan(1)", ">", "later", On.TRACE | On.WORKERS),
    Key("f", "fit", "f", "fit the selected span into view", On.TRACE),
    Key("f", "fit", "f", "fit the selected block into view", On.WORKERS, "fit"),
    Key("0", "whole", "0", "fit the whole trace into view", On.TRACE),
    Key("0", "whole", "0", "fit the time of all workers into view", On.WORKERS, "all"),
    Key("1", "column(0)", "1", "show or hide self time", On.TRACE),
    Key("2", "column(1)", "2", "show or hide the share of the trace", On.TRACE),
    Key("3", "column(2)", "3", "show or hide start times", On.TRACE),
    Key("4", "column(3)", "4", "show or hide services", On.TRACE),
    Key("5", "column(4)", "5", "show or hide processes", On.TRACE),
    Key("left_parenthesis", "names(-1)", "(", "less room for names", On.TRACE),
    Key("right_parenthesis", "names(1)", ")", "more room for names", On.TRACE),
    Key("c", "critical", "c", "highlight the critical path", On.TRACE, "path"),
    Key("C", "color", "C", "colour by service, process, kind or node", On.TRACE),
    Key(
        "s",
        "sort",
        "s",
        "sort by the next column; in Flame: by total or self time",
        _TABLES | On.FLAME | On.WORKERS,
        "sort",
    ),
    Key("S", "turn", "S", "reverse the order", _TABLES | On.WORKERS),
    Key("b", "group", "b", "group by the next key: name, service, kind, …", On.STATS, "group by"),
    Key("b", "group", "b", "group by the next key: function, actor, node, job", On.CALLS, "group by"),
    Key("b", "group", "b", "compare by the next key: call path, name, Ray function", On.DIFF, "compare by"),
    Key("B", "by_key", "B", "group by any attribute: type its key", On.STATS, "attribute"),
    Key(
        "f", "only_failed", "f", "show only failed traces, with or without an error status; or all", On.TRACES, "failed"
    ),
    Key("left_curly_bracket", "pick(-1)", "{", "hide earlier traces than the selected one; Esc: show all", On.TRACES),
    Key("right_curly_bracket", "pick(1)", "}", "hide later traces than the selected one", On.TRACES),
    Key(
        "P", "page_to_share", "P", "save the traces named in the bar as an HTML page to share", On.EVERYWHERE ^ On.HELP
    ),
    Key("i", "picture", "i", "save the view as an SVG picture in the current folder", On.TRACE),
    Key("V", "copy_text", "V", "copy the view as text with bars, for a chat or a ticket", On.TRACE),
    Key(
        "x",
        "rays_own",
        "x",
        "hide or show Ray's own actors and tasks",
        On.WORKERS | On.CALLS,
        "Ray's own",
    ),
    Key("left,h", "sibling(-1)", "← h", "previous block", On.FLAME | On.WORKERS),
    Key("right,l", "sibling(1)", "→ l", "next block", On.FLAME | On.WORKERS),
    Key("d", "mark", "d", "mark a trace or group; on another one: compare the two", On.TRACES, "compare"),
    Key("d", "mark", "d", "mark this trace, or compare it with the marked one", On.TRACE),
    Key(
        "tab",
        "next_pane",
        "Tab",
        "next section of the details; on a small screen: show the details",
        On.TRACE | On.SPAN,
        "section",
    ),
    Key(
        "v",
        "log",
        "v",
        "open the log at the lines of the selected span, call or block",
        On.TRACE | On.CALLS | On.WORKERS | On.RUNNING,
    ),
    Key("v", "log", "v", "open the log at the span's lines, or at the line under the cursor", On.SPAN, "log"),
    Key("o", "raw", "o", "show or hide the raw JSON", On.TRACE | On.SPAN, "raw"),
    Key("y", "copy", "y", "copy the trace id, the span id, or the value under the cursor", On.EVERYWHERE, "copy"),
    Key("Y", "copy_json", "Y", "copy the span as JSON, as `spanview spans` prints it", On.TRACE | On.SPAN),
    Key("I", "copy_trace_id", "I", "copy the trace id", On.TRACE | On.SPAN),
    Key("X", "copy_command", "X", "copy a command line that opens this trace", On.TRACES | On.TRACE | On.SPAN),
    Key(
        "space",
        "pause",
        "␣",
        "pause or resume following; without --follow: start following",
        On.EVERYWHERE ^ On.LOG ^ On.HELP,
        "pause",
    ),
    Key("T", "theme", "T", "next theme: dark, light, high contrast, the terminal's own colours", On.EVERYWHERE),
    Key("colon,ctrl+p", "palette", ":", "palette of all actions", On.EVERYWHERE),
)


def keys_on(screen: On) -> list[Key]:
    """Return the keys of a screen, in the order of the help."""
    return [key for key in KEYS if screen & key.on]


def screen_names(screens: On) -> str:
    """Return what some screens are called: `Traces, Trace, Log`."""
    return ", ".join(name for screen, name in _SCREENS.items() if screen & screens)


def elsewhere_text(pressed: str, screen: On) -> str:
    """Return on which screens a key does something that does nothing on this one; empty where it does, or never does.

    Args:
        pressed: As Textual names it.
    """
    keys = [key for key in KEYS if pressed in key.keys.split(",")]
    if not keys or any(key.on & screen for key in keys):
        return ""
    where = screen_names(reduce(or_, (key.on for key in keys)))
    return f"{keys[0].shown.split()[0]} does nothing here; it works in {where}"


_SPELT: Final = {"⏎": "Enter", "␣": "Space", "↑": "Up", "↓": "Down", "←": "Left", "→": "Right"}


def spelt(text: str) -> str:
    """Return a text with keys' names for their signs, for terminals that lack the signs."""
    for sign, name in _SPELT.items():
        text = text.replace(sign, name)
    return text


def action_of(screen: On, shown: str) -> str | None:
    """Return the action of a key, as it is shown first, on a screen; None where it has none."""
    return next(
        (key.action for key in keys_on(screen) if shown in {key.shown.split()[0], spelt(key.shown.split()[0])}), None
    )


def footer_text(screen: On) -> str:
    """Return the hints that stand at the bottom of a screen."""
    return "  ".join(f"{key.shown.split()[0]} {key.hint}" for key in keys_on(screen) if key.hint)
