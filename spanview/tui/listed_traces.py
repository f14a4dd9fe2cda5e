"""What the first screen asks about the traces that it lists: statistics, calls, requests, lanes, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.tui.comparing import ComparingScreen, Side
from spanview.tui.traces_groups import GroupedTraces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store

_LONGEST: Final = 60
"""Characters of a name, or of a filter."""


class ListedTraces(GroupedTraces, ComparingScreen):
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

    def side(self) -> Side | None:
        """Return the selected trace, or the selected group as it is now."""
        if not self.grouped:
            trace = self.traces.selected
            return None if trace is None else self.side_of_trace(self._store, trace)
        group = self.groups.selected
        if group is None:
            return None
        name, listed, group_name = group.name, self._model.order[:], self._model.group_name

        def traces() -> Sequence[int]:
            return [trace for trace in listed if group_name(trace) == name]

        return Side((name,), f"traces of {_shown(name)}", traces)

    async def action_compare_rest(self) -> None:
        """Compare what is marked, or else the listed traces, with what a query finds, or with all others."""
        from spanview.tui.other_side_screen import OtherSideScreen

        listed, number, marked = self._model.order[:], len(self._store.trace_table), self.viewer.marked
        if marked is not None:
            await self.app.push_screen(OtherSideScreen(self._store, marked, has_others=number > 1))
        elif not listed or self._still_looking:
            self.viewer.say("no trace is listed" if not self._still_looking else "the filter is still looking")
        else:
            query, has_others = sanitise(self._query.strip(), _LONGEST), len(listed) < number
            what = f"listed: {query}" if query else "listed" if has_others else "all traces"
            side = Side(None, what, lambda: listed)
            await self.app.push_screen(OtherSideScreen(self._store, side, has_others=has_others))

    async def action_statistics(self) -> None:
        """Show statistics of the spans in the listed traces."""
        await self.viewer.open_statistics(*self._listed())

    async def action_calls(self) -> None:
        """Show Ray's calls in the listed traces."""
        await self.viewer.open_calls(*self._listed())

    async def action_serve(self) -> None:
        """Show Serve's requests in the listed traces."""
        await self.viewer.open_serve(*self._listed())

    async def action_flame(self) -> None:
        """Show where the time goes in the listed traces, or in those of the selected group."""
        await self.viewer.open_flame(*self._chosen())

    async def action_lanes(self) -> None:
        """Show what each worker did in the listed traces, or in those of the selected group."""
        await self.viewer.open_lanes(*self._chosen())

    def _chosen(self) -> tuple[Sequence[int] | None, str]:
        """Return the traces of the selected group, or else what is listed."""
        group = self.chosen_group
        if group is None:
            return self._listed()
        named = self._model.named(group.name)
        return named, f"{count(len(named), 'trace')} of {_shown(group.name)}"

    def _listed(self) -> tuple[list[int] | None, str]:
        """Return the listed traces, None where that is all, and what they are in words."""
        listed = self._model.order
        return None if len(listed) == len(self._store.trace_table) else [*listed], count(len(listed), "trace")


def _shown(name: str | None) -> str:
    """Return the name of a group, safe to print."""
    return "unseen roots" if name is None else sanitise(name, _LONGEST) or "(no name)"
