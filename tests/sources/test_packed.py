"""Compressed files and streams, whatever they are called: the same spans as without."""

from __future__ import annotations

import gzip
import json
import os
import pty
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from peaks import spanview_with_peak
from programs import Following
from programs import spanview as run
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.sources import details, unpacking
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.spool import zstd_module
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from builders import Document
    from spanview.sources.discover import FoundFile

ZSTD: Final = zstd_module()
FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
FOLDER: Final = FIXTURES / "ray-tasks-bundled-hook/spans"
PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "zstd": ZSTD.compress,
    # Without the size of the content, as from a pipe.
    "zstd stream": lambda data: (packer := ZSTD.ZstdCompressor()).compress(data) + packer.flush(),
    # As pzstd writes them.
    "zstd behind what is passed over": lambda data: b"\x50\x2a\x4d\x18\x04\0\0\0size" + ZSTD.compress(data),
    "gzip in parts": lambda data: b"".join(gzip.compress(data[at : at + 1000]) for at in range(0, len(data), 1000)),
}
BREAKS: Final = pytest.mark.parametrize("packer", [PACKERS["gzip"], PACKERS["zstd"]], ids=["gzip", "zstd"])


def documents(*names: str) -> list[Document]:
    """Return a span for each name."""
    build = Builder()
    return [build.span(name, trace=at, span=at, attributes={"n": at}) for at, name in enumerate(names, 1)]


@pytest.mark.parametrize("packer", PACKERS.values(), ids=[*PACKERS])
def test_a_recording(packer: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A folder of compressed files has the same spans, with all their details, as one of plain files."""
    for path in FOLDER.iterdir():
        # The name says nothing, but for Ray's own.
        (tmp_path / f"{path.stem}.spans").write_bytes(packer(path.read_bytes()) if path.stat().st_size else b"")
    plain, packed = load_store(FOLDER), load_store(tmp_path)
    assert [packed.span(row).attributes for row in packed.rows_in_order()] == [
        plain.span(row).attributes for row in plain.rows_in_order()
    ]
    assert summary_of(packed).spans == summary_of(plain).spans
    assert summary_of(packed).bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert packed.problems() == []


@pytest.mark.parametrize("packer", PACKERS.values(), ids=[*PACKERS])
def test_standard_input(packer: Callable[[bytes], bytes]) -> None:
    """What is piped in may be compressed, too."""
    data = packer(file_of(documents("first", "second")))
    done = subprocess.run(
        [sys.executable, "-m", "spanview", "tree", "-"], input=data, capture_output=True, timeout=60, check=True
    )
    assert b"first" in done.stdout
    assert b"second" in done.stdout
    assert done.stderr == b""


@BREAKS
def test_what_breaks_off(packer: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """At whatever byte: what came before is kept as far as it can be had, and the file is named once."""
    names = [f"span {at}" for at in range(200)]
    data = packer(file_of(documents(*names)))
    path = tmp_path / "spans.packed"
    counts = []
    for size in range(4, len(data), max(1, len(data) // 25)):
        path.write_bytes(data[:size])
        store = load_store(path)
        told = [(problem.kind.value, problem.file) for problem in store.problems()]
        assert [each for each in told if each[0] not in ("torn", "no_spans")] == [("unreadable", str(path))]
        counts.append(len(store.spans))
    assert counts == sorted(counts)
    path.write_bytes(data[: len(data) // 2] + b"\xff" * 50 + data[len(data) // 2 + 50 :])
    assert run("check", str(path)).status == 1


def test_followed(tmp_path: Path) -> None:
    """A compressed file that comes, and one that is written again with more in it: each span is printed once."""
    folder = tmp_path / "spans"
    folder.mkdir()
    (folder / "plain.json").write_bytes(file_of(documents("plain")))
    with Following("spans", "-f", folder) as following:
        following.wait_for(lambda: len(following.lines) == 1)
        both = file_of(documents("one", "two"))
        (folder / "new.gz").write_bytes(gzip.compress(both)[:60])
        (folder / "new.gz").write_bytes(gzip.compress(both))
        following.wait_for(lambda: len(following.lines) >= 3)
        (folder / "new.gz").write_bytes(gzip.compress(both + file_of(documents("one", "two", "three")[2:])))
        following.wait_for(lambda: len(following.lines) >= 4)
        assert following.stop() == 0
    assert sorted(line.split('"name":"')[1].split('"')[0] for line in following.lines) == [
        "one",
        "plain",
        "three",
        "two",
    ]


@pytest.mark.parametrize("form", ["gz", "zst"])
def test_it_grows(form: str, tmp_path: Path) -> None:
    """What a program appends to a compressed file is printed as it comes, and where it stays cut is told at the end."""
    path = tmp_path / "spans.packed"
    data = [file_of([document]) for document in documents(*(f"span {at}" for at in range(5)))]
    with path.open("wb") as stream, Following("spans", "-f", tmp_path) as following:
        packer = zlib.compressobj(wbits=31) if form == "gz" else ZSTD.ZstdCompressor()
        flush = zlib.Z_SYNC_FLUSH if form == "gz" else ZSTD.ZstdCompressor.FLUSH_BLOCK
        for count, piece in enumerate(data, 1):
            stream.write(packer.compress(piece) + packer.flush(flush))
            stream.flush()
            following.wait_for(lambda: len(following.lines) == count)  # noqa: B023 - it is called at once
        stream.write(packer.compress(b'{"name": "cut') + packer.flush(flush))
        stream.flush()
        assert following.stop() == 0
    done = run("check", "--json", str(tmp_path))
    assert done.status == 1
    problems = {each["kind"]: each["offset"] for each in json.loads(done.output)["problems"]}
    size = sum(map(len, data))
    assert problems == {"torn": size, "unreadable": size + len(b'{"name": "cut')}


def test_torn_in_the_middle(tmp_path: Path) -> None:
    """A record that breaks off in the middle of a compressed file isn't taken for its end, whatever its size."""
    one, two = (file_of([document]) for document in documents("one", "two"))
    (tmp_path / "spans.packed").write_bytes(gzip.compress(one[:-20] + b"\n" + two * 50))
    found = {finding["kind"] for finding in json.loads(run("check", "--json", str(tmp_path)).output)["findings"]}
    assert "torn_inside" in found
    assert "torn_tail" not in found


def test_plain_files_are_opened_once_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of names that Ray gives none is opened to see whether it is compressed, of others each once."""
    looked_into = list[str]()
    original = details.opened

    def opened(found: FoundFile) -> AbstractContextManager[int]:
        looked_into.append(Path(found.real).name)
        return original(found)

    monkeypatch.setattr("spanview.sources.packed.opened", opened)
    for name in ("7.txt", "8.json", "proxy_1_tracing.json", "spans.jsonl"):
        (tmp_path / name).write_bytes(file_of(documents(name)))
    reader = RecordReader()
    store = Store(reader)
    session = Session(ReadOptions((str(tmp_path),), follow=True), store, reader)
    for _ in session.load():
        pass
    for _ in range(3):
        session.look()
    assert looked_into == ["spans.jsonl"]
    assert len(store.spans) == 4
    session.close()


def test_a_bomb_stays_small(tmp_path: Path) -> None:
    """What unpacks to very much is read in pieces."""
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(bytes(100_000_000)))
    done, peak = spanview_with_peak("check", path)
    assert (done.status, peak < 150) == (0, True)


def test_a_bomb_tells_how_far_it_is(tmp_path: Path) -> None:
    """A small file that takes long is read in steps, in which progress is shown and the viewer can be left."""
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(bytes(3_000_000)))
    reader = RecordReader()
    session = Session(ReadOptions((str(path),)), Store(reader), reader)
    steps = [progress.bytes_read for progress in session.load()]
    assert len(steps) > 10
    assert steps == sorted(steps)
    assert steps[-1] == path.stat().st_size


def test_progress_is_shown_of_a_small_file_that_takes_long(tmp_path: Path) -> None:
    """What counts is the time, not the size of the file."""
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 4_000_000, 1))
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "spanview", "stats", str(path)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        written = b""
        with suppress(OSError):
            while b"reading" not in written and (piece := os.read(ours, 4096)):
                written += piece
        process.kill()
    os.close(ours)
    assert b"reading" in written


def test_long_names_in_a_small_file(tmp_path: Path) -> None:
    """Names of megabytes are not all held at once; they stay different, and an export has each of them whole."""
    build, packer = Builder(), ZSTD.ZstdCompressor()
    names = [letter * 8_000_000 for letter in "abcdefghijk"] + ["a" * 8_000_001]
    path, target = tmp_path / "names.zst", tmp_path / "out.jsonl"
    parts = [packer.compress(file_of([build.span(name)])) for name in names]
    path.write_bytes(b"".join(parts) + packer.flush())
    assert path.stat().st_size < 50_000
    done, peak = spanview_with_peak("stats", path, "--json")
    assert (done.status, peak < 200) == (0, True)
    groups = json.loads(done.output)["groups"]
    assert len(groups) == len(names)
    assert max(len(group["key"]) for group in groups) < 5_000
    done, peak = spanview_with_peak("export", path, "--format", "jsonl", "-o", target)
    assert (done.status, peak < 250) == (0, True)
    with target.open(encoding="utf-8") as lines:
        assert [json.loads(line)["name"] for line in lines] == names


@pytest.mark.parametrize("suffix", ["", "-"])
def test_what_unpacks_to_too_much(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what unpacks to a thousand times its size only a part is read, and that is said, with file and offset."""
    monkeypatch.setattr(unpacking, "_ALWAYS_UNPACKED_BYTES", 1_000_000)
    path = tmp_path / "bomb"
    spans = file_of(documents("first", "second"))
    path.write_bytes(ZSTD.compress(spans + b" " * 200_000_000 + b"\n" + file_of(documents("third"))))
    reader = RecordReader()
    store = Store(reader)
    with path.open("rb") as stream:
        session = Session(ReadOptions((suffix or str(path),)), store, reader, stream)
        for _ in session.load():
            pass
    assert sorted(store.names.texts) == ["first", "second"]
    (problem,) = store.problems()
    assert (problem.kind, problem.file) == ("unreadable", suffix or str(path))
    assert 1_000_000 < problem.offset < 50_000_000
    assert problem.detail == (
        "can't be read further: it unpacks to more than 1,000 times its size, and was read no further after "
        f"{problem.offset:,} bytes unpacked; unpack it to read all of it"
    )
