"""Bodies in hand: one thread makes lines of them and appends these, all that wait at a time.

A request is answered when its lines are in the file. While the disk is slow, bodies wait, up to a number of bytes; then
more are declined, and so is one that has waited too long. Whoever sent it tries again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from spanview.otlp.body import Acceptance, Encoding, MalformedError, Signal
from spanview.otlp.from_json import check_decoded_size, lines_of_json
from spanview.otlp.to_json import lines_of_protobuf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.otlp.body import Body
    from spanview.otlp.span_log import ReceivedFiles

_GROUP_BYTES: Final = 4 * 1024 * 1024
"""Bytes of bodies that are written together, if so many wait."""
_MAX_REASONS: Final = 20
"""Reasons for which spans are refused that are told from each other."""
END_S: Final = 10.0
"""So long requests in hand may take when a server ends."""
_WAIT_S: Final = 8.0
"""So long a body waits for its turn: exporters wait for 10 seconds."""


class BusyError(Exception):
    """There is no room for a body, or it can't be written now; the text says why."""


class Room:
    """Bytes that may be in hand at a time, up to a size."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, number: int) -> None:
        """Take some.

        Raises:
            BusyError: So many aren't left.
        """
        if number > self._left:
            raise BusyError("too many requests at a time")
        self._left -= number

    def give(self, number: int) -> None:
        """Give some back."""
        self._left += number


@dataclass(slots=True)
class Received:
    """What was received until now."""

    requests: int = 0
    """Requests that were written, or refused for good."""
    spans: int = 0
    """How many of their spans were written."""
    kept: Counter[Signal] = field(default_factory=Counter)
    """Requests of other signals that were written."""
    dropped: Counter[Signal] = field(default_factory=Counter)
    """Requests of other signals that weren't to be kept."""
    refused: Counter[str] = field(default_factory=Counter)
    """Spans that were refused, by reason."""


@dataclass(slots=True)
class _Waiting:
    body: Body
    future: Future[Acceptance] = field(default_factory=Future)
    outcome: Acceptance = field(default_factory=Acceptance)
    error: MalformedError | None = None


class BodyQueue:
    """Takes bodies, and writes them in a thread of its own.

    Args:
        logs: Where each signal is written; what isn't in it is dropped.
        decoded_bytes: How much memory a body of JSON may take while it is decoded, about.
    """

    def __init__(self, logs: Mapping[Signal, ReceivedFiles], say: Callable[[str], None], decoded_bytes: int) -> None:
        self._logs, self._say, self._decoded_bytes = logs, say, decoded_bytes
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._failure = ""
        """What the system answered last, empty if it took what was written."""
        self.received = Received()
        self._thread = threading.Thread(target=self._run, name="spanview-receive")
        self._thread.start()

    async def take(self, body: Body) -> Acceptance:
        """Return what has become of a body, once it is written.

        Raises:
            MalformedError: It can't be read, or none of its spans; nothing of it was written.
            BusyError: It can't be written now; nothing of it was written.
        """
        if body.signal not in self._logs:
            self._drop(body.signal)
            return Acceptance()
        waiting = _Waiting(body)
        self._queue.put(waiting)
        answer = asyncio.wrap_future(waiting.future)
        done, _ = await asyncio.wait([answer], timeout=_WAIT_S)
        if not done and waiting.future.cancel():
            raise BusyError("earlier requests are still being written")
        return await answer

    def _drop(self, signal: Signal) -> None:
        if not self.received.dropped[signal]:
            self._say(f"{signal} are received and dropped; --keep {signal} keeps them")
        self.received.dropped[signal] += 1

    def close(self) -> None:
        """Write what is in hand, and end the thread."""
        self._queue.put(None)
        self._thread.join()
        for log in self._logs.values():
            log.close()

    def _run(self) -> None:
        waiting = self._queue.get()
        while waiting is not None:
            group, size = list[_Waiting](), 0
            while waiting is not None:
                group.append(waiting)
                size += len(waiting.body.data)
                if size >= _GROUP_BYTES or self._queue.empty():
                    break
                waiting = self._queue.get()
            try:
                for signal, log in self._logs.items():
                    self._write(log, [each for each in group if each.body.signal is signal])
            except Exception as error:  # noqa: BLE001 - the others are received all the same
                self._say(f"a request can't be accepted: {error!r}")
                for each in group:
                    if not each.future.done():
                        each.future.set_exception(BusyError("an error in spanview"))
            waiting = waiting and self._queue.get()

    def _write(self, log: ReceivedFiles, group: Sequence[_Waiting]) -> None:
        """Write the bodies of a signal, and answer each."""
        # Nobody waits for the others any more.
        group = [waiting for waiting in group if waiting.future.set_running_or_notify_cancel()]
        if not group:
            return
        failure, written = "", 0
        try:
            written = log.append(line for waiting in group for line in self._lines_of(waiting))
        except OSError as error:
            failure = f"{error.strerror or error}"
        except MemoryError:
            failure = "out of memory"
        # That nothing had to be written says nothing.
        if failure != self._failure and (failure or written):
            self._failure = failure
            self._say(f"can't write, so requests are declined: {failure}" if failure else "can write again")
        for waiting in group:
            self._answer(waiting, failure)

    def _lines_of(self, waiting: _Waiting) -> Iterator[bytes]:
        """Yield the lines of a body; of one that is malformed none."""
        body = waiting.body
        try:
            if body.encoding is Encoding.JSON:
                check_decoded_size(body.data, self._decoded_bytes)
            if body.signal is not Signal.TRACES:
                from spanview.otlp.logs_metrics import other_lines_of

                yield from other_lines_of(body)
            elif body.encoding is Encoding.JSON:
                yield from lines_of_json(body.data, waiting.outcome)
            else:
                yield from lines_of_protobuf(body.data, waiting.outcome)
        except MalformedError as error:
            waiting.error = error

    def _answer(self, waiting: _Waiting, failure: str) -> None:
        received, outcome = self.received, waiting.outcome
        if failure:
            waiting.future.set_exception(BusyError(failure))
            return
        if waiting.body.signal is Signal.TRACES:
            received.requests += 1
            received.spans += outcome.accepted
        elif waiting.error is None:
            received.kept[waiting.body.signal] += 1
        for reason, spans in outcome.reasons.items():
            is_known = reason in received.refused or len(received.refused) < _MAX_REASONS
            received.refused[reason if is_known else "other reasons"] += spans
        if waiting.error is None and outcome.refused and not outcome.accepted:
            waiting.error = MalformedError(outcome.reason)
        if waiting.error is None:
            waiting.future.set_result(outcome)
        else:
            waiting.future.set_exception(waiting.error)
