"""Mentions: IDs as the names that one person sees, and as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, tzinfo
from html import escape
from typing import Final

from bridge.playground.emulator.escapes import BROADCASTS

_DATE_WORD: Final = re.compile(r"\{(\w+)\}")
_LATEST: Final = 253_402_300_000  # the year 9999


@dataclass(frozen=True, eq=False)  # compared by identity, as a cache key
class Names:
    """The names that *me* sees, by ID. Dates are shown in *zone*."""

    me: str
    people: Mapping[str, str]
    channels: Mapping[str, str]
    groups: Mapping[str, str]
    zone: tzinfo = UTC

    def is_like(self, other: Names) -> bool:
        return astuple(self) == astuple(other)

    def person(self, user: str) -> str:
        mine = " me" if user == self.me else ""
        name = self.people.get(user, user)
        return f'<span class="mention{mine}" data-user="{escape(user)}">@{escape(name)}</span>'

    def channel(self, channel: str) -> str:
        """Mention a channel; one that *me* can't see has no name, as in Slack."""
        name = self.channels.get(channel)
        if name is None:
            return '<span class="mention">#private channel</span>'
        return f'<span class="mention" data-channel="{escape(channel)}">#{escape(name)}</span>'

    def group(self, group: str) -> str:
        return f'<span class="mention">@{escape(self.groups.get(group, group))}</span>'

    def broadcast(self, reach: str) -> str:
        if reach not in BROADCASTS:
            return escape(f"<!{reach}>")
        return f'<span class="mention broadcast">@{reach}</span>'

    def date(self, seconds: str, wording: str, link: str, fallback: str) -> str:
        """Show a moment as *wording* says: https://docs.slack.dev/messaging/formatting-message-text#date-formatting."""
        if not seconds.isascii() or not seconds.isdecimal() or int(seconds) > _LATEST:
            return escape(fallback)
        moment = datetime.fromtimestamp(int(seconds), UTC).astimezone(self.zone)
        shown = _DATE_WORD.sub(lambda word: _worded(moment, word[1]), wording) or fallback
        time = f'<time datetime="{moment.isoformat()}">{escape(shown)}</time>'
        return f'<a href="{escape(link)}">{time}</a>' if link else time


def _worded(moment: datetime, word: str) -> str:
    """One token of a date's format; an unknown one stays as it is."""
    day = moment.day
    words = {
        "date_num": moment.strftime("%Y-%m-%d"),
        "date": f"{moment:%B} {day}, {moment:%Y}",
        "date_slash": moment.strftime("%m/%d/%Y"),
        "date_short": f"{moment:%b} {day}, {moment:%Y}",
        "date_long": f"{moment:%A}, {moment:%B} {day}, {moment:%Y}",
        "date_pretty": f"{moment:%B} {day}, {moment:%Y}",
        "date_short_pretty": f"{moment:%b} {day}, {moment:%Y}",
        "date_long_pretty": f"{moment:%A}, {moment:%B} {day}, {moment:%Y}",
        "day_divider_pretty": f"{moment:%A}, {moment:%B} {day}",
        "time": moment.strftime("%H:%M"),
        "time_secs": moment.strftime("%H:%M:%S"),
        "ago": "",
    }
    return words.get(word, f"{{{word}}}")
