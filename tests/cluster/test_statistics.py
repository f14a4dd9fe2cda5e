"""Statistics of a cluster, which are those of one machine to the byte, however files and traces are divided.

where                  what counts                            what is counted
-----                  -----------                            ---------------
in this process        the same tasks, rows divided here      all recordings; records that are odd in every way;
                                                              copies, snapshots and packed files across files
a cluster of Ray       `spanview stats --ray`                 some recordings by path and by URI; what can't be counted
"""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from clusters import DIVIDING, OF_ANOTHER_VERSION, TasksHere
from pages import ROOT
from quick.folders import make, quick_from
from ray_sessions import need
from seeds import sample, seeds
from spanview.analysis.query.selection import Selection
from spanview.analysis.stats import GroupPart, joined, statistics
from spanview.cluster import shared_files, shuffle
from spanview.cluster import statistics as counting
from spanview.model.problems import CollectError
from spanview.sources.loading import load_store
from spanview.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from clusters import Cluster

FIXTURES: Final = sorted(path.name for path in (ROOT / "fixtures").iterdir() if (path / "spans").is_dir())


def check(folder: Path) -> int:
    """Compare the two answers of a folder, and return how many spans it has."""
    files, problems = shared_files.search([str(folder)])
    store = load_store(folder)
    for by in counting.BY:
        groups, tallies = counting.statistics_on_cluster(TasksHere(), shuffle.job_of(files, 16 << 20, Selection()), by)
        for problem in problems:
            tallies.add_problem(problem)
        assert groups == statistics(store, by)
        assert tallies.problems() == store.problems()
        counts = [(one.files, one.bytes, one.records, one.torn, one.skipped) for one in (tallies, store.tallies)]
        assert counts[0] == counts[1]
    return len(store.spans)


@pytest.mark.shortened
@pytest.mark.parametrize("name", sample(FIXTURES, 8))
@pytest.mark.usefixtures("small")
def test_recordings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recordings of all writers and layouts give what they give on one machine, decoded or scanned."""
    decoded = check(ROOT / "fixtures" / name)
    monkeypatch.setattr(shuffle, "SCAN_FROM_BYTES", 1)
    with quick_from(1):
        assert check(ROOT / "fixtures" / name) == decoded > 0


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.usefixtures("small")
def test_odd_records(tmp_path: Path, seed: int) -> None:
    """Damage, circles of parents, unusable ids and times, copies of records and of files change nothing."""
    make(tmp_path, random.Random(seed), files=6, records=60)
    check(tmp_path)


@pytest.mark.usefixtures("small")
def test_spans_of_several_files(tmp_path: Path) -> None:
    """Of the records of one span, the same count wherever they are, in packed files too; other spans have its ids."""
    dice, build = random.Random(5), Builder()
    ended = [build.span(f"s{n}", parent=dice.randrange(n) or None, start=n, duration=n * n) for n in range(1, 80)]
    begun = [dict(span, end_time=None, name="begun") for span in ended]
    others = [dict(span, name="other") for span in ended[:20]]
    documents = [*ended[:60], *begun, *begun[:9], *ended[:30], *others, *others[:5]]
    dice.shuffle(documents)
    for number in range(8):
        data = file_of(documents[number::8])
        name, data = (f"{number}.json.gz", gzip.compress(data)) if number % 3 else (f"{number}.json", data)
        (tmp_path / name).write_bytes(data)
    assert check(tmp_path) == len(ended) + len(others)


@pytest.mark.usefixtures("small")
def test_large_folders_are_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the size on from which one machine scans, each group is scanned: damage among attributes goes unseen."""
    build = Builder()
    records = [file_of([build.span(attributes={"key": "value"})], indent=4) for _ in range(20)]
    records[9] = records[9].replace(b'"value"', b"nul")
    (tmp_path / "1.json").write_bytes(b"".join(records))
    assert check(tmp_path) == 19
    monkeypatch.setattr(shuffle, "SCAN_FROM_BYTES", 1)
    with quick_from(1):
        assert check(tmp_path) == 20


def test_parts_are_joined() -> None:
    """Durations of parts are one sorted column, in any size of integers."""
    for far in (7, 2**70):
        parts = [GroupPart("a", 3, 1, 4, [2, far]), GroupPart("b", 1, 0, 0, []), GroupPart("a", 2, 1, 1, [1, 5])]
        first, second = joined(parts)
        assert (first.count, first.errors, first.self_ns, first.total_ns) == (5, 2, 5, 8 + far)
        assert (first.min_ns, first.p50_ns, first.p99_ns, first.max_ns) == (1, 2, far, far)
        assert (second.key, second.total_ns, second.p50_ns) == ("b", 0, None)


@pytest.mark.usefixtures("small")
def test_uris(tmp_path: Path) -> None:
    """Files behind a URI are found under names of any kind, hidden ones aside, and shown below the URI."""
    need("pyarrow")
    folder = tmp_path / "spans"
    for name in ("1 %20#?.json", "in/2.json", ".hidden/3.json", "4.json.gz"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = file_of([Builder().span(name)])
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    uri = folder.as_uri()
    files, _ = shared_files.search([f"{uri}/", f"{uri}/in/2.json"])
    assert [file.shown for file in files] == [f"{uri}/{name}" for name in ("1 %20#?.json", "4.json.gz", "in/2.json")]
    groups, tallies = counting.statistics_on_cluster(TasksHere(), shuffle.job_of(files, 1 << 20, Selection()), "name")
    assert sorted(str(group.key) for group in groups) == ["1 %20#?.json", "4.json.gz", "in/2.json"]
    assert (tallies.files, tallies.problems()) == (3, [])


@pytest.mark.usefixtures("small")
def test_a_file_that_a_node_does_not_have(tmp_path: Path) -> None:
    """A file that was found here has to be on each node."""
    path = tmp_path / "1.json"
    path.write_bytes(file_of([Builder().span("a")]))
    files, _ = shared_files.search([str(path)])
    path.unlink()
    with pytest.raises(
        CollectError, match=r"1\.json: can't be read on .*, but every node must be able to: No such file"
    ):
        counting.statistics_on_cluster(TasksHere(), shuffle.job_of(files, 1 << 20, Selection()), "name")


# -- a cluster ---------------------------------------------------------------------------------------------------------


def stats(cluster: Cluster, *words: str, code: str = "") -> tuple[int, bytes, str]:
    """Return status, output and standard error of `spanview stats --ray`."""
    return cluster.spanview("stats", *words, code=code)


@pytest.mark.ray
@pytest.mark.xdist_group("counting cluster")
def test_on_a_cluster(cluster: Cluster) -> None:
    """Ray's tasks give the bytes, and the notices, of one machine."""
    paths = ["fixtures/made", "fixtures/otlp-json", "fixtures/pids-used-again"]
    here = subprocess.run(
        [sys.executable, "-m", "spanview", "stats", "--json", *paths], cwd=ROOT, capture_output=True, check=True
    )
    expected = (0, here.stdout, here.stderr.decode())
    assert stats(cluster, "--json", *paths, code=DIVIDING) == expected
    assert stats(cluster, "--json", *(f"file://{ROOT / path}" for path in paths)) == expected


@pytest.mark.ray
@pytest.mark.xdist_group("counting cluster")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fixtures/pid-reuse", "--by", "pid"], "can't group by 'pid' on a cluster; there are name, service"),
        (["no/such"], "no/such: no such file or folder"),
        (["file:///no/such"], "file:///no/such: no such file or folder"),
        (["odd://no/such"], "odd://no/such: Unrecognized filesystem type"),
        ([], "--ray needs PATHs that every node of the cluster can read, not standard input"),
        (["fixtures", "-q", "finding=slow"], "expected one of"),
    ],
)
def test_what_a_cluster_does_not_count(cluster: Cluster, words: list[str], said: str) -> None:
    """What can't be counted is said in a line."""
    status, output, notices = stats(cluster, *words)
    assert (status, output) == (2, b"")
    assert said in notices
    # Below a mistake in a query stand the query and a caret.
    assert notices.count("\n") == (3 if "^" in notices else 1)


@pytest.mark.ray
@pytest.mark.xdist_group("counting cluster")
def test_another_version(cluster: Cluster) -> None:
    """Nodes with another spanview count nothing."""
    answer = stats(cluster, "fixtures/serve", code=OF_ANOTHER_VERSION)
    said = f"a node has spanview {__version__}, but here it is 9.9: install the same version"
    assert answer == (2, b"", f"spanview: {said}\n")
