"""Multipart bodies, as Node's clients send them. https://www.rfc-editor.org/rfc/rfc7578."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from typing import NamedTuple

from bridge.playground.emulator.refusal import Refusal


class FormPart(NamedTuple):
    """One field of a form; a file has a *filename*."""

    name: str
    filename: str | None
    content: bytes


def form_parts(content_type: str, body: bytes) -> list[FormPart]:
    """Read the parts of a ``multipart/form-data`` body. Raises `Refusal`."""
    boundary = _header("Content-Type", content_type).get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        raise Refusal("invalid_form_data")
    first, *sections = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    if not sections or first.strip() or not sections[-1].startswith(b"--"):
        raise Refusal("invalid_form_data")
    return list(_parts(sections[:-1]))


def _parts(sections: list[bytes]) -> Iterator[FormPart]:
    for section in sections:
        head, found, content = section.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        for line in head.decode(errors="replace").split("\r\n") if found else []:
            name, _, value = line.partition(":")
            if name.strip().lower() == "content-disposition":
                header = _header("Content-Disposition", value.strip())
                field, filename = (header.get_param(one, header="Content-Disposition") for one in ("name", "filename"))
                yield FormPart(str(field or ""), None if filename is None else str(filename), content)


def _header(name: str, value: str) -> Message:
    message = Message()
    message[name] = value
    return message
