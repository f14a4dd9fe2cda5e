"""Any spans, and any JSON in the shape of another format's records, for property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from builders import EPOCH_NS
from spanview.model.codes import KIND_NAMES
from spanview.model.span import Event, Link, Resource, Scope, Source, Span, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE: Final = Source("file", 0, 1)
TEXTS: Final = st.text(max_size=6) | st.sampled_from(
    ["a", "b", "event", "error", "true", "x|{}|1", '"a": {}', '{"a": {}}']
)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
SCALARS: Final = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXTS
TRACE_IDS: Final = st.sampled_from([f"{number:032x}" for number in (1, 2, 2**127, 2**64)])
SPAN_IDS: Final = st.sampled_from([f"{number:016x}" for number in (1, 2, 3, 2**63)])


def keys_but(*taken: str) -> st.SearchStrategy[str]:
    """Return names of attributes but for those that a format gives a meaning."""
    return TEXTS.filter(lambda key: key not in taken)


def times(unit: int) -> st.SearchStrategy[int]:
    """Return times in whole units of so many nanoseconds."""
    return st.integers(0, 2**40).map(lambda number: EPOCH_NS + number * unit)


@st.composite
def spans(
    draw: st.DrawFn,
    *,
    values: st.SearchStrategy[Any] = SCALARS,
    keys: st.SearchStrategy[str] = TEXTS,
    unit: int = 1,
    trace_ids: st.SearchStrategy[str] = TRACE_IDS,
) -> Span:
    """Draw a span with usable ids.

    Args:
        draw: Draws.
        values: Of attributes.
        keys: Of attributes.
        unit: Nanoseconds that times are in whole numbers of.
        trace_ids: Its own and those of its links.
    """
    attributes = st.dictionaries(keys, values, max_size=3)
    start = draw(times(unit))
    length = draw(st.integers(1, 2**40) | st.none())
    status = draw(st.sampled_from([Status(), Status(1), Status(2), Status(2, "broken"), Status(0, "why")]))
    events = st.builds(Event, TEXTS, times(unit), attributes)
    links = st.builds(Link, trace_ids, SPAN_IDS)
    return Span(
        trace_id=draw(trace_ids),
        span_id=draw(SPAN_IDS),
        parent_id=draw(SPAN_IDS | st.none()),
        name=draw(TEXTS),
        kind_value=draw(st.none() | st.integers(0, len(KIND_NAMES) - 1)),
        start_ns=start,
        end_ns=None if length is None else start + length * unit,
        status=status,
        attributes=draw(attributes),
        events=tuple(draw(st.lists(events, max_size=2))),
        links=tuple(draw(st.lists(links, max_size=2))),
        trace_state=draw(st.sampled_from([{}, {"a": "1"}, {"a": "1", "b@c": "2=3"}])),
        resource=Resource({"service.name": "web", **draw(attributes)}),
        scope=draw(st.sampled_from([None, Scope("lib"), Scope("lib", "1.0")])),
        extra=draw(st.sampled_from([{}, {"dropped_attributes_count": 3, "dropped_links_count": 1}])),
        source=SOURCE,
    )


def records(members: dict[str, st.SearchStrategy[Any]], *required: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with any of the members, each of its own kind or of any."""
    mixed = {key: value | JSON for key, value in members.items()}
    optional = {key: value for key, value in mixed.items() if key not in required}
    return st.fixed_dictionaries({key: mixed[key] for key in required}, optional=optional)


def by_id(some: Sequence[Span]) -> dict[str | None, Span]:
    """Return spans by their ids."""
    return {span.span_id: span for span in some}
