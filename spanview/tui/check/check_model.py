"""The lines of the check: findings with what they rest on and what to do, then the problems of files.

✖ error    trace_ctx   3 calls were refused with …      the finding, as wide as there is room
           what to do: …
           ▾ 3 places
             trace dbf0079028ca620540f0e1d82f0f6b72 …   something to jump to
! warning  torn        spans/1.json @ 423: …            a problem
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import MAX_PLACES
from spanview.display.cells import fitting
from spanview.display.finding_text import place_text, wrapped
from spanview.display.units import count

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator

    from spanview.analysis.diagnosis.finding import Finding, Kind, Place
    from spanview.analysis.diagnosis.report import Diagnosis
    from spanview.model.problems import Problem, Severity

MARKS: Final = {"error": "✖", "warning": "!", "info": "·"}
_SEVERITY: Final = 11
"""Cells of a severity with its mark."""
_FOLDS: Final = "▸▾"
"""What a line begins with that is folded, or unfolded."""
MOST_PROBLEMS: Final = 500
"""Problems that have lines of their own."""


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One line."""

    text: str
    severity: Severity | None = None
    """Stands before the text; None for a line that goes on."""
    finding: Finding | None = None
    """The finding that it belongs to."""
    place: Place | None = None
    """What the line stands for, of what a finding rests on."""
    problem: Problem | None = None
    identity: Hashable = None
    """What tells it from all others, and stays the same while counts and evidence grow."""


def lines_of(report: Diagnosis, width: int, unfolded: Collection[Kind]) -> list[CheckLine]:
    """Return all lines, of the unfolded kinds of findings with what they rest on."""
    room = width - _SEVERITY
    lines = [line for finding in report.findings for line in _finding(finding, room, is_open=finding.kind in unfolded)]
    if not lines:
        lines = [CheckLine("nothing found")]
    problems = report.problems[:MOST_PROBLEMS]
    if problems:
        head = f"{count(len(report.problems), 'problem')} of files"
        lines += [CheckLine(""), CheckLine(fitting([f"{head}: data that can't be read as spans", head], width))]
        lines += [line for problem in problems for line in _problem(problem, room)]
    if len(problems) < len(report.problems):
        more = len(report.problems) - len(problems)
        lines.append(CheckLine(f"and {more:,} more; spanview check --json prints them all"))
    return [*_told_apart(lines)]


def _finding(finding: Finding, room: int, *, is_open: bool) -> Iterator[CheckLine]:
    likely = " (likely)" if finding.certainty == "likely" else ""
    head, *rest = wrapped(f"{finding.kind} ×{finding.count:,}{likely}: {finding.detail}", room)
    yield CheckLine(head, finding.severity, finding)
    for text in (*rest, *wrapped(finding.advice.replace("`", ""), room, first="do: ", rest="    ")):
        yield CheckLine(text, None, finding)
    if finding.evidence:
        first = "the first " if len(finding.evidence) == MAX_PLACES < finding.count else ""
        places = f"{first}{count(len(finding.evidence), 'place')}"
        yield CheckLine(f"{_FOLDS[is_open]} {places}", None, finding)
        for place in finding.evidence if is_open else ():
            yield CheckLine(f"  {place_text(place)}", None, finding, place)


def _problem(problem: Problem, room: int) -> Iterator[CheckLine]:
    where = f"{problem.file} @ {problem.offset:,}: " if problem.file else ""
    head, *rest = wrapped(f"{problem.kind}: {where}{problem.detail}", room)
    yield CheckLine(head, problem.severity, problem=problem)
    for text in rest:
        yield CheckLine(text, problem=problem)


def _told_apart(lines: Iterable[CheckLine]) -> Iterator[CheckLine]:
    counts: Counter[Hashable] = Counter()
    for line in lines:
        of_finding = None if line.finding is None else line.finding.kind
        key: Hashable = of_finding, line.place, line.problem, line.text[:1] in _FOLDS
        if line.finding is None and line.problem is None:
            key = line.text
        yield replace(line, identity=(key, counts[key]))
        counts[key] += 1


def severity_text(line: CheckLine) -> str:
    """Return what stands before the text of a line: severity in a word and a mark, or blanks."""
    if line.severity is None:
        return " " * _SEVERITY if line.finding or line.problem else " "
    return f"{MARKS[line.severity]} {line.severity}".ljust(_SEVERITY)
