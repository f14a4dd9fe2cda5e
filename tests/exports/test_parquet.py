"""Parquet, read back with Arrow: a row a span, and in its columns what a line of JSON says of the same span.

jsonl             {"trace_id": …, "status": {"code": …}, "scope": {"name": …}, "source": {"file": …}, …}
parquet           trace_id    status_code            scope_name          source_file             …
"""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

import spanview
from builders import Builder, MemoryReader, file_of, store_of, store_of_files
from pages import ROOT
from programs import spanview as run
from quick.folders import make
from seeds import sample, seeds
from spanview.exports import arrow_spans, parquet, shares
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.losses import Losses
from spanview.exports.parquet import parquet_chunks
from spanview.model.times import parse_time
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from pathlib import Path

    from spanview.index.store import Store

pa: Final[Any] = pytest.importorskip("pyarrow")
pq: Final[Any] = pytest.importorskip("pyarrow.parquet")
FIXTURES: Final = sorted(path.name for path in (ROOT / "fixtures").iterdir() if (path / "spans").is_dir())
JSON: Final = ("attributes", "trace_state", "resource_attributes", "scope_attributes", "extra")


def written(store: Store, losses: Losses | None = None) -> bytes:
    """Return all traces as a file."""
    return b"".join(parquet_chunks(store, store.traces_in_order(), losses or Losses("parquet")))


def rows_in(data: bytes) -> list[dict[str, Any]]:
    """Return the rows of a file; times as nanoseconds, and JSON decoded."""
    table = pq.read_table(io.BytesIO(data))
    for name in ("start_time", "end_time"):
        assert str(table.schema.field(name).type) == "timestamp[ns, tz=UTC]"
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast("int64"))
    # Without pandas, Arrow has no object for a nanosecond.
    events = table.schema.get_field_index("events")
    counted = pa.list_(pa.struct({"name": pa.string(), "time": pa.int64(), "attributes": pa.string()}))
    table = table.set_column(events, "events", table["events"].cast(counted))
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        for name in JSON:
            row[name] = None if row[name] is None else json.loads(row[name])
        for part in (*row["events"], *row["links"]):
            part["attributes"] = json.loads(part["attributes"])
            if "trace_state" in part:
                part["trace_state"] = json.loads(part["trace_state"])
    return rows


def ns(text: str | None) -> int | None:
    """Return a time of a line as a number."""
    return None if text is None else parse_time(text)


def exception_of(span: dict[str, Any]) -> list[str | None]:
    """Return type and message of the last exception among a line's events."""
    exceptions = [event["attributes"] for event in span["events"] if event["name"] == "exception"]
    values = [exceptions[-1].get(f"exception.{name}") if exceptions else None for name in ("type", "message")]
    return [value if isinstance(value, str) else None for value in values]


def row_of(line: bytes) -> dict[str, Any]:
    """Return what a line says as a row, but for its depth and its service."""
    span = json.loads(line)
    scope = span["scope"] or {}
    return {
        **{name: span[name] for name in ("trace_id", "span_id", "parent_id", "name", "kind", "attributes", "warnings")},
        **{name: span[name] for name in ("duration_ns", "self_time_ns", "trace_state")},
        "wait_ns": span.get("wait_ns"),
        "on_critical_path": span.get("on_critical_path", False),
        **dict(zip(("exception_type", "exception_message"), exception_of(span), strict=True)),
        "start_time": ns(span["start_time"]),
        "end_time": ns(span["end_time"]),
        "status_code": span["status"]["code"],
        "status_message": span["status"].get("description"),
        "events": [
            {"name": event["name"], "time": ns(event["timestamp"]), "attributes": event["attributes"]}
            for event in span["events"]
        ],
        "links": [
            {name: link[name] for name in ("trace_id", "span_id", "trace_state", "attributes")}
            for link in span["links"]
        ],
        "resource_attributes": span["resource"]["attributes"],
        "resource_schema_url": span["resource"]["schema_url"],
        **{f"scope_{name}": scope.get(name) for name in ("name", "version", "schema_url", "attributes")},
        "extra": span.get("extra"),
        **{f"source_{name}": span["source"][name] for name in ("file", "offset", "length")},
    }


def check(store: Store) -> list[dict[str, Any]]:
    """Compare the rows of a store with its lines, and return the rows."""
    rows = rows_in(written(store))
    lines = [row_of(line) for line in b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines()]
    others = {"depth", "service_name", "critical_path_ns"}
    bare = [{name: value for name, value in row.items() if name not in others} for row in rows]

    def by_text(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))

    assert by_text(bare) == by_text(lines)
    for row in rows:
        service = row["resource_attributes"].get("service.name")
        assert row["on_critical_path"] == (row["critical_path_ns"] > 0)
        assert row["service_name"] == (service if isinstance(service, str) and service else None)
    return rows


@pytest.mark.shortened
@pytest.mark.parametrize("name", sample(FIXTURES, 10))
def test_recordings(name: str) -> None:
    """The recordings of all writers and layouts: each span is a row, and has what its line has."""
    assert check(load_store(ROOT / "fixtures" / name))


@pytest.mark.parametrize("seed", seeds(12))
def test_odd_records(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage, circles of parents, unusable ids and times; in shares and batches that end anywhere."""
    make(tmp_path, random.Random(seed), files=4, records=60, anywhere=True)
    monkeypatch.setattr(shares, "SHARE_SPANS", 37)
    monkeypatch.setattr(arrow_spans, "_BATCH_SPANS", 11)
    check(load_store(tmp_path))


def test_order_and_depth() -> None:
    """Traces come by start, their spans as their trees are walked; a parent that is missing counts as a level."""
    build = Builder()
    late = [build.span("late", trace=2, start=50), build.span("below", trace=2, parent=99, start=60)]
    tree = [
        build.span("root", start=0, duration=9, span=11),
        build.span("second", start=4, parent=11, span=12),
        build.span("first", start=2, parent=11, span=13),
        build.span("inner", start=5, parent=13, span=14),
    ]
    rows = rows_in(written(store_of(*late, *tree)))
    assert [(row["name"], row["depth"]) for row in rows] == [
        *(("root", 0), ("first", 1), ("inner", 2), ("second", 1)),
        *(("late", 0), ("below", 1)),
    ]


def test_values_are_exact(tmp_path: Path) -> None:
    """Nanoseconds, integers of any size, deep values and missing ends are kept; what Parquet can't say is counted."""
    start, deep = 1_700_000_000_123_456_789, '{"a":' * 300 + "1" + "}" * 300
    spans = [
        {
            "traceId": f"{7:032x}",
            "spanId": f"{number:016x}",
            "name": name,
            "startTimeUnixNano": str(begin),
            "attributes": [{"key": "int", "value": {"intValue": str(2**63 - 1)}}],
            **({"endTimeUnixNano": str(end)} if end else {}),
            "droppedAttributesCount": 3,
            "events": [{"name": "e\ud800", "timeUnixNano": str(start + 1), "droppedAttributesCount": 1}],
        }
        for number, (name, begin, end) in enumerate([("exact", start, start + 7), ("open", start, 0)], 1)
    ]
    (tmp_path / "1.jsonl").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    build = Builder()
    span = build.span("odd \ud800", trace=3, attributes={"big": 2**70, "nan": float("nan"), "text": "a\udc00"})
    text = file_of([span]).decode().replace('"text"', f'"deep": {deep}, "text"')
    (tmp_path / "2.json").write_text(text)
    losses = Losses("parquet")
    rows = {row["name"]: row for row in rows_in(written(load_store(tmp_path), losses))}
    exact, unended, odd = rows["exact"], rows["open"], rows["odd \ufffd"]
    assert (exact["start_time"], exact["end_time"], exact["duration_ns"]) == (start, start + 7, 7)
    assert exact["attributes"] == {"int": 2**63 - 1}
    assert exact["extra"] == {"dropped_attributes_count": 3}
    assert exact["events"] == [{"name": "e\ufffd", "time": start + 1, "attributes": {}}]
    assert [unended[name] for name in ("end_time", "duration_ns", "self_time_ns")] == [None] * 3
    assert unended["warnings"] == ["no_end"]
    assert odd["attributes"] == {"big": 2**70, "nan": "NaN", "deep": json.loads(deep), "text": "a\ufffd"}
    assert losses.lines() == [
        "parquet: replaced invalid Unicode in 4 texts",
        "parquet: dropped 2 fields of events, links, resources and scopes that only other formats have",
        "parquet: wrote 1 non-finite number as text",
    ]


def test_long_durations() -> None:
    """A duration of more than 63 bits is left out, and counted."""
    build = Builder()
    far = dict(build.span("far"), start_time="1700-01-01T00:00:00.000000Z", end_time="2200-01-01T00:00:00.000000Z")
    losses = Losses("parquet")
    rows = rows_in(written(store_of(far, build.span("near", duration=5)), losses))
    assert [(row["name"], row["duration_ns"]) for row in rows] == [("far", None), ("near", 5_000)]
    assert losses.lines() == ["parquet: dropped 2 durations of more than 292 years"]


def test_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups are full, whatever the batches; the same spans give the same bytes."""
    make(tmp_path, random.Random(3), files=4, records=300)
    store = load_store(tmp_path)
    monkeypatch.setattr(parquet, "_MAX_GROUP_ROWS", 50)
    files = []
    for spans in (7, 50, 10_000):
        monkeypatch.setattr(shares, "SHARE_SPANS", spans)
        files.append(written(store))
    metadata = pq.ParquetFile(io.BytesIO(files[0])).metadata
    sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    assert {*sizes[:-1]} == {50}
    assert sum(sizes) == len(store.spans) > 100
    assert files[0] == files[1] == files[2]
    monkeypatch.setattr(parquet, "_MAX_GROUP_BYTES", 1)
    metadata = pq.ParquetFile(io.BytesIO(written(store))).metadata
    assert {metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)} == {1}


def test_row_groups_of_large_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row group ends before it has too many bytes: of names, attributes, messages, events or links."""
    build, long = Builder(), "x" * 5_000
    event = {"name": "e", "timestamp": "2024-01-01T00:00:00.000000Z", "attributes": {"key": long}}
    link = {"context": {"trace_id": "0x1", "span_id": "0x2", "trace_state": "[]"}, "attributes": {"key": long}}
    spans = [
        build.span(long[:4_000]),
        build.span("attributes", attributes={"key": long}),
        {**build.span("message"), "status": {"status_code": "ERROR", "description": long}},
        {**build.span("event"), "events": [event]},
        {**build.span("link"), "links": [link]},
    ]
    monkeypatch.setattr(parquet, "_MAX_GROUP_BYTES", 4_500)
    assert pq.ParquetFile(io.BytesIO(written(store_of(*spans)))).metadata.num_row_groups == len(spans)


def test_spans_whose_files_are_gone() -> None:
    """What is known of a span stays, with its mark."""
    reader = MemoryReader()
    store = store_of_files({"1.json": file_of([Builder().span("a", duration=5)])}, reader=reader)
    reader.files[:] = [None]
    (row,) = rows_in(written(store))
    assert (row["name"], row["duration_ns"], row["attributes"], row["warnings"]) == ("a", 5_000, {}, ["detail_lost"])


def test_nothing() -> None:
    """A file without spans has the columns all the same."""
    table = pq.read_table(io.BytesIO(written(store_of())))
    assert (table.num_rows, table.num_columns) == (0, 33)


def test_the_command(tmp_path: Path) -> None:
    """It writes a file, of whole traces."""
    target = tmp_path / "spans.parquet"
    words = ("export", str(ROOT / "fixtures/made"), "--format", "parquet", "-q", "name=leaf", "-o", str(target))
    assert run(*words).status == 0
    names = [row["name"] for row in rows_in(target.read_bytes())]
    assert "leaf" in names
    assert "root" in names


def test_duckdb(tmp_path: Path) -> None:
    """DuckDB takes attributes apart, and has times to the nanosecond."""
    duckdb: Any = pytest.importorskip("duckdb")
    start = 1_700_000_000_123_456_789
    spans = [
        {"traceId": f"{7:032x}", "spanId": f"{1:016x}", "name": "a", "startTimeUnixNano": str(start)}
        | {"attributes": [{"key": "http.status_code", "value": {"intValue": "500"}}]}
    ]
    (tmp_path / "1.jsonl").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    target = tmp_path / "spans.parquet"
    target.write_bytes(written(load_store(tmp_path)))
    rows = duckdb.read_parquet(str(target)).project("attributes->>'http.status_code', epoch_ns(start_time)")
    assert rows.fetchall() == [("500", start)]


def test_tables(tmp_path: Path) -> None:
    """A folder has spans, calls and requests, read by DuckDB, Polars and pandas; what is there stays without force."""
    duckdb, pd, pl = (pytest.importorskip(name) for name in ("duckdb", "pandas", "polars"))
    folder = tmp_path / "tables"
    source = [str(ROOT / "fixtures" / name) for name in ("ray-events-hook", "serve")]
    done = run("export", *source, "--format", "parquet", "-o", f"{folder}/")
    assert done.status == 0
    assert sorted(path.name for path in folder.iterdir()) == ["calls.parquet", "requests.parquet", "spans.parquet"]
    store = spanview.load(source)
    counts = {"spans": len(store), "calls": len(store.calls()), "requests": len(store.requests())}
    connection = duckdb.connect()
    for name, count in counts.items():
        path = str(folder / f"{name}.parquet")
        assert connection.execute("SELECT count(*) FROM read_parquet(?)", [path]).fetchall() == [(count,)]
        assert len(pd.read_parquet(path)) == len(pl.read_parquet(path)) == count > 30
    query = (
        "SELECT c.function, c.waited_for, c.wait_ns, s.wait_ns FROM read_parquet(?) AS c JOIN read_parquet(?) AS s "
        "USING (trace_id, span_id) WHERE c.attempts = 1 AND c.wait_loading_ns > 3e9 ORDER BY c.wait_ns DESC"
    )
    paths = [str(folder / f"{name}.parquet") for name in ("calls", "spans")]
    rows = connection.execute(query, paths).fetchall()
    assert [row[:2] for row in rows] == [("__main__.own_worker", cause) for cause in ("loading", "worker_start")]
    assert all(of_call == of_span for *_, of_call, of_span in rows)
    frame = pd.read_parquet(folder / "requests.parquet")
    assert sorted(frame.request_id) == sorted(request.request_id or "" for request in store.requests())
    again = run("export", *source, "--format", "parquet", "-o", str(folder))
    assert (again.status, "already exists" in again.notices) == (2, True)
    few = run("export", *source, "--format", "parquet", "-o", str(folder), "--force", "-q", "status=ERROR")
    assert few.status == 0
    failed = spanview.load(source, query="status=ERROR")
    assert len(pl.read_parquet(folder / "spans.parquet")) == len(failed) < len(store)
    assert len(pl.read_parquet(folder / "calls.parquet")) == len(failed.calls()) < len(store.calls())


def test_tables_from_python(tmp_path: Path) -> None:
    """`spanview.export` writes the same folder; a table without rows has its columns."""
    pl = pytest.importorskip("polars")
    store = spanview.load(ROOT / "fixtures" / "serve")
    assert spanview.export(store, f"{tmp_path}/", format="parquet") == []
    calls = pl.read_parquet(tmp_path / "calls.parquet")
    assert (len(calls), "wait_arguments_ns" in calls.columns) == (len(store.calls()), True)
    nothing = tmp_path / "nothing"
    spanview.export(spanview.from_spans([]), f"{nothing}/", format="parquet")
    for name in ("spans", "calls", "requests"):
        assert len(pl.read_parquet(nothing / f"{name}.parquet")) == 0
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(spanview.ExportError, match="can't write"):
        spanview.export(store, f"{tmp_path}/file/", format="parquet")
