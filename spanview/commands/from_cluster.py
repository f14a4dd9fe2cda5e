"""What `--ray` shows: a folder of its own, into which another process collects meanwhile, and which goes at the end.

Ray is in that process alone. It writes to a terminal when it likes, and ends its process where the cluster is gone; the
viewer would not survive either.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING, Final

from spanview.commands.standard_error import say
from spanview.model.problems import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.commands.options import Options

_COLLECT: Final = """
import sys
from spanview.cli import main
from spanview.commands.from_cluster import end_when_closed
end_when_closed()
sys.exit(main())
"""
"""The other process."""
_SHOWN: Final = "ray-cluster"
_LOOK_S: Final = 0.05
"""Seconds between two looks at whether there is something to show."""
_END_S: Final = 10
"""Seconds that the other process has to end."""


@contextmanager
def collected(options: Options, *, whole: bool) -> Iterator[Options]:
    """Yield options with a folder for `--ray`, once the cluster has answered.

    Args:
        options: As given.
        whole: Whether all has to be in it that there is.

    Raises:
        CollectError: Nothing can be collected; the text says why.
    """
    with TemporaryDirectory(prefix="spanview-") as top, TemporaryFile() as notices:
        # The viewer shows the end of the path.
        folder = os.path.join(top, _SHOWN)
        os.mkdir(folder)
        words = ["collect", "--address", str(options.ray), "-o", folder, *(["-f"] if options.follow else [])]
        process = subprocess.Popen(  # noqa: S603 - spanview itself
            [sys.executable, "-c", _COLLECT, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=notices,
            env=options.environment,
            # Ctrl+C is meant for what shows it.
            start_new_session=True,
        )
        try:
            say(f"collecting from the Ray cluster at {options.ray}")
            while process.poll() is None and (whole or not os.listdir(folder)):
                time.sleep(_LOOK_S)
            if process.poll() not in (None, 0, 1):
                raise CollectError((_lines(notices) or [f"{options.ray}: Ray has ended the collecting process"])[-1])
            yield replace(options, ray=None, paths=(folder,), use_cache=False)
        finally:
            _end(process)
        for line in _lines(notices):
            # The summary names a folder that is going.
            if folder not in line:
                say(line)


def _lines(notices: IO[bytes]) -> list[str]:
    notices.seek(0)
    return [line.removeprefix("spanview: ") for line in notices.read().decode("utf-8", "replace").splitlines()]


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None  # noqa: S101 - for type checkers
    process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_when_closed() -> None:
    """End this process once its standard input is closed, as it also is when what shows the spans was killed."""

    def wait() -> None:
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
