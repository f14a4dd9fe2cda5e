"""Files of S3, as moto serves it over HTTP: read, and written, with the bytes of one machine."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from clusters import TasksHere
from quick.folders import make
from ray_sessions import need
from spanview.analysis.query.selection import Selection
from spanview.cluster.export import FORMATS, ClusterExport
from spanview.cluster.parts import check_behind, part_folder, write_behind
from spanview.cluster.shared_files import search
from spanview.cluster.shuffle import job_of
from spanview.cluster.statistics import statistics_on_cluster
from spanview.exports.losses import Losses
from spanview.model.problems import CollectError, ExportError, NoSuchPathError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CAP: Final = 16 << 20
SERVER: Final = """
import sys

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Start a server, and return where it is."""
    need("pyarrow", "moto.server")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


@pytest.fixture
def s3(url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the file system as the environment's settings give it, with an empty bucket, `bucket`."""
    for name in ("HTTP_PROXY", "http_proxy", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    fs: Any = pytest.importorskip("pyarrow.fs")
    told(url, "reset", b"")
    system, bucket = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
    system.create_dir(bucket)
    return system


def told(url: str, what: str, value: bytes) -> None:
    """Change what the server does."""
    kind = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{url}/moto-api/{what}", value, kind)  # noqa: S310 - our own
    urllib.request.urlopen(request).close()  # noqa: S310 - the same


def put(s3: Any, folder: Path) -> None:
    """Upload files, one of them compressed, below `bucket/spans`."""
    for number, path in enumerate(sorted(folder.iterdir())):
        data = path.read_bytes()
        name, data = (f"{path.name}.gz", gzip.compress(data)) if number == 1 else (path.name, data)
        if number == 1:
            path.unlink()
            (folder / name).write_bytes(data)
        with s3.open_output_stream(f"bucket/spans/{name}", compression=None) as stream:
            stream.write(data)


def exported(path: str, form: str) -> ClusterExport:
    """Return an export of what is below a PATH."""
    return ClusterExport(TasksHere(), job_of(search([path])[0], CAP, Selection()), form, Losses(form))


def content_of(s3: Any, path: str) -> bytes:
    """Return what a file has in it."""
    with s3.open_input_stream(path, compression=None) as stream:
        data: bytes = stream.read()
    return data


@pytest.mark.usefixtures("small")
def test_reading_and_writing(s3: Any, tmp_path: Path) -> None:
    """Statistics and exports are those of a folder, and so is what is written: a file, and parts."""
    spans = tmp_path / "spans"
    spans.mkdir()
    make(spans, random.Random(4), files=4, records=40)
    put(s3, spans)
    uri = "s3://bucket/spans"
    here, there = (
        statistics_on_cluster(TasksHere(), job_of(search([path])[0], CAP, Selection()), "name")
        for path in (str(spans), uri)
    )
    assert here[0] == there[0]
    for form in FORMATS:
        expected = b"".join(exported(str(spans), form).chunks()).replace(str(spans).encode(), uri.encode())
        target = f"s3://bucket/out/{form}?region=us-east-1"
        check_behind(target, force=False)
        write_behind(target, exported(uri, form).chunks())
        if form != "parquet":
            assert content_of(s3, f"bucket/out/{form}") == expected
        with pytest.raises(ExportError, match=f"{form}.* already exists: give --force"):
            check_behind(target, force=False)
        folder = part_folder(f"s3://bucket/parts/{form}/")
        assert folder is not None
        folder.make()
        folder.write("part-99999.jsonl", [b"old"])
        exported(uri, form).write_parts(folder)
        names = sorted(folder.parts(form))
        assert len(names) > 1
        if form != "parquet":
            assert b"".join(content_of(s3, f"bucket/parts/{form}/{name}") for name in names) == expected
    assert part_folder("s3://bucket/parts/otlp") is not None
    assert part_folder("s3://bucket/out/otlp") is None


def test_what_fails_leaves_nothing(s3: Any) -> None:
    """What isn't whole isn't there."""

    def pieces() -> Iterator[bytes]:
        yield b"a" * 1000
        raise CollectError("a task has failed")

    with pytest.raises(CollectError):
        write_behind("s3://bucket/whole.jsonl", pieces())
    fs: Any = pytest.importorskip("pyarrow.fs")
    assert s3.get_file_info(fs.FileSelector("bucket")) == []


def test_buckets_and_keys_that_do_not_fit(s3: Any, url: str) -> None:
    """Each is a sentence, before anything is read."""
    assert s3
    for path in ("s3://bucket/nothing", "s3://other/spans"):
        with pytest.raises(NoSuchPathError, match=f"{path}: no such file or folder"):
            search([path])
    with pytest.raises(ExportError, match=r"can't write s3://other: Bucket 'other' not found$"):
        check_behind("s3://other/file", force=False)
    with authorized(url):
        with pytest.raises(CollectError, match=r"s3://bucket/spans: .* ACCESS_DENIED"):
            search(["s3://bucket/spans"])
        with pytest.raises(ExportError, match=r"can't write s3://bucket/file: .* ACCESS_DENIED"):
            check_behind("s3://bucket/file", force=False)


@contextmanager
def authorized(url: str) -> Iterator[None]:
    """Let the server ask who calls it: nobody that it knows."""
    for allowed in (b"0", b"1000000"):
        told(url, "reset-auth", allowed)
        if allowed == b"0":
            yield
