"""Message content beyond text on the page, group messages, and posts by other apps."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from bridge.playground.emulator import EmulatedSlack, sample
from support.page_client import Window
from support.slack_app import App

ALERT = {"title": "Checkout <fails>", "text": "Error rate *12%*"}


async def test_an_image_is_attached_with_its_description(alice: Window, slack: EmulatedSlack, app: App) -> None:
    image = {"name": "cat.png", "base64": base64.b64encode(b"\x89PNG").decode(), "alt_txt": "a cat"}

    await alice.does("say", channel=sample.GENERAL, text="", files=[image])
    await slack.settled()

    (file,) = app.events[-1]["files"]
    assert (file["mimetype"], file["size"], file["alt_txt"]) == ("image/png", 4, "a cat")
    (shown,) = (await alice.sees(sample.GENERAL))["messages"]
    assert shown["files"][0]["alt"] == "a cat"


async def test_a_truncated_file_is_refused(alice: Window) -> None:
    tried = await alice.tries("say", channel=sample.GENERAL, text="", files=[{"name": "a.bin", "base64": "%"}])

    assert tried["error"] == "a.bin arrived incomplete. Attach it again."


@pytest.mark.parametrize("table", [[["x"]] * 101, [["x"] * 21]])
async def test_a_table_that_is_too_large_is_refused(alice: Window, table: list[list[str]]) -> None:
    tried = await alice.tries("say", channel=sample.GENERAL, text="", table=table)

    assert tried["error"] == "A table can have up to 100 rows and 20 columns."


@pytest.mark.parametrize(("wish", "status"), [("later", "complete"), ("never", "failed")])
async def test_a_transcript_is_ready_or_fails_after_a_while(
    alice: Window, slack: EmulatedSlack, wish: str, status: str
) -> None:
    slack.transcribes_in = 0.5
    await alice.does("say", channel=sample.GENERAL, text="", clip={"words": "what day", "transcript": wish})
    (before,) = (await alice.sees(sample.GENERAL))["messages"]

    await slack.settled()

    (after,) = (await alice.sees(sample.GENERAL))["messages"]
    assert before["files"][0]["clip"]["status"] == "processing"
    assert (after["files"][0]["clip"]["status"], after["edited"]) == (status, False)


async def test_a_clip_without_a_transcript_is_refused(alice: Window) -> None:
    tried = await alice.tries("say", channel=sample.GENERAL, text="", clip={"words": " "})

    assert tried["error"] == "Enter what you say in the voice clip."


async def test_a_message_is_forwarded_with_its_files(alice: Window, bob: Window, http: httpx.AsyncClient) -> None:
    result = await alice.does(
        "say", channel=sample.PRIVATE, text="plan", files=[{"name": "plan.txt", "content": "words"}]
    )

    forwarding = {"ts": result["ts"], "to": sample.GENERAL, "comment": "@bob look"}
    await alice.does("forward", channel=sample.PRIVATE, **forwarding)

    (shown,) = (await bob.sees(sample.GENERAL))["messages"]
    (quoted,) = shown["attachments"]
    assert (shown["text"], quoted["author"], quoted["is_share"]) == ("@bob look", "Alice Adler", True)
    assert (quoted["html"], quoted["footer"]) == ("plan", "Posted in #private")
    (file,) = quoted["files"]
    carol = await http.get(file["url"].replace(sample.BOB, sample.CAROL))
    assert carol.text == "words"


@pytest.mark.parametrize("where", [{"to": sample.HIDDEN}, {"channel": sample.HIDDEN}])
async def test_forwarding_needs_membership_on_both_sides(alice: Window, where: dict[str, Any]) -> None:
    result = await alice.does("say", channel=sample.GENERAL, text="plan")

    tried = await alice.tries(
        "forward", **{"channel": sample.GENERAL, "ts": result["ts"], "to": sample.RANDOM, **where}
    )

    assert tried["error"] == "That no longer exists, or you can't see it."


@pytest.mark.parametrize(
    ("users", "error"),
    [
        ([sample.BOB], "Choose at least two people. A message to one person is a direct message."),
        ([sample.BOB, sample.GONE], "One of these people has left the workspace. Choose again."),
    ],
)
async def test_a_group_with_invalid_members_is_refused(alice: Window, users: list[str], error: str) -> None:
    assert (await alice.tries("start_group", users=users))["error"] == error


@pytest.mark.parametrize("form", ["attachment", "blocks"])
async def test_a_webhooks_alert_has_its_own_name_and_no_text(
    alice: Window, slack: EmulatedSlack, app: App, form: str
) -> None:
    await alice.does("app_posts", channel=sample.RANDOM, form=form, **ALERT)
    await slack.settled()

    event = app.events[-1]
    assert (event["subtype"], event["text"], "user" in event) == ("bot_message", "", False)
    (shown,) = (await alice.sees(sample.RANDOM))["messages"]
    assert (shown["name"], shown["is_app"]) == ("Monitoring", True)
    assert "Checkout &lt;fails&gt;" in str(shown)


async def test_a_bot_users_alert_is_posted_as_that_bot(alice: Window, slack: EmulatedSlack, app: App) -> None:
    await alice.does("app_posts", channel=sample.GENERAL, by="bot", **ALERT)
    await slack.settled()

    assert (app.events[-1]["user"], "subtype" in app.events[-1]) == (sample.OTHER_BOT, False)
    tried = await alice.tries("app_posts", channel=sample.RANDOM, by="bot", **ALERT)
    assert tried["error"].startswith("The other app's bot isn't in this channel.")


async def test_an_alert_without_text_is_refused(alice: Window) -> None:
    tried = await alice.tries("app_posts", channel=sample.GENERAL, title="", text="x")

    assert tried["error"] == "An alert needs a title and text."


@pytest.mark.parametrize("form", ["attachment", "blocks"])
@pytest.mark.parametrize("by", ["webhook", "bot"])
async def test_an_app_edits_its_alert(alice: Window, slack: EmulatedSlack, app: App, by: str, form: str) -> None:
    posted = await alice.does("app_posts", channel=sample.GENERAL, by=by, form=form, **ALERT)
    await alice.does("app_edits", channel=sample.GENERAL, ts=posted["ts"], title="Resolved", text="All is well.")
    await slack.settled()

    assert (app.events[-1]["subtype"], "All is well." in str(app.events[-1]["message"])) == ("message_changed", True)
    (shown,) = (await alice.sees(sample.GENERAL))["messages"]
    assert (shown["edited"], "Checkout" in str(shown)) == (True, False)
    own = await alice.does("say", channel=sample.GENERAL, text="hello")
    tried = await alice.tries("app_edits", channel=sample.GENERAL, ts=own["ts"], title="x", text="x")
    assert tried["error"] == "Another app didn't post this."


async def test_an_app_with_a_persons_token_posts_as_that_person(alice: Window, slack: EmulatedSlack, app: App) -> None:
    await alice.does("app_posts", channel=sample.GENERAL, by="token", **ALERT)
    await slack.settled()

    assert (app.events[-1]["user"], app.events[-1]["app_id"]) == (sample.ALICE, "A0OTHERBOT")
    (shown,) = (await alice.sees(sample.GENERAL))["messages"]
    assert (shown["user"], shown["is_app"], shown["is_mine"]) == (sample.ALICE, False, True)
