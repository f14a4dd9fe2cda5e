"""What the first screen asks about the traces that it lists: statistics, calls, requests, lanes, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.tui.diff.marking import mark_or_compare, side_of_trace
from spanview.tui.diff.side import Side
from spanview.tui.traces.traces_groups import GroupedTraces
from spanview.tui.widgets.scope import ChosenTraces, TraceScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store
    from spanview.tui.traces.groups_model import GroupRow

_LONGEST: Final = 60
"""Characters of a name, or of a filter."""


class ListedTraces(GroupedTraces):
    """A list of traces, or of groups of them.

    Args:
        store: The store.
        query: The filter to begin with.
    """

    def __init__(self, store: Store, query: str) -> None:
        super().__init__(store)
        self._query = query
        self._still_looking = 0.0
        """What share of the traces the filter has still to look at."""

    @property
    def filter_text(self) -> str:
        """The filter."""
        return self._query

    def mark_has_changed(self) -> None:
        """Show the mark where it is now."""
        self.traces.marked = self.groups.marked = self.viewer.marked
        self.rows.refresh()

    async def action_mark(self) -> None:
        """Mark what is selected, take the mark off again, or compare with what is marked."""
        await mark_or_compare(self.viewer, self._side())

    def _side(self) -> Side | None:
        """Return the selected trace, or the selected group as it is now."""
        if not self.grouped:
            trace = self.traces.selected
            return None if trace is None else side_of_trace(self.viewer, trace)
        group = self.groups.selected
        if group is None:
            return None
        name, group_name, table = group.name, self._model.group_name, self._store.trace_table
        # The list may be narrowed to something else by the time they are compared.
        listed = None if self._model.is_whole else self._model.order[:]

        def traces() -> Sequence[int]:
            return [trace for trace in (range(len(table)) if listed is None else listed) if group_name(trace) == name]

        return Side((name,), f"traces of {_shown(name)}", traces)

    async def action_compare_rest(self) -> None:
        """Compare what is marked, or else the listed traces, with what a query finds, or with the rest."""
        model, marked = self._model, self.viewer.marked
        if marked is not None:
            await self.viewer.open_other_side(marked)
        elif not model.order or self._still_looking:
            self.viewer.say("no trace is listed" if not self._still_looking else "the filter is still looking")
        else:
            query = sanitise(self._query.strip(), _LONGEST)
            side = (
                None
                if model.is_whole
                else Side(None, f"listed: {query}" if query else "listed", lambda: model.order[:])
            )
            await self.viewer.open_other_side(side)

    async def action_statistics(self) -> None:
        """Show statistics of the spans in the listed traces."""
        await self.viewer.open_statistics(self._scope(None))

    async def action_calls(self) -> None:
        """Show Ray's calls in the listed traces."""
        await self.viewer.open_calls(self._scope(None))

    async def action_serve(self) -> None:
        """Show Serve's requests in the listed traces."""
        await self.viewer.open_serve(self._scope(None))

    async def action_flame(self) -> None:
        """Show where the time goes in the listed traces, or in those of the selected group."""
        await self.viewer.open_flame(self._scope(self.chosen_group))

    async def action_lanes(self) -> None:
        """Show what each worker did in the listed traces, or in those of the selected group."""
        await self.viewer.open_lanes(self._scope(self.chosen_group))

    def _scope(self, group: GroupRow | None) -> TraceScope:
        """Return the listed traces, or those of a group, and what they are in words."""
        model, table = self._model, self._store.trace_table

        def choose() -> ChosenTraces:
            if group is not None:
                traces = model.named(group.name)
                return ChosenTraces(traces, f"{count(len(traces), 'trace')} of {_shown(group.name)}")
            if model.is_whole:
                return ChosenTraces(None, count(len(table), "trace"))
            listed = model.order[:]
            return ChosenTraces(listed, count(len(listed), "trace"))

        return TraceScope.chosen(self._store, choose)


def _shown(name: str | None) -> str:
    """Return the name of a group, safe to print."""
    return "unseen roots" if name is None else sanitise(name, _LONGEST) or "(no name)"
