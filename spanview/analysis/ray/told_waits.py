"""What calls waited for, by Ray's own events.

a task, an actor's creation    made ──arguments──▶ ready ──resources──▶|──worker start──▶ sent ─▶ runs
                                                                       its process begins
a call of an actor             made ──arguments──▶ ready ──creation──▶ sent ──actor──▶ runs
a second attempt               the first one made ──retry──▶ it ready ──▶ …, where no span shows the first one

A worker that runs its first task loads the function, and what traces it, between `runs` and the span's start: that is
its start, too. One that had begun before the call may still have been starting, or waited for room: that is only
likely. What is left, as handing over a call, is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spanview.analysis.ray.wait_causes import KINDS, WaitedFor
from spanview.formats.ray_events import NO_STATE, TASK_KINDS
from spanview.index.arrays import copy_of
from spanview.index.ray_tasks import UNKNOWN_TASK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spanview.analysis.ray.told_tasks import ToldTasks
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store


_LEAST_START_NS: Final = 50_000_000
"""A worker that was there before the call was made, and took no longer, was up already."""


class ToldWaits(NamedTuple):
    """What Ray says that attempts waited for."""

    are_told: Flags
    """Of which it says anything."""
    are_certain: Flags
    """Of these, all but those whose worker began before they were made, or nobody knows when."""
    parts_ns: NDArray[Any]
    """How long each waited for what, a column for each of `WaitedFor`, from its call's end to its start."""
    asked: Mapping[int, str]
    """What those asked for that waited for a worker, by row."""


def told_waits(store: Store, told: ToldTasks, rows: Places, calls: Places, began: NDArray[Any]) -> ToldWaits:
    """Return what Ray says that attempts waited for, each the first of its call that left a span.

    Args:
        calls: The rows of their calls.
        began: When their processes began, in nanoseconds since 1970; 0 where that isn't known.
    """
    tasks, found = told.tasks, told.of_attempts(rows, calls)
    parts = np.zeros((len(rows), len(KINDS)), np.int64)
    if not len(tasks):
        return ToldWaits(found != UNKNOWN_TASK, found != UNKNOWN_TASK, parts, {})
    since, until = copy_of(store.spans.end_ns)[calls], copy_of(store.spans.start_ns)[rows]
    kind, made, ready, sent, runs = (tasks[name][found] for name in ("kind", "made", "ready", "sent", "runs"))
    are_told = (found != UNKNOWN_TASK) & (ready != NO_STATE)
    # There is a span, so it was sent, and ran: a worker that was killed may have written neither.
    runs = np.where(runs == NO_STATE, np.maximum(until, np.where(sent == NO_STATE, ready, sent)), runs)
    sent = np.where(sent == NO_STATE, runs, sent)
    is_method = kind == TASK_KINDS.index("ACTOR_TASK")
    is_first = tasks.are_first()[found] | (kind == TASK_KINDS.index("ACTOR_CREATION_TASK"))
    is_started = is_first & ~is_method & ((began == 0) | (began >= made) | (sent - ready >= _LEAST_START_NS))
    starting = np.where(is_started, np.clip(began, ready, np.maximum(ready, sent)), sent)

    def between(start: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
        """Return what of a stretch is a part of each wait."""
        length: NDArray[Any] = np.minimum(end, until) - np.maximum(start, since)
        return np.where(end == NO_STATE, 0, np.maximum(0, length))

    def put(waited_for: WaitedFor, ns: NDArray[Any]) -> None:
        parts[:, KINDS.index(waited_for)] += ns

    # What is tried again is made again before the time has come to do so.
    is_retried = tasks["attempt"][found] > 0
    # Of an actor that died, nobody knows whether the call had run, or waited for its turn.
    before, keys, attempts = np.maximum(found - 1, 0), tasks["key"], tasks["attempt"]
    follows = (keys[before] == keys[found]) & (attempts[before] + 1 == attempts[found])
    has_run = ~is_method | (follows & (tasks["runs"][before] != NO_STATE))
    put(WaitedFor.RETRY, np.where(is_retried & has_run, between(since, ready), 0))
    put(WaitedFor.ARGUMENTS, np.where(is_retried, 0, between(np.minimum(made, ready), ready)))
    put(WaitedFor.CREATION, np.where(is_method, between(ready, sent), 0))
    put(WaitedFor.ACTOR, np.where(is_method, between(sent, runs), 0))
    put(WaitedFor.RESOURCES, np.where(is_method, 0, between(ready, starting)))
    put(WaitedFor.WORKER_START, np.where(is_method, 0, between(starting, sent)))
    put(WaitedFor.WORKER_START, np.where(is_first, between(runs, until), 0))
    if tasks.have_fetched:
        fetched = np.array([tasks.fetched_ns(index) for index in found.tolist()], np.int64)
        whole = WaitedFor.ACTOR, WaitedFor.RESOURCES
        for part in whole:
            column = parts[:, KINDS.index(part)]
            taken = np.minimum(column, fetched)
            column -= taken
            fetched -= taken
            put(WaitedFor.ARGUMENTS, taken)
    put(WaitedFor.UNKNOWN, np.maximum(0, until - since - parts.sum(axis=1)))
    texts, has_asked = tasks.resources.texts, parts[:, KINDS.index(WaitedFor.RESOURCES)] > 0
    asked = np.flatnonzero(are_told & has_asked)
    resources = tasks["resources"][found[asked]].tolist()
    are_certain = are_told & ~(is_first & (began < made))
    return ToldWaits(
        are_told,
        are_certain,
        parts,
        {row: texts[index] for row, index in zip(rows[asked].tolist(), resources, strict=True)},
    )
