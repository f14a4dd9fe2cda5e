"""Ray's calls: a line a function or actor method, with what its calls waited, how long they ran, and how they went."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.failures import in_order_of_visits
from spanview.analysis.ray.call_groups import CallsBy, call_groups
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.names import SUBMITTED, rays_own_names
from spanview.analysis.ray.reasons import reasons_of, without_attempt
from spanview.analysis.ray.unended import Fate
from spanview.analysis.telling import part
from spanview.display.call_text import cold_starts_text, waited_for_shares, waited_for_text, without_attempt_text
from spanview.display.cells import fitting
from spanview.display.units import count
from spanview.reports.calls import calls_table, columns_that_count, names_of
from spanview.tui.calls.function_calls_screen import MOST_THOUGHTS, FunctionCallsScreen, ListedGroup
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import ASK_AGAIN_S
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList, following
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from spanview.analysis.ray.call_groups import CallGroups
    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.ray.functions import Function
    from spanview.analysis.ray.running import Running
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.reports.table import TableColumn
    from spanview.tui.widgets.live import Ask
    from spanview.tui.widgets.scope import TraceScope

_GENERATORS: Final = {
    Certainty.CERTAIN: "a generator: its runs aren't known",
    Certainty.LIKELY: "likely a generator: its runs aren't known",
}


@dataclass(frozen=True, slots=True)
class _Counted:
    """Calls, and what they were counted by."""

    calls: Calls
    by: CallsBy
    functions: Sequence[Function]
    names: Mapping[str, str]
    """How functions, actors, nodes or jobs are called, by their keys."""
    figures: Collection[TableColumn[Function]]
    """The columns that say something only where they count any, and do."""
    groups: CallGroups
    alone: Mapping[str, Sequence[int]]
    """By key, the rows of calls without an attempt that may run as far as files show."""
    missed: Mapping[str, Sequence[int]]
    """By key, the rows of all calls that are missed."""
    unended: Mapping[int, Unended]
    """What has become of spans without an end, by row."""

    def failed_of(self, key: str, open_calls: Collection[int]) -> list[int]:
        """Return the rows of what failed in a group, the newest first; what a retry made good last."""
        number, store = self.groups.keys.index(key), self.calls.store
        lost_ns = {row: span.until_ns for row, span in self.unended.items() if span.fate is Fate.LOST}
        lasting, made_good = self.calls.failed_in(np.flatnonzero(self.groups.of_calls == number), lost_ns)
        lasting += {*self.missed.get(key, ())}.difference(open_calls)
        return [row for rows in (lasting, made_good) for row in in_order_of_visits(store, rows, (), lost_ns)]


def _note(function: Function, open_calls: int, cells: int) -> str:
    """Return what is said of a function beside its figures, as much as there is room for."""
    notes = [] if function.generator is None else [_GENERATORS[function.generator]]
    if function.unknown_runs:
        notes.append(f"the runs of {count(function.unknown_runs, 'attempt')} of generators aren't known")
    notes += [without_attempt_text(function.no_attempt, open_calls)] if function.no_attempt else []
    notes += [f"{function.untraced:,} likely ran untraced"] if function.untraced else []
    notes += [f"{function.serves_own:,} of Ray Serve's own"] if function.serves_own else []
    notes += [f"{function.existing:,} already existed, no calls"] if function.existing else []
    if function.errors > function.failed - function.submit_errors - function.lost:
        notes.append(f"{function.errors:,} of {count(function.attempts, 'attempt')} failed")
    notes += [waited] if (waited := waited_for_text(function)) else []
    notes += [cold] if (cold := cold_starts_text([function])) else []
    texts = ["   ".join(notes[:number]) for number in range(len(notes), 0, -1)]
    if waited and notes[0] == waited:
        texts.append(f"waiting: {waited_for_shares(function)}")
    return fitting(texts, cells) if texts else ""


def _calls_in(store: Store, is_without_rays_own: bool, traces: Sequence[int] | None, tell: Tell) -> Calls:  # noqa: FBT001 - bound by name
    """Return the calls of traces; for a thread."""
    calls = calls_of(store, traces, tell)
    return calls.without(rays_own_names(store)) if is_without_rays_own else calls


def _unended_in(running: Running, traces: Sequence[int] | None) -> Mapping[int, Unended]:
    """Return what has become of spans without an end in some traces, or in all; for a thread."""
    return running.unended(None if traces is None else frozenset(traces))


def _count(running: Running, by: CallsBy, calls_in: Ask[Calls], traces: Sequence[int] | None, tell: Tell) -> _Counted:
    """Count calls by something; for a thread."""
    calls, unended = calls_in(traces, part(tell, 0.0, 0.3)), _unended_in(running, traces)
    store = calls.store
    groups = call_groups(store, calls, by, part(tell, 0.3, 0.9))
    functions = functions_of(store, calls, None if by is CallsBy.FUNCTION else groups, unended)
    alone, missed = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    if any(function.no_attempt or function.failed for function in functions):
        for row, why in without_attempt(store, reasons_of(store, calls)).items():
            key = groups.keys[int(groups.of_calls[np.searchsorted(calls.rows, row)])]
            if why.may_run:
                alone[key].append(row)
            if not why.is_harmless:
                missed[key].append(row)
    names, figures = names_of(functions, by), columns_that_count(functions)
    return _Counted(calls, by, functions, names, figures, groups, alone, missed, unended)


class CallsScreen(ReportScreen["Function"], on=On.CALLS, view=View.CALLS):
    """Ray's calls by function, actor, node or job."""

    def __init__(self, store: Store, scope: TraceScope) -> None:
        self._by = CallsBy.FUNCTION
        """What is counted by, or was asked for."""
        self._is_without_rays_own = False
        self._store = store
        self._counted: _Counted | None = None
        self._open_calls: tuple[str, frozenset[int]] = "", frozenset()
        """A function, and which of its calls without an attempt may still run."""
        keys: RowKeys[Function] = RowKeys(
            open=self._open_calls_of,
            copied=lambda function: (function.function, self._counted.by if self._counted else "name"),
            failed=self._failed_of_function,
            has_failed=lambda function: bool(function.failed or function.no_attempt),
            was_made_good=lambda function: bool(function.errors),
            nothing_failed="no call failed or went missing",
            is_whole=True,
        )
        super().__init__(TableList(calls_table(self._by, {}), lambda function: function.function), keys, "calls_sort")
        self.live: Live[_Counted] = Live(self, scope, self._ask(), self._take_functions)
        self._thinking = Work(self)

    def begin(self) -> None:
        """Begin to count, and to ask processes."""
        super().begin()
        self.set_interval(ASK_AGAIN_S, self._think)

    def take_settings(self) -> None:
        """Sort as was sorted last, and leave out what was left out."""
        super().take_settings()
        is_without = self.viewer.settings.without_rays_own
        if is_without is not self._is_without_rays_own:
            self._is_without_rays_own = is_without
            self.live.begin(self._ask())

    def _ask(self) -> Ask[_Counted]:
        return partial(_count, self.viewer.running, self._by, self._calls_in())

    def _calls_in(self) -> Ask[Calls]:
        return partial(_calls_in, self._store, self._is_without_rays_own)

    def _take_functions(self, answer: _Counted) -> None:
        before, self._counted = self._counted, answer
        is_same = before is not None and before.by is answer.by
        if before is None or not is_same or (before.names, before.figures) != (answer.names, answer.figures):
            self.rows.table = calls_table(answer.by, answer.names, answer.figures)
        self.rows.show(answer.functions, stay=is_same)
        self.refresh_frame()
        if before is None and not answer.functions:
            own = ", but Ray's own: x shows them" if self._is_without_rays_own else ""
            self.viewer.say(f"no Ray calls here{own}: none of the spans submits one (PRODUCER, {SUBMITTED.strip()})")

    def note_text(self, cells: int) -> str:
        """Return what is to be said of the selected function beside its figures."""
        function = self.rows.selected
        if function is None:
            return ""
        key, open_calls = self._open_calls
        return _note(function, len(open_calls) if function.function == key else 0, cells)

    def _think(self) -> None:
        """Ask the system what has become of attempts without an end, and of the selected function's without any."""
        function, counted = self.rows.selected, self._counted
        if function is None or counted is None or self.viewer.feed_state.loading or self.viewer.paused:
            return
        key, running, traces = function.function, self.viewer.running, self.live.chosen.traces
        alone = counted.alone.get(key, ())[-MOST_THOUGHTS:]

        def think(_: Tell) -> tuple[Mapping[int, Unended], frozenset[int]]:
            open_calls = frozenset(row for row in alone if running.assessment_of(row).is_open)
            return _unended_in(running, traces), open_calls

        self._thinking.queue(think, lambda known: self._take_thoughts(key, *known))

    def _take_thoughts(self, key: str, unended: Mapping[int, Unended], open_calls: frozenset[int]) -> None:
        if (key, open_calls) != self._open_calls:
            self._open_calls = key, open_calls
            self.refresh_frame()
        if self._counted is not None and unended != self._counted.unended:
            self.live.look_anew()

    def title_text(self) -> str:
        """Return what is counted."""
        head = f"‹ Ray calls of {self.live.chosen.what}{self.live.as_of}"
        if self._counted is None or self.live.is_asked:
            return f"{head}   by {self._by}   counting … {self.live.work.share_text}; Esc ends it"
        functions = self._counted.functions
        without = ", without Ray's own" if self._is_without_rays_own else ""
        if not functions:
            return f"{head}   no Ray calls{without}"
        calls = count(sum(function.calls for function in functions), "call")
        text = f"{head}   {calls} of {count(len(functions), self._counted.by)}{without}"
        return ", ".join(filter(None, (text, cold_starts_text(functions))))

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_group(self) -> None:
        """Count by the next thing."""
        self._by = following(CallsBy, self._by)
        self.live.begin(self._ask())
        self.viewer.say(f"by {self._by}")

    def action_back(self) -> None:
        """End the counting, then go back."""
        if self._counted is not None and self.live.is_asked:
            self._by = self._counted.by
            self.live.end(self._ask())
            self.live.catch_up()
            self.viewer.say("counting was stopped")
        else:
            self.app.pop_screen()

    async def _open_calls_of(self, function: Function) -> None:
        """List the calls of a function, or of another group."""
        counted = self._counted
        if counted is not None:
            name = counted.names.get(function.function, function.function)
            group = ListedGroup(counted.by, function.function, name, self._calls_in())
            await self.app.push_screen(FunctionCallsScreen(self._store, self.live, counted.calls, group))

    def action_log(self) -> None:
        """Say where logs are."""
        self.viewer.say("Enter lists the calls of this function; v opens a call's log there")

    def _failed_of_function(self, function: Function) -> Sequence[int]:
        """Return where calls of a function failed, were lost or left no attempt, the newest first."""
        if self._counted is None:
            return ()
        key, open_calls = self._open_calls
        return self._counted.failed_of(function.function, open_calls if key == function.function else ())
