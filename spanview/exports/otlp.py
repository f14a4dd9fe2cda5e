"""OTLP's JSON, a line a trace, or several where it is large: what the collector and all that speaks OTLP takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.exports.gathered import gathered
from spanview.exports.walks import spans_of_trace
from spanview.formats.otlp_out import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.formats.otlp_value import Lose
    from spanview.index.store import Store


def otlp_chunks(store: Store, traces: Sequence[int], lose: Lose) -> Iterator[bytes]:
    """Yield some traces as lines of JSON, some lines at a time.

    Args:
        store: Where the traces are.
        traces: Their numbers, in the order in which they are to be written.
        lose: Takes note of what can't be said.
    """
    return gathered(line for trace in traces for line in lines_of(spans_of_trace(store, trace), lose))
