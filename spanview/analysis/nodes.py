"""Where a span's process runs, as the span says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanview.model.span import Span

_NODES: Final = ("ray.node_id", "k8s.node.name", "host.name")
"""Attributes, of the span or of its resource, that say so."""


def node_of(span: Span) -> str:
    """Return the name of the node that a span's process runs on; empty where it doesn't say."""
    values = [each.get(key) for key in _NODES for each in (span.attributes, span.resource.attributes)]
    return next((str(value) for value in values if value), "")
