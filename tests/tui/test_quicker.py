"""What Textual does over and over is done once, with the same result as Textual's own way.

widget -- styled --> rules, marks                  as by a style sheet that keeps nothing
widget, message --> methods                        as Textual looks them up
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual import events
from textual.css.stylesheet import Stylesheet
from textual.widgets import Input

from builders import Builder
from every_screen import WAYS, documents
from seeds import sample
from spanview.tui.app import quicker
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.prompt import Prompt
from viewers import looking_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App
    from textual.css.model import RuleSet
    from textual.dom import DOMNode

_check_rule = Stylesheet._check_rule


@pytest.mark.shortened
@pytest.mark.parametrize("way", [pytest.param(WAYS[name], id=name) for name in sample([*WAYS], 4)])
async def test_widgets_look_as_they_would_in_textual(way: tuple[str, ...]) -> None:
    """On each screen, opened twice, in another theme and by another focus too, and with the terminal's window left."""
    async with looking_at(*documents()) as look:
        for keys in (way, ("T", "slash", "escape"), ("escape",) * 4, way):
            for key in keys:
                await look.press(key)
                await look.rest()
            _compare(look.app)
        look.app.app_focus = False
        await look.rest()
        _compare(look.app)


def _compare(app: App[None]) -> None:
    sheet = app.stylesheet
    for node in app.screen.walk_children(with_self=True):
        before = _styles_of(node)
        sheet.apply(node)
        kept = _styles_of(node)
        Stylesheet.apply(sheet, node)
        assert kept == _styles_of(node), node
        # Textual doesn't style them anew whenever a focus comes or goes.
        assert before == kept or node._has_focus_within, node


def _styles_of(node: DOMNode) -> tuple[Any, ...]:
    components = {name: styles.base.get_rules() for name, styles in node._component_styles.items()}
    marks = [getattr(node, name) for name in quicker._MARKS]
    return dict(node.styles.base.get_rules()), components, marks


async def test_rules_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen that was there before is styled without asking which rules are for it, but those of what has a focus."""
    async with looking_at(Builder().span("first", trace=1)) as look:
        for key in ("enter", "escape", "enter", "escape"):
            await look.press(key)
        checked: list[DOMNode] = []

        def check(rule: RuleSet, path: list[DOMNode]) -> Iterable[tuple[int, int, int]]:
            checked.append(path[-1])
            return _check_rule(rule, path)

        monkeypatch.setattr(Stylesheet, "_check_rule", staticmethod(check))
        await look.press("enter")
        assert [node for node in checked if not any(isinstance(above, Prompt) for above in node.css_path_nodes)] == []


async def test_messages_go_to_the_same_methods() -> None:
    """Each widget's methods, in the same order, and none behind one that wants no more."""
    async with looking_at(Builder().span("first", trace=1)) as look:
        await look.press("slash")
        keys = events.Key("a", "a"), events.Key("b", "b")
        keys[1].prevent_default()
        messages = (*keys, events.Focus(), events.Mount(), LineList.Moved(look.screen.query_one(LineList)))
        seen = 0
        for node in look.screen.walk_children(with_self=True):
            for message in (*messages, Input.Changed(look.screen.query_one(Input), "a")):
                name = message.handler_name
                found = [*quicker.handlers(node, name, message)]
                assert found == [*quicker._get_dispatch_methods(node, name, message)]
                seen += len(found)
        assert seen > 50
