"""Commands, buttons, menus, forms, shortcuts and Home on the page."""

from __future__ import annotations

import httpx
from starlette.responses import JSONResponse, PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample
from support.page_client import Window, calls
from support.slack_app import App, field_of, form

ASK = {"type": "external_select", "action_id": "ask", "min_query_length": 0}
FORM = form(field_of("text"), field_of("ask", ASK), title="Run :tada:")
OPTION = {"text": {"type": "plain_text", "text": "Echo <1>"}, "value": "1"}


async def test_a_command_reaches_the_app_and_its_author_sees_the_answer(alice: Window, bob: Window, app: App) -> None:
    app.answers.append(JSONResponse({"text": "*three*"}))

    await alice.does("command", channel=sample.GENERAL, command="/workflows", text="show <3> & @bob", in_thread=False)

    assert app.received[-1].payload["text"] == "show &lt;3&gt; &amp; @bob"
    assert await alice.shows(sample.GENERAL) == ["<strong>three</strong>"]
    assert await bob.shows(sample.GENERAL) == []


async def test_an_unknown_command_or_one_in_a_thread_is_refused_as_in_slack(alice: Window, app: App) -> None:
    unknown = await alice.tries("command", channel=sample.GENERAL, command="/nothing", text="")
    in_thread = await alice.tries("command", channel=sample.GENERAL, command="/workflows", text="", in_thread=True)

    assert unknown["error"].startswith("/nothing is not a valid command.")
    assert in_thread["error"] == "/workflows is not supported in threads. Sorry! Type !workflows instead."
    assert app.received == []


async def test_the_bot_is_invited_by_slacks_own_command(alice: Window, slack: EmulatedSlack) -> None:
    await alice.does("command", channel=sample.NOBOT, command="/invite", text=" @bridge ")
    again = await alice.tries("command", channel=sample.NOBOT, command="/invite", text=f"<@{sample.BRIDGE}>")
    other = await alice.tries("command", channel=sample.NOBOT, command="/invite", text="@bob")

    assert sample.BRIDGE in slack.workspace.channels[sample.NOBOT].members
    assert again["error"] == "@bridge is already in this channel."
    assert other["error"] == "Only the bot can be invited here: type /invite @bridge."


async def test_a_command_the_app_refuses_gets_a_slackbot_reply(alice: Window, app: App) -> None:
    app.answers.append(PlainTextResponse("no", status_code=500))

    await alice.does("command", channel=sample.GENERAL, command="/workflows", text="")

    (line,) = (await alice.sees(sample.GENERAL))["messages"]
    assert (line["name"], line["is_private"]) == ("Slackbot", True)
    assert "dispatch_failed" in line["html"]


async def test_a_press_names_the_block_of_its_button(alice: Window, app: App, http: httpx.AsyncClient) -> None:
    blocks = [
        {
            "type": "actions",
            "block_id": name,
            "elements": [
                {"type": "button", "action_id": "run", "value": name, "text": {"type": "plain_text", "text": name}},
                {"type": "static_select", "action_id": "pick", "options": [OPTION]},
            ],
        }
        for name in ("one", "two")
    ]
    posted = await calls(http, "chat.postMessage", channel=sample.GENERAL, text="x", blocks=blocks)
    there = {"channel": sample.GENERAL, "ts": posted["ts"], "block_id": "two"}

    await alice.does("click", **there, action_id="run")
    await alice.does("select", **there, action_id="pick", value="1")

    pressed, chosen = (one.payload["actions"][0] for one in app.received[-2:])
    assert (pressed["value"], pressed["block_id"]) == ("two", "two")
    assert chosen["selected_option"]["value"] == "1"
    assert (await alice.tries("click", **there, action_id="gone"))["error"] == "That button or menu no longer exists."
    app.answers.append(PlainTextResponse("no", status_code=500))
    assert "dispatch_failed" in (await alice.tries("click", **there, action_id="run"))["error"]


async def test_a_form_is_filled_in_with_the_apps_suggestions_and_sent(
    alice: Window, bob: Window, app: App, slack: EmulatedSlack
) -> None:
    view = slack.workspace.open_view(slack.workspace.make_view(sample.ALICE, FORM))
    app.answers.append(JSONResponse({"options": [OPTION]}))

    (shown,) = (await alice.sees())["views"]
    offered = await alice.does("suggest", view_id=view.id, block_id="ask", action_id="ask", typed="ec")
    empty = await alice.tries("submit", view_id=view.id, values={"text": {"text": ""}, "ask": {"ask": "1"}})
    await alice.does("submit", view_id=view.id, values={"text": {"text": "hi"}, "ask": {"ask": "1"}})

    assert shown["title"]["html"] == 'Run <span class="emoji" title=":tada:">🎉</span>'
    assert (await bob.sees())["views"] == []
    assert offered["options"] == [
        {"value": "1", "text": {"type": "plain_text", "text": "Echo <1>", "html": "Echo &lt;1&gt;"}}
    ]
    assert empty["error"] == "Slack doesn't allow that here.", "the page's script asks for what is left empty"
    values = app.received[-1].payload["view"]["state"]["values"]
    assert values["text"]["text"]["value"] == "hi"
    assert values["ask"]["ask"]["selected_option"] == OPTION
    assert (await alice.sees())["views"] == []


async def test_a_forms_errors_appear_beside_its_inputs(alice: Window, app: App, slack: EmulatedSlack) -> None:
    view = slack.workspace.open_view(slack.workspace.make_view(sample.ALICE, FORM))
    app.answers += [
        JSONResponse({"options": [OPTION]}),
        JSONResponse({"response_action": "errors", "errors": {"text": "No."}}),
    ]
    await alice.does("suggest", view_id=view.id, block_id="ask", action_id="ask", typed="")

    await alice.does("submit", view_id=view.id, values={"text": {"text": "hi"}, "ask": {"ask": "1"}})

    (shown,) = (await alice.sees())["views"]
    assert shown["errors"] == {"text": "No."}
    assert shown["values"] == {"text": {"text": "hi"}, "ask": {"ask": "1"}}
    await alice.does("close", view_id=view.id)
    assert (await alice.sees())["views"] == []


async def test_only_its_owner_can_submit_or_close_a_form(bob: Window, slack: EmulatedSlack) -> None:
    view = slack.workspace.open_view(slack.workspace.make_view(sample.ALICE, FORM))

    for action in ("submit", "close"):
        assert not (await bob.tries(action, view_id=view.id, values={}))["ok"]
    assert slack.views(sample.ALICE) == [view]


async def test_shortcuts_home_and_messages_reach_the_app(alice: Window, app: App, http: httpx.AsyncClient) -> None:
    ts = (await alice.does("say", channel=sample.GENERAL, text="x"))["ts"]
    home = {"type": "home", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "*home*"}}]}
    await calls(http, "views.publish", user_id=sample.ALICE, view=home)
    await alice.does("shortcut", callback_id="run")
    await alice.does("shortcut", callback_id="send_again", channel=sample.GENERAL, ts=ts)
    await alice.does("open_home")
    await alice.does("open_messages")

    kinds = [one.payload.get("type") for one in app.received if "event" not in one.payload]
    tabs = [one["tab"] for one in app.events if one["type"] == "app_home_opened"]
    assert (kinds, tabs) == (["shortcut", "message_action"], ["home", "messages"])
    seen = await alice.sees(sample.DM_ALICE)
    assert seen["home"]["blocks"][0]["text"]["html"] == "<strong>home</strong>"
    assert (await alice.sees(sample.GENERAL))["home"] is None


async def test_the_state_has_prompts_commands_shortcuts_and_parts(alice: Window, http: httpx.AsyncClient) -> None:
    prompt = {"title": "Hello", "message": "hello"}
    before = await alice.sees(sample.DM_ALICE)
    await calls(
        http, "assistant.threads.setSuggestedPrompts", channel_id=sample.DM_ALICE, title="Try", prompts=[prompt]
    )

    seen = await alice.sees(sample.DM_ALICE, full="1")

    assert before["prompts"] == {"title": "", "prompts": [{"title": "Begin", "message": "What can you do?"}]}
    assert seen["prompts"] == {"title": "Try", "prompts": [prompt]}
    assert seen["commands"] == [
        {"command": "/workflows", "usage_hint": "list | show WORKFLOW", "description": "The workflows"}
    ]
    assert [one["type"] for one in seen["shortcuts"]] == ["message", "global"]
    assert seen["parts"] == [{"name": "Redis", "is_stand_in": True, "is_up": True, "detail": "embedded"}]
    assert ["tada", "🎉"] in seen["emoji"]
    assert all(glyph for _, glyph in seen["emoji"])
