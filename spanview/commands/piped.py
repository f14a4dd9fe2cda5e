"""What stands on standard input: it is read where no PATH is given, and where it isn't read, that is said.

standard input                         no PATH                                    with PATHs, none of them -
--------------                         -------                                    --------------------------
a file                                 read                                       left alone
a pipe with data, or with a writer     read, to its end                           said, if there is data in it
a pipe that is over, without data      none: the default places; CI and cron      left alone
                                       hand out such pipes
a socket, as from sshd                 the default places; said, if there is      said, if there is data in it
                                       data in it
a terminal, /dev/null, closed          the default places                         left alone
"""

from __future__ import annotations

import os
import select
import stat
import struct
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from spanview.commands.reading import say
from spanview.sources.discover import STANDARD_INPUT, is_there
from spanview.sources.places import default_places

if TYPE_CHECKING:
    from spanview.commands.options import Options

_DESCRIPTOR: Final = 0
_SLOW_MS: Final = 1000
"""After so long without a byte it is said what is being waited for."""


def with_standard_input(options: Options) -> Options:
    """Return the options with `-` as PATH where none is given and there is something to read on standard input."""
    if options.paths or any(map(is_there, options.sides)) or sys.stdin is None:
        return options
    mode = _mode()
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        return options
    if stat.S_ISFIFO(mode) and _is_over():
        # A person may have piped a program that printed nothing; a log needs no line for that.
        if sys.stderr is not None and sys.stderr.isatty():
            say(f"nothing came on standard input; looking in {' and '.join(default_places(options.environment))}")
        return options
    return replace(options, paths=(STANDARD_INPUT,))


def say_if_slow(options: Options) -> None:
    """Say what is being waited for where nobody has named standard input and nothing comes."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(_DESCRIPTOR, select.POLLIN)
        if not poll.poll(_SLOW_MS):
            say(
                "waiting for standard input, because it is a pipe and no PATH is given; the default places are "
                + " and ".join(default_places(options.environment))
            )


class Unread:
    """Says once that what is piped in isn't read.

    Args:
        options: What was asked for.
    """

    def __init__(self, options: Options) -> None:
        self._descriptor: int | None = None
        is_read = STANDARD_INPUT in (*options.paths, *options.sides)
        if not is_read and sys.stdin is not None and (stat.S_ISFIFO(mode := _mode()) or stat.S_ISSOCK(mode)):
            # The viewer puts the terminal in the place of standard input.
            self._descriptor = os.dup(_DESCRIPTOR)

    def look(self) -> None:
        """Say it where there is data by now; a pipe that is empty may be anybody's."""
        if self._descriptor is not None and _waiting_bytes(self._descriptor):
            say("standard input is not read: give - as PATH to read it")
            os.close(self._descriptor)
            self._descriptor = None


def _mode() -> int:
    try:
        return os.fstat(_DESCRIPTOR).st_mode
    except OSError:
        return 0


def _is_over() -> bool:
    """Tell whether a pipe has no writer and no data."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(_DESCRIPTOR, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0)) and not _waiting_bytes(_DESCRIPTOR)


def _waiting_bytes(descriptor: int) -> int:
    """Return how many bytes can be read at once; 0 where the system can't tell."""
    try:
        import fcntl
        import termios

        (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))
    except (ImportError, OSError):
        return 0
    return int(count)
