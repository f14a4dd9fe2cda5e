"""What is asked of all positions of a trace at once is the same as one position after the other says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from span_graphs import graphs
from spanview.index.table import NO_ROW
from spanview.tui.trace.stitched_trace import StitchedTrace
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document


@given(graphs(), st.data())
def test_many_positions(documents: list[Document], data: st.DataObject) -> None:
    """Those of some spans, of what stands above them, and of each name; placeholders and circles included."""
    store = Growing(*documents).store
    for trace in range(len(store.trace_table)):
        stitched = StitchedTrace(store, trace, store.tree(trace))
        rows = data.draw(st.sets(st.sampled_from(stitched.tree.rows)))
        places = [*enumerate(stitched.rows)]
        positions = [position for position, row in places if row in rows]
        assert stitched.positions_of_rows(rows) == positions
        above = {stitched.position[node] for at in positions for node in stitched.with_those_above(stitched.order[at])}
        assert stitched.with_all_above(positions) == sorted(above)
        for name in range(len(store.names.texts)):
            named = [position for position, row in places if row != NO_ROW and store.spans.name[row] == name]
            assert stitched.positions_of_name(name) == named
