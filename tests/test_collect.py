"""`spanview collect` on a real cluster of Ray, two nodes on this machine, each with a folder of its own.

meanwhile                                         collected of each node
---------                                         ----------------------
nothing                                           every file, byte for byte; no span is left by collecting
a kill in the middle, and another call            a beginning of every file; then every file
--follow: appends, a truncation, a rotation,      every file and its generations; what the lost node had until then
  a node that comes, one that is killed
a node that doesn't answer                        the others; status 1

A head with a dashboard, which costs as much as three without, has a job besides, whose spans have the name of the job.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import psutil
import pytest

from busy import Busy
from hooked import left_in
from pages import RECIPES, ROOT
from programs import Following
from ray_sessions import RaySession, need
from seeds import THOROUGH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("cluster")]

DEADLINE_S: Final = 60.0
PROGRAM: Final = """
import os
import sys

import ray
from ray.cluster_utils import Cluster

SMALL = dict(num_cpus=1, object_store_memory=100_000_000, include_dashboard=False)
HOOK = "ray.util.tracing.setup_local_tmp_tracing:setup_tracing"
nodes = {}


def start(name, **more):
    node = dict(SMALL, env_vars={"SPANVIEW_DIR": os.path.abspath(name)}, **more)
    if nodes:
        nodes[name] = cluster.add_node(**node)
        return cluster
    made = Cluster(initialize_head=True, head_node_args=dict(node, tracing_startup_hook=HOOK))
    nodes[name] = made.head_node
    return made


cluster = start("node0")
start("node1")
print(cluster.address, flush=True)
for line in sys.stdin:
    word, name = line.split()
    if word == "add":
        start(name)
        print(nodes[name].node_id, flush=True)
    elif word == "kill":
        cluster.remove_node(nodes[name], allow_graceful=False)
        print("killed", flush=True)
    elif word == "raylet":
        print(nodes[name].all_processes["raylet"][0].process.pid, flush=True)
"""
"""Starts two nodes, prints their address, and then does what it is told."""
IMPATIENT: Final = """
import sys

from spanview.cli import main
from spanview.cluster import tasks

tasks._ANSWER_S = tasks._GONE_S = 5.0
sys.exit(main())
"""
"""Is spanview, with less patience."""
STUCK: Final = """
import sys
import time

from spanview.cli import main
from spanview.cluster import shuffle, tasks


def start(self, function, *arguments, answers=1):
    print("asked", file=sys.stderr, flush=True)
    return [self._ray.remote(lambda: time.sleep(100)).remote()] * answers


tasks._GONE_S = 5.0
shuffle.Tasks.start = start
sys.exit(main())
"""
"""The same, counting in tasks that take long."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """A cluster that is there."""

    session: RaySession
    address: str
    orders: IO[str]
    answers: IO[str]
    environment: Mapping[str, str]

    def order(self, word: str, name: str) -> str:
        """Let the program do something with a node, and return what it answers."""
        self.orders.write(f"{word} {name}\n")
        self.orders.flush()
        return self.answers.readline().strip()

    def folder(self, name: str) -> Path:
        """Return the folder of a node's spans."""
        folder = self.session.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def running(self, *words: str | Path, code: str | None = None) -> Following:
        """Start spanview, or code that is spanview, to go on beside the test."""
        variables = (f"{name}={value}" for name, value in self.environment.items())
        interpreter = (sys.executable, "-m", "spanview") if code is None else (sys.executable, "-c", code)
        return Following(*words, program=("env", "-i", *variables, *interpreter))

    def following(self, into: Path, code: str | None = None) -> Following:
        """Follow this cluster."""
        return self.running(
            *("collect", "-f", "--address", self.address, "--path", "$SPANVIEW_DIR", "-o", into), code=code
        )

    def start(self, into: Path, *words: str, code: str | None = None) -> subprocess.Popen[str]:
        """Start collecting from this cluster, in an interpreter of its own."""
        program = ("-m", "spanview") if code is None else ("-c", code)
        cluster = "--address", self.address, "--path", "$SPANVIEW_DIR", "-o", str(into)
        return subprocess.Popen(
            [sys.executable, *program, "collect", *cluster, *words],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of collecting; return its status and what it said on standard error."""
    output, said = process.communicate(timeout=DEADLINE_S)
    assert (output, "Traceback" in said) == ("", False), said
    return process.returncode, said


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Start a cluster of two nodes, whose programs are traced by Ray's own hook."""
    need("ray")
    with RaySession(tmp_path_factory.mktemp("cluster")) as session:
        session.write("cluster.py", PROGRAM)
        with session.start("cluster.py") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            environment = session.environment()
            yield Nodes(session, address, process.stdin, process.stdout, environment)
            process.kill()


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """Return the folder that is collected into."""
    return tmp_path / "collected"


@contextmanager
def files(nodes: Nodes, size: int, *names: str) -> Iterator[dict[Path, bytes]]:
    """Give each node files, other ones each, for a while; yield their contents."""
    contents = {}
    for node in ("node0", "node1"):
        for name in names:
            path = nodes.folder(node) / name
            contents[path] = random.Random(str(path)).randbytes(size)
            path.write_bytes(contents[path])
    yield contents
    for folder in nodes.session.folder.glob("node*"):
        for path in folder.iterdir():
            path.unlink()


def collected(into: Path) -> dict[Path, bytes]:
    """Return what was collected, by the paths on the nodes; a later generation has its number behind the name."""
    found = {}
    for top in into.iterdir():
        _, _, generation = top.name.partition(".")
        for path in top.rglob("*") if top.is_dir() else ():
            if path.is_file():
                original = Path("/") / path.relative_to(top)
                found[original.with_name(original.name + generation)] = path.read_bytes()
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so while collecting goes on."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_all_files_of_all_nodes(nodes: Nodes, into: Path) -> None:
    """Each file comes over whole, by node; another call adds what is new; nothing of that is traced."""
    with files(nodes, 100_000, "8.txt", "9.txt") as contents:
        status, said = ended(nodes.start(into))
        assert status == 0
        assert "391 KiB new in 4 files of 2 nodes" in said
        assert collected(into) == contents
        assert len([top for top in into.iterdir() if top.is_dir()]) == 2
        path = next(iter(contents))
        with path.open("ab") as file:
            file.write(b"more\n")
        status, said = ended(nodes.start(into))
        assert "5 B new in 1 file of 2 nodes" in said
        assert collected(into) == contents | {path: contents[path] + b"more\n"}
    traced = nodes.session.own_files()
    assert traced
    assert sum(map(os.path.getsize, traced)) == 0


def test_killed_and_continued(nodes: Nodes, into: Path) -> None:
    """However collecting is killed, a beginning of each file is there, and another call goes on."""
    with files(nodes, 24_000_000, "8.txt") as contents:
        process = nodes.start(into)
        wait_for(lambda: any(path.stat().st_size > 1_000_000 for path in into.glob("*@*/**/8.txt")))
        process.kill()
        process.communicate()
        there = collected(into)
        assert all(contents[path].startswith(content) for path, content in there.items())
        assert sum(map(len, there.values())) < sum(map(len, contents.values()))
        before = sum(map(len, there.values()))
        status, said = ended(nodes.start(into))
        assert status == 0
        assert collected(into) == contents
        assert sum(map(len, contents.values())) - before < sum(map(len, contents.values()))
        assert "45.8 MiB new" not in said


def test_following(nodes: Nodes, into: Path) -> None:
    """What files and nodes do meanwhile is followed: files grow, shrink and move, a node comes, and one is killed."""
    with ExitStack() as stack:
        contents = stack.enter_context(files(nodes, 50_000, "8.txt", "9.txt"))
        following = stack.enter_context(nodes.following(into))
        wait_for(lambda: into.exists() and collected(into) == contents)
        folder = nodes.folder("node1")
        cut, moved = folder / "8.txt", folder / "9.txt"
        cut.write_bytes(b"anew\n")
        with moved.open("ab") as file:
            moved.rename(folder / "9.txt.old")
            file.write(b"its end\n")
        moved.write_bytes(b"another\n")
        contents |= {
            folder / "8.txt2": b"anew\n",
            moved: contents[moved] + b"its end\n",
            folder / "9.txt2": b"another\n",
        }
        wait_for(lambda: collected(into) == contents)
        later = nodes.folder("node2") / "7.txt"
        later.write_bytes(b"of a node that comes\n")
        node_id = nodes.order("add", "node2")
        contents[later] = b"of a node that comes\n"
        wait_for(lambda: collected(into) == contents)
        assert [path.name.partition("@")[2] for path in into.glob(f"*@{node_id[:12]}")] == [node_id[:12]]
        assert nodes.order("kill", "node2") == "killed"
        with cut.open("ab") as file:
            file.write(b"and on\n")
        contents[folder / "8.txt2"] = b"anew\nand on\n"
        wait_for(lambda: collected(into) == contents)
        following.wait_for_notice(f"@{node_id[:12]}: ", DEADLINE_S)
        assert following.stop() == 0
        assert following.lines == []
        assert following.notices[-1].endswith("; 1 node lost")
        assert len(following.notices) == 2


def test_a_node_that_does_not_answer(nodes: Nodes, into: Path) -> None:
    """The others are collected from; a sentence says which one isn't, and so does the status."""
    raylet = int(nodes.order("raylet", "node1"))
    with files(nodes, 1000, "8.txt") as contents:
        os.kill(raylet, signal.SIGSTOP)
        try:
            status, said = ended(nodes.start(into, code=IMPATIENT))
        finally:
            os.kill(raylet, signal.SIGCONT)
        assert status == 1
        assert "no answer within 5 seconds: the node may be about to leave" in said
        assert collected(into) == {path: content for path, content in contents.items() if path.parent.name != "node1"}


def test_the_page_says_how(nodes: Nodes, tmp_path: Path) -> None:
    """The page's commands bring the spans of all nodes into one folder, and show them without one."""
    recording = (ROOT / "fixtures" / "ray-tasks-bundled-hook" / "spans" / "8367.txt").read_bytes()
    spanview = tmp_path / "spanview"
    spanview.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spanview "$@"\n')
    spanview.chmod(0o755)
    with files(nodes, 0, "8367.txt") as contents:
        for path in contents:
            path.write_bytes(recording)
        done = subprocess.run(
            ["bash", "-ec", RECIPES["collect"]],
            cwd=tmp_path,
            env={
                **nodes.environment,
                "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "RAY_ADDRESS": nodes.address,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        there = collected(tmp_path / "cluster")
        assert {path: there.get(path) for path in contents} == dict.fromkeys(contents, recording)
    assert "__main__.leaf" in done.stdout
    assert "__main__.leaf ray.remote" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--address", "127.0.0.1:1"), "no Ray cluster at 127.0.0.1:1: Connection refused"),
        (("--dashboard", "http://127.0.0.1:1"), "http://127.0.0.1:1: [Errno 111] Connection refused"),
        (("--address", "head"), "head: expected auto, or HOST:PORT as `ray status` and `ray start` print it"),
        (("--address", "ray://head:10001"), "expected auto or HOST:PORT, on a machine of the cluster"),
    ],
)
def test_no_cluster(into: Path, words: tuple[str, ...], told: str) -> None:
    """Where nothing is to be collected from, one sentence says so, and no folder is made."""
    done = subprocess.run(
        [sys.executable, "-m", "spanview", "collect", *words, "-o", str(into)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not into.exists()


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "HTTP"])
def test_what_is_no_cluster(into: Path, greeting: bytes) -> None:
    """What listens and is no cluster is told from one; at a server of HTTP/1, Ray waits for ever."""
    need("ray")

    def answer(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connections.append(listening.accept()[0])
                connections[-1].sendall(greeting)

    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,), daemon=True)
        thread.start()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "spanview", "collect", "--address", address, "-o", str(into)],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        # Closing it wouldn't end what accepts there, which would leave a connection open.
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    said = f"spanview: no Ray cluster at {address}: something else answers there\n"
    assert (done.returncode, done.stderr) == (2, said)
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_is_shown_meanwhile(nodes: Nodes, tmp_path: Path, number: signal.Signals) -> None:
    """`--ray` shows what nodes write, from a folder that goes; nothing goes on when it ends, or is killed."""
    recording = (ROOT / "fixtures" / "ray-tasks-bundled-hook" / "spans" / "8367.txt").read_bytes()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with files(nodes, 0, "8367.txt") as contents:
        shown = replace(nodes, environment={**nodes.environment, "TMPDIR": str(temporary)})
        with shown.running("tree", "-f", "--ray", nodes.address) as running:
            wait_for(lambda: bool([*temporary.glob("spanview-*/ray-cluster/*@*")]))
            (collecting,) = psutil.Process(running.pid).children()
            next(iter(contents)).write_bytes(recording)
            running.wait_for(lambda: any("__main__.leaf ray.remote" in line for line in running.lines), DEADLINE_S)
            running.stop(number)
        wait_for(lambda: not collecting.is_running() or collecting.status() == psutil.STATUS_ZOMBIE)
        assert ([*temporary.iterdir()] == []) is (number is signal.SIGINT)


def test_a_head_that_is_gone(nodes: Nodes, into: Path) -> None:
    """The cluster's end is a sentence, and what was collected stays. It is the last test of these nodes."""
    with (
        files(nodes, 1000, "8.txt") as contents,
        nodes.following(into, code=IMPATIENT) as following,
        nodes.running("stats", "--ray", nodes.address, ROOT / "fixtures" / "made", code=STUCK) as counting,
    ):
        wait_for(lambda: into.exists() and collected(into) == contents)
        counting.wait_for_notice("asked", DEADLINE_S)
        assert nodes.order("kill", "node0") == "killed"
        counting.wait_for_notice(f"the cluster at {nodes.address} is gone", DEADLINE_S)
        assert counting.wait_for_end() == 2
        following.wait_for_notice("is gone; the collected files stay", DEADLINE_S)
        assert following.wait_for_end() == 2
        assert collected(into) == contents


DASHBOARD: Final = """
import os
import sys

import ray
from ray.cluster_utils import Cluster

head = dict(num_cpus=1, object_store_memory=100_000_000, include_dashboard=True, dashboard_port=0)
hook = "spanview.ray.hook:setup_tracing"
more = dict(dashboard_agent_listen_port=0, tracing_startup_hook=hook)
cluster = Cluster(initialize_head=True, head_node_args=dict(head, **more))
print(cluster.address, cluster.webui_url, cluster.head_node.get_logs_dir_path(), flush=True)
sys.stdin.read()
"""
"""Starts a node with dashboard and hook, and prints its address, that of the dashboard, and where its logs are."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A cluster that is asked for a token, and its dashboard."""

    session: RaySession
    environment: Mapping[str, str]
    address: str
    url: str
    logs: Path


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """Start a node with a dashboard."""
    need("ray.dashboard", "aiohttp_cors", "opencensus", "prometheus_client")
    with RaySession(tmp_path_factory.mktemp("dashboard")) as session:
        session.write("head.py", DASHBOARD)
        environment = session.environment({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}, {})
        with subprocess.Popen(
            [sys.executable, "head.py"],
            cwd=session.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            address, place, logs = process.stdout.readline().split()
            yield Dashboard(session, environment, address, f"http://{place}", Path(logs))
            process.kill()


@pytest.mark.shortened
def test_the_dashboard(dashboard: Dashboard, tmp_path: Path, into: Path) -> None:
    """Without Ray's port, what lies in the logs comes over, again only what is new; a token is asked for."""
    address, url, logs = dashboard.address, dashboard.url, dashboard.logs

    def collect(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "spanview", "collect", *(words or ("--dashboard", url)), "-o", str(into)],
            env={**dashboard.environment, "HOME": str(tmp_path), **changes},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    wrong = "fedcba9876543210" * 4
    asked = "requires a token, or refuses this one: set RAY_AUTH_TOKEN as for `ray status`"
    for words, given, told in (
        ((), "", f"{url} {asked}"),
        ((), wrong, f"{url} {asked}"),
        (("--address", address), "", f"the cluster at {address} {asked}"),
        (
            ("--address", address),
            wrong,
            f"the cluster at {address} takes no connection: it may ask for another",
        ),
        (("--address", "auto"), wrong, f"the cluster at {address} takes no connection: it may ask for another"),
    )[:: 1 if THOROUGH else 2]:
        with Busy() as busy:
            started = time.monotonic()
            refused = collect(*words, RAY_AUTH_TOKEN=given, RAY_ADDRESS=address)
            took_s = time.monotonic() - started
        # Ray itself goes on trying for twenty.
        assert took_s < 15 * busy.factor
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"spanview: {told}")
        assert len(refused.stderr.splitlines()) == 1
    assert not into.exists()
    made = {
        Path(logs, "spans", "deeper", "8.jsonl"): random.Random(8).randbytes(2_500_000),
        Path(logs, "serve", "spans", "proxy.json"): b"first\n",
        Path(logs, "spans", "empty.jsonl"): b"",
        Path(logs, "export_events", "event_EXPORT_TASK_7.log"): b"an event\n",
    }
    for path, content in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (logs / "other.log").write_bytes(b"no span file")
    there = collect()
    assert (there.returncode, there.stdout) == (0, ""), there.stderr
    session_folder = logs.parent

    def named(path: Path, generation: str = "") -> Path:
        below = Path("/") / session_folder.name / path.relative_to(session_folder)
        return below.with_name(below.name + generation)

    expected = {named(path): content for path, content in made.items()}
    assert collected(into) == expected
    long, proxy, *_ = made
    with long.open("ab") as file:
        file.write(b"more")
    proxy.write_bytes(b"anew\n")
    there = collect()
    assert there.returncode == 0, there.stderr
    assert ": 9 B new in 2 files of 1 node" in there.stderr
    assert collected(into) == expected | {
        named(long): made[long] + b"more",
        named(proxy, "2"): b"anew\n",
    }
    for path in made:
        path.unlink()


JOB: Final = """
import ray

ray.init()


@ray.remote
def leaf(number):
    return number


@ray.remote
class Actor:
    def step(self):
        return 7


actor = Actor.remote()
print(ray.get([leaf.remote(1), actor.step.remote()]))
"""


def test_a_job_that_is_submitted(dashboard: Dashboard) -> None:
    """Driver and workers of a job on a Ray with a dashboard write among its logs, under the name of the job."""
    ray = Path(sys.executable).with_name("ray")
    folder = dashboard.session.folder / "job"
    folder.mkdir()
    (folder / "program.py").write_text(JOB)
    words = "--metadata-json", '{"job_name": "nightly"}', "--working-dir", folder
    done = subprocess.run(
        [ray, "job", "submit", "--address", dashboard.url, *words, "--", "python", "program.py"],
        env=dict(dashboard.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    spans = left_in(dashboard.logs / "spans").ended
    of_job = [span for span in spans if not span["name"].startswith("JobSupervisor.")]
    names = Counter(span["name"].rpartition(" ")[0] for span in of_job)
    assert names == dict.fromkeys(("__main__.leaf", "Actor.__init__", "Actor.step"), 2)
    assert {span["resource"]["service.name"] for span in of_job} == {"nightly"}
    assert len({span["resource"]["ray.job_id"] for span in of_job}) == 1
    assert len({span["resource"]["process.pid"] for span in of_job}) == 3
