"""Spans as one list of Zipkin's, those of a trace together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.exports.gathered import gathered
from spanview.exports.losses import CIRCLES
from spanview.exports.walks import Above, spans_in_place
from spanview.formats.jsontext import dumps_telling
from spanview.formats.zipkin_value import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store


def zipkin_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the spans of traces as a list, each on a line of its own.

    Args:
        store: Where the traces are.
        traces: Their numbers, in the order in which they are to be written.
        lose: Takes note of what can't be said.
    """
    return gathered(_parts(store, traces, lose))


def _parts(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    before = b"[\n"
    for trace in traces:
        seen = set[str]()
        for span, above in spans_in_place(store, trace):
            value = value_of(span, lose)
            if value is None:
                continue
            if value["id"] in seen and "shared" not in value:
                lose("spans with the id of another one, which Zipkin shows as one")
            seen.add(value["id"])
            if above is Above.CIRCLE and value.pop("parentId", None) is not None:
                lose(CIRCLES)
            yield before + dumps_telling(value, lose)
            before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"
