"""An index as texts, numbers and columns of bytes, and back: for those who keep it outside of this process."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.index.documents import HeldRecords
from spanview.index.intake import Intake
from spanview.index.table import NO_ROW, SpanTable, TraceTable
from spanview.index.tallies import MAX_PAIRS
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Mapping, Sequence, Sized

    from spanview.index.slots import Slots

_SPANS: Final = [*sorted({*SpanTable.__slots__} - {"span_id"}), "span_id"]
_TRACES: Final = [*sorted({*TraceTable.__slots__} - {"id_low"}), "id_low"]
"""Columns by which a reader sees how many rows there are come last."""
_TOO_MANY: Final = 2**63
"""Of bytes, and of what is counted in them."""


def columns_of(intake: Intake) -> list[array[int]]:
    """Return the columns of an index, slots included."""
    intake.spans.widen()
    tables = [(intake.spans, _SPANS), (intake.traces, _TRACES)]
    columns = [getattr(table, name) for table, names in tables for name in names]
    return [*columns, intake.span_slots.table, intake.trace_slots.table]


def state_of(intake: Intake, kinds: Collection[ProblemKind]) -> dict[str, Any]:
    """Return what an index holds besides its columns and the numbers of its files, as JSON can say it."""
    return {
        "names": intake.names.texts,
        "services": intake.services.texts,
        "processes": intake.processes.texts.texts,
        "cut": sorted(intake.names.cut),
        "tallies": intake.tallies.state(kinds),
        "duplicates": [[*pair, number] for pair, number in intake.duplicates.items()],
        "unplaced": intake.unplaced,
        "scanned": [[run.start, run.stop] for run in intake.scanned],
        "moved": sorted(intake.moved),
        "used": [intake.span_slots.used, intake.trace_slots.used],
    }


def is_sound(state: Any, columns: Sequence[array[int]], sizes: Mapping[str, int]) -> bool:
    """Tell whether a state that may have come from anywhere is one, and goes with its columns and files.

    Raises:
        ArithmeticError, AttributeError, LookupError, TypeError, ValueError: It is none.
    """
    trial = Intake(HeldRecords(()))
    for path in sizes:
        trial.add_source(path)
    take_state(trial, state, columns)
    # What isn't there again was left out, or is of another type.
    if _text_of(state_of(trial, [*ProblemKind])) != _text_of(state):
        return False
    spans, traces, tallies = trial.spans, trial.traces, trial.tallies
    rows, unplaced = range(len(spans)), trial.unplaced
    files, problems = dict(tallies.each_file()), tallies.unsorted_problems()
    tables = ((spans, _SPANS), (traces, _TRACES))
    numbered = (
        *((spans.name, trial.names.texts), (spans.service, trial.services.texts), (spans.source, trial.sources)),
        *((spans.process, trial.processes.texts.texts), (spans.trace, traces)),
    )
    said = [file.first_unwritten for file in files.values() if file.first_unwritten is not None]
    texts = chain(
        *(trial.names.texts, trial.services.texts, trial.processes.texts.texts),
        (file.first_skipped[-1] for file in files.values()),
        (each.reason for each in said),
        (problem.detail for problem in problems),
    )
    numbers = chain(
        (tallies.duplicates, tallies.torn, tallies.skipped, trial.span_slots.used, trial.trace_slots.used),
        *((file.records, file.gaps, file.skipped, *file.first_skipped[:-1], file.inspected) for file in files.values()),
        *((file.repeated, file.fragments, file.content, *file.pids) for file in files.values()),
        *((file.events, file.unwritten) for file in files.values()),
        *((each.offset, each.time_ns, each.count) for each in said),
        *((problem.offset, problem.length) for problem in problems),
        trial.duplicates.values(),
    )
    return (
        all(type(text) is str for text in texts)
        and all(type(number) is int and 0 <= number < _TOO_MANY for number in numbers)
        and all(type(file.has_text) is bool for file in files.values())
        and all(len({len(getattr(table, name)) for name in names}) == 1 for table, names in tables)
        and all(_largest(column) < max(1, len(texts)) for column, texts in numbered)
        and _is_table_of(trial.span_slots, trial.spans)
        and _is_table_of(trial.trace_slots, trial.traces)
        and (unplaced == NO_ROW or traces.trace_id(unplaced) == 0)
        and trial.names.cut <= {*range(len(trial.names.texts))}
        and all(row in rows for row in trial.moved)
        and all(0 <= run.start <= run.stop <= len(rows) for run in trial.scanned)
        and {path: file.bytes for path, file in files.items()} == dict(sizes)
        and tallies.records >= len(rows) + tallies.duplicates
        and tallies.skipped == sum(file.skipped for file in files.values())
        and tallies.torn == sum(problem.kind is ProblemKind.TORN for problem in problems)
        and all(sum(file.first_skipped[:-1]) <= sizes[path] for path, file in files.items())
        and all(problem.offset <= sizes[problem.file] for problem in problems)
        and {path for pair in trial.duplicates for path in pair} <= {*sizes}
        and (len(trial.duplicates) >= MAX_PAIRS or sum(trial.duplicates.values()) == tallies.duplicates)
    )


def _text_of(state: Any) -> str:
    return json.dumps(state, sort_keys=True)


def _is_table_of(slots: Slots, table: Sized) -> bool:
    """Tell whether rows of a table, as many as are used, may be in slots, of which there is a power of two."""
    size = len(slots.table)
    return size.bit_count() == 1 and slots.used <= len(table) < size and _largest(slots.table) <= len(table)


def _largest(column: array[int]) -> int:
    """Return the largest number in a column, 0 where there is none."""
    return int(np.asarray(column).max(initial=0))


def take_state(intake: Intake, state: dict[str, Any], columns: Sequence[array[int]]) -> None:
    """Fill an empty index with what another one held, to which nothing is added from then on.

    What only adding asks for, which records a span had before its end, isn't kept: with other records, files are read.

    Args:
        intake: The index; its files are those of the other one, in the same order.
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
