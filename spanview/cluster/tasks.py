"""A Ray cluster: one task for each of its nodes, which sends new bytes of the node's span files.

The tasks need no CPU of their node's, and run on it or not at all. Each is a generator, so that a long one is a single
task; Ray holds it back while what it has sent isn't taken. They leave no spans: whether Ray traces a task is decided in
the program that submits it, and this one turns tracing off before it submits anything.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
import zlib
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.cluster import node_files
from spanview.cluster.collection import ClusterNode, NodeProgress, NodeState
from spanview.cluster.task_states import task_states
from spanview.model import stretch
from spanview.model.problems import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from spanview.cluster.collection import Collection

AUTO: Final = "auto"
_MESSAGES_AHEAD: Final = 8
"""Messages that a node may be ahead of us."""
_REACH_S: Final = 4.0
"""Seconds until an address has to answer at all, and again until it has to greet."""
_CONNECT_S: Final = 45
"""Seconds until it has to have answered as a cluster does."""
_SETTINGS: Final = b"\x04"
"""The type of a frame of HTTP/2, in the fourth of its first nine bytes: three are its length."""
_FRAME_TYPE, _FRAME_HEAD_BYTES = 3, 9
_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(_FRAME_TYPE) + _SETTINGS + bytes(5)
"""How a client of HTTP/2 begins, with settings of none."""
_ROUND_S: Final = 0.2
"""Seconds between two looks at what has come, and at whether to stop."""
_NODES_S: Final = 1.0
"""Seconds between two looks at which nodes there are."""
_GONE_S: Final = 20.0
"""Seconds after which a head that can't be reached is gone; after 60, Ray ends the process."""
_ANSWER_S: Final = 60.0
"""Seconds until a node's task has to have begun: it waits for ever on a node that is about to leave."""
_ATTEMPTS: Final = 3
"""Tasks for a node, without following."""
_EVENTS: Final = "/export_events/event_EXPORT_TASK_"
"""In the paths of files of events of tasks."""
_RETRY_S: Final = 2.0
"""Seconds before a node gets another task."""


@contextmanager
def connected(address: str) -> Iterator[bool]:
    """Be a driver of a cluster, and yield whether Ray traces its tasks all the same; the context ends it.

    Raises:
        CollectError: Ray isn't installed, there is no such cluster, or it takes only drivers of another kind.
    """
    address = _head_of(address)
    # A second each; Ray's own twenty are for a head that is only about to begin. It is read when Ray is imported.
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    # A node that is gone isn't to be reported by Ray, too.
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    try:
        import ray
        from ray.util.tracing import tracing_helper
    except ImportError:
        raise CollectError("Ray isn't installed: pip install 'spanview[ray]'") from None
    if address != AUTO:
        _look(address)
    # As if the cluster's hook had run: it may be a module that isn't here, and would open a file of its own.
    ray.__traced__ = True  # type: ignore[attr-defined]
    try:
        with _time_limit(address):
            ray.init(address=address, log_to_driver=False, configure_logging=False, logging_level=logging.CRITICAL)
        # There is no public switch, and another version of Ray may have none of this name.
        tracing_helper._global_is_tracing_enabled = False  # noqa: SLF001
        yield bool(tracing_helper._is_tracing_enabled())  # noqa: SLF001
    except _HeadGoneError:
        # Ray would go on trying to reach it, and then end this process without a word.
        raise CollectError(f"the cluster at {address} is gone; the collected files stay") from None
    except ConnectionError as error:
        raise CollectError(_unconnected(str(error), address)) from None
    except (RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise CollectError(_reason(error, address)) from None
    else:
        ray.shutdown()


@contextmanager
def watched() -> Iterator[None]:
    """Look, while the program waits for tasks of the cluster that it is connected to, whether its head is there.

    Ray goes on trying to reach it for a minute, and then ends the process without a word.

    Raises:
        CollectError: It is gone.
    """
    import ray

    head: str = ray.get_runtime_context().gcs_address
    end, is_gone = threading.Event(), threading.Event()

    def look() -> None:
        reached_s = time.monotonic()
        while not end.wait(_NODES_S):
            with suppress(OSError):
                _reached(head).close()
                reached_s = time.monotonic()
            if time.monotonic() > reached_s + _GONE_S:
                is_gone.set()
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                return

    # What waits for Ray looks for signals; Ctrl+C's own is ignored by what a shell has put into the background.
    # It stays so, as the signal may come when the program no longer waits.
    signal.signal(signal.SIGUSR1, signal.default_int_handler)
    threading.Thread(target=look, daemon=True).start()
    try:
        yield
    except (KeyboardInterrupt, ray.exceptions.RayError):
        if not is_gone.is_set():
            raise
        raise CollectError(f"the cluster at {head} is gone") from None
    finally:
        end.set()


class _HeadGoneError(Exception):
    """The head of the cluster can't be reached any more."""


def _head_of(address: str) -> str:
    """Return host and port of a cluster's head, or `auto` where it is for Ray to find out.

    Raises:
        CollectError: It is no address.
    """
    if address == AUTO:
        address = os.environ.get("RAY_ADDRESS") or AUTO
    if "://" in address:
        raise CollectError(
            f"{address}: expected auto or HOST:PORT, on a machine of the cluster; elsewhere, give --dashboard URL"
        )
    host, _, port = address.rpartition(":")
    if address != AUTO and not (host and port.isdigit()):
        raise CollectError(f"{address}: expected auto, or HOST:PORT as `ray status` and `ray start` print it")
    return address


def _look(head: str) -> None:
    """Look whether a head is there, before Ray does: it waits for ever for what is another kind of server.

    Raises:
        CollectError: It isn't.
    """
    try:
        with _reached(head) as connection:
            # With TLS, nothing is said in plain.
            answers = os.environ.get("RAY_USE_TLS", "0") != "0" or _speaks_http2(connection)
    except OSError as error:
        raise CollectError(f"no Ray cluster at {head}: {error.strerror or error}") from None
    if not answers:
        raise CollectError(f"no Ray cluster at {head}: something else answers there")


def _reached(address: str) -> socket.socket:
    """Connect to host and port.

    Raises:
        OSError: Nothing listens there.
    """
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S)


def _speaks_http2(connection: socket.socket) -> bool:
    """Tell whether the other side greets as servers of gRPC do, by its settings."""
    connection.sendall(_GREETING)
    try:
        return connection.recv(_FRAME_HEAD_BYTES)[_FRAME_TYPE : _FRAME_TYPE + 1] == _SETTINGS
    except OSError:
        return False


@contextmanager
def _time_limit(address: str) -> Iterator[None]:
    """Let connecting fail in time: Ray goes on trying for minutes."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise CollectError(f"no Ray cluster at {address}: something else answers there")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_CONNECT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _unconnected(text: str, address: str) -> str:
    if "Could not find any" in text:
        return (
            f"no Ray cluster at {address}: run this on a machine of the cluster, or give its --address or --dashboard"
        )
    # A wrong token is said in the log alone.
    return (
        f"the cluster at {address} takes no connection: it may ask for another token; "
        "set RAY_AUTH_TOKEN as for `ray status`"
    )


def _reason(error: Exception, address: str) -> str:
    text = " ".join(str(error).split())
    if "Version mismatch" in text:
        return f"{text}: install the cluster's versions of Ray and Python here, or give --dashboard URL"
    if "uthenticat" in type(error).__name__ + text:
        return f"the cluster at {address} requires a token, or refuses this one: set RAY_AUTH_TOKEN as for `ray status`"
    return f"{address}: {text}"


def collect(
    collection: Collection, places: list[str], *, follow: bool, stop: threading.Event
) -> Iterator[list[NodeProgress]]:
    """Collect from all nodes of the cluster that this process is connected to; yield, again and again, how far it is.

    Raises:
        CollectError: What was collected can't be written, or the cluster is gone.
    """
    nodes = _Nodes(collection, places, follow=follow)
    # What is collected from given places may be anything.
    states = None if places else task_states(collection)
    while not stop.is_set():
        nodes.look()
        yield nodes.progress
        if states is not None and not nodes.have_events and (follow or nodes.are_done):
            states.look()
        if not follow and nodes.are_done:
            return
        nodes.take(_ROUND_S)


class _Nodes:
    """The tasks of all nodes, and what is waited for of each."""

    def __init__(self, collection: Collection, places: list[str], *, follow: bool) -> None:
        # What Ray says of its own types doesn't know streaming tasks.
        self._ray: Any = import_module("ray")
        self._collection, self._places, self._follow = collection, places, follow
        self._known: dict[str, NodeProgress] = {}
        self._awaited: dict[Any, NodeProgress] = {}
        """A node's task, or the message of it that is on the way."""
        self._tasks: dict[str, Any] = {}
        self._next_look_s = 0.0
        self.have_events = False
        """Whether Ray's processes write down themselves what tasks become."""
        self._head: str = self._ray.get_runtime_context().gcs_address
        self._reached_s = time.monotonic()
        for module in (node_files, stretch):
            self._ray.cloudpickle.register_pickle_by_value(module)
        self._task = self._ray.remote(node_files.new_bytes)

    @property
    def progress(self) -> list[NodeProgress]:
        """The nodes in the order in which they came."""
        return [*self._known.values()]

    @property
    def are_done(self) -> bool:
        """Whether nothing is left to be read, but of nodes that are lost for good."""
        return not self._awaited and not any(map(self._is_to_be_tried, self._known.values()))

    def look(self) -> None:
        """Give each node a task that has none and needs one."""
        now = time.monotonic()
        if now < self._next_look_s:
            return
        self._next_look_s = now + _NODES_S
        if not self._has_head(now):
            return
        alive = {entry["NodeID"]: entry for entry in self._ray.nodes() if entry["Alive"]}
        for node_id, entry in alive.items():
            node = self._known.get(node_id)
            if node is None:
                node = self._known[node_id] = NodeProgress(ClusterNode(node_id, entry["NodeManagerHostname"]))
                self._submit(node)
            elif self._is_to_be_tried(node) and now > node.since_s + _RETRY_S * node.attempts:
                self._submit(node)
        for node_id, node in self._known.items():
            if node.state is NodeState.WAITING and now > node.since_s + _ANSWER_S and not self._follow:
                self._lose(node, f"no answer within {_ANSWER_S:.0f} seconds: the node may be about to leave")
            elif node.state is NodeState.LOST and node_id not in alive:
                node.attempts = _ATTEMPTS

    def _has_head(self, now: float) -> bool:
        """Tell whether the head can be reached; it may be started anew."""
        try:
            _reached(self._head).close()
        except OSError:
            if now > self._reached_s + _GONE_S:
                raise _HeadGoneError from None
            return False
        self._reached_s = now
        return True

    def _is_to_be_tried(self, node: NodeProgress) -> bool:
        return node.state is NodeState.LOST and (self._follow or node.attempts < _ATTEMPTS)

    def _submit(self, node: NodeProgress) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node.attempts += 1
        node.turn(NodeState.WAITING)
        known = self._collection.known(node.node)
        self._note_events(path for path, *_ in known)
        task = self._task.options(
            name="spanview collect",
            num_returns="streaming",
            num_cpus=0,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.node.id, soft=False),
            _generator_backpressure_num_objects=_MESSAGES_AHEAD,
        ).remote(self._places, known, follow=self._follow)
        self._tasks[node.node.id] = task
        self._awaited[task] = node

    def take(self, timeout_s: float) -> None:
        """Take what has come, or comes soon."""
        if not self._awaited:
            time.sleep(timeout_s)
            return
        ready, _ = self._ray.wait([*self._awaited], num_returns=len(self._awaited), timeout=timeout_s)
        for awaited in ready:
            node = self._awaited.pop(awaited)
            task = self._tasks[node.node.id]
            try:
                if awaited is task:
                    self._awaited[next(task)] = node
                else:
                    self._add(node, self._ray.get(awaited))
                    self._awaited[task] = node
            except StopIteration:
                self._end(node)
            except self._ray.exceptions.RayError as error:
                self._lose(node, _why_lost(error))

    def _add(self, node: NodeProgress, news: node_files.News) -> None:
        pieces, compressed, node.left, problems = news
        content = zlib.decompress(compressed)
        self._collection.add(node.node, pieces, content)
        self._note_events(path for path, *_ in pieces)
        node.bytes += len(content)
        node.sent += len(compressed)
        node.problems += problems
        node.turn(NodeState.READING if node.left or not self._follow else NodeState.CURRENT)

    def _note_events(self, paths: Iterable[str]) -> None:
        self.have_events = self.have_events or any(_EVENTS in path for path in paths)

    def _end(self, node: NodeProgress) -> None:
        if self._follow:
            self._lose(node, "its task has ended")
        else:
            node.turn(NodeState.DONE)

    def _lose(self, node: NodeProgress, reason: str) -> None:
        del self._tasks[node.node.id]
        self._awaited = {awaited: other for awaited, other in self._awaited.items() if other is not node}
        node.problems.append(reason)
        node.turn(NodeState.LOST)


def _why_lost(error: Exception) -> str:
    cause = getattr(error, "cause", None)
    if cause is not None:
        return f"reading failed: {type(cause).__name__}: {cause}"
    # The first sentence; advice follows.
    return " ".join(str(error).split()).partition(". ")[0] or type(error).__name__
