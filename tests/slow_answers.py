"""Where one trace's time went, told stretch by stretch of its critical path: slow, and independent of columns."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from one_path import Blame
from spanview.analysis.answer import Doing
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.names import call_names
from spanview.analysis.ray.waits import lived_between
from spanview.analysis.serve.requests import Part, numbers_of
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from one_path import CriticalPath, Stretch
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_WAITS = {Doing.WAITING, Doing.RETRYING, Doing.UNENDED, Doing.LIVING, Doing.QUEUED}


SlowPart: TypeAlias = tuple[Doing, int, int, int, str, int]
"""A part of a trace's time, as `AnswerPart` begins."""


class SlowAnswer:
    """One trace that is no request of Serve, and its critical path."""

    def __init__(self, store: Store, trace: int, path: CriticalPath) -> None:
        self._store = store
        self._trace = trace
        self._tree: TraceTree = store.tree(trace)
        self._path = path
        self._submits, self._runs = call_names(store.names)
        rows = self._tree.rows
        self._has_calls = any(store.spans.name[row] in self._submits | self._runs for row in rows)

    def parts(self) -> set[SlowPart]:
        """Return the parts, without what a wait was for."""
        return {*self._before(), *self._on_path()}

    def _before(self) -> Iterator[SlowPart]:
        if not self._path.segments:
            return
        first = self._path.segments[0]
        before = first.start_ns - self._store.trace_table.start_ns[self._trace]
        if before > 0:
            node = first.node
            while self._tree.parents[node] != ROOT:
                node = self._tree.parents[node]
            yield (Doing.EARLIER, before, 0, 0, self._text(self._name(node)), 0)

    def _on_path(self) -> Iterator[SlowPart]:
        pieces = defaultdict[Doing, list[tuple[int, int, int]]](list)
        for segment in self._path.segments:
            doing, name = self._piece(segment)
            pieces[doing].append((segment.node, name, segment.end_ns - segment.start_ns))
        total = sum(ns for several in pieces.values() for *_, ns in several)
        for doing, several in pieces.items():
            sums = defaultdict[int, int](int)
            for node, name, ns in several:
                sums[node if doing in _WAITS else name] += ns
            if doing is Doing.SPANS:
                yield from self._by_name(several, sums, total)
                continue
            longest = max(sums, key=lambda key: (sums[key], -key))
            text = self._text(self._name(longest) if doing in _WAITS else longest)
            spans, names = ({piece[column] for piece in several} for column in (0, 1))
            yield (doing, sum(sums.values()), len(spans), len(names), text, sums[longest])

    def _by_name(self, pieces: list[tuple[int, int, int]], sums: dict[int, int], total: int) -> Iterator[SlowPart]:
        names = sorted(sums, key=lambda name: (-sums[name], self._text(name)))
        own = [name for name in names[:3] if sums[name] >= 0.03 * total]
        own = names if len(names) - len(own) == 1 else own
        nodes = {name: {node for node, other, _ in pieces if other == name} for name in names}
        for name in own:
            yield (Doing.SPANS, sums[name], len(nodes[name]), 1, self._text(name), sums[name])
        if others := names[len(own) :]:
            spans = sum(len(nodes[name]) for name in others)
            yield (Doing.SPANS, sum(sums[name] for name in others), spans, len(others), "", 0)

    def _piece(self, segment: Stretch) -> tuple[Doing, int]:
        """Return what a stretch was spent on, and the number of the name that it counts for."""
        node, spans, name = segment.node, self._store.spans, self._name(segment.node)
        if self._tree.is_missing(node):
            return Doing.UNSEEN, name
        kind = spans.kind[self._tree.rows[node]]
        if segment.kind is Blame.WAIT:
            is_replica = name in numbers_of(self._store.names, Part.REPLICA)
            return self._waiting(node) if kind == CONSUMER else Doing.QUEUED if is_replica else Doing.IDLE, name
        if not self._has_calls:
            return Doing.SPANS, name
        above = node
        while above != ROOT:
            if self._is_futile(above):
                return Doing.FAILING, name
            above = self._tree.parents[above]
        if kind == PRODUCER and name in self._submits:
            children = self._tree.children(node)
            return Doing.SUBMITTING, self._name(children[0]) if children else name
        return Doing.RUNNING, name

    def _waiting(self, node: int) -> Doing:
        previous, rows = self._tree.previous_sibling(node), self._tree.rows
        is_first = previous is None or self._tree.is_missing(self._tree.parents[node])
        if is_first or not self._is_attempt(node) or not self._is_attempt(previous or 0):
            return Doing.WAITING
        if self._store.spans.end_ns[rows[previous or 0]] == NO_TIME:
            return Doing.UNENDED
        return Doing.LIVING if lived_between(self._store, rows[previous or 0], rows[node]) else Doing.RETRYING

    def _is_futile(self, node: int) -> bool:
        parent, rows = self._tree.parents[node], self._tree.rows
        if parent == ROOT or self._tree.is_missing(parent) or not self._is_attempt(node):
            return False
        last = self._tree.children(parent)[-1]
        if last == node or self._store.spans.status[rows[node]] != ERROR:
            return False
        return not (self._is_attempt(last) and are_executions(self._store, rows[node], rows[last]))

    def _is_attempt(self, node: int) -> bool:
        return self._store.spans.kind[self._tree.rows[node]] == CONSUMER and self._name(node) in self._runs

    def _name(self, node: int) -> int:
        return -1 if self._tree.is_missing(node) else self._store.spans.name[self._tree.rows[node]]

    def _text(self, name: int) -> str:
        return "" if name == -1 else self._store.names.texts[name]
