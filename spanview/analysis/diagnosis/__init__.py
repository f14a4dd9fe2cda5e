"""Why a folder looks the way it does: what was found, with its evidence, and what to do about it.

columns, tallies, problems ──> facts ──> a detector a kind ──> findings, most severe first
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis import calls, files, serve, traces
from spanview.analysis.diagnosis.facts import Facts
from spanview.analysis.diagnosis.finding import RULES, Finding, Kind
from spanview.analysis.telling import unheard
from spanview.model.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_MODULES: Final = (calls, serve, files, traces)
_BY_SEVERITY: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def _detector(kind: Kind) -> Callable[[Facts], Finding | None]:
    """Return what finds a kind: the function of its name."""
    detect: Callable[[Facts], Finding | None] = next(
        getattr(module, kind.value) for module in _MODULES if hasattr(module, kind.value)
    )
    return detect


DETECTORS: Final = {kind: _detector(kind) for kind in RULES}


def diagnose(store: Store, tell: Tell = unheard) -> list[Finding]:
    """Return what was found in a store, the most severe first; it may grow meanwhile.

    Args:
        store: The store.
        tell: Told how far it is.
    """
    facts = Facts(store)
    findings = []
    for number, detect in enumerate(DETECTORS.values()):
        tell(number / len(DETECTORS))
        finding = detect(facts)
        if finding is not None:
            findings.append(finding)
    return sorted(findings, key=lambda finding: _BY_SEVERITY.index(finding.severity))
