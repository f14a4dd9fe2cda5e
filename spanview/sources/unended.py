"""What has become of spans without an end; processes are asked only where there is such a span."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from spanview.analysis.diagnosis.finding import SESSION
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.ray.running import Running
    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store


def let_ask(store: Store, session: str = SESSION) -> None:
    """Let queries ask the processes of this host what of a store runs; what was found out before is forgotten."""

    # It is given the store: one that it held would be freed by the garbage collector alone.
    @cache
    def running(store: Store) -> Running:
        from spanview.analysis.ray.running import Running
        from spanview.sources.processes import Processes

        return Running(store, Processes(session))

    store.ask_lives = running


def unended_in(store: Store, trace: int | None = None, session: str = SESSION) -> Mapping[int, Unended]:
    """Return what has become of spans without an end, by row."""
    ends = store.spans.end_ns
    if NO_TIME not in (ends if trace is None else map(ends.__getitem__, store.rows_of_trace(trace))):
        return {}
    from spanview.analysis.ray.unended import UnendedSpans
    from spanview.sources.processes import Processes

    return UnendedSpans.of_store(store, Processes(session)).all(None if trace is None else (trace,))
