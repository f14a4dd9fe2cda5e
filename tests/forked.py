"""spanview as a real process, a thousand times a minute: a server that has everything imported forks for each call.

                     asked for                          what the kernel does
largest, dies        a file grows over so many bytes    kills by SIGXFSZ at that very byte
largest              the same                           fails the write with EFBIG
kill_after_s         time passes                        kills by SIGKILL
fails                a system call by this name         fails it with EIO

Run as a program it is the server: a call a line on standard input, how it ended a line on standard output.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from programs import environment_with
from zygote import IMPORTED

if TYPE_CHECKING:
    from types import TracebackType

_SYSTEM_CALLS: Final = {"x86_64": {"fsync": 74}, "aarch64": {"fsync": 82}}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_LONGEST_S: Final = 60.0
"""Longer than any call takes that isn't to be killed."""
_ALLOW, _FAIL_WITH_EIO = 0x7FFF0000, 0x00050005


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended."""

    status: int
    """The exit status, or the signal that killed it, below 0."""
    notices: str
    """Standard error."""
    seconds: float


class Server:
    """The server, in a context that ends it.

    Args:
        disk_bytes: Size of a disk of its own, which is there as long as the server is; none without.
    """

    def __init__(self, disk_bytes: int | None = None) -> None:
        self.disk = Path()
        """The disk's folder, as this process sees it."""
        self.disk_inside = ""
        """The same as the calls see it."""
        words = [sys.executable, __file__]
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        if disk_bytes is not None:
            self._scratch = tempfile.TemporaryDirectory()
            self.disk_inside = self._scratch.name
            mount = f'mount -t tmpfs -o size={disk_bytes} none "$0" && exec "$@"'
            words = [*apart(), "sh", "-c", mount, self.disk_inside, *words]
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment_with({"PYTHONUNBUFFERED": "", "OPENBLAS_NUM_THREADS": "1"}),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        assert self._output.readline() == "ready\n"
        if self._scratch is not None:
            self.disk = Path(f"/proc/{self._process.pid}/root{self.disk_inside}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._input.close()
        self._process.wait()
        self._output.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def call(
        self,
        *words: str | Path,
        given: str | Path = os.devnull,
        output: str | Path = os.devnull,
        largest: int | None = None,
        dies: bool = False,
        kill_after_s: float = _LONGEST_S,
        fails: str = "",
    ) -> Ended:
        """Run spanview to its end.

        Args:
            words: Command, options and PATHs.
            given: The file that is its standard input.
            output: The file that its standard output goes to.
            largest: The bytes that no file may grow over.
            dies: Whether it is killed where one would; else that write fails.
            kill_after_s: Seconds after which it is killed.
            fails: A system call that fails whenever it is made.
        """
        call = _Call(
            words=[*map(str, words)],
            given=str(given),
            output=str(output),
            largest=largest,
            dies=dies,
            kill_after_s=kill_after_s,
            fails=fails,
        )
        self._input.write(json.dumps(asdict(call)) + "\n")
        self._input.flush()
        return Ended(**json.loads(self._output.readline()))


def no_disk_of_its_own() -> str:
    """Say why a disk of its own can't be had; empty where it can."""
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        return "a small disk of its own needs Linux and unshare"
    words = [*apart(), "mount", "-t", "tmpfs", "none", tempfile.gettempdir()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return f"a small disk of its own can't be mounted: {done.stderr.strip()}" if done.returncode else ""


def no_failing_calls() -> str:
    """Say why system calls can't be made to fail; empty where they can."""
    known = sys.platform.startswith("linux") and platform.machine() in _SYSTEM_CALLS
    return "" if known else "system calls can be made to fail on Linux on x86_64 and aarch64 only"


def apart() -> tuple[str, ...]:
    """Return what runs a program so that nobody else sees what it mounts."""
    return ("unshare", "--mount") if not os.geteuid() else ("unshare", "--mount", "--map-root-user")


# -- the server --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    words: list[str]
    given: str
    output: str
    largest: int | None
    dies: bool
    kill_after_s: float
    fails: str


def _serve() -> None:
    import gc
    from importlib import import_module

    for module in IMPORTED:
        import_module(module)
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        ended = _fork(_Call(**json.loads(line)))
        sys.stdout.write(json.dumps(asdict(ended)) + "\n")
        sys.stdout.flush()


def _fork(call: _Call) -> Ended:
    began = time.monotonic()
    errors, errors_of_child = os.pipe()
    process = os.fork()
    if not process:
        os.close(errors)
        _run(call, errors_of_child)
    os.close(errors_of_child)
    with open(errors, "rb", buffering=0) as stream:
        # What it says, or its end; the next look is at what is left of the time.
        notices, deadline = b"", began + call.kill_after_s
        while select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (data := os.read(errors, 65536)):
                break
            notices += data
        else:
            os.kill(process, signal.SIGKILL)
            notices += stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return Ended(status, notices.decode("utf-8", "replace"), time.monotonic() - began)


def _run(call: _Call, errors: int) -> NoReturn:
    import resource

    os.dup2(os.open(call.given, os.O_RDONLY), 0)
    os.dup2(os.open(call.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 1)
    os.dup2(errors, 2)
    if call.largest is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if call.dies else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (call.largest, call.largest))
    if call.fails:
        _let_fail(call.fails)
    from spanview.cli import main

    # What the buffer of standard input has read are calls, and none of spanview's business.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.exit(main(call.words))


def _let_fail(name: str) -> None:
    """Let the kernel answer a system call with EIO from now on."""
    number = _SYSTEM_CALLS[platform.machine()][name]
    steps = ((_LOAD, 0, 0, 0), (_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL_WITH_EIO), (_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program: Any = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SECCOMP, _FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter for system calls")


if __name__ == "__main__":
    _serve()
