"""Why calls have no attempt: by hand, and on recordings against Ray's own word.

µs         0    4    8    12
A.__init__ |==|                         submitted; ran in the actor's process
A.f             |==|                    submitted; has no attempt
A.g                  |==|               submitted; ran, so that A.f's turn had come before
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS, Builder, file_of, store_of, store_of_files
from independent_states import Truth, truths
from rays_word import NODE, line_of
from spanview.analysis.answer import answer_of
from spanview.analysis.diagnosis.finding import Certainty, Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.ray.call_groups import CallsBy, call_groups
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.reasons import Reason, Why, reason_of, reasons_of, without_attempt
from spanview.analysis.ray.told import CallOutcome
from spanview.analysis.silent import silent_failures
from spanview.exports.losses import Losses
from spanview.exports.page.columns import Columns
from spanview.sources.loading import load_store
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Document
    from spanview.analysis.diagnosis.finding import Finding
    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
HEALTHY: Final = ("ray-data", "ray-existing-actors", "ray-restarted-actor", "console-with-worker-files")
"""Recordings of Ray programs in which each call ended well."""
MAY_BE: Final = {
    Reason.EXISTING: {Truth.NO_CALL},
    Reason.CREATED: {Truth.NO_CALL},
    CallOutcome.NOT_SUBMITTED: {Truth.NO_CALL},
    Reason.UNTRACED: {Truth.FINISHED, Truth.FAILED_RUNNING},
    # Ray counts the time in which a task gets its arguments as running.
    CallOutcome.DEPENDENCY_FAILED: {Truth.FAILED_RUNNING, Truth.FAILED_BEFORE},
    Reason.BEGUN: {Truth.OPEN, Truth.FAILED_RUNNING},
    Reason.UNKNOWN: {Truth.OPEN, Truth.FAILED_RUNNING, Truth.FAILED_BEFORE},
}
"""What Ray may say of calls for which a reason is given."""
CANCELLED_AS_IT_BEGAN: Final = ("__main__.sleeper", Truth.FINISHED)
"""The program cancelled it while it got its arguments, which Ray has as finished."""
EXIT: Final = [
    {
        "name": "exception",
        "timestamp": "2023-11-14T22:13:20.000000Z",
        "attributes": {"exception.type": "ray.exceptions.AsyncioActorExit", "exception.message": ""},
    }
]


class Program:
    """The spans of a Ray program, each process with a file of its own; calls are told by the numbers of PRODUCERs."""

    def __init__(self) -> None:
        self._build = Builder()
        self._ids = count(1)
        self._files: dict[str, list[Document]] = {"1.txt": []}

    def call(self, name: str, start: int, actor: str = "", *, by: str = "1.txt", **fields: Any) -> int:
        """Submit a call."""
        return self._add(by, f"{name} ray.remote", actor, start, fields)

    def ran(self, call: int, name: str, start: int, actor: str = "", *, where: str = "2.txt", **fields: Any) -> None:
        """Run a call in a process."""
        self._add(where, f"{name} ray.remote_worker", actor, start, {"parent": call} | fields)

    def made(self, actor: str = "a", start: int = 0, **fields: Any) -> int:
        """Make an actor of class A."""
        call = self.call("A.__init__", start, actor)
        self.ran(call, "A.__init__", start + 2, actor, **fields)
        return call

    def did(self, name: str, start: int, actor: str = "a", **fields: Any) -> int:
        """Submit a call, and run it right after."""
        call = self.call(name, start, actor)
        self.ran(call, name, start + 2, actor, **fields)
        return call

    def _add(self, file: str, name: str, actor: str, start: int, fields: dict[str, Any]) -> int:
        number, attributes = fields.pop("span", None) or next(self._ids), {"ray.actor_id": actor} if actor else {}
        kind = "PRODUCER" if name.endswith(" ray.remote") else "CONSUMER"
        given: dict[str, Any] = {"duration": 2, "attributes": attributes, "kind": kind} | fields
        document = self._build.span(name, span=number, start=start, **given)
        self._files.setdefault(file, []).append(document)
        return number

    def finding(self) -> Finding:
        """Return what `check` says of calls without an attempt."""
        return next(finding for finding in diagnose(self._store()).findings if finding.kind is Kind.NO_ATTEMPT)

    def counts(self) -> tuple[int, int, int, int]:
        """Return how many calls have no attempt: of functions, silent failures, findings; and of Serve's own."""
        store = self._store()
        functions = functions_of(store, calls_of(store))
        silent, _ = silent_failures(store, range(len(store.trace_table)), lambda _: False)
        found = sum(finding.count for finding in diagnose(store).findings if finding.kind is Kind.NO_ATTEMPT)
        return (
            sum(function.no_attempt for function in functions),
            len(silent),
            found,
            sum(function.serves_own for function in functions),
        )

    def _store(self) -> Store:
        return store_of_files({path: file_of(documents) for path, documents in self._files.items()})

    def reasons(self) -> dict[int, Why]:
        """Return why calls have no attempt, by their numbers; each asked for by itself has the same reason."""
        store = self._store()
        found = reasons_of(store, calls_of(store))
        assert {row: reason_of(store, row) for row in found} == found
        return {store.spans.span_id[row]: why for row, why in found.items()}


def only(program: Program) -> tuple[Reason | CallOutcome, Certainty, bool]:
    """Return the reason of the only call without an attempt, how sure it is, and whether the call may still run."""
    (why,) = program.reasons().values()
    return why.reason, why.certainty, why.may_run


# -- recordings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recording", ["ray-data", "ray-odd-ends"])
def test_no_sentence_is_wrong(recording: str) -> None:
    """Each reason is one that Ray's own word of the call allows."""
    store = load_store(FIXTURES / recording / "spans")
    whys = {f"{store.spans.span_id[row]:016x}": why for row, why in reasons_of(store, calls_of(store)).items()}
    known = truths(FIXTURES / recording)
    assert whys.keys() == known.keys()
    wrong = [(*known[call], why) for call, why in whys.items() if known[call][1] not in MAY_BE[why.reason]]
    assert [(name, truth) for name, truth, _ in wrong] == (
        [CANCELLED_AS_IT_BEGAN] if recording == "ray-odd-ends" else []
    )


@pytest.mark.parametrize("recording", HEALTHY)
def test_healthy_programs_miss_no_attempt(recording: str) -> None:
    """Where each call ended well, none is left without an attempt that isn't explained.

    But for the last call of an actor, whose method is called but once: one that hangs would look the same.
    """
    store = load_store(FIXTURES / recording / "spans")
    functions = functions_of(store, calls_of(store))
    unexplained = {function.function: function.no_attempt for function in functions if function.no_attempt}
    assert unexplained == ({"K.agen": 1} if recording == "ray-existing-actors" else {})


def test_the_recorded_existing_actors() -> None:
    """Of 115 PRODUCERs without an attempt in Ray Data's recording, 65 are no calls, and 50 generator methods.

    Of the 65, three have the call below them that created their actor.
    """
    store = load_store(FIXTURES / "ray-data/spans")
    functions = functions_of(store, calls_of(store))
    assert sum(function.existing for function in functions) == 65 - 3
    assert sum(function.untraced for function in functions) == 50
    assert sum(function.calls for function in functions) == 544 - 65


def test_the_recorded_odd_actors() -> None:
    """Each of the program's calls without an attempt has the reason that the program had for it."""
    store = load_store(FIXTURES / "ray-odd-actors/spans")
    found = Counter(
        (store.names.texts[store.spans.name[row]].removesuffix(" ray.remote"), why.reason)
        for row, why in reasons_of(store, calls_of(store)).items()
    )
    assert found == {
        ("Exits.ping", Reason.UNKNOWN): 1,
        ("AsyncExits.ping", Reason.UNKNOWN): 1,
        ("BadInit.ping", CallOutcome.CONSTRUCTOR_FAILED): 1,
        ("Crash.crash", Reason.UNKNOWN): 1,
        ("Crash.ping", Reason.UNKNOWN): 1,
        ("Crash.hang", Reason.UNKNOWN): 1,
        ("Async.run", Reason.UNKNOWN): 1,
        ("Groups.cpu", Reason.UNKNOWN): 1,
        ("Gen.gen", Reason.UNTRACED): 1,
        ("Gen.plaingen", CallOutcome.NOT_SUBMITTED): 1,
        ("Gen.st", Reason.UNTRACED): 1,
        ("Seq.w", Reason.UNKNOWN): 3,
        ("Seq.__init__", Reason.EXISTING): 2,
        ("Seq.__init__", Reason.CREATED): 1,
        ("__main__.dep", Reason.UNKNOWN): 1,
    }


def test_a_call_before_a_restart_did_not_just_run() -> None:
    """A later call of the same actor ran in another process, so it doesn't tell that an earlier one ran."""
    store = load_store(FIXTURES / "killed-workers/spans")
    whys = reasons_of(store, calls_of(store)).values()
    assert {why.reason for why in whys} == {Reason.UNKNOWN, Reason.BEGUN}


def test_a_call_below_which_something_ran_began() -> None:
    """A worker was killed in it: what had ended there is here, and it isn't said that the call could never start."""
    program = Program()
    began = program.call("f", 0)
    program.ran(99, "step", 5, kind="INTERNAL", where="2.txt")
    whys = program.reasons()
    assert whys[began].label == "began, no end seen, likely"
    assert "could never start" not in whys[began].text + program.finding().detail
    rival = program.call("g", 1)
    assert {program.reasons()[call].reason for call in (began, rival)} == {Reason.UNKNOWN}


@pytest.mark.parametrize(
    ("error", "label"),
    [
        ("ACTOR_UNAVAILABLE", "its actor could not be reached"),
        ("RUNTIME_ENV_SETUP_FAILED", "its runtime environment could not be set up"),
        ("ACTOR_DIED", "actor died"),
        ("TASK_EXECUTION_EXCEPTION", "failed"),
    ],
)
def test_what_ray_says_more_exactly_is_said(error: str, label: str) -> None:
    """An actor that could not be reached for a moment is not said to have died."""
    task, data = "35" * 8 + "0a" * 16, Growing()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    data.add(Builder().span("A.f ray.remote", kind="PRODUCER", attributes=ids))
    data.add(json.loads(line_of(task, {"1": EPOCH_NS, "12": EPOCH_NS}, error=error)), path="event_EXPORT_TASK_7.log")
    (why,) = reasons_of(data.store, calls_of(data.store)).values()
    assert (why.label, why.certainty) == (label, Certainty.CERTAIN)
    assert (why.outcome is CallOutcome.ACTOR_DIED) is (error == "ACTOR_DIED")
    assert Columns(data.store, [0], {}).overview(Losses("html"))["traces"]["label"] == [label]


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_get_if_exists() -> None:
    """The inner PRODUCER made the actor, for the outer one; what comes later found it."""
    program = Program()
    outer = program.call("A.__init__", 0, "a", duration=8)
    inner = program.call("A.__init__", 1, "a", parent=outer)
    program.ran(inner, "A.__init__", 10, "a")
    later = program.call("A.__init__", 20, "a")
    other = program.call("A.__init__", 30, "b")
    reasons = {call: why.reason for call, why in program.reasons().items()}
    assert reasons == {outer: Reason.CREATED, later: Reason.EXISTING, other: Reason.UNKNOWN}


def test_get_if_exists_while_it_is_made() -> None:
    """Of PRODUCERs of one actor that hasn't run yet, the innermost and first makes it."""
    program = Program()
    outer = program.call("A.__init__", 0, "a", duration=8)
    program.call("A.__init__", 1, "a", parent=outer)
    later = program.call("A.__init__", 20, "a")
    reasons = {call: why.reason for call, why in program.reasons().items()}
    assert (reasons[outer], reasons[later]) == (Reason.CREATED, Reason.EXISTING)


def test_what_a_call_submits_is_known_when_it_has_been_submitted() -> None:
    """Its first record names at most the actor that submits it, and no task: what was asked then is asked again."""
    data, build, task = Growing(), Builder(), "35" * 8 + "0a" * 16
    names = {"ray.actor_id": "a", "ray.remote": "actor", "ray.node_id": NODE, "ray.task_id": task}
    made = build.span("A.__init__ ray.remote", span=1, start=0, duration=1, kind="PRODUCER", attributes=names)
    ran: dict[str, Any] = {"kind": "CONSUMER", "attributes": names}
    data.add(made, build.span("A.__init__ ray.remote_worker", span=2, parent=1, start=5, duration=1, **ran))
    fields: dict[str, Any] = {"trace": 2, "span": 3, "start": 20, "kind": "PRODUCER"}
    by_actor = {"ray.actor_id": "a"}
    data.add(build.span("A.__init__ ray.remote", duration=None, attributes=by_actor, **fields), path="7.started.jsonl")
    store = data.store
    calls = calls_of(store)
    assert [why.reason for why in reasons_of(store, calls).values()] == [Reason.SUBMITTING]
    assert call_groups(store, calls, CallsBy.ACTOR).keys == ["actor a", "not known"]
    existing = {**names, "ray.submitter_task_id": "ff" * 24}
    data.add(build.span("A.__init__ ray.remote", duration=9, attributes=existing, **fields), path="7.jsonl")
    calls = calls_of(store)
    assert [why.reason for why in reasons_of(store, calls).values()] == [Reason.EXISTING]
    assert call_groups(store, calls, CallsBy.ACTOR).keys == ["actor a"]


def test_get_if_exists_lost_a_race() -> None:
    """An inner PRODUCER that failed below one that didn't lost a race: no call, either."""
    program = Program()
    program.made()
    outer = program.call("A.__init__", 20, "a", duration=8)
    inner = program.call("A.__init__", 21, "b", parent=outer, status="ERROR")
    assert {call: why.reason for call, why in program.reasons().items()} == dict.fromkeys(
        (outer, inner), Reason.EXISTING
    )


def test_a_task_is_known_by_its_record() -> None:
    """Of an actor's class each record is read, though the first one of a constructor names no actor."""
    program = Program()
    failed = program.call("A.__init__", 0, status="ERROR", attributes={"ray.remote": "actor"})
    program.made("a", 10)
    later = program.call("A.__init__", 20, "a")
    task = program.call("f", 30, attributes={"ray.remote": "function"})
    reasons = {call: why.reason for call, why in program.reasons().items()}
    assert reasons == {failed: CallOutcome.NOT_SUBMITTED, later: Reason.EXISTING, task: Reason.UNKNOWN}


def test_an_actor_of_another_run() -> None:
    """What ran before existed before; a constructor whose actor ran later must have run, too."""
    program = Program()
    program.did("A.f", 0)
    program.call("A.__init__", 20, "a")
    assert only(program) == (Reason.EXISTING, Certainty.CERTAIN, False)
    program = Program()
    program.call("A.__init__", 0, "a")
    program.did("A.f", 20)
    assert only(program) == (Reason.UNTRACED, Certainty.CERTAIN, False)


def failed_submission(program: Program) -> None:
    """Submit what can't be."""
    program.call("f", 0, status="ERROR")


def failed_constructor(program: Program) -> None:
    """Call an actor that couldn't be made."""
    program.made(status="ERROR")
    program.call("A.f", 20, "a")


def before_leaving(program: Program) -> None:
    """Call a method that leaves no attempt, before the actor ends itself."""
    program.made()
    program.call("A.gen", 6, "a")
    program.did("A.leave", 10, status="ERROR", events=EXIT)


def failed_restart(program: Program) -> None:
    """Call an actor that was there, and couldn't be made again."""
    made = program.made()
    program.call("A.hang", 10, "a")
    program.ran(made, "A.__init__", 30, "a", where="3.txt", status="ERROR")


def behind_a_failure(program: Program) -> None:
    """Submit a call right behind another one that fails later, whose result may be its argument or not."""
    task = program.call("bad", 0)
    program.call("f", 2)
    program.ran(task, "bad", 10, status="ERROR")


def passed(program: Program) -> None:
    """Call a method that leaves no attempt, then one that does."""
    program.made()
    program.call("A.gen", 10, "a")
    program.did("A.f", 20)


def passed_by_another(program: Program) -> None:
    """Call a method that leaves no attempt; another process calls one that does."""
    program.made()
    program.did("A.f", 6)
    program.call("A.gen", 20, "a", by="3.txt")
    program.did("A.f", 30)


def passed_at_once(program: Program) -> None:
    """Call a method that leaves no attempt of an actor that runs several at once."""
    program.made()
    program.call("A.run", 10, "a")
    for start in (20, 24):
        call = program.call("A.f", start, "a")
        program.ran(call, "A.f", start + 2, "a", duration=30)


def last(program: Program) -> None:
    """Call a method that leaves no attempt, and nothing after it."""
    program.made()
    program.did("A.f", 10)
    program.call("A.gen", 20, "a")


def restarted(program: Program) -> None:
    """Call a method that leaves no attempt, whose actor is then made again."""
    made = program.made()
    program.did("A.f", 10)
    program.call("A.hang", 20, "a")
    program.ran(made, "A.__init__", 30, "a", where="3.txt")
    program.did("A.f", 40, where="3.txt")


def passed_under_our_hook(program: Program) -> None:
    """Call a method by spanview's hook, which would trace it, then another one."""
    program.made()
    ids = {"ray.remote": "actor", "ray.actor_id": "a", "ray.task_id": "c0", "ray.submitter_task_id": "ff"}
    program.call("A.gen", 10, "a", attributes=ids)
    program.did("A.f", 20)


def stuck(program: Program) -> None:
    """Call a method that leaves no attempt, then one that would."""
    program.made()
    program.did("A.f", 10)
    program.call("A.crash", 20, "a")
    program.call("A.f", 30, "a")


def first(program: Program) -> None:
    """Call the only method of an actor."""
    program.made()
    program.call("A.f", 20, "a")


def traced(program: Program) -> None:
    """Call a method that leaves attempts elsewhere, then another one."""
    program.made()
    program.did("A.f", 10)
    program.call("A.f", 20, "a")
    program.did("A.g", 30)


def of_ray_data(program: Program) -> None:
    """Call the generator method of Ray Data's actors."""
    program.call("MapWorker(MapBatches(x.M)).submit", 0, "a")


def alone(program: Program) -> None:
    """Call a task that nothing tells of."""
    program.call("f", 0)


UNKNOWN: Final = (Reason.UNKNOWN, Certainty.LIKELY, True)
RAN: Final = (Reason.UNTRACED, Certainty.LIKELY, False)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (failed_submission, (CallOutcome.NOT_SUBMITTED, Certainty.CERTAIN, False)),
        (failed_constructor, (CallOutcome.CONSTRUCTOR_FAILED, Certainty.CERTAIN, False)),
        (before_leaving, RAN),
        (failed_restart, UNKNOWN),
        (behind_a_failure, UNKNOWN),
        (passed, RAN),
        (passed_under_our_hook, UNKNOWN),
        (passed_by_another, UNKNOWN),
        (passed_at_once, UNKNOWN),
        (last, UNKNOWN),
        (restarted, UNKNOWN),
        (first, UNKNOWN),
        (traced, UNKNOWN),
        (of_ray_data, RAN),
        (alone, UNKNOWN),
    ],
)
def test_reasons(make: Callable[[Program], None], expected: tuple[Reason, Certainty, bool]) -> None:
    """The only call without an attempt has this reason."""
    program = Program()
    make(program)
    assert only(program) == expected


def test_a_constructor_that_alone_has_no_attempt_after_a_failure() -> None:
    """What its caller submitted before is looked at for it too."""
    build = Builder()
    store = store_of(
        build.span("m.f ray.remote", span=1, start=0, duration=1, kind="PRODUCER"),
        build.span("m.f ray.remote_worker", span=2, parent=1, start=2, duration=3, kind="CONSUMER", status="ERROR"),
        build.span("m.A.__init__ ray.remote", span=3, start=9, duration=1, kind="PRODUCER"),
    )
    assert [*reasons_of(store, calls_of(store))] == [store.rows_of_trace(0)[-1]]


def test_what_to_do_where_all_reasons_are_known() -> None:
    """What failed is to be mended; nobody is sent to look for workers that died unless a call is left unexplained."""
    program = Program()
    failed_constructor(program)
    assert "Fix the earlier failures" in program.finding().advice
    program.call("other", 20, by="9.txt")
    assert "worker died" in program.finding().advice


def test_an_actor_that_does_nothing_any_more() -> None:
    """Where a call that should have left an attempt has none either, the one before it isn't taken as untraced."""
    program = Program()
    stuck(program)
    assert {why.reason for why in program.reasons().values()} == {Reason.UNKNOWN}


@pytest.mark.parametrize("folder", ["ray-odd-ends", "ray-existing-actors", "ray-tasks-bundled-hook", "killed-workers"])
def test_calls_without_an_attempt_are_counted_alike(folder: str) -> None:
    """In functions, in the answers of traces, among silent failures, and by the check."""
    store = load_store([str(FIXTURES / folder)])
    traces = range(len(store.trace_table))
    for chosen in ([*traces], *([trace] for trace in traces)):
        calls = calls_of(store, chosen)
        number = len(without_attempt(store, reasons_of(store, calls)))
        assert sum(function.no_attempt for function in functions_of(store, calls)) == number
        assert sum(len(answer_of(store, trace).unseen_calls.without_attempt) for trace in chosen) == number
        silent, _ = silent_failures(store, chosen, lambda _: False)
        assert sum(failure.label == "no attempt" for failure in silent.values()) == number
        if len(chosen) == len(traces):
            findings = {finding.kind: finding.count for finding in diagnose(store).findings}
            assert findings.get(Kind.NO_ATTEMPT, 0) == number


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ProxyActor.check_health", Reason.SERVES_OWN),
        ("ServeReplica:app:App.reconfigure", Reason.SERVES_OWN),
        ("ServeController.listen_for_change", Reason.SERVES_OWN),
        ("App.check_health", Reason.UNKNOWN),
    ],
)
def test_calls_of_serves_own(call: str, expected: Reason) -> None:
    """Serve's calls of its own actors may listen until it ends; that they leave no attempt isn't a failure."""
    program = Program()
    number = program.call(call, 30, "r")
    assert {number: expected} == {key: why.reason for key, why in program.reasons().items()}
    kept, failed, findings, counted = program.counts()
    assert kept == failed == findings == (expected is Reason.UNKNOWN)
    assert counted == (expected is Reason.SERVES_OWN)
