"""One module a command; each takes the options, reads, asks the core, and prints.

options         the options of a call
standard_error  what is said on standard error, and how far reading or sending is
beside          another spanview that runs beside what is shown
from_cluster    --ray: what is collected meanwhile, and what nodes do
piped           whether standard input is read
reading         from options to a store that is read
output          the way out to standard output, and its colours
tables          reports as text, JSON, csv or Markdown
following       following without the viewer
view            `spanview view`: the viewer
web             the same in a browser
explain         `spanview explain`
tree            `spanview tree`
spans           `spanview spans`
export          `spanview export`
stats           `spanview stats`
check           `spanview check`
diff            `spanview diff`
push            `spanview push`
collect         `spanview collect`
receive         `spanview receive`
mcp             `spanview mcp`
agents          what that answers
help            `spanview help`
completion      `spanview --completion`
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

from spanview.model.problems import NoSuchPathError

if TYPE_CHECKING:
    from typing import Protocol

    from spanview.commands.options import Options

    class _Command(Protocol):
        """What a command's module has."""

        def run(self, options: Options) -> int:
            """Carry it out and return the exit status."""


_FOLLOWING = frozenset(("view", "tree", "spans", "push"))


def run(options: Options) -> int:
    """Carry out a command and return the exit status.

    Raises:
        SpanviewError: It can't be carried out; the text says what is wrong and how to fix it.
    """
    command = options.command
    is_served = command == "view" and options.served is not None
    if command == "view" and not is_served:
        command = "web" if options.web else "view" if sys.stdout.isatty() else "tree"
    if command in {"collect", "receive", "mcp"}:
        # No span is read from standard input.
        return _module(command).run(options)
    if options.ray is not None and command not in {"stats", "export"}:
        from spanview.commands.from_cluster import collected

        with collected(options, whole=command == "tree" and not options.follow) as there:
            # What is still collected while the viewer opens is to be seen, too.
            return run(there._replace(follow=there.follow or command != "tree"))
    if options.follow or command == "view":
        from spanview.sources.descriptors import raise_limit

        # A file that is held open can still be read after it was removed; the viewer can begin to follow later.
        raise_limit()
    if command == "view":
        # Nearly nothing of what is imported and made until something is shown is garbage; looking for it takes a tenth
        # of that time. The viewer begins with it when everything was read.
        gc.disable()
    module = _module(command)
    from spanview.commands.piped import Unread, with_standard_input
    from spanview.commands.standard_error import say

    if is_served:
        # What is there on standard input comes from the server.
        return module.run(options)
    options = with_standard_input(options, opens_viewer=command in {"view", "web"})
    if options.namesake is not None and not options.paths:
        name = options.namesake
        say(f"{name} is the command, and no PATH is given; if the file or folder {name} is meant, write ./{name}")
    unread = Unread(options)
    unread.report()
    try:
        status = module.run(options)
    except NoSuchPathError as error:
        if options.paths and options.command in _FOLLOWING:
            raise NoSuchPathError(f"{error}; to wait for it, add --follow") from None
        raise
    finally:
        gc.enable()
    unread.report(is_end=True)
    return status


def _module(command: str) -> _Command:
    return cast("_Command", import_module(f"spanview.commands.{command}"))
