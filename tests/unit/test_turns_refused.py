"""Whatever Slack refuses for good costs one turn, kept as a dead letter, and nobody is asked twice because of it."""

from __future__ import annotations

import pytest

from bridge.errors import SlackAmbiguous, SlackRefused
from bridge.slack.parts import Place
from support.store import USER, message, ts
from support.turns import Bench

REFUSALS = (
    "channel_not_found",
    "is_archived",
    "not_in_channel",
    "restricted_action",
    "thread_not_found",
    "msg_blocks_too_long",
    "missing_scope",
)


@pytest.mark.parametrize("error", REFUSALS)
async def test_a_refused_look_is_no_refusal_of_the_post(bench: Bench, error: str) -> None:
    bench.say.troubles = [SlackAmbiguous("chat.postMessage")]
    bench.say.look_troubles = [SlackRefused("conversations.replies", error)]
    turn = await bench.store.queue(message("first"), agent=7)
    await bench.store.queue(message("second", ts(1)))

    await bench.work()

    assert await bench.store.field(turn, "step") == "done"
    assert "may be missing here" in bench.say.words[0]
    assert "re: first" in str(await bench.store.field(turn, "outcome")), "what was to be said is kept"
    assert bench.say.words[1:] == ["re: second"]
    assert bench.service.messages == ["first", "second"], "each once"


async def test_what_nobody_can_even_be_told_of_is_a_dead_letter(bench: Bench) -> None:
    bench.say.troubles = [SlackAmbiguous("chat.postMessage")] * 4
    bench.say.look_troubles = [SlackRefused("conversations.replies", "missing_scope")]
    turn = await bench.store.queue(message("first"), agent=7)

    await bench.work()

    assert await bench.store.field(turn, "step") == "dead"
    assert "re: first" in str(await bench.store.field(turn, "outcome"))
    assert bench.say.words == []


@pytest.mark.parametrize("error", REFUSALS)
async def test_the_answer_is_kept_as_a_dead_letter_and_the_next_one_is_posted(bench: Bench, error: str) -> None:
    bench.say.troubles = [SlackRefused("chat.postMessage", error)]
    turn = await bench.store.queue(message("first"), agent=7)
    await bench.store.queue(message("second", ts(1)))

    await bench.work()

    assert bench.service.messages == ["first", "second"], "each once"
    assert (await bench.store.field(turn, "step"), await bench.store.field(turn, "what")) == (
        "dead",
        f"slack: {error}",
    )
    assert "re: first" in str(await bench.store.field(turn, "outcome")), "what was to be said is kept"
    (notice,) = [said for said in bench.say.messages if said.place == Place(USER)]
    assert "couldn't post my answer" in notice.words
    assert [words for words in bench.say.words if words != notice.words] == ["re: second"]
    assert await bench.store.entries() == 0, "nobody waits"
    assert b"bridge_dead_letters_total 1.0" in bench.metrics.exposition()
