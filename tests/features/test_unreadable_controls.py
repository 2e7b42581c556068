"""Buttons, menus, forms and shortcuts that this version can't read are answered, never ignored."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.features.registry import features
from bridge.inbound import Click, Shortcut, Submission
from support.harness import Harness
from support.store import CHANNEL, ROOT, TEAM, USER
from support.tables import each

HERE: dict[str, Any] = {"team": TEAM, "channel": CHANNEL, "user": USER}
VALUES = ("", "of another release", "[1]", "-1", "9" * 30)


def answers(harness: Harness) -> int:
    """Count what the person sees: messages, forms, and messages or views that changed."""
    seen = harness.seen
    return len(seen.ephemerals) + len(seen.messages) + len(seen.forms) + len(seen.updates) + len(seen.homes)


@each("action", [*sorted(features._buttons), "of:tomorrow"])
async def test_any_value_of_any_button_is_answered(harness: Harness, action: str) -> None:
    harness.write(ROOT, "a message with buttons")
    for value in VALUES:
        before = answers(harness)
        await harness.click(action, value, ts=ROOT, is_ephemeral=True)

        await harness.work()

        assert answers(harness) > before, value
        assert await harness.store.redis.zcard("{test}:dead") == 0, value


@pytest.mark.parametrize("action", ["of:tomorrow", "answer:feedback"])
async def test_a_button_outside_of_a_channel_is_answered_directly(harness: Harness, action: str) -> None:
    click = Click(**HERE | {"channel": ""}, action_id=action, value="?", view="home")
    await harness.store.process().inbox.put(click)

    await harness.work()

    (told,) = harness.seen.messages
    assert "I can't read it" in told.words


@pytest.mark.parametrize("form", ["of_tomorrow", "run", "ask", "default"])
async def test_an_unreadable_form_is_answered(harness: Harness, form: str) -> None:
    await harness.store.process().inbox.put(Submission(**HERE, form=form, values={}))

    await harness.work()

    (told,) = harness.seen.ephemerals
    assert "I can't read it" in told.text


async def test_an_unknown_shortcut_is_answered_in_a_modal(harness: Harness) -> None:
    trigger = harness.slack.tickets.trigger(USER)
    await harness.store.process().inbox.put(Shortcut(**HERE, name="of_tomorrow", trigger_id=trigger))

    await harness.work()

    assert "I can't read it" in str(harness.seen.forms[-1])
