"""What `-q`, `--since` and `--trace` take on a cluster is what they take on one machine.

where                  what is held together                  by
-----                  ---------------------                  --
in this process        statistics, all formats                queries of every kind of key, times, ids; recordings in
                                                              many partitions, spans of a trace in several files
a cluster of Ray       `stats --ray` and `export --ray`       some of them
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder, file_of
from clusters import TasksHere
from pages import ROOT
from quick.folders import make
from ray_sessions import need
from seeds import THOROUGH, seeds
from spanview.analysis.diagnosis.finding import OF_SPANS
from spanview.analysis.stats import statistics
from spanview.cluster import shared_files
from spanview.cluster.export import FORMATS, ClusterExport
from spanview.cluster.shuffle import decidable, job_of
from spanview.cluster.statistics import statistics_on_cluster
from spanview.commands.options import Options
from spanview.exports.by_name import chunks_of
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.losses import Losses
from spanview.exports.surroundings import Surroundings
from spanview.model.ids import format_trace_id
from spanview.model.problems import QueryError, TraceNotFoundError
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from pathlib import Path

    from clusters import Cluster
    from spanview.analysis.query.selection import Selection
    from spanview.index.store import Store

CAP: Final = 16 << 20
FIXTURES: Final = ("ray-tasks-bundled-hook", "serve-grpc", "otlp-json", "session-with-logs")
QUERIES: Final = (
    "name~remote",
    "status=ERROR",
    "-status=ERROR kind=PRODUCER",
    "kind=SERVER OR kind=CONSUMER",
    "duration>5ms",
    "self<1ms",
    "depth=1",
    "service~.",
    "start>2020-01-01",
    "ray.job_id=01000000",
    "http.status_code>=200",
    "http.status_code!=200",
    "any~leaf",
    "any=GET",
    "event=exception",
    "description~Error",
    "scope~ray",
    "pid>1",
    "file~proxy",
    "span=a",
    "trace.duration>10ms",
    "trace.spans>2 status=UNSET",
    "trace.errors>0",
    "trace.root~leaf",
    "trace.complete=false",
    "name~main > name~remote",
    "kind=PRODUCER >> status=ERROR",
    "-(name~remote OR depth>1)",
)


def selection_of(**given: Any) -> Selection:
    """Return what options ask for."""
    return Options("export", **given).selection()


def here(store: Store, selection: Selection, form: str) -> tuple[Any, bytes]:
    """Return what one machine answers: statistics, and the text of a format."""
    if form == "jsonl":
        chunks = jsonl_chunks(store, selection.rows(store), Losses(form))
    else:
        chunks = chunks_of(store, selection.traces(store), form, Losses(form), Surroundings())
    return statistics(store, "name", selection.traces(store)), b"".join(chunks)


def there(folder: Path, selection: Selection, form: str) -> tuple[Any, bytes]:
    """Return what tasks answer."""
    files, _ = shared_files.search([str(folder)])
    groups, _ = statistics_on_cluster(TasksHere(), job_of(files, CAP, decidable(selection)), "name")
    export = ClusterExport(TasksHere(), job_of(files, CAP, decidable(selection)), form, Losses(form))
    return groups, b"".join(export.chunks())


@pytest.fixture(autouse=True)
def with_arrow() -> None:
    """Skip where Arrow can't be had."""
    need("pyarrow")


@pytest.mark.shortened
@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.usefixtures("small")
def test_queries(name: str) -> None:
    """Every kind of key, on recordings of several writers; many leave something out, and something over."""
    place = FIXTURES.index(name)
    # Each query with one recording, and with all of them with THOROUGH.
    queries = QUERIES if THOROUGH else QUERIES[place :: len(FIXTURES)]
    folder = ROOT / "fixtures" / name
    store, taken = load_store(folder), []
    for form, query in zip(cycle(FORMATS), queries, strict=False):
        selection = selection_of(queries=(query,))
        assert there(folder, selection, form) == here(store, selection, form), query
        taken.append(len(selection.rows(store)))
    assert sum(0 < count < len(store.spans) for count in taken) > len(queries) // 5


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.usefixtures("small")
def test_odd_records(tmp_path: Path, seed: int) -> None:
    """Of a trace whose spans are in several files, some of them twice, all are taken, or none."""
    dice = random.Random(seed)
    make(tmp_path, dice, files=6, records=60)
    store = load_store(tmp_path)
    for query in dice.sample(QUERIES, 4):
        for form in FORMATS:
            selection = selection_of(queries=(query, "trace.spans>1"))
            assert there(tmp_path, selection, form) == here(store, selection, form), query


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("small")
def test_times(tmp_path: Path, form: str) -> None:
    """A trace ends where its last span does, whichever file that is in; the newest run is that of all files."""
    build, minute = Builder(), 60 * 10**9
    # The second trace goes on while the third has long ended, and nothing runs between the sixth and the seventh.
    spans = [build.span(f"s{n}", trace=n, span=n, start=n * minute, duration=minute // 2) for n in range(1, 7)]
    spans += [build.span("long", trace=2, parent=2, span=90, start=3 * minute, duration=2 * minute)]
    spans += [build.span("last", trace=n, span=n, start=n * minute, duration=1) for n in (9, 10)]
    for number, span in enumerate(spans):
        (tmp_path / f"{number}.json").write_bytes(file_of([span]))
    store = load_store(tmp_path)
    taken = list[int]()
    for since in ("last", "2020-01-01", *(spans[n]["start_time"] for n in (2, 4, 5)), "1s"):
        selection = selection_of(since=since)
        assert there(tmp_path, selection, form) == here(store, selection, form), since
        taken.append(len(selection.traces(store)))
    assert taken == [1, 8, 7, 4, 3, 0]


@pytest.mark.usefixtures("small")
def test_one_trace() -> None:
    """The beginning of its id is enough if there is no other; whether there is one, only all files show."""
    folder = ROOT / "fixtures" / "ray-tasks-bundled-hook"
    store = load_store(folder)
    ids = sorted(format_trace_id(store.trace_table.trace_id(trace)) for trace in range(len(store.trace_table)))
    for form, trace_id in zip(FORMATS, ids, strict=False):
        selection = selection_of(traces=(trace_id.upper()[:20],), queries=("name~remote",))
        assert there(folder, selection, form) == here(store, selection, form)
        selection = selection_of(traces=(*ids[:3], trace_id))
        assert there(folder, selection, form) == here(store, selection, form)
    shared = next(first[0] for first, second in pairwise(ids) if first[0] == second[0])
    for prefix in ("0" * 13, shared):
        selection = selection_of(traces=(prefix,))
        with pytest.raises(TraceNotFoundError) as said:
            here(store, selection, "otlp")
        with pytest.raises(TraceNotFoundError, match=re.escape(str(said.value))):
            there(folder, selection, "otlp")


@pytest.mark.parametrize(
    ("query", "said"),
    [("name=a OR finding=slow_start", "finding needs all spans"), ("-(start>11:57 a)", "the day of 11:57")],
)
def test_what_no_part_shows(query: str, said: str) -> None:
    """What only all spans together show is refused; an attribute may have such a name."""
    query = query.replace("slow_start", next(iter(OF_SPANS)))
    with pytest.raises(QueryError, match=said):
        decidable(selection_of(queries=(query,)))
    assert decidable(selection_of(queries=('"start">11',))).queries


# -- a cluster ---------------------------------------------------------------------------------------------------------


@pytest.mark.ray
@pytest.mark.xdist_group("counting cluster")
@pytest.mark.parametrize(
    "words",
    [
        ("stats", "--json", "-q", "http.status_code>=200", "--since", "2020-01-01"),
        ("export", "--format", "jsonl", "-q", "name~replica", "--since", "last"),
        ("export", "--format", "otlp", "-q", "nothing_like_it=1"),
        ("export", "--format", "otlp", "--trace", "0"),
    ],
)
def test_on_a_cluster(cluster: Cluster, words: tuple[str, ...]) -> None:
    """Ray's tasks give the bytes and the status of one machine."""
    command, *options = words
    done = subprocess.run(
        [sys.executable, "-m", "spanview", *words, "fixtures/serve"], cwd=ROOT, capture_output=True, check=False
    )
    status, output, notices = cluster.spanview(command, *options, "fixtures/serve")
    assert (status, output) == (done.returncode, done.stdout)
    # Why nothing matches, only all spans together show.
    assert [line.partition(";")[0] for line in notices.splitlines()] == [
        line.partition(";")[0] for line in done.stderr.decode().splitlines()
    ]
