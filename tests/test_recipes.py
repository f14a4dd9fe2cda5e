"""The recipes of README and pages: taken from there as they are, run on real Ray, and looked at with spanview.

session            recipes                                       seen
-------            -------                                       ---------
ray start          ray-start-with-events, own-spans, message     calls, spans in their places, Ray's own events
ray.init           my_tracing.py, run-with-hook, EVENTS          calls, service, a thread's span, Ray's own events
ray.init           my_tracing.py where no worker can import it   calls without an attempt
ray.init           hook-with-events                              Ray's own events of the tasks that spans name
Ray Serve          serve-environment; serve-default in full      requests from the proxy to the second replica
Ray Serve          hook, serve-environment                       the same among Ray's calls, each span once
Ray Serve          serve-exporter, app.py, client                FastAPI's requests as one trace, as two, the caller's
Ray's own hook, bundled-hook, and its documentation's, docs_hook.py, are run by test_ray.py; ray-start by
test_ray_hook.py.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

import spanview as package
from hooked import left_in
from pages import RECIPES, TEXTS
from programs import spanview
from ray_sessions import CALLS, SMALL, RaySession, need, with_hook
from rays_word import attempts_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from subprocess import CompletedProcess

    from rays_word import Attempt
    from spanview.api.trace import Node, Trace

THREAD: Final = """
import threading

from opentelemetry import trace


def load():
    with trace.get_tracer("shop").start_as_current_span("load"):
        pass


@ray.remote
def train():
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()


ray.get(train.remote())
"""
MESSAGE: Final = """
import runpy

import ray
from opentelemetry import trace

# A program that joins has the cluster's hook: this one isn't even there.
ray.init(_tracing_startup_hook="nowhere:nothing")


@ray.remote
def work(message):
    runpy.run_module("arrived", {"message": message})


with trace.get_tracer("shop").start_as_current_span("sender"):
    message = runpy.run_module("made")["message"]
ray.get(work.remote(message))
runpy.run_module("no_context", run_name="__main__")
"""

EVENTS: Final = """
import glob
import os
import time

files = os.environ["RAY_TMPDIR"] + "/ray/session_2*/logs/export_events/event_EXPORT_TASK_*.log"
while not all("".join(open(path).read() for path in glob.glob(files)).count(state) >= 3 for state in ('"5":', '"8":')):
    time.sleep(0.05)
"""
"""It goes on once the driver has said that it sent its calls to workers, and these that they run."""


def succeeded(done: CompletedProcess[str]) -> None:
    """Let the test fail, with what was printed, where a program did."""
    assert done.returncode == 0, done.stdout + done.stderr


def calls_of(files: list[str]) -> dict[str, tuple[int, int, int, int]]:
    """Return how many calls, attempts, errors and calls without an attempt each function has; those with one waited."""
    found = json.loads(spanview("stats", "--by", "ray", "--json", *files).text)["functions"]
    for function in found:
        assert (function["wait_ns"]["max"] is not None) == (function["attempts"] > 0)
    keys = ("calls", "attempts", "errors", "no_attempt")
    return {function["function"]: tuple(function[key] for key in keys) for function in found}


def lines_of(trace: Trace) -> list[str]:
    """Return the names of each span and of all above it, root first, sorted."""
    found = []
    pending: list[tuple[Node, list[str]]] = [(root, []) for root in trace.roots]
    while pending:
        node, above = pending.pop()
        line = [*above, node.span.name if node.span else "?"]
        found.append(" > ".join(line))
        pending.extend((child, line) for child in node.children)
    return sorted(found)


def traces_of(files: list[str]) -> list[list[str]]:
    """Return the lines of each trace; all have to be complete."""
    traces = package.load(files).traces
    assert all(trace.complete for trace in traces)
    return sorted(lines_of(trace) for trace in traces)


def events_of(session: RaySession) -> Mapping[str, list[Attempt]]:
    """Return the attempts of each task that Ray has written events of; there are events of every kind."""
    events = session.folder_of("export_events")
    assert {"event_EXPORT_ACTOR.log", "event_EXPORT_NODE.log", "event_EXPORT_DRIVER_JOB.log"} <= {*os.listdir(events)}
    return attempts_in(events.glob("event_EXPORT_TASK_*.log"))


def check_events(session: RaySession) -> None:
    """Compare the three calls of `CALLS` with Ray's own events of their tasks."""
    attempts = events_of(session)
    ended = left_in(session.folder_of("spans")).ended
    calls = [span for span in ended if span["name"] == "__main__.double ray.remote"]
    assert len(calls) == 3
    for call in calls:
        (attempt,) = attempts[call["attributes"]["ray.task_id"]]
        # That it runs is the worker's to write, whose last lines are lost where its driver has ended by then.
        assert {"1", "2", "5"} <= attempt.states.keys()
        assert call["start_ns"] <= attempt.states["1"] <= call["end_ns"]


@pytest.fixture(scope="module")
def _ray() -> None:
    need("ray")


@pytest.fixture
def session(tmp_path: Path, _ray: None) -> Iterator[RaySession]:
    """Give a folder whose programs start a Ray of their own."""
    with RaySession(tmp_path) as session:
        yield session


TESTED: Final = {
    *(
        "hook-install",
        "hook",
        "bundled-hook",
        "ray-start",
        "hook-with-events",
        "ray-start-with-events",
        "docs_hook.py",
        "my_tracing.py",
        "run-with-hook",
        "own-spans",
        "message",
    ),
    *("serve-environment", "serve-default", "serve-exporter", "app.py", "client"),
}


def test_every_recipe_is_run() -> None:
    """Every block of code in the page about tracing is a recipe that a test runs, that of clusters beside `collect`."""
    assert set(RECIPES) == TESTED | {"collect"}
    part = TEXTS["spanview/docs/tracing.md"]
    assert len(re.findall("^```(?!$|yaml)", part, re.MULTILINE)) == part.count("<!-- recipe: ")


@pytest.mark.ray
def test_cluster_that_is_started_first(session: RaySession) -> None:
    """`ray start` with hook and events: programs that join are traced, with own spans, threads, messages and events."""
    imports, made, arrived = RECIPES["message"].split("\n\n")
    session.write("own_spans.py", RECIPES["own-spans"])
    without = RECIPES["own-spans"].replace("contextvars.copy_context().run, ", "").replace("ray.init()\n", "")
    session.write("no_context.py", without)
    session.write("made.py", f"{imports}\n{made}\n")
    session.write("arrived.py", f"{imports}\n{arrived}")
    session.write("message.py", MESSAGE)
    session.write("program.py", "import ray\n\nray.init()\n" + CALLS + EVENTS)
    programs = "python program.py\npython own_spans.py\npython message.py"
    succeeded(session.run(f"{RECIPES['ray-start-with-events']}\n{programs}", options={}))
    assert session.own_files() == []
    check_events(session)
    traces = traces_of([str(session.folder_of("spans"))])
    call = "program > __main__.train ray.remote"
    task = f"{call} > __main__.train ray.remote_worker"
    epoch = [f"{task} > epoch"] * 2
    loads = [f"{task} > epoch > load"] * 4
    assert traces == sorted(
        [
            sorted(["program", *[call] * 2, *[task] * 2, *epoch, *loads]),
            ["sender", "sender > handle"],
            ["__main__.work ray.remote", "__main__.work ray.remote > __main__.work ray.remote_worker"],
            sorted(["program", *[call] * 2, *[task] * 2, *epoch]),
            *[["load"]] * 4,
            *[["__main__.double ray.remote", "__main__.double ray.remote > __main__.double ray.remote_worker"]] * 3,
        ]
    )


@pytest.mark.ray
def test_hook_of_ones_own(session: RaySession) -> None:
    """A hook that names the service, writes elsewhere, and sets an instrumentor up; events as a variable asks for."""
    need("opentelemetry.instrumentation.threading")
    session.write("my_tracing.py", RECIPES["my_tracing.py"])
    told = "import os\nimport ray\nfrom spanview.ray import EVENTS\n\nos.environ.update(EVENTS)\n"
    session.write("program.py", told + with_hook("my_tracing:setup_tracing") + CALLS + THREAD + EVENTS)
    succeeded(session.run(f"{RECIPES['run-with-hook']}\n"))
    folder = session.folder / "my-spans"
    assert session.own_files() == []
    assert calls_of([str(folder)]) == {"__main__.double": (3, 3, 0, 0), "__main__.train": (1, 1, 0, 0)}
    store = package.load([str(folder)])
    assert {service for trace in store.traces for service in trace.services} == {"training"}
    call = "__main__.train ray.remote"
    task = f"{call} > __main__.train ray.remote_worker"
    assert [call, task, f"{task} > load"] in traces_of([str(folder)])
    states = [attempt.states.keys() for attempts in events_of(session).values() for attempt in attempts]
    assert sum({"1", "2", "5"} <= names for names in states) >= 3


@pytest.mark.ray
def test_hook_that_no_worker_finds(session: RaySession) -> None:
    """Without PYTHONPATH the driver finds the hook and no worker does: the call fails, and leaves no attempt."""
    need("opentelemetry.instrumentation.threading")
    session.write("my_tracing.py", RECIPES["my_tracing.py"])
    session.write("program.py", with_hook("my_tracing:setup_tracing") + CALLS.replace("range(3)", "range(1)"))
    environment = {"SPANS": str(session.folder / "my-spans"), "RAY_TASK_MAX_RETRIES": "0"}
    done = session.run("python program.py", environment, {**SMALL, "log_to_driver": True})
    assert done.returncode == 1
    printed = done.stdout + done.stderr
    assert 'Could not import module "my_tracing"' in printed
    assert "WorkerCrashedError" in printed
    assert calls_of([str(session.folder / "my-spans")]) == {"__main__.double": (1, 0, 0, 1)}


@pytest.mark.ray
def test_rays_own_events(session: RaySession) -> None:
    """Ray writes when each task that a call's span names was submitted, sent and run."""
    session.write("program.py", RECIPES["hook-with-events"] + CALLS + EVENTS)
    succeeded(session.run("python program.py"))
    check_events(session)


def free_port() -> int:
    """Return a port that nobody listened at a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: Any = taken.getsockname()[1]
    return int(port)


# The proxy and the replicas end their spans after the answer; to shut Ray Serve down in good order takes much longer.
WRITTEN: Final = """

def wait_until_written(folder, proxies, replicas):
    import glob
    import time

    def texts():
        return "".join(open(path).read() for path in glob.glob(folder, recursive=True)).replace('"name":"', '"name": "')

    for _ in range(400):
        if texts().count('"name": "proxy_') >= proxies and texts().count('"name": "replica_') >= replicas:
            break
        time.sleep(0.05)

"""
COMPOSED: Final = """
import os

import requests

import ray
from opentelemetry import trace
from ray import serve


@serve.deployment
class Model:
    def __call__(self, number):
        with trace.get_tracer("shop").start_as_current_span("predict"):
            return 2 * number


@serve.deployment
class Ingress:
    def __init__(self, model):
        self.model = model

    async def __call__(self, request):
        return await self.model.remote(int(request.query_params["number"]))


ray.init()
serve.start(http_options={"port": PORT})
serve.run(Ingress.bind(Model.bind()))
for number in range(3):
    assert requests.get(f"http://localhost:PORT/?number={number}").text == str(2 * number)
wait_until_written(os.environ["RAY_TMPDIR"] + "/**/session_2*/logs/serve/spans/*", 3, 6)
"""


SERVED: Final = (
    "proxy_http_request Ingress GET /",
    *("route_to_replica Ingress __call__", "replica_handle_request Ingress __call__"),
    *("route_to_replica Model __call__", "replica_handle_request Model __call__", "predict"),
)
"""The spans of a request, each below the one before."""


@pytest.mark.ray
@pytest.mark.parametrize(
    ("recipe", "place"),
    [("serve-environment", "spans"), ("serve-default", "serve/spans")],
    ids=["of spanview", "of Serve"],
)
@pytest.mark.shortened(1)
def test_serve_environment(session: RaySession, recipe: str, place: str) -> None:
    """Ray Serve's variables: every request is whole, from the proxy to the replica behind the replica."""
    need("ray.serve._private.tracing_utils", "fastapi")
    text = COMPOSED.replace("/logs/serve/spans/*", f"/logs/{place}/*")
    session.write("program.py", WRITTEN + text.replace("PORT", str(free_port())))
    succeeded(session.run(f"{RECIPES[recipe]}\npython program.py"))
    folder = session.folder_of(place)
    assert traces_of([str(folder)]) == [[" > ".join(SERVED[:length]) for length in range(1, 7)]] * 3


@pytest.mark.ray
def test_hook_and_serve_environment(session: RaySession) -> None:
    """The hook and the exporter of spanview at once: the same requests among Ray's calls, and each span once."""
    need("ray.serve._private.tracing_utils", "fastapi")
    started = COMPOSED.replace("ray.init()\n", RECIPES["hook"]).replace(
        "/logs/serve/spans/*", "/logs/spans/*[0-9].jsonl"
    )
    session.write("program.py", WRITTEN + started.replace("PORT", str(free_port())))
    succeeded(session.run(f"{RECIPES['serve-environment']}\npython program.py"))
    folder = session.folder_of("spans")
    ended = left_in(folder).ended
    assert {*Counter(span["span_id"] for span in ended).values()} == {1}
    above = {span["span_id"]: (span["name"], span["parent_id"]) for span in ended}
    chains = []
    for span in ended:
        if span["name"] == "predict":
            name, parent = above[span["span_id"]]
            chain = [name]
            while parent is not None:
                name, parent = above[parent]
                chain.append(name)
            chains.append([name for name in reversed(chain) if name in SERVED])
    assert chains == [[*SERVED]] * 3
    assert any(" ray.remote" in name for name, _ in above.values())
    roles = {span["attributes"].get("ray.actor_class", "") for span in ended if span["name"] in SERVED}
    assert len(roles) == 3, roles
    printed = "".join(path.read_text() for path in folder.parent.glob("worker-*.err"))
    assert "Traceback" not in printed


FASTAPI: Final = """
import subprocess

import requests

import ray
from ray import serve

ray.init()
import app
import plain

serve.start(http_options={"port": PORT})
serve.run(plain.app, name="plain", route_prefix="/plain")
serve.run(app.app)
assert requests.get("http://localhost:PORT/plain/double/2").text == "4"
assert requests.get("http://localhost:PORT/double/3").text == "6"
assert subprocess.run(["python", "client.py"], check=True, capture_output=True).stdout == b"8\\n"
wait_until_written("my-spans/*", 3, 3)
"""


@pytest.mark.ray
def test_serve_exporter_and_fastapi(session: RaySession) -> None:
    """A Serve exporter of one's own: with the instrumentor a FastAPI request is one trace, without it two."""
    instrumentors = (f"opentelemetry.instrumentation.{name}" for name in ("fastapi", "threading"))
    need("ray.serve._private.tracing_utils", *instrumentors)
    port = str(free_port())
    session.write("my_tracing.py", RECIPES["my_tracing.py"])
    session.write("app.py", RECIPES["app.py"])
    plain, removed = re.subn(
        r"^(from opentelemetry\.instr|FastAPIInstr).*\n", "", RECIPES["app.py"], flags=re.MULTILINE
    )
    assert removed == 2
    session.write("plain.py", plain)
    session.write("client.py", RECIPES["client"].replace("8000", port))
    session.write("program.py", WRITTEN + FASTAPI.replace("PORT", port))
    succeeded(session.run(f"{RECIPES['serve-exporter']}\npython program.py"))
    traces = traces_of([str(session.folder / "my-spans")])

    def handled(number: int) -> str:
        return (
            f"proxy_http_request Shop GET /double/{number} > route_to_replica Shop __call__"
            " > replica_handle_request Shop __call__"
        )

    leaf = [(lines[0], line) for lines in traces for line in lines if line.endswith("calculate")]
    assert sorted(line for _, line in leaf) == sorted(
        [
            f"client > {handled(4)} > GET /double/{{number}} > calculate",
            f"{handled(3)} > GET /double/{{number}} > calculate",
            "GET /plain/double/{number} > fastapi.endpoint > calculate",
        ]
    )
    assert sorted(lines[0] for lines in traces) == sorted(
        ["client", handled(3).split(" > ")[0], handled(2).split(" > ")[0], "GET /plain/double/{number}"]
    )
    assert any(lines[-1] == handled(2) for lines in traces)
