"""The page's scripts in a real browser, with a canned server."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import combinations
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, FloatRect, Locator, Page, expect

from support.browser_window import Window
from support.canned_page import CannedPage, canned_page, channel, message, option, words
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def canned() -> AsyncIterator[CannedPage]:
    async with canned_page() as page:
        yield page


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def window(canned: CannedPage, browser: BrowserContext) -> AsyncIterator[Window]:
    window = Window(await browser.new_page())
    window.listen()
    await window.page.goto(canned.url)
    yield window
    await window.page.close()


@pytest.fixture
def server(canned: CannedPage) -> CannedPage:
    """The canned server, with nothing of other tests."""
    canned.clear()
    return canned


@pytest_asyncio.fixture(loop_scope="module")
async def page(server: CannedPage, window: Window) -> AsyncIterator[Page]:
    """Alice's window in #general, loaded again; a JavaScript error fails the test."""
    await window.page.set_viewport_size({"width": 1280, "height": 800})
    await window.page.goto(server.url)
    await expect(window.page.get_by_test_id("composer")).to_be_visible()
    server.done.clear()  # of what the last test's page was still sending
    yield window.page
    await window.leave(server.url)  # before the next test's content is there, and this test's channels aren't
    errors, window.errors = window.errors, []
    assert errors == []


def view(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    titles = {"title": words("Run a workflow"), "submit": words("Run"), "close": words("Cancel")}
    return {"id": "V1", "type": "modal", "blocks": list(blocks), "errors": {}, "values": {}} | titles | more


def field(name: str, element: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "input", "block_id": name, "label": words(name.title()), "element": element} | more


TEXT = {"type": "plain_text_input", "action_id": "text"}


async def test_enter_sends_and_shift_enter_starts_a_line(server: CannedPage, page: Page) -> None:
    composer = page.get_by_test_id("composer")
    await composer.fill("one")
    await composer.press("Shift+Enter")
    await composer.press_sequentially("two")
    await composer.press("Enter")

    await expect(composer).to_have_value("")
    assert await server.asked("say") == [{"channel": "C1", "text": "one\ntwo"}]


async def test_enter_runs_a_complete_command_and_completes_a_partial_one(server: CannedPage, page: Page) -> None:
    composer = page.get_by_test_id("composer")
    await composer.fill("/workflows")
    await composer.press("Enter")
    await expect(composer).to_have_value("")
    await composer.fill("/sta")
    await composer.press("Enter")

    await expect(composer).to_have_value("/stats ")
    assert await server.asked("command") == [{"channel": "C1", "command": "/workflows", "text": "", "in_thread": False}]


async def test_an_unsent_message_is_restored_with_the_reason(server: CannedPage, page: Page) -> None:
    server.answers["say"] = {"ok": False, "error": "This channel is archived."}
    await page.get_by_test_id("composer").fill("is anyone here?")
    await page.get_by_test_id("send").click()

    await expect(page.get_by_role("alert")).to_have_text("This channel is archived.")
    await expect(page.get_by_test_id("composer")).to_have_value("is anyone here?")


async def test_a_new_message_leaves_the_draft_and_caret_alone(server: CannedPage, page: Page) -> None:
    composer = page.get_by_test_id("composer")
    await composer.fill("half a")
    await composer.press("ArrowLeft")
    server.show(messages=[message("1700000000.000100", "U2", "something new")])
    await expect(page.get_by_test_id("message")).to_have_count(1)
    await page.keyboard.type("X")

    await expect(composer).to_have_value("half Xa")


async def test_tab_completes_a_mention(page: Page) -> None:
    composer = page.get_by_test_id("composer")
    await composer.press_sequentially("hello @bo")
    await composer.press("Tab")

    await expect(composer).to_have_value("hello @bob ")


async def test_a_choice_in_a_usage_is_one_suggestion(page: Page) -> None:
    await page.get_by_test_id("composer").fill("/stats ")

    offered = page.get_by_role("listbox").get_by_role("option")
    await expect(offered).to_have_text(["answers <mentions|all>", "help"])


async def test_a_message_for_one_person_opens_no_thread(server: CannedPage, page: Page) -> None:
    private = message("1700000000.000100", "UB", "only for you", is_private=True)
    server.show(messages=[private, message("1700000001.000100", "U2", "a question")])
    await page.get_by_test_id("message").first.press("t")
    await expect(page.get_by_test_id("thread-panel")).to_have_count(0)
    await page.get_by_test_id("message").last.press("t")

    await expect(page.get_by_test_id("thread-message")).to_have_text(re.compile("a question"))


async def test_a_thread_closes_once_its_messages_are_gone(server: CannedPage, page: Page) -> None:
    server.show(messages=[message("1700000000.000100", "U2", "a question")])
    await page.get_by_test_id("message").press("t")
    await expect(page.get_by_test_id("thread-message")).to_have_count(1)
    server.show(messages=[])

    await expect(page.get_by_test_id("thread-panel")).to_have_count(0)
    assert "thread" not in page.url


async def test_an_error_is_shown_until_a_form_opens_or_the_next_action(server: CannedPage, page: Page) -> None:
    server.answers["start_group"] = {"ok": False, "error": "Choose at least two people."}
    form, error = page.get_by_test_id("fill"), page.get_by_role("alert")
    await page.get_by_role("button", name="New group…").click()
    await form.get_by_test_id("fill-submit").click()
    await expect(error).to_have_text("Choose at least two people.")
    await page.get_by_role("button", name="New group…").click()
    await expect(error).to_have_count(0)
    await form.get_by_test_id("fill-submit").click()
    await expect(error).to_be_visible()
    server.show(messages=[message("1700000000.000100", "U2", "a question")])
    await page.get_by_test_id("message").hover()
    await page.get_by_label("Add a reaction").click()
    await page.get_by_label("tada").click()

    await expect(error).to_have_count(0)


async def test_a_menu_names_channels_and_direct_messages_as_elsewhere(server: CannedPage, page: Page) -> None:
    menus = [
        {"type": "conversations_select", "action_id": "channel", "initial_conversation": "C2"},
        {"type": "conversations_select", "action_id": "channel", "initial_conversation": "D1"},
    ]
    server.show(views=[view(field("report", menus[0]), field("home", menus[1]))])

    await expect(page.get_by_label("Report")).to_have_value("#random")
    await expect(page.get_by_label("Home")).to_have_value("Bridge")


async def test_a_group_names_its_members_in_a_sentence_and_shortens_the_hint(server: CannedPage, page: Page) -> None:
    group = channel("G1", "Bob Brandt, Bridge, Gus Guest", "mpim", members=["U1", "U2", "UB", "U3"])
    server.show(channels=[*server.content["channels"], group])
    await page.get_by_test_id("group-Bob Brandt, Bridge, Gus Guest").click()

    begins = "This is the very beginning of your conversation with Bob Brandt, Bridge and Gus Guest."
    await expect(page.get_by_text(begins)).to_be_visible()
    composer = page.get_by_test_id("composer")
    await expect(composer).to_have_attribute("placeholder", re.compile("Gus Guest. Type / .* to ask an agent"))
    server.show(messages=[message("1700000000.000100", "U2", "a question", channel="G1")])
    await page.get_by_test_id("message").press("t")
    await expect(composer).to_have_attribute("placeholder", re.compile("Gus Guest(. Type / for commands.)?$"))


async def test_the_thread_panel_sends_replies_and_stops(server: CannedPage, page: Page) -> None:
    root, reply = "1700000000.000100", "1700000001.000100"
    status = {"text": "is thinking…", "can_stop": True}
    server.show(
        messages=[
            message(root, "U2", "a question", thread_ts=root, reply_count=1, repliers=["UB"], status=status),
            message(reply, "UB", "an answer", thread_ts=root),
        ]
    )
    await page.get_by_test_id("message").get_by_test_id("open-thread").click()
    await expect(page.get_by_test_id("thread-message")).to_have_count(2)
    await expect(page.get_by_test_id("status")).to_contain_text("Bridge is thinking…")
    await page.get_by_test_id("thread-composer").press_sequentially("thanks")
    await page.get_by_test_id("thread-send").click()
    await page.get_by_test_id("status").get_by_role("button", name="Stop").click()
    await expect(page.get_by_test_id("thread-composer")).to_have_value("")

    assert await server.asked("say") == [{"channel": "C1", "text": "thanks", "thread_ts": root, "broadcast": False}]
    assert await server.asked("stop") == [{"channel": "C1", "thread_ts": root}]


async def test_a_button_with_a_confirmation_is_pressed_only_once_confirmed(server: CannedPage, page: Page) -> None:
    confirm = {
        "title": words("Sure?"),
        "text": words("It can't be undone."),
        "confirm": words("Run"),
        "deny": words("No"),
    }
    button = {"type": "button", "action_id": "run", "text": words("Run it"), "value": "3", "confirm": confirm}
    blocks = [{"type": "actions", "block_id": "b", "elements": [button]}]
    server.show(messages=[message("1700000000.000100", "UB", "x", is_private=True, blocks=blocks)])
    await page.get_by_test_id("ephemeral").get_by_role("button", name="Run it").click()
    await page.get_by_role("dialog").get_by_role("button", name="No").click()
    await page.get_by_test_id("ephemeral").get_by_role("button", name="Run it").click()
    await page.get_by_role("dialog").get_by_role("button", name="Run").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)

    expected = {"channel": "C1", "ts": "1700000000.000100", "block_id": "b", "action_id": "run"}
    assert await server.asked("click") == [expected]


async def test_a_canceled_choice_is_not_shown(server: CannedPage, page: Page) -> None:
    confirm = {"title": words("Sure?"), "text": words("Really?"), "confirm": words("Yes"), "deny": words("No")}
    menu = {
        "type": "static_select",
        "action_id": "agent",
        "options": [option("Memory", "1"), option("Writer", "2")],
        "initial_option": option("Memory", "1"),
        "confirm": confirm,
    }
    blocks = [{"type": "actions", "block_id": "b", "elements": [menu]}]
    server.show(messages=[message("1700000000.000100", "UB", "x", blocks=blocks)])
    choice = page.get_by_test_id("message").get_by_role("combobox")
    await choice.select_option(label="Writer")
    await page.get_by_role("dialog").get_by_role("button", name="No").click()
    await expect(choice).to_have_value("1")
    await choice.select_option(label="Writer")
    await page.get_by_role("dialog").get_by_role("button", name="Yes").click()

    place = {"channel": "C1", "ts": "1700000000.000100", "block_id": "b", "action_id": "agent"}
    assert await server.asked("select") == [place | {"value": "2"}]
    await expect(choice).to_have_value("2")


async def test_people_are_chosen_by_typing_and_removed(server: CannedPage, page: Page) -> None:
    menu = {"type": "multi_users_select", "action_id": "who", "initial_users": ["U3"]}
    server.show(views=[view(field("people", menu))])
    modal = page.get_by_test_id("modal")
    await modal.get_by_role("combobox").fill("bob")
    await page.keyboard.press("Enter")
    await modal.get_by_label("Remove Gus Guest").click()
    await modal.get_by_test_id("modal-submit").click()

    assert (await server.asked("submit"))[0]["values"] == {"people": {"who": ["U2"]}}


async def test_closing_a_modal_restores_the_focus(server: CannedPage, page: Page) -> None:
    await page.get_by_test_id("composer").focus()
    server.show(views=[view(field("input", TEXT))])
    await expect(page.get_by_test_id("modal").get_by_label("Input")).to_be_focused()
    await page.keyboard.press("Escape")
    assert await server.asked("close") == [{"view_id": "V1"}]
    server.show(views=[])

    await expect(page.get_by_test_id("composer")).to_be_focused()


async def test_a_suggested_option_is_submitted_with_the_form(server: CannedPage, page: Page) -> None:
    server.answers["suggest"] = {"ok": True, "options": [option("Weekly report", "3"), option("Drafts", "4")]}
    menu = {"type": "external_select", "action_id": "pick", "min_query_length": 0}
    server.show(views=[view(field("workflow", menu), field("input", TEXT, optional=True))])
    modal = page.get_by_test_id("modal")
    await modal.get_by_role("combobox").fill("we")
    await modal.get_by_role("option", name="Weekly report").click()
    await modal.get_by_label("Input").fill("all of it")
    await modal.get_by_test_id("modal-submit").click()
    await expect(modal.get_by_role("combobox")).to_have_value("Weekly report")

    assert (await server.asked("suggest"))[-1]["typed"] == "we"
    values = {"workflow": {"pick": "3"}, "input": {"text": "all of it"}}
    assert await server.asked("submit") == [{"view_id": "V1", "values": values}]


async def test_a_forms_errors_appear_under_their_fields(server: CannedPage, page: Page) -> None:
    server.show(views=[view(field("input", TEXT))])
    modal = page.get_by_test_id("modal")
    await modal.get_by_test_id("modal-submit").click()
    await expect(modal.get_by_role("alert")).to_have_text("Please complete this required field.")
    await modal.get_by_label("Input").fill("{")
    await modal.get_by_test_id("modal-submit").click()
    server.show(views=[view(field("input", TEXT), errors={"input": "This is not JSON."})])

    await expect(modal.get_by_role("alert")).to_have_text("This is not JSON.")
    await expect(modal.get_by_label("Input")).to_have_value("{")
    await expect(modal.get_by_label("Input")).to_be_focused()


async def test_the_menu_of_people_is_wide_enough_for_the_longest_name(server: CannedPage, page: Page) -> None:
    stranger = {"id": "U4", "name": "sam", "real_name": "Sam Stranger", "kind": "stranger", "is_bot": False}
    server.show(people=[*server.content["people"], stranger])
    menu = page.get_by_test_id("as-user")
    await expect(menu.get_by_role("option").last).to_have_text("Sam Stranger (external)")

    assert await menu.evaluate("menu => menu.offsetWidth < parseInt(getComputedStyle(menu).maxWidth)")


async def test_choosing_another_person_changes_the_address(page: Page) -> None:
    await page.get_by_test_id("as-user").select_option(label="Bob Brandt")

    await expect(page).to_have_url(re.compile("as=U2"))
    await page.reload()
    await expect(page.get_by_test_id("as-user")).to_have_value("U2")


FIRST_STEPS = [
    "Ask an agent",
    "Run a workflow",
    "Start a slow answer, then stop it",
    "Schedule a report",
    "Set up an alert",
    "Kill the bridge, lose no message",
]


async def test_the_first_steps_stay_until_they_are_hidden(server: CannedPage, page: Page) -> None:
    await page.get_by_role("button", name="@bridge how do I reset my password?").click()
    await page.get_by_role("button", name="/workflows").click()
    server.show(messages=[message("1700000000.000100", "U1", "hello")])
    line = page.get_by_role("region", name="First steps")
    await expect(line.locator(".step-chip")).to_have_text(FIRST_STEPS)
    await page.get_by_role("button", name="Schedule a report").click()
    await page.get_by_role("button", name="Kill the bridge, lose no message").click()
    await expect(page.get_by_role("tab", name="Break something")).to_have_attribute("aria-selected", "true")
    await page.get_by_role("button", name="Hide first steps").click()
    await expect(line).to_have_count(0)
    await page.reload()
    await expect(page.get_by_test_id("message")).to_have_count(1)
    await expect(line).to_have_count(0)

    assert await server.asked("say") == [{"channel": "C1", "text": "@bridge how do I reset my password?"}]
    typed = [f"{one['command']} {one['text']}".strip() for one in await server.asked("command", 2)]
    assert typed == ["/workflows", "/stats report every monday at 9 #ops"]


@pytest.mark.parametrize("before", [[], [message("1700000000.000100", "U1", "hello")]], ids=["cards", "line"])
async def test_a_first_step_is_ticked_once_it_is_done(server: CannedPage, page: Page, before: list[Any]) -> None:
    labels = page.locator(".try > span, .step-chip")
    server.show(messages=before)
    await page.get_by_role("button", name=re.compile("Run a workflow")).click()
    await expect(labels).to_have_text(FIRST_STEPS)

    server.show(steps=["run", "stop"])
    ticked = [f"✓ {step}" if step in FIRST_STEPS[1:3] else step for step in FIRST_STEPS]
    ticked.sort(key=lambda label: bool(before) and label.startswith("✓"))  # the line begins with what is next
    await expect(labels).to_have_text(ticked)
    await page.reload()
    await expect(labels).to_have_text(ticked)
    server.show(steps=["talk", "run", "stop", "report", "alert", "kill"])
    await expect(labels).to_have_count(0)


async def test_guests_arent_offered_steps_they_may_not_take(server: CannedPage, page: Page) -> None:
    await page.goto(f"{server.url}/?as=U3")

    await expect(page.locator(".try span")).to_have_text(
        ["Ask an agent", "Start a slow answer, then stop it", "Kill the bridge, lose no message"]
    )


async def test_the_first_screen_says_who_answers_by_default(server: CannedPage, page: Page) -> None:
    await expect(page.locator(".tries")).to_be_visible()
    await expect(page.locator(".tries")).not_to_contain_text("default agent")
    server.show(default_agent="Support")

    await expect(page.locator(".tries")).to_contain_text(
        "Support is the default agent: it answers messages that don't name another agent first, as in"
    )


async def test_the_apps_own_conversation_opens_its_messages_tab(server: CannedPage, page: Page) -> None:
    await page.get_by_test_id("dm-bridge").click()
    await expect(page.get_by_role("tab", name="Messages")).to_have_attribute("aria-selected", "true")

    assert await server.asked("open_messages") == [{}]


async def test_a_message_is_edited_in_place(server: CannedPage, page: Page) -> None:
    server.show(messages=[message("1700000000.000100", "U1", "helo")])
    await page.get_by_test_id("message").get_by_label("More actions").click()
    await page.get_by_role("menuitem", name="Edit message").click()
    await page.get_by_label("Edit message").fill("hello")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Edit message")).to_have_count(0)

    assert await server.asked("edit") == [{"channel": "C1", "ts": "1700000000.000100", "text": "hello"}]


async def test_times_are_in_the_zone_of_the_person(server: CannedPage, page: Page) -> None:
    server.show(messages=[message("1700000000.000100", "U2", "x")])  # 22:13 UTC, on the 14th

    await expect(page.get_by_test_id("message").locator("time")).to_have_text("12:13")
    await expect(page.locator(".day")).to_contain_text("November 15")


async def test_the_drawer_covers_the_thread_in_a_narrow_window(server: CannedPage, page: Page) -> None:
    await page.set_viewport_size({"width": 1280, "height": 800})
    server.show(messages=[message("1700000000.000100", "U2", "x")])
    await page.get_by_test_id("message").get_by_label("Reply in thread").click()
    await expect(page.get_by_test_id("thread-panel")).to_be_visible()
    await page.get_by_role("button", name="Look inside").first.click()
    await expect(page.get_by_test_id("drawer")).to_be_visible()
    await expect(page.get_by_test_id("thread-panel")).to_be_hidden()
    await page.get_by_test_id("message").first.get_by_label("Reply in thread").click()

    await expect(page.get_by_test_id("thread-panel")).to_be_visible()
    await expect(page.get_by_test_id("drawer")).to_be_hidden()


async def test_the_drawer_shows_the_trace_and_switches_faults(server: CannedPage, page: Page) -> None:
    step = {"at": 1.0, "wire": "Slack → bridge", "what": "event message", "detail": "", "ms": 2.5, "outcome": "200"}
    fault = {"name": "slow", "group": "Slack", "title": "Slow Slack", "explains": "", "is_on": False}
    server.wires = [step | {"body": {"event": "yes"}}]
    server.show(messages=[message("1700000000.000100", "U2", "x")], faults=[fault])
    await page.get_by_test_id("message").get_by_label("Show what happened").click()
    await expect(page.get_by_test_id("drawer")).to_contain_text("event message")
    await expect(page.get_by_test_id("drawer")).to_contain_text("2.5 ms")
    await page.get_by_role("tab", name="Break something").click()
    await page.get_by_role("switch", name="Slow Slack").click()

    assert await server.asked("fault") == [{"name": "slow", "is_on": True}]


async def test_an_unknown_block_is_shown_as_json(server: CannedPage, page: Page) -> None:
    chart = {"type": "pie", "segments": [{"label": "finance", "value": 3}, {"label": "support", "value": 1}]}
    blocks = [
        {"type": "mystery", "block_id": "m", "riddle": "<b>what</b>"},
        {"type": "data_visualization", "block_id": "v", "title": "Tags", "chart": chart},
    ]
    server.show(messages=[message("1700000000.000100", "UB", "x", blocks=blocks)])
    await page.get_by_text("can't show this block: mystery").click()

    await expect(page.get_by_text('"riddle": "<b>what</b>"')).to_be_visible()
    await expect(page.get_by_role("img", name="Pie chart: Tags")).to_be_visible()
    await expect(page.get_by_text("finance 3 (75%)")).to_be_visible()


async def test_a_plot_fits_into_a_narrow_card_and_its_labels_stay_apart(server: CannedPage, page: Page) -> None:
    names = ["orders", "reports", "customers", "texts", "finance", "support"]
    data = [{"label": name, "value": 90 + len(name)} for name in names]
    chart = {"type": "bar", "series": [{"name": "Tags", "data": data}], "axis_config": {"categories": names}}
    blocks = [{"type": "data_visualization", "block_id": "v", "title": "Tags", "chart": chart}]
    await page.set_viewport_size({"width": 390, "height": 844})
    server.show(messages=[message("1700000000.000100", "UB", "x", blocks=blocks)])
    card, plot = page.locator(".chart"), page.get_by_role("img", name="Bar chart: Tags")
    await expect(plot).to_be_visible()

    assert await card.evaluate("card => card.scrollWidth - card.clientWidth") == 0
    boxes = [await box(plot.get_by_text(name, exact=True)) for name in names]
    assert min(one["height"] for one in boxes) > 10
    assert max(map(bottom, boxes)) < bottom(await box(card))
    apart = [
        before["x"] + before["width"] < after["x"]
        or bottom(before) <= after["y"] + 1
        or bottom(after) <= before["y"] + 1
        for before, after in combinations(boxes, 2)
    ]
    assert all(apart)


def bottom(one: FloatRect) -> float:
    return one["y"] + one["height"]


async def box(found: Locator) -> FloatRect:
    shown = await found.bounding_box()
    assert shown is not None
    return shown


async def test_edited_is_beside_the_message_actions_on_a_phone(server: CannedPage, browser: BrowserContext) -> None:
    blocks = [{"type": "section", "block_id": "s", "text": words("done", "mrkdwn")}]
    server.show(
        messages=[
            message(f"17000000{at}.000100", user, text, edited=True, blocks=shown, name=name)
            for at, (user, name, text, shown) in enumerate(
                [
                    ("UB", "Customer Support", "x", blocks),
                    ("UB", "Bot", "x", blocks),
                    ("U1", "Alice Adler", "hi", []),
                    ("U1", "Alice Adler", "hello there, my friend", []),
                ],
                10,
            )
        ]
    )
    assert browser.browser is not None
    phone = await browser.browser.new_context(
        is_mobile=True, has_touch=True, viewport={"width": 390, "height": 844}, reduced_motion="reduce"
    )
    page = await phone.new_page()
    await page.goto(server.url)
    shown = page.get_by_test_id("message")
    await expect(shown).to_have_count(4)
    pairs = [(await box(one.locator(".edited")), await box(one.locator(".toolbar"))) for one in await shown.all()]
    await phone.close()

    assert [
        edited["x"] + edited["width"] <= bar["x"] or edited["y"] >= bottom(bar) - 4 or bottom(edited) <= bar["y"] + 1
        for edited, bar in pairs
    ] == [True] * 4, pairs


async def test_a_long_code_block_is_shown_whole(server: CannedPage, page: Page) -> None:
    code = "\n".join(f"row {number}" for number in range(80))
    server.show(messages=[message("1700000000.000100", "UB", code, html=f"<pre><code>{code}</code></pre>")])
    block = page.get_by_test_id("message").locator("pre")
    await expect(block).to_contain_text("row 79")

    assert await block.evaluate("block => block.scrollHeight - block.clientHeight") == 0


async def height(found: Locator) -> float:
    return (await box(found))["height"]


async def test_the_page_is_as_tall_as_the_window(page: Page) -> None:
    assert await page.evaluate("document.documentElement.scrollHeight - innerHeight") == 0


async def test_the_composer_grows_with_its_text(page: Page) -> None:
    composer = page.get_by_test_id("composer")
    one_line = await height(composer)
    await composer.press_sequentially("x")
    assert await height(composer) == one_line
    await composer.fill("one\ntwo\nthree")
    assert await height(composer) > one_line
    await composer.press("Enter")
    await expect(composer).to_have_value("")

    assert await height(composer) == one_line


async def test_the_composers_hint_shortens_between_two_panels(server: CannedPage, page: Page) -> None:
    composer = page.get_by_test_id("composer")
    await expect(composer).to_have_attribute("placeholder", re.compile("^Message #general.* to ask an agent"))
    one_line = await height(composer)
    server.show(messages=[message("1700000000.000100", "U2", "a question")])
    await page.get_by_test_id("message").get_by_label("Reply in thread").click()
    await page.get_by_role("button", name="Look inside").click()

    await expect(composer).to_have_attribute("placeholder", "Message #general")
    assert await height(composer) == one_line
    await page.set_viewport_size({"width": 1600, "height": 800})
    await expect(composer).to_have_attribute("placeholder", re.compile("to ask an agent"))


def many_messages(count: int) -> list[dict[str, Any]]:
    return [
        message(f"17000000{at}.000100", "U2", f"line {at} " + "of many words " * 30) for at in range(10, 10 + count)
    ]


async def is_at_its_end(shown: Locator) -> None:
    at_end = "list => list.scrollHeight - list.scrollTop - list.clientHeight < 1"
    await wait_until(lambda: shown.evaluate(at_end), "the newest message is visible")


async def test_a_thread_stays_at_its_end_after_a_failed_send(server: CannedPage, page: Page) -> None:
    server.show(messages=many_messages(30))
    await expect(page.get_by_test_id("message")).to_have_count(30)
    await page.get_by_test_id("message").last.get_by_label("Reply in thread").click()
    shown, composer = page.locator("main .scroll"), page.get_by_test_id("composer")
    server.answers["say"] = {"ok": False, "error": "The playground does not answer."}
    await composer.fill("hello")
    await composer.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    del server.answers["say"]
    await composer.press("Enter")
    await expect(page.get_by_role("alert")).to_have_count(0)
    for ts, who in (("1700000050.000100", "U1"), ("1700000051.000100", "UB")):
        server.show(messages=[*server.content["messages"], message(ts, who, "many words " * 300)])
        await expect(page.locator(f'[data-ts="{ts}"]')).to_be_visible()

        await is_at_its_end(shown)


async def test_jump_to_latest_covers_no_messages(server: CannedPage, page: Page) -> None:
    server.show(messages=many_messages(30))
    await expect(page.get_by_test_id("message")).to_have_count(30)
    shown, jump = page.locator("main .scroll"), page.get_by_role("button", name="Jump to latest")
    await shown.evaluate("list => list.scrollTop -= 400")
    await expect(jump).to_be_visible()
    list_box, jump_box = await shown.bounding_box(), await jump.bounding_box()
    assert list_box is not None
    assert jump_box is not None
    assert list_box["y"] + list_box["height"] <= jump_box["y"]
    await jump.click()

    await expect(jump).to_have_count(0)
    await is_at_its_end(shown)
