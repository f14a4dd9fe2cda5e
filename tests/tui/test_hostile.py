"""Hostile data at a real terminal, where no list is shown; rows 17 and 18 of the reliability tests walk the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hostile import ALL, in_file_names, make_folder, shown
from terminals import Terminal, unprintable

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")


def test_an_empty_folder_with_a_hostile_name(tmp_path: Path) -> None:
    """A folder's name acts neither in the header nor in the words about what was looked at."""
    name = in_file_names(ALL)
    folder = os.path.join(os.fspath(tmp_path), name)
    os.mkdir(folder)
    with Terminal(name, size=(600, 24), folder=tmp_path) as terminal:
        terminal.until("no spans here", f"looked in {shown(name)}")
        terminal.send(b"q")
        assert terminal.wait() == 0
        assert not unprintable(terminal.output)


def test_copying_is_the_only_way_to_the_clipboard(tmp_path: Path) -> None:
    """When a value is copied, the terminal is told so once, with just that value, encoded."""
    with Terminal(make_folder(tmp_path, ALL), size=(160, 48)) as terminal:
        # The notice of what isn't followed is the last that is said by itself.
        assert terminal.has_soon("TRACE", "a symbolic link in a folder")
        terminal.send(b"y")
        assert terminal.has_soon("copied the trace id")
        assert terminal.output.count(b"\x1b]52;c;") == 1


@pytest.mark.parametrize("trace", ["ff", "[/nope]"])
def test_an_unknown_trace(tmp_path: Path, trace: str) -> None:
    """An id that fits none, or is none, ends the program with 2 and a word about it."""
    with Terminal(make_folder(tmp_path, ALL), "--trace", trace) as terminal:
        assert terminal.wait() == 2
        assert b"spanview: " in terminal.output
        assert b"Traceback" not in terminal.output
