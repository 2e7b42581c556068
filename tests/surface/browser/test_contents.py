"""Attachments, forwarded messages, groups, other apps' messages and an outage, by mouse and keyboard in a browser."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, Page, expect

from bridge.playground.emulator.sample import ALICE, BOB, CAROL
from support.browser_window import PATIENCE, Opens, Window

pytestmark = pytest.mark.asyncio(loop_scope="module")

PHONE = {"width": 390, "height": 844}
UNLABELLED = """() => [...document.querySelectorAll("button, a")]
  .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
  .filter((one) => !one.innerText.trim() && !/^"\\w/.test(getComputedStyle(one, "::after").content))
  .map((one) => one.outerHTML.slice(0, 200))"""


async def attaches(page: Page, what: str) -> Locator:
    """Choose an item from the Attach menu. Returns its form."""
    await page.get_by_role("main").get_by_role("button", name="Attach", exact=True).click()
    await page.get_by_role("menuitem", name=what).click()
    return page.get_by_test_id("fill")


async def with_the_keyboard(window: Window, message: Locator, choice: str) -> None:
    """Choose an item from a message's menu by keyboard."""
    await message.focus()
    await message.get_by_role("button", name="More actions").press("Enter")
    await expect(window.page.get_by_role("menu")).to_be_visible()
    item = window.page.get_by_role("menuitem", name=choice)
    while not await item.evaluate("element => element === document.activeElement"):
        await window.page.keyboard.press("ArrowDown")
    await window.page.keyboard.press("Enter")


async def test_a_message_is_forwarded_by_keyboard_alone(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        await window.write("The parcel to Norway came with a broken cup")
        await with_the_keyboard(window, window.message("broken cup"), "Forward message")
        await expect(window.page.get_by_test_id("fill")).to_contain_text("The parcel to Norway came with a broken cup")
        await window.page.get_by_label("To", exact=True).select_option(label="#random")
        await window.page.get_by_label("Comment").fill("who knows more?")
        await window.page.get_by_label("Comment").press("Control+Enter")

        forwarded = window.message("who knows more?")
        await window.sees(forwarded.get_by_text("FORWARDED", exact=True))
        await expect(forwarded).to_contain_text("Posted in #general")
        await expect(window.page.get_by_role("heading", name="random").first).to_be_visible()


async def test_a_menu_stays_open_while_messages_come_in(opens: Opens) -> None:
    async with opens(ALICE, "random") as alice, opens(BOB, "random") as bob:
        await alice.page.set_viewport_size({"width": 1280, "height": 500})
        for number in range(8):
            await bob.write(f"tea {number}")
        last = alice.message("tea 7")
        await alice.sees(last)
        await last.hover()
        await last.get_by_role("button", name="More actions").click()
        place = await last.bounding_box()
        await bob.write("tea again")

        await alice.sees(alice.message("tea again"))
        assert await last.bounding_box() != place, "the list has scrolled"
        await alice.sees(alice.page.get_by_role("menuitem", name="Forward message"))


async def test_a_canceled_form_leaves_nothing(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        form = await attaches(window.page, "Voice clip")
        await form.get_by_test_id("fill-submit").click()
        await expect(form.get_by_role("alert")).to_have_text("Fill in “What you say”.")
        await window.page.keyboard.press("Escape")

        await window.does_not_see(form)
        await window.does_not_see(window.page.get_by_role("list", name="Attached"))


async def test_an_attached_table_is_shown_to_others(opens: Opens) -> None:
    async with opens(ALICE, "general") as alice, opens(BOB, "general") as bob:
        form = await attaches(alice.page, "Table")
        await form.get_by_label("Cells").fill("Tea, Price\nAssam, 4.5")
        await form.get_by_test_id("fill-submit").click()
        await alice.sees(alice.page.get_by_text("Table, 2"))
        await alice.write("which is cheap?")

        await bob.sees(bob.message("which is cheap?").get_by_role("cell", name="Assam"))


async def test_pasted_spreadsheet_cells_become_a_table(opens: Opens) -> None:
    async with opens(CAROL, "general") as window:
        cells = {"text/plain": "Tea\tPrice\nDarjeeling\t6", "text/html": "<table><tr><td>Tea</td></tr></table>"}
        paste = """(element, cells) => {
          const data = new DataTransfer();
          for (const [type, text] of Object.entries(cells)) data.setData(type, text);
          element.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
        await window.page.get_by_test_id("composer").evaluate(paste, cells)
        await window.sees(window.page.get_by_text("Table, 2"))
        await window.page.get_by_test_id("send").click()

        await window.sees(window.page.get_by_role("cell", name="Darjeeling"))


async def test_attached_files_can_be_described_and_removed(opens: Opens) -> None:
    async with opens(BOB, "general") as window:
        async with window.page.expect_file_chooser() as chooser:
            await window.page.get_by_role("main").get_by_role("button", name="Attach", exact=True).click()
            await window.page.get_by_role("menuitem", name="File").click()
        notes = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"tea is due"}
        image = {"name": "cat.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"}
        extra = {"name": "extra.log", "mimeType": "text/plain", "buffer": b"x"}
        await (await chooser.value).set_files([notes, image, extra])
        await window.page.get_by_label("Description of cat.png").fill("a cat on a teapot")
        await window.page.get_by_role("button", name="Remove extra.log").click()
        await window.write("two files")

        message = window.message("two files")
        await expect(message.get_by_role("link")).to_have_text(["notes.txt", "cat.png"])
        await window.sees(message.get_by_text("a cat on a teapot"))
        await message.get_by_text("Preview").first.click()
        await window.sees(message.get_by_text("tea is due"))


async def test_a_voice_clip_shows_its_transcript_once_ready(opens: Opens) -> None:
    async with opens(CAROL, "random") as window:
        form = await attaches(window.page, "Voice clip")
        await form.get_by_label("What you say").fill("please water the plants")
        await form.get_by_label("Slack's transcript").select_option(label="Ready after 10 s")
        await form.get_by_test_id("fill-submit").click()
        await window.page.get_by_test_id("send").click()

        clip = window.page.get_by_test_id("clip").last
        await window.sees(clip.get_by_text("Slack is still transcribing this clip…"))
        await window.sees(clip.get_by_text("“please water the plants”"))


async def test_a_group_message_reaches_its_members_and_the_app(opens: Opens) -> None:
    async with opens(CAROL, "general") as carol:
        await carol.page.get_by_role("button", name="New group…").click()
        form = carol.page.get_by_test_id("fill")
        await expect(form.get_by_label("Bridge")).to_be_checked()
        await form.get_by_label("Bob Brandt").check()
        await form.get_by_test_id("fill-submit").click()
        await carol.sees(carol.page.get_by_role("heading", name="Bob Brandt, Bridge").first)
        await carol.write("@bridge Memory: my bird is called Pip")

        async with opens(BOB, "general") as bob:
            await bob.page.get_by_role("button", name="Bridge, Carol Conti").click()
            await bob.message("my bird is").get_by_role("button", name="1 reply").click(timeout=PATIENCE)
            await bob.sees(bob.in_thread("your bird is Pip"))


async def test_an_alert_is_posted_as_another_app(opens: Opens) -> None:
    async with opens(BOB, "random") as window:
        await window.page.get_by_role("button", name="Post as an app…").click()
        form = window.page.get_by_test_id("fill")
        await form.get_by_label("Title").fill("Disk is full")
        await form.get_by_label("Format").select_option(label="Blocks")
        await form.get_by_test_id("fill-submit").click()

        alert = window.message("Disk is full")
        await expect(alert).to_contain_text("Monitoring")
        await window.sees(alert.get_by_text("APP", exact=True))


async def test_catch_up_answers_a_message_from_an_outage(opens: Opens) -> None:
    async with opens(BOB, "org-wide") as window:
        await window.turn("Bridge unreachable")
        banner = window.page.get_by_text(
            "Slack can't reach the bridge, so messages you send now don't arrive. "
            "Reconnect, then choose Catch up now in Look inside."
        )
        await window.sees(banner)
        await window.write("@bridge Memory: my lost line is 7")
        lost = window.message("my lost line")
        await lost.press("w")
        await window.sees(window.page.get_by_test_id("drawer").get_by_text("connection_failed").first)
        await window.page.get_by_test_id("drawer").get_by_role("button", name="Close").click()
        await window.page.get_by_role("button", name="Reconnect").click()
        await window.does_not_see(banner)

        await window.ask("@bridge Memory: my boat is called Ida")
        await window.sees(window.in_thread("your boat is Ida"))
        await window.does_not_see(lost.locator(".replies"))

        await window.turn("Catch up on the last hour")
        await lost.get_by_role("button", name="1 reply").click(timeout=PATIENCE)
        await window.sees(window.in_thread("your lost line is 7"))


async def test_every_control_has_a_text_label_on_a_phone(opens: Opens) -> None:
    async with opens(ALICE, "general") as window:
        await window.ask("@bridge Memory: my plant is called Fern")
        await window.page.set_viewport_size(PHONE)
        assert await window.page.evaluate(UNLABELLED) == []
        await window.page.get_by_role("button", name="Close thread").click()
        await window.message("my plant").focus()
        assert await window.page.evaluate(UNLABELLED) == []

        await window.page.get_by_role("button", name="Channels").click()
        await window.sees(window.page.get_by_role("link", name="Open a window as someone else"))
        assert await window.page.evaluate(UNLABELLED) == []
