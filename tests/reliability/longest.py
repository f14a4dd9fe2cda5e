"""Ten megabytes in one field of a span, on every screen: cut before anything is done with it.

screens                                    what is measured
-------                                    ----------------
list, groups, trace, sections of a span    seconds that the key which leads there costs the processor, until the screen
                                           is painted, beyond those that it costs with a short text
views of a session of Ray, wide, with logs the same of the thread that paints, until all is shown that is computed
`tree`, `stats`, `check`, `diff`           no line is longer than a text that is cut, and some figures
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from builders import Builder, file_of
from hostile import make_session
from pictures import viewer_of
from programs import spanview
from spanview.display.sanitise import MAX_LENGTH
from viewers import USUAL, Growing, Look, looking_at

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from builders import Document

_BYTES: Final = 10_000_000
_TEXTS: Final = ("x", "漢", "\U0001f469\u200d\U0001f680", "e\u0301\u0308", "\x1b[2J", "\u202e")
_FIELDS: Final = ("name", "service", "description", "key", "value", "event", "stack trace", "link", "resource")
_WALK: Final = ("r", "r", "enter", "e", "enter", "tab", "tab", "tab", "tab", "tab", "escape", "escape")
_CEILING_S: Final = 0.1
_MARK: Final = "LONGEST"
"""What stands in each field of a session before one of them has ten megabytes."""
_TAGS: Final = ("rt", "nd", "ai", "ac", "am", "sd", "em", "ff", "fu", "co", "de", "ap", "ro", "ll")
"""Of these fields: of a root, a node, an actor, an error, a stack trace, a request and the lines of logs."""
_WIDEST: Final = (200, 50)
"""Where the list has a preview, and a trace its details beside it."""
_RESTS_S: Final = 0.2
"""Longer than the cursor rests until what follows it is shown."""
_WAYS: Final = (
    ("TracesScreen", "down up r r"),
    ("SpanScreen", "enter e enter"),
    ("LogScreen", "tab tab tab v"),
    ("CallsScreen", "escape escape escape A b b b b"),
    ("FunctionCallsScreen", "enter"),
    ("LogScreen", "v"),
    ("RequestsScreen", "escape escape escape H enter"),
    ("WorkersScreen", "escape escape L"),
    ("SpansScreen", "escape t b b enter"),
    ("FlameScreen", "escape escape F enter"),
    ("SpansScreen", "escape escape d down d enter"),
    ("PaletteScreen", "escape escape colon"),
    ("TracesScreen", "escape"),
)
"""Screens, and the keys that lead to each from the one before."""
_STEPS: Final = tuple(
    # A key, and the screen that it leads to, where that is looked at.
    (key, screen if not left else "")
    for screen, keys in _WAYS
    for left, key in zip(range(keys.count(" "), -1, -1), keys.split(), strict=True)
)
_COMMANDS: Final = (("tree",), ("tree", "--bars"), ("stats",), ("check",), ("diff", "kind=INTERNAL", "kind=INTERNAL"))
_LONGEST_LINE: Final = 6 * MAX_LENGTH + 300
"""Characters of a text that was cut, with a stand-in as `\\u202e` for each, and of the figures beside it."""


def _span(field: str, text: str) -> Document:
    """Return a failed span in one field of which a text stands."""
    values: dict[str, Any] = dict.fromkeys(_FIELDS, "usual") | {field: text}
    exception = {"exception.type": "E", "exception.message": "", "exception.stacktrace": values["stack trace"]}
    build = Builder()
    return build.span(
        values["name"],
        status="ERROR",
        description=values["description"],
        service=values["service"],
        attributes={values["key"]: values["value"]},
        resource={"key": values["resource"]},
        events=[
            {"name": values["event"], "timestamp": "2023-11-14T22:13:20.000002Z", "attributes": {}},
            {"name": "exception", "timestamp": "2023-11-14T22:13:20.000003Z", "attributes": exception},
        ],
        links=[{"context": build.span()["context"], "attributes": {"key": values["link"]}}],
    )


async def _walk(field: str, text: str, figures: Figures, usual: Sequence[float]) -> list[float]:
    """Walk over all screens; return how long each took."""
    taken = []
    async with looking_at(_span(field, text), paints=True) as look:
        # Or the walks before this one are looked through again and again for what nothing needs.
        gc.collect()
        gc.freeze()
        for key, least in zip(_WALK, usual, strict=True):
            begun = time.process_time()
            await look.press(key)
            taken.append(time.process_time() - begun)
            figures.took(taken[-1] - least)
            figures.trials += 1
            fits = {cell_len(line) for line in look.lines} == {USUAL[0]} and "\x1b" not in look.text
            figures.expect(holds=fits, what=f"{field}, {text[:9]!a}, {key}: {look.text[:500]!a}")
        figures.expect(holds="1 trace · 1 span" in look.header, what=f"{field}, {text[:9]!a}: {look.header!a}")
    gc.unfreeze()
    gc.freeze()
    return taken


def _long(trials: int, _: Path) -> Figures:
    never = [0.0] * len(_WALK)
    walks = [asyncio.run(_walk("name", "usual", Figures(), never)) for _ in range(3)]
    usual = [min(times) for times in zip(*walks, strict=True)]
    figures = Figures()
    for field, piece in islice(cycle(product(_FIELDS, _TEXTS)), -(-trials // len(_WALK))):
        text = piece * (_BYTES // len(json.dumps(piece)[1:-1]))
        asyncio.run(_walk(field, text, figures, usual))
    return figures


def _fill(folder: str, tag: str, piece: str) -> None:
    """Let a field have ten megabytes in all files of a folder; where a record has it often, they are shared out."""
    written, count = json.dumps(piece)[1:-1], _BYTES // len(json.dumps(piece)[1:-1])
    for parent, _, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            with open(path, "rb") as file:
                data = file.read()
            mark = f"{tag}{_MARK}".encode()
            places = max(record.count(mark) for record in data.split(b"\n}\n"))
            if places:
                text = (piece if path.endswith((".err", ".out")) else written) * (count // places)
                with open(path, "wb") as file:
                    file.write(data.replace(mark, f"{tag}{text}".encode()))


async def _visit(folder: str, where: str, figures: Figures, usual: Sequence[float]) -> list[float]:
    """Go to all screens of a session; return how long each step took."""
    taken = []
    app = viewer_of(folder)
    async with app.run_test(size=_WIDEST) as pilot:
        look = Look(app, pilot, Growing())
        await look.until(lambda: not app.feed_state.loading)
        await look.rest()
        gc.collect()
        gc.freeze()
        for (key, screen), least in zip(_STEPS, usual, strict=True):
            begun = time.thread_time()
            await look.press(key)
            await look.rest()
            if key in {"down", "up"}:
                await pilot.pause(_RESTS_S)
                await look.rest()
            taken.append(time.thread_time() - begun)
            figures.took(taken[-1] - least)
            figures.trials += 1
            is_there = type(look.screen).__name__ == (screen or type(look.screen).__name__)
            fits = {cell_len(line) for line in look.lines} == {_WIDEST[0]} and look.text.replace("\n", "").isprintable()
            figures.expect(holds=is_there and fits, what=f"{where}, {key}: {look.text[:500]!a}")
            if not is_there:
                break
    gc.unfreeze()
    gc.freeze()
    return taken


def _visits(trials: int, folder: Path) -> Figures:
    walks, never = [], [0.0] * len(_STEPS)
    for number in range(3 if trials > len(_STEPS) else 1):
        own = folder / f"usual{number}"
        own.mkdir()
        walks.append(asyncio.run(_visit(os.path.join(make_session(own, _MARK), "logs"), "usual", Figures(), never)))
    usual = [min(times) for times in zip(*walks, strict=True)]
    figures = Figures()
    # Each field with another text, before the first one comes again.
    tried = islice(zip(cycle(_TAGS), cycle(_TEXTS[1:]), strict=False), -(-trials // len(_STEPS)))
    for number, (tag, piece) in enumerate(tried):
        own = folder / f"{number}"
        own.mkdir()
        session = make_session(own, _MARK)
        _fill(session, tag, piece)
        asyncio.run(_visit(os.path.join(session, "logs"), f"{tag}, {piece[:9]!a}", figures, usual))
    return figures


def _prints(trials: int, folder: Path) -> Figures:
    figures = Figures()
    tried = zip(cycle(_FIELDS), cycle(_TEXTS[1:]), strict=False)
    for field, piece in islice(tried, -(-trials // len(_COMMANDS))):
        text = piece * (_BYTES // len(json.dumps(piece)[1:-1]))
        (folder / "1.json").write_bytes(file_of([_span(field, text)]))
        for command in _COMMANDS:
            outcome = spanview(*command, folder)
            longest = max(map(len, outcome.text.split("\n")))
            holds = outcome.status == 0 and 0 < longest <= _LONGEST_LINE
            figures.expect(holds=holds, what=f"{field}, {piece[:9]!a}, {command}: {longest}, {outcome.notices[:500]}")
            figures.trials += 1
    return figures


_SCREENS: Final = len(_FIELDS) * len(_TEXTS) * len(_WALK)
_VISITED: Final = len(_TAGS) * len(_STEPS)
_PRINTED: Final = 3 * len(_FIELDS) * len(_COMMANDS)
ROWS: Final = (
    Row("19a", "10 MB in one field, wide characters", "screens", _SCREENS, -(-_SCREENS // 40), _long, _CEILING_S),
    Row("19b", "the same in a session of Ray, with logs", "steps", _VISITED, -(-_VISITED // 30), _visits, _CEILING_S),
    Row("19c", "the same, printed", "outputs", _PRINTED, -(-_PRINTED // 20), _prints),
)
