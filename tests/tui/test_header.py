"""Titles: what gives way where there is no room for all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from spanview.index.documents import HeldRecords
from spanview.index.store import Store
from spanview.tui.widgets.header import Wrong, title_in, totals_text

CALLS = "‹ Ray calls of 35 traces   127 calls of 26 functions, 4 cold starts (together 6.10 s)"


@pytest.mark.parametrize(
    ("title", "room", "shown"),
    [
        (CALLS, 90, CALLS),
        (CALLS, 77, "‹ Ray calls of 35 traces   127 calls of 26 functions …"),
        (CALLS, 50, "‹ Ray calls of 35 traces …"),
        (CALLS, 20, "‹ Ray calls of 35 t…"),
        # The first digits of an id name it as well, but not too few of them; and a short name stays whole.
        ("‹ leaf   12 ms   18726b006733419d7300", 33, "‹ leaf   12 ms   18726b006733419…"),
        ("‹ leaf   12 ms   18726b006733419d7300", 24, "‹ leaf   12 ms …"),
        (
            "‹ requests of 9 traces   9 requests, 8 failed; 2 calls",
            49,
            "‹ requests of 9 traces   9 requests, 8 failed …",
        ),
        (
            "‹ ServeReplica:application:Recommendation.check_health   12 ms   3 spans",
            50,
            "‹ ServeRep…endation.check_health   12 ms   3 spans",
        ),
    ],
)
def test_titles(title: str, room: int, shown: str) -> None:
    """A long name keeps its ends and what is behind it; else facts go, not parts of them."""
    assert title_in(title, room) == shown.ljust(room)


@given(st.text(st.sampled_from("ab ,日")), st.integers(1, 60))
def test_a_title_fills_its_room(title: str, room: int) -> None:
    """Whatever it is made of."""
    assert cell_len(title_in(title, room)) == room


@given(st.text(st.sampled_from("ab/日"), min_size=30, max_size=150), st.integers(30, 120))
def test_totals_fit(place: str, room: int) -> None:
    """Of a path that has no room its middle is left out, however wide its characters are."""
    text = totals_text(Store(HeldRecords(())), [place], Wrong(0, 0, 0, None), room)
    assert cell_len(text) <= room
    assert "0 traces · 0 spans" in text
