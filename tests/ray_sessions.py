"""Real Ray programs for tests: each in a session of its own, which ends with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import psutil
import pytest

from pages import TEXTS
from programs import environment_with

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

BUNDLED_FOLDER: Final = Path("/tmp/spans")  # noqa: S108 - Ray's two hooks write nowhere else
SMALL: Final = {
    "num_cpus": 2,
    "object_store_memory": 200_000_000,
    "include_dashboard": False,
}
"""What keeps a session small."""

CALLS: Final = """
@ray.remote
def double(number):
    return 2 * number


assert ray.get([double.remote(number) for number in range(3)]) == [0, 2, 4]
"""
"""A program that calls a function three times, once Ray is there."""

# Runs a program as `python FILE` does, with some options added to its `ray.init`, and without three processes that
# trace nothing, near half of what it costs to start a Ray: the dashboard's, that which asks for more machines, and that
# which prints in the driver what workers print, unless an option asks for it. In the place of the dashboard's agent
# stands one that only says that it listens nowhere, without which a node ends: to start it costs more than a worker.
_PYTHON: Final = """
import functools
import json
import os
import runpy
import sys

import ray
import ray._private.node
import ray._private.services


def start_process(command, *rest, start=ray._private.services.start_ray_process, **named):
    folder = "".join(word for word in command if word.startswith("--session_dir="))
    agent = f"{os.path.dirname(__file__)}/agent {folder}"
    place = "--dashboard_agent_command="
    return start([place + agent if word.startswith(place) else word for word in command], *rest, **named)


ray._private.services.start_ray_process = start_process
ray._private.node.Node.start_api_server = lambda self, **named: None
ray._private.node.Node.start_monitor = lambda self: None
options = json.loads(os.environ["INIT_OPTIONS"])
if not options.get("log_to_driver"):
    ray._private.node.Node.start_log_monitor = lambda self: None
ray.init = functools.partial(ray.init, **options)
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
_AGENT: Final = """#!/bin/sh
cd "${1#*=}"
for port in metrics_agent_port metrics_export_port dashboard_agent_listen_port; do
    printf -- -1 > "$port" && mv "$port" "${port}_$RAY_NODE_ID"
done
exec sleep 1000
"""
_FILE: Final = re.compile(r"(?:.*-)?([0-9]+)(?:-[0-9]{13})?(?:\.started)?\.(?:txt|json|jsonl)")
"""`4242.txt`, and `node7-4242-1717000000000.jsonl`."""
_PROCESS: Final = re.compile(r"python-core-(?:driver|worker)-.*_(\d+)\.log")


def with_hook(name: str) -> str:
    """Return the start of a program, which names a hook as the page does."""
    line = f'ray.init(_tracing_startup_hook="{name}")'
    assert f"`{line}`" in TEXTS["spanview/docs/tracing.md"]
    return f"import ray\n\n{line}\n"


def need(*modules: str) -> None:
    """Skip where Ray can't be had, but not where it has to be.

    Args:
        modules: What has to be there.
    """
    if not (lacking := [module for module in modules if not _is_there(module)]):
        return
    reason = f"What this needs of Ray isn't here, so no real Ray program was run: {', '.join(lacking)}"
    must_be_there = sys.platform == "linux" and platform.machine() == "x86_64" and os.environ.get("CI") == "true"
    if must_be_there:
        pytest.fail(reason)
    pytest.skip(reason)


def _is_there(module: str) -> bool:
    """Return whether a module can be found; to import Ray's takes long."""
    place = module.replace(".", "/")
    return any(Path(folder, place + ending).exists() for folder in sys.path for ending in ("", ".py"))


class RaySession:
    """A folder of programs, and the Ray that they start; a context that ends it.

    In the shell `python` and `ray start` are those of this interpreter, with options that keep Ray small.

    Args:
        folder: Where the programs stand and run.
        python: What runs them, in the shell.
    """

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self._began = time.time()
        self._was_there = BUNDLED_FOLDER.exists()
        # Ray's sockets stand in its session's folder, and the path of a socket has to be short.
        self._session = tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True)
        self._tools = folder / "tools"
        self._tools.mkdir()
        (self._tools / "as_python.py").write_text(_PYTHON)
        ray = Path(python).with_name("ray")
        flags = " ".join(f"--{name.replace('_', '-')}={str(value).lower()}" for name, value in SMALL.items())
        start = f'"{python}" "{self._tools / "as_python.py"}"'
        for name, command in (("python", f'{start} "$@"'), ("ray", f'{start} "{ray}" "$@" --port=0 {flags}')):
            self._write_tool(name, f"#!/bin/sh\nexec {command}\n")
        self._write_tool("agent", _AGENT)

    @property
    def tmpdir(self) -> str:
        """What `RAY_TMPDIR` is."""
        return self._session.name

    def folder_of(self, name: str) -> Path:
        """Return a folder among the logs of the only session."""
        (folder,) = Path(self.tmpdir).glob(f"ray/session_2*/logs/{name}")
        return folder

    def write(self, name: str, text: str) -> None:
        """Put a program, or a module, into the folder."""
        (self.folder / name).write_text(text)

    def run(
        self, commands: str, environment: Mapping[str, str] | None = None, options: Mapping[str, Any] = SMALL
    ) -> subprocess.CompletedProcess[str]:
        """Run commands in a shell, in the folder, to their end.

        Args:
            commands: Lines of bash; the first one that fails ends it.
            environment: Variables to change.
            options: Of each program's `ray.init`; a program that joins a Ray can have none of `SMALL`.
        """
        return subprocess.run(
            ["bash", "-ec", commands],
            cwd=self.folder,
            env=self.environment(environment, options),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def start(self, name: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a program that is told what to do on its standard input, and answers on its standard output."""
        return subprocess.Popen(
            [sys.executable, str(self._tools / "as_python.py"), name],
            cwd=self.folder,
            env=self.environment(environment, {**SMALL, "log_to_driver": False}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def environment(
        self, changes: Mapping[str, str] | None = None, options: Mapping[str, Any] = SMALL
    ) -> dict[str, str]:
        """Return the environment of this session's programs, with some variables changed."""
        own = {
            "PATH": f"{self._tools}{os.pathsep}{os.environ['PATH']}",
            "INIT_OPTIONS": json.dumps(dict(options)),
            "RAY_ADDRESS": "",
            "RAY_TMPDIR": self.tmpdir,
            "RAY_AUTH_MODE": "disabled",
            "RAY_USAGE_STATS_ENABLED": "0",
            # A proxy that isn't ready within five seconds is killed three times over, which a busy machine comes to.
            "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
            "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "60",
        }
        return environment_with({**own, **(changes or {})})

    def own_files(self) -> list[str]:
        """Return what this session's processes wrote into `BUNDLED_FOLDER`; files of others may lie beside it."""
        logs = Path(self.tmpdir).glob("**/session_2*/logs/python-core-*.log")
        own = {match[1] for path in logs if (match := _PROCESS.fullmatch(path.name))}
        found = BUNDLED_FOLDER.iterdir() if BUNDLED_FOLDER.exists() else []
        return sorted(
            str(path)
            for path in found
            if (match := _FILE.fullmatch(path.name)) and match[1] in own and path.stat().st_mtime >= self._began - 1
        )

    def _write_tool(self, name: str, text: str) -> None:
        tool = self._tools / name
        tool.write_text(text)
        tool.chmod(0o755)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        own = [process for process in psutil.process_iter() if self._started(process)]
        for process in own:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(own, timeout=10)
        for path in self.own_files():
            os.unlink(path)
        if not self._was_there:
            with contextlib.suppress(OSError):
                BUNDLED_FOLDER.rmdir()
        self._session.cleanup()

    def _started(self, process: psutil.Process) -> bool:
        try:
            if process.environ().get("RAY_TMPDIR") == self.tmpdir:
                return True
            # Agents write a title over their environment; for a minute without a head they use a processor.
            logs = os.path.join(self.tmpdir, "")
            title = "".join(process.cmdline()[:1])
            return title.startswith("ray::") and any(file.path.startswith(logs) for file in process.open_files())
        except (psutil.Error, OSError):
            return False
