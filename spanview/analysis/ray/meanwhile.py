"""What went on in most of the time that a call waited.

Where it is likely what the call waited for, that is followed: from what it ended with to what that had waited for, and
so on, back to when the wait began. What ran, or waited, in at least half of it is what went on.

driver     f <=g<h<
pid 1        ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈|=f=||=g=||=h=|   h waits for the worker of g, and g for that of f; f waits for it to start,
                                             likely, for most of the wait of h

Where nothing shows what it waited for, or only Ray's own events do, which don't say who was there:

driver     f <=g<
g             |======g======|            g ran in the greater part of the wait of f
f            ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈|==f==|

A call can wait for the results of calls that its caller submitted before it, for the workers that these run in, and for
what they wait for themselves. So these count, if that was over before the call ran: it may be the cause or not. Running
comes first: all attempts of one function, whoever called them; then a wait for a new worker, or for an actor to be
created, and what ran after it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.intervals import Covered
from spanview.analysis.ray.told import resources_told
from spanview.analysis.ray.wait_causes import WaitedFor
from spanview.analysis.ray.waited_for import LEAST_SHARED_NS, WaitReason
from spanview.formats.ray_events import OF_ITS_GROUP
from spanview.index.arrays import copy_of
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.analysis.ray.waited_for import AllAttempts
    from spanview.index.arrays import Places
    from spanview.index.store import Store

_OF_OTHERS: Final = frozenset((WaitedFor.WORKER_START, WaitedFor.LOADING, WaitedFor.CREATION))
"""What a call can wait for that others wait for, too."""
_FOLLOWED: Final = frozenset((WaitedFor.ARGUMENTS, WaitedFor.ACTOR, WaitedFor.RESOURCES, WaitedFor.CREATION))
"""What is shown by an attempt that may have waited itself."""
_NO_NAME: Final = -1
_MOST_STEPS: Final = 64
"""So many attempts are followed."""


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What went on in at least half of a wait."""

    name: str
    """The name of the attempts that ran, or waited."""
    ns: int
    """How much of the wait that was."""
    attempts: int = 1
    """How many of them ran."""
    reason: WaitReason | None = None
    """What one waited for; None where they ran."""
    is_there: bool = False
    """Whether only those count that the actor ran which the call waited for."""
    is_least: bool = False
    """Whether others have no end, which may have run then, too."""
    ran_ns: int = 0
    """How much of the wait one ran after it had waited."""


def meanwhile_of(
    store: Store, attempts: AllAttempts, attempt: int, reason: WaitReason, since_ns: int
) -> Meanwhile | None:
    """Return what went on while a call waited, as the module defines it; None where nothing did for long.

    Args:
        attempt: The row of the call's first attempt.
        since_ns: When the wait began; it ends with the attempt's start.
    """
    wait = since_ns, store.spans.start_ns[attempt]
    if wait[1] - since_ns < LEAST_SHARED_NS:
        return None
    if not reason.is_known or (reason.row == NO_ROW and reason.waited_for in _FOLLOWED):
        # What its actor ran of another concurrency group had nothing to do with it.
        own = store.spans.name[attempt] if reason.waited_for is WaitedFor.ACTOR else _NO_NAME
        shown = _unexplained(store, attempts, attempt, wait, own)
    else:
        shown = _followed(store, attempts, attempt, since_ns) if reason.waited_for in _FOLLOWED else None
        if shown is not None and shown.reason is not None and shown.reason.waited_for is WaitedFor.RESOURCES:
            # What waited for the same says less than what ran.
            ran = _unexplained(store, attempts, attempt, wait)
            shown = ran if ran is not None and ran.reason is None else shown
    if shown is None or shown.reason is not None:
        return shown
    # All of one function count that ran then, whoever submitted them.
    stretch = shown.name, *wait
    if reason.waited_for is WaitedFor.ACTOR:
        count, ns, has_more = attempts.ran_between(*stretch, store.spans.process[attempt])
        if count >= shown.attempts:
            return replace(shown, ns=ns, attempts=count, is_there=True, is_least=has_more)
    count, ns, has_more = attempts.ran_between(*stretch)
    return replace(shown, ns=ns, attempts=count, is_least=has_more)


def _unexplained(
    store: Store, attempts: AllAttempts, attempt: int, wait: tuple[int, int], rather: int = _NO_NAME
) -> Meanwhile | None:
    """Return what went on while an attempt waited for what isn't known.

    Args:
        wait: Since when, and when the wait ended that is asked about, which may be that of a later attempt.
        rather: The number of a name; what has it comes first if it ran.
    """
    (since_ns, last_ns), until_ns = wait, store.spans.start_ns[attempt]
    calls, earlier = attempts.called_before(attempt, since_ns)
    ran = _ran(store, earlier, since_ns, until_ns, rather)
    if ran is not None and _may_hold(attempts, attempt, (calls, earlier), ran.name):
        return ran
    chosen, *times = _waiting(store, (calls, earlier), since_ns, until_ns, last_ns)
    reasons = attempts.reasons_of(chosen)
    for row, ns, ran_ns in zip(chosen.tolist(), *map(np.ndarray.tolist, times), strict=True):
        why = reasons.get(row)
        if why is not None and why.is_most and why.waited_for in _OF_OTHERS:
            return Meanwhile(store.names.texts[store.spans.name[row]], ns, 1, why, ran_ns=ran_ns)
    return None


def _may_hold(attempts: AllAttempts, attempt: int, others: tuple[Places, Places], name: str) -> bool:
    """Return whether what ran can have held what an attempt asks for, as far as Ray says what each asks for.

    Args:
        others: The calls of what ran, and their attempts.
        name: That of those that are asked about.
    """
    store, (calls, earlier) = attempts.store, others
    (number,) = store.names.numbers([name])
    first = int(np.flatnonzero(copy_of(store.spans.name)[earlier] == number)[0])
    rows = np.array([attempt, earlier[first]]), np.array([attempts.call_of(attempt), calls[first]])
    own, held = resources_told(store, *rows)
    # What its placement group is made of was held by others before.
    own |= {name.removesuffix(OF_ITS_GROUP) for name in own}
    return not (own and held) or bool(own & held)


def _followed(store: Store, attempts: AllAttempts, attempt: int, since_ns: int) -> Meanwhile | None:
    """Return what an attempt waited for in at least half of a stretch, from one to the next, as the module says."""
    spans = store.spans
    ran, counts = defaultdict[int, int](int), defaultdict[int, int](int)
    half_ns = (spans.start_ns[attempt] - since_ns) / 2
    row, until_ns = attempt, spans.start_ns[attempt]
    for _ in range(_MOST_STEPS):
        reason = attempts.reason_of(row)
        if reason is None or until_ns <= since_ns:
            break
        cause = reason.row
        if reason.waited_for not in _FOLLOWED or cause == NO_ROW or spans.start_ns[cause] >= until_ns:
            begun_ns = max(since_ns, spans.end_ns[attempts.call_of(row)])
            if row != attempt and until_ns - begun_ns >= half_ns:
                at_last = attempts.reasons_of([row]).at_last(row, until_ns - begun_ns)
                reason = at_last or replace(reason, waited_for=WaitedFor.UNKNOWN)
                is_shown = reason.is_known and not (reason.waited_for in _FOLLOWED and cause == NO_ROW)
                wait = begun_ns, spans.start_ns[attempt]
                shown = None if is_shown else _unexplained(store, attempts, row, wait)
                if shown is not None and shown.ns + shown.ran_ns >= half_ns:
                    return shown
                return Meanwhile(store.names.texts[spans.name[row]], until_ns - begun_ns, 1, reason)
            break
        begun_ns = max(since_ns, spans.start_ns[cause])
        ran[spans.name[cause]] += max(begun_ns, min(until_ns, spans.end_ns[cause])) - begun_ns
        counts[spans.name[cause]] += 1
        row, until_ns = cause, spans.start_ns[cause]
    name = max(ran, key=lambda name: (ran[name], -name), default=None)
    if name is None or ran[name] < half_ns:
        return None
    return Meanwhile(store.names.texts[name], ran[name], counts[name])


def _ran(store: Store, attempts: Places, since_ns: int, until_ns: int, rather: int) -> Meanwhile | None:
    """Return what ran in at least half of a stretch: the attempts of one function."""
    spans = store.spans
    starts, ends = np.maximum(copy_of(spans.start_ns)[attempts], since_ns), copy_of(spans.end_ns)[attempts]
    ran, by_name = (ends > starts) & (ends <= until_ns), defaultdict[int, list[tuple[int, int]]](list)
    names = copy_of(spans.name)[attempts[ran]]
    for name, start, end in zip(names.tolist(), starts[ran].tolist(), ends[ran].tolist(), strict=True):
        by_name[name].append((start, end))
    covered = {name: Covered.by(*zip(*sorted(times), strict=True)).sums[-1] for name, times in by_name.items()}
    enough = {name: ns for name, ns in covered.items() if 2 * ns >= until_ns - since_ns}
    most = max(enough, key=lambda name: (name == rather, enough[name], -name), default=None)
    if most is None:
        return None
    return Meanwhile(store.names.texts[most], covered[most], len(by_name[most]))


def _waiting(
    store: Store, of_calls: tuple[Places, Places], since_ns: int, until_ns: int, last_ns: int
) -> tuple[Places, Places, Places]:
    """Return the first attempts of calls that began in a stretch and took at least half of it, the longest first.

    Args:
        of_calls: The call of each attempt, and the attempts.
        last_ns: Until when counts what they ran.

    Returns:
        Their rows, how long each waited, and how long it ran.
    """
    spans, (calls, attempts) = store.spans, of_calls
    order = np.lexsort((copy_of(spans.start_ns)[attempts], calls))
    calls, first = np.unique(calls[order], return_index=True)
    firsts = attempts[order][first]
    submitted, starts = copy_of(spans.end_ns)[calls], copy_of(spans.start_ns)[firsts]
    is_over = (submitted != NO_TIME) & (starts <= until_ns)
    waited = starts - np.maximum(submitted, since_ns)
    ran = np.clip(copy_of(spans.end_ns)[firsts], starts, np.maximum(starts, last_ns)) - starts
    chosen = np.flatnonzero(is_over & (starts > since_ns) & (2 * (waited + ran) >= until_ns - since_ns))
    chosen = chosen[np.argsort(-(waited + ran)[chosen], kind="stable")]
    return firsts[chosen], waited[chosen], ran[chosen]
