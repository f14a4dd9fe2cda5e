"""Exports of a cluster: the bytes of one machine, however files and traces are divided.

where                  what writes                            what is written
-----                  -----------                            ---------------
in this process        the same tasks, rows divided here      all recordings; records that are odd in every way;
                                                              copies, snapshots and packed files across files
a cluster of Ray       `spanview export --ray`                a file, a folder of parts; what can't be written
"""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder, file_of
from clusters import TasksHere
from pages import ROOT
from quick.folders import make, quick_from
from ray_sessions import need
from seeds import sample, seeds
from spanview.analysis.query.selection import Selection
from spanview.cluster import shared_files, shuffle
from spanview.cluster.export import FORMATS, ClusterExport
from spanview.cluster.parts import part_folder
from spanview.exports.by_name import chunks_of
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.losses import Losses
from spanview.exports.surroundings import Surroundings
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from pathlib import Path

    from clusters import Cluster
    from spanview.index.store import Store

FIXTURES: Final = sorted(path.name for path in (ROOT / "fixtures").iterdir() if (path / "spans").is_dir())
CAP: Final = 16 << 20


def here(store: Store, form: str, losses: Losses) -> bytes:
    """Return what one machine writes, but for what calls waited for: Ray's own events are at one place there."""
    if form == "jsonl":
        lines = b"".join(jsonl_chunks(store, store.rows_in_order(), losses))
        return re.sub(rb'(,"wait_ns":\d+),"waited_for":"\w+"', rb"\1", lines)
    return b"".join(chunks_of(store, store.traces_in_order(), form, losses, Surroundings()))


def there(paths: list[str], form: str, losses: Losses) -> ClusterExport:
    """Return an export of a cluster that is this process."""
    files, _ = shared_files.search(paths)
    return ClusterExport(TasksHere(), shuffle.job_of(files, CAP, Selection()), form, losses)


def check(folder: Path) -> int:
    """Compare both, and return how many spans there are."""
    store = load_store(folder)
    for form in FORMATS:
        losses = Losses(form), Losses(form)
        assert b"".join(there([str(folder)], form, losses[0]).chunks()) == here(store, form, losses[1])
        assert losses[0].lines() == losses[1].lines()
    return len(store.spans)


@pytest.fixture(autouse=True)
def with_arrow() -> None:
    """Skip where Arrow can't be had."""
    need("pyarrow")


@pytest.mark.shortened
@pytest.mark.parametrize("name", sample(FIXTURES, 8))
@pytest.mark.usefixtures("small")
def test_recordings(name: str) -> None:
    """The recordings of all writers and layouts, in all formats."""
    assert check(ROOT / "fixtures" / name) > 0


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.usefixtures("small")
def test_odd_records(tmp_path: Path, seed: int) -> None:
    """Damage, circles of parents, unusable ids and times, copies of records and of files."""
    make(tmp_path, random.Random(seed), files=6, records=60)
    check(tmp_path)


@pytest.mark.usefixtures("small")
def test_spans_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the records of one span, the same one is written, wherever they are: packed, decoded or scanned."""
    dice, build = random.Random(5), Builder()
    ended = [build.span(f"s{n}", parent=dice.randrange(n) or None, start=n, duration=n * n) for n in range(1, 80)]
    begun = [dict(span, end_time=None, name="begun") for span in ended]
    others = [dict(span, name="other") for span in ended[:20]]
    documents = [*ended[:60], *begun, *begun[:9], *(dict(span, name="again") for span in begun[50:]), *ended[:30]]
    documents += [*begun[55:70], *others, *others[:5]]
    dice.shuffle(documents)
    for number in range(8):
        data = file_of(documents[number::8], indent=4)
        name, data = (f"{number}.json.gz", gzip.compress(data)) if number % 3 == 0 else (f"{number}.json", data)
        (tmp_path / name).write_bytes(data)
    spans = check(tmp_path)
    monkeypatch.setattr(shuffle, "SCAN_FROM_BYTES", 1)
    with quick_from(1):
        assert check(tmp_path) == spans == len(ended) + len(others)


@pytest.mark.usefixtures("small")
def test_traces_without_an_id_or_a_start(tmp_path: Path) -> None:
    """They come last, whenever they start."""
    build = Builder()
    spans = [build.span(f"s{number}", trace=number, start=number * 1000) for number in range(3, 200)]
    unplaced = dict(
        build.span("unplaced", start=0), context={"trace_id": "none", "span_id": "0x1", "trace_state": "[]"}
    )
    timeless = dict(build.span("timeless", trace=1), start_time=None)
    (tmp_path / "1.json").write_bytes(file_of([unplaced, timeless, *spans]))
    assert check(tmp_path) == len(spans) + 2


@pytest.mark.usefixtures("small")
def test_uris(tmp_path: Path) -> None:
    """Of a file behind a URI, records are read where they are; a packed one is copied."""
    build = Builder()
    spans = [build.span(f"s{number}", parent=1 if number > 1 else None, span=number) for number in range(1, 30)]
    (tmp_path / "1.json").write_bytes(file_of(spans[::2]))
    (tmp_path / "2.json.gz").write_bytes(gzip.compress(file_of(spans[1::2])))
    for form in ("jsonl", "otlp"):
        losses = Losses(form)
        written = b"".join(there([tmp_path.as_uri()], form, losses).chunks())
        expected = here(load_store(tmp_path), form, losses)
        assert written.replace(tmp_path.as_uri().encode(), os.fsencode(tmp_path)) == expected
        assert losses.lines() == []


@pytest.mark.usefixtures("small")
def test_file_systems_of_others() -> None:
    """What Arrow doesn't know, fsspec may."""
    memory: Any = pytest.importorskip("fsspec").filesystem("memory")
    for number in range(3):
        memory.pipe(f"/spans/in/{number}.json", file_of([Builder().span(f"s{number}", trace=number + 1)]))
    written = b"".join(there(["memory://spans"], "jsonl", Losses("jsonl")).chunks())
    assert [line.count(b'"file":"memory://spans/in/') for line in written.splitlines()] == [1, 1, 1]


def test_undivided(tmp_path: Path) -> None:
    """What is little is one share."""
    make(tmp_path, random.Random(11), files=3, records=40)
    check(tmp_path)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("small")
def test_parts(form: str, tmp_path: Path) -> None:
    """Parts, one after the other, are the file; those of another export are replaced."""
    (tmp_path / "spans").mkdir()
    make(tmp_path / "spans", random.Random(7), files=6, records=60)
    target = tmp_path / "out"
    target.mkdir()
    ending = "parquet" if form == "parquet" else "jsonl"
    (target / f"part-00999.{ending}").write_bytes(b"old")
    (target / "mine.txt").write_bytes(b"mine")
    export = there([str(tmp_path / "spans")], form, Losses(form))
    folder = part_folder(str(target))
    assert folder is not None
    folder.make()
    export.write_parts(folder)
    names = sorted(os.listdir(target))
    assert names.pop(0) == "mine.txt"
    assert names == [f"part-{number:05}.{ending}" for number in range(len(names))]
    assert len(names) > 1
    parts, whole = (
        [(target / name).read_bytes() for name in names],
        here(load_store(tmp_path / "spans"), form, Losses("")),
    )
    if form == "parquet":
        pq: Any = pytest.importorskip("pyarrow.parquet")
        rows = [row for part in parts for row in pq.read_table(io.BytesIO(part)).to_pylist()]
        assert rows == pq.read_table(io.BytesIO(whole)).to_pylist()
    else:
        assert b"".join(parts) == whole


def test_nothing(tmp_path: Path) -> None:
    """Without files there are no spans, and no error."""
    for form in FORMATS:
        export = there([str(tmp_path)], form, Losses(form))
        assert b"".join(export.chunks()) == here(load_store(tmp_path), form, Losses(form))


# -- a cluster ---------------------------------------------------------------------------------------------------------


@pytest.mark.ray
@pytest.mark.xdist_group("counting cluster")
def test_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """Ray's tasks give the bytes, and the notices, of one machine; as parts too."""
    paths = ["fixtures/made", "fixtures/otlp-json", "fixtures/pids-used-again"]
    for form in FORMATS:
        words = ("--format", form, *paths)
        here = subprocess.run(
            [sys.executable, "-m", "spanview", "export", *words], cwd=ROOT, capture_output=True, check=True
        )
        assert cluster.spanview("export", *words) == (0, here.stdout, here.stderr.decode())
        assert cluster.spanview("export", *words, "-o", f"{tmp_path}/{form}/") == (0, b"", here.stderr.decode())
        if form == "jsonl":
            parts = sorted((tmp_path / form).iterdir())
            assert b"".join(part.read_bytes() for part in parts) == here.stdout
            assert len(parts) > 1
            status, _, notices = cluster.spanview("export", *words, "-o", f"{tmp_path}/{form}")
            assert status == 2
            assert "already has parts of an export: give --force to replace them" in notices
            assert cluster.spanview("export", *words, "-o", f"{tmp_path}/{form}", "--force")[0] == 0


@pytest.mark.ray
@pytest.mark.xdist_group("counting cluster")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fixtures/made"], "a cluster writes jsonl, otlp or parquet: give one of them as --format"),
        (["fixtures/made", "--format", "otlp", "--trace", "99"], "no trace id begins with 99; `spanview tree`"),
        (["no/such", "--format", "otlp"], "no/such: no such file or folder"),
        (["fixtures/made", "--format", "otlp", "-o", "no/such/file"], "its folder doesn't exist"),
        (["fixtures/made", "--format", "otlp", "-o", "README.md"], "README.md already exists: give --force"),
        (["fixtures/made", "--format", "otlp", "-o", "README.md/"], "README.md: File exists"),
    ],
)
def test_what_a_cluster_does_not_write(cluster: Cluster, words: list[str], said: str) -> None:
    """What can't be written is said in a line."""
    status, output, notices = cluster.spanview("export", *words)
    assert (status, output) == (2, b"")
    assert said in notices
    assert notices.splitlines()[-1].startswith("spanview: ")
