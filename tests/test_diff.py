"""`spanview diff` from outside: what A and B are taken for, what is printed, and what can't be told.

A and B                                   are
-------                                   ---
old new                                   two files or folders, where both are there and nothing follows
a1 a2 PATH                                two traces, where one id begins so
beta trace.errors>0 PATH                  two queries, in all other cases
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import Builder, file_of
from programs import spanview
from slow_paths import changes_of
from spanview.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from builders import Document

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
CAFE: Final = 0xCAFE << 112
"""A trace whose id begins like a word."""
RENAMED: Final = (
    "spanview: names in JSON have changed: paths is rows, a.spans is totals.spans.a, "
    "delta.spans is totals.spans.change, ratio.spans is totals.spans.ratio; the old ones stay until the next version"
)
SIDE: Final = "type value traces spans errors missing_parents total_ns self_ns p50_ns p95_ns"


def documents() -> dict[str, list[Document]]:
    """Return the spans of two files: `old` has two traces, `new` one like the first of them, but slower."""
    build = Builder()
    return {
        "old": [
            *build.draw("alpha 0-10\n  beta 2-5", trace=0xA1 << 120),
            *build.draw("gamma 0-7", trace=CAFE, status="ERROR"),
        ],
        "new": build.draw("alpha 0-40\n  beta 2-35\n  delta 36-37", trace=0xA2 << 120),
    }


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in a folder with both files, in folders of their own and together."""
    for name, spans in documents().items():
        for folder in (name, "both"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{name}.json").write_bytes(file_of(spans))
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.fixture(name="compared")
def make_compared(capfd: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return what runs `spanview diff --json` in this process and returns what it printed."""

    def compared(*words: str) -> dict[str, Any]:
        assert main(["diff", "--json", *words]) == 0
        output, notices = capfd.readouterr()
        assert notices.strip().splitlines() in ([], [RENAMED])
        value: dict[str, Any] = json.loads(output)
        return value

    return compared


def expected(a: list[Document], b: list[Document]) -> list[dict[str, Any]]:
    """Return the paths that are to be printed, in any order."""
    return [*changes_of(a, b).values()]


def in_any_order(paths: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return paths without what the order of reading decides, sorted."""
    plain = [{key: value for key, value in path.items() if key not in {"number", "parent"}} for path in paths]
    return sorted(plain, key=lambda path: json.dumps(path["path"]))


def test_two_folders(compared: Callable[..., dict[str, Any]]) -> None:
    """Each side is read by itself, and every figure is that of the slow way; the keys are those of the format."""
    spans = documents()
    value = compared("old", "new")
    assert list(value) == ["schema", "by", "a", "b", "delta", "ratio", "per_trace", "gates", "totals", "rows", "paths"]
    assert " ".join(value["a"]) == " ".join(value["b"]) == SIDE
    assert " ".join(value["delta"]) == " ".join(value["ratio"]) == SIDE.removeprefix("type value ")
    assert value["a"] == {
        "type": "path",
        "value": "old",
        "traces": 2,
        "spans": 3,
        "errors": 1,
        "missing_parents": 0,
        "total_ns": 17_000,
        "self_ns": 17_000,
        "p50_ns": 7_000,
        "p95_ns": 10_000,
    }
    assert (value["b"]["value"], value["delta"]["spans"], value["ratio"]["spans"]) == ("new", 0, 1.0)
    assert value["totals"]["traces"] == {"a": 2, "b": 1, "change": -1, "ratio": 0.5}
    assert value["totals"]["duration_ns"]["p50"]["a"] == 7_000
    assert value["totals"]["duration_ns"].keys() == {"total", "p50", "p95"}
    assert value["per_trace"] is None
    assert in_any_order(value["paths"]) == in_any_order(expected(spans["old"], spans["new"]))
    assert [path["name"] for path in value["paths"]] == ["beta", "gamma", "delta", "alpha"]
    assert compared("old/old.json", "n*/*.json")["paths"] == value["paths"]


def test_unlike_numbers_of_traces_with_a_root(compared: Callable[..., dict[str, Any]]) -> None:
    """Sums are compared per trace, and those of the paths add up to the change that is named."""
    spans = documents()
    value = compared("both", "new")
    assert value["per_trace"] == {
        "delta": {"spans": -0.5, "errors": -1, "missing_parents": 0, "total_ns": 8_000, "self_ns": 8_000},
        "ratio": {"spans": 6 / 7, "errors": 0, "missing_parents": None, "total_ns": 1.25, "self_ns": 1.25},
    }
    totals = value["totals"]
    assert (totals["spans"]["change"], totals["spans"]["ratio"]) == (-0.5, 6 / 7)
    assert (totals["self_time_ns"]["change"], totals["duration_ns"]["total"]["ratio"]) == (8_000, 1.25)
    assert in_any_order(value["paths"]) == in_any_order(expected([*spans["old"], *spans["new"]], spans["new"]))
    assert sum(path["per_trace"]["delta"]["self_ns"] for path in value["paths"]) == 8_000
    assert sum(path["per_trace"]["delta"]["count"] for path in value["paths"]) == -0.5


def test_roots_of_two_traces(compared: Callable[..., dict[str, Any]]) -> None:
    """Two traces are matched at their roots, two folders aren't."""
    paths = compared("a1", "cafe", "old")["paths"]
    assert {path["name"]: path["only_in"] for path in paths} == {"alpha → gamma": None, "beta": "a"}


def test_by_name(compared: Callable[..., dict[str, Any]]) -> None:
    """Spans of a name are one group wherever they are, and the greatest change of a total comes first."""
    for name, text in (
        ("one", "batch 0 0-50\n  put 1-11\n  put 20-25"),
        ("two", "batch 1 0-50\n  x 0-49\n    put 1-41"),
    ):
        Path(f"{name}.json").write_bytes(file_of(Builder().draw(text)))
    value = compared("one.json", "two.json", "--by", "name")
    groups = {path["name"]: path for path in value["paths"]}
    assert [*groups] == ["batch 1", "batch 0", "x", "put"]
    put = groups["put"]
    assert put["a"] == {
        "count": 2,
        "errors": 0,
        "total_ns": 15_000,
        "self_ns": 15_000,
        "p50_ns": 5_000,
        "p95_ns": 10_000,
    }
    assert (put["b"]["count"], put["b"]["total_ns"], put["delta"]["total_ns"]) == (1, 40_000, 25_000)
    assert (value["a"]["traces"], value["a"]["total_ns"]) == (1, 50_000)


def test_by_ray(compared: Callable[..., dict[str, Any]], capfd: pytest.CaptureFixture[str]) -> None:
    """Runs of a function are compared, then the waits of its calls; where no span is a call, that is said."""
    for name, waited, ran in (("one", 10, 5), ("two", 30, 9)):
        build = Builder()
        call = build.span("f ray.remote", span=1, kind="PRODUCER", start=0, duration=1)
        attempt = build.span("f ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=1 + waited, duration=ran)
        Path(f"{name}.json").write_bytes(file_of([call, attempt]))
    runs, waits, submits = compared("one.json", "two.json", "--by", "ray")["paths"]
    assert (runs["path"], runs["a"]["p50_ns"], runs["b"]["p50_ns"]) == (["f"], 5_000, 9_000)
    assert (waits["path"], waits["a"]["total_ns"], waits["delta"]["total_ns"]) == (["f", "waiting"], 10_000, 20_000)
    assert (submits["path"], submits["a"]["total_ns"], submits["delta"]["total_ns"]) == (["f", "submitting"], 1_000, 0)
    assert "self_ns" not in runs["a"]
    assert main(["diff", "one.json", "two.json", "--by", "ray"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[-3].startswith("f                  5 µs   +4 µs   +80 %     9 µs      1  ")
    assert main(["diff", "old", "new", "--by", "ray"]) == 2
    assert "no Ray calls here" in capfd.readouterr().err


def test_by_ray_the_rows_add_up(compared: Callable[..., dict[str, Any]]) -> None:
    """Of a call alone in its trace: what it ran, waited, was submitted, and what was between its attempts."""
    for name, (submitted, first, second) in {"one": (1, 5, 20), "two": (3, 9, 60)}.items():
        again: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "duration": 4}
        build = Builder()
        Path(f"{name}.json").write_bytes(
            file_of(
                [
                    build.span("f ray.remote", span=1, kind="PRODUCER", start=0, duration=submitted),
                    build.span("f ray.remote_worker", span=2, start=first, **again),
                    build.span("f ray.remote_worker", span=3, start=second, **again),
                ]
            )
        )
    value = compared("one.json", "two.json", "--by", "ray")
    changes = {path["path"][-1]: path["delta"]["total_ns"] for path in value["paths"]}
    assert changes == {"f": 0, "waiting": 2_000, "submitting": 2_000, "between attempts": 36_000}
    assert sum(changes.values()) == value["delta"]["total_ns"] == 40_000


def test_time_after_an_attempt_without_an_end_is_apart(compared: Callable[..., dict[str, Any]]) -> None:
    """Nobody knows how much of that the attempt ran: it isn't the time between attempts."""
    build = Builder()
    again: dict[str, Any] = {"parent": 1, "kind": "CONSUMER"}
    spans = [
        build.span("f ray.remote", span=1, kind="PRODUCER", start=0, duration=1),
        build.span("f ray.remote_worker", span=2, start=5, end_time=None, **again),
        build.span("f ray.remote_worker", span=3, start=20, duration=4, **again),
    ]
    Path("one.json").write_bytes(file_of(spans))
    value = compared("one.json", "one.json", "--by", "ray")
    totals = {path["path"][-1]: path["a"]["total_ns"] for path in value["paths"]}
    expected = {"f": 4_000, "waiting": 4_000, "submitting": 1_000, "after an attempt without an end": 15_000}
    assert totals == expected


def test_rows_have_what_is_compared(compared: Callable[..., dict[str, Any]]) -> None:
    """Rows are the paths of the version before: their sums are divided, and say by what."""
    value = compared("both", "new")
    assert value["schema"] == "spanview/comparison/v1"
    for row, path in zip(value["rows"], value["paths"], strict=True):
        assert (row["path"], row["number"], row["only_in"]) == (path["path"], path["number"], path["only_in"])
        for side in "ab":
            whole = (path[side] or {}).get("count")
            assert row["count"][side] == (None if whole is None else whole / row["divided_by"][side])
        assert row["self_time_ns"]["change"] == path["per_trace"]["delta"]["self_ns"]
        assert row["duration_ns"]["total"]["ratio"] == path["per_trace"]["ratio"]["total_ns"]
        assert row["duration_ns"]["p50"]["change"] == path["delta"]["p50_ns"]


def test_folders_are_not_mixed(compared: Callable[..., dict[str, Any]]) -> None:
    """The same trace in two folders is in each of them once."""
    value = compared("old", "both")
    assert (value["a"]["spans"], value["b"]["spans"]) == (3, 6)
    assert compared("old", "old")["delta"]["self_ns"] == 0


@pytest.mark.parametrize("words", [("a1", "a2"), ("A1", "0xa2"), (f"{0xA1 << 120:032x}", f"{0xA2 << 120:032x}")])
def test_two_traces(compared: Callable[..., dict[str, Any]], words: Sequence[str]) -> None:
    """The first digits of ids are traces, in all PATHs together."""
    value = compared(*words, "old", "new")
    assert [(value[side]["type"], value[side]["value"]) for side in "ab"] == [
        ("trace", f"{0xA1 << 120:032x}"),
        ("trace", f"{0xA2 << 120:032x}"),
    ]
    spans = documents()
    assert in_any_order(value["paths"]) == in_any_order(expected(spans["old"][:2], spans["new"]))


def test_two_queries(compared: Callable[..., dict[str, Any]]) -> None:
    """A side is all traces in which a span matches."""
    value = compared("beta", "trace.errors>0", "both")
    assert [(value[side]["type"], value[side]["value"], value[side]["traces"]) for side in "ab"] == [
        ("query", "beta", 2),
        ("query", "trace.errors>0", 1),
    ]
    assert {path["only_in"] for path in value["paths"]} == {"a", "b"}


def test_a_trace_against_a_query(compared: Callable[..., dict[str, Any]]) -> None:
    """One trace can be held against many."""
    value = compared("a2", "alpha", "both")
    assert [(value[side]["type"], value[side]["traces"]) for side in "ab"] == [("trace", 1), ("query", 2)]


@pytest.mark.parametrize(
    ("word", "kind"), [("cafe", "trace"), ("CAFE", "trace"), ("trace=cafe", "query"), ("name~gamma", "query")]
)
def test_words_that_could_be_ids(compared: Callable[..., dict[str, Any]], word: str, kind: str) -> None:
    """What a trace's id begins with is that trace; as a term of a query it is a query."""
    value = compared(word, "a1", "both")
    assert (value["a"]["type"], value["a"]["spans"]) == (kind, 1)


def test_words_that_could_be_ids_and_are_none(compared: Callable[..., dict[str, Any]]) -> None:
    """Hex digits that no id begins with are searched in names."""
    assert compared("be", "a1", "both")["a"] | {"traces": 2} == compared("beta", "a1", "both")["a"] | {"value": "be"}


def test_queries_that_begin_with_a_minus(compared: Callable[..., dict[str, Any]]) -> None:
    """Behind `--` a term that is excluded is no option."""
    value = compared("--", "-beta", "beta", "both")
    assert (value["a"]["value"], value["a"]["spans"], value["b"]["spans"]) == ("-beta", 6, 5)


def test_names_of_files_are_queries_where_one_is_none(compared: Callable[..., dict[str, Any]]) -> None:
    """With a PATH behind them, one of two may be called like a file."""
    Path("beta").touch()
    value = compared("beta", "gamma", "both")
    assert (value["a"]["type"], value["a"]["traces"]) == ("query", 2)


def test_standard_input() -> None:
    """One side, or what both are looked for in, may be piped in."""
    data = b"".join(path.read_bytes() for path in Path("both").iterdir())
    for words, given in (
        (("old", "-"), Path("new/new.json").read_bytes()),
        (("a1", "a2", "-"), data),
    ):
        done = spanview("diff", "--json", *words, given=given)
        assert (done.status, done.notices.strip()) == (0, RENAMED)
        assert json.loads(done.output)["b"]["spans"] == 3


REFUSED: Final[tuple[tuple[Sequence[str], Sequence[str]], ...]] = (
    # the call, what its one line says
    ([], ["PATHs to compare", "spanview diff --help"]),
    (["old"], ["PATHs to compare", "spanview diff --help"]),
    (["old", "nowhere"], ["old is a file or folder, but nowhere isn't", "give two PATHs"]),
    (["nowhere", "old"], ["old is a file or folder, but nowhere isn't", "give two PATHs"]),
    (["old", "new", "both"], ["old and new are files or folders", "leave out both", "name~old"]),
    (["old", "empty"], ["B, empty: no spans; no files", "nothing to compare"]),
    (["empty", "old"], ["A, empty: no spans; no files", "nothing to compare"]),
    (["alpha", "beta", "empty"], ["empty: no spans; no files", "nothing to compare"]),
    (["alpha", "beta", "nowhere"], ["nowhere: no such file or folder"]),
    (["alpha", "zeta", "both"], ["B, zeta: no span in both matches", 'no span has "zeta" in its name']),
    (["alpha", "-zeta status=OK duration<0", "both"], ["B, -zeta status=OK duration<0: no span", "spanview stats"]),
    (["fff", "alpha", "both"], ["A, fff: no trace id begins with it, and no span in both matches"]),
    (["a", "alpha", "both"], ["A: 2 trace ids begin with a", f"{0xA1 << 120:032x}, ", "name~a"]),
    (["alpha", "name=", "both"], ["B: query, character 6"]),
    (["", "alpha", "both"], ["A is empty"]),
    (["alpha", " ", "both"], ["B is empty"]),
    (["-", "-"], ["standard input", "once"]),
    (["-q", "alpha", "old", "new"], ["-q", "spanview diff --help"]),
    (["--since", "1h", "old", "new"], ["--since", "spanview diff --help"]),
    (["--trace", "a1", "old", "new"], ["--trace", "spanview diff --help"]),
    (["-f", "old", "new"], ["-f", "spanview diff --help"]),
    (["two\nlines\x1b[31m", "alpha", "both"], ["two␊lines␛[31m: no span in both matches"]),
)


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_mistakes_are_answered_in_one_line(
    capfd: pytest.CaptureFixture[str], words: Sequence[str], said: Sequence[str]
) -> None:
    """What can't be compared ends with status 2, prints nothing, and says in one line what is wrong."""
    assert main(["diff", *words]) == 2
    output, notices = capfd.readouterr()
    assert output == ""
    assert notices.count("\n") == (3 if "query, character" in notices else 1)
    assert [text for text in said if text not in notices] == []


def test_nowhere_to_look(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without PATHs and without anything in the default places, it says that A and B are no files either."""
    monkeypatch.setattr("spanview.sources.places.RAY_SPANS", str(tmp_path / "nothing"))
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert main(["diff", "odl", "nwe"]) == 2
    notices = capfd.readouterr().err
    assert notices.count("\n") == 1
    assert "odl and nwe aren't files or folders" in notices
    assert f"{tmp_path}/nothing" in notices


def test_default_places(
    compared: Callable[..., dict[str, Any]],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Without PATHs, traces and queries are looked for where Ray writes; a query without a trace says so."""
    monkeypatch.setattr("spanview.sources.places.RAY_SPANS", str(tmp_path / "both"))
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert compared("a1", "gamma")["b"]["spans"] == 1
    assert main(["diff", "alpha", "nwe"]) == 2
    assert "no file or folder of that name either" in capfd.readouterr().err


def test_a_file_that_cannot_be_read_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """What is torn is one line, and no reason to stop."""
    with Path("new/new.json").open("ab") as file:
        file.write(b'{"name": "torn", "context": {')
    assert main(["diff", "old", "new"]) == 0
    assert capfd.readouterr().err == "spanview: 1 torn record skipped; spanview check says where\n"


def test_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    """Both sides, and below them the paths, the greatest change first."""
    assert main(["diff", "both", "new"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[:6] == [
        "   TRACES  SPANS  ERRORS   SELF     P50    P95",
        "A       3      6       1  57 µs   10 µs  40 µs  path both",
        "B       1      3       0  40 µs   40 µs  40 µs  path new",
        "       -2   -0.5      -1  +8 µs  +30 µs         change per trace",
        "",
        "SELF, COUNT, ERRORS, TOTAL per trace",
    ]
    heads = "SELF A CHANGE SELF B COUNT ERRORS TOTAL A CHANGE TOTAL B P50 A CHANGE P50 B P95 A CHANGE P95 B PATH"
    assert [" ".join(line.split()) for line in lines[6:]] == [
        heads,
        "18 µs +15 µs +83 % 33 µs 1 18 µs +15 µs 33 µs 3 µs +30 µs 33 µs 33 µs 33 µs alpha › beta",
        "7 µs -7 µs only A – 1 → – 1 → 0 7 µs -7 µs – 7 µs – 7 µs – gamma",
        "500 ns +500 ns +100 % 1 µs 0.5 → 1 500 ns +500 ns 1 µs 1 µs 1 µs 1 µs 1 µs alpha › delta",
        "6.50 µs -500 ns -8 % 6 µs 1 25 µs +15 µs 40 µs 10 µs +30 µs 40 µs 40 µs 40 µs alpha",
    ]


def test_recorded_runs() -> None:
    """Two recordings of one program, by a process of its own: the same calls, with other times."""
    folders = [FIXTURES / "ray-tasks-bundled-hook", FIXTURES / "ray-tasks-docs-hook"]
    done = spanview("diff", *folders, "--json")
    assert (done.status, done.notices.strip()) == (0, RENAMED)
    value = json.loads(done.output)
    assert (value["a"]["spans"], value["a"]["traces"]) == (value["b"]["spans"], value["b"]["traces"]) == (104, 31)
    assert {path["only_in"] for path in value["paths"]} == {None}
    table = spanview("diff", *folders)
    assert (table.status, table.notices) == (0, "")
    assert len(table.text.splitlines()) == len(value["paths"]) + 6
    assert "__main__.fan ray.remote › __main__.fan ray.remote_worker › __main__.leaf ray.remote\n" in table.text


# -- gates -------------------------------------------------------------------------------------------------------------


def gated(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[tuple[str, str | None]], str]:
    """Return how `diff` ends, the outcomes of its gates with their groups, and what it says on standard error."""
    status = main(["diff", "--json", *words])
    output, notices = capfd.readouterr()
    rows = json.loads(output)["gates"]
    return status, [(row["outcome"], row["group"]) for row in rows], notices


@pytest.fixture
def _many_traces() -> None:
    """Put folders beside the others: `fast` and `same` of alike traces, `slow` where b takes longer and comes twice."""
    for name, factor, again in (("fast", 1, 0), ("same", 1, 0), ("slow", 3, 1)):
        build, spans = Builder(), list[Any]()
        for trace in range(1, 101):
            length = 10 + trace % 20
            drawing = f"a 0-{100 + trace % 7}\n  b 2-{2 + length * factor}" + "\n  b 1-2" * again
            spans += build.draw(drawing, trace=trace)
            spans.append(build.span("c", trace=trace, duration=5, status="ERROR" if again and trace % 3 else "OK"))
        Path(name).mkdir()
        Path(name, "spans.json").write_bytes(file_of(spans))


@pytest.mark.usefixtures("_many_traces")
@pytest.mark.parametrize(
    ("words", "status", "outcomes"),
    [
        (["slow", "--fail-on", "p95:+10%"], 1, [("failed", "b"), ("passed", None)]),
        (["same", "--fail-on", "p95:+10%"], 0, [("passed", None)]),
        (["slow", "--fail-on", "p95:+300%"], 0, [("passed", None)]),
        (["slow", "--fail-on", "p95:+10us"], 1, [("failed", "b"), ("passed", None)]),
        (["slow", "--fail-on", "p95:-10us"], 0, [("passed", None)]),
        (["slow", "--fail-on", "count:+0"], 1, [("failed", "b"), ("passed", None)]),
        (["slow", "--fail-on", "rate:+10%"], 1, [("failed", "c"), ("passed", None)]),
        (["slow", "--fail-on", "self_time:-1%"], 1, [("failed", "a"), ("passed", None)]),
        (["same", "--fail-on", "self_time:-1%", "--fail-on", "count:-0"], 0, [("passed", None)] * 2),
        (["slow", "--fail-on", "p95(name=b):+10%"], 1, [("failed", None)]),
        (["slow", "--fail-on", "p95(nam=b):+10%"], 2, [("no_spans", None)]),
        (["slow", "--fail-on", "p95(name=a):+10%"], 0, [("passed", None)]),
        (["slow", "--fail-on", "count(name=b):+50%"], 1, [("failed", None)]),
        (["slow", "--fail-on", "rate(status=ERROR, name=c):+1%"], 1, [("failed", None)]),
        (["slow", "--fail-on", "p95(name=x):+10%"], 2, [("no_spans", None)]),
        (["slow", "--fail-on", "p95(name=x):+10%", "--allow-empty"], 0, [("passed", None)]),
        (
            ["slow", "--fail-on", "p95:+10%", "--fail-on", "p95(name=x):+1%"],
            1,
            [("failed", "b"), ("passed", None), ("no_spans", None)],
        ),
    ],
)
def test_gates(
    capfd: pytest.CaptureFixture[str], words: Sequence[str], status: int, outcomes: list[tuple[str, str | None]]
) -> None:
    """What has changed by more than a limit and by more than noise is status 1; what can't be compared is 2."""
    ended, found, notices = gated(capfd, "fast", *words, "--by", "name")
    assert (ended, found) == (status, outcomes)
    assert ("--fail-on " in notices) == bool(status)
    assert ("no span has nam (did you mean name?)" in notices) == any("(nam=" in word for word in words)


@pytest.mark.usefixtures("_many_traces")
def test_gates_of_call_paths_are_those_of_names(capfd: pytest.CaptureFixture[str]) -> None:
    """Where each name is on one path, sums of both are the same."""
    assert gated(capfd, "fast", "slow", "--fail-on", "sum:+10%")[:2] == (1, [("failed", "a › b"), ("passed", None)])


def test_few_spans_fail_no_gate_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    """One slower trace may be chance; that is said, and `--ignore-noise` fails on it."""
    words = ("a1", "a2", "both", "--by", "name", "--fail-on", "p95(name=beta):+10%")
    status, outcomes, notices = gated(capfd, *words)
    assert (status, outcomes) == (0, [("too_few", None)])
    assert "1 change beyond a limit, of too few spans to tell from noise; --ignore-noise fails on them" in notices
    assert gated(capfd, *words, "--ignore-noise")[:2] == (1, [("failed", None)])


@pytest.mark.usefixtures("_many_traces")
def test_a_small_change_is_noise(capfd: pytest.CaptureFixture[str]) -> None:
    """A change of one span in a hundred is within what both sides' spread explains."""
    documents = json.loads("[" + Path("same", "spans.json").read_text().replace("}\n{", "},{") + "]")
    for document in documents:
        if document["name"] == "b":
            document["end_time"] = document["end_time"].replace("Z", "999Z")
    Path("same", "spans.json").write_bytes(file_of(documents))
    status, outcomes, _ = gated(capfd, "fast", "same", "--fail-on", "p95(name=b):+1%")
    assert (status, outcomes) == (0, [("noise", None)])


@pytest.mark.usefixtures("_many_traces")
@pytest.mark.parametrize(
    ("format_", "says"),
    [
        ("text", "failed   p95:+10%  b: 28 µs → 81 µs (+189.3%)"),
        ("markdown", "| failed | p95:+10% | b: 28 µs → 81 µs (+189.3%) |"),
        ("github", "::error title=spanview%3A p95%3A+10%25%3A b::28 µs → 81 µs (+189.3%25)"),
        ("junit", '<testcase classname="spanview diff.gate" name="p95:+10%: b" time="0"><failure type="error"'),
    ],
)
def test_gates_in_every_format(capfd: pytest.CaptureFixture[str], format_: str, says: str) -> None:
    """Each format says what failed, and ends with status 1."""
    assert main(["diff", "fast", "slow", "--by", "name", "--fail-on", "p95:+10%", "--format", format_]) == 1
    output, _ = capfd.readouterr()
    assert any(line.startswith(says) for line in output.splitlines()), output


def test_formats_of_gates_need_one(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a gate there is nothing that passed or failed."""
    assert main(["diff", "old", "new", "--format", "junit"]) == 2
    assert "--format junit needs --fail-on" in capfd.readouterr()[1]


def test_what_never_began_lacks_no_end(tmp_path: Path) -> None:
    """A call without an attempt has no run: nothing of it is said to have no end."""
    build = Builder()
    (tmp_path / "call.json").write_bytes(file_of([build.span("f ray.remote", kind="PRODUCER"), build.span("main")]))
    output = spanview("diff", "call.json", "call.json", "--by", "ray").output.decode()
    assert any(line.startswith("f ") for line in output.splitlines())
    assert "no end" not in output
