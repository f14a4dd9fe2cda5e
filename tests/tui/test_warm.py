"""What keeps keys quick: what is there isn't collected as garbage, and what many traces bring is shown in turn."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import weakref
from typing import TYPE_CHECKING

import pytest

from builders import Builder
from spanview.analysis.diff import PathDiff
from spanview.analysis.flame import CallPath
from spanview.reports import traces_model
from spanview.tui.app import app, news
from spanview.tui.app.feed import FeedState
from spanview.tui.traces.plot import Plot
from viewers import looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Let garbage be collected as it was before."""
    gc.unfreeze()
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()
    gc.unfreeze()
    gc.freeze()


async def test_garbage_is_collected_when_all_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there by then is looked at no more."""
    async with looking_at(Builder().span("first", trace=1)) as look:
        monkeypatch.setattr(type(look.app), "is_headless", False)
        gc.disable()
        look.app._collect_garbage()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 1000
        assert gc.get_threshold()[2] > app._OLD


@pytest.mark.parametrize(("is_old", "is_at_rest"), [(True, True), (True, False), (False, True)])
async def test_old_garbage_is_collected_at_rest(
    monkeypatch: pytest.MonkeyPatch, *, is_old: bool, is_at_rest: bool
) -> None:
    """Not between keys, which would wait for it, nor again and again."""
    async with looking_at(Builder().span("first", trace=1)) as look:
        monkeypatch.setattr(app, "_OLD", 0 if is_old else 1000)
        gc.disable()
        circle = Circle()
        left = weakref.ref(circle)
        del circle
        look.app._pressed_at = time.monotonic() - (3600 if is_at_rest else 0)
        look.app._collect_at_rest()
        assert (left() is None) is (is_old and is_at_rest)


class Circle:
    """What only a collection frees."""

    def __init__(self) -> None:
        self.own = self


def _paths() -> list[object]:
    return [each for each in gc.get_objects() if isinstance(each, CallPath | PathDiff)]


async def test_what_left_screens_show_goes_at_once() -> None:
    """No collection of garbage is needed for what may be large: call paths, and how they differ."""
    builder = Builder()
    spans = [builder.span("a", trace=number, span=number, start=number, end=number + 1) for number in range(1, 9)]
    # What other tests have left in a circle would stay, too.
    gc.collect()
    others = _paths()

    def is_left() -> bool:
        return any(all(path is not other for other in others) for path in _paths())

    async with looking_at(*spans) as look:
        gc.disable()
        try:
            for keys in (("F", "escape"), ("d", "down", "d", "escape")):
                for key in keys[:-1]:
                    await look.press(key)
                    await look.rest()
                assert is_left()
                await look.press(keys[-1])
                await look.rest()
                await look.until(lambda: not is_left())
        finally:
            gc.enable()


def test_screens_that_are_imported_are_those_that_keys_open() -> None:
    """What is imported at rest is there, in a process that has nothing else."""
    code = (
        "import sys; from spanview.tui.app.warm import import_screens; import_screens();"
        "screens = 'spanview.tui.trace.trace_screen', 'spanview.analysis.trace_columns';"
        "print(*(name in sys.modules for name in screens))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


async def test_news_of_many_traces_come_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However quickly spans come, the list is put in order now and then only; nothing that came is left out."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=1)) as look:
        monkeypatch.setattr(app, "MANY_TRACES", 0)
        monkeypatch.setattr(news, "_MIN_INTERVAL_S", 0.3)
        shown: list[set[int]] = []
        monkeypatch.setattr(look.screen, "feed_has_news", shown.append)
        for number in range(20):
            look.data.add(builder.span("more", trace=2 + number, span=2 + number, start=number))
            await look.tell(FeedState(loading=False, following=True))
        await look.until(lambda: {*range(1, 21)} <= set().union(*shown))
        assert len(shown) < 10


@pytest.mark.parametrize(
    ("acts_s", "longest_s", "painted_s"),
    [(2, 3600, 3600), (3600, 2, 0), (3600, 0, 2)],
    ids=("acted", "kept", "painted"),
)
async def test_news_wait_for_a_key(
    monkeypatch: pytest.MonkeyPatch, acts_s: float, longest_s: float, painted_s: float
) -> None:
    """While a key may act still nothing is put in order, but not for ever, and longest until it is painted."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=1)) as look:
        monkeypatch.setattr(app, "MANY_TRACES", 0)
        monkeypatch.setattr(news, "_MIN_INTERVAL_S", 0)
        monkeypatch.setattr(app, "_ACTS_S", acts_s)
        monkeypatch.setattr(news, "_MAX_WAIT_S", longest_s)
        monkeypatch.setattr(news, "_MAX_PAINT_WAIT_S", painted_s)
        look.app._news.at_once()
        shown: list[set[int]] = []
        monkeypatch.setattr(look.screen, "feed_has_news", shown.append)
        await look.press("j")
        look.data.add(builder.span("more", trace=2, span=2))
        await look.tell(FeedState(loading=False, following=True))
        assert shown == []
        await look.until(lambda: shown == [{1}])


async def test_many_new_traces_are_plotted_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plot of a long list isn't drawn each time that spans come, nor while a key acts, but it is drawn."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=1)) as look:
        monkeypatch.setattr(traces_model, "MANY_TRACES", 0)
        monkeypatch.setattr(app, "_ACTS_S", 2.5)
        await look.press("j")
        at = time.monotonic()
        drawn = look.screen.query_one(Plot)
        look.data.add(builder.span("more", trace=2, span=2, start=10, duration=5_000_000))
        await look.tell(FeedState(loading=False, following=True))
        await look.until(lambda: drawn._grid is not None and sum(drawn._grid.counts.values()) == 2)
        assert time.monotonic() - at >= 2.5
