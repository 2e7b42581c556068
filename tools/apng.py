"""Join screenshots into an animated PNG: https://www.w3.org/TR/png-3/#apng-frame-based-animation."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from playwright.async_api import Page

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DIFFERENCE = """async ([before, after]) => {
  const pixels = async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const now = await pixels(after);
  const [old, all] = [before && (await pixels(before)).data, new Uint32Array(now.data.buffer)];
  let [left, top, right, bottom] = [now.width, now.height, 0, 0];
  const earlier = old && new Uint32Array(old.buffer);
  for (let at = 0; at < all.length; at += 1) {
    if (earlier && earlier[at] === all[at]) all[at] = 0; // transparent
    else {
      const [x, y] = [at % now.width, Math.floor(at / now.width)];
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
    }
  }
  const part = new OffscreenCanvas(Math.max(1, right - left + 1), Math.max(1, bottom - top + 1));
  part.getContext("2d").putImageData(now, -left, -top);
  const bytes = new Uint8Array(await (await part.convertToBlob()).arrayBuffer());
  const characters = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return [left, top, part.width, part.height, btoa(characters.join(""))];
}"""


@dataclass
class Film:
    """Screenshots of a page, with the seconds to show each."""

    shots: list[tuple[str, float]] = field(default_factory=list)

    async def shoot(self, page: Page, seconds: float) -> None:
        """Add the page as it is now."""
        self.shots.append((base64.b64encode(await page.screenshot()).decode(), seconds))

    async def developed(self, blank: Page) -> bytes:
        """Build it; *blank* is a page whose browser compares the shots, so frames hold only changed pixels."""
        chunks, frames = [], [None, *(shot for shot, _ in self.shots)]
        number = 0
        for (before, after), (_, seconds) in zip(pairwise(frames), self.shots, strict=True):
            left, top, width, height, encoded = await blank.evaluate(_DIFFERENCE, [before, after])
            found = dict(_chunks(base64.b64decode(encoded)))
            if not chunks:
                chunks += [(b"IHDR", found[b"IHDR"]), (b"acTL", struct.pack(">II", len(self.shots), 0))]
            area = (width, height, left, top) if before else (width, height, 0, 0)
            control = struct.pack(">IIIIIHHBB", number, *area, round(seconds * 1000), 1000, 0, 1 if before else 0)
            data = (b"fdAT", struct.pack(">I", number + 1) + found[b"IDAT"]) if before else (b"IDAT", found[b"IDAT"])
            number += 2 if before else 1
            chunks += [(b"fcTL", control), data]
        return _SIGNATURE + b"".join(_packed(kind, data) for kind, data in [*chunks, (b"IEND", b"")])


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a PNG, with all image data in one."""
    at, image = len(_SIGNATURE), b""
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        data = png[at + 8 : at + 8 + length]
        at += length + 12
        if kind == b"IDAT":
            image += data
        else:
            yield kind, data
    yield b"IDAT", image


def _packed(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
