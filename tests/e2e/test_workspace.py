"""People in the playground: a real browser, a real bridge, and between them only what the contract names."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from bridge.playground.emulator.sample import ALICE, BOB, CAROL
from support.window import PATIENCE, Opens

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_newcomer_lists_the_workflows(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        await window.write("/workflows")

        shown = window.page.get_by_test_id("ephemeral").last
        await window.sees(shown.get_by_text("Daily digest"))
        await window.sees(shown.get_by_text("Old import"))
        await expect(shown).to_contain_text("Only visible to you")


async def test_the_statistics_are_drawn(opens: Opens) -> None:
    async with opens(CAROL, "general") as window:
        await window.write("/stats")

        shown = window.page.get_by_test_id("ephemeral").last
        await window.sees(shown.get_by_role("img", name="Pie chart: Categories"))
        await window.sees(shown.get_by_role("img", name="Bar chart: Tags"))
        await window.sees(shown.get_by_text("manual 5 (42%)"))
        await window.does_not_see(shown.get_by_role("region", name="Tags"))  # the chart says it all

        await window.write("/stats since 7d")
        # An hour may have ended since the playground began, whose numbers are the first to compare with.
        await window.sees(
            shown.get_by_text(re.compile("Nothing to compare with yet|the nearest numbers that were kept"))
        )


async def test_a_command_runs_a_workflow_and_its_card_is_there_for_all(opens: Opens) -> None:
    async with opens(ALICE, "random") as alice, opens(BOB, "random") as bob:
        await alice.write("/workflows run Summarise text the quick brown fox")

        for window in (alice, bob):
            card = window.message("Summarise text")
            await expect(card).to_contain_text("completed", ignore_case=True, timeout=PATIENCE)
            await expect(card).to_contain_text('"words": 4')


async def test_a_form_asks_for_the_input_of_a_run(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        await window.write("/workflows run Greet a customer")
        form = window.page.get_by_test_id("modal")
        await form.get_by_role("textbox").first.fill("Grace")
        await form.get_by_test_id("modal-submit").click()

        await window.does_not_see(form)
        await window.sees(window.message("Hello Grace, good to see you!"))


async def test_a_conversation_goes_on_after_the_bridge_was_killed(opens: Opens) -> None:
    async with opens(ALICE, "private") as window:
        await window.ask("@bridge Memory: my name is Ada")
        await window.sees(window.in_thread("Nice to meet you, Ada."))

        await window.turn("kill -9 the bridge")
        await window.reply("what is my name?")

        await window.sees(window.in_thread("Your name is Ada."))
        await expect(window.page.get_by_test_id("thread-message").filter(has_text="Nice to meet you")).to_have_count(1)


async def test_somebody_chooses_an_agent_from_the_menu_in_a_direct_message(opens: Opens) -> None:
    async with opens(CAROL, "dm-bridge") as window:
        await window.ask("where is order 1042?")
        await window.page.get_by_test_id("thread-panel").get_by_role("combobox").select_option(label="Support")

        await window.sees(window.in_thread("Support answers in this thread."))
        await window.sees(window.in_thread("Order 1042 "))
        await window.sees(window.in_thread("order_status"))


async def test_a_mention_where_the_app_is_not_offers_to_invite_it(opens: Opens) -> None:
    async with opens(BOB, "no-bot") as window:
        await window.write("@bridge Memory: my cat is called Tom")
        await window.sees(window.private_line.get_by_text("You mentioned @bridge, but they're not in this channel."))
        await window.private_line.get_by_role("button", name="Do Nothing").click()
        await window.does_not_see(window.private_line)

        await window.write("@bridge Memory: my dog is called Rex")
        await window.private_line.get_by_role("button", name="Invite Them").click()
        await window.sees(window.message("@bridge has joined the channel"))
        await window.message("my dog is").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await window.sees(window.in_thread("your dog is Rex"))
        await window.does_not_see(window.message("my cat is").get_by_role("button", name="1 reply"))


async def test_a_failure_is_told_and_the_message_can_be_sent_again(opens: Opens) -> None:
    async with opens(BOB, "private") as window:
        await window.ask("@bridge Grumpy: fail")
        again = window.page.get_by_test_id("thread-panel").get_by_role("button", name="Send it again")
        await window.sees(window.in_thread("It is not known whether the agent got this message"))
        await again.click()

        await window.sees(window.in_thread("Sent again"))
        await window.sees(window.in_thread("It is not known whether the agent got this message"))


async def test_a_message_that_waits_can_be_edited(opens: Opens) -> None:
    async with opens(BOB, "dm-bridge") as window:
        await window.write("Thinker: the first thought")
        await window.message("the first thought").get_by_role("button", name="Reply in thread").click()
        await window.reply("the wrong thought")
        await window.edit(window.in_thread("the wrong thought"), "the right thought")

        await window.sees(window.in_thread("I have thought about “the right thought”"))
        await window.does_not_see(window.in_thread("I have thought about “the wrong thought”"))


async def test_the_drawer_shows_what_went_over_the_wires_for_a_message(opens: Opens) -> None:
    async with opens(CAROL, "random") as window:
        root = await window.ask("@bridge Support: when do you open?")
        await root.press("w")

        drawer = window.page.get_by_test_id("drawer")
        for words in ("Slack → bridge", "inbox", "bridge → service", "bridge → Slack", "chat.postMessage"):
            await window.sees(drawer.get_by_text(words, exact=True).first)


async def test_two_people_talk_with_two_agents_at_once_and_see_one_another(opens: Opens) -> None:
    async with opens(ALICE, "shared") as alice, opens(BOB, "shared") as bob:
        await alice.write("@bridge Memory: remember 40 and 2")
        await bob.write("@bridge Writer: table")
        await bob.write("/stats")

        await alice.sees(alice.message("@bridge Writer: table"))
        await bob.message("remember 40").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await bob.sees(bob.in_thread("I will remember 40, 2."))
        await alice.message("Writer: table").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await alice.sees(alice.page.get_by_test_id("thread-panel").get_by_role("cell", name="Teapot, blue"))
        await bob.sees(bob.page.get_by_test_id("ephemeral").last)
        await alice.does_not_see(alice.page.get_by_test_id("ephemeral"))
