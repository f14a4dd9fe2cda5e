"""Lines of a file that nobody reads as a whole, found from anywhere in it, whatever is in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanview.analysis.telling import unheard
from spanview.sources import line_file
from spanview.sources.line_file import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CUT, BLOCK, PIECE = 8, 32, 24
"""Bytes at which a line is cut, of a block and of a piece that is searched; so few that all edges occur."""


@pytest.fixture(scope="module", autouse=True)
def _small() -> Iterator[None]:
    with (
        patch.object(line_file, "MAX_LINE_BYTES", CUT),
        patch.object(line_file, "_BLOCK_BYTES", BLOCK),
        patch.object(line_file, "_SEARCH_BYTES", PIECE),
    ):
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a log."""
    return tmp_path_factory.mktemp("logs") / "worker.out"


def slow_starts(data: bytes) -> list[int]:
    """Return where lines begin, byte by byte."""
    starts, start = [], 0
    for offset in range(len(data)):
        if offset == start:
            starts.append(start)
        first_cut = next(cut for cut in range(start + CUT, start + 3 * CUT) if not cut % CUT)
        if data[offset] == ord("\n") or offset + 1 == first_cut:
            start = offset + 1
    return starts


TEXT = st.lists(st.sampled_from([b"\n", b"a", b"B\r\n", b"ab\x00\xff", b"x" * 7, b"y" * 20, b"\xc3\xa4"])).map(b"".join)


@given(TEXT)
def test_lines_are_the_same_from_everywhere(path: Path, data: bytes) -> None:
    """Forwards, backwards and from any byte inside of them."""
    path.write_bytes(data)
    file, starts = LineFile(str(path)), slow_starts(data)
    ends = [*starts[1:], len(data)][: len(starts)]
    assert file.starts_from(0, 1000) == starts
    assert file.starts_before(len(data), 1000) == starts
    texts = [data[start:end].rstrip(b"\r\n") for start, end in zip(starts, ends, strict=True)]
    assert [*file.lines_from(0)] == [*zip(starts, texts, strict=True)]
    for start, end in zip(starts, ends, strict=True):
        assert {file.line_start(offset) for offset in range(start, end)} == {start}
        assert file.line_end(start) == end


@given(TEXT, st.sampled_from([b"a", b"b\n", b"xy", b"AB", b"yyyyyyyyyyyy"]), st.integers(0, 200))
def test_a_text_is_found_where_it_is(path: Path, data: bytes, needle: bytes, at: int) -> None:
    """The next line with it, or the one before, in both cases where that is asked for."""
    path.write_bytes(data)
    file, starts = LineFile(str(path)), slow_starts(data)
    start = starts[at % len(starts)] if starts else 0
    after = data.lower().find(needle.lower(), start)
    before = data.lower().rfind(needle.lower(), 0, start)
    found = [file.find(needle, start, by, unheard, folds_case=True) for by in (1, -1)]
    assert found == [None if offset < 0 else file.line_start(offset) for offset in (after, before)]
    exact = data.find(needle, start)
    assert file.find(needle, start, 1, unheard, folds_case=False) == (None if exact < 0 else file.line_start(exact))


def test_what_is_appended_is_seen(path: Path) -> None:
    """After a look; the line that had no end goes on."""
    path.write_bytes(b"one\ntw")
    file = LineFile(str(path))
    assert file.line(4) == b"tw"
    with path.open("ab") as log:
        log.write(b"o\nthree")
    assert file.starts_from(0, 9) == [0, 4]
    assert file.look()
    assert [line for _, line in file.lines_from(0)] == [b"one", b"two", b"three"]


@pytest.mark.parametrize("change", ["truncated", "truncated and longer", "replaced", "removed"])
def test_another_file_is_noticed(path: Path, change: str) -> None:
    """A file that is truncated, or another one at its path; what was removed can be read as before."""
    path.write_bytes(b"one\n")
    file = LineFile(str(path))
    if change == "truncated":
        path.write_bytes(b"x\n")
    elif change == "truncated and longer":
        path.write_bytes(b"once more\n")
    else:
        path.rename(path.with_suffix(".1"))
        if change == "replaced":
            path.write_bytes(b"one\ntwo\n")
    assert file.look() == (change == "removed")
    if change == "removed":
        assert file.line(0) == b"one"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, a device, a pipe that nobody writes to: an error at once, and nothing waits."""
    paths = [str(tmp_path), os.devnull]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        paths.append(str(tmp_path / "pipe"))
    for other in paths:
        with pytest.raises(OSError, match=r".+"):
            LineFile(other)
