"""What a person finds who opens the bot's Messages tab: a greeting, once, and prompts to begin with."""

from __future__ import annotations

from bridge.errors import ProjectError
from bridge.features.conversations import layout as conversations
from bridge.features.conversations.planning import Chats
from bridge.features.plan import Greet, Nothing
from bridge.ids import TurnId
from bridge.inbound import MessagesTabOpened


async def greet(chats: Chats, turn: TurnId, opened: MessagesTabOpened) -> Greet | Nothing:
    """Offer what fits the agents there are; the default one's own words of welcome greet.

    Who only looks is not told that the service is away.
    """
    try:
        agents = await chats.catalog.get_agents()
    except ProjectError as exc:
        return Nothing("the service is away", {"why": type(exc).__name__})
    default = chats.default_of(await chats.sessions.channel_default(opened.team, opened.channel), agents)
    prompts = conversations.prompts(agents, default)
    is_new = await chats.sessions.may_greet(opened.team, opened.user, turn)
    return Greet(opened.channel, prompts, conversations.greeting(default) if is_new else None)
