"""The text of documents: PDF (extra ``documents``), Word, PowerPoint, Excel and OpenDocument.

A hostile document could make its reader run forever, or use all memory. So each is read in a separate process
(`bridge.documents.child`), which gets only the bytes, no environment and no token, and has limits on time, memory and
text. The caller runs at most `AT_ONCE` at once.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

FORMATS: Final = frozenset({"pdf", "docx", "pptx", "xlsx", "odt", "odp", "ods"})
MOST_BYTES: Final = 10_000_000
"""The size limit of a document."""

PAGES: Final = 50
SECONDS: Final = 15.0
AT_ONCE: Final = 2
"""How many readers may run in a process."""

_CHILD: Final = Path(__file__).with_name("child.py")

Why = Literal["broken", "locked", "missing", "slow"]


class DocumentNotRead(Exception):
    """No text could be read, because the document is *broken* or *locked*, the extra is *missing*, or it's *slow*."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document's text; *is_cut*: the document has more text or pages."""

    text: str
    is_cut: bool = False


def can_read_pdf() -> bool:
    """Whether the extra ``documents`` is installed."""
    return importlib.util.find_spec("pypdf") is not None


@dataclass(frozen=True, slots=True)
class Documents:
    """Reads documents with *program*, within *seconds* each; PDFs only if *has_pdf*."""

    seconds: float = SECONDS
    program: Path = _CHILD
    has_pdf: bool = field(default_factory=can_read_pdf)

    async def read(self, content: bytes, kind: str, most: int) -> DocumentText:
        """Read up to *most* bytes of text from a document in one of `FORMATS`. Raises `DocumentNotRead`."""
        if kind == "pdf" and not self.has_pdf:
            raise DocumentNotRead("missing")
        # -I: Python ignores the environment's paths.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(self.program), kind, str(most), str(PAGES), str(int(self.seconds)),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env={}, limit=2**16,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self.seconds):
                output, _ = await process.communicate(content)
        except TimeoutError:
            raise DocumentNotRead("slow") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        match process.returncode:
            case 0:
                return DocumentText(output[1:].decode(errors="replace"), is_cut=output[:1] == b"+")
            case 3:
                raise DocumentNotRead("locked")
        raise DocumentNotRead("slow" if process.returncode == -24 else "broken")  # noqa: PLR2004 - SIGXCPU
