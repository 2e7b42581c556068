"""How people share a limit."""

from __future__ import annotations

import asyncio

from bridge.features.conversations.fairness import FairSemaphore


class People:
    """People who hold parts of a limit until they're told to let go."""

    def __init__(self, most: int) -> None:
        self.semaphore = FairSemaphore(most)
        self.holding: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.ends: dict[str, asyncio.Event] = {}

    async def ask(self, *names: str, amount: int = 1) -> list[str]:
        """Ask once for each name; a person is its first letter. Return who holds something now."""
        for name in names:
            self.ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._hold(name, amount))
        return await self._settled()

    async def _hold(self, name: str, amount: int) -> None:
        async with self.semaphore.held(name[0], amount):
            self.holding.append(name)
            await self.ends[name].wait()
        self.holding.remove(name)

    async def let_go(self, name: str) -> list[str]:
        self.ends[name].set()
        return await self._settled()

    async def cancel(self, name: str) -> list[str]:
        self._tasks[name].cancel()
        return await self._settled()

    async def _settled(self) -> list[str]:
        for _ in range(5):
            await asyncio.sleep(0)
        return sorted(self.holding)


async def test_one_person_holds_at_most_half() -> None:
    people = People(4)

    assert await people.ask("a1", "a2", "a3") == ["a1", "a2"]
    assert await people.ask("b1", "b2") == ["a1", "a2", "b1", "b2"]


async def test_people_who_wait_take_turns() -> None:
    people = People(2)
    await people.ask("a1", "b1", "c1", "c2", "d1")

    assert await people.let_go("a1") == ["b1", "c1"]
    assert await people.let_go("b1") == ["c1", "d1"]
    assert await people.let_go("d1") == ["c1"]
    assert await people.let_go("c1") == ["c2"]


async def test_a_large_request_is_not_passed_by_small_ones() -> None:
    people = People(10)
    await people.ask("a1", "b1", amount=4)
    await people.ask("c1", amount=5)

    assert await people.ask("d1", amount=1) == ["a1", "b1"]
    assert await people.let_go("a1") == ["b1", "c1", "d1"]


async def test_a_cancelled_request_makes_room() -> None:
    people = People(2)
    await people.ask("a1", "b1", "c1", "d1")

    assert await people.cancel("c1") == ["a1", "b1"]
    assert await people.let_go("a1") == ["b1", "d1"]
    assert await people.let_go("b1") == ["d1"]
    assert await people.let_go("d1") == []
    assert people.semaphore.free == 2


async def test_a_request_cancelled_when_granted_gives_it_back() -> None:
    people = People(2)
    await people.ask("a1", "a2")

    people.ends["a1"].set()
    await asyncio.sleep(0)

    assert await people.cancel("a2") == []
    assert people.semaphore.free == 2
