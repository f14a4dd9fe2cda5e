"""The objects of very many spans, with numpy: those of one pattern together, the others as `SpanTexts` has them.

rows        in the order of the export, as many at once as fit into some memory
records     read by file and offset into one buffer
patterns    told from one record, looked for in all of one width
texts       put into another buffer, each at its place
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.exports.bulk_batch import Batch
from spanview.exports.patterns import BEHIND, BETWEEN, PLAIN, SOURCE, Pattern, pattern_of
from spanview.exports.pieces import Texts, put, put_rows, row_of, texts_of
from spanview.exports.span_texts import SpanTexts
from spanview.formats.jsontext import dumps_strict
from spanview.formats.own_value import span_value
from spanview.index.gather import rows_at
from spanview.model.problems import Warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.index.bulk import Flags, Places
    from spanview.index.gather import Bytes
    from spanview.index.store import Store

_MOST: Final = 32_768
"""Spans that are written at once."""
_MOST_BYTES: Final = 24 * 1024 * 1024
"""Of their records."""
_LOOK: Final = 512 * 1024
"""Bytes that are compared at once: more would be new memory each time."""
_FEWEST: Final = 16
"""Of so many alike a pattern is told."""
_MOST_PATTERNS: Final = 4
"""Of one kind of records."""
_TRIES: Final = 64
"""So many patterns are tried at least, and one more for so many spans each that had one."""
_CHUNK: Final = 256 * 1024
_NONE: Final = -1
_NAME: Final = re.compile(PLAIN + b"{0,255}")


class _Kind:
    """What is known of the records of one width that the columns have the same of."""

    __slots__ = ("differs", "patterns", "record")

    def __init__(self, record: Bytes) -> None:
        self.record = record
        self.differs: Flags = np.zeros(len(record), np.bool_)
        """Which bytes aren't the same in all in which a pattern was looked for."""
        self.patterns: list[int] = []


class BulkTexts:
    """The texts of a store's spans; the store must not grow meanwhile.

    Args:
        store: Where the spans are.
        lose: Takes note of what JSON can't say.
    """

    def __init__(self, store: Store, lose: Callable[[str], None]) -> None:
        self._store = store
        self._slow = SpanTexts(store, lose)
        self._patterns: list[Pattern] = []
        self._kinds: dict[int, _Kind] = {}
        texts = [text.encode("utf-8", "surrogatepass") for text in store.names.texts]
        self._name_fits = np.array([_NAME.fullmatch(text) is not None for text in texts], np.bool_)
        self._names = texts_of(texts)
        self._paths = texts_of([dumps_strict(source.path) for source in store.sources])
        self._tries, self._fitted = 0, 0
        # Used again for each batch, because new memory costs something.
        self._records: Bytes = np.empty(0, np.uint8)
        self._text: Bytes = np.empty(0, np.uint8)

    def chunks(
        self,
        rows: Places,
        own: NDArray[np.int64],
        have: Flags,
        warned: NDArray[np.uint16],
        before: Callable[[int, int], Texts],
    ) -> Iterator[bytes]:
        """Yield the objects of spans without their braces, and what stands before each of them.

        Args:
            rows: Rows of the span table.
            own: Their self times.
            have: Which of them have one.
            warned: What only trees tell of them, as bits of `Warnings`.
            before: Returns the texts before those from a place to another in `rows`.
        """
        behind = np.cumsum(np.asarray(self._store.spans.length)[rows], dtype=np.int64)
        first = 0
        while first < len(rows):
            done = int(behind[first - 1]) if first else 0
            last = max(first + 1, min(first + _MOST, int(np.searchsorted(behind, done + _MOST_BYTES, "right"))))
            batch = Batch(self._store, rows[first:last], own[first:last], have[first:last], warned[first:last])
            batch.usual &= self._name_fits[batch.name]
            self._records = batch.read(self._records)
            text = self._laid_out(batch, self._matched(batch), before(first, last)).data
            for at in range(0, len(text), _CHUNK):
                yield bytes(text[at : at + _CHUNK])
            first = last

    def _matched(self, batch: Batch) -> Places:
        """Return the number of each span's pattern, `_NONE` for none."""
        which = np.full(len(batch.rows), _NONE)
        some = np.flatnonzero(batch.usual)
        keys = batch.keys(some, self._names.widths)
        order = np.argsort(keys, kind="stable")
        some, keys = some[order], keys[order]
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys
        for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(keys)], strict=False):
            self._match(batch, int(keys[first]), some[first:last], which)
        return which

    def _match(self, batch: Batch, key: int, left: Places, which: Places) -> None:
        """Note the patterns of spans that have the same key."""
        kind = self._kinds.get(key)
        for number in [] if kind is None else kind.patterns:
            left = self._take(batch, number, left, which)
        while len(left) >= _FEWEST and self._tries <= _TRIES + self._fitted // _TRIES:
            samples = rows_at(self._records, batch.places[left[: _LOOK // 1024]], int(batch.length[left[0]]))
            if kind is None:
                kind = self._kinds[key] = _Kind(samples[0])
            kind.differs |= (samples != kind.record).any(axis=0)
            self._tries += 1
            pattern = self._pattern(batch, int(left[0]), samples[0].tobytes(), kind.differs)
            if pattern is None or len(kind.patterns) >= _MOST_PATTERNS:
                break
            self._patterns.append(pattern)
            kind.patterns.insert(0, len(self._patterns) - 1)
            left = self._take(batch, len(self._patterns) - 1, left, which)

    def _pattern(self, batch: Batch, at: int, record: bytes, differs: Flags) -> Pattern | None:
        row, own, warnings = int(batch.rows[at]), int(batch.own[at]), Warnings(int(batch.warned[at]))

        def write(sample: bytes) -> bytes | None:
            span = self._store.span_in(row, sample)
            if span.warnings & Warnings.DETAIL_LOST:
                # What is no record tells nothing of one.
                return None
            value = span_value(span, own, warnings)
            text = dumps_strict(value, has_odd_numbers=False)
            # What floats look like may hang on which encoder is taken, and that on what is in the gaps.
            return text[1:-1] if text == dumps_strict(value) else None

        path = dumps_strict(self._store.sources[batch.source[at]].path)
        place = BEHIND + b'%d,"length":%d},"warnings":' % (batch.offset[at], batch.length[at])
        return pattern_of(record, differs, write, SOURCE + path + place)

    def _take(self, batch: Batch, number: int, left: Places, which: Places) -> Places:
        """Note which spans have a pattern, and return the others."""
        pattern = self._patterns[number]
        step, others = max(1, _LOOK // pattern.record.width), [left[:0]]
        for first in range(0, len(left), step):
            some = left[first : first + step]
            rows, fits = pattern.take(self._records, batch.places[some])
            ids, starts = batch.ids[some], self._names.starts[batch.name[some]]
            width = pattern.parts[0][1]
            names = rows_at(self._names.data, starts, width) if width else ids[:, :0]
            known = (names, ids[:, :32], ids[:, 32:48], ids[:, 48:], batch.starts[some], batch.ends[some])
            for (at, width), texts in zip(pattern.parts, known, strict=True):
                own = np.ascontiguousarray(rows[:, at : at + width])
                # To compare all at once is much cheaper, and nearly always enough.
                if own.tobytes() != np.ascontiguousarray(texts[:, :width]).tobytes():
                    fits &= (own == texts[:, :width]).all(axis=1)
            which[some[fits]] = number
            others.append(some[~fits])
        result: Places = np.concatenate(others)
        self._fitted += len(left) - len(result)
        return result

    def _laid_out(self, batch: Batch, which: Places, before: Texts) -> Bytes:
        """Return the text of a batch."""
        slow = np.flatnonzero(which == _NONE)
        # All of them mostly, and then nothing has to be chosen.
        quick: Places | slice = np.flatnonzero(which != _NONE) if len(slow) else slice(None)
        durations, own, offsets = (each[quick] for each in batch.numbers)
        paths = self._paths[batch.source[quick]]
        which = which[quick]
        counts = np.bincount(which, minlength=1)
        patterns = [self._patterns[number] for number in np.flatnonzero(counts).tolist()]
        which = (np.cumsum(counts > 0) - 1)[which]

        def of_patterns(values: Sequence[int]) -> Places:
            return np.array(values, np.int64)[which] if values else which

        first, second, third = (
            of_patterns([getattr(each, name).shape[1] for each in patterns]) for name in ("first", "second", "third")
        )
        texts = texts_of(self._slow_texts(batch, slow))
        seconds = first + durations.widths + len(BETWEEN) + own.widths
        thirds = seconds + second + paths.widths + len(BEHIND) + offsets.widths
        widths = before.widths.copy()
        widths[slow] += texts.widths
        widths[quick] += thirds + third
        ends = np.cumsum(widths)
        begins = ends - widths
        size = int(ends[-1])
        if len(self._text) < size:
            self._text = np.empty(size + size // 8, np.uint8)
        text = self._text[:size]
        put(text, begins, before)
        begins += before.widths
        put(text, begins[slow], texts)
        begins = begins[quick]
        seconds += begins
        thirds += begins
        self._put_patterns(text, batch.places[quick], patterns, which, (begins, seconds, thirds))
        ids, has_parent = batch.ids[quick], batch.has_parent[quick]
        of_names, of_ids, of_parents, of_starts, of_ends = (
            begins + of_patterns([each.places[part] for each in patterns]) for part in range(5)
        )
        put(text, of_names, self._names[batch.name[quick]])
        put_rows(text, of_ids, ids[:, 32:48])
        put_rows(text, of_parents[has_parent], ids[has_parent, 48:])
        put_rows(text, of_starts, batch.starts[quick])
        put_rows(text, of_ends, batch.ends[quick])
        begins += first
        put(text, begins, durations)
        begins += durations.widths
        put_rows(text, begins, row_of(BETWEEN))
        put(text, begins + len(BETWEEN), own)
        seconds += second
        put(text, seconds, paths)
        seconds += paths.widths
        put_rows(text, seconds, row_of(BEHIND))
        put(text, seconds + len(BEHIND), offsets)
        return text

    def _put_patterns(
        self, text: Bytes, records: Places, patterns: Sequence[Pattern], which: Places, targets: tuple[Places, ...]
    ) -> None:
        """Put what patterns have, and what records have in the gaps."""
        for number, pattern in enumerate(patterns):
            some = np.flatnonzero(which == number)
            for places, row in zip(targets, (pattern.first, pattern.second, pattern.third), strict=True):
                put_rows(text, places[some], row)
            for gap, at in zip(pattern.gaps, pattern.gap_places, strict=True):
                put_rows(text, targets[1][some] + at, rows_at(self._records, records[some] + gap.at, gap.width))

    def _slow_texts(self, batch: Batch, slow: Places) -> list[bytes]:
        times = zip(batch.own[slow].tolist(), batch.have[slow].tolist(), strict=True)
        own = [time if is_known else None for time, is_known in times]
        batches = self._slow.in_batches(batch.rows[slow].tolist(), own, batch.warned[slow].tolist())
        return [text for texts in batches for text in texts]
