"""What traces show: what is missing in them, whose clocks differ, how many runs there are, what was cut short."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.finding import (
    MAX_PLACES,
    SESSION,
    Certainty,
    Finding,
    Kind,
    Place,
    finding_of,
    having,
    number,
)
from spanview.analysis.failures import errors_made_good
from spanview.analysis.logs.lines import owner_in
from spanview.analysis.query.since import PAUSE_NS
from spanview.analysis.ray.calls import Outcome
from spanview.analysis.ray.names import RAN
from spanview.analysis.ray.unended import Fate, unended_text
from spanview.analysis.ray.workers import node_of
from spanview.index.tree import SKEW_NS
from spanview.model.problems import Severity, Warnings
from spanview.model.times import NO_TIME, NS_PER_SECOND

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.facts import Facts

_MAX_EVENTS: Final = 128
"""Events that the SDK keeps of a span."""
_MIN_EVENT_BYTES: Final = 64
"""Bytes of the shortest event."""
_MAX_READ_BYTES: Final = 256 * 1024 * 1024
"""Bytes of records that are read again to count their events."""
_WARNING_SKEW_NS: Final = 1_000_000
"""Clocks that differ by this or more are worth a warning."""
_NS_PER_MICROSECOND: Final = 1_000
_WORKER_ID: Final = re.compile("[0-9a-f]{1,64}")


def missing_roots(facts: Facts) -> Finding:
    """Find traces without a span that has no parent."""
    are_left = np.zeros(int(facts.traces.max(initial=0)) + 2, np.bool_)
    are_left[facts.traces] = True
    are_left[facts.store.intake.unplaced : facts.store.intake.unplaced + 1] = False
    are_left[facts.traces[facts.are_roots]] = False
    traces = np.flatnonzero(are_left).tolist()
    id_of = facts.store.trace_table.trace_id
    circles = len({*traces}.difference(facts.traces[facts.orphans].tolist()))
    why = f", {circles:,} of them because parents form a circle" if circles else ""
    detail = f"{having(len(traces), facts.trace_count, 'trace', 'traces')} no root{why}."
    places = [Place(trace_id=id_of(trace), trace=trace) for trace in traces[:MAX_PLACES]]
    return finding_of(Kind.MISSING_ROOTS, len(traces), detail, places)


def missing_parents(facts: Facts) -> Finding:
    """Find parents that are in none of the files."""
    rows = facts.orphans
    parents = number(len(rows), "parent span is", "parent spans are")
    detail = f"{parents} in none of the files."
    return finding_of(Kind.MISSING_PARENTS, len(rows), detail, facts.places(rows.tolist()))


def ids_reused(facts: Facts) -> Finding | None:
    """Find spans with the ids of others that started at another time, and the files that have most of them."""
    reused = facts.reused
    if not reused:
        return None
    rows = np.unique(np.concatenate((reused.earlier, reused.later)))
    gap_ns = int(np.median(reused.gaps_ns))
    sources = zip(facts.sources[reused.earlier].tolist(), facts.sources[reused.later].tolist(), strict=True)
    pairs = Counter(sources)
    (first, again), _ = pairs.most_common(1)[0]
    path, path_again = (facts.store.sources[source].path for source in (first, again))
    where = f"within {path}" if first == again else f"in {path} and again in {path_again}"
    others = f", and {number(len(pairs) - 1, 'other pair', 'other pairs')} of files" if len(pairs) > 1 else ""
    merged = number(len(np.unique(facts.traces[reused.later])), "trace", "traces")
    detail = (
        f"{number(len(rows), 'span has', 'spans have')} the ids of others that started about {_time(gap_ns)} apart, in "
        f"{merged}: {where}{others}. Two runs used the same ids: does the program seed its random numbers?"
    )
    return facts.of_spans(Kind.IDS_REUSED, rows.tolist(), detail)


_MAX_LOST_NAMED: Final = 3
"""Lost spans that are named."""
_IN_ORDER: Final = {Fate.STOPPED, Fate.CANCELLED, Fate.RUNS}
_ENDED_IN_ORDER: Final = (
    "Ray ended these processes in order, and what they ran then didn't finish: calls that listen until their process "
    "ends, or calls that still worked or waited. How long the spans lasted isn't known."
)
_RAISED: Final = "has raised"
_HAVE_NO_END: Final[dict[Fate | str, tuple[str, str]]] = {
    Fate.LOST: ("was lost with its process", "were lost with their processes"),
    _RAISED: ("has failed, as Ray says", "have failed, as Ray says"),
    Fate.STOPPED: ("ran until Ray ended its process", "ran until Ray ended their processes"),
    Fate.CANCELLED: ("was cancelled", "were cancelled"),
    Fate.UNKNOWN: ("may have ended, or still run", "may have ended, or still run"),
}
_CANCELLED: Final = (
    "What was cancelled while it ran has no end: `ray.cancel` with `force=True` ends the process of a task."
)


def _following(facts: Facts, row: int) -> str:
    """Return what became of the last attempt of a call, of which a lost attempt, or what is below one, has a row."""
    calls = facts.calls
    places = np.flatnonzero(calls.attempts == row).tolist()
    own = [calls[int(np.searchsorted(calls.firsts, place, "right")) - 1] for place in places]
    if not any(call.attempts[-1] != row for call in own):
        return "what it was below was tried again, and ended well"
    outcomes = {call.outcome for call in own}
    ended = [outcome for outcome in (Outcome.CANCELLED, Outcome.CUT_OFF) if outcome in outcomes]
    return f"another attempt was {ended[0]}" if ended else "another attempt ended well"


def no_end(facts: Facts) -> Finding:
    """Find records without an end, but for those of spans that run: nothing is wrong with these."""
    fates = {row: facts.unended[row].fate if row in facts.unended else None for row in facts.without_end}
    lost = [row for row, fate in fates.items() if fate is Fate.LOST]
    good = errors_made_good(facts.store) if lost else ()
    lost.sort(key=lambda row: (row in good, row))
    # What is named comes first.
    rows = [*lost, *(row for row, fate in fates.items() if fate not in {Fate.LOST, Fate.RUNS})]
    counts = Counter(_RAISED if row in lost and facts.unended[row].has_raised else fate for row, fate in fates.items())
    # It may have ended before, in a part of a file that is lost, or that a copy never had.
    is_likely = any(facts.unended[row].is_likely for row, fate in fates.items() if fate is Fate.STOPPED)
    known = [
        number(counts[fate], *(f"{'likely ' * (is_likely and fate is Fate.STOPPED)}{text}" for text in texts))
        for fate, texts in _HAVE_NO_END.items()
        if counts[fate]
    ]
    if len(known) == 1 and len(rows) in map(counts.get, _HAVE_NO_END):
        known = [f"{'it' if len(rows) == 1 else 'they'} {text.partition(' ')[2]}" for text in known]
    detail = f"{number(len(rows), 'record has', 'records have')} no end{': ' * bool(known)}{', '.join(known)}."
    over = [facts.unended[row] for row in rows if fates[row] not in {None, Fate.UNKNOWN}]
    certainty = max((span.certainty for span in over), key=[*Certainty].index, default=Certainty.CERTAIN)
    if not lost:
        finding = replace(facts.of_spans(Kind.NO_END, rows, detail), certainty=certainty)
        if not {*fates.values()} <= _IN_ORDER:
            return finding
        advice = [_ENDED_IN_ORDER] * bool(counts[Fate.STOPPED]) + [_CANCELLED] * bool(counts[Fate.CANCELLED])
        return replace(finding, known_advice=" ".join(advice))
    endings = {row: f" ({_following(facts, row)})" if row in good else "" for row in lost}
    names = Counter(f"{_function(facts, row)} is {unended_text(facts.unended[row])}{endings[row]}" for row in lost)
    shown = [*names.items()][:_MAX_LOST_NAMED]
    named = [f"{name} ({number:,} times)" if number > 1 else name for name, number in shown]
    left = len(lost) - sum(number for _, number in shown)
    more = f"; and {left:,} more" if left else ""
    detail = f"{detail} {'; '.join(named)}{more}."
    finding = facts.of_spans(Kind.NO_END, rows, detail, Severity.WARNING)
    of_process = next((row for row in lost if not facts.unended[row].has_raised), None)
    known_advice = "" if of_process is None else _advice_of_lost(facts, of_process)
    return replace(finding, known_advice=known_advice, certainty=certainty)


def _function(facts: Facts, row: int) -> str:
    return facts.store.names.texts[facts.store.spans.name[row]].removesuffix(RAN) or "(no name)"


def _advice_of_lost(facts: Facts, row: int) -> str:
    """Return what to do about a span that was lost with its process, whose log is known where it is Ray's worker."""
    owner = owner_in(facts.store.span(row), facts.place(row).file)
    pid = facts.unended[row].pid
    happened = (
        f"Process {pid} ended while {_function(facts, row)} was running: it was likely killed (as when its driver "
        "ends), ran out of memory, crashed, or ended itself (os._exit). "
    )
    if not _WORKER_ID.fullmatch(owner.worker_id):
        return f"{happened}Look at the last lines that it printed."
    return (
        f"{happened}See the last lines that it printed, in Ray's logs (RAY_TMPDIR and _temp_dir move them): "
        f"`tail {SESSION}/logs/worker-{owner.worker_id}-*`"
    )


def bad_id(facts: Facts) -> Finding:
    """Find spans with an invalid id."""
    return _warned(facts, Kind.BAD_ID, Warnings.BAD_ID, "an invalid id")


def odd_value(facts: Facts) -> Finding:
    """Find spans with a field of the wrong type."""
    return _warned(facts, Kind.ODD_VALUE, Warnings.ODD_VALUE, "a field of the wrong type")


def _warned(facts: Facts, kind: Kind, warning: Warnings, what: str) -> Finding:
    rows = np.flatnonzero(facts.column("warnings") & int(warning)).tolist()
    detail = f"{number(len(rows), 'span has', 'spans have')} {what}."
    return replace(finding_of(kind, len(rows), detail, facts.file_places(rows)), rows=rows)


def clock_skew(facts: Facts) -> Finding | None:
    """Find spans that start before their parents, and the two processes whose clocks differ most."""
    # Circles of parents are left out.
    rows = np.flatnonzero((facts.parents >= 0) & (facts.starts != NO_TIME) & ~facts.of_merged_runs)
    rows = rows[facts.starts[rows] < facts.starts[facts.parents[rows]]]
    skews_ns = facts.starts[facts.parents[rows]].astype(np.uint64) - facts.starts[rows].astype(np.uint64)
    are_reported = skews_ns > np.uint64(SKEW_NS)
    rows, skews_ns = rows[are_reported], skews_ns[are_reported]
    parents = facts.parents[rows]
    if not len(rows):
        return None
    order = np.argsort(skews_ns)[::-1]
    rows, parents, max_skew_ns = rows[order], parents[order], int(skews_ns[order[0]])
    row, parent = int(rows[0]), int(parents[0])
    pairs = np.unique(np.stack([facts.sources[parents], facts.sources[rows]]), axis=1)
    process_pairs = pairs[:, pairs[0] != pairs[1]]
    if facts.sources[row] == facts.sources[parent]:
        where = f"within {facts.place(row).file}: its clock was changed, or the program set the times"
    else:
        nodes = [node_of(facts.store.span(span_row)) for span_row in (row, parent)]
        hosts = f" ({nodes[0]} and {nodes[1]})" if all(nodes) and nodes[0] != nodes[1] else ""
        where = f"between {facts.place(row).file} and {facts.place(parent).file}{hosts}"
        if process_pairs.shape[1] > 1:
            where += f", the largest difference among {process_pairs.shape[1]:,} pairs of processes"
    spans = number(len(rows), "span starts before its parent", "spans start before their parents")
    detail = f"{spans}, by {'up to ' * (len(rows) > 1)}{_time(max_skew_ns)} {where}."
    severity = Severity.INFO if max_skew_ns < _WARNING_SKEW_NS else Severity.WARNING
    return facts.of_spans(Kind.CLOCK_SKEW, rows.tolist(), detail, severity)


def _time(ns: int) -> str:
    """Return a difference of clocks, which is never known better than to a microsecond."""
    for unit, size in (("s", NS_PER_SECOND), ("ms", 1_000_000)):
        if ns >= size:
            return f"{ns / size:,.3f} {unit}"
    return f"{ns // _NS_PER_MICROSECOND} µs"


def several_runs(facts: Facts) -> Finding | None:
    """Find pauses in which nothing was running."""
    starts, ends = facts.starts, facts.column("end_ns")
    order = np.argsort(starts, kind="stable")
    order = order[starts[order] != NO_TIME]
    sorted_starts, reached = starts[order], np.maximum.accumulate(np.maximum(starts, ends)[order])
    pauses = sorted_starts[1:].astype(np.uint64) - reached[:-1].astype(np.uint64)
    indices = np.flatnonzero((sorted_starts[1:] > reached[:-1]) & (pauses >= np.uint64(PAUSE_NS))) + 1
    if not len(indices):
        return None
    firsts = order[np.append(0, indices)]
    detail = f"{len(firsts):,} runs are separated by pauses of a minute or more."
    return finding_of(Kind.SEVERAL_RUNS, len(firsts), detail, facts.places(firsts.tolist()))


def capped_events(facts: Facts) -> Finding:
    """Find spans with exactly as many events as the SDK keeps."""
    lengths = facts.column("length").astype(np.int64)
    large = np.flatnonzero(lengths >= _MAX_EVENTS * _MIN_EVENT_BYTES)
    readable = large[np.cumsum(lengths[large]) <= _MAX_READ_BYTES]
    rows = [row for row in readable.tolist() if _is_capped(facts, row)]
    at_least = "At least " if len(readable) < len(large) else ""
    spans = number(len(rows), "span has", "spans have")
    detail = f"{at_least}{spans} exactly {_MAX_EVENTS} events, the SDK's limit."
    return facts.of_spans(Kind.CAPPED_EVENTS, rows, detail)


def _is_capped(facts: Facts, row: int) -> bool:
    # Most large records have few events.
    record = facts.store.record(row) or b""
    return record.count(b'"timestamp"') >= _MAX_EVENTS and len(facts.store.span(row).events) == _MAX_EVENTS
