"""What spanview says of calls, held against what Ray says itself."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rays_word import attempts_in
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.names import RAN
from spanview.analysis.ray.outcomes import Became, outcomes_of
from spanview.analysis.ray.reasons import reasons_of
from spanview.analysis.ray.told import CallOutcome
from spanview.analysis.ray.waited_for import AllAttempts
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rays_word import Attempt
    from spanview.analysis.ray.calls import Call
    from spanview.analysis.ray.waited_for import WaitReason
    from spanview.index.store import Store

_LEAST_NS: Final = 50_000_000
"""Shorter waits are left out: in these, Ray's own times differ from the spans' by as much."""
_HANDOVER_NS: Final = 2_000_000
"""Less than this is what handing a call over takes."""
_MOST_HANDING_NS: Final = 100_000_000
"""On a busy machine it may take so long, where an actor is idle."""
_SEEN_NS: Final = 2_000_000
"""So long what a wait ended with was surely waited for."""
FILE_OF_HOOK: Final = re.compile(r"-(\d+)-(\d{13})\.")
"""Of a file of spanview's hook: the process, and when it began, in milliseconds since 1970."""
LEAST_RIGHT: Final = 0.95
"""So many of what is told are right, at least."""


@dataclass(slots=True)
class Claims:
    """How many of them are right, and what the others say."""

    told: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    tasks: int = 0
    """How many tasks there were beside whose spans Ray's events were."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Of what kinds these were, and what became of them."""
    different: list[str] = field(default_factory=list)
    """What was told of these otherwise than Ray's events have it."""
    unknown: Counter[str] = field(default_factory=Counter)
    """By what Ray says, the waits of which spanview says that the cause isn't known."""

    def hold(self, spans: Path, events: Path) -> None:
        """Hold what is said of some spans against Ray's events."""
        store, attempts = load_store(spans), attempts_in(sorted(events.glob("event_EXPORT_TASK_*.log")))
        files = (FILE_OF_HOOK.search(source.path) for source in store.sources)
        began = {match[1]: int(match[2]) * 1_000_000 for match in files if match}
        calls = [call for call in calls_of(store) if call.attempts and (call.wait_ns or 0) >= _LEAST_NS]
        reasons = AllAttempts(store).reasons_of([call.attempts[0] for call in calls])
        for call in calls:
            row, span = call.attempts[0], store.span(call.attempts[0])
            start_ns, reason = store.spans.start_ns[row], reasons.get(row)
            of_task = attempts.get(str(span.attributes.get("ray.task_id")), [])
            attempt = next((attempt for attempt in of_task if attempt.has_begun(start_ns)), None)
            if attempt is None or reason is None:
                continue
            process_ns = began.get(str(span.attributes.get("ray.pid")), 0)
            # Calls are sent in their order, long after their actor has been made, which spans show.
            prepared_ns, _ = _prepared(store, row)
            parts = attempt.parts_ns(store.spans.end_ns[call.row], process_ns, start_ns, prepared_ns)
            del parts["unknown"]
            # Spans don't show when a new worker had started, and began to load the function.
            if loading := parts.pop("loading", 0):
                parts["worker_start"] += loading
            said, most = reason.waited_for.name.lower(), max(parts, key=parts.__getitem__, default="nothing")
            if not reason.is_known:
                self.unknown[most] += 1
                continue
            self.told[said] += 1
            if most == said if reason.is_most else parts[said] > _SEEN_NS:
                self.right[said] += 1
            else:
                parts_ms = {part: round(ns / 1e6) for part, ns in parts.items()}
                self.wrong.append(f"{spans}: {span.name} of {call.wait_ns} ns: {reason.label}, but {parts_ms} ms")

    def hold_told(self, spans: Path, events: Path) -> None:
        """Hold what is said of spans whose calls name their tasks, with the events beside them, against the events."""
        store, attempts = load_store([spans, events]), attempts_in(sorted(events.glob("event_EXPORT_TASK_*.log")))
        said = {call.row: store.span(call.row).attributes for call in calls_of(store)}
        named = {row: each["ray.task_id"] for row, each in said.items() if "ray.submitter_task_id" in each}
        tasks = {row: attempts.get(str(named.get(row)), []) for row in said}
        self.tasks += sum(map(bool, tasks.values()))
        self.kinds += Counter(f"{task[0].kind} {task[0].outcome}" for task in tasks.values() if task)
        self.different += [f"{spans}: {text}" for text in differences(store, tasks)]

    @property
    def share(self) -> float:
        """How many of all are right."""
        return self.right.total() / self.told.total() if self.told else 1.0


def differences(store: Store, tasks: Mapping[int, Sequence[Attempt]]) -> list[str]:
    """Return what is told of calls otherwise than Ray's events have it.

    Args:
        tasks: The attempts of each call's task, the last one first, by the rows of the calls.
    """
    among, different = calls_of(store), list[str]()
    calls = [*among]
    became = outcomes_of(store, calls, reasons_of(store, among))
    waits = AllAttempts(store).reasons_of([call.attempts[0] for call in calls if call.attempts])
    broken = _broken_actors(store, calls)
    for call in calls:
        task, told = tasks[call.row], became[call.row]
        if not task:
            continue
        made = next((each for each in task if each.kind == "ACTOR_CREATION_TASK" and each.outcome == "finished"), None)
        outcome = (made or task[0]).outcome
        # What Ray said last may be older than what spans prove.
        is_proven = outcome in {"pending", "running", "unknown"} and told == _by_spans_alone(store, call, broken)
        certainty = None if outcome == "unknown" else Certainty.CERTAIN
        expected = _interrupted(store, call, outcome) or (outcome, certainty)
        if not is_proven and (told.outcome.key, told.certainty) != expected:
            different.append(f"{call.function}: {told}, but {outcome}")
        if call.attempts and (call.wait_ns or 0) >= _HANDOVER_NS:
            attempt, expected_parts, is_certain = _expected_waits(store, call, task)
            parts = {kind.name.lower(): ns for kind, ns in waits.parts_of(call.attempts[0]).items()}
            reason = waits.get(call.attempts[0])
            if "actor" not in parts:
                _hand_over(expected_parts)
            if expected_parts and parts != expected_parts:
                different.append(f"{call.function}: {parts}, but {dict(expected_parts)}")
            elif expected_parts and (wrong := _wrong_reason(reason, attempt, expected_parts, is_certain=is_certain)):
                different.append(f"{call.function}: {reason}, but {wrong}")
    return different


def _wrong_reason(
    reason: WaitReason | None, attempt: Attempt, parts: Mapping[str, int], *, is_certain: bool
) -> tuple[object, ...]:
    """Return what is to be said of a wait in a few words, where something else is; else nothing."""
    known = {part: ns for part, ns in parts.items() if part != "unknown"}
    most = max(known, key=known.__getitem__, default="unknown")
    is_told = is_certain or most in {"retry", "arguments", "loading"}
    if is_told and parts.get("unknown", 0) > known.get(most, 0):
        most = "unknown"
    asked = attempt.asked if most == "resources" else ""
    expected = most, 2 * parts[most] >= sum(parts.values()), is_certain, asked
    said = reason and (reason.waited_for.name.lower(), reason.is_most, reason.is_certain, reason.detail)
    return () if said == expected else expected


def _interrupted(store: Store, call: Call, outcome: str) -> tuple[str, Certainty | None] | None:
    """Return what is said of a call whose last attempt was cut off, as its record says, though Ray has it otherwise."""
    attributes = store.span(call.attempts[-1]).attributes if call.attempts else {}
    ended_by = str(attributes.get("ray.ended_by", ""))
    if not ended_by or "exit_actor" in ended_by or outcome not in {"finished", "failed"}:
        return None
    if re.match(r"([\w.]*\.)?(CancelledError|KeyboardInterrupt)\b", ended_by):
        return "cancelled", Certainty.LIKELY
    return ("unknown", None) if outcome == "finished" else None


def _broken_actors(store: Store, calls: Sequence[Call]) -> set[str]:
    """Return the classes of whose constructors each attempt failed."""
    ends = defaultdict[str, set[bool]](set)
    for call in calls:
        if call.function.endswith(".__init__") and call.attempts:
            ends[call.function.removesuffix("__init__")].add(store.spans.status[call.attempts[-1]] == ERROR)
    return {actor for actor, have_failed in ends.items() if have_failed == {True}}


def _by_spans_alone(store: Store, call: Call, broken: set[str]) -> Became | None:
    """Return what an attempt shows that has an end, or a constructor that failed; None where neither is there."""
    if call.attempts and store.spans.end_ns[call.attempts[-1]] != NO_TIME:
        has_failed = store.spans.status[call.attempts[-1]] == ERROR
        return Became(CallOutcome.FAILED) if has_failed else Became(CallOutcome.FINISHED, Certainty.LIKELY)
    if call.function.rpartition(".")[0] + "." in broken:
        return Became(CallOutcome.CONSTRUCTOR_FAILED)
    return None


def _expected_waits(store: Store, call: Call, task: Sequence[Attempt]) -> tuple[Attempt, Counter[str], bool]:
    """Return which attempt of a task left the first span of its call, what that waited for, and if that is certain."""
    row = call.attempts[0]
    start = store.spans.start_ns[row]
    match = FILE_OF_HOOK.search(store.sources[store.spans.source[row]].path)
    began = int(match[2]) * 1_000_000 if match else 0
    attempt, ends = next(each for each in task if each.begun_ns <= start), store.spans.end_ns
    prepared, beside = _prepared(store, row)
    if not attempt.worker:
        # Neither its caller nor its worker has written where it ran: its file shows what ran there before.
        attempt.is_first = start == min(store.spans.start_ns[other] for other in _ran_by(store, row, beside))
    parts = attempt.parts_ns(ends[call.row], began, start, prepared)
    if all(ends[other] <= ends[call.row] for other in beside if other != row):
        _hand_over(parts)
    is_new = attempt.is_new(began)
    # When a creation was sent isn't written: its worker may have been there before.
    ran = attempt.states.get("8", start) if attempt.kind == "ACTOR_CREATION_TASK" else began
    # Where it asks for more than CPUs, its worker's start isn't told apart.
    is_certain = attempt.asks_more or not is_new
    is_lacking = attempt.may_lack(began, start)
    # It may have been sent to its worker while that started: nobody knows when it was there.
    if (is_lacking or attempt.asks_more) and parts["worker_start"] > parts["resources"]:
        return attempt, parts, False
    if is_lacking:
        return attempt, parts, True
    is_up = attempt.kind != "ACTOR_TASK" and attempt.is_first and attempt.was_up(began)
    is_idle = is_up and parts["resources"] > _MOST_HANDING_NS
    is_idle |= _is_idle_before(store, row, attempt, _ran_by(store, row, beside))
    if is_idle or attempt.may_fetch(ends[call.row], start):
        return replace(attempt, asked=f"{attempt.asked} or its arguments to get there"), parts, False
    return attempt, parts, is_certain or (began >= attempt.made_ns and ran - began <= began - attempt.made_ns)


def _is_idle_before(store: Store, row: int, attempt: Attempt, ran: Sequence[int]) -> bool:
    """Return whether the worker that got a task ran nothing for most of the time in which it waited for one.

    Args:
        ran: The attempts that began in its process until then, that one among them.
    """
    spans, since = store.spans, attempt.states.get("2", 0)
    earlier = sorted((spans.start_ns[other], spans.end_ns[other]) for other in ran if other != row)
    if attempt.kind == "ACTOR_TASK" or not earlier:
        return False
    called = spans.end_ns[next(call.row for call in calls_of(store) if row in call.attempts)]
    until = min(spans.start_ns[row], attempt.states.get("5", spans.start_ns[row]))
    idle, reached = 0, max(since, called, earlier[0][0])
    for start, end in (*earlier, (until, until)):
        idle += max(0, min(start, until) - reached)
        reached = max(reached, end)
    return idle > max(_MOST_HANDING_NS, (until - max(since, called)) // 2)


def _ran_by(store: Store, row: int, beside: Sequence[int]) -> list[int]:
    """Return which spans are attempts that had begun in its process when one began, that one among them."""
    names, start = store.names.texts, store.spans.start_ns[row]
    return [
        other
        for other in beside
        if names[store.spans.name[other]].endswith(RAN) and store.spans.start_ns[other] <= start
    ]


def _prepared(store: Store, row: int) -> tuple[int, list[int]]:
    """Return when a process had made its actor before an attempt, or else began its first one, and all its spans."""
    spans, names = store.spans, store.names.texts
    # What has no end stands in a file of its own.
    beside = [other for other in range(len(spans)) if spans.process[other] == spans.process[row]]
    ran = _ran_by(store, row, beside)
    made = [spans.end_ns[other] for other in ran if names[spans.name[other]].endswith(f"__init__{RAN}")]
    prepared = max(made, default=NO_TIME)
    return min(spans.start_ns[other] for other in ran) if prepared == NO_TIME else prepared, beside


def _hand_over(parts: Counter[str]) -> None:
    """Count a moment before an actor runs a call as handing it over, as where nothing else is seen to run there."""
    if 0 < parts["actor"] <= _MOST_HANDING_NS:
        parts["unknown"] += parts.pop("actor")


def tasks_by_name(store: Store, events: Path) -> dict[int, Sequence[Attempt]]:
    """Return the attempts of each call's task, the last one first: of one name, in the order of submission.

    So it holds where one thread has submitted all calls of a name.
    """
    by_name: defaultdict[str, list[Sequence[Attempt]]] = defaultdict(list)
    for attempts in attempts_in(sorted(events.glob("event_EXPORT_TASK_*"))).values():
        if attempts[-1].name:
            by_name[attempts[-1].name].append(attempts)
    tasks = {name: iter(sorted(each, key=lambda task: task[-1].made_ns)) for name, each in by_name.items()}
    calls = sorted(calls_of(store), key=lambda call: store.spans.start_ns[call.row])
    return {call.row: next(tasks.get(call.function.removeprefix("__main__."), iter(())), ()) for call in calls}
