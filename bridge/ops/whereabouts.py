"""Where a command looks: which namespace of which Redis, and what is there. Never a password."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from bridge.ops.rows import printable
from bridge.queue.tenants import Tenant, tenants
from bridge.setting_types import redis_servers

_UNITS: Final = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))

_SHOWN: Final = 5  # namespaces, those that were used last


async def whereabouts(url: str, namespace: str, place: str) -> str:
    """Say in one line what is in *namespace* of the Redis at *url*, which is called *place*.

    Raises `StoreUnavailable`.
    """
    here, others = await tenants(url, namespace)
    looked = f"Looking at namespace {namespace} in {place}"
    if here:
        return f"{looked}: {_used(here)}."
    if not others:
        return f"{looked}: no bridge has used it, and this Redis holds no other."
    shown = [f"{printable(other.namespace)} ({_used(other)})" for other in others[:_SHOWN]]
    listed = ", ".join([*shown, *([f"{len(others) - _SHOWN} others"] if len(others) > _SHOWN else [])])
    return f"{looked}: no bridge has used it. This Redis holds {listed}; set BRIDGE_NAMESPACE to look there."


def place_of(url: str) -> str:
    """Name the Redis at *url*, without user, password and options."""
    several = redis_servers(url)
    if several is not None:
        servers = ", ".join(f"{host}:{port}" for host, port in several.servers)
        return f"the master {several.master} of Sentinels {servers}" if several.master else f"the cluster {servers}"
    parts = urlsplit(url)
    return f"{parts.scheme}://{'' if parts.scheme == 'unix' else parts.netloc.rpartition('@')[2]}{parts.path}"


def _used(tenant: Tenant) -> str:
    if tenant.is_at_work:
        return "a bridge is running there"
    for unit, name in _UNITS:
        if tenant.last_used >= unit:
            return f"last used {tenant.last_used // unit} {name} ago"
    return "last used just now"
