"""What is probably running, told by which processes are alive, and what they call themselves.

file      process   what it holds
7.txt     7         the caller: f ray.remote, A.g ray.remote (of actor a1), each twice, B.h ray.remote (of actor b1)
8.txt     8         a worker: f ray.remote_worker, of the first f
9.txt     9         the process of actor a1: A.g ray.remote_worker, of the first g
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS, Builder
from hosts import FakeHost
from rays_word import NODE, line_of
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.query import select
from spanview.analysis.query.query import parse_query
from spanview.analysis.ray import unended
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.running import Running
from spanview.sources.loading import load_store
from spanview.sources.processes import Processes
from viewers import Growing

if TYPE_CHECKING:
    from spanview.analysis.ray.running import Assessment

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
CALLER, WORKER, ACTOR, NEW = 7, 8, 9, 10
ALL: Final = frozenset((CALLER, WORKER, ACTOR))
A1: Final = {"ray.remote": "actor", "ray.actor_id": "a1"}
F, G, H = 3, 4, 5
"""The span ids of the calls without an attempt."""
GONE: Final = f"unknown: its caller, pid {CALLER}, isn't running here"
ENDED: Final = f"unknown: its caller, pid {CALLER}, has ended"
CALLS: Final = f"may run: its caller, pid {CALLER}, is alive"


def filled() -> Growing:
    """Return the files of the drawing."""
    build, data = Builder(), Growing()

    def call(name: str, span: int, **fields: Any) -> list[Any]:
        return [build.span(f"{name} ray.remote", span=span, trace=span, kind="PRODUCER", **fields)]

    data.add(*call("m.f", 1), *call("A.g", 2, attributes=A1), path=f"spans/{CALLER}.txt")
    data.add(*call("m.f", F), *call("A.g", G, attributes=A1), path=f"spans/{CALLER}.txt")
    data.add(*call("B.h", H, attributes={"ray.remote": "actor", "ray.actor_id": "b1"}), path=f"spans/{CALLER}.txt")
    ran = build.span("m.f ray.remote_worker", span=11, parent=1, trace=1, kind="CONSUMER")
    data.add(ran, path=f"spans/{WORKER}.txt")
    ran = build.span("A.g ray.remote_worker", span=12, parent=2, trace=2, kind="CONSUMER", attributes=A1)
    data.add(ran, path=f"spans/{ACTOR}.txt")
    return data


class Asked:
    """What a store's calls are asked with.

    Args:
        data: The store.
        alive: The processes that are alive.
        titles: What those of Ray call themselves.
    """

    def __init__(self, data: Growing, alive: frozenset[int] = ALL, titles: dict[int, str] | None = None) -> None:
        self.data = data
        self.host = FakeHost({*alive}, titles or {})
        self.now, self.is_loading = 0.0, False
        self.running = Running(data.store, self.host, lambda: self.now, lambda: self.is_loading)

    def thought(self, span: int) -> Assessment:
        """Return what is thought of a call."""
        return self.running.assessment_of(self.data.store.spans.span_id.index(span))

    def say(self, span: int, after_s: float = 0) -> str:
        """Return what is said of a call, some seconds after it was asked for the first time."""
        self.thought(span)
        self.now += after_s
        return self.thought(span).text


@pytest.mark.parametrize(
    ("span", "alive", "titles", "text"),
    [
        (F, ALL, {}, CALLS),
        # It may run another call of f.
        (F, ALL, {WORKER: "f"}, CALLS),
        (F, ALL, {WORKER: "IDLE", ACTOR: "A"}, "doesn't run here: no Ray worker is ray::f"),
        # Something else may be a name that the program has given to f.
        (F, ALL, {WORKER: "something else"}, CALLS),
        (F, ALL - {CALLER}, {WORKER: "f"}, GONE),
        (G, ALL, {WORKER: "IDLE", ACTOR: "A"}, CALLS),
        # An actor that has died may be started again.
        (G, ALL - {ACTOR}, {WORKER: "IDLE"}, CALLS),
        (G, ALL - {CALLER}, {ACTOR: "A.g"}, GONE),
        (H, ALL, {WORKER: "IDLE"}, CALLS),
    ],
)
def test_calls_without_an_attempt(span: int, alive: frozenset[int], titles: dict[int, str], text: str) -> None:
    """By its caller, and what the workers call themselves; nothing is ever called lost."""
    asked = Asked(filled(), alive, titles)
    assert asked.say(span, after_s=2) == text
    assert not asked.thought(span).runs
    assert asked.thought(span).may_run == (not text.startswith("unknown"))


def test_a_call_that_no_worker_runs() -> None:
    """That is said after two seconds of it: a call that has just ended has no worker, and its attempt is on its way."""
    asked = Asked(filled(), titles={WORKER: "IDLE"})
    assert asked.say(F, after_s=1.9) == CALLS
    asked.host.titles[WORKER] = "f"
    assert asked.say(F, after_s=2) == CALLS
    asked.host.titles[WORKER] = "IDLE"
    assert asked.say(F, after_s=1.9) == CALLS
    assert asked.say(F, after_s=0.2) == "doesn't run here: no Ray worker is ray::f"


def test_a_call_that_may_be_what_a_worker_runs() -> None:
    """A method may not name its actor; that a worker is named after it is seen all the same."""
    data = filled()
    data.add(Builder().span("A.g ray.remote", span=6, trace=6, kind="PRODUCER"), path=f"spans/{CALLER}.txt")
    asked = Asked(data, titles={WORKER: "IDLE", ACTOR: "A.g"})
    assert asked.say(6, after_s=2) == CALLS
    asked.host.titles[ACTOR] = "A"
    assert asked.say(6, after_s=2) == "doesn't run here: no Ray worker is ray::g"


def test_a_call_that_no_worker_runs_where_spans_are_written_when_they_start() -> None:
    """What runs has an attempt then; that no worker runs the others shows all the same."""
    data = filled()
    data.add(Builder().span("h", trace=40), path=f"spans/{WORKER}.started.jsonl")
    assert Asked(data, titles={WORKER: "IDLE"}).say(F, after_s=2) == "doesn't run here: no Ray worker is ray::f"


def test_a_caller_that_was_seen_alive_has_ended() -> None:
    """Its workers may go on for a while; what nobody saw alive may never have been here."""
    asked = Asked(filled(), titles={WORKER: "f"})
    assert asked.thought(F).text == CALLS
    asked.host.end({CALLER})
    assert asked.thought(F).text == ENDED
    assert Asked(filled(), frozenset()).thought(F).text == GONE


def test_a_pid_that_came_again() -> None:
    """The process that has it now runs nothing that the one before it submitted."""
    build, data = Builder(), Growing()
    for span in (F, G):
        data.add(build.span("m.f ray.remote", span=span, trace=span, kind="PRODUCER"), path=f"spans/{CALLER}.txt")
    asked = Asked(data)
    asked.host.began_ns[CALLER] = EPOCH_NS + 5_000
    assert asked.thought(G).text == CALLS
    assert asked.thought(F).text == GONE


@pytest.mark.parametrize("elsewhere", [{"session": "ray/other/logs"}, {"job": "02000000"}])
def test_a_worker_of_another_program(elsewhere: dict[str, str]) -> None:
    """What workers of another session or job are named after shows nothing."""
    build, data = Builder(), Growing()
    attributes = {"ray.remote": "function", "ray.job_id": "01000000"}
    data.add(build.span("m.f ray.remote", span=F, kind="PRODUCER", attributes=attributes), path=f"spans/{CALLER}.txt")
    asked = Asked(data, titles={WORKER: "IDLE"})
    asked.host.jobs[WORKER] = "01000000"
    assert asked.say(F, after_s=2) == "doesn't run here: no Ray worker is ray::f"
    asked.host.jobs[WORKER] = elsewhere.get("job", "01000000")
    asked.host.sessions |= {WORKER: elsewhere["session"]} if "session" in elsewhere else {}
    assert asked.say(F, after_s=2) == CALLS


def test_a_call_that_ends_while_it_is_asked_for() -> None:
    """Then its attempt is there."""
    data = filled()
    asked = Asked(data)
    assert asked.thought(F).may_run
    ran = Builder().span("m.f ray.remote_worker", span=21, parent=F, trace=F, kind="CONSUMER")
    data.add(ran, path=f"spans/{WORKER}.txt")
    thought = asked.thought(F)
    assert thought.text == "has an attempt by now"
    assert thought.is_open, "it has not failed"


@pytest.mark.parametrize(
    ("path", "fields", "text"),
    [
        ("spans/all.json", {}, "not known whether it runs"),
        ("spans/all.json", {"attributes": {"ray.pid": "7"}}, CALLS),
        ("spans/all.json", {"resource": {"process.pid": 7}}, CALLS),
        ("spans/here-7.jsonl", {}, CALLS),
        ("spans/HERE.example.org-7-1717000000.jsonl", {}, CALLS),
        ("spans/elsewhere-7.jsonl", {}, "not known whether it runs"),
        # What stands before the PID need not be a host.
        ("spans/training-7.jsonl", {"attributes": {"ray.pid": "7"}}, CALLS),
        ("spans/run-3.jsonl", {}, "not known whether it runs"),
        ("spans/worker-2f9c01-01000000-7.out", {}, CALLS),
        ("spans/8.txt", {"attributes": {"ray.pid": "7"}}, CALLS),
        (
            "spans/7.txt",
            {"resource": {"host.name": "elsewhere"}},
            "not known whether it runs",
        ),
    ],
)
def test_how_a_process_is_known(path: str, fields: dict[str, Any], text: str) -> None:
    """By its spans, then by its file's name; of other hosts this one knows nothing."""
    data = Growing()
    data.add(Builder().span("f ray.remote", span=F, kind="PRODUCER", **fields), path=path)
    assert Asked(data).say(F) == text


def test_traces_that_may_grow() -> None:
    """A trace is told while what is missing in it may run; what comes later is looked at, too."""
    build, data = Builder(), Growing()
    data.add(build.span("late", trace=1, parent=99), build.span("root", trace=2), path="spans/7.txt")
    asked = Asked(data, frozenset((7,)))
    assert asked.running.growing() == {0}
    assert asked.running.growth(0).parents == {99: 7}
    data.add(build.span("late", trace=3, parent=99), path="spans/8.txt")
    assert asked.running.growing() == {0}
    data.add(build.span("late", trace=3, parent=99), path="spans/7.txt")
    assert asked.running.growing() == {0, 2}
    data.add(build.span("root", trace=1, span=99), path="spans/7.txt")
    assert asked.running.growing() == {2}
    asked.host.end({7})
    assert asked.running.growing() == set()


def test_a_parent_whose_process_has_ended() -> None:
    """It is lost, but not at once: what was written last may not have been read; nor where nobody saw it alive."""
    data = Growing()
    data.add(Builder().span("late", parent=99), path="spans/7.txt")
    asked = Asked(data, frozenset((7,)))
    assert (asked.running.growth(0).parents, asked.running.growth(0).ended) == ({99: 7}, {})
    asked.host.end({7})
    for after_s, ended in ((0.0, {}), (1.9, {}), (2.0, {99: 7})):
        asked.now = after_s
        assert (asked.running.growth(0).parents, asked.running.growth(0).ended) == ({}, ended)
    never = Asked(data, frozenset())
    assert not never.running.growth(0).ended
    never.now = 9.0
    assert not never.running.growth(0).ended


@pytest.mark.parametrize(("kind", "grows"), [("INTERNAL", True), ("PRODUCER", True), ("SERVER", False)])
def test_a_parent_in_another_process(kind: str, *, grows: bool) -> None:
    """Who called a server isn't in the server's process, nor does a worker know whether its caller lives."""
    data = Growing()
    data.add(Builder().span("work", parent=99, kind=kind), path="spans/7.txt")
    assert bool(Asked(data).running.growing()) == grows


def test_a_worker_that_idles_runs_no_parent() -> None:
    """What had begun there was lost: a worker that runs something is named after it."""
    data = Growing()
    data.add(Builder().span("work", parent=99), path="spans/8.txt")
    asked = Asked(data, titles={WORKER: "f"})
    assert asked.running.growing() == {0}
    asked.host.titles[WORKER] = "IDLE"
    assert asked.running.growing() == set()


def test_a_trace_of_one_call_that_runs() -> None:
    """A job that was submitted without a span around it has its root at once, and grows while Ray says that it runs."""
    task, data = "35" * 8 + "0a" * 16, Growing()
    ids = {"ray.remote": "function", "ray.task_id": task, "ray.node_id": NODE}
    data.add(Builder().span("m.f ray.remote", span=F, kind="PRODUCER", attributes=ids), path=f"spans/{CALLER}.txt")
    asked = Asked(data, titles={WORKER: "f"})
    assert asked.running.growing() == set()
    events = "logs/export_events/event_EXPORT_TASK_7.log"
    data.add(json.loads(line_of(task, dict.fromkeys("1258", EPOCH_NS))), path=events)
    assert asked.thought(F).text == "runs, or is loaded, as Ray says"
    assert asked.running.growing() == {0}
    asked.host.end({CALLER})
    assert asked.running.growing() == set()
    asked.host.alive.add(CALLER)
    assert asked.running.growing() == {0}
    data.add(json.loads(line_of(task, {"11": EPOCH_NS + 9_000})), path=events)
    assert asked.running.growing() == set()


def test_what_processes_run() -> None:
    """A process with a missing parent runs that; what a worker is named after shows no call to run."""
    build, data = Builder(), filled()
    data.add(build.span("work", span=40, trace=40, parent=99, start=5), path=f"spans/{NEW}.txt")
    asked = Asked(data, ALL | {NEW}, {WORKER: "f", ACTOR: "A"})
    assert {runs.pid: runs.title for runs in asked.running.runs_now()} == {NEW: ""}
    table = data.store.trace_table
    (trace,) = (trace for trace in range(len(table)) if table.trace_id(trace) == 40)
    (parent,) = asked.running.runs_now({trace})
    assert (parent.since_ns, parent.certainty) == (EPOCH_NS + 5_000, Certainty.LIKELY)
    asked.host.end({NEW})
    assert asked.running.runs_now() == []
    of_worker = {"host.name": "here", "process.pid": WORKER}
    began = build.span("m.f ray.remote_worker", trace=30, parent=30, duration=None, kind="CONSUMER", resource=of_worker)
    data.add(began, path=f"spans/here-{WORKER}-1700000000000.started.jsonl")
    assert [(runs.title, runs.certainty) for runs in asked.running.runs_now()] == [("f", Certainty.CERTAIN)]


QUERIES: Final = {
    "status=running": {"runs"},
    "status=RUNNING": {"runs"},
    "status=lost": {"lost"},
    "status=waiting": {"g ray.remote"},
    "status!=running": {"lost", "ended", "g ray.remote"},
    "-status=lost status=UNSET": {"runs", "ended", "g ray.remote"},
    "status=lost OR status=running": {"runs", "lost"},
    "duration>20s": {"runs"},
    "duration>=5s": {"runs", "lost"},
    "duration<20s": {"lost", "ended", "g ray.remote"},
    "trace.duration>20s": {"runs"},
    "trace.duration>4s trace.duration<20s": {"lost"},
}


def test_queries_ask_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs, waits or is lost is kept by its state and by how long it has run."""
    monkeypatch.setattr(unended, "time", SimpleNamespace(time_ns=lambda: EPOCH_NS + 30 * 10**9))
    build, data = Builder(), Growing()
    for trace, (name, pid) in enumerate((("runs", WORKER), ("lost", ACTOR)), 1):
        of_process = {"host.name": "here", "process.pid": pid}
        path = f"spans/here-{pid}-1700000000000.started.jsonl"
        data.add(build.span(name, trace=trace, start=0, duration=None, resource=of_process), path=path)
    before = build.span("ended", trace=3, start=5 * 10**6, resource={"host.name": "here", "process.pid": ACTOR})
    data.add(before, path=f"spans/here-{ACTOR}-1700000000000.jsonl")
    data.add(build.span("g ray.remote", trace=4, kind="PRODUCER"), path=f"spans/{CALLER}.txt")
    asked = Asked(data, frozenset((CALLER, WORKER)), {})
    asked.host.written[f"spans/here-{ACTOR}-1700000000000.jsonl"] = EPOCH_NS + 5 * 10**9
    names, store = data.store.names.texts, data.store

    def kept(text: str) -> set[str]:
        return {names[store.spans.name[row]] for row in select.selected_rows(store, query=parse_query(text))}

    assert kept("status=running OR status=lost OR status=waiting OR duration>20s") == set()
    store.ask_lives = lambda _: asked.running
    assert {text: kept(text) for text in QUERIES} == QUERIES


@pytest.mark.parametrize("name", ["ray-odd-ends", "ray-existing-actors", "ray-restarted-actor", "ray-data"])
def test_recordings_of_what_ended_long_ago(name: str) -> None:
    """Nothing of them runs or is lost; processes that have their ids by now began after their spans."""
    store = load_store(str(FIXTURES / name / "spans"))
    running = Running(store, Processes())
    assert running.growing() == set()
    alone = [call.row for call in calls_of(store) if call.outcome is Outcome.NO_ATTEMPT]
    assert all(running.assessment_of(row).text.endswith("isn't running here") for row in alone)


def test_a_call_of_a_growing_trace_may_run() -> None:
    """Its caller may be where processes can't be seen; ten seconds after the last span has come it's over."""
    asked = Asked(filled(), alive=frozenset())
    assert asked.say(F) == GONE
    asked.data.add(Builder().span("late", trace=F, span=900), path="spans/elsewhere.txt")
    assert asked.say(F, after_s=9.9) == "may run: its trace, or its caller's file, still grows"
    assert asked.say(G) == GONE
    asked.data.add(Builder().span("other", trace=77, span=901), path=f"spans/{CALLER}.txt")
    assert asked.say(G).startswith("may run: its trace")
    assert asked.say(G, after_s=10.1) == GONE


def test_a_trace_that_is_still_read_does_not_grow() -> None:
    """What was there before comes bit by bit; the last of it is there before it is known to be the last."""
    asked = Asked(filled(), alive=frozenset())
    asked.is_loading = True
    assert asked.say(F) == GONE
    for number in (900, 901):
        asked.data.add(Builder().span("more", trace=F, span=number), path="spans/elsewhere.txt")
        assert asked.say(F) == GONE
        asked.is_loading = False
    asked.data.add(Builder().span("late", trace=F, span=902), path="spans/elsewhere.txt")
    assert asked.say(F).startswith("may run: its trace")


def test_nothing_is_open_of_which_nothing_is_known() -> None:
    """That a call may run isn't known to be so where its process can't be looked up."""
    asked = Asked(filled())
    assert asked.thought(F).is_open
    asked.host.unknown.add(CALLER)
    assert asked.thought(F).may_run
    assert asked.thought(F).is_open is None
