"""Ray's own word on calls, by its events: which of its tasks a call is, what it waited for, and what became of it.

span                                         a task of Ray's
-------------------------------------------  ------------------------------------------------------------------------
an attempt that has its id                   that one, in the session of the span's node
a call that has both ids                     the same; with one, that is the task that submits it, as Ray writes it
another call                                 the only one with its name that was made while the call was submitted

Ids of tasks repeat from session to session, so the node that the record names counts, too. An attempt of a call is the
last one of the task that had begun when its span started.

a task, an actor's creation    made ──arguments──▶ ready ──resources──▶|──worker start──▶ sent ─▶ runs
                                                                       its process begins
a call of an actor             made ──arguments──▶ ready ──creation──▶|───actor───▶ sent ───actor───▶ runs
                                                                      its actor has been made
a second attempt               the first one made ──retry──▶ it ready ──▶ …, where no span shows the first one

A worker loads the function, what traces it, and its arguments between `runs` and the span's start. One that had begun
before the call may still have been starting, even when it was sent there, or waited for room: that is only likely.
What is left, as handing over a call, is unknown, as is a moment before an actor runs it that is seen to run nothing
else. What has not run yet waits for what comes next; what has neither finished nor failed runs, as far as Ray has
written.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from spanview.analysis.ray.names import SUBMITTED
from spanview.analysis.ray.wait_causes import KINDS, WaitedFor
from spanview.analysis.ray.workers import is_told
from spanview.formats.ray_events import NO_STATE, OF_ARGUMENT, OF_ITS_GROUP, TASK_KINDS
from spanview.index.arrays import copy_of
from spanview.index.blocks import batches, read_records
from spanview.index.ray_tasks import UNKNOWN_TASK, in_plural, task_key
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.ray_tasks import RayTasks
    from spanview.index.store import Store

_TASK: Final = re.compile(rb'ray\.task_id".{1,40}?"([0-9a-f]{48})"', re.DOTALL)
_NODE: Final = re.compile(rb'ray\.node_id".{1,40}?"([0-9a-f]{56})"', re.DOTALL)
_SUBMITTER: Final = b"ray.submitter_task_id"
_RECORDS: Final = 4096
"""Records that are read at once."""
_CREATION: Final = TASK_KINDS.index("ACTOR_CREATION_TASK")
_METHOD: Final = TASK_KINDS.index("ACTOR_TASK")
_MOST_AT_ONCE: Final = 1_000
"""Tasks that were made while a call was submitted, among which its own is searched for."""


def told_tasks(store: Store) -> ToldTasks | None:
    """Return what Ray says of the calls of a store as it is now; None where it says nothing."""
    if store.ray is None:
        return None
    known = _TOLD.get(store)
    if known is None or known.version != store.ray.version:
        known = _TOLD[store] = ToldTasks(store, store.ray)
    return known


class ToldTasks:
    """What Ray says of the calls of a store, as long as it says no more."""

    def __init__(self, store: Store, tasks: RayTasks) -> None:
        self._find_store = ref(store)
        self.tasks, self.version = tasks, tasks.version
        self._ids = _IDS.setdefault(store, _Ids())

    @property
    def _store(self) -> Store:
        store = self._find_store()
        if store is None:
            raise ReferenceError("its store is gone")
        return store

    def of_attempts(self, rows: Places, calls: Places) -> Places:
        """Return which attempt of a task each of some attempts is; `UNKNOWN_TASK` where Ray says nothing of it.

        Args:
            calls: The rows of their calls; a negative number for one that no file holds.
        """
        first, last = self._with_id(rows)
        lacks = (first == last) & (calls >= 0)
        first[lacks], last[lacks] = self._of_calls(calls[lacks])
        tasks, starts = self.tasks, copy_of(self._store.spans.start_ns)[rows]
        begun = np.min([tasks[name] for name in ("made", "ready", "sent", "runs")], axis=0)
        found = np.where(first < last, first, UNKNOWN_TASK)
        for step in range(1, int((last - first).max(initial=0))):
            later = first + step
            fits = later < last
            fits[fits] = begun[later[fits]] <= starts[fits]
            found[fits] = later[fits]
        return found

    def of_calls(self, rows: Places) -> Places:
        """Return the last attempt of the task that each of some calls submitted; `UNKNOWN_TASK` where none is known.

        Of an actor's creation it is the first one, where that finished: a later one is a restart.
        """
        first, last = self._of_calls(rows)
        found = np.where(first < last, last - 1, UNKNOWN_TASK)
        several = np.flatnonzero(last - first > 1)
        is_made = self.tasks["kind"][first[several]] == _CREATION
        is_made &= self.tasks["has_finished"][first[several]]
        found[several[is_made]] = first[several[is_made]]
        return found

    def are_retried(self, rows: Places) -> Flags:
        """Tell which of some calls submitted a task that was tried again: what waits for that hasn't been."""
        first, last = self._of_calls(rows)
        are_known, tasks = first < last, self.tasks
        newest = last[are_known] - 1
        waits = (tasks["sent"][newest] == NO_STATE) & (tasks["runs"][newest] == NO_STATE)
        waits &= ~(tasks["has_failed"][newest] | tasks["has_finished"][newest])
        are_known[are_known] = tasks["attempt"][newest] > waits
        return are_known

    def counts_of(self, rows: Places) -> Places:
        """Return how many attempts of each of some calls were sent to a worker, or have run; -1 for unknown."""
        first, last = self._of_calls(rows)
        return np.where(first < last, self._begun_before[last] - self._begun_before[first], -1)

    @cached_property
    def _begun_before(self) -> Places:
        tasks = self.tasks
        begun = (tasks["sent"] != NO_STATE) | (tasks["runs"] != NO_STATE) | tasks["has_finished"]
        return np.append(0, np.cumsum(begun))

    def _of_calls(self, rows: Places) -> tuple[Places, Places]:
        """Return where the attempts of the tasks of calls begin among all, and end; nothing lies between for none."""
        first, last = self._with_id(rows)
        lacks = np.flatnonzero(first == last)
        first[lacks], last[lacks] = self._by_time(rows[lacks])
        return first, last

    def _with_id(self, rows: Places) -> tuple[Places, Places]:
        keys, sessions = self._ids.of(self._store, self.tasks, rows)
        first, last = self.tasks.find(keys, sessions)
        return first, np.where(keys == 0, first, last)

    def _by_time(self, rows: Places) -> tuple[Places, Places]:
        """Return where the only tasks begin, and end, that can be those of calls whose records don't have the id."""
        spans, tasks = self._store.spans, self.tasks
        _, sessions = self._ids.of(self._store, tasks, rows)
        order, made = self._by_made
        starts, ends = (copy_of(column)[rows] for column in (spans.start_ns, spans.end_ns))
        first, last = np.searchsorted(made, starts, "left"), np.searchsorted(made, ends, "right")
        # Among more, one is hardly the only one.
        last = np.where((starts == NO_TIME) | (last - first > _MOST_AT_ONCE), first, last)
        names, of_rows = np.unique(copy_of(spans.name)[rows], return_inverse=True)
        are_called = self._are_called(names.tolist())
        counts, found = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        for step in range(int((last - first).max(initial=0))):
            fits = np.flatnonzero(first + step < last)
            candidates = order[first[fits] + step]
            is_it = are_called[of_rows[fits], tasks["name"][candidates]]
            is_it &= tasks.sessions[candidates] == sessions[fits]
            counts[fits[is_it]] += 1
            found[fits[is_it]] = candidates[is_it]
        keys = np.where(counts == 1, tasks["key"][found] if len(tasks) else np.uint64(0), np.uint64(0))
        first, last = tasks.find(keys.astype(np.uint64), sessions)
        return first, np.where(counts == 1, last, first)

    def _are_called(self, names: Sequence[int]) -> Flags:
        """Tell which names of calls can be those of which names of tasks.

        Ray names a task after its function there, a method after its class alone.
        """
        of_tasks = self.tasks.names.texts
        functions = ["." + self._store.names.texts[name].removesuffix(SUBMITTED) for name in names]
        return np.array([[text != "" and name.endswith("." + text) for text in of_tasks] for name in functions])

    @cached_property
    def _by_made(self) -> tuple[Places, NDArray[Any]]:
        """The first attempts of tasks by when they were made, and these times."""
        made = self.tasks["made"]
        known = np.flatnonzero((self.tasks["attempt"] == 0) & (made != NO_STATE))
        order = known[np.argsort(made[known], kind="stable")]
        return order, made[order]


_TOLD: Final[WeakKeyDictionary[Store, ToldTasks]] = WeakKeyDictionary()


class _Ids:
    """What records say of the tasks of spans: their keys, and the nodes; each is read once."""

    def __init__(self) -> None:
        self._known: Flags = np.zeros(0, np.bool_)
        self._keys: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._nodes: Places = np.zeros(0, np.int64)
        self._numbers = {b"": 0}
        """Of nodes, by their ids in hex; 0 is none."""

    def of(self, store: Store, tasks: RayTasks, rows: Places) -> tuple[NDArray[np.uint64], Places]:
        """Return the keys of the tasks of spans, 0 for none, and the sessions of their nodes."""
        more = max(0, len(store.spans.next_row) - len(self._known))
        self._known = np.append(self._known, np.zeros(more, np.bool_))
        self._keys = np.append(self._keys, np.zeros(more, np.uint64))
        self._nodes = np.append(self._nodes, np.zeros(more, np.int64))
        new = rows[~self._known[rows]]
        for part in batches(store, new.tolist(), _RECORDS):
            read = [*self._read(store, new[part].tolist())]
            self._keys[new[part]] = np.array([key for key, _ in read], np.uint64)
            self._nodes[new[part]] = [node for _, node in read]
        # What a call submits is known when it has been submitted, and its record is replaced then.
        spans = store.spans
        self._known[new] = (copy_of(spans.end_ns)[new] != NO_TIME) | (copy_of(spans.kind)[new] != PRODUCER)
        sessions = np.array([tasks.session_of(bytes.fromhex(node.decode())) for node in self._numbers])
        return self._keys[rows], sessions[self._nodes[rows]]

    def _read(self, store: Store, rows: Sequence[int]) -> Iterator[tuple[int, int]]:
        for row, record in zip(rows, read_records(store, rows), strict=True):
            text = _text_of(store.span(row).attributes) if record is None else record
            # Ray's own hook writes on a call the task that submits it.
            names_it = store.spans.kind[row] != PRODUCER or _SUBMITTER in text
            task, node = _TASK.search(text) if names_it else None, _NODE.search(text)
            number = self._numbers.setdefault(node[1], len(self._numbers)) if node else 0
            yield task_key(bytes.fromhex(task[1].decode())) if task else 0, number


_IDS: Final[WeakKeyDictionary[Store, _Ids]] = WeakKeyDictionary()
"""By store."""


def _text_of(attributes: Mapping[str, object]) -> bytes:
    return "".join(f'"{key}": "{value}"\n' for key, value in attributes.items()).encode()


_MOST_RESOLVING_NS: Final = 100_000_000
"""On a busy machine, a call without arguments takes up to a half of this, too, as registering an actor does, or handing
a call over to an actor that runs nothing."""
OR_ARGUMENTS: Final = " or its arguments to get there"
"""What may be said of who asked for what an idle worker had."""
_MOST_START_NS: Final = 5_000_000_000
"""Of 130 workers that got their first task, all were up within 3.8 s, but for two with environments of their own."""
_LEAST_START_NS: Final = 50_000_000
"""A worker that was there before the call was made, and took no longer, was up already."""


class ToldWaits(NamedTuple):
    """What Ray says that attempts waited for."""

    are_told: Flags
    """Of which it says anything."""
    are_certain: Flags
    """Of these, all but those whose worker began before they were made, or may have been there before they got it."""
    parts_ns: NDArray[Any]
    """How long each waited for what, a column for each of `WaitedFor`, from its call's end to its start."""
    asked: Mapping[int, str]
    """What those asked for that waited for a worker, by row."""
    ready_ns: NDArray[Any]
    """When the arguments of each were there, in nanoseconds since 1970; `NO_STATE` where Ray doesn't say."""


class Shown(NamedTuple):
    """What spans and files show of the processes of attempts, each in nanoseconds since 1970."""

    began: NDArray[Any]
    """When it began; 0 where no file's name says so."""
    prepared: NDArray[Any]
    """When it had made its actor, or else started its first attempt."""
    are_first: Flags
    """Which attempts that is."""
    are_held: Flags
    """Which of them waited until something else had ended in their actors."""
    busy_since: Callable[[NDArray[Any]], NDArray[Any]]
    """How long it ran something else from some times on, before it began the attempt; in nanoseconds."""


def told_waits(store: Store, told: ToldTasks, rows: Places, calls: Places, shown: Shown) -> ToldWaits:
    """Return what Ray says that attempts waited for, each the first that left a span; with the rows of their calls."""
    tasks, found = told.tasks, told.of_attempts(rows, calls)
    parts = np.zeros((len(rows), len(KINDS)), np.int64)
    if not len(tasks):
        return ToldWaits(found != UNKNOWN_TASK, found != UNKNOWN_TASK, parts, {}, np.full(len(rows), NO_STATE))
    since, until = copy_of(store.spans.end_ns)[calls], copy_of(store.spans.start_ns)[rows]
    kind, made, ready, sent, runs = (tasks[name][found] for name in ("kind", "made", "ready", "sent", "runs"))
    are_told = (found != UNKNOWN_TASK) & (ready != NO_STATE)
    # There is a span, so it was sent, and ran: a caller or a worker that was killed may not have written it, nor where.
    runs = np.where(runs == NO_STATE, np.maximum(until, np.where(sent == NO_STATE, ready, sent)), runs)
    sent = np.where(sent == NO_STATE, runs, sent)
    is_method, began = kind == _METHOD, shown.began
    is_first = ~_are_up(began, ready) & (
        tasks.are_first()[found] | (kind == _CREATION) | ((tasks["worker"][found] == 0) & shown.are_first)
    )
    asks_more = _ask_more(tasks, found)
    is_new = is_first & ~is_method & ~asks_more
    is_started = is_new & ((began == 0) | (began >= made) | (sent - ready >= _LEAST_START_NS))
    # When its worker was started isn't known; one that was started ahead may get its first task before it is there.
    # That an actor's creation was sent Ray doesn't write: its worker may have been there, and resources lacked.
    is_unsure = is_new & ((began < made) | ((kind == _CREATION) & (runs - began > began - made)))
    # What left its place meanwhile may have held what it asks for: it waited for that, or for a worker.
    may_lack = is_unsure & (tasks["resources"][found] != 0) & tasks.may_have_lacked_room(ready, sent)
    is_started, is_unsure = is_started & ~may_lack, is_unsure & ~may_lack
    starting = np.where(is_started, np.clip(began, ready, np.maximum(ready, sent)), sent)
    # Of 153 that ran so long after they had been sent, each was its worker's first; others took 89 ms at most.
    is_unready = is_first & ~is_method & (tasks["runs"][found] != NO_STATE) & (runs - sent >= _LEAST_START_NS)

    def between(start: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
        """Return what of a stretch is a part of each wait."""
        length: NDArray[Any] = np.minimum(end, until) - np.maximum(start, since)
        return np.where(end == NO_STATE, 0, np.maximum(0, length))

    def put(waited_for: WaitedFor, ns: NDArray[Any]) -> None:
        parts[:, KINDS.index(waited_for)] += ns

    # What is tried again is made again before the time has come to do so.
    is_retried = tasks["attempt"][found] > 0
    for waited_for, ns in _of_earlier(tasks, found, since, between):
        put(waited_for, np.where(is_retried, ns, 0))
    arguments = between(np.minimum(made, ready), ready)
    put(WaitedFor.ARGUMENTS, np.where(is_retried | (arguments <= _MOST_RESOLVING_NS), 0, arguments))
    # What was called before is sent first, though the actor has long been made; that it was is heard a moment later.
    created = np.clip(shown.prepared, ready, np.maximum(ready, sent))
    created = np.where((created > ready) & (sent - created <= _MOST_RESOLVING_NS), sent, created)
    put(WaitedFor.CREATION, np.where(is_method, between(ready, created), 0))
    put(WaitedFor.ACTOR, np.where(is_method, between(created, runs), 0))
    put(WaitedFor.RESOURCES, np.where(is_method, 0, between(ready, starting)))
    put(WaitedFor.WORKER_START, np.where(is_method, 0, between(starting, np.where(is_unready, runs, sent))))
    # An actor takes a call's arguments in its event loop, which anything may block.
    put(WaitedFor.LOADING, np.where(is_method, 0, between(runs, until)))
    if tasks.have_fetched:
        fetched = np.array([tasks.fetched_ns(index) for index in found.tolist()], np.int64)
        for part in (WaitedFor.ACTOR, WaitedFor.RESOURCES):
            column = parts[:, KINDS.index(part)]
            taken = np.minimum(column, fetched)
            column -= taken
            fetched -= taken
            put(WaitedFor.ARGUMENTS, taken)
    turns, resources, worker_start = (
        parts[:, KINDS.index(part)] for part in (WaitedFor.ACTOR, WaitedFor.RESOURCES, WaitedFor.WORKER_START)
    )
    turns[(turns <= _MOST_RESOLVING_NS) & ~shown.are_held] = 0
    put(WaitedFor.UNKNOWN, np.maximum(0, until - since - parts.sum(axis=1)))
    are_certain = are_told & ~is_unsure & ~(is_unready & (worker_start > resources) & (asks_more | may_lack))
    may_fetch = ~is_method & _may_fetch(tasks, found, sent, between, shown)
    asked = np.flatnonzero(are_told & (resources > 0))
    of_asked = zip(rows[asked].tolist(), found[asked].tolist(), may_fetch[asked].tolist(), strict=True)
    asked_for = {row: tasks.asked(index) + OR_ARGUMENTS * fetches for row, index, fetches in of_asked}
    return ToldWaits(are_told, are_certain & ~may_fetch, parts, asked_for, ready)


def _may_fetch(
    tasks: RayTasks,
    found: Places,
    sent: NDArray[Any],
    between: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
    shown: Shown,
) -> Flags:
    """Tell which attempts may have waited until their arguments were brought to the node, rather than for a worker.

    That is where the worker ran nothing meanwhile, as others may have held what it asks for; and where the arguments
    were made late, perhaps on another node.

    Args:
        sent: When they were sent to their workers.
        between: Returns what of a stretch is a part of each wait.
    """
    nodes = Counter(map(tasks.session_of, tasks.nodes))
    have_several = np.isin(tasks.sessions[found], [session for session, count in nodes.items() if count > 1])
    made, ready = tasks["made"][found], tasks["ready"][found]
    waited, begun, are_new = between(ready, sent), np.maximum(ready, shown.prepared), shown.are_first
    idle = np.where(are_new, waited, between(begun, sent) - shown.busy_since(begun))
    is_idle = (idle > np.maximum(_MOST_RESOLVING_NS, waited // 2)) & (~are_new | _are_up(shown.began, ready))
    are_late = np.minimum(between(np.minimum(made, ready), ready), waited) > _MOST_RESOLVING_NS
    may_fetch: Flags = is_idle | (have_several & are_late)
    return may_fetch


def _of_earlier(
    tasks: RayTasks, found: Places, since: NDArray[Any], between: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
) -> Iterator[tuple[WaitedFor, NDArray[Any]]]:
    """Yield what of waits went to attempts before those that left spans, and to what the first ones waited for.

    Args:
        since: When their calls ended.
        between: Returns what of a stretch is a part of each wait.
    """
    before, keys, attempts = np.maximum(found - 1, 0), tasks["key"], tasks["attempt"]
    is_method, ready = tasks["kind"][found] == _METHOD, tasks["ready"][found]
    # The tasks of two sessions have the same ids.
    follows = (keys[before] == keys[found]) & (tasks.sessions[before] == tasks.sessions[found])
    follows &= attempts[before] + 1 == attempts[found]
    made, exist, sent, failed = (tasks[name][before] for name in ("made", "ready", "sent", "failed"))
    # Whether a call had run in an actor that died, or waited for its turn, nobody knows: but until when the actor was
    # made, and when its caller heard of it.
    has_run = ~is_method | (follows & (tasks["runs"][before] != NO_STATE))
    was_first = follows & ~is_method & (attempts[before] == 0) & (sent != NO_STATE)
    begins = np.where(has_run, since, np.where(follows, failed, NO_STATE))
    yield WaitedFor.RETRY, between(np.where(was_first, sent, begins), ready)
    yield WaitedFor.CREATION, np.where(follows & ~has_run, between(exist, sent), 0)
    arguments = between(np.minimum(made, exist), exist)
    yield WaitedFor.ARGUMENTS, np.where(was_first & (arguments > _MOST_RESOLVING_NS), arguments, 0)
    yield WaitedFor.RESOURCES, np.where(was_first, between(exist, sent), 0)


def _are_up(began: NDArray[Any], ns: NDArray[Any]) -> Flags:
    """Tell which workers had begun so long before some times that they were up by then."""
    are_up: Flags = (began > 0) & (ns - began > _MOST_START_NS)
    return are_up


def _ask_more(tasks: RayTasks, found: Places) -> Flags:
    """Tell which attempts ask for more than CPUs: for these Ray starts a worker before the rest is free."""
    asked = [text.split(", ") for text in tasks.resources.texts]
    are_more = np.array([any(part and not part.endswith(" CPU") for part in parts) for parts in asked])
    ask_more: Flags = are_more[tasks["resources"][found]]
    return ask_more


def resources_told(store: Store, rows: Places, calls: Places) -> list[set[str]]:
    """Return the names of the resources that attempts ask for, with the rows of their calls; empty for unknown."""
    told = told_tasks(store)
    if told is None or not len(told.tasks):
        return [set() for _ in rows]
    tasks, found = told.tasks, told.of_attempts(rows, calls).tolist()
    texts = ("" if index == UNKNOWN_TASK else tasks.resources.texts[tasks["resources"][index]] for index in found)
    return [{part.partition(" ")[2] for part in text.split(", ") if part} for text in texts]


_IN_ORDER: Final = re.compile("[Ww]orker exit type: INTENDED|was terminated expectedly")
_MOST_CAUSE: Final = 160
"""Characters of why an actor died."""


class CallOutcome(StrEnum):
    """What became of a call."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WORKER_DIED = "worker died"
    NODE_DIED = "node died"
    OUT_OF_MEMORY = "out of memory"
    ACTOR_DIED = "actor died"
    CONSTRUCTOR_FAILED = "constructor failed"
    DEPENDENCY_FAILED = "argument failed"
    PENDING = "waiting"
    RUNNING = "running"
    NOT_SUBMITTED = "submit failed"
    UNKNOWN = "unknown"

    @property
    def key(self) -> str:
        """Its name in JSON and in queries, as `worker_died`."""
        return self.name.lower()

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it."""
        return self not in {CallOutcome.PENDING, CallOutcome.RUNNING}

    @property
    def has_failed(self) -> bool:
        """Whether it has failed, or was cancelled."""
        return self.is_over and self not in {CallOutcome.FINISHED, CallOutcome.UNKNOWN}

    @property
    def takes_process(self) -> bool:
        """Whether the process that ran it has died."""
        return self in {
            CallOutcome.WORKER_DIED,
            CallOutcome.NODE_DIED,
            CallOutcome.OUT_OF_MEMORY,
            CallOutcome.ACTOR_DIED,
        }


class ToldOutcome(NamedTuple):
    """What became of a task, as Ray says."""

    outcome: CallOutcome
    text: str
    """In a clause, of what waits or runs, or did, without its subject, `waits for 1 GPU`; with texts from files."""
    was_sent: bool
    """Whether it, or an attempt before, was sent to a worker, and may have run; if it finished, whether it ran."""
    is_over: bool = True
    """Whether nothing more becomes of it; what waits, or runs, ends with its driver."""
    failed_ns: int = NO_STATE
    """When its caller heard that it had failed, in nanoseconds since 1970; `NO_STATE` where it hasn't."""
    made_ns: int = NO_STATE
    """When its last attempt was made, in nanoseconds since 1970, of what waits or runs; else `NO_STATE`."""
    began_ns: int = NO_STATE
    """When its last attempt began to run, in nanoseconds since 1970, of what runs; else `NO_STATE`."""

    @property
    def is_stuck(self) -> bool:
        """Whether it waits for what no node has, or did."""
        return _NO_NODE_HAS in self.text

    @property
    def is_of_process(self) -> bool:
        """Whether all that is said is that its process is gone, or out of reach."""
        return self.text in {_BY_ERROR[error][1] for error in ("WORKER_DIED", "ACTOR_UNAVAILABLE")}

    @property
    def as_ray_says(self) -> str:
        """The text of what is over, with who says it."""
        return f"{self.text}, as Ray says"

    @property
    def as_ray_said_last(self) -> str:
        """The text of what waits or runs, or did, with who says it: where its driver was killed, Ray writes no more."""
        return self.text if self.is_over else f"{self.text}, as Ray said last"

    def failed_text(self, ended_by: str) -> str:
        """What is said of a call that ended without an error, and yet failed.

        Args:
            ended_by: What cut it off, if anything did; a text from a file.
        """
        if self.text != _BY_ERROR["TASK_EXECUTION_EXCEPTION"][1]:
            return f"failed{{}}: {self.as_ray_says}"
        return "failed{}, as Ray says" + (f": {ended_by}" if ended_by else ", though it ran to its end")


_BY_ERROR: Final = {
    "WORKER_DIED": (CallOutcome.WORKER_DIED, "its worker died"),
    "OUT_OF_MEMORY": (CallOutcome.OUT_OF_MEMORY, "Ray killed its worker, because the node ran out of memory"),
    "NODE_DIED": (CallOutcome.NODE_DIED, "its node died"),
    "LOCAL_RAYLET_DIED": (CallOutcome.NODE_DIED, "its node's raylet died"),
    "TASK_CANCELLED": (CallOutcome.CANCELLED, "it was cancelled"),
    "ACTOR_DIED": (CallOutcome.ACTOR_DIED, "its actor died"),
    "ACTOR_UNAVAILABLE": (CallOutcome.FAILED, "its actor could not be reached"),
    "ACTOR_CREATION_FAILED": (CallOutcome.CONSTRUCTOR_FAILED, "its actor's constructor failed"),
    "DEPENDENCY_RESOLUTION_FAILED": (CallOutcome.DEPENDENCY_FAILED, "an argument of it failed"),
    "RUNTIME_ENV_SETUP_FAILED": (CallOutcome.FAILED, "its runtime environment could not be set up"),
    "TASK_UNSCHEDULABLE_ERROR": (CallOutcome.FAILED, "no node that it may run on could ever run it"),
    "ACTOR_UNSCHEDULABLE_ERROR": (CallOutcome.ACTOR_DIED, "no node that its actor may run on could ever run it"),
    "TASK_PLACEMENT_GROUP_REMOVED": (CallOutcome.FAILED, "its placement group was removed"),
    "ACTOR_PLACEMENT_GROUP_REMOVED": (CallOutcome.ACTOR_DIED, "its actor's placement group was removed"),
    "TASK_EXECUTION_EXCEPTION": (CallOutcome.FAILED, "it failed"),
}
_FINISHED: Final = ToldOutcome(CallOutcome.FINISHED, "it finished", was_sent=True)
_NOT_SEEN_TO_RUN: Final = _FINISHED._replace(was_sent=False)
"""Of what its actor had when it exited: it never ran, or the actor took what it wrote of that with it."""
NOT_MADE: Final = "its actor was not made"
_AT_MOST: Final = "at most until its driver ended"
"""Of what wasn't over then, as far as Ray has written: its caller may have died before, with whom Ray gives it up."""
_NO_NODE_HAS: Final = "no node has"
_INTERRUPTED: Final = re.compile(r"[\w.]*\b(?:Task)?CancelledError\b")
_FOR_ACTOR: Final = "for its actor to be ready"
_LONG_NS: Final = 1_000_000_000
"""So long a wait is said also of what waited for something else at last."""


def told_outcomes(store: Store, calls: Sequence[int] | Places) -> dict[int, ToldOutcome]:
    """Return what became of calls, by the rows of their PRODUCERs; those that Ray says nothing of are left out."""
    told = told_tasks(store)
    if told is None:
        return {}
    rows = np.asarray(calls, np.int64)
    found = told.of_calls(rows)
    known = np.flatnonzero(found != UNKNOWN_TASK)
    return dict(zip(rows[known].tolist(), _outcomes_of(store, told, rows[known], found[known]), strict=True))


def attempt_counts(store: Store, calls: Sequence[int]) -> list[int]:
    """Return how many attempts of each of some calls have begun, as Ray says; -1 where it says nothing."""
    told = told_tasks(store)
    return [-1] * len(calls) if told is None else told.counts_of(np.asarray(calls, np.int64)).tolist()


def _outcomes_of(store: Store, told: ToldTasks, calls: Places, indices: Places) -> Iterator[ToldOutcome]:
    """Yield what became of attempts, which belong to calls."""
    tasks = told.tasks
    # Nearly all have finished.
    is_done = tasks["has_finished"][indices] & ~tasks["has_failed"][indices]
    is_left = ~is_done & ~tasks["has_failed"][indices] & (tasks["kind"][indices] != _METHOD)
    if is_left.any():
        # Ray gives up the tasks of a process that died; an actor runs on what it has got.
        is_left &= np.isin(copy_of(store.spans.process)[calls], [*dead_processes(store)])
    for index, done, left in zip(indices.tolist(), is_done.tolist(), is_left.tolist(), strict=True):
        has_run = tasks["runs"][index] != NO_STATE
        yield (_FINISHED if has_run else _NOT_SEEN_TO_RUN) if done else _outcome_of(tasks, index, is_left=left)


def dead_processes(store: Store) -> dict[int, int]:
    """Return which processes died while they ran something, as Ray says, and when a caller heard of it, by number.

    The times are in nanoseconds since 1970. Of a file that several processes write nothing is known.
    """
    told = told_tasks(store)
    if told is None:
        return {}
    spans, tasks, dead = store.spans, told.tasks, dict[int, int]()
    size = len(spans.next_row)
    rows = np.flatnonzero((copy_of(spans.kind)[:size] == CONSUMER) & (copy_of(spans.end_ns)[:size] == NO_TIME))
    found = told.of_attempts(rows, np.full(len(rows), UNKNOWN_TASK))
    has_failed = np.flatnonzero((found != UNKNOWN_TASK) & tasks["has_failed"][found])
    for row, index in zip(rows[has_failed].tolist(), found[has_failed].tolist(), strict=True):
        outcome, process = _outcome_of(tasks, index), spans.process[row]
        # Clocks of two nodes can differ.
        if outcome.outcome.takes_process and outcome.failed_ns >= spans.start_ns[row]:
            dead[process] = min(outcome.failed_ns, dead.get(process, outcome.failed_ns))
    return {process: ns for process, ns in dead.items() if is_told(store.processes, process)}


def failures_told(store: Store, calls: Places) -> dict[int, ToldOutcome]:
    """Return of which calls Ray says that they failed or were cancelled, by the rows of their PRODUCERs."""
    told = told_tasks(store)
    if told is None or not len(told.tasks):
        return {}
    found = told.of_calls(calls)
    failed = np.flatnonzero((found != UNKNOWN_TASK) & told.tasks["has_failed"][found])
    return {int(calls[index]): _outcome_of(told.tasks, int(found[index])) for index in failed.tolist()}


def later_outcomes(store: Store, rows: Places, calls: Places) -> dict[int, ToldOutcome]:
    """Return what became of the newest attempts of calls, by the rows of the last ones that left spans before these.

    Args:
        rows: The last attempts.
        calls: The rows of their calls.
    """
    told = told_tasks(store)
    if told is None or not len(told.tasks) or not len(rows):
        return {}
    own, newest = told.of_attempts(rows, calls), told.of_calls(calls)
    # Of an actor that was created and started again, what counts is that it was created: that came before.
    # What had finished is run again where its result was lost later: its caller may have had that long before.
    has_finished = told.tasks["has_finished"][own] & ~told.tasks["has_failed"][own]
    chosen = np.flatnonzero((own != UNKNOWN_TASK) & (newest > own) & ~has_finished)
    outcomes = _outcomes_of(store, told, calls[chosen], newest[chosen])
    return dict(zip(rows[chosen].tolist(), outcomes, strict=True))


def first_outcome(store: Store, call: int) -> ToldOutcome | None:
    """Return what became of the first attempt of a call, which may have left no span; None where Ray doesn't say."""
    told = told_tasks(store)
    index = UNKNOWN_TASK if told is None else int(told.of_calls(np.array([call]))[0])
    if told is None or index == UNKNOWN_TASK:
        return None
    tasks, first = told.tasks, max(0, index - int(told.tasks["attempt"][index]))
    is_there = tasks["key"][first] == tasks["key"][index] and tasks.sessions[first] == tasks.sessions[index]
    return _outcome_of(tasks, first) if is_there and tasks["attempt"][first] == 0 else None


def outcome_of_attempt(store: Store, row: int, call: int | None) -> ToldOutcome | None:
    """Return what became of one attempt; None where Ray says nothing of it. The call is as in `outcomes_from`."""
    return outcomes_from(store, row, call)[0]


def outcomes_from(store: Store, row: int, call: int | None) -> tuple[ToldOutcome | None, ToldOutcome | None]:
    """Return what became of one attempt, and of the newest of its call, where that is a later one; None for unknown.

    Args:
        call: The row of its call; None where no file holds it.
    """
    told = told_tasks(store)
    if told is None:
        return None, None
    rows, calls = np.array([row]), np.array([UNKNOWN_TASK if call is None else call])
    (index,) = told.of_attempts(rows, calls).tolist()
    own = None if index == UNKNOWN_TASK else _outcome_of(told.tasks, index)
    return own, None if call is None else later_outcomes(store, rows, calls).get(row)


def failed_ns_of(store: Store, rows: Places, calls: Places) -> Places:
    """Return when callers heard that attempts had failed, in nanoseconds since 1970; `NO_TIME` where Ray doesn't say.

    Args:
        calls: The rows of their calls.
    """
    told = told_tasks(store) if len(rows) else None
    if told is None or not len(told.tasks):
        return np.full(len(rows), NO_TIME)
    found = told.of_attempts(rows, calls)
    has_failed = (found != UNKNOWN_TASK) & told.tasks["has_failed"][found]
    return np.where(has_failed, told.tasks["failed"][found], NO_TIME)


def _outcome_of(tasks: RayTasks, index: int, *, is_left: bool = False) -> ToldOutcome:
    """Return what became of an attempt, whose caller may have died."""
    has_run, was_sent = bool(tasks["runs"][index] != NO_STATE), _was_sent(tasks, index)
    if tasks["has_failed"][index]:
        return _failed(tasks, index, was_sent=was_sent)
    if tasks["has_finished"][index]:
        return _FINISHED
    # Its driver, or all of its session's.
    is_over, made_ns = is_left or tasks.is_over(int(tasks.sessions[index])), int(tasks["made"][index])
    most = "at most until its caller died" if is_left else _AT_MOST
    if has_run:
        # It is so from when its function and its arguments are loaded.
        text = f"ran, or was loaded, {most}" if is_over else "runs, or is loaded"
        outcome = CallOutcome.UNKNOWN if is_over else CallOutcome.RUNNING
        return ToldOutcome(outcome, text, was_sent, is_over, made_ns=made_ns, began_ns=int(tasks["runs"][index]))
    waits = _waits_for(tasks, index)
    if is_over and tasks["attempt"][index] and tasks["ready"][index] != NO_STATE:
        waits += ", to be tried again"
    if is_over and (before := _waited_before(tasks, index)):
        # Its actor may have been ready long before that.
        waits = f"{before}{waits}{' or to get it' * (waits == _FOR_ACTOR)}"
    text = f"waited {waits}, {most}" if is_over else f"waits {waits}"
    return ToldOutcome(CallOutcome.PENDING, text, was_sent, is_over, made_ns=made_ns)


def _was_sent(tasks: RayTasks, index: int) -> bool:
    """Return whether an attempt, or one before, was sent to a worker."""
    first = index - int(tasks["attempt"][index])
    earlier = slice(max(0, first), index + 1)
    are_of_it = (tasks["key"][earlier] == tasks["key"][index]) & (tasks.sessions[earlier] == tasks.sessions[index])
    return bool((are_of_it & ((tasks["sent"][earlier] != NO_STATE) | (tasks["runs"][earlier] != NO_STATE))).any())


def _failed(tasks: RayTasks, index: int, *, was_sent: bool) -> ToldOutcome:
    error, message = tasks.errors.texts[tasks["error"][index]], tasks.message(index)
    outcome, text = _BY_ERROR.get(error, (CallOutcome.FAILED, f"it failed with {error}" if error else "it failed"))
    if error == "WORKER_DIED" and tasks["sent"][index] == tasks["runs"][index] == NO_STATE:
        # As where a runtime environment can't be set up. That an actor's creation was sent Ray doesn't write.
        is_creation = tasks["kind"][index] == _CREATION
        outcome, text = CallOutcome.FAILED, NOT_MADE if is_creation else "it failed before a worker had got it"
        text += f"; it waited {_waits_for(tasks, index)}" if is_creation and tasks["ready"][index] != NO_STATE else ""
    elif error == "ACTOR_DIED":
        if message.startswith("Traceback"):
            outcome, text = CallOutcome.CONSTRUCTOR_FAILED, "its actor's constructor failed"
        elif " because " in message:
            text = f"{text} ({cause_in(message)})"
    elif OF_ARGUMENT in message or error.startswith("OBJECT_"):
        outcome, text = CallOutcome.DEPENDENCY_FAILED, "a task whose result it takes failed, or was cancelled"
    elif error == "RUNTIME_ENV_SETUP_FAILED" and message:
        text += f" ({message[:_MOST_CAUSE]})"
    elif error == "TASK_EXECUTION_EXCEPTION" and _INTERRUPTED.match(message):
        # As `ray.cancel` ends what an actor awaits.
        outcome, text = CallOutcome.CANCELLED, f"it was cancelled ({message[:_MOST_CAUSE]})"
    elif error == "TASK_EXECUTION_EXCEPTION" and message:
        # An argument's error is raised in its place, and doesn't always say so.
        what = "it" if tasks["runs"][index] != NO_STATE else "it, or an argument of it,"
        text = f"{what} failed with {message[:_MOST_CAUSE]}"
    return ToldOutcome(outcome, text, was_sent=was_sent, failed_ns=int(tasks["failed"][index]))


def cause_in(message: str) -> str:
    """Return why an actor died, in a clause, as Ray's message says it; a text from a file."""
    if "exit_actor() is called" in message:
        return "it called exit_actor"
    cause = message.partition(" because ")[2].partition(". ")[0].rstrip(".")
    # An owner that ended in order, as a driver, has ended its actors; so has a node that was stopped, or `exit_actor`.
    cause = cause.replace("has died", "ended") if _IN_ORDER.search(message) else cause
    return (cause or message).partition("\n")[0][:_MOST_CAUSE]


def lives_of_actor(store: Store, actor: str) -> tuple[int, str]:
    """Return how often Ray started an actor again, and why it died last; 0 and empty where its events don't say.

    Args:
        actor: Its id, in hex.
    """
    told = None if store.ray is None else store.ray.actors.get(actor)
    return (0, "") if told is None else (told.restarts, cause_in(told.cause))


def _waits_for(tasks: RayTasks, index: int) -> str:
    is_made = tasks["made"][index] != NO_STATE
    if is_made and tasks["ready"][index] == NO_STATE:
        # Ray makes what it will try again before the time has come to do so.
        return "to be tried again" if tasks["attempt"][index] else "for its arguments"
    # Where its caller's lines are missing, its worker has written of it.
    is_sent = not is_made or tasks["sent"][index] != NO_STATE
    if tasks["kind"][index] == _METHOD:
        return "for its turn in its actor" if is_sent else _FOR_ACTOR
    if is_sent:
        return "to be run by its worker"
    if lacking := _lacks_of_nodes(tasks, index):
        return f"for {lacking} ({_NO_NODE_HAS} {'all of that' if ', ' in lacking else 'that'})"
    return _for_worker(tasks, index)


def _waited_before(tasks: RayTasks, index: int) -> str:
    """Return what an attempt waited for so long before what it waited for at last that it is said, too, with `and`."""
    made, ready, sent = (int(tasks[name][index]) for name in ("made", "ready", "sent"))
    if tasks["kind"][index] != _METHOD and sent != NO_STATE and sent - ready >= _LONG_NS:
        return f"{_for_worker(tasks, index)} and then "
    is_late = not tasks["attempt"][index] and NO_STATE not in {made, ready} and ready - made >= _LONG_NS
    return "for its arguments and then " if is_late else ""


def _for_worker(tasks: RayTasks, index: int) -> str:
    # Ray tells neither of a node without a free worker nor of one that starts one more than of one without the CPUs.
    resources = in_plural(tasks.resources.texts[tasks["resources"][index]])
    environment = "its runtime environment" if tasks["has_environment"][index] else ""
    return " or ".join(filter(None, ("for a worker", resources, environment)))


def _lacks_of_nodes(tasks: RayTasks, index: int) -> str:
    """Return what no node of a task's session has, or had, of what it asks for, as far as Ray names these.

    Where each node lacks something else, that is all of it; empty where a node has all.
    """
    session = tasks.sessions[index]
    nodes = [has for node, has in tasks.nodes.items() if tasks.session_of(node) == session]
    asked = tasks.resources.texts[tasks["resources"][index]].split(", ")
    # What a placement group holds isn't among the resources that nodes begin with.
    wanted = [
        (part, float(amount), name)
        for part in asked
        for amount, _, name in [part.partition(" ")]
        if amount and not name.endswith(OF_ITS_GROUP)
    ]
    lacking = [[part for part, amount, name in wanted if has.get(name, 0) < amount] for has in nodes]
    everywhere = [part for part in asked if lacking and all(part in of_node for of_node in lacking)]
    return in_plural(", ".join(everywhere or (asked if lacking and all(lacking) else ())))
