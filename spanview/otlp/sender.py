"""Sending batches until each is accepted or refused.

request ──▶ accepted, also in part
        ──▶ refused
        ──▶ too large ──▶ both halves, one after the other, down to a single span
        ──▶ no answer, or one that says to come back ──▶ wait ──▶ request

Source: "Failures" of the OTLP specification, and "Retry" of the exporters' specification.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from spanview.model.problems import PushError
from spanview.otlp.responses import ResponseKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.formats.otlp_out import Form
    from spanview.otlp.batches import SpanBatch
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


class Transport(Protocol):
    """Asks an endpoint."""

    def request(self, body: bytes, /) -> Response:
        """Send a request and return what is answered, or that nothing is."""

    def close(self) -> None:
        """Let go of connections."""


class Surroundings(Protocol):
    """What a sender needs of the world around it."""

    def wait(self, seconds: float, /) -> bool:
        """Wait; return at once, and True, where sending is to end."""

    def clock(self) -> float:
        """Return monotonic seconds."""

    def say(self, text: str, /) -> None:
        """Tell a person about the endpoint."""

    def show(self, finished: int, total: int, /) -> None:
        """Show a person how many spans were sent or refused, and of how many."""


class StoppedError(Exception):
    """Sending was ended from outside; what was not answered yet counts as not sent."""


class Sender:
    """Sends batches, one after the other.

    Args:
        transport: Asks the endpoint.
        form: How spans are written.
        surroundings: Time, and a person.
        is_patient: Whether an endpoint may be away for as long as it likes.
    """

    def __init__(
        self,
        transport: Transport,
        form: Form,
        surroundings: Surroundings,
        *,
        is_patient: bool = False,
    ) -> None:
        self._transport = transport
        self.form = form
        self._surroundings = surroundings
        self._is_patient = is_patient
        self.has_answered = False
        """Whether something answers there, be it that it is busy."""
        self._is_failing = False
        self.sent = 0
        """Spans that were accepted."""
        self.bytes = 0
        """Bytes of the requests that were accepted, before they were compressed."""
        self.refused = Counter[str]()
        """Spans that were refused, by reason."""
        self.warnings: list[str] = []
        """What the endpoint says of spans that it has accepted, each once."""

    @property
    def finished(self) -> int:
        """Spans that were accepted or refused."""
        return self.sent + self.refused.total()

    def send(self, batch: SpanBatch, acknowledge: Callable[[Sequence[int]], None]) -> None:
        """Send a batch until each of its spans is accepted or refused.

        Args:
            batch: What is sent.
            acknowledge: Takes the rows that were accepted.

        Raises:
            PushError: The endpoint takes none at all, or hasn't answered for too long.
            StoppedError: Sending is to end.
        """
        left = [batch]
        while left:
            now = left.pop()
            body = now.body(self.form)
            answer = self._answer_to(body)
            if answer.kind is ResponseKind.ACCEPTED:
                self._count_accepted(len(now.rows), answer)
                self.bytes += len(body)
                # Which ones were rejected isn't said, and none of them may be sent again.
                acknowledge(now.rows)
            elif answer.kind is ResponseKind.TOO_LARGE and len(now.rows) > 1:
                left += reversed(now.halves())
            else:
                self.refuse(answer.reason, len(now.rows))

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

    def _answer_to(self, body: bytes) -> Response:
        """Return the first answer that ends a request, after as many tries as it takes."""
        pause_s, since_s = _FIRST_PAUSE_S, self._surroundings.clock()
        while True:
            answer = self._transport.request(body)
            if answer.kind is ResponseKind.HOPELESS:
                raise PushError(answer.reason)
            if answer.kind not in {ResponseKind.RETRY, ResponseKind.UNREACHABLE}:
                self._note_answer()
                return answer
            if answer.kind is ResponseKind.UNREACHABLE and not self.has_answered and not self._is_patient:
                raise PushError(answer.reason)
            self.has_answered = self.has_answered or answer.kind is ResponseKind.RETRY
            wait_s = None if answer.after_s is None else min(answer.after_s, _LONGEST_WAIT_S)
            if wait_s is None:
                wait_s = pause_s * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            if not self._is_patient and self._surroundings.clock() + wait_s > since_s + PATIENCE_S:
                asks = "" if answer.after_s is None else f", which asks for a pause of {answer.after_s:,.0f} s"
                raise PushError(f"gave up: {answer.reason}{asks}")
            if not self._is_failing:
                self._is_failing = True
                self._surroundings.say(f"{answer.reason}; trying again")
            if self._surroundings.wait(wait_s):
                raise StoppedError

    def _note_answer(self) -> None:
        self.has_answered = True
        if self._is_failing:
            self._is_failing = False
            self._surroundings.say("it answers again")
