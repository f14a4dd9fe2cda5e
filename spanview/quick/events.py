"""Ray's own events of tasks straight from lines to columns, many at a time, without decoding them.

Of each form of line one is decoded. Others of its length are taken if they differ from it only here:

digits      times, positions in logs, process ids       they are digits, and those of states are taken
texts       ids of tasks and events                     they need no escape, and the task's own is taken
said        functions, workers, nodes, names of logs    each different combination is decoded once

Whatever else a line has must be there byte for byte. A form is tried first: with other digits and texts in their
places, what is decoded must differ as it should, or its lines are for the general decoder.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from spanview.formats.jsontext import loads_usual
from spanview.formats.ray_events import NO_STATE, STATES, TASK_ID_BYTES, WAYS, TaskLines, is_event, updates_of
from spanview.index.gather import WORD, Template
from spanview.quick.known_rows import NO_NUMBER, KnownRows
from spanview.quick.times import NANOSECOND_DIGITS, nanoseconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from spanview.formats.ray_events import TaskUpdate
    from spanview.index.arrays import Places, Words
    from spanview.index.gather import Bytes

BEGIN: Final = b'"event_d'
"""What follows the brace of any event."""
_TASK_CHARS: Final = TASK_ID_BYTES // 3 * 4
_MAX_WIDTH: Final = 8 * 1024
"""Bytes of a line that is scanned."""
_LEAST_LINES: Final = 8
"""Fewer lines of one length in a page are decoded, which costs less."""
_MOST_NEW: Final = 4
"""Forms of one length that are learned from a page."""
_MOST_FORMS: Final = 512
"""If there are more, all are forgotten."""
_MOST_SAID: Final = 8 * 1024
"""The same of what lines of one form say: a combination for each worker, or a few."""
_NUMBERS: Final = re.compile(rb'"(?:std(?:err|out)_(?:start|end)|worker_pid|timestamp)":(\d+)')
_TIMES: Final = re.compile(rb'"(?:\d+|start_time|end_time)":"(\d{19})"')
_TEXTS: Final = re.compile(
    rb'(?:"(?:(?:parent_)?task_id|actor_id|component_id|event_id)":"|\\"task_id\\": \\")([0-9A-Za-z+/=]+)'
)
_SAID: Final = re.compile(
    rb'"(?:attempt_number":|(?:job_id|worker_id|node_id|func_or_class_name|std(?:err|out)_file)":")([^"\\,}]+)'
)
_STATES: Final = re.compile(rb'"state_ts_ns":\{([^{}]*)\}')
_STATE: Final = re.compile(rb'"(\d+)":"(\d{19})"')
_TASK: Final = b'"task_id":"'
_ZERO: Final = ord("0")
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_OTHER: Final = bytes.maketrans(
    b"0123456789" + _BASE64, b"1234567891" + _BASE64[1:26] + b"Ab" + _BASE64[27:51] + b"a1234567891/+"
)
"""Another byte of its kind for each, never a zero."""
_IS_BASE64: Final = np.isin(np.arange(256), np.frombuffer(_BASE64, np.uint8))


def _each(byte: int) -> np.uint64:
    """Return a word of eight bytes that are the same."""
    return np.uint64(int.from_bytes(bytes([byte]) * WORD, "little"))


_ONES, _TOPS, _SPACES, _QUOTES, _BACKSLASHES = map(_each, (1, 0x80, 0x20, 0x22, 0x5C))
_ZEROS, _SIXES, _UPPERS = map(_each, (_ZERO, 6, 0xF0))


class Told(NamedTuple):
    """What lines of a page say."""

    starts: Places
    ends: Places
    """Where each line ends: after a brace."""
    lines: TaskLines

    def at(self, indexes: Places) -> TaskLines:
        """Return what some of the lines say."""
        lines = self.lines
        said, numbers = np.unique(lines.numbers[indexes], return_inverse=True)
        says = [lines.says[number] for number in said.tolist()]
        return TaskLines(says, numbers, lines.keys[indexes], lines.states[indexes])


class EventScanner:
    """Scans lines; it keeps the forms that it has seen.

    Args:
        cap: Bytes of the longest line that is kept.
    """

    def __init__(self, *, cap: int) -> None:
        self._cap = min(cap, _MAX_WIDTH)
        self._forms: dict[int, list[_Form]] = {}
        """By the length of their lines."""

    def take(self, data: bytearray, buffer: Bytes, starts: Places, ends: Places) -> Told:
        """Return what those of some lines say that fit."""
        if sum(map(len, self._forms.values())) > _MOST_FORMS:
            self._forms.clear()
        lengths = ends - starts
        says: list[TaskUpdate] = []
        parts: list[tuple[Places, Words, NDArray[np.int64], Places]] = []
        widths, counts = np.unique(lengths, return_counts=True)
        for width in widths[(counts >= _LEAST_LINES) & (widths <= self._cap)].tolist():
            forms, new = self._forms.setdefault(width, []), 0
            remaining, number = np.flatnonzero(lengths == width), 0
            while len(remaining) >= _LEAST_LINES:
                if number == len(forms):
                    begin = int(starts[remaining[0]])
                    form = None if new == _MOST_NEW else _form_of(bytes(data[begin : begin + width]))
                    if form is None:
                        break
                    forms.append(form)
                    new += 1
                found, keys, states, numbers = forms[number].take(buffer, starts[remaining])
                parts.append((remaining[found], keys, states, numbers + len(says)))
                says += forms[number].says
                remaining, number = np.delete(remaining, found), number + 1
        if not parts:
            return Told(starts[:0], ends[:0], TaskLines([], starts[:0], starts[:0].view(np.uint64), _no_states(0)))
        chosen, keys, states, numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(chosen)
        chosen = chosen[order]
        return Told(starts[chosen], ends[chosen], TaskLines(says, numbers[order], keys[order], states[order]))


class _Form:
    """Lines that are the same but for digits, texts and what they say.

    Args:
        line: One of them.
        states: Where times of states are, and which of `STATES` each is.
        gaps: Where digits are, texts, and what is said.
    """

    def __init__(self, line: bytes, task: int, states: list[tuple[int, int]], gaps: _Gaps) -> None:
        self._width, self._task, self._states = len(line), task, states
        parts: list[bytes | int] = []
        position = 0
        for begin, end in sorted([*gaps.digits, *gaps.texts, *gaps.said]):
            parts += [line[position:begin], end - begin]
            position = end
        self._template = Template(*parts, line[position:])
        self._digits, self._texts = _Masked(self._width, gaps.digits), _Masked(self._width, gaps.texts)
        self._firsts = gaps.firsts
        self._said = gaps.said
        width = sum(end - begin for begin, end in gaps.said)
        self._said_width = -(-width // WORD) * WORD
        self._known = KnownRows(width)
        self.says: list[TaskUpdate] = []

    def take(self, buffer: Bytes, starts: Places) -> tuple[Places, Words, NDArray[np.int64], Places]:
        """Return which lines fit, the keys of their tasks, their times, and which of `says` each says."""
        if len(self.says) > _MOST_SAID:
            self.says, self._known = [], KnownRows(sum(end - begin for begin, end in self._said))
        rows, fits = self._template.take(buffer, starts)
        words = rows.view(np.uint64)
        digits = self._digits.take(words, _ZEROS) ^ _ZEROS
        fits &= ~(((digits | (digits + _SIXES)) & _UPPERS).any(axis=1))
        fits &= ~(rows[:, self._firsts] == _ZERO).any(axis=1)
        texts = self._texts.take(words, _SPACES)
        bad = (texts - _SPACES) & ~texts
        for other in (_QUOTES, _BACKSLASHES):
            bad |= ((texts ^ other) - _ONES) & ~(texts ^ other)
        fits &= ~(((bad | texts) & _TOPS).any(axis=1))
        tasks = rows[:, self._task : self._task + _TASK_CHARS]
        # What isn't in the alphabet would be passed over.
        fits &= _IS_BASE64[tasks].all(axis=1)
        found = np.flatnonzero(fits)
        rows, tasks = (rows, tasks) if len(found) == len(rows) else (rows[found], tasks[found])
        ids = np.frombuffer(a2b_base64(tasks.tobytes()), ">u8").reshape(-1, TASK_ID_BYTES // WORD)
        times, are_times = _no_states(len(rows)), np.ones(len(rows), np.bool_)
        for position, state in self._states:
            times[:, state], fit = nanoseconds_of(rows, position)
            are_times &= fit
        numbers = self._known.find(self._said_words(rows), lambda row: self._number_of(rows[row, : self._width]))
        selected = np.flatnonzero(are_times & (numbers != NO_NUMBER))
        keys = (ids[selected, 0] ^ ids[selected, 1]).astype(np.uint64)
        return found[selected], keys, times[selected], numbers[selected]

    def _said_words(self, rows: Bytes) -> Words:
        said, position = np.zeros((len(rows), self._said_width), np.uint8), 0
        for begin, end in self._said:
            said[:, position : position + end - begin] = rows[:, begin:end]
            position += end - begin
        return said.view(np.uint64)

    def _number_of(self, line: Bytes) -> int:
        update = _update_of(line.tobytes())
        if update is None:
            return NO_NUMBER
        self.says.append(update)
        return len(self.says) - 1


class _Gaps(NamedTuple):
    """Where lines of a form may differ."""

    digits: list[tuple[int, int]]
    firsts: list[int]
    """Where the first digits are of numbers of several, which are no zeros."""
    texts: list[tuple[int, int]]
    said: list[tuple[int, int]]


class _Masked:
    """Some bytes of rows, as words in which there is nothing else."""

    def __init__(self, width: int, ranges: Iterable[tuple[int, int]]) -> None:
        flags = np.zeros(-(-width // WORD) * WORD, np.uint8)
        for begin, end in ranges:
            flags[begin:end] = 255
        mask = flags.view(np.uint64)
        self._columns = np.flatnonzero(mask)
        self._mask = mask[self._columns]

    def take(self, words: Words, filling: np.uint64) -> Words:
        """Return the words of rows that have such bytes, the others filled with some byte."""
        return words[:, self._columns] & self._mask | (~self._mask & filling)


def _form_of(line: bytes) -> _Form | None:
    """Return the form of a line; None where it has none that could be scanned."""
    update, found = _update_of(line), [*_STATES.finditer(line)]
    task = line.find(_TASK) + len(_TASK)
    texts = [match.span(1) for match in _TEXTS.finditer(line)]
    if update is None or len(found) > 1 or (task, task + _TASK_CHARS) not in texts:
        return None
    of_states = [each for match in found for each in _STATE.finditer(line, *match.span(1))]
    begins = {each[1].decode(): each.start(2) for each in of_states}
    ways = [next(filter(begins.__contains__, ways), "") for ways in WAYS.values()]
    states = [(begins[state], number) for number, state in enumerate(ways) if state]
    numbers = [match.span(1) for match in _NUMBERS.finditer(line)]
    digits = numbers + [match.span(1) for match in _TIMES.finditer(line)]
    firsts = [begin for begin, end in numbers if end - begin > 1]
    said = [match.span(1) for match in _SAID.finditer(line)]
    changed = bytearray(line)
    for begin, end in digits + texts:
        changed[begin:end] = line[begin:end].translate(_OTHER)
    times = [NO_STATE] * len(STATES)
    for begin, state in states:
        times[state] = int(changed[begin : begin + NANOSECOND_DIGITS])
    ranges = sorted(digits + texts + said)
    overlap = any(end > begin for (_, end), (begin, _) in pairwise(ranges))
    expected = update._replace(task=a2b_base64(changed[task : task + _TASK_CHARS]), states=times)
    if overlap or _update_of(bytes(changed)) != expected:
        return None
    return _Form(line, task, states, _Gaps(digits, firsts, texts, said))


def _update_of(line: bytes) -> TaskUpdate | None:
    """Return what a line says of a task; None where it says anything else, or what isn't in columns."""
    event = loads_usual(line)
    updates = updates_of([event]).tasks if is_event(event) else ()
    if len(updates) != 1 or updates[0].message or updates[0].error or updates[0].fetched_ns:
        return None
    return updates[0]


def _no_states(count: int) -> NDArray[np.int64]:
    return np.full((count, len(STATES)), NO_STATE)
