"""A terminal that goes away while the viewer runs, as when a connection breaks."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Final

import pytest

from programs import DEADLINE_S, SPANVIEW, environment_with
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

_KEY_S: Final = 0.05
"""Long enough for a key to be drawn by itself."""
_END_S: Final = 20.0
"""Long enough to end in, on a busy machine."""
FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"


@contextmanager
def _viewing(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], int, bytes]]:
    """Run a viewer at a terminal; what was written until its list is there comes with both."""
    terminal, side = os.openpty()
    with subprocess.Popen(
        [*SPANVIEW, "view", *words, str(FIXTURES)],
        stdin=side,
        stdout=side,
        stderr=side,
        env=environment_with({"TERM": "xterm-256color"}),
        # Without a controlling terminal no signal tells it that this one goes.
        start_new_session=True,
    ) as process:
        os.close(side)
        written = b""
        while b"PROCS" not in written:
            written += os.read(terminal, 65536)
        try:
            yield process, terminal, written
        finally:
            process.kill()


@pytest.mark.parametrize("words", [(), ("-f",)], ids=["read", "followed"])
def test_viewer_ends_with_its_terminal(words: tuple[str, ...]) -> None:
    """Nobody can look any more: the viewer ends by itself, and doesn't go on for ever in the background."""
    with _viewing(*words) as (process, terminal, _):
        os.close(terminal)
        assert process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_the_terminal_as_it_was(number: signal.Signals) -> None:
    """The screen before comes back, with its cursor, and the mouse is the terminal's own again."""
    with _viewing() as (process, terminal, before):
        written = before
        process.send_signal(number)
        with suppress(OSError):
            while data := os.read(terminal, 65536):
                written += data
        assert process.wait(DEADLINE_S) == 128 + number
        os.close(terminal)
    for mode in (b"1049", b"1000"):
        assert written.rfind(b"\x1b[?" + mode + b"l") > written.rfind(b"\x1b[?" + mode + b"h") >= 0
    assert written.rfind(b"\x1b[?25h") > written.rfind(b"\x1b[?25l") >= 0


def test_a_viewer_whose_screen_is_gone_ends_when_told_to() -> None:
    """However much it has drawn since: nothing that can't be written holds it up."""
    keys, keys_side = os.openpty()
    screen, side = os.openpty()
    with subprocess.Popen(
        [*SPANVIEW, "view", str(FIXTURES)],
        stdin=keys_side,
        stdout=side,
        stderr=side,
        env=environment_with({"TERM": "xterm-256color"}),
        start_new_session=True,
    ) as process:
        try:
            os.close(side)
            written = b""
            while b"PROCS" not in written:
                written += os.read(screen, 65536)
            os.close(screen)
            for _ in range(60):
                os.write(keys, b"j")
                time.sleep(_KEY_S)
            process.send_signal(signal.SIGTERM)
            assert process.wait(_END_S) == 128 + signal.SIGTERM
        finally:
            process.kill()
            os.close(keys)
            os.close(keys_side)


@pytest.mark.parametrize("key", [b"q", b"\x03"], ids=["q", "ctrl+c"])
def test_a_long_look_does_not_keep_the_terminal(tmp_path: Path, key: bytes) -> None:
    """What is found out in a thread, and can't be ended in between, isn't waited for by whoever leaves."""
    slow = f"""
        import atexit, time
        from spanview.analysis.silent import SilentTraces
        def look(*_):
            open({str(tmp_path / "begun")!r}, "x").close()
            time.sleep(600)
        SilentTraces.look = look
        atexit.register(open, {str(tmp_path / "ended")!r}, "x")
    """
    (tmp_path / "sitecustomize.py").write_text(dedent(slow))
    with Terminal(str(FIXTURES), environment={"PYTHONPATH": str(tmp_path)}) as terminal:
        terminal.until("PROCS")
        assert terminal.is_soon(lambda _: (tmp_path / "begun").exists())
        begun = time.monotonic()
        terminal.send(key)
        assert terminal.wait() == 0
        assert time.monotonic() - begun < _END_S
        assert "Traceback" not in terminal.output.decode()
    # What ends with Python ends as it always does.
    assert (tmp_path / "ended").exists()
