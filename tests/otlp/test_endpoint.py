"""Where spans are sent, from options and variables; every mistake is answered in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from spanview.model.problems import PushError
from spanview.otlp.endpoint import EndpointOptions, OtlpProtocol, endpoint_of

if TYPE_CHECKING:
    from pathlib import Path

PREFIX: Final = "OTEL_EXPORTER_OTLP_"
BASE, TRACES = f"{PREFIX}ENDPOINT", f"{PREFIX}TRACES_ENDPOINT"


@pytest.mark.parametrize(
    ("given", "environment", "url"),
    [
        ("http://localhost:4318", {}, "http://localhost:4318/v1/traces"),
        ("http://localhost:4318/", {}, "http://localhost:4318/v1/traces"),
        ("https://host/otlp", {}, "https://host/otlp/v1/traces"),
        ("https://host/v1/traces", {}, "https://host/v1/traces"),
        ("https://host/api/v0.2/traces/", {}, "https://host/api/v0.2/traces/"),
        ("https://host/otlp?key=1", {}, "https://host/otlp/v1/traces?key=1"),
        ("http://[::1]:4318", {}, "http://[::1]:4318/v1/traces"),
        (None, {BASE: "http://a:1"}, "http://a:1/v1/traces"),
        (None, {BASE: "http://a:1/b/"}, "http://a:1/b/v1/traces"),
        (None, {TRACES: "http://a:1"}, "http://a:1/"),
        (None, {TRACES: "http://a:1/x"}, "http://a:1/x"),
        (None, {BASE: "http://a:1", TRACES: "http://b:2/x"}, "http://b:2/x"),
        ("http://c:3", {BASE: "http://a:1", TRACES: "http://b:2/x"}, "http://c:3/v1/traces"),
        (" http://c:3 ", {}, "http://c:3/v1/traces"),
    ],
)
def test_urls(given: str | None, environment: dict[str, str], url: str) -> None:
    """The variable of all signals is a base, that of traces is taken as it is."""
    assert endpoint_of(EndpointOptions(given), environment).url == url


@pytest.mark.parametrize(
    ("given", "environment", "url"),
    [
        ("http://host:4317", {}, "http://host:4317"),
        ("https://host/ignored", {}, "https://host"),
        ("host:4317", {}, "https://host:4317"),
        ("host:4317", {f"{PREFIX}INSECURE": "true"}, "http://host:4317"),
        ("host:4317", {f"{PREFIX}INSECURE": "true", f"{PREFIX}TRACES_INSECURE": "false"}, "https://host:4317"),
    ],
)
def test_urls_of_grpc(given: str, environment: dict[str, str], url: str) -> None:
    """It has no path, and may have no scheme."""
    assert endpoint_of(EndpointOptions(given, "grpc"), environment).url == url


def test_parts() -> None:
    """Host, port and path are those of the URL; what is shown has no query, in which there may be a key."""
    endpoint = endpoint_of(EndpointOptions("https://[::1]/v1/traces?key=secret"), {})
    assert (endpoint.host, endpoint.port, endpoint.path) == ("::1", 443, "/v1/traces?key=secret")
    assert endpoint.shown == "https://[::1]/v1/traces"


def test_variables() -> None:
    """Each variable counts where no option says otherwise, those of traces before those of all signals."""
    environment = {
        BASE: "http://a:1",
        f"{PREFIX}PROTOCOL": "http/json",
        f"{PREFIX}TRACES_PROTOCOL": "http/protobuf",
        f"{PREFIX}HEADERS": "api-key=general",
        f"{PREFIX}TRACES_HEADERS": "api-key=a%20b, Other=2",
        f"{PREFIX}TIMEOUT": "2500",
        f"{PREFIX}COMPRESSION": "gzip",
    }
    endpoint = endpoint_of(EndpointOptions(), environment)
    assert endpoint.protocol is OtlpProtocol.HTTP_PROTOBUF
    assert endpoint.headers == {"api-key": "a b", "other": "2"}
    assert (endpoint.timeout_s, endpoint.is_compressed) == (2.5, True)
    over = endpoint_of(
        EndpointOptions(None, "http/json", ("Other=a=b",), timeout_s=1.0, compression="none"), environment
    )
    assert over.protocol is OtlpProtocol.HTTP_JSON
    assert over.headers == {"api-key": "a b", "other": "a=b"}
    assert (over.timeout_s, over.is_compressed) == (1.0, False)


@pytest.mark.parametrize(
    ("of_traces", "headers"), [(None, {"a": "1"}), ("", {"a": "1"}), (" ", {"a": "1"}), ("b=2", {"b": "2"})]
)
def test_headers_of_traces_replace_all_others(of_traces: str | None, headers: dict[str, str]) -> None:
    """As the specification has it, the variable of traces stands in for the general one, unless it is empty."""
    environment = {BASE: "http://a:1", f"{PREFIX}HEADERS": "a=1"}
    environment |= {} if of_traces is None else {f"{PREFIX}TRACES_HEADERS": of_traces}
    assert endpoint_of(EndpointOptions(), environment).headers == headers


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        ({}, {}, "no endpoint: give --endpoint URL"),
        ({"endpoint": "localhost:4318"}, {}, "--endpoint localhost:4318: expected a URL such as http://localhost:4318"),
        ({"endpoint": "http://a:99999"}, {}, "expected a URL such as http://localhost:4318, its port up to 65535"),
        ({"endpoint": "http://[a"}, {}, "--endpoint http://[a: expected a URL"),
        ({"endpoint": "http://a b"}, {}, "expected a URL"),
        ({"endpoint": "http://a/\x1b[31m"}, {}, "expected a URL"),
        ({"endpoint": "ftp://a"}, {}, "expected a URL"),
        ({"endpoint": "http://user:secret@a"}, {}, "--endpoint: a URL can't have a user and password"),
        ({}, {BASE: "a"}, f"{BASE} a: expected a URL"),
        ({}, {BASE: "http://a", f"{PREFIX}PROTOCOL": "http"}, "PROTOCOL=http: expected one of http/json"),
        ({}, {BASE: "http://a", f"{PREFIX}TIMEOUT": "10s"}, "TIMEOUT=10s: expected milliseconds"),
        ({}, {BASE: "http://a", f"{PREFIX}TIMEOUT": "0"}, "TIMEOUT=0: expected milliseconds"),
        ({}, {BASE: "http://a", f"{PREFIX}COMPRESSION": "zstd"}, "COMPRESSION=zstd: expected one of none, gzip"),
        ({}, {BASE: "http://a", f"{PREFIX}CERTIFICATE": "/no/such"}, "CERTIFICATE=/no/such: no such file"),
        ({"endpoint": "http://a", "headers": ("secret",)}, {}, "--header: expected NAME=VALUE"),
        ({"endpoint": "http://a", "headers": ("a=b\nc: d",)}, {}, "--header: the header a has characters"),
        ({"endpoint": "http://a", "headers": ("a b=c",)}, {}, "--header: the header a b has characters"),
        ({"endpoint": "http://a", "headers": ("Content-Type=x",)}, {}, "the header content-type is set by spanview"),
        ({}, {BASE: "http://a", f"{PREFIX}HEADERS": "a=b%0d%0ac"}, "HEADERS: the header a has characters"),
    ],
)
def test_mistakes(options: dict[str, Any], environment: dict[str, str], said: str) -> None:
    """What can't be used is said, with what is expected, and no header's value."""
    with pytest.raises(PushError) as raised:
        endpoint_of(EndpointOptions(**options), environment)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_certificate(tmp_path: Path) -> None:
    """The file of certificates is taken where it is there."""
    file = tmp_path / "ca.pem"
    file.touch()
    endpoint = endpoint_of(EndpointOptions("https://a"), {f"{PREFIX}CERTIFICATE": str(file)})
    assert endpoint.certificate == str(file)
