"""Files are written whole or not at all; what kills and full disks leave is tried in `reliability/exporting.py`.

before     an error on the way     after
------     -------------------     -----
"old"      disk full               "old"
nothing    Ctrl+C                  nothing
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spanview.exports import files
from spanview.exports.files import shown_path, write_anew, write_atomically
from spanview.model.problems import ExportError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNKS = [b"one\n", b"two\n", b"three\n"]
WHOLE = b"one\ntwo\nthree\n"

posix = pytest.mark.skipif(os.name != "posix", reason="files have no such permissions or links here")
NOBODY = 65534
"""The user id that owns nothing."""


@pytest.fixture(autouse=True, params=[True, False], ids=["without a name", "with a hidden name"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test run with files that have no name before they are whole, and as on systems without such files."""
    if not request.param:
        hide_unnamed(monkeypatch)
    elif not files._UNNAMED:
        pytest.skip("this system knows no files without names")


def hide_unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do as on systems without files that have no name."""
    monkeypatch.setattr(files, "_UNNAMED", 0)


@pytest.mark.parametrize("force", [False, True])
def test_a_new_file(tmp_path: Path, *, force: bool) -> None:
    """A path that is free takes the content, and nothing else is left in the folder."""
    write_atomically(str(tmp_path / "out.json"), CHUNKS, force=force)
    assert contents(tmp_path) == {"out.json": WHOLE}


def test_a_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without a folder is a file in the current one."""
    monkeypatch.chdir(tmp_path)
    write_atomically("out.json", CHUNKS, force=False)
    write_atomically("out.json", [b"new"], force=True)
    assert contents(tmp_path) == {"out.json": b"new"}


def test_an_old_file_is_refused(tmp_path: Path) -> None:
    """Without force a file that is there stays, and the chunks aren't even asked for."""
    (tmp_path / "out.json").write_bytes(b"old")
    chunks = iter(CHUNKS)
    with pytest.raises(ExportError, match=r"out\.json already exists: give --force to replace it, or another file$"):
        write_atomically(str(tmp_path / "out.json"), chunks, force=False)
    assert contents(tmp_path) == {"out.json": b"old"}
    assert [*chunks] == CHUNKS


def test_an_old_file_is_replaced_with_force(tmp_path: Path) -> None:
    """With force the old content gives way to the new, also where that is shorter."""
    (tmp_path / "out.json").write_bytes(b"x" * 100)
    write_atomically(str(tmp_path / "out.json"), CHUNKS, force=True)
    assert contents(tmp_path) == {"out.json": WHOLE}


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool) -> None:
    """A file that somebody else writes while the export runs isn't replaced, with hard links or without."""
    if not links:
        hide_unnamed(monkeypatch)
        monkeypatch.setattr(os, "link", raising(OSError(errno.EPERM, "no links here")))

    def chunks() -> Iterator[bytes]:
        yield b"ours"
        (tmp_path / "out.json").write_bytes(b"theirs")

    with pytest.raises(ExportError, match="already exists"):
        write_atomically(str(tmp_path / "out.json"), chunks(), force=False)
    assert contents(tmp_path) == {"out.json": b"theirs"}


@posix
def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no hard links the file is written all the same, and an error on the way leaves nothing."""
    hide_unnamed(monkeypatch)
    monkeypatch.setattr(os, "link", raising(OSError(errno.EOPNOTSUPP, "no links here")))
    write_atomically(str(tmp_path / "out.json"), CHUNKS, force=False)
    assert contents(tmp_path) == {"out.json": WHOLE}
    monkeypatch.setattr(os, "replace", raising(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(ExportError, match="Input/output error"):
        write_atomically(str(tmp_path / "other.json"), CHUNKS, force=False)
    assert contents(tmp_path) == {"out.json": WHOLE}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a bug")])
def test_an_error_of_the_chunks(tmp_path: Path, error: BaseException, *, force: bool) -> None:
    """Whatever ends the export early is passed on, and the folder is as it was."""
    if force:
        (tmp_path / "out.json").write_bytes(b"old")
    before = contents(tmp_path)

    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise error

    with pytest.raises(type(error)):
        write_atomically(str(tmp_path / "out.json"), chunks(), force=force)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A full disk is answered with what to do."""
    (tmp_path / "out.json").write_bytes(b"old")
    monkeypatch.setattr(os, step, raising(OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(ExportError, match=r"can't write .*out\.json: the disk is full: free some space"):
        write_atomically(str(tmp_path / "out.json"), [b"x"] * 10, force=True)
    assert contents(tmp_path) == {"out.json": b"old"}


def test_short_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes a byte at a time gets them all."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:1])))
    write_atomically(str(tmp_path / "out.json"), CHUNKS, force=False)
    assert contents(tmp_path) == {"out.json": WHOLE}


@posix
def test_no_way_to_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an open file can't be given a name, because /proc isn't there, a hidden name does."""
    monkeypatch.setattr(files, "_OPEN_FILE", str(tmp_path / "no-proc-{}"))
    write_atomically(str(tmp_path / "out.json"), CHUNKS, force=False)
    write_atomically(str(tmp_path / "out.json"), [b"new"], force=True)
    assert contents(tmp_path) == {"out.json": b"new"}


@posix
@pytest.mark.parametrize("mode", [0o600, 0o444])
def test_permissions_come_before_the_content(tmp_path: Path, mode: int) -> None:
    """Nobody who mayn't read the old file can read what is to take its place."""
    target = tmp_path / "out.json"
    target.write_bytes(b"old")
    target.chmod(mode)

    def chunks() -> Iterator[bytes]:
        yield b"secret"
        for path in tmp_path.iterdir():
            assert path.stat().st_mode & 0o777 == mode

    write_atomically(str(target), chunks(), force=True)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"secret", mode)


def test_nothing_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever way a file comes to its name, it is closed then, in a system that shows no open files, too."""
    opened, closed, open_file, close = list[int](), list[int](), os.open, os.close

    def noted(*arguments: Any, **others: Any) -> int:
        opened.append(open_file(*arguments, **others))
        return opened[-1]

    def ended(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)

    monkeypatch.setattr(os, "open", noted)
    monkeypatch.setattr(os, "close", ended)
    for name in (files._OPEN_FILE, str(tmp_path / "not there {}")):
        monkeypatch.setattr(files, "_OPEN_FILE", name)
        write_atomically(str(tmp_path / "out.json"), CHUNKS, force=True)
    assert opened
    assert sorted(opened) == sorted(closed)


@posix
def test_the_name_is_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is, and then the folder that has the name."""
    synced, sync = list[bool](), os.fsync

    def noted(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "out.json", "other.json"):
        synced.clear()
        write_atomically(str(path), CHUNKS, force=False)
        assert synced == [False, True], path


def test_a_file_system_without_files_that_have_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where such a file can't be opened, a hidden one is."""
    open_file = os.open

    def opened(path: str, flags: int, *mode: int, **others: Any) -> int:
        if os.path.isdir(path) and flags & files._WRITE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return open_file(path, flags, *mode, **others)

    monkeypatch.setattr(os, "open", opened)
    write_atomically(str(tmp_path / "out.json"), CHUNKS, force=False)
    assert contents(tmp_path) == {"out.json": WHOLE}


def test_no_file_of_others_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one that has the hidden name by chance."""
    hide_unnamed(monkeypatch)
    monkeypatch.setattr(secrets, "token_hex", lambda _: "chance")
    (tmp_path / ".spanview-chance.tmp").write_bytes(b"theirs")
    with pytest.raises(ExportError):
        write_atomically(str(tmp_path / "out.json"), CHUNKS, force=False)
    assert contents(tmp_path) == {".spanview-chance.tmp": b"theirs"}


def test_the_next_name_that_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are taken are passed over, before there is any content, and one that is taken meanwhile, too."""
    monkeypatch.chdir(tmp_path)
    made = list[str]()

    def content(taken: str) -> Iterator[bytes]:
        made.append(taken)
        yield WHOLE
        if taken:
            Path(taken).write_bytes(b"theirs")

    assert write_anew("trace", "svg", lambda: content("")) == "trace.svg"
    assert write_anew("trace", "svg", lambda: content("")) == "trace-2.svg"
    assert made == ["", ""]
    ways = iter(["trace-3.svg", ""])
    assert write_anew("trace", "svg", lambda: content(next(ways))) == "trace-4.svg"
    assert contents(tmp_path) == dict.fromkeys(("trace.svg", "trace-2.svg", "trace-4.svg"), WHOLE) | {
        "trace-3.svg": b"theirs"
    }
    with pytest.raises(ExportError, match="its folder doesn't exist"):
        write_anew("missing/trace", "svg", lambda: content(""))


@posix
def test_paths_in_a_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are whole, up to 70 characters, of longer ones the end; where no folder is left, as they are given."""
    longest = "/" + "x" * 69
    assert shown_path(longest) == longest
    assert shown_path(f"/y{longest[1:]}") == f"…{longest[1:]}"
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert shown_path("trace.svg") == "trace.svg"


def test_a_missing_folder(tmp_path: Path) -> None:
    """A target in a folder that doesn't exist says so."""
    with pytest.raises(ExportError, match="its folder doesn't exist: create it first, or give another file"):
        write_atomically(str(tmp_path / "missing" / "out.json"), CHUNKS, force=False)


def test_a_file_as_folder(tmp_path: Path) -> None:
    """A target below a file says so."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ExportError, match="can't write"):
        write_atomically(str(tmp_path / "file" / "out.json"), CHUNKS, force=False)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["", "folder"])
def test_a_folder(tmp_path: Path, name: str, *, force: bool) -> None:
    """A target that is a folder is refused."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(ExportError, match="it is a folder; give the name of a file in it"):
        write_atomically(str(tmp_path / name), CHUNKS, force=force)


def test_an_impossible_name(tmp_path: Path) -> None:
    """A name that no file can have is answered in a line."""
    with pytest.raises(ExportError, match="null byte"):
        write_atomically(str(tmp_path / "a\x00b"), CHUNKS, force=False)
    with pytest.raises(ExportError, match="the name is too long: give a shorter one"):
        write_atomically(str(tmp_path / ("x" * 300)), CHUNKS, force=False)


@posix
def test_no_permission() -> None:
    """A folder that mustn't be written to says so."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            with pytest.raises(ExportError, match="no permission: give a file in a folder that you may write to"):
                write_atomically(str(Path(folder) / "out.json"), CHUNKS, force=False)
        finally:
            os.seteuid(user)


@posix
def test_permissions(tmp_path: Path) -> None:
    """A new file has the permissions that new files have; a replaced one keeps its own."""
    before = os.umask(0o027)
    try:
        write_atomically(str(tmp_path / "new"), CHUNKS, force=False)
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o604)
    write_atomically(str(tmp_path / "new"), CHUNKS, force=True)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o604


@posix
def test_who_may_run_a_file_stays(tmp_path: Path) -> None:
    """A replaced file can be run by whoever could run it before, but by nobody with the rights of its owner."""
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o4755)
    write_atomically(str(target), CHUNKS, force=True)
    assert target.stat().st_mode & 0o7777 == 0o755


@posix
def test_a_link(tmp_path: Path) -> None:
    """A link is refused like a file; with force what it points to is replaced, and the link stays."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to("real")
    with pytest.raises(ExportError, match="already exists"):
        write_atomically(str(link), CHUNKS, force=False)
    write_atomically(str(link), CHUNKS, force=True)
    assert link.is_symlink()
    assert real.read_bytes() == WHOLE


@posix
def test_a_link_to_nothing(tmp_path: Path) -> None:
    """A link to nothing is refused too; with force the file that it points to is made."""
    link = tmp_path / "link"
    link.symlink_to("real")
    with pytest.raises(ExportError, match="already exists"):
        write_atomically(str(link), CHUNKS, force=False)
    write_atomically(str(link), CHUNKS, force=True)
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes() == WHOLE


@posix
def test_a_link_to_itself(tmp_path: Path) -> None:
    """A circle of links is answered in a line."""
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(ExportError, match="its symbolic links run in a circle"):
        write_atomically(str(tmp_path / "link"), CHUNKS, force=True)


@posix
def test_a_pipe(tmp_path: Path) -> None:
    """What is neither file nor folder is never replaced."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ExportError, match="already exists"):
        write_atomically(str(tmp_path / "pipe"), CHUNKS, force=False)
    with pytest.raises(ExportError, match="it isn't a regular file; give - and redirect the output with >"):
        write_atomically(str(tmp_path / "pipe"), CHUNKS, force=True)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder, hidden ones included."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def raising(error: OSError) -> Callable[..., None]:
    """Return a function that raises an error whatever it is called with."""

    def fail(*_: object) -> None:
        raise error

    return fail
