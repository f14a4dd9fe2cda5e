"""spanview as a process of its own without the wait for its imports: a server that has them forks for each call.

Four fifths of a small call's time are imports. The forked process is a real one: it has its own number, descriptors,
folder, environment and exit status. What it can't show is what an import loads, and what a new interpreter is told by
its environment (`PYTHONHASHSEED`): these calls start `python -m spanview`.

test process               server                  go-between              spanview
------------               ------                  ----------              --------
connect ────────────────▶  accept, fork ────────▶  read the call
call, three descriptors ────────────────────────▶  fork ────────────────▶  run
pid ◀───────────────────────────────────────────   wait
status ◀────────────────────────────────────────   ◀─────────────────────  end

A server of its own, which has the modules of the viewer too, forks what runs at a terminal: it begins a session there.

The server ends with the process that started it, when its standard input does, and removes its socket. Run as a
program it is the server.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_AT_ONCE: Final = 65536
_PIPE_BYTES: Final = 16384
"""So many bytes a pipe holds everywhere, though nobody reads them."""
IMPORTED: Final = (
    *("argparse", "difflib", "psutil", "numpy", "orjson", "re2", "watchfiles"),
    *(f"spanview.commands.{name}" for name in ("check", "completion", "diff", "export", "spans", "stats", "tree")),
    *(
        "spanview.commands.following",
        "spanview.commands.piped",
        "spanview.sources.session",
        "spanview.analysis.query.query",
        "spanview.analysis.query.matches",
        "spanview.analysis.ray.lanes",
        "spanview.index.summary",
        "spanview.reports.statistics",
    ),
    *(f"spanview.exports.{name}" for name in ("chrome", "html", "jaeger", "otlp", "page.conclusions", "zipkin")),
    *(f"spanview.formats.{name}" for name in ("careful", "foreign", "own.read", "usual", "wrapped")),
)
"""What the server has when it forks, with all that these import."""
_OF_VIEWERS: Final = (
    "spanview.commands.view",
    "spanview.tui.app.app",
    "spanview.tui.app.opening",
    "spanview.tui.app.warm",
)
"""What the server of viewers has besides; the screens come as everywhere, while nobody waits."""


@dataclass(frozen=True, slots=True)
class _Call:
    words: list[str]
    folder: str
    environment: dict[str, str]
    has_terminal: bool


def can_run(environment: Mapping[str, str]) -> bool:
    """Tell whether a forked process is what a new one would be, with these variables changed."""
    return sys.platform != "win32" and not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in environment)


class Forked:
    """A call of spanview that runs; what `subprocess.Popen` offers for it.

    Args:
        words: Command, options and PATHs.
        given: Standard input.
        folder: Where it runs.
        environment: All variables.
        has_terminal: Whether standard input is a terminal, which is then the other streams too; pipes without.
    """

    def __init__(
        self,
        words: Sequence[str],
        given: int,
        folder: str,
        environment: Mapping[str, str],
        *,
        has_terminal: bool = False,
    ) -> None:
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        streams = [given, given, given]
        if not has_terminal:
            output, streams[1] = os.pipe()
            notices, streams[2] = os.pipe()
            self.stdout = open(output, "rb")  # noqa: SIM115 - closed by who reads it
            self.stderr = open(notices, "rb")  # noqa: SIM115
        call = asdict(_Call([*words], folder, dict(environment), has_terminal))
        self._answers = socket.socket(socket.AF_UNIX)
        self._answers.connect(_address(has_terminal))
        socket.send_fds(self._answers, [b"\0"], streams)
        self._answers.sendall(json.dumps(call).encode("utf-8", "surrogateescape"))
        self._answers.shutdown(socket.SHUT_WR)
        if not has_terminal:
            os.close(streams[1])
            os.close(streams[2])
        self._answer = b""
        self._status: int | None = None
        self.pid: Final = self._next_number(None)

    def _next_number(self, timeout: float | None) -> int:
        """Return the next line that the go-between wrote, as a number."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._answer:
            # Not `select`, which takes no descriptors above 1,023: stores that nobody has collected hold some.
            self._answers.settimeout(None if deadline is None else max(0.0, deadline - time.monotonic()))
            try:
                data = self._answers.recv(64)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("spanview", timeout or 0.0) from None
            assert data, "the server that forks for each call has ended"
            self._answer += data
        line, _, self._answer = self._answer.partition(b"\n")
        return int(line)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status: the number of the signal that killed it, below 0."""
        if self._status is None:
            self._status = self._next_number(timeout)
            self._answers.close()
        return self._status

    def poll(self) -> int | None:
        """Return the exit status, or nothing as long as it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)


def run(
    words: Sequence[str], given: bytes | IO[Any], folder: str, environment: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    """Run a call to its end, and return the exit status, standard output and standard error.

    Args:
        words: Command, options and PATHs.
        given: Standard input: bytes or an open file.
        folder: Where it runs.
        environment: All variables.
    """
    with ThreadPoolExecutor(2) as beside:
        if isinstance(given, bytes):
            reader, writer = os.pipe()
            fed = beside.submit(_feed, writer, given)
            if len(given) <= _PIPE_BYTES:
                # It is there when the call begins, however busy the machine is.
                fed.result()
            process = Forked(words, reader, folder, environment)
            os.close(reader)
        else:
            process = Forked(words, given.fileno(), folder, environment)
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout, process.stderr:
            try:
                notices = beside.submit(process.stderr.read)
                output = process.stdout.read()
                return process.wait(), output, notices.result()
            finally:
                process.kill()


def _feed(writer: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(writer, "wb", buffering=0) as file:
        file.write(data)


@cache
def _address(has_viewers: bool) -> str:  # noqa: FBT001 - what the cache goes by
    """Start the server, or that of viewers, and return the path of its socket."""
    path = os.path.join(tempfile.mkdtemp(prefix="zygote"), "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, path, *(_OF_VIEWERS if has_viewers else ())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()

    atexit.register(end)
    return path


# -- the server --------------------------------------------------------------------------------------------------------


def _serve(path: str, *modules: str) -> None:
    import gc
    from importlib import import_module

    for name in (*IMPORTED, *modules):
        import_module(name)
    gc.freeze()
    # What it starts waits for spanview and is waited for by nobody.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    os.write(1, b"ready\n")
    while 0 not in select.select([listener.fileno(), 0], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            _go_between(connection)
        connection.close()
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def _go_between(connection: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    text = b""
    while data := connection.recv(_MOST_AT_ONCE):
        text += data
    call = _Call(**json.loads(text.decode("utf-8", "surrogateescape")))
    pid = os.fork()
    if not pid:
        connection.close()
        _run(call, descriptors)
    for descriptor in (0, 1, 2, *descriptors):
        os.close(descriptor)
    connection.sendall(b"%d\n" % pid)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        connection.sendall(b"%d\n" % status)
    finally:
        os._exit(0)


def _run(call: _Call, descriptors: Sequence[int]) -> NoReturn:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if call.has_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(call.folder)
    os.environ.clear()
    os.environ.update(call.environment)
    time.tzset()
    from spanview.cli import main

    sys.argv = ["spanview", *call.words]
    status = 1
    try:
        status = main()
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
    except BaseException:  # noqa: BLE001 - the end of a process
        traceback.print_exc()
    finally:
        # To take all modules apart, as an interpreter does in the end, would be most of a call's time.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
