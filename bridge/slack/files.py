"""The contents of files in Slack, fetched with the bot's token from Slack only.

An address comes from a message, and the token can read the workspace. So a file is fetched only from Slack's file
servers, over https, and redirects are refused. Without the scope files:read, Slack answers with status 200 and a
sign-in page (vercel/eve#1317). https://docs.slack.dev/messaging/working-with-files
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import Final

from yarl import URL

from bridge.errors import SlackRefused
from bridge.inbound import MessageFile
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.contents import read_file
from bridge.slack.payloads import mapping

FILES_READ: Final = "files:read"
SIGN_IN: Final = "missing_scope"
"""The error if Slack returns a sign-in page instead of a file: the same as from the API."""
ELSEWHERE: Final = "not_at_slack"

_INFO_SECONDS: Final = 5.0
_FETCH_SECONDS: Final = 20.0
_HTML: Final = re.compile(rb"\s*+(?:\xef\xbb\xbf\s*+)?<(?:!doctype\s++html|html)\b", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
SNIFFED: Final = 1000
"""The bytes or characters at the beginning of a file that tell its kind."""
_MARKED: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileContent:
    """The fetched bytes of a file; *declared* is its Content-Type, *is_cut*: it has more bytes."""

    content: bytes = field(repr=False)
    is_cut: bool = False
    declared: str = ""

    def text(self) -> str:
        """Decode the content by its byte order mark, as UTF-8, by its declared charset, or byte by byte."""
        for mark, charset in _MARKED:
            if self.content.startswith(mark):
                return self.content.decode(charset, errors="replace")
        # The last character may be incomplete.
        end = len(self.content) - 3 if self.is_cut else len(self.content)
        try:
            self.content[: max(0, end)].decode()
        except UnicodeDecodeError:
            named = _CHARSET.search(self.declared)
            for charset in ([named[1]] if named else []) + ["cp1252", "latin-1"]:
                try:
                    return self.content.decode(charset)
                except (LookupError, UnicodeError):
                    continue
        return self.content.decode(errors="ignore" if self.is_cut else "replace")


@dataclass(frozen=True, slots=True)
class Files:
    """Reads files that the bot *identity* can see; *api_url* is the address of Slack's Web API."""

    web: SlackWeb
    identity: Identity
    api_url: str

    @property
    def may_read(self) -> bool:
        """Whether the app has the scope to read files; True if its scopes are unknown."""
        return not self.identity.scopes or FILES_READ in self.identity.scopes

    async def describe(self, file: str) -> MessageFile:
        """Look a file up: https://docs.slack.dev/reference/methods/files.info. Raises `SlackError`."""
        if not self.may_read:
            raise SlackRefused("files.info", SIGN_IN)
        answer = await self.web.read("files.info", {"file": file}, seconds=_INFO_SECONDS)
        return read_file({"id": file, "mode": "hosted", **mapping(answer.get("file"))})

    async def fetch(self, file: MessageFile, most: int) -> FileContent:
        """Fetch at most *most* bytes of a file. Raises `SlackError`."""
        address = self._address(file.url)
        if address is None:
            raise SlackRefused("file", ELSEWHERE)
        if not self.may_read:
            raise SlackRefused("file", SIGN_IN)
        content, headers = await self.web.download(address, most + 1, seconds=_FETCH_SECONDS)
        is_page = _HTML.match(content[:SNIFFED]) is not None
        is_whole = len(content) <= most and len(content) == file.size  # a sign-in page has another size
        if is_page and not is_whole and "attachment" not in headers.get("Content-Disposition", ""):
            raise SlackRefused("file", SIGN_IN)
        return FileContent(content[:most], len(content) > most, headers.get("Content-Type", ""))

    def _address(self, url: str) -> URL | None:
        """Return the address if it's one of Slack's."""
        try:
            address, api = URL(url), URL(self.api_url)
            port = address.port
        except ValueError:
            return None
        if address.user is not None or address.password is not None or not address.host:
            return None
        for site in ("slack.com", "slack-gov.com"):
            if api.host == site or str(api.host).endswith(f".{site}"):
                is_file_server = address.host == f"files.{site}"
                return address if is_file_server and address.scheme == "https" and port == 443 else None  # noqa: PLR2004 - https
        return address if address.origin() == api.origin() else None
