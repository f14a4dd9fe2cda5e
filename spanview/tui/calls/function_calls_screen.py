"""The calls of one function: when each was submitted, how long it waited and ran, how it went, and where."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from textual.content import Content
from textual.widget import Widget

from spanview.analysis.logs.lines import Coverage
from spanview.analysis.ray.call_groups import UNKNOWN, CallsBy, call_groups
from spanview.analysis.ray.calls import Call, Outcome
from spanview.analysis.ray.exits import cut_off_text
from spanview.analysis.ray.generators import RUN_NOT_KNOWN
from spanview.analysis.ray.reasons import Reason
from spanview.analysis.ray.unended import unended_text
from spanview.analysis.ray.waited_for import AllAttempts, reason_text
from spanview.analysis.telling import part
from spanview.display.call_text import NOT_YET_SEEN
from spanview.display.cells import data_text, fixed, name_text
from spanview.display.sanitise import sanitise
from spanview.display.timing_text import wait_text
from spanview.display.units import count, duration
from spanview.model.ids import format_span_id
from spanview.reports.each_call import CallFacts, each_call_table
from spanview.tui.keys import On, footer_text
from spanview.tui.log.span_logs import SpanLogs, of_row
from spanview.tui.widgets.base_screen import ASK_AGAIN_S
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.logs.lines import SpanLog
    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.running import Assessment
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.reports.table import RowOrder
    from spanview.tui.widgets.live import AnyLive, Ask

MOST_CALLS: Final = 10_000
"""So many are listed, the first by what they are sorted by."""
_ENDED: Final = "ended: no error seen; sys.exit, cancels, unpicklable results can look the same"
_CALLS_PER_REPORT: Final = 1024
MOST_THOUGHTS: Final = 100
"""Calls without an attempt of which it is asked whether they may run."""
_HINTS: Final = "  ".join(hint for hint in footer_text(On.CALLS).split("  ") if hint[0] not in "bx")
"""What counts and leaves out acts on the screen of all calls."""


class CallLog(Widget):
    """Names the log of a call; out of sight until a call has one."""

    def __init__(self, store: Store, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._store = store
        self._logs = SpanLogs(self, self._has_news)
        self._row: int | None = None
        self.display = False

    def show(self, row: int | None) -> None:
        """Name the log of another attempt, by its row in the span table; None for a call without one."""
        if row != self._row:
            self._row = row
            if row is not None:
                self._logs.of(of_row(self._store, row))
            self.refresh()

    async def open(self) -> None:
        """Show the log in a pager."""
        if self._row is not None:
            await self._logs.open(of_row(self._store, self._row), None)

    def _has_news(self) -> None:
        if self._log is not None and self._log.parts:
            self.display = True
        self.refresh()

    @property
    def _log(self) -> SpanLog | None:
        return None if self._row is None else self._logs.known(self._row)

    def render(self) -> Content:
        """Return the line."""
        log = self._log
        return Content("" if log is None else fixed(_text(log, self.size.width - 1), self.size.width))


def _text(log: SpanLog, room: int) -> str:
    """Return which files a log is in, as much of their path as there is room for."""
    if not log.parts:
        return f" log: {sanitise(log.reason)}"
    start = log.start or log.parts[0]
    lines = sum(len(part.lines) for part in log.parts if part.coverage is not Coverage.PROCESS)
    said = f"   {count(lines, 'line')} of this call" if lines else ""
    others = len(log.parts) - 1
    said += f", {others} more {'log' if others == 1 else 'logs'}" if others else ""
    said += "   v opens it"
    folder, name = os.path.split(sanitise(start.path, 400))
    path = os.path.join(folder, name)
    most = room - len(said) - len(" log: ")
    return f" log: {path if len(path) <= most else '…' + path[1 - most :]}{said}"


@dataclass(frozen=True, slots=True)
class ListedGroup:
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
    known: CallFacts
    """The first of the calls, in this order."""
    attempts: AllAttempts


class CallLines(TableList[Call]):
    """A line a call, in columns that depend on what is known of all of them."""

    def __init__(self, store: Store, *, has_functions: bool) -> None:
        self._has_functions = has_functions
        self.known = CallFacts(store)
        super().__init__(each_call_table(self.known, has_functions=has_functions), lambda call: call.row)

    def show_known(self, known: CallFacts, *, stay: bool) -> None:
        """Show other calls; what processes say of them stays."""
        before, self.known = self.known, known
        self.learn(before.unended, before.open_calls, before.notes)
        self.show(known.calls, stay=stay)

    def learn(
        self, unended: Mapping[int, Unended], open_calls: Collection[int], notes: Mapping[int, Assessment]
    ) -> None:
        """Show what processes say of the calls."""
        self.known.learn(unended, open_calls, notes)
        self.table = each_call_table(self.known, has_functions=self._has_functions)
        self.refresh()


class FunctionCallsScreen(ReportScreen[Call], on=On.CALLS):
    """The calls of one function, slowest first."""

    rows: CallLines
    HINTS = _HINTS
    NOTES = 2

    def __init__(self, store: Store, counted: AnyLive, calls: Calls, group: ListedGroup) -> None:
        rows = CallLines(store, has_functions=group.by is not CallsBy.FUNCTION)
        keys: RowKeys[Call] = RowKeys(
            open=lambda call: self.viewer.views.open_span(rows.known.shown_row(call)),
            copied=lambda call: (format_span_id(store.spans.span_id[rows.known.shown_row(call)]), "span id"),
            failed=lambda call: [rows.known.shown_row(call)] if rows.known.is_worth_a_look(call) else [],
            has_failed=lambda call: bool(keys.failed(call)),
            nothing_failed="no call here failed or went missing",
        )
        super().__init__(rows, keys, sort=self._put_in_order)
        self._store = store
        self.live: Live[_Listed] = Live(self, counted.scope, self._find, self._take_calls)
        self._known = calls, counted.chosen, counted.version
        self._group = group
        self._asking = Work(self)
        self._shown: _Listed | None = None
        self._wait_texts: dict[int, str] = {}
        """By attempt, what it waited for, and what went on meanwhile."""
        self._sorting = Work(self)
        self._thinking = Work(self)
        self._log = CallLog(store, classes="heads")

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield from super().body()
        yield self._log

    def begin(self) -> None:
        """Begin with the slowest."""
        self._list()
        self.set_interval(ASK_AGAIN_S, self._think)

    def show_frame(self) -> None:
        """Name the log of the selected call, too."""
        super().show_frame()
        call = self.rows.selected
        self._log.show(call.attempts[-1] if call is not None and call.attempts else None)

    def note_text(self, cells: int) -> str:
        """Return why the selected call has no attempt, what it waited for, or what it means that calls have ended."""
        call, known = self.rows.selected, self.rows.known
        if call is None:
            return _ENDED
        if (unended := known.unended_of(call)) is not None:
            return sanitise(unended_text(unended))
        if call.attempts and (cut_off := cut_off_text(self._store, call.attempts[-1])):
            return sanitise(cut_off)
        why = known.reasons.get(call.row)
        is_open = call.row in known.open_calls
        label = "" if why is None else (why.brief or NOT_YET_SEEN) if is_open else why.label
        reason = self._wait_text(call) if why is None else f"{label}: {why.text}"
        if is_open and (note := known.notes.get(call.row)) is not None:
            # The row says it, too.
            reason = "; ".join(filter(None, (note.text, note.hint)))
        ended = RUN_NOT_KNOWN if known.is_generator(call) else _ENDED
        return data_text(reason, cells).rstrip() or (call.outcome if call.outcome is Outcome.UNENDED else ended)

    def _wait_text(self, call: Call) -> str:
        """Return what a call waited for; empty where it hardly waited."""
        listed, store, reason = self._shown, self._store, self.rows.known.wait_of(call)
        if listed is None or reason is None:
            return ""
        attempt = call.attempts[0]
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

    @property
    def _what(self) -> str:
        by, name = self._group.by, self._group.name or "(no name)"
        return f"{by} {name}" if by in {CallsBy.NODE, CallsBy.JOB} or name == UNKNOWN else name

    def title_text(self) -> str:
        """Return what is listed."""
        head = f"‹ calls of {name_text(self._what, 60).rstrip()}{self.live.as_of}"
        listed, known = self._shown, self.rows.known
        if listed is None or self._sorting.is_busy:
            return f"{head}   looking … {self._sorting.share_text}"
        most = f"the first {MOST_CALLS:,} of " if listed.count > MOST_CALLS else ""
        existing = f", {listed.existing:,} already existed" if listed.existing else ""
        is_generator = self._group.by is CallsBy.FUNCTION and self._group.key in known.generators
        generator = ", a generator" if is_generator else ""
        calls = count(listed.count - listed.existing, "call")
        day = f"   {known.day}" if known.day else ""
        return f"{head}   {most}{calls}{existing}{generator}{day}"

    def _list(self) -> None:
        """List the calls that are known, in an order."""
        calls, order = self._known[0], self.rows.shown_order
        self._sorting.begin(lambda tell: self._listed(calls, order, tell), self._take_listed)
        self.refresh_frame()

    def _put_in_order(self, order: RowOrder) -> None:
        self.rows.put_in_order(order)
        if self._shown is None or self._shown.count > MOST_CALLS:
            # Others come first.
            self._list()

    def _find(self, traces: Sequence[int] | None, tell: Tell) -> _Listed:
        """Called in a thread: look for the calls that there are now."""
        calls = self._group.calls_in(traces, part(tell, 0.0, 0.5))
        return self._listed(calls, self.rows.shown_order, part(tell, 0.5, 1.0))

    def _listed(self, all_calls: Calls, order: RowOrder, tell: Tell) -> _Listed:
        """Called in a thread: list the first calls of the function in an order."""
        indices, calls = self._indices_in(all_calls), list[Call]()
        for number, call in enumerate(all_calls.at(indices)):
            if not number % _CALLS_PER_REPORT:
                tell(number / len(indices))
            calls.append(call)
        attempts = AllAttempts(self._store)
        known = CallFacts.of(calls, all_calls, attempts)
        none = Counter(known.reasons[call.row].reason for call in calls if call.row in known.reasons)
        first = each_call_table(known).in_order(calls, order)[:MOST_CALLS]
        number = len(calls) - none[Reason.CREATED]
        return _Listed(all_calls, order, number, none[Reason.EXISTING], replace(known, calls=first), attempts)

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

    def _take_listed(self, listed: _Listed) -> None:
        # What has come meanwhile is listed in this order already.
        if listed.calls is self._known[0]:
            self.live.begin_with(listed, *self._known[1:])
            self.live.catch_up()

    def _take_calls(self, listed: _Listed) -> None:
        stays = self._shown is not None and self._shown.order == listed.order
        self._known, self._shown = (listed.calls, self.live.chosen, self.live.version), listed
        # What has come may say more.
        self._wait_texts.clear()
        if listed.order == self.rows.shown_order:
            self.rows.show_known(listed.known, stay=stays)
            self._think()
        else:
            # Another order was asked for meanwhile.
            self._list()

    def _think(self) -> None:
        """Ask the system about calls without an attempt, and attempts without an end: they may be running."""
        reasons, items = self.rows.known.reasons, self.rows.items
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
        (thoughts, unended), known = found, self.rows.known
        open_calls = {row for row, thought in thoughts.items() if thought.is_open}
        # What was read once is told of as files have it.
        is_following = self.viewer.feed_state.following
        notes = thoughts if is_following else {}
        if unended or (unended, open_calls, notes) != (known.unended, known.open_calls, known.notes):
            self.rows.learn(unended, open_calls, notes)
            self.refresh_frame()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_group(self) -> None:
        """Say where calls are counted by something else."""
        self.viewer.say("Esc goes back to all calls, where b groups by actor, node or job")

    def action_rays_own(self) -> None:
        """Say where calls are left out."""
        self.viewer.say("Esc goes back to all calls, where x hides Ray's own")

    async def action_log(self) -> None:
        """Show the log of the call's last attempt."""
        if (call := self.rows.selected) is not None and not call.attempts:
            self.viewer.say("no log: this call has no attempt")
        else:
            await self._log.open()
