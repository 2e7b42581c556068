"""Any JSON in a message of Slack is read and stored."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from bridge.inbound import from_json, to_json
from bridge.slack.contents import read, summary
from support.payloads import Json
from support.store import message

APP = {"bot_id": "B1", "app_id": "A1"}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
NAMES = st.sampled_from([
    "type", "text", "blocks", "elements", "attachments", "files", "rows", "message_blocks", "message", "is_share",
    "title", "value", "fields", "style", "url", "user_id", "transcription", "preview", "plain_text", "size", "mode",
    "name", "mimetype", "from", "headers", "label", "data", "child_blocks",
])  # fmt: skip
KINDS = st.sampled_from(
    ["rich_text", "table", "section", "context", "image", "rich_text_list", "user", "link", "button", "mrkdwn"]
)
ANYTHING = st.recursive(
    SCALARS | KINDS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=40,
)


@given(st.dictionaries(NAMES, ANYTHING, max_size=8), st.booleans())
@example({"blocks": [{"type": []}]}, False)
def test_any_json_is_read_and_stored(payload: Json, is_app: bool) -> None:  # noqa: FBT001 - Hypothesis passes it positionally
    contents = read({**payload, **(APP if is_app else {})})

    kept = message(contents.text, parts=contents.parts)
    assert from_json(to_json(kept)) == kept
    summary(contents.parts)
