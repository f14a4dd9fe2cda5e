"""Texts in columns: names lose their middles, not their ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from spanview.display.cells import name_text


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
