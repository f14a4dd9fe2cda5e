"""Silent failures: what failed, as far as attributes and processes tell, though no error says so.

f ray.remote_worker    its result could not be sent, as Ray says      failed
f ray.remote           no attempt: its caller isn't running here      no attempt
GET /cart              http.status_code 404, status UNSET             HTTP 404
Greeter/Hello          rpc.grpc.status_code 14, status UNSET          gRPC 14

A call without an attempt that may still wait or run hasn't failed, as far as its processes show; neither has one of
which they show nothing, nor one that tracing left out, nor one whose attempt may be among the lines that a log lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spanview.analysis.query.values import number_of, text_of
from spanview.analysis.ray.unended import Fate, unended_text
from spanview.analysis.serve.requests import GRPC_OK, GRPC_STATUS, HTTP_STATUS, failure_of_http
from spanview.analysis.telling import unheard
from spanview.analysis.trace_lists import FailedSilently
from spanview.index.arrays import copy_of, rows_within
from spanview.model.codes import CLIENT, ERROR, SERVER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Places
    from spanview.index.store import Store

_HTTP_KEYS: Final = (HTTP_STATUS, "http.response.status_code")
_GRPC_NAMES: Final = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
"""By number."""
_QUERIES: Final = (*(f"{key}>=400" for key in _HTTP_KEYS), f"{GRPC_STATUS}!=0 {GRPC_STATUS}!=OK")
"""What spans of these may have failed by."""
_HALF: Final = 0.5
_MAX_ASKED_AGAIN: Final = 500
"""Traces with calls that may run that are looked at again, the newest."""


class SilentFailure(NamedTuple):
    """How something failed, though no error says so."""

    label: str
    """In a word or two."""
    text: str
    """In a few."""
    never_ran: bool = False
    """Of a call: whether it never ran, certainly or likely."""


def lost_spans(unended: Mapping[int, Unended]) -> dict[int, SilentFailure]:
    """Return which of the spans without an end were lost with their processes, by row."""
    lost = {row: span for row, span in unended.items() if span.fate is Fate.LOST}
    return {row: SilentFailure(Fate.LOST.value, unended_text(span)) for row, span in lost.items()}


def silent_failures(
    store: Store,
    traces: Sequence[int],
    may_run: Callable[[int], bool | None],
    tell: Tell = unheard,
    reasons: Mapping[int, Why] | None = None,
) -> tuple[dict[int, SilentFailure], list[int]]:
    """Return the silent failures of some traces, by row, and the rows of calls that may still run.

    Args:
        may_run: Whether a call without an attempt may wait or run, by its row; None where processes don't show it.
    """
    failures, open_calls = _without_attempt(store, traces, may_run, tell, reasons)
    return failures | told_failures(store, traces) | failed_by_status(store, traces, tell), open_calls


def told_failures(store: Store, traces: Sequence[int]) -> dict[int, SilentFailure]:
    """Return the attempts of some traces that ended without an error, of calls that failed, as Ray says, by row."""
    if store.ray is None:
        return {}
    from spanview.analysis.ray.calls import calls_of

    told = calls_of(store, traces).told_failures
    return {row: SilentFailure(said.outcome.value, said.as_ray_says) for row, said in told.items()}


def _without_attempt(
    store: Store,
    traces: Sequence[int],
    may_run: Callable[[int], bool | None],
    tell: Tell,
    reasons: Mapping[int, Why] | None,
) -> tuple[dict[int, SilentFailure], list[int]]:
    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.ray.calls import calls_of
    from spanview.analysis.ray.reasons import MAX_ASKED, reasons_of, without_attempt
    from spanview.analysis.ray.told import CallOutcome

    if reasons is None:
        reasons = reasons_of(store, calls_of(store, traces))
    tell(0.0)
    whys = [*without_attempt(store, reasons).items()]
    failures, open_calls = dict[int, SilentFailure](), list[int]()
    for number, (row, why) in enumerate(whys[-MAX_ASKED:]):
        tell(_HALF * number / len(whys))
        is_open = why.may_run and may_run(row)
        if is_open:
            open_calls.append(row)
        # One was cancelled as its caller wanted, the other never began.
        elif is_open is not None and why.outcome not in {CallOutcome.CANCELLED, CallOutcome.PENDING}:
            label = why.label if why.certainty is Certainty.CERTAIN else "no attempt"
            failures[row] = SilentFailure(label, why.label, why.never_ran)
    return failures, open_calls


def failed_by_status(store: Store, traces: Sequence[int], tell: Tell = unheard) -> dict[int, SilentFailure]:
    """Return the requests, one end or the other, that failed by their status codes, without an error, by row."""
    from spanview.analysis.query.matches import matching_rows
    from spanview.analysis.query.query import parse_query

    rows, failures = _requests(store, traces), dict[int, SilentFailure]()
    if not len(rows):
        return failures
    for matching, left in matching_rows(store, parse_query(" OR ".join(f"({query})" for query in _QUERIES)), rows):
        tell(1 - _HALF * left / len(rows))
        for row in matching.tolist():
            if (failure := failure_in(store.span(row).attributes)) is not None:
                failures[row] = failure
    return failures


def _requests(store: Store, traces: Sequence[int]) -> Places:
    """Return the rows of spans of the kinds SERVER and CLIENT without an error."""
    count = len(store.spans.next_row)
    kinds, statuses = copy_of(store.spans.kind)[:count], copy_of(store.spans.status)[:count]
    rows = np.flatnonzero(((kinds == SERVER) | (kinds == CLIENT)) & (statuses != ERROR))
    return rows_within(store.spans, rows, None if len(traces) == len(store.trace_table) else traces)


def failure_in(attributes: Mapping[str, Any]) -> SilentFailure | None:
    """Return how a request failed by its attributes; None where they don't say that it did."""
    for key in _HTTP_KEYS:
        code = text_of(attributes.get(key, ""))
        if failure_of_http(code) is not None:
            return SilentFailure(f"HTTP {code}", f"HTTP status {code}{', its client has left' * (code == '499')}")
    code = text_of(attributes.get(GRPC_STATUS, ""))
    if code.upper() in GRPC_OK:
        return None
    number = number_of(code)
    name = _GRPC_NAMES[int(number)] if number is not None and number in range(len(_GRPC_NAMES)) else ""
    return SilentFailure(f"gRPC {code}", f"gRPC status {code} {name}".rstrip())


# -- by trace ----------------------------------------------------------------------------------------------------------


class SilentTraces:
    """Remembers what failed in traces without an error, and their versions; `may_run` is as in `silent_failures`."""

    def __init__(self, store: Store, may_run: Callable[[int], bool | None]) -> None:
        self._store = store
        self._may_run = may_run
        self._counts = np.zeros(0, np.uint32)
        self._found: dict[int, FailedSilently] = {}
        self._open_calls: Mapping[int, int] = {}

    def look(self, tell: Tell) -> tuple[Mapping[int, FailedSilently], Mapping[int, int]]:
        """Look at what has grown, and at calls that may have ended.

        For one thread at a time.

        Returns:
            How traces failed, and how many calls of which traces may still run.
        """
        table, traces = self._store.trace_table, self._store.spans.trace
        counts = copy_of(table.span_count)[: len(table)]
        counts = counts + copy_of(table.replaced)[: len(counts)]
        known = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        changed = counts != known
        asked_again = sorted(self._open_calls)[-_MAX_ASKED_AGAIN:]
        changed[asked_again] = True
        looked_at = np.flatnonzero(changed).tolist()
        failures, open_calls = silent_failures(self._store, looked_at, self._may_run, tell) if looked_at else ({}, [])
        times = dict[int, int]()
        for row in failures:
            times[traces[row]] = max(self._store.spans.last_ns(row), times.get(traces[row], NO_TIME))
        labels = labels_of_traces(self._store, failures)
        found = {trace: FailedSilently(label, True, times[trace]) for trace, label in labels.items()}
        self._found = {trace: failed for trace, failed in self._found.items() if not changed[trace]} | found
        self._open_calls = Counter(traces[row] for row in open_calls)
        self._counts = counts
        return self._found, self._open_calls


def labels_of_traces(store: Store, failures: Mapping[int, SilentFailure]) -> dict[int, str]:
    """Return how traces failed, by their silent failures: `HTTP 404`, `no attempt ×6`, `no attempt ×6, …`."""
    by_trace, labels = defaultdict[int, Counter[str]](Counter), dict[int, str]()
    for row, failure in sorted(failures.items()):
        by_trace[store.spans.trace[row]][failure.label] += 1
    for trace, counts in by_trace.items():
        (label, number), *others = counts.items()
        labels[trace] = f"{label}{f' ×{number:,}' if number > 1 else ''}{', …' if others else ''}"
    return labels
