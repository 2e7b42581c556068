"""What the release before stored about the work of agents and workflows: texts by day and week, and streams.

Delete this 28 days after an upgrade from it, with its test. Nothing writes the texts any more.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date
from string import ascii_letters
from typing import Final

from bridge.features.statistics.work import COUNTS, Tally, span_of

REST: Final = "*"
"""The ID of those that were added up, since they did the least."""

_TIMES: Final = re.compile(r"([a-zA-Z])(\d+)")
_DENSE: Final = 64  # bytes
_RANK: Final = 15


def from_texts(periods: Mapping[str, str], first: date) -> tuple[dict[str, Tally], date]:
    """Add up the periods since a day; also return when they begin. What can't be read is left out."""
    total, distinct, begins = dict[str, Tally](), dict[tuple[str, int], _Distinct](), first
    for name, text in periods.items():
        span = span_of(name)
        if span is None or span[1] < first:
            continue
        try:
            tallies = {str(key): str(line).split(";") for key, line in json.loads(text or "{}").items()}
            for key, (counts, times, *tokens) in ((key, [*parts, ""]) for key, parts in tallies.items()):
                tally = total.setdefault(key, Tally())
                for what, count in zip(COUNTS, counts.split("."), strict=True):
                    tally.count(what, int(count))
                tally.times.update({ascii_letters.index(letter): int(count) for letter, count in _TIMES.findall(times)})
                for at, text_ in enumerate(tokens[:2]):
                    distinct.setdefault((key, at), _Distinct()).merge(text_)
        except (ValueError, AttributeError, TypeError):
            continue
        begins = min(begins, span[0])
    for (key, at), values in distinct.items():
        setattr(total[key], ("people", "threads")[at], len(values))
    return total, begins


class _Distinct:
    """A HyperLogLog whose values have a register of 10 bits, or 7 if there are many, and a rank of 4."""

    def __init__(self) -> None:
        self._bits = 10
        self._ranks: dict[int, int] = {}

    def merge(self, text: str) -> None:
        """Count what a stored form counts, too. Raises ValueError."""
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        if len(data) != _DENSE:
            tokens = [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]
            ranks, bits = [(token >> 4, token & _RANK) for token in tokens], 10
        else:
            ranks, bits = [(n, data[n // 2] >> 4 if n % 2 == 0 else data[n // 2] & _RANK) for n in range(128)], 7
        if bits < self._bits:
            known, self._bits, self._ranks = self._ranks, bits, {}
            self._set(known.items(), 10)
        self._set(ranks, bits)

    def _set(self, ranks: Iterable[tuple[int, int]], bits: int) -> None:
        more = bits - self._bits  # bits of the register that precede the rank
        for register, rank in ranks:
            over = register & ((1 << more) - 1)
            moved = (over & -over).bit_length() or more + rank if rank else 0
            if moved > self._ranks.get(register >> more, 0):
                self._ranks[register >> more] = min(moved, _RANK)

    def __len__(self) -> int:
        size = 1 << self._bits
        empty = size - len(self._ranks)
        raw = 0.7213 / (1 + 1.079 / size) * size * size / (empty + sum(2.0**-rank for rank in self._ranks.values()))
        return round(size * math.log(size / empty) if empty and raw <= 2.5 * size else raw)
