"""Ten megabytes in one field of a span, on every screen: cut before anything is done with it.

screens                                    what is measured
-------                                    ----------------
list, groups, trace, sections of a span    seconds that the key which leads there costs the processor, until the screen
                                           is painted, beyond those that it costs with a short text
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from builders import Builder
from viewers import USUAL, looking_at

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


_SCREENS: Final = len(_FIELDS) * len(_TEXTS) * len(_WALK)
ROWS: Final = (
    Row("19", "10 MB in one field, wide characters", "screens", _SCREENS, -(-_SCREENS // 20), _long, _CEILING_S),
)
