"""What can be copied of a trace and of a span, on every screen that shows one."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.model.ids import format_trace_id
from spanview.tui.widgets.base_screen import BaseScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.display.span_text import SpanInTree

_WORD: Final = re.compile("[a-z]+")
"""What may be the name of a command."""


class Copying(BaseScreen):
    """What a screen with a selected trace does to copy."""

    @property
    def chosen_trace(self) -> int | None:
        """The selected trace, by its row in the trace table."""
        raise NotImplementedError

    @property
    def chosen_span(self) -> SpanInTree | None:
        """The selected span; None where there is none."""
        return None

    def why_no_span(self) -> str:
        """Return in words why no span is selected."""
        return "this parent was not seen"

    def action_copy(self) -> None:
        """Copy the trace id, where a trace is selected."""
        if self.chosen_trace is not None:
            self.action_copy_trace_id()
        else:
            self.viewer.say("there is no trace here to copy the id of")

    def _trace_id(self) -> str:
        """Return the id of the selected trace, empty where there is none."""
        trace = self.chosen_trace
        number = 0 if trace is None else self.viewer.trace_id(trace)
        return format_trace_id(number) if number else ""

    def action_copy_trace_id(self) -> None:
        """Copy the trace id."""
        if trace_id := self._trace_id():
            self.viewer.copy(trace_id, "trace id")
        else:
            self.viewer.say("there is no trace id to copy here")

    def action_copy_command(self) -> None:
        """Copy a command line that opens the trace."""
        trace_id = self._trace_id()
        if not trace_id:
            self.viewer.say("there is no trace id to open a trace by here")
            return
        self.viewer.copy(command_line(self.viewer.paths, trace_id, self.span_query()), "command line")

    def span_query(self) -> str:
        """Return what finds the span that the screen is about."""
        return ""

    def action_copy_json(self) -> None:
        """Copy the span as `spanview spans` prints it, but on several lines."""
        subject = self.chosen_span
        if subject is None:
            self.viewer.say(f"{self.why_no_span()}: there is nothing to copy")
        else:
            self.run_worker(partial(self._copy_as_json, subject), thread=True, group="copying", exclusive=True)

    def _copy_as_json(self, subject: SpanInTree) -> None:
        """Called in a thread: a hundred thousand spans can be below one, and a value can be long."""
        from spanview.analysis.selftime import self_time
        from spanview.exports.jsonl import indented, line_of

        worker = get_current_worker()
        own = self_time(subject.tree, subject.store.spans, subject.node)
        text = indented(line_of(subject.span, subject.tree.warnings(subject.node), own))
        if not worker.is_cancelled:
            self.app.call_from_thread(self.viewer.copy, text, "span as JSON")


def command_line(paths: Sequence[str], trace_id: str, query: str = "") -> str:
    """Return what is typed into a shell to open a trace.

    Args:
        paths: The PATHs, as given.
        trace_id: The trace's id.
        query: What its spans are looked for by; none where it is empty.
    """
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
