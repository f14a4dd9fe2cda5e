"""Healthy programs of every kind, ended in every orderly way: nothing is found that is more than an info.

Each is a real Ray program under spanview's hook, in a session of its own. One more, whose worker is killed, shows that
`check` would say so.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from programs import spanview
from ray_sessions import SMALL, RaySession

from .figures import Figures, Row

if TYPE_CHECKING:
    from pathlib import Path

_HOOK: Final = "spanview.ray.hook:setup_tracing"
_ACTOR: Final = """
import asyncio, sys, time
import ray
from ray.util import ActorPool

@ray.remote
class Worker:
    def add(self, number):
        return number + 1
    def items(self):
        yield from (number for number in range(3))
    def run(self):
        while True:
            time.sleep(0.1)

@ray.remote
class Async:
    async def run(self):
        while True:
            await asyncio.sleep(0.1)
    async def add(self, number):
        return number + 1
    async def items(self):
        for number in range(3):
            yield number

@ray.remote
class Leaving:
    def stay(self, number):
        return number
    def leave(self):
        ray.actor.exit_actor()

@ray.remote
def add(number):
    return number + 1

@ray.remote
def outer(number):
    return sum(ray.get([add.remote(each) for each in range(number)]))

@ray.remote
def items(count):
    yield from (number for number in range(count))

"""
_INIT: Final = f"{_ACTOR}ray.init()\n"
_SERVE: Final = """
import urllib.request
import ray
from ray import serve

@serve.deployment
class Inner:
    async def __call__(self, number):
        return number + 1

@serve.deployment
class Outer:
    def __init__(self, inner=None):
        self.inner = inner
    async def __call__(self, request):
        return "hi" if self.inner is None else await self.inner.remote(request)

def ask(count):
    for _ in range(count):
        assert urllib.request.urlopen("http://127.0.0.1:8000/").read() == b"hi"

ray.init()
"""
_OF_SERVE: Final = {
    "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH": "spanview.ray.hook:span_processors",
    "RAY_SERVE_TRACING_SAMPLING_RATIO": "1.0",
}
_LISTENING: Final = (
    "worker = Async.options({}).remote()\nworker.run.remote()\nassert ray.get(worker.add.remote(1)) == 2\n"
)
PROGRAMS: Final = {
    "an actor that runs until the end": _INIT + _LISTENING.format(""),
    "Serve, ray.shutdown alone": f"{_SERVE}serve.run(Outer.bind())\nask(3)\nray.shutdown()\n",
    "a compiled graph": f"""{_INIT}from ray.dag import InputNode
first, second = Worker.remote(), Worker.remote()
with InputNode() as number:
    graph = second.add.bind(first.add.bind(number)).experimental_compile()
assert [ray.get(graph.execute(number)) for number in range(5)] == [2, 3, 4, 5, 6]
graph.teardown()
""",
    "a detached actor, ray.shutdown": _INIT + _LISTENING.format("name='d', lifetime='detached'") + "ray.shutdown()\n",
    "Serve, serve.shutdown": f"{_SERVE}serve.run(Outer.bind())\nask(3)\nserve.shutdown()\n",
    "Serve by a handle": f"{_SERVE}handle = serve.run(Outer.bind(Inner.bind()))\n"
    "assert handle.remote(1).result() == 2\nserve.shutdown()\nray.shutdown()\n",
    "Serve that simply ends": f"{_SERVE}serve.run(Outer.bind())\nask(1)\n",
    "tasks": f"{_INIT}assert ray.get(outer.remote(3)) == 6\n",
    "tasks, ray.shutdown": f"{_INIT}assert ray.get(outer.remote(3)) == 6\nray.shutdown()\n",
    "tasks, sys.exit": f"{_INIT}assert ray.get(outer.remote(3)) == 6\nsys.exit(0)\n",
    "tasks in a context": f"{_ACTOR}with ray.init():\n    assert ray.get(outer.remote(3)) == 6\n",
    "a task that runs until the end": f"{_INIT}@ray.remote\ndef forever():\n    time.sleep(600)\n\n"
    "task = forever.remote()\nassert ray.get(add.remote(1)) == 2\n",
    "an actor pool": f"{_INIT}pool = ActorPool([Worker.remote(), Worker.remote()])\n"
    "assert [*pool.map(lambda worker, number: worker.add.remote(number), range(4))] == [1, 2, 3, 4]\n",
    "threads of an actor": f"{_INIT}worker = Worker.options(max_concurrency=3).remote()\n"
    "worker.run.remote()\nassert ray.get(worker.add.remote(1)) == 2\n",
    "generators": f"{_INIT}worker, other = Worker.remote(), Async.remote()\n"
    "made = [items.remote(3), worker.items.options(num_returns='streaming').remote(), "
    "other.items.options(num_returns='streaming').remote()]\n"
    "assert [[ray.get(item) for item in each] for each in made] == [[0, 1, 2]] * 3\n",
    "an actor that is there already": f"{_INIT}named = Worker.options(name='w', get_if_exists=True)\n"
    "workers = [named.remote(), named.remote()]\n"
    "assert ray.get([worker.add.remote(1) for worker in workers]) == [2, 2]\n",
    "ray.kill of an actor": _INIT + _LISTENING.format("") + "ray.kill(worker)\ntime.sleep(1)\n",
    "two sessions in one process": f"{_INIT}assert ray.get(add.remote(1)) == 2\nray.shutdown()\n"
    "ray.init()\nassert ray.get(add.remote(2)) == 3\nray.shutdown()\n",
    "an actor that exits": f"{_INIT}worker = Leaving.remote()\nassert ray.get(worker.stay.remote(1)) == 1\n"
    "try:\n    ray.get(worker.leave.remote())\nexcept ray.exceptions.RayActorError:\n    time.sleep(1)\n",
    "an actor that nobody holds": f"{_INIT}worker = Worker.remote()\nassert ray.get(worker.add.remote(1)) == 2\n"
    "del worker\ntime.sleep(1)\n",
    "workers of one call": f"{_INIT}@ray.remote(max_calls=1)\ndef once(number):\n    return number + 1\n\n"
    "assert ray.get([once.remote(number) for number in range(4)]) == [1, 2, 3, 4]\ntime.sleep(1)\n",
    "a generator that is closed early": f"{_INIT}made = items.remote(1_000_000)\n"
    "assert ray.get(next(made)) == 0\ndel made\ntime.sleep(1)\n",
    "a call that is cancelled": f"{_INIT}worker = Async.remote()\ncall = worker.run.remote()\n"
    "assert ray.get(worker.add.remote(1)) == 2\nray.cancel(call)\n"
    "try:\n    ray.get(call)\nexcept ray.exceptions.TaskCancelledError:\n    pass\n",
    "a pool of processes": f"{_INIT}from ray.util.multiprocessing import Pool\n"
    "with Pool(2) as pool:\n    assert pool.map(abs, [-1, -2]) == [1, 2]\n",
    "a queue": f"{_INIT}from ray.util.queue import Queue\nqueue = Queue()\n"
    "queue.put(1)\nassert queue.get() == 1\nqueue.shutdown()\n",
    "a driver of asyncio": f"{_INIT}async def main():\n    worker = Async.remote()\n"
    "    assert await asyncio.gather(worker.add.remote(1), add.remote(2)) == [2, 3]\n\nasyncio.run(main())\n",
    "Serve in batches, deployed anew": f"{_SERVE}@serve.deployment\nclass Batches:\n"
    "    @serve.batch(max_batch_size=2, batch_wait_timeout_s=0.01)\n"
    "    async def say(self, requests):\n        return ['hi' for _ in requests]\n"
    "    async def __call__(self, request):\n        return await self.say(request)\n\n"
    "for deployed in (Batches.bind(), Outer.bind()):\n    serve.run(deployed)\n    ask(3)\n"
    "serve.delete('default')\nserve.shutdown()\n",
}
"""Programs by what they are, the one that the tests run first."""
_KILLED: Final = f"""{_INIT}import os
@ray.remote(max_retries=0)
def killed():
    with open("pid.part", "w") as out:
        out.write(str(os.getpid()))
    os.rename("pid.part", "pid")
    time.sleep(600)

call = killed.remote()
while not os.path.exists("pid"):
    time.sleep(0.1)
os.kill(int(open("pid").read()), 9)
time.sleep(2)
"""


def _find_nothing(trials: int, folder: Path) -> Figures:
    """Run so many programs, and one whose worker is killed."""
    figures = Figures()
    for what, text in [*PROGRAMS.items()][:trials]:
        found = _found(folder / f"{figures.trials}", text)
        figures.expect(holds=not found, what=f"{what}: {found}")
        figures.trials += 1
    killed = _found(folder / "killed", _KILLED)
    figures.expect(holds=len(killed) == 1 and "__main__.killed is lost" in killed[0], what=f"a killed worker: {killed}")
    return figures


def _found(folder: Path, text: str) -> list[str]:
    """Run a program; return what is found of it above an info, or how it failed."""
    folder.mkdir()
    with RaySession(folder) as session:
        session.write("program.py", text)
        options = {**SMALL, "_tracing_startup_hook": _HOOK, "log_to_driver": False}
        environment = {"SPANVIEW_DIR": str(folder / "spans"), **_OF_SERVE}
        done = session.run("python program.py", environment, options)
        if done.returncode:
            return [done.stderr[-2_000:]]
        checked = spanview("check", "--json", folder / "spans", environment={"RAY_TMPDIR": session.tmpdir})
    if not checked.output:
        return [checked.notices[-2_000:]]
    report = json.loads(checked.output)
    if not report["summary"]["spans"]:
        return ["no span was written"]
    found = [finding["detail"] for finding in report["findings"] if finding["severity"] != "info"]
    return found or [str(report["verdict"])] * checked.status


def _no_ray() -> str:
    return "" if find_spec("ray") else "there is no Ray here"


ROWS: Final = (
    Row("36", "healthy programs, ended in order", "programs", len(PROGRAMS), 1, _find_nothing, None, _no_ray),
)
