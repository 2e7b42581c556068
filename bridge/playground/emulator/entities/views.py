"""Modals and Home tabs, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.playground.emulator.entities.json import Json


@dataclass
class View:
    """An open modal of *user*, or their Home tab."""

    id: str
    user: str
    content: Json  # the app's: type, title, blocks, callback_id, …
    hash: str
    root_id: str
    team: str
    app_id: str
    bot_id: str
    previous_id: str | None = None
    values: dict[str, dict[str, Json]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    window: str = ""  # the person's window that shows it; empty: all

    @property
    def blocks(self) -> list[Json]:
        blocks: list[Json] = self.content.get("blocks", [])
        return blocks

    @property
    def all_blocks(self) -> list[Json]:
        """The same, as a message has them."""
        return self.blocks

    def as_json(self) -> Json:
        """The view as payloads and answers carry it: https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload."""
        return {
            "private_metadata": "",
            "callback_id": "",
            "clear_on_close": False,
            "notify_on_close": False,
            "close": None,
            "submit": None,
            "external_id": "",
            "title": {"type": "plain_text", "text": "View Title", "emoji": True},  # of a Home tab, which has none
            **self.content,
            "id": self.id,
            "team_id": self.team,
            "state": {"values": self.values},
            "hash": self.hash,
            "previous_view_id": self.previous_id,
            "root_view_id": self.root_id,
            "app_id": self.app_id,
            "app_installed_team_id": self.team,
            "bot_id": self.bot_id,
        }
