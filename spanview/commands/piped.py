"""What is on standard input: it is read where no PATH is given, and where it isn't read, that is reported.

standard input                         no PATH                                    with PATHs, none of them -
--------------                         -------                                    --------------------------
a file                                 read                                       left alone
a pipe with data                       read, to its end                           reported
a pipe without data, with a writer     waited for, and then one of the two others reported at the end, to a person
a pipe without data or writer          none: the default places; CI and cron      left alone
                                       hand out such pipes
a socket, as from sshd                 the default places; reported, if there     reported, if there is data
                                       is data
a terminal, /dev/null, closed, or      the default places                         left alone
open for writing only
"""

from __future__ import annotations

import os
import select
import stat
import struct
import sys
from typing import TYPE_CHECKING, Final

from spanview.commands.standard_error import say
from spanview.sources.discover import STANDARD_INPUT, is_there
from spanview.sources.places import default_places, in_words

if TYPE_CHECKING:
    from spanview.commands.options import Options

_DESCRIPTOR: Final = 0
_NOTICE_AFTER_MS: Final = 1000
"""After so long without a byte a line says what is being waited for."""
_VIEWER_WAIT_MS: Final = 200
"""The viewer opens after so long without a byte, and waits on its screen."""


def with_standard_input(options: Options, *, opens_viewer: bool = False) -> Options:
    """Return the options with `-` as PATH where none is given and there is something to read on standard input.

    A pipe without data is waited for: only what comes next shows whether there is something.

    Args:
        opens_viewer: Whether a screen shows what is being waited for.
    """
    if options.paths or any(map(is_there, options.sides)) or not is_readable():
        return options
    mode = _mode()
    if stat.S_ISFIFO(mode):
        default = in_words(default_places(options.environment))
        has_data = _has_data(_VIEWER_WAIT_MS if opens_viewer else _NOTICE_AFTER_MS)
        if has_data is None and not opens_viewer:
            say(
                "waiting for standard input, because it is a pipe and no PATH is given; the default places are "
                + default
            )
            has_data = _has_data(None)
        if has_data is False:
            # A person may have piped a program that printed nothing; a log needs no line for that.
            if _is_for_a_person():
                say(f"nothing came on standard input; looking in {default}")
            return options
    elif not stat.S_ISREG(mode):
        return options
    return options._replace(paths=(STANDARD_INPUT,))


def is_readable() -> bool:
    """Tell whether standard input is open, and for reading: after `0>file` it is for writing only."""
    if sys.stdin is None:
        return False
    try:
        import fcntl
    except ImportError:
        return True
    try:
        return fcntl.fcntl(_DESCRIPTOR, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    except OSError:
        return False


class Unread:
    """Reports once that what is piped in isn't read."""

    def __init__(self, options: Options) -> None:
        self._descriptor: int | None = None
        is_read = STANDARD_INPUT in (*options.paths, *options.sides)
        if not is_read and is_readable() and (stat.S_ISFIFO(mode := _mode()) or stat.S_ISSOCK(mode)):
            # The viewer puts the terminal in the place of standard input.
            self._descriptor = os.dup(_DESCRIPTOR)

    def report(self, *, is_end: bool = False) -> None:
        """Report it where there is data by now.

        Args:
            is_end: Whether this is the last call. A pipe that is empty then, and that something could still write to,
                may be anybody's; a person at a terminal has made it.
        """
        descriptor = self._descriptor
        if descriptor is None:
            return
        if _waiting_bytes(descriptor) or (
            is_end
            and _is_for_a_person()
            and stat.S_ISFIFO(os.fstat(descriptor).st_mode)
            and not has_hung_up(descriptor)
        ):
            say("standard input is not read; to read it, give - as PATH")
            os.close(descriptor)
            self._descriptor = None


def _mode() -> int:
    try:
        return os.fstat(_DESCRIPTOR).st_mode
    except OSError:
        return 0


def _is_for_a_person() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _has_data(wait_ms: int | None) -> bool | None:
    """Tell whether a pipe has data, or may have; False where it ended without any, None where neither is known by then.

    It is waited for so many milliseconds, for as long as it takes where no number is given.
    """
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(_DESCRIPTOR, select.POLLIN)
    if not poll.poll(wait_ms):
        return None
    return not has_hung_up(_DESCRIPTOR) or bool(_waiting_bytes(_DESCRIPTOR))


def has_hung_up(descriptor: int) -> bool:
    """Tell whether the other end of a pipe is closed."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _waiting_bytes(descriptor: int) -> int:
    """Return how many bytes can be read at once; 0 where the system doesn't say."""
    try:
        import fcntl
        import termios

        (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))
    except (ImportError, OSError):
        return 0
    return int(count)
