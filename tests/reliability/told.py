"""What Ray's own events say of many short calls of every kind, held against an independent reader of their lines.

Each program is a real one of its own, under spanview's hook, in a session that writes Ray's events, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claims import LEAST_RIGHT, Claims

from .causes import HEAD, needs_ray, run_program
from .figures import Figures, Row

if TYPE_CHECKING:
    from pathlib import Path

_HEAD: Final = f"""{HEAD}
def rest(most=0.02):
    time.sleep(random.random() * most)

def wait_for(calls):
    for call in calls:
        try:
            ray.get(call, timeout=60)
        except Exception:
            pass

@ray.remote
def step(*values):
    rest()
    return 1

@ray.remote
def nest(depth):
    return sum(ray.get([nest.remote(depth - 1) for _ in range(2)])) if depth else ray.get(step.remote())

@ray.remote(max_retries=0)
def fail(*values):
    raise ValueError("on purpose")

@ray.remote(num_cpus=0)
class Worker:
    def __init__(self, *values, fails=False):
        rest(0.1)
        self.calls = 0
        if fails:
            raise ValueError("on purpose")
    def go(self, *values):
        rest()
        self.calls += 1
        return self.calls
    def fail(self):
        raise ValueError("on purpose")
    def die(self):
        os._exit(1)
    def leave(self):
        ray.actor.exit_actor()
    async def wait(self, *values):
        await asyncio.sleep(0.02)

"""
_PROGRAMS: Final = {
    "arguments, calls in calls, more than there are workers": "ends = []\nfor number in range(110):\n"
    "    first = step.remote()\n    second = step.remote(first, number)\n    ends.append(step.remote(first, second))\n"
    "wait_for(ends)\nfor _ in range(6):\n    wait_for([nest.remote(2)])",
    "actors of every kind": "one, two = Worker.remote(), Worker.options(max_concurrency=3).remote(step.remote())\n"
    "many = Worker.options(num_cpus=0.1).remote(load.remote(1, 0.3))\n"
    "named = [Worker.options(name='only', get_if_exists=True).remote() for _ in range(3)]\n"
    "actors = [one, two, many, *named]\n"
    "calls = [actor.go.remote(*([step.remote()] if number % 3 else [])) for number in range(40) for actor in actors]\n"
    "calls += [actor.fail.remote() for actor in actors for _ in range(5)]\n"
    "broken, dying = Worker.remote(fails=True), Worker.remote()\n"
    "again = Worker.options(max_restarts=2, max_task_retries=1).remote()\n"
    "calls += [broken.go.remote() for _ in range(15)]\nwait_for(calls)\n"
    "calls = [dying.go.remote() for _ in range(10)] + [dying.die.remote()] + [dying.go.remote() for _ in range(15)]\n"
    "calls += [again.go.remote() for _ in range(10)]\nwait_for(calls)\nagain.die.remote()\n"
    "calls = [again.go.remote() for _ in range(10)]\n"
    "calls += [one.go.remote() for _ in range(30)]\ntime.sleep(0.1)\nray.kill(one)\n"
    "calls += [one.go.remote() for _ in range(5)]\n"
    "calls += [two.leave.remote()] + [two.go.remote() for _ in range(5)]\nwait_for(calls)",
    "what fails, is cancelled, dies and is tried again": "calls = [fail.remote() for _ in range(40)]\n"
    "calls += [step.remote(fail.remote()) for _ in range(40)]\n"
    "calls += [step.remote(step.remote(call)) for call in calls]\n"
    "@ray.remote(max_retries=2, retry_exceptions=True)\ndef flaky(path):\n    if not os.path.exists(path):\n"
    "        open(path, 'w').close()\n        raise ValueError(path)\n    return 1\n\n"
    "@ray.remote(max_retries=1)\ndef dies(path):\n    if not os.path.exists(path):\n"
    "        open(path, 'w').close()\n        os._exit(1)\n    return 1\n\n"
    "calls += [step.remote(flaky.remote(f'f{number}')) for number in range(30)]\n"
    "calls += [step.remote(dies.remote(f'd{number}')) for number in range(3)]\nwait_for(calls)\n"
    "lost = dies.options(max_retries=0).remote('lost')\nwait_for([step.remote(lost)])\n"
    "busy = [load.remote(number, 1.0) for number in range(3)]\ntime.sleep(0.3)\n"
    "queue = [step.remote() for _ in range(60)]\nfor call in queue[::2]:\n    ray.cancel(call)\n"
    "ray.cancel(busy[0])\nray.cancel(busy[1], force=True)\n"
    "queue += [step.remote(busy[0])]\nwait_for([*busy, *queue])\n"
    "never = [step.options(num_gpus=1).remote() for _ in range(10)]\n"
    "after = [step.remote(call) for call in never]",
    "generators, threads that submit, compiled graphs": "import threading\n\n"
    "@ray.remote(num_returns='streaming')\ndef stream(count):\n    for number in range(count):\n        rest(0.005)\n"
    "        yield number\n\n"
    "def submit():\n    wait_for([step.remote(step.remote()) for _ in range(40)])\n\n"
    "threads = [threading.Thread(target=submit) for _ in range(3)]\nfor thread in threads:\n    thread.start()\n"
    "parts = [ref for _ in range(10) for ref in stream.remote(4)]\nwait_for([step.remote(part) for part in parts])\n"
    "for thread in threads:\n    thread.join()\n"
    "from ray.dag import InputNode\n\nworkers = [Worker.remote() for _ in range(2)]\nwith InputNode() as value:\n"
    "    for worker in workers:\n        value = worker.go.bind(value)\n"
    "graph = value.experimental_compile()\nfor number in range(20):\n    ray.get(graph.execute(number))\n"
    "graph.teardown()\n\n@ray.remote(num_cpus=0)\nclass Async:\n    async def go(self):\n"
    "        await asyncio.sleep(0.01)\n    async def items(self, count):\n"
    "        for number in range(count):\n            yield number\n\n"
    "actor = Async.options(max_concurrency=4).remote()\nwait_for([actor.go.remote() for _ in range(60)])\n"
    "slow = [actor.go.remote() for _ in range(20)]\nfor call in slow[::3]:\n    ray.cancel(call)\nwait_for(slow)",
    "resources, environments, placement groups": "from ray.util.placement_group import placement_group\n"
    "from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy\n\n"
    "wide = step.options(num_cpus=2)\ndisk = step.options(num_cpus=0, resources={'disk': 1})\n"
    "tiny = step.options(num_cpus=0.25)\nown = step.options(runtime_env={'env_vars': {'X': '1'}})\n"
    "kinds = [wide, disk, tiny, step]\n"
    "calls = [kinds[number % 4].remote() for number in range(360)] + [own.remote() for _ in range(20)]\n"
    "group = placement_group([{'CPU': 1}])\nwait_for([group.ready()])\n"
    "inside = step.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group))\n"
    "calls += [inside.remote() for _ in range(60)]\n"
    "large = ray.put(bytes(5_000_000))\ncalls += [step.remote(large, call) for call in calls[:40]]\nwait_for(calls)",
}
"""Programs by what they try, hundreds of calls each."""


def _say_all_of_it(trials: int, folder: Path) -> Figures:
    figures, claims = Figures(), Claims()
    for number, text in enumerate(_PROGRAMS.values()):
        if claims.tasks < trials:
            with run_program(folder / f"{number}", f"{_HEAD}{text}") as recording:
                claims.hold_told(*recording)
                claims.hold(*recording)
    figures.trials = claims.tasks
    figures.expect(holds=claims.share >= LEAST_RIGHT, what=[claims.right, claims.told, *claims.wrong])
    for each in claims.different:
        figures.expect(holds=False, what=each)
    figures.notes = [f"{claims.right.total()} of {claims.told.total()} right without its events"]
    figures.notes += [f"{count} {what}" for what, count in claims.kinds.most_common()]
    return figures


ROWS: Final = (
    Row("37b", "the same, and what became of them, call by call", "tasks", 2_000, 100, _say_all_of_it, None, needs_ray),
)
