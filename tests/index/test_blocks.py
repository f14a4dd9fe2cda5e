"""Records that are read together: each where its block says, whatever lies between, and in the order of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from builders import Builder, file_of
from spanview.index.blocks import blocks, in_file_order
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("step", [1, 2, 7, 40])
@pytest.mark.parametrize("is_lost", [True, False])
def test_each_record_is_where_its_block_says(tmp_path: Path, step: int, *, is_lost: bool) -> None:
    """Small pieces of several files come together, long ones alone, and of a file that is gone there is no data."""
    build = Builder()
    for file in range(6):
        documents = [build.span(attributes={"n": number, "text": "x" * 700}) for number in range(200)]
        if file == 3:
            documents[50] = build.span(attributes={"text": "y" * 300_000})
        (tmp_path / f"{file}.txt").write_bytes(file_of(documents))
    store = load_store(tmp_path)
    if is_lost:
        (tmp_path / "2.txt").unlink()
    rows = in_file_order(store, np.arange(len(store.spans))[::-step])
    found = [*blocks(store, rows)]
    assert np.concatenate([block.rows for block in found]).tolist() == rows.tolist()
    for block in found:
        for row, start, end in zip(block.rows.tolist(), block.starts.tolist(), block.ends.tolist(), strict=True):
            assert (None if block.data is None else block.data[start:end]) == store.record(row)
    # Of each of six files there are a hundred and eighty kilobytes, and one long record more.
    assert len(found) < 20
    assert any(block.data is None for block in found) is is_lost
