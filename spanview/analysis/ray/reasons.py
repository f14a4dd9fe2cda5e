"""Why a call has no attempt, as far as files show.

spans                                                        reason
-----                                                        ------
A.__init__  A.__init__ again, same actor                     already existed: no call at all
A.__init__  A.__init__ below it, same actor                  created the actor: the one below is the call
f           status ERROR                                     submit failed
f           no end                                           submission has no end: who knows whether Ray got it
A.f         each attempt of A.__init__ has failed            constructor failed
A.f, A.g    A.f never has attempts, A.g ran after it         not traced, likely
r           no routing of Serve's is above it                not traced, likely: Serve's exporter traces its replica
s, r.check  of Ray Serve's own                               Ray Serve's own: it may listen until Serve ends
r, r        Serve's routing calls a replica again            Ray Serve's own, likely: the first was full, or gone
f           Ray's own events say it                          as they say: worker died, waiting, …; certain
f           nothing but f can have made what has no parent   began, likely: it ran, died, or was cancelled
f           nothing of these                                 no attempt seen: it waited, ran, died, …

The names of a call's two spans can differ, so what belongs to one actor is known by the actor's id.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.names import RAN, SUBMITTED, is_submitting, started_attempts
from spanview.analysis.ray.told import NOT_MADE, CallOutcome, lives_of_actor, told_outcomes
from spanview.analysis.ray.unseen import begun_calls
from spanview.analysis.serve.calls import is_serve_call
from spanview.analysis.serve.requests import Part, part_of_name
from spanview.index.arrays import copy_of
from spanview.index.whole_spans import spans_at
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME, ROUNDED_NS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.analysis.ray.calls import Calls
    from spanview.index.arrays import Places
    from spanview.index.store import Store

_CONSTRUCTOR: Final = "__init__"
_NO_CALL: Final = -1
_MAX_RECORDS: Final = 20_000
"""Records that are read: of calls without an attempt, and of attempts; of further ones the reason stays unknown."""
MAX_ASKED: Final = 2_000
"""Calls without an attempt whose processes are asked, the newest."""
_NEVER_TRACED: Final = ("MapWorker(", "_MapWorker.")
"""Beginnings of the names of Ray Data's actors whose method `submit` is a generator, which tracing leaves out."""
_SERVES_OWN: Final = ("ServeController.", "ProxyActor.", "ServeReplica:")
"""Beginnings of the names of calls by which Ray Serve runs itself: health checks, long polls, reconfiguration."""


class Reason(StrEnum):
    """Why a call has no attempt, where that isn't what became of it."""

    EXISTING = "already existed"
    """It isn't a call: `get_if_exists` found the actor."""
    CREATED = "created the actor"
    """It isn't a call: `get_if_exists` found no actor, and made the call below."""
    UNTRACED = "not traced"
    """It ran, or runs, but tracing leaves out its method."""
    SUBMITTING = "submission has no end"
    """Its caller submits it, or was lost before it had, or just after."""
    SERVES_OWN = "Ray Serve's own"
    """A call of its own, which may listen until Serve ends, or a request that it handed to another replica."""
    BEGUN = "began, no end seen"
    """What ran below it is here."""
    UNKNOWN = "no attempt seen"


@dataclass(frozen=True, slots=True)
class Why:
    """Why one call has no attempt."""

    reason: Reason | CallOutcome
    text: str
    """The evidence, in a sentence without its full stop; it may contain names from files."""
    certainty: Certainty = Certainty.LIKELY
    may_run: bool = False
    """Whether it may still wait or run as far as the files show, so that its processes can be asked."""
    brief: str = ""
    """The reason in a few words, where Ray says more of it than which one it is; with texts from files."""
    was_sent: bool = True
    """Whether a worker may have got it; False where Ray says that none has."""
    is_stuck: bool = False
    """Whether it waits for what no node has, as Ray says."""

    @property
    def label(self) -> str:
        """The reason in a few words, with its certainty unless that is certain."""
        is_sure = self.certainty is Certainty.CERTAIN or self.reason is Reason.UNKNOWN
        return self.brief or (self.reason.value if is_sure else f"{self.reason}, likely")

    @property
    def never_ran(self) -> bool:
        """Whether it has not run, and won't, certainly or likely."""
        return self.follows_failure or not (self.was_sent or self.may_run)

    @property
    def follows_failure(self) -> bool:
        """Whether it never ran because something else had failed, or ended."""
        return self.reason in _FOLLOW_FAILURES

    @property
    def has_failed(self) -> bool:
        """Whether it failed, as Ray's own events or the failure that it followed say; being cancelled is no failure."""
        outcome = self.outcome
        has_died = outcome is not None and outcome.takes_process
        return has_died or outcome is CallOutcome.FAILED or self.follows_failure

    @property
    def outcome(self) -> CallOutcome | None:
        """What became of it; None where only the reason is known why it has no attempt."""
        return self.reason if isinstance(self.reason, CallOutcome) else None

    @property
    def is_call(self) -> bool:
        """Whether it is a call at all."""
        return self.reason not in {Reason.EXISTING, Reason.CREATED}

    @property
    def is_harmless(self) -> bool:
        """Whether nothing suggests that something went wrong."""
        return not self.is_call or self.reason in {Reason.UNTRACED, Reason.SERVES_OWN}


_SEVERAL_ERRORS: Final = frozenset({CallOutcome.FAILED, CallOutcome.ACTOR_DIED})
"""What becomes of a call with errors of which Ray's word says more."""
_FOLLOW_FAILURES: Final = frozenset({CallOutcome.CONSTRUCTOR_FAILED, CallOutcome.DEPENDENCY_FAILED})
OPEN_TEXT: Final = (
    "waited or ran when the files were written, died, was cancelled, lacked an argument, "
    "ran untraced, or could never start"
)
"""What may have happened to a call about which nothing more is known."""
_EXISTING: Final = Why(Reason.EXISTING, "not a call: get_if_exists found the actor", Certainty.CERTAIN)
_CREATED: Final = Why(
    Reason.CREATED, "not a call: get_if_exists found no actor, so the call below creates it", Certainty.CERTAIN
)
_SUBMITTING: Final = Why(
    Reason.SUBMITTING, "the span of its submission has no end, so Ray may not have got it", Certainty.CERTAIN
)
_SAYS_AS_MUCH: Final = ("its actor died", "it failed")
"""How what Ray says begins that says what its outcome is called, or of each call something else."""
_NOT_SUBMITTED: Final = Why(CallOutcome.NOT_SUBMITTED, "submitting it failed, so it never ran", Certainty.CERTAIN)


@dataclass(frozen=True, slots=True)
class _CallWithoutAttempt:
    """A call without an attempt, and what its record says."""

    row: int
    function: str
    actor: str
    """The id of the actor; empty for a task."""

    @property
    def is_constructor(self) -> bool:
        return self.function.rpartition(".")[2] == _CONSTRUCTOR


class _Actor:
    """What the attempts of one actor show.

    Args:
        rows: Its attempts, by start.
    """

    def __init__(self, store: Store, rows: Sequence[int]) -> None:
        spans, names = store.spans, store.names.texts
        self.constructors = [row for row in rows if names[spans.name[row]].endswith(f".{_CONSTRUCTOR}{RAN}")]
        made = {*self.constructors}
        self.methods = [row for row in rows if row not in made]
        self.first_ns = spans.start_ns[rows[0]]
        self.restart_ns = spans.start_ns[self.constructors[-1]] if len(self.constructors) > 1 else NO_TIME
        """When it was last constructed again; `NO_TIME` where it never was."""
        self.has_failed = not self.methods and all(spans.status[row] == ERROR for row in self.constructors)
        """Whether its constructor failed each time, and nothing else ran."""
        reached = accumulate((spans.end_ns[row] for row in self.methods), max)
        self.overlaps = any(
            spans.start_ns[row] < end - ROUNDED_NS
            for row, end in zip(self.methods[1:], reached, strict=False)
            if end != NO_TIME
        )
        """Whether two of its methods ran at the same time."""


_KNOWN: Final[WeakKeyDictionary[Store, dict[int, str]]] = WeakKeyDictionary()
"""By store and row, the actor that a record names; that of a call is known when it has been submitted."""


def reason_of(store: Store, row: int) -> Why | None:
    """Return why a call has no attempt; None if a span isn't such a call."""
    return reasons_of(store, calls_of(store, [store.spans.trace[row]])).get(row)


def reasons_of(store: Store, calls: Calls) -> dict[int, Why]:
    """Return why calls have no attempt, by the rows of their PRODUCERs.

    Args:
        store: Where the spans are; all of them are searched for evidence.
    """
    return {} if calls.counts.all() else _Reasons(store, calls).answers


def without_attempt(store: Store, reasons: Mapping[int, Why]) -> dict[int, Why]:
    """Return which of the calls in the result of `reasons_of` left no attempt, as every count of them means it.

    Left out are what was no call or was never submitted, methods that tracing leaves out, and calls of Ray Serve's own.
    """
    statuses = store.spans.status
    return {row: why for row, why in sorted(reasons.items()) if statuses[row] != ERROR and not why.is_harmless}


def to_ask(store: Store, reasons: Mapping[int, Why]) -> list[int]:
    """Return the rows of calls without an attempt that may run as far as the files show: of the newest."""
    return [row for row, why in without_attempt(store, reasons).items() if why.may_run][-MAX_ASKED:]


def open_calls(calls: Calls, reasons: Mapping[int, Why]) -> list[int]:
    """Return the rows of those of all calls that `to_ask` returns, and of those that are to be tried again."""
    return [*to_ask(calls.store, reasons), *calls.to_be_seen_again[-MAX_ASKED:]]


def open_among(store: Store, reasons: Mapping[int, Why]) -> frozenset[int]:
    """Return the rows of those that may run as their processes show it, too; none where nobody can ask these."""
    rows = to_ask(store, reasons)
    return frozenset(filter(store.ask_lives(store).is_open, rows) if rows and store.ask_lives else ())


class _Reasons:
    """Finds the reasons of some calls, of those without an attempt among them."""

    def __init__(self, store: Store, calls: Calls) -> None:
        self._store = store
        self._known = _KNOWN.setdefault(store, {})
        self._all_calls = calls if calls.is_everything else calls_of(store)
        producers, counts = self._all_calls.rows, self._all_calls.counts
        self._producer_of: Places = np.full(len(store.spans), _NO_CALL)
        """The call of each attempt, by row; `_NO_CALL` for every other span."""
        self._producer_of[self._all_calls.attempts] = np.repeat(producers, counts)
        self._traced_names = {*np.unique(copy_of(store.spans.name)[producers[counts > 0]]).tolist()}
        self._ran = self._names_that_ran()
        lone_calls = self._read(producers[counts == 0])
        self._leaving: dict[int, bool] = {}
        """Whether any call of a function has an attempt, by the number of the name."""
        self._actors = self._actors_of({call.actor for call in lone_calls if call.actor})
        self._last_run = self._last_submitted()
        self._creating = set[int]()
        """Calls of `get_if_exists` that made the call below them, which created the actor."""
        self._existing = self._existing_of(lone_calls)
        self._begun = begun_calls(store, calls.without_attempt)
        self._has_routes = any(part_of_name(text) is Part.ROUTE for text in store.names.texts)
        """Whether Serve's exporter is on where requests are routed: the replica's span is to be beside the call."""
        self._last_routed = self._last_of_routings()
        self._told = told_outcomes(store, calls.without_attempt)
        """What Ray's own events say of calls without an attempt, by row."""
        unexplained = {*calls.without_attempt}
        self.answers = {call.row: self._why(call) for call in lone_calls if call.row in unexplained}
        for row in unexplained - self.answers.keys():
            call = _CallWithoutAttempt(row, store.names.texts[store.spans.name[row]].removesuffix(SUBMITTED), "")
            open_why = self._of_ray(call) or Why(Reason.UNKNOWN, f"it {OPEN_TEXT}", may_run=True)
            self.answers[row] = self._of_submission(row) or open_why

    # -- what is known -----------------------------------------------------------------------------------------------

    def _actor_of(self, row: int) -> str:
        """Return the id of the actor that a record names; empty where it names none."""
        self._read_actors([row])
        return self._known.get(row, "")

    def _read_actors(self, rows: Sequence[int]) -> None:
        """Read which actors records name, once for each; of what still submits a call that isn't known."""
        new = [row for row in rows if row not in self._known and not is_submitting(self._store, row)]
        for row, span in zip(new, spans_at(self._store, new), strict=True):
            actor = span.attributes.get("ray.actor_id")
            self._known[row] = actor if isinstance(actor, str) else ""

    def _read(self, rows: Places) -> list[_CallWithoutAttempt]:
        """Return the calls with their actors; one record is read for each task function, all for actor methods."""
        texts = self._store.names.texts
        names = copy_of(self._store.spans.name)[rows]
        order = np.argsort(names, kind="stable")
        calls, budget = list[_CallWithoutAttempt](), _MAX_RECORDS
        for part in np.split(rows[order], np.flatnonzero(np.diff(names[order])) + 1) if len(rows) else []:
            function = texts[self._store.spans.name[int(part[0])]].removesuffix(SUBMITTED)
            if self._store.span(int(part[0])).attributes.get("ray.remote") == "function":
                calls += [_CallWithoutAttempt(row, function, "") for row in part.tolist()]
                continue
            self._read_actors(part[:budget].tolist())
            calls += [_CallWithoutAttempt(row, function, self._actor_of(row)) for row in part[:budget].tolist()]
            budget = max(0, budget - len(part))
        return calls

    def _names_that_ran(self) -> set[str]:
        """Return the names of all attempts, including those whose call is in no file."""
        spans, texts = self._store.spans, self._store.names.texts
        size = len(spans.next_row)
        names = copy_of(spans.name)[:size][copy_of(spans.kind)[:size] == CONSUMER]
        return {texts[name].removesuffix(RAN) for name in np.unique(names).tolist() if texts[name].endswith(RAN)}

    def _leaves_attempts(self, call: _CallWithoutAttempt) -> bool:
        """Return whether any call of a function has an attempt, in any file."""
        name = self._store.spans.name[call.row]
        if name not in self._leaving:
            # The caller has `main.<locals>.A.f` where the worker has `A.f`.
            parts = call.function.split(".")
            ran = (".".join(parts[first:]) in self._ran for first in range(max(1, len(parts) - 1)))
            self._leaving[name] = name in self._traced_names or any(ran)
        return self._leaving[name]

    def _last_submitted(self) -> dict[tuple[str, int], int]:
        """Return when each caller last submitted a call of an actor that ran; constructors don't count.

        The keys are the actor's id and the number of the caller's process.
        """
        spans, last = self._store.spans, dict[tuple[str, int], int]()
        for actor, facts in self._actors.items():
            for row in facts.methods:
                producer = int(self._producer_of[row])
                if producer != _NO_CALL:
                    key = actor, spans.process[producer]
                    last[key] = max(last.get(key, NO_TIME), spans.start_ns[producer])
        return last

    def _last_of_routings(self) -> dict[tuple[int, int], int]:
        """Return when each routing of Serve last called a replica, by the routing's trace and span id."""
        spans, rows = self._store.spans, self._all_calls.rows
        requests = rows[np.isin(copy_of(spans.name)[rows], [*self._store.names.where(is_serve_call)])].tolist()
        return {
            (spans.trace[row], spans.parent_id[row]): spans.start_ns[row]
            for row in sorted(requests, key=spans.start_ns.__getitem__)
        }

    def _actors_of(self, wanted: set[str]) -> dict[str, _Actor]:
        """Return what the attempts of actors show; a process runs at most one actor."""
        if not wanted:
            return {}
        rows = started_attempts(self._store)
        # The store may have grown since its calls were looked for.
        rows = rows[rows < len(self._producer_of)]
        processes, starts = copy_of(self._store.spans.process), copy_of(self._store.spans.start_ns)
        rows = rows[np.lexsort((starts[rows], processes[rows]))]
        parts = np.split(rows, np.flatnonzero(np.diff(processes[rows])) + 1) if len(rows) else []
        attempts, budget = defaultdict[str, list[int]](list), _MAX_RECORDS
        for part in (part.tolist() for part in parts):
            ends = {self._actor_of(row) for row in (part[0], part[-1])}
            if len(ends) == 1:
                (actor,) = ends
                if actor in wanted:
                    attempts[actor] += part
                continue
            # A worker that ran tasks before, or several processes in one file.
            for row in part[:budget]:
                actor = self._actor_of(row)
                if actor in wanted:
                    attempts[actor].append(row)
            budget = max(0, budget - len(part))
        return {
            actor: _Actor(self._store, sorted(rows, key=lambda row: (starts[row], row)))
            for actor, rows in attempts.items()
        }

    def _existing_of(self, calls: Iterable[_CallWithoutAttempt]) -> set[int]:
        """Return the PRODUCERs of constructors that are no calls: the actor existed, or the one below made it."""
        spans, existing = self._store.spans, set[int]()
        constructors = [call for call in calls if call.is_constructor]
        if not constructors:
            return existing
        names = {spans.name[call.row] for call in constructors}
        size = len(spans.next_row)
        is_one = (copy_of(spans.kind)[:size] == PRODUCER) & np.isin(copy_of(spans.name)[:size], [*names])
        by_id = {(spans.trace[row], spans.span_id[row]): row for row in np.flatnonzero(is_one).tolist()}
        above = {row: by_id.get((spans.trace[row], spans.parent_id[row])) for row in by_id.values()}
        inner = {
            parent: row for row, parent in above.items() if parent is not None and spans.name[parent] == spans.name[row]
        }
        by_actor = defaultdict[str, list[_CallWithoutAttempt]](list)
        for call in constructors:
            if spans.status[call.row] == ERROR:
                parent = above.get(call.row)
                if parent in inner and spans.name[parent] == spans.name[call.row] and spans.status[parent] != ERROR:
                    # Another caller created the actor first, and this one got it.
                    existing.add(call.row)
            elif call.actor:
                by_actor[call.actor].append(call)
        for actor, lone_calls in by_actor.items():
            ran = self._actors.get(actor)
            made = ran is not None and any(self._producer_of[row] != _NO_CALL for row in ran.constructors)
            by_start = sorted(lone_calls, key=lambda call: (call.row in inner, spans.start_ns[call.row], call.row))
            existing |= {call.row for call in (by_start if made else by_start[1:])}
            maker = by_start[0].row
            if not made and ran is not None and ran.first_ns < spans.start_ns[maker]:
                existing.add(maker)
        self._creating = {row for row in existing & inner.keys() if inner[row] not in existing}
        return existing

    def _was_passed(self, call: _CallWithoutAttempt) -> bool:
        """Return whether a later call of the same caller ran in the same life of an actor that runs one at a time."""
        actor, spans = self._actors.get(call.actor), self._store.spans
        if actor is None or spans.status[call.row] == ERROR:
            return False
        is_one_life = not actor.overlaps and actor.restart_ns <= spans.start_ns[call.row]
        ended, last = spans.end_ns[call.row], self._last_run.get((call.actor, spans.process[call.row]), NO_TIME)
        return is_one_life and ended != NO_TIME and last >= ended and self._may_be_skipped(call)

    def _may_be_skipped(self, call: _CallWithoutAttempt) -> bool:
        """Return whether tracing may leave out what a call calls: some methods, but no function and no constructor.

        spanview's hook, which alone writes the task that submits a call, leaves no method out.
        """
        if not call.actor or call.is_constructor or self._leaves_attempts(call):
            return False
        return "ray.submitter_task_id" not in self._store.span(call.row).attributes

    # -- answers -----------------------------------------------------------------------------------------------------

    def _why(self, call: _CallWithoutAttempt) -> Why:
        if call.row in self._creating:
            return _CREATED
        if call.row in self._existing:
            return _EXISTING
        if (why := self._of_submission(call.row)) is not None:
            return why
        told = self._of_ray(call)
        if told is not None and not told.may_run:
            return told
        actor = self._actors.get(call.actor)
        if actor is not None and call.is_constructor:
            text = "its actor has run calls, so it already existed, or its constructor's record isn't here"
            return Why(Reason.UNTRACED, text, Certainty.CERTAIN)
        shown = self._of_method(call, actor)
        # What Ray said last may be old, but what spans make likely is no more than that.
        if shown is None or (told is not None and shown.certainty is not Certainty.CERTAIN):
            return told or shown or self._of_serve(call) or self._unknown(call, actor)
        return shown

    def _of_submission(self, row: int) -> Why | None:
        """Return what a call's own span says of it, if it wasn't submitted as far as is known."""
        if self._store.spans.status[row] == ERROR:
            return _NOT_SUBMITTED
        return _SUBMITTING if is_submitting(self._store, row) else None

    def _of_ray(self, call: _CallWithoutAttempt) -> Why | None:
        """Return what Ray itself says of a call; None where it says nothing."""
        told = self._told.get(call.row)
        if told is None:
            return None
        if told.outcome is CallOutcome.FINISHED and not told.was_sent:
            brief = "finished, as Ray says, which doesn't say that it ran"
            return Why(Reason.UNKNOWN, brief, Certainty.CERTAIN, brief=brief)
        if told.outcome is CallOutcome.FINISHED and not self._may_be_skipped(call):
            is_there = call.is_constructor or call.row in self._begun
            said = (
                "finished, as Ray says"
                if call.is_constructor
                else "finished or was cancelled, which Ray doesn't tell apart"
            )
            brief = f"{said}; {'its span is lost, or in another file' if is_there else 'no span of it is here'}"
            return Why(Reason.UNKNOWN, brief, Certainty.CERTAIN, brief=brief)
        if told.outcome is CallOutcome.FINISHED:
            return Why(Reason.UNTRACED, "Ray says that it finished, and no span of it is here", Certainty.CERTAIN)
        if told.outcome.has_failed:
            # An actor may not be reached while it is restarted.
            is_more = told.outcome in _SEVERAL_ERRORS and not told.text.startswith(_SAYS_AS_MUCH)
            brief = told.text if is_more else ""
            said, cause = told.as_ray_says, ""
            if told.text.startswith(NOT_MADE):
                _, cause = lives_of_actor(self._store, self._actor_of(call.row))
            said = said.replace(NOT_MADE, f"{NOT_MADE} ({cause})", 1) if cause else said
            return Why(told.outcome, said, Certainty.CERTAIN, brief=brief, was_sent=told.was_sent)
        text = f"Ray says that it {told.text}" if told.is_over else f"Ray said last that it {told.text}"
        reason = Reason.UNKNOWN if told.outcome is CallOutcome.UNKNOWN else told.outcome
        return Why(
            reason,
            text,
            Certainty.CERTAIN,
            may_run=not told.is_over,
            brief=told.as_ray_said_last,
            was_sent=told.was_sent,
            is_stuck=told.is_stuck,
        )

    def _of_method(self, call: _CallWithoutAttempt, actor: _Actor | None) -> Why | None:
        function = call.function
        if actor is not None and actor.has_failed:
            return Why(
                CallOutcome.CONSTRUCTOR_FAILED, "its actor's constructor failed, so it never ran", Certainty.CERTAIN
            )
        text = ""
        if function.startswith(_NEVER_TRACED) and function.endswith(".submit"):
            text = "a generator method of Ray Data, which tracing leaves out"
        elif is_serve_call(function + SUBMITTED) and not (self._has_routes and self._store.spans.parent_id[call.row]):
            text = "a request to a replica of Ray Serve, which Serve's own exporter traces"
        elif self._was_passed(call):
            text = "its method leaves no attempts, and a later call ran (where several run at once, it may hang)"
        return Why(Reason.UNTRACED, text) if text else None

    def _of_serve(self, call: _CallWithoutAttempt) -> Why | None:
        if not call.function.startswith(_SERVES_OWN):
            return None
        spans = self._store.spans
        if not is_serve_call(call.function + SUBMITTED):
            return Why(Reason.SERVES_OWN, "what listens ends with Serve", Certainty.CERTAIN)
        routing, start_ns = (spans.trace[call.row], spans.parent_id[call.row]), spans.start_ns[call.row]
        if routing[1] and self._last_routed.get(routing, NO_TIME) > start_ns:
            return Why(Reason.SERVES_OWN, "its replica was full, or gone: Ray Serve called one again")
        # A request that nobody answered.
        return None

    def _unknown(self, call: _CallWithoutAttempt, actor: _Actor | None) -> Why:
        if call.row in self._begun:
            return Why(Reason.BEGUN, "spans below it are here: it ran on, died, or was cancelled", may_run=True)
        is_alone = call.actor and not call.is_constructor and actor is None
        text = "; nothing that its actor ran is here either" if is_alone else ""
        return Why(Reason.UNKNOWN, f"it {OPEN_TEXT}{text}", may_run=True)
