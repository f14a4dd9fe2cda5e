"""What is said of calls while their program runs, held against Ray's own events of it: how soon, and whether it is so.

Two stores are filled while a real Ray program writes. One has its events, too: what became of each call is what they
say, and is said soon after they stand in their files. The other has spans alone, written at their ends as Ray's own
hook does it: what names of processes show of calls is held against the events afterwards.
"""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from claims import LEAST_RIGHT
from ray_sessions import SMALL, RaySession
from rays_word import attempts_in
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.outcomes import outcomes_of
from spanview.analysis.ray.reasons import reasons_of, to_ask
from spanview.analysis.ray.running import Running
from spanview.index.store import Store
from spanview.ray import EVENTS
from spanview.sources.details import RecordReader
from spanview.sources.follow import Watcher, follow
from spanview.sources.processes import Processes
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .causes import HEAD, HOOK, MANY, PROGRAMS, needs_ray
from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_CAUSES: Final = """
@ray.remote(num_gpus=1)
def stuck():
    return 1

@ray.remote(num_cpus=0)
class Dying:
    def die(self):
        os._exit(1)
    def ask(self):
        return 1

actor = Dying.remote()
ray.get(actor.ask.remote())
busy = [load.remote(number, 4) for number in range(3)]
time.sleep(1)
unwanted = clean.options(name="unwanted").remote(1)
left = [stuck.remote(), join.remote(busy[0]), actor.die.remote(), *(load.remote(number) for number in range(6))]
ray.cancel(unwanted)
time.sleep(2)
left.append(actor.ask.remote())
ray.wait(left, num_returns=len(left) - 1, timeout=30)
time.sleep(2)
"""
_OUT_OF_MEMORY: Final = """
@ray.remote(max_retries=0)
def hoard():
    held = bytearray(200_000_000)
    time.sleep(20)
    return len(held)

ray.wait([hoard.remote()], timeout=30)
time.sleep(2)
"""
_LITTLE: Final = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "500"}
"""By which Ray takes any use of memory for too much."""
_LIVES: Final = (
    (_CAUSES, {}, {("stuck", "pending"), ("clean", "cancelled"), ("ask", "actor_died"), ("join", "pending")}),
    (_OUT_OF_MEMORY, _LITTLE, {("hoard", "out_of_memory")}),
    *((text, {}, set[tuple[str, str]]()) for text in PROGRAMS.values()),
)
"""Programs, the environment of each, and what is to be said of its functions at some time."""
_TURN_S: Final = 0.05
_SOON_S: Final = 2.0
_UNSURE_NS: Final = 500_000_000
"""A worker's name is taken so long before or after it says so in its events, on a busy machine."""


@dataclass(slots=True)
class _Heard:
    """What was said so far."""

    delays_s: list[float] = field(default_factory=list)
    claims: int = 0
    """How often it was said, without the events, that a call doesn't run."""
    right: int = 0
    wrong: list[str] = field(default_factory=list)


class _Watched:
    """A store that is filled while files grow."""

    def __init__(self, *paths: Path) -> None:
        details = RecordReader()
        self.store = Store(details)
        self.session = Session(ReadOptions((*map(str, paths),), follow=True), self.store, details)
        for _ in self.session.load():
            pass

    def tasks(self) -> dict[int, str]:
        """Return the tasks of calls, by their rows."""
        return {call.row: str(self.store.span(call.row).attributes.get("ray.task_id")) for call in calls_of(self.store)}


class _Events(threading.Thread):
    """Reads what stands in the files of events twenty times a second, until a program ends, and notes when it did."""

    def __init__(self, events: Path, program: subprocess.Popen[bytes], at_end: Callable[[], None]) -> None:
        super().__init__()
        self._events, self._program, self._at_end = events, program, at_end
        self.first_s: dict[tuple[str, str], float] = {}
        """When it stood there first what became of a task, by the clock."""
        self.start()

    def run(self) -> None:
        """Read until the program has ended."""
        while self._program.poll() is None:
            for task, attempts in attempts_in(_files(self._events)).items():
                self.first_s.setdefault((task, attempts[0].outcome), time.monotonic())
            time.sleep(_TURN_S)
        self._at_end()


def _say_it_live(trials: int, folder: Path) -> Figures:
    figures, heard = Figures(), _Heard()
    for text, environment, expected in _LIVES[:trials]:
        said = _watch(folder / f"{figures.trials}", f"{HEAD}{text}\nray.shutdown()\n", environment, heard)
        figures.expect(holds=expected <= said, what=f"not said: {expected - said}")
        figures.trials += 1
    delays = sorted(heard.delays_s)
    figures.expect(holds=bool(delays) and not heard.wrong, what=heard.wrong)
    unheard = f"without the events: doesn't run {heard.right} of {heard.claims}"
    figures.expect(holds=heard.right >= LEAST_RIGHT * heard.claims or heard.claims < MANY, what=unheard)
    figures.took(delays[len(delays) * 95 // 100])
    figures.notes = [f"{len(delays)} states; half within {delays[len(delays) // 2]:.2f} s, the last {delays[-1]:.2f} s"]
    figures.notes.append(unheard)
    return figures


def _watch(folder: Path, text: str, environment: Mapping[str, str], heard: _Heard) -> set[tuple[str, str]]:
    """Watch a program to its end, and return what was said of its functions."""
    (spans := folder / "spans").mkdir(parents=True)
    with RaySession(folder) as session:
        session.write("program.py", text)
        own = {"SPANVIEW_DIR": str(spans), "SPANVIEW_STARTED": "off", **EVENTS, **environment}
        options = {**SMALL, "num_cpus": 3, "_tracing_startup_hook": HOOK, "log_to_driver": False}
        words, variables = ["bash", "-ec", "exec python program.py 2>&1"], session.environment(own, options)
        program = subprocess.Popen(words, cwd=folder, env=variables, stdout=subprocess.DEVNULL)
        while not [*Path(session.tmpdir).glob("ray/session_2*/logs/export_events")]:
            assert program.poll() is None
            time.sleep(_TURN_S)
        events = session.folder_of("export_events")
        told, alone = _Watched(spans, events), _Watched(spans)
        running = Running(alone.store, Processes(f"{session.tmpdir}/ray/session_latest"))
        stop, watcher = threading.Event(), Watcher(told.store.tallies.add_problem)
        written = _Events(events, program, stop.set)
        said, counted, claims = set[tuple[str, str]](), set[tuple[str, str]](), list[tuple[str, int]]()
        for _ in follow(told.session, watcher, stop, time.monotonic):
            keys = _outcomes(told)
            said |= {(function, key) for function, _, key in keys}
            for state in ({(task, key) for _, task, key in keys} & written.first_s.keys()) - counted:
                heard.delays_s.append(time.monotonic() - written.first_s[state])
                counted.add(state)
            claims += _claims(alone, running)
        written.join()
        watcher.close()
        told.session.look()
        last = {task: of_task[0].outcome for task, of_task in attempts_in(_files(events)).items()}
        # What isn't over there may be, as its span shows: the last lines of workers are lost when their driver ends.
        open_ones = {"running", "pending", "unknown"}
        heard.wrong += [
            f"{function} is {key}"
            for function, task, key in _outcomes(told)
            if last.get(task, key) not in {key, *open_ones}
        ]
        _judge(claims, events, heard)
    return said


def _outcomes(told: _Watched) -> list[tuple[str, str, str]]:
    """Return function, task and outcome of each call."""
    among = calls_of(told.store)
    became, tasks = outcomes_of(told.store, [*among], reasons_of(told.store, among)), told.tasks()
    return [(call.function.rpartition(".")[2], tasks[call.row], became[call.row].outcome.key) for call in among]


def _files(events: Path) -> Sequence[Path]:
    return sorted(events.glob("event_EXPORT_TASK_*"))


def _claims(alone: _Watched, running: Running) -> list[tuple[str, int]]:
    """Return the tasks of the calls that don't run, as the names of processes show it, and when that is said."""
    alone.session.look()
    rows = alone.tasks()
    asked = to_ask(alone.store, reasons_of(alone.store, calls_of(alone.store)))
    thoughts = [(rows[row], running.assessment_of(row), time.time_ns()) for row in asked if row in rows]
    return [(task, ns) for task, thought, ns in thoughts if thought.text.startswith("doesn't run")]


def _judge(claims: Sequence[tuple[str, int]], events: Path, heard: _Heard) -> None:
    attempts = attempts_in(_files(events))
    for task, ns in claims:
        states = [attempt.states for attempt in attempts.get(task, [])]
        # The last lines of a worker that was killed are lost.
        begun_ns = [each.get("8", each.get("5", 2**63)) for each in states]
        ended_ns = [min(each.get(end, 2**63) for end in ("11", "12")) for each in states]
        times = zip(begun_ns, ended_ns, strict=True)
        heard.claims += 1
        heard.right += not any(begun + _UNSURE_NS <= ns <= ended - _UNSURE_NS for begun, ended in times)


ROWS: Final = (
    Row(
        "38",
        "what is said of calls that wait, run or die, live",
        "programs",
        len(_LIVES),
        1,
        _say_it_live,
        _SOON_S,
        needs_ray,
    ),
)
