"""Paint the widgets in every state and theme, to be looked at.

    python tests/window/gallery.py FOLDER [--ratio 2]

Estimates are put together by hand, so that states that are hard to reach can be seen; their
figures are those of the design's pictures and mean nothing.
"""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from core.memory.capacity import Capacity
from core.memory.ledger import Ledger, LedgerLine
from core.quantities import Range
from core.results import Estimate, Speed, Verdict
from core.serving.load import OperatorTime, Phase
from core.spec.accelerator import Accelerator, PeakTflops, ScaleUp
from core.spec.architecture import Architecture, Attention, DenseMlp, LayerGroup
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Targets, Workload
from core.words import Phrase, Words, counted, percent
from gui import theme
from gui.widgets.cards import CardStrip
from gui.widgets.ledger_view import LedgerView
from gui.widgets.message_strip import MessageStrip
from gui.widgets.verdict import VerdictView

GIB = 2**30


def scenario() -> Scenario:
    """Qwen3-32B on two RTX 3090, as in the design's pictures."""
    mixer = Attention(heads=64, kv_heads=8, head_dim=128)
    group = LayerGroup(count=64, token_mixer=mixer, channel_mixer=DenseMlp(intermediate=25600))
    return Scenario(
        name="Qwen3-32B on 2 × RTX 3090",
        model=Model(
            name="Qwen3-32B",
            max_context=40960,
            architecture=Architecture(hidden=5120, vocabulary=151936, groups=(group,)),
        ),
        accelerator=Accelerator(
            name="RTX 3090",
            memory_gb_nominal=24,
            memory_bandwidth_gbps=936,
            peak_tflops=PeakTflops(bf16=71.2),
            scale_up=ScaleUp(kind="NVLink bridge", gbps_per_direction=56, max_devices=2),
        ),
        deployment=Deployment(accelerators=2, tensor_parallel=2),
        precision=Precision(weights="awq_g128"),
        engine=Engine(max_model_len=16384),
        workload=Workload(users=16, prompt_tokens=4096, output_tokens=512),
        targets=Targets(time_to_first_token_s=4, time_per_output_token_ms=100, users=16),
    )


def _ledger(*gib: float, words: tuple[str, ...], spare: float = 0) -> Ledger:
    keys = ("weights", "kv_cache", "kv_cache_spare", "activations", "graphs", "runtime")
    device = round(23.69 * GIB)
    budget = round(21.32 * GIB)
    lines = [LedgerLine(k, round(g * GIB), w) for k, g, w in zip(keys, gib, words, strict=True) if g]  # type: ignore[arg-type]
    inside = sum(line.bytes for line in lines)
    if inside <= budget + GIB:
        last = lines[-1]
        lines[-1] = replace(last, bytes=last.bytes + budget - inside)
        lines.append(LedgerLine("outside", device - budget))
    return Ledger(tuple(lines), device, budget, round((gib[1] + gib[2]) * GIB))


_WORDS = (
    "model weights",
    "KV cache memory",
    "free blocks",
    "activation peak",
    "graph capturing",
    "non-torch",
)


def misses() -> Estimate:
    """Runs and misses the time per token."""
    phase = Phase(
        0.1, {"compute": 0.8, "bandwidth": 0.2}, (OperatorTime("mlp", 0.1, 1, 1, "compute"),), "bf16", True
    )
    speed = Speed(
        time_to_first_token=Range(2.99, 3.23, 3.69),
        first_token_parts={"queue": 0.0, "prefill": 2.8, "other_prefills": 0.2, "base": 0.2},
        time_per_output_token=Range(0.106, 0.114, 0.129),
        output_throughput=Range(118, 134, 144),
        request_throughput=Range(0.2, 0.26, 0.3),
        users=16,
        running=16,
        stable=True,
        prefill_share=0.76,
        prefill=phase,
        decode=phase,
    )
    text = Phrase(
        "verdict.slow_tpot", {"users": counted("units.users", 16), "value": "114 ms", "target": "100 ms"}
    )
    limit = Phrase("verdict.limit.prefill_interference", {"share": percent(0.76)})
    detail = Phrase("verdict.detail_speed", {"ttft": "3.2 s", "rate": "8.8", "limit": limit})
    return Estimate(
        scenario(),
        _ledger(9.05, 9.0, 1.44, 0.73, 0.42, 0.68, words=_WORDS),
        Capacity(2**17, 83_000, 18, 5, 5300),
        speed,
        Verdict("warn", text, detail, ("time_per_output_token",)),
        (),
    )


def meets() -> Estimate:
    """Meets every target."""
    base = misses()
    assert base.speed is not None
    fast = replace(base.speed, time_per_output_token=Range(0.071, 0.078, 0.092))
    text = Phrase("verdict.good", {"users": counted("units.users", 16)})
    return replace(base, speed=fast, verdict=Verdict("good", text, base.verdict.detail, ()))


def exceeds() -> Estimate:
    """Does not fit into the device."""
    base = misses()
    question = base.scenario.model_copy(update={"precision": Precision(weights="bf16")})
    head = Phrase("verdict.does_not_fit", {"needed": "41.4 GiB", "budget": "21.3 GiB"})
    change = Phrase("verdict.change", {"change": "INT4 weights"})
    detail = Phrase("verdict.detail_weights", {"format": "BF16", "weights": "30.5 GiB", "change": change})
    ledger = _ledger(30.54, 9.0, 0, 0.73, 0.42, 0.68, words=_WORDS)
    none = Capacity(2**17, 0, 0, 0, 0)
    return Estimate(question, ledger, none, None, Verdict("bad", head, detail, ("memory_per_device",)), ())


def exceeds_budget_only() -> Estimate:
    """Fits into the device, not into the budget."""
    base = exceeds()
    return replace(base, ledger=_ledger(11.6, 9.0, 0, 0.73, 0.42, 0.68, words=_WORDS))


STATES = {"misses": misses, "meets": meets, "exceeds": exceeds, "exceeds_budget": exceeds_budget_only}


def centre(estimate: Estimate, words: Words, width: int, size_class: str) -> QWidget:
    """Strip, verdict, cards and ledger as they stand in the window."""
    small = size_class == "small"
    page = QWidget()
    page.setPalette(theme.theme().palette())
    page.setStyleSheet(f"QWidget#page {{ background: {theme.theme().canvas.name()}; }}")
    page.setObjectName("page")
    verdict, cards, ledger = VerdictView(words, page), CardStrip(words, page), LedgerView(words, page)
    message = MessageStrip(page)
    message.show_message(
        "bad", "Results are for 2 GPUs, the last count that works.", [("Go to Hardware › Count", page.update)]
    )
    verdict.set_small(small)
    cards.set_small(small)
    ledger.set_density(size_class)
    for part in (verdict, cards, ledger):
        part.show_estimate(estimate)
    y = 0
    for part in (message, verdict, cards):
        height = part.sizeHint().height()
        part.setGeometry(0, y, width, height)
        y += height
    column = {"small": 432, "large": 575}.get(size_class, 384)
    height = min(ledger.sizeHint().height(), 217) if small else ledger.sizeHint().height()
    ledger.setGeometry(24, y + 12, column, height)
    page.resize(width, y + ledger.height() + 24)
    return page


def paint(page: QWidget, ratio: float) -> QImage:
    """Render a widget at a pixel ratio."""
    image = QImage(page.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(theme.theme().canvas)
    painter = QPainter(image)
    page.render(painter, QPoint(0, 0))
    painter.end()
    return image


def main() -> None:
    """Write the pictures."""
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--ratio", type=float, default=1.0)
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication.instance() or QApplication([])
    words = Words("en")
    assert isinstance(app, QApplication)
    for name in theme.NAMES:
        theme.apply(app, name)
        for size_class, width in (("small", 944), ("medium", 848), ("large", 1224)):
            for state, make in STATES.items():
                page = centre(make(), words, width, size_class)
                page.ensurePolished()
                paint(page, given.ratio).save(str(given.folder / f"{state}-{name}-{size_class}.png"))


if __name__ == "__main__":
    main()
