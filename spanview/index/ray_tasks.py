"""What Ray itself says of tasks, actors and nodes, from its events: columns of the attempts of tasks.

lines of events            columns
task 1, attempt 0: made  ┐
task 1, attempt 0: sent  ├▶ task 1, attempt 0   made, sent, runs, …
task 1, attempt 0: runs  ┘

Lines are added as they come, and merged when many wait, or someone looks: attempts are in the order of their keys then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.formats.ray_events import NO_STATE, OF_ARGUMENT, OF_ITS_GROUP, STATES, TaskLines
from spanview.index.table import Interned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.formats.ray_events import ActorUpdate, RayUpdates, TaskUpdate
    from spanview.index.arrays import Flags, Places

_MOST_WAITING: Final = 500_000
"""Lines that wait until they are merged with fewer than half as many attempts: 67 bytes each."""
UNKNOWN_TASK: Final = -1
"""The number of an attempt that no line speaks of."""
_OWN: Final = "a runtime environment"
_SEVERAL: Final = re.compile(r"(?<![\d.])(?!(?:0\.\d+|1) )[\d.]+ [CG]PU\b")
_MEMORY: Final = re.compile(r"(?<![\w.+])(\d+(?:\.\d+)?(?:e\+\d+)?) (?=(?:object_store_)?memory\b)")
"""In bytes."""
_SEPARATOR: Final = re.compile(r"[/\\][^/\\]*$")
_TIMES: Final = [*STATES.values()]
_KEY_BYTES: Final = 8
_NUMBERS: Final = {
    "folder": np.uint16,
    "attempt": np.uint16,
    "kind": np.uint8,
    "error": np.uint8,
    "has_finished": np.bool_,
    "has_failed": np.bool_,
    "has_environment": np.bool_,
    "name": np.uint32,
    "resources": np.uint16,
    "worker": np.uint32,
}
"""Columns of which the first line that says anything counts; 0 says nothing."""


def task_key(task: bytes) -> int:
    """Return what a task is known by: the first 8 bytes of its id, and the next, which tell actors apart."""
    return int.from_bytes(task[:_KEY_BYTES]) ^ int.from_bytes(task[_KEY_BYTES : 2 * _KEY_BYTES])


@dataclass(slots=True)
class Actor:
    """What Ray says of an actor."""

    restarts: int = 0
    is_restarting: bool = False
    is_dead: bool = False
    """Whether it won't be started again."""
    cause: str = ""
    """Why it died; a text from a file."""
    ended: set[int] = field(default_factory=set)
    """The pids of its processes that had ended when it was to be started again."""


def in_plural(resources: str) -> str:
    """Return resources as people write them: `2 CPUs`, `1.5 GiB of memory`."""
    resources = _MEMORY.sub(_in_units, resources)
    # No event of Ray's says whether a placement group was made.
    may_lack = ", which may have to be made first" if resources.endswith(OF_ITS_GROUP) else ""
    return _SEVERAL.sub(r"\g<0>s", resources) + may_lack


def _in_units(match: re.Match[str]) -> str:
    power = min(3, max(0, int(float(match[1])).bit_length() - 1) // 10)
    return f"{float(match[1]) / 1024**power:.4g} {('B', 'KiB', 'MiB', 'GiB')[power]} of "


class RayTasks:
    """The attempts of tasks, by key, folder and attempt; whoever adds to them is one thread."""

    def __init__(self) -> None:
        self.names, self.errors, self.resources = (Interned() for _ in range(3))
        self._workers, self._folders = Interned(), Interned()
        for texts in (self.names, self.errors, self.resources, self._workers):
            _ = texts[""]
        self._pending: list[dict[str, NDArray[Any]]] = []
        self._waiting = 0
        """Lines in these."""
        self._is_merged = True
        """Whether there are no such lines, and no folder has got another session since these were merged."""
        self._merging = Lock()
        dtypes = {"key": np.uint64, **_NUMBERS, **dict.fromkeys(_TIMES, np.int64)}
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in dtypes.items()}
        self._messages = dict[tuple[int, int, int], str]()
        self._fetched = dict[tuple[int, int, int], int]()
        self._folders_of_nodes = dict[bytes, set[int]]()
        self.actors = defaultdict[str, Actor](Actor)
        """By the id, in hex."""
        self._freed = list[int]()
        """When actors left what they had asked for, in nanoseconds since 1970, each a whole second."""
        self.nodes: dict[bytes, Mapping[str, float]] = {}
        """What nodes have, or had."""
        self._known_sessions: tuple[int, Places] = -1, np.empty(0, np.int64)
        """For a version, the session of each attempt."""
        self._jobs = dict[tuple[int, bytes], bool]()
        """Whether the driver of each job has ended, by folder and id."""
        self.version = 0
        """Grows with each line."""

    def __getstate__(self) -> dict[str, Any]:
        self._merge_waiting()
        return self.__dict__ | {"_merging": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _merging=Lock())

    def take(self, path: str, updates: RayUpdates) -> None:
        """Take what lines of a file say; the files in one folder are of one session."""
        number = self._folders[_SEPARATOR.split(path)[0]]
        self.version += updates.lines
        for node in updates.nodes:
            self._note_node(node.node, number)
            self.nodes[node.node] = node.resources
        self._jobs |= {(number, job.job): job.is_over for job in updates.jobs}
        for actor in updates.actors:
            self._take_actor(number, actor)
        if updates.tasks:
            self._take_tasks(number, updates.tasks)
        if updates.scanned is not None:
            self._take_lines(number, updates.scanned)

    def _note_node(self, node: bytes, folder: int) -> None:
        """Take note that a folder knows a node; it may be of the session of other folders by that."""
        folders = self._folders_of_nodes.setdefault(node, set())
        self._is_merged &= folder in folders
        folders.add(folder)

    def _take_actor(self, folder: int, update: ActorUpdate) -> None:
        if update.node:
            self._note_node(update.node, folder)
        actor = self.actors[update.actor.hex()]
        # Some that are to be restarted never are: no node has room, or the constructor fails.
        actor.restarts += actor.is_restarting and update.state == "ALIVE"
        actor.is_restarting = update.state == "RESTARTING" or (actor.is_restarting and update.state != "ALIVE")
        actor.is_dead = update.state == "DEAD"
        actor.ended |= {update.pid} if update.state == "RESTARTING" else set()
        actor.cause = update.cause or actor.cause
        if update.freed_ns:
            self._freed.append(update.freed_ns)

    def _take_tasks(self, folder: int, updates: Sequence[TaskUpdate]) -> None:
        keys = [task_key(update.task) for update in updates]
        for key, update in zip(keys, updates, strict=True):
            # What its worker says of an argument counts, whatever its caller got.
            if update.message and self._messages.get((folder, key, update.attempt)) != OF_ARGUMENT:
                self._messages[folder, key, update.attempt] = update.message
            if update.fetched_ns:
                self._fetched[folder, key, update.attempt] = update.fetched_ns
        states = np.array([update.states for update in updates], np.int64)
        self._take_lines(folder, TaskLines(updates, np.arange(len(keys)), np.array(keys, np.uint64), states))

    def _take_lines(self, folder: int, lines: TaskLines) -> None:
        says = lines.says
        for node in {update.node for update in says} - {b""}:
            self._note_node(node, folder)
        numbers = {
            "folder": [folder] * len(says),
            "attempt": [update.attempt for update in says],
            "kind": [update.kind for update in says],
            "has_finished": [update.has_finished for update in says],
            "has_failed": [update.has_failed for update in says],
            "error": [self.errors[update.error] for update in says],
            "has_environment": [update.has_environment for update in says],
            "name": [self.names[update.name] for update in says],
            "resources": [self.resources[update.resources] for update in says],
            "worker": [self._workers[update.worker.hex()] for update in says],
        }
        columns: dict[str, NDArray[Any]] = {"key": lines.keys}
        columns |= {name: np.array(values).astype(_NUMBERS[name])[lines.numbers] for name, values in numbers.items()}
        columns |= {name: lines.states[:, index] for index, name in enumerate(_TIMES)}
        with self._merging:
            self._pending.append(columns)
            self._is_merged = False
            self._waiting += len(lines.keys)
            if self._waiting > max(_MOST_WAITING, 2 * len(self._columns["key"])):
                self._merge_waiting()

    # -- as columns --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self["key"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column, in the order of the attempts: by key, session and attempt."""
        with self._merging:
            if not self._is_merged:
                self._merge_waiting()
            return self._columns[name]

    def _merge_waiting(self) -> None:
        self._columns = self._merged([self._columns, *self._pending])
        self._pending, self._waiting, self._is_merged = [], 0, True

    def _merged(self, parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
        """Return one row of all that speak of one attempt."""
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        sessions = self._sessions[columns["folder"]]
        order = np.lexsort((columns["attempt"], sessions, columns["key"]))
        same = [column[order] for column in (columns["key"], sessions, columns["attempt"])]
        is_first = np.append(True, np.any([column[1:] != column[:-1] for column in same], axis=0))[: len(order)]
        firsts = np.flatnonzero(is_first)
        merged: dict[str, NDArray[Any]] = {}
        for name, column in columns.items():
            values = column[order]
            if name in _TIMES:
                # An actor that is started again goes through the states of its first attempt once more.
                merged[name] = np.minimum.reduceat(values, firsts)
            elif values.dtype == np.bool_:
                merged[name] = np.logical_or.reduceat(values, firsts)
            else:
                says = np.where(values != 0, np.arange(len(values)), len(values))
                first = np.minimum.reduceat(says, firsts)
                merged[name] = np.append(values, values.dtype.type(0))[first]
        return merged

    @property
    def sessions(self) -> Places:
        """The session of each attempt."""
        if self._known_sessions[0] != self.version:
            self._known_sessions = self.version, self._sessions[self["folder"].astype(np.int64)]
        return self._known_sessions[1]

    @property
    def _sessions(self) -> Places:
        """The session of each folder, as the number of one of its folders: those of one know the same nodes."""
        sessions = [*range(len(self._folders))]
        for folders in self._folders_of_nodes.values():
            known = {sessions[folder] for folder in folders}
            sessions = [min(known) if session in known else session for session in sessions]
        return np.array(sessions, np.int64)

    def session_of(self, node: bytes) -> int:
        """Return the session of a node; -1 for one that no line names."""
        folders = self._folders_of_nodes.get(node)
        return -1 if not folders else int(self._sessions[min(folders)])

    def is_over(self, session: int) -> bool:
        """Tell whether the drivers of all jobs of a session have ended, as far as Ray says."""
        sessions = self._sessions
        of_session = [over for (folder, _), over in self._jobs.items() if sessions[folder] == session]
        return bool(of_session) and all(of_session)

    def find(self, keys: NDArray[np.uint64], sessions: Places) -> tuple[Places, Places]:
        """Return where the attempts of some tasks begin among all, and end."""
        known, of_attempts = self["key"], self.sessions
        if not len(known):
            return np.zeros_like(sessions), np.zeros_like(sessions)
        first, last = np.searchsorted(known, keys, "left"), np.searchsorted(known, keys, "right")
        # Few tasks of two sessions have the same id.
        while (strays := (first < last) & (of_attempts[np.minimum(first, len(known) - 1)] != sessions)).any():
            first += strays
        while (strays := (first < last) & (of_attempts[last - 1] != sessions)).any():
            last -= strays
        return first, last

    def asked(self, index: int) -> str:
        """Return what an attempt asks for, as in `1 CPU, 2 GPUs`; empty where that isn't known."""
        has_own, resources = bool(self["has_environment"][index]), self.resources.texts[self["resources"][index]]
        return " and ".join(filter(None, (in_plural(resources), _OWN * has_own)))

    def message(self, index: int) -> str:
        """Return what Ray says of the failure of an attempt; a text from a file, empty for none."""
        return self._messages.get(self._place(index), "")

    def fetched_ns(self, index: int) -> int:
        """Return how long an attempt fetched arguments that existed."""
        return self._fetched.get(self._place(index), 0)

    def _place(self, index: int) -> tuple[int, int, int]:
        return int(self["folder"][index]), int(self["key"][index]), int(self["attempt"][index])

    @property
    def have_fetched(self) -> bool:
        """Whether any attempt is known to have fetched arguments."""
        return bool(self._fetched)

    def may_have_lacked_room(self, since: NDArray[Any], until: NDArray[Any]) -> Flags:
        """Tell in which stretches an attempt failed, or an actor died, and left what it had asked for.

        Args:
            since: When each begins, in nanoseconds since 1970.
            until: When it ends.
        """
        had = self["has_failed"] & (self["runs"] != NO_STATE) & (self["resources"] != 0)
        freed = np.sort(np.append(self["failed"][had], np.array(self._freed, np.int64)))
        lacked: Flags = np.searchsorted(freed, since, "right") < np.searchsorted(freed, until, "right")
        return lacked

    def are_first(self) -> Flags:
        """Tell which attempts are the first ones that their workers ran."""
        # Of a worker that was killed, its own last lines are lost.
        workers, runs = self["worker"], np.where(self["runs"] == NO_STATE, self["sent"], self["runs"])
        order = np.lexsort((runs, workers))
        is_first = np.append(True, workers[order][1:] != workers[order][:-1])[: len(order)]
        flags = np.zeros(len(order), np.bool_)
        flags[order] = is_first & (workers[order] != 0) & (runs[order] != NO_STATE)
        return flags
