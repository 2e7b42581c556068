"""`Distinct`: how many different people or threads there were, without saying which.

It's a HyperLogLog: of each, only a token of 14 bits is stored, from which nobody can be found, and which many share.
Few are counted exactly; beyond `_MOST_TOKENS`, 128 registers of 4 bits are left, and the count is about 7% off.
https://algo.inria.fr/flajolet/Publications/FlFuGaMe07.pdf
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable
from typing import Final

_FINE: Final = 10
"""The bits of a token that choose its register; its other 4 bits are the rank."""

_COARSE: Final = 7
_RANK: Final = 15  # the highest, of 4 bits
_MOST_TOKENS: Final = 24
_DENSE: Final = 1 << _COARSE >> 1  # bytes


def token_of(salt: str, value: str) -> int:
    """Return the token of a *value*; another *salt* makes other tokens."""
    number = int.from_bytes(hashlib.blake2s(value.encode(), key=salt.encode()[:32], digest_size=8).digest())
    rest = number >> _FINE
    rank = (rest & -rest).bit_length() if rest else _RANK
    return (number & ((1 << _FINE) - 1)) << 4 | min(rank, _RANK)


class Distinct:
    """A number of different values, by their tokens; merging two counts what's in both once."""

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        self._bits = _FINE
        self._ranks: dict[int, int] = {}
        for token in tokens:
            self.add(token)

    def add(self, token: int) -> None:
        """Count a value."""
        self._set(*_folded(token >> 4, token & _RANK, _FINE, self._bits))

    def merge(self, other: Distinct) -> None:
        """Count what *other* counts, too."""
        bits = min(self._bits, other._bits)
        self._fold(bits)
        for register, rank in other._ranks.items():
            self._set(*_folded(register, rank, other._bits, bits))

    def __len__(self) -> int:
        """Return about how many there are."""
        size = 1 << self._bits
        empty = size - len(self._ranks)
        total = empty + sum(2.0**-rank for rank in self._ranks.values())
        raw = 0.7213 / (1 + 1.079 / size) * size * size / total
        return round(size * math.log(size / empty) if empty and raw <= 2.5 * size else raw)

    def to_text(self) -> str:
        """Return the stored form, of at most 86 characters."""
        if self._bits == _FINE and len(self._ranks) <= _MOST_TOKENS:
            data = b"".join((register << 4 | rank).to_bytes(2) for register, rank in sorted(self._ranks.items()))
        else:
            coarse = Distinct()
            coarse._bits = _COARSE
            coarse.merge(self)
            ranks = [coarse._ranks.get(register, 0) for register in range(1 << _COARSE)]
            data = bytes(ranks[at] << 4 | ranks[at + 1] for at in range(0, len(ranks), 2))
        return base64.b64encode(data).decode().rstrip("=")

    @classmethod
    def from_text(cls, text: str) -> Distinct:
        """Read a stored form. Raises ValueError."""
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        if len(data) != _DENSE:
            return cls(int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2))
        found = cls()
        found._bits = _COARSE
        for at, pair in enumerate(data):
            found._set(2 * at, pair >> 4)
            found._set(2 * at + 1, pair & _RANK)
        return found

    def _set(self, register: int, rank: int) -> None:
        if rank > self._ranks.get(register, 0):
            self._ranks[register] = rank

    def _fold(self, bits: int) -> None:
        if bits < self._bits:
            ranks, before = self._ranks, self._bits
            self._bits, self._ranks = bits, {}
            for register, rank in ranks.items():
                self._set(*_folded(register, rank, before, bits))


def _folded(register: int, rank: int, before: int, bits: int) -> tuple[int, int]:
    """Return the register and the rank of a value with fewer *bits* for the register: the others precede its rank."""
    if before == bits:
        return register, rank
    over = register & ((1 << (before - bits)) - 1)
    rank = (over.bit_length() and (over & -over).bit_length()) or before - bits + rank
    return register >> (before - bits), min(rank, _RANK)
