"""What more a trace's lines can say: further columns, and what their colours stand for."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from copy import copy
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from spanview.analysis.selftime import self_times
from spanview.display.units import count, duration
from spanview.model.span import KIND_NAMES
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.critical import CriticalPath, Segment
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace_model import TraceModel

_STEM: Final = re.compile(r"\.(?:txt|json)$")
_NODES: Final = ("ray.node_id", "k8s.node.name", "host.name")
"""Attributes, of the span or of its resource, that say where a process runs."""
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


class LitPath:
    """A critical path, ready to be drawn.

    Args:
        tree: The tree that it is of.
        path: The path.
    """

    def __init__(self, tree: TraceTree, path: CriticalPath) -> None:
        self.tree = tree
        self._of: defaultdict[int, list[Segment]] = defaultdict(list)
        for segment in path.segments:
            self._of[segment.node].append(segment)
        own, waits = sum(path.self_ns.values()), sum(path.wait_ns.values())
        self.text = f"critical path: {duration(own)} running, {duration(waits)} waiting, {count(len(self._of), 'span')}"
        if path.reason:
            self.text += f"; not sure: {path.reason}"

    def of(self, node: int) -> list[Segment]:
        """Return the stretches of a node, by time; none where it isn't on the path."""
        return self._of.get(node, [])


class Facets:
    """What is shown of a trace's spans besides their names and times.

    Args:
        store: The store.
        model: The trace.
    """

    def __init__(self, store: Store, model: TraceModel) -> None:
        self._store = store
        self._model = model
        self.shown: list[int] = []
        """Numbers of the columns that are shown, in the order of `EXTRAS`."""
        self._chosen: ColorBy | None = None
        self.is_explained = False
        """Whether it is shown what colours stand for."""
        self.lit: LitPath | None = None
        """The critical path, where it is lit."""
        self._own: tuple[object, list[int | None]] | None = None
        self._events: dict[int, list[int]] = {}
        self._nodes: dict[int, str] = {}
        """By source."""

    def snapshot(self, model: TraceModel) -> Facets:
        """Return the same for a snapshot of the trace, for another thread."""
        taken = copy(self)
        taken._model, taken._events, taken._nodes = model, {}, {**self._nodes}  # noqa: SLF001 - our own kind
        return taken

    # -- columns -----------------------------------------------------------------------------------------------------

    def toggle(self, number: int) -> bool:
        """Show a column, or leave it out; return which."""
        is_new = number not in self.shown
        self.shown = sorted({*self.shown, number}) if is_new else [each for each in self.shown if each != number]
        return is_new

    @property
    def width(self) -> int:
        """Cells of all columns that are shown, with the blanks before them."""
        return sum(EXTRAS[number].width + 1 for number in self.shown)

    def text_of(self, number: int, node: int) -> str:
        """Return what a column says of a span; from a file, so to be made harmless."""
        row = self._model.tree.rows[node]
        spans, whole = self._store.spans, self._model.whole
        start, end = spans.start_ns[row], spans.end_ns[row]
        if number == SELF:
            own = self._self_times()[node]
            return "" if own is None else duration(own)
        if number == SHARE:
            return "" if NO_TIME in (start, end) else f"{(end - start) / whole.length_ns:.1%}"
        if number == AFTER:
            return "" if start == NO_TIME else f"+{duration(start - whole.start_ns)}"
        return self._service(row) if number == SERVICE else self._process(row)

    def _self_times(self) -> list[int | None]:
        """Return the self time of each node, found out once for each tree."""
        tree = self._model.tree
        if self._own is None or self._own[0] is not tree:
            self._own = tree, self_times(tree, self._store.spans)
        return self._own[1]

    def events_of(self, row: int) -> list[int]:
        """Return the times of a span's events; of records that are no larger than most."""
        if self._store.spans.length[row] > _LARGEST_WITH_EVENTS:
            return []
        if row not in self._events:
            if len(self._events) > _KEPT_EVENTS:
                self._events.clear()
            self._events[row] = [
                event.timestamp_ns for event in self._store.span(row).events if event.timestamp_ns != NO_TIME
            ][:_MOST_EVENTS]
        return self._events[row]

    # -- colours -----------------------------------------------------------------------------------------------------

    @property
    def color_by(self) -> ColorBy:
        """What colours stand for: services where the trace has several, unless something was chosen."""
        return self._chosen or (ColorBy.SERVICE if self._model.has_services else ColorBy.PROCESS)

    def choose(self, color_by: ColorBy | None) -> None:
        """Let colours stand for something; None for what goes with the trace."""
        self._chosen = color_by

    def next_color(self) -> ColorBy:
        """Let colours stand for the next thing, and return it."""
        every = [*ColorBy]
        self._chosen = every[(every.index(self.color_by) + 1) % len(every)]
        return self._chosen

    def color_number(self, row: int) -> int:
        """Return a small number that spans of one colour have in common."""
        spans = self._store.spans
        if self.color_by is ColorBy.SERVICE:
            return spans.service[row]
        if self.color_by is ColorBy.PROCESS:
            return spans.source[row]
        if self.color_by is ColorBy.KIND:
            return spans.kind[row]
        name = self._node(row)
        return [*dict.fromkeys(self._nodes.values())].index(name)

    def legend(self) -> list[tuple[int, str]]:
        """Return the numbers of the trace's colours and what they stand for, the most frequent first."""
        name_of: Callable[[int], str] = {
            ColorBy.SERVICE: self._service,
            ColorBy.PROCESS: self._process,
            ColorBy.KIND: self._kind,
            ColorBy.NODE: self._node,
        }[self.color_by]
        rows: dict[int, int] = {}
        counts: Counter[int] = Counter()
        for row in self._model.tree.rows:
            number = self.color_number(row)
            rows.setdefault(number, row)
            counts[number] += 1
        return [(number, name_of(rows[number]) or "none") for number, _ in counts.most_common()]

    def _service(self, row: int) -> str:
        return self._store.services.texts[self._store.spans.service[row]]

    def _process(self, row: int) -> str:
        path = self._store.sources[self._store.spans.source[row]].path
        return _STEM.sub("", os.path.basename(path))

    def _kind(self, row: int) -> str:
        kind = self._store.spans.kind[row]
        return KIND_NAMES[kind] if kind < len(KIND_NAMES) else "UNSPECIFIED"

    def _node(self, row: int) -> str:
        """Return where a span's process runs, as one span of its file says it."""
        source = self._store.spans.source[row]
        if source not in self._nodes:
            span = self._store.span(row)
            values = [each.get(key) for key in _NODES for each in (span.attributes, span.resource.attributes)]
            self._nodes[source] = next((str(value)[:_NODE_CELLS] for value in values if value), "")
        return self._nodes[source]
