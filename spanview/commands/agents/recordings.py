"""The PATHs of `spanview mcp`: read when they are first asked about, and again where files have changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.commands.reading import places, read_all, read_options
from spanview.sources.discover import Listing, discover, is_as_listed, is_there
from spanview.sources.unended import let_ask, unended_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.ray.unended import Unended
    from spanview.commands.options import Options
    from spanview.index.store import Store

ONLY_OWN_SESSIONS: Final = ""
"""The folder of Ray's latest session for who reads no session but those that PATHs are in."""


class Recordings:
    """What is in the PATHs now, and nowhere else."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._store: Store | None = None
        self._listed: tuple[list[str], Listing] = [], Listing()
        self._has_decoded_all = False

    @property
    def options(self) -> Options:
        """As they were given, with the PATHs that are read.

        Raises:
            NoSuchPathError: None was given, and none of the default places is there.
        """
        return self._options._replace(paths=places(self._options))

    def store(self, *, decodes_all: bool = False) -> Store:
        """Return the spans that are there.

        Args:
            decodes_all: Whether damage is to be found that reading doesn't notice.

        Raises:
            SpanviewError: They can't be read.
        """
        how = read_options(self._options)
        paths = [path for path in (*how.paths, *how.events) if is_there(path)]
        listed_paths, listing = self._listed
        is_current = self._store is not None and paths == listed_paths and is_as_listed(paths, listing)
        if self._store is None or not is_current or (decodes_all and not self._has_decoded_all):
            # What changes while it is read has changed when it is asked for again.
            self._listed = paths, discover(paths)
            # Not two of them at a time.
            self._store = None
            self._store = read_all(self._options, decodes_all=decodes_all)
            self._has_decoded_all = decodes_all
        # Also of what was read before: what runs is found out anew.
        let_ask(self._store, ONLY_OWN_SESSIONS)
        return self._store

    def unended(self, store: Store) -> Mapping[int, Unended]:
        """Return what has become of spans without an end, by row."""
        return unended_in(store, session=ONLY_OWN_SESSIONS)
