"""The themes: whatever is painted can be read in each of them.

theme                  text     bars    what steps back of bars
-----                  ----     ----    -----------------------
dark, light            4.5:1    3:1     2:1
high contrast, both    7:1      3:1     2:1
ansi                   the terminal's own colours, and no others
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from rich.color import ColorType
from textual.color import Color
from textual.css import stylesheet
from textual.css.parse import parse
from textual.css.stylesheet import Stylesheet

import viewers
from builders import Builder
from contrasts import LEAST, contrast, least, ratio_of
from spanview.tui.app.opening import Opening
from spanview.tui.app.themes import ANSI, NAMES, terminal_theme
from spanview.tui.flame.flame_screen import FlameBlocks, FlameScreen
from spanview.tui.widgets.paint import PALETTE
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import looking_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from rich.segment import Segment
    from textual.css.model import RuleSet
    from textual.dom import DOMNode

    from builders import Document
    from spanview.tui.app.app import SpanviewApp
    from viewers import Look

LEAST_OF_BARS: Final = 3.0
WAYS: Final = (
    (),
    ("slash", "d", "u", "r"),
    ("escape", "left_curly_bracket"),
    ("escape", "r"),
    ("r", "t"),
    ("enter",),
    ("escape", "escape", "end", "enter"),
    ("1", "3", "4", "plus", "c"),
    ("c", "slash", "l", "e", "a", "f", "enter", "left"),
    ("tab", "enter"),
    ("question_mark",),
    ("escape", "colon"),
    ("escape", "escape", "escape", "escape", "e"),
)
"""Keys that lead from one state of a screen to the next."""


def documents() -> list[Document]:
    """Return traces with all that has a colour: services, errors, no end, no parent, waits, and many like siblings."""
    build = Builder()
    services = [
        build.span(f"leaf {n}", trace=3, parent=300, start=5 * n, duration=9, service=f"s{n}") for n in range(9)
    ]
    return [
        build.span("late", trace=1, start=3_000_000),
        build.span("orphan", trace=2, parent=77, start=2_000_000),
        build.span("batch", trace=3, span=300, start=0, duration=100, service="shop", status="ERROR"),
        *services,
        build.span("running", trace=3, parent=300, start=60, duration=None, service="shop"),
        build.span("f ray.remote", trace=3, span=301, parent=300, start=60, kind="PRODUCER"),
        build.span("f ray.remote_worker", trace=3, parent=301, start=90, kind="CONSUMER", attributes={"key": "value"}),
    ]


def painted(look: Look) -> Iterator[Segment]:
    """Yield what is on the screen, as it is sent to the terminal."""
    for strip in look.screen._compositor.render_strips():
        yield from strip


async def walked(look: Look) -> AsyncIterator[tuple[str, ...]]:
    """Walk over the screens; yield the keys that led to each."""
    for keys in WAYS:
        await look.press(*keys)
        await look.rest()
        yield keys
    await look.press("escape", "escape", "escape", "F")
    await look.until(lambda: look.is_on(FlameScreen) and look.screen.query_one(FlameBlocks).model)
    yield ("F",)
    await look.press("escape", "L")
    await look.until(lambda: isinstance(look.screen, WorkersScreen) and look.screen.live.has_answer)
    yield ("L",)
    await look.press("right", "right", "down", "e")
    yield ("L", "e")


@pytest.mark.parametrize("name", LEAST)
async def test_all_text_can_be_read(name: str) -> None:
    """On every screen each letter and digit stands out of what is behind it, selected or not, and marks do as well."""
    async with looking_at(*documents(), opening=Opening(("spans",), theme=name), size=(120, 40)) as look:
        texts = 0
        async for keys in walked(look):
            for segment in painted(look):
                if not (asked := least(name, segment)):
                    continue
                texts += asked == LEAST[name]
                assert segment.style is not None, (keys, segment)
                assert not segment.style.dim, (keys, segment)
                ratio = contrast(segment.style)
                assert ratio >= asked, (name, keys, segment, ratio)
        assert texts > 400


def resolved(app: SpanviewApp, name: str) -> Color:
    """Return a colour that the style sheet asks for."""
    return Color.parse(app.theme_variables[name])


@pytest.mark.parametrize("name", LEAST)
async def test_each_color_on_each_background(name: str) -> None:
    """Text, what steps back, accents, warnings and errors can be read on every background that a theme has."""
    async with looking_at(*documents(), opening=Opening(("spans",), theme=name)) as look:
        app = look.app
        backgrounds = [resolved(app, each) for each in ("background", "cursor", "cursor-blurred", "panel", "surface")]
        for each in ("foreground", "quiet", "primary", "accent", "warning", "error"):
            for background in backgrounds:
                ratio = ratio_of(resolved(app, each), background)
                assert ratio >= LEAST[name], (each, background, ratio)
        shades = terminal_theme(name)
        assert shades is not None
        services = [Color(*style.color.get_truecolor(shades)) for style in PALETTE if style.color is not None]
        assert len(set(services)) == len(PALETTE)
        for service in services:
            assert ratio_of(service, backgrounds[0]) >= LEAST[name]
            assert ratio_of(service, backgrounds[1]) >= LEAST_OF_BARS
            assert service != resolved(app, "error")


async def test_the_terminals_own_colors() -> None:
    """The last theme sends the terminal's colours by their numbers, and the selected row turned round."""
    async with looking_at(*documents(), opening=Opening(("spans",), theme=ANSI), size=(120, 40)) as look:
        async for keys in walked(look):
            styles = [segment.style for segment in painted(look) if segment.style is not None]
            colors = [color for style in styles for color in (style.color, style.bgcolor) if color is not None]
            assert colors
            assert {color.type for color in colors} <= {ColorType.DEFAULT, ColorType.STANDARD}, keys
            assert any(style.reverse for style in styles), keys


async def test_one_key_goes_through_all() -> None:
    """T shows the next theme, and says which; after the last one comes the first."""
    async with looking_at(*documents()) as look:
        shown = [look.app.theme]
        for _ in NAMES:
            await look.press("T")
            assert f"theme: {look.app.theme}" in look.footer
            shown.append(look.app.theme)
        assert shown == [*NAMES, NAMES[0]]


async def test_a_screen_out_of_sight_waits_for_the_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    """T styles the screen in sight alone; the others are styled when they come into sight, each once."""
    async with looking_at(*documents()) as look:
        styled: list[str] = []
        apply = Stylesheet.apply

        def note(self: Stylesheet, node: DOMNode, **arguments: Any) -> None:
            styled.append(type(node).__name__)
            apply(self, node, **arguments)

        await look.press("enter", "question_mark")
        below = look.app.screen_stack[1:-1]
        before = [screen.styles.background for screen in below]
        monkeypatch.setattr(Stylesheet, "apply", note)
        await look.press("T")
        assert "HelpScreen" in styled
        assert not {"TraceScreen", "TracesScreen", "Waterfall", "TraceList"}.intersection(styled)
        for screen, was in zip(reversed(below), reversed(before), strict=True):
            styled.clear()
            await look.press("escape")
            assert look.screen is screen
            assert styled.count(type(screen).__name__) == 1
            assert screen.styles.background == Color.parse(look.app.theme_variables["background"]) != was
        await look.press("enter")
        styled.clear()
        await look.press("escape")
        assert "TracesScreen" not in styled


async def test_a_theme_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """T round all themes again parses nothing, and a screen that comes later is parsed for the theme that is shown."""
    parsed: list[str] = []

    def note(scope: str, css: str, *arguments: Any, **named: Any) -> Iterable[RuleSet]:
        parsed.append(css)
        return parse(scope, css, *arguments, **named)

    monkeypatch.setattr(stylesheet, "parse", note)
    # Nor is anything known of other tests.
    monkeypatch.setattr(viewers, "_parse_once", Stylesheet._parse_rules)
    async with looking_at(*documents()) as look:
        await look.press(*"T" * len(NAMES))
        shown = look.app.theme, look.app.screen.styles.background
        parsed.clear()
        await look.press(*"T" * len(NAMES))
        assert (look.app.theme, look.app.screen.styles.background) == shown
        assert not parsed
        await look.press("slash")
        assert len(parsed) == len({*parsed}) > 0
        assert look.app.screen.styles.background == shown[1]


async def test_the_palette_offers_each() -> None:
    """Each theme is in the palette, by its name, and is taken at once."""
    async with looking_at(*documents()) as look:
        for name in reversed(NAMES):
            await look.press("colon")
            await look.type(f"theme: {name}")
            await look.press("enter")
            assert look.app.theme == name
