"""In the browser: what watches for people, from the form to the message in #ops, with the clock moved."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from bridge.playground.emulator.sample import ALICE
from support.browser_window import Opens, Window

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
A_MINUTE_PASSES = 120_000  # ms


async def an_hour_passes(window: Window) -> None:
    """Move the clock, so that alerts are looked at, until it has stopped: a form opens too late for one that moves."""
    async with window.page.expect_response("**/page/do/fault?*", timeout=A_MINUTE_PASSES):
        await window.turn("An hour later")


async def test_an_alert_goes_from_the_form_to_its_end(opens: Opens) -> None:
    """Its run is in the statistics of workflows then, too."""
    async with opens(ALICE, "ops") as window:
        await window.write("/stats alert")
        form = window.form
        await form.get_by_text("Something else, in words").click()
        await form.get_by_role("button", name="Next").click()
        await form.get_by_label("Alert when").fill("failed runs > 0 in 2h")
        await form.get_by_role("button", name="Preview").click()
        await window.ephemeral.get_by_role("button", name="Create alert").click()
        await window.sees(window.ephemeral.get_by_text("It's checked every minute."))
        await window.write("/stats alerts")
        await window.ephemeral.get_by_role("button", name="Edit…").click()
        await expect(form.get_by_label("Alert when")).to_have_value("failed runs > 0 in 2h")
        await form.get_by_role("button", name="Preview").click()
        await window.ephemeral.get_by_role("button", name="Save changes").click()
        await window.sees(window.ephemeral.get_by_text("Alert changed:"))

        await window.write('/workflows run "Send newsletter" {}')
        await window.sees(window.message("failed"))
        await an_hour_passes(window)
        alert = window.message("in the last 2 h")
        await expect(alert).to_contain_text("1 failed run", timeout=A_MINUTE_PASSES)
        for _ in range(2):
            await an_hour_passes(window)
        await window.write('/workflows run "Daily digest" {}')
        await expect(alert).to_contain_text("is over", timeout=A_MINUTE_PASSES)

        await window.write("/stats agents --csv")
        await window.sees(window.ephemeral.get_by_role("region", name="Workflows"))


async def test_a_report_with_all_options_is_scheduled_in_its_form(opens: Opens) -> None:
    async with opens(ALICE, "ops") as window:
        await window.write("/stats report")
        await window.form.get_by_label("How agents and workflows are doing").check()
        await window.form.get_by_label("Post only if something changed").check()
        await window.form.get_by_role("button", name="Schedule").click()
        await window.sees(window.ephemeral.get_by_text("Scheduled: every day at 09:00"))


async def test_a_question_is_scheduled_in_its_form_and_listed(opens: Opens) -> None:
    async with opens(ALICE, "ops") as window:
        await window.write("/agents ask")
        await window.chooses(window.form.get_by_label("Agent"), "Support")
        await window.form.get_by_label("Question").fill("What changed since {{date}}?")
        await window.form.get_by_role("button", name="Schedule").click()
        await window.sees(window.ephemeral.get_by_text("Scheduled: ask Support every day at 09:00"))
        await window.write("/schedules")
        await window.sees(window.ephemeral.get_by_role("button", name="Edit…").first)


async def test_a_run_is_scheduled_in_its_form(opens: Opens) -> None:
    async with opens(ALICE, "ops") as window:
        await window.write("/workflows schedule")
        await window.chooses(window.form.get_by_label("Workflow"), "Echo")
        await window.form.get_by_label("Input").fill('{"day": "monday"}')
        await window.form.get_by_role("button", name="Schedule").click()
        await window.sees(window.ephemeral.get_by_text("Scheduled: run Echo every day at 09:00"))
