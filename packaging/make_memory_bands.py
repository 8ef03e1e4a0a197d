"""Write the 80 % bands of memory figures anew: ``python packaging/make_memory_bands.py``.

Needed when a rule of a ledger or the table of runs changes; run with the Python of the private
environment.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.evidence.memory_bands import left_out, residuals, widths
from core.evidence.validate import predictions_of

TABLES = tuple(
    ROOT / "tests" / "reference" / f"measured_{name}.jsonl" for name in ("memory", "llama_buffers")
)
BANDS = ROOT / "resources" / "data" / "engines" / "uncertainty.json"


def bands() -> dict[str, object]:
    """The contents of the data file."""
    lines = [line for table in TABLES for line in table.read_text(encoding="utf-8").splitlines()]
    records = {r["id"]: r for r in map(json.loads, lines)}
    found = residuals(predictions_of(TABLES), records)
    inside, of = left_out(found)
    return {
        "about": "Half widths of the 80 % band of each figure, a share of the value or an amount in its unit;"
        " n figures of its own group, pool of those the width was taken from."
        " The rule: core/evidence/memory_bands.py.",
        "fitted_on": f"{of} figures of {len(records)} start-up logs (tests/reference/measured_*.jsonl)",
        "left_out": f"{inside} of {of} inside a band made without the logs of their source",
        "home": ["H100"],
        "engines": widths(found),
    }


if __name__ == "__main__":
    BANDS.write_text(json.dumps(bands(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
