"""What is written of spans whose records are similar: all of a template get what changes put into one text at once.

What a gap of a template is to the text is found out: the sample is told again with other digits in that gap, and with
other ids and another name.

record     "attributes": {"task": "~~~~", "ray.pid": "~~~~~"}, … "resource": {"attributes": {"id": "~~"}}
text       {"id":"~~","timestamp":^,"duration":^,"tags":{"task":"~~~~","ray.pid":"~~~~~"}}     ^ is a time, of any width
process    ray.pid, id and the file                          what changes the resource, the writer, or what is lost

Where a gap changes anything else, as the time of an event does, its spans are read one by one, as others are.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from spanview.exports.alike_records import SPAN_ID_DIGITS, other_than, places_of
from spanview.exports.alike_texts import NO_TEMPLATE, AlikeTexts
from spanview.formats.tags import NS_PER_MICROSECOND, ignore_loss
from spanview.index.gather import rows_at
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from spanview.exports.alike_records import VaryingValue
    from spanview.exports.alike_texts import SpanBatch
    from spanview.index.arrays import Places
    from spanview.index.store import Store
    from spanview.model.span import Span

AlikeSpan: TypeAlias = "tuple[bytes, _Process, int, int, int]"
"""What is written of a span, its process, its row, and offset and length of its record, or of the line it shares."""
Tell: TypeAlias = "Callable[[Span, Callable[[str], None]], tuple[bytes, Any] | None]"
"""Returns what is written of a span, and what else is told of its process; None where it isn't written so."""

_MIN_OF_PROCESS: Final = 8
"""To find out about a process takes as long as to read so many spans."""
_MAX_PROCESSES: Final = 16_384
"""Processes that are remembered, each once for a template; spans of others are read one by one."""
_START_NS, _END_NS = 1_357_924_680_135_790_000, 1_358_022_211_999_998_000
"""Times that are looked for in a text, counted from where a format counts them from."""
_FINE_START_NS, _FINE_END_NS = 246, 913
"""What is added to them where those of a span aren't whole microseconds."""
_STARTS: Final = ("nanosecond start", "fine start", "start")
_FORMS: Final = {
    _STARTS[0]: b"%d",
    "nanosecond end": b"%d",
    _STARTS[1]: b"%d.%03d",
    "fine duration": b"%d.%03d",
    _STARTS[2]: b"%d",
    "end": b"%d",
    "duration": b"%d",
}
"""How formats write times."""
_NUMBER: Final = re.compile(rb"[0-9]{9,}(?:\.[0-9]{3})?")
_FIELDS: Final = ("name", "trace_id", "span_id", "parent_id")


class _Process(NamedTuple):
    """What may differ by the process of a span."""

    told: Any
    losses: list[str]


class _Told(NamedTuple):
    """What is written of a span, without its times."""

    text: bytes
    cuts: tuple[tuple[str, int], ...]
    """Of `_FORMS`, and where they were: its start, and its duration or its end; empty where it has none."""
    process: _Process

    def places(self, value: bytes, changed: _Told | None, other: bytes) -> list[int] | None:
        """Return where a value is in the text, by what is told with another one; None where more than that changes."""
        if changed is None or changed.cuts != self.cuts:
            return None
        return places_of(value, other, self.text, changed.text)


class _Head(NamedTuple):
    """What spans of a template have in common."""

    told: _Told
    fields: list[tuple[int, int]]
    """Of `_FIELDS`, each with its place in the text."""
    gaps: list[tuple[VaryingValue, int]]
    of_process: list[VaryingValue]


class AlikeSpans:
    """Tells of spans what is written of them; the store must not grow meanwhile.

    Args:
        looked_at: Attributes whose values change more than what is written of themselves.
        since_ns: What starts are counted from.
        special: A text in which no value is written as it is.
    """

    def __init__(
        self, store: Store, tell: Tell, looked_at: Collection[str] = (), since_ns: int = 0, special: bytes = b""
    ) -> None:
        self._store = store
        self._tell, self._looked_at, self._since_ns, self._special = tell, frozenset(looked_at), since_ns, special
        self._alike = AlikeTexts(store)
        self._heads: dict[int, _Head | None] = {}
        """By the number of the template."""
        self._processes: dict[tuple[int, int, bytes], _Process | None] = {}
        """By template, file, and what the gaps hold that tell processes apart."""

    def spans(
        self, rows: Sequence[int], are_usual: Sequence[bool] = (), lose: Callable[[str], None] = ignore_loss
    ) -> Iterator[Span | AlikeSpan]:
        """Yield what is written of spans whose records are similar, and the others, and unusual ones, as they are."""
        none = [0] * len(rows)
        own = [0 if is_usual else None for is_usual in are_usual] or none
        for _, batch, matches in self._alike.matched(rows, own, none):
            found: list[AlikeSpan | None] = [None] * len(matches)
            for number in np.unique(matches[matches != NO_TEMPLATE]).tolist():
                self._find(batch, number, np.flatnonzero(matches == number), found)
            left = [index for index, span in enumerate(found) if span is None]
            others = self._alike.apart(batch, np.array(left, np.int64))
            if others is None:
                others = spans_at(self._store, batch.rows[left].tolist())
            for span in found:
                if span is None:
                    yield next(others)
                    continue
                for sentence in span[1].losses:
                    lose(sentence)
                yield span

    def _find(self, batch: SpanBatch, number: int, chosen: Places, found: list[AlikeSpan | None]) -> None:
        """Put in what is found of spans that have a template."""
        if number not in self._heads:
            self._heads[number] = self._head(batch, number, int(chosen[0]))
        if (head := self._heads[number]) is None:
            return
        if head.told.cuts:
            # Others are written in other ways.
            starts, ends = batch.start_ns[chosen], batch.end_ns[chosen]
            fits = (starts >= max(1, self._since_ns)) & (ends // NS_PER_MICROSECOND > starts // NS_PER_MICROSECOND)
            is_fine = (ends - starts) % NS_PER_MICROSECOND != 0
            fits &= is_fine == (batch.start_is_fine | batch.end_is_fine)[chosen]
            fits &= (batch.trace_ids[chosen, :SPAN_ID_DIGITS] != ord("0")).any(axis=1)
            chosen = chosen[fits]
        parts, places = self._written(batch, head, number, chosen), batch.places[chosen]
        in_gaps = [rows_at(self._alike.records, places + gap.position, gap.width) for gap in head.of_process]
        keys = [row.tobytes() for row in np.hstack(in_gaps)] if in_gaps else [b""] * len(chosen)
        columns = (column[chosen].tolist() for column in (batch.source, batch.rows, batch.offset, batch.length))
        all_keys = [*zip(repeat(number), batch.source[chosen].tolist(), keys, strict=False)]
        counts = Counter(all_keys) if {*all_keys} - self._processes.keys() else None
        for index, part, key, _, *of_columns in zip(chosen.tolist(), parts, all_keys, *columns, strict=False):
            process = self._processes.get(key)
            if process is None and counts and counts[key] >= _MIN_OF_PROCESS:
                process = self._process(batch, index, head, key)
            if process is not None:
                found[index] = part, process, *of_columns

    def _written(self, batch: SpanBatch, head: _Head, number: int, chosen: Places) -> list[bytes]:
        """Return what is written of spans that have a template; nothing where a value isn't written as it is."""
        text, cuts, _ = head.told
        data = self._without_times(batch, head, number, chosen)
        if self._special and self._special in data:
            return []
        parts = [data[first : first + len(text)] for first in range(0, len(data), len(text))]
        if not cuts:
            return parts
        values = _values_of(batch.start_ns[chosen], batch.end_ns[chosen], self._since_ns)
        (of_start, first), (of_other, second) = cuts
        pattern = b"%b".join((b"", _FORMS[of_start], _FORMS[of_other], b""))
        starts, others = (
            zip(*(column.tolist() for column in values[form]), strict=True) for form in (of_start, of_other)
        )
        return [
            pattern % (part[:first], *start, part[first:second], *other, part[second:])
            for part, start, other in zip(parts, starts, others, strict=True)
        ]

    def _without_times(self, batch: SpanBatch, head: _Head, number: int, chosen: Places) -> bytes:
        """Return what is written of spans that have a template, one after the other."""
        texts, places = np.empty((len(chosen), len(head.told.text)), np.uint8), batch.places[chosen]
        texts[:] = np.frombuffer(head.told.text, np.uint8)
        fields = self._alike.fields(batch, chosen, self._alike.templates[number])
        for at, target in head.fields:
            texts[:, target : target + fields[at].shape[1]] = fields[at]
        for gap, target in head.gaps:
            texts[:, target : target + gap.width] = rows_at(self._alike.records, places + gap.position, gap.width)
        return texts.tobytes()

    def _process(self, batch: SpanBatch, index: int, head: _Head, key: tuple[int, int, bytes]) -> _Process | None:
        """Return who has written a span, which is remembered; None where that changes more than it does elsewhere."""
        if key not in self._processes and len(self._processes) < _MAX_PROCESSES:
            told = self._told(int(batch.rows[index]), self._alike.record(batch, index) or b"", _fine_of(batch, index))
            is_alike = told and told.text == self._without_times(batch, head, key[0], np.array([index]))
            self._processes[key] = told.process if told and is_alike else None
        return self._processes.get(key)

    def _head(self, batch: SpanBatch, number: int, index: int) -> _Head | None:
        """Return what spans of a template have in common, None where what is written may differ in anything else."""
        row, fine = int(batch.rows[index]), _fine_of(batch, index)
        record, template = self._alike.record(batch, index) or b"", self._alike.templates[number]
        span, told = self._store.span_in(row, record), self._told(row, record, fine)
        head = _Head(told or _Told(b"", (), _Process(None, [])), [], [], [])
        for at, name in enumerate(_FIELDS):
            value = (getattr(span, name) or "").encode()
            other = other_than(value)
            changed = self._told(row, record, fine, **{name: other.decode()}) if value else told
            places = head.told.places(value, changed, other) if value else []
            if places is None or changed is None or changed.process != head.told.process:
                return None
            head.fields.extend((at, place) for place in places)
        for gap in template.gaps:
            end = gap.position + gap.width
            value = record[gap.position : end]
            other = other_than(value)
            changed_record = record[: gap.position] + other + record[end:]
            attributes = self._store.span_in(row, changed_record).attributes
            is_looked_at = any(attributes.get(key) != span.attributes.get(key) for key in self._looked_at)
            changed = self._told(row, changed_record, fine)
            places = head.told.places(value, changed, other)
            if is_looked_at or places is None or changed is None:
                return None
            head.gaps.extend((gap, place) for place in places)
            # What isn't written may still be, with a value of another kind.
            if changed.process != head.told.process or not places:
                head.of_process.append(gap)
        return head

    def _told(self, row: int, record: bytes, fine: tuple[int, int], **fields: str) -> _Told | None:
        """Return what is written of a span if this is its record, with times that can be found."""
        start, end = (self._since_ns + ns + more for ns, more in zip((_START_NS, _END_NS), fine, strict=True))
        span, losses = self._store.span_in(row, record), list[str]()
        told = self._tell(replace(span, start_ns=start, end_ns=end, **fields), losses.append)  # type: ignore[arg-type]
        if told is None:
            return None
        text, process = told
        forms = _times_of(start, end, self._since_ns)
        matches = [match for match in _NUMBER.finditer(text) if match[0] in forms]
        found = [forms[match[0]] for match in matches]
        if found and [form in _STARTS for form in found] != [True, False]:
            return None
        bounds = [0, *chain.from_iterable(match.span() for match in matches), len(text)]
        parts = [text[first:last] for first, last in zip(bounds[::2], bounds[1::2], strict=True)]
        cuts = zip(found, accumulate(map(len, parts[:-1])), strict=True)
        return _Told(b"".join(parts), tuple(cuts), _Process(process, losses))


def _fine_of(batch: SpanBatch, index: int) -> tuple[int, int]:
    """Return what is added to the start and the end of a span that is told for others."""
    return _FINE_START_NS * int(batch.start_is_fine[index]), _FINE_END_NS * int(batch.end_is_fine[index])


def _values_of(start: Any, end: Any, since: int) -> dict[str, tuple[Any, ...]]:
    """Return what is written of starts and ends in each of `_FORMS`."""
    us, whole = NS_PER_MICROSECOND, since // NS_PER_MICROSECOND
    values = (
        (start,),
        (end,),
        ((start - since) // us, start % us),
        ((end - start) // us, (end - start) % us),
        (start // us - whole,),
        (end // us - whole,),
        (end // us - start // us,),
    )
    return dict(zip(_FORMS, values, strict=True))


@lru_cache(8)
def _times_of(start: int, end: int, since: int) -> dict[bytes, str]:
    """Return which of `_FORMS` times have in a text."""
    values = _values_of(start, end, since)
    return {form % values[name]: name for name, form in _FORMS.items()}
