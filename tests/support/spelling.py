"""What people's keyboards and phones make of the same text."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

UNSEEN = "\u200b\u200d\u2060\ufeff\u00ad\u200e\u200f\ufe0f"
BLANKS = " \u00a0\u2003\u3000\u202f"
ALIKE = {"'": "’‘´", '"': "“”„", "-": "−‐", ":": "：", "!": "！", "/": "／"}  # noqa: RUF001 - as keyboards type them


@st.composite
def spelled(draw: st.DrawFn, name: str) -> str:
    """Write *name* as another keyboard might."""
    if draw(st.booleans()):
        name = unicodedata.normalize(draw(st.sampled_from(["NFC", "NFD"])), name)
    written = []
    for letter in name:
        if letter == " ":
            written.append(draw(st.text(BLANKS, min_size=1, max_size=2)))
            continue
        forms = [letter, *(form for form in (letter.upper(), letter.lower()) if form.casefold() == letter.casefold())]
        if "!" <= letter <= "~":
            forms += [chr(ord(letter) + 0xFEE0), *ALIKE.get(letter, "")]
        written.append(draw(st.sampled_from(forms)))
        if draw(st.integers(0, 9)) == 0 and not unicodedata.combining(letter):
            written.append(draw(st.sampled_from(UNSEEN)))
    return "".join(written)
