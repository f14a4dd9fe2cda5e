"""Which spans are taken, decided as one machine does.

--trace       rows of other traces aren't sent on by the task that reads them
-q, --since   a partition decides, which has whole traces: what matches may be in another file than the rest
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from spanview.analysis.query.parse import parse_parts, terms_in
from spanview.analysis.query.query import parse_queries
from spanview.analysis.query.select import id_test, only_trace, selected_rows, selected_traces, traces_beginning
from spanview.analysis.query.since import end_before_latest, runs_of, runs_of_spans
from spanview.analysis.query.timetext import parse_clock
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanview.analysis.query.since import Run, Since
    from spanview.index.store import Store


@dataclass(frozen=True, slots=True)
class TraceChoice:
    """What is asked for."""

    queries: tuple[str, ...] = ()
    """All of them have to match; none is empty."""
    since: Since | None = None
    prefixes: tuple[str, ...] = ()
    """What the ids of the only traces begin with, each of one trace; empty for all."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.queries and self.since is None and not self.prefixes

    @property
    def needs_runs(self) -> bool:
        """Whether it refers to the newest run, which is known from all spans only."""
        return self.since is not None and self.since.moment_ns is None

    def check(self) -> None:
        """Complain about what no partition can decide.

        Raises:
            QueryError: A query asks for what only all spans together show.
        """
        for term in terms_in(chain.from_iterable(map(parse_parts, self.queries)), negated=True):
            key = "" if term.key_is_quoted else term.key.lower()
            if key == "finding":
                raise QueryError("finding needs all spans in one process: leave it out with --ray")
            if key == "start" and parse_clock(term.value) is not None:
                raise QueryError(f"the day of {term.value} is unknown on a cluster: with --ray, give start a date")

    def trace_ids(self, store: Store) -> list[int] | None:
        """Return the ids in a store that begin as one of the traces' does; None for all."""
        if not self.prefixes:
            return None
        traces = {trace for prefix in self.prefixes for trace in traces_beginning(store, prefix)}
        return [*map(store.trace_table.trace_id, traces)]

    def check_traces(self, ids: Iterable[int]) -> None:
        """Complain where there isn't one trace for each beginning.

        Args:
            ids: What `trace_ids` returned of all spans.

        Raises:
            TraceNotFoundError: No trace's id has a beginning, or several do.
        """
        there = {*ids}
        for prefix in self.prefixes:
            only_trace({*filter(id_test(prefix), there)}, prefix)

    def settled(self, runs: Iterable[Run]) -> TraceChoice:
        """Return this choice with the time at which the newest of all runs begins."""
        assert self.since is not None  # noqa: S101 - for type checkers
        return replace(self, since=self.since._replace(moment_ns=end_before_latest(runs_of(runs))))

    def traces(self, store: Store) -> list[int] | None:
        """Return the traces of a store that are taken, by start, then id; None for all."""
        return None if self.is_everything else selected_traces(store, **self._terms(store))

    def rows(self, store: Store) -> Sequence[int]:
        """Return the spans of a store that are taken, by path and offset if they aren't all."""
        return range(len(store.spans)) if self.is_everything else selected_rows(store, **self._terms(store))

    def _terms(self, store: Store) -> dict[str, Any]:
        since = None if self.since is None else self.since.cutoff_ns(store)
        return {"query": parse_queries(self.queries), "since_cutoff": since}


def runs_in(store: Store) -> list[Run]:
    """Return the runs of some of the spans."""
    return runs_of_spans(store.spans)
