"""What was uploaded, and how Slack shows it."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass, field

from bridge.playground.slack.entities.json import Json


@dataclass
class File:
    """An uploaded file; *content* is None until its bytes have arrived."""

    id: str
    name: str
    length: int
    user: str
    title: str = ""
    created: int = 1_700_000_000
    site: str = ""  # where it can be fetched from
    content: bytes | None = None
    shared_in: list[tuple[str, str]] = field(default_factory=list)  # (channel, ts of the message that shows it)

    def as_json(self) -> Json:
        """The file object: https://docs.slack.dev/reference/objects/file-object."""
        kind = self.name.rpartition(".")[2] or "text"
        return {
            "id": self.id,
            "created": self.created,
            "name": self.name,
            "title": self.title or self.name,
            "mimetype": "text/plain",
            "filetype": kind,
            "user": self.user,
            "size": self.length,
            "mode": "hosted",
            "is_external": False,
            "is_public": True,
            "url_private": f"{self.site}/files-pri/{self.id}/{urllib.parse.quote(self.name)}",
            "permalink": f"https://playground.slack.com/files/{self.user}/{self.id}/{self.name}",
        }
