"""What exceptions from below mean, and which configuration is usable."""

from __future__ import annotations

import ssl
from datetime import timedelta
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

from bridge.errors import CannotConnect, ConfigurationError, ConnectionLost, NotUnderstood, ProjectError, TimedOut
from bridge.project import ProjectClient
from bridge.project.wire import Call, translate

CALL = Call("send_message", "POST", "agents/3/chat", timedelta(seconds=7))
PLACE = ConnectionKey("h", 1, is_ssl=True, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)
INFO: Any = aiohttp.RequestInfo(URL("http://h"), "POST", headers={}, real_url=URL("http://h"))


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (aiohttp.ClientConnectorError(PLACE, OSError(111, "refused")), CannotConnect),
        (aiohttp.ClientConnectorDNSError(PLACE, OSError(-2, "unknown")), CannotConnect),
        (aiohttp.ClientConnectorSSLError(PLACE, ssl.SSLError(1, "wrong version")), CannotConnect),
        (aiohttp.ClientConnectorCertificateError(PLACE, ssl.CertificateError("self-signed")), CannotConnect),
        (aiohttp.ClientProxyConnectionError(PLACE, OSError(111, "refused")), CannotConnect),
        (aiohttp.ClientHttpProxyError(INFO, (), status=407), CannotConnect),
        (aiohttp.ConnectionTimeoutError(), CannotConnect),
        (aiohttp.InvalidUrlClientError("x"), CannotConnect),
        (aiohttp.NonHttpUrlClientError("x"), CannotConnect),
        (aiohttp.SocketTimeoutError(), TimedOut),
        (aiohttp.ServerTimeoutError(), TimedOut),
        (aiohttp.ServerDisconnectedError(), ConnectionLost),
        (aiohttp.ClientOSError(104, "reset"), ConnectionLost),
        (aiohttp.ClientConnectionResetError(), ConnectionLost),
        (aiohttp.ClientConnectionError(), ConnectionLost),
        (aiohttp.ClientPayloadError(), ConnectionLost),
        (aiohttp.ClientResponseError(INFO, ()), NotUnderstood),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_cause_tells_what_happened_whatever_httpx_calls_it(
    cause: aiohttp.ClientError, kind: type[ProjectError]
) -> None:
    for told in (httpx.ConnectTimeout(""), httpx.ConnectError(""), httpx.ReadError("")):
        told.__cause__ = cause
        assert type(translate(told, CALL)) is kind
    assert type(translate(cause, CALL)) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError(""), CannotConnect),
        (httpx.ConnectTimeout(""), CannotConnect),
        (httpx.PoolTimeout(""), CannotConnect),
        (httpx.UnsupportedProtocol(""), CannotConnect),
        (httpx.InvalidURL(""), CannotConnect),
        (httpx.ReadTimeout(""), TimedOut),
        (httpx.WriteTimeout(""), TimedOut),
        (TimeoutError(), TimedOut),
        (httpx.ReadError(""), ConnectionLost),
        (httpx.WriteError(""), ConnectionLost),
        (httpx.RemoteProtocolError(""), ConnectionLost),
        (OSError(), ConnectionLost),
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_transport_means_what_httpx_documents(error: Exception, kind: type[ProjectError]) -> None:
    assert type(translate(error, CALL)) is kind


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "host",
        "host:8080",
        "ftp://host",
        "http://",
        "http:///path",
        "http://user:secret@host",
        "http://host?x=secret",
        "http://host/#secret",
        "http://host:99999999",
        "http://host:0",
        "http://host:port",
        "http://a..b",
        "http://" + "a" * 64 + ".example",
        " http://host",
        "http://ho st",
    ],
)
def test_an_unusable_address_is_refused_without_showing_it(base_url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ProjectClient(base_url, "key")
    assert caught.value.problems[0].startswith("base_url: ")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("api_key", ["", "two words", "line\n", "ключ", "\x00"])
def test_an_unusable_key_is_refused_without_showing_it(api_key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ProjectClient("http://host", api_key)
    assert caught.value.problems == ("api_key: visible ASCII characters without spaces are needed",)


@pytest.mark.parametrize(
    "base_url", ["http://host", "https://host:8443/prefix/", "http://[::1]:8080", "http://ä.example"]
)
def test_usable_addresses_are_taken(base_url: str) -> None:
    assert repr(ProjectClient(base_url, "key")) == f"ProjectClient({base_url.rstrip('/')!r})"
