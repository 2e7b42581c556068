"""Slack's own markup as HTML: https://docs.slack.dev/messaging/formatting-message-text."""

from __future__ import annotations

import re
from typing import Final

from bridge.playground.emulator.richtext import parts_of_mrkdwn
from bridge.playground.page.clean import clean
from bridge.playground.page.names import Names
from bridge.playground.page.rich_text import part_html

_ADDRESS: Final = re.compile(
    r"(?P<marked>```.+?```|`[^`\n]+`|<[^<>\n]+>)|https?://[^\s<>|`*]+[^\s<>|`*.,;:!?)'\"_~]", re.DOTALL
)
_LINE_BESIDE_CODE: Final = re.compile(r"<br>(?=<pre>)|(?<=</pre>)<br>")


def mrkdwn_html(text: str, names: Names, *, is_verbatim: bool = False) -> str:
    """Slack's markup as HTML. In a *verbatim* text only marked links are links."""
    if not is_verbatim:
        text = _ADDRESS.sub(lambda match: match[0] if match["marked"] else f"<{match[0]}>", text)
    shown = "".join(part_html(part, names, section="") for part in parts_of_mrkdwn(text))
    return clean(_LINE_BESIDE_CODE.sub("", shown))
