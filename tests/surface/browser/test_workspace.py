"""The playground end to end: a real browser and a real bridge."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from playwright.async_api import expect

from bridge.playground.emulator.sample import ALICE, BOB, CAROL
from support.browser_window import PATIENCE, Opens

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_workflow_list_is_private(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        await window.write("/workflows")

        shown = window.page.get_by_test_id("ephemeral").last
        await window.sees(shown.get_by_text("Daily digest"))
        await window.sees(shown.get_by_text("Old import"))
        await expect(shown).to_contain_text("Only visible to you")

        await window.page.reload()
        await window.sees(window.page.get_by_test_id("composer"))
        await expect(window.page.get_by_test_id("ephemeral")).to_have_count(0)


async def test_statistics_are_shown_as_charts(opens: Opens) -> None:
    async with opens(CAROL, "general") as window:
        await window.write("/stats")

        shown = window.page.get_by_test_id("ephemeral").last
        await window.sees(shown.get_by_role("img", name="Pie chart: Categories"))
        await window.sees(shown.get_by_role("img", name="Line chart: Runs over time"))
        await window.sees(shown.get_by_text("manual 5 (42%)"))
        await window.sees(shown.get_by_role("region", name="Tags"))  # a message has at most two charts

        await window.write("/stats since 7d")
        await window.sees(shown.get_by_text("Changes since"))


async def test_a_command_posts_its_run_card_for_everyone(opens: Opens) -> None:
    async with opens(ALICE, "random") as alice, opens(BOB, "random") as bob:
        await alice.write("/workflows run Summarize text the quick brown fox")

        for window in (alice, bob):
            card = window.message("Summarize text")
            await expect(card).to_contain_text("completed", ignore_case=True, timeout=PATIENCE)
            await expect(card).to_contain_text('"words": 4')


async def test_a_run_without_input_opens_a_form(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        await window.write("/workflows run Greet a customer")
        form = window.page.get_by_test_id("modal")
        await form.get_by_role("textbox").first.fill("Grace")
        await form.get_by_test_id("modal-submit").click()

        await window.does_not_see(form)
        await window.sees(window.message("Hello Grace, good to see you!"))


async def test_a_conversation_continues_after_a_kill(opens: Opens) -> None:
    async with opens(ALICE, "private") as window:
        await window.ask("@bridge Memory: my name is Ada")
        await window.sees(window.in_thread("Nice to meet you, Ada."))

        await window.turn("kill -9 the bridge")
        await window.reply("what is my name?")

        await window.sees(window.in_thread("Your name is Ada."))
        await expect(window.page.get_by_test_id("thread-message").filter(has_text="Nice to meet you")).to_have_count(1)


async def test_the_default_agent_answers_a_direct_message(opens: Opens) -> None:
    async with opens(CAROL, "dm-bridge") as window:
        await window.ask("where is order 1042?")

        await window.sees(window.in_thread("Order 1042 "))
        await window.sees(window.in_thread("order_status"))


async def test_an_agent_asks_with_buttons_and_hands_over_a_file(opens: Opens) -> None:
    async with opens(CAROL, "dm-bridge") as window:
        await window.ask("Support: cancel order 1042")
        await window.sees(window.in_thread("Shall I cancel it?"))
        await window.page.get_by_test_id("thread-panel").get_by_role("button", name="Yes, cancel order 1042").click()

        await window.sees(window.in_thread("✓ Yes, cancel order 1042 · Carol Conti"))
        await window.sees(window.in_thread("Order 1042 is cancelled."))

    async with opens(CAROL, "dm-bridge") as window:
        await window.ask("Writer: file")
        await window.sees(window.in_thread("Here's what's in stock:"))
        await window.sees(window.page.get_by_test_id("thread-panel").get_by_text("stock.csv").first)


async def test_a_mention_in_a_channel_without_the_app_offers_an_invitation(opens: Opens) -> None:
    async with opens(BOB, "no-bot") as window:
        await window.write("@bridge Memory: my cat is called Tom")
        await window.sees(window.ephemeral.get_by_text("You mentioned @bridge, but they're not in this channel."))
        await window.ephemeral.get_by_role("button", name="Do Nothing").click()
        await window.does_not_see(window.ephemeral)

        await window.write("@bridge Memory: my dog is called Rex")
        await window.ephemeral.get_by_role("button", name="Invite Them").click()
        await window.sees(window.message("@bridge has joined the channel"))
        await window.message("my dog is").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await window.sees(window.in_thread("your dog is Rex"))
        await window.does_not_see(window.message("my cat is").get_by_role("button", name="1 reply"))


async def test_a_message_with_an_unknown_outcome_can_be_sent_again(opens: Opens) -> None:
    async with opens(BOB, "private") as window:
        await window.ask("@bridge Grumpy: fail")
        again = window.page.get_by_test_id("thread-panel").get_by_role("button", name="Send again")
        await window.sees(window.in_thread("Grumpy answered with an error (500), and I can't tell"))
        await again.click()

        await window.sees(window.in_thread("Grumpy answered with an error (500), and I can't tell"))


async def test_a_queued_message_has_an_hourglass_and_can_be_edited(opens: Opens) -> None:
    async with opens(BOB, "dm-bridge") as window:
        await window.write("Thinker: the first thought")
        await window.message("the first thought").get_by_role("button", name="Reply in thread").click()
        await window.reply("the wrong thought")
        waiting = window.in_thread("the wrong thought")
        await window.sees(waiting.get_by_role("button", name="hourglass"))
        await window.edit(waiting, "the right thought")

        await window.sees(window.in_thread("I've thought about “the right thought”"))
        await window.does_not_see(window.in_thread("I've thought about “the wrong thought”"))
        hourglasses = window.page.get_by_test_id("thread-panel").get_by_role("button", name="hourglass")
        await expect(hourglasses).to_have_count(0, timeout=PATIENCE)


async def test_the_drawer_shows_a_messages_requests(opens: Opens) -> None:
    async with opens(CAROL, "random") as window:
        root = await window.ask("@bridge Support: when do you open?")
        await root.press("w")

        drawer = window.page.get_by_test_id("drawer")
        for words in ("Slack → bridge", "queue", "bridge → service", "bridge → Slack", "chat.postMessage"):
            await window.sees(drawer.get_by_text(words, exact=True).first)


async def test_two_people_talking_to_two_agents_see_each_others_threads(opens: Opens) -> None:
    async with opens(ALICE, "shared") as alice, opens(BOB, "shared") as bob:
        await alice.write("@bridge Memory: remember 40 and 2")
        await bob.write("@bridge Writer: table")
        await bob.write("/stats")
        await bob.sees(bob.page.get_by_test_id("ephemeral").last)  # it scrolls, and a click must not meet that

        await alice.sees(alice.message("@bridge Writer: table"))
        await bob.message("remember 40").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await bob.sees(bob.in_thread("I'll remember 40, 2."))
        await alice.message("Writer: table").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await alice.sees(alice.page.get_by_test_id("thread-panel").get_by_role("cell", name="Teapot, blue"))
        await alice.does_not_see(alice.page.get_by_test_id("ephemeral"))


async def test_home_runs_a_workflow_from_its_form_and_lists_the_run(opens: Opens) -> None:
    async with opens(CAROL, "dm-bridge") as window:
        await window.turn_to("Home")
        await window.home.get_by_role("button", name="Run a workflow…").click()
        await window.chooses(window.form.get_by_label("Workflow", exact=True), "Greet a customer")
        await window.form.get_by_role("textbox", name="Input (optional)").fill("Grace")
        await window.form.get_by_test_id("modal-submit").click()

        await window.sees(window.home.get_by_role("heading", name="Your runs"))
        await window.turn_to("Messages")
        await window.sees(window.message("Hello Grace, good to see you!"))


async def test_a_form_opens_only_in_the_window_that_requested_it(opens: Opens) -> None:
    async with opens(BOB, "random") as asking:
        await asking.write("/workflows run Greet a customer")
        await asking.sees(asking.form)
        async with opens(BOB, "general") as other:
            await other.does_not_see(other.form)
            await other.write("/workflows run Daily digest")
            await expect(other.form.get_by_label("Workflow", exact=True)).to_have_value("Daily digest")

        await expect(asking.form.get_by_label("Workflow", exact=True)).to_have_value("Greet a customer")
        await asking.page.reload()
        await asking.form.get_by_role("button", name="Cancel").click()
        await asking.does_not_see(asking.form)


async def test_a_message_shortcut_gets_the_agents_answer_in_the_thread(opens: Opens) -> None:
    async with opens(BOB, "random") as window:
        await window.write("The parcel to Norway came with a broken cup")
        message = window.message("a broken cup")
        form = await window.use("Ask an agent about this", message)
        await expect(form.get_by_label("About this message")).to_have_value(
            "The parcel to Norway came with a broken cup"
        )
        await window.chooses(form.get_by_label("Agent"), "Support")
        await form.get_by_label("Your question").fill("what happens when something arrives broken?")
        await form.get_by_test_id("modal-submit").click()

        await message.get_by_role("button", name="replies").click()
        await window.sees(window.in_thread("asked Support. The answer appears in the thread"))
        await window.sees(window.in_thread("Items that arrive broken are replaced"))


async def test_stop_posts_a_notice_with_a_retry_button(opens: Opens) -> None:
    async with opens(ALICE, "shared") as window:
        await window.write("@bridge Thinker: the meaning of tea")
        message = window.message("the meaning of tea")
        await window.stop(message)

        await message.get_by_role("button", name="1 reply").click()
        await window.sees(window.in_thread("Stopped. The agent may still be working on the message"))
        await window.sees(window.in_thread("Stopped.").get_by_role("button", name="Retry stopped message"))
        await window.does_not_see(message.get_by_test_id("status"))


async def test_a_vote_below_an_answer_is_accepted(opens: Opens) -> None:
    async with opens(BOB, "general") as window:
        await window.ask("@bridge Memory: my favorite color is teal")
        answer = window.in_thread("I'll remember that your favorite color is teal")
        good, bad = (answer.get_by_role("button", name=f"{which} answer") for which in ("Good", "Bad"))
        await expect(good).to_have_attribute("aria-pressed", "false")
        await good.click()

        await expect(good).to_have_attribute("aria-pressed", "true")
        await expect(bad).to_have_attribute("aria-pressed", "false")
        await window.sees(window.ephemeral.get_by_text("Thanks for the feedback."))


async def test_a_scheduled_report_is_listed_and_can_be_deleted(opens: Opens) -> None:
    async with opens(ALICE, "random") as window:
        await window.write("/stats report weekdays 08:30 Europe/Berlin #general")
        await window.sees(window.ephemeral.get_by_text("every weekday at 08:30"))
        await window.sees(window.ephemeral.get_by_text("#general"))

        await window.write("/stats reports")
        await window.sees(window.ephemeral.get_by_text("Scheduled reports"))
        for name in ("Pause", "Post now"):
            await window.sees(window.ephemeral.get_by_role("button", name=name))
        await window.ephemeral.get_by_role("button", name="Delete").click()
        await window.page.get_by_role("dialog").get_by_role("button", name="Delete").click()

        await window.sees(window.ephemeral.get_by_text("No reports are scheduled yet"))


async def test_seven_windows_of_one_browser_all_receive_a_message(opens: Opens) -> None:
    async with AsyncExitStack() as stack:
        windows = [
            await stack.enter_async_context(opens((ALICE, BOB, CAROL)[number % 3], "random"))
            for number in range(7)  # one more than a browser has connections to a server over HTTP/1.1
        ]

        await windows[-1].write("Can all seven of you read this?")

        for window in windows:
            await window.sees(window.message("Can all seven of you read this?"))


async def test_other_windows_get_updates_after_the_listening_one_closes(opens: Opens) -> None:
    async with opens(BOB, "random") as bob:
        async with opens(ALICE, "random") as alice:
            await alice.write("I opened this window second.")
            await bob.sees(bob.message("I opened this window second."))
        async with opens(CAROL, "random") as carol:
            await bob.page.close()
            async with opens(ALICE, "random") as alice:
                await alice.write("And now the first is closed.")
                await carol.sees(carol.message("And now the first is closed."))
