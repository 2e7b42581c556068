"""The page's fault switches, on and off."""

from __future__ import annotations

import httpx
import pytest

from bridge.playground.emulator import EmulatedSlack, sample
from support.page_client import Window
from support.slack_app import TOKEN, App


async def switches(window: Window) -> dict[str, bool]:
    return {one["name"]: one["is_on"] for one in (await window.sees())["faults"]}


@pytest.mark.usefixtures("service")
async def test_each_fault_switches_on_and_off(alice: Window) -> None:
    before = await switches(alice)
    lasting = [one["name"] for one in (await alice.sees())["faults"] if not one["button"]]
    for name in lasting:
        await alice.does("fault", name=name, is_on=True)
    during = await switches(alice)
    for name in reversed(lasting):
        await alice.does("fault", name=name, is_on=False)

    assert {"slow_slack", "rate_limited", "lost_answers", "slow_agent", "service_down", "nonsense"} <= set(lasting)
    assert all(during[name] for name in lasting)
    assert await switches(alice) == before
    assert not (await alice.tries("fault", name="no_such_fault", is_on=True))["ok"]


async def test_slack_refuses_and_drops_calls_as_configured(
    alice: Window, http: httpx.AsyncClient, slack: EmulatedSlack
) -> None:
    async def post() -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return await http.post("/api/chat.postMessage", json={"channel": sample.GENERAL, "text": "x"}, headers=headers)

    await alice.does("fault", name="rate_limited", is_on=True)
    refused = await post()
    await alice.does("fault", name="rate_limited", is_on=False)
    await alice.does("fault", name="lost_answers", is_on=True)
    with pytest.raises(httpx.RemoteProtocolError):
        await post()
    await alice.does("fault", name="lost_answers", is_on=False)

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert (await post()).json()["ok"]
    assert len(slack.messages(sample.GENERAL)) == 2


async def test_the_clock_moves_and_the_app_hears_of_it(alice: Window, app: App, slack: EmulatedSlack) -> None:
    before = slack.clock()

    await alice.does("fault", name="an_hour_later", is_on=True)

    assert slack.clock() - before >= 3600
    assert {one.payload["event"]["type"] for one in app.received} == {"app_home_opened"}


async def test_the_latest_events_are_redelivered(alice: Window, app: App, slack: EmulatedSlack) -> None:
    await alice.does("say", channel=sample.GENERAL, text="hello")
    await slack.settled()

    await alice.does("fault", name="repeated_events", is_on=True)

    assert [one.payload["event_id"] for one in app.received] == [app.received[0].payload["event_id"]] * 2


async def test_the_project_service_can_be_down_or_answer_nonsense(alice: Window, service: httpx.AsyncClient) -> None:
    async def stats() -> httpx.Response:
        return await service.get("/api/sdk/stats")

    await alice.does("fault", name="nonsense", is_on=True)
    nonsense = await stats()
    await alice.does("fault", name="nonsense", is_on=False)
    await alice.does("fault", name="service_down", is_on=True)
    with pytest.raises(httpx.ConnectError):
        await stats()
    await alice.does("fault", name="service_down", is_on=False)

    assert nonsense.headers["content-type"] == "text/html"
    assert "runCount" in (await stats()).json()


async def test_sockets_can_be_muted_only_in_socket_mode(alice: Window, slack: EmulatedSlack) -> None:
    assert "dead_socket" not in await switches(alice)
    assert not (await alice.tries("fault", name="dead_socket", is_on=True))["ok"]

    slack.use_sockets = True

    assert (await switches(alice))["dead_socket"] is False
    await alice.does("fault", name="dead_socket", is_on=True)
    assert (await switches(alice))["dead_socket"] is False, "a one-time fault is never shown as on"
