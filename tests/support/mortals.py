"""Bridges that die at a given point: the test's side of `support.mortal`."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from support.forks import fork
from support.world import BridgeProcess, World


@dataclass
class Mortal(BridgeProcess):
    """A bridge that dies at its *fate* (``""``: lives on); it records its diary in the file *book*."""

    fate: str = ""
    book: Path = Path()

    async def start(self) -> Self:
        """Fork it."""
        self.began(await fork(self.environ, fate=self.fate, diary=str(self.book)))
        return self

    def diary(self) -> list[str]:
        """The points it has passed."""
        return self.book.read_text().splitlines() if self.book.exists() else []


def a_mortal(world: World, diaries: Path, fate: str = "", **environ: str) -> Mortal:
    """Prepare a bridge for *world* that records its diary in the folder *diaries*."""
    plain = world.bridge(**environ)
    world.bridges.remove(plain)
    mortal = Mortal(plain.environ, fate=fate, book=diaries / f"{secrets.token_hex(8)}.diary")
    world.bridges.append(mortal)
    return mortal
