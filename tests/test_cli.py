"""The command line from outside: a call, its exit status, and the one line that says what to mend.

status    means
------    -----
0         all well, also without a span and with a file that can't be read
1         `check` found something, or `--fail-on` matched
2         the call can't be carried out
70        an error of spanview's own
"""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import time
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from builders import Builder, file_of
from programs import RENAMED, SPANVIEW, Outcome, spanview
from spanview import cli
from spanview.sources.places import DEMO
from svgs import parsed, texts, titles
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
READING: Final = ("view", "explain", "tree", "spans", "export", "stats", "check")
"""Commands that take PATHs only; `diff` takes two sides."""
COMMANDS: Final = (*READING, "diff")
NO_COMMANDS: Final = ("html",)
"""Words that may become commands."""
WITHOUT_DEFAULTS: Final = (
    sys.executable,
    "-c",
    """if True:
        import sys
        from spanview.cli import main
        from spanview.sources import places
        places.RAY_SPANS = sys.argv.pop(1)
        sys.exit(main())
    """,
)
"""spanview with another folder, the first word, in the place of /tmp/spans."""
HOSTILE: Final = (
    "\x1b[31mred\x1b]0;title\x07\x1b]52;c;aGVsbG8=\x07\x1b_apc\x1b\\\x9b31m\x9dosc\x9c"
    "\0\b\r\n\t\v\f\x7f\x85\u202eetfel\u2066\u200b\u200f\u2028\u2029\ufeff\ud800[@click=app.quit]quit[/]"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one file of two traces, which tests run in."""
    build = Builder()
    documents = [*build.draw("alpha 0-10\n  beta 2-5", trace=1), build.span("gamma", trace=2, status="ERROR")]
    (tmp_path / "1.json").write_bytes(file_of(documents))
    return tmp_path


def refuse_constant(text: str) -> NoReturn:
    """Fail on NaN and infinities, which are no JSON."""
    raise AssertionError(f"{text} is no JSON")


def strictly(text: str | bytes) -> Any:
    """Return what JSON says; what only Python's decoder would take fails."""
    return json.loads(text.decode() if isinstance(text, bytes) else text, parse_constant=refuse_constant)


def call(command: str, *paths: str | Path) -> list[str]:
    """Return the words with which a command reads PATHs; `diff` holds each against itself."""
    return [command, *(str(path) for path in paths for _ in range(2 if command == "diff" else 1))]


def is_one_line(outcome: Outcome) -> bool:
    """Tell whether standard error is one line from spanview, with a query and a caret where its place is named."""
    first, *more = outcome.lines
    is_placed = re.search(r"query, character \d+: ", first) is not None
    return first.startswith("spanview: ") and ((len(more) == 2 and more[1].strip() == "^") if is_placed else not more)


# -- what can't be carried out -----------------------------------------------------------------------------------------

REFUSED: Final[tuple[tuple[Sequence[str], Sequence[str]], ...]] = (
    # the call, what its one line says
    (["nowhere"], ["nowhere", "--follow"]),
    (["tree", "nowhere"], ["nowhere", "--follow"]),
    (["tree", "1.json", "nowhere"], ["nowhere", "--follow"]),
    (["tree", "no*where"], ["no*where", "--follow"]),
    (["tree", ""], ["''"]),
    (["tree", "two\nlines \x1b[31m"], ["'two\\nlines \\x1b[31m'"]),
    (["check", "1.json/below"], ["1.json/below"]),
    (["--follow", "spans", "-q", "depth>1", "1.json"], ["depth"]),
    (["tree", "-q", "name=", "1.json"], ["character 6"]),
    (["spans", "-q", "duration>soon", "1.json"], ["duration"]),
    (["check", "--fail-on", "name=", "1.json"], ["character 6"]),
    (["check", "--fail-on", "", "1.json"], ["--fail-on needs a query"]),
    (["check", "--fail-on", "p95(nam", "1.json"], ["character 4", "expected a ) to close", "\n    p95(nam\n       ^"]),
    (["check", "--fail-on", "p59x(name=a)>1s", "1.json"], ["character 1", "expected one of p50, p95"]),
    (["check", "--fail-on", "p95>1s", "1.json"], ["did you mean p95(duration)>1s?", "\n    p95>1s\n        ^"]),
    (["check", "--fail-on", "count()<0", "1.json"], ["count is never <0", "\n    count()<0\n            ^"]),
    (["check", "--ignore", "clock_skw", "1.json"], ["no such kind", "did you mean clock_skew?"]),
    (["check", "--ignore", "sunshine", "1.json"], ["no such kind of finding or problem; the page check lists them"]),
    (["check", "--severity", "bad", "1.json"], ["bad: expected info, warning, error or none"]),
    (["stats", "--sort", "p59", "1.json"], ["--sort p59: there is no such column; there are name, key, count"]),
    (["stats", "--sort", "cuont", "1.json"], ["duration_ns.max; did you mean count?"]),
    (["stats", "--sort", "histogram", "1.json"], ["--sort histogram: there is no such column"]),
    (["stats", "--limit", "0", "1.json"], ["0: expected a number above 0"]),
    (["tree", "--limit", "2", "-f", "1.json"], ["--limit can't be combined with --follow"]),
    (["check", "--limit", "2", "1.json"], ["--limit is an option of tree, stats, diff"]),
    (["stats", "--format", "junit", "1.json"], ["junit: expected text, json, csv or markdown"]),
    (["spans", "-q", "=5", "1.json"], ["character 1"]),
    (["stats", "nowhere"], ["nowhere: no such file or folder\n"]),
    (["tree", "--since", "someday", "1.json"], ["'someday'", "10m", "last"]),
    (["tree", "--trace", "f", "1.json"], ["begins with f"]),
    (["tree", "--trace", "0", "1.json"], ["2 trace ids begin with 0", f"{1:032x}, {2:032x}"]),
    (["spans", "--trace", "0", "1.json"], ["2 trace ids begin with 0", f"{1:032x}, {2:032x}"]),
    (["export", "--trace", "xyz", "1.json"], ["'xyz'", "32 hex digits"]),
    (["tree", "-f", "--trace", "xyz", "1.json"], ["'xyz'", "32 hex digits"]),
    (
        ["stats", "--by", "weather", "1.json"],
        [
            "'weather'",
            "name, service, kind, service+name, status, trace.root, process, pid, scope, critical-path, call-path, ray",
        ],
    ),
    (["stats", "--by", "nme", "1.json"], ["can't group by 'nme'", "serve-request; did you mean name?"]),
    (["stats", "--by", "rayy", "1.json"], ["; did you mean ray?"]),
    (["stats", "--by", "kind", "--by", "name", "1.json"], ["--by takes one value: leave out name"]),
    (["diff", "--by", "ray", "--by=ray", "alpha", "gamma"], ["--by takes one value: leave out ray"]),
    (["tree", "--width", "90", "1.json"], ["--width needs --bars"]),
    (["spans", "--color", "always", "1.json"], ["--color is an option of view, explain, tree, stats, check, diff"]),
    (
        ["diff", "--trace=0", "a", "b"],
        ["--trace is an option of view, explain, tree, spans, export, stats, check, push"],
    ),
    (["tree", "--trace", f"{1:032x}", "--trace", "f", "1.json"], ["begins with f"]),
    (["spans", "--trace", f"{1:032x}", "--trace", "xyz", "1.json"], ["'xyz'", "32 hex digits"]),
    *(([word], [f"no command, file or folder is named {word};"]) for word in NO_COMMANDS),
    (["html", "--help"], ["no command, file or folder is named html;"]),
    (["--follow", "html"], ["no command, file or folder is named html;"]),
    (["mcp", "-"], ["-: standard input is the agent's"]),
    (["mcp", "--follow"], ["--follow is an option of view, tree"]),
    (["help", "--skill", "query"], ["--skill shows no page: leave out query"]),
    (["receive"], ["--dir DIR is missing"]),
    (["receive", "folder", "--dir", "dir"], ["unrecognized arguments: folder"]),
    (["receive", "--dir", "dir", "--http", "off", "--grpc", "off"], ["leaves no port to receive on"]),
    (["receive", "--dir", "dir", "--max-bytes", "5"], ["--max-bytes 5:", "4,096 bytes"]),
    (
        ["receive", "--dir", "dir", "--cors", "localhost:3000"],
        ["--cors: localhost:3000:", "http://localhost:3000, or *"],
    ),
    (["receive", "--dir", "dir", "--cors", "http://a/"], ["--cors: http://a/:"]),
    (["receive", "--dir", "dir", "--http", "65536"], ["65536: expected a port up to 65535"]),
    (["receive", "--dir", "dir", "--max-body", "much"], ["much: expected a size such as 16MiB"]),
    (["collect"], ["-o DIR is missing"]),
    (["collect", "folder", "-o", "dir"], ["unrecognized arguments: folder"]),
    (
        ["collect", "-o", "dir", "--dashboard", "http://head:8265", "-f"],
        ["--dashboard can't be combined with --follow"],
    ),
    (["collect", "-o", "dir", "--dashboard", "http://head:8265", "--path", "x"], ["leave out --path"]),
    (["collect", "-o", "dir", "--dashboard", "http://head:8265", "--address", "auto"], ["leave out one of them"]),
    (["collect", "-o", "dir", "--dashboard", "head:8265"], ["head:8265: expected the URL of a dashboard"]),
    (["--ray", "auto", "folder"], ["--ray replaces PATH: leave out folder"]),
    (["--port", "8123", "1.json"], ["--port needs --web"]),
    (["--web", "--port", "65536", "1.json"], ["65536", "expected a port up to 65535"]),
    (["--web", "no.json"], ["no.json: no such file or folder", "--follow"]),
    (["--web", "-q", "name=", "1.json"], ["character 6"]),
    (["tree", "--web", "1.json"], ["unrecognized arguments: --web"]),
    (["tre"], ["no command, file or folder is named tre:", "did you mean `tree`?", "./tre"]),
    (["exprot", "1.json"], ["no command, file or folder is named exprot:", "did you mean `export`?"]),
    (["-q", "tree", "chekc"], ["no command, file or folder is named chekc:", "did you mean `check`?"]),
    (["--follow", "Span"], ["no command, file or folder is named Span:", "did you mean `spans`?"]),
    (["./tre"], ["./tre: no such file or folder", "--follow"]),
    (["tree", "tre"], ["tre: no such file or folder", "--follow"]),
    (["weather"], ["weather: no such file or folder", "--follow"]),
    (["spans", "-q", "alpha", "-q", "name=", "1.json"], ["character 6"]),
    (["check", "--fail-on", "alpha", "--fail-on", "name=", "1.json"], ["character 6"]),
    (["check", "--trace", "f", "1.json"], ["begins with f"]),
    (["export", "--format", "csv", "1.json"], ["csv: expected", "trace-tree, jsonl, otlp"]),
    (["export", "--format", "pdf", "1.json"], ["pdf: expected"]),
    (["export", "--format", "yaml", "1.json"], ["yaml: expected"]),
    (["export", "-o", "1.json", "1.json"], ["1.json", "--force"]),
    (["export", "-o", "no/where.json", "1.json"], ["no/where.json", "folder"]),
    (["export", "-o", ".", "--force", "1.json"], ["folder"]),
    (["export", "-f", "1.json"], ["-f", "spanview export --help"]),
    (["check", "-f", "1.json"], ["-f", "spanview check --help"]),
    (["tree", "--json", "1.json"], ["--json", "spanview tree --help"]),
    (
        ["tree", "--folow", "1.json"],
        ["arguments: --folow: did you mean --follow?", "spanview tree --help"],
    ),
    (["stats", "1.json", "--sinec=2h"], ["--sinec=2h: did you mean --since?"]),
    (["check", "--fail-no", "alpha", "1.json"], ["did you mean --fail-on?"]),
    (["tree", "--demo", "1.json"], ["--demo replaces PATH: leave out 1.json"]),
    (["diff", "--demo", "alpha"], ["diff needs two traces, queries, or PATHs"]),
    (["tree", "-q", "durration>5ms", "1.json"], ["character 11", "a number", "did you mean duration?"]),
    (["tree", "-q", "trace.durtion>5ms", "1.json"], ["trace.spans", "did you mean trace.duration?"]),
    (["tree", "--svg", "1.json", "1.json"], ["1.json already exists", "--force"]),
    (["tree", "--svg", "no/where.svg", "1.json"], ["no/where.svg", "folder"]),
    (["tree", "--svg", "out.svg", "-f", "1.json"], ["--svg", "--follow"]),
    (["tree", "--svg", "out.svg", "-q", "nothing", "1.json"], ["no trace to draw", "out.svg is not written"]),
    (["tree", "--bars", "--width", "12", "1.json"], ["12", "40 to 1000"]),
    (["tree", "--bars", "--width", "wide", "1.json"], ["wide", "40 to 1000"]),
    (["tree", "--fol", "1.json"], ["--fol"]),
    (["tree", "--odd\n\x1b[31m", "1.json"], ["--odd␊␛[31m"]),
    (["tree", "--query"], ["--query"]),
    (["tree", "--max-span-size", "0", "1.json"], ["16MiB"]),
    (["tree", "--max-span-size", "big", "1.json"], ["16MiB"]),
)


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_mistakes_are_answered_in_one_line(folder: Path, words: Sequence[str], said: Sequence[str]) -> None:
    """A call that can't be carried out ends with status 2, prints nothing, and says in one line what is wrong."""
    done = spanview(*words, folder=folder)
    assert (done.status, done.output) == (2, b"")
    assert is_one_line(done), done.notices
    assert [text for text in said if text not in done.notices] == []


@pytest.mark.parametrize(
    "words", [["tree", "-q", "", "1.json"], ["tree", "1.json", "-q", ""], ["tree", "-fq", "", "-"]]
)
def test_empty_query_takes_no_path_for_itself(folder: Path, words: Sequence[str]) -> None:
    """An empty query keeps everything, and what is piped in is followed to its end only."""
    given = (folder / "1.json").read_bytes() if "-" in words else b""
    done = spanview(*words, folder=folder, given=given)
    assert (done.status, done.notices) == (0, "")
    assert done.output.count(b"trace 0") == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tree", "-q", "delta"], '; no span has "delta" in its name · any~delta looks in ids, services, attributes'),
        (["spans", "-q", "delta"], '; no span has "delta" in its name · any~delta looks in ids, services, attributes'),
        (["spans", "-q", "name=delta"], "\n"),
        (["tree", "--since", "1s"], "\n"),
        (["stats", "-q", "name=delta"], "\n"),
        (["stats", "--json", "-q", "delta"], '; no span has "delta" in its name'),
        (["export", "-q", "name=delta"], "\n"),
        (["export", "--format", "jsonl", "--since", "1s"], "\n"),
        (["export", "--format", "otlp", "-q", "delta"], '; no span has "delta" in its name'),
        (["check", "-q", "name=delta"], "\n"),
        (["tree", "-q", "stauts=ERROR"], "; no span has stauts (did you mean status?)\n"),
        (["spans", "-q", "(gamma OR nmae~x) delta"], "; no span has nmae (did you mean name?); no span"),
        (["stats", "-q", "weather=fine"], "; no span has weather\n"),
        (["stats", "-q", "name = alph"], "; = is exact, name~alph looks inside\n"),
        (["check", "-q", "name~ALPHA"], '; ~ is case-sensitive, name~"(?i)ALPHA" isn\'t\n'),
    ],
)
def test_nothing_matches(folder: Path, words: Sequence[str], says: str) -> None:
    """What isn't there is said, and is no mistake; what no name has may be somewhere else."""
    done = spanview(*words, "1.json", folder=folder)
    assert done.status == 0
    assert b"alpha" not in done.output
    assert is_one_line(done)
    assert done.notices.startswith(f"spanview: nothing matches{says}")


def test_the_demo(folder: Path) -> None:
    """It is what real programs have recorded, byte for byte but compressed, and stands for a PATH."""
    for part, recording in (("ray", "ray-tasks-bundled-hook"), ("serve", "serve")):
        there = {path.stem: gzip.decompress(path.read_bytes()) for path in Path(DEMO, part).iterdir()}
        assert there == {path.name: path.read_bytes() for path in (FIXTURES / recording / "spans").iterdir()}
    counted = spanview("stats", "--demo", "--by", "ray", "--json", folder=folder)
    # Compressed files are named after processes, too: otherwise no call would be the first one of its worker.
    assert (
        counted.output
        == spanview("stats", FIXTURES / "ray-tasks-bundled-hook", FIXTURES / "serve", *("--by", "ray", "--json")).output
    )
    compared = spanview("diff", "--demo", "name~leaf", "name~replica", folder=folder)
    assert (counted.status, compared.status, compared.notices) == (0, 0, "")
    assert [line.startswith(RENAMED) for line in counted.lines] == [True]


def test_heads_of_calls() -> None:
    """The columns of calls are called by what happened to the calls."""
    done = spanview("stats", FIXTURES / "ray-odd-calls", "--by", "ray")
    heads, *_ = done.output.decode().splitlines()
    assert re.split(" {2,}", heads)[3:10] == [
        *("FAILED", "RETRIED", "NO ATTEMPT", "ATTEMPTS", "ERRORS", "SUBMIT FAILED", "NOT TRACED")
    ]
    assert "  ALREADY EXISTED  " in heads
    assert heads.endswith("  CONCURRENT")


def test_words_of_commands_to_come_are_paths_where_these_exist(folder: Path) -> None:
    """A file that is called like no command yet, or nearly like one, is read."""
    for name in ("html", "tre"):
        (folder / name).write_bytes((folder / "1.json").read_bytes())
        for path in (name, f"./{name}"):
            done = spanview(path, folder=folder)
            assert (done.status, done.notices) == (0, ""), path
            assert "alpha" in done.text


@pytest.mark.parametrize("command", READING)
def test_repeated_queries_must_all_hold(folder: Path, command: str) -> None:
    """`-q` twice is one query of both, of which OR binds no more than its own."""
    twice = spanview(command, "1.json", "-q", "alpha OR beta", "-q", "beta OR gamma", folder=folder)
    once = spanview(command, "1.json", "-q", "(alpha OR beta) (beta OR gamma)", folder=folder)
    assert twice == once
    assert b"beta" in once.output or command == "check"
    assert b"gamma" not in once.output
    assert spanview(command, "1.json", "-q", "", "-q", "alpha OR beta", folder=folder) == (
        spanview(command, "1.json", "-q", "alpha OR beta", folder=folder)
    )


def test_trees_say_the_zone_of_their_times(folder: Path) -> None:
    """A tree's title says how far its times are from UTC, in the summer of its trace."""
    for zone, said in (("UTC", "22:13:20.000000 UTC ·"), ("Asia/Kolkata", "03:43:20.000000 UTC+05:30 ·")):
        done = spanview("tree", "1.json", folder=folder, environment={"TZ": zone})
        assert said in done.text.splitlines()[0]
    assert "17:13:20.000000 UTC-05:00 ·" in spanview("tree", "1.json", folder=folder, environment={"TZ": "EST5"}).text


def test_fail_on_says_how_many(folder: Path) -> None:
    """`--fail-on` ends with status 1, and says why."""
    done = spanview("check", "--fail-on", "status=ERROR", "1.json", folder=folder)
    assert done.status == 1
    assert "1 span matched" in done.notices


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("duration_ns.p95", ["gamma", "alpha", "beta"]),
        ("p95", ["gamma", "alpha", "beta"]),
        ("-p95", ["beta", "alpha", "gamma"]),
        ("-duration.max", ["beta", "alpha", "gamma"]),
        ("self_time", ["gamma", "alpha", "beta"]),
        ("name", ["alpha", "beta", "gamma"]),
        ("-key", ["gamma", "beta", "alpha"]),
        ("errors", ["gamma", "alpha", "beta"]),
    ],
)
def test_tables_are_sorted_and_cut(folder: Path, by: str, keys: Sequence[str]) -> None:
    """`--sort` takes the name of a column in JSON, or its end; `--limit` keeps the first rows, in every format."""
    build = Builder()
    spans = [*build.draw("alpha 0-10\n  beta 2-5", trace=1), build.span("gamma", trace=2, status="ERROR", duration=30)]
    open_ = build.span("open", trace=3, duration=None)
    (folder / "1.json").write_bytes(file_of([*spans, open_]))
    words = ("stats", "1.json", "--sort", by)
    printed = [row["key"] for row in strictly(spanview(*words, "--json", folder=folder).output)["rows"]]
    assert [key for key in printed if key != "open"] == keys
    # What has no duration comes last in either order.
    assert printed[-1] == "open" or by in {"errors", "name", "-key"}
    for format_, heads in (("json", 0), ("csv", 1), ("markdown", 2), ("text", 1)):
        done = spanview(*words, "--limit", "2", "--format", format_, folder=folder)
        assert "2 rows left out by --limit 2" in done.notices
        if heads:
            assert len(done.text.splitlines()) == heads + 2
        else:
            assert [row["key"] for row in strictly(done.output)["rows"]] == printed[:2]
    assert "left out" not in spanview(*words, "--limit", "4", folder=folder).notices


def test_comparisons_are_sorted_by_changes(folder: Path) -> None:
    """`p95` is the change of P95, greatest rise first; the side has its own name."""
    slow = Builder().draw("alpha 0-12\n  beta 2-11", trace=1)
    (folder / "2.json").write_bytes(file_of(slow))
    words = ("diff", "1.json", "2.json", "--by", "name", "--json", "--sort")
    names = {
        by: [row["name"] for row in strictly(spanview(*words, by, folder=folder).output)["rows"]]
        for by in ("p95", "-p95", "duration_ns.p95.a", "name")
    }
    assert names == {
        "p95": ["beta", "alpha", "gamma"],
        "-p95": ["alpha", "beta", "gamma"],
        "duration_ns.p95.a": ["gamma", "alpha", "beta"],
        "name": ["alpha", "beta", "gamma"],
    }


def test_trees_of_the_first_traces(folder: Path) -> None:
    """`tree --limit` prints so many, and says how many it leaves out."""
    done = spanview("tree", "--limit", "1", "1.json", folder=folder)
    assert done.text.count("trace 0") == 1
    assert done.notices == "spanview: 1 trace left out by --limit 1\n"
    assert spanview("tree", "--limit", "2", "1.json", folder=folder) == spanview("tree", "1.json", folder=folder)


def test_minus_is_standard_output(folder: Path) -> None:
    """`-o -` writes no file of that name."""
    done = spanview("export", "1.json", "-o", "-", folder=folder)
    assert strictly(done.output)["summary"]["spans"] == 3
    assert not (folder / "-").exists()


def test_records_over_the_cap_are_one_line(folder: Path) -> None:
    """However many records are too large, one line says so."""
    done = spanview("tree", "--max-span-size", "300", "1.json", folder=folder)
    assert done.status == 0
    assert "3 records skipped, longer than --max-span-size" in done.lines[0]


@pytest.mark.parametrize("command", [(), ("tree",), ("check", "--json")])
def test_nothing_in_the_default_places(tmp_path: Path, command: Sequence[str]) -> None:
    """Without PATHs and without spans it says where it looked and how to turn tracing on."""
    done = spanview(tmp_path / "spans", *command, program=WITHOUT_DEFAULTS, environment={"RAY_TMPDIR": str(tmp_path)})
    assert (done.status, done.output) == (2, b"")
    session = f"{tmp_path}/ray/session_latest"
    assert f"{session}/logs/spans, {tmp_path}/spans and {session}/logs/serve/spans" in done.lines[0]
    assert "spanview.ray.hook:setup_tracing" in done.notices
    assert "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=" in done.notices


@pytest.mark.parametrize("command", ["tree", "spans", "export", "stats", "check"])
def test_a_default_place_without_spans_is_named(tmp_path: Path, command: str) -> None:
    """Without PATHs, too, it says where there is nothing."""
    (tmp_path / "spans").mkdir()
    done = spanview(tmp_path / "spans", command, program=WITHOUT_DEFAULTS, environment={"RAY_TMPDIR": str(tmp_path)})
    assert (done.status, done.lines) == (0, [f"spanview: {tmp_path}/spans: no spans; no files"])


@pytest.mark.parametrize("place", ["spans", "ray/session_latest/logs/spans", "ray/session_latest/logs/serve/spans"])
def test_default_places_are_read(tmp_path: Path, place: str) -> None:
    """Without PATHs the places that Ray and Ray Serve write to are read, also if only one of them is there."""
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "1.json").write_bytes(file_of([Builder().span("found")]))
    done = spanview(tmp_path / "spans", program=WITHOUT_DEFAULTS, environment={"RAY_TMPDIR": str(tmp_path)})
    assert (done.status, done.notices) == (0, "")
    assert "found" in done.text


def test_rays_events_are_read_beside_the_default_places(tmp_path: Path) -> None:
    """The folder that Ray writes its own events to is read with the spans; without these, it isn't a place to look."""
    events = tmp_path / "ray/session_latest/logs/export_events"
    events.mkdir(parents=True)
    (events / "1.json").write_bytes(file_of([Builder().span("beside")]))
    environment = {"RAY_TMPDIR": str(tmp_path)}
    done = spanview(tmp_path / "spans", "spans", program=WITHOUT_DEFAULTS, environment=environment)
    assert (done.status, done.output) == (2, b"")
    assert "export_events" not in done.notices
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "1.json").write_bytes(file_of([Builder().span("found", trace=2)]))
    done = spanview(tmp_path / "spans", "spans", program=WITHOUT_DEFAULTS, environment=environment)
    assert (done.status, done.notices) == (0, "")
    assert [json.loads(line)["name"] for line in done.text.splitlines()] == ["beside", "found"]
    done = spanview(tmp_path / "spans", "spans", tmp_path / "spans", program=WITHOUT_DEFAULTS, environment=environment)
    assert [json.loads(line)["name"] for line in done.text.splitlines()] == ["found"]


# -- what is odd, but no reason to stop --------------------------------------------------------------------------------


def test_folder_without_spans_is_no_error(tmp_path: Path) -> None:
    """Where there is nothing, or something else, commands end with status 0 and one notice; `check` minds damage."""
    for name, data, said in (
        ("nothing", None, "no files"),
        ("empty", b"", "1 empty file"),
        ("binary", bytes(range(256)) * 100, "1 file of another kind"),
        ("text", b"not a span\n", "1 file of another kind"),
        ("other", b'{"a": 1}\n', "1 file of another kind, listed by spanview check: its keys are a, without context ("),
        ("printed", (FIXTURES / "javascript" / "console.txt").read_bytes(), "JavaScript printed, which isn't JSON"),
        ("no spans in it", b'{"resourceSpans": []}\n', "1 file of another kind"),
        ("torn", b'{"name": "a", "context": {\n', "1 file with damaged records"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        if data is not None:
            (folder / "file").write_bytes(data)
        for command in READING:
            done = spanview(command, folder)
            assert done.status == (name in {"torn", "printed"} and command == "check"), (name, command)
            assert is_one_line(done), (name, command, done.notices)
            assert "no spans" in done.notices
            assert said in done.notices


def test_spans_lost_in_a_log_are_told(folder: Path) -> None:
    """Spans of which a log has parts only are counted on standard error, and `check` ends with 1."""
    (folder / "app.log").write_text('node-7: {\nnode-7:     "trace_id": "0x0123"\nnode-7: }\n' * 3)
    done = spanview("spans", folder)
    assert done.notices == "spanview: 3 spans in logs can't be read there; spanview check says why\n"
    done = spanview("check", folder)
    assert done.status == 1
    assert "warning: prefixed: 3 spans begin in 1 log" in done.text


def test_binary_and_empty_files_beside_spans_are_passed_over(folder: Path) -> None:
    """What is no span beside spans is no reason for a notice; `check` names the file."""
    (folder / "binary").write_bytes(bytes(range(1, 256)) * 1000)
    (folder / "empty").write_bytes(b"")
    done = spanview("spans", folder)
    assert (done.status, len(done.text.splitlines())) == (0, 3)
    report = strictly(spanview("check", "--json", folder).output)
    assert report["summary"]["files"] == 3
    assert [problem["file"] for problem in report["problems"] if problem["kind"] == "no_spans"] == [f"{folder}/binary"]


def unreadable(folder: Path) -> str:
    """Return a PATH whose reading fails, for root too where there is one."""
    if os.geteuid():
        path = folder / "secret.json"
        path.write_bytes(b"{}")
        path.chmod(0)
        return str(path)
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("root reads everything here, so there is no file that can't be read")
    return "/proc/self/mem"


@pytest.mark.parametrize("command", READING)
def test_unreadable_file_stops_nothing(folder: Path, command: str) -> None:
    """A file that can't be read is told in one line, and the others are read; for `check` it is a problem."""
    path = unreadable(folder)
    done = spanview(command, folder / "1.json", path)
    assert done.status == (1 if command == "check" else 0)
    # In the report of `check` it stands on standard output.
    assert f"{path}: can't be read: " in (done.text.replace(" @ 0", "") if command == "check" else done.notices)
    assert done.output.count(b"alpha") == (0 if command == "check" else 1)


@pytest.mark.parametrize("make", [lambda path: os.symlink("1.json", path), os.mkfifo], ids=["symbolic link", "FIFO"])
def test_odd_entries_are_refused(folder: Path, make: Callable[[Path], None]) -> None:
    """What is no regular file is refused with one notice, nothing waits for it, and the files are read."""
    make(folder / "odd.json")
    done = spanview("spans", folder)
    assert (done.status, len(done.text.splitlines())) == (0, 3)
    assert is_one_line(done)
    assert "odd.json: " in done.notices


def test_torn_records_are_counted(folder: Path) -> None:
    """A torn record is told in one line, and where it stands by `check`, which ends with status 1."""
    with (folder / "1.json").open("ab") as file:
        offset = file.tell()
        file.write(b'{"name": "torn", "context": {')
    done = spanview("tree", folder)
    assert (done.status, is_one_line(done)) == (0, True)
    assert "1 torn record" in done.notices
    checked = spanview("check", "--json", folder)
    (problem,) = strictly(checked.output)["problems"]
    assert checked.status == 1
    assert (problem["kind"], problem["offset"], problem["severity"]) == ("torn", offset, "warning")


@pytest.mark.parametrize(
    ("query", "status"), [("status=ERROR", 1), ("nothing", 0), ("duration>0ms", 1), ("-name~.", 0), ("-beta", 1)]
)
def test_check_fails_on_what_is_asked_for(folder: Path, query: str, status: int) -> None:
    """`check --fail-on` ends with status 1 where a span matches, else with 0."""
    assert spanview("check", "--fail-on", query, folder).status == status
    assert spanview("check", f"--fail-on={query}", "--json", folder).status == status


def verdict_of(folder: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Return how `check --json` ends, its verdict, and what it says on standard error."""
    done = spanview("check", "--json", *words, "1.json", folder=folder)
    return done.status, strictly(done.output)["verdict"], done.notices


@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        ([], []),
        (["--fail-on", "status=ERROR"], ["--fail-on status=ERROR: 1 span matched"]),
        (["--fail-on", "delta", "--fail-on", "kind=INTERNAL"], ["--fail-on kind=INTERNAL: 3 spans matched"]),
        (["--fail-on", "delta", "--fail-on", "status=OK"], []),
        (["--fail-on", "-odd.key=1"], ["--fail-on -odd.key=1: 3 spans matched"]),
        (["--fail-on", "odd.key=1 OR delta"], []),
        # What was found is certain, whatever another query could match.
        (
            ["--fail-on", "odd.key=1", "--fail-on", "gamma"],
            [
                "--fail-on gamma: 1 span matched",
                "--fail-on odd.key=1: nothing to test: no span has odd.key",
            ],
        ),
        (["--fail-on", "odd.key=1", "--fail-on", "gamma", "--allow-empty"], ["--fail-on gamma: 1 span matched"]),
        (["--fail-on", "odd.key=1", "--allow-empty"], []),
        (["--fail-on", "gamma", "-q", "alpha"], []),
        (["--fail-on", "gamma", "--trace", f"{1:032x}"], []),
        (["--fail-on", "gamma", "--since", "2020-01-01"], ["--fail-on gamma: 1 span matched"]),
        (["--fail-on", "gamma", "-q", "name=delta", "--allow-empty"], []),
        (["--fail-on", "max(name=alpha)>9us"], ["--fail-on max(name=alpha)>9us: 10 µs, 1 span"]),
        (["--fail-on", "max(name=alpha)>10us"], []),
        (["--fail-on", "count(status=ERROR)>0"], ["--fail-on count(status=ERROR)>0: 1"]),
        (["--fail-on", "count(status=OK)>0"], []),
        (["--fail-on", "rate(status=ERROR)>33%"], ["--fail-on rate(status=ERROR)>33%: 33.3%, 3 spans"]),
        (["--fail-on", "rate(status=ERROR)>34%"], []),
        (["--fail-on", "p95(name=odd)>1s", "--allow-empty"], []),
        (["--fail-on", "max(name~^al)>1us", "--trace", f"{2:032x}", "--allow-empty"], []),
    ],
)
def test_verdicts(folder: Path, words: Sequence[str], reasons: Sequence[str]) -> None:
    """The verdict has the exit status and what it rests on: any query is enough, of the spans that are asked for."""
    status, verdict, _ = verdict_of(folder, *words)
    assert verdict == {"status": status, "reasons": reasons}
    assert status == bool(reasons)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--fail-on", "odd.key=1"], "no span has odd.key"),
        (["--fail-on", "odd.key!=1"], "no span has odd.key"),
        (["--fail-on", "status=ERROR odd.key=1"], "no span has odd.key"),
        (["--fail-on", "odd.key=1 OR odder.key>2"], "no span has odd.key; no span has odder.key"),
        (["--fail-on", "status=OK", "--fail-on", "odd.key=1"], "no span has odd.key"),
        (["--fail-on", "gamma", "--since", "1s"], "there are no spans"),
        (["--fail-on", "gamma", "-q", "name=delta"], "there are no spans"),
        (["--fail-on", 'name="GET /odd" duration>200ms'], 'no span matches name="GET /odd"'),
        (["--fail-on", "service=odd duration>200ms"], "no span matches service=odd"),
        (["--fail-on", "finding=no_attempt"], "no span matches finding=no_attempt, which is about Ray calls"),
        (["--fail-on", "name=alpah status=ERROR"], "no span matches name=alpah; did you mean name=alpha?"),
        (["--fail-on", "name=alph status=ERROR"], "no span matches name=alph; = is exact, name~alph looks inside"),
        (["--fail-on", "p95(name=alph)>1s"], "no span matches name=alph; = is exact, name~alph looks inside"),
        (["--fail-on", "max(wait)>1s"], "no span has wait"),
        (["--fail-on", "max(durration)>1"], "no span has durration (did you mean duration?)"),
        (["--fail-on", "rate(status=ERROR, service=odd)>1%"], "no span matches service=odd"),
        (["--fail-on", "count(finding=no_attempt)>0"], "no span matches finding=no_attempt, which is about Ray calls"),
    ],
)
def test_a_gate_that_nothing_could_match_is_no_pass(folder: Path, words: Sequence[str], why: str) -> None:
    """A mistyped key, or no span at all, ends with status 2 and says why; `--allow-empty` lets it pass."""
    status, verdict, notices = verdict_of(folder, *words)
    assert status == verdict["status"] == 2
    gate = words[-1] if words[-2] == "--fail-on" else "gamma"
    assert verdict["reasons"] == [f"--fail-on {gate}: nothing to test: {why}"]
    assert f"{verdict['reasons'][0]} (if that is intended, add --allow-empty)\n" in notices
    assert verdict_of(folder, *words, "--allow-empty")[:2] == (0, {"status": 0, "reasons": []})


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], 1),
        (["--severity", "error"], 0),
        (["--severity", "none"], 0),
        (["--ignore", "torn"], 1),
        (["--ignore", "torn", "--ignore", "torn_tail"], 0),
        (["--ignore", "torn", "--ignore", "torn_tail", "--severity", "info"], 1),
    ],
)
def test_what_counts(folder: Path, words: Sequence[str], status: int) -> None:
    """`--severity` says from which severity on, and `--ignore` leaves kinds out, of every format."""
    more = Builder()
    documents = [more.span("late", trace=7), more.span("early", trace=7, duration=None)]
    (folder / "1.json").write_bytes(file_of(documents) + b'{"name": "torn", "context": {')
    for format_ in ("text", "json", "csv", "markdown", "github", "junit"):
        done = spanview("check", *words, "--format", format_, "1.json", folder=folder)
        assert done.status == status, format_
        assert (b"torn_tail" in done.output.replace(b'name="torn_tail" time="0"/>', b"")) == ("torn_tail" not in words)
    assert (
        bool(strictly(spanview("check", *words, "--json", "1.json", folder=folder).output)["verdict"]["reasons"])
        == status
    )


def test_nothing_found_is_said_in_markdown(folder: Path) -> None:
    """In place of a table without rows: that nothing was found, and in what; or that nothing is there to be counted."""
    whole = folder / "whole.json"
    whole.write_bytes(file_of(Builder().draw("alpha 0-10\n  beta 2-5")))
    looked_at = (
        rf"nothing found: 1 file \({whole.stat().st_size} B\), 2 spans, 1 trace, 0 duplicates, 0 missing parents, "
    )
    done = spanview("check", "--format", "markdown", whole)
    assert (done.status, done.notices) == (0, "")
    assert re.fullmatch(rf"{looked_at}0 torn records\n", done.text)
    whole.write_bytes(whole.read_bytes() + b'{"name": "torn", "context": {')
    done = spanview("check", "--ignore", "torn_tail", "--format", "markdown", whole)
    assert done.text.startswith("no finding, but 1 problem in the files: 1 file")
    assert spanview("stats", "--by", "ray", "--format", "markdown", whole).text.startswith("no Ray calls")


def test_gates_in_every_format(folder: Path) -> None:
    """Markdown has a table of the gates, GitHub's and JUnit's formats have those that failed, and JSON all of them."""
    gates = ("max(name=alpha)>9us", "status=OK", "p95(name=odd)>1s")
    words = ("check", *(word for gate in gates for word in ("--fail-on", gate)), "1.json")
    printed = {
        name: spanview(*words, "--format", name, folder=folder)
        for name in ("text", "json", "markdown", "github", "junit")
    }
    assert {done.status for done in printed.values()} == {1}
    rows = strictly(printed["json"].output)["gates"]
    assert [(row["gate"], row["outcome"], row["value"], row["spans"]) for row in rows] == [
        (gates[0], "failed", 10_000, 1),
        (gates[1], "passed", 0, 0),
        (gates[2], "no_spans", None, 0),
    ]
    assert "| failed | max(name=alpha)>9us | 10 µs, 1 span |" in printed["markdown"].text.splitlines()
    assert re.search(r"^failed +max\(name=alpha\)>9us +10 µs, 1 span$", printed["text"].text, re.MULTILINE)
    assert printed["github"].text.splitlines() == [
        "::error title=spanview%3A max(name=alpha)>9us::10 µs, 1 span",
        "::error title=spanview%3A p95(name=odd)>1s::nothing to test: no span matches name=odd",
    ]
    assert 'failures="2"' in printed["junit"].text
    allowed = spanview(*words, "--allow-empty", "--format", "junit", folder=folder)
    assert (allowed.status, 'failures="1"' in allowed.text) == (1, True)


def test_a_gate_of_an_empty_folder(tmp_path: Path) -> None:
    """Without a span no gate can be passed, but there is nothing wrong with the folder itself."""
    assert spanview("check", tmp_path).status == 0
    done = spanview("check", "--fail-on", "status=ERROR", tmp_path)
    assert done.status == 2
    assert "--fail-on status=ERROR: nothing to test: there are no spans" in done.lines[-1]
    assert spanview("check", "--fail-on", "status=ERROR", "--allow-empty", tmp_path).status == 0


def test_verdict_names_findings_and_problems(folder: Path) -> None:
    """What `check` itself finds stands in the verdict, too; what is only info doesn't."""
    with (folder / "1.json").open("ab") as file:
        file.write(b'{"name": "torn", "context": {')
    (folder / "other.json").write_text("{}")
    done = spanview("check", "--json", folder)
    verdict = strictly(done.output)["verdict"]
    assert (done.status, verdict["status"]) == (1, 1)
    assert verdict["reasons"] == ["warning: torn_tail", "warning: torn"]


def test_check_of_some_traces(folder: Path) -> None:
    """Counts of spans and findings are those of the chosen traces, problems those of all files."""
    build = Builder()
    (folder / "2.json").write_bytes(file_of([build.span("lonely", trace=9, parent=77), build.span("delta", trace=8)]))
    whole, some, other = (
        strictly(spanview("check", "--json", *words, folder).output)
        for words in ((), ("-q", "lonely"), ("--trace", f"{1:032x}"))
    )
    counts = [
        tuple(report["summary"][name] for name in ("files", "spans", "traces", "roots", "missing_parents"))
        for report in (whole, some, other)
    ]
    assert counts == [(2, 5, 4, 3, 1), (2, 1, 1, 0, 1), (2, 2, 1, 1, 0)]
    kinds = [[finding["kind"] for finding in report["findings"]] for report in (whole, some, other)]
    assert kinds == [["missing_roots", "missing_parents"], ["missing_roots", "missing_parents"], []]


# -- ways to say the same ----------------------------------------------------------------------------------------------


def test_options_stand_anywhere(folder: Path) -> None:
    """Options come before and after the command and the PATHs, in one word or two, and mean the same."""
    expected = spanview("tree", "--trace", f"{1:032x}", "-q", "beta", "1.json", folder=folder)
    assert "alpha" in expected.text
    for words in (
        ["--trace", f"{1:032x}", "-q", "beta", "tree", "1.json"],
        ["tree", "1.json", "-q", "beta", "--trace", f"{1:032x}"],
        ["-qbeta", "tree", f"--trace={1:032x}", "1.json"],
        ["--query", "beta", "tree", "1.json", "--trace", f"0x{1:032X}"],
        ["tree", "--no-cache", "--max-span-size", "1MiB", "-q", "beta", "--trace", f"{1:032x}", "--", "1.json"],
        ["view", "-q", "beta", "--trace", f"{1:032x}", "1.json"],
        ["-q", "beta", "1.json", "--trace", f"{1:032x}"],
    ):
        assert spanview(*words, folder=folder) == expected, words


@pytest.mark.parametrize("command", ["view", "tree", "spans", "export", "check"])
def test_repeated_trace_names_several(folder: Path, command: str) -> None:
    """Each of them counts, and they are shown in the order of all."""
    (folder / "2.json").write_bytes(file_of([Builder().span("delta", trace=3, span=9)]))
    wanted = [f"--trace={number:032x}" for number in (2, 1, 1)]
    some = spanview(command, *wanted, folder, folder=folder)
    whole = spanview(command, "-q", "-delta", folder, folder=folder)
    assert (some.output, some.status, some.notices) == (whole.output, whole.status, "")
    assert spanview(command, *wanted[:2], "2.json", "1.json", folder=folder).status == 0
    assert "begins with 4" in spanview(command, *wanted, "--trace=4", folder, folder=folder).notices


def test_the_viewer_lists_several_traces(folder: Path) -> None:
    """They are all that it shows; one that isn't there ends it, as it does where it is the only one."""
    (folder / "2.json").write_bytes(file_of([Builder().span("delta", trace=3, span=9)]))
    wanted = [f"--trace={number:032x}" for number in (2, 3)]
    with Terminal(*wanted, str(folder)) as terminal:
        assert terminal.has_soon("gamma", "delta", "2 of 3 traces"), terminal.lines
        assert not any("alpha" in line for line in terminal.lines)
    with Terminal(*wanted, "--trace=4", str(folder)) as terminal:
        assert terminal.wait() == 2
        assert b"begins with 4" in terminal.output


def test_a_folder_called_like_the_command(folder: Path) -> None:
    """It may be meant: where no PATH is given, what is read and how to mean it is said."""
    (folder / "spans").mkdir()
    (folder / "1.json").rename(folder / "spans" / "1.json")
    says = "spanview: spans is the command, and no PATH is given; if the file or folder spans is meant, write ./spans\n"
    places = {"RAY_TMPDIR": str(folder)}
    program = (*WITHOUT_DEFAULTS, str(folder / "default"))
    (folder / "default").mkdir()
    done = spanview("spans", folder=folder, program=program, environment=places)
    assert (done.status, done.output, done.lines[0] + "\n") == (0, b"", says)
    piped = spanview("spans", folder=folder, given=(folder / "spans" / "1.json").read_bytes())
    given = spanview("spans", "spans", folder=folder)
    assert (piped.status, piped.notices, given.status, given.notices) == (0, "", 0, "")
    assert "alpha" in piped.text
    assert "alpha" in given.text


def test_values_are_not_taken_for_commands(folder: Path) -> None:
    """A command's name behind an option that takes a value is that value."""
    assert spanview("-q", "tree", "spans", "1.json", folder=folder).output == b""
    assert spanview("spans", "-q", "alpha", "1.json", folder=folder).text.count("\n") == 1


def test_queries_may_begin_with_a_minus(folder: Path) -> None:
    """A term that is excluded is no option, behind whichever option the query stands."""
    expected = spanview("spans", "--query=-beta", "1.json", folder=folder)
    assert [json.loads(line)["name"] for line in expected.text.splitlines()] == ["alpha", "gamma"]
    for words in (
        ["-q", "-beta", "spans", "1.json"],
        ["spans", "1.json", "--query", "-beta"],
        ["spans", "-q-beta", "1.json"],
    ):
        assert spanview(*words, folder=folder) == expected, words


def test_paths_spelled_like_commands(folder: Path) -> None:
    """A folder that is called like a command is given as ./tree, or behind a command."""
    (folder / "tree").mkdir()
    (folder / "1.json").rename(folder / "tree" / "1.json")
    outcomes = [
        spanview(*words, folder=folder)
        for words in (["./tree"], ["tree", "tree"], ["tree", "./tree"], ["--", "tree"], ["view", "tree"])
    ]
    assert all(outcome.status == 0 and "alpha" in outcome.text for outcome in outcomes)
    assert len({outcome.output for outcome in outcomes}) == 1


def test_paths_of_all_kinds_give_the_same_spans(folder: Path) -> None:
    """A file, a folder, globs, standard input and a given symbolic link have the same spans."""
    (folder / "deep").mkdir()
    (folder / "1.json").rename(folder / "deep" / "1.json")
    (folder / "link").symlink_to("deep")
    data = (folder / "deep" / "1.json").read_bytes()
    outcomes = [
        spanview("tree", path, folder=folder, given=given)
        for path, given in (
            ("deep/1.json", b""),
            ("deep", b""),
            (str(folder), b""),
            ("deep/*.json", b""),
            ("**/*.json", b""),
            ("link", b""),
            ("link/1.json", b""),
            ("-", data),
        )
    ]
    assert {outcome.status for outcome in outcomes} == {0}
    assert {outcome.output for outcome in outcomes} == {outcomes[0].output}
    assert "alpha" in outcomes[0].text


def test_names_with_the_signs_of_globs_are_files_first(folder: Path) -> None:
    """A file whose name looks like a glob is read under that name."""
    (folder / "1.json").rename(folder / "[1].json")
    assert "alpha" in spanview("tree", "[1].json", folder=folder).text


def test_standard_input_gives_every_detail(folder: Path) -> None:
    """What is piped in is exported like the file, but for the name of the source."""
    data = (folder / "1.json").read_bytes()
    for command in ("export", "spans"):
        piped = spanview(command, "-", given=data)
        assert piped.output.replace(b'"file":"-"', b'"file":"1.json"') == (
            spanview(command, "1.json", folder=folder).output
        )


def test_without_a_terminal_the_viewer_prints_trees(folder: Path) -> None:
    """Bare `spanview PATH` in a pipe prints what `spanview tree PATH` prints."""
    assert spanview("1.json", folder=folder) == spanview("tree", "1.json", folder=folder)


def test_script_and_module_are_the_same(folder: Path) -> None:
    """`spanview` and `python -m spanview` print the same."""
    script = Path(sys.executable).with_name("spanview")
    for words in (["--version"], ["--help"], ["tree", "1.json"], ["nowhere"]):
        assert spanview(*words, folder=folder, program=[str(script)]) == spanview(*words, folder=folder)


# -- what it says of itself --------------------------------------------------------------------------------------------


def test_version() -> None:
    """`--version` prints name and version, with a command too."""
    import spanview as package

    for words in (["--version"], ["tree", "--version"]):
        done = spanview(*words)
        assert (done.status, done.text, done.notices) == (0, f"spanview {package.__version__}\n", "")


def test_help_lists_what_is_built() -> None:
    """`--help` lists the commands and options that there are, and no others."""
    done = spanview("--help")
    assert (done.status, done.notices) == (0, "")
    assert spanview("-h") == done
    listed = [line.split()[0] for line in done.text.splitlines() if line.startswith("  ") and line[2].islower()]
    assert listed == [*COMMANDS, "push", "collect", "receive", "mcp", "help"]
    assert not any(name in done.text for name in ("--svg", *NO_COMMANDS))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str) -> None:
    """`spanview COMMAND --help` says what the command takes."""
    done = spanview(command, "--help")
    assert (done.status, done.notices) == (0, "")
    assert done.text.startswith(f"usage: spanview {command} ")
    taken = {
        option
        for option in ("--follow", "--query", "--since", "--trace", "--output", "--json", "--svg", "--bars")
        if option in done.text
    }
    expected = {
        "view": {"--follow", "--query", "--since", "--trace"},
        "explain": {"--query", "--since", "--trace", "--json"},
        "tree": {"--follow", "--query", "--since", "--trace", "--svg", "--bars"},
        "spans": {"--follow", "--query", "--since", "--trace"},
        "export": {"--query", "--since", "--trace", "--output"},
        "stats": {"--query", "--since", "--trace", "--json"},
        "check": {"--query", "--since", "--trace", "--json"},
        "diff": {"--json"},
    }
    assert taken == expected[command]
    assert "--no-cache" in done.text


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_begins_with_examples(command: str) -> None:
    """Behind what the command does come calls of it, each with what it shows; then options in groups, each once."""
    text = spanview(command, "--help").text
    usage, about, examples, *rest = text.split("\n\n")
    assert usage.startswith(f"usage: spanview {command}")
    assert " ".join(about.split()) == f"spanview {command}: {cli.COMMANDS[command]}"
    heading, *lines = examples.splitlines()
    assert heading == "examples:"
    assert [line.partition("  #")[0].strip() for line in lines] == [*cli.EXAMPLES[command]]
    assert max(map(len, text.splitlines())) <= 96
    titles = {part.splitlines()[0].rstrip(":") for part in rest if part.splitlines()[0].endswith(":")}
    assert titles <= {"positional arguments", *cli._GROUPS, "help"}
    flags = [flags[-1] for commands, flags, _ in cli._OPTIONS if command in commands]
    assert [flag for flag in flags if not re.search(rf"^  .*{flag}\b", text, re.MULTILINE)] == []


def test_every_option_is_in_one_group() -> None:
    """No option is left out of the help, or is in it twice."""
    grouped = [flag for flags in cli._GROUPS.values() for flag in flags]
    assert len(grouped) == len({*grouped})
    assert {*grouped} == {flags[-1] for _, flags, _ in cli._OPTIONS}


CRASHING: Final = """if True:
    from importlib import import_module
    def crash(*_, **__):
        raise ValueError("by design")
    setattr(import_module({module!r}){of}, {name!r}, crash)
"""
"""Replaces a function by one that raises what nobody expects."""


@pytest.mark.parametrize("command", READING)
def test_an_error_of_its_own_is_no_answer(folder: Path, command: str) -> None:
    """Whatever raises what nobody expects, a gate of a pipeline can tell it from what `check` has found."""
    crashing = CRASHING.format(module="spanview.commands.reading", of="", name="begin")
    program = [sys.executable, "-c", f"{crashing}\nimport spanview.__main__", command, "1.json"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith("Traceback")
    *_, raised, says = done.stderr.splitlines()
    assert (raised, says[:50]) == ("ValueError: by design", "spanview: this is an error of spanview's own: plea")


def test_an_error_of_the_viewer_is_no_answer(folder: Path) -> None:
    """What is raised behind its screens ends the viewer with the same status, and is printed."""
    crashing = CRASHING.format(module="spanview.tui.app.views", of=".Views", name="open_trace")
    (folder / "sitecustomize.py").write_text(crashing)
    with Terminal("1.json", folder=folder, environment={"PYTHONPATH": str(folder)}) as terminal:
        assert terminal.has_soon("2 traces"), terminal.lines
        terminal.send(b"\r")
        assert terminal.wait() == 70
        assert b"by design" in terminal.output


# -- output ------------------------------------------------------------------------------------------------------------


def test_export_overwrites_only_when_told(folder: Path) -> None:
    """`-o` writes a new file whole; one that is there stays as it was without --force."""
    target = folder / "out"
    words = ("export", "1.json", "-o", "out")
    assert spanview(*words, folder=folder) == Outcome(0, b"", "")
    written = target.read_bytes()
    assert written == spanview("export", "1.json", folder=folder).output
    target.write_bytes(b"precious")
    assert spanview(*words, folder=folder).status == 2
    assert target.read_bytes() == b"precious"
    assert spanview(*words, "--force", folder=folder).status == 0
    assert target.read_bytes() == written
    assert sorted(os.listdir(folder)) == ["1.json", "out"]


def test_a_picture_is_written_whole(folder: Path) -> None:
    """`tree --svg` writes a new file of the chosen traces, an existing one only with --force; `-` is the output."""
    target = folder / "out.svg"
    words = ("tree", "1.json", "--svg", "out.svg")
    assert spanview(*words, folder=folder) == Outcome(0, b"", "")
    assert sum(text.startswith("trace ") for text in texts(parsed(target.read_bytes()))) == 2
    assert spanview("tree", "1.json", "--svg", "-", folder=folder).output == target.read_bytes()
    assert spanview(*words, folder=folder).status == 2
    assert spanview(*words, "--force", "--trace", f"{1:032x}", folder=folder).status == 0
    heads = [text for text in texts(parsed(target.read_bytes())) if text.startswith("trace ")]
    assert [head.split(" · ")[0] for head in heads] == [f"trace {1:032x}"]


def test_a_picture_has_an_end(tmp_path: Path) -> None:
    """Twenty traces are drawn; of more, the number and the ways to choose are told, and nothing is written."""
    build = Builder()
    (tmp_path / "20.json").write_bytes(file_of(build.span(trace=number) for number in range(1, 21)))
    (tmp_path / "1.json").write_bytes(file_of([build.span(trace=21)]))
    assert spanview("tree", "20.json", "--svg", "out.svg", folder=tmp_path) == Outcome(0, b"", "")
    done = spanview("tree", "20.json", "1.json", "--svg", "more.svg", folder=tmp_path)
    assert done.status == 2
    assert is_one_line(done)
    assert all(word in done.notices for word in ("21 traces", "20", "--trace", "-q", "--since"))
    assert not (tmp_path / "more.svg").exists()


def test_rows_are_shared_out(tmp_path: Path) -> None:
    """Of a huge trace the first rows are drawn, and a small one beside it is drawn in full."""
    build = Builder()
    small = build.draw("\n".join(f"small{at} {at}-{at + 1}" for at in range(50)), trace=1)
    huge = build.draw("\n".join(f"huge{at} {at}-{at + 1}" for at in range(60, 5060)), trace=2)
    (tmp_path / "1.json").write_bytes(file_of([*small, *huge]))
    root = parsed(spanview("tree", "1.json", "--svg", "-", folder=tmp_path).output)
    names = [title.split("\n")[0] for title in titles(root)]
    assert [*map(names.count, ("small49", "huge60", "huge409", "huge410"))] == [1, 1, 1, 0]
    assert len(names) == 400
    assert "… 4,650 more spans: not drawn" in texts(root)
    bars = spanview("tree", "1.json", "--bars", "--trace", f"{2:032x}", folder=tmp_path).text
    assert "… 4,600 more spans: not drawn" in bars


def test_like_siblings_are_one_row(tmp_path: Path) -> None:
    """Where a trace has more rows than are drawn, runs of like siblings are a row each; in other traces none is."""
    build = Builder()
    (tmp_path / "1.json").write_bytes(file_of(build.span("leaf", trace=1) for _ in range(5000)))
    (tmp_path / "2.json").write_bytes(file_of(build.span("few", trace=2) for _ in range(9)))
    root = parsed(spanview("tree", "1.json", "2.json", "--svg", "-", folder=tmp_path).output)
    assert [title.split("\n")[0] for title in titles(root)] == ["leaf"] + ["few"] * 9
    assert any(text.startswith("×5,000") for text in texts(root))


def test_pictures_call_calls_what_the_viewer_calls_them(tmp_path: Path) -> None:
    """A Ray call is one row by its short name, with what it waited and how long it ran, as text and as SVG."""
    build = Builder()
    submitted = build.span("m.f ray.remote", span=1, start=0, duration=2, kind="PRODUCER")
    ran = build.span("m.f ray.remote_worker", span=2, parent=1, start=20, duration=30, kind="CONSUMER")
    (tmp_path / "1.json").write_bytes(file_of([submitted, ran]))
    bars = spanview("tree", "1.json", "--bars", folder=tmp_path).text.splitlines()
    heads = next(index for index, line in enumerate(bars) if line.startswith("CALL "))
    assert bars[heads].split()[:3] == ["CALL", "WAIT", "RUN"]
    assert bars[heads + 1].split()[:5] == ["f", "18", "µs", "30", "µs"]
    drawn = texts(parsed(spanview("tree", "1.json", "--svg", "-", folder=tmp_path).output))
    assert {"CALL", "WAIT", "RUN", "f", "18 µs", "30 µs"} <= {*drawn}


def test_a_trace_whose_call_never_ran_is_not_complete(tmp_path: Path) -> None:
    """Above its tree and its bars it is said that a call left no attempt; an actor that existed already lacks none."""
    build = Builder()
    (tmp_path / "1.json").write_bytes(file_of([build.span("huge ray.remote", kind="PRODUCER")]))
    for how in ([], ["--bars"]):
        text = spanview("tree", "1.json", *how, folder=tmp_path).text
        assert "1 call without attempt" in text
        assert "complete" not in text
    existing = FIXTURES / "ray-existing-actors" / "spans"
    assert "already existed" in spanview("tree", existing, "--bars").text
    lacking = [line for line in spanview("tree", existing).text.splitlines() if line.endswith("without attempt")]
    assert [line.split()[1][:8] for line in lacking] == ["ea8cf6c3"]


def test_bars_for_a_chat(folder: Path) -> None:
    """`tree --bars` prints the waterfall, 100 columns wide or as it is told."""
    usual, narrow = (
        spanview("tree", "1.json", "--bars", *words, folder=folder).text.splitlines()
        for words in ((), ("--width", "60"))
    )
    assert sum(line.startswith("SPAN ") for line in usual) == 2
    assert {max(map(len, lines)) for lines in (usual, narrow)} == {100, 60}
    assert any("█" in line for line in narrow)


_PRINTED: Final = (
    ("tree",),
    ("tree", "--bars"),
    ("tree", "--svg", "-", "--trace", f"{9:032x}"),
    ("spans",),
    ("export",),
    ("export", "--format", "jsonl"),
    ("export", "--format", "jaeger"),
    ("export", "--format", "zipkin"),
    ("export", "--format", "chrome"),
    ("export", "--format", "html"),
    ("stats", "--json"),
    ("stats", "--by", "serve", "--json"),
    ("check",),
    ("diff", "fixtures/serve"),
    ("diff", "--json", "fixtures/serve"),
)
_ALL: Final = """
import json, sys
from spanview.cli import main
for words in json.loads(sys.argv[1]):
    print(main(words), flush=True)
"""


def test_same_input_gives_the_same_bytes() -> None:
    """Two runs print the same, however the interpreter shuffles its sets: at one seed, and at any."""
    calls = [(*words, "fixtures/made") for words in _PRINTED]
    others = [spanview(*words, folder=FIXTURES.parent) for words in calls]
    assert all(other.output for other in others)
    program, seeded = (sys.executable, "-c", _ALL), {"PYTHONHASHSEED": "1"}
    one = spanview(json.dumps(calls), program=program, folder=FIXTURES.parent, environment=seeded)
    assert one.output == b"".join(b"%b%d\n" % (other.output, other.status) for other in others)
    assert one.notices == "".join(other.notices for other in others)


def test_statistics_by_serve(folder: Path) -> None:
    """`stats --by serve` has a line for each route and status, as JSON the same; without Serve's spans, only heads."""
    document = strictly(spanview("stats", "--by", "serve", "--json", FIXTURES / "serve").output)
    assert document["by"] == "serve"
    boom = next(group for group in document["requests"] if group["route"] == "/boom")
    assert (boom["status"], boom["errors"], boom["total_ns"]["max"]) == ("500", 1, 49_446_000)
    heads, *lines = spanview("stats", "--by", "serve", FIXTURES / "serve").text.splitlines()
    assert len(lines) == len(document["requests"])
    assert [line for line in lines if "/boom" in line and "1 5xx" in line and "49.4 ms" in line]
    assert spanview("stats", "--by", "serve", "1.json", folder=folder).text.split() == heads.split()
    assert strictly(spanview("stats", "--by", "serve", "--json", "1.json", folder=folder).output)["requests"] == []
    words = ("-q", "http.route=/boom", "--json", FIXTURES / "serve")
    assert len(strictly(spanview("stats", "--by", "serve", *words).output)["requests"]) == 1


@pytest.mark.parametrize(("by", "key"), [("name", "name"), ("ray", "name"), ("ray-call", "name"), ("ray-actor", "any")])
def test_names_in_a_pipe_are_found_by_queries(by: str, key: str) -> None:
    """What isn't printed to a terminal has names as files have them, not shortened, in each format."""
    path = FIXTURES / "ray-tasks-bundled-hook"
    rows = strictly(spanview("stats", "--by", by, "--json", path).output)["rows"]
    names = [row.get("key") or row.get("function") or row["actor"] for row in rows]
    assert any("__main__." in name or len(name.split()[-1]) == 32 for name in names)
    text = spanview("stats", "--by", by, path).text
    assert [line.split("  ")[0] for line in text.splitlines()[1:]] == names
    table = spanview("stats", "--by", by, "--format", "markdown", path).text
    assert [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]] == names
    found = spanview("stats", "--json", "-q", f'{key}~"{names[1].split()[-1]}"', path)
    assert strictly(found.output)["rows"], names[1]


def test_output_is_strict_json(folder: Path) -> None:
    """Whatever a span holds, what is printed as JSON is JSON, as UTF-8 and with exact integers."""
    odd = {"nan": float("nan"), "endless": [float("inf"), -float("inf")], "big": 2**70, "lone": "\ud800", "nul": "\0"}
    (folder / "odd.json").write_bytes(file_of([Builder().span("odd", trace=3, attributes=odd)]))
    paths = [folder, FIXTURES / "made"]
    documents = [
        strictly(spanview("export", *paths).output),
        *map(strictly, spanview("spans", *paths).output.splitlines()),
        *map(strictly, spanview("export", "--format", "jsonl", *paths).output.splitlines()),
        *(strictly(spanview("export", "--format", form, *paths).output) for form in ("jaeger", "zipkin", "chrome")),
        strictly(spanview("stats", "--json", *paths).output),
        strictly(spanview("check", "--json", *paths).output),
        strictly(spanview("diff", "--json", *paths).output),
    ]
    found = [
        document["attributes"] for document in documents if isinstance(document, dict) and document.get("name") == "odd"
    ]
    expected = {"nan": "NaN", "endless": ["Infinity", "-Infinity"], "big": 2**70, "lone": "\ufffd", "nul": "\0"}
    assert found == [expected, expected]


def test_losses_are_told(folder: Path) -> None:
    """What a format can't say is counted on standard error, behind an export that is whole."""
    link = {"context": {"trace_id": f"{9:032x}", "span_id": f"{9:016x}"}, "attributes": {"a": 1, "b": 2}}
    (folder / "odd.json").write_bytes(file_of([Builder().span("odd", trace=3, links=[link], attributes={"n": [1]})]))
    done = spanview("export", "--format", "jaeger", "odd.json", "-o", "out.json", folder=folder)
    assert (done.status, done.output) == (0, b"")
    assert done.notices.splitlines() == [
        "spanview: jaeger: dropped 2 link attributes",
        "spanview: jaeger: wrote 1 value of types that Jaeger lacks as text",
    ]
    (trace,) = json.loads((folder / "out.json").read_bytes())["data"]
    assert [span["operationName"] for span in trace["spans"]] == ["odd"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is always full")
@pytest.mark.parametrize("words", [["--help"], *(call(command, "1.json") for command in COMMANDS)])
def test_full_disk_is_told(folder: Path, words: Sequence[str]) -> None:
    """Output that can't be written is told in one line, with status 2."""
    program = ("sh", "-c", f'exec "{sys.executable}" -m spanview "$@" > /dev/full', "sh")
    done = spanview(*words, folder=folder, program=program)
    assert done.status == 2
    assert is_one_line(done)
    assert "standard output" in done.notices


@pytest.mark.parametrize("words", [["--help"], ["tree", "--help"], *(call(command, "1.json") for command in COMMANDS)])
def test_reader_that_is_gone_is_no_error(folder: Path, words: Sequence[str]) -> None:
    """Output that nobody reads ends the program with status 0 and without a word."""
    # `exec` lets the shell wait for spanview itself; the reader ends at once.
    script = f'set -o pipefail; "{sys.executable}" -m spanview "$@" | true'
    assert spanview(*words, folder=folder, program=("bash", "-c", script, "bash")) == Outcome(0, b"", "")


def test_closed_streams_are_told(folder: Path) -> None:
    """Without standard output or standard input there is one line, and without standard error there is none."""
    run = f'exec "{sys.executable}" -m spanview "$@"'
    no_output = spanview("tree", "1.json", folder=folder, program=("sh", "-c", f"{run} >&-", "sh"))
    assert (no_output.status, is_one_line(no_output)) == (2, True)
    no_input = spanview("tree", "-", folder=folder, program=("sh", "-c", f"{run} <&-", "sh"))
    assert (no_input.status, is_one_line(no_input)) == (2, True)
    assert spanview("tree", "nowhere", folder=folder, program=("sh", "-c", f"{run} 2>&-", "sh")) == Outcome(2, b"", "")
    words = ("export", "--format", "zipkin", FIXTURES / "serve")
    assert spanview(*words, folder=folder, program=("sh", "-c", f"{run} 2>&-", "sh")).status == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_narrow_terminals_get_stand_ins(folder: Path, command: str) -> None:
    """Where the terminal's encoding lacks a character, a question mark stands for it."""
    done = spanview(*call(command, "1.json"), folder=folder, environment={"PYTHONIOENCODING": "ascii"})
    assert done.status == 0
    assert done.output.isascii()


# -- hostile strings ---------------------------------------------------------------------------------------------------


def hostile_files(folder: Path, text: str) -> Path:
    """Write a folder in which every field of a span, and names of files, are made of a text."""
    folder.mkdir()
    build = Builder()
    event = {"name": text, "timestamp": None, "attributes": {text: text, "exception.stacktrace": text}}
    link = {
        "context": {"trace_id": f"0x{9:032x}", "span_id": f"0x{9:016x}", "trace_state": text},
        "attributes": {text: text},
    }
    odd: list[tuple[int, int | None, dict[str, Any]]] = [
        (1, None, {}),
        (2, 1, {}),
        (3, 77, {"kind": text}),
        (4, 1, {"end_time": text}),
    ]
    documents = [
        build.span(
            text,
            span=number,
            parent=parent,
            status="ERROR",
            description=text,
            service=text,
            attributes={text: text, "nested": {text: [text]}},
            resource={text: text},
            events=[event],
            links=[link],
            **fields,
        )
        for number, parent, fields in odd
    ]
    name = text.replace("\0", "").replace("/", "").encode("utf-8", "surrogateescape" if "\udc80" in text else "replace")
    torn = json.dumps(build.span(text)).encode()[:-20]
    (folder / "spans.json").write_bytes(file_of(documents))
    with open(os.path.join(os.fsencode(folder), b"torn " + name), "wb") as file:
        file.write(torn)
    os.symlink("spans.json", os.path.join(os.fsencode(folder), b"link " + name))
    return folder


def raw(text: str) -> set[str]:
    """Return the characters of a text that a terminal acts on or that hide, but for ends of lines."""
    return {each for each in text if each != "\n" and unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


@pytest.mark.parametrize("command", ["tree", "stats", "check", "view", "diff"])
def test_hostile_strings_are_shown_not_obeyed(tmp_path: Path, command: str) -> None:
    """No control, bidi or invisible character of a span or file name is printed, and one line stays one line."""
    done = spanview(*call(command, hostile_files(tmp_path / "hostile", HOSTILE)))
    harmless = spanview(*call(command, hostile_files(tmp_path / "harmless", "text")))
    assert raw(done.text) == raw(done.notices) == set()
    assert done.text.count("\n") == harmless.text.count("\n")
    assert done.notices.count("\n") == harmless.notices.count("\n") > 0 or command == "check"
    assert done.status == harmless.status
    if command == "tree":
        assert "␛[31mred" in done.text


@pytest.mark.parametrize(
    "words",
    [
        ("tree",),
        ("stats",),
        ("check",),
        ("spans",),
        ("export",),
        ("diff",),
        ("stats", "--json"),
        ("check", "--json"),
        ("diff", "--json"),
    ],
    ids=" ".join,
)
def test_hostile_strings_reach_no_terminal(tmp_path: Path, words: Sequence[str]) -> None:
    """At a real terminal, colours are ours alone; JSON too escapes what a terminal acts on, and stays the same JSON."""
    folder = hostile_files(tmp_path / "hostile", HOSTILE)
    given = [*call(words[0], folder), *words[1:]]
    shown = at_terminal([*SPANVIEW, *given])
    if words[0] in {"tree", "stats", "check", "diff"}:
        painted, shown = shown, at_terminal([*SPANVIEW, *given, "--color", "never"])
        assert re.sub(r"\x1b\[[0-9]+m", "", painted) == shown
    assert raw(shown) == set()
    if words[0] in {"spans", "export"} or "--json" in words:
        piped = spanview(*given).text
        documents = [text.strip().split("\n") if words == ("spans",) else [text] for text in (shown, piped)]
        assert list(map(strictly, documents[0])) == list(map(strictly, documents[1]))


def at_terminal(words: Sequence[str]) -> str:
    """Run a program whose standard output is a terminal, and return what it wrote there."""
    child, terminal = pty.fork()
    if not child:  # pragma: no cover - the other process
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execv(words[0], list(words))  # noqa: S606 - no shell is wanted
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            # Linux says so when the other side is closed.
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    os.waitpid(child, 0)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_what_runs_is_drawn_until_now(tmp_path: Path) -> None:
    """A span without an end whose process is alive is hatched, in bars and in pictures; the title says how long."""
    build = Builder()
    process = {"host.name": socket.gethostname(), "process.pid": os.getpid()}
    now = time.time_ns()
    spans = [build.span("job", duration=None, resource=process)]
    spans[0]["start_time"] = datetime.fromtimestamp(now / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    (tmp_path / f"here-{os.getpid()}-1.started.jsonl").write_bytes(file_of(spans))
    bars = spanview("tree", "--bars", tmp_path).text.splitlines()
    assert "● 1 running" in " ".join(bars)
    assert "…" in bars[0]
    assert "▚▚▚" in next(line for line in bars if "job" in line)
    assert "stripes: runs, until now" in spanview("tree", "--svg", "-", tmp_path).text


@pytest.mark.parametrize(("by", "recording"), [("name", "serve"), ("ray", "killed-workers"), ("serve", "serve")])
def test_statistics_fit_a_terminal(by: str, recording: str) -> None:
    """Figures go where there is no room, and names keep their ends; a pipe has them all."""
    words = ["stats", str(FIXTURES / recording / "spans"), "--by", by]
    shown, piped = at_terminal([*SPANVIEW, *words]).splitlines(), spanview(*words).output.decode().splitlines()
    shown = [re.sub(r"\x1b\[[0-9]+m", "", line) for line in shown]
    assert max(map(len, shown)) <= 80 < max(map(len, piped))
    assert len(shown) == len(piped)
    assert {*shown[0].split()} < {*piped[0].split()}
    ends = zip(shown, piped, strict=True)
    # Of a request the method may go, too, where deployment and route tell as much.
    for one, other in ends:
        name, whole = one[: one.index("  ")].split("…")[-1], other[: other.index("   ")]
        assert all(word in whole for word in name.split())


def test_statistics_by_an_attribute_that_some_have(tmp_path: Path) -> None:
    """Spans without it are told from those where it is empty, in the table and in JSON."""
    build = Builder()
    spans = [build.span(duration=9), build.span(attributes={"k": ""}, duration=5), build.span(attributes={"k": "x"})]
    path = tmp_path / "1.json"
    path.write_bytes(file_of(spans))
    table = spanview("stats", "--by", "k", path).output.decode().splitlines()
    assert [line.split()[0] for line in table] == ["k", "x", "(none)", '""']
    groups = json.loads(spanview("stats", "--json", "--by", "k", path).output)["groups"]
    assert [group["key"] for group in groups] == ["x", None, ""]


def test_events_without_spans_are_called_so(tmp_path: Path) -> None:
    """Ray's own events alone are no spans, and no files of another kind either."""
    shutil.copytree(FIXTURES / "ray-events-hook" / "logs" / "export_events", tmp_path / "export_events")
    said = spanview("tree", tmp_path).notices
    filled = sum(1 for path in tmp_path.rglob("*.log") if path.stat().st_size)
    assert f"no spans; {filled} files of Ray's own events; the spans are in another folder" in said
