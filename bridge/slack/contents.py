"""The contents of a message: its author's text, and its other parts. One pure function, `read`.

A person's text arrives as ``text``, and again as rich text. Everything else is in other fields: forwarded messages in
``attachments`` (``is_share``, ``message_blocks``), pasted tables in a ``table`` block there or at the top level, files
in ``files``, and apps' posts in ``attachments`` or blocks of all kinds, with a ``text`` that is only a fallback. Link
previews in people's messages (``is_msg_unfurl`` or only ``from_url``) are ignored: the link itself is in the text. What
an app posts itself may look like one.

Any JSON may arrive here; at most `_MOST_LOOKS` values of it are read.

https://docs.slack.dev/reference/block-kit/blocks · https://docs.slack.dev/reference/objects/file-object
https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bridge.inbound import TABLE_MARK, Alert, LeftOut, MessageFile, MessagePart, Quotation, Table
from bridge.slack.controls import control_words, escape_once, in_utc
from bridge.slack.file_kinds import file_kind, format_of
from bridge.slack.payloads import items, mapping, objects, text

MOST: Final = 200_000  # characters of all parts of a message together
_MOST_LOOKS: Final = 20_000  # values of a message's JSON
_MOST_ATTACHMENTS: Final = 50
_MOST_FILES: Final = 20
_DEEPEST: Final = 24
_MOST_COLUMNS: Final = 50
_SHORT: Final = 300  # characters of a name
_ADDRESS: Final = 2000  # also of an alt text; addresses within texts may be as long as these
_OF_QUOTATIONS: Final = ("author_name", "author_subname", "footer", "ts")
"""What a forwarded message's attachment says about the quotation."""
_SLACK_IN_LENGTH: Final = 20  # characters by which blocks may be longer than a complete text

_ID: Final = re.compile(r"[A-Z][A-Z0-9]{1,30}")
_LINE: Final = re.compile(r"^", re.MULTILINE)

_PLACEHOLDERS: Final = frozenset({"This content can't be displayed.", "[no preview available]"})  # written by Slack
_WITHOUT_WORDS: Final = ("", "rich_text", "divider", "table", "data_table")  # blocks that may have none
_TEXT_FIELDS: Final = (
    "icon", "hero_image", "title", "rich_text_title", "subtitle", "author_name", "provider_name", "name", "text",
    "body", "description", "connected_identity", "connected_context", "caption", "label", "fields", "elements",
    "element", "hint", "child_blocks", "blocks", "tasks", "details", "output", "sources", "accessory", "actions",
    "chart", "x_label", "y_label", "axis_config", "segments", "series", "data", "initial_value",
)  # fmt: skip
"""The fields of blocks that hold text, in the order in which people see them."""


class Contents(NamedTuple):
    """A message's own *text*, with Slack's escapes, and its other *parts*."""

    text: str
    parts: tuple[MessagePart, ...] = ()


def read(message: Mapping[str, Any]) -> Contents:
    """Read a message from an event or a history. Never raises.

    If an app's ``text`` is only a fallback, it's replaced by what the message shows.
    """
    written, blocks = text(message, "text"), items(message.get("blocks"))
    is_plain = all(map(_is_rich, blocks))
    is_app = bool(message.get("bot_id") or message.get("app_id"))
    is_own = is_plain and not is_app and written.strip() != "" and not _is_preview(written, blocks)
    if is_own and not message.get("attachments") and not message.get("files"):
        return Contents(written)  # nearly all messages end here
    return _Reading().read(message, written, blocks, is_app=is_app)


def shown(message: Mapping[str, Any]) -> Contents:
    """Read what an app's *message* shows of itself, without previews of links that Slack may add to it later."""
    attachments = [attachment for attachment in objects(message.get("attachments")) if not _is_link_preview(attachment)]
    return read({**message, "attachments": attachments})


def read_file(file: Mapping[str, Any]) -> MessageFile:
    """Read a file object: https://docs.slack.dev/reference/objects/file-object."""
    return _Reading().file(file)


def summary(parts: Sequence[MessagePart]) -> str:
    """Count the parts by kind and size, for the trace, without contents."""
    return ", ".join(map(_described, parts))


def _described(part: MessagePart) -> str:
    match part:
        case Quotation():
            inside = "".join(f", {_described(inner)}" for group in (part.tables, part.files) for inner in group)
            description = f"a forwarded message ({len(part.text)} characters{inside})"
        case Table():
            description = f"a table ({len(part.rows)} x {max(map(len, part.rows), default=0)})"
        case Alert():
            description = f"an app's text ({len(part.text)} characters)"
        case MessageFile():
            description = f"a file ({part.kind}, {part.size} bytes)"
        case LeftOut():
            description = f"{part.count} unknown" if part.is_unknown else f"{part.count} more"
    return f"{description}, cut" if part.is_cut else description


def _is_rich(block: Any) -> bool:
    return isinstance(block, dict) and text(block, "type") == "rich_text"


def _is_preview(written: str, blocks: Sequence[Any]) -> bool:
    """Whether ``text`` is only the beginning of the blocks' text, which Slack sometimes sends in direct messages."""
    if len(written) < 100:  # noqa: PLR2004 - shorter texts are complete, and most texts are short
        return False
    length, waiting, looks = 0, list(blocks), 0
    while waiting and looks < _MOST_LOOKS:
        element, looks = mapping(waiting.pop()), looks + 1
        length += len(text(element, "text"))
        waiting += items(element.get("elements"))
    return length > len(written) + _SLACK_IN_LENGTH


class _Reading:
    """One message being read, with the number of values and characters that may still be read."""

    def __init__(self) -> None:
        self._looks = _MOST_LOOKS
        self._room = MOST
        self._is_cut = False
        self._tables: list[Table] = []
        self._files = 0
        self._left_out = 0

    def read(self, message: Mapping[str, Any], written: str, blocks: Sequence[Any], *, is_app: bool) -> Contents:
        """Read the whole message."""
        parts: list[MessagePart] = []
        unknown = 0
        others = [block for block in blocks if not _is_rich(block)]
        if not others:
            if is_app or not written.strip() or _is_preview(written, blocks):
                written = self._blocks(blocks) or written
        elif is_app:
            parts += self._pieces(self._blocks(blocks))
            if any(isinstance(part, Alert) for part in parts):
                written = ""
        else:
            first = next((at for at, block in enumerate(blocks) if not _is_rich(block)), 0)
            if first and any(map(_is_rich, blocks[first:])):  # they go on below it
                written, others = self._blocks(blocks[:first]), list(blocks[first:])
            elif not written.strip():
                written = self._blocks(list(filter(_is_rich, blocks)))
            for block in others:
                pieces = self._pieces(self._blocks([block]), is_own=_is_rich(block))
                unknown += not pieces and text(mapping(block), "type") not in _WITHOUT_WORDS
                parts += [part for part in pieces if not (isinstance(part, Alert) and part.text.strip() in written)]
        for attachment in self._some_attachments(message, is_app=is_app):
            if attachment.get("is_share") is True or attachment.get("message_blocks"):
                parts.append(self._quotation(attachment))
            elif not _is_link_preview(attachment, is_app=is_app):
                shown = [*self._pieces(self._alert(attachment)), *self._some_files(attachment)]
                unknown += not shown and attachment.get("fallback") in _PLACEHOLDERS and not is_app
                parts += shown
        if parts and written in _PLACEHOLDERS:
            written = ""
        parts += self._some_files(message)
        if self._left_out:
            parts.append(LeftOut(count=self._left_out))
        if unknown or (blocks and not (is_app or parts or written.strip())):
            parts.append(LeftOut(count=unknown or 1, is_unknown=True))
        return Contents(written, tuple(parts))

    def _quotation(self, attachment: Mapping[str, Any]) -> Quotation:
        """Read a forwarded message. Slack doesn't document them; see the payloads recorded in the tests."""
        texts: list[str] = []
        files = self._some_files(attachment)
        for inner in map(mapping, items(attachment.get("message_blocks"))[:_MOST_ATTACHMENTS]):
            message = mapping(inner.get("message"))
            shown = self._blocks(items(message.get("blocks"))) or self._take(text(message, "text"))
            texts += [shown, *self._cards(message)]
            files += self._some_files(message)
        cards = self._cards(attachment)
        others = dict.fromkeys(_OF_QUOTATIONS)
        if any(texts) or cards:
            others["fallback"] = None
        if any(texts):  # which these repeat
            others |= {"text": None, "blocks": None}
        texts += [self._alert({**attachment, **others}), *cards]
        words = "\n".join(filter(None, texts))
        if words.rstrip(f"{TABLE_MARK}\n").count(TABLE_MARK) == 0:  # they are below it anyway
            words = words.replace(TABLE_MARK, "").rstrip("\n")
        return Quotation(
            author=text(attachment, "author_name")[:_SHORT] or text(attachment, "author_subname")[:_SHORT],
            author_id=_id(attachment, "author_id"),
            channel=_id(attachment, "channel_id"),
            channel_name=text(attachment, "channel_name")[:_SHORT],
            link=_address(text(attachment, "from_url"), _ADDRESS),
            text=words,
            tables=tuple(self._tables_since()),
            files=tuple(files),
            is_cut=self._was_cut(),
        )

    def _cards(self, message: Mapping[str, Any]) -> list[str]:
        """Read the attachments of a forwarded message."""
        return [self._alert(one) for one in self._some_attachments(message) if not _is_link_preview(one)]

    def _some_attachments(self, message: Mapping[str, Any], *, is_app: bool = False) -> Sequence[Mapping[str, Any]]:
        """Return a message's first attachments, and count the others that aren't link previews."""
        attachments = objects(message.get("attachments"))
        beyond = attachments[_MOST_ATTACHMENTS:]
        self._left_out += len(beyond) - sum(_is_link_preview(each, is_app=is_app) for each in beyond[:1000])
        return attachments[:_MOST_ATTACHMENTS]

    def _alert(self, attachment: Mapping[str, Any]) -> str:
        """Read an app's attachment: https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments.

        Its fallback text is used only if it has no other.
        """
        before = len(self._tables)
        title, link = text(attachment, "title"), _address(text(attachment, "title_link"))
        if title and link and "<" not in title:
            title = _link(link, title)
        texts = [self._take(text(attachment, name)) for name in ("pretext", "service_name", "author_name")]
        if (subname := text(attachment, "author_subname")) != text(attachment, "author_name"):
            texts.append(self._take(subname))
        blocks = self._blocks(items(attachment.get("blocks")))
        if blocks or len(self._tables) > before:
            texts.append(blocks)
        else:
            texts += [self._take(title), self._take(text(attachment, "text"))]
            for field in map(mapping, items(attachment.get("fields"))[:_MOST_LOOKS]):
                named = ": ".join(filter(None, (text(field, "title"), text(field, "value"))))
                texts.append(self._take(named))
            texts += [self._image(attachment, name) for name in ("image_url", "thumb_url")]
        when = in_utc(attachment.get("ts")) if attachment.get("ts") else ""
        texts += [self._buttons(attachment.get("actions"))]
        texts.append(self._take(" | ".join(filter(None, (text(attachment, "footer"), when)))))
        words = "\n".join(words for words in texts if words.strip())
        if not words and len(self._tables) == before:
            fallback = text(attachment, "fallback")
            words = "" if fallback in _PLACEHOLDERS else self._take(fallback)
        return words

    def _blocks(self, blocks: Sequence[Any]) -> str:
        """Return the text of blocks of all kinds, with `TABLE_MARK` for each table; these are collected separately."""
        texts = map(self._text_of, map(mapping, blocks[:_MOST_LOOKS]))
        return "\n".join(words for words in texts if words.strip())

    def _text_of(self, block: Any, depth: int = 0) -> str:
        """Return the text of a block, or of a value inside a block."""
        self._looks -= 1
        if depth > _DEEPEST or self._looks < 0:
            self._is_cut = self._is_cut or bool(block)
            return ""
        if isinstance(block, str):
            return self._take(escape_once(text({"": block}, "")))
        if isinstance(block, list):
            return "\n".join(filter(None, (self._text_of(inner, depth + 1) for inner in block[:_MOST_LOOKS])))
        block = mapping(block)
        known = self._known(block, depth)
        return self._inside(block, depth) if known is None else known

    def _inside(self, block: Mapping[str, Any], depth: int) -> str:
        """Return the text of a block's fields."""
        if isinstance(block.get("value"), int | float) and isinstance(block.get("label"), str):  # a point of a chart
            return self._take(f"{escape_once(text(block, 'label'))}: {block['value']}")
        texts = (
            self._text_of(block[name], depth + 1)
            for name in _TEXT_FIELDS
            if isinstance(block.get(name), str | list | dict)
        )
        words = "\n".join(filter(None, texts))
        if words or depth >= _DEEPEST:  # there, the one field of a cell
            return words
        inner = (self._text_of(value, depth + 1) for value in block.values() if isinstance(value, dict))
        return "\n".join(filter(None, inner))  # of a type that isn't known yet

    def _known(self, block: Mapping[str, Any], depth: int) -> str | None:
        """Return the text of a block of a type whose text isn't just that of its fields; None for the others."""
        match block.get("type"):
            case "rich_text":
                return self._rich(block)
            case "mrkdwn":
                return self._take(text(block, "text"))
            case "context":
                texts = (self._text_of(element, depth + 1) for element in items(block.get("elements")))
                return " ".join(filter(None, texts))
            case "image":
                return self._image(block, "title")
            case "icon":
                return ""
            case "button" | "workflow_button":
                return self._buttons([block])
            case "url":  # https://docs.slack.dev/reference/block-kit/block-elements/url-source-element
                return self._take(_link(_address(text(block, "url")), text(block, "text")))
            case "file":  # https://docs.slack.dev/reference/block-kit/blocks/file-block
                file = mapping(block.get("file"))
                return self._take(escape_once(f"[file: {text(file, 'title') or text(file, 'name') or 'unnamed'}]"))
            case "video" if link := _address(text(block, "title_url")):
                title = self._take(_link(link, text(mapping(block.get("title")), "text")))
                return "\n".join(filter(None, (title, self._inside({**block, "title": None}, depth))))
            case "task_card" | "alert":  # shown as an icon
                state = text(block, "status") or text(block, "level").replace("default", "")
                mark = self._take(escape_once(f"[{state.replace('_', ' ')}] ")) if state else ""
                return mark + self._inside(block, depth)
            case "call":  # https://docs.slack.dev/apis/web-api/using-the-calls-api
                call = mapping(mapping(block.get("call")).get("v1"))
                url, name = _address(text(call, "join_url")), text(call, "name")
                return self._take(_link(url, name) if url else escape_once(name))
            case "table" | "data_table":
                caption, before = self._take(escape_once(text(block, "caption"))), len(self._tables)
                self._table(block)
                return "\n".join(filter(None, (caption, TABLE_MARK * (len(self._tables) - before))))
        words = control_words(block)
        return None if words is None else self._take(words)

    def _image(self, where: Mapping[str, Any], name: str) -> str:
        """Return the title of an image, as it's called beside the field *name*."""
        title = text(mapping(where.get("title")), "text") or text(where, "alt_text")
        if name != "title":  # of an attachment, whose own title and text are elsewhere
            if not text(where, name):
                return ""
            title = "" if text(where, "title") or text(where, "text") else text(where, "fallback")
        return self._take(escape_once(f"[image: {title}]" if title else "[image]"))

    def _buttons(self, actions: Any) -> str:
        """Return the links and labels of buttons, and the choices of menus."""
        shown = []
        for button in map(mapping, items(actions)[:_MOST_ATTACHMENTS]):
            label = text(mapping(button.get("text")), "text") or text(button, "text")
            url = _address(text(button, "url"))
            shown.append(self._take(_link(url, label) if url else control_words(button) or ""))
        return " ".join(filter(None, shown))

    def _rich(self, block: Mapping[str, Any]) -> str:
        """Write rich text as Markdown: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block."""
        return "\n".join(filter(None, map(self._rich_piece, items(block.get("elements"))))).strip("\n")

    def _rich_piece(self, piece: Any) -> str:
        self._looks -= 1
        if self._looks < 0:
            self._is_cut = True
            return ""
        piece = mapping(piece)
        elements = items(piece.get("elements"))
        match piece.get("type"):
            case "rich_text_list":
                indent, offset = _whole(piece.get("indent"), 8), _whole(piece.get("offset"), _MOST_LOOKS)
                is_ordered, lines = piece.get("style") == "ordered", []
                for number, item in enumerate(elements, 1 + offset):
                    if self._looks < 0:
                        self._is_cut = True
                        break
                    mark = f"{number}. " if is_ordered else "- "
                    lines.append(f"{'    ' * indent}{mark}{self._inline(items(mapping(item).get('elements')))}")
                return "\n".join(lines)
            case "rich_text_quote":
                return _LINE.sub("&gt; ", self._inline(elements))
            case "rich_text_preformatted":
                return f"```\n{self._inline(elements, is_code=True)}\n```"
        return self._inline(elements).removesuffix("\n")

    def _inline(self, elements: Sequence[Any], *, is_code: bool = False) -> str:
        texts = []
        for element in map(mapping, elements):
            self._looks -= 1
            if self._looks < 0 or self._room <= 0:
                self._is_cut = True
                break
            texts.append(self._take(_element(element, is_code=is_code)))
        return "".join(texts)

    def _table(self, block: Mapping[str, Any]) -> None:
        """Collect a table: https://docs.slack.dev/reference/block-kit/blocks/table-block."""
        rows = []
        for row in items(block.get("rows")):
            if self._looks < 0 or self._room <= 0:
                self._is_cut = True
                break
            self._looks -= 1
            cells = items(row)
            self._is_cut = self._is_cut or len(cells) > _MOST_COLUMNS
            rows.append(tuple(map(self._cell, cells[:_MOST_COLUMNS])))
        if any(any(row) for row in rows):
            self._tables.append(Table(rows=tuple(rows), is_cut=self._was_cut()))

    def _cell(self, cell: Any) -> str:
        self._looks -= 1
        cell = mapping(cell)
        if cell.get("type") == "rich_text":
            return self._rich(cell)
        shown = text(cell, "text")
        number = cell.get("value")
        if not shown and isinstance(number, int | float):
            shown = str(number)
        return self._take(escape_once(shown)) if shown else self._text_of(cell, _DEEPEST)

    def _some_files(self, where: Mapping[str, Any]) -> list[MessageFile]:
        """Read the files of *where*; files beyond the message's limit are only counted."""
        files = objects(where.get("files"))
        included = files[: max(0, _MOST_FILES - self._files)]
        self._files += len(included)
        self._left_out += len(files) - len(included)
        return list(map(self.file, included))

    def file(self, file: Mapping[str, Any]) -> MessageFile:
        """Read a file object."""
        kind, size = file_kind(file), _whole(file.get("size"), 10**12)
        name, title = text(file, "name")[:_SHORT], text(file, "title")[:_SHORT]
        is_titled = bool(title and name) and not name.casefold().startswith(title.casefold())
        url = text(file, "url_private_download") or text(file, "url_private")
        words, is_whole, is_pending = "", False, False
        match kind:
            case "clip":
                transcription = mapping(file.get("transcription"))
                preview = mapping(transcription.get("preview"))
                status = text(transcription, "status")
                is_new = text(file, "subtype") == "slack_audio" and status not in {"complete", "failed"}
                is_pending = status == "processing" or is_new
                if status == "complete":
                    words, is_whole = text(preview, "content"), preview.get("has_more") is False
                url = text(file, "vtt")
            case "mail":
                body = text(file, "plain_text") or text(file, "preview_plain_text")
                words = _mail_head(file) + body if body else ""
                is_whole = bool(words) and (bool(text(file, "plain_text")) or file.get("has_more") is False)
            case "text":
                words = text(file, "preview")
                is_whole = bool(words) and len(words.encode()) == size
                words = words if is_whole else ""
            case "link":
                url = text(file, "external_url") or text(file, "url_private")
        words = self._take(words)
        return MessageFile(
            id=_id(file, "id"),
            kind=kind,
            name=f"{title} ({name})" if is_titled else name or title,
            format=format_of(file) if kind == "document" else "",
            type=text(file, "pretty_type")[:_SHORT] or text(file, "filetype")[:_SHORT],
            size=size,
            url=_address(url, _ADDRESS),
            alt_text=self._take(text(file, "alt_txt")[:_ADDRESS]),
            words=words,
            is_whole=is_whole and not self._was_cut(),
            is_pending=is_pending,
        )

    def _take(self, words: str) -> str:
        """Return as much of *words* as there's room for, and count it."""
        words = words.replace(TABLE_MARK, "") if TABLE_MARK in words else words
        if len(words) > self._room:
            words, self._is_cut = words[: self._room], True
        self._room -= len(words)
        return words

    def _was_cut(self) -> bool:
        """Whether anything was cut since the last call."""
        was_cut, self._is_cut = self._is_cut, False
        return was_cut

    def _pieces(self, words: str, *, is_own: bool = False) -> list[MessagePart]:
        """Split the text of blocks at its tables."""
        parts: list[MessagePart] = []
        tables = iter(self._tables_since())
        for at, piece in enumerate(words.split(TABLE_MARK)):
            parts += [next(tables)] if at else []
            if piece.strip():
                parts.append(Alert(text=piece.strip("\n"), is_own=is_own))
        if parts and self._was_cut():
            parts[-1] = parts[-1].model_copy(update={"is_cut": True})
        return parts

    def _tables_since(self) -> list[Table]:
        """Return the tables found since the last call."""
        tables, self._tables = self._tables, []
        return tables


def _mail_head(file: Mapping[str, Any]) -> str:
    def people(name: str) -> str:
        return ", ".join(text(person, "original") for person in objects(file.get(name))[:_MOST_FILES])

    date = text(mapping(file.get("headers")), "date")
    head = {"From": people("from"), "To": people("to"), "Date": date, "Subject": text(file, "subject")}
    return "".join(f"{name}: {' '.join(value.split())}\n" for name, value in head.items() if value.strip()) + "\n"


def _is_link_preview(attachment: Mapping[str, Any], *, is_app: bool = False) -> bool:
    """Whether an attachment is a preview that Slack added: https://docs.slack.dev/messaging/unfurling-links-in-messages.

    An app's own cards may have the same fields; only a preview of a message is never its own.
    """
    if is_app:
        return attachment.get("is_msg_unfurl") is True and attachment.get("is_share") is not True
    if attachment.get("is_share") is True or attachment.get("message_blocks"):
        return False
    return any(attachment.get(name) for name in ("from_url", "original_url", "is_msg_unfurl", "is_app_unfurl"))


def _element(element: Mapping[str, Any], *, is_code: bool) -> str:
    """Write one element of rich text, with Slack's escapes."""
    match element:
        case {"type": "user", "user_id": str() as id_} if _ID.fullmatch(id_):
            return f"<@{id_}>"
        case {"type": "channel", "channel_id": str() as id_} if _ID.fullmatch(id_):
            return f"<#{id_}>"
        case {"type": "usergroup", "usergroup_id": str() as id_} if _ID.fullmatch(id_):
            return f"<!subteam^{id_}>"
        case {"type": "broadcast", "range": "here" | "channel" | "everyone" as audience}:
            return f"<!{audience}>"
        case {"type": "emoji", "name": str()}:
            return f":{escape_once(text(element, 'name'))}:"
        case {"type": "link", "url": str()}:
            url, label = _address(text(element, "url")), text(element, "text")
            return _link(url, label) if url else escape_once(label)
        case {"type": "date", "timestamp": int() as seconds} if not text(element, "fallback"):
            return in_utc(seconds)
        case {"type": "color", "value": str()}:
            return escape_once(text(element, "value"))
    shown = escape_once(next(filter(None, (text(element, name) for name in ("text", "fallback", "title", "name"))), ""))
    style = mapping(element.get("style"))
    if is_code or not style or not shown.strip():
        return shown
    marks = [mark for name, mark in (("bold", "**"), ("italic", "_"), ("strike", "~~")) if style.get(name) is True]
    if style.get("code") is True:
        marks.append("`")
    core = shown.strip()  # Markdown allows no blanks inside its marks
    at = shown.index(core)
    return f"{shown[:at]}{''.join(marks)}{core}{''.join(reversed(marks))}{shown[at + len(core) :]}"


def _link(url: str, label: str) -> str:
    """Write a link in Slack's form; nothing in *label* can close it."""
    words = escape_once(" ".join(label.split())).replace("|", "/")
    return f"<{url}|{words}>" if words and words != url else f"<{url}>"


def _address(url: str, most: int = MOST) -> str:
    """Escape a URL for Slack's angle brackets; ``""`` if it's invalid or longer than *most*."""
    if not url or len(url) > most or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]", url):
        return ""
    return re.sub(r"\s", "%20", url).replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")


def _id(where: Mapping[str, Any], name: str) -> str:
    id_ = text(where, name)
    return id_ if _ID.fullmatch(id_) else ""


def _whole(value: object, most: int) -> int:
    """Return *value* if it's a positive whole number, but at most *most*; 0 otherwise."""
    return min(value, most) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
