"""Pictures of whole traces, as they are drawn for whoever has no viewer open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.display.picture_svg import svg_chunks
from spanview.sources.unended import unended_in
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.trace.trace_picture import MOST_ROWS, answer_in, picture_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.display.picture import Picture
    from spanview.index.store import Store


def pictures_svg(store: Store, traces: Sequence[int], known: KnownCalls) -> Iterator[bytes]:
    """Yield the file of the pictures of some traces, one below the other."""
    models = [_folded(store, trace) for trace in traces]
    looks = [_appearance_of(store, model, known) for model in models]
    drawn = zip(models, looks, _shares([len(model.rows) for model in models], MOST_ROWS), strict=True)
    return svg_chunks(
        [picture_of(store, model, look, most, answer_in(store, model, look)) for model, look, most in drawn]
    )


def whole_picture(store: Store, trace: int, known: KnownCalls) -> Picture:
    """Return what is drawn of one trace."""
    model = _folded(store, trace)
    return picture_of(store, model, _appearance_of(store, model, known))


def _folded(store: Store, trace: int) -> TraceModel:
    """Return a trace with each call as one row, where it has many with runs of similar siblings as one row each."""
    model = TraceModel(store, trace, StitchedTrace(store, trace, store.tree(trace), joins=True))
    if len(model.stitched.order) <= MOST_ROWS:
        model.toggle_folds()
    return model


def _appearance_of(store: Store, model: TraceModel, known: KnownCalls) -> Appearance:
    """Return what else is shown of a trace: why calls have no attempt, what they waited for, what has no end."""
    appearance = Appearance(store, model)
    appearance.reasons, appearance.open_calls = known.reasons_and_open(model.stitched.unjoined)
    appearance.take_unended(unended_in(store, model.trace))
    appearance.waits = known.told_waits_in(model.trace)
    return appearance


def _shares(wanted: Sequence[int], most: int) -> list[int]:
    """Share rows out: what small traces don't need is left for the others."""
    shares, left = [0] * len(wanted), most
    for done, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[index] = min(wanted[index], left // (len(wanted) - done))
        left -= shares[index]
    return shares
