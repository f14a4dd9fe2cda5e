"""What OpenTelemetry's exporters for Node send arrives: HTTP with JSON, HTTP with protobuf, and gRPC.

npm installs them into a folder of the test; without npm, or a registry that it reaches, the test is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from receivers import Receiver

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES: Final = (
    "@opentelemetry/api",
    "@opentelemetry/sdk-trace-base",
    *(f"@opentelemetry/exporter-trace-otlp-{name}" for name in ("http", "proto", "grpc")),
)
PROGRAM: Final = """
const { BasicTracerProvider, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const { trace, context, SpanKind } = require("@opentelemetry/api");
const [, , http, grpc] = process.argv;

async function main() {
  for (const [name, url] of [["http", `${http}/v1/traces`], ["proto", `${http}/v1/traces`], ["grpc", grpc]]) {
    const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${name}`);
    for (const compression of ["none", "gzip"]) {
      const processor = new SimpleSpanProcessor(new OTLPTraceExporter({ url, compression }));
      const provider = new BasicTracerProvider({ spanProcessors: [processor] });
      const tracer = provider.getTracer("node");
      const root = tracer.startSpan(`${name} ${compression}`, { kind: SpanKind.SERVER, attributes: { n: 1, x: 1.5 } });
      const child = tracer.startSpan("child", {}, trace.setSpan(context.active(), root));
      child.recordException(new Error("it failed"));
      child.setStatus({ code: 2, message: "it failed" });
      child.end();
      root.end();
      await provider.forceFlush();
      await provider.shutdown();
    }
  }
}

main();
"""


@pytest.fixture(name="program", scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program, beside what it needs."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("there is no npm here, which installs the exporters")
    folder = tmp_path_factory.mktemp("node")
    words = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), *PACKAGES]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm reaches no registry here, so nothing can be installed")
    if done.returncode:
        pytest.skip(f"npm can't install the exporters here: {done.stderr.strip()[-200:]}")
    program = folder / "send.js"
    program.write_text(PROGRAM, encoding="utf-8")
    return program


def test_what_node_exports_arrives(program: Path, tmp_path: Path) -> None:
    """Both spans of each exporter, compressed or not, with their attributes, exception and status."""
    with Receiver(tmp_path) as receiver:
        places = [f"http://localhost:{receiver.port(protocol)}" for protocol in ("HTTP", "gRPC")]
        done = subprocess.run(
            ["node", str(program), *places], capture_output=True, text=True, timeout=60, check=False, cwd=program.parent
        )
        assert (done.returncode, done.stderr) == (0, "")
        written = receiver.written()
    roots = {found["spanId"]: found for found in written if found["name"] != "child"}
    expected = {f"{name} {compression}" for name in ("http", "proto", "grpc") for compression in ("none", "gzip")}
    assert {root["name"] for root in roots.values()} == expected
    assert len(written) == 2 * len(expected)
    for found in written:
        if found["name"] == "child":
            assert roots[found["parentSpanId"]]["traceId"] == found["traceId"]
            assert found["status"] == {"code": 2, "message": "it failed"}
            assert found["events"][0]["name"] == "exception"
        else:
            assert found["kind"] == 2
            assert found["attributes"] == [
                {"key": "n", "value": {"intValue": "1"}},
                {"key": "x", "value": {"doubleValue": 1.5}},
            ]
