"""What is probably still running: told by the processes of this host, which know nothing of spans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.analysis.workers import pid_of_file
from spanview.model.codes import CONSUMER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.store import Store

Lives: TypeAlias = Callable[[int, int], bool]
"""Tells whether the process that had an id at a time, in nanoseconds since 1970, is alive."""

_MOST_TRACES: Final = 500
"""So many traces without a root are asked about, the newest."""


@dataclass(frozen=True, slots=True)
class Thought:
    """What is thought of a call without an attempt; it is likely, never certain."""

    may_run: bool
    """Whether it runs or waits, rather than being lost."""
    text: str
    """In a few words."""


class Running:
    """Tells what may still be running.

    Args:
        store: Where the spans are.
        lives: Tells of a process of this host whether it is alive.
    """

    def __init__(self, store: Store, lives: Lives) -> None:
        self._store = store
        self._lives = lives
        self._actors: dict[int, str] = {}
        """Of each file that attempts stand in the actor that runs there, empty for none, by the file's number."""
        self._last_attempts: dict[int, int] = {}
        """The newest attempt that each file holds, by the file's number."""
        self._seen = 0
        """Rows in which attempts were looked for."""
        self._rootless: list[int] = []
        self._looked_at = 0
        """Traces of which it was asked whether they have a root."""
        self._ends: dict[int, tuple[int, dict[int, int]]] = {}
        """How many spans traces had, and when the last one of each file ended."""

    def traces_of_the_living(self) -> set[int]:
        """Return the traces without a root that a process has a part in which is alive; of the newest ones."""
        roots = self._store.trace_table.root_count
        count = len(self._store.trace_table)
        new = compress(range(self._looked_at, count), map(not_, roots[self._looked_at : count]))
        self._rootless = [trace for trace in (*self._rootless, *new) if not roots[trace]][-_MOST_TRACES:]
        self._looked_at = count
        return {trace for trace in self._rootless if self.process_of_trace(trace) is not None}

    def process_of_trace(self, trace: int) -> int | None:
        """Return a process that has written spans of a trace and is alive; None where there is none."""
        return next(
            (pid for source, end in self._last_ends(trace).items() if (pid := self._living(source, end)) is not None),
            None,
        )

    def _last_ends(self, trace: int) -> dict[int, int]:
        """Return when the last span of a trace ended in each file, by the file's number."""
        count = self._store.trace_table.span_count[trace]
        known = self._ends.get(trace)
        if known is None or known[0] != count:
            spans, newest = self._store.spans, dict[int, int]()
            for row in self._store.rows_of_trace(trace):
                source = spans.source[row]
                newest[source] = max(newest.get(source, NO_TIME), spans.end_ns[row])
            if len(self._ends) > 2 * _MOST_TRACES:
                self._ends.clear()
            known = self._ends[trace] = count, newest
        return known[1]

    def _living(self, source: int, seen_ns: int) -> int | None:
        pid = pid_of_file(self._store.sources[source].path)
        return pid if pid is not None and seen_ns != NO_TIME and self._lives(pid, seen_ns) else None

    def thought_of(self, row: int) -> Thought:
        """Return what is thought of a call that has no attempt, given its PRODUCER's row."""
        spans = self._store.spans
        caller = pid_of_file(self._store.sources[spans.source[row]].path)
        if caller is None:
            return Thought(True, "runs, waits or is lost")
        if spans.end_ns[row] != NO_TIME and self._living(spans.source[row], spans.end_ns[row]) is None:
            # What a process has submitted ends with it.
            return Thought(False, f"lost, likely: its caller, pid {caller}, has gone")
        self._look_at_attempts()
        actor = self._store.span(row).attributes.get("ray.actor_id")
        if isinstance(actor, str) and actor:
            return self._thought_of_actor(actor)
        alive = sum(
            self._living(source, spans.end_ns[last]) is not None for source, last in self._last_attempts.items()
        )
        if alive:
            return Thought(True, f"runs or waits, likely: {alive:,} worker{'s' * (alive > 1)} alive")
        return Thought(True, "waits, likely: no worker is alive")

    def _thought_of_actor(self, actor: str) -> Thought:
        spans = self._store.spans
        for source, last in self._last_attempts.items():
            if self._actor_in(source, last) == actor:
                pid = pid_of_file(self._store.sources[source].path)
                if self._living(source, spans.end_ns[last]) is None:
                    return Thought(False, f"lost, likely: its actor, pid {pid}, has gone")
                return Thought(True, f"runs or waits, likely: its actor, pid {pid}, lives")
        return Thought(True, "waits, likely: its actor has run nothing yet")

    def _actor_in(self, source: int, row: int) -> str:
        """Return the actor that runs in a process: there is one at the most."""
        if source not in self._actors:
            actor = self._store.span(row).attributes.get("ray.actor_id")
            self._actors[source] = actor if isinstance(actor, str) else ""
        return self._actors[source]

    def _look_at_attempts(self) -> None:
        spans, count = self._store.spans, len(self._store.spans.next_row)
        for row in range(self._seen, count):
            if spans.kind[row] == CONSUMER and spans.end_ns[row] != NO_TIME:
                self._last_attempts[spans.source[row]] = row
        self._seen = count
