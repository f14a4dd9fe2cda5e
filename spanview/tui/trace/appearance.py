"""What a trace's lines show besides names and times: further columns, colours, events, the critical path."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.unended import Fate, known_until, ran_until
from spanview.analysis.ray.workers import node_of, process_name
from spanview.display.units import duration
from spanview.model.codes import KIND_NAMES
from spanview.model.times import NO_TIME
from spanview.tui.app.settings import NAMES_PERCENT
from spanview.tui.trace.lit_path import LitPath
from spanview.tui.trace.stitched_trace import PROCESS as OF_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.unseen import Guess
    from spanview.analysis.ray.waited_for import WaitReasons
    from spanview.analysis.silent import SilentFailure
    from spanview.tui.trace.stitched_trace import StitchedTrace
    from spanview.tui.trace.trace_model import TraceModel

_LARGEST_WITH_EVENTS: Final = 64 * 1024
_MOST_EVENTS, _KEPT_EVENTS = 256, 4096
_NODE_CELLS: Final = 12
"""Of a node's name; Ray's are long, and differ in any part of them."""


@dataclass(frozen=True, slots=True)
class Extra:
    """A column that can be shown beside the duration."""

    head: str
    width: int
    is_number: bool


_LEAST_REST: Final = 44
"""Cells for a name, a duration and some of the waterfall: further columns leave as many."""
EXTRAS: Final = (
    Extra("SELF", 9, True),
    Extra("SHARE", 7, True),
    Extra("AFTER", 10, True),
    Extra("SERVICE", 18, False),
    Extra("PROCESS", 12, False),
)
"""Self time; duration as a share of the trace's; start after the trace's start; service; the file's process."""
SELF, SHARE, AFTER, SERVICE, PROCESS = range(len(EXTRAS))


class ColorBy(Enum):
    """What a bar's colour stands for."""

    SERVICE = "service"
    PROCESS = "process"
    KIND = "kind"
    NODE = "node"


_COLUMNS: Final = {
    ColorBy.SERVICE: "service",
    ColorBy.PROCESS: OF_PROCESS,
    ColorBy.KIND: "kind",
    ColorBy.NODE: OF_PROCESS,
}
"""Of the span table: spans that have the same there have one colour."""


class Appearance:
    """What is shown of a trace's spans besides their names and times."""

    def __init__(self, model: TraceModel) -> None:
        self._store = model.store
        self._model = model
        self.columns: list[int] = []
        """Numbers of the columns that are shown, in the order of `EXTRAS`."""
        self.names_percent = NAMES_PERCENT
        """How much of a line names have."""
        self.chosen: ColorBy | None = None
        """What colours are to stand for; None for what goes with the trace."""
        self.is_explained = False
        """Whether it is shown what colours stand for."""
        self.guesses: Mapping[int, Guess] = {}
        """What missing parents probably are, by span id."""
        self.reasons: Mapping[int, Why] = {}
        """Why calls have no attempt, by row, as far as that was asked."""
        self.unended: Mapping[int, Unended] = {}
        """What has become of spans without an end, by row, as far as that was asked."""
        self.silent: Mapping[int, SilentFailure] = {}
        """How spans failed without an error, by row, as far as that was asked."""
        self.open_calls: Collection[int] = ()
        """The rows of calls without an attempt that may still run, as far as that was asked."""
        self.silent_positions: Sequence[int] = ()
        """The positions of these spans, and of parents that are lost, in order."""
        self.waits: WaitReasons | None = None
        """What calls waited for, where Ray's own events say so, as far as that was asked."""
        self.lit_path: LitPath | None = None
        """The critical path, where it is lit."""
        self._events: dict[int, list[int]] = {}
        self._nodes: dict[int, str] = {}
        """By the number of a process."""
        self._node_numbers: dict[str, int] = {}

    def snapshot(self, model: TraceModel) -> Appearance:
        """Return a copy for a snapshot of the trace, for another thread."""
        taken = copy(self)
        taken._model, taken._events = model, {}  # noqa: SLF001 - our own kind
        taken._nodes, taken._node_numbers = {**self._nodes}, {**self._node_numbers}  # noqa: SLF001 - too
        return taken

    def take_unended(self, unended: Mapping[int, Unended]) -> None:
        """Take in what has become of spans without an end, by row, and until when they are known to have run."""
        self.unended = unended
        self._model.ran_until = ran_until(unended)

    def lay_out_silent(self, lost_parents: Iterable[int] = ()) -> None:
        """Find the positions of what failed without an error in the trace as it is stitched now.

        A missing parent that is lost is given by its span id.
        """
        stitched = self._model.stitched
        keys = [*self.silent, *(-1 - span_id for span_id in lost_parents)]
        keys += [row for row, span in self.unended.items() if span.fate is Fate.LOST]
        places = {stitched.position[node] for key in keys if (node := stitched.node_of.get(key)) is not None}
        self.silent_positions = sorted(places.difference(stitched.failed))

    # -- columns -----------------------------------------------------------------------------------------------------

    def toggle_column(self, number: int) -> bool:
        """Show a column, or leave it out; return which."""
        is_new = number not in self.columns
        self.columns = (
            sorted({*self.columns, number}) if is_new else [other for other in self.columns if other != number]
        )
        return is_new

    def columns_in(self, width: int) -> list[int]:
        """Return those of the columns that are shown for which lines `width` cells wide have room beside all else."""
        left, fit = width - _LEAST_REST, []
        for number in self.columns:
            cells = EXTRAS[number].width + 1
            if cells <= left:
                left -= cells
                fit.append(number)
        return fit

    def text_of(self, number: int, node: int) -> str:
        """Return what a column says of a span; from a file, so to be made harmless."""
        row = self._model.tree.rows[node]
        spans, whole = self._store.spans, self._model.whole
        start, end = spans.start_ns[row], spans.end_ns[row]
        if number == SELF:
            own = self._model.stitched.own[node] if self._model.stitched.is_own_known else NO_TIME
            return "" if own is None else "…" if own == NO_TIME else duration(own)
        if number == SHARE:
            return "" if NO_TIME in (start, end) else f"{(end - start) / whole.length_ns:.1%}"
        if number == AFTER:
            return "" if start == NO_TIME else f"+{duration(start - whole.start_ns)}"
        return self._service(row) if number == SERVICE else self._process(row)

    def find_beforehand(self, stitched: StitchedTrace) -> None:
        """Find out, in a thread, what painting a trace needs of all of its spans."""
        for column in {*_COLUMNS.values()}:
            stitched.tally(column)
        _ = stitched.short_names, stitched.has_calls
        if SELF in self.columns:
            _ = stitched.own
        if self.color_by is ColorBy.NODE:
            self.learn_nodes([*stitched.tally(OF_PROCESS)[1].values()])

    def lit_path_of(self, stitched: StitchedTrace) -> LitPath | None:
        """Return the critical path of a trace, where one is lit; called in a thread where the trace is long."""
        return None if self.lit_path is None else self.path_of(stitched)

    def path_of(self, stitched: StitchedTrace) -> LitPath:
        """Return the critical path of a trace; called in a thread."""
        return LitPath(self._store, stitched, known_until(self.unended, stitched.whole.end_ns))

    def wait_parts(self, node: int) -> list[tuple[str, tuple[int, int]]]:
        """Return what a node's wait was for, where that is certain: letters, with when each part begins and ends."""
        if self.waits is None or self._model.tree.is_missing(node):
            return []
        from spanview.analysis.ray.wait_causes import LETTERS

        row = self._model.tree.rows[node]
        parts = self.waits.parts_of(row) if self.waits.is_certain(row) else {}
        ends = [*accumulate(parts.values(), initial=self._model.tree.start_ns(node) - sum(parts.values()))]
        return [*zip(map(LETTERS.__getitem__, parts), pairwise(ends), strict=True)]

    def events_of(self, row: int) -> list[int]:
        """Return the times of a span's events; of records that are no larger than most."""
        if self._store.spans.length[row] > _LARGEST_WITH_EVENTS:
            return []
        if row not in self._events:
            if len(self._events) > _KEPT_EVENTS:
                self._events.clear()
            self._events[row] = [
                event.timestamp_ns for event in self._store.span(row).events if event.timestamp_ns is not None
            ][:_MOST_EVENTS]
        return self._events[row]

    # -- colours -----------------------------------------------------------------------------------------------------

    @property
    def color_by(self) -> ColorBy:
        """What colours stand for: services where the trace has several, unless something was chosen."""
        return self.chosen or (
            ColorBy.SERVICE if len(self._model.stitched.tally("service")[0]) > 1 else ColorBy.PROCESS
        )

    @property
    def colored_by(self) -> str:
        """What colours stand for, in a word."""
        return self.color_by.value

    def unknown_nodes(self) -> list[int]:
        """Return a span of each process of which it isn't known where it runs, by its row."""
        return [row for process, row in self._model.stitched.tally(OF_PROCESS)[1].items() if process not in self._nodes]

    def learn_nodes(self, rows: list[int]) -> None:
        """Find out where the processes of some spans run; each is read again."""
        for row in rows:
            self._node_number(row)

    def color_number(self, row: int) -> int:
        """Return a small number that spans of one colour have in common."""
        if self.color_by is ColorBy.NODE:
            return self._node_number(row)
        if self.color_by is ColorBy.PROCESS:
            number = self._store.spans.process[row]
            # Files that are empty count, too: a process keeps its colour when another one has written something.
            first = self._store.processes.first_file(number)
            return number if first is None else first
        value: int = getattr(self._store.spans, _COLUMNS[self.color_by])[row]
        return value

    def _node_number(self, row: int) -> int:
        return self._node_numbers.setdefault(self._node(row), len(self._node_numbers))

    def legend(self) -> list[tuple[int, str]]:
        """Return the numbers of the trace's colours and what they stand for, the most frequent first."""
        name_of: Callable[[int], str] = {
            ColorBy.SERVICE: self._service,
            ColorBy.PROCESS: self._process,
            ColorBy.KIND: self.kind,
            ColorBy.NODE: self._node,
        }[self.color_by]
        tally, rows = self._model.stitched.tally(_COLUMNS[self.color_by])
        counts: Counter[int] = Counter()
        names: dict[int, str] = {}
        for value, number_of_spans in tally.items():
            number = self.color_number(rows[value])
            counts[number] += number_of_spans
            names.setdefault(number, name_of(rows[value]) or "none")
        return [(number, names[number]) for number, _ in counts.most_common()]

    def _service(self, row: int) -> str:
        return self._store.services.texts[self._store.spans.service[row]]

    def _process(self, row: int) -> str:
        return process_name(self._store.processes, self._store.spans.process[row])

    def kind(self, row: int) -> str:
        """Return the kind of a span."""
        kind = self._store.spans.kind[row]
        return KIND_NAMES[kind] if kind < len(KIND_NAMES) else "UNSPECIFIED"

    def _node(self, row: int) -> str:
        """Return where a span's process runs, as one span of its file says it."""
        process = self._store.spans.process[row]
        if process not in self._nodes:
            self._nodes[process] = node_of(self._store.span(row))[:_NODE_CELLS]
        return self._nodes[process]
