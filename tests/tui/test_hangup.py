"""A terminal that goes away while the viewer runs, as when a connection breaks."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from programs import DEADLINE_S, SPANVIEW, environment_with

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"


@pytest.mark.parametrize("words", [(), ("-f",)], ids=["read", "followed"])
def test_viewer_ends_with_its_terminal(words: tuple[str, ...]) -> None:
    """Nobody can look any more: the viewer ends by itself, and doesn't go on for ever in the background."""
    terminal, side = os.openpty()
    with subprocess.Popen(
        [*SPANVIEW, "view", *words, str(FIXTURES)],
        stdin=side,
        stdout=side,
        stderr=side,
        env=environment_with({"TERM": "xterm-256color"}),
        # Without a controlling terminal no signal tells it.
        start_new_session=True,
    ) as process:
        os.close(side)
        written = b""
        while b"STATE" not in written:
            written += os.read(terminal, 65536)
        os.close(terminal)
        try:
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_the_terminal_as_it_was(number: signal.Signals) -> None:
    """The screen before comes back, with its cursor, and the mouse is the terminal's own again."""
    terminal, side = os.openpty()
    with subprocess.Popen(
        [*SPANVIEW, "view", str(FIXTURES)],
        stdin=side,
        stdout=side,
        stderr=side,
        env=environment_with({"TERM": "xterm-256color"}),
        start_new_session=True,
    ) as process:
        os.close(side)
        written = b""
        while b"STATE" not in written:
            written += os.read(terminal, 65536)
        process.send_signal(number)
        with suppress(OSError):
            while data := os.read(terminal, 65536):
                written += data
        assert process.wait(DEADLINE_S) == 128 + number
        os.close(terminal)
    for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1000h", b"\x1b[?1000l")):
        assert written.rfind(off) > written.rfind(on) >= 0
