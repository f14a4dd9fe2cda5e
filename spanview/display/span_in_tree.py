"""A span and its position in the tree of its trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Span


@dataclass(frozen=True, slots=True)
class SpanInTree:
    """A span that is shown."""

    span: Span
    store: Store
    trace: int
    tree: TraceTree
    node: int

    @property
    def row(self) -> int:
        """The span's row in the span table."""
        return self.tree.rows[self.node]
