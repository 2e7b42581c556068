"""The words of the whole product, so that each change of them is seen and read."""

from __future__ import annotations

import re
from typing import Final

from bridge.features.registry import features
from bridge.slack.blockkit import kit
from support.layouts import payloads
from support.sentences import FILE, sentences

_OF_WHAT_IS_TYPED: Final = (
    "UnknownCommand:", "UnknownOption:", "BadUsage:", "NoSuch:", "couldn't queue /stats", "notices.help_card",
    "notices.help_lines",
)  # fmt: skip
"""Their commands come with the prefix: they're what was typed, or made of the line's beginning."""


def test_the_listed_sentences_are_those_of_the_code() -> None:
    """After a change of words, ``make reference`` writes the list anew: read its difference."""
    assert sentences().splitlines() == FILE.read_text(encoding="utf-8").splitlines()


def test_every_text_names_commands_with_their_prefix() -> None:
    names = "|".join({command.path[0] for command in features.commands.commands if command.usage.startswith("/")})
    bare = re.compile(rf"(?<![\w/-])/(?:{names})(?![\w-])")
    texts = [
        *sentences("acme-").splitlines(),
        *(f"{one.layout} {kit.as_typed(one.sent, 'acme-')}" for one in payloads()),
    ]

    assert [text for text in texts if bare.search(text) and not any(one in text for one in _OF_WHAT_IS_TYPED)] == []
    assert sum("/acme-" in text for text in texts) > 20
