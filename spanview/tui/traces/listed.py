"""The listed traces, or those of one group, as what other screens are about, or as one side of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.serve.requests import name_of_trace
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.tui.diff.side import MarkedSide
from spanview.tui.widgets.scope import ChosenTraces, TraceScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.trace_lists import TraceGroup
    from spanview.index.store import Store
    from spanview.reports.traces_model import TracesModel
    from spanview.tui.traces.group_list import GroupList

_MAX_QUERY_LENGTH: Final = 60
"""Characters of a name, or of a filter."""
_MAX_LEAD_LENGTH: Final = 30
"""Characters of a name that a line begins with, for the sake of what follows."""


def scope_of_listed(store: Store, model: TracesModel) -> TraceScope:
    """Return the listed traces, and what they are in words."""

    def choose() -> ChosenTraces:
        if model.is_whole:
            return ChosenTraces(None, count(len(store.trace_table), "trace"))
        listed = model.order[:]
        return ChosenTraces(listed, count(len(listed), "trace"))

    return TraceScope(choose, lambda: store.version)


def scope_of_selected(store: Store, model: TracesModel, groups: GroupList) -> TraceScope:
    """Return the listed traces of the group under the cursor, or all that are listed while there is none."""
    listed = scope_of_listed(store, model)

    def choose() -> ChosenTraces:
        group = groups.selected
        if group is None:
            return listed.choose()
        return ChosenTraces(model.named(group.name), sanitise(groups.called(group), _MAX_LEAD_LENGTH) or "(no name)")

    return TraceScope(choose, lambda: (listed.version(), groups.selected and (groups.selected.name,)))


def side_of_group(store: Store, model: TracesModel, group: TraceGroup) -> MarkedSide:
    """Return the listed traces of a group, those that are to come included."""
    name, group_name, table = group.name, model.group_name, store.trace_table
    # The list may be narrowed to something else by the time they are compared.
    listed = None if model.is_whole else model.order[:]

    def traces() -> Sequence[int]:
        return [trace for trace in (range(len(table)) if listed is None else listed) if group_name(trace) == name]

    return MarkedSide((name,), f"traces of {_shown(name)}", traces)


def side_of_listed(model: TracesModel, filter_text: str) -> MarkedSide | None:
    """Return the listed traces; None where nothing narrows the list."""
    query = sanitise(filter_text.strip(), _MAX_QUERY_LENGTH)
    return (
        None if model.is_whole else MarkedSide(None, f"listed: {query}" if query else "listed", lambda: model.order[:])
    )


def _shown(name: str | None) -> str:
    """Return the name of a group, safe to print."""
    return "unseen roots" if name is None else sanitise(name_of_trace(name), _MAX_QUERY_LENGTH) or "(no name)"
