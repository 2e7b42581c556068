"""What was uploaded, and how Slack shows it."""

from __future__ import annotations

import html
import mimetypes
import urllib.parse
from dataclasses import dataclass, field
from typing import Final

from bridge.playground.emulator.entities.json import Json

_PREVIEW_LINES: Final = 5
_PRETTY: Final = {"txt": "Plain Text", "md": "Markdown (raw)", "py": "Python", "js": "JavaScript", "jpg": "JPEG"}
_TEXT: Final = frozenset({"txt", "md", "py", "js", "json", "csv", "log", "xml", "yaml", "yml", "sh", "sql", "html"})
_PNG: Final = b"\x89PNG\r\n\x1a\n"


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
    team: str = ""

    @property
    def kind(self) -> str:
        """The ``filetype``."""
        ending = self.name.rpartition(".")[2].lower() if "." in self.name else "txt"
        return {"txt": "text", "md": "markdown", "py": "python", "js": "javascript", "jpeg": "jpg"}.get(ending, ending)

    def as_json(self) -> Json:
        """The file object: https://docs.slack.dev/reference/objects/file-object."""
        ending = self.name.rpartition(".")[2].lower() if "." in self.name else "txt"
        name = urllib.parse.quote(self.name)
        mimetype = mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        is_text = ending in _TEXT
        shown: Json = {
            "id": self.id,
            "created": self.created,
            "timestamp": self.created,
            "name": self.name,
            "title": self.title or self.name,
            "mimetype": "text/plain" if is_text else mimetype,
            "filetype": self.kind,
            "pretty_type": _PRETTY.get(ending, ending.upper()),
            "user": self.user,
            "user_team": self.team,
            "editable": is_text,
            "size": self.length,
            "mode": "snippet" if is_text else "hosted",
            "is_external": False,
            "external_type": "",
            "is_public": True,
            "public_url_shared": False,
            "display_as_bot": False,
            "username": "",
            "url_private": f"{self.site}/files-pri/{self.id}/{name}",
            "url_private_download": f"{self.site}/files-pri/{self.id}/download/{name}",
            "permalink": f"https://playground.slack.com/files/{self.user}/{self.id}/{name}",
            "permalink_public": f"https://slack-files.com/{self.id}",
            "has_rich_preview": False,
            "file_access": "visible",
        }
        return shown | (self._as_snippet() if is_text else self._as_image())

    def shares(self, kinds: dict[str, str]) -> Json:
        """Where it is shown, as `files.info` tells it; *kinds* are the ``channel_type`` of those channels."""
        where: Json = {"channels": [], "groups": [], "ims": [], "shares": {}}
        for channel, ts in self.shared_in:
            kind = kinds.get(channel, "channel")
            where[f"{kind}s"].append(channel)
            reach = where["shares"].setdefault("public" if kind == "channel" else "private", {})
            reach.setdefault(channel, []).append({"ts": ts, "reply_users": [], "reply_count": 0, "team_id": self.team})
        return where

    def _as_snippet(self) -> Json:
        text = (self.content or b"").decode(errors="replace")
        lines = text.splitlines()
        preview = "\n".join(lines[:_PREVIEW_LINES])
        return {
            "edit_link": f"https://playground.slack.com/files/{self.user}/{self.id}/{urllib.parse.quote(self.name)}/edit",
            "preview": preview,
            "preview_highlight": f"<pre>{html.escape(preview)}</pre>",
            "plain_text": preview,
            "lines": len(lines),
            "lines_more": max(0, len(lines) - _PREVIEW_LINES),
            "preview_is_truncated": len(lines) > _PREVIEW_LINES,
        }

    def _as_image(self) -> Json:
        """Of a PNG its size, which stands in its first bytes."""
        if not (self.content or b"").startswith(_PNG):
            return {}
        width, height = (int.from_bytes((self.content or b"")[at : at + 4], "big") for at in (16, 20))
        return {"original_w": width, "original_h": height}
