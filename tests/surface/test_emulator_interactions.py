"""Commands, buttons, menus and forms in the emulated Slack, and how it handles the app's responses."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient
from starlette.responses import JSONResponse

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.emulator.ui import NoSuchCommand
from support.slack_app import App, field_of, form, plain

BUTTON = {"type": "button", "action_id": "go", "text": plain("Go"), "value": "7"}
OPTIONS = [{"text": plain(name), "value": name.lower()} for name in ("One", "Two")]
MENU = {"type": "static_select", "action_id": "pick", "options": OPTIONS}
ASKED = {"type": "external_select", "action_id": "ask", "min_query_length": 0}
ACTIONS = [{"type": "actions", "block_id": "b", "elements": [BUTTON, MENU, ASKED]}]
FORM = form(
    field_of("input"),
    field_of("kind", {**MENU, "initial_option": OPTIONS[0]}, optional=True),
    callback_id="run",
    private_metadata="kept",
    notify_on_close=True,
)


async def trigger(slack: EmulatedSlack, app: App, user: str = sample.ALICE) -> str:
    await slack.ui.command(user, sample.GENERAL, "/workflows", "run")
    return str(app.received[-1].payload["trigger_id"])


async def test_a_command_is_sent_in_slacks_form_encoding(slack: EmulatedSlack, app: App) -> None:
    answer = await slack.ui.command(sample.ALICE, sample.GENERAL, "/workflows", 'run 3 "x" & <y>')

    (received,) = app.received
    assert received.is_signed
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"
    assert received.payload["text"] == 'run 3 "x" &amp; &lt;y&gt;'
    assert (received.payload["command"], received.payload["user_id"]) == ("/workflows", sample.ALICE)
    assert (received.payload["channel_id"], received.payload["channel_name"]) == (sample.GENERAL, "general")
    assert (answer.status, answer.is_acked) == (200, True)
    assert answer.ms < 3000


def app_with(command: str, *, should_escape: bool) -> dict[str, Any]:
    about = {"command": command, "description": "Does it.", "should_escape": should_escape}
    return {
        "display_information": {"name": "App"},
        "features": {"bot_user": {"display_name": "app"}, "slash_commands": [about]},
        "oauth_config": {"scopes": {"bot": ["commands"]}},
        "settings": {"socket_mode_enabled": True},
    }


async def test_a_command_gets_ids_only_where_its_manifest_asks_for_them(slack: EmulatedSlack, app: App) -> None:
    typed = "to #general #private #hidden @bob @runners @nobody @here: a&b, see https://example.com/?q=1."
    escaped = (
        f"to <#{sample.GENERAL}|general> <#{sample.PRIVATE}|> #hidden <@{sample.BOB}|bob> "
        f"<!subteam^{sample.RUNNERS}|@runners> @nobody <!here>: a&amp;b, see <https://example.com/?q=1>."
    )

    for should_escape in (True, False):
        slack.install(app_with("/tell", should_escape=should_escape))
        await slack.ui.command(sample.ALICE, sample.GENERAL, "/tell", typed)

    with_ids, as_typed = (received.payload["text"] for received in app.received)
    assert with_ids == escaped
    assert as_typed == typed.replace("&", "&amp;")
    with pytest.raises(NoSuchCommand):
        await slack.ui.command(sample.ALICE, sample.GENERAL, "/else")


async def test_a_response_url_accepts_five_responses(slack: EmulatedSlack, app: App) -> None:
    await slack.ui.command(sample.ALICE, sample.NOBOT, "/stats")
    webhook = AsyncWebhookClient(app.received[0].payload["response_url"])

    answers = [await webhook.send(text=str(one)) for one in range(5)]
    sixth = await webhook.send(text="one too many")

    assert [one.status_code for one in answers] == [200] * 5
    assert (sixth.status_code, "used_url" in sixth.body) == (404, True)
    assert [one.thread_ts for one in slack.ephemerals(sample.ALICE)] == [""] * 5
    assert [one.text for one in slack.ephemerals(sample.ALICE)] == ["0", "1", "2", "3", "4"]
    assert len(slack.responses) == 5


async def test_a_response_url_expires_after_half_an_hour(slack: EmulatedSlack, app: App) -> None:
    await slack.ui.command(sample.ALICE, sample.GENERAL, "/stats")
    webhook = AsyncWebhookClient(app.received[0].payload["response_url"])

    slack.clock.move(1801)

    assert "expired_url" in (await webhook.send(text="late")).body


async def test_an_in_channel_response_does_not_need_the_bot_in_the_channel(slack: EmulatedSlack, app: App) -> None:
    await slack.ui.command(sample.ALICE, sample.NOBOT, "/stats")

    await AsyncWebhookClient(app.received[0].payload["response_url"]).send(text="all", response_type="in_channel")

    assert [one.text for one in slack.messages(sample.NOBOT)] == ["all"]


async def test_a_click_carries_the_button_and_the_message(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    posted = await client.chat_postMessage(channel=sample.GENERAL, thread_ts=root, text="card", blocks=ACTIONS)

    await slack.ui.click(sample.BOB, sample.GENERAL, posted["ts"], "go")

    payload = app.received[-1].payload
    (action,) = payload["actions"]
    assert payload["type"] == "block_actions"
    assert (action["action_id"], action["value"], action["block_id"]) == ("go", "7", "b")
    assert (payload["user"]["id"], payload["user"]["team_id"]) == (sample.BOB, sample.TEAM)
    assert payload["container"] == {
        "type": "message",
        "message_ts": posted["ts"],
        "channel_id": sample.GENERAL,
        "is_ephemeral": False,
        "thread_ts": root,
    }
    assert payload["message"]["text"] == "card"
    assert payload["response_url"].startswith(slack.url)


async def test_a_private_message_can_be_clicked_and_replaced_by_its_reader_only(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    shown = await client.chat_postEphemeral(channel=sample.GENERAL, user=sample.ALICE, text="?", blocks=ACTIONS)
    with pytest.raises(LookupError):
        await slack.ui.click(sample.BOB, sample.GENERAL, shown["message_ts"], "go")

    await slack.ui.click(sample.ALICE, sample.GENERAL, shown["message_ts"], "go")
    payload = app.received[-1].payload
    await AsyncWebhookClient(payload["response_url"]).send(text="!", replace_original=True)

    assert payload["container"]["is_ephemeral"]
    assert "message" not in payload
    assert [one.text for one in slack.ephemerals(sample.ALICE)] == ["!"]


async def test_a_trigger_opens_one_form_within_three_seconds(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    first = await trigger(slack, app)
    await client.views_open(trigger_id=first, view=FORM)
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await client.views_open(trigger_id=first, view=FORM)

    second = await trigger(slack, app)
    slack.clock.move(3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await client.views_open(trigger_id=second, view=FORM)
    assert len(slack.views(sample.ALICE)) == 1


async def test_a_submitted_form_carries_its_state_and_closes(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    await client.views_open(trigger_id=await trigger(slack, app), view=FORM)
    (view,) = slack.views(sample.ALICE)

    await slack.ui.submit(view.id, {"text": "hello", "kind": "two"}, sample.ALICE)

    payload = app.received[-1].payload
    assert payload["type"] == "view_submission"
    assert (payload["view"]["callback_id"], payload["view"]["private_metadata"]) == ("run", "kept")
    assert payload["view"]["state"]["values"] == {
        "input": {"text": {"type": "plain_text_input", "value": "hello"}},
        "kind": {"pick": {"type": "static_select", "selected_option": OPTIONS[1]}},
    }
    assert slack.views(sample.ALICE) == []


async def test_a_form_with_a_missing_input_cannot_be_submitted(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    await client.views_open(trigger_id=await trigger(slack, app), view=FORM)
    (view,) = slack.views(sample.ALICE)

    with pytest.raises(ValueError, match="input"):
        await slack.ui.submit(view.id, {}, sample.ALICE)


async def test_the_app_can_reject_update_or_push_a_form(slack: EmulatedSlack, app: App, client: AsyncWebClient) -> None:
    await client.views_open(trigger_id=await trigger(slack, app), view=FORM)
    (view,) = slack.views(sample.ALICE)

    app.answers = [JSONResponse({"response_action": "errors", "errors": {"input": "no JSON"}})]
    await slack.ui.submit(view.id, {"text": "{"}, sample.ALICE)
    assert view.errors == {"input": "no JSON"}

    app.answers = [JSONResponse({"response_action": "update", "view": {**FORM, "callback_id": "second"}})]
    await slack.ui.submit(view.id, {"text": "{}"}, sample.ALICE)
    assert view.content["callback_id"] == "second"

    app.answers = [JSONResponse({"response_action": "push", "view": FORM})]
    await slack.ui.submit(view.id, {"text": "{}"}, sample.ALICE)
    assert slack.views(sample.ALICE)[-1].previous_id == view.id

    app.answers = [JSONResponse({"response_action": "clear"})]
    await slack.ui.submit(slack.views(sample.ALICE)[-1].id, {"text": "{}"}, sample.ALICE)
    assert slack.views(sample.ALICE) == []


async def test_home_is_updated_only_with_its_latest_hash(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    home = {"type": "home", "blocks": ACTIONS}
    first = (await client.views_publish(user_id=sample.ALICE, view=home))["view"]
    await client.views_publish(user_id=sample.ALICE, hash=first["hash"], view={**home, "callback_id": "new"})

    with pytest.raises(SlackApiError, match="hash_conflict"):
        await client.views_publish(user_id=sample.ALICE, hash=first["hash"], view=home)

    shown = slack.home(sample.ALICE)
    assert shown is not None
    assert shown.content["callback_id"] == "new"


async def test_a_button_of_a_card_in_a_carousel_can_be_pressed(
    slack: EmulatedSlack, client: AsyncWebClient, app: App
) -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}, "value": "7"}
    card = {"type": "card", "title": {"type": "plain_text", "text": "A card"}, "actions": [button]}
    posted = await client.chat_postMessage(
        channel=sample.GENERAL, text="cards", blocks=[{"type": "carousel", "elements": [card]}]
    )

    await slack.ui.click(sample.ALICE, sample.GENERAL, posted["ts"], "go")

    assert app.received[-1].payload["actions"][0]["value"] == "7"
