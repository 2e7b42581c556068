"""Every surface besides channels and threads, in a real browser on the playground: Home, forms, shortcuts, Stop."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from bridge.playground.emulator.sample import ALICE, BOB, CAROL
from support.window import PATIENCE, Opens

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_home_lists_the_workflows_and_runs_one_from_its_form(opens: Opens) -> None:
    async with opens(CAROL, "dm-bridge") as window:
        await window.turn_to("Home")
        await window.sees(window.home.get_by_role("heading", name="Workflows (12)"))
        await window.button_of("Greet a customer", "Run…").click()
        await window.form.get_by_label("Input (optional)").fill("Grace")
        await window.form.get_by_test_id("modal-submit").click()

        await window.sees(window.home.get_by_role("heading", name="Your last runs"))
        await window.turn_to("Messages")
        await window.sees(window.message("Hello Grace, good to see you!"))


async def test_a_form_opens_in_the_window_that_asked_for_it_alone(opens: Opens) -> None:
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


async def test_a_shortcut_on_a_message_has_an_agent_answer_in_its_thread(opens: Opens) -> None:
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
        await window.sees(window.in_thread("asks Support. Answers and questions go on"))
        await window.sees(window.in_thread("Whatever arrives broken is replaced"))


async def test_stop_ends_a_slow_agent_and_the_thread_says_so(opens: Opens) -> None:
    async with opens(ALICE, "shared") as window:
        await window.write("@bridge Thinker: the meaning of tea")
        message = window.message("the meaning of tea")
        await window.stop(message)

        await message.get_by_role("button", name="1 reply").click()
        await window.sees(window.in_thread("Stopped. The agent may have the message already"))
        await window.sees(window.in_thread("Stopped.").get_by_role("button", name="Send it again"))
        await window.does_not_see(message.get_by_test_id("status"))


async def test_a_thumb_under_an_answer_is_taken(opens: Opens) -> None:
    async with opens(BOB, "general") as window:
        await window.ask("@bridge Memory: my favourite colour is teal")
        answer = window.in_thread("I will remember that your favourite colour is teal")
        good, bad = (answer.get_by_role("button", name=f"{which} answer") for which in ("Good", "Bad"))
        await expect(good).to_have_attribute("aria-pressed", "false")
        await good.click()

        await expect(good).to_have_attribute("aria-pressed", "true")
        await expect(bad).to_have_attribute("aria-pressed", "false")
        await window.sees(window.private_line.get_by_text("Thank you, this is noted."))


async def test_a_message_that_waits_has_an_hourglass_until_it_is_answered(opens: Opens) -> None:
    async with opens(CAROL, "shared") as window:
        await window.write("@bridge Thinker: the first of two")
        await window.message("the first of two").get_by_role("button", name="Reply in thread").click()
        await window.reply("@bridge the second of two")

        waiting = window.page.get_by_test_id("thread-message").filter(has_text="@Bridge the second of two")
        hourglass = waiting.get_by_role("button", name="hourglass")
        await window.sees(hourglass)
        await window.sees(window.in_thread("I have thought about “the second of two”"))
        await expect(hourglass).to_have_count(0, timeout=PATIENCE)


async def test_a_report_that_is_kept_is_listed_and_can_be_deleted(opens: Opens) -> None:
    async with opens(ALICE, "random") as window:
        await window.write("/stats report weekdays 08:30 Europe/Berlin #general")
        await window.sees(window.private_line.get_by_text("weekdays 08:30"))
        await window.sees(window.private_line.get_by_text("#general"))

        await window.write("/stats reports")
        await window.sees(window.private_line.get_by_text("Scheduled reports"))
        for name in ("Pause", "Run now"):
            await window.sees(window.private_line.get_by_role("button", name=name))
        await window.private_line.get_by_role("button", name="Delete").click()
        await window.page.get_by_role("dialog").get_by_role("button", name="Delete").click()

        await window.sees(window.private_line.get_by_text("No reports are scheduled yet"))
