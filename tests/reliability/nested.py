"""Whole records in torn ones: what is whole is shown, whether files are decoded or scanned.

{                                            torn
    "name": "outer", …
    "attributes": {
        "text": "so
  {"resourceSpans": …}                       whole, of any format
me text",
        …
}

Left out is where a value belongs and anything but one record stands: the same bytes come about where an attribute is a
list of what look like records.
"""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from builders import Builder, file_of
from quick.folders import make, otlp_line
from quick.test_same import contents, load
from spanview.quick import pages

from .figures import Figures, Row
from .layouts import LAYOUTS, file_in, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Document

    from .layouts import Key

_NEVER: Final = 1 << 60
_ATTRIBUTES: Final = {"text": "some text here", "n": 12, "list": [1, "two"], "z": "}"}
_BEFORE: Final = (b"", b"  ", b"\n", b"\n  ", b"\n\t")
_AFTER: Final = (b"\n", b"")
_PAGES: Final = (1_500, 4_000, 20_000, pages.PAGE_BYTES)


def _span(name: str, span: int) -> Document:
    return Builder().span(name, trace=span, span=span, service="s", attributes=_ATTRIBUTES)


def _written(layout: str, document: Document) -> bytes:
    return otlp_line(document) if layout == "hook" else file_of([document], indent=4 if layout == "indented" else None)


def _skipped(layout: str, text: bytes) -> range:
    """Return where in a record the attributes are, which a scan skips."""
    if layout == "hook":
        return range(text.index(b'"attributes":[', text.index(b'"status"')), len(text) - len(b"}]}]}]}\n"))
    return range(text.index(b'"attributes"'), text.rindex(b'"events"'))


def _torn(dice: random.Random) -> Iterator[tuple[str, bytes, frozenset[Key]]]:
    """Yield without end what to say of a file, the file, and the spans that are whole in it."""
    inner = {
        name: (file_in(name).data, file_in(name).keys) for name, (_, layout) in LAYOUTS.items() if not layout.is_log
    }
    inner["hook"] = _written("hook", _span("inner", 99)), frozenset({(99, 99)})
    while True:
        layout, name = dice.choice(("indented", "line", "hook")), dice.choice([*inner])
        before, after = dice.choice(_BEFORE), dice.choice(_AFTER)
        text, around = _written(layout, _span("torn", 77)), _written(layout, _span("whole", 78))
        cut = dice.choice(_skipped(layout, text))
        if not text[:cut].rstrip().endswith((b":", b"[", b",")):
            record, keys = inner[name]
            torn = text[:cut] + before + record.rstrip() + after + text[cut:]
            yield f"{name} in {layout} at {cut}, {before!r}, {after!r}", around + torn + around, keys | {(78, 78)}


def _whole_in_torn(trials: int, folder: Path) -> Figures:
    figures, path = Figures(), folder / "4711.json"
    for where, content, keys in _torn(random.Random(32)):
        path.write_bytes(content)
        for limit in (0, _NEVER):
            shown = keys_of(load(path, quick_from=limit))
            figures.compare(keys, [key for key in shown if key != (77, 77)], f"{where}, scanned from {limit}")
        figures.trials += 1
        if figures.trials >= trials:
            break
    return figures


def _mutated(trials: int, folder: Path) -> Figures:
    figures = Figures()
    for seed in range(trials):
        dice, place = random.Random(seed), folder / f"{seed}"
        place.mkdir()
        # What only a decoder sees is told where all is decoded, too.
        anywhere = dice.random() < 1 / 2
        make(place, dice, files=4, records=30, anywhere=anywhere)
        with patch.object(pages, "PAGE_BYTES", dice.choice(_PAGES)):
            scanned = contents(load(place, quick_from=0, decodes_all=anywhere))
        decoded = contents(load(place, quick_from=_NEVER))
        parts = [part for part, value in decoded.items() if scanned[part] != value]
        figures.expect(holds=not parts, what=f"folder {seed}: {parts}")
        figures.trials += 1
        shutil.rmtree(place)
    return figures


ROWS: Final = (
    Row("32a", "record torn by a whole one of any format", "files", 5_000, 60, _whole_in_torn),
    Row("32b", "mutated folders, decoded and scanned", "folders", 5_000, 20, _mutated),
)
