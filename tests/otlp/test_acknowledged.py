"""The file that says what has arrived: it survives kills, and is of one endpoint."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import pytest

from builders import Builder, file_of, store_of_files
from spanview.model.problems import PushError
from spanview.otlp.acknowledged import Acknowledged

if TYPE_CHECKING:
    from pathlib import Path

    from spanview.index.store import Store

URL: Final = "http://localhost:4318/v1/traces"
ROWS: Final = range(6)


def store_of(count: int = len(ROWS)) -> Store:
    """Return a store of some spans."""
    build = Builder()
    return store_of_files({"a.txt": file_of([build.span() for _ in range(count)])})


def written(path: Path) -> bytes:
    """Write a state in which two batches arrived, the rows 0 to 2 and 3, and return the file."""
    with Acknowledged(str(path), URL) as state:
        assert state.is_new
        state.begin(7)
        state.add(store_of(), [0, 1, 2])
        state.add(store_of(), [3])
    return path.read_bytes()


def known(path: Path) -> list[bool]:
    """Return for each row whether a state knows it."""
    with Acknowledged(str(path), URL) as state:
        return [*state.among(store_of(), ROWS)]


def test_goes_on(tmp_path: Path) -> None:
    """What was added is known to the next call, and so is what holds for all; that adds to it."""
    path = tmp_path / "state"
    written(path)
    with Acknowledged(str(path), URL) as state:
        assert state.shift_ns == 7
        state.begin(8)
        assert state.shift_ns == 7
        state.add(store_of(), [5])
    assert known(path) == [True, True, True, True, False, True]


def test_any_end(tmp_path: Path) -> None:
    """Wherever a kill has cut it off, whole batches are known, no other is, and the next one is added whole."""
    path = tmp_path / "state"
    content = written(path)
    lengths = set()
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        found = known(path)
        assert found in ([False] * 6, [True] * 3 + [False] * 3, [True] * 4 + [False] * 2)
        lengths.add(sum(found))
        with Acknowledged(str(path), URL) as state:
            state.begin(7)
            state.add(store_of(), [5])
        assert known(path) == [*found[:5], True]
    assert lengths == {0, 3, 4}


def test_damage(tmp_path: Path) -> None:
    """A line that isn't as it was written doesn't count: its batch is sent again."""
    path = tmp_path / "state"
    lines = written(path).split(b"\n")
    lines[1] = lines[1][:-1] + (b"0" if lines[1][-1:] != b"0" else b"1")
    path.write_bytes(b"\n".join(lines))
    assert known(path) == [False] * 3 + [True] + [False] * 2


def test_moved_files(tmp_path: Path) -> None:
    """Spans are known wherever they lie, and by ids and times; of those that share them, by all that they say."""
    build = Builder()
    same: dict[str, Any] = {"trace": 1, "span": 1, "start": 0}
    documents = [build.span("a", **same), build.span("b", **same), build.span("b", attributes={"k": 1}, **same)]
    with Acknowledged(str(tmp_path / "state"), URL) as state:
        state.begin(0)
        state.add(store_of_files({"a.txt": file_of(documents)}), [0, 1])
    moved = store_of_files({"sub/z.txt": file_of([documents[2]]), "b.txt": file_of(documents[:2])})
    with Acknowledged(str(tmp_path / "state"), URL) as state:
        known = {moved.names.texts[moved.spans.name[row]]: [] for row in range(3)}  # type: dict[str, list[bool]]
        for row, was_sent in enumerate(state.among(moved, range(3))):
            known[moved.names.texts[moved.spans.name[row]]].append(was_sent)
    assert known["a"] == [True]
    assert sorted(known["b"]) == [False, True]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"something else", "is no state of spanview push"),
        (b"something else\n", "is no state of spanview push"),
        (b'{"a": 1}\n', "is no state of spanview push"),
        (json.dumps({"spanview": "push", "endpoint": URL, "shift_ns": None}).encode() + b"\n", "is no state"),
        (
            json.dumps({"spanview": "push", "endpoint": "http://other", "shift_ns": 0}).encode() + b"\n",
            "belongs to another endpoint, http://other",
        ),
    ],
)
def test_other_files(tmp_path: Path, content: bytes, said: str) -> None:
    """A file of another kind, or of another endpoint, is left as it is."""
    path = tmp_path / "state"
    path.write_bytes(content)
    with pytest.raises(PushError, match=said):
        Acknowledged(str(path), URL)
    assert path.read_bytes() == content


def test_odd_lines(tmp_path: Path) -> None:
    """A line that has its checksum, and no keys, says nothing; what is no regular file is no state."""
    path = tmp_path / "state"
    content = written(path)
    for digits in (b"zz", b"00", b"\xff"):
        path.write_bytes(content + b"%08x %b\n" % (crc32(digits), digits))
        assert known(path) == [True] * 4 + [False] * 2
    with pytest.raises(PushError, match="is no state"):
        Acknowledged(os.devnull, URL)
    with pytest.raises(PushError, match="can't be used as --state"):
        Acknowledged(str(tmp_path), URL)


def test_in_use(tmp_path: Path) -> None:
    """Two calls don't write to one file; the folder has to be there."""
    path = str(tmp_path / "state")
    with Acknowledged(path, URL), pytest.raises(PushError, match="another spanview push is using it"):
        Acknowledged(path, URL)
    with pytest.raises(PushError, match="can't be used as --state: No such file or directory"):
        Acknowledged(str(tmp_path / "none" / "state"), URL)
