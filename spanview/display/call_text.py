"""Ray calls: `waited 805 ms · ran 16 µs on worker 29307 · submitted by the driver`, `2 calls without attempt`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import call_names
from spanview.analysis.ray.waits import wait_of
from spanview.analysis.ray.workers import driver_job_of, writer_of
from spanview.display.units import count, duration, nearest, rounded
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, PRODUCER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.analysis.ray.functions import Function
    from spanview.analysis.ray.meanwhile import Meanwhile
    from spanview.analysis.ray.wait_causes import WaitedFor
    from spanview.display.span_in_tree import SpanInTree


NOT_YET_SEEN: Final = "not yet seen to run"
"""What is said of calls without an attempt that may still run, as far as processes show."""


_FEWEST_CAUSES: Final = 2
_LEAST_RUN: Final = 0.1
"""A call that has waited, and then ran for less than that part of it, is said to have waited alone."""
_LEAST_SHARE: Final = 0.005
"""Of waiting; less would be 0%."""


def without_attempt_text(calls: int, open_calls: int) -> str:
    """Return how many calls of a trace have no attempt, and how many of these may still run."""
    if 0 < calls <= open_calls:
        return f"{count(calls, 'call')} {NOT_YET_SEEN}"
    may_run = f" ({open_calls:,} {NOT_YET_SEEN})" if open_calls else ""
    return f"{count(calls, 'call')} without attempt{may_run}"


def waited_for_text(function: Function) -> str:
    """Return what its calls waited for: `192 s waiting: 60 s likely for a worker or resources, 132 s cause unknown`."""
    from spanview.analysis.ray.wait_causes import WaitedFor

    if not function.waited_for:
        return ""
    parts = function.wait_parts
    apart = WaitedFor.LOADING in function.waited_for
    labels = [waited_for.label_of("", is_certain=part.is_certain, loads_apart=apart) for waited_for, part in parts]
    if len(parts) == 1:
        return f"{duration(function.total_wait_ns)} waiting, {labels[0]}"
    texts = [f"{duration(part.ns)} {label}" for label, (_, part) in zip(labels, parts, strict=True)]
    return f"{duration(function.total_wait_ns)} waiting: {', '.join(texts)}"


def waited_for_shares(function: Function) -> str:
    """Return the shares of its waiting in fewer words: `likely worker or resources 31%, unknown 69%`."""
    if not function.waited_for:
        return ""
    shares = [
        (waited_for.brief_of(is_certain=part.is_certain), part.ns / function.total_wait_ns)
        for waited_for, part in function.wait_parts
    ]
    return ", ".join(f"{text} {share:.0%}" for text, share in shares if share >= _LEAST_SHARE)


def causes_text(causes: Iterable[tuple[WaitedFor, int]], step: int, most: int, *, is_certain: bool) -> str:
    """Return what a wait was for, the longest known first, where there are several causes: `3 s for its arguments, …`.

    Args:
        causes: With how long each was, in nanoseconds.
        step: What a time is rounded to; causes are left out of which that leaves nothing.
        most: How many are named.
    """
    from spanview.analysis.ray.wait_causes import WaitedFor

    shown = sorted((not cause.is_known, -ns, cause) for cause, ns in causes if nearest(ns, step))
    if len(shown) < _FEWEST_CAUSES:
        return ""
    apart = any(cause is WaitedFor.LOADING for *_, cause in shown)
    texts = [
        f"{rounded(nearest(-ns, step))} {cause.label_of('', is_certain=is_certain, loads_apart=apart)}"
        for _, ns, cause in shown
    ]
    return ", ".join([*texts[:most], *["…"] * (len(texts) > most)])


def cold_starts_text(functions: Iterable[Function]) -> str:
    """Return how many cold starts there are, and how long calls likely waited for them; empty where there are none.

    Only the time that shows it counts: a worker's first call may have waited for its arguments before, or after.
    """
    from spanview.analysis.ray.wait_causes import WaitedFor, WaitSum

    functions = [*functions]
    cold = sum(function.cold_starts for function in functions)
    if not cold:
        return ""
    waits = [function.waited_for.get(WaitedFor.WORKER_START, WaitSum(0, 0)) for function in functions]
    _, ns, certain_ns = (sum(figures) for figures in zip(*waits, strict=True))
    words = ("together " if cold > 1 else "") + ("likely " if certain_ns < ns else "")
    of_what, code = ("a new worker", " or its code") if cold == 1 else ("new workers", " or their code")
    of_what += code if certain_ns < ns else ""
    return count(cold, "cold start") + (f" ({words}{duration(ns)} of waiting for {of_what})" if ns else "")


def meanwhile_text(meanwhile: Meanwhile, name: str, write: Callable[[int], str], *, is_same: bool) -> str:
    """Return what went on while a call, perhaps of the same function, waited, as `meanwhile fetch ran 1.28 s`."""
    number, least = meanwhile.attempts, "at least " if meanwhile.is_least else ""
    time = f"{least}{write(meanwhile.ns)}"
    if number > 1:
        there = " there" if meanwhile.is_there else ""
        return f"meanwhile {least}{number:,} {'other calls of it' if is_same else f'calls of {name}'} ran {time}{there}"
    waited = "" if meanwhile.reason is None else f", {meanwhile.reason.label}"
    waited += f", and ran {write(meanwhile.ran_ns)}" if meanwhile.ran_ns > _LEAST_RUN * meanwhile.ns else ""
    return f"meanwhile {'another call of it' if is_same else name} {'waited' if waited else 'ran'} {time}{waited}"


def call_text(subject: SpanInTree) -> str:
    """Return what an attempt waited, where it ran, and who submitted its call; nothing for all other spans."""
    store, tree, span = subject.store, subject.tree, subject.span
    parent = tree.parents[subject.node]
    if store.spans.kind[subject.row] != CONSUMER or parent == ROOT or tree.is_missing(parent):
        return ""
    row = tree.rows[parent]
    submits, runs = call_names(store.names)
    names, kinds = store.spans.name, store.spans.kind
    if kinds[row] != PRODUCER or names[row] not in submits or names[subject.row] not in runs:
        return ""
    caller = store.span(row)
    submitter, runner = (writer_of(one, one.source.file) for one in (caller, span))
    wait, where = wait_of(store, tree, subject.node), "" if runner is None else f" on worker {runner.pid}"
    who = "the driver" if driver_job_of(caller) else "" if submitter is None else f"pid {submitter.pid}"
    parts = [
        f"waited {duration(wait)}" if wait else "",
        f"no end{where}" if span.end_ns is None else f"ran {duration(span.duration_ns)}{where}",
        f"submitted by {who}" if who else "",
    ]
    return " · ".join(filter(None, parts))
