"""What gates found, as a table: `check --fail-on`, `diff --fail-on`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from spanview.analysis.query.aggregate import RATE
from spanview.display.sanitise import sanitise
from spanview.display.units import amount, duration
from spanview.reports.report import Report
from spanview.reports.table import INTEGER, NUMBER, TEXT, Table, fact, sentences, worded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.query.aggregate import Aggregate
    from spanview.analysis.query.values import Number


class GateOutcome(StrEnum):
    """How a gate ended."""

    FAILED = "failed"
    PASSED = "passed"
    NO_SPANS = "no_spans"
    """Nothing could have failed it."""
    NOISE = "noise"
    """A change that the spread of both sides explains."""
    TOO_FEW = "too_few"
    """Too few spans to tell a change from noise."""


STYLES: Final = {GateOutcome.FAILED: "error", GateOutcome.NO_SPANS: "error", GateOutcome.TOO_FEW: "warning"}
"""Of outcomes that need a look."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate, or one group of spans that a gate compares."""

    gate: str
    """As it was given."""
    outcome: GateOutcome
    detail: str
    """One sentence without an end: the figures, or why there are none."""
    spans: int
    """How many the figure is of; of two sides, those of B."""
    value: Number | None = None
    """The figure; of two sides, that of B. None where there is none."""
    baseline: Number | None = None
    """Of two sides, the figure of A."""
    group: str | None = None
    """The group of spans, where a gate compares each."""


def amount_text(aggregate: Aggregate, value: Number | None) -> str:
    """Return a figure with its unit."""
    if value is None:
        return "–"
    if aggregate.is_time:
        return duration(round(value))
    return f"{100 * value:.3g}%" if aggregate.function == RATE else amount(value)


def gates_table() -> Table[GateRow]:
    """Return the columns of gates."""
    return Table(
        (
            worded(
                "OUTCOME",
                "outcome",
                "how it ended: failed, passed, no_spans, noise or too_few",
                lambda row: row.outcome.value,
                9,
                text=lambda row: row.outcome.value.replace("_", " "),
                style=lambda row: STYLES.get(row.outcome, ""),
                gap=0,
            ),
            worded(
                "GATE",
                "gate",
                "the gate as it was given",
                attrgetter("gate"),
                24,
                text=lambda row: sanitise(row.gate),
                gap=0,
            ),
            fact("group", "the spans compared, where each group is; else null", TEXT, attrgetter("group")),
            fact("value", "its figure, of B in a comparison; times in nanoseconds", NUMBER, attrgetter("value")),
            fact("baseline", "the figure of A in a comparison; else null", NUMBER, attrgetter("baseline")),
            fact("spans", "how many spans the figure is of", INTEGER, attrgetter("spans")),
            sentences(
                "DETAIL",
                "detail",
                "the figures in words, or why there are none",
                lambda row: f"{row.group}: {row.detail}" if row.group else row.detail,
                json=attrgetter("detail"),
            ),
        )
    )


def gates_report(rows: Sequence[GateRow]) -> Report[GateRow]:
    """Return gates as a table, in their order."""
    return Report("gates", gates_table(), rows)
