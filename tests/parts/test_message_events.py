"""Parsing message events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bridge.door.listeners.messages import CanvasMention, Deleted, Edited, Ignored, Parsed, parse
from bridge.ends.messages import Reason
from bridge.ids import MessageKey
from bridge.inbound import InboundMessage, MessageFile
from support.payloads import NAMED_BY_APP, NAMED_BY_WEBHOOK
from support.sample_posts import US
from support.tables import each

TS, LATER = "1700000000.000100", "1700000900.000001"
SAID = {"type": "message", "user": "U1", "channel": "C1", "ts": TS, "text": "hello"}
MESSAGE = InboundMessage(team=US.team, channel="C1", user="U1", is_shared=True, text="hello", ts=TS, is_typed=False)
CHANGED = {"type": "message", "subtype": "message_changed", "channel": "C1", "ts": LATER, "event_ts": LATER}
RICH = {
    "type": "rich_text",
    "elements": [
        {
            "type": "rich_text_section",
            "elements": [{"type": "user", "user_id": US.bot_user}, {"type": "text", "text": " said"}],
        }
    ],
}
EDITED = {"edited": {"user": "U1", "ts": LATER}}
UNFURLED = {"attachments": [{"is_share": True, "text": "what was said"}]}


def parsed(event: dict[str, Any]) -> Parsed:
    return parse({"type": "event_callback", "event": event}, US)


@each(
    ("more", "changes"),
    [
        ({}, {}),
        ({"text": f"<@{US.bot_user}> hi"}, {"text": f"<@{US.bot_user}> hi", "is_mention": True}),
        ({"text": f"<@{US.bot_user}|bridge>"}, {"text": f"<@{US.bot_user}|bridge>", "is_mention": True}),
        ({"text": f"<@{US.bot_user}X> hi"}, {"text": f"<@{US.bot_user}X> hi"}),
        ({"type": "app_mention"}, {"is_mention": True}),
        ({"channel": "D1"}, {"channel": "D1", "is_direct": True}),
        ({"channel_type": "im"}, {"is_direct": True}),
        ({"channel": "G1", "channel_type": "mpim"}, {"channel": "G1"}),
        ({"thread_ts": LATER, "client_msg_id": "c"}, {"thread_ts": LATER, "is_typed": True}),
        ({"thread_ts": "root"}, {}),
        ({"subtype": "file_share", "files": [{"id": "F1"}]}, {"parts": (MessageFile(id="F1"),)}),
        ({"subtype": "thread_broadcast", "thread_ts": LATER}, {"thread_ts": LATER}),
        ({"files": [{"id": "F1"}], "text": ""}, {"parts": (MessageFile(id="F1"),), "text": ""}),
        ({"text": "", "blocks": [RICH]}, {"text": f"<@{US.bot_user}> said", "is_mention": True}),
        ({"user_team": "T2", "team": "T1"}, {"user_team": "T2"}),
        ({"source_team": "T2", "team": "T1"}, {"user_team": "T2"}),
        ({"edited": {"ts": LATER}}, {"edited_ts": LATER}),
        ({"text": "half \ud800"}, {"text": "half ?"}),
    ],
)
def test_a_message_of_a_person_is_read(more: dict[str, Any], changes: dict[str, Any]) -> None:
    assert parsed({**SAID, **more}) == MESSAGE.model_copy(update=changes)


PROFILE = {"id": "B7", "app_id": "A7", "name": "Alertmanager", "team_id": "T1"}


@each(
    ("more", "changes"),
    [
        ({"bot_id": "B7", "app_id": "A7"}, {"app": "A7"}),
        (
            {"bot_id": "B7", "bot_profile": PROFILE, "team": None},
            {"app": "A7", "app_name": "Alertmanager", "user_team": "T1"},
        ),
        ({"user": None, "bot_id": "B7", "subtype": "bot_message"}, {"app": "B7", "user": "B7"}),
        (
            {"user": None, "bot_id": "B7", "subtype": "bot_message", "username": "Prod alerts", "bot_profile": PROFILE},
            {"app": "A7", "user": "B7", "app_name": "Prod alerts", "user_team": "T1"},
        ),
        ({"bot_id": "B7", "text": "!stop"}, {"app": "B7", "text": "!stop"}),
        # The name and icon of an own message, by another app:
        (
            {
                "user": None,
                "bot_id": "B7",
                "app_id": "A7",
                "subtype": "bot_message",
                "username": "Support",
                "icons": {"emoji": ":lion_face:"},
                "metadata": {"event_type": "bridge_turn", "event_payload": {}},
            },
            {"app": "A7", "user": "B7", "app_name": "Support"},
        ),
    ],
)
def test_a_message_of_an_app_names_the_app(more: dict[str, Any], changes: dict[str, Any]) -> None:
    assert parsed({**SAID, **more}) == MESSAGE.model_copy(update={"source": "app", "bot": "B7", **changes})


# The example of https://docs.slack.dev/reference/events/message/bot_message, and shapes that chat.postMessage returns
CUSTOMIZED = [
    {"username": "github", "icons": {}},
    {"username": "Support Bot", "icons": {"emoji": ":hamster:", "image_64": "https://slack.example/1f439.png"}},
    {"username": "", "icons": {"emoji": ":robot_face:"}, "app_id": "A03MMSE5XR8", "team": "T1"},
    {"username": "Support", "icons": {"image_48": "https://slack.example/48.png"}, "user": "U9"},
]


@each("shape", CUSTOMIZED)
def test_names_and_icons_do_not_say_whose_message_it_is(shape: dict[str, Any]) -> None:
    pushed = {"type": "message", "subtype": "bot_message", "ts": TS, "text": "Pushing is the answer", "channel": "C1"}
    ours, theirs = {**pushed, **shape, "bot_id": US.bot_id}, {**pushed, **shape, "bot_id": "BB12033"}

    assert parsed(ours) == Ignored("written by the bot itself")
    assert isinstance(parsed(theirs), InboundMessage)
    assert (US.wrote(ours), US.wrote(theirs)) == (True, False)


def test_the_app_says_whose_message_it_is_if_the_bot_is_unknown() -> None:
    us = replace(US, bot_id="", app_id="A7")
    named = {"subtype": "bot_message", "bot_id": "B1", "username": "bridge"}

    assert us.wrote({**named, "app_id": "A7"})
    assert not us.wrote({**named, "app_id": "A8"})
    assert not us.wrote({**named, "user": "U1"})


def test_a_message_of_our_own_app_is_ignored() -> None:
    """Slack's ``auth.test`` may omit the app ID; the event has it."""
    body = {"type": "event_callback", "api_app_id": "A7", "event": {**SAID, "bot_id": "B8", "app_id": "A7"}}

    assert parse(body, US) == Ignored("written by the bot itself")


@each(
    ("entities", "channel"),
    [
        ([{"type": "slack#/types/channel_id", "value": "C2", "team_id": "T1"}], "C2"),
        ([{"type": "slack#/types/canvas_id", "value": "F1"}, {"type": "slack#/types/channel_id", "value": "C2"}], "C2"),
        ([{"type": "slack#/types/message_context", "value": {"channel_id": "C3", "message_ts": TS}}], "C3"),
        ([{"type": "slack#/types/list_id", "value": "F1"}], ""),
        ([{"type": "slack#/types/channel_id", "value": "D1"}], ""),
        ([{"type": "slack#/types/channel_id", "value": 3}, "odd", None], ""),
        ("odd", ""),
    ],
)
def test_the_open_channel_is_read_from_the_message(entities: Any, channel: str) -> None:
    found = parsed({**SAID, "app_context": {"entities": entities}})

    assert isinstance(found, InboundMessage)
    assert found.looks_at == channel


def test_a_mention_in_a_canvas_has_its_own_kind() -> None:
    event = {**SAID, "type": "app_mention", "subtype": "document_mention", "document_mention": {"file_id": "F1"}}

    assert parsed(event) == CanvasMention(MESSAGE.model_copy(update={"is_mention": True}))
    assert isinstance(parsed({**event, "user": None}), Ignored)


@each(
    "more",
    [
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"subtype": ["odd"]},
        {"bot_id": US.bot_id},
        {"app_id": "A0", "user": US.bot_user},
        {"subtype": "bot_message"},
        {"user": US.bot_user},
        {"user": "USLACKBOT"},
        {"hidden": True},
        {"user": None},
        {"channel": {}},
        {"ts": "1700000000"},
    ],
)
def test_a_message_without_an_author_is_ignored(more: dict[str, Any]) -> None:
    assert isinstance(parsed({**SAID, **more}), Ignored)


@each(
    ("event", "expected"),
    [
        ({**CHANGED, "message": SAID}, Edited(MESSAGE.model_copy(update={"edited_ts": LATER}))),
        (
            {**CHANGED, "message": {**SAID, **EDITED, "files": [{"id": "F1"}]}, "previous_message": SAID},
            Edited(MESSAGE.model_copy(update={"edited_ts": LATER, "parts": (MessageFile(id="F1"),)})),
        ),
        (
            {**SAID, "type": "app_mention", "edited": {"ts": LATER}},
            Edited(MESSAGE.model_copy(update={"edited_ts": LATER, "is_mention": True}), may_be_new=True),
        ),
        ({**CHANGED, "message": {"subtype": "tombstone", "ts": TS}}, Deleted(MessageKey(US.team, "C1", TS), LATER)),
        (
            {"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": TS},
            Deleted(MessageKey(US.team, "C1", TS), TS),
        ),
    ],
)
def test_an_edit_and_a_deletion_name_their_message(event: dict[str, Any], expected: Parsed) -> None:
    assert parsed(event) == expected


@each(
    "event",
    [
        {**CHANGED, "message": SAID, "previous_message": SAID},
        {**CHANGED, "message": {**SAID, **UNFURLED}, "previous_message": SAID},  # changed by Slack, not by the author
        {**CHANGED, "message": {**SAID, "bot_id": US.bot_id}},
        {**CHANGED, "message": 7},
        {"type": "message", "subtype": "message_deleted", "deleted_ts": 7},
    ],
)
def test_a_change_of_anything_else_is_ignored(event: dict[str, Any]) -> None:
    assert isinstance(parsed(event), Ignored)


@each("recorded", [NAMED_BY_APP, NAMED_BY_WEBHOOK])
def test_a_recorded_message_with_a_name_is_its_apps(recorded: dict[str, Any]) -> None:
    said = parsed({**recorded, "channel": "C1"})

    assert isinstance(said, InboundMessage)
    assert (said.app, said.app_name) == (recorded.get("app_id") or recorded["bot_id"], recorded["username"])
    assert "icons" not in str(said)
    assert not US.wrote(recorded)


@each("recorded", [NAMED_BY_APP, NAMED_BY_WEBHOOK])
def test_a_recorded_message_with_a_name_is_ours_by_its_bot(recorded: dict[str, Any]) -> None:
    own = {**recorded, "channel": "C1", "bot_id": US.bot_id, "text": f"<@{US.bot_user}> hi"}

    assert parsed(own) == Ignored(Reason.OWN)
    assert US.wrote(own)
