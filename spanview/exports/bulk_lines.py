"""The lines of the flat export, very many spans at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanview.analysis.bulk_walk import of_all
from spanview.exports.bulk_texts import BulkTexts
from spanview.exports.jsonl import trace_text
from spanview.exports.pieces import texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.exports.pieces import Texts
    from spanview.index.store import Store


def lines(store: Store, rows: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield lines, many at a time.

    Args:
        store: Where the spans are; it must not grow meanwhile.
        rows: Their rows.
        lose: Takes note of what JSON can't say.
    """
    chosen, table = np.array(rows, np.int64), store.trace_table
    own, have, warned = of_all(store)
    traces = np.asarray(store.spans.trace)[chosen]

    def before(first: int, last: int) -> Texts:
        different, which = np.unique(traces[first:last], return_inverse=True)
        texts = [b"}\n" + trace_text(table.trace_id(trace)) for trace in different.tolist()]
        if not first:
            which[0], texts = len(texts), [*texts, texts[which[0]][2:]]
        return texts_of(texts)[which]

    yield from BulkTexts(store, lose).chunks(chosen, own[chosen], have[chosen], warned[chosen], before)
    yield b"}\n"
