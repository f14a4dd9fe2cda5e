"""Ray's calls: those without an attempt, those that tracing itself broke, and attempts that look better than they are.

PRODUCER  fails       ERROR, TypeError … _ray_trace_ctx      trace_ctx
PRODUCER  waits                                              no_attempt
PRODUCER  tried
  CONSUMER  tried     UNSET                                  unset_attempts
  CONSUMER  tried     UNSET
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.facts import Name
from spanview.analysis.diagnosis.finding import Kind, number
from spanview.model.codes import ERROR

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.facts import Facts
    from spanview.analysis.diagnosis.finding import Finding

_MARK: Final = "_ray_trace_ctx"
_UNSET: Final = 0


def no_attempt(facts: Facts) -> Finding | None:
    """Find calls without an error that no worker has written an attempt of."""
    rows = np.flatnonzero(facts.submitted & ~facts.has_attempt & (facts.statuses != ERROR))
    if not len(rows):
        return None
    calls = int(facts.submitted.sum())
    verb = "has no attempt: it waits, runs," if len(rows) == 1 else "have no attempt: they wait, run,"
    detail = f"{len(rows):,} of {number(calls, 'call', 'calls')} {verb} died, or never could start."
    return facts.of_spans(Kind.NO_ATTEMPT, rows.tolist(), detail)


def trace_ctx(facts: Facts) -> Finding | None:
    """Find calls that failed because of an argument that tracing adds."""
    failed = np.flatnonzero(facts.submitted & ~facts.has_attempt & (facts.statuses == ERROR)).tolist()
    rows, least = facts.read_again(failed, _was_broken)
    if not rows:
        return None
    calls = number(len(rows), "call was", "calls were")
    detail = f"{least}{calls} refused with a TypeError about {_MARK}, an argument that only tracing adds."
    return facts.of_spans(Kind.TRACE_CTX, rows, detail)


def _was_broken(facts: Facts, row: int) -> bool:
    record = facts.store.record(row)
    if record is None or _MARK.encode() not in record:
        return False
    span = facts.store.span(row)
    messages = [event.attributes.get("exception.message") for event in span.events if event.is_exception]
    return any(_MARK in text for text in (span.status.description, *messages) if isinstance(text, str))


def unset_attempts(facts: Facts) -> Finding | None:
    """Find attempts without an error that another attempt of their call followed.

    An actor that is started anew runs its constructor again, though the first time was a success.
    """
    rows = np.flatnonzero(facts.ran & (facts.parents >= 0) & ~facts.says(Name.CONSTRUCTOR))
    rows = rows[np.lexsort((facts.starts[rows], facts.parents[rows]))]
    parents = facts.parents[rows]
    followed = rows[:-1][parents[:-1] == parents[1:]]
    unset = followed[facts.statuses[followed] == _UNSET]
    if not len(unset):
        return None
    attempts = number(len(unset), "attempt has", "attempts have")
    detail = (
        f"{attempts} no error, and yet the call was tried again: ended by SIGTERM or sys.exit, or its result was lost."
    )
    return facts.of_spans(Kind.UNSET_ATTEMPTS, unset.tolist(), detail)
