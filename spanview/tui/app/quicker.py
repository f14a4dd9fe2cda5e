"""What Textual does for each widget or each message anew, done once: a shim for textual 8.

rules        which rules of the style sheet are for a widget is looked up for each one of each screen that is opened,
             which takes a sixteenth longer
handlers     which methods take a message is looked up in all classes of a widget for each message: a key in a list
             takes a twelfth longer
"""

# ruff: noqa: SLF001 - what is mended has no other names

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.message_pump import MessagePump

from spanview.tui.shims import HANDLERS, RULES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from textual.css.model import RuleSet
    from textual.css.styles import RulesMap
    from textual.message import Message

    _Handlers: TypeAlias = list[tuple[type, Any]]
    _Asked: TypeAlias = tuple[Any, ...]

_get_dispatch_methods: Any = getattr(MessagePump, "_get_dispatch_methods", None)
_HANDLERS: dict[tuple[type, str, type], _Handlers | None] = {}
"""By the classes of the widget and of the message, and the name of the methods; None where Textual looks them up."""
_MARKS: Final = "_has_hover_style", "_has_focus_within", "_has_order_style", "_has_odd_or_even"
_NOTHING: Any = None


def quicken() -> None:
    """Have Textual look up methods in this way; rules are kept by a `Sheet`."""
    if HANDLERS.is_active:
        MessagePump._get_dispatch_methods = handlers  # type: ignore[method-assign]


def handlers(
    self: MessagePump, method_name: str, message: Message
) -> Iterable[tuple[type, Callable[[Message], Awaitable[Any]]]]:
    """Yield the methods that take a message, from a widget's own class on, until one says that it was the last."""
    key = type(self), method_name, type(message)
    if key not in _HANDLERS:
        _HANDLERS[key] = _handlers(*key)
    known = _HANDLERS[key]
    if known is None:
        yield from _get_dispatch_methods(self, method_name, message)
        return
    for owner, method in known:
        if message._no_default_action:
            return
        yield owner, method.__get__(self, owner)


def _handlers(widget: type, name: str, message: type) -> _Handlers | None:
    """Return the methods that take messages of a class; None where one is decorated, and may ask for more."""
    found: _Handlers = []
    for owner in widget.__mro__:
        decorated: Any = owner.__dict__.get("_decorated_handlers")
        if decorated and any(of in decorated for of in message.__mro__):
            return None
        method = owner.__dict__.get(f"_{name}") or owner.__dict__.get(name)
        if method is not None and not getattr(method, "_textual_on", None):
            found.append((owner, method))
    return found


class Sheet(Stylesheet):
    """A style sheet that keeps which rules are for a node, by all that they can ask of it and of those above it.

    For what rules ask of siblings, and of what is within, Textual keeps nothing while it styles several, nor does this.
    """

    _known: dict[_Asked, tuple[tuple[bool, ...], RulesMap]] = _NOTHING
    """The marks that its rules leave on a node, and what they say."""
    _known_in: list[RuleSet] = _NOTHING
    """All rules that there were when it became known."""
    _above: tuple[MessagePump | None, _Asked] = None, ()
    """The node that is being styled, whose component classes come next, and what was asked of it."""

    def apply(self, node: DOMNode, *, animate: bool = False, cache: dict[_Asked, RulesMap] | None = None) -> None:
        """Style a node, as Textual does."""
        if not RULES.is_active:
            super().apply(node, animate=animate, cache=cache)
            return
        if self._known_in is not self.rules:
            self._known, self._known_in = {}, self.rules
        above, asked = before = self._above
        asked = _asked_of(node, asked if above is not None and node._parent is above else _asked_above(node))
        self._above = node, asked
        known = self._known.get(asked)
        if known is None:
            cache = {}
            super().apply(node, animate=animate, cache=cache)
            for rules in cache.values():
                self._known[asked] = tuple(getattr(node, name) for name in _MARKS), rules
        else:
            for name, mark in zip(_MARKS, known[0], strict=True):
                setattr(node, name, mark)
            self.replace_rules(node, known[1], animate=animate)
            self._process_component_classes(node)
        self._above = before


def _asked_above(node: DOMNode) -> _Asked:
    """Return what rules can ask of the nodes above one."""
    parent = node._parent
    return _asked_of(parent, _asked_above(parent)) if isinstance(parent, DOMNode) else ()


def _asked_of(node: DOMNode, above: _Asked) -> _Asked:
    """Return what rules can ask of a node, and of those above it."""
    if isinstance(node, App):
        return type(node), node.theme, node.app_focus
    return type(node), node._id, frozenset(node._classes), node._pseudo_classes_cache_key, above
