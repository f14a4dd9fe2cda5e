"""What `check` finds, as a table."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from spanview.reports.report import Report
from spanview.reports.table import INTEGER, Table, counted, fact, sentences, worded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diagnosis.finding import Finding
    from spanview.reports.table import TableColumn

_PLACE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"trace_id": {}, "span_id": {}, "file": {}, "offset": INTEGER},
}


def _word(head: str, name: str, meaning: str, width: int) -> TableColumn[Finding]:
    return worded(head, name, meaning, lambda finding: str(getattr(finding, name)), width)


def _advice(finding: Finding) -> str:
    return finding.advice.replace("`", "")


def findings_table() -> Table[Finding]:
    """Return the columns of findings; the most severe ones come first."""
    return Table(
        (
            _word("KIND", "kind", "what was found; the page check explains each kind", 18),
            _word("SEVERITY", "severity", "how bad it is: error, warning or info", 9),
            _word("CERTAINTY", "certainty", "how sure it is: certain or likely", 10),
            counted("COUNT", "count", "how often", attrgetter("count")),
            sentences("DETAIL", "detail", "what it is, with the numbers", attrgetter("detail")),
            fact("advice", "what to do about it", {"type": "string"}, _advice),
            fact(
                "evidence",
                "the first places where it was found",
                {"type": "array", "items": _PLACE},
                lambda finding: [place.to_json() for place in finding.evidence],
            ),
        )
    )


def findings_report(findings: Sequence[Finding], nothing: str = "") -> Report[Finding]:
    """Return findings as a table, in their order."""
    return Report("findings", findings_table(), findings, nothing=nothing)
