"""A configuration as a set of typed questions.

Three things differ in these files and are kept apart here: a field that is stated, a field that
says null, and a field that is absent.  Absent fields take the default of the model's class; null
never does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from core.errors import InvalidScenario, Problem

MAX_LAYERS = 4096
MAX_COUNT = 10**9
_SHOWN = 60  # characters of a foreign value that a message repeats

# One meaning, the names it goes by; the first stated one counts.
ALIASES: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "num_layers", "n_layer", "n_layers"),
    "hidden": ("hidden_size", "n_embd", "n_embed", "d_model"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_attention_groups", "num_kv_heads"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "hidden_size_per_head"),
    "intermediate": ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner"),
    "vocabulary": ("vocab_size", "padded_vocab_size"),
    "experts": ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
    "experts_per_token": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "moe_topk",
        "moe_k",
        "moe_top_k",
        "top_k_experts",
    ),
    "expert_intermediate": ("moe_intermediate_size", "expert_ffn_hidden_size"),
    "shared_experts": (
        "n_shared_experts",
        "num_shared_experts",
        "num_shared_expert",
        "moe_num_shared_experts",
    ),
    "shared_intermediate": (
        "shared_expert_intermediate_size",
        "share_expert_dim",
        "shared_intermediate_size",
    ),
}


class Reader:
    """Typed access to one level of a configuration.

    Every method raises InvalidScenario with ``importer.missing_field``, ``importer.wrong_type`` or
    ``importer.out_of_range``, the field's dotted path as the problem's path.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        model_type: str,
        defaults: Mapping[str, Any] | None = None,
        prefix: str = "",
    ) -> None:
        self.config = config
        self.model_type = model_type
        self.defaults = defaults or {}
        self.prefix = prefix

    def fail(self, code: str, name: str, **values: object) -> NoReturn:
        """Refuse the field ``name``."""
        values = {"name": self.prefix + name, "model_type": self.model_type, **values}
        raise InvalidScenario(Problem(f"importer.{code}", (self.prefix + name,), values))

    def wrong_type(self, name: str, value: object) -> NoReturn:
        """Refuse a value of the wrong kind."""
        self.fail("wrong_type", name, value=brief(value))

    def stated(self, name: str) -> bool:
        """Whether the field is in the file with a value other than null."""
        return self.config.get(name) is not None

    def find(self, *names: str) -> tuple[str, Any]:
        """Name and value of the first stated alias; else null when one is null, else the default."""
        names = tuple(alias for name in names for alias in ALIASES.get(name, (name,)))
        null = False
        for name in names:
            if name in self.config:
                if self.config[name] is not None:
                    return name, self.config[name]
                null = True
        if not null:
            for name in names:
                if name in self.defaults:
                    return name, self.defaults[name]
        return names[0], None

    def check(self, name: str, value: Any, low: int = 0, high: int = MAX_COUNT) -> int:
        """``value`` as a whole number within bounds."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong_type(name, value)
        if not low <= value <= high:
            self.fail("out_of_range", name, value=brief(value), low=low, high=high)
        return int(value)

    def optional(self, *names: str, low: int = 0, high: int = MAX_COUNT) -> int | None:
        """A whole number, or None for null and for absent without a default."""
        name, value = self.find(*names)
        return None if value is None else self.check(name, value, low, high)

    def integer(self, *names: str, low: int = 1, high: int = MAX_COUNT) -> int:
        """A whole number that the model cannot be built without."""
        value = self.optional(*names, low=low, high=high)
        if value is None:
            self.fail("missing_field", self.find(*names)[0])
        return value

    def count(self, *names: str, default: int = 0) -> int:
        """A whole number, ``default`` where the file and the class say nothing."""
        value = self.optional(*names)
        return default if value is None else value

    def number(self, *names: str) -> float | None:
        """Any finite number."""
        name, value = self.find(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1e15 < value < 1e15:
            self.wrong_type(name, value)
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        _, value = self.find(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong_type(name, value)
        return value

    def switch(self, setting: bool | str) -> bool:
        """A fixed answer, or the flag of that name."""
        return self.flag(setting) if isinstance(setting, str) else setting

    def text(self, name: str) -> str:
        """A string, "" where there is none."""
        _, value = self.find(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.wrong_type(name, value)
        return value

    def items(self, name: str, length: int = 0) -> Sequence[Any] | None:
        """A list of at least ``length`` items, None where there is none.  Extra items are dropped."""
        _, value = self.find(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            self.wrong_type(name, value)
        if len(value) < length:
            self.fail("too_short", name, found=len(value), expected=length)
        return value[:length] if length else value

    def per_layer(self, layers: int, *names: str) -> list[int] | None:
        """A number for each layer: a list, or one number for all."""
        name, value = self.find(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            return [self.check(name, value)] * layers
        if len(value) < layers:
            self.fail("too_short", name, found=len(value), expected=layers)
        return [self.check(name, item) for item in value[:layers]]

    def section(self, name: str) -> "Reader | None":
        """A nested object, None where there is none."""
        _, value = self.find(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.wrong_type(name, value)
        return Reader(value, self.model_type, self.defaults.get(name), f"{self.prefix}{name}.")

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.integer("layers", high=MAX_LAYERS)


def brief(value: object) -> str:
    """A foreign value for a message, however large or deep it is."""
    match value:
        case str():
            return value[:_SHOWN]
        case int() if abs(value) >= 10**20:
            return f"{'-' if value < 0 else ''}2^{value.bit_length()}"
        case bool() | int() | float():
            return str(value)
    return type(value).__name__
