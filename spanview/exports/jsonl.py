"""The flat export: one span a line, the same object as in the trace tree, with its trace and without its children."""

from __future__ import annotations

import json
import re
from array import array
from operator import add
from typing import TYPE_CHECKING, Final

from spanview.analysis.selftime import self_times
from spanview.exports.shares import ALIKE_SHARES, shares_of_rows, written
from spanview.exports.span_texts import SpanTexts, are_many
from spanview.exports.tree_facts import TreeFacts
from spanview.formats.jsontext import dumps_strict, loads_exact
from spanview.formats.own.write import dumps_span, span_value
from spanview.formats.tags import ignore_loss
from spanview.model.problems import NO_WARNINGS, Warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.store import Store
    from spanview.model.span import Span

_AT_ONCE: Final = 8
"""So many times as long as with all others at once it takes to find out of one trace after the other."""
_NO_SELF_TIME: Final = 2**64 - 1
"""More than any two times are apart."""

_ACTED_ON: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f"  # C0 but for the line feed between two lines, DEL, C1
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # unseen, line ends, directions
    "\U000e0000-\U000e0fff]"  # tags
)
_HARMLESS: Final = re.compile(rb"[\n\x20-\x7e]*")


def line_of(span: Span, tree_warnings: Warnings = NO_WARNINGS, self_time_ns: int | None = None) -> bytes:
    """Return a span as one line of JSON, its line feed included, with what only its trace shows; a time may be None."""
    return dumps_span({"trace_id": span.trace_id, **span_value(span, self_time_ns, tree_warnings)}) + b"\n"


def indented(line: bytes) -> str:
    """Return a line of JSON on several lines; what nests too deep for that as it is."""
    try:
        return json.dumps(loads_exact(line), ensure_ascii=False, indent=2)
    except RecursionError:
        return line.decode().rstrip("\n")


def jsonl_chunks(
    store: Store,
    rows: Sequence[int],
    lose: Callable[[str], None] = ignore_loss,
    known: tuple[array[int], array[int], TreeFacts] | None = None,
    *,
    forks: bool = True,
) -> Iterator[bytes]:
    """Yield spans in the order of their rows as lines of JSON, some at a time; `known` is of `known_by_trees`."""
    own, warnings, facts = known or known_by_trees(store, rows, forks=forks)
    trace_of, table, alike = store.spans.trace, store.trace_table, None
    if are_many(store, len(rows)):
        from spanview.exports.alike_texts import AlikeTexts

        alike = AlikeTexts(store)

    def write(share: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
        numbers = {*map(trace_of.__getitem__, share)}
        ids = {trace: b'}\n{"trace_id":%b,' % dumps_strict(table.hex_id(trace)) for trace in numbers}
        *suffixes, last = map(facts.suffix, share)
        prefixes = [*map(ids.__getitem__, map(trace_of.__getitem__, share))]
        prefixes = [prefixes[0].removeprefix(b"}\n"), *map(add, suffixes, prefixes[1:])]
        own_times = [None if time == _NO_SELF_TIME else time for time in map(own.__getitem__, share)]
        plain, of_trees = SpanTexts(store, lose), (own_times, [*map(warnings.__getitem__, share)])
        yield from (
            alike.joined(plain, prefixes, share, *of_trees) if alike else plain.joined(prefixes, share, *of_trees)
        )
        yield last + b"}\n"

    return written(shares_of_rows(rows, ALIKE_SHARES if alike else 1), write, lose, forks=forks)


def known_by_trees(
    store: Store, rows: Sequence[int], *, forks: bool = True
) -> tuple[array[int], array[int], TreeFacts]:
    """Return for each row of the table its self time, more than 63 bits for none, the warnings of its tree, and facts.

    A file has spans in the order of their ends, traces mixed; so every trace is stitched once, beforehand.
    """
    spans = store.spans
    facts = TreeFacts.of(store, [*dict.fromkeys(map(spans.trace.__getitem__, rows))], forks=forks)
    if not store.is_growing and len(rows) * _AT_ONCE >= len(spans):
        from spanview.analysis.walk import of_all

        times, have, warned = of_all(store)
        known = times.astype("u8")
        known[~have] = _NO_SELF_TIME
        return array("Q", known.tobytes()), array("H", warned.tobytes()), facts
    own = array("Q", [_NO_SELF_TIME]) * len(spans)
    warnings = array("H", [0]) * len(spans)
    for tree in map(store.tree, {*map(spans.trace.__getitem__, rows)}):
        for row, self_time in zip(tree.rows, self_times(tree, spans), strict=False):
            if self_time is not None:
                own[row] = self_time
        for node, of_tree in tree.warned().items():
            warnings[tree.rows[node]] = of_tree.value
    return own, warnings, facts


def escape_for_terminal(data: bytes) -> bytes:
    r"""Return whole JSON documents with `\u` escapes for what a terminal acts on or doesn't show.

    That is control characters, C1 included, and characters of zero width, line ends and changes of the direction of
    writing. Between tokens there must be no white space but spaces and line feeds, as all exports have it: everything
    else can only be inside a string, where the escape is the same string.
    """
    if _HARMLESS.fullmatch(data):
        return data
    return _ACTED_ON.sub(_escape, data.decode("utf-8", "replace")).encode()


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[index] << 8 | units[index + 1]:04x}" for index in range(0, len(units), 2))
