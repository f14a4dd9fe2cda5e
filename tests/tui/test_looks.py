"""Every view at every size in every look: it can be read, and is laid out as if it had been opened at that size.

look                   letters, digits, marks   bars, lines
----                   ----------------------   -----------
dark, light            4.5:1                    2:1
high contrast, both    7:1                      2:1
no colour              no colour at all; what is selected is marked
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from contrasts import LEAST, contrast, least
from pictures import COLORLESS, ROOT, SHOTS, SIZES, VIEWS, Shot, looks, settled, walked
from seeds import THOROUGH, sample
from viewers import screen_lines

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from spanview.tui.app.app import SpanviewApp

_SMALL, _LARGE = SIZES[0], SIZES[-1]
_TIMES: Final = 20 if THOROUGH else 4
"""That often a terminal is made larger and smaller again."""


pytestmark = [pytest.mark.usefixtures("universal_time"), pytest.mark.shortened]


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the recordings be where the README says."""
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("view", sample(VIEWS, 5), ids=lambda view: view.name)
async def test_every_view_can_be_read(view: Shot) -> None:
    """Whatever is painted stands out of what is behind it; without colours there are none, and the same words."""
    texts = dict[tuple[tuple[int, int], str], str]()
    async for size, look, app in looks(view, (_SMALL, _LARGE)):
        segments = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
        texts[size, look] = "".join(segment.text for segment in segments)
        for segment in segments:
            style = segment.style
            if look == COLORLESS:
                assert style is None or style.color is style.bgcolor is None, segment
            elif look in LEAST and (asked := least(look, segment)):
                assert style is not None, (size, look, segment)
                assert not style.dim, (size, look, segment)
                assert contrast(style) >= asked, (size, look, segment, contrast(style))
    for size in (_SMALL, _LARGE):
        assert len({text for (at, look), text in texts.items() if at == size and look != COLORLESS}) == 1
        assert {*texts[size, COLORLESS]} & {*"›·[["}


@pytest.mark.shortened(8)
@pytest.mark.parametrize("view", VIEWS if THOROUGH else SHOTS, ids=lambda view: view.name)
async def test_every_view_is_laid_out_anew(view: Shot) -> None:
    """However often the size changes, it looks as it does where it was opened at that size."""
    sizes = (_SMALL, _LARGE) if THOROUGH else ((_SMALL, _LARGE)[VIEWS.index(view) % 2],)
    opened = {size: await _opened(view, size) for size in sizes}
    async with walked(view, _LARGE) as (app, pilot):
        for number in range(_TIMES):
            await pilot.resize_terminal(*(_LARGE if number % 2 else _SMALL))
        for size in sizes:
            await pilot.resize_terminal(*size)
            await _at_rest(app, pilot)
            assert screen_lines(app.screen) == opened[size], size


async def _opened(view: Shot, size: tuple[int, int]) -> list[str]:
    """Return what is on the screen where a view is opened at a size."""
    async with walked(view, size) as (app, pilot):
        await _at_rest(app, pilot)
        return screen_lines(app.screen)


async def _at_rest(app: SpanviewApp, pilot: Pilot[None]) -> None:
    """Wait until everything is shown, but for what the last key did: that is said once."""
    await settled(app, pilot)
    app.said = ""
    app.refresh_frame()
    await pilot.pause()
