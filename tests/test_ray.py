"""A real Ray program, traced by each of Ray's two hooks as the pages say, and read back whole.

call in the program                  PRODUCERs   CONSUMERs   of them failed
-------------------                  ---------   ---------   --------------
three tasks                                  3           3
a task that calls two more                 1+2         1+2
an actor, and two of its methods           1+2         1+2
a task that fails once, then not             1           2                1
a task that fails                            1           1                1
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import slow_calls
import spanview as package
from independent_reader import Record, read_text
from pages import RECIPES
from programs import Following, spanview
from ray_sessions import BUNDLED_FOLDER, SMALL, RaySession, need, with_hook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.api.trace import Node
    from spanview.model.span import Span

pytestmark = pytest.mark.ray

PROGRAM: Final = """
import os
import sys

from opentelemetry import trace


@ray.remote
def leaf(number):
    return number + 1


@ray.remote
def middle(number):
    return sum(ray.get([leaf.remote(each) for each in range(number)]))


@ray.remote
class Counter:
    def __init__(self):
        self.total = 0

    def add(self, number):
        self.total += number
        return self.total


@ray.remote(max_retries=2, retry_exceptions=True)
def flaky(marker):
    if not os.path.exists(marker):
        open(marker, "w").close()
        raise RuntimeError("the first attempt fails")
    return "done"


@ray.remote(max_retries=0)
def fails():
    raise ValueError("meant to fail")


(marker,) = sys.argv[1:]
with trace.get_tracer("program").start_as_current_span("program"):
    assert ray.get([leaf.remote(number) for number in range(3)]) == [1, 2, 3]
    assert ray.get(middle.remote(2)) == 3
    counter = Counter.remote()
    assert ray.get([counter.add.remote(1), counter.add.remote(2)]) == [1, 3]
    assert ray.get(flaky.remote(marker)) == "done"
    try:
        ray.get(fails.remote())
    except ValueError:
        pass
    else:
        raise AssertionError("the error got lost")
ray.shutdown()
"""

BEGINNINGS: Final = {"bundled": RECIPES["bundled-hook"], "documented": with_hook("docs_hook:setup_tracing")}
"""How a program begins that has each hook; the program connects before it says what runs remotely."""
ENDINGS: Final = {"bundled": ".txt", "documented": ".json"}
"""Of the files' names."""
CALLS: Final = {
    # function: PRODUCERs, CONSUMERs, CONSUMERs that failed
    "__main__.leaf": (5, 5, 0),
    "__main__.middle": (1, 1, 0),
    "Counter.__init__": (1, 1, 0),
    "Counter.add": (2, 2, 0),
    "__main__.flaky": (1, 2, 1),
    "__main__.fails": (1, 1, 1),
}
SPANS: Final = 1 + sum(producers + consumers for producers, consumers, _ in CALLS.values())
ERRORS: Final = sum(failed for _, _, failed in CALLS.values())
SUBMITTED: Final = " ray.remote"
RUN: Final = " ray.remote_worker"


@dataclass(frozen=True, slots=True)
class Recording:
    """The files that one run of the program left."""

    files: list[str]
    records: list[Record]
    """What the independent reader finds in them."""
    file_of: dict[int, str]
    """The file of each of these, by its `id`."""
    followed: list[dict[str, Any]]
    """What `spanview spans -f` printed meanwhile."""

    @property
    def trace_id(self) -> str:
        """The id of the program's only trace."""
        (trace_id,) = {record["trace_id"] for record in self.records}
        return str(trace_id)


@pytest.fixture(scope="module", autouse=True)
def _ray() -> None:
    need("ray")


@pytest.fixture(scope="module", params=list(BEGINNINGS))
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Run the program under a hook, with `spanview spans -f` beside it."""
    top = tmp_path_factory.mktemp("ray")
    with RaySession(top) as session:
        session.write("program.py", BEGINNINGS[request.param] + PROGRAM)
        session.write("docs_hook.py", RECIPES["docs_hook.py"])
        with Following("spans", "-f", BUNDLED_FOLDER) as following:
            done = session.run(
                'python program.py "$PWD/marker"',
                {"PYTHONPATH": str(top)},
                {**SMALL, "log_to_driver": False},
            )
            assert done.returncode == 0, done.stderr
            files = session.own_files()
            assert {Path(path).suffix for path in files} == {ENDINGS[request.param]}
            by_file = {path: read_text(Path(path).read_text()) for path in files}
            records = [record for each in by_file.values() for record in each]
            file_of = {id(record): path for path, each in by_file.items() for record in each}
            trace_id = records[0]["trace_id"]
            following.wait_for(lambda: sum(trace_id in line for line in following.lines) >= len(records))
            assert following.stop() == 0
        followed = [span for line in following.lines if (span := json.loads(line))["trace_id"] == trace_id]
        yield Recording(files, records, file_of, followed)


def _spans_and_parents(files: list[str]) -> list[tuple[Span, Span | None]]:
    """Return every span of the only trace with the one above it in the tree; no parent may be missing."""
    (trace,) = package.load(files).traces
    assert trace.complete
    found: list[tuple[Span, Span | None]] = []
    pending: list[tuple[Node, Span | None]] = [(root, None) for root in trace.roots]
    while pending:
        node, parent = pending.pop()
        span = node.span
        assert span is not None
        found.append((span, parent))
        pending.extend((child, span) for child in node.children)
    return found


def test_every_span_is_read(recording: Recording) -> None:
    """The spans of the files are those that the independent reader finds, attribute by attribute."""
    found = _spans_and_parents(recording.files)
    expected = {record["span_id"]: record for record in recording.records}
    assert len(found) == len(expected) == len(recording.records) == SPANS
    for span, parent in found:
        record = expected[str(span.span_id)]
        assert span.parent_id == record["parent_id"] == (parent.span_id if parent else None)
        assert [span.trace_id, span.name, f"SpanKind.{span.kind_name}", span.status] == [
            record[key] for key in ("trace_id", "name", "kind", "status")
        ]
        assert [span.start_ns, span.end_ns] == [record["start_ns"], record["end_ns"]]
        assert [span.attributes, span.resource.attributes] == [record["attributes"], record["resource"]]
        assert [(event.name, event.attributes) for event in span.events] == [
            (event["name"], event["attributes"]) for event in record["events"]
        ]


def test_every_call_has_its_attempts(recording: Recording) -> None:
    """Below each PRODUCER stand as many CONSUMERs of the same function as the program makes attempts."""
    names = Counter[tuple[str, str | None]]()
    for span, parent in _spans_and_parents(recording.files):
        names[span.name, span.kind_name] += 1
        if span.kind_name == "CONSUMER":
            assert parent is not None
            assert parent.kind_name == "PRODUCER"
            assert parent.name.removesuffix(SUBMITTED) == span.name.removesuffix(RUN)
    assert names == {("program", "INTERNAL"): 1} | {
        (function + ending, kind): counts[at]
        for function, counts in CALLS.items()
        for at, (ending, kind) in enumerate(((SUBMITTED, "PRODUCER"), (RUN, "CONSUMER")))
    }


def test_statistics_of_calls(recording: Recording) -> None:
    """`spanview stats --by ray` equals an independent calculation from the raw files, to the nanosecond."""
    done = spanview("stats", "--by", "ray", "--json", *recording.files)
    found = json.loads(done.text)
    assert (done.status, found["by"]) == (0, "function")
    assert all(row["waited_for"] is not None for row in found["rows"])
    assert slow_calls.comparable(found["rows"]) == slow_calls.functions_of(recording.records, recording.file_of)
    assert {row["function"]: (row["calls"], row["attempts"], row["errors"]) for row in found["rows"]} == CALLS
    assert [row["function"] for row in found["rows"] if row["retried"]] == ["__main__.flaky"]


def test_errors_are_told(recording: Recording) -> None:
    """Failed attempts are errors with their message and the stack trace in an event, and nothing else is."""
    failed = [span for span, _ in _spans_and_parents(recording.files) if span.status == "ERROR"]
    assert sorted((span.name, span.status.description) for span in failed) == [
        ("__main__.fails ray.remote_worker", "ValueError: meant to fail"),
        ("__main__.flaky ray.remote_worker", "RuntimeError: the first attempt fails"),
    ]
    for span in failed:
        (event,) = span.events
        assert event.name == "exception"
        assert "Traceback" in str(event.attributes["exception.stacktrace"])


def test_check_finds_nothing_wrong(recording: Recording) -> None:
    """`spanview check --json` counts what the independent reader counts, has no problem, and ends with status 0."""
    done = spanview("check", "--json", *recording.files)
    report = json.loads(done.text)
    assert done.status == 0, done.text
    assert report["problems"] == []
    assert report["summary"] == {
        "files": len(recording.files),
        "bytes": sum(os.path.getsize(path) for path in recording.files),
        "spans": len(recording.records),
        "traces": 1,
        "roots": 1,
        "missing_parents": 0,
        "duplicates": 0,
        "torn": 0,
        "skipped": 0,
    }


def test_export_has_every_span_once(recording: Recording) -> None:
    """`spanview export` nests every span below its parent exactly once."""
    done = spanview("export", *recording.files)
    (trace,) = json.loads(done.text)["traces"]
    assert (done.status, trace["span_count"], trace["error_count"], trace["complete"]) == (0, SPANS, ERRORS, True)
    pending = [(None, root) for root in trace["roots"]]
    edges = Counter[tuple[str | None, str]]()
    while pending:
        parent, node = pending.pop()
        edges[parent, node["span_id"]] += 1
        pending.extend((node["span_id"], child) for child in node["children"])
    assert edges == {(record["parent_id"], record["span_id"]): 1 for record in recording.records}


def test_following_prints_every_span_once(recording: Recording) -> None:
    """`spanview spans -f` printed each span of the program exactly once while it ran."""
    printed = Counter(span["span_id"] for span in recording.followed)
    assert printed == {record["span_id"]: 1 for record in recording.records}


def test_hooks_need_no_path(recording: Recording) -> None:
    """What Ray's hooks write is found without a PATH."""
    done = spanview("tree", "--trace", recording.trace_id)
    assert done.status == 0
    assert "__main__.leaf ray.remote_worker" in done.text
