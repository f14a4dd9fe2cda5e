"""spanview's hook on real Ray, held against the lists that the programs write themselves.

what happens                                          its spans
------------                                          ---------
tasks, actors, spans of the program's own             ended
a generator: task, actor, async actor                 ended when it is exhausted, with what it did below it
one that fails, one that is cancelled                 ended, the first with its error
a static and a class method                           ended, like any method
a class that was decorated before there was a Ray     the same
SIGKILL, os._exit, ray.kill                           started, and whatever had ended before
sys.exit, exit_actor                                  ended
an actor that dies and is restarted                   started; ended by the second attempt
the driver is killed in a span                        started
another driver, with a runtime environment            ended, in files of its own
any call                                              names the task that it submits, and that which submits it
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import spanview as package
from hooked import Left, left_in
from pages import RECIPES
from programs import spanview
from ray_sessions import RaySession, need

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.ray

SHARED: Final = '''
import os
import sys
import time

import ray
from opentelemetry import trace


def note(what, span=None, **more):
    """Write to the program's own list."""
    import json

    context = (span or trace.get_current_span()).get_span_context()
    line = json.dumps({"what": what, "id": f"{context.span_id:016x}", "pid": os.getpid(), **more})
    out = os.open(os.environ["LIST"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(out, line.encode() + b"\\n")
    os.close(out)


def inner(name):
    with trace.get_tracer("program").start_as_current_span(name) as span:
        note("started", span)
        time.sleep(0.01)
    note("ended", span)


def first_time(name):
    try:
        os.close(os.open(os.environ["LIST"] + name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

'''
FIRST: Final = (
    SHARED
    + '''
@ray.remote
class Early:
    """It is decorated before there is a session."""

    def items(self, number):
        note("started")
        for _ in range(number):
            inner("early item")
            yield 1

    @staticmethod
    def static(number):
        inner("in static")
        return number

    @classmethod
    def of_class(cls, **named):
        inner("in class method")
        return [cls.__name__, named]


ray.init()


@ray.remote
class Late:
    def items(self, **named):
        for _ in range(named["number"]):
            inner("late item")
            yield named

    async def not_async(self):
        return 1


@ray.remote
class Async:
    async def items(self, number):
        for _ in range(number):
            inner("async item")
            yield 1

    async def value(self):
        inner("in async")
        return 1


@ray.remote
def leaf(number):
    inner("in leaf")
    return number


@ray.remote
def stream(number):
    for _ in range(number):
        inner("item")
        yield ray.get(leaf.remote(1))


@ray.remote
def stream_that_fails():
    inner("before it fails")
    yield 1
    raise ValueError("meant to fail")


@ray.remote(max_retries=0)
def dies(how):
    note("lost")
    inner("before it dies")
    if how == "kill":
        os.kill(os.getpid(), 9)
    elif how == "_exit":
        os._exit(1)
    sys.exit(1)


@ray.remote(max_restarts=1, max_task_retries=1)
class Restarted:
    def work(self):
        if first_time("restarted"):
            note("lost")
            os._exit(1)
        note("started")
        return 1


@ray.remote
class Killed:
    def wait(self):
        note("lost")
        first_time("waits")
        time.sleep(60)

    def leave(self):
        note("started")
        ray.actor.exit_actor()


@ray.remote(num_returns=2)
def pair():
    return 1, 2


@ray.remote(num_returns=0)
def nothing():
    ray.get(leaf.remote(2))


def fails(call):
    try:
        ray.get(call)
    except Exception:
        return True
    return False


def taken(items):
    return [ray.get(item) for item in items]


with trace.get_tracer("program").start_as_current_span("driver"):
    note("lost")
    assert ray.get([leaf.remote(number) for number in range(3)]) == [0, 1, 2]
    assert ray.get(leaf.options(name="named").remote(1)) == 1
    assert taken(stream.remote(3)) == [1, 1, 1]
    items = stream_that_fails.remote()
    assert ray.get(next(items)) == 1 and fails(next(items))
    early, late, other = Early.remote(), Late.remote(), Async.remote()
    assert taken(early.items.remote(3)) == [1, 1, 1]
    assert ray.get(early.static.remote(7)) == 7
    assert ray.get(early.of_class.remote(key=1)) == ["Early", {"key": 1}]
    assert taken(late.items.remote(number=3)) == [{"number": 3}] * 3
    assert taken(other.items.remote(3)) == [1, 1, 1] and ray.get(other.value.remote()) == 1
    assert ray.get(pair.remote()) == [1, 2] and nothing.remote() is None
    once = [Late.options(name="once", get_if_exists=True, num_cpus=0).remote() for _ in range(2)]
    assert ray.get([each.not_async.remote() for each in once]) == [1, 1]
    for actor in (early, late, other, once[0]):
        ray.kill(actor)
    for how in ("kill", "_exit"):
        assert fails(dies.remote(how))
    assert ray.get(Restarted.options(num_cpus=0).remote().work.remote()) == 1
    killed = Killed.options(num_cpus=0).remote()
    call = killed.wait.remote()
    while not os.path.exists(os.environ["LIST"] + "waits"):
        time.sleep(0.01)
    ray.kill(killed)
    assert fails(call)
    assert fails(Killed.options(num_cpus=0).remote().leave.remote())
    print("all done", flush=True)
    os.kill(os.getpid(), 9)
'''
)
SECOND: Final = (
    SHARED
    + """
ray.init(runtime_env={"env_vars": {"OTEL_RESOURCE_ATTRIBUTES": "team=blue"}})


@ray.remote
def leaf(number):
    inner("in leaf")
    return number


assert ray.get([leaf.remote(number) for number in range(2)]) == [0, 1]
ray.shutdown()
"""
)


@dataclass(frozen=True, slots=True)
class Recording:
    """What two programs left."""

    left: Left
    notes: list[dict[str, Any]]
    """Their own list."""
    folder: str
    strangers: list[str]
    """Files in the folder of Ray's own hooks."""

    def ids(self, what: str) -> Counter[str]:
        """Return the ids of the list."""
        return Counter(note["id"] for note in self.notes if note["what"] == what)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Run them, one after the other, on a cluster that has the hook."""
    need("ray")
    with RaySession(tmp_path_factory.mktemp("hook")) as session:
        session.write("first.py", FIRST)
        session.write("second.py", SECOND)
        commands = f"{RECIPES['ray-start']}\npython first.py || test $? = 137\npython second.py\n"
        done = session.run(commands, {"LIST": str(session.folder / "list")}, options={"log_to_driver": False})
        assert done.returncode == 0, done.stdout + done.stderr
        assert "all done" in done.stdout, done.stdout + done.stderr
        folder = session.folder_of("spans")
        notes = [json.loads(line) for line in (session.folder / "list").read_text().splitlines()]
        yield Recording(left_in(folder), notes, str(folder), session.own_files())


def _by_id(spans: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {span["span_id"]: span for span in spans}


def test_all_that_ended_is_there_once(recording: Recording) -> None:
    """Each span whose end the programs had seen is in a file, one time."""
    expected = recording.ids("ended")
    found = Counter(span["span_id"] for span in recording.left.ended)
    assert sum(expected.values()) == 28
    assert {name: found[name] for name in expected} == expected
    assert set(found.values()) == {1}


def test_all_that_started_is_marked(recording: Recording) -> None:
    """Each span that a program was in has a mark, as has each that ended; those that are lost have no end."""
    marked, ended = _by_id(recording.left.started), _by_id(recording.left.ended)
    assert len(marked) == len(recording.left.started)
    assert {*recording.ids("started"), *recording.ids("lost"), *ended} <= {*marked}
    assert {*marked} - {*ended} == {*recording.ids("lost")}
    assert sorted(marked[name]["name"] for name in recording.ids("lost")) == [
        "Killed.wait ray.remote_worker",
        "Restarted.work ray.remote_worker",
        "__main__.dies ray.remote_worker",
        "__main__.dies ray.remote_worker",
        "driver",
    ]
    for name, mark in marked.items():
        if span := ended.get(name):
            same = ("trace_id", "parent_id", "name", "kind", "start_ns", "resource")
            assert [mark[key] for key in same] == [span[key] for key in same]


def test_marks_name_what_was_lost(recording: Recording) -> None:
    """A mark has the process and the task that died with it."""
    marked = _by_id(recording.left.started)
    for note in recording.notes:
        mark = marked[note["id"]]
        assert mark["resource"]["process.pid"] == note["pid"]
        assert ("ray.task_id" in mark["attributes"]) == (mark["name"] != "driver")


def test_generators_last_until_they_are_exhausted(recording: Recording) -> None:
    """What a generator does is below its span, which ends after it; one that fails has its error."""
    spans = recording.left.ended
    below: dict[str, list[dict[str, Any]]] = {}
    for span in spans:
        below.setdefault(span["parent_id"] or "", []).append(span)
    items = {
        "__main__.stream ray.remote_worker": "item",
        "Early.items ray.remote_worker": "early item",
        "Late.items ray.remote_worker": "late item",
        "Async.items ray.remote_worker": "async item",
    }
    for name, item in items.items():
        (span,) = [span for span in spans if span["name"] == name]
        inside = [each for each in below[span["span_id"]] if each["name"] == item]
        assert len(inside) == 3
        assert span["start_ns"] <= min(each["start_ns"] for each in inside)
        assert span["end_ns"] >= max(each["end_ns"] for each in inside)
        (call,) = [each for each in spans if each["span_id"] == span["parent_id"]]
        assert (call["kind"], call["name"]) == ("SpanKind.PRODUCER", name.removesuffix("_worker"))
    (failed,) = [span for span in spans if span["name"] == "__main__.stream_that_fails ray.remote_worker"]
    assert (failed["status"], failed["description"]) == ("ERROR", "ValueError: meant to fail")
    assert [each["name"] for each in below[failed["span_id"]]] == ["before it fails"]
    for method in ("static", "of_class"):
        (span,) = [span for span in spans if span["name"] == f"Early.{method} ray.remote_worker"]
        assert span["attributes"]["ray.actor_class"] == "Early"
        assert len(below[span["span_id"]]) == 1


def test_attempts_say_which_they_are(recording: Recording) -> None:
    """A task's id, its attempt, and a name that a call was given are on the CONSUMER.

    Ray doesn't tell an async actor's methods which attempt they are.
    """
    attempts = [span for span in recording.left.ended if span["kind"] == "SpanKind.CONSUMER"]
    assert all("ray.task_id" in span["attributes"] for span in attempts)
    without = {span["name"].partition(".")[0] for span in attempts if "ray.attempt" not in span["attributes"]}
    assert without == {"Async", "Late"}
    retried = {span["name"] for span in attempts if span["attributes"].get("ray.attempt")}
    assert retried == {"Restarted.__init__ ray.remote_worker", "Restarted.work ray.remote_worker"}
    named = [span["name"] for span in attempts if span["attributes"].get("ray.task_name") == "named"]
    assert named == ["__main__.leaf ray.remote_worker"]
    assert sum("ray.task_name" in span["attributes"] for span in attempts) == 1
    for span in attempts:
        if span["attributes"]["ray.remote"] == "actor":
            assert span["attributes"]["ray.actor_id"] in span["attributes"]["ray.task_id"]


def test_attempts_say_what_ended_them(recording: Recording) -> None:
    """One that was told to exit neither returned nor failed; all others ended by themselves."""
    attempts = [span for span in recording.left.ended if span["kind"] == "SpanKind.CONSUMER"]
    ended_by = {span["name"]: span["attributes"].get("ray.ended_by") for span in attempts}
    assert ended_by["Killed.leave ray.remote_worker"] == "SystemExit: exit_actor() is called."
    assert {name for name, by in ended_by.items() if by} == {"Killed.leave ray.remote_worker"}


def test_calls_name_their_tasks(recording: Recording) -> None:
    """A call's span has the id of the task that its attempts are of, and of the task that it was submitted by."""
    spans = _by_id(recording.left.started) | _by_id(recording.left.ended)
    of_call: dict[str, set[str]] = {}
    for span in spans.values():
        if span["kind"] == "SpanKind.CONSUMER":
            of_call.setdefault(span["parent_id"], set()).add(span["attributes"]["ray.task_id"])
    calls = [span for span in spans.values() if span["kind"] == "SpanKind.PRODUCER"]
    named = [call for call in calls if "ray.submitter_task_id" in call["attributes"]]
    # One returns nothing, one finds an actor, and one creates it below itself.
    assert Counter(call["name"] for call in calls if call not in named) == {
        "__main__.nothing ray.remote": 1,
        "Late.__init__ ray.remote": 2,
    }
    assert len(named) > 30
    for call in named:
        assert of_call.get(call["span_id"], {call["attributes"]["ray.task_id"]}) == {call["attributes"]["ray.task_id"]}
        above = spans.get(call["parent_id"])
        is_of_task = above is not None and "ray.task_id" in above["attributes"]
        submitter = above["attributes"]["ray.task_id"] if above is not None and is_of_task else "f" * 40
        assert call["attributes"]["ray.submitter_task_id"].startswith(submitter)
    assert {call["span_id"] for call in calls if call not in named} & of_call.keys() == {
        call["span_id"] for call in calls if call["name"] == "__main__.nothing ray.remote"
    }


def test_files_are_of_one_process_each(recording: Recording) -> None:
    """Each file is named after node, PID and start, and has one resource, with the service that the driver gives."""
    assert recording.strangers == []
    resources = {json.dumps(span["resource"]): span["resource"] for span in recording.left.ended}
    by_file = Counter(str(resource["process.pid"]) for resource in resources.values())
    assert set(by_file.values()) == {1}
    for path in recording.left.files:
        node, pid, _ = re.fullmatch(r"([0-9a-f]{12})-([0-9]+)-([0-9]{13})(?:\.started)?\.jsonl", path.name).groups()  # type: ignore[union-attr]
        assert (pid, node) in {
            (str(resource["process.pid"]), resource["ray.node_id"][:12]) for resource in resources.values()
        }
    assert len({resource["ray.version"] for resource in resources.values()}) == 1
    sessions = {(resource["ray.session_dir"], resource["ray.session"]) for resource in resources.values()}
    assert sessions == {(str(session := Path(recording.folder).parents[1]), session.name)}
    services = {resource["ray.job_id"]: resource["service.name"] for resource in resources.values()}
    assert services == {"01000000": "first", "02000000": "second"}
    assert len({resource["service.name"] + resource["ray.job_id"] for resource in resources.values()}) == 2
    of_second = [each for each in resources.values() if each["ray.job_id"] == "02000000"]
    workers = [each for each in of_second if not each["ray.worker_id"].endswith("f" * 40)]
    assert workers
    assert {each["team"] for each in workers} == {"blue"}


def test_spanview_reads_it(recording: Recording) -> None:
    """The calls are counted with their run times; nothing is torn, skipped or doubled."""
    files = [str(path) for path in recording.left.files if ".started" not in path.name]
    found = json.loads(spanview("stats", "--by", "ray", "--json", *files).text)["functions"]
    attempts = {each["function"]: (each["calls"], each["attempts"], each["errors"]) for each in found}
    expected = {"__main__.stream": (1, 1, 0), "__main__.stream_that_fails": (1, 1, 1), "__main__.dies": (2, 0, 0)}
    assert {name: attempts[name] for name in expected} == expected
    (stream,) = [each for each in found if each["function"] == "__main__.stream"]
    assert stream["run_ns"]["max"] >= 30_000_000
    report = json.loads(spanview("check", "--json", *files).text)
    assert report["summary"]["spans"] == len(recording.left.ended)
    assert report["problems"] == []
    assert sum(trace.span_count for trace in package.load(files).traces) == len(recording.left.ended)
