"""Traces as pictures and as bars of characters; imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.known_calls import KnownCalls
from spanview.commands.output import write_to_standard_output
from spanview.display.picture_svg import svg_chunks
from spanview.display.picture_text import picture_lines
from spanview.display.shades import plain
from spanview.exports.files import write_atomically
from spanview.model.problems import ExportError
from spanview.sources.unended import unended_in
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.trace.trace_picture import MOST_ROWS, answer_in, picture_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.display.shades import Paint
    from spanview.index.store import Store

_MAX_TRACES: Final = 20
"""Traces that are drawn one below the other."""


def write_picture(store: Store, traces: Sequence[int], path: str, *, force: bool) -> None:
    """Draw some traces, one below the other, into one SVG file.

    Raises:
        ExportError: There are no traces, or more than one can look at, or the file can't be written.
    """
    if not traces:
        raise ExportError(f"no trace to draw: {path} is not written")
    if len(traces) > _MAX_TRACES:
        raise ExportError(
            f"{len(traces):,} traces to draw, but a picture has room for {_MAX_TRACES}: choose some with --trace ID, "
            f"-q or --since; {path} is not written"
        )
    models = [_folded(store, trace) for trace in traces]
    known = KnownCalls(store)
    looks = [_appearance_of(store, model, known) for model in models]
    shares = _shares([len(model.rows) for model in models], MOST_ROWS)
    drawn = zip(models, looks, shares, strict=True)
    chunks = svg_chunks(
        [picture_of(store, model, look, most, answer_in(store, model, look)) for model, look, most in drawn]
    )
    if path == "-":
        write_to_standard_output(chunks)
    else:
        write_atomically(path, chunks, force=force)


def bar_lines(store: Store, trace: int, known: KnownCalls, width: int, paint: Paint = plain) -> Iterator[str]:
    """Yield one trace's waterfall in characters."""
    model = _folded(store, trace)
    return picture_lines(picture_of(store, model, _appearance_of(store, model, known)), width, paint)


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
