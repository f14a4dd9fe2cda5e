"""What the palette finds for what is typed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from builders import Builder
from spanview import cli
from spanview.exports.by_name import ENDINGS
from spanview.tui.app.exporting import OFFERED
from spanview.tui.app.palette import PaletteScreen, fit
from viewers import looking_at

if TYPE_CHECKING:
    from pathlib import Path

FOUND = [
    # typed, the first one found, all that are found
    ("error", "next error", ["next error", "previous error", "no errors, errors first"]),
    ("err", "no errors, errors first", ["next error", "previous error", "no errors, errors first"]),
    ("ERROR next", "next error", ["next error"]),
    ("par", "parent of all", ["parent of all", "transparent"]),
    ("pa", "parent of all", ["parent of all"]),
    ("all", "parent of all", ["parent of all"]),
    ("nerr", "", []),
    ("net", "", []),
    ("next!", "next error", ["next error"]),
    ("!", "", []),
    ('("', "", []),
]
TEXTS = ["transparent", "no errors, errors first", "next error", "previous error", "parent of all"]


@pytest.mark.parametrize(("typed", "first", "all_found"), FOUND)
def test_what_fits(typed: str, first: str, all_found: list[str]) -> None:
    """Whole words come before beginnings, these before what stands within a word; letters apart find nothing."""
    ranks = {text: rank for text in TEXTS if (rank := fit(typed, text)) is not None}
    assert sorted(ranks) == sorted(all_found)
    assert min(ranks, key=lambda text: ranks[text], default="") == first


def test_nothing_typed() -> None:
    """As long as nothing is typed, all fit alike."""
    assert {fit(" ", text) for text in TEXTS} == {(0, 0, 0)}


async def test_the_palette_puts_the_best_first() -> None:
    """What has the word comes first, in the order of the keys; what fits in no way isn't offered."""
    async with looking_at(Builder().span()) as look:
        await look.press("enter", "colon")
        screen = look.screen
        assert isinstance(screen, PaletteScreen)
        everything = [*screen.rows.items]
        await look.type("column")
        texts = [command.text for command in screen.rows.items]
        assert texts == [command.text for command in everything if "column" in command.text]
        await look.press("ctrl+u")
        await look.type("critical")
        assert [command.key for command in screen.rows.items] == ["c"]
        await look.press("ctrl+u")
        await look.type("zmn")
        assert "0 actions" in look.text


OTHER_WORDS = [
    ("slowest", "c"),
    ("stack trace", "e"),
    ("svg", "i"),
    ("share", "P"),
    ("color", "C"),
    ("quit", "q"),
    ("gantt", "L"),
    ("diff", "D"),
]


async def test_what_people_call_things() -> None:
    """Actions are found by the words that people have for them."""
    async with looking_at(Builder().span(), size=(100, 90)) as look:
        await look.press("enter", "colon")
        screen = look.screen
        assert isinstance(screen, PaletteScreen)
        for typed, key in OTHER_WORDS:
            await look.type(typed)
            assert key in [command.key for command in screen.rows.items], typed
            await look.press("ctrl+u")


async def test_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each format is offered; Enter writes the traces that the bar names to a file whose name is free."""
    monkeypatch.chdir(tmp_path)
    build = Builder()
    async with looking_at(build.span("a", trace=1), build.span("b", trace=2, start=9)) as look:
        for typed in ("export otlp", "export jsonl", "export jsonl"):
            await look.press("colon")
            await look.type(typed)
            await look.press("enter")
            await look.until(lambda: look.app.said.startswith("wrote 2 traces to"))
            look.app.said = ""
        await look.press("enter", "colon")
        await look.type("export trace-tree")
        await look.press("enter")
        await look.until(lambda: look.app.said.startswith("wrote 1 trace to"))
    written = sorted(os.listdir(tmp_path))
    assert written[1:] == ["traces-jsonl-2.jsonl", "traces-jsonl.jsonl", "traces-otlp.jsonl"]
    assert written[0].startswith("trace-")
    names = [json.loads(line)["name"] for line in (tmp_path / written[1]).read_text().splitlines()]
    assert sorted(names) == ["a", "b"]
    assert [*ENDINGS] == [*cli.FORMATS]
    assert {*OFFERED} == {*ENDINGS}
