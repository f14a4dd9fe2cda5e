"""Counting traces by root name beside the screen; those that are incomplete need all of them stitched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.index.store import Store
    from spanview.tui.traces.completeness import Completeness
    from spanview.tui.traces.groups_model import GroupRow
    from spanview.tui.traces.traces_model import TracesModel
    from spanview.tui.widgets.base_screen import BaseScreen

_STITCHED_AT_ONCE: Final = 1_000
"""So many spans are stitched before the next key."""


class GroupCounting:
    """Counts the groups of the listed traces, and which traces are incomplete.

    Args:
        screen: Shows them.
        model: The listed traces.
        take: Takes the groups.
        is_stitched: Called when it is known anew which traces are incomplete.
    """

    def __init__(
        self,
        screen: BaseScreen,
        store: Store,
        model: TracesModel,
        take: Callable[[list[GroupRow]], object],
        is_stitched: Callable[[], object],
    ) -> None:
        self._screen = screen
        self._store = store
        self._model = model
        self._take = take
        self._is_stitched = is_stitched
        self._counting = Work(screen)
        self._stitching = Work(screen)
        self._completeness: Completeness | None = None
        self._incomplete: bytes | None = None
        """1 for each trace that is incomplete, as far as they were stitched; None where none was yet."""
        self.has_grown = False
        """Whether something has come since they were stitched."""

    def count(self, *, can_wait: bool) -> None:
        """Count the groups: at once where that is quick, else soon.

        Args:
            can_wait: Whether nobody waits for it.
        """
        if not can_wait:
            self.stitch()
        if self._model.has_few_names and not can_wait:
            self._take(self._model.groups(self._incomplete))
            return
        store, groups_by = self._store, self._model.root_groups
        listed, incomplete = self._model.order[:], self._incomplete

        def groups() -> list[GroupRow]:
            from spanview.tui.traces.groups_bulk import groups_of_many

            return groups_of_many(store, groups_by, listed, incomplete)

        self._counting.queue(lambda _: groups(), self._take)

    def stitch(self) -> None:
        """Find out which traces are incomplete, where something has come since that was known."""
        if self._screen.viewer.feed_state.loading or self._stitching.is_busy:
            return
        if self._incomplete is None or self.has_grown:
            from spanview.tui.traces.completeness import Completeness

            self.has_grown = False
            if self._completeness is None:
                self._completeness = Completeness(self._store)
            flags = self._completeness.flags
            if len(self._store.spans) < _STITCHED_AT_ONCE:
                self._incomplete = flags()
            else:
                self._stitching.queue(lambda _: flags(), self._take_incomplete)

    def _take_incomplete(self, incomplete: bytes) -> None:
        self._incomplete = incomplete
        self._is_stitched()
