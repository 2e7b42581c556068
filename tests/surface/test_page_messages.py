"""Writing, editing, deleting, reacting and reading on the page."""

from __future__ import annotations

import httpx
import pytest

from bridge.playground.emulator import EmulatedSlack, sample
from support.page_client import Json, Window, calls
from support.slack_app import App


async def test_a_message_is_escaped_as_slack_does_and_reaches_the_app(
    alice: Window, app: App, slack: EmulatedSlack
) -> None:
    done = await alice.does("say", channel=sample.GENERAL, text="@bridge is 1 < 2 *really*?")
    await slack.settled()

    assert {one["type"] for one in app.events} == {"app_mention", "message"}
    assert app.events[0]["text"] == f"<@{sample.BRIDGE}> is 1 &lt; 2 *really*?"
    (seen,) = (await alice.sees(sample.GENERAL))["messages"]
    assert seen["ts"] == done["ts"]
    assert seen["text"] == "@bridge is 1 < 2 *really*?"
    assert seen["html"] == (
        f'<span class="mention" data-user="{sample.BRIDGE}">@bridge</span> is 1 &lt; 2 <strong>really</strong>?'
    )
    assert (seen["is_mine"], seen["is_app"], seen["name"]) == (True, False, "alice")


async def test_a_thread_has_its_root_its_replies_and_what_the_agent_shows(
    alice: Window, http: httpx.AsyncClient
) -> None:
    root = (await alice.does("say", channel=sample.GENERAL, text="root"))["ts"]
    here = {"channel": sample.GENERAL, "thread_ts": root}
    await calls(http, "chat.postMessage", **here, blocks=[{"type": "markdown", "text": "**yes**"}], text="yes")
    await calls(
        http, "assistant.threads.setStatus", channel_id=sample.GENERAL, thread_ts=root, status="is asking Memory…"
    )

    seen = await alice.sees(sample.GENERAL, root)

    (message,) = seen["messages"]
    assert (message["reply_count"], message["repliers"]) == (1, [sample.BRIDGE])
    assert message["status"] == {"text": "is asking Memory…", "can_stop": False}
    assert seen["thread"]["ts"] == root
    assert [one["ts"] for one in seen["thread"]["messages"]] == [root, message["last_reply_ts"]]
    (block,) = seen["thread"]["messages"][1]["blocks"]
    assert (block["text"], block["html"]) == ("**yes**", "<p><strong>yes</strong></p>\n")
    assert (await alice.sees(sample.GENERAL, "1.000001"))["thread"] is None


async def test_a_session_that_is_processing_can_be_stopped(alice: Window, app: App, http: httpx.AsyncClient) -> None:
    root = (await alice.does("say", channel=sample.DM_ALICE, text="hello"))["ts"]
    await calls(http, "agents.sessions.setStatus", channel_id=sample.DM_ALICE, thread_ts=root, status="processing")

    (message,) = (await alice.sees(sample.DM_ALICE))["messages"]
    await alice.does("stop", channel=sample.DM_ALICE, thread_ts=root)

    assert message["status"] == {"text": "is thinking…", "can_stop": True}
    assert app.events[-1]["type"] == "agent_session_stopped"


async def test_the_newest_two_hundred_are_shown_and_older_ones_on_request(alice: Window, slack: EmulatedSlack) -> None:
    sent = [slack.workspace.messages.post(sample.BOB, sample.NOBOT, f"m{number}").ts for number in range(203)]

    seen = await alice.sees(sample.NOBOT)
    older = await alice.sees(sample.NOBOT, before=seen["messages"][0]["ts"])

    assert [one["ts"] for one in seen["messages"]] == sent[3:]
    assert [one["ts"] for one in older["messages"]] == sent[:3]
    assert (seen["has_older"], older["has_older"]) == (True, False)


async def test_only_your_own_messages_can_be_edited_and_deleted(alice: Window, bob: Window, app: App) -> None:
    first = (await alice.does("say", channel=sample.GENERAL, text="teh"))["ts"]
    reply = (await bob.does("say", channel=sample.GENERAL, text="reply", thread_ts=first))["ts"]

    assert (await bob.tries("edit", channel=sample.GENERAL, ts=first, text="x"))["error"] == (
        "You can only change your own messages."
    )
    assert not (await bob.tries("delete", channel=sample.GENERAL, ts=first))["ok"]
    await alice.does("edit", channel=sample.GENERAL, ts=first, text="the & @bob")
    (edited,) = (await alice.sees(sample.GENERAL))["messages"]
    assert (edited["text"], edited["edited"]) == ("the & @bob", True)
    assert app.events[-1]["message"]["text"] == f"the &amp; <@{sample.BOB}>"
    await alice.does("delete", channel=sample.GENERAL, ts=first)
    (stone,) = (await alice.sees(sample.GENERAL))["messages"]
    assert (stone["deleted"], stone["text"], stone["reply_count"]) == (True, "This message was deleted.", 1)
    await bob.does("delete", channel=sample.GENERAL, ts=reply)


async def test_a_reaction_is_added_and_removed(alice: Window, bob: Window) -> None:
    ts = (await alice.does("say", channel=sample.GENERAL, text="x"))["ts"]
    for window in (alice, bob, bob):
        await window.does("react", channel=sample.GENERAL, ts=ts, name="tada")

    (message,) = (await bob.sees(sample.GENERAL))["messages"]

    assert message["reactions"] == [{"name": "tada", "emoji": "🎉", "users": ["alice"], "count": 1, "mine": False}]


async def test_only_people_who_see_its_message_can_read_a_file(
    alice: Window, bob: Window, http: httpx.AsyncClient
) -> None:
    page = "<script>alert(1)</script>"
    await alice.does("say", channel=sample.PRIVATE, text="", files=[{"name": "a.html", "content": page}])

    ((file,),) = [one["files"] for one in (await bob.sees(sample.PRIVATE))["messages"]]
    answer = await http.get(file["url"])
    assert (file["name"], file["size"], answer.text) == ("a.html", len(page), page)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    strange = file["url"].replace(sample.BOB, sample.CAROL)
    assert (await http.get(strange)).status_code == 404


async def test_other_peoples_messages_are_unread_until_read(alice: Window, bob: Window) -> None:
    async def is_unread(window: Window) -> bool:
        return bool((await window.sees(sample.RANDOM))["channel"]["unread"])

    await bob.does("say", channel=sample.RANDOM, text="news")
    assert (await is_unread(alice), await is_unread(bob)) == (True, False)
    await alice.does("read", channel=sample.RANDOM)
    before = (await alice.sees())["version"]
    await alice.does("read", channel=sample.RANDOM)

    assert not await is_unread(alice)
    assert (await alice.sees())["version"] == before, "reading again announces nothing"


async def test_an_unsendable_message_gets_an_explanation(alice: Window) -> None:
    malformed = "The page sent an invalid request. Reload it and try again."
    bodies: dict[str, Json] = {
        "The message is empty. Type something first.": {"text": "  "},
        "A message can have up to 40,000 characters. This one has 40,001.": {"text": "x" * 40_001},
        "That no longer exists, or you can't see it.": {"text": "x", "thread_ts": "1.000001"},
        malformed: {"text": 7},
        f"{malformed} ": {"text": "x", "colour": "red"},
    }

    for error, body in bodies.items():
        result = await alice.tries("say", channel=sample.GENERAL, **body)
        assert result == {"ok": False, "error": error.strip()}


async def test_an_unknown_action_is_reported_as_unknown(alice: Window) -> None:
    assert not (await alice.tries("fly"))["ok"]


@pytest.mark.parametrize(
    ("code", "face"), [(":headphones:", "🎧"), (":man-woman-girl-boy:", "👨‍👩‍👧‍👦"), (":melting_face:", "🫠")]
)
async def test_an_agents_name_and_face_are_shown(
    alice: Window, http: httpx.AsyncClient, slack: EmulatedSlack, code: str, face: str
) -> None:
    slack.scopes.add("chat:write.customize")
    named = {"username": "Support", "icon_emoji": code}
    root = (await alice.does("say", channel=sample.GENERAL, text="root"))["ts"]
    await calls(http, "chat.postMessage", channel=sample.GENERAL, text="yes", **named)
    await calls(
        http, "agents.sessions.setStatus", channel_id=sample.GENERAL, thread_ts=root, status="processing", **named
    )

    asked, answer = (await alice.sees(sample.GENERAL))["messages"]

    assert (answer["name"], answer["icon"], answer["is_app"]) == ("Support", face, True)
    assert asked["status"] == {"text": "is thinking…", "can_stop": True, "name": "Support", "icon": face}
