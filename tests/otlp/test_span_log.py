"""What is appended is there whole or not at all, and the folder keeps to its limit.

meanwhile                      what is appended
---------                      ----------------
nothing                        at the end of the one file
the file has its size          in a new one
the disk takes only a part     nowhere; what was there stays
somebody removes the file      in a new one
somebody cuts the file         at its new end
the folder has more than it may  the oldest files go that nobody writes
"""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from spanview.analysis.ray.workers import is_of_one_process
from spanview.otlp.span_log import LogLimits, ReceivedFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGE = LogLimits(1 << 30)


@pytest.fixture(name="removed")
def removed_files() -> list[str]:
    """Return the list into which the paths come of files that are removed."""
    return []


def contents(folder: Path) -> list[bytes]:
    """Return what is in the files of a folder, in the order of their names."""
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_one_file_for_all(tmp_path: Path, removed: list[str]) -> None:
    """It begins with the first line, and is named after the time, without a process."""
    folder = tmp_path / "new" / "folder"
    log = ReceivedFiles(str(folder), LARGE, removed.append)
    assert not folder.exists()
    log.append([b"a\n", b"b\n"])
    log.append([b"c\n"])
    log.close()
    (path,) = folder.iterdir()
    assert re.fullmatch(r"received-\d{8}T\d{6}Z\.jsonl", path.name)
    assert path.read_bytes() == b"a\nb\nc\n"
    assert not is_of_one_process(str(path))
    assert log.files == 1


def test_a_file_of_its_size_is_followed_by_another(tmp_path: Path, removed: list[str]) -> None:
    """What belongs together is never torn apart; names are never used twice."""
    log = ReceivedFiles(str(tmp_path), LogLimits(5), removed.append)
    for _ in range(4):
        log.append([b"abc\n"])
    log.close()
    assert contents(tmp_path) == [b"abc\nabc\n"] * 2
    again = ReceivedFiles(str(tmp_path), LogLimits(5), removed.append)
    again.append([b"d\n"])
    again.close()
    assert sorted(contents(tmp_path)) == [b"abc\nabc\n"] * 2 + [b"d\n"]


@pytest.mark.parametrize("taken", [0, 1, 1000, 1_500_000])
def test_a_full_disk_keeps_whole_lines(
    tmp_path: Path, removed: list[str], monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """What is taken in part is cut off again, in whichever of the writes; then it goes on as if nothing had been."""
    log = ReceivedFiles(str(tmp_path), LARGE, removed.append)
    log.append([b"before\n"])
    write, left = os.write, taken

    def full(descriptor: int, data: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(descriptor, data[:left])
        left -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            log.append([b"x" * 600_000 + b"\n"] * 4)
    assert contents(tmp_path) == [b"before\n"]
    log.append([b"after\n"])
    log.close()
    assert contents(tmp_path) == [b"before\nafter\n"]


def test_an_error_among_the_lines_leaves_nothing(tmp_path: Path, removed: list[str]) -> None:
    """Whatever happens while lines are made, none of them stays."""

    def lines() -> Iterator[bytes]:
        yield b"x" * 2_000_000
        raise MemoryError

    log = ReceivedFiles(str(tmp_path), LARGE, removed.append)
    log.append([b"before\n"])
    with pytest.raises(MemoryError):
        log.append(lines())
    log.close()
    assert contents(tmp_path) == [b"before\n"]


def test_a_removed_file_is_begun_anew(tmp_path: Path, removed: list[str]) -> None:
    """Nothing is appended to what nobody can find, and the folder is made again."""
    folder = tmp_path / "folder"
    log = ReceivedFiles(str(folder), LARGE, removed.append)
    log.append([b"a\n"])
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    log.append([b"b\n"])
    assert contents(folder) == [b"b\n"]

    def lines() -> Iterator[bytes]:
        yield b"c" * 2_000_000
        for path in folder.iterdir():
            path.unlink()
        yield b"c\n"

    with pytest.raises(FileNotFoundError):
        log.append(lines())
    log.append([b"d\n"])
    log.close()
    assert contents(folder) == [b"d\n"]


def test_a_cut_file_is_continued_where_it_ends(tmp_path: Path, removed: list[str]) -> None:
    """No hole is left where what was cut off had been."""
    log = ReceivedFiles(str(tmp_path), LARGE, removed.append)
    log.append([b"a" * 100 + b"\n"])
    (path,) = tmp_path.iterdir()
    os.truncate(path, 0)
    log.append([b"b\n"])
    log.close()
    assert contents(tmp_path) == [b"b\n"]


def test_the_oldest_files_go_that_nobody_writes(tmp_path: Path, removed: list[str]) -> None:
    """A folder keeps to its limit; what isn't a received file, or is being written by another process, stays."""
    (tmp_path / "mine.jsonl").write_bytes(b"x" * 5000)
    other = ReceivedFiles(str(tmp_path), LARGE, removed.append)
    other.append([b"other\n"])
    (written,) = (path for path in tmp_path.iterdir() if path.name != "mine.jsonl")
    os.utime(written, (1, 1))
    earlier = tmp_path / "received-20200101T000000Z.3.jsonl"
    earlier.write_bytes(b"y" * 500)
    os.utime(earlier, (2, 2))
    log = ReceivedFiles(str(tmp_path), LogLimits(250, 1000), removed.append)
    for number in range(100):
        log.append([b"%099d\n" % number])
        sizes = {path.name: path.stat().st_size for path in tmp_path.glob("received-*")}
        assert sum(sizes.values()) <= 1000
    log.close()
    other.close()
    assert removed[0] == str(earlier)
    assert {*removed}.isdisjoint({str(written), str(tmp_path / "mine.jsonl")})
    kept = b"".join(sorted(contents(tmp_path))[:-2])
    assert b"%099d\n" % 99 in kept
    assert b"%099d\n" % 0 not in kept


@pytest.mark.parametrize("lines_at_a_time", [1, 7, 300])
def test_no_byte_more_than_the_limit(lines_at_a_time: int, tmp_path: Path, removed: list[str]) -> None:
    """Also where what comes at a time is larger than a file, or than the limit; no name is used twice."""
    limit, sizes = 10_000, list[int]()

    def lines(first: int) -> Iterator[bytes]:
        for number in range(first, first + lines_at_a_time):
            sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
            yield b"%099d\n" % number

    log = ReceivedFiles(str(tmp_path), LogLimits(limit // 4, limit), removed.append)
    for first in range(0, 900, lines_at_a_time):
        log.append(lines(first))
    log.close()
    assert limit // 2 < max(sizes) <= limit
    assert len(removed) == len({*removed})
    kept = sorted(int(line) for data in contents(tmp_path) for line in data.splitlines())
    last = kept[-1]
    assert last >= 899
    assert kept == [*range(last - len(kept) + 1, last + 1)]


def test_an_error_after_several_files(tmp_path: Path, removed: list[str]) -> None:
    """Those that were begun for it are gone, too."""
    log = ReceivedFiles(str(tmp_path), LogLimits(2500, 10_000), removed.append)
    log.append([b"before\n"])

    def lines() -> Iterator[bytes]:
        yield from (b"%099d\n" % number for number in range(60))
        raise MemoryError

    with pytest.raises(MemoryError):
        log.append(lines())
    assert [data for data in contents(tmp_path) if data] == [b"before\n"]
    log.append([b"after\n"])
    log.close()
    assert b"".join(sorted(contents(tmp_path), reverse=True)) == b"before\nafter\n"


def test_fsync_comes_before_the_answer(tmp_path: Path, removed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's name and its content are on the disk; if they aren't, nothing was appended."""
    synced: list[tuple[int, int]] = []
    fsync: Any = os.fsync

    def note(descriptor: int) -> None:
        status = os.fstat(descriptor)
        synced.append((status.st_ino, status.st_size))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    log = ReceivedFiles(str(tmp_path), LogLimits(1 << 30, fsync=True), removed.append)
    log.append([b"a\n"])
    (path,) = tmp_path.iterdir()
    assert [inode for inode, _ in synced] == [tmp_path.stat().st_ino, path.stat().st_ino]
    assert synced[-1][1] == 2

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        log.append([b"b\n"])
    log.close()
    assert contents(tmp_path) == [b"a\n"]
