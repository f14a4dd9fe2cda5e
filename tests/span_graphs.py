"""Random spans for property tests: forests without a fault, and graphs with every fault that ids and times can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from builders import Builder

if TYPE_CHECKING:
    from builders import Document

_STARTS = st.integers(0, 40)
_DURATIONS = st.one_of(st.none(), st.integers(-3, 30))


@st.composite
def forests(draw: st.DrawFn, *, traces: int = 3, most: int = 12) -> list[Document]:
    """Draw spans with ids of their own, whose parents were drawn before them or exist in no file; in any order."""
    builder, documents = Builder(), []
    ids: dict[int, list[int]] = {}
    for number in range(1, draw(st.integers(1, most)) + 1):
        trace = draw(st.integers(1, traces))
        known = ids.setdefault(trace, [])
        documents.append(
            builder.span(
                draw(st.sampled_from("abc")),
                trace=trace,
                span=number,
                parent=draw(st.one_of(st.none(), st.sampled_from([*known, 1000 + trace]))),
                start=draw(_STARTS),
                duration=draw(_DURATIONS),
                kind=draw(st.sampled_from(("INTERNAL", "SERVER"))),
                status=draw(st.sampled_from(("OK", "ERROR"))),
                service=draw(st.sampled_from(("", "cart"))),
            )
        )
        known.append(number)
    return draw(st.permutations(documents))


@st.composite
def graphs(draw: st.DrawFn, *, most: int = 12) -> list[Document]:
    """Draw spans whose ids and parents are anything: doubled, missing, in circles, all zero; all spans differ."""
    builder = Builder()
    ids = st.integers(0, most)
    return [
        builder.span(
            f"span {number}",
            trace=draw(st.integers(0, 2)),
            span=draw(ids),
            parent=draw(st.one_of(st.none(), ids)),
            start=draw(_STARTS),
            duration=draw(_DURATIONS),
        )
        | ({"start_time": None} if draw(st.integers(0, 4)) == 0 else {})
        for number in range(draw(st.integers(1, most)))
    ]
