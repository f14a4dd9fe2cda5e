"""Baseline files: what is compared with one is as it was, and attributes are not in it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of, store_of
from programs import spanview
from spanview.exports.baseline import baseline_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"


@pytest.mark.parametrize("recording", ["ray-tasks-bundled-hook", "serve", "ray-odd-calls", "killed-workers"])
def test_nothing_has_changed(tmp_path: Path, recording: str) -> None:
    """Counts, errors, times and self times of each row are the same, by path, name and Ray function."""
    saved = spanview("stats", FIXTURES / recording, "--save", "base.jsonl.gz", folder=tmp_path)
    assert (saved.status, saved.output) == (0, spanview("stats", FIXTURES / recording, folder=tmp_path).output)
    for by in ("path", "name", *["ray"] * (recording != "serve")):
        done = spanview("diff", "base.jsonl.gz", FIXTURES / recording, "--by", by, "--json", folder=tmp_path)
        value = json.loads(done.output)
        assert {**value["a"], "value": ""} == {**value["b"], "value": ""}
        assert value["rows"]
        for row in value["rows"]:
            figures = [row["count"], row["errors"], row["self_time_ns"], *row["duration_ns"].values()]
            assert {figure["change"] for figure in figures} <= {0, None}, row["path"]
            assert row["only_in"] is None


def test_what_is_in_it(tmp_path: Path) -> None:
    """Spans of the chosen traces, without attributes, the same bytes each time; `.gz` is the same, compressed."""
    build = Builder()
    secret = {"password": "swordfish"}
    documents = [build.span("a", trace=1, attributes=secret), build.span("b", trace=2, duration=None, service="shop")]
    twice = [build.span("c", trace=2, span=9, start=5, attributes={"n": number}) for number in (1, 2)]
    (tmp_path / "1.json").write_bytes(file_of([*documents, *twice]))
    for name in ("all.jsonl", "again.jsonl", "all.jsonl.gz", "again.jsonl.gz"):
        assert spanview("stats", "1.json", "--save", name, folder=tmp_path).status == 0
    files = {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl*")}
    assert files["all.jsonl"] == files["again.jsonl"] == gzip.decompress(files["all.jsonl.gz"])
    assert files["all.jsonl.gz"] == files["again.jsonl.gz"]
    assert b"swordfish" not in files["all.jsonl"]
    assert [json.loads(line)["name"] for line in files["all.jsonl"].splitlines()] == ["a", "b", "c", "c"]
    assert spanview("stats", "1.json", "-q", "a", "--save", "some.jsonl", folder=tmp_path).status == 0
    assert (tmp_path / "some.jsonl").read_bytes() == files["all.jsonl"].splitlines(keepends=True)[0]
    counted = spanview("stats", "all.jsonl", "--by", "service", "--json", folder=tmp_path)
    assert [(row["key"], row["count"], row["no_end"]) for row in json.loads(counted.output)["rows"]] == [
        ("", 3, 0),
        ("shop", 1, 1),
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--save", "1.json"], "1.json already exists"),
        (["--save", "no/where.jsonl"], "no/where.jsonl"),
        (["--save", "x.jsonl", "--ray", "auto"], "--save can't be combined with --ray"),
    ],
)
def test_what_is_refused(tmp_path: Path, words: Sequence[str], says: str) -> None:
    """Nothing is overwritten unasked, and nothing is printed then."""
    (tmp_path / "1.json").write_bytes(file_of([Builder().span("a")]))
    done = spanview("stats", "1.json", *words, folder=tmp_path)
    assert (done.status, done.output) == (2, b"")
    assert says in done.notices
    if words[1] == "1.json":
        assert spanview("stats", "1.json", *words, "--force", folder=tmp_path).status == 0
        assert json.loads((tmp_path / "1.json").read_bytes())["name"] == "a"


def test_of_nothing() -> None:
    """A store without a span makes an empty file."""
    assert b"".join(baseline_chunks(store_of(), None, "x")) == b""
