"""What is asked of all positions of a long trace at once is the same as one position after the other says."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from span_graphs import graphs
from spanview.tui.trace import stitched_bulk, stitched_trace
from spanview.tui.trace.stitched_trace import StitchedTrace
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document

FEWEST = "_NUMPY_FROM_NODES"


def answers(stitched: StitchedTrace, rows: set[int], names: range) -> list[list[int]]:
    """Return what a stitched says of some rows and of all names."""
    positions = stitched.positions_of_rows(rows)
    return [positions, stitched.with_all_above(positions), *map(stitched.positions_of_name, names)]


@given(graphs(), st.data())
def test_both_ways_say_the_same(documents: list[Document], data: st.DataObject) -> None:
    """Placeholders, circles and any rows included."""
    store = Growing(*documents).store
    names = range(len(store.names.texts))
    for trace in range(len(store.trace_table)):
        stitched = StitchedTrace(store, trace, store.tree(trace))
        rows = data.draw(st.sets(st.sampled_from(stitched.tree.rows)))
        with patch.object(stitched_trace, FEWEST, len(stitched.order) + 1):
            expected = answers(stitched, rows, names)
        with (
            patch.object(stitched_trace, FEWEST, 0),
            patch.object(stitched_bulk, "with_all_above", wraps=stitched_bulk.with_all_above) as called,
        ):
            assert answers(stitched, rows, names) == expected
        assert called.called
