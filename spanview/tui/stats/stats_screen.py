"""Statistics of some spans: a line a name, a service, a kind, a name on critical paths, or a value of any attribute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Input

from spanview.analysis.failures import failed_with, in_order_of_visits
from spanview.analysis.grouping import GROUPINGS, Column, column_of
from spanview.analysis.stats import Group, groups_of, spans_of
from spanview.analysis.telling import part
from spanview.display.cells import data_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.model.problems import QueryError
from spanview.reports.statistics import (
    OF_SERVICES,
    OFFERED,
    ON_PATH,
    group_name,
    group_text,
    groups_on_path,
    leave_open,
    short_names_of,
    statistics_table,
)
from spanview.reports.traces_model import has_services
from spanview.tui.keys import On, View
from spanview.tui.stats.spans_screen import MOST_SPANS, Spans, SpansScreen
from spanview.tui.widgets.answer_line import TypicalLine
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.prompt import Prompt
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.reports.table import Table
    from spanview.tui.widgets.live import Ask
    from spanview.tui.widgets.scope import TraceScope


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted."""

    by: str
    column: Column
    groups: Sequence[Group]
    short: Mapping[str, str]
    """What Ray's functions are called, where it is by name."""


def _counted(store: Store, by: str, traces: Sequence[int] | None, tell: Tell) -> Counted | str:
    """Return the groups, or why there are none; for a thread."""
    if by == ON_PATH:
        groups: Sequence[Group] = groups_on_path(store, traces, tell)
        return Counted(by, column_of(store, "name"), groups, short_names_of(groups, by))
    try:
        column = column_of(store, by, traces, part(tell, 0.0, 0.5))
    except QueryError:
        return f"no span here has {sanitise(by, 40)}"
    groups = groups_of(store, column, traces, part(tell, 0.5, 1.0))
    return Counted(by, column, groups, short_names_of(groups, by))


def _spans_of_group(store: Store, by: str, key: str | None, traces: Sequence[int] | None, tell: Tell) -> Spans:
    """Return the slowest spans of a group as it is now; for a thread."""
    try:
        return Spans(spans_of(store, column_of(store, by, traces, tell), key, traces, MOST_SPANS))
    except QueryError:
        return Spans(())


_OF_SELF = "SELF: nothing below it ran that has an end: it computed, or waited"


class StatsScreen(ReportScreen[Group], on=On.STATS, view=View.STATS):
    """Statistics."""

    def __init__(self, store: Store, scope: TraceScope) -> None:
        self._store = store
        self._counted: Counted | None = None
        self._by = GROUPINGS[0]
        """What is counted by, or was asked for."""
        self._tables: dict[tuple[str, bool], Table[Group]] = {}
        """The columns by what is counted by: as long as these are the same, nothing moves."""
        keys: RowKeys[Group] = RowKeys(
            open=self._open_spans,
            copied=self._copied,
            failed=self._failed_of_group,
            has_failed=lambda group: bool(group.errors),
            nothing_failed="no span here has an error",
            is_whole=True,
        )
        super().__init__(
            TableList(self._table_by(self._by, leaves_open=False), lambda group: group.key), keys, "statistics_sort"
        )
        self.live: Live[Counted | str] = Live(self, scope, self._count_by(self._by), self._take_groups)
        self._answer_line = TypicalLine(self, store, scope)
        self.answer = self._answer_line.live
        self._own: tuple[str, ...] = ()
        """The key of an attribute that was counted by."""

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self._answer_line
        yield Prompt("the key of an attribute, as http.method; Enter counts by it", is_key=True)
        yield from super().body()

    def begin(self) -> None:
        """Begin with the names."""
        super().begin()
        self._answer_line.live.begin()

    def note_text(self, cells: int) -> str:  # noqa: ARG002 - it is short
        """Return what self time is."""
        return _OF_SELF

    def title_text(self) -> str:
        """Return what is counted."""
        number = count(len(self._counted.groups), "row") if self._counted is not None else ""
        if self.live.is_asked:
            number = f"counting … {self.live.work.share_text}; Esc ends it"
        by = data_text(self._by, 40).rstrip()
        return f"‹ statistics of {self.live.chosen.what}{self.live.as_of}   by {by}   {number}"

    def _count(self, by: str) -> None:
        self._by = by
        self.live.begin(self._count_by(by))

    def _count_by(self, by: str) -> Ask[Counted | str]:
        return partial(_counted, self._store, by)

    def _go_on_as_before(self) -> bool:
        """Count by what is shown, from now on; return whether something else was being counted."""
        self._by = self._counted.by if self._counted is not None else self._by
        return self.live.end(self._count_by(self._by))

    def _take_groups(self, answer: Counted | str) -> None:
        prompt = self.query_one(Prompt)
        if isinstance(answer, str):
            self._go_on_as_before()
            prompt.say(answer, is_mistake=True)
            self.app.call_later(prompt.open)
            return
        is_same = self._counted is not None and self._counted.by == answer.by
        self._counted = answer
        if is_same:
            self._show(stay=True)
            return
        if answer.by not in OF_SERVICES:
            self._own = (answer.by,)
        # Who types another key by now goes on.
        if not isinstance(self.focused, Input):
            prompt.clear()
            self.set_focus(self.rows)
        self._show()

    def _show(self, *, stay: bool = False) -> None:
        if self._counted is not None:
            self.rows.table = self._table_by(self._counted.by, leaves_open=leave_open(self._counted.groups))
            self.rows.show(self._counted.groups, stay=stay)
            self.refresh_frame()

    def _table_by(self, by: str, *, leaves_open: bool) -> Table[Group]:
        if (by, leaves_open) not in self._tables:
            called = partial(self._called, by)
            self._tables[by, leaves_open] = statistics_table(by, called, leaves_open=leaves_open)
        return self._tables[by, leaves_open]

    def _called(self, by: str, group: Group) -> str:
        return group_name(by, {} if self._counted is None else self._counted.short, group)

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_group(self) -> None:
        """Group by the next thing."""
        groupings = (OF_SERVICES if has_services(self._store) else OFFERED) + self._own
        following = groupings.index(self._by) + 1 if self._by in groupings else 0
        self._count(groupings[following % len(groupings)])
        self.viewer.say(f"by {sanitise(self._by, 40)}")

    async def action_by_key(self) -> None:
        """Let the key of an attribute be typed."""
        await self.query_one(Prompt).open()

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Count by what was typed."""
        if self.is_left:
            return
        prompt = self.query_one(Prompt)
        prompt.say("")
        if event.done:
            self.set_focus(self.rows)
            if event.text.strip():
                self._count(event.text)
            else:
                prompt.clear()

    def action_back(self) -> None:
        """End the counting, or the typing, then go back."""
        prompt = self.query_one(Prompt)
        has_ended = self._counted is not None and self._go_on_as_before()
        self.live.catch_up()
        if prompt.display:
            prompt.clear()
            self.set_focus(self.rows)
        elif not has_ended:
            self.app.pop_screen()
        if has_ended:
            self.viewer.say("counting was stopped")

    async def _open_spans(self, group: Group) -> None:
        """List the spans of a group, slowest first."""
        counted = self._counted
        if counted is not None:
            store, by = self._store, "name" if counted.by == ON_PATH else counted.by
            spans = Spans(spans_of(store, counted.column, group.key, self.live.chosen.traces, MOST_SPANS))
            what = f"{sanitise(counted.by, 40)} {group_text(group.key, counted.by, 60)}"
            screen = SpansScreen(store, spans, what, self.live, partial(_spans_of_group, store, by, group.key))
            await self.app.push_screen(screen)

    def _failed_of_group(self, group: Group) -> Sequence[int]:
        """Return the failed spans of a group, in the order of visits."""
        counted = self._counted
        if counted is None:
            return ()
        wanted = {number for number, text in enumerate(counted.column.texts) if text == group.key}
        failed = failed_with(self._store, counted.column.numbers, wanted, self.live.chosen.traces)
        return in_order_of_visits(self._store, failed, self.viewer.made_good)

    def _copied(self, group: Group) -> tuple[str, str] | str:
        by = sanitise(self._counted.by if self._counted is not None else self._by, 40)
        return f"these spans have no {by}: nothing to copy" if group.key is None else (group.key, by)
