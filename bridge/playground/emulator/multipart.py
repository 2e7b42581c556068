"""Multipart bodies, as Node's clients send them. https://www.rfc-editor.org/rfc/rfc7578."""

from __future__ import annotations

import email
from typing import NamedTuple

from bridge.playground.emulator.refusal import Refusal


class FormPart(NamedTuple):
    """One field of a form; a file has a *filename*."""

    name: str
    filename: str | None
    content: bytes


def form_parts(content_type: str, body: bytes) -> list[FormPart]:
    """Read the parts of a ``multipart/form-data`` body. Raises `Refusal`."""
    form = email.message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    if not form.is_multipart() or form.defects or form.preamble:
        raise Refusal("invalid_form_data")
    return [
        FormPart(str(part.get_param("name", "", "Content-Disposition")), part.get_filename(), content)
        for part in form.walk()
        if isinstance(content := part.get_payload(decode=True), bytes)
    ]
