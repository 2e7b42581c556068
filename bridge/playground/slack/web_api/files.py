"""``files.*``, the upload in three steps: https://docs.slack.dev/messaging/working-with-files."""

from __future__ import annotations

from bridge.playground.slack.entities import File, Json
from bridge.playground.slack.refusal import Refusal
from bridge.playground.slack.web_api.method import Call, Family, Posted

family = Family()


@family.method("files.getUploadURLExternal", "files:write")
def get_upload_url(call: Call) -> Json:
    """Announce a file; its bytes are then sent to the address that is answered."""
    length = call.number("length", 0)
    if length < 1:
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: length"])
    file = File(call.workspace.new_id("F"), call.need("filename"), length, call.workspace.bot.id)
    call.workspace.files[file.id] = file
    return {"ok": True, "upload_url": f"{call.base_url}/upload/v1/{file.id}", "file_id": file.id}


@family.method("files.completeUploadExternal", "files:write")
def complete_upload(call: Call) -> Json:
    """Finish uploads and, where a channel is named, show them there in one message."""
    files = [_uploaded(call, one) for one in call.json("files") or []]
    if not files:
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: files"])
    if call.text("channel_id"):
        _share(call, files)
    return {"ok": True, "files": [file.as_json() for file in files]}


@family.method("files.info", "files:read")
def info(call: Call) -> Json:
    """Describe a file."""
    file = call.workspace.files.get(call.text("file"))
    if file is None:
        raise Refusal("file_not_found")
    return {"ok": True, "file": file.as_json()}


def _uploaded(call: Call, asked: Json) -> File:
    file = call.workspace.files.get(str(asked.get("id")))
    if file is None or file.content is None:
        raise Refusal("file_not_found")
    file.title = asked.get("title") or file.name
    return file


def _share(call: Call, files: list[File]) -> None:
    """Post the message that shows *files*. The real Slack does it a moment later, so its ts is not answered."""
    channel = call.channel("channel_id")
    thread_ts = call.text("thread_ts")
    if thread_ts and not call.workspace.has_thread(channel.id, thread_ts):
        raise Refusal("thread_not_found")
    message = call.workspace.post(
        call.workspace.bot.id,
        channel.id,
        call.text("initial_comment"),
        thread_ts=thread_ts,
        subtype="file_share",
        files=[file.as_json() for file in files],
    )
    call.workspace.clear_status(channel.id, thread_ts or message.ts)
    for file in files:
        file.shared_in.append((channel.id, message.ts))
    call.happened.append(Posted(message))
