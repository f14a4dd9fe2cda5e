"""Workers as rows: in which order, how each is called, and which part of their time is shown."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from enum import Enum
from heapq import nsmallest
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from spanview.analysis.consistent import NO_TIMES
from spanview.analysis.intervals import Covered, Timed
from spanview.analysis.ray.names import RAN, rays_own_names, short_names, uncounted_names
from spanview.analysis.ray.workers import Role, Worker, empty_files, process_name, worker_of
from spanview.analysis.telling import part
from spanview.analysis.window import Window
from spanview.display.units import count
from spanview.index.table import NO_ROW
from spanview.model.codes import PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.intervals import Levels
    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.lanes import Key, Lane
    from spanview.analysis.ray.running import RunsNow
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_ID: Final = re.compile(r"[0-9a-f]{16,}")
_SHORTEST_ID, _LONGEST_ID = 4, 12
_LONGEST_NODE: Final = 15
_UNKNOWN_SERVICE: Final = "unknown_service"
_NOTHING: Final = Window(0, 1)
_FOREVER: Final = 2**63 - 1
_MOST_GAPS: Final = 1_000
"""Idle gaps that a key goes through."""
_GROWN: Final = 2
"""A process with so many times as many spans as it had is asked again who it is."""
_PROXY_CLASS, _REPLICA_CLASS = "ProxyActor", "ServeReplica:"
"""The class of Ray Serve's proxies, and how those of its replicas begin: `ServeReplica:app:Model`."""
_TELLING: Final = (Role.REPLICA, Role.PROXY, Role.ACTOR, Role.DRIVER, Role.WORKER, Role.UNKNOWN)
"""What spans of one process may say that it is, the most telling first."""
_WORKERS_PER_REPORT: Final = 64
"""Processes that are asked who they are between two progress reports."""


WAITING: Final = "earlier waits"
"""What the line above all workers is called."""


class Sort(Enum):
    """What workers are sorted by."""

    START = "first start"
    NAME = "name"
    SPANS = "spans"
    ERRORS = "errors"
    BUSY = "busy time"
    GAP = "longest gap"

    @property
    def has_nodes(self) -> bool:
        """Whether workers are below their nodes; else those of all nodes are held against each other."""
        return self in {Sort.START, Sort.NAME}


class Identities:
    """Remembers who processes are; a process that has grown is asked again. It can be asked in several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Key, tuple[Worker, int]] = {}
        """Who they are, and how many spans they had when that was asked."""

    def of(self, lane: Lane) -> Worker:
        """Return who the process of a lane is; some of its records may be read."""
        known = self._known.get(key_of(lane))
        if known is None or lane.spans >= _GROWN * known[1]:
            known = self._known[key_of(lane)] = worker_of(self._store, lane), lane.spans
        return known[0]


@dataclass(frozen=True, slots=True, eq=False)
class WorkersShape:
    """What the workers of some traces come to; it doesn't change any more."""

    lanes: Sequence[Lane]
    workers: Sequence[Worker]
    """Who each is; of an actor that was restarted, its newest process."""
    functions: Sequence[tuple[str, int]]
    """What was called, by its short name, and how often, the most frequent first."""
    numbers: Sequence[int]
    """Indices of functions, which are the numbers of their colours, by the numbers of names; 0 for other names."""
    whole: Window
    timed: Timed
    failures: Timed
    waiting: Levels | None = None
    """How many calls waited when; None before anything is known."""
    generators: Mapping[str, Certainty] = field(default_factory=dict)
    """How sure it is that a function is a generator, whose blocks end when it is made."""
    with_generators: frozenset[int] = frozenset()
    """Indices of the workers that have such blocks."""
    untraced: int = 0
    """Calls that run or ran, certainly or likely, and are no blocks, because tracing leaves them out."""
    is_without_rays_own: bool = False
    """Whether something was left out because it is Ray's own."""
    empty_files: int = 0
    """Empty files of further processes, where all traces count."""
    calls: Calls | None = None
    """All calls of the traces; None before anything is known."""

    @classmethod
    def of(  # noqa: PLR0913 - what is asked, and how
        cls,
        store: Store,
        identities: Identities,
        traces: Sequence[int] | None,
        tell: Tell,
        *,
        without_rays_own: bool = False,
        until: Mapping[int, int] = NO_TIMES,
    ) -> WorkersShape:
        """Find out what each worker did; for a thread.

        Args:
            until: Until when spans without an end are known to have run, by row, in nanoseconds since 1970.
        """
        from spanview.analysis.ray.calls import calls_in
        from spanview.analysis.ray.generators import generators_of
        from spanview.analysis.ray.lanes import lanes_in
        from spanview.analysis.ray.reasons import Reason, reasons_of
        from spanview.analysis.ray.waits import waiting_in
        from spanview.index.forest import forest_of

        forest, without = forest_of(store, traces), rays_own_names(store) if without_rays_own else set[int]()
        tell(0.3)
        found = lanes_in(forest, part(tell, 0.3, 0.6), without=without, until=until)
        lanes, workers = _joined(found.lanes, identities, uncounted_names(store), part(tell, 0.6, 0.9))
        calls = calls_in(forest, is_everything=traces is None)
        whys, texts = reasons_of(store, calls), store.names.texts
        short, called = short_names(texts[name] for name in found.names), Counter[str]()
        functions = {name: short.get(texts[name], texts[name]) for name in found.names}
        for name, number in found.names.items():
            called[functions[name]] += number
        ordered = sorted(called.items(), key=lambda item: (-item[1], item[0]))
        index_of = {function: index for index, (function, _) in enumerate(ordered)}
        numbers = array("I", bytes(4 * (max(found.names, default=-1) + 1)))
        for name, text in functions.items():
            numbers[name] = index_of[text]
        starts = [lane.start_ns for lane in lanes if lane.start_ns != NO_TIME]
        first = min(starts, default=0)
        last = max((lane.end_ns for lane in lanes if lane.end_ns != NO_TIME), default=0)
        generators = generators_of(store) if lanes else {}
        made = {function + RAN for function in generators}
        names = {name for name in found.names if texts[name] in made}
        return cls(
            lanes,
            workers,
            ordered,
            numbers,
            Window(first, max(first + 1, last)),
            Timed(found.starts, found.ends),
            Timed(found.failures, found.failures),
            waiting_in(store, calls, without=without),
            generators,
            frozenset(index for index, lane in enumerate(lanes) if names and not names.isdisjoint(lane.blocks.names)),
            sum(why.reason is Reason.UNTRACED and store.spans.name[row] not in without for row, why in whys.items()),
            bool(without),
            empty_files(store, {worker.pid for worker in workers}) if traces is None else 0,
            calls,
        )


def _joined(
    lanes: Sequence[Lane], identities: Identities, uncounted: Collection[int], tell: Tell
) -> tuple[list[Lane], list[Worker]]:
    """Return lanes and who they are, with one lane a process, and one for all processes of an actor."""
    from spanview.analysis.ray.lanes import joined

    groups: defaultdict[object, list[tuple[Lane, Worker]]] = defaultdict(list)
    for lane, worker in _of_processes(lanes, identities, uncounted, tell):
        is_actor = worker.role is Role.ACTOR and worker.actor_id
        groups[(worker.actor, worker.actor_id) if is_actor else key_of(lane)].append((lane, worker))
    of_each = []
    for group in groups.values():
        newest = max(group, key=lambda item: item[0].start_ns)[1]
        of_each.append((group[0][0] if len(group) == 1 else joined([lane for lane, _ in group], uncounted), newest))
    return [lane for lane, _ in of_each], [worker for _, worker in of_each]


def _of_processes(
    lanes: Sequence[Lane], identities: Identities, uncounted: Collection[int], tell: Tell
) -> Iterator[tuple[Lane, Worker]]:
    """Yield a lane a process, and who it is: it may write to several files, rotate one, or have several services."""
    from spanview.analysis.ray.lanes import joined

    processes: dict[str, list[tuple[Lane, Worker]]] = {}
    """The lanes of processes, by each of their ids."""
    for number, lane in enumerate(lanes):
        if not number % _WORKERS_PER_REPORT:
            tell(number / len(lanes))
        worker = identities.of(lane)
        of_process, ids = [(lane, worker)], {*worker.ids} or {str(key_of(lane))}
        # What two of them were known by may be one process, as this lane shows.
        for known in _each_once(processes[text] for text in ids if text in processes):
            of_process += known
        for text in ids.union(*(other.ids for _, other in of_process)):
            processes[text] = of_process
    for of_process in _each_once(processes.values()):
        best = min((worker for _, worker in of_process), key=lambda worker: _TELLING.index(worker.role))
        lane = of_process[0][0]
        if len(of_process) > 1:
            # It was one process all the time.
            lane = replace(joined([lane for lane, _ in of_process], uncounted), restarts=())
        yield lane, best


def _each_once(groups: Iterable[list[tuple[Lane, Worker]]]) -> Iterable[list[tuple[Lane, Worker]]]:
    return {id(group): group for group in groups}.values()


def key_of(lane: Lane) -> Key:
    """Return what tells a lane from all others, however much it grows."""
    return lane.process, lane.service


def processes_text(workers: Iterable[Worker]) -> str:
    """Return `7 workers and the driver`."""
    is_driver = [worker.role is Role.DRIVER for worker in workers]
    drivers = sum(is_driver)
    others = count(len(is_driver) - drivers, "worker")
    if not drivers:
        return others
    of_drivers = "the driver" if drivers == 1 else count(drivers, "driver")
    return of_drivers if drivers == len(is_driver) else f"{others} and {of_drivers}"


@dataclass(frozen=True, slots=True)
class Heading:
    """The line above the workers of a node."""

    node: str
    """From a file, and so to be sanitised; empty where it isn't known."""
    processes: str
    """How many workers and drivers, in words."""


class WorkersModel:
    """Workers that are looked at."""

    colored_by: Final = "function"

    def __init__(self, store: Store) -> None:
        self._store = store
        self.shape = WorkersShape((), (), (), (), _NOTHING, Timed((), ()), Timed((), ()))
        self._known = self.shape
        """What spans alone come to."""
        self._running: Sequence[RunsNow] = ()
        self._doing: dict[int, RunsNow] = {}
        """What runs now, by the indices of workers."""
        self._known_until: Mapping[int, int] = {}
        """Until when spans without an end are known to have run, by row, in nanoseconds since 1970."""
        self.window: Window | None = None
        self.by = Sort.START
        self.is_reversed = False
        self.order: list[int] = []
        """Indices of workers, from the top."""
        self.lines: list[int | Heading] = []
        """Indices of workers from the top, with headings where there are several nodes."""
        self._names: list[str] = []
        self._node_cells = _SHORTEST_ID
        self._has_nodes = False
        self._waiting_drivers = frozenset[int]()
        self.name_cells = 0
        """Cells of the longest name."""

    @property
    def profiled(self) -> WorkersShape:
        """What the minimap shows."""
        return self.shape

    @property
    def whole(self) -> Window:
        """The time of all workers."""
        return self.shape.whole

    @property
    def shown(self) -> Window:
        """What is shown of it."""
        return self.window or self.shape.whole

    def take(self, shape: WorkersShape) -> None:
        """Show what has become of the workers; what is zoomed to stays."""
        self._known = shape
        self._put_together(self.shape.whole.end_ns if self._running else 0)

    def take_running(self, running: Sequence[RunsNow], known_until: Mapping[int, int], now_ns: int) -> bool:
        """Show what processes run now, and time until now as long as one does; return whether anything changes.

        Args:
            known_until: Until when spans without an end are known to have run, by row, in nanoseconds since 1970.
        """
        is_other = bool(running) or bool(self._running) or known_until != self._known_until
        self._running, self._known_until = running, known_until
        if is_other:
            self._put_together(now_ns)
        return is_other

    def _put_together(self, now_ns: int) -> None:
        """Make the rows of what spans come to and of what runs now."""
        shape = self._known
        newest = dict[str, int]()
        for index in sorted(range(len(shape.lanes)), key=lambda index: shape.lanes[index].start_ns):
            newest[shape.workers[index].pid] = index
        more: list[tuple[Lane, Worker]] = []
        self._doing = {}
        for runs in self._running:
            index = newest.get(str(runs.pid), len(shape.lanes) + len(more))
            if index >= len(shape.lanes):
                from spanview.analysis.ray.lanes import lane_of_process

                more.append((lane_of_process(runs.pid), Worker(str(runs.pid), role=Role.WORKER)))
            self._doing[index] = runs
        # What was lost may have outlasted all that has an end.
        open_rows = (lane.blocks.rows[block] for lane in shape.lanes for block in lane.blocks.unended)
        seen_ns = max((self._known_until.get(row, 0) for row in open_rows), default=0)
        whole = Window(shape.whole.start_ns, max(shape.whole.end_ns, seen_ns, now_ns if self._doing else 0))
        shape = replace(
            shape,
            lanes=[*shape.lanes, *(lane for lane, _ in more)],
            workers=[*shape.workers, *(worker for _, worker in more)],
            whole=whole,
        )
        self.shape = shape
        workers = enumerate(zip(shape.lanes, shape.workers, strict=True))
        self._waiting_drivers = frozenset(index for index, (lane, worker) in workers if self._waits(lane, worker))
        nodes = {_node_of(worker) for worker in shape.workers} - {""}
        self._has_nodes = len(nodes) > 1
        self._node_cells = _cells_of_ids(nodes)
        actors = _cells_of_ids({worker.actor_id for worker in shape.workers})
        self._names = [
            self._name(lane, worker, actors) for lane, worker in zip(shape.lanes, shape.workers, strict=True)
        ]
        uses = Counter(self._names)
        # Processes of one service are told apart by what they or their files are called.
        self._names = [
            f"{name} {self._process_name(lane, name)}"
            if uses[name] > 1 and worker.role is Role.UNKNOWN and not worker.pid
            else name
            for name, lane, worker in zip(self._names, shape.lanes, shape.workers, strict=True)
        ]
        self.sort(self.by, is_reversed=self.is_reversed)

    def runs_now(self, index: int) -> RunsNow | None:
        """Return what a worker runs now; None where nothing says so."""
        return self._doing.get(index)

    @property
    def has_headings(self) -> bool:
        """Whether workers are below the headings of their nodes."""
        return self._has_nodes and self.by.has_nodes

    def index_of(self, key: Key) -> int | None:
        """Return the index of a worker among all."""
        return next((index for index, lane in enumerate(self.shape.lanes) if key_of(lane) == key), None)

    def line_of(self, index: int) -> int:
        """Return the line of a worker."""
        return self.lines.index(index)

    # -- the order ---------------------------------------------------------------------------------------------------

    def sort(self, by: Sort, *, is_reversed: bool = False) -> None:
        """Put the workers in another order."""
        self.by, self.is_reversed = by, is_reversed
        self.order = sorted(range(len(self.shape.lanes)), key=self._key(by), reverse=is_reversed)
        if by is Sort.BUSY:
            # What isn't known comes last, in either order.
            self.order.sort(key=lambda index: not self.is_busy_known(index))
        self.lines = [*self.order]
        texts = [WAITING, *(self.labels(index)[0] for index in self.order)]
        self.name_cells = max(map(cell_len, texts)) + self.has_headings
        if not self.has_headings:
            return
        workers, first = self.shape.workers, dict[str, tuple[bool, bool, int]]()
        # The driver's node comes first, an unknown one last.
        has_driver = {_node_of(worker) for worker in workers if worker.role is Role.DRIVER}
        for number, index in enumerate(self.order):
            node = _node_of(workers[index])
            first.setdefault(node, (not node, node not in has_driver, number))
        self.order.sort(key=lambda index: first[_node_of(workers[index])])
        self.lines = []
        for node, indices in groupby(self.order, lambda index: _node_of(workers[index])):
            of_node = [*indices]
            self.lines += [Heading(node, processes_text(map(workers.__getitem__, of_node))), *of_node]

    def _key(self, by: Sort) -> Callable[[int], Any]:
        lane = self.lane
        keys: dict[Sort, Callable[[int], Any]] = {
            Sort.START: lambda index: (lane(index).start_ns == NO_TIME, lane(index).start_ns),
            Sort.NAME: lambda index: _natural(self._names[index]),
            Sort.SPANS: lambda index: -lane(index).spans,
            Sort.ERRORS: lambda index: -lane(index).errors,
            Sort.BUSY: lambda index: -self.own_time(index)[0],
            Sort.GAP: lambda index: -self.gap_ns(index),
        }
        return keys[by]

    # -- figures -----------------------------------------------------------------------------------------------------

    def lane(self, index: int) -> Lane:
        """Return what a worker did, by its index among all."""
        return self.shape.lanes[index]

    def is_busy_known(self, index: int) -> bool:
        """Return whether a worker's spans show when it was busy."""
        return index not in self._waiting_drivers

    def _waits(self, lane: Lane, worker: Worker) -> bool:
        """Return whether a worker is a driver that may only wait for its calls, and no attempt shows for how long."""
        kinds = self._store.spans.kind
        is_calling = worker.role is Role.DRIVER and lane.call_row != NO_ROW and not lane.awaited_ns
        return is_calling and any(kinds[row] != PRODUCER for row in lane.blocks.rows)

    def at_most(self, index: int) -> str:
        """Return what is said before a gap of a worker: blocks whose ends aren't known may have run on."""
        return "at most " if self._is_open(index) else ""

    def bound_text(self, index: int, share: float) -> str:
        """Return what is said before the share of time that a worker was busy, which it may have awaited others in."""
        is_open, may_await = share < 1 and self._is_open(index), share > 0 and self.lane(index).may_await
        if self.awaited_share(index) or (is_open and may_await):
            return "≥ " if is_open and not may_await else "~ "
        return "≥ " if is_open else "≤ " if may_await else ""

    def _is_open(self, index: int) -> bool:
        """Return whether a worker's blocks may have run longer than is known; of what runs now it is known."""
        return index in self.shape.with_generators or bool(self._lost(index))

    def has_lost_end(self, index: int) -> bool:
        """Return whether the last thing that a worker ran has no end, and doesn't run: its own time isn't known."""
        return len(self.lane(index).blocks.rows) - 1 in self._lost(index)

    def _lost(self, index: int) -> list[int]:
        """Return the blocks of a worker without an end that don't run."""
        blocks, runs = self.lane(index).blocks, self._doing.get(index)
        return [one for one in blocks.unended if runs is None or self.start_of(blocks.rows[one]) < runs.since_ns]

    def _known_busy(self, index: int) -> Covered:
        """Return when a worker is known to have run something, with what runs now, or was lost, as far as was seen."""
        lane, runs = self.lane(index), self._doing.get(index)
        rows = [lane.blocks.rows[block] for block in lane.blocks.unended]
        times = [(self.start_of(row), self._known_until[row]) for row in rows if row in self._known_until]
        times += [] if runs is None else [(runs.since_ns, self.whole.end_ns)]
        if not times:
            return lane.busy
        times = sorted([*zip(lane.busy.starts, lane.busy.ends, strict=True), *times])
        return Covered.by(*zip(*times, strict=True))

    def _active_ns(self, index: int, start_ns: int, end_ns: int) -> int:
        """Return how long a worker was busy in a stretch, and didn't only await others, as far as is known."""
        lane, known = self.lane(index), self._known_busy(index)
        unended_ns = known.between(start_ns, end_ns) - lane.busy.between(start_ns, end_ns)
        awaited_ns = self.open_awaited_ns(index, start_ns, end_ns)
        return lane.active.between(start_ns, end_ns) + max(0, unended_ns - awaited_ns)

    def open_awaited_ns(self, index: int, start_ns: int, end_ns: int) -> int:
        """Return how long what has no end of a worker likely only awaited others in a stretch, as far as is known."""
        awaited, known = self.lane(index).open_awaited, self._known_busy(index)
        return awaited.between(start_ns, max(start_ns, min(end_ns, *known.ends[-1:]))) if awaited.starts else 0

    def awaited_share(self, index: int) -> float:
        """Return what share of its own time a worker only awaited others, likely."""
        lane, (_, length_ns) = self.lane(index), self.own_time(index)
        open_ns = self.open_awaited_ns(index, lane.start_ns, lane.start_ns + length_ns)
        return (lane.awaited_ns + open_ns) / length_ns if length_ns else 0.0

    def own_time(self, index: int) -> tuple[int, int]:
        """Return how long a worker was busy, and how long that was from its first start to its last known end."""
        known, start_ns = self._known_busy(index), self.lane(index).start_ns
        # Of what runs now no span may be here yet.
        start_ns = known.starts[0] if start_ns == NO_TIME and len(known.starts) else start_ns
        end_ns = max([self.lane(index).end_ns, *known.ends[-1:]])
        return self._active_ns(index, start_ns, end_ns), end_ns - start_ns

    def gap(self, index: int) -> tuple[int, int] | None:
        """Return the longest time in which a worker ran nothing, as far as is known; None where there is none."""
        lane, known = self.lane(index), self._known_busy(index)
        return lane.gap if known is lane.busy else max(_gaps(known), key=_length, default=None)

    def longest_gaps(self) -> list[tuple[int, tuple[int, int]]]:
        """Return the times in which workers ran nothing, longest first, with their indices; as many as one looks at."""
        gaps = ((index, gap) for index in self.order for gap in _gaps(self._known_busy(index)))
        return nsmallest(_MOST_GAPS, gaps, key=lambda item: (-_length(item[1]), item[1], item[0]))

    def gap_ns(self, index: int) -> int:
        """Return how long that is, 0 without one."""
        gap = self.gap(index)
        return 0 if gap is None else gap[1] - gap[0]

    def idle_before(self, index: int, ns: int) -> int | None:
        """Return how long a worker had run nothing when a span started, 0 if it ran something; None for the first."""
        known = self._known_busy(index)
        before = bisect_left(known.starts, ns)
        return max(0, ns - known.ends[before - 1]) if before else None

    def known_until(self, index: int) -> Sequence[int]:
        """Return until when blocks of a worker that have no end are known to have run, in nanoseconds since 1970.

        For each of them, by start, until when it or one before it is; `_FOREVER` where that isn't known of each.
        """
        rows, unended = self.lane(index).blocks.rows, self.lane(index).blocks.unended
        return [*accumulate((self._known_until.get(rows[block], _FOREVER) for block in unended), max)]

    @property
    def awaits(self) -> bool:
        """Whether a worker likely only awaits others at some time."""
        return any(lane.awaited_ns or lane.open_awaited.starts for lane in self.shape.lanes)

    @property
    def something_runs(self) -> bool:
        """Whether a worker runs something now, certainly or likely."""
        return bool(self._doing)

    def shown_share(self, index: int) -> float:
        """Return what share of the time that is shown a worker was busy, with what runs now or was lost."""
        return self._active_ns(index, self.shown.start_ns, self.shown.end_ns) / self.shown.length_ns

    def start_of(self, row: int) -> int:
        """Return when a span starts."""
        return self._store.spans.start_ns[row]

    # -- texts -------------------------------------------------------------------------------------------------------

    def labels(self, index: int) -> list[str]:
        """Return how a worker is called, the longest first; from files, to be sanitised."""
        name, node = self._names[index], self.node_text(_node_of(self.shape.workers[index]))
        has_node, worker = self._has_nodes and not self.by.has_nodes and node, self.shape.workers[index]
        is_replica = worker.role is Role.REPLICA or worker.actor.startswith(_REPLICA_CLASS)
        rest = name.rpartition("/")[2]
        shorter = [rest, rest.partition(" ")[0]] if is_replica else []
        return [*([f"{name} {node}"] if has_node else []), name, *shorter]

    def node_text(self, node: str) -> str:
        """Return how a node is called: an id as short as tells it from the others."""
        return node[: self._node_cells if _ID.fullmatch(node) else _LONGEST_NODE]

    def _name(self, lane: Lane, worker: Worker, actor_cells: int) -> str:
        """Return who a worker is: driver 8714, worker 8715, Counter (actor 3fa2), app/Model 532lk3fi, cart 8714."""
        if worker.role is Role.PROXY or (worker.actor == _PROXY_CLASS and worker.pid):
            name = f"proxy {worker.pid or worker.node}"
        elif worker.role is Role.ACTOR:
            actor = worker.actor
            if actor.startswith(_REPLICA_CLASS):
                actor = actor.removeprefix(_REPLICA_CLASS).replace(":", "/", 1)
            name = f"{actor} (actor {worker.actor_id[:actor_cells]})" if worker.actor_id else actor
        elif worker.role in {Role.DRIVER, Role.WORKER}:
            name = f"{worker.role.value} {worker.pid}{self._again(lane)}"
        elif worker.role is Role.REPLICA:
            name = f"{worker.actor} {worker.actor_id}"
        else:
            service = self._store.services.texts[lane.service]
            service = "" if service.startswith(_UNKNOWN_SERVICE) else service
            name = f"{worker.actor or service} {worker.pid}".strip() or self._process_name(lane, service)
            name += self._again(lane)
        return name.strip()

    def _process_name(self, lane: Lane, service: str) -> str:
        """Return what tells a worker from others of its service."""
        return process_name(self._store.processes, lane.process).removeprefix(f"{service} ")

    def _again(self, lane: Lane) -> str:
        """Return which process of one id it is, where its file is not the first one of its name."""
        file = None if lane.first_row == NO_ROW else self._store.processes.file(lane.process)
        return f" #{file.generation + 1}" if file is not None and file.generation else ""

    # -- functions ---------------------------------------------------------------------------------------------------

    def function_text(self, row: int) -> str:
        """Return what a span calls, by its short name; from a file, to be sanitised."""
        name = self._store.spans.name[row]
        return self.shape.functions[self.shape.numbers[name]][0] or "(no name)"

    def legend(self) -> list[tuple[int, str]]:
        """Return the numbers of functions and how they are called, the most frequent first."""
        return [(number, name or "(no name)") for number, (name, _) in enumerate(self.shape.functions)]


def _gaps(busy: Covered) -> Iterator[tuple[int, int]]:
    return zip(busy.ends, busy.starts[1:], strict=False)


def _length(gap: tuple[int, int]) -> int:
    return gap[1] - gap[0]


def _node_of(worker: Worker) -> str:
    """Return the node of a worker; a proxy is named after its address, which isn't what nodes are called elsewhere."""
    return "" if worker.role is Role.PROXY and not worker.pid else worker.node


def _cells_of_ids(ids: Iterable[str]) -> int:
    """Return how many characters tell ids from each other."""
    of_ids = {text for text in ids if _ID.fullmatch(text)}
    return next(
        (cells for cells in range(_SHORTEST_ID, _LONGEST_ID) if len({text[:cells] for text in of_ids}) == len(of_ids)),
        _LONGEST_ID,
    )


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts numbers in names by their size."""
    parts = re.split(r"([0-9]{1,18})", name)
    return tuple(
        (text.casefold(), int(number or 0)) for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )
