"""Spans as one list of Zipkin's, those of a trace together."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from spanview.exports.losses import CIRCLES
from spanview.exports.shares import shares_of_traces, written
from spanview.exports.walks import Above, spans_in_place
from spanview.formats.jsontext import dumps_reporting
from spanview.formats.zipkin.write import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store


def zipkin_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the spans of traces in their order as a list, each on a line of its own."""
    prefix = b"[\n"
    for piece in written(shares_of_traces(store, traces), partial(_spans, store), lose, between=b",\n"):
        yield prefix + piece
        prefix = b""
    yield b"[]\n" if prefix else b"\n]\n"


def _spans(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the spans of traces with a comma and a line feed between them."""
    between = b""
    for _, spans in groupby(spans_in_place(store, traces), itemgetter(0)):
        ids = set[str]()
        for _, span, above in spans:
            value = value_of(span, lose)
            if value is None:
                continue
            if value["id"] in ids and "shared" not in value:
                lose("wrote {span} with the id of another span, which Zipkin shows as one")
            ids.add(value["id"])
            if above is Above.CIRCLE and value.pop("parentId", None) is not None:
                lose(CIRCLES)
            yield between + dumps_reporting(value, lose)
            between = b",\n"
