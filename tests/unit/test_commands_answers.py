"""What is typed, pressed and filled in, and what comes of it; only the service and Redis are stand-ins."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import BadUsage, NoSuch, NotAllowed, UnknownCommand
from bridge.features.clicks import clicked
from bridge.features.conversations.sessions import Results, Sessions
from bridge.features.deps import Call, Deps
from bridge.features.plan import (
    ChooseAgent,
    Nothing,
    OpenForm,
    Plan,
    RunWorkflow,
    SendAgain,
    SetDefault,
    Show,
    StartThread,
)
from bridge.features.registry import router
from bridge.features.stats.snapshots import SnapshotStore
from bridge.features.stats.statistics import Statistics
from bridge.features.submissions import submitted
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import Click, Submission
from bridge.metrics import Metrics
from bridge.playground.emulator.limits import check_view
from bridge.project.catalog import Catalog
from bridge.project.client import ProjectClient
from bridge.queue.recent import Recent
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.reply import Audience, Reply
from support.reports import reports_of
from support.turns import MemoryDirectory

THREAD = ThreadKey("T1", "C1", "1.000")
CALL = Call(team="T1", channel="C1", user="U1", turn=TurnId("turn-1"), response_url="https://hooks.example/r")

WORKFLOWS = [
    {"id": 1, "name": "Report", "is_active": True, "trigger_type": "manual", "node_count": 2},
    {"id": 2, "name": "Report daily", "is_active": True, "trigger_type": "cron", "node_count": 2},
    {"id": 3, "name": "Old one", "is_active": False, "trigger_type": "manual", "node_count": 2},
]
AGENTS = [
    {"id": 1, "name": "Support", "model": "large", "description": "helps"},
    {"id": 2, "name": "None of the above", "model": "small"},
]
PROJECT = {
    "id": 9, "name": "Shop", "description": "The shop.", "visibility": "team", "promptCount": 3, "memberCount": 4,
    "createdAt": "2026-01-01T00:00:00.000Z",
}  # fmt: skip
STATS = {
    "promptCount": 1, "runCount": 4321, "versionCount": 3, "categories": [], "tags": [],
    "lastUpdated": "2026-01-01T00:00:00.000Z",
}  # fmt: skip
ANSWERS = {
    "/api/sdk/workflows": WORKFLOWS,
    "/api/sdk/workflows/1": {"nodes": [{"id": 1, "type": "start"}], "edges": []},
    "/api/sdk/agents": AGENTS,
    "/api/sdk/agents/1": {"tools": [{"name": "search"}]},
    "/api/sdk/project": PROJECT,
    "/api/sdk/stats": STATS,
}


class Service:
    """The project service at the wire: what it is asked, and whether it is there."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_away = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.path}")
        if self.is_away:
            return httpx.Response(418)
        return httpx.Response(200, json=ANSWERS[request.url.path])


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def scripts(redis: Redis) -> Scripts:
    return Scripts(redis, "test", Metrics())


async def _name_of(user: str) -> str:
    return f"the name of {user}"


@pytest.fixture
async def deps(scripts: Scripts, service: Service) -> AsyncIterator[Deps]:
    async def may_run(user: str) -> bool:
        return user == "U1"

    async with ProjectClient("http://project.example", "key", transport=httpx.MockTransport(service)) as client:
        sessions = Sessions(scripts, session_lifetime=timedelta(days=90))
        statistics = Statistics(client, SnapshotStore(scripts), lambda: datetime.now(UTC))
        yield Deps(
            Catalog(client), client, sessions, Results(scripts), may_run, _name_of, statistics=statistics,
            recent=Recent(scripts), reports=reports_of(scripts, statistics, MemoryDirectory()),
        )  # fmt: skip


def shown(plan: Plan) -> Reply:
    assert isinstance(plan, Show)
    return plan.reply


def words_of(reply: Reply) -> str:
    return reply.text + json.dumps(reply.blocks, ensure_ascii=False)


def button_of(reply: Reply) -> Click:
    """Press the first button of a reply."""
    button = next(b for block in reply.blocks if block["type"] == "actions" for b in block["elements"])
    return Click(team="T1", channel="C1", user="U1", action_id=button["action_id"], value=button["value"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/workflows", "Report daily"),
        ("/workflows list", "Report daily"),
        ("/WORKFLOWS List daily", "Workflows with “daily”"),
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
async def test_reading_commands_answer_the_person_who_typed(deps: Deps, line: str, words: str) -> None:
    reply = shown(await router.answer(line, deps, CALL))

    assert words in words_of(reply)
    assert reply.audience is Audience.PRIVATE


@pytest.mark.parametrize(
    "line", ["/workflows --share", "/workflows list \u2014share daily", "/stats --share", "/project \u2013Share"]
)
async def test_what_is_shared_is_shown_to_the_channel(deps: Deps, line: str) -> None:
    assert shown(await router.answer(line, deps, CALL)).audience is Audience.CHANNEL


async def test_only_reading_commands_know_how_to_share(deps: Deps) -> None:
    assert await router.answer("/workflows run 1 say --share", deps, CALL) == RunWorkflow(1, "Report", "say --share")


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
async def test_what_is_mistyped_brings_the_nearest_command(deps: Deps, line: str, nearest: str) -> None:
    with pytest.raises(UnknownCommand) as caught:
        await router.answer(line, deps, CALL)

    assert nearest in caught.value.nearest


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("/workflows show", "/workflows show <workflow>"),
        ("/agents show", "/agents show <agent>"),
    ],
)
async def test_missing_words_bring_the_usage(deps: Deps, line: str, usage: str) -> None:
    with pytest.raises(BadUsage) as caught:
        await router.answer(line, deps, CALL)

    assert caught.value.usage == usage


@pytest.mark.parametrize(
    ("line", "name", "given"),
    [
        ("/workflows run 1 hello  there", "Report", "hello  there"),
        ("/workflows run Report daily x", "Report daily", "x"),
        ('/workflows run "Report" daily', "Report", "daily"),
        ('/workflows run 1 {"a": "&lt;b&gt; &amp; c"}', "Report", {"a": "<b> & c"}),
        ("/workflows run 1 <https://a.example/?x&amp;y|a.example>", "Report", "https://a.example/?x&y"),
        ("/workflows run 1 {“a”: 1}", "Report", {"a": 1}),
        ("/workflows run 1 true", "Report", "true"),
        ("/workflows run 1 line\n  two", "Report", "line\n  two"),
    ],
)
async def test_a_run_is_asked_for_with_its_input(deps: Deps, line: str, name: str, given: Any) -> None:
    plan = await router.answer(line, deps, CALL)

    assert isinstance(plan, RunWorkflow)
    assert (plan.workflow_name, plan.input) == (name, given)


async def test_a_run_without_input_opens_the_form_or_offers_it(deps: Deps) -> None:
    plan = await router.answer("/workflows run Report", deps, CALL)

    assert isinstance(plan, OpenForm)
    assert plan.view["blocks"][0]["element"]["initial_option"]["value"] == "1"
    offered = await clicked(deps, CALL, button_of(plan.otherwise))
    assert isinstance(offered, OpenForm)
    assert offered.view == plan.view


async def test_the_list_of_workflows_has_a_menu_that_opens_the_form_for_who_may_run(deps: Deps) -> None:
    listed = shown(await router.answer("/workflows", deps, CALL))
    menu = listed.blocks[-1]["elements"][0]
    chosen = await clicked(deps, CALL, click(menu["action_id"], "2"))
    guest = replace(CALL, user="U2")

    assert menu["type"] == "external_select"
    assert isinstance(chosen, OpenForm)
    assert chosen.view["blocks"][0]["element"]["initial_option"]["value"] == "2"
    assert "external_select" not in words_of(shown(await router.answer("/workflows", deps, guest)))
    with pytest.raises(NotAllowed):
        await clicked(deps, guest, click(menu["action_id"], "2").model_copy(update={"user": "U2"}))


async def test_an_inactive_workflow_runs_once_it_is_confirmed(deps: Deps) -> None:
    asked = shown(await router.answer('/workflows run "Old one" {"x": 1}', deps, CALL))

    assert "inactive" in asked.text
    assert asked.audience is Audience.PRIVATE
    run = await clicked(deps, CALL, button_of(asked))
    assert isinstance(run, RunWorkflow)
    assert (run.workflow, run.input) == (3, {"x": 1})
    assert run.replaces is not None
    assert run.replaces.replaces_original


async def test_a_confirmation_whose_input_was_too_long_asks_for_it_and_not_again_for_confirmation(deps: Deps) -> None:
    asked = shown(await router.answer("/workflows run 3 " + "x" * 2500, deps, CALL))
    form = await clicked(deps, CALL, button_of(asked))
    assert isinstance(form, OpenForm)

    filled = filled_form(workflow="3", input="y" * 2500, private_metadata=form.view["private_metadata"])

    assert await submitted(deps, CALL, filled) == RunWorkflow(3, "Old one", "y" * 2500)


async def test_only_runners_run(deps: Deps) -> None:
    stranger = Call(team="T1", channel="C1", user="U2", turn=TurnId("turn-2"))

    with pytest.raises(NotAllowed, match="runner"):
        await router.answer("/workflows run 1 x", deps, stranger)
    for action in ("run:again", "run:confirm", "run:form"):
        click = Click(team="T1", channel="C1", user="U2", action_id=action, value='{"w":1,"i":"x"}')
        with pytest.raises(NotAllowed, match="runner"):
            await clicked(deps, stranger, click)
    with pytest.raises(NotAllowed, match="runner"):
        await submitted(deps, stranger, filled_form(workflow="1"))


async def test_a_conversation_begins_with_what_was_typed(deps: Deps) -> None:
    plan = await router.answer("/agents chat Support 1 &lt; 2, is it? @here", deps, CALL)

    assert isinstance(plan, StartThread)
    assert (plan.agent, plan.text) == (1, "1 &lt; 2, is it? @here")
    assert plan.root.audience is Audience.CHANNEL
    assert "1 < 2, is it? @here" in words_of(plan.root)


async def test_people_and_channels_that_are_named_to_an_agent_have_their_names(deps: Deps) -> None:
    """Slack sends ids, and no name for a private channel."""

    async def channel_name_of(channel: str) -> str:
        return {"C2": "staff"}.get(channel, channel)

    deps = replace(deps, channel_name_of=channel_name_of)
    line = "/agents chat Support ask <@U7|bob> and <@U8> in <#C2|> or <#C3|general>, see <https://example.com>"

    plan = await router.answer(line, deps, CALL)

    assert isinstance(plan, StartThread)
    bob, carol = await deps.name_of("U7"), await deps.name_of("U8")
    assert plan.text == f"ask @{bob} and @{carol} in #staff or #general, see https://example.com"


@pytest.mark.parametrize(
    ("line", "agent"),
    [("/agents default support", 1), ("/agents default none of the above", 2), ("/agents default none", None)],
)
async def test_a_channels_default_agent_is_the_one_that_is_named(deps: Deps, line: str, agent: int | None) -> None:
    plan = await router.answer(line, deps, CALL)

    assert isinstance(plan, SetDefault)
    assert plan.agent == agent


async def test_the_list_marks_the_channels_default_agent(deps: Deps) -> None:
    await deps.sessions.set_channel_default("T1", "C1", 1)

    assert "answers mentions in this channel" in words_of(shown(await router.answer("/agents", deps, CALL)))


@pytest.mark.parametrize(
    ("line", "form", "chosen"),
    [
        ("/workflows run", "run", None),
        ("/agents chat", "ask", None),
        ("/agents chat Support", "ask", "1"),
        ("/agents default", "default", None),
    ],
)
async def test_a_command_without_its_words_opens_its_form(deps: Deps, line: str, form: str, chosen: str | None) -> None:
    plan = await router.answer(line, deps, CALL)

    assert isinstance(plan, OpenForm)
    check_view(plan.view)
    choices = [block["element"].get("initial_option", {}).get("value") for block in plan.view["blocks"]]
    assert (plan.view["callback_id"], next(filter(None, choices), None)) in {(form, chosen), (form, "text")}
    assert [element["type"] for element in plan.otherwise.blocks[-1]["elements"]] == ["button"]


async def test_a_thread_tells_its_session_and_forgets_it(deps: Deps) -> None:
    here = Call(team="T1", channel="C1", user="U1", turn=TurnId("turn-1"), thread=THREAD)
    await deps.sessions.choose_agent(THREAD, 1)
    await deps.sessions.rebind(THREAD, expected=None, session=77)

    assert "Support answers here, in session 77." in shown(await router.answer("/session", deps, here)).text
    assert shown(await router.answer("/new", deps, here)).audience is Audience.THREAD
    assert "begins with the next answer" in shown(await router.answer("/session", deps, here)).text


async def test_a_session_is_told_while_the_service_is_away(deps: Deps, service: Service) -> None:
    here = Call(team="T1", channel="C1", user="U1", turn=TurnId("turn-1"), thread=THREAD)
    await deps.sessions.choose_agent(THREAD, 1)
    service.is_away = True

    assert "Agent 1 answers here" in shown(await router.answer("/session", deps, here)).text


@pytest.mark.parametrize("line", ["/stats since tuesday", "/stats since 2999-01-01", "/stats since"])
async def test_a_time_that_cannot_be_compared_with_is_answered_with_one_that_can(deps: Deps, line: str) -> None:
    with pytest.raises(BadUsage, match=r"/acme-stats since (7d|<when>)"):
        await router.answer(line, replace(deps, command_prefix="acme-"), CALL)


async def test_numbers_are_written_as_the_person_is_used_to(deps: Deps) -> None:
    async def locale_of(user: str) -> str:
        return {"U1": "de-DE"}[user]

    reply = shown(await router.answer("/stats", replace(deps, locale_of=locale_of), CALL))

    assert "4.321 runs" in reply.text


async def test_commands_are_shown_with_the_configured_prefix(deps: Deps) -> None:
    prefixed = replace(deps, command_prefix="acme-")

    assert "/acme-workflows show <workflow>" in words_of(shown(await router.answer("/help", prefixed, CALL)))
    with pytest.raises(BadUsage, match="/acme-workflows show"):
        await router.answer("/workflows show", prefixed, CALL)


def click(action: str, value: str, **more: str) -> Click:
    return Click(team="T1", channel="C1", user="U1", action_id=action, value=value, message_ts="5.0", **more)


async def test_a_run_is_repeated_with_the_same_input(deps: Deps) -> None:
    assert await clicked(deps, CALL, click("run:again", '{"w":1,"i":null}')) == RunWorkflow(1, "Report", None)
    assert isinstance(await clicked(deps, CALL, click("run:again", '{"w":1}')), OpenForm)
    with pytest.raises(NoSuch):
        await clicked(deps, CALL, click("run:again", '{"w":99,"i":1}'))


@pytest.mark.parametrize("value", ["", "[]", '{"w":"x"}', "of another release"])
async def test_a_button_that_is_not_understood_opens_an_empty_form(deps: Deps, value: str) -> None:
    plan = await clicked(deps, CALL, click("run:form", value))

    assert isinstance(plan, OpenForm)
    assert "initial_option" not in plan.view["blocks"][0]["element"]


@pytest.mark.parametrize("action", ["run:text", "run:fix"])
async def test_input_that_is_kept_for_a_question_is_only_for_who_was_asked(deps: Deps, action: str) -> None:
    value = button_of(shown(await router.answer('/workflows run 1 {"x": }', deps, CALL))).value

    async def may_run(user: str) -> bool:
        return user in {"U1", "U2"}

    others = replace(deps, may_run=may_run)
    another = await clicked(others, replace(CALL, user="U2"), click(action, value).model_copy(update={"user": "U2"}))
    mine = await clicked(others, CALL, click(action, value))

    assert "no longer available" in shown(another).text
    assert isinstance(mine, RunWorkflow | OpenForm)
    with pytest.raises(NotAllowed):
        await clicked(deps, replace(CALL, user="U3"), click(action, value).model_copy(update={"user": "U3"}))


async def test_node_results_are_shown_in_the_card_s_thread(deps: Deps, scripts: Scripts) -> None:
    await scripts.redis.set(scripts.keys.results("turn-9"), '{"writer": {"words": 3}}', ex=60)

    reply = shown(await clicked(deps, CALL, click("run:nodes", "turn-9")))
    gone = shown(await clicked(deps, CALL, click("run:nodes", "turn-8")))

    assert reply.audience is Audience.THREAD
    assert re.search(r"writer.*words", words_of(reply))
    assert "gone" in gone.text


async def test_a_message_is_sent_again(deps: Deps) -> None:
    plan = await clicked(deps, CALL, click("turn:again", "turn-7"))

    assert isinstance(plan, SendAgain)
    assert plan.turn == "turn-7"
    assert plan.reply.replaces_original


@pytest.mark.parametrize(("thread_ts", "root"), [("4.0", "4.0"), ("", "5.0")])
async def test_an_agent_is_chosen_for_the_menu_s_thread(deps: Deps, thread_ts: str, root: str) -> None:
    plan = await clicked(deps, CALL, click("agent:choose", "1", thread_ts=thread_ts))

    assert isinstance(plan, ChooseAgent)
    assert (plan.thread, plan.agent) == (ThreadKey("T1", "C1", root), 1)
    assert "Support answers in this thread" in plan.reply.text


async def test_unknown_clicks_and_forms_do_nothing(deps: Deps) -> None:
    assert isinstance(await clicked(deps, CALL, click("of:another:release", "x")), Nothing)
    assert isinstance(await clicked(deps, CALL, click("agent:choose", "x")), Nothing)
    assert isinstance(await submitted(deps, CALL, filled_form(form="other")), Nothing)
    assert isinstance(await submitted(deps, CALL, filled_form(workflow="")), Nothing)


def filled_form(*, form: str = "run", private_metadata: str = "", **values: str) -> Submission:
    return Submission(team="T1", channel="C1", user="U1", form=form, values=values, private_metadata=private_metadata)


async def test_a_form_runs_its_workflow_and_asks_about_an_inactive_one(deps: Deps) -> None:
    assert await submitted(deps, CALL, filled_form(workflow="1", kind="json", input="[1]")) == RunWorkflow(
        1, "Report", [1]
    )
    assert "inactive" in shown(await submitted(deps, CALL, filled_form(workflow="3", input="x"))).text


async def test_looking_up_names_costs_one_list(deps: Deps, service: Service) -> None:
    await router.answer("/workflows run 1 x", deps, CALL)
    await router.answer("/workflows run 1 y", deps, CALL)

    assert service.asked == ["GET /api/sdk/workflows"]
