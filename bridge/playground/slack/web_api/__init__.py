"""Slack's Web API, one module for each family of methods; `METHODS` is all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bridge.playground.slack.web_api import (
    agents,
    apps,
    auth,
    blocks,
    channels,
    chat,
    conversations,
    files,
    functions,
    pins,
    reactions,
    scheduled,
    streams,
    team,
    usergroups,
    users,
    views,
)
from bridge.playground.slack.web_api.method import Registered

_FAMILIES: Final = (
    *(auth, chat, streams, scheduled, conversations, channels, users, usergroups, team),
    *(reactions, pins, views, blocks, files, functions, agents, apps),
)
METHODS: Final[Mapping[str, Registered]] = MappingProxyType(
    {name: registered for module in _FAMILIES for name, registered in module.family.methods.items()}
)
