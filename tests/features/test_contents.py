"""Message contents other than text."""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

import pytest
from slack_sdk.models.blocks import block_elements, blocks as sdk_blocks

from bridge.features.conversations.contents import transcript
from bridge.inbound import Alert, InboundMessage, LeftOut, MessageFile, Quotation, Table, from_json, to_json
from bridge.queue.slots import Shares
from bridge.slack.blockkit.content_words import with_escapes
from bridge.slack.contents import MOST, Contents, read, read_file, summary
from bridge.slack.controls import escape_once
from bridge.slack.files import FileContent
from support.payloads import (
    BLOCKS,
    BLOCKS_SAY,
    IMAGE,
    MAIL,
    OLD_ALERT,
    PASTED,
    PDF,
    PREVIEW,
    SNIPPET,
    STUB,
    TABLE,
    VIDEO,
    ZIP,
    Json,
    clip,
    file,
    forward,
    rich,
    words,
)
from support.store import message
from support.tables import each

APP = {"bot_id": "B1", "app_id": "A1"}
ROWS = (("Item", "Amount"), ("**A | B**", "1,200"))


def said(**fields: Any) -> Contents:
    return read({"user": "U1", "text": "hello", **fields})


@each(
    ("fields", "text"),
    [
        ({}, "hello"),
        ({"text": "*a* &amp; b", "blocks": [rich(words("a", bold=True), words(" & b"))]}, "*a* &amp; b"),
        ({"attachments": [], "files": []}, "hello"),
        ({"text": "https://github.com/", "attachments": [PREVIEW]}, "https://github.com/"),
        ({"text": "see", "attachments": [{"is_msg_unfurl": True, "text": "a link's preview"}]}, "see"),
        ({"text": "see", "attachments": [{"is_app_unfurl": True, "blocks": BLOCKS}]}, "see"),
        ({"text": "", "blocks": []}, ""),
        ({"text": None, "blocks": None, "attachments": 7, "files": "odd"}, ""),
        ({"text": "p" * 160, "blocks": [rich(words("p" * 160 + " and this is the end of it"))]}, None),
    ],
)
def test_a_plain_message_is_its_text(fields: Json, text: str | None) -> None:
    assert said(**fields) == Contents("p" * 160 + " and this is the end of it" if text is None else text)


@each(
    ("elements", "text"),
    [
        ([words("a < b & c &amp; d")], "a &lt; b &amp; c &amp; d"),
        ([words("big ", bold=True), words("x", code=True)], "**big** `x`"),
        ([words("both", bold=True, italic=True), words(" "), words("gone", strike=True)], "**_both_** ~~gone~~"),
        ([{"type": "user", "user_id": "U2"}, {"type": "channel", "channel_id": "C2"}], "<@U2><#C2>"),
        ([{"type": "usergroup", "usergroup_id": "S1"}, {"type": "broadcast", "range": "here"}], "<!subteam^S1><!here>"),
        ([{"type": "link", "url": "https://a.test/?a=1|2", "text": "a | b > c"}],
         "<https://a.test/?a=1%7C2|a / b &gt; c>"),
        ([{"type": "link", "url": "javascript"}, {"type": "emoji", "name": "wave"}], ":wave:"),
        ([{"type": "color", "value": "#F00"}, {"type": "date", "fallback": " Monday"}, {"type": "new"}], "#F00 Monday"),
        ([{"type": "user", "user_id": "U2> <!here"}, words("hi")], "hi"),
        ([{"type": "rich_text_list", "style": "ordered", "offset": 1, "indent": 1, "elements": [
            {"type": "rich_text_section", "elements": [words("two")]}, rich(words("odd"))["elements"][0]]}],
         "    2. two\n    3. odd"),
        ([{"type": "rich_text_list", "style": "bullet", "elements": [
            {"type": "rich_text_section", "elements": [words("one")]}]}], "- one"),
        ([{"type": "rich_text_quote", "elements": [words("so\nit goes")]}], "&gt; so\n&gt; it goes"),
        ([{"type": "rich_text_section", "elements": [words("see:\n")]},
          {"type": "rich_text_preformatted", "elements": [words("x = 1\n"), {"type": "link", "url": "http://a.test"}]}],
         "see:\n```\nx = 1\n<http://a.test>\n```"),
        ([{"type": "rich_text_preformatted", "elements": [{"type": "link", "url": "http://a.test", "text": "it"}]}],
         "```\n<http://a.test|it>\n```"),
    ],
)  # fmt: skip
def test_rich_text_without_text_is_markdown(elements: list[Json], text: str) -> None:
    assert said(text="", blocks=[rich(*elements)]) == Contents(text)


def test_a_forwarded_message_is_a_quotation() -> None:
    quotation = Quotation(
        author="Ada Lovelace", author_id="U2", channel="C2", text="The lamp is *red* &amp; blinks.",
        link="https://acme.slack.com/archives/C2/p1724952281623809",
    )  # fmt: skip

    assert said(text="", attachments=[forward()]) == Contents("", (quotation,))
    assert said(attachments=[forward()]) == Contents("hello", (quotation,))
    assert said(attachments=[forward(is_share=None)]) == Contents("hello", (quotation,))
    assert said(attachments=[forward(message_blocks=[])]) == Contents("hello", (quotation,))


def test_a_forwarded_message_has_its_own_tables_and_files() -> None:
    blocks = [{"message": {"blocks": [rich(words("see")), TABLE], "files": [IMAGE]}}]
    ((quotation),) = said(attachments=[forward(message_blocks=blocks, files=[SNIPPET])]).parts

    assert isinstance(quotation, Quotation)
    assert (quotation.text, quotation.tables) == ("see", (Table(rows=ROWS),))
    assert [file.kind for file in quotation.files] == ["text", "image"]


def test_a_forwarded_alert_has_its_words() -> None:
    (quotation,) = said(attachments=[{**OLD_ALERT, "is_share": True, "text": "", "from_url": "https://a.test/1"}]).parts

    assert isinstance(quotation, Quotation)
    assert "Branch: main" in quotation.text


@each(
    "attachment",
    [
        forward(message_blocks=[], title="Build 7", text="3 tests failed", fields=[
            {"title": "Branch", "value": "main"}]),
        forward(message_blocks=[], text="", attachments=[
            PREVIEW, {"title": "Build 7", "text": "3 tests failed", "fields": [{"title": "Branch", "value": "main"}]}]),
        forward(message_blocks=[{"message": {"text": "Build 7", "attachments": [
            {"text": "3 tests failed", "fields": [{"title": "Branch", "value": "main"}]}]}}]),
    ],
)  # fmt: skip
def test_a_forwarded_message_has_the_words_of_its_cards(attachment: Json) -> None:
    (quotation,) = said(text="", attachments=[attachment]).parts

    assert isinstance(quotation, Quotation)
    assert quotation.text == "Build 7\n3 tests failed\nBranch: main"


@each(
    ("element", "text"),
    [
        ({"type": "link", "url": f"https://a.test/{'x' * 3000}"}, f"<https://a.test/{'x' * 3000}>"),
        ({"type": "date", "timestamp": 1730339957, "format": "{date_num}"}, "2024-10-31 01:59 UTC"),
        ({"type": "date", "timestamp": 1730339957, "format": "{date_num}", "fallback": "Thursday"}, "Thursday"),
    ],
)
def test_a_forwarded_message_keeps_long_links_and_dates(element: Json, text: str) -> None:
    (quotation,) = said(text="", attachments=[forward(message_blocks=[{"message": {"blocks": [rich(element)]}}])]).parts

    assert isinstance(quotation, Quotation)
    assert quotation.text == text


@each(
    ("fields", "text"),
    [
        ({"attachments": [PASTED]}, "hello"),
        ({"blocks": [rich(words("hello")), TABLE]}, "hello"),
        ({"text": "", "blocks": [TABLE]}, ""),
        ({"text": "", "blocks": [rich(words("so:")), {**TABLE, "type": "data_table"}]}, "so:"),
    ],
)
def test_a_pasted_table_is_stored_by_its_cells(fields: Json, text: str) -> None:
    assert said(**fields) == Contents(text, (Table(rows=ROWS),))


UNKNOWN = {"type": "hologram", "payload": {"light": "red"}}


@each(
    ("fields", "parts"),
    [
        ({"text": "", "blocks": [UNKNOWN]}, (LeftOut(count=1, is_unknown=True),)),
        ({"text": "", "blocks": [rich({"type": "hologram"})]}, (LeftOut(count=1, is_unknown=True),)),
        ({"blocks": [rich(words("hello")), UNKNOWN, {"type": "divider"}, UNKNOWN]},
         (LeftOut(count=2, is_unknown=True),)),
        ({"attachments": [{"id": 1, "blocks": [UNKNOWN], "fallback": "[no preview available]"}, PREVIEW]},
         (LeftOut(count=1, is_unknown=True),)),
        ({"blocks": [{"type": "poll", "question": {"type": "plain_text", "text": "Red?"}}]}, (Alert(text="Red?"),)),
        ({"blocks": [UNKNOWN], **APP}, ()),
    ],
)  # fmt: skip
def test_what_a_person_sent_in_an_unknown_form_is_counted(fields: Json, parts: tuple[object, ...]) -> None:
    assert said(**fields).parts == parts


SECTIONS = [{"type": "section", "text": {"type": "mrkdwn", "text": one}} for one in ("above", "below")]
BETWEEN = [SECTIONS[0], TABLE, SECTIONS[1]]
PLACED = (Alert(text="above"), Table(rows=ROWS), Alert(text="below"))


@each(
    ("fields", "contents"),
    [
        ({**APP, "blocks": BETWEEN}, Contents("", PLACED)),
        ({**APP, "text": "", "attachments": [{"blocks": BETWEEN}]}, Contents("", PLACED)),
        ({**APP, "blocks": [{"type": "container", "child_blocks": BETWEEN}]}, Contents("", PLACED)),
        ({**APP, "blocks": [TABLE, TABLE]}, Contents("hello", (Table(rows=ROWS), Table(rows=ROWS)))),
        ({"text": "above below", "blocks": [rich(words("above")), TABLE, rich(words("below"))]},
         Contents("above", (Table(rows=ROWS), Alert(text="below", is_own=True)))),
        ({"text": "x", "blocks": [TABLE, rich(words("x"))]}, Contents("x", (Table(rows=ROWS),))),
        ({**APP, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "\ufffc fake"}}, TABLE]},
         Contents("", (Alert(text=" fake"), Table(rows=ROWS)))),
    ],
)  # fmt: skip
def test_a_table_stays_between_the_texts_around_it(fields: Json, contents: Contents) -> None:
    assert said(**fields) == contents


def test_a_forwarded_table_stays_between_the_texts_around_it() -> None:
    blocks = [{"message": {"blocks": BETWEEN}}]
    (quotation,) = said(text="", attachments=[forward(message_blocks=blocks)]).parts

    shown = with_escapes("", [quotation])

    assert [shown.index(one) for one in ("above", "| Item", "below")] == sorted(
        shown.index(one) for one in ("above", "| Item", "below")
    )


OWN_CARD = {"title": "Build 7", "text": "3 tests failed"}


@each("mark", [{"from_url": "https://ci.test/7"}, {"original_url": "https://ci.test/7"}, {"is_app_unfurl": True}])
def test_a_card_that_an_app_posts_is_no_preview(mark: Json) -> None:
    assert said(**APP, attachments=[{**OWN_CARD, **mark}]).parts == (Alert(text="Build 7\n3 tests failed"),)
    assert said(attachments=[{**OWN_CARD, **mark}]).parts == ()


@each(
    ("attachment", "text"),
    [
        ({"text": "down", "footer": "Grafana", "ts": "1730339957.5"}, "down\nGrafana | 2024-10-31 01:59 UTC"),
        ({"text": "down", "ts": 1730339957}, "down\n2024-10-31 01:59 UTC"),
        ({"text": "down", "ts": "soon"}, "down"),
        ({"text": "down", "image_url": "https://a.test/1.png"}, "down\n[image]"),
        ({"fallback": "CPU load", "image_url": "https://a.test/1.png"}, "[image: CPU load]"),
        ({"text": "down", "thumb_url": "https://a.test/1.png"}, "down\n[image]"),
        ({"service_name": "Grafana", "author_name": "ops", "author_subname": "on call", "text": "down"},
         "Grafana\nops\non call\ndown"),
        ({"text": "ok?", "actions": [{"type": "button", "text": "Yes"}, {"type": "select", "text": "Who", "options": [
            {"text": "Ada", "value": "1"}, {"text": "Bob", "value": "2"}]}]},
         "ok?\n[button: Yes] [menu: Who: Ada, Bob]"),
    ],
)  # fmt: skip
def test_all_that_an_attachment_shows_is_read(attachment: Json, text: str) -> None:
    assert said(**APP, text="", attachments=[attachment]).parts == (Alert(text=text),)


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


OPTIONS = [{"text": plain("Ada"), "value": "1", "description": plain("on call")}, {"text": plain("Bob"), "value": "2"}]
HINT = {"placeholder": plain("Pick")}
ELEMENTS: dict[str, list[tuple[Json, str]]] = {
    "button": [({"text": plain("Stop")}, "[button: Stop]"),
               ({"text": plain("Open"), "url": "https://a.test/1"}, "<https://a.test/1|Open>")],
    "workflow_button": [({"text": plain("Start")}, "[button: Start]")],
    "icon_button": [({"icon": "trash", "text": plain("Delete")}, "[button: Delete]")],
    "feedback_buttons": [({"positive_button": {"text": plain("Good")}, "negative_button": {"text": plain("Bad")}},
                          "[button: Good] [button: Bad]")],
    "checkboxes": [({"options": OPTIONS, "initial_options": OPTIONS[1:]}, "- [ ] Ada: on call\n- [x] Bob")],
    "radio_buttons": [({"options": OPTIONS, "initial_option": OPTIONS[0]}, "- [x] Ada: on call\n- [ ] Bob")],
    "overflow": [({"options": OPTIONS}, "[menu: Ada: on call, Bob]")],
    "static_select": [({**HINT, "options": OPTIONS, "initial_option": OPTIONS[1]},
                       "[menu: Pick: Ada: on call, Bob (chosen)]"),
                      ({"option_groups": [{"label": plain("Ops"), "options": OPTIONS[1:]}]}, "[menu: Ops: Bob]")],
    "multi_static_select": [({**HINT, "options": OPTIONS, "initial_options": OPTIONS},
                             "[menu: Pick: Ada: on call (chosen), Bob (chosen)]")],
    "external_select": [({**HINT, "initial_option": OPTIONS[1]}, "[menu: Pick: Bob]")],
    "multi_external_select": [({**HINT, "initial_options": OPTIONS[1:]}, "[menu: Pick: Bob]")],
    "users_select": [({**HINT, "initial_user": "U2"}, "[menu: Pick: <@U2>]")],
    "multi_users_select": [({"initial_users": ["U2", "U3"]}, "[menu: <@U2>, <@U3>]")],
    "conversations_select": [({"initial_conversation": "C2"}, "[menu: <#C2>]")],
    "multi_conversations_select": [({"initial_conversations": ["C2"]}, "[menu: <#C2>]")],
    "channels_select": [({"initial_channel": "C2"}, "[menu: <#C2>]")],
    "multi_channels_select": [({**HINT}, "[menu: Pick]")],
    "datepicker": [({"initial_date": "2026-11-27"}, "[date: 2026-11-27]"), (HINT, "[date: Pick]")],
    "timepicker": [({"initial_time": "09:30"}, "[time: 09:30]")],
    "datetimepicker": [({"initial_date_time": 1730339957}, "[date and time: 2024-10-31 01:59 UTC]")],
    "plain_text_input": [({"initial_value": "a < b"}, "[field: a &lt; b]"), (HINT, "[field: Pick]")],
    "email_text_input": [(HINT, "[field: Pick]")],
    "url_text_input": [(HINT, "[field: Pick]")],
    "number_input": [({"initial_value": "7"}, "[field: 7]")],
    "rich_text_input": [({"initial_value": rich(words("as it is"))}, "as it is")],
    "file_input": [({}, "[file]")],
    "image": [({"alt_text": "a lamp"}, "[image: a lamp]"), ({}, "[image]")],
    "url": [({"url": "https://a.test/1", "text": "Source"}, "<https://a.test/1|Source>")],
}  # fmt: skip
BLOCK_TYPES: dict[str, list[tuple[Json, str]]] = {
    "section": [({"text": plain("a"), "fields": [plain("b")],
                  "accessory": {"type": "overflow", "options": OPTIONS[1:]}},
                 "a\nb\n[menu: Bob]")],
    "divider": [({}, "")],
    "image": [({"title": plain("CPU"), "alt_text": "a chart"}, "[image: CPU]")],
    "actions": [({"elements": [{"type": "button", "text": plain("A")}, {"type": "button", "text": plain("B")}]},
                 "[button: A]\n[button: B]")],
    "context": [({"elements": [plain("a"), {"type": "image", "alt_text": "b"}]}, "a [image: b]")],
    "context_actions": [({"elements": [{"type": "icon_button", "text": plain("Delete")}]}, "[button: Delete]")],
    "input": [({"label": plain("Team"), "element": {"type": "plain_text_input"}, "hint": plain("Yours")},
               "Team\n[field]\nYours")],
    "file": [({"source": "remote", "file": {"title": "Plan"}}, "[file: Plan]"), ({}, "[file: unnamed]")],
    "call": [({"call": {"v1": {"name": "Stand-up"}}}, "Stand-up")],
    "header": [({"text": plain("Top")}, "Top")],
    "markdown": [({"text": "**so**"}, "**so**")],
    "video": [({"title": plain("Film"), "title_url": "https://a.test/1", "author_name": "Ada", "provider_name": "Tube"},
               "<https://a.test/1|Film>\nAda\nTube")],
    "rich_text": [({"elements": rich(words("a"))["elements"]}, "a")],
    "table": [({"rows": []}, "")],
    "data_table": [({"caption": "All", "rows": []}, "All")],
    "data_visualization": [({"title": "Runs", "chart": {"type": "bar", "series": [
        {"name": "good", "data": [{"label": "Mon", "value": 3}]}], "axis_config": {"x_label": "Day"}}},
        "Runs\nDay\ngood\nMon: 3")],
    "task_card": [({"title": "Dig", "status": "in_progress", "sources": [{"type": "url", "url": "https://a.test"}]},
                   "[in progress] Dig\n<https://a.test>")],
    "plan": [({"title": "Plan", "tasks": [{"type": "task_card", "title": "Dig"}]}, "Plan\nDig")],
    "alert": [({"text": plain("Full"), "level": "warning"}, "[warning] Full"),
              ({"text": plain("Full"), "level": "default"}, "Full")],
    "card": [({"hero_image": {"type": "image", "alt_text": "a"}, "title": plain("b"), "subtitle": plain("c"),
               "body": plain("d"), "actions": [{"type": "button", "text": plain("e")}]},
              "[image: a]\nb\nc\nd\n[button: e]")],
    "container": [({"title": plain("a"), "icon": {"type": "icon", "name": "x"}, "child_blocks": SECTIONS[:1]},
                   "a\nabove")],
    "carousel": [({"elements": [{"type": "card", "title": plain("a")}]}, "a")],
    "auth_provider": [({"name": "GitHub", "description": "Connect it", "connected_identity": "ada"},
                       "GitHub\nConnect it\nada")],
}  # fmt: skip


def _types(module: ModuleType) -> set[str]:
    """The types of what slack_sdk can build."""
    classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return {one.type for one in classes if isinstance(getattr(one, "type", None), str)}


def test_every_block_and_element_of_the_sdk_has_an_example() -> None:
    assert _types(sdk_blocks) <= set(BLOCK_TYPES)
    assert _types(block_elements) - {one for one in _types(block_elements) if "rich_text_" in one} <= {
        *ELEMENTS, "rich_text_input",
    }  # fmt: skip


@each(
    ("kind", "block", "text"),
    [(kind, block, text) for kind, rows in BLOCK_TYPES.items() for block, text in rows]
    + [(kind, block, text) for kind, rows in ELEMENTS.items() for block, text in rows],
)
def test_all_that_a_block_shows_is_read(kind: str, block: Json, text: str) -> None:
    inside = [{"type": "section", "accessory": {"type": kind, **block}}] if kind in ELEMENTS else []

    for blocks in [[{"type": kind, **block}], *([inside] if inside else [])]:
        found = said(**APP, text="", blocks=blocks)
        assert "\n".join([found.text, *(one.text for one in found.parts if isinstance(one, Alert))]).strip() == text


@each(
    ("fields", "contents"),
    [
        ({"text": "", "attachments": [OLD_ALERT]}, Contents("", (Alert(text=(
            "Pull request opened by <https://github.com/ada|ada>\n"
            "<https://github.com/acme/shop/pull/8|#8 Mend the lamp>\nIt was *red*.\nBranch: main\nalone\n"
            "[button: Comment]\n<https://github.com/acme/shop|acme/shop> | 2024-10-31 01:59 UTC")),))),
        ({"text": "Job failed.", "blocks": BLOCKS}, Contents("", (Alert(text=BLOCKS_SAY),))),
        ({"text": "This content can't be displayed.", "attachments": [{"blocks": BLOCKS, "fallback": "no"}]},
         Contents("", (Alert(text=BLOCKS_SAY),))),
        ({"text": "", "attachments": [{"fallback": "only this"}]}, Contents("", (Alert(text="only this"),))),
        ({"text": "as it is", "attachments": [{"odd": 1}, 7, {"fallback": "[no preview available]"}]},
         Contents("as it is")),
        ({"text": "", "blocks": [{"type": "video", "title": {"type": "plain_text", "text": "A film"},
                                  "description": {"type": "plain_text", "text": "of lamps"}}]},
         Contents("", (Alert(text="A film\nof lamps"),))),
        ({"text": "", "blocks": [
            {"type": "call", "call": {"v1": {"name": "Stand-up", "join_url": "https://call.test/1"}}},
            {"type": "call", "call": {"v1": {"name": "By phone"}}}, {"type": "call", "call": 7}]},
         Contents("", (Alert(text="<https://call.test/1|Stand-up>\nBy phone"),))),
        ({"text": "", "blocks": [{"type": "data_visualization", "title": "Runs", "chart": {
            "type": "pie", "segments": [{"label": "good", "value": 3}, {"label": "bad", "value": 1}]}}]},
         Contents("", (Alert(text="Runs\ngood: 3\nbad: 1"),))),
        ({"text": "", "blocks": [{"type": "plan", "title": "Plan", "tasks": [
            {"type": "task_card", "title": "First", "details": rich(words("dig"))}]}]},
         Contents("", (Alert(text="Plan\nFirst\ndig"),))),
        ({"text": "", "blocks": [{"type": "carousel", "elements": [{"type": "card", "title": {
            "type": "mrkdwn", "text": "*A*"}, "body": {"type": "plain_text", "text": "a < b"}}]}]},
         Contents("", (Alert(text="*A*\na &lt; b"),))),
        ({"text": "shown", "blocks": [rich(words("shown "), words("truly", bold=True))]}, Contents("shown **truly**")),
    ],
)  # fmt: skip
def test_an_apps_blocks_are_its_text(fields: Json, contents: Contents) -> None:
    assert said(**APP, **fields) == contents


def test_a_persons_text_is_used_beside_longer_blocks() -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "and more"}}

    assert said(blocks=[rich(words("hello")), section]) == Contents("hello", (Alert(text="and more"),))
    assert said(text="hello and more", blocks=[rich(words("hello")), section]) == Contents("hello and more")


@each(
    ("given", "expected"),
    [
        (SNIPPET, {"kind": "text", "words": "hug a kitten", "is_whole": True}),
        (file(size=5000, preview="hug"), {"kind": "text", "words": ""}),
        (file("a.json", mimetype="application/json", mode="hosted"), {"kind": "text"}),
        (file("a.ts", mimetype="video/mp2t", filetype="typescript", mode="hosted"), {"kind": "text"}),
        (file("Makefile.am", mimetype="application/octet-stream", filetype="binary", mode="hosted"), {"kind": "other"}),
        (file("a.yaml", mimetype="application/octet-stream", filetype="binary", mode="hosted"), {"kind": "text"}),
        (MAIL, {"kind": "mail", "is_whole": True, "words": (
            "From: Ada <ada@example.com>\nTo: Email <>\nDate: Fri, 16 Dec 2022 18:58:30 +0000\nSubject: Lamps\n\n"
            "Two lamps,\nplease.")}),
        (PDF, {"kind": "document", "name": "a.pdf", "type": "PDF", "size": 34567}),
        (file("a.docx", mimetype="application/octet-stream", filetype="binary", mode="hosted"), {"kind": "document"}),
        (IMAGE, {"kind": "image", "alt_text": "A red lamp"}),
        (VIDEO, {"kind": "video"}),
        (ZIP, {"kind": "other", "name": "a.zip"}),
        (clip(), {"kind": "clip", "words": "What day is it today?", "is_whole": True, "is_pending": False}),
        (clip(has_more=True), {"is_whole": False, "url": "https://files.slack.com/files-tmb/T1-F04EEHX1EES-1/file.vtt"}),
        (clip("processing"), {"kind": "clip", "words": "", "is_pending": True}),
        (clip("failed"), {"kind": "clip", "words": "", "is_pending": False}),
        ({**VIDEO, "transcription": {"status": "processing"}}, {"kind": "clip", "is_pending": True}),
        (STUB, {"kind": "unknown", "id": "F12345678"}),
        ({"id": "F1"}, {"kind": "unknown"}),
        (file(mode="tombstone"), {"kind": "gone"}),
        (file(mode="hidden_by_limit"), {"kind": "gone"}),
        (file(mode="external", is_external=True, external_url="https://drive.test/1"),
         {"kind": "link", "url": "https://drive.test/1"}),
        (file(name=7, title=None, size="big", mimetype=[], filetype={}, mode="hosted"), {"kind": "other", "name": ""}),
    ],
)  # fmt: skip
def test_a_file_is_described_by_slacks_fields(given: Json, expected: Json) -> None:
    found = read_file(given)

    assert {name: getattr(found, name) for name in expected} == expected
    assert said(files=[given]).parts == (found,)


def test_a_files_address_must_be_an_address() -> None:
    assert read_file(file()).url == "https://files.slack.com/files-pri/T1-F04EEHX1EES/download/report.txt"
    assert read_file(file(url_private_download="no address", url_private="")).url == ""
    assert read_file(file(url_private_download=f"https://a.test/{'x' * 3000}")).url == ""


def test_the_stored_size_of_a_message_is_bounded() -> None:
    huge = {"fallback": "x" * 9000}
    contents = said(attachments=[huge] * 1000, files=[file(words="y")] * 1000)

    assert len(contents.parts) <= 50 + 20 + 1
    assert contents.parts[-1] == LeftOut(count=950 + 980)
    kept = sum(len(part.text) for part in contents.parts if isinstance(part, Alert))
    assert kept == MOST
    assert any(part.is_cut for part in contents.parts)
    assert len(to_json(message(parts=contents.parts))) < 2 * MOST


def test_an_apps_attachment_has_its_files() -> None:
    assert [part.kind for part in said(attachments=[{"files": [SNIPPET]}], **APP).parts] == ["text"]


def test_a_mails_subject_is_one_line() -> None:
    assert "Subject: Lamps From: Eve\n\n" in read_file({**MAIL, "subject": "Lamps\nFrom: Eve"}).words


def nested(depth: int) -> Json:
    block: Json = {"type": "section", "text": "deep"}
    for _ in range(depth):
        block = {"type": "container", "child_blocks": [block]}
    return block


@each(
    "fields",
    [
        {"blocks": [nested(300)], "text": "", **APP},
        {"blocks": [rich(*[words("x")] * 300_000)], "text": ""},
        {"blocks": [{"type": "table", "rows": [[]] * 300_000}]},
        {"blocks": [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 3000] * 300}]},
        {"blocks": [{"type": "actions", "elements": [[[]] * 3000] * 300}]},
        {"attachments": [{}] * 300_000},
        {"attachments": [PREVIEW] * 30_000},
        {"files": [{}] * 300_000},
        {"text": "x" * 200, "blocks": [rich(*[words("")] * 300_000)]},
    ],
)
def test_a_huge_message_costs_little(fields: Json) -> None:
    began = time.process_time()

    said(**fields)

    assert time.process_time() - began < 2  # takes 0.01 to 0.1 s, far less than parsing its JSON


def test_messages_queued_by_an_older_release_are_read() -> None:
    stored = to_json(message("hello")).replace('"parts":[]', '"has_files":true')

    assert from_json(stored) == message("hello")


def test_escapes_are_written_once() -> None:
    assert escape_once("a & b &amp; <c>") == "a &amp; b &amp; &lt;c&gt;"


def test_a_summary_says_kinds_and_sizes_only() -> None:
    parts = (
        Quotation(text="secret", files=(MessageFile(id="F1", kind="text", name="secret.txt", size=12),)),
        Table(rows=(("secret",), ("secret",))),
        Alert(text="secret", is_cut=True),
        MessageFile(id="F2", kind="image", name="secret.png", size=3),
        LeftOut(count=2),
    )

    assert summary(parts) == (
        "a forwarded message (6 characters, a file (text, 12 bytes)), a table (2 x 1), an app's text (6 characters), "
        "cut, a file (image, 3 bytes), 2 more"
    )
    assert isinstance(message("x", parts=parts), InboundMessage)


@pytest.mark.parametrize(
    ("most", "count", "asked", "granted"),
    [
        (10, 2, {"a": 20}, {"a": 8}),
        (10, 2, {"a": 20, "b": 20}, {"a": 8, "b": 2}),
        (12, 3, {"a": 20, "b": 20, "c": 1}, {"a": 8, "b": 2, "c": 1}),
        (1000, 10, {"a": 2000}, {"a": 550}),
        (1, 2, {"a": 2, "b": 2}, {"a": 1, "b": 1}),
    ],
)
async def test_each_project_can_use_what_is_reserved_for_it(
    most: int, count: int, asked: dict[str, int], granted: dict[str, int]
) -> None:
    shares = Shares(most, lambda: count)

    given = {name: [shares.ask(name) for _ in range(number)] for name, number in asked.items()}

    assert {name: sum(one.done() for one in ones) for name, ones in given.items()} == granted


async def test_a_share_given_back_goes_to_who_asked_first() -> None:
    shares = Shares(2, lambda: 2)
    first, second, third = (shares.ask("a") for _ in range(3))
    assert (first.done(), second.done(), third.done()) == (True, False, False)

    shares.give_back("a", second)  # no longer waits
    shares.give_back("a", first)

    assert second.cancelled()
    assert third.done()


@each(
    ("content", "declared", "is_cut", "text"),
    [
        ("grün".encode(), "", False, "grün"),
        ("grün".encode("utf-8-sig"), "", False, "grün"),
        ("grün".encode("utf-16"), "", False, "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", False, "grün"),
        ("grün".encode("cp1252"), "text/plain", False, "grün"),
        ("Привет".encode("cp1251"), 'text/plain; charset="windows-1251"', False, "Привет"),
        ("grün".encode("cp1252"), "text/plain; charset=no-such", False, "grün"),
        ("ab€".encode()[:-1], "", True, "ab"),
        (b"", "", False, ""),
    ],
)
def test_any_text_file_is_decoded(content: bytes, declared: str, text: str, *, is_cut: bool) -> None:
    assert FileContent(content, is_cut, declared).text() == text


def test_a_transcript_is_one_line() -> None:
    head = "\ufeffWEBVTT \n\nNOTE made\n\n1\n"
    vtt = f"{head}00:00:05.488 --> 00:00:13.349\n- This is &amp; was\n\n00:00:13.349 --> 00:00:14\n"
    assert transcript(f"{vtt}<v Ada>phone</v> today.\n42\n\n\n") == "This is & was phone today. 42"
    assert transcript(vtt.replace("\n", "\r\n")) == "This is & was"
    assert transcript("WEBVTT\n\n") == ""
