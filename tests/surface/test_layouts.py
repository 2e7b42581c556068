"""Layouts: within Slack's limits, never crashing, and never interpreting untrusted text as markup."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bridge.ends import notices
from bridge.ends.failures import failure
from bridge.errors import CannotConnect, NotAllowed
from bridge.features.agents import layout as agents
from bridge.features.buttons import workflow_options
from bridge.features.channels import layout as channels
from bridge.features.conversations import answers
from bridge.features.workflows import forms, layout as workflows, run_card
from bridge.playground.emulator.limits import check_blocks, check_view
from bridge.project.models import Agent, AgentDetail, RunResult, Workflow, WorkflowDetail
from bridge.slack.blockkit import kit, modals
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import parts_of
from support.arguments import type_hints
from support.layouts import BRICKS, ROOMS, layouts, payloads, samples_of, shown_in
from support.tables import each
from support.unsafe_markup import text_length

NASTY = "<!channel> *b* `x` ```y``` <https://evil.example|label> @here <@U0123> & \u202e\x07\nline"
LONG = NASTY * 200
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

OTHERS = {BRICKS, "bridge.features.statistics"}  # parts of messages; tables, which test_blocks_stats covers
OF_USAGES = {"notices.help_card", "notices.help_lines"}  # of lines that are longer than others

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["id", "name", "type", "source", "target", "data", "tool", "x"]), inner, max_size=5
        )
    ),
    max_leaves=25,
)


def workflow(id_: int = 1, name: str = "Report", **more: Any) -> Workflow:
    facts = {"description": None, "is_active": True, "trigger_type": "manual", "node_count": 3} | more
    return Workflow(id=id_, name=name, **facts)


def agent(id_: int = 1, name: str = "Support", **more: Any) -> Agent:
    return Agent(id=id_, name=name, **({"model": "large"} | more))


def a_run(name: str = "Report", input_: Any = "x") -> run_card.Run:
    return run_card.Run(workflow=3, name=name, input=input_, started_by=name, turn="turn-1")


def result(output: Any, nodes: Any = None, status: str = "completed") -> RunResult:
    return RunResult(runId=4711, status=status, output=output, nodeResults=nodes)


def objects(shown: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in blocks."""
    if isinstance(shown, dict):
        yield shown
        shown = list(shown.values())
    if isinstance(shown, (list, tuple)):
        for inner in shown:
            yield from objects(inner)


LENGTHS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "section": lambda b: len(b.get("text", {}).get("text", "")) <= 3000 and len(b.get("fields", [])) <= 10,
    "header": lambda b: 0 < len(b["text"]["text"]) <= 150,
    "context": lambda b: 0 < len(b["elements"]) <= 10,
    "context_actions": lambda b: 0 < len(b["elements"]) <= 5,
    "feedback_buttons": lambda b: len(b["action_id"]) <= 255,
    "channel": lambda b: len(b["channel_id"]) > 0,
    "actions": lambda b: 0 < len(b["elements"]) <= 25,
    "button": lambda b: len(b["text"]["text"]) <= 75 and len(b["value"]) <= 2000 and len(b["action_id"]) <= 255,
    "static_select": lambda b: 0 < len(b["options"]) <= 100,
    "external_select": lambda b: b["min_query_length"] == 0,
    "plain_text": lambda b: len(b["text"]) > 0 and b["emoji"] is False,
    "mrkdwn": lambda b: b["verbatim"] and re.sub(r"<!date\^[^<>]*>", "", b["text"]).count("<") == 0,
    "usergroup": lambda b: len(b["usergroup_id"]) > 0,
    "date": lambda b: b["timestamp"] > 0 and len(b["fallback"]) > 0,
    "emoji": lambda b: bool(re.fullmatch("[a-z0-9_+'-]+", b["name"])),
    "text": lambda b: len(b["text"]) > 0,
    "link": lambda b: len(b["text"]) > 0 and "{" not in b["url"],
    "rich_text": lambda b: len(b["elements"]) > 0,
    "rich_text_section": lambda b: len(b["elements"]) > 0,
    "rich_text_quote": lambda b: len(b["elements"]) == 1,
    "rich_text_list": lambda b: len(b["elements"]) > 0,
    "rich_text_preformatted": lambda b: len(b["elements"]) == 1,
    # Covered by tests/features/test_blocks_stats.py
    "data_visualization": lambda b: 0 < len(b["title"]) <= 50,
    "pie": lambda b: 0 < len(b["segments"]) <= 6,
    "bar": lambda b: 0 < len(b["series"]) <= 6,
    "line": lambda b: 0 < len(b["series"]) <= 6,
    "data_table": lambda b: 2 <= len(b["rows"]) <= 101 and len(b["caption"]) > 0,
    "raw_text": lambda b: len(b["text"]) > 0,
    "raw_number": lambda b: len(b["text"]) > 0,
}


@each("room", [room for room in ROOMS if room not in OTHERS])
def test_every_layout_keeps_slack_s_limits(room: str) -> None:
    for text, many in [("Report", 2), ("", 1), (" \n", 2), (NASTY, 300), (LONG, 300)]:
        for name, reply in shown_in(room, text, many):
            if not isinstance(reply, Reply) or name in OF_USAGES:
                continue
            assert 1 <= len(reply.blocks) <= 50 or reply.markdown, name
            assert text_length(list(reply.blocks)) + len(reply.markdown if text != LONG else "") <= kit.MESSAGE, name
            for shown in objects([*reply.blocks, *reply.plainer, *reply.footer]):
                if "type" in shown:
                    assert LENGTHS[shown["type"]](shown), (name, shown)
            assert 0 < len(reply.text) <= 3000, name
            assert not re.search(r"&(?!amp;|lt;|gt;)|<(?!!date|#C)|(?<!\w)@here", reply.text), name


def test_slack_accepts_every_sample() -> None:
    for payload in payloads():
        if payload.kind == "view":
            check_view(payload.sent)
        else:
            check_blocks(payload.sent["blocks"])


def test_every_layout_has_a_sample() -> None:
    sampled = {inspect.unwrap(sample.layout) for room in ROOMS for sample in samples_of(room, "x")}

    assert [f"{layout.__module__}.{layout.__name__}" for layout in layouts() if layout not in sampled] == []


MARK = "from outside"
OURS = {  # words of the bridge's own, addresses of the operator's, and what Slack calls things
    "action_id", "answer", "answers", "card_link", "channel", "choice", "code", "decides", "does", "face", "form",
    "group", "input_turn", "key", "kind", "limited", "link", "noun", "of", "only_for", "reason", "replies",
    "result", "state", "step", "template", "trouble", "turn", "url", "value", "what", "why", "workspace", "zone",
}  # fmt: skip


def test_every_argument_for_a_text_has_a_sample_from_outside() -> None:
    given: dict[str, bool] = {}
    for sample in (sample for room in ROOMS for sample in samples_of(room, MARK)):
        bound = inspect.signature(sample.layout).bind(*sample.positional, **sample.named)
        for name, hint in type_hints(sample.layout).items():
            if name != "return" and hint in (str, Any, Sequence[str]) and name not in OURS:
                about = f"{sample.name}({name})"
                given[about] = given.get(about, False) or MARK in repr(bound.arguments.get(name))

    assert [about for about, is_given in given.items() if not is_given] == []


def texts(reply: Reply) -> str:
    return "".join(shown["text"] for shown in objects(reply.blocks) if isinstance(shown.get("text"), str))


def test_inactive_workflows_are_marked_and_listed_last() -> None:
    reply = workflows.workflow_list([workflow(1, "A", is_active=False), workflow(2, "B")])

    assert re.search(r"B.*A.* inactive$", texts(reply))
    assert texts(reply).count("inactive") == 1


def test_a_long_list_is_cut_into_numbered_pages() -> None:
    flows = [workflow(number, f"Flow {number:03d}", description="about " * 20) for number in range(300)]

    first, second, last = (workflows.workflow_list(flows, "flow", page) for page in (0, 1, 99))

    assert re.findall(r"Flow \d+", texts(second)) == [f"Flow {number:03d}" for number in range(20, 40)]
    assert "21 to 40 of 300" in texts(second)
    assert buttons(first) == {"list:workflows:next": '{"page":1,"words":"flow"}'}
    assert buttons(second).keys() == {"list:workflows:previous", "list:workflows:next"}
    assert "281 to 300 of 300" in texts(last), "past the end, the last page is shown"
    assert buttons(last).keys() == {"list:workflows:previous"}


def test_a_list_is_filtered_by_name_and_description() -> None:
    found = [workflow(1, "Invoice"), workflow(2, "Other", description="about INVOICES"), workflow(3, "Third")]

    assert re.findall("Invoice|Other|Third", texts(workflows.workflow_list(found, "invoice"))) == ["Invoice", "Other"]
    assert "No workflow matches “xyz”" in workflows.workflow_list(found, "xyz").text


@each(
    ("nodes", "shown"),
    [
        (
            [{"id": "a", "type": "start"}, {"id": "b", "type": "agent", "data": {"name": "Writer"}},
             {"id": "c", "name": "condition", "type": "Condition"}, {"id": 4}, {"type": "end"}],
            "Nodes: start, Writer (agent), condition, 4, end",
        ),
        ({"a": {"type": "start"}, "b": {"name": "Writer"}, "c": 3}, "Nodes: start, Writer, c"),
        (["start", ["Writer", {}], None], "Nodes: start, Writer"),
        ([{"type": "agent"}] * 300, "Nodes: agent (x200)"),
    ],
)  # fmt: skip
def test_nodes_are_listed_in_their_order(nodes: Any, shown: str) -> None:
    card = texts(workflows.workflow_card(workflow(), WorkflowDetail(nodes=nodes), is_whole=True))

    assert shown in card


@given(ANY_JSON, ANY_JSON)
def test_undocumented_json_does_not_crash(one: Any, other: Any) -> None:
    workflows.workflow_card(workflow(), WorkflowDetail(nodes=one, edges=other), is_whole=True)
    agents.agent_card(agent(), AgentDetail(tools=one))
    answers.answer_reply("text", one)
    run_card.finished(a_run(), result(one, other), timedelta())
    run_card.node_results(one)


@each(
    ("tools", "line"),
    [
        (["search", "search", "mail"], "search (x2), mail"),
        (
            [{"name": "search", "id": 1}, {"tool": "mail"}, {"function": {"name": "sum"}}, {"id": 7}],
            "search, mail, sum, 7",
        ),
        ({"search": 1, "mail": {}}, "search, mail"),
        ("search", "search"),
        ([["search"], [{"tool": {"name": "mail"}}]], "search, mail"),
    ],
)
def test_tools_in_any_form_are_named(tools: Any, line: str) -> None:
    footer = answers.answer_reply("text", tools).footer

    assert footer[0]["elements"][-1]["text"] == f"Tools used: {line}"


def test_an_answer_is_markdown_in_the_thread() -> None:
    reply = answers.answer_reply("**Hello** <!here>", None)

    assert (reply.audience, reply.footer) == (Audience.THREAD, ())
    assert [part.blocks for part in parts_of(reply)] == [
        ({"type": "markdown", "text": f"**Hello** <{kit.WORD_JOINER}!here>"},)
    ]


def test_an_empty_answer_says_so() -> None:
    assert "empty" in answers.answer_reply("  \n").markdown


def test_output_is_shown_as_json_or_text() -> None:
    as_json = run_card.finished(a_run(), result({"a": ["ä"]}), timedelta(seconds=1.25))
    as_text = run_card.finished(a_run(), result("two\nlines"), timedelta(seconds=65))

    assert '{\n  "a": [\n    "ä"\n  ]\n}' in texts(as_json)
    assert "run 4711 · 1.2 s" in texts(as_json)
    assert "two\nlines" in texts(as_text)
    assert "run 4711 · 1 min 5 s" in texts(as_text)
    assert as_json.files == as_text.files == ()


def test_long_output_is_attached_whole() -> None:
    output = {"rows": list(range(5000))}

    reply = run_card.finished(a_run(), result(output), timedelta())

    assert reply.files[0].name == "run-4711-output.json"
    assert json.loads(reply.files[0].content) == output
    assert "in the thread" in texts(reply)


def buttons(reply: Reply) -> dict[str, str]:
    return {shown["action_id"]: shown["value"] for shown in objects(reply.blocks) if shown.get("type") == "button"}


@each(
    ("status", "title"),
    [
        ("completed", "✅ Report · completed"),
        ("Success", "✅ Report · Success"),
        ("", "✅ Report · finished"),
        ("FAILED", "❌ Report · FAILED"),
        ("timed out", "❌ Report · timed out"),
        ("in_progress", "⏳ Report · in_progress"),
        ("of tomorrow", "\N{INFORMATION SOURCE}\N{VARIATION SELECTOR-16} Report · of tomorrow"),
    ],
)
def test_a_card_starts_with_its_status_emoji(status: str, title: str) -> None:
    reply = run_card.finished(a_run(), result("ok", status=status), timedelta())

    assert texts(reply).startswith(title)
    assert reply.text.startswith(f"{title}\n")


def test_a_card_shows_a_running_failed_or_unknown_run() -> None:
    assert run_card.running(a_run()).text.startswith("⏳ Report · running")
    assert run_card.failed(a_run(), CannotConnect("run_workflow")).text.startswith("❌ Report · failed\n")
    assert run_card.unknown(a_run()).text.startswith("⚠️ Report · outcome unknown\n")


@each(
    ("output", "nodes", "sentence"),
    [
        ({"error": "Mailbox full."}, {"n1": {"name": "Send", "status": "failed"}}, "Failed at “Send”: “Mailbox full.”"),
        (None, {"n1": {"status": "error", "error": {"message": "no route"}}}, "Failed at “n1”: “no route”"),
        (
            None,
            [{"status": "completed"}, {"name": "b", "status": "failed"}],
            "Failed at “b”. The workflow gave no reason.",
        ),
        (
            {"a": 1},
            {"x": {"status": "completed", "message": "fine"}, "y": {"label": "Y", "error": "late"}},
            "Failed at “Y”: “late”",
        ),
        ({"errors": [{"detail": "bad day"}]}, {}, "Failed: “bad day”"),
        ("it broke\nhere", None, "Failed: “it broke here”"),
        (None, None, "Failed. The workflow gave no reason."),
    ],
)
def test_a_failed_run_says_where_and_why_without_json(output: Any, nodes: Any, sentence: str) -> None:
    reply = run_card.finished(a_run(), result(output, nodes, status="failed"), timedelta())

    assert sentence in texts(reply)
    assert "{" not in texts(reply)


@each(
    ("output", "shown", "buttons_"),
    [
        ("\n".join(map(str, range(10))), "7\n8\n9", set()),
        ("\n".join(map(str, range(11))), "8\n9\n…", {"run:output"}),
        ({"rows": list(range(30))}, "7,\n…", {"run:output"}),
        ({"rows": list(range(30))}, "7,\n… 24 more lines", {"run:output"}),
        ("x" * 1200, "x…", {"run:output"}),
        ("\nx\n", "x", set()),
    ],
)
def test_output_is_folded_to_ten_lines(output: Any, shown: str, buttons_: set[str]) -> None:
    found = result(output)
    reply = run_card.finished(a_run(), found, timedelta())

    assert shown in texts(reply)
    assert buttons(reply).keys() - {"run:again"} == buttons_
    assert run_card.has_more(found) is bool(buttons_)
    assert reply.files == ()


def test_a_failed_run_says_why_in_an_undocumented_field() -> None:
    found = RunResult.model_validate({"status": "failed", "output": None, "error": {"message": "boom"}})

    assert "Failed: “boom”" in texts(run_card.finished(a_run(), found, timedelta()))


def test_a_failed_run_without_a_reason_shows_its_output() -> None:
    shown = texts(run_card.finished(a_run(), result({"code": 5}, "odd", status="failed"), timedelta()))

    assert "Failed. The workflow gave no reason." in shown
    assert '"code": 5' in shown


def test_a_failed_run_offers_output_that_says_more_than_its_reason() -> None:
    more = run_card.finished(a_run(), result({"error": "late", "rows": [1]}, status="failed"), timedelta())
    same = run_card.finished(a_run(), result({"error": "late"}, status="failed"), timedelta())

    assert ("run:output" in buttons(more), "run:output" in buttons(same)) == (True, False)


@each(
    ("given", "line"),
    [
        ("monday\nand tuesday", "Input (text): “monday and tuesday”"),
        ({"day": "monday", "n": [1]}, 'Input (JSON object): “{"day":"monday","n":[1]}”'),
        ("y" * 500, f"Input (text): “{'y' * 149}…”"),
        (None, "Input (JSON value): “null”"),
        ("", "Report · running…Started"),
    ],
)
def test_a_card_shows_the_input_in_one_line(given: Any, line: str) -> None:
    assert line in texts(run_card.running(a_run(input_=given)))


def test_cards_link_to_the_projects_own_pages() -> None:
    run = dataclasses.replace(a_run(), url="https://p.example/w/{id}/runs/{runId}")

    (link,) = [
        one for one in objects(run_card.finished(run, result("ok"), timedelta()).blocks) if one.get("type") == "link"
    ]
    assert link["url"] == "https://p.example/w/3/runs/4711"
    assert [one for one in objects(run_card.running(run).blocks) if one.get("type") == "link"] == []


def test_a_finished_run_offers_its_nodes_and_another_run() -> None:
    reply = run_card.finished(a_run(input_={"x": 1}), result("ok", {"n": 1}), timedelta())

    assert buttons(reply) == {"run:nodes": "turn-1", "run:again": '{"w":3,"i":{"x":1}}'}


def test_a_button_leaves_out_input_that_is_too_long() -> None:
    assert buttons(run_card.unknown(a_run(input_="x" * 3000))) == {"run:again": '{"w":3}'}
    assert buttons(run_card.confirm(workflow(3), "x" * 3000)) == {"run:confirm": '{"w":3}'}


def test_repeating_an_unknown_run_asks_first() -> None:
    asked = [
        shown["confirm"]["text"]["text"]
        for shown in objects(run_card.unknown(a_run()).blocks)
        if "confirm" in shown and "value" in shown
    ]

    assert asked == ["It may already have run. Running it again may repeat the work."]


def test_output_nested_too_deeply_is_reported() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert "nested too deeply" in texts(run_card.finished(a_run(), result(deep), timedelta()))


def test_a_workflow_has_a_run_button_for_runners_only() -> None:
    may, may_not = (workflows.workflow_card(workflow(), WorkflowDetail(), may_run=may) for may in (True, False))

    assert "Run…" in texts(may)
    assert "Run…" not in texts(may_not)


def test_a_list_of_agents_offers_a_chat() -> None:
    assert "Ask an agent…" in texts(agents.agent_list([agent()]))


def test_an_empty_list_says_so() -> None:
    assert workflows.workflow_list([]).text == "This project has no workflows yet."
    assert agents.agent_list([]).text == "This project has no agents yet."
    assert "No agent matches “x”" in agents.agent_list([agent()], "x").text


@pytest.mark.parametrize(
    ("tools", "shown"), [(None, "none"), ([], "none"), ([None, None], "2"), ([{"name": "mail"}], "mail")]
)
def test_an_agent_s_tools_are_named_or_counted(tools: Any, shown: str) -> None:
    assert f"Tools: {shown}" in texts(agents.agent_card(agent(), AgentDetail(tools=tools)))


def test_a_nodes_result_is_headed_by_its_name() -> None:
    reply = run_card.node_results({"n1": {"name": "Check", "ok": True}, "n2": {"name": ""}, "n3": "text"})

    bold = [one["text"] for one in objects(reply.blocks) if (one.get("style") or {}).get("bold")]
    assert bold == ["Check", "n2", "n3"]


def test_cut_node_results_are_attached_whole() -> None:
    results = {f"node {number}": "x" * 400 for number in range(100)}

    reply = run_card.node_results(results)

    assert json.loads(reply.files[0].content) == results
    assert run_card.node_results({"a": 1}).files == ()


@each(
    ("values", "expected"),
    [
        ({"workflow": "3", "kind": "auto", "input": "hello"}, forms.RunRequest(3, "hello", "hello", "auto")),
        ({"workflow": "3", "kind": "auto", "input": '{"a": 1}'}, forms.RunRequest(3, {"a": 1}, '{"a": 1}', "auto")),
        ({"workflow": "3", "kind": "auto", "input": "“q”"}, forms.RunRequest(3, "q", "“q”", "auto")),
        ({"workflow": "3", "kind": "auto", "input": "17"}, forms.RunRequest(3, "17", "17", "auto")),
        ({"workflow": "3", "kind": "auto", "input": ""}, forms.RunRequest(3, "", "", "auto")),
        (
            {"workflow": "3", "kind": "auto", "input": '{"a": }'},
            modals.FormErrors(
                {
                    "input": "This isn't valid JSON. Line 1, character 7: expected a value. "
                    "To send it as it is, choose Text."
                }
            ),
        ),
        ({"workflow": "3", "kind": "text", "input": '{"a"'}, forms.RunRequest(3, '{"a"', '{"a"', "text")),
        (
            {"workflow": "3", "kind": "json", "input": '{"a": 1}', "remember": "yes"},
            forms.RunRequest(3, {"a": 1}, '{"a": 1}', "json", is_remembered=True),
        ),
        ({"workflow": "3", "kind": "json", "input": "“quoted”"}, forms.RunRequest(3, "quoted", "“quoted”", "json")),
        ({"workflow": "3", "kind": "json", "input": "null"}, forms.RunRequest(3, None, "null", "json")),
        ({"workflow": "3"}, forms.RunRequest(3, "", "", "")),
        ({"workflow": "", "input": "x"}, modals.FormErrors({"workflow": "Choose a workflow from the list."})),
        (
            {"workflow": "3", "kind": "json", "input": '{"a"\n:}'},
            modals.FormErrors({"input": "This isn't valid JSON. Line 2, character 2: expected a value."}),
        ),
        (
            {"workflow": "3", "kind": "json", "input": " "},
            modals.FormErrors({"input": "Enter a JSON value, or choose Text."}),
        ),
    ],
)
def test_a_submitted_form_becomes_a_request_or_errors(values: dict[str, str], expected: object) -> None:
    assert forms.RunForm.read(values) == expected


@each(
    ("typed", "hint"),
    [
        ("", "Automatic tells text from JSON."),
        ("monday", "Automatic reads this as text."),
        ("17", "Automatic reads this as text."),
        ('{"day": "monday"}', "Automatic reads this as a JSON object."),
        ("[1]", "Automatic reads this as a JSON array."),
        ("[1", "Automatic reads this as JSON, but it isn't valid. Line 1, character 3: expected a comma, } or ]."),
    ],
)
def test_the_run_form_says_what_its_input_is_read_as(typed: str, hint: str) -> None:
    view = forms.run_form(workflow(3), modals.Origin(channel="C1"), typed=typed).view

    fields = {block["block_id"]: block for block in view["blocks"]}
    assert fields["input"]["hint"]["text"].endswith(hint)
    assert fields["kind"]["element"]["initial_option"]["value"] == "auto"
    assert [one["text"]["text"] for one in fields["kind"]["element"]["options"]] == ["Automatic", "Text", "JSON"]


@each("typed", ["NaN", "[Infinity]", "1e999", '"\\ud800"', "9" * 5000, "[" * 100_000])
def test_json_that_could_not_be_sent_is_an_error_of_its_field(typed: str) -> None:
    problems = forms.RunForm.read({"workflow": "3", "kind": "json", "input": typed})

    assert isinstance(problems, modals.FormErrors)
    assert list(problems.by_block) == ["input"]


def test_form_values_are_read_by_field() -> None:
    state = {
        "workflow": {"workflow": {"type": "external_select", "selected_option": {"value": "3"}}},
        "input": {"input": {"type": "plain_text_input", "value": None}},
        "kind": {"kind": {"type": "static_select", "selected_option": None}},
    }

    assert modals.form_values(state) == {"workflow": "3", "input": "", "kind": ""}


def test_a_form_carries_where_it_was_opened() -> None:
    origin = modals.Origin(channel="C1", thread_ts="1.2", response_url="https://hooks.example/x", is_sure=True)

    view = forms.run_form(workflow(3, "x" * 200, is_active=False), origin).view

    assert modals.Origin.parse(view["private_metadata"]) == origin
    assert modals.Origin.parse("of another release") == modals.Origin()
    assert view["blocks"][0]["element"]["initial_option"]["value"] == "3"
    assert view["blocks"][0]["element"]["initial_option"]["text"]["text"].endswith("… (inactive)")
    assert len(view["blocks"][0]["element"]["initial_option"]["text"]["text"]) <= 75


def test_options_are_ordered_by_match_quality() -> None:
    known = [workflow(1, "A report"), workflow(2, "Report"), workflow(3, "Reporting"), workflow(4, "Other")]

    assert [option["value"] for option in workflow_options(known, "report")] == ["2", "3", "1"]
    assert [option["value"] for option in workflow_options(known, "4")] == ["4"]
    assert len(workflow_options([workflow(number) for number in range(300)], "")) == 100


@each(
    ("seconds", "words"),
    [
        (0, "less than 0.1 s"),
        (0.099, "less than 0.1 s"),
        (0.1, "0.1 s"),
        (0.44, "0.4 s"),
        (12, "12 s"),
        (120, "2 min"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7800, "2 h 10 min"),
        (2e5, "2 days"),
    ],
)
def test_a_duration_is_shown_in_its_largest_units(seconds: float, words: str) -> None:
    assert kit.spoken(timedelta(seconds=seconds)) == words


@each(
    ("notice", "text"),
    [
        (
            channels.changed_notice([channels.SettingChange("agent", "7", "Support")], "Ann"),
            "Support now answers mentions in this channel. Changed by Ann.",
        ),
        (
            channels.changed_notice([channels.SettingChange("agent")], "Ann"),
            "This channel no longer has a default agent. Changed by Ann.",
        ),
        (
            channels.changed_notice([channels.SettingChange("replies", "mentions")], "Ann"),
            "In the threads of this channel, the agent now gets only replies that mention me. Changed by Ann.",
        ),
        (
            notices.not_posted("restricted_action_of_tomorrow", "D1"),
            "⚠️ I couldn't post my answer: I'm not allowed to post",
        ),
        (notices.not_posted("of_tomorrow", "C1"), "⚠️ I couldn't post my answer: Slack doesn't allow it (of_tomorrow)."),
        (
            failure(NotAllowed("of a later release")),
            "You don't have permission to do this here. Ask your admin for access.",
        ),
    ],
)
def test_a_notice_has_its_text(notice: Reply, text: str) -> None:
    assert notice.text.startswith(text)
    assert Reply.model_validate(notice.stored()) == notice


@each(("place", "shown"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")])
def test_a_place_in_line_is_an_ordinal(place: int, shown: str) -> None:
    assert f" {shown} in line" in notices.in_line(place).text
