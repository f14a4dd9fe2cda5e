"""What the viewer uses, or does in another way, of what Textual has for itself: here it says what, why, and until when.

Each shim names the parts that it needs. It is active where all of them are there, and is asked that before any of them
is used; where one is missing, Textual does it in its own way. Below each, what it is for, and until when, as seen with
8.2.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Shim:
    """One thing that is done in another way."""

    name: str
    needs: tuple[str, ...]
    """Module, class and name, as in `textual.screen:Screen._refresh_layout`."""

    @property
    def missing(self) -> list[str]:
        """What this version of Textual lacks of what it needs."""
        return [need for need in self.needs if not is_there(need)]

    @property
    def is_active(self) -> bool:
        """Whether Textual has all that it needs."""
        return not self.missing


@cache
def is_there(need: str) -> bool:
    """Tell whether a module has a name, or whether objects of its class do, which may get it when they are made."""
    place, _, path = need.partition(":")
    owner_name, _, name = path.rpartition(".")
    try:
        owner: Any = import_module(place)
        if owner_name:
            owner = getattr(owner, owner_name)
    except (ImportError, AttributeError):
        return False
    return hasattr(owner, name) or any(
        name in vars(kind)["__init__"].__code__.co_names
        for kind in getattr(owner, "__mro__", ())
        if hasattr(vars(kind).get("__init__"), "__code__")
    )


LAYOUT: Final = Shim(
    "layout",
    (
        "textual.screen:Screen._refresh_layout",
        "textual.screen:Screen._on_layout",
        "textual.screen:Screen._compositor",
        "textual.widget:Widget._layout_required",
        "textual.widget:Widget._repaint_required",
        "textual.css.styles:RenderStyles._cache_key",
    ),
)
"""A screen that opens is laid out and painted once, until Textual does so when widgets get their first size."""
RESIZED: Final = Shim("resized", ("textual.screen:Screen._screen_resized", "textual.screen:Screen._compositor"))
"""A screen is told a size once, until Textual tells it only where it has changed."""
RESUMED: Final = Shim(
    "resumed",
    (
        "textual.screen:Screen._refresh_layout",
        "textual.widget:Widget._size",
        "textual.screen:Screen.stack_updates",
    ),
)
"""A screen that comes into sight again isn't styled and laid out anew, until Textual does so only for another size."""
CLOSED: Final = Shim("closed", ("textual.app:App._prune", "textual.app:App._replace_screen"))
"""A screen that goes has no other one laid out, nor painted, until Textual does so."""
CLOSING: Final = Shim("closing", ("textual.widget:Widget._pruning",))
"""Nothing is shown on a screen that is being closed, until Textual tells it."""
ALONE: Final = Shim("alone", ("textual.app:App._background_screens",))
"""No screen shines through another one, until Textual looks below only where a screen is translucent."""
PLAIN: Final = Shim("plain", ("textual.app:App._disable_tooltips", "textual.app:App._disable_notifications"))
"""No screen has widgets for tooltips and notifications, until Textual has options for it."""
SCROLLBAR: Final = Shim("scrollbar", ("textual.widget:Widget._scroll_update",))
"""Only a scrollbar that comes or goes has a list laid out, until Textual does so when the virtual size is set."""
TYPED_LAST: Final = Shim("typed last", ("textual.widgets:Input._cursor_offset",))
"""What is typed last stays in sight when the field gets narrower, until Textual does so."""
TERMINAL: Final = Shim(
    "terminal",
    (
        "textual.drivers.linux_driver:LinuxDriver._file",
        "textual.drivers.linux_driver:LinuxDriver._debug",
        "textual.drivers.linux_driver:LinuxDriver._app",
        "textual.drivers.linux_driver:LinuxDriver.exit_event",
        "textual.drivers.linux_driver:LinuxDriver.fileno",
        "textual.drivers.linux_driver:LinuxDriver.run_input_thread",
        "textual._xterm_parser:XTermParser.feed",
        "textual._xterm_parser:XTermParser.tick",
        "textual.constants:ESCAPE_DELAY",
    ),
)
"""What is pasted is text, any bytes are read, and what is drawn goes to a terminal, until Textual does that."""
BROWSER: Final = Shim(
    "browser",
    (
        "textual.drivers.web_driver:WebDriver._key_thread",
        "textual.drivers.web_driver:WebDriver._app",
        "textual.drivers.web_driver:WebDriver.exit_event",
        "textual.drivers.web_driver:WebDriver.on_meta",
        "textual.drivers.web_driver:WebDriver.run_input_thread",
    ),
)
"""A viewer in a browser ends with its server, until Textual does so."""
RULES: Final = Shim(
    "rules",
    (
        "textual.css.stylesheet:Stylesheet._process_component_classes",
        "textual.dom:DOMNode._parent",
        "textual.dom:DOMNode._id",
        "textual.dom:DOMNode._classes",
        "textual.dom:DOMNode._pseudo_classes_cache_key",
        "textual.dom:DOMNode._has_hover_style",
        "textual.dom:DOMNode._has_focus_within",
        "textual.dom:DOMNode._has_order_style",
        "textual.dom:DOMNode._has_odd_or_even",
    ),
)
"""Which rules are for a widget is looked up once for all that are alike, until Textual keeps them between screens."""
HANDLERS: Final = Shim(
    "handlers", ("textual.message_pump:MessagePump._get_dispatch_methods", "textual.message:Message._no_default_action")
)
"""Which methods take a message is looked up once for each class, until Textual does so."""
SHIMS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, Shim))


def inactive_text() -> str:
    """Return what this version of Textual does in its own way, and what it lacks, one line each."""
    return "".join(f"shim not active: {shim.name} (no {', '.join(shim.missing)})\n" for shim in SHIMS if shim.missing)
