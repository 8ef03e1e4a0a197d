"""Keys of a GGUF header as typed questions."""

from dataclasses import dataclass, field
from typing import Any, NoReturn

from core.errors import InvalidScenario, Problem
from core.importers.gguf import GgufHeader
from core.strict_json import shortened


@dataclass(slots=True)
class Keys:
    """Typed access to the keys of one architecture; numbers may differ by layer."""

    header: GgufHeader
    arch: str
    assumed: list[Problem] = field(default_factory=list)

    def number(self, name: str, layer: int = 0, default: int | None = None) -> int:
        """A whole number.  Raises InvalidScenario when the file has none and there is no default."""
        value = self.header.keys.get(f"{self.arch}.{name}")
        if isinstance(value, tuple) and value:
            value = value[min(layer, len(value) - 1)]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**12:
            if default is None:
                fail("gguf_key_missing", f"{self.arch}.{name}", architecture=self.arch)
            return default
        return value

    def values(self, name: str) -> Any:
        """The value as the file has it."""
        return self.header.keys.get(f"{self.arch}.{name}")

    def text(self, name: str) -> str:
        """A general text, "" where there is none."""
        value = self.header.keys.get(f"general.{name}")
        return shortened(value) if isinstance(value, str) else ""


def fail(code: str, path: str, **values: object) -> NoReturn:
    """Raise InvalidScenario with one problem below ``importer.``."""
    values = {"name": shortened(path), **values}
    raise InvalidScenario(Problem(f"importer.{code}", (shortened(path),), values))
