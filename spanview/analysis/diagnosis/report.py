"""What `check` reports: what was read, what was found, the most severe first, and the problems of files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis import calls, files, serve, traces
from spanview.analysis.diagnosis.facts import Facts
from spanview.analysis.diagnosis.finding import SESSION, Finding, Kind
from spanview.analysis.ray.names import session_in
from spanview.analysis.ray.unended import NO_UNENDED
from spanview.analysis.telling import unheard
from spanview.model.problems import Severity, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.model.problems import Problem

_MODULES: Final = (calls, serve, files, traces)
_SESSION: Final = re.compile(r"((?:.*/)?session_[^/]+)/logs/")
"""As in `/tmp/ray/session_2026-11-22_17-49-44_1_9505/logs/serve/spans/proxy_192.0.2.2_tracing.json`."""
_BY_SEVERITY: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


DETECTORS: Final[dict[Kind, Callable[[Facts], Finding | None]]] = {
    kind: next(getattr(module, kind) for module in _MODULES if hasattr(module, kind)) for kind in Kind
}
"""What finds each kind: the function of its name."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `check` reports."""

    summary: Summary
    findings: Sequence[Finding]
    """The most severe first."""
    problems: Sequence[Problem]
    """By path and offset."""
    running: int = 0
    """How many spans have no end because they run, which is no finding."""
    open_calls: frozenset[int] = frozenset()
    """The rows of calls that have no attempt yet and may still run, which is no finding either."""


def diagnose(
    store: Store,
    tell: Tell = unheard,
    session: str = SESSION,
    unended: Mapping[int, Unended] = NO_UNENDED,
    given: Sequence[str] = (),
) -> Diagnosis:
    """Return what a store holds and what is wrong with it; it may grow meanwhile.

    Args:
        session: The folder of Ray's latest session, which advice names where neither paths nor spans name another.
        unended: What has become of spans without an end, by row, as far as that was asked.
        given: The PATHs that were given, which commands in advice are to read; none for the default places.
    """
    facts = Facts(store, unended)
    sessions = {folder for path, _ in facts.files if (folder := session_of(path))}
    findings = []
    for number, detect in enumerate(DETECTORS.values()):
        tell(number / len(DETECTORS))
        finding = detect(facts)
        if finding is not None and finding.count:
            own = _named_by(finding, store, session) or (min(sessions) if len(sessions) == 1 else session)
            findings.append(replace(finding, session=own, given=given))
    findings.sort(key=lambda finding: _BY_SEVERITY.index(finding.severity))
    return Diagnosis(_summary(facts), findings, facts.problems, facts.running, facts.open_calls)


def spans_in_finding(store: Store, kind: Kind) -> frozenset[int]:
    """Return the rows of the spans that a finding of one of `OF_SPANS` counts; none where there is no such finding."""
    finding = DETECTORS[kind](Facts(store))
    return frozenset() if finding is None else frozenset(finding.rows)


def _named_by(finding: Finding, store: Store, latest: str) -> str:
    """Return the folder of the Ray session, beside the latest one, that paths or spans name; empty if none does.

    Spans name it rather than a path by the link to the latest one, which may be another by now.
    """
    of_path = next(filter(None, (session_of(place.file) for place in finding.evidence)), "")
    if of_path and not of_path.endswith("/session_latest"):
        return of_path
    rows = (place.row for place in finding.evidence if place.row >= 0)
    session = next(filter(None, (session_in(store.span(row).resource.attributes) for row in rows)), "")
    return session if "/" in session else f"{(of_path or latest).rpartition('/')[0]}/{session}" if session else of_path


def session_of(path: str) -> str:
    """Return the folder of the Ray session that a path leads into; empty where it leads into none."""
    match = _SESSION.match(path)
    return match[1] if match else ""


def _summary(facts: Facts) -> Summary:
    """Return what `Store.summary` counts, as of the facts."""
    tallies = facts.store.tallies
    return Summary(
        files=len(facts.files),
        bytes=sum(file.bytes for _, file in facts.files),
        spans=facts.size,
        traces=facts.trace_count,
        roots=int(facts.are_roots.sum()),
        missing_parents=len(facts.orphans),
        duplicates=tallies.duplicates,
        torn=tallies.torn,
        skipped=tallies.skipped,
    )
