"""The agent that writes rich Markdown."""

from __future__ import annotations

import re
from typing import Final

from bridge.playground.sample_project.conversation import AgentReply, Talk

_TABLE: Final = (
    "| Item | Stock | Price | Note |\n| --- | ---: | ---: | --- |\n"
    "| Teapot, blue | 12 | 34.00 | a classic |\n| Cup, small | 148 | 4.50 | sold in fours |\n"
    "| Tea, green, 100 g | 63 | 7.20 | **new** |\n| Strainer | 0 | 6.90 | ~~in stock~~ on order |\n"
)
_CODE: Final = '```python\ndef price(cups: int) -> float:\n    """Four for the price of three."""\n'
_CODE_END: Final = "    return 4.5 * (cups - cups // 4)\n```\n"
_ROWS: Final = "item,stock,price\nTeapot blue,12,34.00\nCup small,148,4.50\nTea green 100 g,63,7.20\nStrainer,0,6.90\n"
_LIST: Final = (
    "1. Warm the pot\n2. One spoon for each cup\n   - and one for the pot\n3. No more than three minutes\n\n"
    "- [x] water\n- [ ] biscuits\n"
)
_QUOTATION: Final = "> Tea first. Then `work()`.\n"
_LINK: Final = "The whole story is in the [manual](https://example.com/manual).\n"
_PARAGRAPH: Final = (
    "{number}. The shop sells tea and everything that goes with it. It's on a side street, has four employees and "
    "one cat, and ships parcels every day but Sunday. None of this is real, but it reads as if it were.\n\n"
)
_LONG: Final = 90  # paragraphs: more than eight messages hold


def write(talk: Talk, message: str) -> AgentReply:
    """Show what Markdown can do: everything, or the one form that the message names."""
    for pattern, answer in _FORMS:
        if re.fullmatch(
            rf"\W*+(?:show me\s++|write\s++)?(?:an?\s++|some\s++|something\s++)?{pattern}\W*+(?:please\W*+)?",
            message,
            re.IGNORECASE,
        ):
            return AgentReply(answer)
    title = message.splitlines()[0][:60]
    return AgentReply(
        f"# About “{title}”\n\n"
        "Here is **what matters**, _in short_, with ~~nothing~~ little left out. "
        f"This is message {len(talk.messages)} of our conversation.\n\n"
        f"## The facts\n\n{_TABLE}\n## What to do\n\n{_LIST}\n{_CODE}{_CODE_END}\n{_QUOTATION}\n{_LINK}\n"
        "Send just *table*, *code*, *list*, *file* or *long* to get only that."
    )


_FORMS: Final = (
    ("table", f"As of this morning:\n\n{_TABLE}"),
    ("code", f"In Python:\n\n{_CODE}{_CODE_END}"),
    ("(?:csv )?file", f"Here's what's in stock:\n\n```csv stock.csv\n{_ROWS}```\n"),
    ("list", f"It is easy:\n\n{_LIST}"),
    ("long(?: answer| story)?", "".join(_PARAGRAPH.format(number=number) for number in range(1, _LONG + 1))),
)
