"""Puts the chunks of a streamed message together; pure.

https://docs.slack.dev/reference/methods/chat.appendStream
"""

from __future__ import annotations

from bridge.playground.emulator.entities import Json


def shown(chunks: list[Json], mode: str) -> tuple[str, list[Json]]:
    """The text and blocks of a message made of these *chunks*, in the task display *mode*."""
    text = "".join(chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text")
    return text, _planned(chunks) if mode == "plan" else _in_order(chunks)


def _in_order(chunks: list[Json]) -> list[Json]:
    """Text and tasks in order; a repeated task is updated in place."""
    blocks: list[Json] = []
    for chunk in chunks:
        match chunk["type"]:
            case "markdown_text":
                _say(blocks, chunk["text"])
            case "task_update":
                _put(blocks, _task(chunk))
            case "blocks":
                blocks += chunk["blocks"]
    return blocks


def _planned(chunks: list[Json]) -> list[Json]:
    """One plan with all tasks, then the rest."""
    tasks: list[Json] = []
    title = "Plan"
    for chunk in chunks:
        if chunk["type"] == "task_update":
            _put(tasks, _task(chunk))
        elif chunk["type"] == "plan_update":
            title = chunk["title"]
    rest = _in_order([chunk for chunk in chunks if chunk["type"] != "task_update"])
    return [{"type": "plan", "title": title, "tasks": tasks}, *rest] if tasks else rest


def _say(blocks: list[Json], text: str) -> None:
    if blocks and blocks[-1]["type"] == "markdown":
        blocks[-1] = {"type": "markdown", "text": blocks[-1]["text"] + text}
    else:
        blocks.append({"type": "markdown", "text": text})


def _put(blocks: list[Json], task: Json) -> None:
    for place, block in enumerate(blocks):
        if block["type"] == "task_card" and block["task_id"] == task["task_id"]:
            blocks[place] = block | task
            return
    blocks.append(task)


def _task(chunk: Json) -> Json:
    card: Json = {"type": "task_card", "task_id": chunk["id"], "title": chunk["title"]}
    card["status"] = chunk.get("status", "pending")
    texts = {name: _rich(chunk[name]) for name in ("details", "output") if chunk.get(name)}
    return card | texts | ({"sources": chunk["sources"]} if chunk.get("sources") else {})


def _rich(text: str) -> Json:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}
