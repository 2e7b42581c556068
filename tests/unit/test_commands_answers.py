"""What is typed, pressed and filled in, and what comes of it: replies, forms, runs and questions at the service."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import BadSchedule, BadUsage, NoSuch, NotAllowed, UnknownCommand, UnknownOption
from bridge.features.results import Done, Form, NewThread, Outcome, Result
from bridge.ids import ThreadKey
from bridge.inbound import Click, SlashCommand, Submission
from bridge.playground.emulator.limits import check_view
from bridge.playground.emulator.sample import BOB
from bridge.slack.blockkit.failures import sentence
from bridge.slack.blockkit.reply import Audience, Reply
from support.store import CHANNEL, TEAM, THREAD, USER, message, ts
from support.turns import Bench, a_bench

STRANGER = BOB
WORKFLOWS = [
    {"id": 1, "name": "Report", "is_active": True, "trigger_type": "manual", "node_count": 2},
    {"id": 2, "name": "Report daily", "is_active": True, "trigger_type": "cron", "node_count": 2},
    {"id": 3, "name": "Old one", "is_active": False, "trigger_type": "manual", "node_count": 2},
]
AGENTS = [
    {"id": 1, "name": "Support", "model": "large", "description": "helps", "tools": [{"name": "search"}]},
    {"id": 2, "name": "None of the above", "model": "small"},
]


@pytest.fixture
async def bench(redis: Redis) -> AsyncIterator[Bench]:
    async with a_bench(redis, runners=frozenset({USER})) as bench:
        bench.service.workflows, bench.service.agents = WORKFLOWS, AGENTS
        bench.service.details = {"nodes": [{"id": 1, "type": "start"}], "edges": []}
        yield bench


async def typed(bench: Bench, line: str, user: str = USER) -> Result:
    """Type a slash command."""
    command, _, text = line.partition(" ")
    url = "https://hooks.example/r"
    said = SlashCommand(team=TEAM, channel=CHANNEL, user=user, command=command, text=text, response_url=url)
    return await bench.answer(said)


def click(action: str, value: str, user: str = USER, **more: str) -> Click:
    return Click(team=TEAM, channel=CHANNEL, user=user, action_id=action, value=value, message_ts="5.0", **more)


def filled_form(*, form: str = "run", private_metadata: str = "", user: str = USER, **values: str) -> Submission:
    return Submission(
        team=TEAM, channel=CHANNEL, user=user, form=form, values=values, private_metadata=private_metadata
    )


def shown(result: Result) -> Reply:
    """The reply that a handler returned."""
    if isinstance(result, Outcome):
        return result.reply
    assert isinstance(result, Reply)
    return result


def words_of(reply: Reply) -> str:
    return reply.text + json.dumps(reply.blocks, ensure_ascii=False)


def button_of(reply: Reply, user: str = USER) -> Click:
    """Press the first button of a reply."""
    button = next(b for block in reply.blocks if block["type"] == "actions" for b in block["elements"])
    return click(button["action_id"], button["value"], user, response_url="https://hooks.example/r")


async def said(bench: Bench, text: str, number: int) -> Result:
    """Say something in the thread of a conversation."""
    return await bench.answer(message(text, ts(number)), in_order=False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/workflows", "Report daily"),
        ("/workflows list", "Report daily"),
        ("/WORKFLOWS List daily", "Workflows matching “daily”"),
        ("/workflows show 1", "Nodes"),
        ("/workflows show “Report”", "Nodes"),
        ("/agents", "Support"),
        ("/agents show support", "search"),
        ("/project", "The shop."),
        ("/stats", "4,321"),
        ("/stats since 7d", "Nothing to compare with yet"),
        ("/help", "/agents chat [agent] [message]"),
        ("/workflows help", "/workflows run [workflow] [input]"),
        ("/stats help", "Show the project's statistics."),
        ("/session", "no conversation here"),
        ("/new", "no conversation here"),
    ],
)
async def test_reading_commands_answer_the_person_who_typed(bench: Bench, line: str, words: str) -> None:
    reply = shown(await typed(bench, line))

    assert words in words_of(reply)
    assert reply.audience is Audience.PRIVATE


@pytest.mark.parametrize(
    "line", ["/workflows --share", "/workflows list \u2014share daily", "/stats --share", "/project \u2013Share"]
)
async def test_what_is_shared_is_shown_to_the_channel(bench: Bench, line: str) -> None:
    assert shown(await typed(bench, line)).audience is Audience.CHANNEL


async def test_only_reading_commands_know_how_to_share(bench: Bench) -> None:
    await typed(bench, "/workflows run 1 say --share")

    assert bench.service.started == [(1, "say --share")]


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("/workflows rnu 3", "/workflows run [workflow] [input]"),
        ("/workflows xyz", "/workflows list [words]"),
        ("/stats sinse 7d", "/stats since <when>"),
        ("/stat", "/stats"),
        ("/agentz list", "/agents"),
    ],
)
async def test_what_is_mistyped_brings_the_nearest_command(bench: Bench, line: str, nearest: str) -> None:
    with pytest.raises(UnknownCommand) as caught:
        await typed(bench, line)

    assert nearest in caught.value.nearest


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("/workflows show", "/workflows show <workflow>"),
        ("/agents show", "/agents show <agent>"),
    ],
)
async def test_missing_words_bring_the_usage(bench: Bench, line: str, usage: str) -> None:
    with pytest.raises(BadUsage) as caught:
        await typed(bench, line)

    assert caught.value.usage == usage


@pytest.mark.parametrize(
    ("line", "workflow", "given"),
    [
        ("/workflows run 1 hello  there", 1, "hello  there"),
        ("/workflows run Report daily x", 2, "x"),
        ('/workflows run "Report" daily', 1, "daily"),
        ('/workflows run 1 {"a": "&lt;b&gt; &amp; c"}', 1, {"a": "<b> & c"}),
        ("/workflows run 1 <https://a.example/?x&amp;y|a.example>", 1, "https://a.example/?x&y"),
        ("/workflows run 1 {“a”: 1}", 1, {"a": 1}),
        ("/workflows run 1 true", 1, "true"),
        ("/workflows run 1 --shrae it", 1, "--shrae it"),
        ("/workflows run 1 line\n  two", 1, "line\n  two"),
    ],
)
async def test_a_run_is_asked_for_with_its_input(bench: Bench, line: str, workflow: int, given: Any) -> None:
    await typed(bench, line)

    assert bench.service.started == [(workflow, given)]


async def test_a_run_without_input_opens_the_form_or_offers_it(bench: Bench) -> None:
    result = await typed(bench, "/workflows run Report")

    assert isinstance(result, Form)
    assert result.view["blocks"][0]["element"]["initial_option"]["value"] == "1"
    offered = await bench.answer(button_of(result.otherwise))
    assert isinstance(offered, Form)
    assert offered.view == result.view


async def test_the_list_of_workflows_has_a_menu_that_opens_the_form_for_who_may_run(bench: Bench) -> None:
    listed = shown(await typed(bench, "/workflows"))
    menu = listed.blocks[-1]["elements"][0]
    chosen = await bench.answer(click(menu["action_id"], "2"))

    assert menu["type"] == "external_select"
    assert isinstance(chosen, Form)
    assert chosen.view["blocks"][0]["element"]["initial_option"]["value"] == "2"
    assert "external_select" not in words_of(shown(await typed(bench, "/workflows", STRANGER)))
    with pytest.raises(NotAllowed):
        await bench.answer(click(menu["action_id"], "2", STRANGER))


async def test_an_inactive_workflow_runs_once_it_is_confirmed(bench: Bench) -> None:
    asked = shown(await typed(bench, '/workflows run "Old one" {"x": 1}'))

    assert "inactive" in asked.text
    assert asked.audience is Audience.PRIVATE
    assert bench.service.started == []
    await bench.answer(button_of(asked))
    assert bench.service.started == [(3, {"x": 1})]
    assert [reply.replaces_original for _, reply in bench.say.whispers] == [True]


async def test_a_confirmation_whose_input_was_too_long_asks_for_it_and_not_again_for_confirmation(bench: Bench) -> None:
    asked = shown(await typed(bench, "/workflows run 3 " + "x" * 2500))
    form = await bench.answer(button_of(asked))
    assert isinstance(form, Form)

    filled = filled_form(workflow="3", input="y" * 2500, private_metadata=form.view["private_metadata"])

    await bench.answer(filled)

    assert bench.service.started == [(3, "y" * 2500)]


@pytest.mark.parametrize(
    "asked",
    [
        SlashCommand(team=TEAM, channel=CHANNEL, user=STRANGER, command="/workflows", text="run 1 x"),
        *(click(action, '{"w":1,"i":"x"}', STRANGER) for action in ("run:again", "run:confirm", "run:form")),
        filled_form(workflow="1", user=STRANGER),
    ],
)
async def test_only_runners_run(bench: Bench, asked: SlashCommand | Click | Submission) -> None:
    with pytest.raises(NotAllowed, match="runner"):
        await bench.answer(asked)


async def test_a_conversation_begins_with_what_was_typed(bench: Bench) -> None:
    outcome = await typed(bench, "/agents chat Support 1 &lt; 2, is it? @here")

    assert isinstance(outcome, Outcome)
    assert outcome.after == (NewThread(agent=1, text="1 &lt; 2, is it? @here"),)
    assert outcome.reply.audience is Audience.CHANNEL
    assert "1 < 2, is it? @here" in words_of(outcome.reply)


async def test_people_and_channels_that_are_named_to_an_agent_have_their_names(bench: Bench) -> None:
    """Slack sends ids, and no name for a private channel."""
    bench.directory.users = {"U7": "Bob", "U8": "Carol"}
    bench.directory.channels["C2"] = "staff"
    line = "/agents chat Support ask <@U7|bob> and <@U8> in <#C2|> or <#C3|general>, see <https://example.com>"

    outcome = await typed(bench, line)

    assert isinstance(outcome, Outcome)
    text = "ask @Bob and @Carol in #staff or #general, see https://example.com"
    assert outcome.after == (NewThread(agent=1, text=text),)


@pytest.mark.parametrize(
    ("line", "agent"),
    [("/agents default support", 1), ("/agents default none of the above", 2), ("/agents default none", None)],
)
async def test_a_channels_default_agent_is_the_one_that_is_named(bench: Bench, line: str, agent: int | None) -> None:
    await bench.store.set_channel(agent=7)

    await typed(bench, line)

    assert (await bench.store.channels.get(TEAM, CHANNEL)).agent == agent


async def test_the_list_marks_the_channels_default_agent(bench: Bench) -> None:
    await bench.store.set_channel(agent=1)

    assert "default in this channel" in words_of(shown(await typed(bench, "/agents")))


@pytest.mark.parametrize(
    ("line", "form", "chosen"),
    [
        ("/workflows run", "run", None),
        ("/agents chat", "ask", None),
        ("/agents chat Support", "ask", "1"),
        ("/agents default", "default", "none"),
    ],
)
async def test_a_command_without_its_words_opens_its_form(
    bench: Bench, line: str, form: str, chosen: str | None
) -> None:
    result = await typed(bench, line)

    assert isinstance(result, Form)
    check_view(result.view)
    choices = [
        block["element"].get("initial_option", {}).get("value") for block in result.view["blocks"] if "element" in block
    ]
    assert (result.view["callback_id"], next(filter(None, choices), None)) in {(form, chosen), (form, "text")}
    assert [element["type"] for element in result.otherwise.blocks[-1]["elements"]] == ["button"]


async def test_a_thread_tells_its_session_and_forgets_it(bench: Bench) -> None:
    await bench.store.sessions.choose_agent(THREAD, 1)
    await bench.store.sessions.rebind(THREAD, expected=None, session=77)

    assert "Support answers here in session 77." in shown(await said(bench, "!session", 1)).text
    assert shown(await said(bench, "!new", 2)).audience is Audience.THREAD
    assert "starts with the next answer" in shown(await said(bench, "!session", 3)).text


async def test_a_session_is_told_while_the_service_is_away(bench: Bench) -> None:
    await bench.store.sessions.choose_agent(THREAD, 1)
    bench.service.always = httpx.Response(418)

    assert "Agent 1 answers here" in shown(await said(bench, "!session", 1)).text


@pytest.mark.parametrize(
    ("line", "option", "nearest"),
    [
        ("/stats --shrae", "--shrae", "--share"),
        ("/stats —Shar", "--Shar", "--share"),
        ("/stats since 7d --shrae", "--shrae", "--share"),
        ("/workflows list --shared", "--shared", "--share"),
        ("/workflows show 1 --share --loud", "--loud", ""),
        ("/project --json=yes", "--json", ""),
        ("/stats reports --share", "--share", ""),
    ],
)
async def test_an_unknown_option_is_named_with_the_nearest(bench: Bench, line: str, option: str, nearest: str) -> None:
    with pytest.raises(UnknownOption) as refused:
        await typed(bench, line)

    assert (refused.value.typed, refused.value.nearest) == (option, nearest)
    assert refused.value.command == line.partition(" ")[0]


@pytest.mark.parametrize("when", ["tuesday", "2999-01-01"])
async def test_a_time_that_cannot_be_compared_with_is_answered_with_one_that_can(bench: Bench, when: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        await typed(bench, f"/stats since {when}")

    assert sentence(refused.value).startswith(f"I don't understand “{when}”: expected an age or a day, such as 7d or ")


async def test_a_missing_time_to_compare_with_is_answered_with_the_usage(bench: Bench) -> None:
    bench.command_prefix = "acme-"

    with pytest.raises(BadUsage, match="/acme-stats since <when>"):
        await typed(bench, "/stats since")


@pytest.mark.parametrize("is_runner", [True, False])
async def test_statistics_lead_to_a_scheduled_report(bench: Bench, *, is_runner: bool) -> None:
    card = shown(await typed(bench, "/stats", USER if is_runner else STRANGER))

    for form in (card.blocks, *card.plainer):
        assert ('"report:form"' in json.dumps(form)) is is_runner


async def test_numbers_are_written_as_the_person_is_used_to(bench: Bench) -> None:
    bench.directory.locales[USER] = "de-DE"

    assert "4.321 runs" in shown(await typed(bench, "/stats")).text


async def test_commands_are_shown_with_the_configured_prefix(bench: Bench) -> None:
    bench.command_prefix = "acme-"

    assert "/acme-workflows show <workflow>" in words_of(shown(await typed(bench, "/help")))
    with pytest.raises(BadUsage, match="/acme-workflows show"):
        await typed(bench, "/workflows show")


async def test_a_run_is_repeated_with_the_same_input(bench: Bench) -> None:
    await bench.answer(click("run:again", '{"w":1,"i":null}'))

    assert bench.service.started == [(1, None)]
    assert isinstance(await bench.answer(click("run:again", '{"w":1}')), Form)
    with pytest.raises(NoSuch):
        await bench.answer(click("run:again", '{"w":99,"i":1}'))


@pytest.mark.parametrize("value", ["", "[]", '{"w":"x"}', "of another release"])
async def test_a_button_that_is_not_understood_opens_an_empty_form(bench: Bench, value: str) -> None:
    result = await bench.answer(click("run:form", value))

    assert isinstance(result, Form)
    assert "initial_option" not in result.view["blocks"][0]["element"]


@pytest.mark.parametrize("action", ["run:text", "run:fix"])
async def test_input_that_is_kept_for_a_question_is_only_for_who_was_asked(bench: Bench, action: str) -> None:
    value = button_of(shown(await typed(bench, '/workflows run 1 {"x": }'))).value

    bench.runners |= {STRANGER}
    another = await bench.answer(click(action, value, STRANGER))
    mine = await bench.answer(click(action, value))

    assert "no longer available" in shown(another).text
    assert isinstance(mine, Form) or bench.service.started == [(1, '{"x": }')]
    with pytest.raises(NotAllowed):
        await bench.answer(click(action, value, "U3"))


async def test_node_results_are_shown_in_the_card_s_thread(bench: Bench) -> None:
    scripts = bench.store.scripts
    await scripts.redis.set(scripts.keys.results("turn-9"), '{"writer": {"words": 3}}', ex=60)

    reply = shown(await bench.answer(click("run:nodes", "turn-9")))
    gone = shown(await bench.answer(click("run:nodes", "turn-8")))

    assert reply.audience is Audience.THREAD
    assert re.search(r"writer.*words", words_of(reply))
    assert "no longer available" in gone.text


async def test_a_message_that_is_gone_cannot_be_sent_again(bench: Bench) -> None:
    assert "no longer" in shown(await bench.answer(click("turn:again", "turn-7"))).text


@pytest.mark.parametrize(("thread_ts", "root"), [("4.0", "4.0"), ("", "5.0")])
async def test_an_agent_is_chosen_for_the_menu_s_thread(bench: Bench, thread_ts: str, root: str) -> None:
    reply = shown(await bench.answer(click("agent:choose", "1", thread_ts=thread_ts)))

    conversation = await bench.store.sessions.thread(ThreadKey(TEAM, CHANNEL, root))
    assert conversation is not None
    assert conversation.agent == 1
    assert "Support answers in this thread" in reply.text


async def test_unknown_clicks_and_forms_do_nothing(bench: Bench) -> None:
    assert isinstance(await bench.answer(click("of:another:release", "x")), Done)
    assert isinstance(await bench.answer(click("agent:choose", "x")), Done)
    assert isinstance(await bench.answer(filled_form(form="other")), Done)
    assert isinstance(await bench.answer(filled_form(workflow="")), Done)


async def test_a_form_runs_its_workflow_and_asks_about_an_inactive_one(bench: Bench) -> None:
    await bench.answer(filled_form(workflow="1", kind="json", input="[1]"))

    assert bench.service.started == [(1, [1])]
    assert "inactive" in shown(await bench.answer(filled_form(workflow="3", input="x"))).text


async def test_looking_up_names_costs_one_list(bench: Bench) -> None:
    await typed(bench, "/workflows run 1 x")
    await typed(bench, "/workflows run 1 y")

    assert bench.service.paths.count("workflows") == 1
