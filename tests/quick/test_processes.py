"""What the quick way reads, and what becomes of it when files vanish and processes are killed.

usual spans    scanned, not decoded, but for one of each resource
the others     decoded, and their neighbours scanned
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from builders import Builder, file_of
from spanview.cli import main
from spanview.formats.decoder import batch_of
from spanview.index.summary import summary_of
from spanview.model.problems import ProblemKind
from spanview.quick import pages, processes
from spanview.sources import quickly
from spanview.sources.details import open_file
from spanview.sources.terms import WorkerStart

from .folders import LAYOUTS, SDK_LAYOUTS, make
from .test_same import contents, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.formats.framing.frames import Frames
    from spanview.formats.rows import Batch

    from .folders import Layout

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
_NEVER = 1 << 60
linux_only = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="other processes are used on Linux only")


@pytest.fixture(name="decoded")
def note_decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list into which the offsets of the records come that are decoded."""
    offsets: list[int] = []

    def note(frames: Frames) -> Batch:
        batch = batch_of(frames)
        offsets.extend(batch.offsets)
        return batch

    monkeypatch.setattr(pages, "batch_of", note)
    return offsets


@pytest.mark.parametrize("odd", [0, 1, 20])
def test_only_odd_records_are_decoded(odd: int, tmp_path: Path, decoded: list[int]) -> None:
    """One record in fifty has an event, and is decoded; the record behind it is not."""
    build = Builder()
    spans = [build.span(parent=1, service="shop", attributes={"k": number}) for number in range(1_000)]
    for number in range(odd):
        spans[50 * number]["links"] = [{"context": spans[0]["context"], "attributes": {}}]
    (tmp_path / "1.json").write_bytes(file_of(spans))
    assert len(load(tmp_path, quick_from=0).spans) == 1_000
    assert len(decoded) == odd


@pytest.fixture
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quickly, "process_count", lambda files: min(2, files))


@linux_only
@pytest.mark.usefixtures("_two_cores")
def test_a_file_that_vanishes_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is gone when another process opens it is reported, and the others are read."""
    shutil.copytree(FIXTURES / "serve" / "spans", tmp_path / "spans")
    gone = tmp_path / "spans" / "proxy_192.0.2.2_tracing.json"

    def open_late(path: str, device: int, inode: int) -> int:
        gone.unlink(missing_ok=True)
        return open_file(path, device, inode)

    monkeypatch.setattr(quickly, "open_file", open_late)
    store = load(tmp_path, quick_from=0, processes=WorkerStart.FORKED)
    assert [(problem.kind, problem.file) for problem in store.problems()] == [("unreadable", str(gone))]
    assert len(store.spans) == 566 - 102
    assert summary_of(store).files == sum(file.is_file() for file in tmp_path.rglob("*"))


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_failing_read_is_tried_again(failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice; when it fails once more the file is reported, with what was read of it."""
    monkeypatch.setattr(pages, "PAGE_BYTES", 20_000)
    build, left, read = Builder(), failures, os.preadv
    for number in range(2):
        (tmp_path / f"{number}.json").write_bytes(file_of([build.span() for _ in range(100)]))

    def fail(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        nonlocal left
        if offset and left:
            left -= 1
            raise OSError(errno.EIO, "Input/output error")
        return read(descriptor, buffers, offset)

    monkeypatch.setattr("spanview.quick.files.os.preadv", fail)
    store = load(tmp_path, quick_from=0)
    problems = [problem.kind for problem in store.problems()]
    assert problems.count(ProblemKind.UNREADABLE) == (failures == 3)
    assert (len(store.spans) == 200) == (failures < 3)
    assert len(store.spans) > 100


@linux_only
@pytest.mark.usefixtures("_two_cores")
@pytest.mark.parametrize("layouts", [SDK_LAYOUTS, LAYOUTS], ids=["of the SDK", "all"])
@pytest.mark.parametrize("pages_until", [1, 4, 9, 20])
def test_a_killed_process_costs_nothing(
    pages_until: int, layouts: Sequence[Layout], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When processes are killed, what they would have read is read here, from where they were.

    Of lines with several spans, where damage begins may be said a few bytes later.
    """
    make(tmp_path, random.Random(7), files=6, records=300, layouts=layouts)
    monkeypatch.setattr(pages, "PAGE_BYTES", 20_000)
    monkeypatch.setattr(processes, "BLOCK_ROWS", 100)
    parent, count, take = os.getpid(), 0, pages.Pages._take

    def take_and_die(self: pages.Pages, pieces: list[pages._Piece]) -> None:
        nonlocal count
        count += 1
        if os.getpid() != parent and count == pages_until:
            os.kill(os.getpid(), signal.SIGKILL)
        take(self, pieces)

    expected = contents(load(tmp_path, quick_from=_NEVER))
    monkeypatch.setattr(pages.Pages, "_take", take_and_die)
    found = contents(load(tmp_path, quick_from=0, processes=WorkerStart.FORKED))
    assert found["spans"] == expected["spans"]
    if layouts is SDK_LAYOUTS:
        assert found == expected


_LOAD_AND_DIE = """
import os, signal, sys
from spanview.quick import processes
from spanview.sources import quickly
quickly.process_count = lambda files: min(3, files)
processes.BLOCK_ROWS = 6_000
def receive(self):
    children = [worker for worker in os.listdir("/proc") if worker.isdecimal() and _parent(worker) == os.getpid()]
    print(*children, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
def _parent(process):
    try:
        return int(open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[1])
    except OSError:
        return 0
processes._Worker.receive = receive
from spanview import load
load(sys.argv[1])
"""


@linux_only
def test_nobody_is_left_behind_when_this_process_is_killed(tmp_path: Path) -> None:
    """The others see it, and end, without a word."""
    build = Builder()
    record = file_of([build.span(attributes={"k": "v" * 900}) for _ in range(1_000)])
    for number in range(30):
        (tmp_path / f"{number}.json").write_bytes(record)
    run = subprocess.run(
        [sys.executable, "-c", _LOAD_AND_DIE, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == -signal.SIGKILL
    assert not run.stderr
    children = run.stdout.split()
    assert len(children) == 3
    deadline = time.monotonic() + 30
    while any(map(_runs, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_runs, children))


def _runs(process: str) -> bool:
    """Tell whether a process is there, and not one that ended and that nobody asked for its status."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@linux_only
@pytest.mark.usefixtures("_two_cores")
def test_more_files_than_a_pipe_has_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is read once, however many there are."""
    monkeypatch.setattr(processes, "_MAX_RANGES", 7)
    build = Builder()
    for number in range(40):
        (tmp_path / f"{number}.json").write_bytes(file_of([build.span() for _ in range(number % 3)]))
    store = load(tmp_path, quick_from=0, processes=WorkerStart.FORKED)
    assert len(store.spans) == sum(number % 3 for number in range(40))
    assert summary_of(store).files == 40


def test_check_sees_what_a_scan_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Damage among attributes leaves a record in its shape; `check` decodes it all the same."""
    build = Builder()
    records = [file_of([build.span(attributes={"key": f"value {number}"})]) for number in range(30)]
    records[7] = records[7].replace(b'"value 7"', b'"value "7')
    (tmp_path / "1.json").write_bytes(b"".join(records))
    assert summary_of(load(tmp_path, quick_from=0)).torn == 0
    monkeypatch.setattr(
        "spanview.sources.session.share", lambda files, least: quickly.share(files, least=min(least, 0))
    )
    assert main(["check", "--json", str(tmp_path)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["summary"]["spans"], report["summary"]["torn"]) == (29, 1)
