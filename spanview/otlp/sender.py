"""Sending batches until each is accepted or refused.

request ──▶ accepted, also in part
        ──▶ refused
        ──▶ too large, or malformed ──▶ both halves, one after the other, down to a single span
        ──▶ no answer, or one that says to come back ──▶ wait ──▶ request

Several requests are on their way at a time, each in a thread: at a distance of 50 ms, one at a time sends 10,000 spans
a second. Their answers are taken in the order in which they were sent, and whatever follows from one happens here, so
that nothing else has to do with threads.

Source: "Failures" of the OTLP specification, and "Retry" of the exporters' specification.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.model.problems import PushError
from spanview.otlp.responses import ResponseKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from spanview.formats.otlp.write import Form
    from spanview.otlp.batches import RequestBatch
    from spanview.otlp.responses import Response

PATIENCE_S: Final = 300.0
"""After so many seconds without an acceptable answer, sending ends; unless something is followed."""
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_LONGEST_WAIT_S: Final = 86_400.0
"""An endpoint is asked again after this time, whatever it says."""
_JITTER: Final = 0.2
"""Pauses are longer or shorter by up to this share, so that many senders don't come back at the same moment."""
_MAX_REASONS: Final = 100
IN_FLIGHT: Final = 8
"""Requests that are on their way at a time, once something has answered."""
_MAX_SPLITS: Final = 64
"""Requests for parts of malformed batches before another batch, or a part, is accepted: all may be malformed."""


@dataclass(frozen=True, slots=True)
class SenderContext:
    """What a sender needs of the world around it."""

    wait: Callable[[float], bool]
    """Waits so many seconds; returns at once, and True, where sending is to end."""
    say: Callable[[str], None]
    """Tells a person about the endpoint."""
    clock: Callable[[], float] = time.monotonic
    """Returns seconds."""


class StoppedError(Exception):
    """Sending was ended from outside; what was not answered yet counts as not sent."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One of the spans that were refused for a reason."""

    row: int
    """In the store."""
    bytes: int
    """Of the request that sent it alone."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A batch that is on its way."""

    batch: RequestBatch
    body: bytes
    answer: Future[tuple[Response, float]]
    """What was answered, and when."""
    acknowledge: Callable[[Sequence[int]], None]


class Sender:
    """Sends batches, in their order.

    Args:
        request: Sends a body and returns what is answered, or that nothing is; several threads may call it at a time.
        is_patient: Whether an endpoint may be away for as long as it likes.
        in_flight: How many requests may be on their way at a time.
    """

    def __init__(
        self,
        request: Callable[[bytes], Response],
        form: Form,
        surroundings: SenderContext,
        *,
        is_patient: bool = False,
        in_flight: int = 1,
    ) -> None:
        self._request = request
        self.form = form
        self.surroundings = surroundings
        self._is_patient = is_patient
        self._in_flight = in_flight
        self._threads = ThreadPoolExecutor(in_flight, "spanview-request")
        self._waiting = deque[_Waiting]()
        self._splits_left = _MAX_SPLITS
        self._answered_s = float("-inf")
        """When something was answered last that ends a request."""
        self.has_answered = False
        """Whether something answers there, be it that it is busy."""
        self._is_failing = False
        self.sent = 0
        """Spans that were accepted."""
        self.bytes = 0
        """Bytes of the requests that were accepted, before they were compressed."""
        self.refused = Counter[str]()
        """Spans that were refused, by reason."""
        self.refusals: dict[str, Refusal] = {}
        """The first span that was refused alone, by reason."""
        self.warnings: list[str] = []
        """What the endpoint says of spans that it has accepted, each once."""

    @property
    def finished(self) -> int:
        """Spans that were accepted or refused."""
        return self.sent + self.refused.total()

    def send(self, batch: RequestBatch, acknowledge: Callable[[Sequence[int]], None]) -> None:
        """Send a batch; where others may be on their way, its answer is awaited by a later call, or by `finish`.

        Args:
            acknowledge: Takes the rows that were accepted.

        Raises:
            PushError: The endpoint takes none at all, or hasn't answered for too long.
            StoppedError: Sending is to end.
        """
        body = batch.body(self.form)
        self._waiting.append(_Waiting(batch, body, self._threads.submit(self._asked, body), acknowledge))
        # The address may be wrong: until something has answered there, one request is enough.
        self._settle(self._in_flight - 1 if self.has_answered else 0)

    def finish(self) -> None:
        """Wait until each span that was sent is accepted or refused.

        Raises:
            PushError: As `send` does.
            StoppedError: Sending is to end.
        """
        self._settle(0)

    def close(self) -> None:
        """End the threads, once they have their answers."""
        self._threads.shutdown(wait=False)

    def _asked(self, body: bytes) -> tuple[Response, float]:
        """Return what is answered, and when; in a thread."""
        return self._request(body), self.surroundings.clock()

    def _settle(self, most: int) -> None:
        """Take answers until no more than so many batches are on their way."""
        try:
            while len(self._waiting) > most:
                self._settle_batch(self._waiting.popleft())
        except (PushError, StoppedError):
            self._let_go()
            raise

    def _let_go(self) -> None:
        """Take the answers of what is on its way still; nothing is sent again."""
        while self._waiting:
            waiting = self._waiting.popleft()
            answer, _ = waiting.answer.result()
            if answer.kind is ResponseKind.ACCEPTED:
                # The error that ended it may be that this can't be noted.
                with suppress(PushError):
                    self._accept(waiting, waiting.batch, len(waiting.body), answer)

    def _settle_batch(self, waiting: _Waiting) -> None:
        """Take the answer to a batch, and send again what has to be."""
        left = [waiting.batch]
        while left:
            now = left.pop()
            is_first = now is waiting.batch
            body = waiting.body if is_first else now.body(self.form)
            answer = self._answer_to(body, waiting.answer if is_first else None)
            is_split = len(now.rows) > 1 and (
                answer.kind is ResponseKind.TOO_LARGE
                or (answer.kind is ResponseKind.MALFORMED and self._splits_left > 0)
            )
            if answer.kind is ResponseKind.ACCEPTED:
                self._splits_left = _MAX_SPLITS
                self._accept(waiting, now, len(body), answer)
            elif is_split:
                self._splits_left -= answer.kind is ResponseKind.MALFORMED
                left += reversed(now.halves())
            else:
                self.refuse(answer.reason, len(now.rows))
                if len(now.rows) == 1:
                    self.refusals.setdefault(answer.reason, Refusal(now.rows[0], len(body)))

    def _accept(self, waiting: _Waiting, batch: RequestBatch, size: int, answer: Response) -> None:
        self._count_accepted(len(batch.rows), answer)
        self.bytes += size
        # Which ones were rejected isn't said, and none of them may be sent again.
        waiting.acknowledge(batch.rows)

    def refuse(self, reason: str, spans: int) -> None:
        """Count spans that were not accepted."""
        if reason not in self.refused and len(self.refused) >= _MAX_REASONS:
            reason = "other reasons"
        self.refused[reason] += spans

    def _count_accepted(self, spans: int, answer: Response) -> None:
        rejected = min(answer.rejected, spans)
        if rejected:
            self.refuse(answer.reason or "no reason given", rejected)
        elif answer.reason and answer.reason not in self.warnings and len(self.warnings) < _MAX_REASONS:
            self.warnings.append(answer.reason)
        self.sent += spans - rejected

    def _answer_to(self, body: bytes, first: Future[tuple[Response, float]] | None) -> Response:
        """Return the first answer that ends a request, after as many tries as it takes.

        Args:
            first: The answer to the first try; None where that is still to be made.
        """
        pause_s, since_s = _FIRST_PAUSE_S, self.surroundings.clock()
        while True:
            answer, answered_s = self._asked(body) if first is None else first.result()
            is_stale, first = answered_s < self._answered_s, None
            if answer.kind is ResponseKind.HOPELESS:
                raise PushError(answer.reason)
            if answer.kind not in {ResponseKind.RETRY, ResponseKind.UNREACHABLE}:
                self._note_answer(answered_s)
                return answer
            if answer.kind is ResponseKind.UNREACHABLE and not self.has_answered and not self._is_patient:
                raise PushError(answer.reason)
            self.has_answered = self.has_answered or answer.kind is ResponseKind.RETRY
            wait_s = None if answer.after_s is None else min(answer.after_s, _LONGEST_WAIT_S)
            if is_stale:
                # It was sent together with another one, and that has been answered since.
                wait_s = max(0.0, (wait_s or 0.0) - (self.surroundings.clock() - answered_s))
            elif wait_s is None:
                wait_s = pause_s * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            if not self._is_patient and self.surroundings.clock() + wait_s > since_s + PATIENCE_S:
                asks = "" if answer.after_s is None else f", which asks for a pause of {answer.after_s:,.0f} s"
                raise PushError(f"giving up: {answer.reason}{asks}")
            if not self._is_failing:
                self._is_failing = True
                self.surroundings.say(f"{answer.reason}; retrying")
            if self.surroundings.wait(wait_s):
                raise StoppedError

    def _note_answer(self, answered_s: float) -> None:
        self.has_answered, self._answered_s = True, max(self._answered_s, answered_s)
        if self._is_failing:
            self._is_failing = False
            self.surroundings.say("the endpoint responds again")
