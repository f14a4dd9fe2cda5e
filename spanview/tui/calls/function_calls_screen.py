"""The calls of one function: when each was submitted, how long it waited and ran, how it went, and where."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import partial
from heapq import nlargest, nsmallest
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.ray.call_groups import UNKNOWN, CallsBy, call_group_names, call_groups
from spanview.analysis.ray.calls import Call, Outcome
from spanview.analysis.ray.generators import RUN_NOT_KNOWN, generators_of
from spanview.analysis.ray.reasons import Reason, Why, reasons_of
from spanview.analysis.ray.unended import Fate, unended_text
from spanview.analysis.ray.waited_for import AllAttempts, reason_text
from spanview.analysis.telling import part
from spanview.display.call_text import NOT_YET_SEEN
from spanview.display.sanitise import sanitise
from spanview.display.timing_text import wait_text
from spanview.display.units import count, duration, moment, so_far
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME
from spanview.reports.table import Piece, Ranks, Table, TableColumn
from spanview.tui.calls.call_log import CallLog
from spanview.tui.keys import On, footer_text
from spanview.tui.widgets.base_screen import ASK_AGAIN_S, BaseScreen
from spanview.tui.widgets.failing import NextFailure
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text, name_text
from spanview.tui.widgets.sorting import Sorting
from spanview.tui.widgets.table import TableList
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.running import Assessment
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.waited_for import WaitReasons
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.reports.table import RowOrder
    from spanview.tui.widgets.live import AnyLive, Ask

MOST_CALLS: Final = 10_000
"""So many are listed, the first by what they are sorted by."""
_WORDS: Final = 18
"""Cells that what is said of a call has at least, before where it ran."""
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
_MADE: Final = "generator made"
"""What is known of an attempt of a generator that left a span without an error."""
_ENDED: Final = "ended: no error seen; sys.exit, cancels, unpicklable results look the same"
_CALLS_PER_REPORT: Final = 1024
MOST_THOUGHTS: Final = 100
"""Calls without an attempt of which it is asked whether they may run."""


_RANKS: Final[dict[str, Callable[[Call, Sequence[int]], Any]]] = {
    "wait and run": lambda call, _: (call.wait_ns or 0) + (call.run_ns or 0),
    "wait": lambda call, _: -1 if call.wait_ns is None else call.wait_ns,
    "run": lambda call, _: -1 if call.run_ns is None else call.run_ns,
    "start": lambda call, starts: starts[call.row],
    "attempts": lambda call, _: len(call.attempts),
    "name": lambda call, _: call.function,
    "outcome": lambda call, _: (call.outcome in _FAILED or not call.attempts) * MOST_CALLS + len(call.attempts),
}
"""What calls are compared by, given the starts of all spans."""


@dataclass(frozen=True, slots=True)
class CallGroup:
    """A function, an actor, a node or a job whose calls are listed."""

    by: CallsBy
    key: str
    """From a file, as is its name: to be made harmless."""
    name: str
    """How it is called."""
    calls_in: Ask[Calls]
    """Returns the calls that it is one group of; called in a thread."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """Calls of a function."""

    calls: Calls
    """The calls of all functions."""
    order: RowOrder
    count: int
    """How many calls the function has, without those that a call of `get_if_exists` is below."""
    existing: int
    """How many of the function's PRODUCERs are no calls, since the actor already existed."""
    first: list[Call]
    """The first of the calls, in this order."""
    reasons: Mapping[int, Why]
    attempts: AllAttempts
    waited_for: WaitReasons
    """Of the first ones."""
    generators: Collection[str]
    """Functions that are generators, certainly or likely."""
    names: Mapping[str, str]
    """How functions are called."""


_HINTS: Final = "  ".join(hint for hint in footer_text(On.CALLS).split("  ") if hint[0] not in "bx")
"""What counts and leaves out acts on the screen of all calls."""


class CallLines(TableList[Call]):
    """A line a call."""

    def __init__(self, store: Store, *, has_functions: bool = False) -> None:
        self._has_functions = has_functions
        self.day = "–"
        """The date of all calls that are shown; empty where there are several."""
        super().__init__(self._table_of(has_date=False), lambda call: call.row)
        self._store = store
        self.reasons: Mapping[int, Why] = {}
        """Why calls have no attempt, by their rows in the span table."""
        self.generators: Collection[str] = ()
        """Functions that are generators, certainly or likely: then no run is known."""
        self.names: Mapping[str, str] = {}
        """How functions are called, where there may be several."""
        self.open_calls: Collection[int] = ()
        """The rows of calls without an attempt that may still run, as far as was asked."""
        self.unended: Mapping[int, Unended] = {}
        """What has become of attempts without an end, by row, as far as that was asked."""
        self.now_ns = 0
        """When it was asked what has become of attempts without an end, in nanoseconds since 1970."""
        self.notes: dict[int, str] = {}
        """What is thought of calls without an attempt, by their rows in the span table."""
        self._longest: tuple[dict[int, str], int] | None = None

    def _table_of(self, *, has_date: bool) -> Table[Call]:
        """Return the columns, with the date of each call or without."""
        function: TableColumn[Call] = TableColumn(
            "FUNCTION",
            _FUNCTION,
            lambda call: name_text(self.names.get(call.function, call.function), _FUNCTION),
            behind=1,
            aligns_left=True,
            key="name",
            ranks=Ranks.NAMES,
        )
        return Table(
            (
                *((function,) if self._has_functions else ()),
                TableColumn(
                    "SUBMITTED",
                    24 if has_date else 13,
                    self._start,
                    "dim",
                    aligns_left=True,
                    key="start",
                    ranks=Ranks.MOMENTS,
                    goes=2,
                ),
                TableColumn("WAIT", 10, lambda call: duration(call.wait_ns), key="wait", ranks=Ranks.TIMES),
                TableColumn("RUN", 10, self._run, key="run", ranks=Ranks.TIMES),
                TableColumn(
                    "WAIT+RUN", 12, self._wait_and_run, key="wait and run", ranks=Ranks.TIMES, from_width=_WIDE
                ),
                TableColumn(
                    "TRIES",
                    8,
                    lambda call: f"{len(call.attempts):,}" if len(call.attempts) > 1 else "",
                    "warning",
                    key="attempts",
                    goes=1,
                ),
                TableColumn("OUTCOME", parts=self._outcome_and_place, gap=2, key="outcome", ranks=Ranks.AMOUNTS),
            ),
            "wait and run",
            _WORDS,
            least_beside=_SHORTEST_WORDS,
            floor=_SHORTEST_WORDS,
        )

    def show_calls(self, calls: Sequence[Call], reasons: Mapping[int, Why], *, stay: bool = False) -> None:
        """Show calls in another order, from the first on, or what has become of them."""
        starts = [ns for ns in (self._store.spans.start_ns[call.row] for call in calls) if ns != NO_TIME]
        first, last = (moment(ns)[:_DATE] for ns in (min(starts, default=NO_TIME), max(starts, default=NO_TIME)))
        day = first if first == last else ""
        if bool(day) != bool(self.day):
            self.table = self._table_of(has_date=not day)
        self.day = day
        self.reasons, self._longest = reasons, None
        self.show(calls, stay=stay)

    def is_worth_a_look(self, call: Call) -> bool:
        """Tell whether a call failed, or has no attempt, and none that may still come, or for a harmless reason."""
        why = self.reasons.get(call.row)
        if why is None:
            return self._has_failed(call)
        return not why.is_harmless and call.row not in self.open_calls

    def _has_failed(self, call: Call) -> bool:
        """Return whether a call ended with an error, or was lost with its process."""
        unended = self.unended_of(call)
        return call.outcome in _FAILED or (unended is not None and unended.fate is Fate.LOST)

    def _outcome_and_place(self, call: Call, cells: int) -> Iterator[Piece]:
        is_bad = self.is_worth_a_look(call)
        mark = "✖ " if self._has_failed(call) and is_bad else "  " if call.attempts else "◌ "
        text = mark + self._said_of(call)
        words = max(_LEAST_SAID, min(2 * cells // 3, self._longest_text()))
        if call.row in self.notes:
            # It names the process that stands behind it elsewhere.
            words = max(words, len(text))
        yield Piece(data_text(text, min(words, cells)), "error" if is_bad else "")
        room = cells - words - 1
        if room >= _SHORTEST_PLACE:
            yield Piece(" " + data_text(self._where(call), room), "dim")

    def _start(self, call: Call) -> str:
        ns = self._store.spans.start_ns[call.row]
        return "–" if ns == NO_TIME else moment(ns, with_date=not self.day, digits=3)

    def _run(self, call: Call) -> str:
        unended = self.unended_of(call)
        if unended is not None and unended.fate is Fate.RUNS:
            return so_far(self.now_ns - self._store.spans.start_ns[call.attempts[-1]])
        return "not known" if call.function in self.generators and call.attempts else duration(call.run_ns)

    def unended_of(self, call: Call) -> Unended | None:
        """Return what has become of the last attempt of a call, where it has no end and that was asked."""
        return self.unended.get(call.attempts[-1]) if call.outcome is Outcome.UNENDED else None

    def _wait_and_run(self, call: Call) -> str:
        known = [
            ns for ns in (call.wait_ns, None if call.function in self.generators else call.run_ns) if ns is not None
        ]
        return duration(sum(known) if known else None)

    def _said_of(self, call: Call) -> str:
        why = self.reasons.get(call.row)
        if call.row in self.notes:
            return self.notes[call.row]
        if call.function in self.generators and call.outcome is Outcome.ENDED:
            return _MADE
        if (unended := self.unended_of(call)) is not None:
            return unended.fate.value
        if call.row in self.open_calls:
            return NOT_YET_SEEN
        return call.outcome if why is None else why.label

    def _longest_text(self) -> int:
        """Return the cells of the longest of what is said of calls, with its mark; what stands behind has the rest."""
        if self._longest is None or self._longest[0] is not self.notes:
            self._longest = self.notes, 2 + max(map(len, {*map(self._said_of, self.items)}), default=0)
        return self._longest[1]

    def _where(self, call: Call) -> str:
        """Return where it ran, or was submitted, and what it is a part of."""
        store = self._store
        row = call.attempts[-1] if call.attempts else call.row
        stem = os.path.splitext(os.path.basename(store.sources[store.spans.source[row]].path))[0]
        root = store.trace_table.root_row[store.spans.trace[call.row]]
        above = "" if root in {NO_ROW, call.row} else f"  in {store.names.texts[store.spans.name[root]]}"
        return f"{'in' if call.attempts else 'from'} {stem}{above}"


class FunctionCallsScreen(BaseScreen, on=On.CALLS):
    """The calls of one function, slowest first.

    Args:
        counted: The count of the calls of all functions, which this one's are of.
    """

    HINTS = _HINTS
    NOTES = 2

    def __init__(self, store: Store, counted: AnyLive, calls: Calls, group: CallGroup) -> None:
        super().__init__()
        self.rows: CallLines = CallLines(store, has_functions=group.by is not CallsBy.FUNCTION)
        self._store = store
        self.live: Live[_Listed] = Live(self, counted.scope, self._find, self._take_calls)
        self._known = calls, counted.chosen, counted.version
        self._group = group
        self._asking = Work(self)
        self._shown: _Listed | None = None
        self._wait_texts: dict[int, str] = {}
        """By attempt, what it waited for, and what went on meanwhile."""
        self._count: int | None = None
        """Of the calls, and of constructors that constructed nothing."""
        self._existing = 0
        self.sorting = Sorting(self, self.rows, sort=self._put_in_order)
        self._next_failure = NextFailure(
            self,
            self._failed_of_call,
            lambda: self.rows.move_on(self.rows.is_worth_a_look),
            "no call here failed or went missing",
        )
        self._sorting = Work(self)
        self._thinking = Work(self)
        self._log = CallLog(store, classes="heads")

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self.rows.heads
        yield self.rows
        yield Static(Content(_ENDED), classes="heads", id="note")
        yield self._log

    def on_mount(self) -> None:
        """Begin with the slowest."""
        self.set_focus(self.rows)
        self._list(self._take_known)
        self.set_interval(ASK_AGAIN_S, self._think)

    def show_frame(self) -> None:
        """Say why the selected call has no attempt, or what it means that calls have ended."""
        super().show_frame()
        rows = self.rows
        why = None if rows.selected is None else rows.reasons.get(rows.selected.row)
        is_generator = rows.selected is not None and rows.selected.function in rows.generators
        selected = rows.selected
        unended = None if selected is None else rows.unended_of(selected)
        ended = RUN_NOT_KNOWN if is_generator else _ENDED
        if selected is not None and selected.outcome is Outcome.UNENDED:
            ended = Outcome.UNENDED if unended is None else sanitise(unended_text(unended))
        is_open = selected is not None and selected.row in rows.open_calls
        label = "" if why is None else NOT_YET_SEEN if is_open else why.label
        reason = self._wait_text() if why is None else f"{label}: {why.text}"
        text = ended if unended is not None else data_text(reason, self.size.width).rstrip() or ended
        self.query_one("#note", Static).update(Content(text), layout=False)
        self._log.show(selected.attempts[-1] if selected is not None and selected.attempts else None)

    def _wait_text(self) -> str:
        """Return what the selected call waited for; empty where it hardly waited."""
        call = self.rows.selected
        listed, store = self._shown, self._store
        if call is None or listed is None or not call.attempts:
            return ""
        attempt = call.attempts[0]
        reason = listed.waited_for.get(attempt)
        if reason is None:
            return ""
        text = self._wait_texts.get(attempt)
        if text is None:
            attempts = listed.attempts
            self._asking.queue(
                lambda _: wait_text(store, attempts, reason, attempt), partial(self._take_wait_text, attempt)
            )
        return f"waited {duration(call.wait_ns)}, {text or reason_text(store, reason)}"

    def _take_wait_text(self, attempt: int, text: str) -> None:
        self._wait_texts[attempt] = text
        self.refresh_frame()

    on_line_list_moved = BaseScreen.refresh_frame
    """Say what is selected now."""

    @property
    def _what(self) -> str:
        by, name = self._group.by, self._group.name or "(no name)"
        return f"{by} {name}" if by in {CallsBy.NODE, CallsBy.JOB} or name == UNKNOWN else name

    def title_text(self) -> str:
        """Return what is listed."""
        head = f"‹ calls of {name_text(self._what, 60).rstrip()}{self.live.as_of}"
        if self._count is None or self._sorting.is_busy:
            return f"{head}   looking … {self._sorting.share_text}"
        most = f"the first {MOST_CALLS:,} of " if self._count > MOST_CALLS else ""
        existing = f", {self._existing:,} already existed" if self._existing else ""
        is_generator = self._group.by is CallsBy.FUNCTION and self._group.key in self.rows.generators
        generator = ", a generator" if is_generator else ""
        calls = count(self._count - self._existing, "call")
        day = f"   {self.rows.day}" if self.rows.day else ""
        return f"{head}   {most}{calls}{existing}{generator}{day}"

    def _list(self, take: Callable[[_Listed], None]) -> None:
        """List the calls that are known, in an order."""
        calls, order = self._known[0], self.rows.shown_order
        self._sorting.begin(lambda tell: self._listed(calls, order, tell), take)
        self.refresh_frame()

    def _put_in_order(self, order: RowOrder) -> None:
        self.rows.put_in_order(order)
        self._list(self._take_sorted if self._count is not None else self._take_known)

    def _find(self, traces: Sequence[int] | None, tell: Tell) -> _Listed:
        """Called in a thread: look for the calls that there are now."""
        calls = self._group.calls_in(traces, part(tell, 0.0, 0.5))
        return self._listed(calls, self.rows.shown_order, part(tell, 0.5, 1.0))

    def _listed(self, all_calls: Calls, order: RowOrder, tell: Tell) -> _Listed:
        """Called in a thread: list the first calls of the function in an order."""
        starts, indices, calls = self._store.spans.start_ns, self._indices_in(all_calls), list[Call]()
        for number, index in enumerate(indices):
            if not number % _CALLS_PER_REPORT:
                tell(number / len(indices))
            calls.append(all_calls[index])
        rank, sign = _RANKS[order.key], -1 if order.descending else 1
        choose = nlargest if order.descending else nsmallest
        first = choose(MOST_CALLS, calls, key=lambda call: (rank(call, starts), sign * call.row))
        reasons = reasons_of(self._store, all_calls) if any(not call.attempts for call in calls) else {}
        none = Counter(reasons[call.row].reason for call in calls if call.row in reasons)
        existing, number = none[Reason.EXISTING], len(calls) - none[Reason.CREATED]
        names = call_group_names({call.function for call in first}, CallsBy.FUNCTION)
        attempts = AllAttempts(self._store)
        waited_for = attempts.reasons_of([call.attempts[0] for call in first if call.attempts])
        generators = generators_of(self._store)
        return _Listed(all_calls, order, number, existing, first, reasons, attempts, waited_for, generators, names)

    def _indices_in(self, calls: Calls) -> Sequence[int]:
        """Return the indices of the calls of the group."""
        by, key = self._group.by, self._group.key
        if by is CallsBy.FUNCTION:
            return calls.indices_of(key)
        groups = call_groups(self._store, calls, by)
        indices: list[int] = [
            index for index, group in enumerate(groups.of_calls.tolist()) if groups.keys[group] == key
        ]
        return indices

    def _take_known(self, listed: _Listed) -> None:
        self.live.begin_with(listed, *self._known[1:])
        self.live.catch_up()

    def _take_sorted(self, listed: _Listed) -> None:
        # What has come meanwhile is listed in this order already.
        if listed.calls is self._known[0]:
            self._take_waits(listed)
            self.rows.show_calls(listed.first, listed.reasons)
            self._think()

    def _take_calls(self, listed: _Listed) -> None:
        self._known, self._count, self._existing = (listed.calls, *self._known[1:]), listed.count, listed.existing
        self._take_waits(listed)
        self.rows.generators, self.rows.names = listed.generators, listed.names
        if listed.order == self.rows.shown_order:
            self.rows.show_calls(listed.first, listed.reasons, stay=True)
            self._think()
        else:
            # Another order was asked for meanwhile.
            self._list(self._take_sorted)

    def _take_waits(self, listed: _Listed) -> None:
        self._shown = listed
        # What has come may say more.
        self._wait_texts.clear()

    def _think(self) -> None:
        """Ask the system about calls without an attempt, and attempts without an end: they may be running."""
        reasons, items = self.rows.reasons, self.rows.items
        traces = {self._store.spans.trace[call.row] for call in items if call.outcome is Outcome.UNENDED}
        alone = [call.row for call in items if call.row in reasons and reasons[call.row].may_run]
        alone = alone[:MOST_THOUGHTS]
        if (alone or traces) and not (self.viewer.feed_state.loading or self.viewer.paused):
            running = self.viewer.running

            def think(_: Tell) -> tuple[dict[int, Assessment], Mapping[int, Unended]]:
                unended = running.unended(traces) if traces else {}
                return {row: running.assessment_of(row) for row in alone}, unended

            self._thinking.queue(think, self._take_thoughts)

    def _take_thoughts(self, found: tuple[dict[int, Assessment], Mapping[int, Unended]]) -> None:
        (thoughts, unended), rows, state = found, self.rows, self.viewer.feed_state
        if unended or rows.unended:
            rows.unended, rows.now_ns = unended, time_ns()
            rows.refresh()
            self.refresh_frame()
        open_calls = {row for row, thought in thoughts.items() if thought.is_open}
        # What was read once is told of as files have it.
        notes = {row: thought.text for row, thought in thoughts.items()} if state.following else {}
        if (open_calls, notes) != (rows.open_calls, rows.notes):
            rows.open_calls, rows.notes = open_calls, notes
            rows.refresh()
            self.refresh_frame()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_group(self) -> None:
        """Say where calls are counted by something else."""
        self.viewer.say("Esc goes back to all calls, where b groups by actor, node or job")

    def action_rays_own(self) -> None:
        """Say where calls are left out."""
        self.viewer.say("Esc goes back to all calls, where x hides Ray's own")

    def _failed_of_call(self) -> Sequence[int]:
        call, row = self.rows.selected, self._chosen
        return () if call is None or row is None or not self.rows.is_worth_a_look(call) else (row,)

    async def action_error(self, _: int) -> None:
        """Open the selected call where it failed or left no attempt, or the next one that did."""
        await self._next_failure.open()

    @property
    def _chosen(self) -> int | None:
        """The span that the selected call is opened at: its last attempt, or its PRODUCER."""
        call = self.rows.selected
        if call is None:
            return None
        return call.attempts[-1] if call.attempts else call.row

    async def action_open(self) -> None:
        """Show the call in its trace."""
        row = self._chosen
        if row is not None:
            await self.viewer.views.open_span(row)

    async def action_log(self) -> None:
        """Show the log of the call's last attempt."""
        if (call := self.rows.selected) is not None and not call.attempts:
            self.viewer.say("no log: this call has no attempt")
        else:
            await self._log.open()

    def action_copy(self) -> None:
        """Copy the span id."""
        row = self._chosen
        if row is not None:
            self.viewer.copy(f"{self._store.spans.span_id[row]:016x}", "span id")
