"""Standard input without `-`: read where it is a pipe or a file and no PATH is given, else never ignored silently.

standard input                  no PATH              PATH
--------------                  -------              ----
a file                          read                 left alone
a pipe, sooner or later         read                 one line, if there is data, or a person made the pipe
a pipe that ends without data   the default places   left alone
a socket                        the default places   one line, if there is data
/dev/null, closed, write-only   the default places   left alone
"""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of
from pages import TEXTS
from programs import DEADLINE_S, SPANVIEW, Outcome, spanview
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

READING: Final = ("view", "tree", "spans", "export", "stats", "check")
UNREAD: Final = "spanview: standard input is not read; to read it, give - as PATH\n"
PIPED: Final = file_of(Builder().draw("alpha 0-10\n  beta 2-5"))
_WITH_DEFAULTS: Final = """if True:
    import sys
    from spanview.cli import main
    from spanview.sources import places
    places.RAY_SPANS = sys.argv.pop(1)
    sys.exit(main())
"""


@pytest.fixture
def default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a default place, with one span in it, that is the only one."""
    place = tmp_path / "spans"
    place.mkdir()
    (place / "1.json").write_bytes(file_of([Builder().span("usual", trace=9)]))
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    return place


def words_with_defaults(place: Path, *words: str) -> list[str]:
    """Return what runs spanview with another folder in the place of /tmp/spans."""
    return [sys.executable, "-c", _WITH_DEFAULTS, str(place), *words]


@pytest.fixture
def idle() -> Iterator[int]:
    """Return the end of a pipe whose other end is open, and from which nothing comes."""
    reader, writer = os.pipe()
    yield reader
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("command", READING)
def test_a_pipe_or_a_file_is_read_where_no_path_is_given(tmp_path: Path, command: str) -> None:
    """What is piped in, or redirected from a file, is what `-` would be."""
    expected = spanview(command, "-", given=PIPED)
    assert b"alpha" in expected.output or command == "check"
    assert spanview(command, given=PIPED) == expected
    (tmp_path / "1.json").write_bytes(PIPED)
    with (tmp_path / "1.json").open("rb") as file:
        assert spanview(command, given=file) == expected


def test_options_and_diff_read_it_too() -> None:
    """Options are no PATH; two queries to compare are none either, and two PATHs leave the pipe alone."""
    assert spanview("spans", "-q", "beta", given=PIPED).text.count("\n") == 1
    assert spanview("-fq", "beta", given=PIPED).text.startswith("trace ")
    assert spanview("diff", "alpha", "beta", given=PIPED) == spanview("diff", "alpha", "beta", "-", given=PIPED)
    done = spanview("diff", __file__, __file__, given=PIPED)
    assert (done.status, done.lines[0] + "\n") == (2, UNREAD)


def test_an_empty_file_is_no_default_place(tmp_path: Path) -> None:
    """A file that is redirected is read though there is nothing in it."""
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open("rb") as file:
        assert spanview("stats", given=file).notices == "spanview: -: no spans; 1 empty file\n"


def test_a_slow_pipe_is_waited_for(default_place: Path) -> None:
    """A program may take its time until its first span; after a second it is said what is waited for."""
    process = subprocess.Popen(
        words_with_defaults(default_place, "spans"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.readline().decode()
    assert said.startswith("spanview: waiting for standard input, because it is a pipe and no PATH is given")
    assert str(default_place) in said
    output, notices = process.communicate(PIPED, DEADLINE_S)
    assert (output, notices, process.returncode) == (spanview("spans", "-", given=PIPED).output, b"", 0)


def without_spans_of_its_own(place: Path, given: int | None, *words: str) -> Outcome:
    """Run `tree` with a descriptor as standard input, closed where it is None."""
    program = words_with_defaults(place, "tree", *words)
    if given is None:
        program = ["sh", "-c", 'exec "$@" <&-', "sh", *program]
    done = subprocess.run(program, stdin=given, capture_output=True, timeout=DEADLINE_S, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


def test_what_has_nothing_to_read_leaves_the_default_places(default_place: Path, idle: int) -> None:
    """A pipe that is over, /dev/null, a socket and a closed descriptor are no input, and no word is lost on them."""
    reader, writer = os.pipe()
    os.close(writer)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for given in (reader, subprocess.DEVNULL, theirs.fileno(), None):
            done = without_spans_of_its_own(default_place, given)
            assert (done.status, done.notices, "usual" in done.text) == (0, "", True), given
        for given in (reader, subprocess.DEVNULL, theirs.fileno(), None, idle):
            done = without_spans_of_its_own(default_place, given, str(default_place))
            assert (done.status, done.notices, "usual" in done.text) == (0, "", True), given
        ours.sendall(PIPED)
        done = without_spans_of_its_own(default_place, theirs.fileno())
        assert (done.status, done.notices, "usual" in done.text) == (0, UNREAD, True)
    os.close(reader)


def test_what_is_open_for_writing_only_is_no_input(tmp_path: Path, default_place: Path) -> None:
    """`0>file` has nothing to read: the default places are shown, and `-` is refused in one line."""
    with (tmp_path / "written").open("wb") as file:
        done = without_spans_of_its_own(default_place, file.fileno())
        assert (done.status, done.notices, "usual" in done.text) == (0, "", True)
        for command in READING:
            done = spanview(command, "-", given=file)
            assert (done.status, len(done.lines), "can't be read" in done.notices) == (2, 1, True), command


def test_a_pipe_that_ends_late_without_data_leaves_the_default_places(default_place: Path) -> None:
    """Whether a program that prints nothing ends before or after spanview looks is no matter of luck."""
    words = words_with_defaults(default_place, "tree")
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline().startswith(b"spanview: waiting for standard input")
    output, notices = process.communicate(timeout=DEADLINE_S)
    assert (b"usual" in output, notices, process.returncode) == (True, b"", 0)


def test_a_person_is_told_that_a_pipe_without_data_is_not_read(tmp_path: Path, idle: int) -> None:
    """Data that would come later would be lost silently; a pipe made by no person may stay empty for good."""
    path = tmp_path / "1.json"
    path.write_bytes(PIPED)
    ours, theirs = pty.openpty()
    words = [*SPANVIEW, "tree", str(path)]
    done = subprocess.run(words, stdin=idle, stdout=subprocess.PIPE, stderr=theirs, timeout=DEADLINE_S, check=False)
    assert (done.returncode, b"alpha" in done.stdout) == (0, True)
    assert os.read(ours, 4096).decode().replace("\r\n", "\n") == UNREAD
    for descriptor in (ours, theirs):
        os.close(descriptor)


def test_a_person_is_told_that_nothing_came(default_place: Path) -> None:
    """Where standard error is a terminal, a pipe that was over at once is no reason to look elsewhere silently."""
    reader, writer = os.pipe()
    os.close(writer)
    ours, theirs = pty.openpty()
    words = words_with_defaults(default_place, "tree")
    done = subprocess.run(words, stdin=reader, stdout=subprocess.PIPE, stderr=theirs, timeout=DEADLINE_S, check=False)
    assert b"usual" in done.stdout
    said = os.read(ours, 4096).decode()
    assert said.startswith("spanview: nothing came on standard input; looking in ")
    assert f"{default_place} and " in said
    for descriptor in (reader, ours, theirs):
        os.close(descriptor)


@pytest.mark.parametrize("command", READING)
def test_an_unread_pipe_is_told(tmp_path: Path, command: str) -> None:
    """With a PATH the pipe isn't read, and one line says so; with `-` among the PATHs it is."""
    path = tmp_path / "1.json"
    path.write_bytes(PIPED)
    done = spanview(command, path, given=PIPED)
    assert (done.output, done.notices) == (spanview(command, path).output, UNREAD)
    assert spanview(command, path, "-", given=PIPED).notices == ""


def piped(data: bytes) -> tuple[int, int]:
    """Return both ends of a pipe with some data in it."""
    reader, writer = os.pipe()
    os.write(writer, data)
    return reader, writer


@pytest.mark.parametrize("words", [(), ("-",), ("-f",)])
def test_the_viewer_reads_the_pipe_and_the_terminal(words: Sequence[str]) -> None:
    """Spans come from the pipe, while it is open, too; keys from the terminal; `q` ends it though nobody closed it."""
    reader, writer = piped(PIPED)
    with Terminal(*words, command=(), given=reader) as terminal:
        os.close(reader)
        assert terminal.has_soon("alpha", "1 trace"), terminal.lines
        os.write(writer, file_of([Builder().span("later", trace=2)]))
        assert terminal.has_soon("later", "2 traces"), terminal.lines
        terminal.send(b"g", b"\r")
        assert terminal.has_soon("beta"), terminal.lines
        terminal.send(b"q")
        terminal.send(b"q")
        assert terminal.wait() == 0
    with suppress(BrokenPipeError):
        os.write(writer, PIPED)
    os.close(writer)


def test_the_viewer_waits_for_an_idle_pipe(tmp_path: Path) -> None:
    """It opens though nothing comes, says where it looked when the pipe ends so, and can be left."""
    reader, writer = os.pipe()
    with Terminal(command=(), given=reader, environment={"RAY_TMPDIR": str(tmp_path)}) as terminal:
        os.close(reader)
        assert terminal.has_soon("reading"), terminal.lines
        os.close(writer)
        assert terminal.has_soon("looked in standard input"), terminal.lines
        terminal.send(b"q")
        assert terminal.wait() == 0


def test_the_viewer_says_that_the_pipe_is_not_read(tmp_path: Path) -> None:
    """With a PATH the viewer shows that, and the line about the pipe stands where it was started."""
    (tmp_path / "1.json").write_bytes(file_of([Builder().span("given")]))
    reader, writer = piped(PIPED)
    with Terminal(str(tmp_path), command=(), given=reader) as terminal:
        os.close(reader)
        assert terminal.has_soon("given"), terminal.lines
        assert not any("alpha" in line for line in terminal.lines)
        terminal.send(b"q")
        assert terminal.wait() == 0
        assert UNREAD.strip().encode() in terminal.output
    os.close(writer)


def test_a_real_program_is_shown(tmp_path: Path) -> None:
    """`python app.py | spanview` is a line of the pages: every span that the SDK prints comes through."""
    (tmp_path / "app.py").write_text(
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor\n"
        "trace.set_tracer_provider(TracerProvider())\n"
        "trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))\n"
        "for _ in range(500):\n"
        "    with trace.get_tracer('shop').start_as_current_span('order'):\n"
        "        print('done')\n"
    )
    assert "`python app.py | spanview`" in TEXTS["spanview/docs/tracing.md"]
    script = f"{sys.executable} app.py | {' '.join(SPANVIEW)} spans"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, timeout=DEADLINE_S, check=False)
    assert (done.returncode, done.stderr, done.stdout.count(b'"name":"order"')) == (0, b"", 500)
