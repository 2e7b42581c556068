"""What agents and workflows return, without what nobody can read: base64 becomes ``[image, 33 kB]``."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.content_words import size

_LEAST: Final = 1000  # characters of base64 that says nothing of itself: shorter ones are keys, which people copy
_LEAST_ADDRESS: Final = 200  # of one that isn't shown as a picture: shorter ones are examples
_LETTER: Final = r"[A-Za-z0-9+/_-]"
_WRAP: Final = r"(?: |(?:\\r)?(?:\\n|\r?\n)[ \t>]*+)"  # between lines, perhaps of a text within JSON
_LAST_LINE: Final = (
    rf"(?:{_WRAP}(?=\S*[0-9+/=])(?:{_LETTER}{{4}})*(?:{_LETTER}{{2,4}}={{0,2}})(?=[ \t]*(?:[\\\r\n\"'`)]|\Z)))?"
)
_CODED: Final = rf"{_LETTER}{{60,}}+(?:{_WRAP}{_LETTER}{{60,}}+)*"
_DATA: Final = re.compile(
    r"(?P<label>!?\[[^\[\]\n]*\]\([ \t]*<?|<img\b[^<>]*?\bsrc\s*=\s*[\"']?)?"
    r"\bdata:(?P<type>[a-z]+/[\w.+-]+)?(?:;[\w.+-]+(?:=[\w.+-]*)?)*?"
    rf"(?:;base64,(?P<coded>(?:{_CODED}{_LAST_LINE}|{_LETTER}*+)={{0,2}})|,(?P<plain>[^\s\"'<>()\[\]]*+))"
    r"(?(label)(?:>?(?:[ \t]+[\"'][^\"'\n]*[\"'])?[ \t]*\)|[\"']?[^<>]*>)?)"
    rf"|(?<![\w+/=.:?&%-])(?P<bare>{_CODED}{_LAST_LINE}={{0,2}})(?![\w+/=.:?&%-])",
    re.IGNORECASE,
)
_MIXED: Final = re.compile(r"(?=.{0,400}?[A-Z])(?=.{0,400}?[a-z])(?=.{0,400}?[0-9])", re.DOTALL)
_HEX: Final = re.compile(r"(?=[0-9]*[A-Fa-f])(?=[A-Fa-f]*[0-9])(?:[0-9a-f]+|[0-9A-F]+)")
_PEM: Final = "-----"  # above a certificate or a public key, which people copy
_AROUND: Final = 20  # characters before data in which that may be
_NO_LETTER: Final = re.compile(rf"\\[rn]|(?!{_LETTER}).", re.DOTALL)
_SAFE: Final = str.maketrans("+/", "-_")
_KINDS: Final = {
    b"\x89PNG": "image", b"\xff\xd8\xff": "image", b"GIF8": "image", b"RIFF": "image", b"%PDF": "PDF",
}  # fmt: skip


def legible(text: str) -> str:
    """Return *text* as people can read it: as on a terminal, and with the kind and size of data in its place."""
    shown = kit.clean(text)
    return _DATA.sub(_named, shown) if len(shown) >= _LEAST or "data:" in shown.casefold() else shown


def legible_value(value: Any) -> Any:
    """Return any JSON with each of its texts as `legible` makes it."""
    match value:
        case str():
            return legible(value)
        case dict():
            keys = {key: legible(key) for key in value}
            is_clear = len(set(keys.values())) == len(keys)
            return {keys[key] if is_clear else key: legible_value(inner) for key, inner in value.items()}
        case list():
            return [legible_value(inner) for inner in value]
    return value


def _named(match: re.Match[str]) -> str:
    coded = match["coded"] or match["bare"] or ""
    letters = _NO_LETTER.sub("", coded)
    is_hex = match["bare"] is not None and len(letters) % 2 == 0 and _HEX.fullmatch(letters) is not None
    if match["bare"] is not None:
        before = match.string[max(0, match.start() - _AROUND) : match.start()]
        if len(letters) < _LEAST or before.rstrip().endswith(_PEM) or not (is_hex or _MIXED.match(letters)):
            return match[0]
    elif not match["label"] and len(coded or match["plain"] or "") < _LEAST_ADDRESS:
        return match[0]
    if is_hex:
        letters = urlsafe_b64encode(bytes.fromhex(letters)).decode().rstrip("=")
    count = len(letters) * 3 // 4 if coded else len(unquote_to_bytes(match["plain"] or ""))
    kind = (match["type"] or "").lower().partition("/")[0]
    if kind not in {"image", "audio", "video"}:
        begins = urlsafe_b64decode(letters[:16].translate(_SAFE).ljust(16, "A"))
        kind = next((name for begin, name in _KINDS.items() if begins.startswith(begin)), "file")
    return f"[{kind}, {size(round(count, -3) if 10**4 <= count < 10**6 else count)}]"
