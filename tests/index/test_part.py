"""Some traces of a store as a store of their own.

store    trace 1: x…x, 9,000 characters    trace 2: y
part     trace 1: x…x
"""

from __future__ import annotations

from builders import Builder, store_of
from spanview.index.part import part_of


def test_long_names_stay_what_they_are() -> None:
    """A name that the tables don't hold whole is the same text in both, and is read whole from its record."""
    build = Builder()
    store = store_of(build.span("x" * 9_000, trace=1), build.span("y", trace=2))
    part = part_of(store, [0])
    assert part.names.texts == store.names.texts[:1]
    assert part.span(0).name == "x" * 9_000
