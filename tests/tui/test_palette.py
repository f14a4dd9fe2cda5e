"""What the palette finds for what is typed."""

from __future__ import annotations

import pytest

from builders import Builder
from spanview.tui.app.palette import PaletteScreen
from spanview.tui.app.palette_match import fit
from viewers import looking_at

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
