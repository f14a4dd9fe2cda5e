"""From a trace, as it is looked at or as a whole, to the pictures and texts of it that leave the terminal."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.unended import Fate, known_until
from spanview.analysis.ray.waits import wait_word
from spanview.display.picture import Picture, PictureRow
from spanview.display.picture_svg import svg_chunks
from spanview.display.sanitise import sanitise
from spanview.display.trace_words import name_without_root
from spanview.display.tree_text import error_text, trace_title
from spanview.display.units import count, duration
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.problems import ExportError
from spanview.model.times import NO_TIME
from spanview.sources.unended import unended_in
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.row_texts import RowTexts
from spanview.tui.trace.runs import marked
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.display.picture import Stretch
    from spanview.index.store import Store
    from spanview.tui.trace.runs import Run

MOST_ROWS: Final = 400
"""So many rows are drawn of one trace."""
_LONGEST_NAME: Final = 400
_FINEST: Final = 1 / 700
"""What is shorter, as a share of the time that is drawn, is not drawn by itself."""
_PARTS: Final = 160
"""How finely the density of like siblings is drawn."""
_MOST_EVENTS: Final = 64
_LARGEST_READ: Final = 64 * 1024
"""Bytes of a record that is read again for what its status says."""
_MOST_IN_LEGEND: Final = 8
_LONGEST_IN_LEGEND: Final = 30
_DIGITS: Final = 8
"""Of the trace's id, in a picture's name."""
_MAX_COPIED_ROWS: Final = 150
"""So many rows are copied as text."""
_MAX_COPIED_BYTES: Final = 48_000
"""Terminals that take a text to the clipboard take some 64 KiB, in which it is encoded a third longer."""


def picture_of(
    model: TraceModel, appearance: Appearance, most: int = MOST_ROWS, answer: tuple[str, ...] = ()
) -> Picture:
    """Return what is drawn of a trace: what is shown of it, from the top."""
    store, shown, origin = model.store, model.shown, model.whole.start_ns
    root, drawn = store.trace_table.root_row[model.trace], min(most, len(model.rows))
    name = store.names.texts[store.spans.name[root]] or "(no name)" if root != NO_ROW else ""
    name = name or name_without_root(store, model.stitched.unjoined)
    name = model.stitched.short_names.get(name, name) if model.stitched.has_calls else name
    legend = [(number, sanitise(text, _LONGEST_IN_LEGEND)) for number, text in appearance.legend()]
    if len(legend) > _MOST_IN_LEGEND:
        legend = [*legend[: _MOST_IN_LEGEND - 1], (-1, f"and {len(legend) - _MOST_IN_LEGEND + 1:,} more")]
    rows = _Rows(model, appearance)
    return Picture(
        name=sanitise(name, _LONGEST_NAME),
        title=trace_title(
            store,
            model.trace,
            model.stitched.unjoined,
            in_utc=True,
            unended=appearance.unended,
            reasons=appearance.reasons,
            open_calls=appearance.open_calls,
        ),
        first_ns=shown.start_ns - origin,
        last_ns=shown.end_ns - origin,
        rows=tuple(rows.row(node, depth) for node, depth in islice(model.rows, most)),
        left_out=_left_out(model, drawn),
        color_by=appearance.color_by.value,
        legend=tuple(legend),
        is_lit=appearance.lit_path is not None,
        has_calls=model.stitched.has_calls,
        answer=answer,
    )


def answer_in(model: TraceModel, appearance: Appearance) -> tuple[str, ...]:
    """Return where a trace's time went, as its screen says it: the longest text first."""
    from spanview.analysis.answer import answer_of
    from spanview.display.answer_text import answer_texts, as_far_as_known

    stitched = model.stitched
    answer = answer_of(
        model.store, model.trace, stitched.unjoined, known_until(appearance.unended, stitched.whole.end_ns)
    )
    texts = answer_texts(answer, stitched.short_names, len(appearance.open_calls))
    return tuple(as_far_as_known(texts, model.open_end))


def _left_out(model: TraceModel, drawn: int) -> str:
    """Return how many spans stand in the rows that are not drawn, or are folded into them."""
    stitched, spans, errors = model.stitched, 0, 0
    for node, _ in islice(model.rows, drawn, None):
        first, end = model.reach(node)
        spans += stitched.spans_between(first, end) - stitched.rows[first:end].count(NO_ROW)
        errors += stitched.failed_between(first, end)
    failed = f", {count(errors, 'error')} among them" if errors else ""
    return f"… {count(spans, 'more span')}{failed}: not drawn" if len(model.rows) > drawn else ""


class _Rows:
    """Makes rows from nodes."""

    def __init__(self, model: TraceModel, appearance: Appearance) -> None:
        self._store = model.store
        self._model = model
        self._appearance = appearance
        self._texts = RowTexts(model, appearance)
        self._window = model.shown

    def row(self, node: int, depth: int) -> PictureRow:
        model, tree, spans = self._model, self._model.tree, self._store.spans
        is_missing, run = tree.is_missing(node), model.run(node)
        name = sanitise(self._texts.name(node), _LONGEST_NAME)
        arrow, marks, lasted = self._texts.arrow(node), tuple(self._texts.marks(node)), tuple(self._texts.lasted(node))
        waited = tuple(self._texts.waited(node)) if model.stitched.has_calls else ()
        row = 0 if is_missing else tree.rows[node]
        color = 0 if is_missing else self._appearance.color_number(row)
        about = "\n".join(filter(None, (name, " ".join(filter(None, (marks[0], lasted[0]))), self._when(node))))
        is_error = not run and not is_missing and spans.status[row] == ERROR
        if is_error and spans.length[row] <= _LARGEST_READ:
            about += f"\n✖ {error_text(self._store, row)}"
        common = (depth, arrow, name, marks, lasted, about, color, waited)
        if run:
            return PictureRow(
                *common, waits=self._waits_of(run), density=self._density(run), failures=self._failures(run)
            )
        interval, inferred, bar, runs = model.stitched.interval(node), None, None, None
        if interval is None:
            start, unended = tree.start_ns(node), None if is_missing else self._appearance.unended.get(row)
            if start != NO_TIME and unended is not None and unended.fate is Fate.RUNS:
                runs = self._place(start), self._place(model.now_ns)
            elif start != NO_TIME:
                is_seen = unended is not None and unended.until_ns != NO_TIME
                inferred = self._place(start), self._place(unended.until_ns) if unended and is_seen else 1.0
        elif is_missing:
            inferred = self._stretch(interval)
        else:
            bar = self._stretch(interval)
        return PictureRow(
            *common,
            bar=bar,
            own=self._own(node, bar),
            lit=self._lit(node),
            waits=self._waits(node),
            wait_parts=tuple((letter, *self._stretch(part)) for letter, part in self._appearance.wait_parts(node)),
            inferred=inferred,
            runs=runs,
            is_open=not is_missing,
            events=() if is_missing else self._events(row),
            is_error=is_error,
        )

    def _place(self, ns: int) -> float:
        return self._window.place(ns, 1)

    def _stretch(self, interval: tuple[int, int]) -> Stretch:
        return self._place(interval[0]), self._place(interval[1])

    def _when(self, node: int) -> str:
        start = self._model.tree.start_ns(node)
        wait = self._model.stitched.wait(node)
        waited = f", {wait_word(self._store, self._model.tree.rows[node])} {duration(wait)}" if wait else ""
        return (
            "" if start == NO_TIME else f"begins {duration(start - self._model.whole.start_ns)} after the trace{waited}"
        )

    def _density(self, run: Run) -> tuple[float, ...]:
        counts = run.timed.profile(self._window, _PARTS)
        most = max(counts, default=0)
        return tuple(number / most for number in counts) if most else ()

    def _waits_of(self, run: Run) -> tuple[Stretch, ...]:
        profiles = (timed.profile(self._window, _PARTS) for timed in (run.timed, self._model.stitched.waiting(run)))
        waits = (part for part, (runs, wait) in enumerate(zip(*profiles, strict=True)) if wait > runs)
        return tuple(_merged((part / _PARTS, (part + 1) / _PARTS) for part in waits))

    def _failures(self, run: Run) -> tuple[float, ...]:
        marks = marked(run.failures.profile(self._window, _PARTS))
        return tuple((part + 1 / 2) / _PARTS for part, is_marked in enumerate(marks) if is_marked)

    def _own(self, node: int, bar: Stretch | None) -> tuple[Stretch, ...]:
        """Return the parts of a bar in which nothing below the span runs, but for those that nobody could see."""
        interval = self._model.stitched.interval(node)
        if bar is None or interval is None or bar[1] < 0 or bar[0] > 1:
            return ()
        own = self._model.stitched.own_times(node)
        if own.sums[-1] == interval[1] - interval[0]:
            return (bar,)
        stretches = map(self._stretch, zip(own.starts, own.ends, strict=True))
        shown = [(max(0.0, start), min(1.0, end)) for start, end in stretches]
        # What nobody could see is left out, and so are the gaps, without which less is written.
        return tuple(_merged((start, end) for start, end in shown if end - start > _FINEST))

    def _lit(self, node: int) -> tuple[Stretch, ...]:
        if self._appearance.lit_path is None:
            return ()
        stretches = map(self._stretch, self._appearance.lit_path.of(node))
        return tuple(_merged((start, end) for start, end in stretches if end >= 0 and start <= 1))

    def _waits(self, node: int) -> tuple[Stretch, ...]:
        wait, start = self._model.stitched.wait(node), self._model.tree.start_ns(node)
        return (self._stretch((start - wait, start)),) if wait else ()

    def _events(self, row: int) -> tuple[float, ...]:
        places: list[float] = []
        for place in sorted(map(self._place, self._appearance.events_of(row))):
            if 0 <= place <= 1 and (not places or place - places[-1] > _FINEST):
                places.append(place)
        return tuple(places[:_MOST_EVENTS])


def _merged(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yield stretches, by time, those with next to nothing between them as one."""
    last: Stretch | None = None
    for start, end in sorted(stretches):
        if last is not None and start - last[1] <= _FINEST:
            last = last[0], max(last[1], end)
        else:
            if last is not None:
                yield last
            last = start, end
    if last is not None:
        yield last


# -- what leaves the terminal ------------------------------------------------------------------------------------------


def picture_to_copy(model: TraceModel, appearance: Appearance) -> tuple[str, str]:
    """Return what is shown as text for the clipboard, and what it is in words; for a thread."""
    from spanview.display.picture_text import picture_lines

    most, answer = _MAX_COPIED_ROWS, answer_in(model, appearance)
    while True:
        picture = picture_of(model, appearance, most, answer)
        text = "\n".join(picture_lines(picture)) + "\n"
        if len(text.encode()) <= _MAX_COPIED_BYTES or most == 1:
            return text, f"waterfall as text{_but(picture, len(model.rows))}"
        most = max(1, most // 2)


def write_picture(model: TraceModel, appearance: Appearance) -> str:
    """Draw what is shown into a new file of the current folder, and return in words what came of it; for a thread."""
    from spanview.exports.files import shown_path, write_anew

    picture = picture_of(model, appearance, MOST_ROWS, answer_in(model, appearance))
    trace_id = model.store.trace_table.hex_id(model.trace)
    stem = f"trace-{trace_id[:_DIGITS]}" if trace_id else "trace-without-id"
    try:
        path = write_anew(stem, "svg", lambda: svg_chunks([picture]))
    except ExportError as error:
        return str(error)
    return f"wrote {shown_path(path)}{_but(picture, len(model.rows))}"


def _but(picture: Picture, rows: int) -> str:
    """Return what is left out, in words."""
    return f": the first {len(picture.rows):,} of {count(rows, 'row')}" if picture.left_out else ""


def pictures_svg(store: Store, traces: Sequence[int], known: KnownCalls) -> Iterator[bytes]:
    """Yield the file of the pictures of some traces, one below the other."""
    models = [_folded(store, trace) for trace in traces]
    looks = [_appearance_of(model, known) for model in models]
    drawn = zip(models, looks, _shares([len(model.rows) for model in models], MOST_ROWS), strict=True)
    return svg_chunks([picture_of(model, look, most, answer_in(model, look)) for model, look, most in drawn])


def whole_picture(store: Store, trace: int, known: KnownCalls) -> Picture:
    """Return what is drawn of one trace."""
    model = _folded(store, trace)
    return picture_of(model, _appearance_of(model, known))


def _folded(store: Store, trace: int) -> TraceModel:
    """Return a trace with each call as one row, where it has many with runs of similar siblings as one row each."""
    model = TraceModel(store, trace, StitchedTrace(store, trace, store.tree(trace), joins=True))
    if len(model.stitched.order) <= MOST_ROWS:
        model.toggle_folds()
    return model


def _appearance_of(model: TraceModel, known: KnownCalls) -> Appearance:
    """Return what else is shown of a trace: why calls have no attempt, what they waited for, what has no end."""
    appearance = Appearance(model)
    appearance.reasons, appearance.open_calls = known.reasons_and_open(model.stitched.unjoined)
    appearance.take_unended(unended_in(model.store, model.trace))
    appearance.waits = known.told_waits_in(model.trace)
    return appearance


def _shares(wanted: Sequence[int], most: int) -> list[int]:
    """Share rows out: what small traces don't need is left for the others."""
    shares, left = [0] * len(wanted), most
    for done, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[index] = min(wanted[index], left // (len(wanted) - done))
        left -= shares[index]
    return shares
