"""What all tests have in common: they leave the cache and the settings of whoever runs them alone.

They run in two processes: what looks at the machine as a whole, and what waits for programs, in one of them, one after
the other; all else wherever there is time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ANYWHERE: Final = frozenset(("analysis", "display", "exports", "formats", "index", "model", "quick", "tui"))
"""Folders with tests that keep to themselves."""
_WITH_PROGRAMS: Final = frozenset(("test_hangup.py", "test_terminal.py"))
"""Tests among these that start the whole program."""


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Keep together what may not run beside each other."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder not in _ANYWHERE or item.path.name in _WITH_PROGRAMS:
            item.add_marker(pytest.mark.xdist_group("machine"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let indexes be kept in a folder that nobody else uses, by other processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test find no settings but its own, in the programs that it starts too."""
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path_factory.mktemp("config")))
