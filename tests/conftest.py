"""What all tests have in common: they leave the cache and the settings of whoever runs them alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


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
