"""Copying ids, command lines and JSON of the selected trace and span, from every screen that shows one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.display.span_in_tree import SpanInTree
    from spanview.index.store import Store
    from spanview.tui.viewer import ShownScreen

_WORD: Final = re.compile("[a-z]+")
"""What may be the name of a command."""


@dataclass(eq=False)
class Copier:
    """Copies what identifies the selected trace, and the selected span."""

    _screen: ShownScreen
    _store: Store
    _trace: Callable[[], int | None]
    """Returns the selected trace, by its row in the trace table; None where there is none."""
    _span: Callable[[], SpanInTree | None] = lambda: None
    why_no_span: Callable[[], str] = lambda: "this parent was not seen"
    span_query: Callable[[], str] = lambda: ""
    """Returns what finds the span that the screen is about; empty where it is about a trace."""

    def _trace_id(self) -> str:
        """Return the id of the selected trace, empty where there is none."""
        trace = self._trace()
        return "" if trace is None else self._store.trace_table.hex_id(trace) or ""

    def copy_trace_id(self) -> None:
        """Copy the trace id."""
        if trace_id := self._trace_id():
            self._screen.viewer.copy(trace_id, "trace id")
        else:
            self._screen.viewer.say("no trace id to copy here")

    def copy_command(self) -> None:
        """Copy a command line that opens the trace."""
        viewer, trace_id = self._screen.viewer, self._trace_id()
        if trace_id:
            viewer.copy(command_line(viewer.paths, trace_id, self.span_query()), "command line")
        else:
            viewer.say("no trace id here to open a trace by")

    def copy_json(self) -> None:
        """Copy the span as `spanview spans` prints it, but on several lines."""
        viewer, subject = self._screen.viewer, self._span()
        if subject is None:
            viewer.say(f"{self.why_no_span()}: nothing to copy")
        else:
            Work(self._screen).begin(lambda _: _json_of(subject), lambda text: viewer.copy(text, "span as JSON"))


def _json_of(subject: SpanInTree) -> str:
    """Called in a thread: a hundred thousand spans can be below one, and a value can be long."""
    from spanview.exports.jsonl import indented, jsonl_chunks

    row = subject.tree.rows[subject.node]
    return indented(b"".join(jsonl_chunks(subject.store, [row], forks=False)))


def command_line(paths: Sequence[str], trace_id: str, query: str = "") -> str:
    """Return what is typed into a shell to open a trace."""
    # The first one may be spelled like a command, and any like an option.
    words = ["spanview", "view"] if paths and _WORD.fullmatch(paths[0]) else ["spanview"]
    options = ["--trace", trace_id, *(["-q", query] if query else [])]
    if any(path.startswith("-") and path != "-" for path in paths):
        words += [*options, "--", *map(quoted, paths)]
    else:
        words += [*map(quoted, paths), *options]
    return " ".join(words)


def quoted(word: str) -> str:
    """Return a word as a shell takes it; what a terminal would act on is spelled out."""
    import os
    import shlex

    if word.isprintable():
        return shlex.quote(word)
    spelled = (_printable(byte) for byte in os.fsencode(word))
    return f"$'{''.join(spelled)}'"


def _printable(byte: int) -> str:
    character = chr(byte)
    return character if character.isascii() and character.isprintable() and character not in "\\'" else f"\\x{byte:02x}"
