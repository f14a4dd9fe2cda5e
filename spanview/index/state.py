"""An index as texts, numbers and columns of bytes, and back: for those who keep it outside of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.index.table import SpanTable, TraceTable

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Sequence

    from spanview.index.intake import Intake
    from spanview.model.problems import ProblemKind

_SPANS: Final = [*sorted({*SpanTable.__slots__} - {"span_id"}), "span_id"]
_TRACES: Final = [*sorted({*TraceTable.__slots__} - {"id_low"}), "id_low"]
"""Those come last by which a reader sees how many rows there are."""


def columns_of(intake: Intake) -> list[array[int]]:
    """Return the columns of an index, slots included."""
    intake.spans.widen()
    tables = [(intake.spans, _SPANS), (intake.traces, _TRACES)]
    columns = [getattr(table, name) for table, names in tables for name in names]
    return [*columns, intake.span_slots.table, intake.trace_slots.table]


def state_of(intake: Intake, kinds: Collection[ProblemKind]) -> dict[str, Any]:
    """Return what an index holds besides its columns and the numbers of its files, as JSON can say it.

    Args:
        intake: The index.
        kinds: Which problems belong to it.
    """
    return {
        "names": intake.names.texts,
        "services": intake.services.texts,
        "processes": intake.processes.texts.texts,
        "cut": [*intake.names.cut],
        "tallies": intake.tallies.state(kinds),
        "duplicates": [[*pair, number] for pair, number in intake.duplicates.items()],
        "unplaced": intake.unplaced,
        "scanned": [[run.start, run.stop] for run in intake.scanned],
        "moved": [*intake.moved],
        "used": [intake.span_slots.used, intake.trace_slots.used],
    }


def take_state(intake: Intake, state: dict[str, Any], columns: Sequence[array[int]]) -> None:
    """Fill an empty index with what another one held, to which nothing is added from then on.

    What only adding asks for, which records a span had before its end, isn't kept: with other records, files are read.

    Args:
        intake: The index; its files are those of the other one, in the same order.
        state: As `state_of` returns it.
        columns: As `columns_of` returns them; they are its own from now on.
    """
    *columns, span_slots, trace_slots = columns
    for text in state["names"]:
        _ = intake.names[text]
    intake.names.cut.update(state["cut"])
    for text in state["services"]:
        _ = intake.services[text]
    for text in state["processes"]:
        _ = intake.processes.texts[text]
    intake.tallies.take_state(state["tallies"])
    intake.take_duplicates({(kept, dropped): number for kept, dropped, number in state["duplicates"]})
    intake.unplaced = state["unplaced"]
    intake.span_slots.take(span_slots, state["used"][0])
    intake.trace_slots.take(trace_slots, state["used"][1])
    intake.scanned, intake.moved = [range(*run) for run in state["scanned"]], {*state["moved"]}
    targets = [(intake.spans, name) for name in _SPANS] + [(intake.traces, name) for name in _TRACES]
    for (table, name), column in zip(targets, columns, strict=True):
        setattr(table, name, column)
    if intake.changed is not None:
        intake.changed.append([*range(len(intake.traces))])
