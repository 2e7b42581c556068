"""What can be seen of the emulated workspace, and what can be set in it while it runs."""

from __future__ import annotations

from collections import Counter

from bridge.playground.emulator.deliver import AppDelivery, Deliverer
from bridge.playground.emulator.entities import File, Json, Message, View
from bridge.playground.emulator.faults import Faults
from bridge.playground.emulator.rates import Rates
from bridge.playground.emulator.responses import Response
from bridge.playground.emulator.server import ApiCall, ApiServer
from bridge.playground.emulator.sessions import StatusChange
from bridge.playground.emulator.workspace import Workspace


class Watch:
    """The looking side of a workspace."""

    def __init__(self, workspace: Workspace, api: ApiServer, deliverer: Deliverer) -> None:
        self.workspace = workspace
        self._api = api
        self._deliverer = deliverer

    @property
    def faults(self) -> Faults:
        """What goes wrong on purpose."""
        return self._api.faults

    @property
    def rates(self) -> Rates:
        """Rate limits; off until ``rates.is_on`` is set."""
        return self._api.rates

    @property
    def scopes(self) -> set[str]:
        """What the app's token may do; take away what it shall miss."""
        return self._api.scopes

    @property
    def page_limit(self) -> int:
        """The most objects in one page of a list: 1000, or 15 as for apps outside the Marketplace."""
        return self._api.page_limit

    @page_limit.setter
    def page_limit(self, most: int) -> None:
        self._api.page_limit = most

    @property
    def calls(self) -> list[ApiCall]:
        """Every call that the app made."""
        return self._api.calls

    @property
    def unknown_methods(self) -> Counter[str]:
        """Methods that were called and are not emulated."""
        return self._api.unknown_methods

    @property
    def deliveries(self) -> list[AppDelivery]:
        """Every request that was sent to the app."""
        return self._deliverer.deliveries

    @property
    def responses(self) -> list[Response]:
        """What came by response URLs, and in the bodies of answers to commands."""
        return self._api.answers

    @property
    def files(self) -> list[File]:
        """Every file whose upload was begun."""
        return list(self.workspace.files.values())

    def calls_of(self, method: str) -> list[ApiCall]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    def messages(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """What the channel shows, or a thread with its root; oldest first."""
        if thread_ts is None:
            return self.workspace.top_level(channel)
        return self.workspace.thread(channel, thread_ts)

    def ephemerals(self, user: str) -> list[Message]:
        """What only *user* sees."""
        return [one for one in self.workspace.private_messages if one.to == user]

    def views(self, user: str) -> list[View]:
        """The modals that are open for *user*, the one on top last."""
        return self.workspace.stack(user)

    def home(self, user: str) -> View | None:
        """What *user* sees on the app's Home tab."""
        return self.workspace.homes.get(user)

    def prompts(self, user: str) -> list[Json]:
        """The prompts that are suggested to *user* in the direct message with the app."""
        return self.workspace.session(self.workspace.direct_message(user).id, "").prompts

    def permalink(self, channel: str, ts: str) -> str:
        """The link of a message. Raises LookupError."""
        message = self.workspace.find(channel, ts)
        if message is None:
            raise LookupError(ts)
        return self.workspace.permalink(message)

    def status(self, channel: str, thread_ts: str) -> str:
        """What the agent shows in the thread now."""
        return self.workspace.status(channel, thread_ts)

    def statuses(self, channel: str, thread_ts: str) -> list[StatusChange]:
        """Every change of what the agent showed in the thread."""
        where = (channel, thread_ts)
        return [one for one in self.workspace.status_history if (one.channel, one.thread_ts) == where]
