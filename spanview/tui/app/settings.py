"""What a person has set, kept in a small file for the next time.

A setting is one line of `Settings`. A screen reads `viewer.settings.NAME`, changes it by `viewer.keep(NAME=...)`, and
brings itself up to date in `take_settings`. What is no such value in the file is the default; a screen that has no use
for a word, such as a column that isn't there any more, takes its own default (`chosen`). How something looks is kept.
What rows there are, and in which order, lasts as long as the viewer: in another folder, what was chosen here would put
new traces out of sight, or rows that are looked for.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import Enum

    Choice = TypeVar("Choice", bound=Enum)

_FORMAT: Final = 1
"""What a file says under `format`; a file of a later one is neither read nor written."""
_LARGEST: Final = 64 * 1024
_MAX_WORD_LENGTH: Final = 40
_MAX_ITEMS: Final = 32
"""Of numbers that are set together, and one more than each of them."""
_LATER: Final = "it is of a later version, and stays as it is"
_NO_JSON, _FOREIGN, _TOO_LARGE = "it isn't JSON", "it isn't a settings file", "it is too large"
_ASIDE: Final = ".damaged"
"""Behind the name of a file that isn't understood and gives its place to another one."""
NAMES_PERCENT: Final = 42
"""How much of a trace's lines names have, if nobody wants it otherwise."""
_OF_ONE_VIEWER: Final = frozenset(
    (
        *("sort", "group_sort", "statistics_sort", "calls_sort", "serve_sort", "comparison_order"),
        *("workers_sort", "workers_reversed", "folds", "joins", "without_rays_own", "blocks_by"),
    )
)
"""Settings that no file keeps."""
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""A FIFO in its place doesn't let the viewer wait."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set: words, small numbers, and what is so or not."""

    theme: str = ""
    """Empty for what goes with the terminal."""
    columns: tuple[int, ...] = ()
    """Numbers of a trace's further columns."""
    names_percent: int = NAMES_PERCENT
    """How much of a trace's lines names have."""
    color_by: str = ""
    """What colours stand for; empty for what goes with the trace."""
    folds: bool = True
    """Whether runs of like siblings are one row each."""
    joins: bool = True
    """Whether Ray calls with one attempt are one row each."""
    sort: str = "start"
    """What traces are sorted by."""
    statistics_sort: str = "total"
    calls_sort: str = "total wait"
    workers_sort: str = "first start"
    workers_reversed: bool = False
    without_rays_own: bool = False
    """Whether actors and tasks that are Ray's own are left out of workers and calls."""
    serve_sort: str = "total p95"
    group_sort: str = "traces"
    """What groups are sorted by."""
    blocks_by: str = "total time"
    """What makes blocks wide."""
    comparison_order: str = "the change of self time"


def chosen(kind: type[Choice], value: str) -> Choice | None:
    """Return the member of an enumeration that a setting names, None where there is none."""
    return next((member for member in kind if member.value == value), None)


def _taken(default: object, value: object) -> Any:
    """Return a value from a file as a setting has it, None where it is no such value."""
    if isinstance(default, tuple):
        are_numbers = isinstance(value, list) and all(
            type(number) is int and 0 <= number < _MAX_ITEMS for number in value[:_MAX_ITEMS]
        )
        return tuple(value) if isinstance(value, list) and are_numbers and len(value) <= _MAX_ITEMS else None
    if isinstance(value, str) and (len(value) > _MAX_WORD_LENGTH or not value.isprintable()):
        return None
    return value if type(value) is type(default) else None


class KeptSettings:
    """The settings of one viewer, and the file that keeps them for the next one."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._unwritten: dict[str, Any] = {}
        self._writing = Lock()
        self._changing = Lock()
        """Held for no longer than it takes to look: whoever changes something doesn't wait for a disk."""
        self.notice = ""
        """What is wrong with the file, in words."""
        self.aside = ""
        """The name that a damaged file has now, beside the one that took its place; empty where none was."""
        found, self.notice = ({}, "") if path is None else _read(path)
        kept = [field for field in fields(Settings) if field.name in found and field.name not in _OF_ONE_VIEWER]
        taken = {field.name: _taken(field.default, found[field.name]) for field in kept}
        unusable = [name for name, value in taken.items() if value is None]
        if unusable and not self.notice:
            self.notice = f"{unusable[0]} is no value that it can have"
        self.now = replace(Settings(), **{name: value for name, value in taken.items() if value is not None})
        """What is set."""

    def change(self, changes: Mapping[str, Any]) -> bool:
        """Set something; return whether that is anything new that is to be written."""
        new = {name: value for name, value in changes.items() if getattr(self.now, name) != value}
        written = {name: value for name, value in new.items() if name not in _OF_ONE_VIEWER}
        with self._changing:
            self.now = replace(self.now, **new)
            self._unwritten |= written
        return bool(written)

    def forget(self) -> bool:
        """Go back to the defaults and remove the file; return whether it is gone."""
        with self._writing:
            self.now, self._unwritten = Settings(), {}
            if self._path is None:
                return True
            try:
                os.unlink(os.path.realpath(self._path))
            except OSError:
                return not os.path.lexists(self._path)
            return True

    def write(self) -> bool:
        """Keep what was changed, beside what other viewers have changed meanwhile; return whether nothing is left.

        May be called in any thread.
        """
        with self._writing:
            with self._changing:
                changes, self._unwritten = self._unwritten, {}
            if not changes or self._path is None:
                return True
            is_written, aside = _write(self._path, changes, asdict(self.now))
            self.aside = aside or self.aside
            if is_written:
                return True
            with self._changing:
                self._unwritten = {**changes, **self._unwritten}
            return False


def _read(path: str) -> tuple[dict[str, Any], str]:
    """Return what a file says, and what is wrong with it in words; both are empty where there is no file."""
    try:
        text = _text_of(path)
        document = orjson.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except OSError as error:
        return {}, error.strerror or "it can't be read"
    except ValueError as error:
        return {}, _NO_JSON if isinstance(error, orjson.JSONDecodeError) else str(error)
    number = document.get("format") if isinstance(document, dict) else None
    if type(number) is not int or number < _FORMAT:
        return {}, _FOREIGN
    return ({}, _LATER) if number > _FORMAT else (document, "")


def _text_of(path: str) -> bytes:
    """Return the text of a small file.

    Raises:
        OSError: It can't be read.
        ValueError: It is no file, or none of settings.
    """
    descriptor = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it isn't a regular file")
        text = os.read(descriptor, _LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(text) > _LARGEST:
        raise ValueError(_TOO_LARGE)
    return text


def _write(path: str, changes: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[bool, str]:
    """Write changes into a file; one that is damaged is put aside, and another one written.

    Returns:
        Whether they are there, and the name under which a damaged file stands now, empty where none was.
    """
    from spanview.exports.files import write_atomically
    from spanview.model.problems import ExportError

    found, notice = _read(path)
    if notice == _LATER:
        return False, ""
    folder, aside = os.path.dirname(path), ""
    with suppress(OSError, ExportError):
        if os.path.isdir(os.path.dirname(os.path.dirname(folder))):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            known = {name: value for name, value in (now if notice else found).items() if name not in _OF_ONE_VIEWER}
            document = {"format": _FORMAT, **known, **changes}
            text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            if notice in {_NO_JSON, _FOREIGN, _TOO_LARGE}:
                target = os.path.realpath(path)
                os.replace(target, target + _ASIDE)
                aside = os.path.basename(target) + _ASIDE
            write_atomically(path, [text], force=True)
            return True, aside
    return False, aside
