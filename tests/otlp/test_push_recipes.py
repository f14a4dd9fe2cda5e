"""The recipes of the page about the network, taken from there as they are, with their hosts on this machine.

recipe            path                 headers, protocol
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from endpoints import EXPORT_METHOD, JSON, PROTOBUF, grpc_endpoint, http_endpoint
from programs import Following
from spanview.docs import text_of

PAGE: Final = text_of("network")
RECIPES: Final = dict(re.findall(r"<!-- push: ([a-z-]+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))
SPANS: Final = Path(__file__).parents[2] / "fixtures" / "ray-tasks-bundled-hook" / "spans"
SECRETS: Final = {"TOKEN": "aWQ6a2V5", "HONEYCOMB_API_KEY": "hcaik_1"}
EXPECTED: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "jaeger": ("/v1/traces", {"content-type": JSON}),
    "tempo": ("/v1/traces", {"content-type": JSON, "x-scope-orgid": "team-a"}),
    "grafana-cloud": ("/otlp/v1/traces", {"authorization": "Basic aWQ6a2V5", "content-encoding": "gzip"}),
    "honeycomb": ("/v1/traces", {"content-type": PROTOBUF, "x-honeycomb-team": "hcaik_1", "content-encoding": "gzip"}),
    "datadog": (EXPORT_METHOD, {}),
    "collector": ("/v1/traces", {"content-type": JSON}),
}


def test_every_recipe_is_run() -> None:
    """There is one for each backend that the page names."""
    assert RECIPES.keys() == EXPECTED.keys()
    assert PAGE.count("<!-- push:") == len(RECIPES)


@pytest.mark.parametrize("name", EXPECTED)
def test_recipe(name: str, tmp_path: Path) -> None:
    """All spans arrive at the path, and with the headers, that the backend asks for."""
    path, headers = EXPECTED[name]
    with ExitStack() as stack:
        served: Any = grpc_endpoint if path == EXPORT_METHOD else http_endpoint
        endpoint = stack.enter_context(served())
        # The host is another one; the path stays.
        script = re.sub(r"https?://[a-z0-9.:-]+", endpoint.url, RECIPES[name]).replace("/tmp/spans", str(SPANS))  # noqa: S108 - as the page has it
        program = tmp_path / "spanview"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m spanview "$@"\n')
        program.chmod(0o755)
        environment = {**os.environ, **SECRETS, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        if " -f" in script:
            words = script.split()[1:]
            with Following(*words, folder=tmp_path) as running:
                while not endpoint.accepted:
                    assert not running.is_soon(lambda: any("Error" in notice for notice in running.notices), 0.05)
                assert running.stop() == 0
        else:
            done = subprocess.run(
                ["sh", "-ec", script], env=environment, capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, done.stderr
            assert "later than in the files" in done.stderr
    (request,) = endpoint.received
    assert request.path == path
    assert request.headers.items() >= headers.items()
    assert len(endpoint.spans) == 104
