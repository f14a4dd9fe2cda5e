"""Viewers for tests: a store that grows when it is told to, an app without a terminal, and what is on its screen."""

from __future__ import annotations

import asyncio
import time
from array import array
from contextlib import asynccontextmanager, nullcontext, suppress
from types import CodeType, MethodType
from typing import TYPE_CHECKING, Any, Final, cast
from unittest.mock import patch

from textual import _callback, events
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.keys import _character_to_key

from builders import EPOCH_NS, MemoryReader, file_of
from seeds import THOROUGH
from spanview.formats.decoder import Decoder
from spanview.formats.rows import Batch, SpanColumns
from spanview.index.store import Store
from spanview.sources.terms import Progress
from spanview.tui.app.app import SpanviewApp
from spanview.tui.app.feed import Feed, FeedState
from spanview.tui.app.news import FeedNews
from spanview.tui.app.opening import Opening
from spanview.tui.widgets.header import Said

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from textual.pilot import Pilot
    from textual.screen import Screen

    from builders import Document
    from spanview.sources.session import Session

DEADLINE_S: Final = 60.0
"""Long enough for a busy machine; nothing waits for it to pass."""
_APP_S: Final = 1.0
"""So long an app that does nothing more is waited for."""
_HELD_S: Final = 5.0
"""So long what a key has asked for is waited for before the next key."""
CHARACTERS: Final = {
    "space": " ",
    "slash": "/",
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}
"""Keys that Textual names with a word, and what they type."""
USUAL: Final = (120, 40)
"""Cells across and down."""


class Growing:
    """A store and what it was read from; it grows by documents.

    Args:
        documents: What it begins with.
    """

    def __init__(self, *documents: Document) -> None:
        self.reader = MemoryReader()
        self.store = Store(self.reader, notes_changes=True)
        self._decoders: dict[str, tuple[int, Decoder]] = {}
        self.add(*documents)

    def add(self, *documents: Document, path: str = "spans/1.json") -> None:
        """Read more documents from a file."""
        if path not in self._decoders:
            self._decoders[path] = self.store.add_source(path), Decoder()
            self.reader.files.append(b"")
        source, decoder = self._decoders[path]
        data = file_of(documents)
        self.reader.files[source] = (self.reader.files[source] or b"") + data
        self.store.tallies.add_bytes(path, len(data))
        self.store.add(source, decoder.feed(data))


class NoSession:
    """A session that finds nothing, because the store is filled already."""

    is_proven = True
    """Nothing was scanned."""
    can_change = False
    """Nothing is watched."""

    def load(self) -> Iterator[Progress]:
        """Yield that everything was read."""
        yield Progress(0, 0)

    def close(self) -> None:
        """There is nothing to close."""

    def keep(self, *, is_proven: bool = False) -> None:
        """There is nothing to keep."""


class Look:
    """An app that runs, its keys, and what it shows."""

    def __init__(self, app: SpanviewApp, pilot: Pilot[None], data: Growing) -> None:
        self.app = app
        self.pilot = pilot
        self.data = data

    @property
    def screen(self) -> Screen[object]:
        """What is shown."""
        return self.app.screen

    def is_on(self, kind: type[Screen[None]]) -> bool:
        """Tell whether a screen of this kind is shown."""
        return isinstance(self.app.screen, kind)

    @property
    def lines(self) -> list[str]:
        """The text on the screen, line by line."""
        return screen_lines(self.screen)

    @property
    def header(self) -> str:
        """The first line."""
        return self.lines[0]

    @property
    def bar(self) -> str:
        """The bar of views."""
        return self.lines[1]

    @property
    def body(self) -> list[str]:
        """The lines below the bar, the footer included."""
        return self.lines[2:]

    @property
    def footer(self) -> str:
        """The last line, and what the last key did, where that is shown."""
        said, lines = self.screen.query(Said).first(), self.lines
        region = said.region if said.display else Region()
        return " ".join([lines[-1], *(line[region.x : region.right] for line in lines[region.y : region.bottom])])

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    def line_of(self, text: str) -> int:
        """Return the number of the first line that has a text in it."""
        found = [number for number, line in enumerate(self.lines) if text in line]
        assert found, f"{text} is not in\n{self.text}"
        return found[0]

    async def press(self, *keys: str) -> None:
        """Press keys, each as Textual names it, and let them act one after the other, on what the one before brings."""
        for number, key in enumerate(keys):
            if number:
                await self._bring()
            self._send(key)
            # Again for what the first round's messages have brought about: a new screen, or another focus.
            await self._settle()
        await self.pilot.pause()

    async def _bring(self) -> None:
        """Let what is worked on be there; not longer than a while, for a test may hold it up."""
        deadline, was_at_rest = time.monotonic() + _HELD_S, True
        while any(not worker.is_finished for worker in self.app.workers) and time.monotonic() < deadline:
            was_at_rest = False
            await asyncio.sleep(0.005)
        if not was_at_rest:
            await self._settle()

    async def _settle(self) -> None:
        """Let what was sent, and what comes of it, be done."""
        for _ in range(5):
            await self.pilot._wait_for_screen()
            await self._wait_for_app()

    async def _wait_for_app(self) -> None:
        """Let the app itself do what it was asked to do later: keys are carried out so."""
        is_done = asyncio.Event()
        if self.app.call_later(is_done.set):
            # Who has begun to end does nothing more.
            with suppress(TimeoutError):
                await asyncio.wait_for(is_done.wait(), _APP_S)

    async def type(self, text: str) -> None:
        """Type a text as fast as can be."""
        for character in text:
            self._send(character)
        await self._settle()
        await self.pilot.pause()

    async def send(self, *keys: str) -> None:
        """Press keys all in one go, as a terminal sends what was typed while nobody listened."""
        for key in keys:
            self._send(key)
        await self._settle()
        await self.pilot.pause()

    def paste(self, text: str) -> None:
        """Paste a text, in one go with what was sent before."""
        self._put(events.Paste(text))

    def _send(self, key: str) -> None:
        """Put one key into the queue, as a terminal does."""
        name = _character_to_key(key) if len(key) == 1 else key
        character = key if len(key) == 1 else CHARACTERS.get(key)
        self._put(events.Key(name, character))

    def _put(self, event: events.Event) -> None:
        event.set_sender(self.app)
        assert self.app._driver is not None
        self.app._driver.send_message(event)

    async def rest(self) -> None:
        """Wait until nothing is worked on beside the screen, and what came of it is shown."""
        await self.app.workers.wait_for_complete()
        await self._settle()
        await self.pilot.pause()

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so; fail when it takes too long."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            assert time.monotonic() < deadline, "\n".join(self.lines)
            await self.pilot.pause(0.005)
        await self._settle()

    async def until_shown(self, *texts: str) -> None:
        """Wait until all these texts are on the screen."""

        def are_there() -> bool:
            # To draw it for each text is a tenth of what the tests of screens take.
            shown = self.text
            return all(text in shown for text in texts)

        await self.until(are_there)

    async def tell(self, state: FeedState) -> None:
        """Say how the reading stands, as the reading thread does."""
        self.app.post_message(FeedNews(state))
        await self.until(lambda: self.app.feed_state is state)

    async def grow(self, *documents: Document, path: str = "spans/1.json") -> None:
        """Let more spans come while following."""
        self.data.add(*documents, path=path)
        await self.tell(FeedState(loading=False, following=True))


def many_spans(
    trace_ids: Sequence[int], parent_ids: Sequence[int], names: Sequence[str], services: Sequence[str]
) -> Growing:
    """Return a store of spans without records: each starts 1 µs after the one before, and lasts 5 µs."""
    data, count = Growing(), len(names)
    data.reader.files.append(b"")
    numbers = range(1, count + 1)
    columns = SpanColumns(
        trace_ids=trace_ids,
        span_ids=array("Q", numbers),
        parent_ids=array("Q", parent_ids),
        start_ns=array("q", [EPOCH_NS + 1000 * number for number in numbers]),
        end_ns=array("q", [EPOCH_NS + 1000 * (number + 5) for number in numbers]),
        names=names,
        services=services,
        kinds=array("B", bytes(count)),
        statuses=array("B", bytes(count)),
        warnings=array("H", bytes(2 * count)),
    )
    data.store.add(data.store.add_source("spans/services.json"), Batch(columns, range(count), [1] * count))
    return data


def screen_lines(screen: Screen[object]) -> list[str]:
    """Return the text of a screen, line by line."""
    return ["".join(segment.text for segment in strip) for strip in screen._compositor.render_strips()]


@asynccontextmanager
async def looking_at(
    *documents: Document,
    size: tuple[int, int] = USUAL,
    opening: Opening | None = None,
    data: Growing | None = None,
    paints: bool = THOROUGH,
) -> AsyncIterator[Look]:
    """Run a viewer of some documents.

    Args:
        documents: What was read.
        size: Cells across and down.
        opening: What to begin with.
        data: The store, instead of documents.
        paints: Whether each change is painted, a quarter of the time; else what a test looks at is, when it does.
    """
    data = Growing(*documents) if data is None else data
    opening = opening or Opening(("spans",))
    feed = Feed(data.store, lambda: cast("Session", NoSession()), follow=opening.follow)
    app = SpanviewApp(data.store, opening, feed)
    painting = nullcontext() if paints else patch.object(Compositor, "render_update", _paint_nothing)
    counting = patch.object(_callback, "_count_parameters", _count_once)
    with painting, counting, patch.object(Stylesheet, "_parse_rules", _parse_once):
        async with app.run_test(size=size) as pilot:
            look = Look(app, pilot, data)
            await look.until(lambda: not app.feed_state.loading or not app.is_running)
            yield look


_parse_rules: Any = Stylesheet._parse_rules
_PARSED: Final[dict[tuple[Any, ...], Any]] = {}


def _parse_once(sheet: Stylesheet, *asked: Any, **more: Any) -> Any:
    """Return what a style sheet says, which the app of each test would take apart again, a sixth of its start."""
    key = frozenset(sheet._variables.items()), asked, (*more.items(),)
    if key not in _PARSED:
        _PARSED[key] = _parse_rules(sheet, *asked, **more)
    return _PARSED[key]


_count_parameters: Any = _callback._count_parameters
_COUNTED: Final[dict[tuple[CodeType, bool], int]] = {}


def _count_once(function: Any) -> int:
    """Return how many parameters a function has, which Textual asks anew for most messages: a sixteenth of all."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return int(_count_parameters(function))
    key = code, isinstance(function, MethodType)
    if key not in _COUNTED:
        _COUNTED[key] = _count_parameters(function)
    return _COUNTED[key]


def _paint_nothing(
    compositor: Compositor,
    full: bool = False,  # noqa: FBT001, FBT002, ARG001 - as Textual calls it
    screen_stack: list[Screen[object]] | None = None,
    simplify: bool = False,  # noqa: FBT001, FBT002, ARG001
) -> None:
    """Take note that what has changed was painted, as it would be for a terminal."""
    visible_screen_stack.set(screen_stack or [])
    compositor._dirty_regions.clear()
