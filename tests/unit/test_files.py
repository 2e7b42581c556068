"""Files in messages: bytes and transcripts become text."""

from __future__ import annotations

from bridge.features.conversations.contents import transcript
from bridge.slack.files import FileContent
from support.tables import each


@each(
    ("content", "declared", "is_cut", "text"),
    [
        ("grün".encode(), "", False, "grün"),
        ("grün".encode("utf-8-sig"), "", False, "grün"),
        ("grün".encode("utf-16"), "", False, "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", False, "grün"),
        ("grün".encode("cp1252"), "text/plain", False, "grün"),
        ("Привет".encode("cp1251"), 'text/plain; charset="windows-1251"', False, "Привет"),
        ("grün".encode("cp1252"), "text/plain; charset=no-such", False, "grün"),
        ("ab€".encode()[:-1], "", True, "ab"),
        (b"", "", False, ""),
    ],
)
def test_any_text_file_is_decoded(content: bytes, declared: str, text: str, *, is_cut: bool) -> None:
    assert FileContent(content, is_cut, declared).text() == text


def test_a_transcript_is_one_line() -> None:
    head = "\ufeffWEBVTT \n\nNOTE made\n\n1\n"
    vtt = f"{head}00:00:05.488 --> 00:00:13.349\n- This is &amp; was\n\n00:00:13.349 --> 00:00:14\n"
    assert transcript(f"{vtt}<v Ada>phone</v> today.\n42\n\n\n") == "This is & was phone today. 42"
    assert transcript(vtt.replace("\n", "\r\n")) == "This is & was"
    assert transcript("WEBVTT\n\n") == ""
