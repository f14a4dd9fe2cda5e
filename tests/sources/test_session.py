"""Reading files again and again while everything happens to them; nothing that was whole for a moment gets lost.

what happened since the last look            what the next look does
---------------------------------            -----------------------
more was written                             reads on
it was cut, and written anew                 keeps what it had; reads a new generation
it was removed, or renamed                   reads the rest of the old one, then what is there
another file took the path                   the same
it was changed in its middle, in place       compares what was read, and reads a new generation
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from builders import Builder, Document, file_of
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.model.problems import NoSuchPathError, ProblemKind
from spanview.sources import session, tail
from spanview.sources.descriptors import read_at
from spanview.sources.details import RecordReader
from spanview.sources.discover import discover
from spanview.sources.session import Session
from spanview.sources.terms import Changes, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from spanview.sources.discover import Listing


class Reading:
    """A session with its store, begun on a folder."""

    def __init__(
        self, *paths: Path, follow: bool = True, newest_first: bool = False, events: tuple[str, ...] = ()
    ) -> None:
        self.details = RecordReader()
        self.store = Store(self.details)
        options = ReadOptions(tuple(map(str, paths)), follow=follow, newest_first=newest_first, events=events)
        self.session = Session(options, self.store, self.details)
        self.progress = list(self.session.load())

    def look(self) -> Changes:
        """Search everything once."""
        return self.session.look()

    @property
    def names(self) -> list[str]:
        """The spans' names by path, generation and offset, each read again."""
        return [self.store.span(row).name for row in self.store.rows_in_order()]

    @property
    def kinds(self) -> list[ProblemKind]:
        """The kinds of problems."""
        return [problem.kind for problem in self.store.problems()]

    @property
    def lost_details(self) -> list[str]:
        """The names of spans whose attributes can't be read again."""
        spans = [self.store.span(row) for row in range(len(self.store.spans))]
        return [span.name for span in spans if span.attributes != {"of": span.name}]


@contextmanager
def reading(
    *paths: Path, follow: bool = True, newest_first: bool = False, events: tuple[str, ...] = ()
) -> Iterator[Reading]:
    """Read a folder, and give everything back in the end."""
    made = Reading(*paths, follow=follow, newest_first=newest_first, events=events)
    try:
        yield made
    finally:
        made.session.close()
        made.details.close()


BUILD = Builder()


def spans(*names: str) -> bytes:
    """Return records whose attributes tell their names."""
    return file_of(span(name) for name in names)


def span(name: str) -> Document:
    """Return a span whose attributes tell its name."""
    return BUILD.span(name, attributes={"of": name})


def append(path: Path, data: bytes) -> None:
    """Append to a file."""
    with path.open("ab") as file:
        file.write(data)


def test_growing_files_are_read_on(tmp_path: Path) -> None:
    """Looks bring what was appended and what is new, and count it; a quiet one brings nothing."""
    append(tmp_path / "1.json", spans("a"))
    with reading(tmp_path) as made:
        append(tmp_path / "1.json", spans("b"))
        append(tmp_path / "2.json", spans("c", "d"))
        changes = made.look()
        assert (changes.spans, changes.bytes) == (3, len(spans("b", "c", "d")))
        assert (made.look().spans, made.look().bytes) == (0, 0)
        assert made.names == ["a", "b", "c", "d"]
        assert made.lost_details == []


def test_hints_are_enough_for_known_files(tmp_path: Path) -> None:
    """A hint at a file is looked at alone, a new one too; one at a new folder, or at a renamed file, makes a search."""
    append(tmp_path / "1.json", spans("a"))
    append(tmp_path / "2.json", spans("b"))
    with reading(tmp_path) as made:
        append(tmp_path / "1.json", spans("c"))
        append(tmp_path / "2.json", spans("d"))
        assert made.session.look([str(tmp_path / "1.json")]).spans == 1
        append(tmp_path / "3.json", spans("e"))
        append(tmp_path / ".hidden", spans("f"))
        assert made.session.look([str(tmp_path / name) for name in ("3.json", ".hidden", "gone")]).spans == 1
        (tmp_path / "1.json").rename(tmp_path / "4.json")
        append(tmp_path / "4.json", spans("g"))
        assert made.session.look([str(tmp_path / "4.json")]).spans == 2
        (tmp_path / "low").mkdir()
        append(tmp_path / "low" / "5.json", spans("h"))
        assert made.session.look([str(tmp_path / "low")]).spans == 1
        assert sorted(made.names) == [*"abcdegh"]


def at_rest(made: Reading, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Look until nothing is left to do; return a list that grows with each search that makes something of it."""
    searches: list[None] = []

    def noted(paths: list[str]) -> Listing:
        searches.append(None)
        return discover(paths)

    monkeypatch.setattr(session, "discover", noted)
    monkeypatch.setattr(tail, "_CLOCK_TICK_S", 0.0)
    monkeypatch.setattr(tail, "_COARSE_CLOCK_TICK_S", 0.0)
    made.look()
    made.look()
    made.look()
    searches.clear()
    return searches


def grow(folder: Path) -> None:
    """Let a file grow."""
    append(folder / "1.json", spans("new"))


def grow_below(folder: Path) -> None:
    """Let a file of a folder in the folder grow."""
    append(folder / "below" / "2.json", spans("new"))


def make(folder: Path) -> None:
    """Write one more file."""
    append(folder / "3.json", spans("new"))


def make_below(folder: Path) -> None:
    """Make one more folder with a file."""
    (folder / "further").mkdir()
    append(folder / "further" / "3.json", spans("new"))


def write_anew(folder: Path) -> None:
    """Write other bytes over a file, as many, and give it its time back."""
    before = (folder / "1.json").stat()
    (folder / "1.json").write_bytes(spans("z"))
    os.utime(folder / "1.json", ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(folder: Path) -> None:
    """Put another file in the place of one, as long and as old."""
    before = (folder / "1.json").stat()
    (folder / "other").write_bytes(spans("z"))
    os.utime(folder / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
    (folder / "other").replace(folder / "1.json")


def replace_folder(folder: Path) -> None:
    """Put another folder in the place of the one that was given."""
    folder.rename(folder.with_name("before"))
    folder.mkdir()
    append(folder / "1.json", spans("z"))


def rename(folder: Path) -> None:
    """Rename a file, and let it grow under its new name."""
    (folder / "1.json").rename(folder / "renamed.json")
    append(folder / "renamed.json", spans("new"))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (grow, ["a", "b", "new"]),
        (grow_below, ["a", "b", "new"]),
        (make, ["a", "b", "new"]),
        (make_below, ["a", "b", "new"]),
        (write_anew, ["a", "b", "z"]),
        (replace, ["a", "b", "z"]),
        (replace_folder, ["a", "b", "z"]),
        (rename, ["a", "b", "new"]),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_what_ends_the_rest_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], names: list[str]
) -> None:
    """While nothing has changed a search makes nothing of what it sees; no hint is needed to see each change."""
    folder = tmp_path / "spans"
    (folder / "below").mkdir(parents=True)
    append(folder / "1.json", spans("a"))
    append(folder / "below" / "2.json", spans("b"))
    with reading(folder) as made:
        searches = at_rest(made, monkeypatch)
        resting = [made.look() for _ in range(3)]
        assert searches == []
        assert {(*each.directories,) for each in resting} == {(str(folder), str(folder / "below"))}
        change(folder)
        assert made.look().spans == 1
        assert len(searches) == 1
        assert sorted(made.names) == names


def test_link_to_another_folder_ends_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a PATH stands for is asked each time, also where what it stood for is as it was."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        append(tmp_path / name / "1.json", spans(name))
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "a")
    with reading(link) as made:
        searches = at_rest(made, monkeypatch)
        link.unlink()
        link.symlink_to(tmp_path / "b")
        assert made.look().spans == 1
        assert len(searches) == 1


def test_removed_file_ends_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing of a folder is a change too."""
    append(tmp_path / "1.json", spans("a"))
    append(tmp_path / "2.json", spans("b"))
    with reading(tmp_path) as made:
        searches = at_rest(made, monkeypatch)
        (tmp_path / "2.json").unlink()
        made.look()
        assert len(searches) == 1


def test_no_rest_while_something_is_left_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that just changed may change again within its clock's tick; one that is gone may be written to still."""
    append(tmp_path / "1.json", spans("a"))
    with reading(tmp_path) as made:
        searches = at_rest(made, monkeypatch)
        monkeypatch.setattr(tail, "_CLOCK_TICK_S", 60.0)
        monkeypatch.setattr(tail, "_COARSE_CLOCK_TICK_S", 60.0)
        append(tmp_path / "1.json", spans("b"))
        for _ in range(3):
            made.look()
        assert len(searches) == 3
    with reading(tmp_path) as made:
        searches = at_rest(made, monkeypatch)
        with (tmp_path / "1.json").open("ab", buffering=0) as file:
            (tmp_path / "1.json").unlink()
            made.look()
            file.write(spans("c"))
            assert made.look().spans == 1
        assert len(searches) == 2


def test_files_are_read_on_after_they_were_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written later to a file that was removed, moved or left behind by a link is read until it is quiet."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    link = tmp_path / "session_latest"
    link.symlink_to("old")
    with reading(link) as made, ExitStack() as stack:
        files = {
            name: stack.enter_context((tmp_path / "old" / f"{name}.json").open("ab", buffering=0))
            for name in ("removed", "moved", "left")
        }
        for name, file in files.items():
            file.write(spans(f"{name} 1"))
        made.look()
        (tmp_path / "old" / "removed.json").unlink()
        (tmp_path / "old" / "moved.json").rename(tmp_path / "elsewhere")
        for name, file in files.items():
            file.write(spans(f"{name} 2"))
        made.look()
        link.unlink()
        link.symlink_to("new")
        for number in (3, 4):
            for name, file in files.items():
                file.write(spans(f"{name} {number}"))
            changes = made.look()
            assert changes.bytes == changes.bytes_left_behind > 0
        assert sorted(made.names) == sorted(f"{name} {number}" for name in files for number in range(1, 5))
        assert made.lost_details == []
        monkeypatch.setattr("spanview.sources.session._LEFT_BEHIND_QUIET_S", 0.0)
        made.look()
        for file in files.values():
            file.write(spans("too late"))
        made.look()
        assert len(made.names) == 12
        assert made.kinds == []


def test_removed_file_that_was_written_anew_is_read(tmp_path: Path) -> None:
    """Between two looks a file is cut, written anew, and removed or moved away: its descriptor still leads to it."""
    expected = []
    with reading(tmp_path) as made:
        for number in range(20):
            path = tmp_path / f"{number}.json"
            append(path, spans(f"{number} a", f"{number} b"))
            made.look()
            path.write_bytes(spans(f"{number} c"))
            if number % 2:
                path.unlink()
            else:
                path.rename(tmp_path / f".{number}")
            made.look()
            expected += [f"{number} {name}" for name in "abc"]
        assert sorted(made.names) == sorted(expected)
        assert made.lost_details == []


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_folder_that_cant_be_searched_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """What lay in a folder isn't gone because the folder can't be read: nothing is read twice, and nothing is torn."""
    for name in ("1.json", "low/2.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        append(tmp_path / name, spans(f"{name} a")[:-20])
    rest = spans("b")[-20:]

    def fails(_: object) -> None:
        raise error

    monkeypatch.setattr("spanview.sources.session._LEFT_BEHIND_QUIET_S", 0.0)
    with reading(tmp_path) as made:
        for _ in range(3):
            with monkeypatch.context() as patch:
                patch.setattr(os, "scandir", fails)
                made.look()
        for name in ("1.json", "low/2.json"):
            append(tmp_path / name, rest)
        made.look()
        assert made.names == ["1.json a", "low/2.json a"]
        assert made.kinds == [ProblemKind.UNREADABLE]


def test_file_that_is_written_without_end_lets_others_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look takes so much from one file and no more, says that there is more, and the next goes on."""
    monkeypatch.setattr("spanview.sources.session._MAX_BYTES_PER_FILE", 1000)
    for name in ("1.json", "2.json"):
        append(tmp_path / name, b"")
    with reading(tmp_path) as made:
        append(tmp_path / "1.json", spans("first"))
        append(tmp_path / "2.json", spans("other"))
        with monkeypatch.context() as patch:
            pieces = iter([spans(f"{number}") for number in range(1_000)])

            def growing(descriptor: int, length: int, offset: int) -> bytes:
                data = read_at(descriptor, length, offset)
                if os.fstat(descriptor).st_ino == (tmp_path / "1.json").stat().st_ino:
                    append(tmp_path / "1.json", next(pieces))
                return data

            patch.setattr("spanview.sources.tail.read_at", growing)
            changes = made.look()
        assert changes.has_more
        assert "other" in made.names
        assert 1 < len(made.names) < 100
        while made.look().has_more:
            pass
        written = 999 - len(list(pieces))
        assert sorted(made.names) == sorted(["first", "other", *map(str, range(written + 1))])


def test_record_that_was_half_there_at_first_keeps_its_details(tmp_path: Path) -> None:
    """A record of which the first reading saw a part is kept whole, and outlives its file."""
    path, record = tmp_path / "1.json", spans("a")
    path.write_bytes(record[:100])
    with reading(tmp_path) as made:
        append(path, record[100:150])
        made.look()
        append(path, record[150:])
        made.look()
        path.unlink()
        made.look()
        assert (made.names, made.lost_details) == (["a"], [])


def test_cut_to_a_part_and_grown_again(tmp_path: Path) -> None:
    """Records that are still there when a file loses its last ones are counted once, those that nobody kept too."""
    path = tmp_path / "1.json"
    path.write_bytes(spans("a", "b") + spans("c"))
    kept = path.read_bytes()[: -len(spans("c"))]
    with reading(tmp_path) as made:
        path.write_bytes(kept)
        made.look()
        append(path, spans("d"))
        made.look()
        assert sorted(made.names) == ["a", "b", "c", "d"]
        assert summary_of(made.store).duplicates == 2
        # They can be looked at again, at the place where they are now.
        assert made.lost_details == ["c"]


def test_file_that_comes_back_goes_on(tmp_path: Path) -> None:
    """A file that was moved away and back is the same file: nothing is read twice."""
    path = tmp_path / "spans" / "1.json"
    path.parent.mkdir()
    append(path, spans("a"))
    with reading(path.parent) as made:
        for number in range(3):
            path.rename(tmp_path / "away")
            append(tmp_path / "away", spans(f"{number} away"))
            made.look()
            (tmp_path / "away").rename(path)
            append(path, spans(f"{number} back"))
            made.look()
        assert made.names == ["a", *(f"{number} {where}" for number in range(3) for where in ("away", "back"))]
        assert summary_of(made.store).duplicates == 0


def test_renamed_file_has_its_spans_once(tmp_path: Path) -> None:
    """Files that are rotated, as logs are, are read on under their new names; the path's next file is a new one."""
    one, two, three = (tmp_path / f"{number}.json" for number in (1, 2, 3))
    append(one, spans("a"))
    expected = ["a"]
    with reading(tmp_path) as made:
        for number in range(20):
            append(one, spans(f"{number} before"))
            made.look()
            append(one, spans(f"{number} between"))
            if two.exists():
                two.rename(three)
            one.rename(two)
            append(two, spans(f"{number} after"))
            append(one, spans(f"{number} new"))
            made.look()
            expected += [f"{number} {which}" for which in ("before", "between", "after", "new")]
        assert sorted(made.names) == sorted(expected)
        # Read before the following began, so that nobody kept it when its file was overwritten.
        assert made.lost_details == ["a"]
        assert summary_of(made.store).duplicates == 0
        assert made.kinds == []


def test_generations_come_in_their_order(tmp_path: Path) -> None:
    """What a path held first comes before what it held later, though the offsets say otherwise."""
    path = tmp_path / "1.json"
    path.write_bytes(spans("old 1", "old 2"))
    append(tmp_path / "2.json", spans("other"))
    with reading(tmp_path) as made:
        append(path, spans("old 3"))
        made.look()
        path.write_bytes(spans("new 1"))
        made.look()
        path.unlink()
        made.look()
        path.write_bytes(spans("newest 1", "newest 2"))
        made.look()
        assert [made.store.names.texts[made.store.spans.name[row]] for row in made.store.rows_in_order()] == [
            *("old 1", "old 2", "old 3"),
            "new 1",
            *("newest 1", "newest 2"),
            "other",
        ]


def test_folder_comes_and_goes(tmp_path: Path) -> None:
    """A folder that isn't there is missing in each look until it comes, and again after it went."""
    folder = tmp_path / "spans"
    with reading(folder) as made:
        assert made.look().missing == [str(folder)]
        folder.mkdir()
        append(folder / "1.json", spans("a"))
        changes = made.look()
        assert (changes.missing, changes.spans, changes.directories) == ([], 1, [str(folder)])
        (folder / "1.json").unlink()
        folder.rmdir()
        assert made.look().missing == [str(folder)]
        assert made.names == ["a"]


def test_missing_path_is_an_error_without_follow(tmp_path: Path) -> None:
    """Nobody waits for what isn't there unless asked to."""
    with pytest.raises(NoSuchPathError, match="nowhere: no such file or folder"):
        Reading(tmp_path / "nowhere", follow=False)


@pytest.mark.parametrize("follow", [False, True])
def test_nobody_waits_for_a_folder_of_events(tmp_path: Path, *, follow: bool) -> None:
    """It is no error, and not waited for, where it is missing; it is read once it is there."""
    folder, events = tmp_path / "spans", tmp_path / "events"
    folder.mkdir()
    append(folder / "1.json", spans("a"))
    with reading(folder, follow=follow, events=(str(events),)) as made:
        assert made.look().missing == []
        events.mkdir()
        append(events / "1.json", b"")
        assert (made.look().missing, len(made.store.sources)) == ([], 1)
        append(events / "1.json", spans("b"))
        changes = made.look()
        assert (changes.missing, changes.spans, changes.directories) == ([], 1, [str(folder), str(events)])


def test_unfinished_ends_are_torn_in_the_end_only(tmp_path: Path) -> None:
    """Half a record at the end of a file is being written while somebody follows, and torn when it is over."""
    record = spans("a")
    append(tmp_path / "1.json", record + record[:50])
    with reading(tmp_path) as made:
        made.look()
        made.look()
        assert made.kinds == []
    assert made.kinds == [ProblemKind.TORN]
    with reading(tmp_path, follow=False) as once:
        assert once.kinds == [ProblemKind.TORN]


def test_newest_file_comes_first_where_asked_for(tmp_path: Path) -> None:
    """The viewer reads first what changed last; the order of the export stays."""
    for age, name in ((30, "a"), (10, "b"), (20, "c")):
        append(tmp_path / f"{name}.json", spans(name))
        os.utime(tmp_path / f"{name}.json", (2_000_000_000 - age,) * 2)
    with reading(tmp_path, follow=False, newest_first=True) as made:
        assert [made.store.span(row).name for row in range(3)] == ["b", "c", "a"]
        assert made.names == ["a", "b", "c"]


def test_standard_input_keeps_its_details() -> None:
    """What is piped in is read to its end in the pieces that come, and its records can be read again."""
    reader, writer = os.pipe()
    os.write(writer, spans("a", "b"))
    os.close(writer)
    details = RecordReader()
    store = Store(details)
    with os.fdopen(reader, "rb") as stream:
        for _ in Session(ReadOptions(("-",)), store, details, stream).load():
            pass
    assert [store.span(row).attributes for row in range(2)] == [{"of": "a"}, {"of": "b"}]
    details.close()


def test_a_quiet_pipe_lets_what_came_be_shown() -> None:
    """When nothing more comes for a moment, progress is told again though the pipe is open."""
    reader, writer = os.pipe()
    details = RecordReader()
    store = Store(details)
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb", buffering=0) as other_end:
        loading = Session(ReadOptions(("-",)), store, details, stream).load()
        for name in ("a", "b"):
            other_end.write(spans(name))
            assert next(loading).bytes_read == next(loading).bytes_read > 0
        assert len(store.spans) == 2
        other_end.close()
        assert [*loading] == []
    details.close()


def test_standard_input_that_fails_is_a_problem() -> None:
    """An error while standard input is read ends it, with a problem, and what came before stays."""
    reader, writer = os.pipe()
    details = RecordReader()
    store = Store(details)
    with os.fdopen(reader, "rb"), os.fdopen(writer, "wb") as wrong_end:
        for _ in Session(ReadOptions(("-",)), store, details, wrong_end).load():
            pass
    assert [(problem.kind, problem.file) for problem in store.problems()] == [(ProblemKind.UNREADABLE, "-")]
    details.close()


@pytest.mark.parametrize("pieces", [1, 40])
def test_change_in_the_middle_is_seen(pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the same size, front and last record is read anew where its times say that it was changed."""
    monkeypatch.setattr(tail, "_MAX_BLOCKS_COMPARED", 2)
    path = tmp_path / "1.json"
    names = [f"span {number:04}" for number in range(200)]
    parts = [spans(name) for name in names]
    path.write_bytes(b"".join(parts[:100]))
    with reading(tmp_path) as made:
        step = 100 // pieces
        for first in range(100, 200, step):
            append(path, b"".join(parts[first : first + step]))
            made.look()
        time.sleep(0.05)
        made.look()
        place = path.read_bytes().index(b"span 0050")
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"span 9999")
        for _ in range(10):
            made.look()
        assert sorted({*made.names}) == sorted([*names, "span 9999"])
        assert made.kinds == [ProblemKind.TRUNCATED]


@pytest.mark.parametrize("has_spans", [False, True])
def test_a_file_without_spans_that_is_written_anew(tmp_path: Path, *, has_spans: bool) -> None:
    """Nothing of a report is lost that a program writes anew each minute, as Ray does in `debug_state.txt`."""
    path = tmp_path / "debug_state.txt"
    path.write_bytes(b"NodeManager:\nNode ID: 7\n" * 9 + (spans("a") if has_spans else b""))
    with reading(tmp_path) as made:
        made.look()
        path.write_bytes(b"NodeManager:\nNode ID: 8\n")
        made.look()
        made.look()
        assert (ProblemKind.TRUNCATED in made.kinds) is has_spans


def test_other_times_alone_are_no_change(tmp_path: Path) -> None:
    """A file that was touched, or has other rights, is what it was."""
    path = tmp_path / "1.json"
    path.write_bytes(spans("a", "b", "c"))
    with reading(tmp_path) as made:
        made.look()
        path.chmod(0o640)
        os.utime(path, (1, 1))
        for _ in range(3):
            made.look()
        assert (made.names, made.kinds) == (["a", "b", "c"], [])
