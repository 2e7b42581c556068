"""How a file is read, by Slack's description of it: https://docs.slack.dev/reference/objects/file-object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from bridge.documents import FORMATS
from bridge.inbound import FileKind
from bridge.slack.payloads import mapping, text

_TEXT_TYPES: Final = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|x-yaml|toml|sql|javascript|x-javascript|typescript|x-sh|x-httpd-php"
    r"|x-ndjson|jsonl|graphql|csv|rtf|x-python|x-ruby|x-perl|x-tex|x-subrip)"
)
_TEXT_ENDINGS: Final = re.compile(
    r"bash|bat|c|cc|cfg|clj|cmake|conf|cpp|cs|css|csv|cue|dart|diff|dockerfile|env|erl|"
    r"ex|exs|f90|fish|go|gradle|graphql|groovy|h|hcl|hpp|hs|htm|html|http|ics|ini|ipynb|"
    r"java|jl|js|json|json5|jsonl|jsx|kt|lisp|log|lua|m4|mak|markdown|md|mermaid|ml|mm|"
    r"ndjson|nix|patch|php|pl|plist|po|proto|ps1|py|r|rb|rs|rst|sass|scala|scss|sh|sol|"
    r"sql|srt|svelte|swift|tap|tcl|tex|text|tf|toml|ts|tsv|tsx|txt|vb|vtt|vue|xml|xsd|"
    r"xsl|yaml|yml|zsh"
)


def file_kind(file: Mapping[str, Any]) -> FileKind:
    """Return the kind of a file, by Slack's description or its name's extension."""
    mode, filetype = text(file, "mode"), text(file, "filetype").casefold()
    mimetype = text(file, "mimetype").casefold().partition(";")[0].strip()
    is_described = bool(mimetype or filetype or text(file, "name"))
    if mode == "file_access" or text(file, "file_access") == "check_file_info" or not (is_described or mode):
        return "unknown"
    if mode in {"tombstone", "hidden_by_limit"} or text(file, "file_access") in {"access_denied", "file_not_found"}:
        return "gone"
    if mode == "external" or file.get("is_external") is True:
        return "link"
    if mode == "email" or filetype == "email":
        return "mail"
    ending = PurePath(text(file, "name")).suffix[1:].casefold()
    is_clip = text(file, "subtype") == "slack_audio" or mimetype.startswith("audio/")
    if is_clip or text(mapping(file.get("transcription")), "status") in {"processing", "complete"}:
        return "clip"
    if format_of(file):
        return "document"
    if mimetype == "image/svg+xml" or filetype == "svg":
        return "image"
    if (
        mode == "snippet"
        or _TEXT_TYPES.fullmatch(mimetype)
        or (not mimetype.partition("/")[0] and _TEXT_ENDINGS.fullmatch(ending))
    ):
        return "text"
    match mimetype.partition("/")[0]:
        case "image":
            return "image"
        case "video":
            return "text" if ending in {"ts", "mts"} and filetype != "video" else "video"
    return "text" if _TEXT_ENDINGS.fullmatch(ending) else "other"


def format_of(file: Mapping[str, Any]) -> str:
    """Return a document's format, by its ``filetype`` or its name's extension; ``""`` for other files."""
    ending = PurePath(text(file, "name")).suffix[1:].casefold()
    named = (text(file, "filetype").casefold(), "" if text(file, "mimetype").startswith("text/") else ending)
    return next((format_ for format_ in named if format_ in FORMATS), "")
