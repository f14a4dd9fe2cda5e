"""Ray calls: those without an attempt, those that tracing itself broke, and attempts that look better than they are.

PRODUCER  fails       ERROR, TypeError … _ray_trace_ctx      trace_ctx
PRODUCER  waits                                              no_attempt
PRODUCER  A.gen       its actor's other methods have some    untraced
PRODUCER  gen
  CONSUMER  gen       ends when the generator is made        generators
PRODUCER  tried
  CONSUMER  tried     UNSET                                  unset_attempts
  CONSUMER  tried     UNSET
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.facts import NameFlag
from spanview.analysis.diagnosis.finding import Certainty, Kind, having, number
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.exits import cut_off_among
from spanview.analysis.ray.generators import generators_of
from spanview.analysis.ray.names import CONSTRUCTED, RAN, SUBMITTED, short_names
from spanview.analysis.ray.reasons import OPEN_TEXT, Reason, without_attempt
from spanview.analysis.ray.told import CallOutcome, failed_ns_of
from spanview.model.codes import ERROR, UNSET
from spanview.model.problems import Severity
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanview.analysis.diagnosis.facts import Facts
    from spanview.analysis.diagnosis.finding import Finding
    from spanview.analysis.ray.reasons import Why

_MARK: Final = "_ray_trace_ctx"
_MOST_NAMES: Final = 5
"""Functions whose calls lack an attempt for one reason that are named."""
_TRACED_BY_SERVE: Final = (
    "spanview's hook traces every method but those that take Ray Serve's requests, which Serve's exporter traces. "
    f"{Kind.SERVE_UNTRACED.rule.advice}. Other calls here may hang."
)
"""The advice for spans of spanview's own hook, which alone name the session."""
_FIX_EARLIER_FAILURES: Final = (
    "Fix the earlier failures; the calls themselves may be fine. In the viewer, each call's Timing section names the "
    "failure."
)
_AS_RAY_SAYS: Final = "In the viewer, each call's Timing section has what Ray's own events say of it."
_OF_STUCK: Final = " What no node has must come with another node (ray status), or not be asked for."
_OF_DEAD: Final = ' What died says more in Ray\'s logs: grep -r "worker died" /tmp/ray/session_latest/logs'
_FIX_SUBMISSION: Final = (
    "First fix the call that could not be submitted: if the program ended with that error, Ray ended these calls, too. "
)


def no_attempt(facts: Facts) -> Finding:
    """Find calls without an error that no worker has written an attempt of, and that weren't left out by tracing.

    What may still run, as far as processes show, hasn't gone missing.
    """
    none = sum(not why.is_call for why in facts.reasons.values())
    whys = without_attempt(facts.store, facts.reasons)
    may_run = len(whys.keys() & facts.open_calls)
    whys = {row: why for row, why in whys.items() if row not in facts.open_calls}
    rows, calls = [*whys], int((facts.submitted & ~facts.of_merged_runs).sum()) - none
    of_labels = Counter(why.label for why in whys.values() if why.label != Reason.UNKNOWN.value)
    known = [f"{label} ({_functions(facts, whys, label)})" for label, _ in of_labels.most_common()]
    if left := len(rows) - of_labels.total():
        who = ("the other one" if known else "it") if left == 1 else "the others" if known else "they"
        text = f"{who} {OPEN_TEXT if left == 1 else OPEN_TEXT.replace('was', 'were')}"
        known.append(f"{text} ({_functions(facts, whys, Reason.UNKNOWN.value)})")
    besides = f", besides {may_run:,} that may still run" if may_run else ""
    detail = f"{having(len(rows), calls, 'call', 'calls')} no attempt{besides}: {'; '.join(known)}."
    refused, before = _refused_after(facts, [row for row, why in whys.items() if why.reason is Reason.UNKNOWN])
    if before:
        detail += f" In the same process, after {before:,} of these calls, {refused} could not be submitted."
    has_failed = any(why.has_failed and not why.follows_failure for why in whys.values())
    severity = Severity.WARNING if has_failed else None
    finding = facts.of_spans(Kind.NO_ATTEMPT, rows, detail, severity)
    if all(why.certainty is Certainty.CERTAIN for why in whys.values()):
        finding = replace(finding, certainty=Certainty.CERTAIN)
    if all(why.follows_failure for why in whys.values()):
        return replace(finding, known_advice=_FIX_EARLIER_FAILURES)
    if finding.certainty is Certainty.CERTAIN:
        is_stuck = any(why.is_stuck for why in whys.values())
        advice = _AS_RAY_SAYS + _OF_STUCK * is_stuck + _OF_DEAD * has_failed
        return replace(finding, known_advice=advice)
    return replace(finding, known_advice=_FIX_SUBMISSION + finding.advice) if before else finding


def _functions(facts: Facts, whys: Mapping[int, Why], label: str) -> str:
    """Return which functions have calls with a reason, those of most calls first, and how many if more than one."""
    names, texts = facts.store.spans.name, facts.store.names.texts
    called = Counter(texts[names[row]] for row, why in whys.items() if why.label == label)
    short = short_names(called)
    shown = [
        f"{count:,} of {short[name]}" if count > 1 else short[name] for name, count in called.most_common(_MOST_NAMES)
    ]
    return ", ".join(shown) + ", …" * (len(called) > _MOST_NAMES)


def _refused_after(facts: Facts, rows: Sequence[int]) -> tuple[str, int]:
    """Return the call whose failed submission is the last that a process began, and how many of some calls came before.

    Where the process began anything later, its program went on.
    """
    processes, starts = facts.column("process"), facts.starts
    refused = [row for row, why in facts.reasons.items() if why.reason is CallOutcome.NOT_SUBMITTED]
    last = {processes[row]: row for row in refused if starts[row] == starts[processes == processes[row]].max()}
    ends = [last[processes[row]] for row in rows if processes[row] in last]
    return (facts.place(ends[0]).name.removesuffix(SUBMITTED) if ends else ""), len(ends)


def untraced(facts: Facts) -> Finding | None:
    """Find calls that ran or run without an attempt, because tracing leaves out their method."""
    statuses, whys = facts.statuses, facts.reasons
    texts, names = facts.store.names.texts, facts.store.spans.name
    rows = [
        row
        for row, why in whys.items()
        # No constructor is left out: its actor was there already, or its span is in another file.
        if why.reason is Reason.UNTRACED and statuses[row] != ERROR and not texts[names[row]].endswith(CONSTRUCTED)
    ]
    if not rows:
        return None
    functions = Counter(texts[names[row]].removesuffix(SUBMITTED) for row in rows)
    (first, _), *others = functions.most_common()
    more = f" and {number(len(others), 'other method', 'other methods')}" if others else ""
    calls, has = number(len(rows), "call", "calls"), "has" if len(rows) == 1 else "have"
    detail = (
        f"{calls} of {first}{more} {has} no attempt, likely because Ray's tracing skips {'them' if others else 'it'}."
    )
    finding = facts.of_spans(Kind.UNTRACED, rows, detail)
    is_by_own_hook = "ray.session" in facts.store.span(rows[0]).resource.attributes
    return replace(finding, known_advice=_TRACED_BY_SERVE) if is_by_own_hook else finding


def generators(facts: Facts) -> Finding:
    """Find attempts whose spans end when a generator is made."""
    known = generators_of(facts.store)
    texts, names = facts.store.names.texts, facts.column("name")
    numbers = [number for number, text in enumerate(texts) if text.removesuffix(RAN) in known and text.endswith(RAN)]
    rows = np.flatnonzero(facts.ran & np.isin(names, numbers))
    attempts = number(len(rows), "attempt is", "attempts are")
    likely = sum(certainty is Certainty.LIKELY for certainty in known.values())
    doubt = f" ({likely:,} of them likely)" if 0 < likely < len(known) else ", likely" * bool(likely)
    lost = "its running time and result" if len(rows) == 1 else "their running times and results"
    detail = f"{attempts} of {number(len(known), 'generator', 'generators')}{doubt}: {lost} aren't known."
    return facts.of_spans(Kind.GENERATORS, rows.tolist(), detail)


def trace_ctx(facts: Facts) -> Finding:
    """Find calls that failed because of an argument that tracing adds."""
    failed = [row for row in facts.calls.without_attempt if facts.statuses[row] == ERROR]
    rows, at_least = facts.read_again(failed, _was_broken)
    calls = number(len(rows), "call was", "calls were")
    detail = f"{at_least}{calls} refused with a TypeError about {_MARK}, an argument that only tracing adds."
    return facts.of_spans(Kind.TRACE_CTX, rows, detail)


def _was_broken(facts: Facts, row: int) -> bool:
    if _MARK.encode() not in (facts.store.record(row) or b""):
        return False
    span = facts.store.span(row)
    messages = [event.attributes.get("exception.message") for event in span.events if event.is_exception]
    return any(_MARK in text for text in (span.status.description, *messages) if isinstance(text, str))


def unset_attempts(facts: Facts) -> Finding:
    """Find attempts without an error that another attempt of their call followed, or that were cut off, or failed.

    An actor that is started anew runs its constructor again, though the first time was a success; a compiled graph
    executes its methods again.
    """
    are_tried = facts.ran & (facts.parents >= 0) & ~facts.are_named(NameFlag.CONSTRUCTOR)
    rows = np.flatnonzero(are_tried & ~facts.of_merged_runs)
    rows = rows[np.lexsort((facts.starts[rows], facts.parents[rows]))]
    parents = facts.parents[rows]
    again = np.flatnonzero(parents[:-1] == parents[1:]).tolist()
    are_tries = [not are_executions(facts.store, int(rows[index]), int(rows[index + 1])) for index in again]
    followed = rows[:-1][np.array(again, np.int64)[np.array(are_tries, np.bool_)]]
    # Of one without an end, no_end says what is known.
    is_unset = (facts.statuses[followed] == UNSET) & (facts.column("end_ns")[followed] != NO_TIME)
    unset = followed[is_unset]
    have_failed = failed_ns_of(facts.store, unset, facts.parents[unset]) != NO_TIME
    told, lasts = [*facts.calls.told_failures], facts.calls.last_attempts
    # A constructor that was cut off was run again, too.
    made = np.flatnonzero(facts.ran & facts.are_named(NameFlag.CONSTRUCTOR))
    asked = np.unique(np.concatenate((lasts, made)))
    asked = np.append(asked[~facts.of_merged_runs[asked]], unset)
    cut = [row for row in cut_off_among(facts.store, asked) if row not in {*told}]
    unset, have_failed = unset[~np.isin(unset, cut)], have_failed[~np.isin(unset, cut)]
    ways = "ended by SIGTERM or sys.exit, failed later as a generator, or the result was lost"
    found = {
        f"{{}} retried: {ways}": unset[~have_failed].tolist(),
        "{} retried, having failed, as Ray says": unset[have_failed].tolist(),
        "{} cut off, as by ray.cancel, SIGTERM or sys.exit": cut,
        "{} a failure for the caller, as Ray says": told,
    }
    found_rows = sorted({*unset.tolist(), *cut, *told})
    several = sum(map(bool, found.values())) > 1
    counted = {text: number(len(of_text), "was", "were") for text, of_text in found.items() if of_text}
    known = [text.format(count if several else count.rpartition(" ")[2]) for text, count in counted.items()]
    detail = f"{number(len(found_rows), 'attempt has', 'attempts have')} no error, but {'; '.join(known)}."
    return facts.of_spans(Kind.UNSET_ATTEMPTS, found_rows, detail, Severity.WARNING if told else None)
