"""Converts the page's values into the ones that the emulated Slack expects."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from bridge.playground.emulator import widgets
from bridge.playground.emulator.entities import Json
from bridge.playground.page.errors import ActionFailed

_REMEMBERED: Final = 5000


class MenuOptions:
    """Remembers suggested options: the page sends an option's value, and the app gets the whole option."""

    def __init__(self) -> None:
        self._offered: OrderedDict[tuple[str, str], Json] = OrderedDict()

    def offered(self, action_id: str, options: list[Json]) -> None:
        for option in options:
            self._offered[action_id, str(option.get("value"))] = option
        while len(self._offered) > _REMEMBERED:
            self._offered.popitem(last=False)

    def chosen(self, blocks: list[Json], block_id: str, action_id: str, value: Any) -> Any:
        """The value that Slack expects for *value* in an element. Raises LookupError."""
        return self.entered(widgets.find(blocks, action_id, block_id)[0], value)

    def entered(self, element: Json, value: Any) -> Any:
        """The same for a known element."""
        kind = str(element.get("type"))
        if "external_select" in kind:
            if isinstance(value, list):
                return [self._option(element, chosen) for chosen in value]
            return self._option(element, value) if value else None
        if kind == "datetimepicker" and isinstance(value, str):
            with contextlib.suppress(ValueError):
                return int(value)
        return value

    def _option(self, element: Json, value: str) -> Json:
        initial = [element.get("initial_option"), *element.get("initial_options", [])]
        own: list[Json] = [option for option in initial if option and option.get("value") == value]
        offered = self._offered.get((element["action_id"], value))
        if offered is None and not own:
            raise ActionFailed("Choose from the list again.")
        return offered or own[0]


def filled_in(blocks: list[Json], values: Mapping[str, Mapping[str, Any]], choices: MenuOptions) -> dict[str, Any]:
    """A modal's inputs by block ID, from the page's values."""
    entered: dict[str, Any] = {}
    for block in blocks:
        element, block_id = block.get("element"), block.get("block_id", "")
        if isinstance(element, dict) and block_id in values:
            entered[block_id] = choices.entered(element, values[block_id].get(element.get("action_id", "")))
    return entered
