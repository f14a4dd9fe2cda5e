"""Columns have small items as long as these hold what is in them.

column        as it is     numbers up to    then
------        --------     -------------    ----
empty         any          255              a byte each
filled        a byte       256              two bytes, the numbers stay
filled        wide         1                wide: what adds one by one goes on
of times      -            any              as it is
"""

from __future__ import annotations

import pytest

from spanview.index.room import make_ready
from spanview.index.table import SpanTable


@pytest.mark.parametrize("name", ["name", "offset"])
def test_items_grow_with_their_numbers(name: str) -> None:
    """And what was there stays."""
    spans, numbers = SpanTable(), [255, 256, 7, 65_535, 65_536]
    sizes = []
    for number in numbers:
        column = make_ready(spans, name, number)
        column.append(number)
        sizes.append(column.itemsize)
    assert (sizes, getattr(spans, name).tolist()) == ([1, 2, 2, 2, 4], numbers)


def test_only_what_is_empty_gets_smaller() -> None:
    """A column that was made wide for more rows stays so, and one that is none of these is let alone."""
    spans = SpanTable()
    spans.name.append(1)
    assert (make_ready(spans, "name", 1).typecode, make_ready(spans, "start_ns", 1).typecode) == ("I", "q")
    make_ready(spans, "source", 1).append(1)
    spans.widen()
    assert (spans.source.typecode, spans.source.tolist()) == ("I", [1])
