"""The proxy settings of the environment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridge.proxies import proxy_for, unusable_proxy_settings
from support.tables import each

PROXY, OTHER = "http://proxy:8080", "http://other:3128"
SLACK = "https://slack.com/api/"


@contextmanager
def only(variables: dict[str, str]) -> Iterator[None]:
    """An environment with these proxy settings only."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@each(
    ("environment", "url", "proxy"),
    [
        ({}, SLACK, None),
        ({"https_proxy": PROXY}, SLACK, PROXY),
        ({"HTTPS_PROXY": PROXY}, SLACK, PROXY),
        ({"HTTPS_PROXY": OTHER, "https_proxy": PROXY}, SLACK, PROXY),
        ({"HTTPS_PROXY": PROXY, "https_proxy": ""}, SLACK, None),
        ({"http_proxy": PROXY}, SLACK, None),
        ({"http_proxy": PROXY}, "http://project.test", PROXY),
        ({"https_proxy": PROXY}, "wss://wss-primary.slack.com/link", PROXY),
        ({"http_proxy": PROXY}, "ws://127.0.0.1/link", PROXY),
        ({"ALL_PROXY": PROXY}, SLACK, PROXY),
        ({"all_proxy": OTHER, "https_proxy": PROXY}, SLACK, PROXY),
        ({"https_proxy": "socks5://proxy:1080", "all_proxy": PROXY}, SLACK, PROXY),
        ({"https_proxy": "proxy:8080"}, SLACK, PROXY),
        ({"https_proxy": "https://proxy:8443"}, SLACK, "https://proxy:8443"),
        ({"https_proxy": "http://user:p%40ss@proxy:8080"}, SLACK, "http://user:p%40ss@proxy:8080"),
        ({"all_proxy": "socks5h://proxy:1080"}, SLACK, None),
        ({"all_proxy": "http://[::1"}, SLACK, None),
        ({"https_proxy": "http://proxy:port"}, SLACK, None),
        ({"https_proxy": PROXY}, "not a url", None),
    ],
)
def test_the_environment_names_a_proxy(environment: dict[str, str], url: str, proxy: str | None) -> None:
    with only(environment):
        assert proxy_for(url) == proxy


@each(
    ("no_proxy", "url", "is_direct"),
    [
        ("*", SLACK, True),
        ("slack.com", SLACK, True),
        ("SLACK.com.", SLACK, True),
        ("slack.com", "https://files.slack.com/a", True),
        (".slack.com", "https://files.slack.com/a", True),
        ("*.slack.com", "https://files.slack.com/a", True),
        ("slack.com", "https://notslack.com/a", False),
        ("example.com , localhost,slack.com", SLACK, True),
        ("example.com slack.com", SLACK, True),
        ("slack.com:443", SLACK, True),
        ("slack.com:8443", SLACK, False),
        ("10.0.0.0/8", "https://10.1.2.3/", True),
        ("10.0.0.0/8", "https://11.1.2.3/", False),
        ("10.0.0.0/8", SLACK, False),
        ("10.1.2.3", "https://10.1.2.3:8443/", True),
        ("10.1.2.3:443", "https://10.1.2.3:8443/", False),
        ("fd00::/8", "https://[fd12::1]/", True),
        ("[fd00::/8]", "https://[fd12::1]/", True),
        ("[fd00::]/8", "https://[fd12::1]:8443/", True),
        ("fe80::/10,::1", "https://[::1]/", True),
        ("[::1]", "https://[::1]/", True),
        ("[::1]:443", "https://[::1]/", True),
        ("[::1]:443", "https://[::1]:8443/", False),
        ("0:0:0:0:0:0:0:1", "https://[::1]/", True),
        ("fe80::/10", "https://[fe80::1%25eth0]/", True),
        ("10.0.0.0/8", "https://[::ffff:10.0.0.1]/", True),
        ("fd00::/8", "https://10.1.2.3/", False),
        ("http://slack.com, 10.0.0.0/99, [", SLACK, False),
        ("", SLACK, False),
    ],
)
def test_no_proxy_lists_hosts_and_ranges(no_proxy: str, url: str, *, is_direct: bool) -> None:
    with only({"https_proxy": PROXY, "NO_PROXY": no_proxy}):
        assert (proxy_for(url) is None) == is_direct


@each(
    ("environment", "problems"),
    [
        ({"https_proxy": PROXY, "HTTP_PROXY": "proxy:80", "NO_PROXY": "*, .a.b:80 fd00::/8 [::1]:80,10.0.0.0/8"}, []),
        ({"ALL_PROXY": "socks5://user:hunter2@proxy"}, ["ALL_PROXY names a SOCKS proxy, which isn't supported"]),
        ({"https_proxy": "ftp://user:hunter2@proxy"}, ["https_proxy isn't a proxy's address"]),
        ({"HTTP_PROXY": "http://user:hunter2#@proxy"}, ["HTTP_PROXY isn't a proxy's address"]),
        ({"HTTP_PROXY": "not an address"}, ["HTTP_PROXY isn't a proxy's address"]),
        ({"no_proxy": "a.b,http://hunter2@c"}, ["no_proxy has an entry that can't be used (number 2)"]),
        ({"all_proxy": "", "ALL_PROXY": "socks5://proxy"}, []),
        ({"https_proxy": "hunter2://", "no_proxy": "10.*"}, ["https_proxy isn't", "no_proxy has an entry"]),
    ],
)
def test_unusable_settings_are_named_without_their_values(environment: dict[str, str], problems: list[str]) -> None:
    with only(environment):
        found = unusable_proxy_settings()

    assert len(found) == len(problems)
    assert all(line.startswith(problem) for line, problem in zip(found, problems, strict=True))
    assert "hunter2" not in "".join(found)
