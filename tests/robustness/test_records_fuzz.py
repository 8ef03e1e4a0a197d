"""Records of measurements that somebody has damaged: predicted or skipped, never a traceback."""

import json
import random
from pathlib import Path

from core.evidence.measured import record_of
from core.evidence.memory_predictions import predict

TABLE = Path(__file__).parents[1] / "reference" / "measured_memory.jsonl"
STRANGE = (
    None,
    0,
    -1,
    1,
    3,
    1e30,
    -1e30,
    0.5,
    "",
    "x" * 400,
    "q4_0",
    "7b",
    "(",
    "[",
    {},
    [],
    True,
    "A100",
    10**18,
)


def damaged(tree: dict[str, object], chance: random.Random) -> dict[str, object]:
    copy = json.loads(json.dumps(tree))
    for _ in range(chance.randint(1, 4)):
        inner = copy.get(chance.choice(("extra", "observed", "", "")), copy)
        holder = inner if isinstance(inner, dict) and inner else copy
        key = chance.choice(sorted(holder))
        holder[key] = chance.choice(STRANGE)
    return dict(copy)


def test_damaged_records_are_predicted_or_skipped() -> None:
    chance = random.Random(11)
    trees = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
    for number in range(3000):
        tree = damaged(chance.choice(trees), chance)
        for p in predict(record_of(tree, number)):
            assert p.skipped or (p.predicted is not None and p.low is not None)
