"""What a format could not say, counted."""

from __future__ import annotations

from spanview.exports.losses import Losses


def test_lines() -> None:
    """Each kind of loss is a line with its number, the most frequent first, then by the alphabet."""
    losses = Losses("jaeger")
    for sentence in ("b", "a", "c", "c"):
        losses(sentence)
    assert losses.lines() == ["jaeger: c: 2", "jaeger: a: 1", "jaeger: b: 1"]


def test_nothing_lost() -> None:
    """Nothing is said where nothing was lost."""
    assert Losses("zipkin").lines() == []
