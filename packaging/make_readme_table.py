"""The README's table of accuracy, from the accuracy page: after that page was written anew.

Run with any Python: ``make_readme_table.py``.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "resources" / "help" / "en" / "accuracy.md"
README = ROOT / "README.md"
_BETWEEN = re.compile(r"(<!-- accuracy -->\n).*?(<!-- end -->)", re.DOTALL)
# Names of the figures on the page, and what they are.
FIGURES = {
    "weights in memory": "Weights in memory",
    "KV cache that is left": "KV cache that is left",
    "one stream": "Speed of one stream",
    "server TPOT": "Time per token of a server",
    "server throughput": "Throughput of a server",
    "one prompt": "Time of one prompt",
    "server TTFT": "Time to first token of a server",
}


def table(page: str) -> str:
    """The rows of all engines together; and what a family or a device that was left out gives."""
    lines = ["| Figure | Measured | Median error | In the 80 % range | Left out of the fit |"]
    lines.append("|---|---:|---:|---:|---:|")
    for figure, name in FIGURES.items():
        found = re.search(
            rf"^\| all \| {re.escape(figure)} \| (\d+) \| ([\d.]+ %) \|.*\| (\d+ %) \|$", page, re.MULTILINE
        )
        if found is None:
            continue
        left = re.search(
            rf"^\| {re.escape(figure)} \| both pooled \| \d+ \| ([\d.]+ %) \|", page, re.MULTILINE
        )
        cells = (name, found[1], found[2], found[3], left[1] if left else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the README."""
    text = README.read_text(encoding="utf-8")
    made = table(PAGE.read_text(encoding="utf-8"))
    README.write_text(_BETWEEN.sub(lambda m: m[1] + made + m[2], text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
