"""What is said of calls, with Ray's own events and without, held against these, in programs that wait for every cause.

Each is a real Ray program of its own, under spanview's hook, in a session that writes Ray's events, too.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from claims import LEAST_RIGHT, Claims
from ray_sessions import SMALL, RaySession
from spanview.ray import EVENTS

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOOK: Final = "spanview.ray.hook:setup_tracing"
HEAD: Final = """
import asyncio, os, random, time
import ray

ray.init(resources={"disk": 1})
random.seed(5)

@ray.remote
def load(number, seconds=0.2):
    time.sleep(seconds)
    return number

@ray.remote
def clean(value):
    time.sleep(0.15)
    return value

@ray.remote
def join(*values):
    time.sleep(0.1)
    return len(values)

@ray.remote(num_cpus=0)
class Counter:
    def __init__(self, wait=0.0, seconds=0.1):
        time.sleep(wait)
        self.seconds = seconds
    def add(self, value):
        time.sleep(self.seconds)
        return value

"""
PROGRAMS: Final = {
    "more calls than workers": "ray.get([load.remote(number) for number in range(30)])",
    "results of results": "for _ in range(3):\n    first = load.remote(1, 0.4)\n"
    "    ray.get(join.remote(clean.remote(first), first))\n"
    "loaded = [load.remote(number) for number in range(4)]\n"
    "ray.get([join.remote(clean.remote(one), one) for one in loaded])",
    "several functions for three workers": "ray.get([random.choice([load, clean, join]).remote(1) for _ in range(40)])",
    "an actor's queue": "one, two = Counter.remote(), Counter.remote(seconds=0.2)\n"
    "ray.get([actor.add.remote(number) for actor in (one, two) for number in range(12)])",
    "several at once in an actor": "@ray.remote(max_concurrency=2)\nclass Async:\n    async def go(self):\n"
    "        await asyncio.sleep(0.2)\n\n@ray.remote(max_concurrency=3)\nclass Threads:\n    def go(self):\n"
    "        time.sleep(0.2)\n\nactors = Async.remote(), Threads.remote()\n"
    "ray.get([actor.go.remote() for actor in actors for _ in range(10)])",
    "actors that are slow to create": "made = [Counter.remote(1.2) for _ in range(3)]\n"
    "made.append(Counter.remote(load.remote(1, 0.8)))\nray.get([actor.add.remote(1) for actor in made])",
    "environments of their own": "@ray.remote\ndef own():\n    time.sleep(0.1)\n\n"
    'ray.get([own.options(runtime_env={"env_vars": {"X": str(number)}}).remote() for number in range(4)])\n'
    "ray.get([own.remote() for _ in range(6)])",
    "calls in calls": "@ray.remote\ndef tree(depth):\n    if not depth:\n        return ray.get(load.remote(1))\n"
    "    return sum(ray.get([tree.remote(depth - 1), tree.remote(depth - 1)]))\n\nray.get(tree.remote(3))",
    "resources": "@ray.remote(num_cpus=2)\ndef wide():\n    time.sleep(0.3)\n\n"
    '@ray.remote(num_cpus=0, resources={"disk": 1})\ndef disk():\n    time.sleep(0.25)\n\n'
    "calls = [load.remote(1) for _ in range(8)] + [disk.remote() for _ in range(5)]\n"
    "ray.get([*calls, *(wide.remote() for _ in range(4))])",
    "calls that are tried again": "@ray.remote(max_retries=2, retry_exceptions=True)\ndef flaky(path):\n"
    "    time.sleep(0.1)\n    if not os.path.exists(path):\n        open(path, 'w').close()\n"
    "        raise ValueError(path)\n    return 1\n\n@ray.remote(max_retries=1)\ndef dies(path):\n    time.sleep(0.2)\n"
    "    if not os.path.exists(path):\n        open(path, 'w').close()\n        os._exit(1)\n    return 1\n\n"
    "calls = [flaky.remote(f'f{number}') for number in range(3)] + [dies.remote(f'd{number}') for number in range(2)]\n"
    "ray.get([join.remote(call) for call in calls])",
    "map and reduce": "parts = [load.remote(number, 0.1 + 0.05 * (number % 3)) for number in range(8)]\n"
    "ray.get([join.remote(*(clean.remote(part) for part in parts)) for _ in range(3)])",
    "a pipeline of actors": "stages = [Counter.remote(seconds=seconds) for seconds in (0.1, 0.2, 0.05)]\n"
    "ends = []\nfor value in range(10):\n    for stage in stages:\n        value = stage.add.remote(value)\n"
    "    ends.append(value)\nray.get(ends)",
    "a pool of actors": "from ray.util import ActorPool\n\npool = ActorPool([Counter.remote() for _ in range(3)])\n"
    "list(pool.map_unordered(lambda actor, value: actor.add.remote(value), range(18)))",
    "a placement group": "from ray.util.placement_group import placement_group\n"
    "from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy\n\n"
    "group = placement_group([{'CPU': 1}])\nray.get(group.ready())\n"
    "inside = load.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group))\n"
    "ray.get([inside.remote(1) for _ in range(5)] + [load.remote(1) for _ in range(5)])",
    "as many at once as there is room for": "running, left = [], list(range(20))\nwhile running or left:\n"
    "    while left and len(running) < 4:\n        running.append(load.remote(left.pop(), random.random() / 3))\n"
    "    _, running = ray.wait(running)",
    "an actor that tasks ask": "store = Counter.remote(seconds=0.05)\n\n@ray.remote\ndef handle(number):\n"
    "    time.sleep(0.05)\n    return ray.get(store.add.remote(number))\n\n"
    "ray.get([handle.remote(number) for number in range(20)])",
}
"""Programs by what they wait for, the one that the tests run first."""
_TAIL: Final = "\ntime.sleep(1.5)\nray.shutdown()\n"
"""Ray writes its events each second."""
MANY: Final = 20
"""Of fewer, one that is wrong says nothing."""


def _say_what_ray_says(trials: int, folder: Path) -> Figures:
    figures, claims = Figures(), Claims()
    for text in [*PROGRAMS.values()][:trials]:
        with run_program(folder / f"{figures.trials}", f"{HEAD}{text}") as recording:
            claims.hold(*recording)
            claims.hold_told(*recording)
        figures.trials += 1
    figures.expect(holds=claims.told.total() >= trials, what=f"little is told: {claims.told}")
    for said, count in claims.told.items():
        is_right = claims.right[said] >= LEAST_RIGHT * count or count < MANY
        figures.expect(holds=is_right, what=f"{said}: {claims.right[said]} of {count} are right")
    figures.expect(holds=claims.share >= LEAST_RIGHT, what=[claims.right, claims.told, *claims.wrong])
    figures.expect(holds=not claims.different, what=claims.different)
    figures.notes = [f"{claims.tasks - len(claims.different)} of {claims.tasks} tasks told as Ray says"]
    figures.notes += [f"{claims.right.total()} of {claims.told.total()} right without its events"]
    figures.notes += [f"{said} {claims.right[said]} of {count}" for said, count in claims.told.most_common()]
    figures.notes.append(f"unknown {claims.unknown.total()}")
    return figures


@contextmanager
def run_program(folder: Path, text: str) -> Iterator[tuple[Path, Path]]:
    """Run a program to its end; a context that has the folders of its spans and of Ray's events."""
    folder.mkdir()
    with RaySession(folder) as session:
        session.write("program.py", f"{text}{_TAIL}")
        options = {**SMALL, "num_cpus": 3, "_tracing_startup_hook": HOOK, "log_to_driver": False}
        environment = {"SPANVIEW_DIR": str(folder / "spans"), **EVENTS}
        done = session.run("python program.py", environment, options)
        assert done.returncode == 0, done.stderr[-2_000:]
        yield folder / "spans", session.folder_of("export_events")


def needs_ray() -> str:
    """Say why a row can't be had; empty where it can."""
    return "" if find_spec("ray") else "there is no Ray here"


ROWS: Final = (
    Row(
        "37a",
        "what calls waited for, by Ray's own events",
        "programs",
        len(PROGRAMS),
        1,
        _say_what_ray_says,
        None,
        needs_ray,
    ),
)
