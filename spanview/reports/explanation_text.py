"""An explanation as lines: a heading for each topic, and below each sentence the span that it rests on.

What took the time
  2 calls of own_worker took 14.3 s together: 14.2 s waiting for a new worker, 113 ms running
    span 24e35095d0f0ac7d · spanview stats --by ray-call spans
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.analysis.diagnosis.finding import Certainty
from spanview.display.finding_text import SEVERITIES, wrapped
from spanview.display.shades import ERROR, HEAD, QUIET, plain
from spanview.display.units import count
from spanview.index.table import NO_ROW
from spanview.model.ids import format_span_id, format_trace_id
from spanview.reports.explanation import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.display.shades import Paint
    from spanview.index.store import Store
    from spanview.reports.explanation import Statement
    from spanview.reports.report import Report

HEADINGS: Final = {
    Topic.TIME: "What took the time",
    Topic.RUNNING: "What runs or waits now",
    Topic.UNUSUAL: "What took longer than usual",
    Topic.FAILED: "What failed",
    Topic.RETRIED: "What was tried again",
    Topic.UNSEEN: "What was lost, cut off, or not seen to run",
    Topic.MISSING: "What is missing, or wrong with the files",
}
"""What stands above the sentences of each topic."""
WIDTH: Final = 100
"""Cells of a line that doesn't go to a terminal."""
_INDENT: Final = "  "
_INNER: Final = "    "
_ALL: Final = re.compile("^All ")
_SAYS_SO: Final = ("likely", "not sure", "unknown")
"""A sentence with one of these says itself that it isn't certain."""


class ExplanationLine(NamedTuple):
    """A line of an explanation."""

    text: str
    said: Statement | None = None
    """The sentence that it is of; None for a heading."""
    shade: str = ""
    """As `shades` has it; empty for none."""


def lines_of(statements: Sequence[Statement], width: int) -> Iterator[list[ExplanationLine]]:
    """Yield the lines of each statement, so many cells wide; those of the first of a topic begin with its heading."""
    topics = set[Topic]()
    for said in statements:
        lines = list[ExplanationLine]()
        if said.topic not in topics and said.topic in HEADINGS:
            lines.append(ExplanationLine(HEADINGS[said.topic], None, HEAD))
        topics.add(said.topic)
        about = said.topic is Topic.ABOUT
        is_sure = said.certainty is Certainty.CERTAIN or any(word in said.text for word in _SAYS_SO)
        text = said.text if is_sure else f"likely: {_ALL.sub('all ', said.text)}"
        texts = wrapped(text, width, first="" if about else _INDENT, rest=_INNER)
        shade = HEAD if about else ERROR if said.topic is Topic.FAILED else ""
        if said.severity is not None:
            shade = SEVERITIES[said.severity]
        lines += [ExplanationLine(text, said, "" if number else shade) for number, text in enumerate(texts)]
        yield lines


def explanation_lines(  # noqa: PLR0913 - what is printed, and how
    store: Store,
    report: Report[Statement],
    width: int,
    most: int,
    *,
    asking: Callable[[str], str],
    asking_for: Callable[[int], str],
    paint: Paint = plain,
) -> list[str]:
    """Return an explanation in so many lines at most, with what each sentence rests on, and what shows more.

    Args:
        asking: Returns how to ask what a statement calls `more`.
        asking_for: Returns how to ask for so many lines.
    """
    each = [*lines_of(report.rows, width)]
    for said, lines in zip(report.rows, each, strict=True):
        if said.topic is not Topic.ABOUT and (text := _evidence(store, said, report.head["trace_id"], asking)):
            # In one line, however long: ids and commands are there to be copied.
            lines.append(ExplanationLine(_INNER + text, said, QUIET))
    needed = sum(map(len, each))
    kept = kept_within(report.rows, each, most if needed <= most else most - 1)
    shown = [line for index in sorted(kept) for line in each[index]]
    if left_out := len(each) - len(kept):
        shown.append(ExplanationLine(f"… and {count(left_out, 'more sentence')}: {asking_for(needed)}", None, QUIET))
    return [paint(line.text, line.shade) if line.shade else line.text for line in shown]


def _evidence(store: Store, said: Statement, one: str | None, asking: Callable[[str], str]) -> str:
    """Return the span that a statement rests on, and the command that shows more.

    Args:
        one: The id of the only trace that is spoken of.
    """
    parts = []
    if said.row != NO_ROW:
        trace_id = format_trace_id(store.trace_table.trace_id(said.trace))
        trace = "" if trace_id in {one, *said.more.split()} else f"trace {trace_id} "
        parts.append(f"{trace}span {format_span_id(store.spans.span_id[said.row])}")
    return " · ".join([*parts, *map(asking, filter(None, [said.more]))])


def shortened(report: Report[Statement], most: int) -> Report[Statement]:
    """Return an explanation with so many sentences at most, for programs."""
    kept = kept_within(report.rows, [[said] for said in report.rows], most)
    return replace(report, rows=[report.rows[index] for index in sorted(kept)])


def kept_within(statements: Sequence[Statement], each: Sequence[Sequence[object]], most: int) -> set[int]:
    """Return which statements there is room for in so many lines: the first of each topic before the second ones.

    What failed comes before what else is there beside the time.
    """
    turns, in_turn = defaultdict[Topic, int](int), list[tuple[int, int]]()
    for index, said in enumerate(statements):
        in_turn.append((turns[said.topic], index))
        turns[said.topic] += 1
    kept, topics, used = set[int](), set[Topic](), 0
    least = {Topic.ABOUT: 0, Topic.TIME: 1, Topic.FAILED: 2}
    for turn, index in sorted(in_turn, key=lambda each: (each[0], least.get(statements[each[1]].topic, 3), each[1])):
        # A topic begins with its heading.
        if used + len(each[index]) <= most and (not turn or statements[index].topic in topics):
            used += len(each[index])
            kept.add(index)
            topics.add(statements[index].topic)
    return kept
