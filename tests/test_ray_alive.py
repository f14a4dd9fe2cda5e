"""What is said of a real Ray program while it runs: soon what is so, and nothing that isn't.

what happens                          what is said of the call          what its trace does
------------------------------------  --------------------------------  -----------------------
a job is submitted, without a span    may run: its caller is alive      it doesn't
the job has ended                     has an attempt by now             it doesn't
an actor runs a method                may run: the actor is alive       it doesn't
it is killed, and Ray restarts it     may run: the new one is alive     it doesn't
a task's worker is killed             doesn't run here                  it doesn't
a job is submitted, in a span         may run: its caller is alive      grows, as the span runs
the driver is killed in a span        nothing that its end would prove  it doesn't
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Final

import pytest

from ray_sessions import RaySession, need
from spanview.analysis.ray.running import Running
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.processes import Processes
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="Elsewhere Ray's processes can't all be asked."),
]

HOOK: Final = """
import os

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor


def setup_tracing():
    out = open(f"{os.environ['SPANS']}/{os.uname().nodename}-{os.getpid()}.jsonl", "a")
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + os.linesep)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
"""
PROGRAM: Final = """
import os
import sys
import time

import ray
from opentelemetry import trace

ray.init(_tracing_startup_hook="alive_hook:setup_tracing")


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)


def tell(path):
    with open(path + ".part", "w") as out:
        out.write(str(os.getpid()))
    os.rename(path + ".part", path)


@ray.remote
def job(path):
    tell(path)
    wait_for(path + ".end")


@ray.remote(max_retries=0)
def victim(path):
    tell(path)
    wait_for(path + ".end")


@ray.remote(num_cpus=0, max_restarts=1, max_task_retries=1)
class Actor:
    def work(self, path):
        tell(path)
        wait_for(path + ".end")


actor = Actor.remote()
submit = {"job": job.remote, "victim": victim.remote, "work": actor.work.remote}
for line in sys.stdin:
    command, path = line.split()
    if command == "span":
        with trace.get_tracer("program").start_as_current_span("program"):
            ray.get(job.remote(path))
    else:
        call = submit[command](path)
"""
SOON_S: Final = 30.0
"""Two seconds, and many for a busy machine: what isn't so is never said, however long one waits."""
LATE_S: Final = 60.0
"""Until a worker has started, or Ray has seen that one has ended, on a busy machine."""


class Watched:
    """A program that runs, and what a viewer that follows its files would say of it.

    Args:
        session: Where it runs.
        spans: Where its spans go.
    """

    def __init__(self, session: RaySession, spans: Path) -> None:
        self.driver: subprocess.Popen[str] = session.start(
            "program.py", {"SPANS": str(spans), "PYTHONPATH": str(session.folder)}
        )
        self._marks = spans.parent
        details = RecordReader()
        self.store = Store(details)
        self._reading = Session(ReadOptions((str(spans),), follow=True), self.store, details)
        for _ in self._reading.load():
            pass
        self._running = Running(self.store, Processes())
        self._count = 0

    def submit(self, command: str) -> tuple[Path, int]:
        """Let the program submit something; return the file that ends it, and the process that it runs in."""
        self._count += 1
        mark = self._marks / f"mark{self._count}"
        assert self.driver.stdin is not None
        self.driver.stdin.write(f"{command} {mark}\n")
        self.driver.stdin.flush()
        return mark.with_name(f"{mark.name}.end"), self.process_of(mark)

    def process_of(self, mark: Path) -> int:
        """Wait until a call runs, and return its process."""
        deadline = time.monotonic() + LATE_S
        while not mark.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        pid = int(mark.read_text())
        mark.unlink()
        return pid

    def says(self, function: str) -> tuple[str, bool]:
        """Return what is said of the newest call of a function now, and whether its trace grows."""
        self._reading.look()
        names, spans = self.store.names.texts, self.store.spans
        ending = f".{function} ray.remote"
        rows = [row for row in range(len(spans)) if f".{names[spans.name[row]]}".endswith(ending)]
        if not rows:
            return "", False
        grows = spans.trace[rows[-1]] in self._running.growing()
        return self._running.assessment_of(rows[-1]).text, grows

    def until(self, function: str, *said: str, grows: bool, within_s: float = SOON_S) -> None:
        """Wait until one of these is said of a call."""
        deadline = time.monotonic() + within_s
        while (now := self.says(function)) not in {(text, grows) for text in said}:
            assert time.monotonic() < deadline, now
            time.sleep(0.1)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Return a program that runs."""
    need("ray")
    (tmp_path / "spans").mkdir()
    with RaySession(tmp_path) as session:
        session.write("program.py", PROGRAM)
        session.write("alive_hook.py", HOOK)
        watched = Watched(session, tmp_path / "spans")
        with watched.driver:
            try:
                yield watched
            finally:
                watched.driver.kill()


def test_what_is_said_of_a_program_that_runs(watched: Watched) -> None:
    """Every sentence is so when it is said."""
    driver = watched.driver.pid
    lives = f"may run: its caller, pid {driver}, is alive"
    end, _ = watched.submit("job")
    watched.until("job", lives, grows=False)
    end.touch()
    watched.until("job", "has an attempt by now", grows=False)

    end, pid = watched.submit("work")
    watched.until("Actor.work", lives, grows=False)
    os.kill(pid, signal.SIGKILL)
    again = watched.process_of(end.with_name(end.name.removesuffix(".end")))
    assert again != pid
    watched.until("Actor.work", lives, grows=False)
    end.touch()
    watched.until("Actor.work", "has an attempt by now", grows=False)

    _, pid = watched.submit("victim")
    watched.until("victim", lives, grows=False)
    os.kill(pid, signal.SIGKILL)
    watched.until("victim", "doesn't run here: no Ray worker is ray::victim", grows=False, within_s=2 * SOON_S)

    watched.submit("span")
    watched.until("job", lives, grows=True)
    watched.driver.kill()
    watched.driver.wait()
    # Its worker goes on until Ray has seen it, and may be told to leave in a way that lets it write its span.
    ends = f"unknown: its caller, pid {driver}, has ended", "has an attempt by now"
    watched.until("job", *ends, grows=False, within_s=LATE_S)
    assert watched.says("victim") == (f"unknown: its caller, pid {driver}, has ended", False)
