"""Where a trace's time went, in a line: `810 ms = 806 ms waiting before leaf ran (likely for a new worker) + …`.

Each part is rounded to the last digit of the whole, and left out where that leaves nothing of it. What is left of the
whole goes to `otherwise` alone, where there is such a part: so no named part is longer than it was.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from spanview.analysis.answer import Answer, AnswerPart, Doing
from spanview.analysis.ray.names import is_constructor, short_names
from spanview.display.call_text import NOT_YET_SEEN, causes_text, meanwhile_text
from spanview.display.sanitise import sanitise
from spanview.display.serve_text import queues_text
from spanview.display.units import count, duration, last_digit, nearest, rounded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from spanview.analysis.answer import PathStretch, TypicalAnswers, UnseenCalls
    from spanview.analysis.ray.meanwhile import Meanwhile
    from spanview.analysis.serve.nested import NestedQueue
    from spanview.index.lives import OpenEnd

_MAX_NAME_LENGTH, _MAX_REASON = 60, 120
_MOST_PARTS: Final = 4
_MANY: Final = 10
"""So many spans of one name are counted: each may be quick, and one instead of all quicker."""
_MOST_CAUSES: Final = 3
_BETWEEN: Final = "   "
_OTHERWISE: Final = "otherwise"
_WAITS: Final = frozenset((Doing.WAITING,))
"""What it is worth to say the cause of, rather than what else there was."""
_ALL: Final = (*Doing,)
_OF_REQUEST: Final = {
    Doing.PROXY: "proxy",
    Doing.QUEUED: "queue",
    Doing.HANDLING: "handling",
    Doing.RESPONSE: "response",
}
_IN_REQUEST: Final = {
    Doing.PROXY: "in the proxy",
    Doing.QUEUED: "in the queue",
    Doing.HANDLING: "in the handler",
    Doing.RESPONSE: "returning the response",
}
_BRIEFLY: Final = {
    Doing.WAITING: "waiting",
    Doing.RETRYING: "waiting",
    Doing.UNENDED: "after an attempt without an end began",
    Doing.LIVING: "in an actor's life",
    Doing.QUEUED: "queued",
    Doing.IDLE: "with nothing running on the path",
    Doing.SUBMITTING: "submitting",
    Doing.FAILING: "failing",
    Doing.RUNNING: "running",
    Doing.UNSEEN: "not seen",
}


def answer_texts(answer: Answer, short: Mapping[str, str] | None = None, open_calls: int = 0) -> list[str]:
    """Return where a trace's time went: the longest text first, then ever shorter ones.

    Args:
        short: What functions are called where it is shown, by the names of their spans; without, as they can be told
            apart here.
        open_calls: How many of the calls without an attempt may still run, as far as processes show.
    """
    line = _Line(answer, short_names(answer.names) if short is None else short, open_calls)
    said, doubts = line.doubts, line.doubts_text
    cut, unsure = (f"not sure: {said[0]}, …" if len(said) > 1 else doubts), "not sure" if said else ""
    sums, plain = line.sums(), line.plain
    lines = [*((text, doubts) for text in sums[:2]), (plain, doubts), (plain, cut)] if said else []
    lines = [(line.with_unsent, doubts), *lines, *((text, unsure) for text in sums)]
    return _ever_shorter(_BETWEEN.join(filter(None, texts)) for texts in lines)


def as_far_as_known(texts: Sequence[str], end: OpenEnd | None, *, is_first: bool = False) -> list[str]:
    """Return what is said of a trace's time with that it is what is known of it.

    Args:
        end: What is known of the trace's end, where it may have another one.
        is_first: Whether the trace has lasted longer by now than what is said of.
    """
    lead = "the first " if is_first else "" if end is None else f"{end.value} "
    # Where no time is known, nothing but doubts is said.
    return [lead + text if text[:1].isdigit() else text for text in texts]


def whole_answer_text(answer: Answer, short: Mapping[str, str], open_calls: int = 0) -> str:
    """Return where a trace's time went, where there is room for all of it: the first of `answer_texts`."""
    line = _Line(answer, short, open_calls)
    return _BETWEEN.join(filter(None, (line.with_unsent, line.doubts_text)))


def stretch_text(stretch: PathStretch, short: Mapping[str, str]) -> str:
    """Return what a stretch of a critical path was spent on, as it is said of a part of a whole."""
    line = _Line(Answer(stretch.ns, (), has_calls=True), short)
    return line.words(AnswerPart(stretch.doing, stretch.ns, 1, 1, stretch.name))


def typical_texts(answers: TypicalAnswers, of: str = "") -> list[str]:
    """Return where the time of the median and the slowest of some traces went: the longest text first, then shorter."""
    whose = ", ".join(filter(None, (of, "of those known to have ended" if answers.without_end else "")))
    lead = f"{whose}: " if whose else ""
    if answers.median is answers.slowest:
        return [lead + text for text in as_far_as_known(answer_texts(answers.slowest), answers.slowest_end)]
    short = short_names([*answers.median.names, *answers.slowest.names])
    median, slowest = _Line(answers.median, short), _Line(answers.slowest, short)
    of_median, of_slowest = (
        as_far_as_known([*line.marked_sums(), line.total], end)
        for line, end in ((median, answers.median_end), (slowest, answers.slowest_end))
    )
    pairs = [*zip(of_median[:-1], of_slowest[:-1], strict=True)]
    # Where there is no room for both, it is the slowest that somebody looks for.
    pairs += [(of_median[-1], text) for text in of_slowest[-3:]]
    return _ever_shorter(f"{lead}median {one}{_BETWEEN}slowest {other}" for one, other in pairs)


def _ever_shorter(texts: Iterable[str]) -> list[str]:
    """Return texts, the best first, without those that are no shorter than a better one."""
    kept = list[str]()
    for text in texts:
        if not kept or len(text) < len(kept[-1]):
            kept.append(text)
    return kept


class _Line:
    """What is said of one trace."""

    def __init__(self, answer: Answer, short: Mapping[str, str], open_calls: int = 0) -> None:
        self._answer = answer
        self._short = short
        self._open_calls = open_calls
        self._step = last_digit(answer.total_ns)
        self._shown = [part for part in answer.parts if nearest(part.ns, self._step)]
        self.total = duration(answer.total_ns)

    def sums(self) -> list[str]:
        """Return the total and its parts: with what is known of each, of waits, of none, ever fewer, at last one."""
        numbers = range(_MOST_PARTS, 1, -1)
        plain = {number: self._sum(number) for number in numbers}
        with_waits = {number: self._sum(number, _WAITS) for number in numbers}
        # Fewer parts are worth it only where that leaves room for a cause.
        causes = [text if text != plain[number] else plain[_MOST_PARTS] for number, text in with_waits.items()]
        briefly = [self._sum(number, _WAITS, is_brief=True) for number in numbers]
        sums = [self.whole, *causes, *briefly, *plain.values()]
        return [*sums, self._largest(), self._largest(is_brief=True)]

    @property
    def whole(self) -> str:
        """The total and its parts, with what is known of each."""
        return self._sum(_MOST_PARTS, _ALL)

    @property
    def plain(self) -> str:
        """The total and its parts, without what is known of them."""
        return self._sum(_MOST_PARTS)

    def marked_sums(self) -> list[str]:
        """Return the total and its parts, each with a mark where it isn't sure."""
        return [f"{text}{' (not sure)' if self.doubts else ''}" for text in self.sums()]

    def _sum(self, most: int, detailed: Collection[Doing] = (), *, is_brief: bool = False) -> str:
        """Return the total and its parts, of which some are put together where there are more than so many.

        Args:
            detailed: The kinds of parts that more is said of.
            is_brief: Whether that is only what went on while something waited.
        """
        answer, shown = self._answer, self._shown
        if not shown:
            return self._nothing
        if len(shown) == 1:
            return self._only(
                _IN_REQUEST[shown[0].doing]
                if answer.is_request
                else self._phrase(shown[0], detailed, is_brief=is_brief)
            )
        if answer.is_request:
            # They come in the order of time, and none is too small to tell where a request was.
            texts = [
                f"{_OF_REQUEST[part.doing]} {self._rounded(part.ns)}"
                + (queues_text(self._queues_of(part), self._rounded) if detailed and part.queues else "")
                for part in shown
            ]
        else:
            kept = shown if len(shown) <= most else shown[: most - 1]
            texts = [f"{self._rounded(part.ns)} {self._phrase(part, detailed, is_brief=is_brief)}" for part in kept]
            if rest := shown[len(kept) :]:
                words = {_BRIEFLY.get(part.doing, _OTHERWISE) for part in rest}
                word = words.pop() if len(words) == 1 else _OTHERWISE
                named = sum(nearest(part.ns, self._step) for part in kept)
                left = answer.total_ns - named if word == _OTHERWISE else sum(part.ns for part in rest)
                texts.append(f"{self._rounded(left)} {word}")
        return f"{self.total} = {' + '.join(texts)}"

    @property
    def _nothing(self) -> str:
        """What is said of a trace without parts."""
        return "" if self.doubts else f"{self.total}: it ends when it starts"

    def _largest(self, *, is_brief: bool = False) -> str:
        """Return the total and its largest part, without names where that is to be brief."""
        if not self._shown:
            return self._nothing
        alike: dict[object, list[AnswerPart]] = defaultdict(list)
        for shown in self._shown:
            alike[_BRIEFLY.get(shown.doing, shown)].append(shown)
        # That an actor lived is no answer where something else took time as well.
        answers = [parts for parts in alike.values() if parts[0].doing is not Doing.LIVING] or [*alike.values()]
        largest = max(answers, key=lambda parts: sum(part.ns for part in parts))
        part, ns = largest[0], sum(part.ns for part in largest)
        if self._answer.is_request:
            phrase = _IN_REQUEST[part.doing]
        else:
            has_word = (is_brief or len(largest) > 1) and part.doing in _BRIEFLY
            phrase = _BRIEFLY[part.doing] if has_word else self._phrase(part)
        return f"{self.total}, {self._rounded(ns)} of it {phrase}" if len(alike) > 1 else self._only(phrase)

    def _only(self, phrase: str) -> str:
        """Return the total where one part alone is long enough to be shown."""
        return f"{self.total}, {'all' if len(self._answer.parts) == 1 else 'nearly all'} {phrase}"

    @property
    def with_unsent(self) -> str:
        """The same, and what a call waits, or waited, for that no worker has got, as Ray says."""
        unsent, whole = self._answer.unseen_calls.unsent, self.whole
        # They may wait for something else.
        had = "has" if any(text.startswith("waits") for _, text in unsent[1:]) else "had"
        more = f"; Ray {had} {count(len(unsent) - 1, 'more call')} waiting" if len(unsent) > 1 else ""
        said = [f"{self._name(name)} {sanitise(text, _MAX_REASON)}{more}" for name, text in unsent[:1]]
        return "; ".join((whole, *said)) if whole else ""

    @property
    def doubts_text(self) -> str:
        """All that isn't known, in words; empty where there is nothing."""
        return f"not sure: {', '.join(said)}" if (said := self.doubts) else ""

    @property
    def doubts(self) -> list[str]:
        """What isn't known, in words."""
        answer, unseen = self._answer, self._answer.unseen_calls
        texts = [answer.doubts] if answer.doubts else []
        # Of calls that never ran, or wait, there is nothing to doubt.
        if len(unseen.without_attempt) > unseen.never_ran + unseen.waiting:
            texts.append(self._without_attempt(unseen))
        if unseen.untraced:
            texts.append(f"{self._calls(unseen.untraced)} likely ran untraced")
        texts += [f"{self._name(name)} is a generator, whose run time isn't known" for name in answer.generators]
        return texts

    def _without_attempt(self, unseen: UnseenCalls) -> str:
        calls = self._calls(unseen.without_attempt)
        if self._open_calls >= len(unseen.without_attempt):
            return f"{calls} {NOT_YET_SEEN}"
        # Of a likely reason processes may show that it isn't one.
        never_ran = min(unseen.never_ran, len(unseen.without_attempt) - self._open_calls)
        some = {"likely never ran": never_ran, NOT_YET_SEEN: self._open_calls}
        few = "; ".join(f"{number:,} {text}" for text, number in some.items() if number)
        return f"{calls} left no attempt{f' ({few})' if few else ''}"

    def _calls(self, names: Sequence[str]) -> str:
        return self._name(names[0]) if len(names) == 1 else count(len(names), "call")

    def _name(self, name: str) -> str:
        # What went on meanwhile may be in another trace, whose names are not among those that are shown.
        short = self._short.get(name) or short_names([name]).get(name, name)
        return _said(short)

    def _phrase(self, part: AnswerPart, detailed: Collection[Doing] = (), *, is_brief: bool = False) -> str:
        """Return what a part was spent on, with what is known of its longest if its kind is among some."""
        text, detail = self.words(part), ""
        if part.doing in detailed:
            detail = self._cause(part) if is_brief else self._detail(part)
        return f"{text} ({detail})" if detail else text

    def words(self, part: AnswerPart) -> str:  # noqa: C901 - a case a doing
        """Return what a part was spent on."""
        calls = "call" if self._answer.has_calls else "span"
        name = self._name(part.longest)
        one, same = part.spans == 1, part.names == 1
        match part.doing:
            case Doing.EARLIER:
                return f"before {name} began" if part.longest else "before what is known of the path"
            case Doing.WAITING:
                who = name if one else f"{count(part.spans, calls)} of {name}" if same else count(part.spans, calls)
                return f"waiting before {who} ran"
            case Doing.RETRYING | Doing.UNENDED:
                of = f" of {name}" if same else ""
                is_retry = part.doing is Doing.RETRYING
                return f"waiting between attempts{of}" if is_retry else f"after an attempt{of} without an end began"
            case Doing.LIVING:
                of, who = (name, "its actor") if same else ("constructors", "their actors")
                if not same or is_constructor(part.longest):
                    return f"between attempts of {of}, while {who} lived, ended and restarted"
                return f"between executions of {of}, while {who} lived"
            case Doing.QUEUED:
                return "in Serve's queue" if one else "in Serve's queues"
            case Doing.IDLE:
                return f"with nothing running on the path before {name if same else count(part.spans, calls)} began"
            case Doing.SUBMITTING:
                return f"submitting {name if same else count(part.spans, calls)}"
            case Doing.FAILING:
                attempts = "a retried attempt" if one else "retried attempts"
                # It may be something below it that ran.
                return f"{f'running {name} ' if same else ''}in {attempts}"
            case Doing.UNSEEN:
                return "in a parent that was not seen" if one else "in parents that were not seen"
            case Doing.SPANS:
                return f"in {self._many(part)}" if same else f"in {part.names:,} others"
            case _:
                return f"running {name}" if same and name not in self._waiting else "running"

    @property
    def _waiting(self) -> set[str]:
        """The only name of what waits: who reads of it knows what runs."""
        waits = [part for part in self._answer.parts if part.doing is Doing.WAITING and part.names == 1]
        return {self._name(part.longest) for part in waits}

    def _many(self, part: AnswerPart) -> str:
        """Return the name of the longest, and of how many spans that is, where these are many."""
        name = self._name(part.longest)
        return f"{part.longest_spans:,} spans of {name}" if part.longest_spans >= _MANY else name

    def _rounded(self, ns: int) -> str:
        """Return a time to the last digit of the whole, and no less than that."""
        return rounded(max(self._step, nearest(ns, self._step)))

    def _queues_of(self, part: AnswerPart) -> list[NestedQueue]:
        return [queue for queue in part.queues if nearest(queue.ns, self._step)]

    def _meanwhile(self, meanwhile: Meanwhile, part: AnswerPart) -> str:
        is_same = meanwhile.name == part.longest
        return meanwhile_text(meanwhile, self._name(meanwhile.name), self._rounded, is_same=is_same)

    def _causes(self, part: AnswerPart, most: int) -> str:
        """Return what all that waits was for, where several causes are certain; else empty."""
        return causes_text(part.causes, self._step, most, is_certain=True)

    def _cause(self, part: AnswerPart) -> str:
        """Return what it waited for most, or went on while the longest did; empty where that says nothing."""
        if causes := self._causes(part, 1):
            return causes
        if (meanwhile := part.meanwhile) is None:
            return ""
        text = self._meanwhile(meanwhile, part)
        return text if part.spans == 1 else f"longest: {self._name(part.longest)}; {text}"

    def _detail(self, part: AnswerPart) -> str:
        """Return what is known of the longest of what shares a part; empty where that says nothing more."""
        name, longest = self._name(part.longest), self._rounded(part.longest_ns)
        match part.doing:
            case Doing.WAITING if causes := self._causes(part, _MOST_CAUSES):
                return causes
            case Doing.WAITING:
                of_several = f"longest {longest}" if part.names == 1 else f"longest: {name}, {longest}"
                reasons = [part.reason.label] if part.reason is not None else []
                if (meanwhile := part.meanwhile) is not None:
                    text = self._meanwhile(meanwhile, part)
                    reasons = [*reasons, text] if part.reason is not None and part.reason.is_known else [text]
                return ", ".join(filter(None, (of_several if part.spans > 1 else "", "; ".join(reasons))))
            case Doing.RUNNING if part.names > 1 and part.longest:
                is_nearly_all = part.longest_ns >= part.ns - self._step
                return f"{'mostly' if is_nearly_all else longest} in {self._many(part)}"
            case _:
                return ""


@lru_cache(1_024)
def _said(name: str) -> str:
    """Return a name safe to print; many traces have the same few."""
    return sanitise(name, _MAX_NAME_LENGTH).strip() or "(no name)"
