"""Ray's calls one by one: when each was submitted, how long it waited and ran, how it went, and where."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.call_groups import CallsBy, call_group_names
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.generators import generators_of
from spanview.analysis.ray.outcomes import outcomes_of
from spanview.analysis.ray.reasons import reasons_of
from spanview.analysis.ray.told import CallOutcome
from spanview.analysis.ray.unended import NO_UNENDED, Fate
from spanview.analysis.ray.wait_causes import KINDS
from spanview.analysis.ray.waited_for import NO_REASONS, AllAttempts, reason_text
from spanview.display.call_text import NOT_YET_SEEN
from spanview.display.cells import data_text, name_text
from spanview.display.units import duration, moment, so_far
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME
from spanview.reports.calls import NOTHING
from spanview.reports.report import Report
from spanview.reports.table import (
    INTEGER,
    TEXT,
    Piece,
    Ranks,
    Table,
    TableColumn,
    counted,
    fact,
    moments,
    span_columns,
    timed,
    worded,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from spanview.analysis.ray.calls import Call, Calls
    from spanview.analysis.ray.outcomes import Became
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.running import Assessment
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.waited_for import WaitReason, WaitReasons
    from spanview.index.store import Store

_WORDS, _USUAL_WORDS = 18, 44
"""Cells of how a call went and where it ran, for which figures go, and with which further ones come."""
_SHORTEST_PLACE: Final = 8
"""Cells of where a call ran, below which it says nothing."""
_SHORTEST_WORDS: Final = 8
_LEAST_SAID: Final = len("OUTCOME ▾")
_DATE: Final = len("2026-11-20")
_FUNCTION: Final = 26
"""Cells of a function, where there are several."""
_WIDE: Final = 100
"""Cells from which on there is room for a sum."""
_FAILED: Final = frozenset((Outcome.ERROR, Outcome.SUBMIT_ERROR))
_WELL: Final = frozenset((Outcome.ENDED, Outcome.CUT_OFF, Outcome.CANCELLED, Outcome.RETRIED))
_FAILED_AFTER: Final = frozenset(
    (CallOutcome.FAILED, CallOutcome.WORKER_DIED, CallOutcome.OUT_OF_MEMORY, CallOutcome.ACTOR_DIED)
)
"""What can have become of a call whose attempt ended without an error, as Ray says: its result was not sent."""
_MADE: Final = "generator made"
"""What is known of an attempt of a generator that left a span without an error."""


@dataclass
class CallFacts:
    """Calls, and what is known of them beside their spans."""

    store: Store
    calls: Sequence[Call] = ()
    reasons: Mapping[int, Why] = field(default_factory=dict)
    """Why calls have no attempt, by their rows in the span table."""
    waits: WaitReasons = NO_REASONS
    """What first attempts waited for."""
    generators: Collection[str] = ()
    """Functions that are generators, certainly or likely: then no run is known."""
    became: Mapping[int, Became] = field(default_factory=dict)
    """What became of them, by their rows, as far as spans show, or Ray's own events."""
    unended: Mapping[int, Unended] = field(default_factory=dict)
    """What has become of attempts without an end, by row, as far as that was asked."""
    open_calls: Collection[int] = frozenset()
    """The rows of calls without an attempt that may still run, as far as was asked."""
    notes: Mapping[int, Assessment] = field(default_factory=dict)
    """What is thought of calls without an attempt, by their rows."""

    @classmethod
    def of(cls, calls: Sequence[Call], among: Calls, attempts: AllAttempts) -> CallFacts:
        """Look for what spans tell of calls, among those of all functions, with the attempts of all calls."""
        store, firsts = among.store, [call.attempts[0] for call in calls if call.attempts]
        reasons = reasons_of(store, among) if len(firsts) < len(calls) else {}
        waits = attempts.reasons_of(firsts)
        return cls(store, calls, reasons, waits, generators_of(store), outcomes_of(store, calls, reasons))

    def learn(
        self, unended: Mapping[int, Unended], open_calls: Collection[int], notes: Mapping[int, Assessment]
    ) -> None:
        """Take what processes say of calls."""
        self.unended, self.open_calls, self.notes = unended, open_calls, notes
        self.became = outcomes_of(self.store, self.calls, self.reasons, unended)
        self.__dict__.pop("longest_said", None)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """How functions are called."""
        return call_group_names({call.function for call in self.calls}, CallsBy.FUNCTION)

    @cached_property
    def day(self) -> str:
        """The date of all calls; empty where there are several."""
        starts = [ns for ns in map(self.submitted_ns, self.calls) if ns is not None]
        first, last = (moment(ns)[:_DATE] for ns in (min(starts, default=None), max(starts, default=None)))
        return first if first == last else ""

    @cached_property
    def longest_said(self) -> int:
        """The cells of the longest of what is said of calls, with its mark; what stands behind has the rest."""
        return 2 + max(map(len, {*map(self.said_of, self.calls)}), default=0)

    def submitted_ns(self, call: Call) -> int | None:
        """Return when a call was submitted."""
        ns = self.store.spans.start_ns[call.row]
        return None if ns == NO_TIME else ns

    def is_generator(self, call: Call) -> bool:
        """Tell whether the runs of a call aren't known."""
        return call.function in self.generators and bool(call.attempts)

    def run_ns(self, call: Call) -> int | None:
        """Return how long a call ran, as far as that is known."""
        return None if self.is_generator(call) else call.run_ns

    def run_text(self, call: Call) -> str:
        """Return how long a call ran, or has run so far."""
        unended = self.unended_of(call)
        if unended is not None and unended.fate is Fate.RUNS:
            return so_far(unended.seen_ns - self.store.spans.start_ns[call.attempts[-1]])
        return "not known" if self.is_generator(call) else duration(call.run_ns)

    def wait_and_run_ns(self, call: Call) -> int | None:
        """Return how long a call took, as far as that is known."""
        known = [ns for ns in (call.wait_ns, self.run_ns(call)) if ns is not None]
        return sum(known) if known else None

    def unended_of(self, call: Call) -> Unended | None:
        """Return what has become of the last attempt of a call, where it has no end and that was asked."""
        return self.unended.get(call.attempts[-1]) if call.outcome is Outcome.UNENDED else None

    def has_failed(self, call: Call) -> bool:
        """Return whether a call ended with an error, or was lost with its process."""
        return call.outcome in _FAILED or self.outcome(call) in {Fate.LOST.value, *_FAILED_AFTER}

    def is_worth_a_look(self, call: Call) -> bool:
        """Tell whether a call failed, or has no attempt, and none that may still come, or for a harmless reason."""
        why = self.reasons.get(call.row)
        if why is None:
            return self.has_failed(call)
        return not why.is_harmless and call.row not in self.open_calls

    def outcome(self, call: Call) -> str:
        """Return how a call went, in a word or two that are the same for all that went so."""
        unended, became = self.unended_of(call), self.became.get(call.row)
        if became is not None and call.outcome in _WELL and became.outcome in {*_FAILED_AFTER, CallOutcome.CANCELLED}:
            return became.outcome.value
        if unended is None:
            return call.outcome.value
        # Another attempt waits or runs, of which no span is here.
        goes_on = became is not None and unended.is_over and not became.outcome.is_over
        return became.outcome.value if became is not None and goes_on else unended.fate.value

    def said_of(self, call: Call) -> str:
        """Return how a call went, and of one without an attempt why, or what is thought of it."""
        why = self.reasons.get(call.row)
        if call.row in self.notes:
            return self.notes[call.row].text
        if call.function in self.generators and call.outcome is Outcome.ENDED:
            return _MADE
        if call.row in self.open_calls:
            return (why and why.brief) or NOT_YET_SEEN
        return self.outcome(call) if why is None else why.label

    def wait_of(self, call: Call) -> WaitReason | None:
        """Return what a call waited for; None where it hardly waited, or has no attempt."""
        return self.waits.get(call.attempts[0]) if call.attempts else None

    def wait_parts_of(self, call: Call) -> dict[str, int]:
        """Return how long a call waited for what, in nanoseconds; empty where it hardly waited, or has no attempt."""
        parts = self.waits.parts_of(call.attempts[0]) if call.attempts else {}
        return {waited_for.name.lower(): ns for waited_for, ns in parts.items()}

    def wait_certainty_of(self, call: Call) -> Certainty | None:
        """Return whether it is certain what a call waited for; None where that isn't known, or it hardly waited."""
        reason = self.wait_of(call)
        if reason is None or not reason.is_known:
            return None
        return Certainty.CERTAIN if reason.is_sure else Certainty.LIKELY

    def shown_row(self, call: Call) -> int:
        """Return the span that a call is shown at: its last attempt, or its PRODUCER."""
        return call.attempts[-1] if call.attempts else call.row

    def file(self, call: Call) -> str:
        """Return the path of the file of the process that it ran in, or was submitted from."""
        return self.store.sources[self.store.spans.source[self.shown_row(call)]].path

    def root(self, call: Call) -> str | None:
        """Return the name of the span that it is a part of; None where it is none."""
        store = self.store
        row = store.trace_table.root_row[store.spans.trace[call.row]]
        return None if row in {NO_ROW, call.row} else store.names.texts[store.spans.name[row]]

    def outcome_and_place(self, call: Call, cells: int) -> Iterator[Piece]:
        """Yield how a call went, and where it ran, or was submitted."""
        is_bad = self.is_worth_a_look(call)
        mark = "✖ " if is_bad and self.has_failed(call) else "  " if call.attempts else "◌ "
        text = mark + self.said_of(call)
        words = max(_LEAST_SAID, min(2 * cells // 3, self.longest_said))
        if call.row in self.notes:
            # It names the process that stands behind it elsewhere.
            words = max(words, len(text))
        yield Piece(data_text(text, min(words, cells)), "error" if is_bad else "")
        room = cells - words - 1
        if room >= _SHORTEST_PLACE:
            yield Piece(" " + data_text(self._place(call), room), "dim")

    @cached_property
    def _longest_place(self) -> int:
        return 1 + max(map(cell_len, {*map(self._place, self.calls)}), default=0)

    @property
    def wanted_cells(self) -> int:
        """The cells for all that is said of any call: what it is has two thirds of them, where it is long."""
        return max(self.longest_said + self._longest_place, 3 * self.longest_said // 2 + 1)

    def _place(self, call: Call) -> str:
        stem = os.path.splitext(os.path.basename(self.file(call)))[0]
        root = self.root(call)
        return f"{'in' if call.attempts else 'from'} {stem}{'' if root is None else f'  in {root}'}"


def each_call_table(known: CallFacts, *, has_functions: bool = True) -> Table[Call]:
    """Return the columns of calls, with their date where they are of several days.

    Args:
        has_functions: Whether they are of several functions.
    """
    store = known.store

    def wait_label(call: Call) -> str:
        reason = known.wait_of(call)
        return "" if reason is None else reason.label

    def waited_for(call: Call) -> str | None:
        reason = known.wait_of(call)
        return None if reason is None else reason.waited_for.name.lower()

    def cause(call: Call) -> str | None:
        reason, why = known.wait_of(call), known.reasons.get(call.row)
        if why is not None:
            return why.text if why.brief else f"{why.label}: {why.text}"
        return None if reason is None else reason_text(store, reason)

    return Table(
        (
            worded(
                "FUNCTION",
                "function",
                "what it is a call of",
                attrgetter("function"),
                _FUNCTION,
                text=lambda call: name_text(known.names.get(call.function, call.function), _FUNCTION),
                gap=0,
                behind=1,
                whole=attrgetter("function"),
                key="name",
                schema=None,
                is_shown=has_functions,
            ),
            moments(
                "SUBMITTED",
                "submitted_ns",
                "when its submission began, in nanoseconds since 1970",
                known.submitted_ns,
                width=13 if known.day else 24,
                key="start",
                text=lambda call: moment(known.submitted_ns(call), with_date=not known.day, digits=3),
                goes=2,
            ),
            timed(
                "WAIT",
                "wait_ns",
                "the time from the end of its submission to its first attempt",
                lambda call: call.wait_ns,
            ),
            timed("RUN", "run_ns", "how long its last attempt ran", known.run_ns, text=known.run_text),
            timed(
                "WAIT+RUN",
                "wait_and_run_ns",
                "both, as far as they are known",
                known.wait_and_run_ns,
                width=12,
                key="wait and run",
                from_width=_WIDE,
            ),
            counted(
                "TRIES",
                "attempts",
                "how often it was seen to run",
                lambda call: len(call.attempts),
                width=8,
                key="attempts",
                text=lambda call: f"{len(call.attempts):,}" if len(call.attempts) > 1 else "",
                style="warning",
                goes=1,
            ),
            TableColumn(
                "WAITED",
                36,
                wait_label,
                gap=2,
                aligns_left=True,
                comes=1,
                name="waited_for",
                meaning="what it waited for, where it waited; null where it hardly did, or has no attempt",
                json=waited_for,
            ),
            TableColumn(
                "OUTCOME",
                parts=known.outcome_and_place,
                wants=lambda _: known.wanted_cells,
                gap=2,
                key="outcome",
                value=lambda call: (call.outcome in _FAILED or not call.attempts, len(call.attempts)),
                ranks=Ranks.AMOUNTS,
                name="outcome",
                meaning="what became of it",
                schema={"enum": [outcome.key for outcome in CallOutcome]},
                json=lambda call: known.became[call.row].outcome.key,
            ),
            fact(
                "outcome_certainty",
                "whether that is certain; null where it is unknown",
                {"enum": [*Certainty, None]},
                lambda call: known.became[call.row].certainty,
            ),
            fact(
                "wait_parts_ns",
                "how long it waited for what, in nanoseconds; empty where it hardly waited, or has no attempt",
                {"type": "object", "properties": {kind.name.lower(): INTEGER for kind in KINDS}},
                known.wait_parts_of,
            ),
            fact(
                "wait_certainty",
                "whether that is certain; null where it hardly waited, or nothing is known",
                {"enum": [*Certainty, None]},
                known.wait_certainty_of,
            ),
            fact("cause", "why it has no attempt, or what it waited for, and what shows it", TEXT, cause),
            fact(
                "generator",
                "whether its span ends when a generator is made, so that its run isn't known",
                {"type": "boolean"},
                known.is_generator,
            ),
            fact("file", "the file of the process that it ran in, or was submitted from", TEXT, known.file),
            fact("root", "the name of the span that it is a part of", TEXT, known.root),
            *span_columns(store, "the span that it is shown at: its last attempt, or its submission", known.shown_row),
        ),
        "wait and run",
        _WORDS,
        _USUAL_WORDS,
        least_beside=_SHORTEST_WORDS,
        floor=_SHORTEST_WORDS,
    )


def each_call_report(
    store: Store, traces: Sequence[int] | None = None, unended: Mapping[int, Unended] = NO_UNENDED
) -> Report[Call]:
    """Return the calls of some traces, None for all, slowest first."""
    among = calls_of(store, traces)
    known = CallFacts.of([*among], among, AllAttempts(store))
    known.learn(unended, known.open_calls, known.notes)
    table = each_call_table(known)
    return Report("each-call", table, table.in_order(known.calls), nothing=NOTHING)
