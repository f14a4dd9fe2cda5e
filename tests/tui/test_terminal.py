r"""What a terminal sends, parted into keys and pasted texts, in any pieces.

sent                             keys and marks                pasted
----                             --------------                ------
j ESC[200~ q ESC[2J ESC[201~ k   j ESC[200~ ESC[201~ k         q ESC[2J
"""

from __future__ import annotations

import os
import threading
from select import select

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import constants
from textual.events import Event, Key

from spanview.tui.app import terminal
from spanview.tui.app.terminal import Pastes, careful

BEGIN, END = "\x1b[200~", "\x1b[201~"
CASES = [
    # sent, handed on, pasted
    ("abc", "abc", []),
    (f"j{BEGIN}q\x1b[2J{END}k", f"j{BEGIN}{END}k", ["q\x1b[2J"]),
    (f"{BEGIN}{END}{BEGIN}two{END}", f"{BEGIN}{END}{BEGIN}{END}", ["", "two"]),
    (f"{BEGIN}{BEGIN}{END}{END}", f"{BEGIN}{END}{END}", [BEGIN]),
    (f"{BEGIN}\x1b\x1b[\x1b[20{END}", f"{BEGIN}{END}", ["\x1b\x1b[\x1b[20"]),
    (f"\x1b[A{BEGIN}never ends", f"\x1b[A{BEGIN}", []),
    ("\x1b[20", "\x1b[20", []),
    (f"\x1b\x1b[{BEGIN}x{END}", f"\x1b\x1b[{BEGIN}{END}", ["x"]),
    (f"{BEGIN}{'x' * 100_000}{END}y", f"{BEGIN}{END}y", ["x" * 65_536]),
]


@pytest.mark.parametrize(("sent", "keys", "pasted"), CASES)
@pytest.mark.parametrize("size", [1, 2, 5, 7, 4096, 1_000_000])
def test_pastes(sent: str, keys: str, pasted: list[str], size: int) -> None:
    """What is between the marks is text, however it is cut; what is outside is handed on at once."""
    pastes = Pastes()
    handed_on = [pastes.take(sent[at : at + size]) for at in range(0, len(sent), size)]
    assert "".join(handed_on) == keys
    assert list(pastes.texts) == pasted


@given(st.lists(st.sampled_from([BEGIN, END, "\x1b", "[200~", "[20", "1~", "q", "\x1b[A", "漢"])), st.data())
def test_any_pieces(parts: list[str], data: st.DataObject) -> None:
    """Cut anywhere it comes to the same, and keys aren't held back."""
    sent = "".join(parts)
    whole, cut = Pastes(), Pastes()
    expected, at, keys = whole.take(sent), 0, ""
    while at < len(sent):
        end = data.draw(st.integers(at + 1, len(sent)))
        keys += cut.take(sent[at:end])
        at = end
    assert keys == expected
    assert cut.texts == whole.texts
    if BEGIN not in sent:
        assert keys == sent


def test_escape_alone_is_a_key_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could be the beginning of another key is waited for shortly, and only behind an escape."""
    from textual.drivers.linux_driver import LinuxDriver

    reading, writing = os.pipe()
    driver = object.__new__(careful(LinuxDriver))
    events, waits = list[Event](), list[float]()
    driver.__dict__.update(_debug=False, fileno=reading, exit_event=threading.Event(), process_message=events.append)

    def ready(files: list[int], _: list[int], __: list[int], seconds: float) -> tuple[list[int], list[int], list[int]]:
        waits.append(seconds)
        if events:
            driver.exit_event.set()  # type: ignore[attr-defined]
        return select(files, [], [], seconds)

    monkeypatch.setattr(terminal, "select", ready)
    os.write(writing, b"\x1b")
    driver.run_input_thread()  # type: ignore[attr-defined]
    assert [event.key for event in events if isinstance(event, Key)] == ["escape"]
    longest, shortest = waits[0], waits[1]
    assert waits == [longest, shortest, longest]
    assert constants.ESCAPE_DELAY < shortest < longest


def test_other_drivers_stay_what_they_are() -> None:
    """Only what reads a terminal is replaced."""
    from textual.drivers.headless_driver import HeadlessDriver

    assert careful(HeadlessDriver) is HeadlessDriver
