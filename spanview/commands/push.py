"""`spanview push`: spans sent to an OTLP endpoint, once or for as long as new ones come."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from spanview.commands.following import until_interrupted, updates
from spanview.commands.reading import begin, places, read_all
from spanview.commands.standard_error import notice, progress, say, say_if_nothing_matches
from spanview.display.units import count, duration, size
from spanview.exports.losses import Losses
from spanview.formats.otlp.write import JsonForm
from spanview.model.problems import PushError
from spanview.otlp.acknowledged import Acknowledged
from spanview.otlp.batches import Batches, Unsent
from spanview.otlp.endpoint import EndpointOptions, OtlpProtocol, endpoint_of
from spanview.otlp.sender import IN_FLIGHT, Sender, SenderContext, StoppedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.query.selection import Selection
    from spanview.commands.options import Options
    from spanview.commands.standard_error import Show
    from spanview.formats.otlp.write import Form
    from spanview.index.store import Store
    from spanview.otlp.endpoint import Endpoint
    from spanview.otlp.over_grpc import OverGrpc
    from spanview.otlp.over_http import OverHttp

_LINGER_S: Final = 0.2
"""While following, so long is waited for spans that can be sent together."""
_GRACE_S: Final = 5.0
"""After an interrupt, what was read while following is sent for so long."""
_ROUNDS_PER_S: Final = 4
"""How often a second something is sent, where the rate is limited."""
_MAX_REASONS_SHOWN: Final = 5
_INTERRUPTED: Final = 130
_WITHOUT_IDS: Final = "no usable trace id or span id, without which OTLP can't say what a span is"


def run(options: Options) -> int:
    """Send the chosen spans; end with 1 where some were refused.

    Raises:
        PushError: There is nowhere to send to, or nothing is taken there.
    """
    given = EndpointOptions(options.endpoint, options.protocol, options.headers, options.timeout, options.compression)
    endpoint = endpoint_of(given, options.environment)
    selection = options.selection()
    with ExitStack() as stack:
        state = None if options.state is None else stack.enter_context(Acknowledged(options.state, endpoint.shown))
        transport = _transport(endpoint)
        stack.callback(transport.close)
        if options.follow:
            store, session = begin(options)
        else:
            store = read_all(options)
            notice(store.tallies, places(options))
        stop = stack.enter_context(until_interrupted())
        show = stack.enter_context(progress("sending", is_bytes=False))
        around = SenderContext(stop.wait, lambda text: say(f"{endpoint.shown}: {text}"))
        sender = Sender(transport.request, _form(endpoint), around, is_patient=options.follow, in_flight=IN_FLIGHT)
        stack.callback(sender.close)
        push = _Push(store, sender, show, options, state)
        with _reporting(push, endpoint.shown):
            if options.follow:
                with _sending_meanwhile(push, store, selection, stop):
                    for _ in updates(session, store.tallies, stop):
                        pass
                    session.close()
            else:
                traces = selection.traces(store)
                say_if_nothing_matches(store, traces, selection.query)
                push.send(traces)
        if stop.is_set() and not options.follow:
            return _INTERRUPTED
    return int(bool(sender.refused))


def _transport(endpoint: Endpoint) -> OverHttp | OverGrpc:
    if endpoint.protocol is OtlpProtocol.GRPC:
        from spanview.otlp.over_grpc import OverGrpc

        return OverGrpc(endpoint)
    from spanview.otlp.over_http import OverHttp

    return OverHttp(endpoint)


def _form(endpoint: Endpoint) -> Form:
    if endpoint.protocol is OtlpProtocol.HTTP_JSON:
        return JsonForm()
    from spanview.otlp.to_proto import ProtobufForm

    return ProtobufForm()


@contextmanager
def _sending_meanwhile(push: _Push, store: Store, selection: Selection, stop: threading.Event) -> Iterator[None]:
    """Send in a thread what is there and what comes, so that nothing goes unread while an endpoint is away.

    Raises:
        SpanviewError: What ended the sending, which ends the reading too.
    """
    is_read = threading.Event()
    errors: list[Exception] = []

    def send() -> None:
        try:
            store.take_changed()
            push.send(selection.traces(store))
            is_last = False
            while not is_last:
                is_last = is_read.wait(_LINGER_S)
                if changed := store.take_changed():
                    push.send(selection.traces(store, sorted(changed)))
        except Exception as error:  # noqa: BLE001 - the top of a thread; raised again below
            errors.append(error)
            stop.set()

    store.is_growing = True
    thread = threading.Thread(target=send, name="spanview-push", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_read.set()
        thread.join()
    if errors:
        raise errors[0]


class _Push:
    """Sends spans of a store, as the options say."""

    def __init__(self, store: Store, sender: Sender, show: Show, options: Options, state: Acknowledged | None) -> None:
        self.store = store
        self._show = show
        self._options = options
        self.state = state
        """By which a later call knows what was sent; None where that isn't kept."""
        self.sender = sender
        self.unsent = Unsent(store, None if state is None else state.among)
        self.losses = Losses("otlp")
        self.total = 0
        """Spans that were to be sent so far."""
        self.began_s = time.monotonic()
        self._next_s = self.began_s
        """From this time on, the next batch may be sent."""
        self._last_s = float("inf")
        """From this time on, no further batch is sent."""
        self._batches: Batches | None = None

    def send(self, traces: Sequence[int]) -> None:
        """Send what of traces wasn't sent yet.

        Raises:
            PushError: The endpoint takes nothing, or hasn't answered for too long.
        """
        without_ids = self.unsent.without_ids
        rows = self.unsent.take(traces)
        if without_ids := self.unsent.without_ids - without_ids:
            self.sender.refuse(_WITHOUT_IDS, without_ids)
        self.total += len(rows) + without_ids
        if self._batches is None:
            self._batches = self._settled(traces)
        with suppress(StoppedError):
            for batch in self._batches.of(rows):
                if not self._is_time(len(batch.rows)):
                    break
                self.sender.send(batch, self._acknowledge)
                self._show(self.sender.finished, self.total)
            self.sender.finish()
            self._show(self.sender.finished, self.total)

    def _is_time(self, spans: int) -> bool:
        """Wait until so many spans may be sent; return whether they still may be."""
        rate, clock = self._options.rate, time.monotonic
        if self.sender.surroundings.wait(max(0.0, self._next_s - clock())):
            if rate is not None or not self._options.follow:
                return False
            self._last_s = min(self._last_s, clock() + _GRACE_S)
        if rate is not None:
            # While nothing was there to be sent, nothing was saved for later.
            self._next_s = max(self._next_s, clock()) + spans / rate
        return clock() < self._last_s

    def _acknowledge(self, rows: Sequence[int]) -> None:
        if self.state is not None:
            self.state.add(self.store, rows)

    def _settled(self, traces: Sequence[int]) -> Batches:
        """Settle what is the same for all that is sent."""
        rate, spans = self._options.rate, self._options.batch
        if rate is not None:
            spans = max(1, min(spans, int(rate / _ROUNDS_PER_S)))
        return Batches(self.store, self.sender.form, self.losses, spans, self._settled_shift(traces))

    def _settled_shift(self, traces: Sequence[int]) -> int:
        """Return what is added to all times, and say so."""
        is_wanted, state = self._options.shift_to_now, self.state
        if state is not None and state.shift_ns is not None:
            if is_wanted and not state.shift_ns:
                raise PushError(
                    f"{self._options.state} records spans sent with their own times: leave out --shift-to-now, "
                    "or give another --state"
                )
            shift_ns = state.shift_ns
        else:
            newest = max(map(self.store.trace_table.end_ns.__getitem__, traces), default=0) if is_wanted else 0
            shift_ns = time.time_ns() - newest if newest > 0 else 0
            if state is not None:
                state.begin(shift_ns)
        if shift_ns:
            direction = "later" if shift_ns > 0 else "earlier"
            say(f"all times are sent {duration(abs(shift_ns))} {direction} than in the files")
        return shift_ns


@contextmanager
def _reporting(push: _Push, where: str) -> Iterator[None]:
    """Say at the end what has become of the spans, however that comes.

    Raises:
        PushError: As it was raised within, and with the endpoint before it.
    """
    try:
        yield
    except PushError as error:
        if push.sender.has_answered:
            _report(push, where)
        raise PushError(f"{where}: {error}") from None
    _report(push, where)


def _report(push: _Push, where: str) -> None:
    for line in push.losses.lines():
        say(line)
    for warning in push.sender.warnings[:_MAX_REASONS_SHOWN]:
        say(f"{where} says: {warning}")
    reasons = push.sender.refused.most_common()
    for reason, spans in reasons[:_MAX_REASONS_SHOWN]:
        say(f"refused {count(spans, 'span')}: {reason}{_first_refused(push, reason)}")
    if others := sum(spans for _, spans in reasons[_MAX_REASONS_SHOWN:]):
        say(f"refused {count(others, 'span')} for other reasons")
    say(_summary(push, where))


def _first_refused(push: _Push, reason: str) -> str:
    """Return which span was refused first for a reason, where it was sent alone."""
    refusal = push.sender.refusals.get(reason)
    if refusal is None:
        return ""
    span = push.store.span(refusal.row)
    first = "it is" if push.sender.refused[reason] == 1 else "the first is"
    return f"; {first} {span.name} ({span.trace_id}/{span.span_id}, {size(refusal.bytes)}) of {span.source.file}"


def _summary(push: _Push, where: str) -> str:
    """Return what has become of the spans: `http://…: sent 1,234 spans, 1.2 MiB, in 0.81 s; 3 refused; 2 left`."""
    sender, unsent = push.sender, push.unsent
    if not (push.total or unsent.known or unsent.unended):
        return f"{where}: nothing sent, because there are no spans to send"
    took_ns = int((time.monotonic() - push.began_s) * 1e9)
    parts = [f"{where}: sent {count(sender.sent, 'span')}, {size(sender.bytes)}, in {duration(took_ns)}"]
    if sender.refused:
        parts.append(f"{sender.refused.total():,} refused")
    if unsent.known:
        parts.append(f"{unsent.known:,} sent before")
    if unsent.unended:
        parts.append(f"{unsent.unended:,} without an end skipped: still running, or lost with their processes")
    if left := push.total - sender.finished:
        how = (
            "the same command goes on from there"
            if push.state is not None
            else "with --state FILE it could go on from there"
        )
        parts.append(f"{left:,} left; {how}")
    return "; ".join(parts)
