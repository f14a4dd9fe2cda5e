"""spanview as a program of its own: run to its end, or followed line by line against a deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, Self

import zygote
from zygote import Forked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

SPANVIEW: Final = (sys.executable, "-m", "spanview")
RENAMED: Final = "spanview: names in JSON have changed: "
"""How the note begins that names the old names of a document in JSON, which it has beside the new ones."""
DEADLINE_S: Final = 30.0
"""Long enough for a busy machine; nothing waits for it to pass."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call answered."""

    status: int
    output: bytes
    notices: str
    """Standard error."""

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.output.decode()

    @property
    def lines(self) -> list[str]:
        """The lines of standard error."""
        return self.notices.splitlines()


def environment_with(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process with some variables changed."""
    return {**os.environ, **(changes or {})}


def spanview(
    *words: str | Path,
    given: bytes | IO[Any] = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] | None = None,
) -> Outcome:
    """Run spanview to its end, and let no traceback pass.

    Args:
        words: Command, options and PATHs.
        given: Standard input: bytes or an open file.
        folder: Where it runs.
        environment: Variables to change.
        program: What runs, where it is to be a new interpreter.
    """
    texts = [*map(str, words)]
    if program is None and zygote.can_run(environment or {}):
        status, output, said = zygote.run(texts, given, str(folder or os.getcwd()), environment_with(environment))
        return _outcome(status, output, said)
    done = subprocess.run(
        [*(program or SPANVIEW), *texts],
        **({"input": given} if isinstance(given, bytes) else {"stdin": given}),
        capture_output=True,
        cwd=folder,
        env=environment_with(environment),
        timeout=120,
        check=False,
    )
    return _outcome(done.returncode, done.stdout, done.stderr)


def _outcome(status: int, output: bytes, said: bytes) -> Outcome:
    notices = said.decode("utf-8", "replace")
    assert "Traceback" not in notices, notices
    return Outcome(status, output, notices)


def _start(
    words: Sequence[str], folder: Path | None, program: Sequence[str] | None
) -> subprocess.Popen[bytes] | Forked:
    """Start spanview with nothing to read on its standard input."""
    if program is None and zygote.can_run({}):
        with open(os.devnull, "rb") as nothing:
            return Forked(words, nothing.fileno(), str(folder or os.getcwd()), os.environ)
    return subprocess.Popen(
        [*(program or SPANVIEW), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )


class Following:
    """spanview in the background, with what it prints as it comes; a context that ends it.

    Args:
        words: Command, options and PATHs.
        folder: Where it runs.
        program: What runs, where it is to be a new interpreter.
    """

    def __init__(self, *words: str | Path, folder: Path | None = None, program: Sequence[str] | None = None) -> None:
        self.lines: list[str] = []
        self.times_ns: list[int] = []
        """When each line came, in nanoseconds since 1970."""
        self.notices: list[str] = []
        self._changed = threading.Condition()
        self._process = _start([*map(str, words)], folder, program)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._threads = [
            threading.Thread(target=self._read, args=(self._process.stdout, self.lines, self.times_ns)),
            threading.Thread(target=self._read, args=(self._process.stderr, self.notices, [])),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: IO[bytes], lines: list[str], times_ns: list[int]) -> None:
        with stream:
            for line in stream:
                now_ns = time.time_ns()
                with self._changed:
                    times_ns.append(now_ns)
                    lines.append(line.decode("utf-8", "replace").rstrip("\n"))
                    self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool], seconds: float = DEADLINE_S) -> float:
        """Wait until something is so, and return how many seconds it took.

        Args:
            condition: Looks at what was printed; asked again after each line.
            seconds: After so long the test fails.
        """
        began = time.monotonic()
        assert self.is_soon(condition, seconds), (
            f"not within {seconds} s; printed: {self.lines[-20:]}, notices: {self.notices[-20:]}"
        )
        return time.monotonic() - began

    def is_soon(self, condition: Callable[[], bool], seconds: float = DEADLINE_S) -> bool:
        """Wait until something is so, asked again after each line; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def wait_for_notice(self, text: str, seconds: float = DEADLINE_S) -> float:
        """Wait until a text is in standard error, and return how many seconds it took."""
        return self.wait_for(lambda: any(text in notice for notice in self.notices), seconds)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, wait for the end, and return the exit status; let no traceback pass."""
        self._process.send_signal(number)
        return self.wait_for_end()

    def wait_for_end(self) -> int:
        """Wait for the end and return the exit status; let no traceback pass."""
        status = self._process.wait(DEADLINE_S)
        for thread in self._threads:
            thread.join(DEADLINE_S)
        assert not any("Traceback" in notice for notice in self.notices), self.notices
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.wait_for_end()
