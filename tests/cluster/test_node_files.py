"""What is collected of a node's files is, whatever happens to them, their beginning, or that of a generation of them.

what happened since the last call                collected
---------------------------------                ---------
appended                                         the rest, behind what there was
truncated, rewritten, longer or not              a second generation
renamed, and made anew under the old name        the rest under the first name; a second generation
DIR lost its end, as after a kill                from there on
DIR was changed                                  a second generation, whole
"""

from __future__ import annotations

import os
import random
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from seeds import seeds
from spanview.cluster import node_files
from spanview.cluster.collection import ClusterNode, Collection
from spanview.cluster.node_files import MESSAGE_BYTES, default_places, new_bytes
from spanview.model.problems import CollectError

if TYPE_CHECKING:
    from collections.abc import Callable

NODE: Final = ClusterNode("3f2a9c01b2d4" + "0" * 44, "worker-7")
FIRST, SECOND = "worker-7@3f2a9c01b2d4", "worker-7@3f2a9c01b2d4.2"


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    """Return the folder of span files of a node."""
    folder = tmp_path / "spans"
    folder.mkdir()
    return folder


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """Return the folder that is collected into."""
    return tmp_path / "collected"


def collect(spans: Path | str, into: Path) -> int:
    """Collect once, in a call of its own; return how many messages that took."""
    with Collection(str(into)) as collection:
        messages = [*new_bytes([str(spans)], collection.known(NODE), follow=False)]
        for pieces, compressed, _, problems in messages:
            assert not problems
            collection.add(NODE, pieces, zlib.decompress(compressed))
    return len(messages)


def collected(into: Path, spans: Path) -> dict[str, bytes]:
    """Return what there is, by the folder of node and generation and the file's name."""
    return {
        f"{top.name}/{path.relative_to(str(top) + str(spans))}": path.read_bytes()
        for top in sorted(into.iterdir())
        if top.is_dir()
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def test_appended_and_added(spans: Path, into: Path) -> None:
    """What is new is behind what there was; empty and nested files come, hidden ones don't."""
    (spans / "8.txt").write_bytes(b"first\n")
    (spans / "empty.txt").touch()
    (spans / ".hidden").write_bytes(b"no")
    collect(spans, into)
    assert collected(into, spans) == {f"{FIRST}/8.txt": b"first\n", f"{FIRST}/empty.txt": b""}
    with (spans / "8.txt").open("ab") as file:
        file.write(b"second\n")
    (spans / "deeper").mkdir()
    (spans / "deeper" / "9.txt").write_bytes(b"new\n")
    collect(spans, into)
    assert collected(into, spans) == {
        f"{FIRST}/8.txt": b"first\nsecond\n",
        f"{FIRST}/deeper/9.txt": b"new\n",
        f"{FIRST}/empty.txt": b"",
    }


@pytest.mark.parametrize(
    "text", [b"", b"short", b"other records of one width\n", b"records and more, but others\n" * 9]
)
def test_rewritten(spans: Path, into: Path, text: bytes) -> None:
    """A file that was truncated keeps what was collected of it, and is collected anew, however long it is now."""
    (spans / "8.txt").write_bytes(b"these records of one width\n")
    collect(spans, into)
    (spans / "8.txt").write_bytes(text)
    collect(spans, into)
    collect(spans, into)
    assert collected(into, spans) == {
        f"{FIRST}/8.txt": b"these records of one width\n",
        f"{SECOND}/8.txt": text,
    }


def test_rotated(spans: Path, into: Path) -> None:
    """A file that was renamed is read to its end, and stays where it was collected."""
    (spans / "8.txt").write_bytes(b"first\n")
    collect(spans, into)
    os.rename(spans / "8.txt", spans / "8.txt.1")
    with (spans / "8.txt.1").open("ab") as file:
        file.write(b"its end\n")
    (spans / "8.txt").write_bytes(b"anew\n")
    collect(spans, into)
    assert collected(into, spans) == {f"{FIRST}/8.txt": b"first\nits end\n", f"{SECOND}/8.txt": b"anew\n"}


def test_a_node_that_was_started_anew(spans: Path, into: Path) -> None:
    """Where all inodes are others, as on another device, what a file begins with says that it is the same."""
    (spans / "8.txt").write_bytes(b"first\n")
    collect(spans, into)
    (spans / "copy").write_bytes(b"first\nmore\n")
    os.rename(spans / "copy", spans / "8.txt")
    collect(spans, into)
    assert collected(into, spans) == {f"{FIRST}/8.txt": b"first\nmore\n"}


def test_what_was_collected_was_cut_or_changed(spans: Path, into: Path) -> None:
    """A killed call may have written less than it noted, and somebody may change what is there."""
    (spans / "8.txt").write_bytes(b"0123456789")
    (spans / "9.txt").write_bytes(b"0123456789")
    collect(spans, into)
    top = str(into / FIRST) + str(spans)
    os.truncate(f"{top}/8.txt", 4)
    Path(f"{top}/9.txt").write_bytes(b"other")
    collect(spans, into)
    assert collected(into, spans) == {
        f"{FIRST}/8.txt": b"0123456789",
        f"{FIRST}/9.txt": b"other",
        f"{SECOND}/9.txt": b"0123456789",
    }


def test_long_files_come_in_messages(spans: Path, into: Path) -> None:
    """Files of any size are sent in messages of limited size, each of which says how much is left."""
    contents = {name: random.Random(name).randbytes(MESSAGE_BYTES + 1000) for name in ("8.txt", "9.txt")}
    for name, content in contents.items():
        (spans / name).write_bytes(content)
    messages = [*new_bytes([str(spans)], [], follow=False)]
    assert [sum(piece[-1] for piece in pieces) for pieces, *_ in messages] == [0, MESSAGE_BYTES, MESSAGE_BYTES, 2000]
    assert [left for _, _, left, _ in messages] == [0, MESSAGE_BYTES + 2000, 2000, 0]
    collect(spans, into)
    assert collected(into, spans) == {f"{FIRST}/{name}": content for name, content in contents.items()}


@pytest.mark.shortened
@pytest.mark.parametrize("seed", seeds(240))
def test_any_history(  # noqa: C901 - it is one history
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """After any appends, truncations, renames and kills, each file collected is a beginning of what a file once was.

    At the end every file that is there was collected whole.
    """
    monkeypatch.setattr(node_files, "MESSAGE_BYTES", 64)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    spans, into = tmp_path / "spans", tmp_path / "collected"
    spans.mkdir()
    chance = random.Random(seed)
    once: list[bytes] = []
    contents: dict[str, bytes] = {}

    def write(name: str, content: bytes) -> None:
        (spans / name).write_bytes(content)
        once.append(content)
        contents[name] = content

    def record() -> bytes:
        return b'{"id": %04d}\n' % chance.randrange(10_000)

    # It is read on while it changes, and now and then from where another call was killed.
    names = ["1.txt", "2.txt"]
    for _ in range(12):
        with (
            Collection(str(into)) as collection,
            closing(new_bytes([str(spans)], collection.known(NODE), follow=True)) as follower,
        ):
            for _ in range(chance.randrange(6)):
                name = chance.choice(names)
                change = chance.random()
                if change < 0.6:
                    write(name, contents.get(name, b"") + b"".join(record() for _ in range(chance.randrange(1, 12))))
                elif change < 0.8:
                    write(name, b"".join(record() for _ in range(chance.randrange(12))))
                elif name in contents and f"{name}.1" not in contents:
                    os.rename(spans / name, spans / f"{name}.1")
                    contents[f"{name}.1"] = contents.pop(name)
                # A look that finds nothing new yields nothing, so the first message is all that is sure to come.
                if contents:
                    write("mark.txt", contents.get("mark.txt", b"") + record())
                    pieces, compressed, _, _ = next(follower)
                    collection.add(NODE, pieces, zlib.decompress(compressed))
        if chance.random() < 0.3:
            _cut_one(into, chance)
    collect(spans, into)
    there = collected(into, spans)
    for name, content in there.items():
        assert any(some.startswith(content) for some in once), name
    for name, content in contents.items():
        assert content in there.values(), name


def _cut_one(into: Path, chance: random.Random) -> None:
    files = sorted(path for path in into.rglob("*.txt*") if path.is_file())
    if files:
        path = chance.choice(files)
        os.truncate(path, chance.randrange(path.stat().st_size + 1))


def test_what_cannot_be_read_is_told_once(spans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that can't be opened is a sentence, said once, and the others are read."""
    (spans / "8.txt").write_bytes(b"first\n")
    (spans / "9.txt").write_bytes(b"second\n")
    real = os.open

    def fails(path: str, flags: int, *more: int) -> int:
        if path.endswith("8.txt"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", fails)
    monkeypatch.setattr(time, "sleep", lambda _: (spans / "9.txt").write_bytes(b"second\nmore\n"))
    messages = new_bytes([str(spans)], [], follow=True)
    found = [next(messages) for _ in range(3)]
    assert [problems for *_, problems in found] == [[], [f"{spans}/8.txt: Permission denied"], []]
    assert zlib.decompress(found[2][1]) == b"more\n"


def test_places_of_the_node(spans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables and globs are the node's, a link may be a place, and no link in a folder is followed."""
    (spans / "8.txt").write_bytes(b"first\n")
    os.symlink(spans / "8.txt", spans / "link.txt")
    os.symlink(spans, spans.parent / "latest")
    monkeypatch.setenv("WHERE", str(spans.parent))
    for place in ("$WHERE/latest", "$WHERE/sp*", "${WHERE}/spans/8.txt"):
        _, (pieces, *_) = new_bytes([place], [], follow=False)
        assert [piece[0] for piece in pieces] == [str(spans / "8.txt")]


def test_default_places_of_the_node(spans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without places, the folders of the node's latest session are read, those of spans and that of Ray's events."""
    monkeypatch.setenv("RAY_TMPDIR", str(spans.parent))
    monkeypatch.setenv("SPANVIEW_DIR", str(spans))
    logs = spans.parent / "ray" / "session_latest" / "logs"
    for name in ("spans", "serve/spans", "export_events"):
        (logs / name).mkdir(parents=True)
    of_session = [str(logs / name) for name in ("spans", "serve/spans", "export_events")]
    assert default_places()[1:] == [str(spans), *of_session]
    # Each process of Ray makes one for events.
    (logs / "spans" / "8.txt").touch()
    (logs / "export_events" / "event_EXPORT_TASK_8.log").touch()
    (logs / "export_events" / "event_EXPORT_TASK_9.log").write_bytes(b"{}\n")
    _, (pieces, *_) = new_bytes(of_session, [], follow=False)
    assert [Path(piece[0]).name for piece in pieces] == ["8.txt", "event_EXPORT_TASK_9.log"]


def test_one_call_at_a_time(spans: Path, into: Path) -> None:
    """Two calls don't write to one folder, and no folder can be where a file is."""
    (spans / "8.txt").write_bytes(b"first\n")
    with Collection(str(into)), pytest.raises(CollectError, match="another spanview is collecting into it"):
        Collection(str(into))
    with pytest.raises(CollectError, match="can't be written: File exists"):
        Collection(str(spans / "8.txt"))


@pytest.mark.parametrize("path", ["relative.txt", "/../up.txt", "/a/../../up.txt", "/a//b"])
def test_no_path_leads_out_of_the_folder(into: Path, path: str) -> None:
    """What a node says can't make spanview write elsewhere."""
    with Collection(str(into)) as collection, pytest.raises(CollectError, match="isn't the path of a file"):
        collection.add(NODE, [(path, 1, 0, 0, 0, 1)], b"x")


@pytest.mark.parametrize(
    "change", [lambda path: path.write_bytes(b"first\nmore"), lambda path: path.unlink()], ids=["longer", "gone"]
)
def test_a_file_that_somebody_else_changes(spans: Path, into: Path, change: Callable[[Path], None]) -> None:
    """Nothing is appended where it wouldn't fit."""
    (spans / "8.txt").write_bytes(b"first\n")
    with Collection(str(into)) as collection:
        _, (pieces, compressed, _, _) = new_bytes([str(spans)], [], follow=False)
        content = zlib.decompress(compressed)
        collection.add(NODE, pieces, content)
        change(Path(str(into / FIRST) + str(spans / "8.txt")))
        later = [(path, generation, device, inode, 6, 6) for path, generation, device, inode, _, _ in pieces]
        with pytest.raises(CollectError, match="was changed by another program"):
            collection.add(NODE, later, content)
