"""Format numbers in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Style:
    """The separators of thousands (*group*) and decimals (*point*)."""

    group: str
    point: str


ENGLISH: Final = Style(",", ".")
_DOTS: Final = Style(".", ",")
_SPACES: Final = Style("\u00a0", ",")  # a non-breaking one
_APOSTROPHES: Final = Style("\u2019", ".")

# By language, or by language and country where they differ. All others use English.
_STYLES: Final[dict[str, Style]] = {
    **dict.fromkeys(("da", "de", "el", "es", "hr", "id", "it", "nl", "pt", "ro", "sl", "sr", "tr", "vi"), _DOTS),
    **dict.fromkeys(("bg", "cs", "fi", "fr", "hu", "nb", "no", "pl", "pt-pt", "ru", "sk", "sv", "uk"), _SPACES),
    **dict.fromkeys(("de-ch", "de-li", "it-ch"), _APOSTROPHES),
    "de-at": _SPACES,
    "es-mx": ENGLISH,
}
_HUGE_PER_CENT: Final = 1000


def style_of(locale: str) -> Style:
    """Return the style of a Slack locale, such as ``de-CH``; English if it's unknown."""
    name = locale.casefold().replace("_", "-")
    return _STYLES.get(name) or _STYLES.get(name.partition("-")[0], ENGLISH)


def whole(number: int, style: Style = ENGLISH) -> str:
    """Write a whole number: ``1,234``."""
    return f"{number:,}".replace(",", style.group)


def signed(number: int, style: Style = ENGLISH) -> str:
    """Write a difference with its sign: ``+56``."""
    return f"{number:+,}".replace(",", style.group)


def per_cent(share: float, style: Style = ENGLISH) -> str:
    """Write a relative difference with its sign: ``+4.8%``; large ones without decimals."""
    percentage = 100 * share
    if abs(percentage) >= _HUGE_PER_CENT:
        return f"{signed(round(percentage), style)}%"
    return f"{percentage:+.1f}%".replace(".", style.point)
