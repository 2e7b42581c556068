"""Observers of the emulated workspace are notified of every change."""

from collections.abc import Awaitable

from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample

HOME = {"type": "home", "blocks": []}
DM, EVERYWHERE = sample.DM_ALICE, sample.GENERAL
PROMPTS = [{"title": "Hello", "message": "hello"}]


async def test_each_action_of_people_and_the_app_is_announced(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    people, heard = slack.people, list[None]()
    slack.workspace.subscribe(lambda: heard.append(None))
    root = await people.say(sample.ALICE, DM, "root")
    ts = await people.say(sample.ALICE, EVERYWHERE, "hello")

    actions: dict[str, Awaitable[object]] = {
        "a reply": people.say(sample.BOB, EVERYWHERE, "reply", thread_ts=ts),
        "an edit": people.edit(EVERYWHERE, ts, "hello there"),
        "a reaction": people.react(sample.BOB, EVERYWHERE, ts, "eyes"),
        "a deletion": people.delete(EVERYWHERE, ts),
        "a new member": people.join(sample.BRIDGE, sample.NOBOT),
        "a status": client.assistant_threads_setStatus(channel_id=DM, thread_ts=root, status="is thinking…"),
        "a title": client.agents_sessions_rename(channel_id=DM, thread_ts=root, title="A talk"),
        "prompts": client.assistant_threads_setSuggestedPrompts(channel_id=DM, title="Try", prompts=PROMPTS),
        "a private message": client.chat_postEphemeral(channel=DM, user=sample.ALICE, text="psst"),
        "a Home tab": client.views_publish(user_id=sample.ALICE, view=HOME),
        "a file": client.files_getUploadURLExternal(filename="a.txt", length=3),
    }
    for action, done in actions.items():
        heard.clear()
        await done
        assert heard, f"{action} isn't announced"


async def test_reading_a_channel_is_announced(slack: EmulatedSlack) -> None:
    heard = list[None]()
    slack.workspace.subscribe(lambda: heard.append(None))

    slack.people.read(sample.ALICE, sample.NOBOT)

    assert heard
    assert not slack.workspace.is_unread(sample.ALICE, slack.workspace.channels[sample.NOBOT])
