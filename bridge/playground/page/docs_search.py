"""Search in the documentation by word stems and prefixes; each page is found by its best section."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log
from typing import Final

_COMMON: Final = re.compile(
    r"a|about|an|and|are|be|but|by|can|could|did|didn|do|does|doesn|don|each|every|for|from|get|gets|got|happen|happens|has|have|how|i|"
    r"if|in|is|isn|it|its|let|me|my|not|of|on|or|s|should|so|t|that|the|there|this|to|want|was|we|what|when|where|which|who|why|"
    r"will|with|you|your"
)
"""Words ignored in a query."""
_START: Final = "index"
"""The start page, which isn't searched: its questions contain the query's words but only link to the answers."""
_REFERENCE: Final = 0.7
"""The weight of a reference page, relative to other pages."""
_FENCE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_INDENTED: Final = re.compile(r"^```.*?^ ```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocsPage:
    """One page: its *path* below the folder, without ``.md``, its *title*, and its Markdown."""

    path: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """The *text* and the *code* blocks below one *heading* of a page."""

    page: DocsPage
    heading: str
    text: str
    code: str

    @property
    def is_whole_page(self) -> bool:
        """Whether its heading is the page's title."""
        return self.heading == self.page.title


@dataclass(frozen=True, slots=True)
class _Index:
    """The stems in a section's heading, its page's title and its text."""

    heading: frozenset[str]
    title: frozenset[str]
    text: Counter[str]

    def weight(self, word: str) -> float:
        """The section's relevance for the stem *word*; 0 if it doesn't occur."""
        often = 1 + log(1 + self.text[word]) / 10
        return 4 * _match(word, self.heading) + 3 * _match(word, self.title) + often * _match(word, self.text)


def search(pages: Mapping[str, DocsPage], query: str) -> list[Section]:
    """Find the best section of each matching page, best first. Rare words, headings and titles count more."""
    words = query_stems(query)
    sections = [
        (section, _index(section)) for page in pages.values() if page.path != _START for section in _sections(page)
    ]
    weights = [[index.weight(word) for word in words] for _, index in sections]
    rarity = [log(1 + len(sections) / (1 + sum(map(bool, column)))) for column in zip(*weights, strict=True)]
    best: dict[str, tuple[tuple[int, float], Section]] = {}
    for (section, _), row in zip(sections, weights, strict=True):
        less = _REFERENCE if section.page.path.startswith("reference/") else 1
        score = sum(map(bool, row)), less * sum(weight * rare for weight, rare in zip(row, rarity, strict=True))
        if score > best.get(section.page.path, ((0, 0.0),))[0]:
            best[section.page.path] = score, section
    return [section for _, section in sorted(best.values(), key=lambda one: one[0], reverse=True)]


def query_stems(query: str) -> list[str]:
    """Return the stems of a query, without words like "the" unless there are no others."""
    typed = _words(query)
    return [stem(word) for word in typed if not _COMMON.fullmatch(word)] or [stem(word) for word in typed]


def stem(word: str) -> str:
    """Remove a plural's -s or -es, or an -ing or -ed.

    ``replicas``, ``rotates``, ``rotating`` and ``stopped`` become ``replica``, ``rotat``, ``rotat`` and ``stop``.
    """
    without_s = re.sub(r"(?<=..[^s])s$", "", word)
    bare = re.sub(r"(?<=...)(?:ing|ed)$", "", without_s)
    if bare != without_s:
        bare = re.sub(r"([^ls])\1$", r"\1", bare)
    return re.sub(r"(?<=...)e$", "", bare)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


@cache
def _sections(page: DocsPage) -> Sequence[Section]:
    indented = _FENCE.sub(lambda fence: fence[0].replace("\n", "\n "), page.text)  # a comment isn't a heading
    sections = []
    for part in re.split(r"^#+ ", indented, flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", _INDENTED.sub("", rest))
        sections.append(Section(page, heading, text, " ".join(_INDENTED.findall(rest))))
    return sections


@cache
def _index(section: Section) -> _Index:
    text = Counter(_stems(f"{section.text} {section.code}"))
    return _Index(frozenset(_stems(section.heading)), frozenset(_stems(section.page.title)), text)


def _stems(text: str) -> list[str]:
    """The stems of a text's words, and of each adjacent pair joined, so that "backup" finds "back up"."""
    stems = [stem(word) for word in _words(text)]
    return [*stems, *(one + other for one, other in pairwise(stems))]


def _match(word: str, stems: Collection[str]) -> float:
    if word in stems:
        return 1
    return 0.5 if any(one.startswith(word) for one in stems) else 0
