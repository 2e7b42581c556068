"""Block Kit: Slack's limits in one table, and small constructors that respect them.

Text from the service, an agent or a person goes into ``plain_text`` and ``rich_text`` only, which Slack doesn't parse,
so nothing needs escaping. ``mrkdwn`` is parsed: `trusted_context` makes it from the bridge's own templates and times
only. A message's ``text`` is parsed, too: `fallback` escapes it. No text begins or ends with a blank; add one when
joining two. Workflow, agent, run, node, session, prompt, member, version, category and tag are the service's words; use
no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from bridge.names.folding import emoji_of
from bridge.slack.blockkit.reply import Attachment, Audience, Block, Reply
from bridge.unseen import as_on_a_terminal, is_blank

NO_NAME: Final = "(no name)"
SOMEONE: Final = "someone"
MOMENT: Final = "{date_short_pretty} at {time}"
DATE_AND_TIME: Final = "{moment:%Y-%m-%d %H:%M} UTC"

# Limits, in characters or items. https://docs.slack.dev/reference/block-kit/blocks and its subpages, unless another
# source is named.
BLOCKS: Final = 50  # in a message
VIEW_BLOCKS: Final = 100  # in a modal or a Home tab
VIEW_BYTES: Final = 200_000  # of a view's JSON; Slack's limit is 250 kB, however it counts
SECTION_TEXT: Final = 3000
HEADER_TEXT: Final = 150
CONTEXT_ELEMENTS: Final = 10
ACTIONS_ELEMENTS: Final = 25
BUTTON_TEXT: Final = 75  # and its accessibility label
BUTTON_VALUE: Final = 2000
VISIBLE_TO: Final = 10  # people
OPTION_TEXT: Final = 75
OPTION_VALUE: Final = 150
OPTIONS: Final = 100
PLACEHOLDER: Final = 150
LABEL: Final = 2000
CONFIRM_TITLE: Final = 100
CONFIRM_TEXT: Final = 300
CONFIRM_BUTTON: Final = 30
VIEW_TITLE: Final = 24
PLAIN_TEXT_INPUT: Final = 3000
CHARTS: Final = 2  # in a message
CHART_TITLE: Final = 50
CHART_LABEL: Final = 20  # also the name of a series
CHART_SEGMENTS: Final = 6  # of a pie
CHART_POINTS: Final = 20  # of each series
TABLE_ROWS: Final = 100  # and the header row
MESSAGE: Final = 11_500  # undocumented: several blocks together fail at about 13,200, markdown blocks at 12,000

# The bridge's own limits, so that messages are easy to read.
MARKDOWN_PART: Final = 11_000  # leaves room in MESSAGE for the footer
CODE_TEXT: Final = 2800
LIST_TEXT: Final = 8000
FOOTER_TEXT: Final = 300
FALLBACK_TEXT: Final = 3000
DESCRIPTION: Final = 200
CHART_LEAST_LINE: Final = 3  # points; a line through two shows nothing
CHART_NUMBER: Final = 10**15  # JSON numbers beyond this may lose digits
EXACT_NUMBER: Final = 2**53 - 1  # and the same for whole ones
TABLE_CELL: Final = 60
_USAGES: Final = 40
_USAGE: Final = 90
_HELP: Final = 110
_READ_FACTOR: Final = 20  # how many times more characters of a text are read than shown
_NOTHING: Final = "-"
_SHORTEST: Final = 0.1
_FEW_SECONDS: Final = 10
_TWO_DAYS: Final = 48

WORD_JOINER: Final = "\u2060"
"""Has no width and allows no line break: in ``@here``, only Slack notices it."""

BARE_BROADCAST = re.compile(  # an underscore is no letter here: Markdown removes it from _@here_
    r"(?<![^\W_])(?P<at>@|&#0*64;|&#x0*40;|&commat;)(?=\\?(?:channel|here|everyone|group)(?![^\W_]))", re.IGNORECASE
)
PREFIXED: Final = "\ufdd0"
"""Stands before a `command` until it's sent (`SlackWeb.call`): a noncharacter, which no text has."""

_QUOTATION_MARKS: Final = str.maketrans(dict.fromkeys("“”„‟″〝〞＂", "'"))  # noqa: RUF001 - the look-alikes are the point
_PLAIN_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:/-]+")
_PLAIN_NAME = re.compile(r"[\w'’&+/()#@-]+(?:[ .][\w'’&+/()#@-]+){0,8}")  # noqa: RUF001 - as people write it
_WORKSPACE: Final = re.compile(r"https?://[A-Za-z0-9.:-]+/?")
_SLACK_ID: Final = re.compile(r"[A-Z0-9]+")
_TS: Final = re.compile(r"\d+\.\d+")
TORN_ENTITY: Final = re.compile(r"(?:&[a-z]{0,3}|<[^<>]*)\Z")  # at the end of a cut text that was escaped
_UNSEEN = re.compile(  # control characters but newline and tab; embeddings, overrides, isolates; half characters
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Remove what changes how other characters look: codes of terminals, control and direction characters."""
    return _UNSEEN.sub("", as_on_a_terminal(text))


def command(line: str) -> str:
    """Name a command, such as ``/agents channel``, in the bridge's own words, with the mark for its prefix."""
    return f"{PREFIXED}{line}"


def as_typed(shown: Any, prefix: str) -> Any:
    """Return what's shown, a text or JSON, with each `command` as people type it where commands have the *prefix*."""
    match shown:
        case str():
            return shown.replace(f"{PREFIXED}/", f"/{prefix}")
        case dict():
            return {name: as_typed(part, prefix) for name, part in shown.items()}
        case list() | tuple():
            return [as_typed(part, prefix) for part in shown]
    return shown


def one_line(text: str, limit: int = SECTION_TEXT) -> str:
    """Fold a text into a single line of at most *limit* characters; ``""`` if nothing of it can be seen."""
    begins = text.lstrip()[: _READ_FACTOR * limit]
    line = " ".join(clean(begins).split())
    if is_blank(line):
        return ""
    return cut(line, limit) if len(begins) >= len(text.strip()) else cut(f"{line}…", limit)


def cut(text: str, limit: int) -> str:
    """Shorten a text to *limit* characters, with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def cut_escaped(text: str, limit: int) -> str:
    """Shorten an escaped text, as `cut` does, with whole entities."""
    return text if len(text) <= limit else TORN_ENTITY.sub("", text[: limit - 1]) + "…"


def quoted(text: str, limit: int) -> str:
    """Quote untrusted text; embedded quotation marks are replaced so that it can't close the quote."""
    return f"“{one_line(text, limit).translate(_QUOTATION_MARKS)}”"


def named(text: str, limit: int) -> str:
    """Write a name within a sentence; in quotation marks if it could be mistaken for part of the sentence."""
    name = one_line(text, limit)
    return name if name == text.strip() and _PLAIN_NAME.fullmatch(name) else quoted(name, limit)


def with_id(name: str, id_: int, limit: int) -> str:
    """Write a name with its ID, for what others are called, too."""
    mark = f" (ID {id_})"
    return (one_line(name, limit - len(mark)) or NO_NAME) + mark


def answered_by(name: str) -> str:
    """Say whose answer it is, where Slack doesn't show that."""
    return f"Answered by {named(name, 80)}"


def with_face(face: str, name: str) -> str:
    """Write an agent's face before its *name*; a workspace's own emoji is left out, as only Slack knows it."""
    return f"{emoji_of(face)} {name}".lstrip(" ")


def spoken(duration: timedelta) -> str:
    """Write a duration: ``less than 0.1 s``, ``0.4 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 days``."""
    seconds = max(duration.total_seconds(), 0)
    minutes, rest = divmod(round(seconds), 60)
    hours, of_hour = divmod(minutes, 60)
    if seconds < _SHORTEST:
        return f"less than {_SHORTEST} s"
    if seconds < _FEW_SECONDS:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    if minutes < 1:
        return f"{rest} s"
    if hours < 1:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if hours < _TWO_DAYS:
        return f"{hours} h {of_hour} min" if of_hour else f"{hours} h"
    return f"{hours // 24} days"


def grouped(number: int | None) -> str | None:
    """Write a number with separators: ``1,234``; None if it's unknown."""
    return None if number is None else f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Write a count: ``1 node``, ``1,234 nodes``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def ordinal(number: int) -> str:
    """Write a place in an order: ``1st``, ``12th``."""
    is_teen = number // 10 % 10 == 1
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Join *words*, the *last* two by ``and`` or ``or``: ``a``, ``a or b``, ``a, b or c``."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def first_of(words: Sequence[str], most: int, between: str = ", ") -> str:
    """Join the first *most* of *words*, and count the others: ``a, b and 3 more``, or ``a; b; and 3 more``."""
    left = len(words) - most
    more = f"{'' if between == ', ' else between.rstrip()} and {left:,} more"
    return between.join(words[:most]) + (more if left > 0 else "")


def escape(text: str) -> str:
    """Escape Slack's three special characters. https://docs.slack.dev/messaging/formatting-message-text#escaping."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quiet(text: str) -> str:
    """Change ``@channel``, ``@here`` and ``@everyone``, invisibly, so that they notify no one."""
    if "@" not in text and "&" not in text:  # most texts
        return text
    return BARE_BROADCAST.sub(lambda match: match["at"] + WORD_JOINER, text)


def fallback(text: str, limit: int = FALLBACK_TEXT) -> str:
    """Make a message's plain ``text``, for notifications, screen readers and rejected blocks."""
    text = clean(text.lstrip()[: _READ_FACTOR * limit]).strip()
    return _NOTHING if is_blank(text) else cut_escaped(escape(quiet(text)), limit)


def plain(text: str, limit: int = SECTION_TEXT) -> Block:
    """Make a text object that Slack doesn't parse. Slack rejects empty ones, so an empty text becomes a dash."""
    text = cut(clean(text), limit).strip()
    return {"type": "plain_text", "text": _NOTHING if is_blank(text) else text, "emoji": False}


def header(text: str) -> Block:
    """Make a heading."""
    return {"type": "header", "text": plain(one_line(text), HEADER_TEXT)}


def section(text: str) -> Block:
    """Make a paragraph."""
    return {"type": "section", "text": plain(text)}


def row(
    text: str,
    accessory: Block | None = None,
    at: datetime | None = None,
    url: str = "",
    *,
    is_deadline: bool = False,
) -> Block:
    """Make a paragraph with a button or menu on its right, and beside it the moment *at*, as a link to *url*.

    It's when something happened, or its deadline.
    """
    made: Block = section(text) | ({"accessory": accessory} if accessory else {})
    if at:
        made["fields"] = [
            made.pop("text"),
            {"type": "mrkdwn", "text": f"{'Until ' if is_deadline else ''}{moment(at, url)}", "verbatim": True},
        ]
    return made


def moment(at: datetime, url: str = "") -> str:
    """Write a moment as Slack shows it in the reader's own time zone, as a link to *url* if that's a plain address."""
    link = f"^{url}" if _PLAIN_ADDRESS.fullmatch(url) else ""
    return f"<!date^{int(at.timestamp())}^{MOMENT}{link}|{DATE_AND_TIME.format(moment=at.astimezone(UTC))}>"


def titled(title: str, project: str) -> str:
    """Return the title of something of a *project*, whose name is ``""`` if there's only one."""
    return f"{title} · {one_line(project, 60)}" if project else title


def fields(pairs: Iterable[tuple[str, str | None]]) -> Block:
    """Make a list of short values, each after its name; unknown ones (None) are left out."""
    lines = [(words(f"{name}: ", bold=True), one_line(value, 300)) for name, value in pairs if value is not None]
    return rich(*(paragraph(*line) for line in lines))


def context(*texts: str) -> Block:
    """Make a small gray line."""
    return {"type": "context", "elements": [plain(text, FOOTER_TEXT) for text in texts][:CONTEXT_ELEMENTS]}


def trusted_context(template: str, **times: datetime | timedelta) -> Block:
    """Make a small gray line from the bridge's own *template* and times, which Slack parses: no text from outside."""
    words = {name: spoken(time) if isinstance(time, timedelta) else moment(time) for name, time in times.items()}
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": template.format(**words), "verbatim": True}]}


def actions(*elements: Block) -> Block:
    """Make a row of buttons or menus."""
    return {"type": "actions", "elements": list(elements[:ACTIONS_ELEMENTS])}


def rows_of(elements: Iterable[Block]) -> list[Block]:
    """Make a row of those buttons or menus that there are; none without any, which Slack wouldn't take."""
    row = list(elements)
    return [actions(*row)] if row else []


def button(
    text: str,
    action_id: str,
    value: str,
    *,
    asks: Block | None = None,
    about: str = "",
    only_for: Sequence[str] = (),
    is_primary: bool = False,
) -> Block:
    """Make a button, green if it *is_primary*. Slack returns *value* unchanged.

    Raises ValueError if it's too long, which is a bug.

    Screen readers also read *about*, for several buttons with the same text. *asks* is from `confirm`. Slack shows it
    *only_for* these people (at most `VISIBLE_TO`; none: everybody), which restricts nobody who can press it anyway.
    https://docs.slack.dev/reference/block-kit/block-elements/button-element
    """
    if len(value) > BUTTON_VALUE:
        raise ValueError("button value too long")
    element: Block = {"type": "button", "text": plain(text, BUTTON_TEXT), "action_id": action_id, "value": value}
    if asks is not None:
        element["confirm"] = asks
    if about:
        element["accessibility_label"] = one_line(f"{text} {about}", BUTTON_TEXT)
    if 0 < len(only_for) <= VISIBLE_TO:
        element["visible_to_user_ids"] = sorted(only_for)
    return element | ({"style": "primary"} if is_primary else {})


def confirm(title: str, text: str, yes: str, no: str, *, is_danger: bool = False) -> Block:
    """Make the dialog that a button shows before it acts; with *is_danger*, the dialog's button is red."""
    return {
        "title": plain(title, CONFIRM_TITLE),
        "text": plain(text, CONFIRM_TEXT),
        "confirm": plain(yes, CONFIRM_BUTTON),
        "deny": plain(no, CONFIRM_BUTTON),
    } | ({"style": "danger"} if is_danger else {})


def option(text: str, value: str, *, about: str = "") -> Block:
    """Make an option of a menu, with a line *about* it below."""
    made: Block = {"text": plain(one_line(text, OPTION_TEXT), OPTION_TEXT), "value": value[:OPTION_VALUE]}
    return made | ({"description": plain(one_line(about, OPTION_TEXT), OPTION_TEXT)} if about.strip() else {})


def select(action_id: str, placeholder: str, options: Sequence[Block], initial: Block | None = None) -> Block:
    """Make a menu of fixed *options*."""
    return _menu(
        {"type": "static_select", "action_id": action_id, "options": list(options[:OPTIONS])}, placeholder, initial
    )


def external_select(action_id: str, placeholder: str, initial: Block | None = None) -> Block:
    """Make a menu that requests its options from the bridge when it's opened, and as the person types."""
    return _menu({"type": "external_select", "action_id": action_id, "min_query_length": 0}, placeholder, initial)


def _menu(element: Block, placeholder: str, initial: Block | None) -> Block:
    element["placeholder"] = plain(placeholder, PLACEHOLDER)
    if initial is not None:
        element["initial_option"] = initial
    return element


def input_block(name: str, label: str, element: Block, *, hint: str = "", optional: bool = False) -> Block:
    """Make a form field; its block_id is *name*, so that an error can be shown below it."""
    block: Block = {"type": "input", "block_id": name, "label": plain(label, LABEL), "element": element}
    if hint:
        block["hint"] = plain(hint, LABEL)
    if optional:
        block["optional"] = True
    return block


# Rich text: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block


def capitalized(text: str) -> str:
    """Write the first letter as a capital."""
    return text[:1].upper() + text[1:]


def is_channel(place: str) -> bool:
    """Whether this is the ID of a channel, not of a direct message."""
    return place.startswith(("C", "G"))


def place(channel: str) -> Block:
    """Make a mention of a channel; Slack hides the name of a private one from people who can't see it."""
    return {"type": "channel", "channel_id": channel} if is_channel(channel) else words("a direct message")


def user_group(group: str) -> Block:
    """Make a mention of a user group, which notifies its people once."""
    return {"type": "usergroup", "usergroup_id": group}


def words(text: str, **style: bool) -> Block:
    """Make a run of text; *style* is any of bold, italic, strike, code."""
    run: Block = {"type": "text", "text": clean(text)}
    return run | {"style": style} if style else run


def permalink(workspace: str, channel: str, ts: str, thread_ts: str = "") -> str:
    """Return the address of a message, perhaps in a thread; ``""`` if a part of it is malformed."""
    if not (_WORKSPACE.fullmatch(workspace) and _SLACK_ID.fullmatch(channel) and _TS.fullmatch(ts)):
        return ""
    address = f"{workspace.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel}" if _TS.fullmatch(thread_ts) and thread_ts != ts else address


def link(template: str, text: str, **values: object) -> Block:
    """Make a run of text that leads to the address that the operator's *template* has for *values*."""
    address = template
    for name, value in values.items():
        address = address.replace(f"{{{name}}}", quote(str(value), safe=""))
    return {"type": "link", "url": address, "text": clean(text)}


def date(at: datetime, url: str = "") -> Block:
    """Make a run with a moment in the reader's own time zone, as a link to *url* unless it's ``""``."""
    shown: Block = {
        "type": "date", "timestamp": int(at.timestamp()), "format": MOMENT, "fallback": DATE_AND_TIME.format(moment=at),
    }  # fmt: skip
    return shown | ({"url": url} if url else {})


def emoji(code: str) -> Block:
    """Make an emoji of its shortcode, such as ``:fox_face:``."""
    name, _, tone = code.strip(":").partition("::skin-tone-")
    return {"type": "emoji", "name": name} | ({"skin_tone": int(tone)} if tone.isdecimal() else {})


def paragraph(*runs: Block | str) -> Block:
    """Make a paragraph of runs. Empty runs, which Slack rejects, are left out."""
    elements = [words(run) if isinstance(run, str) else run for run in runs]
    elements = [run for run in elements if run.get("text") != ""]
    if all(run["type"] == "text" and is_blank(run["text"]) for run in elements):
        elements = [words(_NOTHING)]
    return {"type": "rich_text_section", "elements": elements}


def quotation(text: str) -> Block:
    """Make a quoted paragraph, which Slack shows with a bar."""
    return {"type": "rich_text_quote", "elements": [words(_NOTHING if is_blank(text) else text.strip("\n"))]}


def bullets(items: Iterable[Block]) -> Block:
    """Make a list of paragraphs."""
    return {"type": "rich_text_list", "style": "bullet", "elements": list(items)}


def code_block(text: str) -> Block:
    """Make a code block, which nothing in *text* can close."""
    text = _NOTHING if is_blank(text) else cut(text, CODE_TEXT).rstrip()
    return {"type": "rich_text_preformatted", "elements": [words(text)]}


def rich(*elements: Block) -> Block:
    """Make a block of paragraphs, lists and code."""
    return {"type": "rich_text", "elements": list(elements)}


def with_code(text: str, *codes: str) -> Block:
    """Make a paragraph that shows *codes* as code, except within quotation marks."""
    text = cut(text, SECTION_TEXT)
    end = text.rfind("”") + 1
    pieces = re.split(f"({'|'.join(map(re.escape, codes))})", text[end:])
    return rich(paragraph(text[:end], *(words(piece, code=True) if piece in codes else piece for piece in pieces)))


def usages(lines: Iterable[tuple[str, str]]) -> Block:
    """Make a list of usage lines with their descriptions."""
    shown = [(one_line(usage, _USAGE), one_line(sentence, _HELP)) for usage, sentence in islice(lines, _USAGES)]
    return rich(bullets([paragraph(words(usage, code=True), f" {sentence}") for usage, sentence in shown]))


def reply(
    text: str,
    *blocks: Block,
    audience: Audience = Audience.PRIVATE,
    files: Sequence[Attachment] = (),
    replaces_original: bool = False,
) -> Reply:
    """Make a reply with a plain ``text``, which is also shown if there are no *blocks*."""
    return Reply(
        text=fallback(text),
        blocks=blocks[:BLOCKS] or (section(text),),
        files=tuple(files),
        audience=audience,
        replaces_original=replaces_original,
    )


def note(text: str, *, audience: Audience = Audience.PRIVATE, replaces_original: bool = False) -> Reply:
    """Make a reply of one small gray line."""
    return reply(text, context(text), audience=audience, replaces_original=replaces_original)


def ask(text: str, *elements: Block, small: str = "", audience: Audience = Audience.PRIVATE) -> Reply:
    """Make a reply of a sentence with buttons or a menu, and a *small* gray line in between."""
    lines = [section(text), context(small)] if small else [section(text)]
    return reply("\n".join(filter(None, [text, small])), *lines, *rows_of(elements), audience=audience)
