"""Traces as one page for a browser: a single file that asks nothing of anybody, and draws what Python has found out.

The page's own files, in `page/`, are plain sources: they are put together here, with what they show between them.
"""

from __future__ import annotations

import base64
import hashlib
from functools import reduce
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from spanview.display.shades import COLORS
from spanview.display.units import count
from spanview.exports.page.asked import asked
from spanview.exports.page.columns import Columns
from spanview.exports.page.conclusions import conclusions
from spanview.exports.page.details import AlikeDetails, detail_blocks
from spanview.exports.page.language import language
from spanview.exports.page.packed import block, encoded, packed
from spanview.exports.shares import ALIKE_SHARES, in_shares, shares_of_rows
from spanview.exports.span_texts import are_many
from spanview.exports.surroundings import Surroundings
from spanview.index.memory import without_collector
from spanview.model.problems import ExportError
from spanview.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spanview.index.store import Store

MAX_SPANS: Final = 200_000
"""Spans of a page."""
_OVERVIEW, _CONCLUSIONS, _ROWS = _WHOLE = (-3,), (-2,), (-1,)
"""The shares of a page that are of all its traces; the others are positions of rows."""
_DATA: Final = "<!-- data -->"
"""Where the page has what it shows."""


def html_chunks(
    store: Store,
    traces: Sequence[int],
    lose: Callable[[str], None],
    around: Surroundings = Surroundings(),  # noqa: B008 - frozen
) -> Iterator[bytes]:
    """Yield the page of some traces.

    Raises:
        ExportError: There are more spans than a browser shows at ease.
    """
    spans = sum(map(store.trace_table.span_count.__getitem__, traces))
    if spans > MAX_SPANS:
        raise ExportError(
            f"{count(spans, 'span')}, but a page has room for {MAX_SPANS:,}: "
            "select fewer with a filter, -q, --since or --trace"
        )
    return _chunks(store, traces, lose, around)


def _chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None], around: Surroundings) -> Iterator[bytes]:
    before, behind = _page().split(_DATA)
    yield before.encode()
    with without_collector():
        # It makes many lists, and no circle of them.
        unended = around.unended_in(store)
        columns = Columns(store, traces, unended)
    # The same rows, also where more came meanwhile.
    rows = columns.span_rows
    alike = AlikeDetails(store) if are_many(store, len(rows)) else None

    def written_of(share: Sequence[int], lose: Callable[[str], None]) -> Iterable[bytes]:
        if share not in _WHOLE:
            return detail_blocks(store, rows, alike, share, lose)
        with without_collector():
            if share is _OVERVIEW:
                kind, value = "overview", {"version": __version__, "colors": COLORS, **columns.overview(lose)}
            elif share is _CONCLUSIONS:
                kind, value = "conclusions", conclusions(store, traces, around, unended, columns)
            else:
                queried = {"language": language(), "asked": asked(store, traces, unended, columns)}
                kind, value = "rows", columns.rows | queried
            return [block(kind, encoded(value, lose))]

    shares = [*_WHOLE, *shares_of_rows(range(len(rows)), ALIKE_SHARES if alike else 1)]
    for pieces in in_shares(shares, written_of, lose, alone=len(_WHOLE) - 1):
        yield from filter(None, pieces)
    yield behind.encode()


def _page() -> str:
    """Return the page without data, with its style and its scripts, and with a policy that allows nothing else."""
    page, style, starter, script = _file("page.html"), _file("page.css"), _file("start.js"), script_text()
    policy = (
        f"default-src 'none'; script-src '{_digest(starter)}' '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {"{policy}": policy, "{style}": style, "{script}": packed(script.encode(), 9).decode(), "{start}": starter}
    return reduce(lambda text, part: text.replace(*part), parts.items(), page)


def script_text() -> str:
    """Return the script of a page."""
    parts = ("query.js", "flame.js")
    return reduce(lambda text, name: text.replace(f"/* {{{name}}} */", _file(name)), parts, _file("page.js"))


def _file(name: str) -> str:
    return files("spanview.exports.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return how a content security policy names a script or a style of exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
