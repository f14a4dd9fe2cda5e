"""What a page of `--format html` carries, unpacked."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING, Any, Final

import pytest

from spanview.exports import html
from spanview.exports.losses import Losses
from spanview.exports.surroundings import Surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store

_BLOCK: Final = re.compile(rb'<script type="text/plain" data-kind="(\w+)" data-first="(\d+)">([\w+/=]+)</script>\n')


def blocks_of(page: bytes) -> list[tuple[str, int, Any]]:
    """Return what a page carries: the kind of each block, the number of its first span, and its value."""
    return [
        (kind.decode(), int(first), json.loads(zlib.decompress(base64.b64decode(text))))
        for kind, first, text in _BLOCK.findall(page)
    ]


def open_page(store: Store, *names: str) -> bytes:
    """Return the page of a store, which has names of its script in `inside`, as it hasn't else."""
    with pytest.MonkeyPatch.context() as patch:
        script = html.script_text().rpartition("})();")[0]
        patch.setattr(html, "script_text", lambda: f"{script}globalThis.inside = {{ {', '.join(names)} }};\n}})();\n")
        chunks = html.html_chunks(store, store.traces_in_order(), Losses("html"), Surroundings(_unended))
        return b"".join(chunks)


def _unended(store: Store) -> Mapping[int, Unended]:
    """Return what processes say of spans without an end, as a command asks them."""
    return {} if store.ask_lives is None else store.ask_lives(store).unended()
