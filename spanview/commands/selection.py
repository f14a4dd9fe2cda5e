"""From options to the traces and spans that they ask for; apart from reading, because the viewer starts without it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanview.analysis.query.query import parse_queries
from spanview.analysis.query.select import find_trace, id_test, selected_rows, selected_traces, traces_beginning
from spanview.analysis.query.since import parse_since
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.query.query import Query
    from spanview.cluster.choice import TraceChoice
    from spanview.commands.options import Options
    from spanview.index.store import Store


class Selection:
    """Which traces and spans the options ask for.

    Raises:
        QueryError: The query or the time can't be understood.
        TraceNotFoundError: No trace's id can begin with the given one.
    """

    def __init__(self, options: Options) -> None:
        self._prefixes = options.traces
        self._follow = options.follow
        for prefix in options.traces:
            id_test(prefix)
        self._queries = tuple(options.queries)
        self.query: Query = parse_queries(options.queries)
        self._since = None if options.since is None else parse_since(options.since, time.time_ns())

    @property
    def choice(self) -> TraceChoice:
        """What is selected, as the tasks of a cluster choose it.

        Raises:
            QueryError: A query asks for what only all spans together show.
        """
        from spanview.cluster.choice import TraceChoice

        choice = TraceChoice(self._queries, self._since, self._prefixes)
        choice.check()
        return choice

    @property
    def needs_newest_run(self) -> bool:
        """Whether it refers to the newest run, which is known from all spans only."""
        return self._since is not None and self._since.moment_ns is None

    def settle_newest_run(self, store: Store) -> None:
        """Take the newest run that a store has now; for readers that keep no spans."""
        if self._since is not None:
            self._since = self._since._replace(moment_ns=self._since.cutoff_ns(store))

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self._prefixes and self.query.is_empty and self._since is None

    def traces(self, store: Store, among: Iterable[int] | None = None) -> list[int]:
        """Return the traces to show, by start, then id; with --follow, those of them that are there already.

        Args:
            among: Only these are looked at, in their order; None for all.

        Raises:
            TraceNotFoundError: An id that was given fits no trace, or several, without `--follow`.
        """
        wanted = self._wanted(store)
        each = [wanted] if among is None else [{trace} for trace in among if wanted is None or trace in wanted]
        since = None if self._since is None else self._since.cutoff_ns(store)
        with stage("query"):
            return [
                number
                for traces in each
                for number in selected_traces(store, query=self.query, since_cutoff=since, traces=traces)
            ]

    def rows(self, store: Store) -> list[int]:
        """Return the spans that match, by path and offset.

        Raises:
            TraceNotFoundError: An id that was given fits no trace, or several, without `--follow`.
        """
        wanted = self._wanted(store)
        since = None if self._since is None else self._since.cutoff_ns(store)
        with stage("query"):
            return selected_rows(store, query=self.query, since_cutoff=since, traces=wanted)

    def _wanted(self, store: Store) -> set[int] | None:
        """Return the traces that the given ids are of; None for all."""
        if not self._prefixes:
            return None
        if self._follow:
            return {trace for prefix in self._prefixes for trace in traces_beginning(store, prefix)}
        return {find_trace(store, prefix) for prefix in self._prefixes}
