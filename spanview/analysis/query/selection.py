"""The traces and spans that `-q`, `--since` and `--trace` ask for; what says so may be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from spanview.analysis.query.query import parse_queries
from spanview.analysis.query.select import find_trace, id_test, selected_rows, selected_traces, traces_beginning
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.query.query import Query
    from spanview.analysis.query.since import Since
    from spanview.index.store import Store


@dataclass(frozen=True)
class Selection:
    """What is asked for.

    Raises:
        QueryError: A query can't be understood.
        TraceNotFoundError: No trace's id can begin with one of the prefixes.
    """

    queries: tuple[str, ...] = ()
    """All of them have to match."""
    since: Since | None = None
    prefixes: tuple[str, ...] = ()
    """What the ids of the only traces begin with, each of one trace; empty for all."""
    is_partial: bool = False
    """Whether a store has only some of the spans, so that a trace may be elsewhere, or come later."""

    def __post_init__(self) -> None:
        for prefix in self.prefixes:
            id_test(prefix)
        _ = self.query

    @cached_property
    def query(self) -> Query:
        """All queries in one."""
        return parse_queries(self.queries)

    def __reduce__(self) -> tuple[object, ...]:
        return Selection, (self.queries, self.since, self.prefixes, self.is_partial)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.prefixes and self.query.is_empty and self.since is None

    @property
    def needs_newest_run(self) -> bool:
        """Whether it refers to the newest run, which is known from all spans only."""
        return self.since is not None and self.since.moment_ns is None

    def settled(self, cutoff_ns: int) -> Selection:
        """Return this selection with the time at which the newest run begins, for stores that have only some spans."""
        return self if self.since is None else replace(self, since=self.since._replace(moment_ns=cutoff_ns))

    def traces(self, store: Store, among: Iterable[int] | None = None) -> list[int]:
        """Return the traces, by start, then id.

        Args:
            among: Only these are looked at, in their order; None for all.

        Raises:
            TraceNotFoundError: A prefix fits no trace, or several, and the store has all spans.
        """
        wanted = self.named_traces(store)
        each = [wanted] if among is None else [{trace} for trace in among if wanted is None or trace in wanted]
        since = None if self.since is None else self.since.cutoff_ns(store)
        with stage("query"):
            return [
                number
                for traces in each
                for number in selected_traces(store, query=self.query, since_cutoff=since, traces=traces)
            ]

    def rows(self, store: Store) -> list[int]:
        """Return the spans that match, by path and offset.

        Raises:
            TraceNotFoundError: A prefix fits no trace, or several, and the store has all spans.
        """
        since = None if self.since is None else self.since.cutoff_ns(store)
        with stage("query"):
            return selected_rows(store, query=self.query, since_cutoff=since, traces=self.named_traces(store))

    def named_traces(self, store: Store) -> set[int] | None:
        """Return the traces that the prefixes are of; None for all."""
        if not self.prefixes:
            return None
        if self.is_partial:
            return {trace for prefix in self.prefixes for trace in traces_beginning(store, prefix)}
        return {find_trace(store, prefix) for prefix in self.prefixes}
