"""Files, and their JSON."""

from __future__ import annotations

import email
import email.policy
import email.utils
import html
import mimetypes
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bridge.playground.emulator.entities.json import Json

_PREVIEW_LINES: Final = 5
_PREVIEW: Final = 8_000  # characters; undocumented
_HEADER: Final = 2_000  # characters that are read of each; the parser is slow
_MAIL_BYTES: Final = 100_000  # of an email whose text is in the file object; undocumented
_PREVIEW_WORDS: Final = 250  # characters of a transcript; undocumented
_SNIPPET_BYTES: Final = 1_000_000  # https://slack.com/help/articles/204145658: a longer one is an ordinary file
_PRETTY: Final = {
    "txt": "Plain Text",
    "md": "Markdown (raw)",
    "py": "Python",
    "js": "JavaScript",
    "jpg": "JPEG",
    "m4a": "MP4 audio",
    "eml": "Email",
}
_TEXT: Final = frozenset({"txt", "md", "py", "js", "json", "csv", "log", "xml", "yaml", "yml", "sh", "sql", "html"})
_OWN_TYPE: Final = {"csv": "text/csv", "m4a": "audio/mp4", "eml": "text/html"}
_PNG: Final = b"\x89PNG\r\n\x1a\n"


@dataclass
class File:
    """An uploaded file; *content* is None until its bytes have arrived.

    A clip has a *subtype*, a length in *duration_ms*, and a *transcript*; *transcription* is its state (``none``,
    ``processing``, ``complete``, ``failed``).
    """

    id: str
    name: str
    length: int
    user: str
    title: str = ""
    created: int = 1_700_000_000
    site: str = ""  # the host that serves it
    content: bytes | None = None
    shared_in: list[tuple[str, str]] = field(default_factory=list)  # (channel, ts of the message that shows it)
    team: str = ""
    alt_txt: str = ""
    subtype: str = ""  # slack_audio
    duration_ms: int = 0
    transcription: str = ""
    transcript: str = ""

    @property
    def ending(self) -> str:
        return self.name.rpartition(".")[2].lower() if "." in self.name else "txt"

    @property
    def kind(self) -> str:
        names = {"txt": "text", "md": "markdown", "py": "python", "js": "javascript", "jpeg": "jpg", "eml": "email"}
        return names.get(self.ending, self.ending)

    @property
    def is_snippet(self) -> bool:
        """Whether Slack shows its text."""
        return self.ending in _TEXT and self.length <= _SNIPPET_BYTES

    def as_json(self) -> Json:
        """The file object: https://docs.slack.dev/reference/objects/file-object."""
        name = urllib.parse.quote(self.name)
        guessed = "text/plain" if self.ending in _TEXT else mimetypes.guess_type(self.name)[0]
        shown: Json = {
            "id": self.id,
            "created": self.created,
            "timestamp": self.created,
            "name": self.name,
            "title": self.title or self.name,
            "mimetype": _OWN_TYPE.get(self.ending, guessed or "application/octet-stream"),
            "filetype": self.kind,
            "pretty_type": _PRETTY.get(self.ending, self.ending.upper()),
            "user": self.user,
            "user_team": self.team,
            "editable": self.is_snippet,
            "size": self.length,
            "mode": "snippet" if self.is_snippet else "email" if self.kind == "email" else "hosted",
            "is_external": False,
            "external_type": "",
            "is_public": True,
            "public_url_shared": False,
            "display_as_bot": False,
            "username": "",
            "url_private": f"{self.site}/files-pri/{self.id}/{name}",
            "url_private_download": f"{self.site}/files-pri/{self.id}/download/{name}",
            "media_display_type": "unknown",
            "permalink": f"https://playground.slack.com/files/{self.user}/{self.id}/{name}",
            "permalink_public": f"https://slack-files.com/{self.id}",
            "is_starred": False,
            "has_rich_preview": False,
            "channels": [],  # in events, a file's shares aren't known yet
            "groups": [],
            "ims": [],
            "file_access": "visible",
        }
        if self.is_snippet:
            return shown | self._as_snippet()
        if self.subtype:
            return shown | self._as_clip()
        return shown | (self._as_mail() if self.kind == "email" else self._as_image())

    def shares(self, kinds: dict[str, str]) -> Json:
        """Its shares, as in `files.info`; *kinds* are the channels' ``channel_type``."""
        where: Json = {"channels": [], "groups": [], "ims": [], "shares": {}}
        for channel, ts in self.shared_in:
            kind = kinds.get(channel, "channel").replace("mpim", "group")
            where[f"{kind}s"].append(channel)
            reach = where["shares"].setdefault("public" if kind == "channel" else "private", {})
            reach.setdefault(channel, []).append({"ts": ts, "reply_users": [], "reply_count": 0, "team_id": self.team})
        return where

    def text(self) -> Json:
        """The text that `files.info` adds for a snippet: https://docs.slack.dev/reference/methods/files.info."""
        if not self.is_snippet:
            return {}
        return {"content": (self.content or b"").decode(errors="replace"), "is_truncated": False}

    def _as_snippet(self) -> Json:
        text = (self.content or b"").decode(errors="replace")
        lines = text.splitlines()
        preview = _beginning(lines)
        return {
            "edit_link": f"https://playground.slack.com/files/{self.user}/{self.id}/{urllib.parse.quote(self.name)}/edit",
            "preview": preview,
            "preview_highlight": f"<pre>{html.escape(preview)}</pre>",
            "plain_text": preview,
            "lines": len(lines),
            "lines_more": max(0, len(lines) - _PREVIEW_LINES),
            "preview_is_truncated": preview != "\n".join(lines),
        }

    def _as_clip(self) -> Json:
        """A clip's fields, as recorded: the transcript follows later."""
        transcription: Json = {"status": self.transcription or "none"}
        shown: Json = {"subtype": self.subtype, "media_display_type": "audio", "duration_ms": self.duration_ms}
        shown["aac"] = f"{self.site}/files-tmb/{self.id}/{urllib.parse.quote(self.name)}"
        if self.transcription == "complete":
            preview = {"content": self.transcript[:_PREVIEW_WORDS], "has_more": len(self.transcript) > _PREVIEW_WORDS}
            transcription |= {"locale": "en-US", "preview": preview}
            shown["vtt"] = f"{self.site}/files-tmb/{self.id}/file.vtt"
        return shown | {"transcription": transcription}

    def _as_mail(self) -> Json:
        """An email, whose text is in the file object: https://docs.slack.dev/reference/objects/file-object.

        Of a long one, only the beginning is read and shown.
        """
        mail = email.message_from_bytes((self.content or b"")[:_MAIL_BYTES], policy=email.policy.default)
        body = mail.get_body(("plain",))
        text = str(body.get_content()) if body is not None else ""
        preview = _beginning(text.splitlines())
        read = email.policy.default.header_factory
        heads = {name.lower(): str(read(name, str(value)[:_HEADER])) for name, value in mail.raw_items()}
        is_whole = len(self.content or b"") <= _MAIL_BYTES
        return {
            "title": self.title or heads.get("subject", self.name),
            "subject": heads.get("subject", ""),
            "from": _addresses(heads.get("from", "")),
            "to": _addresses(heads.get("to", "")),
            "cc": _addresses(heads.get("cc", "")),
            "attachments": [],
            "original_attachment_count": 0,
            "plain_text": text if is_whole else "",
            "preview_plain_text": preview,
            "preview": html.escape(preview),
            "has_more": not is_whole or preview != "\n".join(text.splitlines()),
            "sent_to_self": False,
        }

    def _as_image(self) -> Json:
        """An image's fields: a PNG's size from its header, and the alt text."""
        described = {"alt_txt": self.alt_txt} if self.alt_txt else {}
        if not (self.content or b"").startswith(_PNG):
            return described
        width, height = (int.from_bytes((self.content or b"")[at : at + 4], "big") for at in (16, 20))
        return described | {"original_w": width, "original_h": height}


def _beginning(lines: Sequence[str]) -> str:
    return "\n".join(lines[:_PREVIEW_LINES])[:_PREVIEW]


def _addresses(header: str) -> list[Json]:
    pairs = email.utils.getaddresses([header]) if header else []
    return [{"name": pair[0], "address": pair[1], "original": email.utils.formataddr(pair)} for pair in pairs]
