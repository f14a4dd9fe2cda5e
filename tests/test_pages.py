"""README and pages say what is so: what they print, run, tabulate and link to is tried.

commands, in blocks and in the text        run on recorded spans; what follows is run once without `--follow`
```json behind <!-- prints: … -->          has the names that the command prints, in their order
tables of keys, findings, options          are those of the program
tables of query keys and formats           have each of the program's once
links                                      lead to a file and a heading that are there
recipes                                    are run on real Ray by test_recipes.py, Python by test_api.py
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import reduce
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import pytest

from pages import DOCS, README, REPORTS, ROOT, TABLES, TEXTS, between, blocks, options, prose, rows, schemas
from programs import environment_with, spanview
from spanview import cli
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.query import parse_query
from spanview.docs import PAGES, summary_of
from spanview.sources import places
from spanview.tui.keys import KEYS
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES: Final = ROOT / "fixtures"
RECORDED: Final = ("ray-tasks-bundled-hook", "serve", "made", "killed-workers")
OTHER_FLAGS: Final = {"--tracing-startup-hook", "--quick", "--folder", "--tail"}
"""Flags of other programs than spanview."""
README_LINES: Final = 200
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
LINK: Final = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")
"""`](spanview/docs/viewer.md#keys)`: the file and the heading."""
INLINE: Final = re.compile(r"`(spanview(?: [^`]+)?)`")


def written_commands() -> Iterator[tuple[str, str]]:
    """Yield each line that calls spanview, and the document that it is in."""
    for name, text in TEXTS.items():
        for block in blocks(text):
            if block["language"] == "sh" and block["mark"] is None:
                for line in block["code"].splitlines():
                    code = re.split(r"\s+#", line)[0].strip()
                    if re.search(r"\bspanview\b", code) and not needs_others(code):
                        yield name, code
        for line in prose(text).splitlines():
            for command in INLINE.findall(line.replace("\\|", "|") if line.startswith("|") else line):
                # `spanview diff` names a command, and is no call of it.
                is_call = command.split()[1:] not in ([], *([each] for each in cli.COMMANDS))
                if is_call and not needs_others(command):
                    yield name, command


def examples() -> Iterator[tuple[str, str]]:
    """Yield each call in the help of commands, and whose help it is."""
    for name, calls in cli.EXAMPLES.items():
        for command in calls:
            if not needs_others(command):
                yield f"spanview {name} --help", command


def split(words: list[str]) -> tuple[str, list[str]]:
    """Return the command and the rest of the words."""
    word, rest = cli._split(words)
    return word if word in cli.COMMANDS else "view", rest


def needs_others(command: str) -> bool:
    """Tell whether a command needs a cluster, senders, an endpoint, a browser or an agent, as in their tests."""
    words = shlex.split(command)[1:]
    if not {"collect", "--ray", "receive", "push", "--web", "mcp"} & {*words}:
        return False
    assert cli._options(*split(words)).command in {
        "collect",
        "export",
        "stats",
        "tree",
        "view",
        "receive",
        "push",
        "mcp",
    }
    return True


COMMANDS: Final = sorted({command for _, command in (*written_commands(), *examples())})


def is_plain(command: str) -> bool:
    """Tell whether a line is one call of spanview, with no other program in it."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return not command.startswith(("source", "python3")) and not {"|", "<", "(", "&&"} & {*words}


PLAIN: Final = [command for command in COMMANDS if is_plain(command)]
PIPED: Final = [command for command in COMMANDS if not is_plain(command) and not command.startswith("python3 -m venv")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that has what the commands of the pages read."""
    folder = tmp_path_factory.mktemp("pages")
    for name in RECORDED:
        shutil.copytree(FIXTURES / name / "spans", folder / "spans" / name)
    for name in ("before", "after", "my-spans"):
        shutil.copytree(FIXTURES / "ray-tasks-bundled-hook" / "spans", folder / name)
    (folder / "logs").mkdir()
    for name in ("logs/worker-1.out", "worker.out"):
        shutil.copy(FIXTURES / "ray-tasks-bundled-hook" / "spans" / "8367.txt", folder / name)
    for name, output_format in (("saved.json", "trace-tree"), ("jaeger.json", "jaeger")):
        words = ("export", "--format", output_format, "-o", name, folder / "before")
        assert spanview(*words, folder=folder).status == 0
    assert spanview("stats", "before", "--save", "base.jsonl.gz", folder=folder).status == 0
    return folder


def with_places(command: str, folder: Path) -> str:
    """Return a command that reads a folder in the places of those that the pages name."""
    command = re.sub(r"/tm[p]/(?:ray/session_latest/)?(spans|before|after|logs)\b", rf"{folder}/\1", command)
    command = re.sub(r"(?<=diff )base\.", f"{folder}/base.", command)
    return re.sub(r"(?<=\s)(saved\.json|worker\.out|jaeger\.json(?!\S)|my-spans)(?=\s|$)", rf"{folder}/\1", command)


@pytest.mark.parametrize("command", PLAIN)
def test_commands_run(
    command: str, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command is carried out; of what follows, what is there is shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "RAY_SPANS", str(recorded / "spans"))
    words = shlex.split(with_places(command, recorded).replace("jaeger.json " + str(recorded), "jaeger.json "))[1:]
    # What is written goes to a new file.
    if {"-o", "--svg"} & {*words}:
        index = 1 + max(words.index(flag) for flag in ("-o", "--svg") if flag in words)
        words[index] = Path(words[index]).name
    once = [word for word in words if word not in {"-f", "--follow"}]
    if once != words:
        assert cli._options(*split(words)).follow
    assert cli.main(once) in {0, 1}, capsys.readouterr().err
    printed = capsys.readouterr()
    assert printed.out or {"-o", "--svg"} & {*words} or "nothing matches" in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("command", PIPED)
def test_commands_run_in_a_shell(command: str, recorded: Path, tmp_path: Path) -> None:
    """What is piped in and out runs as it is, in bash; what follows is ended when all that was there has been read."""
    command = re.sub(r" (-f|--follow)\b", "", with_places(command, recorded))
    if "jq" in command and shutil.which("jq") is None:
        pytest.skip("jq is not installed here")
    if command.startswith("python app.py"):
        command = command.replace("python app.py", f"cat {recorded}/worker.out")
    here = tmp_path / "bin"
    here.mkdir()
    (here / "spanview").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m spanview "$@"\n')
    (here / "spanview").chmod(0o755)
    command = command.replace("| source", "| cat")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        env=environment_with({"PATH": f"{here}:{environment_with()['PATH']}", "PYTHONPATH": str(ROOT)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout or "source" in command


def test_the_first_command_reads_what_is_there() -> None:
    """What the README has people install and look at is in the repository."""
    (line,) = [
        line for line in TEXTS["README.md"].splitlines() if line.startswith("python3 -m venv") and "pytest" not in line
    ]
    assert (ROOT / line.split()[-1]).is_dir()


PRINTED: Final = [
    (name, block["given"], block["code"])
    for name, text in TEXTS.items()
    for block in blocks(text)
    if block["language"] == "json"
]
JSON_TABLES: Final = [
    ("stats", "fixtures/serve"),
    ("stats", "fixtures/ray-tasks-bundled-hook", "--by", "critical-path"),
    ("stats", "fixtures/ray-tasks-bundled-hook", "--by", "call-path"),
    ("stats", "fixtures/ray-tasks-bundled-hook", "--by", "ray"),
    ("stats", "fixtures/ray-odd-calls", "--by", "ray-call"),
    ("stats", "fixtures/session-with-logs", "--by", "ray-worker"),
    ("stats", "fixtures/killed-workers", "--by", "trace"),
    ("stats", "fixtures/killed-workers", "--by", "trace-group"),
    ("stats", "fixtures/serve", "--by", "serve"),
    ("stats", "fixtures/serve", "--by", "serve-request"),
    ("diff", "fixtures/ray-tasks-docs-hook", "fixtures/ray-tasks-bundled-hook"),
    ("diff", "fixtures/ray-tasks-docs-hook", "fixtures/serve", "--by", "ray"),
    ("explain", "fixtures/ray-odd-calls"),
]
REST: Final = "…"
"""Stands for the names that an example leaves out."""


def names_in(value: Any, path: str = "", *, found: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Return the names of the objects in JSON by where they are; objects in the same place have theirs together."""
    found = {} if found is None else found
    if isinstance(value, dict):
        names = found.setdefault(path, [])
        names += [name for name in value if name not in names]
        for name, each in value.items():
            if name not in {"attributes", "trace_state", "children"}:
                names_in(each, f"{path}.{name}", found=found)
    elif isinstance(value, list):
        for each in value:
            names_in(each, f"{path}[]", found=found)
    return found


@pytest.mark.parametrize(("name", "command", "code"), PRINTED, ids=[command for _, command, _ in PRINTED])
def test_json_has_the_names_that_are_printed(name: str, command: str, code: str, recorded: Path) -> None:
    """An example has every name that the program prints there, in the same order, but for what `…` leaves out."""
    done = spanview(*shlex.split(with_places(command, recorded))[1:])
    assert done.status in {0, 1}, done.notices
    printed: dict[str, list[str]] = {}
    texts = done.output.splitlines() if command.startswith("spanview spans") else [done.output]
    for text in texts:
        names_in(json.loads(text), found=printed)
    for place, names in names_in(json.loads(code)).items():
        if place.endswith(".…"):
            continue
        there = [each for each in printed[place] if each not in {"missing", "file", "offset"} or each in names]
        shown = [each for each in names if each != REST]
        if REST in names:
            assert [each for each in there if each in shown] == shown, (name, place)
        else:
            assert there == shown, (name, place)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_the_programs(name: str) -> None:
    """`python tests/pages.py` has been run since the program changed."""
    path, table = TABLES[name]
    assert between(path.read_text(encoding="utf-8"), name) == table()
    assert sum(text.count(f"<!-- {name} -->") for text in TEXTS.values()) == 1


def test_schemas_are_the_programs() -> None:
    """`python tests/pages.py` has been run since a column changed, and every column says what it means."""
    assert {path: path.read_text(encoding="utf-8") for path in sorted((DOCS / "schemas").iterdir())} == schemas()
    assert [column for report in REPORTS for column in report.table.columns if column.name and not column.meaning] == []


@pytest.mark.parametrize("words", JSON_TABLES, ids=" ".join)
def test_json_is_what_its_schema_says(words: tuple[str, ...]) -> None:
    """Each document holds its schema, and has no name that the schema hasn't but those of the version before."""
    by_name = {json.loads(text)["$id"]: json.loads(text) for text in schemas().values()}
    document = json.loads(spanview(*words, "--json").output)
    schema = by_name[document["schema"]]
    jsonschema.validate(document, schema)
    assert document["rows"]
    renamed = next(report.renamed for report in REPORTS if report.schema_name == document["schema"])
    known = {*schema["properties"]["rows"]["items"]["properties"], *renamed}
    assert {name for row in document["rows"] for name in row} <= known


@pytest.mark.parametrize("words", JSON_TABLES, ids=" ".join)
def test_csv_and_markdown_have_the_same_rows(words: tuple[str, ...]) -> None:
    """Csv has the values of JSON below its names, but for those that are objects; Markdown has as many rows."""
    expected = json.loads(spanview(*words, "--json").output)["rows"]
    heads, *lines = csv.reader(StringIO(spanview(*words, "--format", "csv").text))
    for row, cells in zip(expected, lines, strict=True):
        for name, cell in zip(heads, cells, strict=True):
            value = reduce(lambda place, part: place[part], name.split("."), row)
            assert cell == (
                "" if value is None else " ".join(map(str, value)) if isinstance(value, list) else str(value)
            )
    assert len(spanview(*words, "--format", "markdown").text.splitlines()) == len(expected) + 2


def test_every_query_key_is_explained_once() -> None:
    """The table of query keys has each, and an example that can be asked."""
    table = rows(between(TEXTS["spanview/docs/query.md"], "query keys"))
    assert sorted(cells[0].strip("`") for cells in table) == sorted(OWN_KEYS)
    for key, _, example in table:
        assert example.strip("`").startswith(key.strip("`"))
        parse_query(example.strip("`"))


def test_every_format_is_explained_once() -> None:
    """The table of formats has each that is written."""
    table = rows(between(TEXTS["spanview/docs/formats.md"], "formats"))
    assert sorted(re.findall("`([^`]+)`", " ".join(cells[2] for cells in table))) == sorted(cli.FORMATS)


def test_options_that_are_mentioned_exist() -> None:
    """No page speaks of an option that no command takes."""
    flags = {flag for option in options() for flag in option.flags}
    known = flags | {"--completion", "--version", "--verbose"} | OTHER_FLAGS
    for name, text in TEXTS.items():
        mentioned = {*re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(re.findall("`[^`]+`", prose(text))))}
        assert mentioned - known == set(), name


def test_keys_that_matter_exist() -> None:
    """The README's short table of keys has ten rows, and keys that do something."""
    table = rows(TEXTS["README.md"].split("## Ten keys\n")[1].split("\n## ")[0])
    shown = {name for key in KEYS for name in key.shown.split()}
    assert len(table) == 10
    assert {name for cells in table for name in re.findall("`([^`]+)`", cells[0])} <= shown


def test_commands_are_all_in_the_readme() -> None:
    """The table of commands has each of them once."""
    table = rows(TEXTS["README.md"].split("## Commands\n")[1].split("\n## ")[0])
    assert [cells[0] for cells in table] == [
        "`spanview`",
        *(f"`spanview {name}`" for name in cli.COMMANDS if name != "view"),
    ]


def anchor(heading: str) -> str:
    """Return what a link to a heading is called: `Look at Ray Serve` is `look-at-ray-serve`."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    "path", [README, ROOT / ".github" / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))], ids=lambda path: path.name
)
def test_links_lead_somewhere(path: Path) -> None:
    """Each link of a document leads to a file of the repository, and to a heading in it."""
    for target, heading in LINK.findall(prose(path.read_text(encoding="utf-8"))):
        there = (path.parent / target).resolve() if target else path
        assert there.is_relative_to(ROOT), target
        assert there.exists(), target
        if heading:
            assert heading in map(anchor, HEADING.findall(there.read_text(encoding="utf-8"))), f"{target}#{heading}"


def test_every_page_is_listed() -> None:
    """Each file but the skill is a page, with a heading and a line on what it is about; the README lists them."""
    assert sorted(path.stem for path in DOCS.glob("*.md")) == sorted((*PAGES, "skill"))
    for page in PAGES:
        lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").split("\n", 4)
        assert lines[0].startswith("# ")
        assert (lines[1], lines[3]) == ("", "")
        assert lines[2].endswith(".")
        assert len(lines[2]) <= 100
    table = rows(TEXTS["README.md"].split("## Pages\n")[1])
    assert [cells[0] for cells in table] == [f"[{page}](spanview/docs/{page}.md)" for page in PAGES]


def test_the_readme_is_short() -> None:
    """Whoever comes for the first time reads it to the end."""
    assert TEXTS["README.md"].count("\n") <= README_LINES


def test_every_block_is_held() -> None:
    """There is no block of code that no test runs or compares."""
    for name, text in TEXTS.items():
        for block in blocks(text):
            language, mark = block["language"], block["mark"]
            if language == "json":
                assert mark == "prints", f"{name}: {block['code']}"
            else:
                in_python = language == "pycon" and name.endswith("python.md")
                is_run = mark in {"recipe", "pytest"} or in_python
                assert is_run or language in {"sh", "yaml", ""}, f"{name}: {block['code']}"


# -- spanview help ---------------------------------------------------------------------------------------------------


def test_help_lists_the_pages() -> None:
    """`spanview help` names each page and what it is about; `--help` says that there are pages."""
    done = spanview("help")
    assert (done.status, done.notices) == (0, "")
    for page in PAGES:
        assert any(line.split() == [page, *summary_of(page).split()] for line in done.text.splitlines())
    assert "spanview help" in spanview("--help").text
    assert "PAGE" in spanview("help", "--help").text


def test_help_shows_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe a page is the Markdown that it is written in."""
    for page in PAGES:
        assert cli.main(["help", page]) == 0
        assert capsys.readouterr() == ((DOCS / f"{page}.md").read_text(encoding="utf-8"), "")


def test_help_sets_a_page_on_a_terminal() -> None:
    """On a terminal there is no Markdown left to be seen."""
    with Terminal("formats", command=("help",)) as terminal:
        assert terminal.has_soon("decompressed"), terminal.lines
        assert terminal.wait() == 0
    assert "|---|" not in "\n".join(terminal.lines)


def test_help_prints_man_pages() -> None:
    """A page is found by its name, and that of the commands by the program's."""
    assert spanview("help", "--man").text.startswith('.TH "SPANVIEW" "1" "" "spanview ')
    done = spanview("help", "--man", "query")
    assert done.text.startswith('.TH "SPANVIEW-QUERY" "7" ')
    assert spanview("help", "--man", "qurey").status == 2


def test_help_on_a_command() -> None:
    """The name of a command finds the page that says most of it."""
    assert spanview("help", "receive").output == spanview("help", "network").output


@pytest.mark.parametrize(
    ("page", "says"), [("qurey", "did you mean `spanview help query`?"), ("weather", "the pages are tracing, cluster")]
)
def test_help_on_nothing(page: str, says: str) -> None:
    """A page that isn't there is answered with one that is."""
    done = spanview("help", page)
    assert (done.status, done.output, len(done.lines)) == (2, b"", 1)
    assert f"no page is named {page}: {says}" in done.notices
