"""Shares of traces that forked processes write are, put together, what one process writes.

shares of 40 spans      of fixtures/serve, fixtures/made and fixtures/otlp-json
processes               1, 2, 3; 3 of which one is killed; where forking fails
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from spanview.exports import shares, tree_facts
from spanview.exports.jsonl import known_by_trees
from spanview.sources.loading import load_store

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = """
import os, signal, sys
from functools import partial
from importlib import import_module
from spanview.exports import shares, tree_facts
from spanview.exports.losses import Losses
from spanview.exports.page import columns
from spanview.index.summary import summary_of
from spanview.sources.loading import load_store

form = sys.argv[1]
store = load_store([f"fixtures/{name}/spans" for name in ("serve", "made", "otlp-json")])
chunks = getattr(import_module(f"spanview.exports.{form}"), f"{form}_chunks")
chosen = store.traces_in_order()
if form == "jsonl":
    chosen = store.rows_in_order()
elif form == "trace_tree":
    chunks = partial(chunks, summary=summary_of(store), problems=store.problems())
shares.SHARE_SPANS = tree_facts._SHARE_SPANS = 40
shares._FORK_SHARES = 1
columns.MAX_NAME_LENGTH = 20
forked = 0
start = shares._Worker.__init__

def counted(self, *arguments):
    global forked
    if how == "scarce" and forked:
        raise OSError(11, "no more processes")
    start(self, *arguments)
    forked += 1
    if how == "killed" and forked in (2, 5):
        os.kill(self._process.pid, signal.SIGKILL)

shares._Worker.__init__ = counted
results = []
for count, how in ((1, ""), (2, ""), (3, ""), (3, "killed"), (3, "scarce")):
    forked = 0
    shares.process_count = lambda _: count
    losses = Losses(form)
    results.append((b"".join(chunks(store, chosen, losses)), losses.lines()))
    print(count, how, forked)
assert len(results[0][0]) > 100_000
assert all(result == results[0] for result in results)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux only")
@pytest.mark.parametrize("form", ["trace_tree", "jsonl", "otlp", "jaeger", "zipkin", "chrome", "html"])
def test_any_number_of_processes(form: str) -> None:
    """Text and losses are the same with any number of processes, and where one is killed or can't be had.

    What only trees show is found before, by as many; what a page says of all traces has two processes for itself.
    """
    words = [sys.executable, "-c", SCRIPT, form]
    run = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    times, more = 2 if form in {"trace_tree", "jsonl"} else 1, 2 if form == "html" else 0
    two, three = 2 * times + more, 3 * times + more
    forked = ["1  0", f"2  {two}", f"3  {three}", f"3 killed {three}", "3 scarce 1"]
    assert run.stdout.splitlines() == forked


def test_where_nothing_is_to_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a task of a cluster, also while it is found out what only trees show."""

    def fork(*_: object) -> None:
        raise AssertionError("forked")

    monkeypatch.setattr(shares, "active_count", lambda: 1)
    monkeypatch.setattr(shares, "process_count", lambda _: 2)
    monkeypatch.setattr(shares, "_Worker", fork)
    monkeypatch.setattr(tree_facts, "_SHARE_SPANS", 1)
    store = load_store(ROOT / "fixtures" / "serve" / "spans")
    known_by_trees(store, store.rows_in_order(), forks=False)
    with pytest.raises(AssertionError, match="forked"):
        known_by_trees(store, store.rows_in_order())
