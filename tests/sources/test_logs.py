"""Logs beside spans, in the folder of a session of Ray 2.60 as it was left: `fixtures/session-with-logs`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from hostile import TEXTS
from spanview.analysis.logs.lines import Coverage, LogOwner, SpanLog, log_owner
from spanview.sources.loading import load_store
from spanview.sources.logs import Logs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store

SESSION: Final = Path(__file__).parents[2] / "fixtures" / "session-with-logs"
ELSEWHERE: Final = "/nowhere/ray/session_latest"
COUNTER: Final = "worker-06bf94bf82bb6e4ed839bb4d02f9cc55326de95672f61e27f3c18753-01000000-25109"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Return a copy of the session."""
    folder = tmp_path / "ray" / "session_2026-11-23_06-05-36_423683_24821"
    shutil.copytree(SESSION, folder)
    return folder


def log_of(
    spans: Path, name: str, latest: str = ELSEWHERE, number: int = 0, within: Sequence[str] | None = None
) -> SpanLog:
    """Return the log of a span, by its name and its number among those of this name, by start."""
    store: Store = load_store(str(spans))
    named = sorted(
        (store.spans.start_ns[row], trace, node)
        for trace in range(len(store.trace_table))
        for tree in [store.tree(trace)]
        for node, row in enumerate(tree.rows)
        if store.names.texts[store.spans.name[row]] == name
    )
    _, trace, node = named[number]
    tree = store.tree(trace)
    span = store.span(tree.rows[node])
    assert span.start_ns is not None
    return Logs(latest, within).lines_of(log_owner(store, tree, node), span.start_ns, span.end_ns)


def texts(log: SpanLog) -> dict[str, tuple[Coverage, list[str]]]:
    """Return what each file has."""
    return {part.label: (part.coverage, [line.text.decode() for line in part.lines]) for part in log.parts}


@pytest.mark.usefixtures("universal_time")
def test_lines_of_an_actors_call(session: Path) -> None:
    """What has times by its time, what was printed without as all of the process."""
    log = log_of(session / "logs" / "spans", "Counter.add ray.remote_worker", number=1)
    assert texts(log) == {
        "err": (
            Coverage.TIME,
            ["2026-11-23 06:05:43,399 INFO root adding 1", "2026-11-23 06:05:43,800 INFO root added 1"],
        ),
        "out": (
            Coverage.PROCESS,
            [":job_id:01000000", ":actor_name:Counter", *(w for n in range(3) for w in ("two", f"lines of add {n}"))],
        ),
    }
    assert log.start is not None
    assert os.path.basename(log.start.path) == f"{COUNTER}.err"
    assert log.sure_of(log.start.path) == {line.offset for line in log.parts[0].lines}
    failed = texts(log_of(session / "logs" / "spans", "Counter.bad ray.remote_worker"))["err"][1]
    assert [failed[0][24:], failed[1][24:], failed[2], failed[-1]] == [
        *("INFO root about to fail", "ERROR root caught", "Traceback (most recent call last):"),
        "ValueError: inner",
    ]


def test_lines_of_a_worker_that_was_started_in_advance(session: Path) -> None:
    """Its file isn't named after the job."""
    log = log_of(session / "logs" / "spans", "__main__.leaf ray.remote_worker", number=1)
    assert "plain leaf 1" in texts(log)["out"][1]


def test_spans_elsewhere_have_the_logs_of_their_own_session(session: Path, tmp_path: Path) -> None:
    """Of the latest session or of one before it, if its files are named after their workers; of no other one."""
    spans = tmp_path / "spans"
    (session / "logs" / "spans").rename(spans)
    latest = session.parent / "session_latest"
    latest.symlink_to(session)
    name = "Counter.bad ray.remote_worker"
    assert log_of(spans, name, str(latest)).count
    other = session.parent / "session_2027-01-01_00-00-00_000000_1"
    (other / "logs").mkdir(parents=True)
    (other / "logs" / f"{COUNTER.replace('06bf', '06be')}.err").write_text("of another worker\n")
    latest.unlink()
    latest.symlink_to(other)
    assert log_of(spans, name, str(latest)).parts[0].path == str(session / "logs" / f"{COUNTER}.err")
    owner = LogOwner(str(spans / "7.jsonl"), COUNTER.split("-")[1], session=str(session))
    assert str(session / "logs" / f"{COUNTER}.err") in Logs(ELSEWHERE).files_of(owner)[0]
    shutil.rmtree(session)
    log = log_of(spans, name, str(latest))
    assert (log.parts, log.reason) == (
        (),
        (
            f"no worker-06bf94bf… beside the spans, nor in Ray's sessions in {session.parent}; "
            "RAY_TMPDIR says where others are"
        ),
    )


def test_logs_outside_of_the_paths_are_not_read(session: Path, tmp_path: Path) -> None:
    """Where only what is in some folders may be read, a log beside them isn't, nor one that a symlink in them names."""
    spans, name = session / "logs" / "spans", "Counter.bad ray.remote_worker"
    assert log_of(spans, name, within=[str(session)]).count
    assert log_of(spans, name, within=[f"{session}/logs/../logs/"]).count
    log = log_of(spans, name, within=[str(spans), str(session)[:-1]])
    assert (log.parts, log.reason) == (
        (),
        f"a viewer in a browser reads no logs elsewhere: they are in {session / 'logs'}",
    )
    for end in (".err", ".out"):
        (session / "logs" / f"{COUNTER}{end}").rename(tmp_path / f"log{end}")
        (session / "logs" / f"{COUNTER}{end}").symlink_to(tmp_path / f"log{end}")
    assert log_of(spans, name).count
    assert not log_of(spans, name, within=[str(session)]).parts


@pytest.mark.usefixtures("universal_time")
def test_lines_of_a_request(session: Path) -> None:
    """A replica's are its own, the proxy's are all of the request; in text and in JSON."""
    spans = session / "logs" / "serve" / "spans"
    proxy = texts(log_of(spans, "proxy_http_request Ingress GET /"))
    assert {label: len(lines) for label, (_, lines) in proxy.items()} == {
        "proxy": 1,
        "default_Ingress_i6nrtapd": 5,
        "default_Model_dx6m3hrm": 2,
    }
    coverage, lines = texts(log_of(spans, "replica_handle_request Model __call__"))["default_Model_dx6m3hrm"]
    assert coverage is Coverage.REQUEST
    assert [line.rpartition(" -- ")[2] for line in lines] == ["model got 1", "CALL __call__ OK 9.6ms"]
    in_json = texts(log_of(spans, "replica_handle_request Model __call__", number=1))
    assert '"message": "model got 1"' in in_json["default_Model_tddkwosa"][1][0]
    assert all("d7072f95" in line for line in in_json["default_Model_tddkwosa"][1])


@pytest.mark.usefixtures("universal_time")
def test_rotated_logs_are_read_too(session: Path) -> None:
    """The lines of a request are in the file that was written when it was handled."""
    folder = session / "logs" / "serve"
    (folder / "replica_default_Model_dx6m3hrm.log").rename(folder / "replica_default_Model_dx6m3hrm.log.1")
    (folder / "replica_default_Model_dx6m3hrm.log").write_text("")
    log = log_of(folder / "spans", "replica_handle_request Model __call__")
    assert [(os.path.basename(part.path), len(part.lines)) for part in log.parts] == [
        ("replica_default_Model_dx6m3hrm.log.1", 2)
    ]


def test_why_there_is_none(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver's, an empty one, and one that may not be read."""
    spans = session / "logs" / "spans"
    for name in ("program", "Counter.bad ray.remote"):
        assert log_of(spans, name).reason == "of a driver: Ray keeps no log of what it prints"
    for end in ("out", "err"):
        (session / "logs" / f"{COUNTER}.{end}").write_bytes(b"")
    assert log_of(spans, "Counter.bad ray.remote_worker").reason == f"{COUNTER}.err and {COUNTER}.out: empty"
    (session / "logs" / f"{COUNTER}.err").write_bytes(b"\x00\xff\x1b]0;x\x07\n" * 3)
    opened = os.open

    def denied(path: str, *words: int) -> int:
        if path.endswith(".out"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *words)

    monkeypatch.setattr(os, "open", denied)
    log = log_of(spans, "Counter.bad ray.remote_worker")
    assert [(part.label, len(part.lines), part.problem) for part in log.parts] == [
        ("err", 3, ""),
        ("out", 0, "Permission denied"),
    ]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="whoever may read everything reads it")
def test_a_folder_that_may_not_be_read(session: Path, tmp_path: Path) -> None:
    """That it isn't allowed is the reason."""
    spans = tmp_path / "spans"
    (session / "logs" / "spans").rename(spans)
    (session / "logs").chmod(0)
    log = log_of(spans, "Counter.bad ray.remote_worker", str(session))
    (session / "logs").chmod(0o755)
    assert log.reason.endswith("Permission denied")


def test_ids_of_any_text_are_looked_for(session: Path) -> None:
    """Nothing that a file calls a request or a replica ends the search but that there is none."""
    path = str(session / "logs" / "serve" / "spans" / "1.json")
    for text in TEXTS:
        log = Logs(ELSEWHERE).lines_of(LogOwner(path, request_id=text, replica_id=text), 0, None)
        assert log.count == 0 or text in {"]", "\\["}
        assert Logs(ELSEWHERE).files_of(LogOwner(path, worker_id=text, pid=text, job=text))[1]


def test_ids_lead_nowhere_else(tmp_path: Path) -> None:
    """What a file says of its worker can't become a path to other files."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "secret-1-1.out").write_text("secret\n")
    logs = Logs(ELSEWHERE)
    for worker_id, job in (("../secret", "1"), ("a/../../secret", "1"), ("ab", "/../../secret-1"), (".*", "1")):
        owner = LogOwner(str(tmp_path / "logs" / "1.txt"), worker_id, "1", job)
        assert logs.files_of(owner)[0] == ()
