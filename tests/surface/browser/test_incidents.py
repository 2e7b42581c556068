"""In the browser: an incident in #ops. Its day goes on passing afterwards, so the playground is its own."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from bridge.playground.emulator.sample import ALICE
from support.browser_window import Opens

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
A_DAY_PASSES = 120_000  # ms


async def test_an_incident_begins_and_ends_in_the_operators_channel(opens: Opens) -> None:
    async with opens(ALICE, "ops") as window:
        await window.turn("Service down")
        await window.turn("A day later")
        incident = window.message("The project service can't be reached")
        await expect(incident).to_contain_text("bridge check", timeout=A_DAY_PASSES)
        await expect(incident).to_contain_text("Since")

        await window.turn("Service down")
        over = window.message("the project service couldn't be reached")
        await expect(over).to_contain_text("Over: the project service", timeout=A_DAY_PASSES)

        await expect(window.page.get_by_test_id("message").filter(has_text="couldn't be reached")).to_have_count(1)
