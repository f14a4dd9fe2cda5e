"""What spanview says of calls, held against what Ray says itself."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rays_word import attempts_in
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.calls import calls_of
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
    from spanview.index.store import Store

_LEAST_NS: Final = 50_000_000
"""Shorter waits are left out: in these, Ray's own times differ from the spans' by as much."""
_HANDOVER_NS: Final = 2_000_000
"""Less than this is what handing a call over takes."""
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
            parts = attempt.parts_ns(store.spans.end_ns[call.row], process_ns, start_ns)
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
    calls, different = [*calls_of(store)], list[str]()
    became = outcomes_of(store, calls, reasons_of(store, calls_of(store)))
    waits = AllAttempts(store).reasons_of([call.attempts[0] for call in calls if call.attempts])
    for call in calls:
        task, told = tasks[call.row], became[call.row]
        made = next((each for each in task if each.kind == "ACTOR_CREATION_TASK" and each.outcome == "finished"), None)
        expected_outcome = (made or task[0]).outcome if task else ""
        # What Ray said last may be older than what spans prove.
        is_proven = expected_outcome in {"pending", "running"} and told == _by_spans_alone(store, call)
        if task and not is_proven and (told.outcome.key, told.certainty) != (expected_outcome, Certainty.CERTAIN):
            different.append(f"{call.function}: {told}, but {task[0].outcome}")
        if not (task and call.attempts and (call.wait_ns or 0) >= _HANDOVER_NS):
            continue
        parts = {kind.name.lower(): ns for kind, ns in waits.parts_of(call.attempts[0]).items()}
        expected = _expected_waits(store, call, task)
        if expected and parts != expected:
            different.append(f"{call.function}: {parts}, but {dict(expected)}")
    return different


def _by_spans_alone(store: Store, call: Call) -> Became | None:
    """Return what an attempt shows that has an end, or a constructor that failed; None where neither is there."""
    if call.attempts and store.spans.end_ns[call.attempts[-1]] != NO_TIME:
        has_failed = store.spans.status[call.attempts[-1]] == ERROR
        return Became(CallOutcome.FAILED if has_failed else CallOutcome.FINISHED)
    actor = f"{call.function.rpartition('.')[0]}.__init__"
    made = [each for each in calls_of(store) if each.function == actor and each.attempts]
    if made and all(store.spans.status[each.attempts[-1]] == ERROR for each in made):
        return Became(CallOutcome.CONSTRUCTOR_FAILED)
    return None


def _expected_waits(store: Store, call: Call, task: Sequence[Attempt]) -> Mapping[str, int]:
    row = call.attempts[0]
    start = store.spans.start_ns[row]
    match = FILE_OF_HOOK.search(store.sources[store.spans.source[row]].path)
    attempt = next(each for each in task if each.begun_ns <= start)
    return attempt.parts_ns(store.spans.end_ns[call.row], int(match[2]) * 1_000_000 if match else 0, start)


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
