"""Clusters for tests: one that is this process, and a small one of Ray, for spanview's commands."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pages import ROOT
from ray_sessions import RaySession, need
from spanview.cluster.shuffle import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

_PROGRAM: Final = """
import sys

from ray.cluster_utils import Cluster

node = dict(num_cpus=1, object_store_memory=100_000_000, include_dashboard=False)
cluster = Cluster(initialize_head=True, head_node_args=node)
cluster.add_node(**node)
print(cluster.address, flush=True)
sys.stdin.read()
"""
"""Starts a cluster of two nodes, prints its address, and keeps it until its standard input is closed."""
DIVIDING: Final = """
import sys

from spanview.cli import main
from spanview.cluster import shuffle

shuffle._GROUP_BYTES, shuffle._SHARE_BYTES, shuffle._PARTITION_BYTES = 20_000, 20_000, 5_000
sys.exit(main())
"""
_DRIVER: Final = """
import json
import os
import sys
import tempfile

import ray

from spanview.cli import main
from spanview.cluster import shuffle

shuffle._GROUP_BYTES, shuffle._SHARE_BYTES, shuffle._PARTITION_BYTES = 20_000, 20_000, 5_000
commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
init = ray.init
ray.init = lambda **options: None if ray.is_initialized() else init(**options)
ray.shutdown = lambda: None
for line in commands:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as notices:
        os.dup2(output.fileno(), 1)
        os.dup2(notices.fileno(), 2)
        try:
            status = main(json.loads(line))
        except SystemExit as ended:
            status = ended.code
        sys.stdout.flush()
        sys.stderr.flush()
        output.seek(0)
        notices.seek(0)
        print(json.dumps([status, output.read().hex(), notices.read().decode()]), file=answers, flush=True)
"""
"""spanview that stays connected, and divides as well: a command a line, and in a line status, output and notices.

To start, to import Ray, to connect and to start workers anew is most of what a command takes.
"""
OF_ANOTHER_VERSION: Final = """
import sys

from spanview import version

version.__version__ = "9.9"
from spanview.cli import main

sys.exit(main())
"""


class TasksHere(Tasks):
    """Tasks that are done at once in this process, each with values of its own."""

    def __init__(self) -> None:
        """Need no Ray."""

    @property
    def at_once(self) -> int:
        """How many run at the same time."""
        return 2

    def share(self, value: Any) -> bytes:
        """Return a value as it travels."""
        return pickle.dumps(value)

    def start(self, function: Callable[..., Any], *arguments: Any, answers: int = 1) -> list[bytes]:
        """Call a function."""
        answer = function(*self._arrived(arguments))
        values = [answer] if answers == 1 else answer
        assert len(values) == answers
        return [pickle.dumps(value) for value in values]

    def take(self, reference: bytes) -> Any:
        """Return a value."""
        return pickle.loads(reference)  # noqa: S301 - our own

    def start_stream(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> list[bytes]:
        """Call a function that yields values."""
        return [pickle.dumps(value) for value in function(*self._arrived(arguments))]

    def _arrived(self, arguments: Sequence[Any]) -> list[Any]:
        return [self.take(value) if isinstance(value, bytes) else value for value in arguments]


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs."""

    address: str
    environment: Mapping[str, str]
    driver: subprocess.Popen[str]

    def run(self, *words: str) -> tuple[int, bytes, str]:
        """Return status, output and standard error of a command."""
        assert self.driver.stdin is not None
        assert self.driver.stdout is not None
        self.driver.stdin.write(json.dumps(words) + "\n")
        self.driver.stdin.flush()
        status, output, notices = json.loads(self.driver.stdout.readline())
        return status, bytes.fromhex(output), notices

    def spanview(self, command: str, *words: str, code: str = "") -> tuple[int, bytes, str]:
        """Return the same of a command with `--ray`, or of code with these words."""
        words = (command, "--ray", self.address, *words)
        if not code:
            return self.run(*words)
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=dict(self.environment),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=200,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.decode()


@contextmanager
def connected(address: str, environment: Mapping[str, str]) -> Iterator[Cluster]:
    """Connect to a cluster for several commands; the context ends that."""
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER],
        env=dict(environment),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as driver:
        yield Cluster(address, environment, driver)
        driver.kill()


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """Start a cluster of Ray; the context ends it."""
    need("ray")
    with RaySession(folder) as session:
        session.write("cluster.py", _PROGRAM)
        with session.start("cluster.py") as process:
            assert process.stdout is not None
            with connected(process.stdout.readline().strip(), session.environment()) as cluster:
                yield cluster
            process.kill()
