"""What has become of spans that were written when they started, and have no end yet.

the process that the span names              its file                               the span
-------------------------------------------  -------------------------------------  ----------------------------------
it, on this host, had that id then           –                                      runs
is alive
has ended, and Ray's own events say that     –                                      is lost, or was cancelled
  the attempt failed
was ended in order, as Ray's log says        is beside that log, and was written    was stopped; with `ray.cancel`,
                                             last when the last span in it ended    it was cancelled
                                             is not, as a copy                      the same, likely
ran on another host, or isn't named          –                                      unknown
was seen alive, and has ended                –                                      is lost
isn't there                                  was written last when the last span    is lost, likely
                                             in it, or beside it, started or ended
isn't there                                  was written later, as a copy is        unknown: its end may be elsewhere

A call of Ray's own, as of Serve's controller, which listens until its process ends, was stopped, likely, where it would
be lost and Ray says nothing. What was found lost or stopped stays so, also where the files that showed it are gone: the
next session of Ray takes their path.
Until when a lost span ran isn't known, but when its process was last known to: as it was seen, or by its last span; or
when it had ended at the latest, as Ray's own events say.

beside it: what starts is in `n-7-1717000000.started.jsonl`, what has ended in `n-7-1717000000.jsonl`.
"""

from __future__ import annotations

import re
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.names import RAN, function_of, is_constructor, is_rays_own
from spanview.analysis.ray.writers import Life, Writers
from spanview.formats.ray_events import NO_STATE
from spanview.index.lives import OpenEnd
from spanview.index.processes import file_of_process
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.problems import ProblemKind
from spanview.model.times import NO_TIME, Bound

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from spanview.analysis.ray.writers import Host, WorkerExit
    from spanview.index.ray_tasks import Actor
    from spanview.index.store import Store

MAX_UNENDED: Final = 1_000
"""Spans without an end whose processes are asked about, the newest."""
_READING_DELAY_S: Final = 0.5
"""What a process wrote before it ended has been read after so long, mostly."""
_DIED: Final = re.compile(r"\bits (?:worker process|node) has died\b")
"""Of an actor, in Ray's words: of its constructor, Ray doesn't say that it failed."""
_COPYING_NS: Final = 2_000_000_000
"""A file that was written later than this after its last span is taken for a copy; some count whole seconds."""


class Fate(Enum):
    """What has become of a span without an end."""

    RUNS = "running"
    LOST = "lost"
    STOPPED = "stopped"
    """Its process was ended in order, while it ran."""
    CANCELLED = "cancelled"
    """It was cancelled while it ran, which ended its process."""
    UNKNOWN = "no end"


@dataclass(frozen=True, slots=True)
class Unended:
    """A span without an end."""

    fate: Fate
    reason: str
    """In a few words; with a host's name from a file, and so to be sanitised."""
    pid: int | None = None
    """Of its process."""
    is_likely: bool = False
    """Whether its fate isn't certain."""
    seen_ns: int = field(default=NO_TIME, compare=False)
    """When its process was last known to run, in nanoseconds since 1970; `NO_TIME` where that isn't known."""
    told_ns: int = NO_TIME
    """When it had ended at the latest, as Ray's own events say; `NO_TIME` where they don't."""
    has_raised: bool = False
    """Whether it has failed, as Ray says, and its process went on: its end is in none of the files."""
    is_followed: bool = False
    """Whether it is an attempt that another one of its call followed, before which it had ended."""
    is_tried_again: bool = False
    """Whether its call isn't over, as Ray's own events say: another attempt waits, or runs."""
    may_be_tried_again: bool = False
    """Whether nothing shows that its call is over: Ray doesn't say that it failed, and the caller may be alive."""

    @property
    def certainty(self) -> Certainty:
        """How sure its fate is."""
        return Certainty.LIKELY if self.is_likely else Certainty.CERTAIN

    @property
    def is_over(self) -> bool:
        """Whether it doesn't run, certainly or likely."""
        return self.fate not in {Fate.RUNS, Fate.UNKNOWN}

    @property
    def is_told(self) -> bool:
        """Whether Ray's own events say when it had ended at the latest."""
        return self.told_ns != NO_TIME

    @property
    def until_ns(self) -> int:
        """Until when it ran, as far as that is known: at the most, as Ray says, or else at least; or `NO_TIME`."""
        return self.told_ns if self.is_told else self.seen_ns


NO_UNENDED: Final[Mapping[int, Unended]] = MappingProxyType({})
"""Where nobody has asked."""


def lost_text(count: int) -> str:
    """Return how many spans are lost, in words."""
    return f"{count:,} lost"


def fates_text(unended: Iterable[Unended]) -> str:
    """Return how many spans without an end run, and how many are lost, in words; empty where none is."""
    fates = Counter(span.fate for span in unended)
    texts = (f"● {fates[Fate.RUNS]:,} running", Fate.RUNS), (lost_text(fates[Fate.LOST]), Fate.LOST)
    return ", ".join(text for text, fate in texts if fates[fate])


def known_until(unended: Mapping[int, Unended], end_ns: int = NO_TIME) -> dict[int, int]:
    """Return until when spans without an end are known to have run, by row: those that run until they were asked.

    Args:
        end_ns: When the last span of their trace ended, which may be after they were asked: what runs ran then, too.

    Returns:
        The times, in nanoseconds since 1970; `Bound` of those that may have run longer, or less long.
    """
    return {
        row: max(span.until_ns, end_ns) if span.fate is Fate.RUNS else Bound(span.until_ns)
        for row, span in unended.items()
        if span.until_ns != NO_TIME
    }


def seen_until(unended: Mapping[int, Unended]) -> dict[int, int]:
    """Return until when spans without an end ran at least, by row: as long as their processes were seen."""
    return {row: span.seen_ns for row, span in unended.items() if span.seen_ns != NO_TIME}


class RanUntil(NamedTuple):
    """Until when spans without an end are known to have run, in nanoseconds since 1970; 0 where there is none."""

    now_ns: int = 0
    """When it was asked, where one runs."""
    ended_ns: int = 0
    """When the last of those that are lost, or were stopped, was known to, or had ended at the latest."""
    is_told: bool = False
    """Whether it is the latter."""
    may_last: bool = False
    """Whether one of these may have ended later than that, and than all that has an end."""

    def end_at(self, end_ns: int) -> OpenEnd | None:
        """Return what is known of the end of what lasts until a time, and longer than all that has an end."""
        if self.now_ns:
            return OpenEnd.RUNS
        if self.may_last:
            return OpenEnd.EARLIEST
        is_last = bool(self.ended_ns) and self.ended_ns == end_ns
        return None if not is_last else OpenEnd.LATEST if self.is_told else OpenEnd.EARLIEST


def ran_until(unended: Mapping[int, Unended]) -> RanUntil:
    """Return until when spans without an end are known to have run."""
    ended = [span for span in unended.values() if span.fate is not Fate.RUNS]
    now_ns = max(known_until(unended).values(), default=0) if len(ended) < len(unended) else 0
    last = max(ended, key=lambda span: (span.until_ns, not span.is_told), default=None)
    may_last = not all((span.is_told and not span.is_tried_again) or span.is_followed for span in ended)
    if last is None or last.until_ns == NO_TIME:
        return RanUntil(now_ns, may_last=may_last)
    return RanUntil(now_ns, last.until_ns, last.is_told and not may_last, may_last)


def open_end_of(unended: Mapping[int, Unended], end_ns: int) -> OpenEnd | None:
    """Return what is known of the end of a trace.

    Args:
        unended: What has become of its spans without an end, by row.
        end_ns: When its last span ended that has an end.
    """
    return ran_until(unended).end_at(max(end_ns, *known_until(unended).values(), 0))


def why_lost(unended: Unended) -> str:
    """Return why a span without an end is lost, as the end of a sentence; to be sanitised."""
    return f"{'likely ' if unended.is_likely else ''}lost because {unended.reason}"


def unended_text(unended: Unended) -> str:
    """Return what has become of a span without an end, in words; to be sanitised."""
    return f"{unended.fate.value}{', likely' if unended.is_likely else ''}: {unended.reason}"


def _ended_text(pid: int, told: WorkerExit) -> str:
    return f"its process (pid {pid}) has ended, as Ray says: {told.text}"


def _ended_in_order(pid: int, told: WorkerExit, seen_ns: int) -> Unended:
    """Return what has become of a span whose process Ray has ended."""
    fate = Fate.CANCELLED if told.is_cancelled else Fate.STOPPED
    return Unended(fate, f"Ray ended its process (pid {pid}) because {told.text}", pid, seen_ns=seen_ns)


class _TraceCalls(NamedTuple):
    """The calls of a trace, by their span ids."""

    version: int
    """The trace's, for which they were found."""
    newest_ns: dict[int, int]
    """When the newest attempt of each started."""
    rows: dict[int, int]


class UnendedSpans:
    """Knows which spans have no end, and what has become of them. For one thread at a time."""

    def __init__(self, store: Store, writers: Writers, host: Host) -> None:
        self._store = store
        self._writers = writers
        self._host = host
        self._row_count = 0
        self._rows = array("I")
        self._over: dict[int, Unended] = {}
        """What was found lost or stopped, by row."""
        self._last_ns: tuple[int, dict[str, int]] = -1, {}
        """For a version of the store, when the last span of each process started or ended, by its file."""
        self._dead_at: tuple[tuple[int, int], Mapping[int, int]] = (-1, -1), {}
        """The same of what `_dead` returns."""
        self._calls: dict[int, _TraceCalls] = {}
        """By trace."""
        self._torn_in: tuple[int, frozenset[str]] = 0, frozenset()
        """For so many torn records, the files of ended spans whose processes wrote them."""

    @classmethod
    def of_store(cls, store: Store, host: Host, clock: Callable[[], float] = time.monotonic) -> UnendedSpans:
        """Return what knows those of a store, for whoever asks nothing else of processes."""
        return cls(store, Writers(store, host, clock), host)

    def all(self, traces: Container[int] | None = None) -> dict[int, Unended]:
        """Return what has become of each of the newest spans without an end, by row."""
        # One time for all: what runs at once has the same end on a screen.
        now_ns = time.time_ns()
        self._writers.look()
        found = {row: self._remembered(row, now_ns) for row in self._rows_of(traces)}
        if len(self._calls) > MAX_UNENDED:
            self._calls.clear()
        return {row: span if span.fate is Fate.RUNS else self._with_call(row, span) for row, span in found.items()}

    def _with_call(self, row: int, span: Unended) -> Unended:
        """Return what has become of a span that doesn't run, with what has become of its call, if it is an attempt."""
        spans = self._store.spans
        # Other programs have consumers, too: of messages.
        if not self._name_of(row).endswith(RAN):
            return span
        newest_ns = self._calls_of(spans.trace[row]).newest_ns.get(spans.parent_id[row], NO_TIME)
        is_followed = newest_ns > spans.start_ns[row]
        is_open = span.fate is Fate.LOST and not (span.is_told or is_followed)
        is_open = is_open and self._may_call(row) and not self._is_of_dead_actor(row)
        return replace(span, is_followed=is_followed, may_be_tried_again=is_open)

    def _name_of(self, row: int) -> str:
        return self._store.names.texts[self._store.spans.name[row]]

    def _is_of_dead_actor(self, row: int) -> bool:
        """Return whether the actor that ran an attempt won't be started again, as Ray says."""
        actor = self._actor_of(row)
        return actor is not None and actor.is_dead

    def _actor_of(self, row: int) -> Actor | None:
        """Return what Ray says of the actor that ran an attempt."""
        return None if self._store.ray is None else self._store.ray.actors.get(self._writers.facts_of(row).actor)

    def _may_call(self, row: int) -> bool:
        """Return whether the process that called an attempt, for which Ray would try it again, may be alive."""
        call = self._call_of(row)
        writer = None if call is None else self._writers.facts_of(call).writer
        return call is None or writer is None or self._writers.life(call, writer) is not Life.GONE

    def _call_of(self, row: int) -> int | None:
        """Return the row of an attempt's call; None where no file holds it."""
        spans = self._store.spans
        return self._calls_of(spans.trace[row]).rows.get(spans.parent_id[row])

    def _calls_of(self, trace: int) -> _TraceCalls:
        spans, version = self._store.spans, self._store.trace_table.version(trace)
        found = self._calls.get(trace)
        if found is None or found.version != version:
            found = self._calls[trace] = _TraceCalls(version, {}, {})
            for row in self._store.rows_of_trace(trace):
                if spans.kind[row] == CONSUMER:
                    parent, start_ns = spans.parent_id[row], spans.start_ns[row]
                    found.newest_ns[parent] = max(start_ns, found.newest_ns.get(parent, NO_TIME))
                else:
                    found.rows[spans.span_id[row]] = row
        return found

    def _remembered(self, row: int, now_ns: int) -> Unended:
        now, over = self._of(row, now_ns), self._over.get(row)
        # Ray may say only afterwards that a process was ended in order, when an attempt had failed, or what came of it.
        is_news = over is None or over.is_likely or (now.is_told and now != over)
        if now.fate in {Fate.STOPPED, Fate.CANCELLED} or (now.fate is Fate.LOST and is_news):
            self._over[row] = now
            return now
        return now if over is None or now.fate is Fate.RUNS else over

    def _rows_of(self, traces: Container[int] | None) -> list[int]:
        spans = self._store.spans
        ends, count = spans.end_ns, len(spans.next_row)
        self._rows.extend(compress(range(self._row_count, count), map(NO_TIME.__eq__, ends[self._row_count : count])))
        self._row_count = count
        self._rows = array("I", [row for row in self._rows if ends[row] == NO_TIME])
        newest = self._rows[-MAX_UNENDED:]
        return [row for row in newest if traces is None or spans.trace[row] in traces]

    def _of(self, row: int, now_ns: int) -> Unended:
        """Return what has become of a span without an end, as of now, in nanoseconds since 1970."""
        writer = self._writers.facts_of(row).writer
        if writer is None:
            return Unended(Fate.UNKNOWN, "not known which process it is of")
        who = f"its process (pid {writer.pid})"
        life = self._writers.life(row, writer)
        if life.is_alive:
            return Unended(Fate.RUNS, f"{who} is alive", writer.pid, seen_ns=now_ns)
        was_alive = self._writers.was_alive(row, writer)
        seen_ns = max(self._writers.seen_ns(row, writer), self._last_of(row))
        if was_alive and not self._writers.has_ended(row, writer, _READING_DELAY_S):
            return Unended(Fate.RUNS, f"{who} was alive a moment ago", writer.pid, seen_ns=seen_ns)
        if (by_ray := self._by_ray(row, writer.pid, seen_ns)) is not None:
            return by_ray
        if self._is_torn(row):
            return Unended(Fate.UNKNOWN, f"a part of what {who} wrote is damaged, which may hold its end", writer.pid)
        told = self._exit_of(row)
        if told is not None and told.is_in_order:
            # In a copy, or where the end of a file is lost, the span may have ended before.
            is_likely = not (was_alive or (told.is_beside and self._is_original(row)))
            return replace(_ended_in_order(writer.pid, told, seen_ns), is_likely=is_likely)
        if not was_alive and life is not Life.GONE:
            where = f" on {writer.host}" if writer.host else ""
            return Unended(Fate.UNKNOWN, f"not known whether {who}{where} is alive", writer.pid)
        if was_alive or (writer.is_named and self._is_original(row)):
            if told is not None:
                return Unended(Fate.LOST, _ended_text(writer.pid, told), writer.pid, seen_ns=seen_ns)
            reason = f"{who} has ended" if was_alive else f"{who} isn't running"
            is_own = is_rays_own(function_of(self._name_of(row)))
            fate = Fate.STOPPED if is_own else Fate.LOST
            return Unended(fate, reason, writer.pid, is_likely=is_own or not was_alive, seen_ns=seen_ns)
        return Unended(Fate.UNKNOWN, f"{who} isn't running here, but the file may be a copy", writer.pid)

    def _by_ray(self, row: int, pid: int, seen_ns: int) -> Unended | None:
        """Return what Ray's own events say became of what didn't finish; None where they say nothing."""
        if self._store.ray is None:
            return None
        if self._store.spans.kind[row] != CONSUMER:
            # Ray says when its process died: it had ended then at the latest.
            told_ns, ended = self._dead.get(self._store.spans.process[row], NO_TIME), self._exit_of(row)
            if self._is_torn(row):
                # Its end may be in what is damaged, however its process ended.
                return None
            if told_ns == NO_TIME or told_ns < self._store.spans.start_ns[row] or (ended and ended.is_in_order):
                # A call names the actor that it goes to; what Serve's replicas handle, their own.
                return None if self._store.spans.kind[row] == PRODUCER else self._with_actor(row, pid, seen_ns)
            reason = f"its process (pid {pid}) has ended, as Ray says" if ended is None else _ended_text(pid, ended)
            return Unended(Fate.LOST, reason, pid, seen_ns=min(seen_ns, told_ns), told_ns=told_ns)
        from spanview.analysis.ray.told import CallOutcome, outcomes_from

        told, following = outcomes_from(self._store, row, self._call_of(row))
        if told is None or not told.outcome.has_failed:
            # A constructor has finished when it has in one of its actor's lives.
            is_left = told is None or told.outcome is not CallOutcome.FINISHED or is_constructor(self._name_of(row))
            return self._with_actor(row, pid, seen_ns) if is_left and not self._is_torn(row) else None
        fate = Fate.CANCELLED if told.outcome is CallOutcome.CANCELLED else Fate.LOST
        # Clocks of two nodes can differ.
        is_told = self._store.spans.start_ns[row] <= told.failed_ns < NO_STATE
        told_ns, seen_ns = (told.failed_ns, min(seen_ns, told.failed_ns)) if is_told else (NO_TIME, seen_ns)
        is_again = following is not None and not following.is_over
        # Of a call that a process took with it, its caller heard no more than that it was gone, or out of reach.
        ended = self._exit_of(row) if told.is_of_process else None
        if ended is not None and ended.is_in_order:
            return replace(_ended_in_order(pid, ended, seen_ns), told_ns=told_ns, is_tried_again=is_again)
        reason = told.as_ray_says if ended is None else _ended_text(pid, ended)
        has_raised = told.outcome is CallOutcome.FAILED and not told.is_of_process
        over = Unended(fate, reason, pid, seen_ns=seen_ns, told_ns=told_ns, is_tried_again=is_again)
        return replace(over, has_raised=has_raised)

    def _with_actor(self, row: int, pid: int, seen_ns: int) -> Unended | None:
        """Return what has become of what an actor ran that died with its process, as a constructor."""
        from spanview.analysis.ray.told import cause_in

        actor = self._actor_of(row)
        # What Ray itself has running ends with what it serves, in order.
        if actor is None or is_rays_own(function_of(self._name_of(row))):
            return None
        why = cause_in(actor.cause) if actor.is_dead else ""
        if pid in actor.ended:
            why = "its actor was to be started again"
        elif not _DIED.search(why):
            return None
        return Unended(Fate.LOST, f"its process (pid {pid}) has ended, as Ray says: {why}", pid, seen_ns=seen_ns)

    @property
    def _dead(self) -> Mapping[int, int]:
        """When processes died while they ran something, as Ray says, by number."""
        ray = self._store.ray
        version = self._store.version, 0 if ray is None else ray.version
        if self._dead_at[0] != version:
            from spanview.analysis.ray.told import dead_processes

            self._dead_at = version, dead_processes(self._store)
        return self._dead_at[1]

    def _exit_of(self, row: int) -> WorkerExit | None:
        """Return what Ray says of the end of a span's worker; None where it says nothing."""
        facts, path = self._writers.facts_of(row), self._store.sources[self._store.spans.source[row]].path
        return self._host.exit_of(path, facts.worker, facts.session) if facts.worker else None

    def _is_original(self, row: int) -> bool:
        """Return whether a span is in the file that its process wrote, as far as the times of the files tell."""
        path = self._store.sources[self._store.spans.source[row]].path
        process, last_ns = file_of_process(path), self._last_of(row)
        written_ns = max(self._host.written_ns(file) for file in {path, process})
        return abs(written_ns - last_ns) <= _COPYING_NS

    def _is_torn(self, row: int) -> bool:
        """Return whether records are torn in the files of the process that has written a span."""
        tallies, path = self._store.tallies, self._store.sources[self._store.spans.source[row]].path
        if tallies.torn != self._torn_in[0]:
            torn = {problem.file for problem in tallies.problems() if problem.kind is ProblemKind.TORN}
            self._torn_in = tallies.torn, frozenset(map(file_of_process, torn))
        return file_of_process(path) in self._torn_in[1]

    def _last_of(self, row: int) -> int:
        """Return when the last span of a span's process started or ended; `NO_TIME` where none has a time."""
        if self._last_ns[0] != self._store.version:
            self._last_ns = self._store.version, self._last_times()
        path = self._store.sources[self._store.spans.source[row]].path
        return self._last_ns[1].get(file_of_process(path), NO_TIME)

    def _last_times(self) -> dict[str, int]:
        """Return when the last span of each process started or ended, by the file of what has ended."""
        import numpy as np

        from spanview.index.arrays import copy_of

        spans, sources = self._store.spans, self._store.sources
        count = len(spans.next_row)
        last_times = np.full(len(sources), NO_TIME, np.int64)
        times = np.maximum(copy_of(spans.start_ns)[:count], copy_of(spans.end_ns)[:count])
        np.maximum.at(last_times, copy_of(spans.source)[:count], times)
        last = dict[str, int]()
        for source, ns in zip(sources, last_times.tolist(), strict=False):
            process = file_of_process(source.path)
            last[process] = max(ns, last.get(process, ns))
        return last
