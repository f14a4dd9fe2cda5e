"""How much is done for what: files opened, bytes read, objects decoded, modules imported; never how long it takes.

                                 files opened          bytes read
                                 ------------          ----------
a load that decodes              each once             each once, and what tells a file from the next one
a load that scans                each once             each once
a look, and one file has grown   none that is held     those of this file that are new, and the same

The first painting, and rows that a key paints, are counted in `tui/test_painting.py`.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from builders import Builder, file_of
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.tail import BLOCK_BYTES
from spanview.sources.terms import ReadOptions
from test_startup import ROOT, command, modules_after

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILES: Final = 40
_SPANS: Final = 1_000
_NEVER: Final = 1 << 60
_MOST_OF_HELP: Final = 20
_AGAIN: Final = 4_096
"""Bytes that are read again after each block and each look, at most: the front of the file, and its last record."""


@dataclass(slots=True)
class Disk:
    """What was done with the files of a folder."""

    opened: Counter[str] = field(default_factory=Counter)
    """How often, by name."""
    read: Counter[str] = field(default_factory=Counter)
    """Bytes, by name."""
    names: dict[int, str] = field(default_factory=dict)
    """By descriptor, of those that were opened last."""

    def clear(self) -> None:
        """Forget what was done so far, not which files are open."""
        self.opened.clear()
        self.read.clear()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Count what is done with the files of this test."""
    counted = Disk()
    open_, pread, preadv = os.open, os.pread, os.preadv

    def opened(path: str, *how: Any, **named: Any) -> int:
        descriptor = open_(path, *how, **named)
        counted.names.pop(descriptor, None)
        if Path(path).parent == tmp_path:
            counted.names[descriptor] = Path(path).name
            counted.opened[Path(path).name] += 1
        return descriptor

    def note(descriptor: int, count: int) -> None:
        if descriptor in counted.names:
            counted.read[counted.names[descriptor]] += count

    def read(descriptor: int, length: int, offset: int) -> bytes:
        data = pread(descriptor, length, offset)
        note(descriptor, len(data))
        return data

    def read_into(descriptor: int, buffers: Sequence[memoryview], offset: int) -> int:
        count = preadv(descriptor, buffers, offset)
        note(descriptor, count)
        return count

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "pread", read)
    monkeypatch.setattr(os, "preadv", read_into)
    return counted


def make(folder: Path, *, spans: int, files: int = 4) -> dict[str, int]:
    """Write files of so many plain spans each, of a service each; return their sizes by name."""
    build = Builder()
    sizes = {}
    for number in range(files):
        path = folder / f"{number}.json"
        made = [build.span("f", parent=1, service=f"service {number}", attributes={"k": at}) for at in range(spans)]
        path.write_bytes(file_of(made))
        sizes[path.name] = path.stat().st_size
    return sizes


def load(folder: Path, **how: Any) -> tuple[Store, Session]:
    """Read a folder."""
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), **how), store, details)
    for _ in session.load():
        pass
    return store, session


def test_a_load_that_decodes_reads_once(tmp_path: Path, disk: Disk) -> None:
    """Each file is opened once, and read once but for what tells that it wasn't written anew meanwhile."""
    sizes = make(tmp_path, spans=_SPANS)
    store, _ = load(tmp_path, quick_from=_NEVER)
    assert len(store.spans) == _SPANS * len(sizes)
    assert disk.opened == dict.fromkeys(sizes, 1)
    for name, size in sizes.items():
        assert size > 2 * BLOCK_BYTES
        assert size <= disk.read[name] <= size + _AGAIN * -(-size // BLOCK_BYTES)


def test_a_load_that_scans_reads_once(tmp_path: Path, disk: Disk) -> None:
    """Each file is opened once, and each of its bytes is read once."""
    sizes = make(tmp_path, spans=_SPANS)
    store, _ = load(tmp_path, quick_from=0)
    assert len(store.spans) == _SPANS * len(sizes)
    assert disk.opened == dict.fromkeys(sizes, 1)
    assert disk.read == sizes


@pytest.fixture(name="decoded")
def note_decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list into which the length of each text comes that is decoded."""
    lengths: list[int] = []
    loads = orjson.loads

    def note(data: bytes) -> Any:
        lengths.append(len(data))
        return loads(data)

    monkeypatch.setattr(orjson, "loads", note)
    return lengths


def test_a_load_that_decodes_decodes_once(tmp_path: Path, decoded: list[int]) -> None:
    """Each record takes one call; times, of many spans at once, take few."""
    make(tmp_path, spans=_SPANS)
    load(tmp_path, quick_from=_NEVER)
    assert 4 * _SPANS <= len(decoded) <= 4 * _SPANS * 1.01


def test_a_load_that_scans_decodes_what_is_new_to_it(tmp_path: Path, decoded: list[int]) -> None:
    """However many spans there are, only names and resources are decoded, once each."""
    counts = []
    for spans in (_SPANS // 10, _SPANS):
        make(tmp_path, spans=spans)
        decoded.clear()
        load(tmp_path, quick_from=0)
        counts.append(len(decoded))
    assert counts[0] == counts[1] <= 4 * 4


@pytest.mark.parametrize("held", [_FILES, 16], ids=["all are held open", "few are held open"])
def test_a_look_reads_what_is_new(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """Whether it searches or was given a hint, a look reads the one file that has grown, and opens no other."""
    monkeypatch.setattr("spanview.sources.tail._CLOCK_TICK_S", 0.0)
    monkeypatch.setattr("spanview.sources.tail._MAX_HELD_FILES", held)
    make(tmp_path, spans=10, files=_FILES)
    _, session = load(tmp_path, follow=True)
    # Of a span with the same ids the records would be compared.
    first, second = (file_of([Builder().span("new", trace=trace)]) for trace in (2, 3))
    for hinted, name, new in ((None, "0.json", first), ([str(tmp_path / "1.json")], "1.json", second)):
        # What has just changed is looked at once more.
        session.look()
        session.look()
        disk.clear()
        assert session.look().bytes == 0
        assert not disk.opened
        assert not disk.read
        with (tmp_path / name).open("ab") as file:
            file.write(new)
        disk.clear()
        assert session.look(hinted).bytes == len(new)
        assert disk.opened == ({} if held == _FILES else {name: 1})
        assert disk.read.keys() == {name}
        assert len(new) <= disk.read[name] <= len(new) + 2 * _AGAIN
    session.close()


# -- imports -----------------------------------------------------------------------------------------------------------


def test_help_imports_little() -> None:
    """Of this package only what reads the words and the version, and little else that an empty program hasn't got."""
    imported = modules_after(command("--help")) - modules_after("pass")
    own = {name for name in imported if name.partition(".")[0] == "spanview"}
    assert own == {"spanview", "spanview.cli", "spanview.version"}
    assert len(imported) <= _MOST_OF_HELP


_VIEW: Final = """
import gc, json, os, sys
from textual.css.stylesheet import Stylesheet
from textual.drivers.linux_driver import LinuxDriver
from spanview.tui.app import feed
from spanview.tui.widgets.linelist import LineList
# However slow this machine is.
feed._FIRST_ROWS_S = 60.0
paint, parse, write = LineList.render_line, Stylesheet.reparse, LinuxDriver.write
start, painted, parsed, collected, began = feed.Feed.start, [], [], [], []
def start_feed(self):
    began.append("spanview.tui.app.app" in sys.modules)
    gc.callbacks.append(lambda phase, _: phase == "stop" and collected.append(phase))
    start(self)
def render_line(self, y):
    painted.append((y, self.row_count))
    return paint(self, y)
def reparse(self):
    parsed.append(self)
    return parse(self)
def write_screen(self, data):
    write(self, data)
    if painted:
        facts = {"modules": [*sys.modules], "painted": painted, "counts": [len(parsed), len(collected)], "began": began}
        with open(sys.argv[1], "w") as file:
            json.dump(facts, file)
        os._exit(0)
LineList.render_line, Stylesheet.reparse, LinuxDriver.write = render_line, reparse, write_screen
feed.Feed.start = start_feed
from spanview.cli import main
main(["view", "--no-cache", sys.argv[2]])
"""


def test_what_is_done_before_the_first_row_of_a_large_folder(tmp_path: Path) -> None:
    """What makes large folders quick, watching, queries, details and other screens come when a row can be seen.

    Reading begins before the application is imported; the list is painted once, with its rows; the style sheets are
    parsed once; and no garbage is looked for.
    """
    folder = tmp_path / "spans"
    folder.mkdir()
    build = Builder()
    for number in range(2):
        spans = [build.span(attributes={"text": "x" * 50_000}) for _ in range(300)]
        (folder / f"{number}.json").write_bytes(file_of(spans))
    listed = tmp_path / "modules.json"
    ours, its = pty.openpty()
    run = subprocess.run(
        [sys.executable, "-c", _VIEW, str(listed), str(folder)],
        stdin=its,
        stdout=its,
        stderr=its,
        env=os.environ | {"TERM": "xterm-256color"},
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    os.close(ours)
    os.close(its)
    assert run.returncode == 0
    unwanted = {
        "numpy",
        "multiprocessing",
        "watchfiles",
        "opentelemetry",
        "rich.progress",
        "spanview.quick.scan",
        "spanview.model.span",
        "spanview.analysis.query.query",
        "spanview.tui.trace.trace_screen",
        "spanview.sources.follow",
    }
    facts = json.loads(listed.read_text(encoding="utf-8"))
    assert unwanted & {*facts["modules"]} == set()
    lines = [line for line, rows in facts["painted"] if rows]
    assert len(lines) == len(facts["painted"]) == len({*lines})
    assert facts["began"] == [False]
    assert facts["counts"] == [0, 0]
