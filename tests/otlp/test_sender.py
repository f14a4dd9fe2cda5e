"""What a sender does with answers, by a transport that answers from a script and a clock that only waiting moves.

batch of 4, and 413 for more than one span     4 · 2 · 1 · 1 · 2 · 1 · 1 requests, nothing refused
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

import pytest

from spanview.formats.otlp.write import JsonForm, OtlpPart, PartEnds
from spanview.model.problems import PushError
from spanview.otlp.batches import RequestBatch
from spanview.otlp.responses import Response, ResponseKind
from spanview.otlp.sender import PATIENCE_S, Sender, SenderContext, StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FINE: Final = Response(ResponseKind.ACCEPTED)
AWAY: Final = Response(ResponseKind.RETRY, "HTTP status 503")
UNREACHABLE: Final = Response(ResponseKind.UNREACHABLE, "nothing listens")
TOO_LARGE: Final = Response(ResponseKind.TOO_LARGE, "HTTP status 413")
MALFORMED: Final = Response(ResponseKind.MALFORMED, "HTTP status 400")
ENDS: Final = PartEnds(b"", b"", ())


def batch_of(count: int) -> RequestBatch:
    """Return a batch of spans whose texts are `s`."""
    return RequestBatch(range(count), [OtlpPart(ENDS, ENDS, b"s")] * count)


class Stage:
    """A sender and what is around it.

    Args:
        answers: What is answered, by the script or by the number of spans.
        stop_after: How many waits are waited; in the next one, sending is to end.
    """

    def __init__(
        self,
        answers: Iterable[Response] | Callable[[int], Response],
        *,
        is_patient: bool = False,
        stop_after: float = float("inf"),
    ) -> None:
        self._answers = answers if callable(answers) else iter(answers)
        self._stop_after = stop_after
        self.requests: list[int] = []
        """How many spans each has."""
        self.waits: list[float] = []
        self.said: list[str] = []
        self.acknowledged: list[int] = []
        self.now_s = 1000.0
        self.sender = Sender(
            self.request, JsonForm(), SenderContext(self.wait, self.said.append, self.clock), is_patient=is_patient
        )

    def send(self, count: int) -> None:
        """Send a batch."""
        self.sender.send(batch_of(count), self.acknowledged.extend)

    def request(self, body: bytes) -> Response:
        """Response."""
        count = body.split(b"resourceSpans")[1].count(b"s")
        self.requests.append(count)
        return self._answers(count) if callable(self._answers) else next(self._answers)

    def wait(self, seconds: float) -> bool:
        """Let time pass."""
        self.waits.append(seconds)
        self.now_s += seconds
        return len(self.waits) > self._stop_after

    def clock(self) -> float:
        """Return the time."""
        return self.now_s


def test_accepted() -> None:
    """A batch is one request; its rows are acknowledged."""
    stage = Stage([FINE])
    stage.send(3)
    assert (stage.requests, stage.acknowledged, stage.sender.sent) == ([3], [0, 1, 2], 3)
    assert not stage.said
    assert stage.sender.bytes == len(batch_of(3).body(JsonForm()))


def test_again_until_it_is_answered() -> None:
    """Pauses double, more or less, up to half a minute, and are said once; what is answered then counts."""
    stage = Stage([*[AWAY] * 9, FINE])
    stage.send(2)
    assert stage.requests == [2] * 10
    for pause_s, expected_s in zip(stage.waits, [1, 2, 4, 8, 16, 30, 30, 30, 30], strict=True):
        assert 0.8 * expected_s <= pause_s <= 1.2 * expected_s
    assert len(set(stage.waits[5:])) > 1
    assert stage.said == ["HTTP status 503; retrying", "the endpoint responds again"]
    assert (stage.sender.sent, stage.acknowledged) == (2, [0, 1])


def test_when_it_is_told() -> None:
    """A wait that is asked for is kept to the second, and doesn't lengthen the others; a day is the longest."""
    asked = [Response(ResponseKind.RETRY, "", after_s=7.0), AWAY, Response(ResponseKind.RETRY, "", after_s=1e300), FINE]
    stage = Stage(asked, is_patient=True)
    stage.send(1)
    assert stage.waits[::2] == [7.0, 86_400.0]
    assert stage.waits[1] < 1.3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (AWAY, AWAY.reason),
        (Response(ResponseKind.RETRY, "later", after_s=5 * PATIENCE_S), "later, which asks for a pause of 1,500 s"),
    ],
)
def test_gives_up(answer: Response, said: str) -> None:
    """After five minutes without an answer, or where it is to wait for longer, it says so and ends."""
    stage = Stage(repeat(answer))
    with pytest.raises(PushError, match=f"giving up: {re.escape(said)}$"):
        stage.send(1)
    assert sum(stage.waits) <= PATIENCE_S
    assert stage.sender.finished == 0
    assert not stage.acknowledged


def test_does_not_give_up_while_following() -> None:
    """There it waits for as long as it takes, also for what wasn't there at the start."""
    stage = Stage(chain([UNREACHABLE], [AWAY] * 100, [UNREACHABLE] * 100, [FINE]), is_patient=True)
    stage.send(1)
    assert sum(stage.waits) > PATIENCE_S
    assert stage.sender.sent == 1


def test_wrong_address() -> None:
    """Where nothing has ever answered, the address may be wrong; where something has, it may come back."""
    stage = Stage([UNREACHABLE])
    with pytest.raises(PushError, match="nothing listens"):
        stage.send(1)
    assert not stage.waits
    stage = Stage([FINE, UNREACHABLE, UNREACHABLE, FINE])
    stage.send(1)
    stage.send(1)
    assert stage.sender.sent == 2
    assert len(stage.waits) == 2


def test_hopeless() -> None:
    """What would be answered alike for ever ends it at once."""
    stage = Stage([Response(ResponseKind.HOPELESS, "asks for credentials")], is_patient=True)
    with pytest.raises(PushError, match="asks for credentials"):
        stage.send(1)
    assert not stage.waits


def test_stops() -> None:
    """Waiting ends where sending is to end; what wasn't answered isn't counted."""
    stage = Stage(repeat(AWAY), stop_after=2)
    with pytest.raises(StoppedError):
        stage.send(1)
    assert (len(stage.waits), stage.sender.finished) == (3, 0)


def test_halves() -> None:
    """What is too large is sent in halves, in order, down to single spans."""
    stage = Stage(lambda count: TOO_LARGE if count > 1 else FINE)
    stage.send(4)
    assert stage.requests == [4, 2, 1, 1, 2, 1, 1]
    assert stage.acknowledged == [0, 1, 2, 3]
    assert stage.sender.sent == 4
    assert not stage.sender.refused


def test_too_large_alone() -> None:
    """A single span that is too large is refused; the others arrive."""
    answers = iter([TOO_LARGE, TOO_LARGE, FINE, FINE])
    stage = Stage(answers)
    stage.send(3)
    assert stage.requests == [3, 1, 2]
    assert stage.sender.refused == {"HTTP status 413": 1}
    assert stage.acknowledged == [1, 2]


def test_malformed() -> None:
    """Only the span is refused that isn't taken: the others are sent again without it."""
    for bad in range(8):
        left = [range(8)]

        def answer(count: int, left: list[range] = left, bad: int = bad) -> Response:
            rows = left.pop()
            assert len(rows) == count
            if bad not in rows:
                return FINE
            if count > 1:
                left += rows[count // 2 :], rows[: count // 2]
            return MALFORMED

        stage = Stage(answer)
        stage.send(8)
        assert stage.acknowledged == [row for row in range(8) if row != bad]
        assert (stage.sender.sent, stage.sender.refused) == (7, {"HTTP status 400": 1})
        assert stage.sender.refusals["HTTP status 400"].row == bad
        assert len(stage.requests) == 7


def test_all_malformed() -> None:
    """Where nothing is taken, not every span is tried alone; what is taken later is split again."""
    stage = Stage(lambda _: MALFORMED)
    stage.send(512)
    assert len(stage.requests) < 140
    assert stage.sender.refused.total() == 512
    tried = len(stage.requests)
    stage.send(512)
    assert stage.requests[tried:] == [512]
    later = Stage(chain(repeat(MALFORMED, 129), [FINE], [MALFORMED, FINE, MALFORMED]))
    for count in (512, 1, 2):
        later.send(count)
    assert later.requests[129:] == [1, 2, 1, 1]


class Slow:
    """A transport that answers after a while, in threads.

    Args:
        answers: By the number of a request.
    """

    def __init__(self, answers: Callable[[int], Response], delay_s: float = 0.02) -> None:
        self._answers, self._delay_s = answers, delay_s
        self._lock, self._asked, self._at_once = threading.Lock(), 0, 0
        self.most_at_once = 0

    def request(self, _: bytes) -> Response:
        """Answer."""
        with self._lock:
            number, self._asked, self._at_once = self._asked, self._asked + 1, self._at_once + 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        time.sleep(self._delay_s)
        with self._lock:
            self._at_once -= 1
        return self._answers(number)


def send_at_once(transport: Slow, batches: int) -> tuple[Sender, list[int]]:
    """Send batches of one span, several at a time, and return the sender and what was acknowledged."""
    stage, acknowledged = Stage([]), list[int]()
    sender = Sender(transport.request, JsonForm(), stage.sender.surroundings, in_flight=4)
    try:
        for row in range(batches):
            sender.send(RequestBatch([row], [OtlpPart(ENDS, ENDS, b"s")]), acknowledged.extend)
        sender.finish()
    except PushError:
        pass
    finally:
        sender.close()
    return sender, acknowledged


def test_several_at_a_time() -> None:
    """No more than that, and acknowledged in their order; one at a time until something answers."""
    transport = Slow(lambda _: FINE)
    sender, acknowledged = send_at_once(transport, 40)
    assert (sender.sent, acknowledged, transport.most_at_once) == (40, [*range(40)], 4)
    transport = Slow(lambda _: UNREACHABLE)
    sender, acknowledged = send_at_once(transport, 40)
    assert (sender.sent, acknowledged, transport.most_at_once) == (0, [], 1)


def test_several_declined_at_a_time() -> None:
    """What is declined together is sent again without a pause for each."""
    transport = Slow(lambda number: AWAY if 4 <= number < 8 else FINE)
    sender, acknowledged = send_at_once(transport, 12)
    assert (sender.sent, sorted(acknowledged)) == (12, [*range(12)])


def test_accepted_though_it_ends() -> None:
    """What was accepted while something else ended it is acknowledged."""
    hopeless = Response(ResponseKind.HOPELESS, "asks for credentials")
    sender, acknowledged = send_at_once(Slow(lambda number: hopeless if number == 5 else FINE), 40)
    assert 5 not in acknowledged
    assert {*range(5), 6, 7, 8} <= {*acknowledged} <= {*range(10)}
    assert sender.sent == len(acknowledged)


def test_refused() -> None:
    """What is refused isn't sent again, and isn't acknowledged: a later call tries it again."""
    stage = Stage([Response(ResponseKind.REFUSED, "HTTP status 400: bad data"), FINE])
    stage.send(2)
    stage.send(1)
    assert stage.requests == [2, 1]
    assert stage.sender.refused == {"HTTP status 400: bad data": 2}
    assert (stage.sender.sent, stage.acknowledged) == (1, [0])


def test_partial_success() -> None:
    """Spans that were left out count as refused, and none is sent again; more than there are can't be."""
    stage = Stage(
        [Response(ResponseKind.ACCEPTED, "too old", rejected=2), Response(ResponseKind.ACCEPTED, "", rejected=9)]
    )
    stage.send(3)
    stage.send(2)
    assert stage.requests == [3, 2]
    assert stage.sender.refused == {"too old": 2, "no reason given": 2}
    assert stage.sender.sent == 1
    assert stage.acknowledged == [0, 1, 2, 0, 1]


def test_warnings() -> None:
    """What is said though everything was accepted is kept, each once."""
    stage = Stage(repeat(Response(ResponseKind.ACCEPTED, "old client")))
    stage.send(1)
    stage.send(1)
    assert stage.sender.warnings == ["old client"]
    assert stage.sender.sent == 2


def test_many_reasons() -> None:
    """An endpoint that says something else each time takes no memory for it."""
    stage = Stage(Response(ResponseKind.REFUSED, str(number)) for number in range(1000))
    for _ in range(1000):
        stage.send(1)
    assert len(stage.sender.refused) < 200
    assert stage.sender.refused.total() == 1000
    assert Counter(stage.sender.refused)["other reasons"] == 900
