"""When a span ran: in its trace, in its parent, and among all of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import RAN, SUBMITTED, is_constructor, short_names
from spanview.analysis.ray.waits import wait_of
from spanview.display.bars import SCALE, cell_of, histogram_text
from spanview.display.call_text import causes_text, meanwhile_text
from spanview.display.parts import DetailPart, Tone
from spanview.display.units import duration, last_digit, moment
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.ids import format_span_id
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.waited_for import AllAttempts, WaitReason
    from spanview.analysis.stats import AmongName
    from spanview.display.span_in_tree import SpanInTree
    from spanview.index.store import Store

_COUNTING: Final = "counting …"
_WARNING_TEXTS: Final = {
    Warnings.DUPLICATE_ID: "another record has the same ids but different contents",
    Warnings.CYCLE: "its parents form a circle, which is cut here",
    Warnings.NO_END: "the record has no end time",
    Warnings.NEGATIVE_DURATION: "it ends before it starts",
    Warnings.BAD_ID: "the trace id, span id or parent id is invalid",
    Warnings.CLOCK_SKEW: "it starts before its parent because clocks differ",
    Warnings.DETAIL_LOST: "its record can't be read again: the file was truncated, replaced or removed",
    Warnings.ODD_VALUE: "a field has a value of the wrong type",
}


@dataclass(frozen=True, slots=True)
class TimingFacts:
    """What has to be counted: over all that is below the span, and over all spans of its name."""

    own_ns: int | None
    """The self time."""
    among: AmongName | None
    why: Why | None = None
    """Why a call has no attempt, or what Ray says failed though it ended; None for every other span."""
    generator: Certainty | None = None
    """How sure it is that an attempt is a generator's; None for every other span."""
    wait_reasons: tuple[str, ...] = ()
    """What the first attempt of a call waited for, and how long for each cause; nothing for every other span."""


def timing_facts(subject: SpanInTree) -> TimingFacts:
    """Return what has to be counted for a span; it takes a while where there are many."""
    from spanview.analysis.selftime import self_time
    from spanview.analysis.stats import among_name

    store, row = subject.store, subject.row
    own, among = self_time(subject.tree, store.spans, subject.node), among_name(store, row)
    name, kind = store.names.texts[store.spans.name[row]], store.spans.kind[row]
    if kind == PRODUCER and name.endswith(SUBMITTED):
        from spanview.analysis.ray.reasons import reason_of

        is_alone = not any(store.spans.kind[child] == CONSUMER for child in _children(subject, subject.node))
        return TimingFacts(own, among, reason_of(store, row) if is_alone else None)
    if kind == CONSUMER and name.endswith(RAN):
        from spanview.analysis.ray.generators import generators_of

        generator = generators_of(store).get(name.removesuffix(RAN))
        return TimingFacts(own, among, _told_failure(subject), generator, _wait_reasons(subject))
    return TimingFacts(own, among)


def _told_failure(subject: SpanInTree) -> Why | None:
    if subject.store.ray is None:
        return None
    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.ray.calls import calls_of
    from spanview.analysis.ray.reasons import Why

    told = calls_of(subject.store, [subject.trace]).told_failures.get(subject.row)
    return None if told is None else Why(told.outcome, told.as_ray_says, Certainty.CERTAIN)


def _wait_reasons(subject: SpanInTree) -> tuple[str, ...]:
    from spanview.analysis.ray.waited_for import AllAttempts

    attempts = AllAttempts(subject.store)
    reasons = attempts.reasons_of([subject.row])
    reason, parts = reasons.get(subject.row), reasons.parts_of(subject.row)
    if reason is None:
        return ()
    step = last_digit(sum(parts.values()))
    causes = causes_text(parts.items(), step, len(parts), is_certain=reason.is_certain)
    return (wait_text(subject.store, attempts, reason, subject.row), *filter(None, [causes]))


def wait_text(store: Store, attempts: AllAttempts, reason: WaitReason, attempt: int) -> str:
    """Return what an attempt waited for, by its row, and what went on meanwhile."""
    from spanview.analysis.ray.meanwhile import meanwhile_of
    from spanview.analysis.ray.waited_for import reason_text

    text = reason_text(store, reason)
    submitted_ns = store.spans.end_ns[attempts.call_of(attempt)]
    meanwhile = meanwhile_of(store, attempts, attempt, reason, submitted_ns)
    if meanwhile is None:
        return text
    called = short_names([meanwhile.name]).get(meanwhile.name, meanwhile.name)
    is_same = meanwhile.name == store.names.texts[store.spans.name[attempt]]
    return f"{text}; {meanwhile_text(meanwhile, called, duration, is_same=is_same)}"


def _children(subject: SpanInTree, node: int) -> list[int]:
    """Return the rows of a node's children."""
    return [subject.tree.rows[child] for child in subject.tree.children(node)]


def timing_parts(subject: SpanInTree, facts: TimingFacts | None) -> Iterator[DetailPart]:
    """Yield what is known of a span's times; `facts` is None while they are counted."""
    yield from _of_span(subject)
    yield from _of_parts(subject, facts)
    yield from _of_trace(subject)
    if facts is None:
        yield DetailPart("same name", _COUNTING, "")
    elif facts.among is not None and facts.among.count > 1 and facts.generator is None:
        yield from _of_name(facts.among, subject.span.duration_ns or 0)
    parent = subject.tree.parents[subject.node]
    if parent != ROOT:
        yield from _of_parent(subject, parent)
    yield from _of_record(subject)


def _of_span(subject: SpanInTree) -> Iterator[DetailPart]:
    span = subject.span
    if span.status.description:
        tone = Tone.ERROR if span.status.code_value == ERROR else Tone.PLAIN
        yield DetailPart("status", f"{span.status}: {span.status.description}", span.status.description, tone)
    for key, ns in (("start", span.start_ns), ("end", span.end_ns)):
        yield DetailPart(key, moment(ns), moment(ns))
    yield DetailPart("duration", duration(span.duration_ns), str(span.duration_ns))


def _of_parts(subject: SpanInTree, facts: TimingFacts | None) -> Iterator[DetailPart]:
    """Say what of the span is its own, and what came before it."""
    length = subject.span.duration_ns
    if facts is None:
        yield DetailPart("self time", _COUNTING, "")
    elif facts.own_ns is not None and length:
        yield DetailPart("self time", f"{duration(facts.own_ns)} ({facts.own_ns / length:.0%})", str(facts.own_ns))
    if facts is not None and facts.why is not None:
        tone = Tone.PLAIN if facts.why.is_harmless else Tone.ERROR
        label, text = facts.why.label, facts.why.text
        yield DetailPart("attempt", text if text.startswith(label) else f"{label}: {text}", text, tone)
    if facts is not None and facts.generator is not None:
        from spanview.analysis.ray.generators import generator_text

        yield DetailPart("run time", generator_text(facts.generator), "")
    yield from _of_wait(subject, () if facts is None else facts.wait_reasons)


def _of_wait(subject: SpanInTree, reasons: Iterable[str]) -> Iterator[DetailPart]:
    """Say how long an attempt waited, and for what, as far as files say."""
    wait = wait_of(subject.store, subject.tree, subject.node)
    spans, start = subject.store.spans, subject.store.spans.start_ns[subject.row]
    previous = _previous_attempt(subject)
    if previous != NO_ROW and spans.end_ns[previous] == NO_TIME:
        if is_constructor(subject.span.name):
            # The actor lived until then.
            return
        most = start - spans.start_ns[previous]
        text = f"at most {duration(most)} after the previous attempt, which has no end"
        yield DetailPart("waited", text, str(most))
        return
    if not wait:
        return
    if spans.kind[subject.row] != CONSUMER:
        yield DetailPart("queued", f"{duration(wait)} from the start of the routing to its own start", str(wait))
        return
    if previous != NO_ROW:
        retry = max(0, start - spans.end_ns[previous])
        yield DetailPart("waited", f"{duration(retry)} after the previous attempt ended", str(retry))
        return
    yield DetailPart("waited", f"{duration(wait)} from its submission to its start", str(wait))
    for reason in reasons:
        yield DetailPart("", reason, reason)


def _previous_attempt(subject: SpanInTree) -> int:
    """Return the row of the attempt that came before an attempt of a Ray call; `NO_ROW` where none did."""
    spans, row, parent = subject.store.spans, subject.row, subject.tree.parents[subject.node]
    if spans.kind[row] != CONSUMER or parent == ROOT:
        return NO_ROW
    starts = spans.start_ns
    earlier = [other for other in _children(subject, parent) if spans.kind[other] == CONSUMER]
    earlier = [other for other in earlier if NO_TIME != starts[other] < starts[row]]
    return max(earlier, key=starts.__getitem__, default=NO_ROW)


def _of_record(subject: SpanInTree) -> Iterator[DetailPart]:
    span = subject.span
    yield DetailPart("trace id", span.trace_id or "unusable", span.trace_id or "")
    yield DetailPart("span id", span.span_id or "unusable", span.span_id or "")
    place = f"{span.source.file} @ {span.source.offset:,}"
    yield DetailPart("record", f"{place}, {span.source.length:,} bytes", place)
    for key, value in span.trace_state.items():
        yield DetailPart(f"state {key}", value, value)
    for flag, text in _WARNING_TEXTS.items():
        if flag in span.warnings | subject.tree.warnings(subject.node):
            yield DetailPart("warning", text, text)


def _of_trace(subject: SpanInTree) -> Iterator[DetailPart]:
    table, span = subject.store.trace_table, subject.span
    origin, end = table.start_ns[subject.trace], table.end_ns[subject.trace]
    if origin == NO_TIME or span.start_ns is None:
        return
    after = span.start_ns - origin
    share = _share(span.duration_ns, end - origin, "the trace") if end != NO_TIME else ""
    yield DetailPart("in the trace", f"starts {duration(after)} after the trace{share}", str(after))


def _of_name(among: AmongName, length: int) -> Iterator[DetailPart]:
    """Say how quick the span is among all of its name, and how long these take."""
    others = among.count - 1
    share = f"{among.quicker / others:.0%}"
    text = f"slower than {share} of {others:,} spans with this name"
    if others == 1:
        text = f"{'slower' if among.quicker else 'not slower'} than the only other span with this name"
    yield DetailPart("same name", text, share)
    figures = (("p50", among.p50_ns), ("p95", among.p95_ns), ("max", among.max_ns))
    text = "   ".join(f"{name} {duration(ns)}" for name, ns in figures)
    yield DetailPart("", text, text)
    yield DetailPart("", f"{histogram_text(among.histogram)}  histogram, powers of ten", "")
    yield DetailPart("", SCALE, "", Tone.DIM)
    yield DetailPart("", " " * cell_of(length) + "▴ this span", "")


def _of_parent(subject: SpanInTree, parent: int) -> Iterator[DetailPart]:
    span, span_id = subject.span, format_span_id(subject.tree.span_id(parent))
    if subject.tree.is_missing(parent):
        yield DetailPart("parent", f"{span_id}, not seen: still running, or lost", span_id)
        return
    row = subject.tree.rows[parent]
    spans = subject.store.spans
    name = subject.store.names.texts[spans.name[row]]
    yield DetailPart("parent", f"{name}  ({span_id})", span_id)
    start, end = spans.start_ns[row], spans.end_ns[row]
    if start != NO_TIME and span.start_ns is not None:
        gap = span.start_ns - start
        share = _share(span.duration_ns, end - start, "its parent") if end != NO_TIME else ""
        yield DetailPart(
            "", f"starts {duration(abs(gap))} {'after' if gap >= 0 else 'before'} its parent{share}", str(gap)
        )
    if end != NO_TIME and span.end_ns is not None and span.end_ns > end:
        yield DetailPart("", f"ends {duration(span.end_ns - end)} after its parent", str(span.end_ns - end))


def _share(length: int | None, whole: int, what: str) -> str:
    """Return what share of something longer a duration is."""
    return f"   {length / whole:.1%} of {what}" if length is not None and 0 <= length <= whole > 0 else ""
