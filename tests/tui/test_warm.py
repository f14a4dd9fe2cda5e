"""What keeps keys quick: garbage is collected when nobody waits, and what many traces bring is shown in turn."""

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
from spanview.tui.app import app, news, warm
from spanview.tui.app.feed import FeedState
from spanview.tui.app.warm import Tidy
from spanview.tui.traces import traces_model
from spanview.tui.traces.plot import Plot
from viewers import looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Let garbage be collected as it was before."""
    before = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
    gc.freeze()


@pytest.fixture(name="tidy")
def tidy_with_a_clock(monkeypatch: pytest.MonkeyPatch) -> Tidy:
    """Return what collects, which has put off what is there; a key was pressed just now."""
    tidy = Tidy()
    gc.collect()
    tidy.put_off()
    tidy.key_was_pressed()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    return tidy


class _Circle:
    """What only a collection can free."""

    def __init__(self) -> None:
        self.itself = self


def _grow(circles: int, portion: int) -> list[_Circle]:
    """Return some of what is made, while what is young is collected as ever, so many times at the least."""
    made: list[_Circle] = []
    while len(made) < circles or gc.get_count()[2] < portion:
        made.append(_Circle())
    return made[:circles]


def test_only_whole_collections_are_put_off() -> None:
    """What is young is collected as ever; what is there is looked at no more."""
    before = gc.get_threshold()
    Tidy().put_off()
    assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold()[2] > 1000 * before[2]
    assert gc.get_freeze_count() > 1000


@pytest.mark.parametrize("is_large", [False, True], ids=("small", "large"))
def test_portions_are_collected_between_keys(monkeypatch: pytest.MonkeyPatch, tidy: Tidy, *, is_large: bool) -> None:
    """What has become garbage goes; what outlives it isn't looked at again where that takes long."""
    monkeypatch.setattr(warm, "_LARGE_S", -1 if is_large else 3600)
    kept = gc.get_freeze_count()
    gone = [weakref.ref(each) for each in _grow(100, portion=0)]
    living = _grow(100, portion=2)
    _pass_on(monkeypatch, 1)
    tidy.collect()
    assert [ref() for ref in gone if ref() is not None] == []
    assert (gc.get_freeze_count() >= kept + len(living)) is is_large


def test_no_portion_is_collected_while_a_key_acts(monkeypatch: pytest.MonkeyPatch, tidy: Tidy) -> None:
    """It would hold what the key brings onto the screen; what outlives one portion goes with the next."""
    monkeypatch.setattr(warm, "_LARGE_S", 3600)
    made = _grow(100, portion=2)
    gone = weakref.ref(made.pop())
    tidy.collect()
    assert gone() is not None
    _pass_on(monkeypatch, 1)
    tidy.collect()
    assert gone() is None
    gone = weakref.ref(made.pop())
    made.clear()
    _grow(0, portion=2)
    tidy.collect()
    assert gone() is None


def _pass_on(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic() + seconds
    monkeypatch.setattr(time, "monotonic", lambda: now)


def test_a_portion_that_is_not_worth_it(tidy: Tidy) -> None:
    """Where hardly anything was made, nothing is collected."""
    kept = gc.get_freeze_count()
    gone = weakref.ref(_Circle())
    tidy.collect()
    assert gone() is not None
    assert gc.get_freeze_count() == kept


def test_nothing_is_collected_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """While files are read, nothing is looked at."""
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 5))
    kept = gc.get_freeze_count()
    gone = weakref.ref(_Circle())
    Tidy().collect()
    assert gone() is not None
    assert gc.get_freeze_count() == kept


def test_much_at_once_is_collected_later(tidy: Tidy) -> None:
    """What has grown large at once is kept from the portions."""
    made = weakref.ref(_grow(1, portion=12)[0])
    tidy.collect()
    assert made() is not None
    assert gc.get_count()[2] == 0


@pytest.mark.parametrize(
    ("rest_s", "most", "was_left", "is_gone"),
    [(4, 10**9, True, False), (6, 10**9, True, True), (6, 10**9, False, False), (0, 0, False, True)],
    ids=str,
)
def test_the_whole_is_collected_at_rest(
    monkeypatch: pytest.MonkeyPatch, tidy: Tidy, rest_s: float, most: int, *, was_left: bool, is_gone: bool
) -> None:
    """Some seconds after the last key, if a screen was left, or when too much was kept: also what is garbage since."""
    made = _grow(90_000, portion=12)
    tidy.collect()
    assert gc.get_count()[2] == 0
    gone = weakref.ref(made.pop())
    made.clear()
    if was_left:
        tidy.screen_was_left()
    _pass_on(monkeypatch, rest_s)
    monkeypatch.setattr(warm, "_MOST_KEPT", most)
    tidy.collect()
    assert (gone() is None) is is_gone


def _paths() -> list[object]:
    return [each for each in gc.get_objects() if isinstance(each, CallPath | PathDiff)]


async def test_what_left_screens_show_goes_at_once() -> None:
    """No collection of garbage is needed for what may be large: call paths, and how they differ."""
    builder = Builder()
    spans = [builder.span("a", trace=number, span=number, start=number, end=number + 1) for number in range(1, 9)]
    async with looking_at(*spans) as look:
        gc.disable()
        try:
            for keys in (("F", "escape"), ("d", "down", "d", "escape")):
                for key in keys[:-1]:
                    await look.press(key)
                    await look.rest()
                assert _paths() != []
                await look.press(keys[-1])
                await look.rest()
                await look.until(lambda: not _paths())
        finally:
            gc.enable()


def test_screens_that_are_imported_are_those_that_keys_open() -> None:
    """What is imported at rest is there, in a process that has nothing else."""
    code = (
        "import sys; from spanview.tui.app.warm import import_screens; import_screens(has_many=True);"
        "screens = 'spanview.tui.trace.trace_screen', 'spanview.tui.traces.traces_bulk';"
        "print(*(name in sys.modules for name in screens))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


async def test_news_of_many_traces_come_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However quickly spans come, the list is put in order now and then only; nothing that came is left out."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=1)) as look:
        monkeypatch.setattr(app, "NUMPY_FROM_TRACES", 0)
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
        monkeypatch.setattr(app, "NUMPY_FROM_TRACES", 0)
        monkeypatch.setattr(news, "_MIN_INTERVAL_S", 0)
        monkeypatch.setattr(warm, "_ACTS_S", acts_s)
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
        monkeypatch.setattr(traces_model, "NUMPY_FROM_TRACES", 0)
        monkeypatch.setattr(warm, "_ACTS_S", 2.5)
        await look.press("j")
        at = time.monotonic()
        drawn = look.screen.query_one(Plot)
        look.data.add(builder.span("more", trace=2, span=2, start=10, duration=5_000_000))
        await look.tell(FeedState(loading=False, following=True))
        await look.until(lambda: drawn._grid is not None and sum(drawn._grid.counts.values()) == 2)
        assert time.monotonic() - at >= 2.5
