"""One file that grows: what was read is known again, and what is not the same any more is told from it.

is the file, after so much was read,     was it rewritten?
------------------------------------     -----------------
as it was, or longer                     no
shorter                                  yes
as long, with records of the same width  yes
longer, with another beginning           yes
longer, with another last record         yes
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from builders import Builder, file_of
from spanview.formats.framing.framer import DEFAULT_CAP
from spanview.model.problems import ProblemKind
from spanview.sources import tail as tail_module
from spanview.sources.discover import discover
from spanview.sources.tail import BLOCK_BYTES, FileTail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file with six records, the last of them beyond its first kilobyte."""
    path = tmp_path / "1.json"
    path.write_bytes(records(*"abcdef"))
    return path


@pytest.fixture
def tail(path: Path) -> Iterator[FileTail]:
    """Return the file's tail, read to its end."""
    tail = tail_of(path)
    assert tail.has_news()
    drain(tail)
    yield tail
    tail.close()


def tail_of(path: Path) -> FileTail:
    """Return a tail that has read nothing yet."""
    (found,) = discover([str(path)]).files
    return FileTail(found, cap=DEFAULT_CAP)


def records(*names: str, first: int = 1) -> bytes:
    """Return records of one width, about 400 bytes each, for names of one length."""
    build = Builder()
    return file_of(build.span(name, span=number) for number, name in enumerate(names, first))


def drain(tail: FileTail) -> int:
    """Read to the end and return how many spans came."""
    spans = 0
    while data := tail.read()[1]:
        spans += sum(len(batch.offsets) for batch in tail.decode(data))
    return spans


def flush(tail: FileTail) -> int:
    """Take the file for quiet and return how many spans came."""
    batch = tail.flush()
    return 0 if batch is None else len(batch.offsets)


def test_what_is_appended_is_read_on(path: Path, tail: FileTail) -> None:
    """A file that only grows is no other file, and its new records come alone."""
    for _ in range(20):
        with path.open("ab") as file:
            file.write(records("d"))
        assert tail.has_news()
        assert not tail.was_rewritten()
        assert drain(tail) == 1


REWRITES = {
    "shorter": records("x"),
    "empty": b"",
    "of one width, as long": records(*"uvwxyz"),
    "of one width, with the same beginning": records(*"abcdex"),
    "of one width, longer, with the same beginning": records(*"abcdexg"),
    "of one width, longer": records(*"uvwxyz0"),
    "of one width, differing in an id": records(*"abcde") + records("f", first=9),
    "longer, with the same last record": records(*"xbcdefg"),
    "one byte longer": b" " + records(*"abcdef"),
}


@pytest.mark.parametrize("content", REWRITES.values(), ids=REWRITES.keys())
def test_other_content_is_noticed(path: Path, tail: FileTail, content: bytes) -> None:
    """A file that was cut and written anew is told from one that grew, whatever its size."""
    inode = path.stat().st_ino
    path.write_bytes(content)
    assert path.stat().st_ino == inode
    assert tail.has_news()
    assert tail.was_rewritten()


def test_same_size_within_one_tick_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewrite of the same size may have the same times: what was new is looked at once more when a tick is over."""
    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(tail_module, "time", clock)
    tail = tail_of(path)
    found = tail.file
    assert tail.has_news(found)
    drain(tail)
    path.write_bytes(records(*"uvwxyz"))
    clock.now += 0.01
    assert tail.has_news(found)
    assert tail.was_rewritten()
    clock.now += 0.7
    assert tail.has_news(found)
    assert not tail.has_news(found)
    tail.close()


def test_same_times_are_not_enough(path: Path, tail: FileTail) -> None:
    """Whoever sets a file's times back to what they were can't hide that it was written anew."""
    times = path.stat()
    while tail.has_news():
        pass
    path.write_bytes(records(*"uvwxyz"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert tail.has_news()
    assert tail.was_rewritten()


def test_rewrite_between_look_and_read_is_noticed(path: Path, tail: FileTail) -> None:
    """Bytes beyond the position that belong to another content aren't read; the next look tells why."""
    with path.open("ab") as file:
        file.write(records("d"))
    assert tail.has_news()
    assert not tail.was_rewritten()
    path.write_bytes(records(*"uvwxyz012"))
    assert tail.read()[1] == b""
    assert tail.has_news()
    assert tail.was_rewritten()


def test_checksums_are_of_what_was_read(path: Path, tail: FileTail) -> None:
    """Content that takes the place of bytes after they were read, and before they are decoded, is other content."""
    with path.open("ab") as file:
        file.write(records("d"))
    _, data = tail.read()
    path.write_bytes(records(*"abcdef", "x"))
    tail.decode(data)
    assert tail.was_rewritten()


@pytest.mark.parametrize("kept", [0, 1, 10])
def test_unfinished_end_that_is_written_anew_is_noticed(path: Path, tail: FileTail, kept: int) -> None:
    """A torn end that is cut away, wholly or in part, and replaced by as many other bytes is no growth."""
    half = records("h")[:300]
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(half)
    drain(tail)
    assert not tail.was_rewritten()
    os.truncate(path, size + kept)
    with path.open("ab") as file:
        file.write(records("i")[kept:])
    assert tail.has_news()
    assert tail.was_rewritten()


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system doesn't tell holes from data")
def test_holes_are_passed_over(path: Path) -> None:
    """Records stand before and behind holes of gigabytes; a hole at the end is no end of a record yet."""
    size = 1 << 30
    half, rest = records("h")[:300], records("h")[300:]
    for number in (1, 2):
        with path.open("r+b") as file:
            file.seek(number * size)
            file.write(records("g", first=10 + number))
    with path.open("ab") as file:
        file.write(half)
    os.truncate(path, 3 * size)
    tail = tail_of(path)
    assert tail.file.content < size
    assert drain(tail) == 8
    assert tail.position == 2 * size + len(records("g")) + len(half)
    with path.open("r+b") as file:
        file.seek(tail.position)
        file.write(rest)
    assert tail.has_news()
    assert not tail.was_rewritten()
    assert drain(tail) == 1
    with path.open("r+b") as file:
        file.seek(5 * size)
        file.write(records("i"))
    assert drain(tail) == 1
    (batch,) = tail.finish()
    assert not batch.gaps


def test_hole_inside_a_record_tears_it(path: Path) -> None:
    """What stands before a hole doesn't go on behind it."""
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(records("h")[:300])
        file.seek(1 << 24)
        file.write(records("i"))
    tail = tail_of(path)
    gaps, spans = [], 0
    while data := tail.read()[1]:
        for batch in tail.decode(data):
            spans += len(batch.offsets)
            gaps += [(gap.kind, gap.offset) for gap in batch.gaps]
    tail.close()
    assert (spans, gaps) == (7, [(ProblemKind.TORN, size)])


def test_quiet_file_has_no_news(path: Path, tail: FileTail) -> None:
    """A file whose size and time stay the same is not looked into again."""
    os.utime(path, ns=(1, 1_500_000_000_123_456_789))
    assert tail.has_news()
    assert not tail.was_rewritten()
    while tail.has_news():
        pass
    assert not tail.has_news()


def test_replaced_file_is_not_opened(path: Path) -> None:
    """A file that took the path's place since the search isn't taken for the one that was found."""
    (found,) = discover([str(path)]).files
    other = path.with_name("2.json")
    other.write_bytes(records("x"))
    os.replace(other, path)
    with pytest.raises(FileNotFoundError):
        FileTail(found, cap=DEFAULT_CAP)


@pytest.mark.parametrize("make", [lambda path: os.symlink("2.json", path), os.mkfifo], ids=["symbolic link", "FIFO"])
def test_what_took_the_place_is_neither_followed_nor_waited_for(path: Path, make: Callable[[Path], None]) -> None:
    """A symbolic link or FIFO that took a file's place is refused at once."""
    (found,) = discover([str(path)]).files
    path.with_name("2.json").write_bytes(records("secret"))
    path.unlink()
    make(path)
    with pytest.raises(OSError, match=r".*"):
        FileTail(found, cap=DEFAULT_CAP)


def test_closed_file_is_opened_again(path: Path, tail: FileTail) -> None:
    """Giving the descriptor back loses nothing, neither the position nor what the file is recognised by."""
    tail.close()
    assert not tail.is_open
    with path.open("ab") as file:
        file.write(records("d"))
    assert not tail.was_rewritten()
    assert drain(tail) == 1
    tail.close()
    path.write_bytes(records(*"uvwxyz012"))
    assert tail.was_rewritten()


def test_whole_record_without_line_end_is_settled_once(path: Path, tail: FileTail) -> None:
    """What has no line end yet is given out when the file is quiet, at the latest, and once; half a record isn't."""
    record = records("d").rstrip()
    with path.open("ab") as file:
        file.write(record[:100])
    assert drain(tail) + flush(tail) == 0
    with path.open("ab") as file:
        file.write(record[100:])
    assert drain(tail) + flush(tail) == 1
    assert drain(tail) + flush(tail) == 0
    with path.open("ab") as file:
        file.write(b"\n" + records("e"))
    assert drain(tail) == 1


def test_large_files_come_in_blocks(path: Path) -> None:
    """No more than a block is read at once, and the blocks make the file."""
    data = records(*(f"{number:05}" for number in range(4 * BLOCK_BYTES // 400)))
    path.write_bytes(data)
    tail = tail_of(path)
    blocks = []
    while block := tail.read()[1]:
        blocks.append(block)
        tail.decode(block)
    tail.close()
    assert b"".join(blocks) == data
    assert {len(block) for block in blocks[:-1]} == {BLOCK_BYTES}
