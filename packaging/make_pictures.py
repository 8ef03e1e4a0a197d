"""Pictures of every workspace: to be looked at, and those of the manual.

    make_pictures.py [FOLDER] [--workspace W …] [--theme T …] [--lang L …] [--size 1280x720 …] [--help-pages]

Run with the Python of the private environment.  ``FOLDER`` (build/pictures) gets each workspace in both
themes and both languages at 1280×720, 1920×1080 and 2560×1440 at 200 %.  ``--help-pages`` writes the small
ones with few colours to resources/help/pictures as well; one of them is the README's.
"""

import argparse
import os
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HELP = ROOT / "resources" / "help" / "pictures"
SAMPLE = "2-qwen3-32b-on-two-rtx-3090"
# Size of the window in its own pixels, and how many of the picture's each of them is.
SIZES = {"1280x720": (1280, 720, 1), "1920x1080": (1920, 1080, 1), "2560x1440@2": (1280, 720, 2)}
HELP_SIZE = "1280x720"
THEMES = ("light", "dark")
MOST_BYTES = 58_000  # of one picture of the manual
_HOW = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED)  # pictures of small characters take less with the second
_MOST_S = 240.0  # for what a workspace works out
# Scenarios pinned beside the sample: what a person would weigh against it.
PINNED = (
    {"accelerator": "GeForce RTX 4090"},
    {"accelerator": "GeForce RTX 5090"},
    {"accelerator": "H100 SXM", "deployment.accelerators": 1, "deployment.tensor_parallel": 1},
)
# A load of which a mean says little.
ARRIVALS: dict[str, object] = {
    "workload.load": "requests",
    "workload.request_rate": 0.18,
    "workload.prompt_tokens": 3072,
    "simulation.prompt_lengths": "lognormal",
    "simulation.prompt_spread": 0.5,
    "simulation.output_lengths": "lognormal",
    "simulation.output_spread": 0.5,
    "simulation.duration_s": 1800.0,
}


def main() -> int:
    """Write what was asked for: a process for each language and scale, for both are fixed at its start."""
    sys.path.insert(0, str(ROOT))
    from core.words import LANGUAGES

    options = _options(LANGUAGES)
    if options.worker:
        return _work(options)
    for language in options.lang or LANGUAGES:
        for ratio in sorted({SIZES[size][2] for size in options.size or SIZES}):
            sizes = [size for size in options.size or SIZES if SIZES[size][2] == ratio]
            environment = {
                **os.environ,
                "QT_QPA_PLATFORM": "offscreen",
                "QT_SCALE_FACTOR": str(ratio),
                "OPENBLAS_NUM_THREADS": "1",
            }
            given = [a for a in sys.argv[1:] if a not in SIZES and a not in ("--size", "--lang", *LANGUAGES)]
            command = [sys.executable, __file__, *given, "--size", *sizes, "--lang", language, "--worker"]
            status = subprocess.run(command, env=environment, check=False).returncode
            if status:
                return status
    return 0


def _options(languages: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "pictures")
    parser.add_argument("--workspace", nargs="+", default=[])
    parser.add_argument("--theme", nargs="+", choices=THEMES, default=[])
    parser.add_argument("--lang", nargs="+", choices=languages, default=[])
    parser.add_argument("--size", nargs="+", choices=SIZES, default=[])
    parser.add_argument("--help-pages", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# -- taking them ---------------------------------------------------------------------------------


def _work(options: argparse.Namespace) -> int:
    from PySide6.QtCore import QSize

    from gui import theme
    from gui.app import application, start
    from gui.exporting.screenshot import silence
    from gui.workspaces.registry import KEYS

    options.folder.mkdir(parents=True, exist_ok=True)
    (language,) = options.lang
    app = application()
    with silence():
        window = start(app, None, None, "light", language).window
        _fill(window)
        for key in options.workspace or KEYS:
            _fill(window, key)
            window.stack.show_key(key)
            for name in options.size:
                window.setMinimumSize(0, 0)
                window.resize(QSize(*SIZES[name][:2]))
                window.workspace.load_plots()
                window.show()
                _settle(window)
                BEGIN.get(key, _nothing)(window.stack.page(key))
                for look in options.theme or THEMES:
                    theme.apply(app, look)
                    _settle(window)
                    image = window.grab().toImage()
                    file = options.folder / f"{key}-{language}-{look}-{name}.png"
                    image.save(str(file))
                    print(file, flush=True)
                    if options.help_pages and name == HELP_SIZE:
                        _keep(image, f"{key}-{language}-{look}")
        window.document.undo_stack.setClean()
        window.close()
    return 0


def _fill(window: Any, key: str = "") -> None:
    """The sample of the first page of the manual, and what a workspace needs beside it."""
    from core.catalog.accelerators import load_accelerator
    from core.spec.change import with_values
    from gui.document import Origin
    from gui.samples import load_sample, samples, title_of

    if key in ("", "simulate"):
        sample = next(sample for sample in samples() if sample.key == SAMPLE)
        scenario = with_values(load_sample(sample), ARRIVALS if key else {})
        window.document.start(scenario, Origin(title=title_of(sample, window.words)))
    for changes in PINNED if key == "compare" and not window.pinned.pins else ():
        values = dict(changes)
        values["accelerator"] = load_accelerator(str(values["accelerator"]))
        if window.pinned.pin(with_values(window.document.scenario, values)) is None:
            raise SystemExit(f"cannot be pinned: {changes}")


def _settle(window: Any) -> None:
    """Until everything in sight belongs to the scenario."""
    from PySide6.QtCore import QCoreApplication, QEvent

    deadline, quiet = time.monotonic() + _MOST_S, 0
    while quiet < 12 and time.monotonic() < deadline:
        QCoreApplication.sendPostedEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        quiet = quiet + 1 if window.stack.settled() else 0
        time.sleep(0.01)
    if quiet < 12:
        raise SystemExit(f"not ready after {_MOST_S:.0f} s: {window.stack.key}")


def _nothing(_page: Any) -> None:
    """Most workspaces work by themselves."""


def _once(page: Any, begin: Callable[[], object]) -> None:
    """What is begun by a button, and all that it works out."""
    if not page.property("begun"):
        page.setProperty("begun", True)
        begin()
    _settle(page.window())


def _recommend(page: Any) -> None:
    page.took.set_text("")  # how long it took is another figure each time


def _simulate(page: Any) -> None:
    _once(page, page.begin)
    page.pages.took.set_text("")


def _validate(page: Any) -> None:
    """The runs that come with the program, and no word of their coming."""
    _once(page, page.form.example_asked.emit)
    messages = page.window().workspace.messages
    for subject in messages.subjects():
        messages.drop(subject)


BEGIN: dict[str, Callable[[Any], None]] = {
    "recommend": _recommend,
    "simulate": _simulate,
    "validate": _validate,
}


# -- few colours ---------------------------------------------------------------------------------


def _keep(image: Any, name: str) -> None:
    """One picture of the manual, with as many colours as it may have bytes."""
    from PySide6.QtGui import QImage

    rgb = image.convertToFormat(QImage.Format.Format_RGB888)
    for colours in (256, 192, 128, 96, 64, 48, 32):
        content = palette_png(_pixels(rgb), colours)
        if len(content) <= MOST_BYTES:
            break
    HELP.mkdir(parents=True, exist_ok=True)
    (HELP / f"{name}.png").write_bytes(content)
    print(f"  {name}.png: {len(content) / 1000:.0f} kB, {colours} colours at most", flush=True)


def _pixels(image: Any) -> Any:
    import numpy as np

    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def palette_png(pixels: Any, most: int) -> bytes:
    """A PNG of at most ``most`` (256) colours of an (height, width, 3) array; the same bytes every time."""
    import numpy as np

    height, width, _ = pixels.shape
    whole = pixels.astype(np.int64)
    packed = (whole[..., 0] << 16) | (whole[..., 1] << 8) | whole[..., 2]
    found, where, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    palette = _palette(colours, counts, most)
    nearest = np.concatenate(
        [_distances(part, palette).argmin(axis=1) for part in _in_parts(colours)]
    ).astype(np.uint8)
    indices = nearest[where.reshape(-1)].reshape(height, width)
    lines = np.zeros((height, width + 1), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = indices
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, content)
        for kind, content in (
            (b"IHDR", header),
            (b"PLTE", palette.astype(np.uint8).tobytes()),
            (b"IDAT", min((_packed(lines.tobytes(), how) for how in _HOW), key=len)),
            (b"IEND", b""),
        )
    )


def _palette(colours: Any, counts: Any, most: int) -> Any:
    """The most frequent colours that lie apart, as far as it takes to be few enough."""
    import numpy as np

    order = np.lexsort((np.arange(len(counts)), -counts))
    apart = 0.0
    while True:
        left, chosen = colours[order], []
        while len(left) and len(chosen) <= most:
            chosen.append(left[0])
            left = left[_distances(left, left[:1])[:, 0] > apart * apart]
        if len(chosen) <= most:
            return np.array(chosen)
        apart = apart * 1.25 + 1.0


def _distances(some: Any, others: Any) -> Any:
    """Squares of distances, weighted as an eye does: (n, m)."""
    import numpy as np

    apart = some[:, None, :] - others[None, :, :]
    return (apart * apart * np.array([3, 6, 2])).sum(axis=2)


def _in_parts(colours: Any) -> Iterator[Any]:
    yield from (colours[start : start + 4096] for start in range(0, len(colours), 4096))


def _packed(content: bytes, how: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 8, how)
    return packer.compress(content) + packer.flush()


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


if __name__ == "__main__":
    sys.exit(main())
