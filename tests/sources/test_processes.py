"""Processes that are alive, and those that are not, with real ones."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import psutil
import pytest

from spanview.analysis.ray.writers import Life
from spanview.sources import processes
from spanview.sources.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLDING: Final = """
import sys
files = [open(path, "a") for path in sys.argv[1:]]
print("ready", flush=True)
input()
"""
"""A program that holds files open until it is told to end."""
NOWHERE: Final = "nowhere/7.txt"


@contextmanager
def holding(*paths: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that holds files open."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, *map(str, paths)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        try:
            yield child
        finally:
            child.kill()


def life(pid: int, path: Path | str, seen_ns: int | None = None, host: str = "") -> Life:
    """Ask for a process that was seen to run now, or at another time."""
    return Processes().life(pid, host, str(path), time.time_ns() if seen_ns is None else seen_ns)


def test_a_process_that_ends(tmp_path: Path) -> None:
    """It holds its file while it runs; what another process with its id did long before is not its."""
    path = tmp_path / "spans.txt"
    with holding(path) as child:
        assert life(child.pid, path) is Life.HOLDS
        assert life(child.pid, path, time.time_ns() - 3600 * 10**9) is Life.GONE
        child.kill()
        # Until somebody asks how it ended, it is a zombie.
        deadline = time.monotonic() + 20
        while life(child.pid, path) is not Life.GONE and time.monotonic() < deadline:
            time.sleep(0.01)
        assert life(child.pid, path) is Life.GONE
    assert life(child.pid, path) is Life.GONE


def test_open_files_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on Linux psutil lists them."""
    path = tmp_path / "spans.txt"
    with holding(path) as child:
        monkeypatch.setattr(os.path, "isdir", lambda _: False)
        assert life(child.pid, path) is Life.HOLDS
        assert life(child.pid, tmp_path / "other.txt") is Life.UNKNOWN


def test_a_process_that_has_its_file_closed(tmp_path: Path) -> None:
    """It can't be told whether it is the writer, or the file a copy of what it wrote."""
    path = tmp_path / "spans.txt"
    path.touch()
    with holding(tmp_path / "other.txt") as child:
        assert life(child.pid, path) is Life.UNKNOWN


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere nothing tells that an open file was removed.")
def test_a_file_that_was_removed(tmp_path: Path) -> None:
    """Its writer holds it still."""
    path = tmp_path / "spans.txt"
    with holding(path) as child:
        path.unlink()
        assert life(child.pid, path) is Life.HOLDS


def test_a_symbolic_link(tmp_path: Path) -> None:
    """It is the file that is held, whatever its path."""
    path, link = tmp_path / "spans.txt", tmp_path / "link.txt"
    with holding(path) as child:
        link.symlink_to(path)
        assert life(child.pid, link) is Life.HOLDS


@pytest.mark.parametrize(("host", "alive"), [("elsewhere", Life.UNKNOWN), (f"{platform.node()}.example", Life.HOLDS)])
def test_another_host(tmp_path: Path, host: str, alive: Life) -> None:
    """What runs here says nothing of it."""
    path = tmp_path / "spans.txt"
    with holding(path) as child:
        assert life(child.pid, path, host=host) is alive


def test_a_command_that_writes_no_spans() -> None:
    """A shell that has the id is not the writer."""
    with subprocess.Popen(["sh", "-c", "read line; exit 0"], stdin=subprocess.PIPE) as child:
        assert life(child.pid, NOWHERE) is Life.GONE


@pytest.mark.skipif(sys.platform != "linux", reason="Threads of the kernel are Linux's.")
@pytest.mark.parametrize("host", ["", processes.Processes.host])
def test_a_process_without_a_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """A thread of the kernel has none, and what was killed has lost it, even while it still has its files open."""
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: [])
    with holding(path := tmp_path / "spans.json") as child:
        assert life(child.pid, path, host=host) is Life.GONE


@pytest.mark.parametrize(
    ("name", "alive"), [("python3.11", Life.LIKELY), ("ray::f", Life.LIKELY), ("java", Life.UNKNOWN)]
)
def test_a_process_of_somebody_else(monkeypatch: pytest.MonkeyPatch, name: str, alive: Life) -> None:
    """Where its open files can't be listed, its command and its age have to do."""

    def denied(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(processes, "_open_files", denied)
    monkeypatch.setattr(psutil.Process, "name", lambda _: name)
    assert life(os.getpid(), NOWHERE) is alive


def test_ids_that_none_can_have() -> None:
    """They are asked for, and gone."""
    for pid in (10**17, 2**31 - 1, 2**63):
        assert life(pid, NOWHERE) is Life.GONE


def test_it_is_asked_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often somebody wants to know."""
    asked, calls, original, began_ns = Processes(), list[int](), psutil.Process, time.time_ns()

    def process(pid: int) -> psutil.Process:
        calls.append(pid)
        return original(pid)

    monkeypatch.setattr(psutil, "Process", process)
    for _ in range(100):
        assert asked.life(os.getpid(), "", NOWHERE, time.time_ns()) is Life.UNKNOWN
        assert asked.life(10**17, "", NOWHERE, time.time_ns()) is Life.GONE
    assert calls == [os.getpid(), 10**17]
    assert began_ns <= asked.asked_ns(os.getpid()) <= time.time_ns()
    asked_ns = asked.asked_ns(os.getpid())
    assert asked.life(os.getpid(), "", NOWHERE, time.time_ns()) is Life.UNKNOWN
    assert asked.asked_ns(os.getpid()) == asked_ns


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere a test can't name its processes.")
@pytest.mark.parametrize(("number", "job"), [("01000000", "01000000"), ("ffffffff", "")])
def test_ray_workers(tmp_path: Path, number: str, job: str) -> None:
    """They are known by what they call themselves, their session and job by the logs that they hold open."""
    logs = tmp_path / "session" / "logs"
    logs.mkdir(parents=True)
    core, out = logs / "python-core-worker-2f9c01_8.log", logs / f"worker-2f9c01-{number}-8.out"
    with (
        subprocess.Popen(
            ["ray::A.slow", "-c", HOLDING, core, out],
            executable=sys.executable,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline()
        asked = Processes()
        (worker,) = [worker for worker in asked.ray_workers() if worker.pid == child.pid]
        assert (worker.title, worker.logs, worker.job) == ("A.slow", str(logs), job)
        assert asked.logs_of(child.pid) == str(logs)
        child.kill()
