"""What became of calls: in Ray's own words where its events have them, else as far as spans show.

an attempt that was interrupted  cancelled, likely, where Ray has it as finished or failed
an actor's later constructor     what Ray says of that, or else its span, where it failed or has no end
Ray's events                     finished, cancelled, worker died, …, as `told` has it; certain
else the last attempt            finished, likely, or failed; running, or worker died, as its process shows
else no attempt, and a reason    as `reasons` has it, such as constructor failed
else                             unknown
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.calls import Outcome
from spanview.analysis.ray.exits import cut_off_by, is_cancelled
from spanview.analysis.ray.told import CallOutcome, outcome_of_attempt, told_outcomes
from spanview.analysis.ray.unended import NO_UNENDED, Fate
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanview.analysis.ray.calls import Call
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.told import ToldOutcome
    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store


class Became(NamedTuple):
    """What became of a call."""

    outcome: CallOutcome
    certainty: Certainty | None = Certainty.CERTAIN
    """None where it is unknown."""


_UNKNOWN: Final = Became(CallOutcome.UNKNOWN, None)
_BY_SPANS: Final = {
    Outcome.ENDED: CallOutcome.FINISHED,
    Outcome.RETRIED: CallOutcome.FINISHED,
    Outcome.RESTARTED: CallOutcome.FINISHED,
    Outcome.ERROR: CallOutcome.FAILED,
    Outcome.CANCELLED: CallOutcome.CANCELLED,
    Outcome.SUBMIT_ERROR: CallOutcome.NOT_SUBMITTED,
}

_BY_FATE: Final = {
    Fate.RUNS: CallOutcome.RUNNING,
    Fate.LOST: CallOutcome.WORKER_DIED,
    Fate.CANCELLED: CallOutcome.CANCELLED,
}


def outcomes_of(
    store: Store, calls: Sequence[Call], reasons: Mapping[int, Why], unended: Mapping[int, Unended] = NO_UNENDED
) -> dict[int, Became]:
    """Return what became of calls, by the rows of their PRODUCERs; of what has no end as far as that was asked."""
    told = told_outcomes(store, [call.row for call in calls])
    return {
        call.row: _by_ray(store, call, told[call.row], _by_spans(call, reasons, unended), unended)
        if call.row in told
        else _by_spans(call, reasons, unended)
        for call in calls
    }


def _by_ray(store: Store, call: Call, told: ToldOutcome, shown: Became, unended: Mapping[int, Unended]) -> Became:
    """Return what Ray says, unless spans show something else: what isn't over there may be, and what ended was cut off.

    Ray has a task as finished that was cancelled while it ran, and one of an async actor as failed.
    """
    outcome, starts = told.outcome, store.spans.start_ns
    # Where lines of Ray's are missing, what it says last may be of an attempt before.
    is_of_earlier = outcome.has_failed and len(call.attempts) > 1 and told.failed_ns < starts[call.attempts[-1]]
    if outcome is CallOutcome.UNKNOWN or is_of_earlier:
        return shown
    if not outcome.is_over:
        last = call.attempts[-1] if call.attempts else None
        if last is not None and told.made_ns > starts[last]:
            # Ray speaks of an attempt that follows those of which spans are here.
            return Became(outcome)
        is_over = shown.certainty is Certainty.CERTAIN and shown.outcome.is_over
        if last is not None:
            fate = unended.get(last)
            is_over = store.spans.end_ns[last] != NO_TIME or (fate is not None and fate.is_over)
            if outcome is CallOutcome.PENDING and fate is not None and fate.fate is Fate.RUNS:
                # Its span is here before Ray has written that it runs.
                return shown
        return shown if is_over else Became(outcome)
    if call.attempts and outcome in {CallOutcome.FINISHED, CallOutcome.FAILED}:
        if is_cancelled(store, call.attempts[-1]):
            return Became(CallOutcome.CANCELLED, Certainty.LIKELY)
        if outcome is CallOutcome.FINISHED and cut_off_by(store, call.attempts[-1]):
            return _UNKNOWN
        if len(call.attempts) > 1 and call.outcome in {Outcome.ERROR, Outcome.UNENDED} and call.is_constructor:
            again = outcome_of_attempt(store, call.attempts[-1], call.row)
            return shown if again is None or not again.outcome.has_failed else Became(again.outcome)
    return Became(outcome)


def _by_spans(call: Call, reasons: Mapping[int, Why], unended: Mapping[int, Unended]) -> Became:
    if call.outcome in _BY_SPANS:
        outcome = _BY_SPANS[call.outcome]
        # Its result may have been impossible to send, or it was cancelled while it waited, and ran all the same; what
        # interrupted it may have been something else.
        is_likely = outcome in {CallOutcome.FINISHED, CallOutcome.CANCELLED}
        return Became(outcome, Certainty.LIKELY if is_likely else Certainty.CERTAIN)
    if not call.attempts:
        why = reasons.get(call.row)
        return _UNKNOWN if why is None or why.outcome is None else Became(why.outcome, why.certainty)
    last = unended.get(call.attempts[-1])
    if last is None or last.fate not in _BY_FATE:
        return _UNKNOWN
    return Became(_BY_FATE[last.fate], Certainty.LIKELY if last.may_be_tried_again else last.certainty)
