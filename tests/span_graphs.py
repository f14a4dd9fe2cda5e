"""Random spans for property tests: whole traces, forests, and graphs with every fault that ids and times can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from builders import Builder

if TYPE_CHECKING:
    from builders import Document

_STARTS = st.integers(0, 40)
_DURATIONS = st.one_of(st.none(), st.integers(-3, 30))


@st.composite
def whole_traces(draw: st.DrawFn, *, most: int = 12, is_nested: bool = False) -> list[Document]:
    """Draw one trace with a root, whose spans start no earlier than their parents.

    Args:
        draw: Of the strategy.
        most: So many spans at most.
        is_nested: Whether children take some time and end with their parents at the latest, rather than any time.
    """
    builder, documents = Builder(), []
    times: list[tuple[int, int]] = []
    for number in range(draw(st.integers(1, most))):
        parent = draw(st.integers(0, number - 1)) if number else None
        start, end = (0, 60) if parent is None else times[parent]
        if is_nested:
            begin = draw(st.integers(start, end - 1))
            length = draw(st.integers(1, end - begin))
        else:
            begin, length = start + draw(st.integers(0, 25)), draw(st.integers(0, 15))
        times.append((begin, begin + length))
        documents.append(
            builder.span(
                draw(st.sampled_from("abc")),
                parent=None if parent is None else parent + 1,
                start=begin,
                duration=length,
                kind=draw(st.sampled_from(("PRODUCER", "CONSUMER", "INTERNAL"))),
            )
        )
    return draw(st.permutations(documents))


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


@st.composite
def programs(draw: st.DrawFn, *, traces: int = 3, most: int = 20) -> list[Document]:
    """Draw traces of Ray calls, requests of Serve and others, that overlap, outlive parents, are tried again or run."""
    builder, documents = Builder(), []
    known: dict[int, list[tuple[int | None, str, int]]] = {}
    for number in range(1, draw(st.integers(1, most)) + 1):
        trace = draw(st.integers(1, traces))
        above = known.setdefault(trace, [])
        parent, over, begun = draw(st.sampled_from(above or [(None, "", 0)]))
        name = draw(st.sampled_from([*_PROGRAM]))
        if over in _BELOW and draw(st.booleans()):
            name = _BELOW[over]
        start = max(0, begun + draw(st.integers(-1, 9)))
        documents.append(
            builder.span(
                name,
                trace=trace,
                span=number,
                parent=draw(st.sampled_from((parent, parent, parent, parent, 999, None))),
                start=start,
                duration=draw(st.one_of(st.none(), st.integers(-1, 25), st.integers(0, 5))),
                kind=_PROGRAM[name],
                status=draw(st.sampled_from(("UNSET", "UNSET", "ERROR"))),
                attributes={"ray.task_id": "t", "ray.attempt": draw(st.integers(0, 1))},
            )
        )
        above.append((number, name, start))
    return draw(st.permutations(documents))


_PROGRAM = {
    "m.f ray.remote": "PRODUCER",
    "m.f ray.remote_worker": "CONSUMER",
    "A.__init__ ray.remote": "PRODUCER",
    "A.__init__ ray.remote_worker": "CONSUMER",
    "proxy_http_request App GET /": "SERVER",
    "route_to_replica App __call__": "SERVER",
    "replica_handle_request App __call__": "SERVER",
    "a": "INTERNAL",
    "b": "CLIENT",
    "c": "CONSUMER",
}
"""Names and kinds."""
_BELOW = {
    "m.f ray.remote": "m.f ray.remote_worker",
    "A.__init__ ray.remote": "A.__init__ ray.remote_worker",
    "proxy_http_request App GET /": "route_to_replica App __call__",
    "route_to_replica App __call__": "replica_handle_request App __call__",
    "replica_handle_request App __call__": "route_to_replica App __call__",
}
"""What is mostly below a span."""
