"""Following from within the viewer: what was shown before is shown again, and what comes from then on, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from spanview.tui.feed import FeedState
from spanview.tui.opening_app import Opening
from terminals import Terminal
from viewers import looking_at

if TYPE_CHECKING:
    from pathlib import Path

ENTER, ESCAPE = b"\r", b"\x1b"
FOLLOWED: Final = "● following"


def trace(number: int, name: str) -> bytes:
    """Return the record of a trace with one span."""
    return file_of([Builder().span(name, trace=number, span=number, start=number)])


def test_where_nothing_is_followed(tmp_path: Path) -> None:
    """The space bar begins to follow at the filter and the trace that are looked at; then it holds still."""
    path = tmp_path / "1.json"
    path.write_bytes(trace(1, "one") + trace(2, "two") + trace(3, "other"))
    with Terminal(str(tmp_path)) as terminal:
        terminal.until("3 spans", "␣ follow")
        terminal.send(b"/", b"o", b" -other", ENTER)
        terminal.until("2 of 3 traces")
        terminal.send(ENTER)
        terminal.until("‹ two")
        terminal.send(b" ")
        terminal.until(FOLLOWED, "‹ two", "␣ pause")
        with path.open("ab") as file:
            file.write(trace(4, "four"))
        terminal.send(ESCAPE)
        terminal.until("3 of 4 traces", "four")
        terminal.send(b" ")
        terminal.until("‖ paused")
        terminal.send(b"q")
        assert terminal.wait() == 0


@pytest.mark.parametrize(
    ("places", "state", "said"),
    [
        (("spans",), FeedState(loading=True), "not everything was read yet"),
        (("-",), FeedState(loading=False), "standard input was read to its end: it can't be followed"),
    ],
)
async def test_why_not(places: tuple[str, ...], state: FeedState, said: str) -> None:
    """Where it can't be followed, that is said, and nothing ends."""
    async with looking_at(Builder().span("a"), opening=Opening(places)) as look:
        await look.tell(state)
        await look.press("space")
        assert said in look.footer
        assert look.app.again is None
