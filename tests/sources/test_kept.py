"""The kept index: what was loaded comes back whole, and is thrown away when anything is different."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
import pytest

from builders import Builder
from quick.folders import SDK_LAYOUTS, make, otlp_line, quick_from
from quick.test_same import contents
from records import whole
from seeds import seeds
from spanview.cli import main
from spanview.index.state import columns_of
from spanview.index.store import Store
from spanview.model.times import NO_TIME
from spanview.quick.proof import prove
from spanview.ray.lines import loss_line_of
from spanview.reports.each_call import each_call_report
from spanview.sources import kept
from spanview.sources.details import RecordReader
from spanview.sources.discover import FoundFile
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of indexes; there is none yet."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(kept, "cache_folder", lambda: str(folder))
    # Files of tests are new.
    monkeypatch.setattr(kept, "_RACY_NS", 0)
    return folder


def _spans(tmp_path: Path, seed: int = 7) -> Path:
    folder = tmp_path / "spans"
    folder.mkdir()
    make(folder, random.Random(seed), files=6, records=40, layouts=SDK_LAYOUTS)
    (folder / "more.json").write_bytes(b"".join(path.read_bytes() for path in sorted(folder.iterdir())))
    return folder


def _load(folder: Path, **how: Any) -> tuple[Store, bool]:
    """Read a folder as a command does; return also whether its files were."""
    details, was_read = RecordReader(), False
    store = Store(details)
    session = Session(ReadOptions((str(folder),), quick_from=1, **{"use_cache": True, **how}), store, details)
    load_files = Session._load_files

    def watched(self: Session, *files: Any) -> Any:
        nonlocal was_read
        was_read = True
        return load_files(self, *files)

    with patch.object(Session, "_load_files", watched):
        for _ in session.load():
            pass
    session.keep()
    return store, was_read


@pytest.mark.parametrize("seed", seeds(30))
def test_comes_back_whole(seed: int, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns, traces, problems and counts, whatever is in the files, and whether the index is on a disk here."""
    if seed % 3 == 0:
        monkeypatch.setattr("os.major", lambda _: seed % 2)
    folder = _spans(tmp_path, seed)
    first, was_read = _load(folder)
    assert was_read
    second, was_read = _load(folder)
    assert not was_read
    assert contents(second) == contents(first)
    assert (second.intake.scanned, second.intake.moved) == (first.intake.scanned, first.intake.moved)
    assert [whole(second.span(row)) for row in range(len(second.spans))] == [
        whole(first.span(row)) for row in range(len(first.spans))
    ]
    # Spans are found by their ids.
    ids = [*zip(first.spans.trace, first.spans.span_id, strict=True)]
    assert [second.intake._first_row(*pair) for pair in ids] == [first.intake._first_row(*pair) for pair in ids]
    assert contents(pickle.loads(pickle.dumps(second))) == contents(first)  # noqa: S301 - what was made right here
    assert all(np.asarray(column).flags.aligned for column in columns_of(second.intake))
    # What is changed in one that is open is changed there alone.
    second.spans.warnings[0] ^= 1
    third, was_read = _load(folder)
    assert not was_read
    assert contents(third) == contents(first)
    assert len([*cache.iterdir()]) == 1


@pytest.mark.usefixtures("cache")
def test_lines_of_otlp_come_back(tmp_path: Path) -> None:
    """So do lines with one span each, with the spans that haven't ended among them, and what ends these afterwards."""
    build = Builder()
    documents = [build.span(service="s", parent=number or None) for number in range(50)]
    (folder := tmp_path / "spans").mkdir()
    begun = [otlp_line(document | {"end_time": None}) for document in documents]
    (folder / "a.started.jsonl").write_bytes(b"".join(begun))
    said = loss_line_of({}, 17, 3, "a full disk")
    (folder / "a.jsonl").write_bytes(said + b"".join(map(otlp_line, documents[:40])))
    first, _ = _load(folder)
    second, was_read = _load(folder)
    assert not was_read
    assert contents(second) == contents(first)
    assert [*second.spans.end_ns].count(NO_TIME) == 10
    assert [whole(second.span(row)) for row in range(50)] == [whole(first.span(row)) for row in range(50)]
    (folder / "a.jsonl").write_bytes(b"".join(map(otlp_line, documents)))
    third, was_read = _load(folder)
    assert was_read
    assert (len(third.spans), [*third.spans.end_ns].count(NO_TIME)) == (50, 0)


def _records(dice: random.Random) -> tuple[list[bytes], list[bytes]]:
    """Return what is written of spans that have started, some of it several times, and their ends."""
    build = Builder()
    documents = [build.span(service="s", parent=number or None) for number in range(60)]
    begun = [
        otlp_line(
            document | {"end_time": None}, attributes=dice.choice(([], [{"key": "k", "value": {"intValue": "1"}}]))
        )
        for document in documents
        for _ in range(dice.choice((1, 1, 2, 4)))
    ]
    return dice.sample(begun, len(begun)), [*map(otlp_line, documents)]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("seed", seeds(12))
def test_spans_that_end_between_two_openings(seed: int, tmp_path: Path) -> None:
    """Each opening says what one without the index says, whether the viewer or a command has kept it."""
    dice = random.Random(seed)
    begun, ended = _records(dice)
    (folder := tmp_path / "spans").mkdir()
    for number, (first, stop) in enumerate(((0, 0), (0, 20), (20, 45), (45, 60))):
        names = ("a.started.jsonl", "b.started.jsonl"), ("a.jsonl", "c.jsonl")
        for lines, files in zip((begun[number::4], ended[first:stop]), names, strict=True):
            with (folder / dice.choice(files)).open("ab") as file:
                file.writelines(lines)
        expected = contents(_load(folder, use_cache=False)[0])
        for was_kept in (False, True, True):
            store, was_read = _load(folder, newest_first=dice.random() < 0.5)
            assert was_read is not was_kept
            assert contents(store) == expected
    assert NO_TIME not in store.spans.end_ns


def _append(folder: Path) -> None:
    with (folder / "0.json").open("ab") as file:
        file.write(b"\n")


def _touch(folder: Path) -> None:
    os.utime(folder / "0.json", (1, 1))


def _replace(folder: Path) -> None:
    path, copy = folder / "more.json", folder / "copy"
    shutil.copy2(path, copy)
    copy.rename(path)


def _overwrite(folder: Path) -> None:
    """Change the content, and give the file its times back, but for the one that nobody can give."""
    path = folder / "more.json"
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(status.st_size // 2)
        file.write(b"#")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _add(folder: Path) -> None:
    (folder / "new.json").write_bytes(b"")


def _remove(folder: Path) -> None:
    (folder / "more.json").unlink()


@pytest.mark.parametrize("change", [_append, _touch, _replace, _overwrite, _add, _remove])
def test_other_files(change: Callable[[Path], None], tmp_path: Path, cache: Path) -> None:
    """A folder that was changed is read, and its index is kept instead of the old one."""
    folder = _spans(tmp_path)
    _load(folder)
    change(folder)
    store, was_read = _load(folder)
    assert was_read
    assert contents(store) == contents(_load(folder, use_cache=False)[0])
    assert not _load(folder)[1]
    assert len([*cache.iterdir()]) == 1


def test_checksums(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file's times say nothing, the bytes at its ends do."""
    folder = _spans(tmp_path)
    monkeypatch.setattr(FoundFile, "stamp", (0, 0, 0, 0, 0))
    monkeypatch.setattr(kept, "stamp_of", lambda _: (0, 0, 0, 0, 0, 0))
    _load(folder)
    assert not _load(folder)[1]
    path = folder / "more.json"
    for offset in (0, path.stat().st_size - 1):
        data = bytearray(path.read_bytes())
        data[offset] ^= 1
        path.write_bytes(data)
        assert _load(folder)[1]
    assert cache.is_dir()


@pytest.mark.parametrize("seed", seeds(60))
def test_damaged_index(seed: int, tmp_path: Path, cache: Path) -> None:
    """Whichever byte of it is another one, or wherever it ends: the folder is read, and nothing is said."""
    dice = random.Random(seed)
    folder = _spans(tmp_path)
    expected = contents(_load(folder)[0])
    (path,) = cache.iterdir()
    data = bytearray(path.read_bytes())
    at = dice.choice((dice.randrange(40), dice.randrange(len(data))))
    data[at] ^= 1 << dice.randrange(8)
    path.write_bytes(data if seed % 4 else data[:at])
    store, was_read = _load(folder)
    assert was_read
    assert contents(store) == expected
    assert not _load(folder)[1]


@pytest.mark.parametrize("from_end", [1, 100, 1_000])
def test_damaged_columns(from_end: int, tmp_path: Path, cache: Path) -> None:
    """A column of which a single bit is another one isn't taken, though its numbers would go together."""
    folder = _spans(tmp_path)
    expected = contents(_load(folder)[0])
    (path,) = cache.iterdir()
    data = bytearray(path.read_bytes())
    data[-from_end] ^= 1
    path.write_bytes(data)
    store, was_read = _load(folder)
    assert was_read
    assert contents(store) == expected


@pytest.mark.parametrize("how", [{"cap": 400}, {"follow": True}, {"decodes_all": True}, {"quick_from": 1 << 40}])
def test_not_taken(how: dict[str, Any], tmp_path: Path, cache: Path) -> None:
    """Who reads in another way reads the files."""
    folder = _spans(tmp_path)
    _load(folder)
    details = RecordReader()
    session = Session(
        ReadOptions((str(folder),), **{"quick_from": 1, "use_cache": True, **how}), Store(details), details
    )
    with patch.object(kept.KeptIndex, "write") as write:
        assert [progress.bytes_read for progress in session.load()][-1] > 0
        session.keep()
    assert write.called == ("cap" in how)
    assert not session.is_proven
    assert len([*cache.iterdir()]) == 1


def test_not_kept_when_a_file_cannot_be_read(tmp_path: Path, cache: Path) -> None:
    """What was not read today may be read tomorrow."""
    folder = _spans(tmp_path)
    real = os.preadv
    descriptors: list[int] = []

    def failing(descriptor: int, *rest: Any) -> int:
        descriptors.append(descriptor)
        if len(descriptors) > 1:
            raise OSError(5, "Input/output error")
        return real(descriptor, *rest)

    with patch("os.preadv", failing), patch("time.sleep"):
        store, _ = _load(folder)
    assert any(problem.kind == "unreadable" for problem in store.problems())
    assert not cache.exists()


def test_not_kept_when_a_file_changes_meanwhile(tmp_path: Path, cache: Path) -> None:
    """What was read is no more what is there."""
    folder = _spans(tmp_path)
    details = RecordReader()
    session = Session(ReadOptions((str(folder),), quick_from=1, use_cache=True), Store(details), details)
    for _ in session.load():
        pass
    _append(folder)
    session.keep()
    assert not cache.exists()


def test_room(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were used longest ago go, and what somebody left half written."""
    folder = _spans(tmp_path)
    _load(folder)
    (path,) = cache.iterdir()
    monkeypatch.setattr(kept, "MAX_KEPT_BYTES", path.stat().st_size * 5 // 2)
    oldest, older, half, foreign = (cache / name for name in ("1.index", "2.index", ".half-1", "notes.txt"))
    for age, each in enumerate((foreign, half, oldest, older)):
        shutil.copy(path, each)
        os.utime(each, (10_000 + age, 10_000 + age))
    _append(folder)
    _load(folder)
    assert {each.name for each in cache.iterdir()} == {path.name, older.name, foreign.name}
    assert not _load(folder)[1]


def test_too_large_for_the_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One index may not take all the room."""
    monkeypatch.setattr(kept, "MAX_KEPT_BYTES", 1000)
    _load(_spans(tmp_path))
    assert not cache.exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept, nothing is said."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(kept, "cache_folder", lambda: str(tmp_path / "file" / "cache"))
    folder = _spans(tmp_path)
    assert _load(folder)[1]
    assert _load(folder)[1]


def test_proof_is_kept(tmp_path: Path, cache: Path) -> None:
    """Records that were decoded once are not decoded again, and what that has shown is known still."""
    folder = tmp_path / "spans"
    folder.mkdir()
    make(folder, random.Random(3), files=6, records=60, anywhere=True, layouts=SDK_LAYOUTS)
    details = RecordReader()
    first = Store(details)
    session = Session(ReadOptions((str(folder),), quick_from=1, use_cache=True), first, details)
    for _ in session.load():
        pass
    assert not session.is_proven
    for _ in prove(first):
        pass
    session.keep(is_proven=True)
    assert cache.is_dir()
    details = RecordReader()
    second = Store(details)
    session = Session(ReadOptions((str(folder),), quick_from=1, use_cache=True), second, details)
    for _ in session.load():
        pass
    assert session.is_proven
    assert contents(second) == contents(first)


def test_command_line(tmp_path: Path, cache: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The same is printed with an index and without; `--no-cache` neither takes nor writes one."""
    folder = _spans(tmp_path)
    outputs = []
    with quick_from(1):
        for words in (["--no-cache"], [], []):
            assert main(["spans", str(folder), *words]) == 0
            outputs.append(capsysbinary.readouterr().out)
            assert cache.exists() == (len(outputs) > 1)
    assert outputs[0] == outputs[1] == outputs[2]


def test_load(tmp_path: Path, cache: Path) -> None:
    """A notebook asks for it."""
    folder = _spans(tmp_path)
    with quick_from(1):
        first = load_store(folder)
        assert not cache.exists()
        load_store(folder, use_cache=True)
        with patch.object(Session, "_load_files", side_effect=AssertionError("read")):
            assert contents(load_store(folder, use_cache=True)) == contents(first)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_an_index_that_is_no_file(tmp_path: Path, cache: Path) -> None:
    """Nobody waits for a FIFO, and no link is followed; the folder is read."""
    folder = _spans(tmp_path)
    _load(folder)
    (path,) = cache.iterdir()
    data = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    # Somebody may write to it, slowly.
    writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        assert _load(folder)[1]
    finally:
        os.close(writer)
    path.unlink(missing_ok=True)
    (tmp_path / "elsewhere").write_bytes(data)
    path.symlink_to(tmp_path / "elsewhere")
    assert _load(folder)[1]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_index_that_others_may_write(mode: int, tmp_path: Path, cache: Path) -> None:
    """Anything may be in it, so the folder is read."""
    folder = _spans(tmp_path)
    _load(folder)
    (path,) = cache.iterdir()
    path.chmod(mode)
    assert _load(folder)[1]
    assert not _load(folder)[1]


@pytest.mark.usefixtures("cache")
def test_an_index_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one's own is taken."""
    folder = _spans(tmp_path)
    _load(folder)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert _load(folder)[1]


def test_a_copied_index(tmp_path: Path, cache: Path) -> None:
    """It is of the file that it was written to."""
    folder = _spans(tmp_path)
    _load(folder)
    (path,) = cache.iterdir()
    shutil.copy(path, tmp_path / "copy")
    (tmp_path / "copy").replace(path)
    assert _load(folder)[1]


def test_no_home_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no home, none is made for an index."""
    monkeypatch.setattr(kept, "cache_folder", lambda: str(tmp_path / "nowhere" / "cache" / "spanview"))
    _load(_spans(tmp_path))
    assert not (tmp_path / "nowhere").exists()


def test_not_kept_while_files_are_new(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changed within the last two seconds can change again and keep its times."""
    monkeypatch.undo()
    monkeypatch.setattr(kept, "cache_folder", lambda: str(cache))
    folder = _spans(tmp_path)
    _load(folder)
    assert not cache.exists()
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 2_500_000_000)
    _load(folder)
    assert [*cache.iterdir()]
    assert not _load(folder)[1]


def _read_files(folder: Path) -> tuple[Store, list[str]]:
    """Read a folder as a command does; return also the names of the files whose records were read for it."""
    names, load_files = list[str](), Session._load_files

    def watched(self: Session, files: list[FoundFile]) -> Any:
        names.extend(os.path.basename(file.shown) for file in files)
        return load_files(self, files)

    with patch.object(Session, "_load_files", watched):
        store, _ = _load(folder)
    return store, sorted(names)


@pytest.mark.parametrize("recording", ["ray-events-hook", "ray-events-bundled"])
def test_spans_beside_events(recording: str, tmp_path: Path, cache: Path) -> None:
    """The second opening reads no spans, and Ray's own events once; it says what the first one did."""
    folder = tmp_path / "session"
    shutil.copytree(FIXTURES / recording, folder)
    first, names = _read_files(folder)
    events = sorted(path.name for path in folder.glob("logs/export_events/*") if path.stat().st_size)
    assert 0 < len(events) < len(names)
    second, again = _read_files(folder)
    assert again == events
    assert contents(second) == contents(first)
    assert first.ray is not None
    assert second.ray is not None
    assert second.ray.version == first.ray.version
    assert each_call_report(second).document() == each_call_report(first).document()
    assert len([*cache.iterdir()]) == 1
