"""What `import spanview` offers: its names, what its objects show, what is equal, and what `load` takes."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import doctest
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from xml.etree import ElementTree as ET

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind

import spanview
from builders import Builder, file_of
from pages import TEXTS, blocks
from report_kinds import empty_reports
from spanview.model.codes import KIND_UNSPECIFIED
from spanview.model.times import NO_TIME
from spanview.reports.frames import flat_name
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sized

ROOT: Final = Path(__file__).parent.parent
PUBLIC: Final[dict[Any, set[str]]] = {
    spanview.Store: {
        *("traces", "trace", "query", "summary", "problems"),
        *("calls", "requests", "stats", "check", "explain", "to_arrow"),
    },
    spanview.Trace: {
        *("trace_id", "start_ns", "end_ns", "duration_ns", "span_count", "error_count", "services", "complete"),
        *("roots", "walk", "tree", "critical_path", "answer", "explain", "to_svg"),
    },
    spanview.CapturedSpans: {
        *(
            "assert_none",
            "assert_some",
            "capture",
            "clear",
            "count",
            "critical_path",
            "durations_ns",
            "select",
            "store",
            "traces",
            "tree",
        ),
    },
    spanview.Node: {
        *("trace", "missing", "span_id", "span", "parent", "children", "warnings"),
        *("name", "service", "kind", "status", "attributes", "start_ns", "end_ns", "duration_ns", "self_time_ns"),
    },
    spanview.Report: {"rows", "to_json", "to_arrow", "to_pandas", "to_polars", "to_markdown"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one file: a trace, a span without an end, and two records with the same ids."""
    build = Builder()
    documents = [
        *build.draw("alpha 0-10\n  beta 2-5\n  beta 2-5", trace=1),
        build.span("open", trace=2, duration=None, kind="ODD", events=[{"name": "e", "attributes": {}}]),
        build.span("one", trace=3, span=77),
        build.span("other", trace=3, span=77),
        build.span("no id", trace=3, span=0),
        build.span("no id either", trace=3, span=0),
    ]
    (tmp_path / "1.json").write_bytes(file_of(documents))
    return tmp_path


def spans_of(store: spanview.Store) -> dict[str, spanview.Span]:
    """Return a store's spans by their names."""
    return {node.span.name: node.span for trace in store.traces for node, _ in trace.walk() if node.span}


def public_names(kind: object) -> set[str]:
    """Return the names that a thing shows."""
    return {name for name in dir(kind) if not name.startswith("_")}


def test_names() -> None:
    """The package shows the names that it exports, each of them is there, and no other."""
    assert dir(spanview) == sorted(spanview.__all__)
    assert all(getattr(spanview, name) is not None for name in spanview.__all__)
    for name in ("nonexistent", "intake", "cli_main"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(spanview, name)
    for kind, names in PUBLIC.items():
        assert public_names(kind) == names


def test_every_error_is_exported() -> None:
    """Whatever is raised on purpose can be caught by its name."""
    kinds = {kind.__name__: kind for kind in spanview.SpanviewError.__subclasses__()}
    assert {name: getattr(spanview, name) for name in kinds} == kinds
    assert {"NoSuchPathError", "QueryError", "TraceNotFoundError"} <= {*kinds}


def test_type_checkers_know_the_names(tmp_path: Path) -> None:
    """A name that doesn't exist is an error for mypy, of the package and of its objects; those that do are typed."""
    (tmp_path / "right.py").write_text(
        "".join(f"import spanview\nspanview.{name}\n" for name in spanview.__all__)
        + "count: int = spanview.load('x').traces[0].span_count\n"
    )
    (tmp_path / "wrong.py").write_text(
        "import spanview\nfrom spanview import Stor\nspanview.nonexistent\nspanview.load('x').intake\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-color-output", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": f"{ROOT}:{ROOT / 'tests'}"},
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [re.sub(r"^.*/(\w+\.py:\d+): error: (.*?)[;.]? .*$", r"\1", line) for line in errors] == [
        "wrong.py:2",
        "wrong.py:3",
        "wrong.py:4",
    ], done.stdout + done.stderr


def values_in(value: Any) -> Iterator[Any]:
    """Yield what a public object has, and what is in that."""
    yield value
    if isinstance(value, dict):
        for part in value.values():
            yield from values_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from values_in(part)
    elif type(value).__module__ == "spanview.model.span":
        for name in public_names(value) - public_names(type(value).__base__) - {"with_warnings"}:
            yield from values_in(getattr(value, name))


def test_no_sentinel_leaves_it(folder: Path) -> None:
    """What a file doesn't say is None, of spans, events and traces."""
    spans = spans_of(spanview.load(folder))
    span = spans["open"]
    assert (span.end_ns, span.duration_ns, span.kind, span.kind_value, span.events[0].timestamp_ns) == (None,) * 5
    assert span.start_ns is not None
    (trace,) = (trace for trace in spanview.load(folder).traces if trace.span_count == 1)
    assert (trace.end_ns, trace.duration_ns) == (None, None)
    found = [value for span in spans.values() for value in values_in(span)]
    assert len(found) > 100
    assert NO_TIME not in found
    assert [span.name for span in spans.values() if span.kind_value == KIND_UNSPECIFIED] == []


def test_traces_and_spans_are_equal_by_id(folder: Path) -> None:
    """The same trace, node or span is equal however often it is asked for, and can be found in sets."""
    one, other = spanview.load(folder), spanview.load(str(folder / "1.json"))
    assert one.traces == one.traces == other.traces
    assert {*one.traces} == {*other.traces}
    assert len({*one.traces}) == 3
    nodes = [node for trace in one.traces for node, _ in trace.walk()]
    assert nodes == [node for trace in other.traces for node, _ in trace.walk()]
    assert len({*nodes}) == len(nodes)
    assert one.traces[0] != one.traces[0].trace_id
    assert nodes[0] != nodes[0].span != one.traces[0]
    spans = [node.span for node in nodes]
    assert spans == [node.span for node in nodes]
    assert len({*spans}) == len(spans)


def test_spans_with_the_same_ids_are_told_apart(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A span elsewhere is the same by its ids; those that share ids, or have none, only in their own place."""
    copy = tmp_path_factory.mktemp("copy")
    (copy / "2.json").write_bytes((folder / "1.json").read_bytes())
    here, there = spans_of(spanview.load(folder)), spans_of(spanview.load(copy))
    assert here["alpha"] == there["alpha"]
    assert hash(here["alpha"]) == hash(there["alpha"])
    assert here["one"] != here["other"]
    assert here["no id"] != here["no id either"]
    assert (here["one"] == there["one"], here["no id"] == there["no id"]) == (False, False)
    again = spans_of(spanview.load(folder))
    assert all(here[name] == again[name] for name in here)


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - what was made right here


@pytest.mark.parametrize("take", [copy.deepcopy, _pickled])
@pytest.mark.parametrize("name", ["ray-events-hook", "serve", "otlp-json", "console-logs", "sdk-versions", "made"])
def test_what_is_taken_elsewhere(tmp_path: Path, name: str, take: Callable[[Any], Any]) -> None:
    """Stores, traces and nodes take their records along: whatever is asked of them there, the answer is the same."""
    folder = tmp_path / name
    shutil.copytree(ROOT / "fixtures" / name, folder)
    store = spanview.load(folder)
    whole, traces = take(store), [*map(take, store.traces[:5])]
    trees, answers = [trace.tree() for trace in store.traces], [trace.answer() for trace in store.traces]
    details = [node.span for trace in store.traces for node, _ in trace.walk()]
    reports = [repr(report) for report in (store.calls(), store.requests(), store.stats(), store.check())]
    nodes = [node for trace in store.traces[:5] for node, _ in trace.walk()]
    moved = [take(node) for node in nodes]
    shutil.rmtree(folder)
    assert [trace.trace_id for trace in whole.traces] == [trace.trace_id for trace in store.traces]
    assert (len(whole), whole.summary()) == (len(store), store.summary())
    assert whole.problems() == store.problems()
    assert ([trace.tree() for trace in whole.traces], [trace.answer() for trace in whole.traces]) == (trees, answers)
    found = [node.span for trace in whole.traces for node, _ in trace.walk()]
    assert [span and [*map(repr, values_in(span))] for span in found] == [
        span and [*map(repr, values_in(span))] for span in details
    ]
    assert [repr(report) for report in (whole.calls(), whole.requests(), whole.stats(), whole.check())] == reports
    assert [trace.tree() for trace in traces] == trees[:5]
    assert [(node.name, node.start_ns, node.attributes) for node in moved] == [
        (node.name, node.start_ns, span.attributes if span else {}) for node, span in zip(nodes, details, strict=False)
    ]
    assert [trace.tree() for trace in take(whole).traces] == trees


def test_one_trace(folder: Path) -> None:
    """A trace is found by its id, or by the first of its digits; one that isn't there, or isn't alone, is an error."""
    store = spanview.load(folder)
    assert store.trace(f"{2:032x}").span_count == store.trace(f"0x{2:032X}").span_count == 1
    for trace_id in ("0", "f", "x"):
        with pytest.raises(spanview.TraceNotFoundError):
            store.trace(trace_id)


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (lambda path: path.open(), "TextIOWrapper: give the file's name, or - for standard input"),
        (lambda path: path.open("rb"), "BufferedReader: give the file's name"),
        (lambda path: [path, path.open()], "TextIOWrapper: give the file's name"),
        (lambda _: io.BytesIO(b"{}"), "BytesIO: give the file's name"),
        (os.fsencode, "bytes: a path is text or a Path"),
        (lambda _: 3, "int: a path is text or a Path"),
        (lambda _: [None], "NoneType: a path is text or a Path"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_no_path_is_refused(folder: Path, give: Callable[[Path], Any], said: str) -> None:
    """An open file, and anything else that is no path, is an error that says what to give."""
    with pytest.raises(TypeError, match=re.escape(said)):
        spanview.load(give(folder / "1.json"))


def test_paths(folder: Path) -> None:
    """Text, paths and any iterable of them are read; one that isn't there is an error."""
    path = folder / "1.json"
    for paths in (path, str(path), [path], (str(path), folder), iter([folder])):
        assert spanview.load(paths).summary().traces == 3
    with pytest.raises(spanview.NoSuchPathError, match="nowhere: no such file or folder"):
        spanview.load([path, "nowhere"])


def test_standard_input(folder: Path) -> None:
    """`-` is standard input, with every detail; where nothing can come from it, that is an error."""
    script = "import spanview; print(*sorted({n.span.name for t in spanview.load('-').traces for n, _ in t.walk()}))"
    words = [sys.executable, "-c", script]
    data = (folder / "1.json").read_bytes()
    done = subprocess.run(words, input=data, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "alpha beta no id no id either one open other"
    closed = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, text=True, check=False)
    assert "NoSuchPathError: -: standard input is closed, or a terminal" in closed.stderr


@pytest.mark.parametrize("cap", ["16MiB", None, 1.5, True])
def test_cap_is_a_number_of_bytes(folder: Path, cap: Any) -> None:
    """Anything but an int is refused in one sentence, and so is a number of bytes that no record can have."""
    with pytest.raises(TypeError, match=r"cap is a number of bytes, an int such as 16 \* 1024\*\*2, not "):
        spanview.load(folder, cap=cap)
    for none in (0, -1):
        with pytest.raises(ValueError, match=f"cap is at least 1 byte, not {none}"):
            spanview.load(folder, cap=none)


def test_a_path_with_a_nul_does_not_exist(folder: Path) -> None:
    """No file can have such a name, so it is missing like any other that isn't there."""
    impossible: list[str | list[str]] = ["a\0b", [str(folder), "a\0b"]]
    for paths in impossible:
        with pytest.raises(spanview.NoSuchPathError, match=r"^'a\\x00b': no such file or folder"):
            spanview.load(paths)


def test_nodes_are_equal_by_id_whatever_else_was_read(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A span that was not there before moves the others in their tree; they stay the same nodes."""
    more = tmp_path_factory.mktemp("more")
    build = Builder()
    build.draw("alpha 0-10\n  beta 2-5\n  beta 2-5", trace=1)
    (more / "1.json").write_bytes(file_of([build.span("early", trace=1, span=99)]))
    before, after = spanview.load(folder).traces[0], spanview.load([folder, more]).traces[0]
    assert after.span_count == before.span_count + 1
    nodes = {node for node, _ in after.walk()}
    assert len(nodes) == after.span_count
    assert {node for node, _ in before.walk()} < nodes


def test_spans_in_memory() -> None:
    """What the SDK's exporter holds in memory becomes traces, with all that spans have, whether they ended or not."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("shop.views", "1.2")
    with tracer.start_as_current_span("GET /", kind=SpanKind.SERVER, attributes={"http.status": 200, "tags": ["a"]}):
        with tracer.start_as_current_span("auth") as auth:
            auth.add_event("token", {"valid": True})
        with (
            suppress(ValueError),
            tracer.start_as_current_span("query", links=[Link(auth.get_span_context())]),
        ):
            raise ValueError("no such table")
    running = tracer.start_span("running")
    assert isinstance(running, ReadableSpan)
    store = spanview.from_spans([*exporter.get_finished_spans(), running])
    assert (store.summary().spans, store.summary().traces, store.problems()) == (4, 2, [])
    spans = spans_of(store)
    root, query = spans["GET /"], spans["query"]
    assert (root.attributes, root.kind, root.service) == ({"http.status": 200, "tags": ["a"]}, SpanKind.SERVER, "shop")
    assert (root.scope and (root.scope.name, root.scope.version)) == ("shop.views", "1.2")
    assert [(event.name, event.attributes) for event in spans["auth"].events] == [("token", {"valid": True})]
    assert (query.links[0].span_id, query.status.description) == (spans["auth"].span_id, "ValueError: no such table")
    made = {span.name: span for span in exporter.get_finished_spans()}
    assert {name: (made[name].start_time, made[name].end_time) for name in made} == {
        name: (spans[name].start_ns, spans[name].end_ns) for name in made
    }
    assert (spans["running"].end_ns, spans["running"].trace_id) == (
        None,
        f"{running.get_span_context().trace_id:032x}",
    )
    whole, alone = store.traces
    assert whole.tree(times=False) == "GET /\n├─ auth\n└─ query  ✖ ValueError: no such table"
    assert alone.tree(times=False) == "running  [no end]"
    assert (len(spanview.from_spans([]).traces), spanview.from_spans(()).problems()) == (0, [])


@pytest.mark.parametrize("is_many", [False, True])
@pytest.mark.parametrize("name", ["ray-events-hook", "killed-workers", "made", "sdk-versions", "otlp-json"])
def test_nodes_show_what_their_spans_have(monkeypatch: pytest.MonkeyPatch, name: str, *, is_many: bool) -> None:
    """Columns say the same as the records, in whatever order nodes are asked for; a placeholder says nothing."""
    monkeypatch.setattr("spanview.api.views.NUMPY_FROM_SPANS", 0 if is_many else 10**9)
    monkeypatch.setattr("spanview.api.views._CHUNK_SPANS", 7)
    monkeypatch.setattr("spanview.api.views._MAX_CHUNKS", 2)
    monkeypatch.setattr("spanview.api.views._SHARE_SPANS", 20)
    store = spanview.load(ROOT / "fixtures" / name)
    walked = [pair for trace in store.traces for pair in trace.walk()]
    expected = [
        (node, depth, node.span)
        for trace in spanview.load(ROOT / "fixtures" / name).traces
        for node, depth in tree_walk(trace)
    ]
    assert [(node.span_id, depth) for node, depth in walked] == [(node.span_id, depth) for node, depth, _ in expected]
    for (node, _), (_, _, span) in [
        *zip(walked, expected, strict=True),
        *zip(walked[::-3], expected[::-3], strict=True),
    ]:
        if span is None:
            assert (node.missing, node.name, node.start_ns, node.attributes, node.self_time_ns) == (
                True,
                "",
                None,
                {},
                None,
            )
            continue
        assert (node.name, node.start_ns, node.end_ns, node.duration_ns, node.kind, node.service) == (
            *(span.name, span.start_ns, span.end_ns, span.duration_ns, span.kind, span.service),
        )
        assert (node.status, node.attributes, node.span_id) == (
            span.status,
            span.attributes,
            span.span_id,
        )
        assert repr(node.attributes) == repr(span.attributes)
        assert node.self_time_ns is None or node.self_time_ns >= 0
        assert all(child.parent == node and child.trace == node.trace for child in node.children)


def tree_walk(trace: spanview.Trace) -> Iterator[tuple[spanview.Node, int]]:
    """Yield the nodes of a trace by their children."""
    pending = [(root, 0) for root in reversed(trace.roots)]
    while pending:
        node, depth = pending.pop()
        yield node, depth
        pending += [(child, depth + 1) for child in reversed(node.children)]


def test_trees_as_text(tmp_path: Path) -> None:
    """A trace's text is that of the command; without times it is the same whatever ids and times there are."""
    texts = []
    for number in (1, 2):
        build, path = Builder(), tmp_path / f"{number}.json"
        times: dict[str, Any] = {"start": 10 * number, "duration": 5 * number, "trace": number}
        documents = [
            build.span("alpha", span=number, **times),
            build.span("beta", parent=number, status="ERROR", span=10, **times),
            build.span("f ray.remote", parent=number, kind="PRODUCER", span=11, **times),
            build.span("f ray.remote_worker", parent=11, kind="CONSUMER", span=12, **times | {"start": 30 * number}),
        ]
        path.write_bytes(file_of(documents))
        (trace,) = spanview.load(path).traces
        words = [sys.executable, "-m", "spanview", "tree", str(path)]
        printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert printed == f"{trace.tree()}\n\n"
        assert "(waited 15 µs)" in printed or number == 2
        texts.append(trace.tree(times=False))
    assert texts == 2 * ["alpha\n├─ beta  ✖ ERROR\n└─ f ray.remote\n   └─ f ray.remote_worker"]


def test_what_is_narrowed() -> None:
    """A query and a time keep whole traces, of which alone everything speaks from then on."""
    everything = spanview.load(ROOT / "fixtures" / "serve")
    failed = spanview.load(ROOT / "fixtures" / "serve", query="status=ERROR")
    matching = everything.query("status=ERROR")
    assert 0 < len(failed.traces) < len(everything.traces)
    assert {node.trace for node in matching} == {*failed.traces}
    assert all(node.status == "ERROR" for node in matching)
    assert [*matching] == failed.query("status=ERROR")
    assert len(failed) == sum(trace.span_count for trace in failed.traces) == failed.to_arrow().num_rows
    assert len(everything) == everything.summary().spans == failed.summary().spans
    assert {group.key for group in failed.stats()} < {group.key for group in everything.stats()}
    assert {request.trace_id for request in failed.requests()} <= {trace.trace_id for trace in failed.traces}
    other = next(trace.trace_id or "" for trace in everything.traces if trace not in failed.traces)
    with pytest.raises(spanview.TraceNotFoundError, match="no trace id begins with"):
        failed.trace(other)
    several = ROOT / "fixtures"
    assert 0 < len(spanview.load(several, since="last")) < len(spanview.load(several))
    with pytest.raises(spanview.QueryError):
        spanview.load(several, query="duration>")
    with pytest.raises(spanview.QueryError):
        spanview.load(several, since="never")
    with pytest.raises(spanview.QueryError):
        everything.query("duration>")
    assert (_pickled(failed).traces, len(_pickled(failed))) == (failed.traces, len(failed))


def test_reports() -> None:
    """Reports have the rows of the commands, with what is certain; by key, by position and one after the other."""
    store = spanview.load(ROOT / "fixtures" / "ray-events-hook")
    calls, stats = store.calls(), store.stats(by="name")
    words = [sys.executable, "-m", "spanview", "stats", "--by", "ray-call", "--json", "fixtures/ray-events-hook"]
    printed = json.loads(subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True).stdout)["rows"]
    assert len(calls) == len(printed) > 30
    for call, row in zip(calls, printed, strict=True):
        assert (call.wait_ns, call.waited_for, call.run_ns, call.attempts, call.outcome, call.wait_parts_ns) == (
            *(row[name] for name in ("wait_ns", "waited_for", "run_ns", "attempts", "outcome", "wait_parts_ns")),
        )
        assert (call.outcome_certainty, call.wait_certainty) == (row["outcome_certainty"], row["wait_certainty"])
        assert call.span_id == row["span_id"]
        assert calls[row["span_id"]] is call
    assert [*stats] == stats.rows == [stats[index] for index in range(len(stats))]
    assert stats["Queue.put ray.remote_worker"].count == 8
    assert store.stats(by="ray")["Queue.put"].wait_p95_ns == max(
        call.wait_ns or 0 for call in calls if call.function == "Queue.put"
    )
    assert store.stats(by="critical-path")[0].critical_total_ns
    assert spanview.load(ROOT / "fixtures" / "serve").stats(by="serve")[0].count
    assert store.check()["no_attempt"].severity == "warning"
    with pytest.raises(KeyError, match=r"no row whose key is 'GET /'; there are '.*, and \d+ more"):
        _ = stats["GET /"]
    with pytest.raises(IndexError):
        _ = stats[len(stats)]
    with pytest.raises(spanview.QueryError, match=r"did you mean name\?"):
        store.stats(by="nmae")
    with pytest.raises(spanview.QueryError, match="spanview stats --by ray-worker"):
        store.stats(by="ray-worker")
    actors = store.stats(by="ray-actor")
    assert [actors[actor.function] for actor in actors] == actors.rows
    assert repr(spanview.from_spans([]).calls()) == "<Report each-call: no rows>"


def _printed(*words: str) -> str:
    """Return what a command prints."""
    command = [sys.executable, "-m", "spanview", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


@pytest.mark.parametrize(("folder", "by"), [("ray-odd-calls", ""), ("ray-tasks-docs-hook", "ray"), ("serve", "serve")])
def test_what_is_explained(monkeypatch: pytest.MonkeyPatch, folder: str, by: Literal["", "ray", "serve"]) -> None:
    """An explanation is the text and the document that the command prints, of a store and of one trace."""
    monkeypatch.chdir(ROOT)
    path, words = f"fixtures/{folder}", ("--by", by) if by else ()
    store = spanview.load(path)
    said = store.explain(by=by)
    text = re.sub(f" {path}$", "", _printed("explain", *words, path), flags=re.MULTILINE)
    text = text.replace("--lines ", "lines=")
    assert f"{said}\n" == text
    assert said.to_json()["rows"][0] == json.loads(_printed("explain", *words, "--json", path))["rows"][0]
    assert [row.text for row in said] == [row["text"] for row in said.to_json()["rows"]]
    assert len(str(store.explain(by=by, lines=5)).splitlines()) <= 5
    trace = store.traces[0]
    of_one = _printed("explain", str(trace.trace_id), path).replace(f" {path}", "")
    assert str(trace.explain()) + "\n" == of_one
    assert trace.explain()["about"].text == trace.explain().rows[0].text


def test_values_of_attributes() -> None:
    """Numbers of an attribute are those that the command adds up."""
    store = spanview.load(ROOT / "fixtures" / "serve")
    values = store.stats("service", value="http.status_code")
    (row,) = json.loads(
        _printed("stats", "--by", "service", "--value", "http.status_code", "--json", "fixtures/serve")
    )["rows"]
    assert (values[0].count, values[0].value_p95) == (row["count"], row["value"]["p95"])
    with pytest.raises(spanview.QueryError, match="can't be grouped by ray"):
        store.stats("ray", value="http.status_code")
    with pytest.raises(spanview.QueryError, match="expected one of '', 'ray', 'serve'"):
        store.explain(by="nope")  # type: ignore[arg-type]


def test_the_fields_of_rows_are_columns() -> None:
    """What rows have under a name, frames have, too: no field stays empty because a column was renamed."""
    rows = {
        "statistics": spanview.Group,
        "critical-path": spanview.PathShare,
        "calls": spanview.CallGroup,
        "each-call": spanview.Call,
        "requests-by-route": spanview.RequestGroup,
        "requests": spanview.Request,
        "findings": spanview.Finding,
        "comparison": spanview.Difference,
        "explanation": spanview.Sentence,
        "values": spanview.Amounts,
    }
    reports = {report.kind: report for report in empty_reports(load_store(()))}
    for kind, row in rows.items():
        names = {flat_name(column.name) for column in reports[kind].table.columns if column.name}
        assert {field.name for field in dataclasses.fields(row)} <= names, kind


def test_two_sides() -> None:
    """Traces and stores are compared as the command compares them."""
    folders = "fixtures/ray-tasks-bundled-hook", "fixtures/ray-tasks-docs-hook"
    words = [sys.executable, "-m", "spanview", "diff", *folders, "--json"]
    printed = json.loads(subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True).stdout)["rows"]
    a, b = (spanview.load(ROOT / folder) for folder in folders)
    found = spanview.diff(a, b)
    assert [(row.path, row.self_time_change_ns, row.p95_b_ns) for row in found] == [
        (row["path"], row["self_time_ns"]["change"], row["duration_ns"]["p95"]["b"]) for row in printed
    ]
    alone = spanview.diff(a.traces[0], a.traces[0], by="name")
    assert {row.count_change for row in alone} == {0}
    assert spanview.diff(a, b, by="ray").rows
    with pytest.raises(TypeError, match="a store or a trace of spanview's is wanted, not an object of type str"):
        spanview.diff("a", b)  # type: ignore[arg-type]


def test_where_the_time_went() -> None:
    """The answer's parts and the critical path's sections add up to the trace, and say what it waited for."""
    store = spanview.load(ROOT / "fixtures" / "ray-events-hook")
    for trace in store.traces:
        answer, path = trace.answer(), trace.critical_path()
        assert sum(part.duration_ns for part in answer.parts) == answer.duration_ns
        assert f"{answer}" == answer.text
        assert all(one.end_ns == other.start_ns for one, other in pairwise(path))
        assert all(section.node.trace == trace and section.duration_ns > 0 for section in path)
        if path and not answer.doubts and answer.parts[-1].doing != "earlier":
            assert path[-1].end_ns - path[0].start_ns == answer.duration_ns
    causes = {cause for trace in store.traces for part in trace.answer().parts for cause in part.waited_for}
    assert {"arguments", "creation", "actor"} <= causes


def test_pictures_for_notebooks(tmp_path: Path) -> None:
    """A trace is its waterfall, a report and a store are tables; names from files are only text there."""
    build = Builder()
    path = tmp_path / "1.json"
    path.write_bytes(file_of([build.span("<b>|bold", status="ERROR"), build.span("next", trace=2)]))
    store = spanview.load(path)
    picture = store.traces[0].to_svg()
    ET.fromstring(picture)  # noqa: S314 - what was made right here
    assert picture == store.traces[0]._repr_html_()
    for text in (store._repr_html_(), store.stats()._repr_html_()):
        assert "&lt;b&gt;|bold" in text
        assert "<b>" not in text
        assert ET.fromstring(f"<div>{text}</div>").iter("td")  # noqa: S314 - as above
    assert store.stats().to_markdown().splitlines()[2].startswith(r"| <b>\|bold |")


@pytest.mark.parametrize("name", ["otlp", "jsonl", "trace-tree", "jaeger"])
def test_export(tmp_path: Path, name: Any) -> None:
    """What is written is what the command writes; of a trace, that one alone."""
    source, path = ROOT / "fixtures" / "serve" / "spans", tmp_path / "out"
    store = spanview.load(source)
    spanview.export(store, path, format=name)
    words = [sys.executable, "-m", "spanview", "export", "--format", name, str(source)]
    printed = subprocess.run(words, capture_output=True, check=True).stdout
    assert sorted(printed.splitlines()) == sorted(path.read_bytes().splitlines())
    with pytest.raises(spanview.ExportError, match="already exists"):
        spanview.export(store, path, format=name)
    spanview.export(store.traces[0], path, format=name, force=True)
    assert len(spanview.load(path)) == store.traces[0].span_count
    with pytest.raises(spanview.ExportError, match="there is no format 'xml'"):
        spanview.export(store, path, format="xml")  # type: ignore[arg-type]


async def test_follow(tmp_path: Path) -> None:
    """Spans come as they are written: what is there, what is new, in new files, too, as far as it matches."""
    build, path = Builder(), tmp_path / "1.json"
    path.write_bytes(file_of([build.span("first"), build.span("other")]))
    spans = spanview.follow(tmp_path, query="-other")
    assert (await anext(spans)).name == "first"
    with path.open("ab") as file:
        file.write(file_of([build.span("second", attributes={"n": 1}), build.span("another")]))
    second = await anext(spans)
    assert (second.name, second.attributes) == ("second", {"n": 1})
    (tmp_path / "2.json").write_bytes(file_of([build.span("third")]))
    waiting = asyncio.ensure_future(anext(spans))
    assert (await waiting).name == "third"
    # Whoever stops listening leaves no thread behind, though nothing is written any more.
    waiting = asyncio.ensure_future(anext(spans))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [thread.name for thread in threading.enumerate() if "watch" in thread.name] == []
    with pytest.raises(StopAsyncIteration):
        await anext(spans)


async def test_follow_says_what_it_can_not_do(tmp_path: Path) -> None:
    """A query with a mistake, or of a whole trace, is an error; a place that isn't there yet is waited for."""
    for query in ("duration>", "trace.spans>3"):
        with pytest.raises(spanview.QueryError):
            await anext(spanview.follow(tmp_path, query=query))
    late = tmp_path / "late"
    waiting = asyncio.ensure_future(anext(spans := spanview.follow(late)))
    await asyncio.sleep(0)
    late.mkdir()
    (late / "1.json").write_bytes(file_of([Builder().span("late")]))
    assert (await waiting).name == "late"
    await cast("AsyncGenerator[spanview.Span]", spans).aclose()


async def test_misspelt_keys_are_said(tmp_path: Path) -> None:
    """A key that no span has, near to one of the language's, is an error where nothing matches; in quotes it isn't."""
    (tmp_path / "1.json").write_bytes(file_of([Builder().span("a", attributes={"http.status": 200})]))
    store = spanview.load(tmp_path)
    said = r'no span has statsu \(did you mean status\?\); for an attribute of that name, write "statsu"'
    asked: list[Callable[[str], Sized]] = [store.query, lambda query: spanview.load(tmp_path, query=query)]
    for ask in asked:
        with pytest.raises(spanview.QueryError, match=said):
            ask("statsu=ERROR")
        assert len(ask('"statsu"=ERROR')) == 0
        with pytest.warns(UserWarning, match=r"no span has http.staus \(did you mean http.status\?\)"):
            ask("http.staus=200")
    with pytest.raises(spanview.QueryError, match=said):
        await anext(spanview.follow(tmp_path, query="statsu=ERROR"))


PAGE: Final = TEXTS["spanview/docs/python.md"]


def test_the_page_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of its Python runs, one block after the other, and prints what it says; mypy agrees with it."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    code = "\n".join(block["code"] for block in blocks(PAGE) if block["mark"] is None)
    test = doctest.DocTestParser().get_doctest(code, {}, "python.md", None, None)
    assert len(test.examples) > 40
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(test, out=printed.append).failed == 0, "".join(printed)
    (tmp_path / "page.py").write_text("".join(example.source for example in test.examples))
    words = [sys.executable, "-m", "mypy", "--no-color-output", str(tmp_path / "page.py")]
    checked = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_page_names_what_is_there() -> None:
    """What the page says in words about names is so, too."""
    names = {*re.findall(r"`(?:span|event)\.(\w+)`", PAGE)}
    assert names == {"end_ns", "kind", "timestamp_ns"}
    assert names <= public_names(spanview.Span) | public_names(spanview.Event)


def test_what_is_no_trace_id() -> None:
    """What isn't a text is refused with a sentence: a trace of spans with unusable ids has none to be asked for by."""
    store = spanview.load(Path(__file__).parent.parent / "fixtures" / "serve" / "spans")
    with pytest.raises(TypeError, match="a trace id is a text of hex digits, not None"):
        store.trace(None)  # type: ignore[arg-type]


def test_what_is_no_choice_is_named() -> None:
    """A word that nothing is compared by, and an object that is no span, are answered in words."""
    store = spanview.load(ROOT / "fixtures" / "serve")
    with pytest.raises(spanview.DiffError, match="by='nope': expected one of path, name, ray"):
        spanview.diff(store, store, by="nope")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a ReadableSpan of OpenTelemetry's SDK is wanted, not int"):
        spanview.from_spans([1])  # type: ignore[list-item]
