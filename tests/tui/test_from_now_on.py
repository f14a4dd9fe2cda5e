"""Following from within the viewer: what was shown before is shown again, and what comes from then on, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from spanview.tui.app.feed import FeedState
from spanview.tui.app.opening import Opening
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


def test_esc_and_a_key_right_behind_it(tmp_path: Path) -> None:
    """Both arrive, however quickly they come: at once, and in pieces."""
    (tmp_path / "1.json").write_bytes(trace(1, "one") + trace(2, "two"))
    with Terminal(str(tmp_path)) as terminal:
        terminal.until("2 spans")
        terminal.send(b"/one\x1b/two\r")
        assert terminal.has_soon("╱ two ")
        assert terminal.has_soon("1 of 2 traces")
        terminal.send(b"\x1b", b"/", b"one\r")
        assert terminal.has_soon("╱ one ")
        terminal.send(b"\x1b", b"[A", b"\x1b")
        assert terminal.is_soon(lambda lines: not any("╱" in line for line in lines))
        terminal.send(b"q")
        assert terminal.wait() == 0


def test_a_key_in_two_pieces(tmp_path: Path) -> None:
    """What begins with an escape is waited for, as long as the terminal may take."""
    (tmp_path / "1.json").write_bytes(trace(1, "one") + trace(2, "two"))
    with Terminal(str(tmp_path), environment={"ESCDELAY": "3000"}) as terminal:
        terminal.until("2 spans")
        terminal.send(b"\x1b")
        terminal.rest(0.2)
        terminal.send(b"[B\r")
        terminal.until("‹ one")
        terminal.send(b"q", b"q")
        assert terminal.wait() == 0


def test_a_trace_that_is_to_come(tmp_path: Path) -> None:
    """The trace that was asked for is opened when it comes; who followed it from within sees what there is by then."""
    path = tmp_path / "1.json"
    path.write_bytes(trace(1, "one"))
    with Terminal("--follow", "--trace", f"{2:032x}", str(tmp_path)) as terminal:
        terminal.until("1 span", "yet: it will be opened when it arrives")
        with path.open("ab") as file:
            file.write(trace(2, "two"))
        terminal.until("‹ two")
        terminal.send(b"q", b"q")
        assert terminal.wait() == 0
    with Terminal(str(tmp_path)) as terminal:
        terminal.until("2 spans")
        terminal.send(ENTER)
        terminal.until("‹ two")
        path.write_bytes(b"")
        terminal.send(b" ")
        terminal.until("0 spans", FOLLOWED)
        path.write_bytes(trace(2, "two again"))
        terminal.until("‹ two again")
        terminal.send(b"q", b"q")
        assert terminal.wait() == 0


@pytest.mark.parametrize("wanted", ["zzz", "0"])
def test_a_trace_that_can_not_come(tmp_path: Path, wanted: str) -> None:
    """No id, and the beginning of several, are mistakes at once: one line says which, and how to mend it."""
    (tmp_path / "1.json").write_bytes(trace(1, "one") + trace(2, "two"))
    with Terminal("--follow", "--trace", wanted, str(tmp_path)) as terminal:
        assert terminal.wait() == 2
        assert "Traceback" not in terminal.output.decode()
        assert "isn't a trace id" in terminal.output.decode() or "give more digits" in terminal.output.decode()


async def test_what_is_gone_stays(tmp_path: Path) -> None:
    """Nothing is dropped for what can't be read again."""
    async with looking_at(Builder().span("a"), opening=Opening((str(tmp_path / "gone"),))) as look:
        await look.press("space")
        assert "is gone; the spans read from it are kept" in look.footer
        assert look.app.again is None


async def test_it_is_not_held_before_all_is_read() -> None:
    """A part would be taken for the whole."""
    async with looking_at(Builder().span("a"), opening=Opening(("spans",), follow=True)) as look:
        await look.tell(FeedState(loading=True, following=True))
        await look.press("space")
        assert "still reading" in look.footer
        assert not look.app.paused


@pytest.mark.parametrize(
    ("places", "state", "said"),
    [
        (("spans",), FeedState(loading=True), "still reading"),
        (("-",), FeedState(loading=False), "standard input has ended, so it can't be followed"),
    ],
)
async def test_why_not(places: tuple[str, ...], state: FeedState, said: str) -> None:
    """Where it can't be followed, that is said, and nothing ends."""
    async with looking_at(Builder().span("a"), opening=Opening(places)) as look:
        await look.tell(state)
        await look.press("space")
        assert said in look.footer
        assert look.app.again is None
