"""Where a trace's time went, in a line: `810 ms = 806 ms waiting before leaf ran (likely for a worker to start) + …`.

The parts are rounded to the last digit of the whole, so that they add up to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.answer import Doing
from spanview.analysis.ray_names import short_names
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration, last_digit, rounded, shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.answer import Answer, AnswerPart, TypicalAnswers

_MAX_NAME_LENGTH: Final = 60
_MOST_PARTS: Final = 4
_BETWEEN: Final = "   "
_OF_REQUEST: Final = {
    Doing.PROXY: "proxy",
    Doing.QUEUED: "queue",
    Doing.HANDLING: "handling",
    Doing.RESPONSE: "response",
}

_BRIEFLY: Final = {
    Doing.WAITING: "waiting",
    Doing.RETRYING: "waiting",
    Doing.QUEUED: "queued",
    Doing.SUBMITTING: "submitting",
    Doing.FAILING: "failing",
    Doing.RUNNING: "running",
    Doing.UNSEEN: "not seen",
}


def answer_texts(answer: Answer, short: Mapping[str, str] | None = None) -> list[str]:
    """Return where a trace's time went: the longest text first, then ever shorter ones.

    Args:
        answer: Where it went.
        short: What functions are called where it is shown, by the names of their spans; without, as they can be told
            apart here.
    """
    line = _Line(answer, short_names(answer.names) if short is None else short)
    doubts = line.doubts
    first, more, _ = doubts.partition(", ")
    cut, unsure = (f"{first}, …" if more else first), "not sure" if doubts else ""
    whole, plain, *fewer = line.sums()
    lines = [(whole, doubts), (plain, doubts), (plain, cut), (plain, unsure), *((text, unsure) for text in fewer)]
    return [*dict.fromkeys(_BETWEEN.join(filter(None, texts)) for texts in lines)]


def typical_texts(answers: TypicalAnswers, short: Mapping[str, str] | None = None) -> list[str]:
    """Return where the time of the median trace and of the slowest went: the longest text first, then shorter ones."""
    if answers.median is answers.slowest:
        return answer_texts(answers.slowest, short)
    short = short_names([*answers.median.names, *answers.slowest.names]) if short is None else short
    median, slowest = _Line(answers.median, short), _Line(answers.slowest, short)
    pairs = [*zip(median.marked_sums(), slowest.marked_sums(), strict=True)]
    # Where there is no room for both, it is the slowest that somebody looks for.
    pairs += [(median.total, text) for text in (*slowest.marked_sums()[-2:], slowest.total)]
    return [*dict.fromkeys(f"median {of_median}{_BETWEEN}slowest {of_slowest}" for of_median, of_slowest in pairs)]


class _Line:
    """What is said of one trace."""

    def __init__(self, answer: Answer, short: Mapping[str, str]) -> None:
        self._answer = answer
        self._short = short
        self._step = last_digit(answer.total_ns)
        rounded = shares(answer.total_ns, [part.ns for part in answer.parts])
        self._shown = [(part, ns) for part, ns in zip(answer.parts, rounded, strict=True) if ns]
        self.total = duration(answer.total_ns)

    def sums(self) -> list[str]:
        """Return the total and its parts: with what is known of each, without, ever fewer of them, at last one."""
        sums = [self._sum(_MOST_PARTS, detailed=True), *map(self._sum, range(_MOST_PARTS, 1, -1))]
        return [*sums, self._largest(), self._largest(is_brief=True)]

    def marked_sums(self) -> list[str]:
        """Return the same, each with a mark where it isn't sure."""
        return [f"{text}{' (not sure)' if self.doubts else ''}" for text in self.sums()]

    def _sum(self, most: int, *, detailed: bool = False) -> str:
        """Return the total and its parts, of which some are put together where there are more than so many."""
        answer, shown = self._answer, self._shown
        if not shown:
            return ""
        if len(shown) == 1:
            return self._only(self._phrase(*shown[0], detailed=detailed))
        if answer.is_request:
            # They come in the order of time, and none is too small to tell where a request was.
            texts = [f"{self._phrase(part, ns)} {rounded(ns)}" for part, ns in shown]
        else:
            kept = shown if len(shown) <= most else shown[: most - 1]
            texts = [f"{rounded(ns)} {self._phrase(part, ns, detailed=detailed)}" for part, ns in kept]
            if rest := shown[len(kept) :]:
                texts.append(f"{rounded(sum(ns for _, ns in rest))} otherwise")
        return f"{self.total} = {' + '.join(texts)}"

    def _largest(self, *, is_brief: bool = False) -> str:
        """Return the total and its largest part, without names where that is to be brief."""
        if not self._shown:
            return ""
        part, ns = max(self._shown, key=lambda shown: shown[1])
        phrase = _BRIEFLY[part.doing] if is_brief and part.doing in _BRIEFLY else self._phrase(part, ns)
        return f"{self.total}, {rounded(ns)} of it {phrase}" if len(self._shown) > 1 else self._only(phrase)

    def _only(self, phrase: str) -> str:
        """Return the total where one part alone is long enough to be shown."""
        return f"{self.total}, {'all' if len(self._answer.parts) == 1 else 'nearly all'} {phrase}"

    @property
    def doubts(self) -> str:
        """What isn't known, in words; empty where that is nothing."""
        answer = self._answer
        texts = [answer.doubts] if answer.doubts else []
        if answer.without_attempt:
            calls = answer.without_attempt
            what = self._name(calls[0]) if len(calls) == 1 else count(len(calls), "call")
            texts.append(f"{what} left no attempt")
        texts += [f"{self._name(name)} is a generator, whose run time isn't known" for name in answer.generators]
        return f"not sure: {', '.join(texts)}" if texts else ""

    def _name(self, name: str) -> str:
        return sanitise(self._short.get(name, name), _MAX_NAME_LENGTH) or "(no name)"

    def _phrase(self, part: AnswerPart, ns: int, *, detailed: bool = False) -> str:
        """Return what a part was spent on, with what is known of its longest where that is wanted."""
        if self._answer.is_request:
            return _OF_REQUEST[part.doing]
        text, detail = self._words(part), self._detail(part, ns) if detailed else ""
        return f"{text} ({detail})" if detail else text

    def _words(self, part: AnswerPart) -> str:
        calls = "call" if self._answer.has_calls else "span"
        name = self._name(part.longest)
        one, same = part.spans == 1, part.names == 1
        match part.doing:
            case Doing.EARLIER:
                return f"before {name} began" if part.longest else "before what is known of the path"
            case Doing.WAITING:
                who = name if one else f"{count(part.spans, calls)} of {name}" if same else count(part.spans, calls)
                return f"waiting before {who} ran"
            case Doing.RETRYING:
                attempts = f"waiting between attempts{f' of {name}' if same else ''}"
                return f"waiting before {name} ran again" if one else attempts
            case Doing.QUEUED:
                return "in Serve's queue" if one else "in Serve's queues"
            case Doing.SUBMITTING:
                return f"submitting {name if same else count(part.spans, calls)}"
            case Doing.FAILING:
                attempts = "a failed attempt" if one else "failed attempts"
                return f"in {attempts}{f' of {name}' if same else ''}"
            case Doing.UNSEEN:
                return "in a parent that was not seen" if one else "in parents that were not seen"
            case Doing.SPANS:
                return f"in {name}" if same else f"in {part.names:,} others"
            case _:
                return f"running {name}" if same and name not in self._waiting else "running"

    @property
    def _waiting(self) -> set[str]:
        """The only name of what waits: who reads of it knows what runs."""
        waits = [part for part in self._answer.parts if part.doing is Doing.WAITING and part.names == 1]
        return {self._name(part.longest) for part in waits}

    def _detail(self, part: AnswerPart, ns: int) -> str:
        """Return what is known of the longest of what shares a part; empty where that says nothing more."""
        name, longest = self._name(part.longest), rounded(max(1, round(part.longest_ns / self._step)) * self._step)
        match part.doing:
            case Doing.WAITING:
                of_several = f"longest {longest}" if part.names == 1 else f"longest: {name}, {longest}"
                reason = [] if part.reason is None else [part.reason.waited_for.label]
                return ", ".join(([of_several] if part.spans > 1 else []) + reason)
            case Doing.RUNNING if part.names > 1:
                is_nearly_all = part.longest_ns >= ns - self._step
                return f"{'nearly all' if is_nearly_all else longest} in {name}"
            case _:
                return ""
