"""Ray's own word on calls: which of its tasks a call is, and an attempt of it.

span                                         a task of Ray's
-------------------------------------------  ------------------------------------------------------------------------
an attempt that has its id                   that one, in the session of the span's node
a call that has both ids                     the same; with one, that is the task that submits it, as Ray writes it
another call                                 the only one with its name that was made while the call was submitted

Ids of tasks repeat from session to session, so the node that the record names counts, too. An attempt of a call is the
last one of the task that had begun when its span started.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, ref

import numpy as np

from spanview.analysis.ray.names import SUBMITTED
from spanview.formats.ray_events import NO_STATE, TASK_KINDS
from spanview.index.arrays import copy_of
from spanview.index.ray_tasks import UNKNOWN_TASK, task_key
from spanview.index.records import batches, read_records
from spanview.model.codes import PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.ray_tasks import RayTasks
    from spanview.index.store import Store

_TASK: Final = re.compile(rb'ray\.task_id".{1,40}?"([0-9a-f]{48})"', re.DOTALL)
_NODE: Final = re.compile(rb'ray\.node_id".{1,40}?"([0-9a-f]{56})"', re.DOTALL)
_SUBMITTER: Final = "ray.submitter_task_id"
_RECORDS: Final = 4096
"""Records that are read at once."""
_CREATION: Final = TASK_KINDS.index("ACTOR_CREATION_TASK")
_NO_NODE: Final = -1
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
        self._numbers: dict[bytes, int] = {}

    def of(self, store: Store, tasks: RayTasks, rows: Places) -> tuple[NDArray[np.uint64], Places]:
        """Return the keys of the tasks of spans, 0 for none, and the sessions of their nodes."""
        size = len(store.spans.next_row)
        if size > len(self._known):
            more = size - len(self._known)
            self._known = np.append(self._known, np.zeros(more, np.bool_))
            self._keys = np.append(self._keys, np.zeros(more, np.uint64))
            self._nodes = np.append(self._nodes, np.full(more, _NO_NODE))
        new = rows[~self._known[rows]].tolist()
        for key, node, row in self._read(store, new):
            self._known[row], self._keys[row] = True, key
            self._nodes[row] = self._numbers.setdefault(node, len(self._numbers)) if node else _NO_NODE
        sessions = np.array([*map(tasks.session_of, self._numbers), _NO_NODE])
        return self._keys[rows], sessions[self._nodes[rows]]

    def _read(self, store: Store, rows: Sequence[int]) -> Iterator[tuple[int, bytes, int]]:
        for part in batches(store, rows, _RECORDS):
            for row, record in zip(rows[part], read_records(store, rows[part]), strict=True):
                is_call = store.spans.kind[row] == PRODUCER
                if record is None:
                    attributes = store.span(row).attributes
                    task, node = (_of_text(attributes.get(key)) for key in ("ray.task_id", "ray.node_id"))
                    names_it = not is_call or _SUBMITTER in attributes
                else:
                    task, node = _hex(_TASK, record), _hex(_NODE, record)
                    names_it = not is_call or _SUBMITTER.encode() in record
                yield task_key(task) if task and names_it else 0, node, row


_IDS: Final[WeakKeyDictionary[Store, _Ids]] = WeakKeyDictionary()
"""By store: records don't change."""


def _hex(pattern: re.Pattern[bytes], record: bytes) -> bytes:
    match = pattern.search(record)
    return bytes.fromhex(match[1].decode()) if match else b""


def _of_text(value: object) -> bytes:
    try:
        return bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        return b""
