"""What a program may lack: a home, a current folder, standard streams, a size, room for files. It runs without it.

lacking                                  what it does
-------                                  ------------
a home folder, a cache that takes files  keeps neither index nor settings
the current folder                       finds what has a path from the root on
standard error, the terminal there       draws on standard output
standard input                           takes keys from the terminal
a terminal's size, in variables          asks the terminal
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from programs import environment_with
from spanview.sources.terms import SCAN_FROM_BYTES
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NO_HOME: Final = """
import os, pwd
os.environ.pop("HOME", None)
def getpwuid(_):
    raise KeyError("getpwuid(): uid not found")
pwd.getpwuid = getpwuid
"""
"""Read by the interpreter when it starts: a user without an entry, as in containers."""
_WRITERS: Final = 300
_FEW: Final = 256
_HELD: Final = 176
_BUSY: Final = 40


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    """Return a folder with a trace."""
    folder = tmp_path / "spans"
    folder.mkdir()
    (folder / "1.json").write_bytes(file_of(Builder().draw("root 0-10\n  leaf 2-5")))
    return folder


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Return a folder that is large enough for an index to be kept."""
    folder = tmp_path / "large"
    folder.mkdir()
    record = file_of(Builder().draw("root 0-10\n  leaf 2-5"))
    (folder / "1.json").write_bytes(record * (SCAN_FROM_BYTES // len(record) + 1))
    return folder


@pytest.fixture
def no_home(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which nobody has a home."""
    (tmp_path / "sitecustomize.py").write_text(_NO_HOME)
    return {"PYTHONPATH": os.fspath(tmp_path), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}


def _run(
    *words: str, environment: Mapping[str, str] | None = None, redirection: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell, and return how it ended."""
    line = shlex.join([sys.executable, "-m", "spanview", *words])
    return subprocess.run(
        ["/bin/sh", "-c", f"exec {line} {redirection}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment_with(environment),
    )


def _is_well(ended: subprocess.CompletedProcess[str]) -> bool:
    return ended.returncode == 0 and "leaf" in ended.stdout and "Traceback" not in ended.stderr


def test_commands_without_a_home(large: Path, no_home: Mapping[str, str]) -> None:
    """A user without an entry and without HOME has no cache, and everything else."""
    assert _is_well(_run("stats", os.fspath(large), environment=no_home))


def test_viewer_without_a_home(spans: Path, no_home: Mapping[str, str]) -> None:
    """The viewer keeps no settings then."""
    with Terminal(os.fspath(spans), environment=no_home) as terminal:
        terminal.until("root")
        terminal.send(b"q")
        assert not terminal.wait()


@pytest.mark.parametrize("cache", ["/dev/null", "/proc/nowhere"])
def test_cache_that_takes_nothing(cache: str, large: Path) -> None:
    """An index that can't be kept isn't."""
    ended = _run("stats", os.fspath(large), environment={"XDG_CACHE_HOME": cache})
    assert _is_well(ended)
    assert not ended.stderr


def _removed(tmp_path: Path) -> str:
    """Return shell words that go to a folder and remove it."""
    gone = tmp_path / "gone"
    gone.mkdir()
    return f"cd {shlex.quote(os.fspath(gone))} && rmdir {shlex.quote(os.fspath(gone))}"


def test_removed_current_folder(large: Path, tmp_path: Path) -> None:
    """What has a path from the root on is read all the same; what has none isn't there, and one line says so."""
    start = _removed(tmp_path)
    program = shlex.join([sys.executable, "-m", "spanview", "stats"])

    def run(path: str) -> subprocess.CompletedProcess[str]:
        line = f"{start}; exec {program} {shlex.quote(path)}"
        return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)

    assert _is_well(run(os.fspath(large)))
    (tmp_path / "gone").mkdir()
    ended = run("spans")
    assert (ended.returncode, ended.stderr) == (2, "spanview: spans: no such file or folder\n")


@pytest.mark.parametrize("redirection", ["<&-", "2>&-", "<&- 2>&-", "2>/dev/full"])
def test_commands_without_a_stream(redirection: str, spans: Path) -> None:
    """No command needs what it doesn't read or write."""
    assert _is_well(_run("stats", os.fspath(spans), redirection=redirection))


def test_no_file_takes_the_place_of_a_stream() -> None:
    """A file that is opened later doesn't become standard input or error, which others write to."""
    program = "import os; from spanview.cli import main; main(['--version']); print(os.open(os.devnull, os.O_RDONLY))"
    line = shlex.join([sys.executable, "-c", program])
    printed = subprocess.run(["/bin/sh", "-c", f"{line} <&- 2>&-"], stdout=subprocess.PIPE, check=True).stdout
    assert int(printed.splitlines()[-1]) > 2


@pytest.mark.parametrize("variables", [{"COLUMNS": "abc", "LINES": "-1"}, {"COLUMNS": "90000", "LINES": "90000"}])
def test_variables_that_tell_no_size(variables: Mapping[str, str], spans: Path) -> None:
    """The viewer is as large as its terminal, whatever variables say."""
    with Terminal(os.fspath(spans), environment=variables, size=(90, 24)) as terminal:
        terminal.until("root")
        deadline = time.monotonic() + 20
        while "? help" not in terminal.lines[-1] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "? help" in terminal.lines[-1], terminal.lines
        terminal.send(b"q")
        assert not terminal.wait()


@pytest.mark.parametrize("variables", [{"TERM": ""}, {"TERM": "odd"}, {"TZ": "Nowhere/At:all"}, {"LC_ALL": "xx_YY"}])
def test_odd_variables(variables: Mapping[str, str], spans: Path) -> None:
    """The viewer runs, whatever they are."""
    with Terminal(os.fspath(spans), environment=variables) as terminal:
        terminal.until("root")
        terminal.send(b"q")
        assert not terminal.wait()


@pytest.mark.parametrize("redirection", ["2>/dev/null", "2>&-", "<&-", "<&- 2>&-", "</dev/null"])
def test_viewer_without_a_stream(redirection: str, spans: Path) -> None:
    """It draws on the terminal and takes its keys from there, whatever its other streams are."""
    with Terminal(os.fspath(spans), redirection=redirection) as terminal:
        terminal.until("root")
        terminal.send(b"\r")
        terminal.until("leaf")
        terminal.send(b"qq")
        assert not terminal.wait()


def test_viewer_without_standard_output(spans: Path) -> None:
    """There is nothing to show it on, and one line says so."""
    ended = _run("view", os.fspath(spans), redirection=">&-")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[list[int]]:
    """Return descriptors of more files than a process may have open, each with a span."""
    folder = tmp_path / "many"
    folder.mkdir()
    descriptors = []
    for number in range(_WRITERS):
        descriptors.append(os.open(folder / f"{number}.json", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        _write(descriptors[-1], number, 1)
    yield descriptors
    for descriptor in descriptors:
        os.close(descriptor)


def _write(descriptor: int, number: int, time_of_it: int) -> None:
    name = f"file-{number}-{time_of_it}."
    os.write(descriptor, file_of([Builder().span(name, trace=number + 1, span=time_of_it)]))


@pytest.mark.parametrize("limit", [f"ulimit -n {_FEW}", f"ulimit -S -n {_FEW}; ulimit -H -n 1024"])
def test_more_files_than_descriptors(limit: str, writers: list[int], tmp_path: Path) -> None:
    """Of removed files as many are read on as can be held, those that grew last, and the rest is told.

    Where a process may allow itself more, all are.
    """
    folder = tmp_path / "many"
    line = shlex.join([sys.executable, "-m", "spanview", "spans", "-f", os.fspath(folder)])
    output, said = tmp_path / "output", tmp_path / "said"
    with output.open("wb") as to, said.open("wb") as complaints:
        process = subprocess.Popen(["/bin/sh", "-c", f"{limit}; exec {line}"], stdout=to, stderr=complaints)

        def names(time_of_it: int) -> set[int]:
            printed = output.read_text()
            return {int(number) for number in re.findall(rf'"file-(\d+)-{time_of_it}\."', printed)}

        def wait_for(time_of_it: int, count: int) -> set[int]:
            deadline = time.monotonic() + 100
            while len(names(time_of_it)) < count and time.monotonic() < deadline:
                time.sleep(0.05)
            return names(time_of_it)

        try:
            assert len(wait_for(1, _WRITERS)) == _WRITERS
            # Not those that were read last.
            for number in range(_BUSY):
                _write(writers[number], number, 2)
            assert len(wait_for(2, _BUSY)) == _BUSY
            for path in folder.iterdir():
                path.unlink()
            # Whoever is looked for next has been seen to be gone.
            time.sleep(4)
            for number, descriptor in enumerate(writers):
                _write(descriptor, number, 3)
            has_room = "-H" in limit
            found = wait_for(3, _WRITERS if has_room else _HELD)
        finally:
            process.terminate()
            process.wait()
    assert found >= {*range(_BUSY)}
    assert len(found) >= (_WRITERS if has_room else _HELD)
    assert (f"300 files are followed, and only the {_HELD} that" in said.read_text()) is not has_room
    assert ("ulimit -n 400" in said.read_text()) is not has_room
