"""Tables of cases."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a test for each row, as pytest's parametrize does, but as one test; it names every row that fails.

    All rows share the test's fixtures, so a row must leave nothing behind that the next one sees. Three milliseconds to
    collect, distribute and report a row, and fifty to open a harness, are far more than it takes to check it.
    """
    columns = (names,) if isinstance(names, str) else names
    cases = [dict(zip(columns, (row,) if isinstance(names, str) else row, strict=True)) for row in rows]

    def decorated(test: Callable[..., Any]) -> Callable[..., Any]:
        def check(**fixtures: Any) -> None:
            failed = Failures()
            for case in cases:
                with failed.of(case):
                    test(**fixtures, **case)
            failed.check()

        async def check_async(**fixtures: Any) -> None:
            failed = Failures()
            for case in cases:
                with failed.of(case):
                    await test(**fixtures, **case)
            failed.check()

        checked: Any = check_async if inspect.iscoroutinefunction(test) else check
        checked.__name__, checked.__qualname__, checked.__doc__ = test.__name__, test.__qualname__, test.__doc__
        checked.__module__ = test.__module__
        signature = inspect.signature(test)
        fixtures = [one for one in signature.parameters.values() if one.name not in columns]
        checked.__signature__ = signature.replace(parameters=fixtures)
        return checked

    return decorated


class Failures:
    """The rows that fail."""

    def __init__(self) -> None:
        self.found: list[BaseException] = []

    @contextmanager
    def of(self, case: dict[str, Any]) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as exc:  # noqa: BLE001 - all are raised below
            exc.add_note(f"row: {tuple(case.values())!r}")
            self.found.append(exc)

    def check(self) -> None:
        if self.found:
            raise BaseExceptionGroup("some rows fail", self.found)
