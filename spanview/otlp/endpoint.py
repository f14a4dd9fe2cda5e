"""Where spans are sent and how, from options and from OpenTelemetry's variables of the environment.

--endpoint http://host:4318              http://host:4318/v1/traces
--endpoint https://host/otlp             https://host/otlp/v1/traces
--endpoint https://host/v1/traces        as it is, because it ends in /traces
OTEL_EXPORTER_OTLP_ENDPOINT              with /v1/traces behind it
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT       as it is
--protocol grpc                          host and port only; without a scheme, encrypted unless _INSECURE is true

Source: "OpenTelemetry Protocol Exporter" of the OpenTelemetry specification.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from spanview.model.problems import PushError
from spanview.otlp.body import Signal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PREFIX: Final = "OTEL_EXPORTER_OTLP_"
_TRACES_PATH: Final = f"/v1/{Signal.TRACES}"
_DEFAULT_TIMEOUT_S: Final = 10.0
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS: Final = frozenset(("content-type", "content-length", "content-encoding", "transfer-encoding", "connection"))
"""Headers that belong to the request."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class OtlpProtocol(StrEnum):
    """How spans travel."""

    HTTP_JSON = "http/json"
    HTTP_PROTOBUF = "http/protobuf"
    GRPC = "grpc"


COMPRESSIONS: Final = ("none", "gzip")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where spans are sent, and how."""

    url: str
    """Whole, without user and password; of gRPC, scheme, host and port."""
    protocol: OtlpProtocol = OtlpProtocol.HTTP_JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in lower case."""
    timeout_s: float = _DEFAULT_TIMEOUT_S
    """How long an answer may take."""
    is_compressed: bool = False
    """Whether requests are compressed with gzip."""
    certificate: str | None = None
    """The file with the certificates that the endpoint's is checked with; None for those of the system."""
    client_certificate: str | None = None
    client_key: str | None = None

    @property
    def shown(self) -> str:
        """The URL without its query, in which there may be a key."""
        return self.url.partition("?")[0]

    @property
    def is_secure(self) -> bool:
        """Whether it is asked over TLS."""
        return self.url.startswith("https:")

    @property
    def host(self) -> str:
        """The host's name or address, without brackets."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port."""
        parts = urlsplit(self.url)
        return parts.port or _DEFAULT_PORTS[parts.scheme]

    @property
    def path(self) -> str:
        """Path and query."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """What the command line says of an endpoint; None for what it doesn't say."""

    endpoint: str | None = None
    protocol: str | None = None
    headers: Sequence[str] = ()
    """Each as `NAME=VALUE`."""
    timeout_s: float | None = None
    compression: str | None = None


def endpoint_of(options: EndpointOptions, environment: Mapping[str, str]) -> Endpoint:
    """Return where spans are sent.

    Raises:
        PushError: It isn't said where, or what is said can't be used; the text says how to fix it.
    """
    protocol = OtlpProtocol(
        _choice(options.protocol, "PROTOCOL", [*OtlpProtocol], environment) or OtlpProtocol.HTTP_JSON
    )
    return Endpoint(
        url=_url(options.endpoint, protocol, environment),
        protocol=protocol,
        headers=_headers(options.headers, environment),
        timeout_s=options.timeout_s or _timeout(environment),
        is_compressed=_choice(options.compression, "COMPRESSION", COMPRESSIONS, environment) == "gzip",
        certificate=_file("CERTIFICATE", environment),
        client_certificate=_file("CLIENT_CERTIFICATE", environment),
        client_key=_file("CLIENT_KEY", environment),
    )


def _set(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the variable that counts, and its value: the one of traces before the one of all signals."""
    for variable in (f"{PREFIX}TRACES_{name}", f"{PREFIX}{name}"):
        if value := environment.get(variable, "").strip():
            return variable, value
    return "", ""


def _choice(given: str | None, name: str, choices: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return one of some words, as the option or the variable has it; empty where neither is set."""
    variable, value = _set(name, environment) if given is None else ("", given)
    if value and value not in choices:
        raise PushError(f"{variable}={value}: expected one of {', '.join(choices)}")
    return value


def _timeout(environment: Mapping[str, str]) -> float:
    variable, value = _set("TIMEOUT", environment)
    if not value:
        return _DEFAULT_TIMEOUT_S
    if not (value.isascii() and value.isdigit() and int(value[:12])):
        raise PushError(f"{variable}={value}: expected milliseconds, as in {variable}=10000")
    return int(value[:12]) / 1000


def _file(name: str, environment: Mapping[str, str]) -> str | None:
    variable, path = _set(name, environment)
    if not path:
        return None
    if not os.path.isfile(path):
        raise PushError(f"{variable}={path}: no such file")
    return path


def _url(given: str | None, protocol: OtlpProtocol, environment: Mapping[str, str]) -> str:
    variable, url = ("--endpoint", given.strip()) if given is not None else _set("ENDPOINT", environment)
    if not url:
        raise PushError(
            "no endpoint: give --endpoint URL, such as http://localhost:4318, or set OTEL_EXPORTER_OTLP_ENDPOINT"
        )
    if protocol is OtlpProtocol.GRPC and "://" not in url:
        is_insecure = _set("INSECURE", environment)[1].lower() == "true"
        url = f"{'http' if is_insecure else 'https'}://{url}"
    port = ""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        is_usable, port = False, ", its port up to 65535" if "Port" in str(error) else ""
    if not is_usable or not url.isascii() or not url.isprintable() or " " in url:
        raise PushError(f"{variable} {url}: expected a URL such as http://localhost:4318{port}")
    if "@" in parts.netloc:
        raise PushError(f"{variable}: a URL can't have a user and password; give --header 'Authorization=Basic …'")
    if protocol is OtlpProtocol.GRPC:
        return f"{parts.scheme}://{parts.netloc}"
    path = parts.path
    if variable == f"{PREFIX}ENDPOINT" or (variable == "--endpoint" and not path.rstrip("/").endswith("/traces")):
        path = path.rstrip("/") + _TRACES_PATH
    return f"{parts.scheme}://{parts.netloc}{path or '/'}" + (f"?{parts.query}" if parts.query else "")


def _headers(given: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return headers: those of the variables, `a=1,b=2` with escapes as in URLs, and over these those given."""
    headers = {}
    variable, pairs = _set("HEADERS", environment)
    for pair in filter(None, map(str.strip, pairs.split(","))):
        name, value = _header(pair, variable)
        headers[name] = unquote(value, "latin-1")
        _check_header(name, headers[name], variable)
    for pair in given:
        name, value = _header(pair, "--header")
        headers[name] = value
        _check_header(name, value, "--header")
    return headers


def _header(pair: str, where: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals:
        # The pair may be a secret that was given without its name.
        raise PushError(
            f"{where}: expected NAME=VALUE, as in {where}{'=' if where.startswith(PREFIX) else ' '}x-api-key=KEY"
        )
    return name.strip().lower(), value.strip()


def _check_header(name: str, value: str, where: str) -> None:
    if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
        raise PushError(f"{where}: the header {name} has characters that aren't allowed in a header")
    if name in _OURS:
        raise PushError(f"{where}: the header {name} is set by spanview; leave it out")
