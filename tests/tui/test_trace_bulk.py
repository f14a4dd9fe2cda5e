"""What is asked of all places of a long trace at once is the same as one place after the other says."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from span_graphs import graphs
from spanview.tui.trace import trace_bulk, trace_shape
from spanview.tui.trace.trace_shape import Shape
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document

FEWEST = "_BULK"


def answers(shape: Shape, rows: set[int], names: range) -> list[list[int]]:
    """Return what a shape says of some rows and of all names."""
    places = shape.places_of_rows(rows)
    return [places, shape.with_all_above(places), *map(shape.places_of_name, names)]


@given(graphs(), st.data())
def test_both_ways_say_the_same(documents: list[Document], data: st.DataObject) -> None:
    """Placeholders, circles and any rows included."""
    store = Growing(*documents).store
    names = range(len(store.names.texts))
    for trace in range(len(store.trace_table)):
        shape = Shape(store, trace, store.tree(trace))
        rows = data.draw(st.sets(st.sampled_from(shape.tree.rows)))
        with patch.object(trace_shape, FEWEST, len(shape.order) + 1):
            expected = answers(shape, rows, names)
        with (
            patch.object(trace_shape, FEWEST, 0),
            patch.object(trace_bulk, "with_all_above", wraps=trace_bulk.with_all_above) as called,
        ):
            assert answers(shape, rows, names) == expected
        assert called.called
