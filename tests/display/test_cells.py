"""Texts in columns: names lose their middles, not their ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from spanview.display.cells import name_text, texts_apart


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (26, "my_module.process_batch   "),
        (23, "my_module.process_batch"),
        (16, "my_mo…cess_batch"),
        (4, "m…ch"),
        (1, "…"),
        (0, ""),
    ],
)
def test_a_name_loses_its_middle(width: int, shown: str) -> None:
    """Its end has twice the room of its beginning."""
    assert name_text("my_module.process_batch", width) == shown


@given(st.text(), st.integers(0, 30))
def test_a_name_fills_its_cells(name: str, width: int) -> None:
    """Whatever characters it has, and none of them acts on the terminal."""
    shown = name_text(name, width)
    assert cell_len(shown) == width
    assert shown.isprintable()


SERVE = "ServeReplica:application:"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        # Short ones, and those that their ends tell apart, stay as they are.
        (["a", "b", f"{SERVE}Cart.check", f"{SERVE}Cart.stop"], {}),
        (
            [f"{SERVE}Cart.check_health", f"{SERVE}Catalogue.check_health", f"{SERVE}Catalogue.stop"],
            {
                f"{SERVE}Cart.check_health": "…n:Cart.check…",
                f"{SERVE}Catalogue.check_health": "…n:Catalogue.…",
            },
        ),
        # Two of three begin alike beyond what tells them from the third.
        (
            [f"{SERVE}{name}.check_health" for name in ("Search", "RecommendationA", "RecommendationB")],
            {
                f"{SERVE}Search.check_health": "…ion:Search.c…",
                f"{SERVE}RecommendationA.check_health": "…tionA.check_…",
                f"{SERVE}RecommendationB.check_health": "…tionB.check_…",
            },
        ),
    ],
)
def test_what_differs_stays_in_sight(names: list[str], shown: dict[str, str]) -> None:
    """Names that would look alike without their middles are cut where they are alike."""
    assert texts_apart(names, 14) == shown


@given(st.lists(st.text(alphabet="ab\0日", min_size=1, max_size=30)), st.integers(0, 12))
def test_names_told_apart_fill_their_cells(names: list[str], width: int) -> None:
    """Whatever characters they have; it ends, and only what looks alike is shown in another way."""
    apart = texts_apart(names, width)
    assert all(cell_len(text) == width and text.isprintable() for text in apart.values())
    assert apart.keys() <= {*names}


@given(st.text("ab"), st.tuples(st.text("ab"), st.text("ab")), st.text("ab"), st.integers(4, 12))
def test_two_names_look_different(start: str, middles: tuple[str, str], end: str, width: int) -> None:
    """Wherever they differ."""
    one, other = (f"{start}{middle}{end}" for middle in middles)
    apart = texts_apart([one, other], width)
    shown = [apart.get(name, name_text(name, width)) for name in (one, other)]
    assert (shown[0] == shown[1]) == (one == other)
