"""What `import spanview` offers: its names, what its objects show, what is equal, and what `load` takes."""

from __future__ import annotations

import copy
import io
import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind

import spanview
from builders import Builder, file_of
from pages import TEXTS, blocks
from spanview.model.codes import KIND_UNSPECIFIED
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).parent.parent
PUBLIC: Final = {
    spanview.Store: {"traces", "trace", "summary", "problems"},
    spanview.Trace: {
        *("trace_id", "start_ns", "end_ns", "duration_ns", "span_count", "error_count", "services", "complete"),
        *("roots", "tree", "walk"),
    },
    spanview.CapturedSpans: {
        *(
            "assert_none",
            "assert_some",
            "capture",
            "clear",
            "count",
            "durations_ns",
            "select",
            "store",
            "traces",
            "tree",
        ),
    },
    spanview.Node: {"missing", "span_id", "span", "children", "warnings"},
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
        for name in public_names(value) - {"with_warnings"}:
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
def test_what_can_be_taken_elsewhere(folder: Path, take: Callable[[Any], Any]) -> None:
    """Spans and counts can be copied and pickled; stores, traces and nodes say why they can't."""
    store = spanview.load(folder)
    trace = store.traces[0]
    (node, *_) = trace.roots
    for whole in (store, trace, node):
        with pytest.raises(TypeError, match=r"load the files there, or take the spans \(`node.span`\)"):
            take(whole)
    assert take(node.span) == node.span
    assert take(store.summary()) == store.summary()


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


PAGE: Final = TEXTS["spanview/docs/python.md"]


def test_the_page_runs_as_it_is(tmp_path: Path) -> None:
    """Each line of its Python runs, one block after the other, and mypy agrees with it."""
    code = "\n".join(block["code"] for block in blocks(PAGE) if block["mark"] is None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    store = spanview.load(ROOT / "fixtures" / "serve" / "spans")
    assert f"{store.summary().spans} spans, {len(store.problems())} problems\n" in done.stdout
    assert done.stdout.endswith("nowhere: no such file or folder\n")
    (tmp_path / "page.py").write_text(code)
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
