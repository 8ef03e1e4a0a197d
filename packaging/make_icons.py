"""The program's icon in every form: ``python packaging/make_icons.py FOLDER`` writes PNGs, .ico and .icns.

All are drawn from one file, ``resources/brand/inferometer.svg``.  Both containers hold PNGs.
"""

import os
import struct
import sys
import threading
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "resources" / "brand" / "inferometer.svg"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
# Types of Apple's container that hold PNGs, by edge in pixels.
ICNS_TYPES = ((b"icp4", 16), (b"icp5", 32), (b"icp6", 64), (b"ic07", 128), (b"ic08", 256), (b"ic09", 512))

_ONE = threading.Lock()


def png(size: int) -> bytes:
    """The icon as a picture of ``size`` pixels.  Packages are made in threads, and Qt is loaded by one."""
    with _ONE:
        return _drawn(size)


@cache
def _drawn(size: int) -> bytes:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(str(SOURCE)).render(painter, QRectF(0, 0, size, size))
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(buffer.data().data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """The icon for Windows."""
    head, body = struct.pack("<HHH", 0, 1, len(ICO_SIZES)), b""
    place = 6 + 16 * len(ICO_SIZES)
    for size in ICO_SIZES:
        edge = size % 256  # 256 is written as 0
        data = pictures[size]
        head += struct.pack("<BBBBHHII", edge, edge, 0, 0, 1, 32, len(data), place + len(body))
        body += data
    return head + body


def icns(pictures: dict[int, bytes]) -> bytes:
    """The icon for macOS."""
    body = b"".join(
        kind + struct.pack(">I", 8 + len(pictures[size])) + pictures[size] for kind, size in ICNS_TYPES
    )
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def write(folder: Path) -> None:
    """Write all forms."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {size: png(size) for size in SIZES}
    for size, data in pictures.items():
        (folder / f"inferometer-{size}.png").write_bytes(data)
    (folder / "inferometer.ico").write_bytes(ico(pictures))
    (folder / "inferometer.icns").write_bytes(icns(pictures))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
