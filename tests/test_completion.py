"""What the shells complete, asked for in the shells themselves; the bar is the cursor.

typed                          completed
-----                          ---------
spanview st|                   stats
spanview export --format |     trace-tree, jsonl …
spanview tree -q x --fol|      --follow
"""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sysconfig
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from programs import DEADLINE_S, environment_with, spanview
from spanview import cli
from spanview.commands.completion import SCRIPTS
from spanview.docs import PAGES

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS: Final = {*cli.COMMANDS}
FILES: Final = {"1.json", "stray file.txt"}
TRACES: Final = (0xAB << 120, 0xCD << 120)
"""Those in the folder `spans`."""
PATH: Final = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
"""Where the scripts find spanview."""
COMPLETED: Final[tuple[tuple[str, set[str]], ...]] = (
    ("|", COMMANDS | FILES | {"spans"}),
    ("st|", {"stats", "stray file.txt"}),
    ("-f |", COMMANDS | FILES | {"spans"}),
    ("-q tree |", COMMANDS | FILES | {"spans"}),
    ("-fq tree |", COMMANDS | FILES | {"spans"}),
    ("1.json st|", {"stray file.txt"}),
    ("tree st|", {"stray file.txt"}),
    ("tree 1|", {"1.json"}),
    ("diff 1.json st|", {"stray file.txt"}),
    ("tree --fo|", {"--follow", "--force"}),
    ("tree -q x --fo|", {"--follow", "--force"}),
    ("--no-cache tree --fo|", {"--follow", "--force"}),
    ("export --fo|", {"--format", "--force"}),
    ("--com|", {"--completion"}),
    ("tree --com|", set()),
    ("--completion |", {"bash", "zsh", "fish"}),
    ("export --format |", {*cli.FORMATS}),
    ("export --format j|", {"jsonl", "jaeger"}),
    ("export -o st|", {"stray file.txt"}),
    (
        "stats --by |",
        {
            *(
                "name",
                "service",
                "kind",
                "service+name",
                "status",
                "trace.root",
                "process",
                "pid",
                "scope",
                "critical-path",
                "call-path",
            ),
            *(
                "ray",
                "ray-actor",
                "ray-node",
                "ray-job",
                "ray-call",
                "ray-worker",
                "trace",
                "trace-group",
                "running",
                "serve",
                "serve-request",
            ),
        },
    ),
    ("--since l|", {"last"}),
    ("tree 1.json --trace |", set()),
    ("tree spans --trace |", {f"{trace:032x}" for trace in TRACES}),
    ("export spans --trace ab|", {f"{TRACES[0]:032x}"}),
    ("tree spans --since 1h --trace ab|", {f"{TRACES[0]:032x}"}),
    ("tree nowhere --trace ab|", set()),
    ("tree -q |", set()),
    ("check --fail-on |", set()),
    ("help |", {*PAGES}),
    ("help t|", {"tables", "tracing"}),
    ("help --|", {"--help", "--man", "--skill"}),
)
"""What is typed behind `spanview`, and what it may be going to be, in a folder with two files and a folder `spans`."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the scripts beside the files that they complete."""
    (tmp_path / "spans").mkdir()
    spans = [Builder().span("GET: /a b", trace=trace) for trace in TRACES]
    (tmp_path / "spans" / "1.json").write_bytes(file_of(spans))
    for name in FILES:
        (tmp_path / name).touch()
    (tmp_path / "spans" / ".scripts").mkdir()
    for shell in cli._SHELLS:
        done = spanview("--completion", shell)
        assert (done.status, done.notices) == (0, "")
        (tmp_path / "spans" / ".scripts" / shell).write_bytes(done.output)
    return tmp_path


def installed(shell: str) -> str:
    """Return where a shell is; skip the test where it isn't."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed here")
    return path


def run(folder: Path, *words: str) -> str:
    """Return what a shell prints, which complains about nothing."""
    environment = environment_with({"PATH": PATH})
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_each_shell_has_a_script() -> None:
    """The names that are offered are those for which there is a script; another one is a mistake."""
    assert {*SCRIPTS} == {*cli._SHELLS}
    for words in (["--completion", "csh"], ["--completion"], ["--completion="]):
        done = spanview(*words)
        assert (done.status, done.output, len(done.lines)) == (2, b"", 1)
        assert "expected one of bash, zsh, fish" in done.notices
    assert spanview("--completion=zsh").output == spanview("--completion", "zsh").output


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_option_is_proposed(command: str) -> None:
    """Each flag of a command, and what it does; what is added to the table comes by itself."""
    proposed = spanview("--complete", command, "-").text.splitlines()
    options = [(flags, how["help"]) for commands, flags, how in cli._OPTIONS if command in commands]
    assert {*proposed} >= {"words", *(f"{flag}\t{text}" for flags, text in options for flag in flags)}
    assert f"{command}\t{cli.COMMANDS[command]}" in spanview("--complete", "").text.splitlines()


def test_traces_say_what_they_are(folder: Path) -> None:
    """The id of each trace, the newest first, with its time and its root; nothing is read of standard input."""
    first, *lines = spanview("--complete", "tree", "spans", "--trace", "", folder=folder).text.splitlines()
    assert first == "words"
    assert [line.split("\t")[0] for line in lines] == [f"{trace:032x}" for trace in sorted(TRACES)[::-1]]
    assert all(line.endswith(" GET: /a b") for line in lines)
    assert spanview("--complete", "tree", "-", "--trace", "", folder=folder, given=b"x").text == "words\n"


def words_of(typed: str) -> tuple[list[str], int]:
    """Return the words of a line as bash has them, each = on its own, and the place of the one under the cursor."""
    line = f"spanview {typed.rstrip('|')}"
    words = shlex.split(line.replace("=", " = "))
    return ([*words, ""] if line.endswith(" ") else words), len(words) - (not line.endswith(" "))


OF_BASH: Final[tuple[tuple[str, set[str]], ...]] = (
    ("export --format=j|", {"jsonl", "jaeger"}),
    ("export --format=|", {*cli.FORMATS}),
    ("tree -- -|", set()),
    ("-- st|", {"stray file.txt"}),
    ("--query=x st|", {"stats", "stray file.txt"}),
)


@pytest.mark.parametrize(("typed", "expected"), [*COMPLETED, *OF_BASH])
def test_bash(folder: Path, typed: str, expected: set[str]) -> None:
    """The function that the script gives bash, called as bash calls it."""
    words, at = words_of(typed)
    quoted = " ".join(map(shlex.quote, words))
    called = f"COMP_WORDS=({quoted}) COMP_CWORD={at}; _spanview"
    code = f"source spans/.scripts/bash; {called}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    assert set(run(folder, installed("bash"), "--norc", "-c", code).splitlines()) - {""} == expected


def test_bash_completes_by_it(folder: Path) -> None:
    """The script says which function is for spanview."""
    said = run(folder, installed("bash"), "--norc", "-c", "source spans/.scripts/bash; complete -p spanview")
    assert said.split() == ["complete", "-o", "filenames", "-F", "_spanview", "spanview"]


@pytest.mark.shortened(12)
@pytest.mark.parametrize(("typed", "expected"), [*COMPLETED, ("-- st|", {"stray file.txt"})])
def test_fish(folder: Path, typed: str, expected: set[str]) -> None:
    """What fish itself says that it would complete."""
    line = f"spanview {typed.rstrip('|')}"
    code = f"source spans/.scripts/fish; complete -C {shlex.quote(line)}"
    lines = run(folder, installed("fish"), "--no-config", "-c", code).splitlines()
    found = {each.partition("\t")[0].replace("\\ ", " ").rstrip("/") for each in lines}
    assert found == expected


ZSH: Final = r"""
autoload -U compinit && compinit -u -D
source spans/.scripts/zsh
compadd() {
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
        local -a found
        builtin compadd -A found "$@"
        printf '%s\n' $found >> spans/.scripts/found
    fi
    builtin compadd "$@"
}
tell() { print -r -- done >> spans/.scripts/found; BUFFER= }
zle -N tell
bindkey '^I' complete-word '^T' tell
unsetopt beep
print ready > spans/.scripts/found
"""
"""Notes what is completed in a file, and tells when that is done."""


def test_zsh(folder: Path) -> None:
    """What zsh itself completes, in one that somebody types into."""
    found = folder / "spans" / ".scripts" / "found"
    (folder / "spans" / ".scripts" / "start").write_text(ZSH)
    master, terminal = pty.openpty()
    with subprocess.Popen(
        [installed("zsh"), "-f", "-i"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env=environment_with({"PATH": PATH, "TERM": "vt100", "HOME": str(folder / "spans" / ".scripts")}),
        start_new_session=True,
    ) as shell:
        try:
            os.close(terminal)
            threading.Thread(target=_read_on, args=(master,), daemon=True).start()
            os.write(master, b"source spans/.scripts/start\n")
            _lines_until(found, "ready")
            completed = {}
            for typed, _ in COMPLETED:
                found.write_text("")
                os.write(master, f"spanview {typed.rstrip('|')}\t\x14".encode())
                completed[typed] = {
                    line.replace("\\ ", " ").rstrip("=/ ") for line in _lines_until(found, "done") if line
                }
        finally:
            shell.kill()
    os.close(master)
    assert completed == dict(COMPLETED)


def _read_on(terminal: int) -> None:
    """Read what is printed, or it would have to wait."""
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass


def _lines_until(path: Path, last: str) -> list[str]:
    """Return the lines before the one that ends a file, once it is there."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        lines = path.read_text().splitlines() if path.exists() else []
        if lines and lines[-1] == last:
            return lines[:-1]
        assert time.monotonic() < deadline, lines
        time.sleep(0.01)
