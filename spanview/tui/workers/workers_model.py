"""Lanes as rows: in which order, how each is called, and which part of their time is shown."""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.ray_names import RAN, function_of
from spanview.analysis.telling import part
from spanview.analysis.workers import Worker, named
from spanview.model.times import NO_TIME
from spanview.tui.trace.runs import Timed
from spanview.tui.widgets.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.lanes import Key, Lane
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_ID: Final = re.compile(r"[0-9a-f]{16,}")
_SHORTEST_ID, _LONGEST_ID = 4, 12
_LONGEST_NODE: Final = 15
_UNKNOWN_SERVICE: Final = "unknown_service"
_NOTHING: Final = Window(0, 1)
_GROWN: Final = 2
"""A lane with so many times as many spans as it had is asked again who it is."""


class Sort(Enum):
    """What lanes are sorted by."""

    START = "first start"
    BUSY = "busy share"
    GAP = "longest gap"
    SPANS = "spans"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class WorkersShape:
    """What the lanes of some traces come to; it doesn't change any more."""

    lanes: Sequence[Lane]
    functions: Sequence[tuple[str, int]]
    """What was called, and how often, the most frequent first."""
    numbers: Sequence[int]
    """Places of functions, which are the numbers of their colours, by the numbers of names; 0 for names of no block."""
    whole: Window
    timed: Timed
    failures: Timed
    generators: Mapping[str, Certainty] = field(default_factory=dict)
    """How sure it is that a function is a generator, whose blocks end when it is made."""
    with_generators: frozenset[int] = frozenset()
    """Places of the lanes that have such blocks."""
    untraced: int = 0
    """Calls that run or ran, certainly or likely, and are no blocks, because tracing leaves them out."""

    @classmethod
    def of(cls, store: Store, traces: Sequence[int] | None, tell: Tell) -> WorkersShape:
        """Find out what each process did; for a thread."""
        from spanview.analysis.calls import calls_in
        from spanview.analysis.generators import generators_of
        from spanview.analysis.lanes import lanes_in
        from spanview.analysis.reasons import Reason, reasons_of
        from spanview.index.forest import forest_of

        forest = forest_of(store, traces)
        tell(0.3)
        lanes = lanes_in(forest, part(tell, 0.3, 0.9))
        whys = reasons_of(store, calls_in(forest, is_everything=traces is None))
        called = Counter[str]()
        texts = {name: function_of(store.names.texts[name]) for name in lanes.names}
        for name, number in lanes.names.items():
            called[texts[name]] += number
        functions = sorted(called.items(), key=lambda item: (-item[1], item[0]))
        place_of = {function: place for place, (function, _) in enumerate(functions)}
        numbers = array("I", bytes(4 * (max(lanes.names, default=-1) + 1)))
        for name, text in texts.items():
            numbers[name] = place_of[text]
        starts = [lane.start_ns for lane in lanes.lanes if lane.start_ns != NO_TIME]
        first = min(starts, default=0)
        last = max((lane.end_ns for lane in lanes.lanes if lane.end_ns != NO_TIME), default=0)
        generators = generators_of(store) if lanes.lanes else {}
        made = {function + RAN for function in generators}
        names = {name for name in lanes.names if store.names.texts[name] in made}
        # Not while a line is painted.
        import_module("spanview.tui.workers.choosing_bulk")
        return cls(
            lanes.lanes,
            functions,
            numbers,
            Window(first, max(first + 1, last)),
            Timed(lanes.starts, lanes.ends),
            Timed(lanes.failures, lanes.failures),
            generators,
            frozenset(
                place for place, lane in enumerate(lanes.lanes) if names and not names.isdisjoint(lane.blocks.names)
            ),
            sum(why.reason is Reason.UNTRACED for why in whys.values()),
        )


def key_of(lane: Lane) -> Key:
    """Return what tells a lane from all others, however much it grows."""
    return lane.source, lane.service


class WorkersModel:
    """Lanes that are looked at."""

    colored_by: Final = "function"

    def __init__(self, store: Store) -> None:
        self._store = store
        self.shape = WorkersShape((), (), (), _NOTHING, Timed((), ()), Timed((), ()))
        self.window: Window | None = None
        self.by = Sort.START
        self.order: list[int] = []
        """Places of lanes, from the top."""
        self._known: dict[Key, tuple[Worker, int]] = {}
        """Who lanes are, as far as their records were asked, and how many spans they had by then."""
        self.workers: list[Worker] = []
        """Who each lane is, as far as that is known; texts from files, to be made harmless."""
        self._node_cells = _SHORTEST_ID

    @property
    def profiled(self) -> WorkersShape:
        """What the minimap shows."""
        return self.shape

    @property
    def whole(self) -> Window:
        """The time of all lanes."""
        return self.shape.whole

    @property
    def shown(self) -> Window:
        """What is shown of it."""
        return self.window or self.shape.whole

    def take(self, shape: WorkersShape) -> None:
        """Show what has become of the lanes; what is zoomed to stays."""
        self.shape = shape
        self.know({})

    def place_of(self, key: Key) -> int | None:
        """Return the place of a lane among all."""
        return next((place for place, lane in enumerate(self.shape.lanes) if key_of(lane) == key), None)

    def unknown(self) -> list[Lane]:
        """Return the lanes whose records can tell who they are: new ones, and those that have grown a lot since."""
        known = self._known
        return [lane for lane in self.shape.lanes if lane.spans >= _GROWN * known.get(key_of(lane), (None, 0))[1]]

    def know(self, known: Mapping[Key, tuple[Worker, int]]) -> None:
        """Take in who lanes are; all are put in order anew.

        Args:
            known: Who they are, and how many spans they had when that was found out.
        """
        self._known |= known
        self.workers = [
            asked[0] if (asked := self._known.get(key_of(lane))) else named(self._store.sources[lane.source].path)
            for lane in self.shape.lanes
        ]
        nodes = {worker.node for worker in self.workers if _ID.fullmatch(worker.node)}
        self._node_cells = next(
            (
                cells
                for cells in range(_SHORTEST_ID, _LONGEST_ID)
                if len({node[:cells] for node in nodes}) == len(nodes)
            ),
            _LONGEST_ID,
        )
        self.sort(self.by)

    def sort(self, by: Sort) -> None:
        """Put the lanes in another order."""
        self.by = by
        key_of: Callable[[int], Any] = {
            Sort.START: lambda lane_index: (self.lane(lane_index).start_ns == NO_TIME, self.lane(lane_index).start_ns),
            Sort.BUSY: lambda lane_index: -self.lane(lane_index).busy_ns,
            Sort.GAP: lambda lane_index: -self.lane(lane_index).longest_gap_ns,
            Sort.SPANS: lambda lane_index: -self.lane(lane_index).spans,
            Sort.NODE: lambda lane_index: (not self.workers[lane_index].node, self.workers[lane_index].node),
        }[by]
        self.order = sorted(range(len(self.shape.lanes)), key=key_of)

    def lane(self, lane_index: int) -> Lane:
        """Return a lane by its place among all."""
        return self.shape.lanes[lane_index]

    def at_most(self, lane_index: int) -> str:
        """Return what is said before a gap of a lane: generators run on after the ends of their spans."""
        return "at most " if lane_index in self.shape.with_generators else ""

    def shown_share(self, lane: Lane) -> float:
        """Return what share of the time that is shown a lane was busy."""
        shown = self.shown
        return lane.busy.between(shown.start_ns, shown.end_ns) / shown.length_ns

    def start_of(self, row: int) -> int:
        """Return when a span starts."""
        return self._store.spans.start_ns[row]

    # -- texts -------------------------------------------------------------------------------------------------------

    def labels(self, lane_index: int) -> list[str]:
        """Return how a lane is called: with its node, and without; from files, to be made harmless."""
        lane, worker = self.lane(lane_index), self.workers[lane_index]
        source = self._store.sources[lane.source]
        service = self._store.services.texts[lane.service]
        is_known = service and not service.startswith(_UNKNOWN_SERVICE)
        name = worker.actor or (service if is_known else "")
        if not worker.pid and not worker.actor:
            name = f"{name} {os.path.splitext(os.path.basename(source.path))[0]}".strip()
        again = f"#{source.generation + 1}" if source.generation else ""
        replica = "" if worker.pid else worker.actor_id
        texts = [text for text in (worker.pid, again, name, replica) if text]
        return [" ".join([self._short(worker.node), *texts]).strip(), " ".join(texts)]

    def _short(self, node: str) -> str:
        return node[: self._node_cells if _ID.fullmatch(node) else _LONGEST_NODE]

    # -- functions ---------------------------------------------------------------------------------------------------

    def function_text(self, row: int) -> str:
        """Return what a span calls; from a file, to be made harmless."""
        return function_of(self._store.names.texts[self._store.spans.name[row]]) or "(no name)"

    def legend(self) -> list[tuple[int, str]]:
        """Return the numbers of functions and how they are called, the most frequent first."""
        return [(number, name or "(no name)") for number, (name, _) in enumerate(self.shape.functions)]
