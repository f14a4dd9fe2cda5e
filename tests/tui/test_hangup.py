"""A terminal that goes away while the viewer runs, as when a connection breaks."""

from __future__ import annotations

import os
import subprocess
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
