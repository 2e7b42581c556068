"""What commands, buttons and forms lead to: replies, forms, runs and requests to the service."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from bridge.ends.failures import failure, sentence
from bridge.engine.command_line import MEANT
from bridge.engine.results import Modal, NewThread, Outcome, Result
from bridge.errors import (
    BadSchedule,
    BadUsage,
    CommandError,
    ControlNotUnderstood,
    NoSuch,
    NotAllowed,
    NotSure,
    UnknownCommand,
    UnknownOption,
)
from bridge.features.registry import features
from bridge.ids import ThreadKey
from bridge.inbound import Click, SlashCommand, Submission
from bridge.playground.emulator.limits import check_view
from bridge.playground.emulator.sample import BOB, CAROL, PRIVATE
from bridge.slack.blockkit.reply import Audience, Reply
from support.harness import WORKFLOW, Harness
from support.store import CHANNEL, TEAM, THREAD, USER, message, ts
from support.tables import each

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
def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_RUNNERS=USER)
    harness.service.workflows, harness.service.agents = WORKFLOWS, AGENTS
    harness.service.details = {"nodes": [{"id": 1, "type": "start"}], "edges": []}
    return harness


async def typed(harness: Harness, line: str, user: str = USER) -> Result:
    """Type a slash command."""
    command, _, text = line.partition(" ")
    said = SlashCommand(team=TEAM, channel=CHANNEL, user=user, command=command, text=text, response_url=harness.url)
    return await harness.answer(said)


def click(action: str, value: str, user: str = USER, **more: str) -> Click:
    return Click(team=TEAM, channel=CHANNEL, user=user, action_id=action, value=value, message_ts="5.0", **more)


def filled_form(*, form: str = "run", private_metadata: str = "", user: str = USER, **values: str) -> Submission:
    return Submission(
        team=TEAM, channel=CHANNEL, user=user, form=form, values=values, private_metadata=private_metadata
    )


def shown(result: Result) -> Reply:
    """The reply in a handler's result."""
    if isinstance(result, Outcome):
        return result.reply
    assert isinstance(result, Reply)
    return result


def text_of(reply: Reply) -> str:
    return reply.text + json.dumps(reply.blocks, ensure_ascii=False)


def button_of(harness: Harness, reply: Reply, user: str = USER) -> Click:
    """The click on a reply's first button."""
    button = next(b for block in reply.blocks if block["type"] == "actions" for b in block["elements"])
    return click(button["action_id"], button["value"], user, response_url=harness.url)


async def said(harness: Harness, text: str, number: int) -> Result:
    """Send a message in a conversation's thread."""
    return await harness.answer(message(text, ts(number)), in_order=False)


@each(
    ("line", "words"),
    [
        ("/workflows", "Report daily"),
        ("/workflows list", "Report daily"),
        ("/WORKFLOWS List daily", "Workflows matching “daily”"),
        ("/workflows show 1", "Details"),
        ("/workflows show “Report”", "Details"),
        ("/agents", "Support"),
        ("/agents show support", "search"),
        ("/project", "The shop."),
        ("/stats", "4,321"),
        ("/stats since 7d", "There's nothing to compare with yet"),
        ("/help", "/agents List the agents, or search them. Also: show, chat, handle, channel, default"),
        ("/workflows help", "/workflows run [workflow] [input]"),
        ("/stats help", "Show the project's statistics."),
        (
            "/stats help",
            "Add --share to /stats, /stats since, /stats agents, /stats reports or /stats alerts to show the answer to",
        ),
        ("/stats --share help", "Show the project's statistics."),
        ("/stats help extra words", "Show the project's statistics."),
        ("/session", "no conversation here"),
        ("/new", "no conversation here"),
    ],
)
async def test_read_only_commands_answer_their_author(harness: Harness, line: str, words: str) -> None:
    reply = shown(await typed(harness, line))

    assert words in text_of(reply)
    assert reply.audience is Audience.PRIVATE


@each(
    "line",
    [
        "/workflows --share",
        "/workflows list \u2014share daily",
        "/stats --share",
        "/project \u2013Share",
        "/agents channel --share",
        "/schedules --share",
        "/stats --share reports",
        "/stats alerts \u2014share",
    ],
)
async def test_a_shared_answer_is_shown_to_the_channel(harness: Harness, line: str) -> None:
    assert shown(await typed(harness, line)).audience is Audience.CHANNEL


async def test_only_read_only_commands_can_be_shared(harness: Harness) -> None:
    await typed(harness, "/workflows run 1 say --share")

    assert harness.service.started == [(1, "say --share")]


@each(
    ("line", "nearest"),
    [
        ("/workflows rnu 3", "/workflows run"),
        ("/stats sinse 7d", "/stats since"),
        ("/stat", "/stats"),
        ("/agentz list", "/agents"),
        ("/stats --share sinse 7d", "/stats since"),
    ],
)
async def test_a_mistyped_command_brings_the_nearest_one(harness: Harness, line: str, nearest: str) -> None:
    with pytest.raises(UnknownCommand) as caught:
        await typed(harness, line)

    assert nearest in caught.value.nearest


@each(
    ("line", "usages"),
    [
        (
            "/workflows xyz",
            [
                "/workflows list [words]",
                "/workflows show <workflow>",
                "/workflows run [workflow] [input]",
                "/workflows schedule [workflow] [schedule]",
            ],
        ),
        ("/xyz", features.commands.usages()),
    ],
)
async def test_nonsense_shows_the_help(harness: Harness, line: str, usages: list[str]) -> None:
    with pytest.raises(UnknownCommand) as caught:
        await typed(harness, line)

    assert [usage for usage, _sentence in caught.value.help] == usages
    assert all(usage in text_of(failure(caught.value)) for usage in usages)


@each(
    ("line", "opens"),
    [
        ("/workflows run nonsense", "run:form"),
        ("/workflows rnu", "run:form"),
        ("/agents chat nobody", "ask:form"),
        ("/agents default nobody", "default:form"),
        ("/agents channel answers sometimes", "default:form"),
        ("/agents channel ask Support nothing", "default:form"),
    ],
)
async def test_below_an_error_a_button_opens_the_form(harness: Harness, line: str, opens: str) -> None:
    with pytest.raises(CommandError) as caught:
        await typed(harness, line)

    assert button_of(harness, failure(caught.value)).action_id == opens


@each(
    ("line", "offers"), [("/workflows run Nothing", 0), ("/agents default Nobody", 0), ("/agents chat Nobody hello", 1)]
)
async def test_an_error_offers_only_forms_that_its_person_may_use(harness: Harness, line: str, offers: int) -> None:
    with pytest.raises(CommandError) as caught:
        await typed(harness, line, STRANGER)

    assert sum(block["type"] == "actions" for block in failure(caught.value).blocks) == offers


@pytest.mark.parametrize(
    "name",
    ["A\u0130LE 👨‍👩‍👧‍👦 RAPORI", "a\u0131le :man-woman-girl-boy: rapor\u0131", "Aile :MAN-WOMAN-GIRL-BOY: Rapori"],
)
async def test_a_name_is_found_in_any_keyboards_spelling(harness: Harness, name: str) -> None:
    harness.service.workflows = [{**WORKFLOW, "name": "Aile 👨‍👩‍👧‍👦 Rapor\u0131"}]

    await harness.type_command(f"/workflows run {name} hello")

    assert harness.service.runs == ["hello"]


@each("line", ["/workflows list.", "/stats!", "/agents list\u2026", "/workflows help."])
async def test_a_commands_word_may_end_a_sentence(harness: Harness, line: str) -> None:
    plain = re.sub(r"[^a-z/ ]", "", line)

    assert shown(await typed(harness, line)).text == shown(await typed(harness, plain)).text


async def test_an_unknown_name_without_a_near_one_brings_the_list_command(harness: Harness) -> None:
    with pytest.raises(NoSuch) as caught:
        await typed(harness, "/workflows show 99")

    assert failure(caught.value).text == "No workflow 99. /workflows lists them all."


@each(
    ("line", "words"),
    [
        ("/agents show", "Usage: /agents show <agent>, such as /agents show Support."),
        ("/workflows show", "Usage: /workflows show <workflow>, such as /workflows show 3."),
        ("/agents channel reset all", "I don't understand “all”. Usage: /agents channel reset."),
        (
            "/agents channel replies no",
            (
                "I don't understand “no”. Usage: /agents channel replies <auto|all|mentions>, "
                "such as /agents channel replies auto."
            ),
        ),
    ],
)
async def test_extra_words_are_quoted_with_an_example(harness: Harness, line: str, words: str) -> None:
    with pytest.raises(BadUsage) as caught:
        await typed(harness, line)

    assert sentence(caught.value) == words


async def test_help_in_a_thread_lists_what_works_only_there_and_names_the_rest(harness: Harness) -> None:
    await harness.store.sessions.choose_agent(THREAD, 1)
    await harness.store.sessions.rebind(THREAD, expected=None, session=77)

    reply = shown(await said(harness, "!help", 3))
    _hello, own, others, _small, buttons = reply.blocks
    usages = [[line["elements"][0]["text"] for line in block["elements"][1]["elements"]] for block in (own, others)]

    assert usages == [
        ["!stop", "!mute", "!new", "!agent <agent>", "!session [number]", "!why [link]"],
        ["!workflows", "!agents", "!project", "!stats", "!schedules", "!approvals"],
    ]
    assert len(reply.text.splitlines()) <= 16
    assert [button["action_id"] for button in buttons["elements"]] == ["ask:form", "run:form"]


@each(
    ("line", "workflow", "given"),
    [
        ("/workflows run 1 hello  there", 1, "hello  there"),
        ("/workflows run Report daily x", 2, "x"),
        ('/workflows run "Report" daily', 1, "daily"),
        ('/workflows run 1 {"a": "&lt;b&gt; &amp; c"}', 1, {"a": "<b> & c"}),
        ("/workflows run 1 <https://a.example/?x&amp;y|a.example>", 1, "https://a.example/?x&y"),
        ("/workflows run 1 <http://db1.example.com|db1.example.com> up", 1, "db1.example.com up"),
        ("/workflows run 1 {“a”: 1}", 1, {"a": 1}),
        ("/workflows run 1 true", 1, "true"),
        ("/workflows run 1 --shrae it", 1, "--shrae it"),
        ("/workflows run 1 line\n  two", 1, "line\n  two"),
        ("/workflows ｒｕｎ　“Ｒｅｐｏｒｔ　daily”\u00a0\u200b“x” １", 2, "\u200b“x” １"),  # noqa: RUF001 - as keyboards send it
        ("/workflows run *Report daily* *x*", 2, "*x*"),
        ('/workflows run 1 ｛"ａ"：１｝', 1, {"ａ": 1}),  # noqa: RUF001
    ],
)
async def test_a_typed_input_starts_the_run(harness: Harness, line: str, workflow: int, given: Any) -> None:
    await typed(harness, line)

    assert harness.service.started.pop() == (workflow, given)


@pytest.mark.parametrize(
    ("line", "form", "chosen", "filled"),
    [
        ("/workflows run Old the invoice to Bob", "run", "3", "the invoice to Bob"),
        ("/workflows run old oen the invoice", "run", "3", "the invoice"),
        ('/workflows run Old {"a": 1}', "run", "3", '{"a": 1}'),
        ("/agents chat Supp hi there", "ask", "1", "hi there"),
        ("/agents chat Suport, hi", "ask", "1", "hi"),
    ],
)
async def test_an_action_without_a_whole_name_opens_its_form_filled_in(
    harness: Harness, line: str, form: str, chosen: str, filled: str
) -> None:
    await harness.type_command(line)

    (view,) = harness.seen.forms
    check_view(view)
    fields = [block["element"] for block in view["blocks"] if "element" in block]
    assert view["callback_id"] == form
    assert (fields[0]["initial_option"]["value"], fields[1]["initial_value"]) == (chosen, filled)
    assert "not sure which" in text_of(Reply(text="", blocks=tuple(view["blocks"])))
    assert (harness.service.started, harness.service.asked) == ([], [])


@pytest.mark.parametrize(
    ("line", "words", "started"),
    [
        ("!workflows run Report dialy x", "Report (ID 1) with the input “dialy x”", (1, "dialy x")),
        ("!workflows run Reprt &lt;b&gt;", "Did you mean Report (ID 1) with the input “&lt;b&gt;” or", (1, "<b>")),
        ("!workflows run Reprt &amp;lt;b\n  c", "Did you mean Report (ID 1) with the input", (1, "&lt;b\n  c")),
        ("!workflows run Reportdail x “y”", "Did you mean Report", (2, "x “y”")),
    ],
)
async def test_an_action_typed_in_a_thread_asks_and_runs_once(
    harness: Harness, line: str, words: str, started: tuple[int, str]
) -> None:
    await harness.store.conversation(agent=1)
    await harness.receive(message(line, ts(1)))
    await harness.work()
    (asked,) = harness.seen.ephemerals
    assert words in asked.text
    assert harness.service.started == []

    for _ in range(2):
        await harness.press(next(one["action_id"] for one in asked.blocks[-1]["elements"]), works=False)
    await harness.work()

    assert harness.service.started == [started]


@each(
    "line",
    [
        "/agents default Supp",
        "/agents default None of the",
        "/agents channel ask Supp A0123ABC",
        "/agents channel run Rep A0123ABC",
    ],
)
async def test_settings_are_not_changed_for_a_beginning(harness: Harness, line: str) -> None:
    before = await harness.store.channels.get(TEAM, CHANNEL)
    with pytest.raises(NotSure) as caught:
        await typed(harness, line)

    assert await harness.store.channels.get(TEAM, CHANNEL) == before
    assert button_of(harness, failure(caught.value)).action_id == MEANT[0]


async def test_a_confirmed_default_is_set(harness: Harness) -> None:
    await harness.type_command("/agents default Supp")

    await harness.press(MEANT[0])

    assert (await harness.store.channels.get(TEAM, CHANNEL)).agent == 1
    assert "You chose Support" in str([one.blocks for one in harness.seen.ephemerals])


async def test_people_who_may_not_act_get_no_button_to_do_it(harness: Harness) -> None:
    with pytest.raises(NotSure) as caught:
        await typed(harness, "/agents default Supp", STRANGER)

    assert all(block["type"] != "actions" for block in failure(caught.value).blocks)


@each(
    ("line", "words", "audience"),
    [
        ('/workflows "Report daily"', "Details", Audience.PRIVATE),
        ("/workflows report　DAILY --share", "Details", Audience.CHANNEL),
        ("/agents Support", "search", Audience.PRIVATE),
        ("/agents sup", "The closest match for “sup”.", Audience.PRIVATE),
        ("/workflows 1", "Details", Audience.PRIVATE),
    ],
)
async def test_a_name_after_a_command_shows_it(harness: Harness, line: str, words: str, audience: Audience) -> None:
    reply = shown(await typed(harness, line))

    assert words in text_of(reply)
    assert reply.audience is audience


async def test_a_workflow_is_shown_by_what_it_does_and_its_details_behind_a_button(harness: Harness) -> None:
    harness.service.workflows = [{**WORKFLOWS[0], "description": "Sends the report."}]

    for line in ("/workflows", "/workflows show 1", "/workflows Report"):
        said = text_of(shown(await typed(harness, line)))
        assert "Sends the report." in said
        assert [one for one in ("manual", "Trigger", "2 nodes", "Nodes", "(ID") if one in said] == []
    for form in ("/workflows run 1", "/workflows schedule 1"):
        assert "Report: Sends the report." in str(await typed(harness, form))
    details = str(await harness.answer(click("workflow:details", "1")))
    assert [one for one in ("ID", "Trigger", "manual", "Nodes") if one not in details] == []


async def test_namesakes_are_told_apart_in_menus(harness: Harness) -> None:
    harness.service.workflows = [{**WORKFLOWS[0], "id": 8, "name": "REPORT"}, *WORKFLOWS]
    await harness.type_command("/workflows run")
    view = harness.slack.views(USER)[-1]

    offered = await harness.slack.ui.suggestions(USER, view, "workflow", "")

    shown = [one["text"]["text"] for one in offered]
    assert shown == ["REPORT (ID 8)", "Report (ID 1)", "Report daily", "Old one (inactive)"]


@each(
    ("line", "words"),
    [
        ("/agents Suport", "No agent “Suport”. Did you mean Support?"),
        ("/workflows Rep", "Several workflows start with “Rep”"),
        ("/workflows Shwo 3", "I don't recognize “/workflows Shwo”. Did you mean /workflows show?"),
        ("/workflows Zzzz", "I don't recognize “/workflows Zzzz”."),
    ],
)
async def test_what_was_typed_is_echoed_as_typed(harness: Harness, line: str, words: str) -> None:
    with pytest.raises(CommandError) as caught:
        await typed(harness, line)

    assert words in sentence(caught.value)


async def test_a_name_after_a_command_needs_no_service_for_its_suggestion(harness: Harness) -> None:
    harness.service.always = httpx.Response(503)

    with pytest.raises(UnknownCommand, match="rnu"):
        await typed(harness, "/workflows rnu 3")


@each("line", ["/workflows show Old", "/agents show sup"])
async def test_a_reading_command_says_that_it_guessed(harness: Harness, line: str) -> None:
    assert f"The closest match for “{line.rsplit(maxsplit=1)[-1]}”." in text_of(shown(await typed(harness, line)))


async def test_an_expired_question_says_so(harness: Harness) -> None:
    value = '{"usage": "/agents default [agent]", "id": 1, "turn": "gone", "at": 0}'

    assert "no longer available" in shown(await harness.answer(click(MEANT[0], value))).text
    with pytest.raises(ControlNotUnderstood):
        await harness.answer(click(MEANT[0], "of another release"))


@pytest.mark.parametrize("number", [1234567890123456, 2**53 + 1, 9223372036854775807, 12345678901234567890, 10**40 + 1])
async def test_ids_of_any_length_work_everywhere(harness: Harness, number: int) -> None:
    harness.service.workflows = [{**WORKFLOWS[0], "id": number}, {**WORKFLOWS[2], "id": number - 1}]
    harness.service.agents = [{**AGENTS[0], "id": number}, {**AGENTS[1], "id": number - 1}]

    assert f'"value": "{number}"' in text_of(shown(await typed(harness, f"/workflows show {number}")))
    assert "Nodes" in str(await harness.answer(click("workflow:details", str(number))))
    await typed(harness, f"/workflows run {number} x")
    await harness.answer(click("run:again", f'{{"w":{number},"i":{number}}}'))
    await harness.answer(filled_form(workflow=str(number), input="y"))
    confirm = button_of(harness, shown(await typed(harness, f"/workflows run #{number - 1} z")))
    await harness.answer(confirm)
    form = await harness.answer(click("workflow:run", str(number)))
    await harness.answer(click("agent:choose", str(number), thread_ts="4.0"))
    chat = await typed(harness, f"/agents chat {number} hi")
    await typed(harness, f"/agents default {number}")

    assert harness.service.started == [(number, "x"), (number, number), (number, "y"), (number - 1, "z")]
    assert isinstance(form, Modal)
    assert form.view["blocks"][0]["element"]["initial_option"]["value"] == str(number)
    assert (await harness.store.channels.get(TEAM, CHANNEL)).agent == number
    conversation = await harness.store.sessions.thread(ThreadKey(TEAM, CHANNEL, "4.0"))
    assert conversation is not None
    assert conversation.agent == number
    assert isinstance(chat, Outcome)
    assert chat.after == (NewThread(agent=number, text="hi"),)


async def test_a_run_without_input_opens_the_form_or_offers_it(harness: Harness) -> None:
    result = await typed(harness, "/workflows run Report")

    assert isinstance(result, Modal)
    assert result.view["blocks"][0]["element"]["initial_option"]["value"] == "1"
    offered = await harness.answer(button_of(harness, result.otherwise))
    assert isinstance(offered, Modal)
    assert offered.view == result.view


async def test_runners_get_a_menu_below_the_list_of_workflows(harness: Harness) -> None:
    listed = shown(await typed(harness, "/workflows"))
    menu = listed.blocks[-1]["elements"][0]
    chosen = await harness.answer(click(menu["action_id"], "2"))

    assert menu["type"] == "external_select"
    assert isinstance(chosen, Modal)
    assert chosen.view["blocks"][0]["element"]["initial_option"]["value"] == "2"
    assert "external_select" not in text_of(shown(await typed(harness, "/workflows", STRANGER)))
    with pytest.raises(NotAllowed):
        await harness.answer(click(menu["action_id"], "2", STRANGER))


async def test_an_inactive_workflow_runs_once_it_is_confirmed(harness: Harness) -> None:
    await harness.type_command('/workflows run "Old one" {"x": 1}')
    (asked,) = harness.seen.ephemerals
    assert "inactive" in asked.text
    assert harness.service.started == []

    for _ in range(2):
        await harness.press("run:confirm", works=False)
    await harness.work()

    assert harness.service.started == [(3, {"x": 1})]
    assert "You chose to run it anyway" in str([one.blocks for one in harness.seen.ephemerals])


async def test_a_confirmation_of_an_overlong_input_asks_for_the_input(harness: Harness) -> None:
    asked = shown(await typed(harness, "/workflows run 3 " + "x" * 2500))
    form = await harness.answer(button_of(harness, asked))
    assert isinstance(form, Modal)

    filled = filled_form(workflow="3", input="y" * 2500, private_metadata=form.view["private_metadata"])

    await harness.answer(filled)

    assert harness.service.started == [(3, "y" * 2500)]


@each(
    "asked",
    [
        SlashCommand(team=TEAM, channel=CHANNEL, user=STRANGER, command="/workflows", text="run 1 x"),
        *(click(action, '{"w":1,"i":"x"}', STRANGER) for action in ("run:again", "run:confirm", "run:form")),
        filled_form(workflow="1", user=STRANGER),
    ],
)
async def test_only_runners_run(harness: Harness, asked: SlashCommand | Click | Submission) -> None:
    with pytest.raises(NotAllowed, match="runner"):
        await harness.answer(asked)


async def test_a_conversation_starts_with_the_typed_message(harness: Harness) -> None:
    outcome = await typed(harness, "/agents chat Support 1 &lt; 2, is it? @here")

    assert isinstance(outcome, Outcome)
    assert outcome.after == (NewThread(agent=1, text="1 &lt; 2, is it? @here"),)
    assert outcome.reply.audience is Audience.CHANNEL
    assert "1 < 2, is it? @here" in text_of(outcome.reply)


async def test_people_and_channels_reach_an_agent_by_name(harness: Harness) -> None:
    """Slack sends IDs, and no names of private channels."""
    line = f"/agents chat Support ask <@{BOB}|bob> and <@{CAROL}> in <#{PRIVATE}|> or <#C3|general>, see <https://a.b>"

    outcome = await typed(harness, line)

    assert isinstance(outcome, Outcome)
    text = "ask @Bob Brandt and @Carol Conti in #private or #general, see https://a.b"
    assert outcome.after == (NewThread(agent=1, text=text),)


@pytest.mark.parametrize(
    ("line", "agent"),
    [
        ("/agents default support", 1),
        ("/agents default Ｓｕｐｐ\u00adｏｒｔ", 1),  # noqa: RUF001
        ("/agents default none of the above", 2),
        ("/agents default none", None),
    ],
)
async def test_the_named_agent_becomes_the_channels_default(harness: Harness, line: str, agent: int | None) -> None:
    await harness.store.set_channel(agent=7)

    await typed(harness, line)

    assert (await harness.store.channels.get(TEAM, CHANNEL)).agent == agent


async def test_the_list_marks_the_channels_default_agent(harness: Harness) -> None:
    await harness.store.set_channel(agent=1)

    assert "default in this channel" in text_of(shown(await typed(harness, "/agents")))


@each(
    ("line", "form", "chosen"),
    [
        ("/workflows run", "run", None),
        ("/agents chat", "ask", None),
        ("/agents chat Support", "ask", "1"),
        ("/agents default", "default", "none"),
    ],
)
async def test_a_command_without_arguments_opens_its_form(
    harness: Harness, line: str, form: str, chosen: str | None
) -> None:
    result = await typed(harness, line)

    assert isinstance(result, Modal)
    check_view(result.view)
    choices = [
        block["element"].get("initial_option", {}).get("value") for block in result.view["blocks"] if "element" in block
    ]
    assert (result.view["callback_id"], next(filter(None, choices), None)) in {(form, chosen), (form, "auto")}
    assert [element["type"] for element in result.otherwise.blocks[-1]["elements"]] == ["button"]


async def test_a_thread_shows_its_session_and_drops_it(harness: Harness) -> None:
    await harness.store.sessions.choose_agent(THREAD, 1)
    await harness.store.sessions.rebind(THREAD, expected=None, session=77)

    assert "Support answers here in session 77." in shown(await said(harness, "!session", 1)).text
    assert shown(await said(harness, "!new", 2)).audience is Audience.THREAD
    assert "in a new session from the next message on" in shown(await said(harness, "!session", 3)).text


async def test_a_session_is_shown_while_the_service_is_down(harness: Harness) -> None:
    await harness.store.sessions.choose_agent(THREAD, 1)
    harness.service.always = httpx.Response(418)

    assert "Agent 1 answers here" in shown(await said(harness, "!session", 1)).text


@each(
    ("line", "option", "nearest"),
    [
        ("/stats --shrae", "--shrae", "--share"),
        ("/stats —Shar", "--Shar", "--share"),
        ("/stats since 7d --shrae", "--shrae", "--share"),
        ("/workflows list --shared", "--shared", "--share"),
        ("/workflows show 1 --share --loud", "--loud", ""),
        ("/project --json=yes", "--json", ""),
        ("/approvals --Share", "--share", ""),
        ("/stats --share=yes", "--share=yes", "--share"),
        ("/stats --compare 7d", "--compare", ""),
    ],
)
async def test_an_unknown_option_is_named_with_the_nearest(
    harness: Harness, line: str, option: str, nearest: str
) -> None:
    with pytest.raises(UnknownOption) as refused:
        await typed(harness, line)

    assert (refused.value.typed, refused.value.nearest) == (option, nearest)
    assert refused.value.command == line.partition(" ")[0]


@each("when", ["tuesday", "2999-01-01"])
async def test_an_unusable_comparison_time_brings_a_usable_one(harness: Harness, when: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        await typed(harness, f"/stats since {when}")

    assert sentence(refused.value).startswith(
        f"I don't understand “{when}”: expected an age or a date up to 400 days ago, such as 7d or "
    )


async def test_a_missing_comparison_time_brings_the_usage(harness: Harness) -> None:
    harness.configure(BRIDGE_COMMAND_PREFIX="acme-")

    with pytest.raises(BadUsage, match="/acme-stats since <when>"):
        await typed(harness, "/stats since")


@pytest.mark.parametrize("is_runner", [True, False])
async def test_statistics_lead_to_a_scheduled_report(harness: Harness, *, is_runner: bool) -> None:
    card = shown(await typed(harness, "/stats", USER if is_runner else STRANGER))

    for form in (card.blocks, *card.plainer):
        assert ('"report:form"' in json.dumps(form)) is is_runner


async def test_commands_are_shown_with_the_configured_prefix(harness: Harness) -> None:
    harness.configure(BRIDGE_COMMAND_PREFIX="acme-")

    assert "/acme-workflows List the workflows, or search them. Also: show, run" in text_of(
        shown(await typed(harness, "/help"))
    )
    with pytest.raises(BadUsage, match="/acme-workflows show"):
        await typed(harness, "/workflows show")


async def test_run_again_uses_the_same_input(harness: Harness) -> None:
    await harness.answer(click("run:again", '{"w":1,"i":null}'))

    assert harness.service.started == [(1, None)]
    assert isinstance(await harness.answer(click("run:again", '{"w":1}')), Modal)
    with pytest.raises(NoSuch):
        await harness.answer(click("run:again", '{"w":99,"i":1}'))


@each("value", ["", "[]", '{"w":"x"}', "of another release"])
async def test_a_button_with_a_malformed_value_opens_an_empty_form(harness: Harness, value: str) -> None:
    result = await harness.answer(click("run:form", value))

    assert isinstance(result, Modal)
    assert "initial_option" not in result.view["blocks"][0]["element"]


@pytest.mark.parametrize("action", ["run:text", "run:fix"])
async def test_a_pending_input_is_only_for_its_author(harness: Harness, action: str) -> None:
    value = button_of(harness, shown(await typed(harness, '/workflows run 1 {"x": }'))).value

    harness.configure(BRIDGE_RUNNERS=f"{USER},{STRANGER}")
    another = await harness.answer(click(action, value, STRANGER))
    mine = await harness.answer(click(action, value))

    assert "no longer available" in shown(another).text
    assert isinstance(mine, Modal) or harness.service.started == [(1, '{"x": }')]
    with pytest.raises(NotAllowed):
        await harness.answer(click(action, value, "U3"))


async def test_node_results_are_shown_in_the_card_s_thread(harness: Harness) -> None:
    scripts = harness.store.scripts
    await scripts.redis.set(scripts.keys.results("turn-9"), '{"writer": {"words": 3}}', ex=60)

    reply = shown(await harness.answer(click("run:nodes", "turn-9")))
    gone = shown(await harness.answer(click("run:nodes", "turn-8")))

    assert reply.audience is Audience.THREAD
    assert re.search(r"writer.*words", text_of(reply))
    assert "no longer available" in gone.text


@pytest.mark.parametrize(("thread_ts", "root"), [("4.0", "4.0"), ("", "5.0")])
async def test_an_agent_is_chosen_for_the_menu_s_thread(harness: Harness, thread_ts: str, root: str) -> None:
    reply = shown(await harness.answer(click("agent:choose", "1", thread_ts=thread_ts)))
    later = shown(await harness.answer(click("agent:choose", "2", "U3", thread_ts=thread_ts)))

    assert "already chosen an agent" in later.text
    conversation = await harness.store.sessions.thread(ThreadKey(TEAM, CHANNEL, root))
    assert conversation is not None
    assert conversation.agent == 1
    assert "Support answers in this thread" in reply.text


async def test_a_form_runs_its_workflow_and_asks_about_an_inactive_one(harness: Harness) -> None:
    await harness.answer(filled_form(workflow="1", kind="json", input="[1]"))

    assert harness.service.started == [(1, [1])]
    assert "inactive" in shown(await harness.answer(filled_form(workflow="3", input="x"))).text
