"""What is published: it runs with the lowest versions that it says it takes, and the source archive has its tests.

Both are tried in an environment of their own, which uv fills from the index; without one the tests are skipped.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc
import pytest
from packaging.requirements import Requirement

from agents import agent_of
from every_screen import WAYS
from pages import README, RECIPES
from programs import environment_with, spanview
from ray_sessions import CALLS, RaySession, need
from receivers import JSON, Receiver, document, request_of, span
from served import Served, open_tab
from spanview.commands.agents.tools import TOOLS
from spanview.docs import PAGES
from spanview.sources.places import DEMO
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# One environment is made, and one archive.
pytestmark = pytest.mark.xdist_group("lowest")

ROOT: Final = Path(__file__).parent.parent
RECORDING: Final = ROOT / "fixtures" / "ray-tasks-bundled-hook" / "spans"
_LARGE_IDS: Final = ROOT / "fixtures" / "session-with-logs"
"""All its calls are below spans whose ids are above 2**63."""
_UV: Final = (sys.executable, "-m", "uv")
"""In a third of the time that pip takes for the same."""
COMMANDS: Final[tuple[Sequence[str], ...]] = (
    ("tree",),
    ("tree", "--bars"),
    ("spans",),
    ("export",),
    ("export", "--format", "otlp"),
    ("stats", "--json"),
    ("stats", "--by", "ray", "--json"),
    ("check", "--json"),
    ("diff", "name~leaf", "name~fan"),
)


def run(words: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what a program prints; fail where it fails."""
    done = subprocess.run(
        [*map(str, words)],
        cwd=folder,
        env=environment_with(environment),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def lowest() -> list[str]:
    """Return what is installed and what builds it, each in the lowest version that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = []
    extras = project["project"]["optional-dependencies"]
    needed = [
        *project["project"]["dependencies"],
        *extras["mcp"],
        *extras["otlp"],
        *extras["web"],
        *project["build-system"]["requires"],
    ]
    for requirement in map(Requirement, needed):
        bounds = {bound.operator: bound.version for bound in requirement.specifier}
        assert {">="} <= bounds.keys() <= {">=", "<"}, requirement
        if requirement.marker is None or requirement.marker.evaluate():
            pinned.append(f"{requirement.name}=={bounds['>=']}")
    return pinned


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an interpreter that has the lowest versions, and nothing but these and what they need."""
    return with_nothing_but(*lowest(), folder=tmp_path_factory.mktemp("lowest"))


def with_nothing_but(*requirements: str, folder: Path) -> Path:
    """Return the interpreter of a new environment in a folder that has some packages, and what they need."""
    run([*_UV, "venv", "-q", "-p", sys.executable, folder / "venv"], ROOT)
    interpreter = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    words = [*_UV, "pip", "install", "-q", "--system-certs", "-p", str(interpreter), *requirements]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr:
        pytest.skip("uv reaches no index here, so nothing can be installed")
    assert done.returncode == 0, done.stderr
    return interpreter


@pytest.mark.timeout(600)
def test_every_screen_opens_with_the_lowest_versions(python: Path) -> None:
    """Whatever a key opens is there, each screen of the viewer among it."""
    screens = {path.stem for path in (ROOT / "spanview" / "tui").rglob("*_screen.py")}
    bases = {"base_screen", "report_screen"}
    assert screens - {*WAYS} == bases, "add the keys that lead to a new screen to every_screen.py"
    opened = run([python, ROOT / "tests" / "every_screen.py"], ROOT, {"PYTHONPATH": str(ROOT)}).splitlines()
    assert [name for name, line in zip(WAYS, opened, strict=True) if name not in line.split()] == []


def test_the_viewer_runs_at_a_terminal_with_the_lowest_versions(python: Path) -> None:
    """It starts, paints, takes keys and ends."""
    with Terminal(str(RECORDING), python=str(python), environment={"PYTHONPATH": str(ROOT)}) as terminal:
        assert terminal.has_soon("31 traces"), terminal.lines
        terminal.send(b"\r")
        assert terminal.has_soon("⏎ open", "path"), terminal.lines
        terminal.send(b"q")
        terminal.send(b"q")
        assert terminal.wait() == 0


async def test_a_tab_shows_the_viewer_with_the_lowest_versions(python: Path) -> None:
    """The server starts, a tab's viewer paints and takes keys, and everything that its page loads is there."""
    program = ("/usr/bin/env", f"PYTHONPATH={ROOT}", str(python), "-m", "spanview")
    with Served(RECORDING, program=program) as served:
        for name in ("", "files/terminal.js", "files/terminal.css"):
            assert served.ask(served.path + name).status == 200
        async with open_tab(served.address) as tab:
            await tab.until("31 traces")
            await tab.press("\r")
            await tab.until("⏎ open", "path")


async def test_an_agent_is_answered_with_the_lowest_versions(python: Path) -> None:
    """The oldest SDK that is taken lists the tools, and passes on answers and mistakes."""
    async with agent_of(RECORDING, python=python) as agent:
        assert len((await agent.session.list_tools()).tools) == len(TOOLS)
        assert "31 traces" in (await agent.ask("explain")).data
        assert (await agent.ask("query_spans", query="duration>soon")).is_error


@pytest.mark.parametrize(
    ("recording", "words"),
    [
        *((RECORDING, words) for words in COMMANDS),
        *((_LARGE_IDS, words) for words in COMMANDS if words[0] != "diff"),
    ],
)
def test_commands_print_the_same_with_the_lowest_versions(python: Path, recording: Path, words: Sequence[str]) -> None:
    """No command depends on what only later versions do."""
    old = spanview(*words, recording, program=[str(python), "-m", "spanview"], environment={"PYTHONPATH": str(ROOT)})
    assert old == spanview(*words, recording)
    assert old.output


def test_spanview_alone_needs_no_sdk(python: Path) -> None:
    """What these tests run has no SDK of OpenTelemetry, which is for programs that write spans."""
    program = "from importlib.util import find_spec; print(find_spec('opentelemetry.sdk'))"
    assert run([python, "-c", program], ROOT) == "None\n"


@pytest.mark.ray
@pytest.mark.timeout(600)
def test_the_lines_of_the_readme_write_spans(tmp_path: Path) -> None:
    """In an empty environment, what the README says to install is all that its hook needs."""
    need("ray")
    (extra,) = re.findall(r"pip install 'spanview(\[\w+])'", RECIPES["hook-install"])
    interpreter = with_nothing_but(f"{ROOT}{extra}", folder=tmp_path)
    with RaySession(tmp_path, str(interpreter)) as session:
        session.write("program.py", RECIPES["hook"] + CALLS)
        done = session.run("python program.py")
        assert done.returncode == 0, done.stdout + done.stderr
        words = ("-m", "spanview", "stats", "--by", "ray", "--json", session.folder_of("spans"))
        (function,) = json.loads(run([interpreter, *words], tmp_path))["functions"]
    assert (function["function"], function["calls"], function["attempts"]) == ("__main__.double", 3, 3)


def test_spans_are_received_with_the_lowest_versions(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP in both encodings and over gRPC, compressed, with what is kept besides and what is declined."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    words = ("--keep", "all", "--max-body", "100000")
    with Receiver(tmp_path, *words, program=(str(python), "-m", "spanview")) as receiver:
        body = request_of(1).SerializeToString()
        assert receiver.post(gzip.compress(body), Content_Encoding="gzip").status == 200
        assert receiver.post(json.dumps(document(span(2))).encode(), JSON).status == 200
        assert receiver.post(gzip.compress(bytes(1_000_000)), Content_Encoding="gzip").status == 413
        assert receiver.post(b"{", JSON).status == 400
        for kind in ("logs", "metrics"):
            assert receiver.post(b"", path=f"/v1/{kind}").status == 200
        with grpc.insecure_channel(f"localhost:{receiver.port('gRPC')}") as channel:
            export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            export(request_of(3).SerializeToString(), timeout=30, compression=grpc.Compression.Gzip)
            for large in (bytes(200_000), b"\x0a\x80\x80\x80\x10" + bytes(10 << 20)):
                with pytest.raises(grpc.RpcError, match="RESOURCE_EXHAUSTED"):
                    export(large, timeout=30, compression=grpc.Compression.Gzip)
        assert [found["name"] for found in receiver.written()] == ["span 1", "span 2", "span 3"]
        assert receiver.stop(signal.SIGTERM).startswith("spanview: received 3 spans in 4 requests")


def test_the_wheel_has_the_pages_and_the_demo(python: Path, tmp_path: Path) -> None:
    """What `spanview help` and `--demo` show is installed, and small; the description has no links to files."""
    run([python, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        sizes = {part.filename: part.compress_size for part in packed.infolist()}
        (about,) = (packed.read(path).decode() for path in sizes if path.endswith(".dist-info/METADATA"))
    assert {f"spanview/docs/{page}.md" for page in PAGES} - sizes.keys() == set()
    demo = {path.relative_to(ROOT).as_posix() for path in Path(DEMO).rglob("*") if path.is_file()}
    assert demo
    assert demo - sizes.keys() == set()
    assert sum(sizes[path] for path in demo) < 60_000
    # An index has no files of the repository that pictures and links could lead to.
    description = about.partition("\n\n")[2]
    assert re.findall(r"\]\((?!https?:)[^)]*\)", description) == []
    assert [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("#")] == [
        line for line in description.splitlines() if line.startswith("#")
    ]
    assert "Description-Content-Type: text/markdown" in about


@pytest.fixture(scope="module")
def unpacked(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an unpacked source archive, built with the lowest version of what builds it."""
    folder = tmp_path_factory.mktemp("archive")
    run([python, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    return source


def test_the_source_archive_has_everything(unpacked: Path) -> None:
    """Whatever is in the repository is in the archive, since a test may need it."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy is no repository, so nothing says what should be in the archive")
    there = {path for path in run(["git", "ls-files", "-z"], ROOT).split("\0") if (ROOT / path).is_file()}
    assert "tests/test_cli.py" in there
    assert {path for path in there if not (unpacked / path).is_file()} == set()


@pytest.mark.timeout(600)
def test_the_source_archive_passes_its_tests(unpacked: Path) -> None:
    """The tests of what lies beside the package pass there."""
    pytest_there = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    # The package itself may be installed from elsewhere.
    environment = {"PYTHONPATH": str(unpacked), "PYTHONDONTWRITEBYTECODE": "1"}
    beside = ("tests/test_quality.py::test_ci_runs_what_the_readme_says", "tests/test_ground_truth.py")
    passed = run([*pytest_there, *beside, "tests/model", "tests/exports/test_trace_tree.py"], unpacked, environment)
    assert "passed" in passed
    assert "skipped" not in passed
