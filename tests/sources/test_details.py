"""Records are read again from the spool or their file, and never from another one that took its place."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from builders import Builder, file_of
from programs import SPANVIEW
from spanview.api.trace import traces_of
from spanview.sources import details as module
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def details() -> Iterator[RecordReader]:
    """Return a reader that knows no source yet."""
    details = RecordReader()
    yield details
    details.close()


def register(details: RecordReader, source: int, path: Path, data: bytes) -> None:
    """Write a file and say that a source is read from it."""
    path.write_bytes(data)
    status = path.stat()
    details.register(source, str(path), status.st_dev, status.st_ino)


def test_bytes_come_from_the_file(details: RecordReader, tmp_path: Path) -> None:
    """A stretch of the file comes back; beyond its end and for an unknown source there is None."""
    register(details, 3, tmp_path / "1.json", b"0123456789")
    assert details.read(3, 2, 5) == b"23456"
    assert details.read(3, 8, 2) == b"89"
    assert details.read(3, 8, 3) is None
    assert details.read(4, 0, 1) is None


def test_spool_comes_first(details: RecordReader, tmp_path: Path) -> None:
    """What was kept is what was read, whatever the file says now."""
    register(details, 0, tmp_path / "1.json", b"0123456789")
    details.spool.write(0, 4, b"live")
    assert details.read(0, 4, 4) == b"live"
    assert details.read(0, 0, 4) == b"0123"


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_replaced_file_is_not_read(details: RecordReader, tmp_path: Path, *, is_open: bool) -> None:
    """After another file took the path, the old one is read while it is held open, and else nothing is."""
    path = tmp_path / "1.json"
    register(details, 0, path, b"old one")
    if is_open:
        assert details.read(0, 0, 3) == b"old"
    (tmp_path / "2.json").write_bytes(b"new one")
    os.replace(tmp_path / "2.json", path)
    assert details.read(0, 0, 3) == (b"old" if is_open else None)
    details.retire(0)
    assert details.read(0, 0, 3) is None


@pytest.mark.parametrize("what", ["nothing", "symbolic link", "FIFO", "folder"])
def test_what_took_the_place_is_not_opened(details: RecordReader, tmp_path: Path, what: str) -> None:
    """A removed file, and a link, FIFO or folder in its place, give None at once."""
    path = tmp_path / "1.json"
    register(details, 0, path, b"old one")
    os.rename(path, tmp_path / "moved.json")
    if what == "symbolic link":
        path.symlink_to("moved.json")
    elif what == "FIFO":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    assert details.read(0, 0, 3) is None


def test_few_files_are_held_open(details: RecordReader, tmp_path: Path) -> None:
    """However many files are looked at, a bounded number of descriptors is held, and all can be looked at again."""
    count = 3 * module._MAX_OPEN_FILES
    before = len(os.listdir("/dev/fd"))
    for source in range(count):
        register(details, source, tmp_path / f"{source}.json", b"%03d" % source)
    for _ in range(2):
        for source in range(count):
            assert details.read(source, 0, 3) == b"%03d" % source
    assert len(os.listdir("/dev/fd")) - before <= module._MAX_OPEN_FILES
    details.close()
    assert len(os.listdir("/dev/fd")) == before
    assert details.read(0, 0, 3) is None


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="descriptors are counted where Linux lists them")
def test_forgotten_stores_hold_nothing_open(tmp_path: Path) -> None:
    """Whoever loads folders again and again, and closes nothing, doesn't run out of descriptors."""
    (tmp_path / "1.json").write_bytes(file_of([Builder().span("a")]))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        (trace,) = traces_of(load_store(tmp_path))
        assert [node.span.name for node, _ in trace.walk() if node.span is not None] == ["a"]
    assert len(os.listdir("/proc/self/fd")) <= before + 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of descriptors")
@pytest.mark.parametrize("limit", [24, 30, 40])
def test_few_descriptors(limit: int, tmp_path: Path) -> None:
    """With few of them nothing is taken for lost: files are closed for one another."""
    build = Builder()
    for number in range(80):
        (tmp_path / f"{number}.json").write_bytes(file_of([build.span(attributes={"k": "v"}) for _ in range(3)]))
    words = [*SPANVIEW, "spans", "--no-cache", "-q", "k=v", str(tmp_path)]
    run = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *words], capture_output=True, text=True, check=True
    )
    assert len(run.stdout.splitlines()) == 240
    assert not run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of descriptors")
def test_some_descriptors_are_left_for_others() -> None:
    """Where a process may have few, most of them aren't taken."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (80, before[1]))
    try:
        assert RecordReader()._max_open == 20
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert RecordReader()._max_open == module._MAX_OPEN_FILES
