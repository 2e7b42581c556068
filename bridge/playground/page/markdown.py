"""Markdown as Slack's markdown block shows it: CommonMark with tables, strikethrough and task lists, and no HTML.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block. Images are shown as links, as in Slack.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from bridge.playground.page.clean import clean
from bridge.playground.page.emojis import with_emoji
from bridge.playground.page.mrkdwn import mrkdwn_html
from bridge.playground.page.names import Names

_MENTION: Final = re.compile(r"<(?:[@#][A-Z0-9]++|![a-z]++(?:\^[^<>\n|]*+)?|[a-z][a-z0-9+.-]*+:[^<>\n|]++\|)[^<>\n]*+>")
_BOX: Final = re.compile(r"\[([ xX])\] ")
_ALIGN: Final = re.compile(r"text-align:(left|center|right)")


@lru_cache(maxsize=1024)  # a long answer takes 15 ms, and is rendered with every refresh
def markdown_html(text: str, names: Names) -> str:
    return clean(_parser().render(text, {"names": names}))


@cache
def _parser() -> MarkdownIt:
    """The parser, which is stateless."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )
    parser.disable(["html_block", "html_inline"])
    parser.inline.ruler.before("autolink", "slack_token", _slack_token)
    parser.core.ruler.after("inline", "task_lists", _task_lists)
    for kind, rule in _RULES.items():
        parser.add_render_rule(kind, rule)
    return parser


def _slack_token(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the signature of an inline rule
    """Parse a mention or a labelled link in Slack's own form."""
    match = _MENTION.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push("slack_token", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _task_lists(state: StateCore) -> None:
    """Turn ``[ ]`` and ``[x]`` at the start of a list item into boxes."""
    for before, after, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if (before.type, after.type, inline.type) != ("list_item_open", "paragraph_open", "inline"):
            continue
        for first in (inline.children or [])[:1]:
            if box := _BOX.match(first.content):
                before.attrJoin("class", "task")
                first.content = ("☐ " if box[1] == " " else "☑ ") + first.content[box.end() :]


Tokens = Sequence[Token]


def _text(_: RendererHTML, tokens: Tokens, index: int, _options: OptionsDict, _env: Any) -> str:
    return with_emoji(tokens[index].content)


def _mention(_: RendererHTML, tokens: Tokens, index: int, _options: OptionsDict, env: Any) -> str:
    return mrkdwn_html(tokens[index].content, env["names"])


def _image(renderer: RendererHTML, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
    image = tokens[index]
    address = str(image.attrGet("src") or "")
    shown = renderer.renderInlineAsText(image.children, options, env) or address
    return f'<a href="{escape(address)}">{escape(shown)}</a>'


def _cell(renderer: RendererHTML, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
    """Align a cell with a class: the page's policy allows no inline styles."""
    cell = tokens[index]
    if aligned := _ALIGN.search(str(cell.attrs.pop("style", ""))):
        cell.attrSet("class", f"to-{aligned[1]}")
    return renderer.renderToken(tokens, index, options, env)


_RULES: Final[dict[str, Any]] = {
    "text": _text,
    "slack_token": _mention,
    "image": _image,
    "td_open": _cell,
    "th_open": _cell,
}
