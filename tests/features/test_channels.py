"""Channel settings: what they change, who may change them, and who is notified."""

from __future__ import annotations

import pytest

from bridge.engine.results import Outcome, Result
from bridge.errors import BadUsage, NotAllowed, UnknownCommand
from bridge.features.channels.settings import NOTHING_SET, ChannelSettings
from bridge.inbound import SlashCommand
from bridge.playground.emulator.sample import BRIDGE, CAROL, DM_ALICE
from bridge.slack.blockkit.reply import Reply
from bridge.slack.parts import Place
from support.harness import SALES, SUPPORT, Harness
from support.store import CHANNEL, TEAM, USER

ALL = ChannelSettings(answers="all")


async def typed(harness: Harness, line: str, channel: str = CHANNEL) -> Result:
    command, _, text = line.partition(" ")
    body = SlashCommand(team=TEAM, channel=channel, user=USER, command=command, text=text)
    return await harness.answer(body)


async def done(harness: Harness, text: str) -> None:
    """Run a command."""
    await harness.type_command(f"/agents {text}")


def text_of(result: Result) -> str:
    reply = result.reply if isinstance(result, Outcome) else result
    assert isinstance(reply, Reply)
    return reply.text


@pytest.mark.parametrize(
    ("line", "settings", "notice"),
    [
        ("answers all", ALL, "Settings saved."),
        ("answers ALL ", ALL, "Settings saved."),
        ("replies mentions", ChannelSettings(replies="mentions"), "Settings saved."),
        ("answers mentions", NOTHING_SET, "Nothing changed. These settings are already in effect."),
        ("reset", NOTHING_SET, "Nothing changed. These settings are already in effect."),
    ],
)
async def test_each_setting_has_its_command(
    harness: Harness, line: str, settings: ChannelSettings, notice: str
) -> None:
    result = await typed(harness, f"/agents channel {line}")

    assert text_of(result) == notice
    assert await harness.store.channels.get(TEAM, CHANNEL) == settings


async def test_the_commands_change_one_record(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    for line in ("default Sales", "channel answers all", "channel replies all"):
        await done(harness, line)

    assert await harness.store.channels.get(TEAM, CHANNEL) == ChannelSettings(agent=8, answers="all", replies="all")
    await done(harness, "channel")
    assert harness.seen.ephemerals[-1].text == (
        "Channel settings\nDefault agent: Sales\nMessages to answer: every top-level message\n"
        "Thread replies to answer: all\nApps: all ignored"
    )
    await done(harness, "default none")
    assert (await harness.store.channels.get(TEAM, CHANNEL)).answers == "all"
    await done(harness, "channel reset")
    assert await harness.store.channels.get(TEAM, CHANNEL) == NOTHING_SET


@pytest.mark.parametrize(
    ("line", "error", "shown"),
    [
        ("channel answers", BadUsage, "/agents channel answers <mentions|all>"),
        ("channel answers sometimes", BadUsage, "/agents channel answers <mentions|all>"),
        ("channel replies all of them", BadUsage, "/agents channel replies <auto|all|mentions>"),
        ("channel anwsers all", UnknownCommand, "/agents channel answers"),
    ],
)
async def test_a_mistyped_setting_brings_the_usage(
    harness: Harness, line: str, error: type[Exception], shown: str
) -> None:
    with pytest.raises(error) as caught:
        await typed(harness, f"/agents {line}")

    known = getattr(caught.value, "nearest", None) or [getattr(caught.value, "usage", "")]
    assert shown in known


@pytest.mark.parametrize("line", ["answers all", "replies mentions", "reset"])
async def test_only_runners_change_a_channel(harness: Harness, line: str) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    await harness.store.set_channel(agent=7)

    with pytest.raises(NotAllowed, match="default"):
        await typed(harness, f"/agents channel {line}")

    assert await harness.store.channels.get(TEAM, CHANNEL) == ChannelSettings(agent=7)


@pytest.mark.parametrize(("runners", "has_button"), [(USER, True), (CAROL, False)])
async def test_everyone_sees_the_settings_and_runners_get_the_form(
    harness: Harness, runners: str, *, has_button: bool
) -> None:
    harness.configure(BRIDGE_RUNNERS=runners)

    shown = await typed(harness, "/agents channel")

    assert ("Change settings…" in str(shown)) is has_button


@pytest.mark.parametrize("line", ["answers all", "replies mentions"])
async def test_a_direct_message_has_only_an_agent_to_set(harness: Harness, line: str) -> None:
    result = await typed(harness, f"/agents channel {line}", channel=DM_ALICE)

    assert text_of(result) == "In direct messages, I answer everything. Use this command in a channel."
    assert await harness.store.channels.get(TEAM, DM_ALICE) == NOTHING_SET


async def test_the_settings_of_a_group_direct_message_show_no_made_up_channel_name(harness: Harness) -> None:
    group = harness.slack.workspace.group_message([USER, CAROL, BRIDGE])

    card = await typed(harness, "/agents channel", channel=group.id)
    form = await typed(harness, "/agents default", channel=group.id)

    assert text_of(card).startswith("Conversation settings\n")
    assert "Settings for the group direct message" in str(form)
    assert "mpdm-" not in f"{card}{form}"


@pytest.mark.parametrize(
    ("line", "notice"),
    [
        ("default Support", "Support now answers your direct messages to me."),
        ("default none", "Your direct messages to me no longer have a default agent."),
    ],
)
async def test_a_new_agent_of_a_direct_message_is_named_to_its_person(harness: Harness, line: str, notice: str) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.set_channel(DM_ALICE, agent=8)

    assert text_of(await typed(harness, f"/agents {line}", channel=DM_ALICE)) == notice


@pytest.mark.parametrize(
    ("default", "notice"), [("all", "Every thread reply"), ("mentions", "only replies that mention me")]
)
async def test_a_reset_notice_names_the_replies_that_go_to_the_agent(
    harness: Harness, default: str, notice: str
) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES=default)
    await harness.store.set_channel(replies="mentions" if default == "all" else "all")

    await done(harness, "channel reset")

    assert notice in harness.seen.texts[-1]


async def test_a_channel_notice_names_the_change_and_its_author(harness: Harness) -> None:
    for text in ("channel answers all", "channel answers all", "channel reset"):
        await done(harness, text)

    assert [(one.place, one.words) for one in harness.seen.messages] == [
        (
            Place(CHANNEL),
            "I now answer every top-level message in this channel, without a mention. Changed by Alice Adler.",
        ),
        (Place(CHANNEL), "I now answer only mentions in this channel. Changed by Alice Adler."),
    ]
