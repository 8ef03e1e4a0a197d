"""English that spell checkers let pass."""

import re
from pathlib import Path

RESOURCES = Path(__file__).parents[2] / "resources"
SINGULAR = re.compile(r"\bphysics (?:allow|say|permit|give|limit)\b")  # "physics" has no plural verb


def test_physics_is_singular() -> None:
    texts = [RESOURCES / "i18n" / "en.json", *(RESOURCES / "help" / "en").glob("*.md")]
    assert len(texts) > 1
    assert [path.name for path in texts if SINGULAR.search(path.read_text("utf-8"))] == []
