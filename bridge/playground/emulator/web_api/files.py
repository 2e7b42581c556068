"""``files.*``, the upload in three steps: https://docs.slack.dev/messaging/working-with-files."""

from __future__ import annotations

from bridge.playground.emulator.entities import File, Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.content import authorship, thread
from bridge.playground.emulator.web_api.method import Family, MessagePosted, MethodCall

family = Family()


@family.method("files.getUploadURLExternal", "files:write", tier=100, takes_json=False)
def get_upload_url(call: MethodCall) -> Json:
    """Start an upload. The response has the URL for the file's bytes."""
    length = call.number("length", 0)
    if length < 1:
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: length"])
    bot = call.workspace.bot
    made, created = call.workspace.new_id("F"), int(call.workspace.clock())
    file = File(made, call.need("filename"), length, bot.id, site=call.base_url, created=created, team=bot.team)
    call.workspace.add_file(file)
    return {"ok": True, "upload_url": f"{call.base_url}/upload/v1/{file.id}", "file_id": file.id}


@family.method(
    "files.completeUploadExternal",
    "files:write",
    tier=100,
    differs="shares at once, Slack a moment later",
)
def complete_upload(call: MethodCall) -> Json:
    """Finish uploads and, with a channel, share them there in one message."""
    files = [_uploaded(call, upload) for upload in call.json("files") or []]
    if not files:
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: files"])
    if call.text("channel_id"):
        _share(call, files)
    return {"ok": True, "files": [file.as_json() for file in files]}


@family.method(
    "files.info",
    "files:read",
    tier=100,
    takes_json=False,
    differs="no thumbnails; only PNGs have their size; the length of a transcript's preview is a guess",
)
def info(call: MethodCall) -> Json:
    """Describe a file."""
    file = call.workspace.files.get(call.text("file"))
    if file is None or not _is_visible(call, file):
        raise Refusal("file_not_found")
    kinds = {channel.id: channel.kind for channel in call.workspace.channels.values()}
    paging = {"count": 100, "total": 0, "page": 1, "pages": 0}
    return {"ok": True, "file": file.as_json() | file.shares(kinds), **file.text(), "comments": [], "paging": paging}


def _is_visible(call: MethodCall, file: File) -> bool:
    """Whether it is visible to the bot: its own, or shared in a public channel or one of its channels."""
    bot, channels = call.workspace.bot.id, call.workspace.channels
    where = [channels[channel] for channel, _ in file.shared_in]
    is_shown = (bot in channel.members or not (channel.is_private or channel.is_im) for channel in where)
    return file.user == bot or any(is_shown)


def _uploaded(call: MethodCall, asked: Json) -> File:
    file = call.workspace.files.get(str(asked.get("id")))
    if file is None or file.content is None:
        raise Refusal("file_not_found")
    file.title = asked.get("title") or file.name
    return file


def _share(call: MethodCall, files: list[File]) -> None:
    """Share *files* in a message. Slack does it a moment later, so its ts isn't in the response."""
    channel = call.channel("channel_id")
    thread_ts = thread(call, channel)
    message = call.workspace.messages.post(
        call.workspace.bot.id,
        channel.id,
        call.text("initial_comment"),
        thread_ts=thread_ts,
        subtype="file_share",
        files=[file.as_json() for file in files],
        **authorship(call),
    )
    call.workspace.clear_status(channel.id, thread_ts or message.ts)
    for file in files:
        file.shared_in.append((channel.id, message.ts))
        call.workspace.add_file(file)
    call.happened.append(MessagePosted(message))
