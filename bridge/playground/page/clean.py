"""The sanitizer for all HTML on the page: nothing may run, load, or link anywhere but to a web address.

Every text passes `clean` last, whatever rendered it. The renderers escape too, but only this sanitizer has to be right.
"""

from __future__ import annotations

from typing import Final

import nh3

MOST_INDENT: Final = 8  # Slack's deepest list
_ALIGNED: Final = {"to-left", "to-center", "to-right"}
_INDENTED: Final = {f"indent-{depth}" for depth in range(1, MOST_INDENT + 1)}
_TAGS: Final = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "span", "strong", "table", "tbody", "td", "th", "thead", "time", "tr", "u", "ul"),
}

_cleaner: Final = nh3.Cleaner(  # stateless
    tags=_TAGS,
    clean_content_tags={"script", "style"},
    attributes={
        "a": {"href"},
        "li": {"value"},
        "ol": {"start"},
        "span": {"title", "data-user", "data-channel"},
        "time": {"datetime"},
    },
    allowed_classes={
        "li": {"task"},
        "ol": _INDENTED,
        "span": {"mention", "me", "broadcast", "emoji"},
        "td": _ALIGNED,
        "th": _ALIGNED,
        "ul": _INDENTED,
    },
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener noreferrer",
    url_schemes={"http", "https", "mailto", "tel"},
    url_relative="deny",
)


def clean(html: str) -> str:
    return _cleaner.clean(html)
