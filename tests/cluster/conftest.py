"""What tests of a cluster share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusters import started
from spanview.cluster import shuffle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusters import Cluster


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each file be a group of its own, and traces go to many partitions."""
    monkeypatch.setattr(shuffle, "_GROUP_BYTES", 1)
    monkeypatch.setattr(shuffle, "_SHARE_BYTES", 40_000)
    monkeypatch.setattr(shuffle, "_PARTITION_BYTES", 10_000)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster of Ray for all tests that need one; they run in one process."""
    with started(tmp_path_factory.mktemp("cluster")) as running:
        yield running
