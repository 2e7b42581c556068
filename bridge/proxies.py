"""The proxy for an address, as the environment names it: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

This is the only reader of these variables. Those of the libraries disagree: httpx raises errors for IPv6 ranges in
NO_PROXY and for proxies that it doesn't support, slack_sdk ignores NO_PROXY, and aiohttp reads ``.netrc`` for each
call. Lower-case names win, even if they're empty, as in curl.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_SCHEMES = {"ws": "http", "wss": "https"}
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?P<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?", re.ASCII)


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for *url*, or None; settings that can't be used are skipped."""
    try:
        target = urlsplit(url)
        scheme, host = _SCHEMES.get(target.scheme, target.scheme), target.hostname or ""
        port = target.port or _PORTS.get(scheme)
    except ValueError:  # the request will fail
        return None
    proxies = getproxies()
    if not host or any(_matches(entry, host, port) for entry in _entries(proxies.get("no", ""))):
        return None
    if sys.platform in {"darwin", "win32"} and proxy_bypass(host):  # the system's own settings
        return None
    for name in (scheme, "all"):
        with suppress(ValueError):
            if name in proxies:
                return _address(proxies[name])
    return None


def unusable_proxy_settings() -> list[str]:
    """Return a line for each setting that can't be used. No value is shown, as it may hold a password."""
    lines, proxies = [], getproxies()
    for name in ("http", "https", "all", "no"):
        spellings = (f"{name}_proxy", f"{name.upper()}_PROXY")
        variable = next((spelling for spelling in spellings if spelling in os.environ), "")
        value = proxies.get(name, "") if variable else ""
        try:
            if name == "no":
                _check_entries(value)
            elif value:
                _address(value)
        except ValueError as exc:
            lines.append(f"{variable} {exc}")
    return lines


def _address(value: str) -> str:
    """Return a proxy's address. Raises ValueError if it can't be used."""
    value = value.strip()
    address = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(address)
        is_valid = bool(parts.hostname) and parts.port != 0 and not re.search(r"\s", address)
    except ValueError:
        is_valid = False
    if re.match(r"socks\w*:", address, re.IGNORECASE):
        raise ValueError("names a SOCKS proxy, which isn't supported: use an http:// proxy")
    if not is_valid or parts.scheme not in _PORTS:
        raise ValueError("isn't a proxy's address: use one such as http://proxy.example.com:3128")
    return address


def _entries(no_proxy: str) -> list[str]:
    return [entry for entry in re.split(r"[\s,]+", no_proxy.lower()) if entry]


def _check_entries(no_proxy: str) -> None:
    for number, entry in enumerate(_entries(no_proxy), start=1):
        if not (entry == "*" or _network(entry) or _HOST.fullmatch(_suffix(entry))):
            raise ValueError(
                f"has an entry that can't be used (number {number}): "
                "use host names, IP addresses and ranges, such as .example.com,10.0.0.0/8"
            )


def _matches(entry: str, host: str, port: int | None) -> bool:
    """Whether *entry* covers a host: ``*``, a range, or a host with its subdomains, perhaps with a port."""
    if entry == "*":
        return True
    with suppress(ValueError):
        if network := _network(entry):
            address = ip_address(host.partition("%")[0])
            return (getattr(address, "ipv4_mapped", None) or address) in network
    match = _HOST.fullmatch(_suffix(entry))
    if match is None or (match["port"] and int(match["port"]) != port):
        return False
    name = match["host"].strip("[]").rstrip(".")
    return f".{host.rstrip('.')}".endswith(f".{name}")


def _suffix(entry: str) -> str:
    return entry.removeprefix("*").removeprefix(".")


def _network(entry: str) -> IPv4Network | IPv6Network | None:
    """Parse an address or a range, whose brackets may be around both parts or only the first."""
    address, _, length = entry.replace("[", "").partition("/")
    with suppress(ValueError):
        return ip_network(f"{address.strip(']')}/{length.strip(']')}".rstrip("/"), strict=False)
    return None
