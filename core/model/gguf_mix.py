"""Which type each tensor of a GGUF file gets: file types are mixtures.

Rules of llama.cpp, src/llama-quant.cpp (llama_tensor_get_type): tables here, one row a file type.
Files made by others may override them tensor by tensor; a file at hand is read instead
(core.importers.gguf).
"""

from functools import lru_cache

from core.model.gguf_tensors import OUTSIDE, GgufTensor
from core.spec.architecture import Architecture, Attention, LatentAttention, MixtureOfExperts
from core.spec.gguf_types import BASE_TYPE, TENSOR_TYPES

# File types that need an importance matrix: their own tensors, or some of them, are otherwise refused.
_LOWEST = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"})
WITH_IMPORTANCE_MATRIX = _LOWEST | {"IQ3_XXS", "IQ3_XS", "Q2_K_S"}

# A rule: while the condition holds, the type; else the other one ("": the base type).
_Rule = tuple[str, str, str]
_VALUE: dict[str, _Rule] = {
    "Q2_K": ("grouped", "Q4_K", "Q3_K"),
    "Q2_K_S": ("grouped", "Q4_K", ""),
    "IQ3_XXS": ("grouped", "Q4_K", "IQ3_XXS"),
    "IQ3_XS": ("grouped", "Q4_K", ""),
    "IQ3_S": ("grouped", "Q4_K", ""),
    "IQ3_M": ("always", "Q4_K", ""),
    "Q3_K_M": ("first_two", "Q5_K", "Q4_K"),
    "Q3_K_L": ("always", "Q5_K", ""),
    "IQ4_NL": ("grouped", "Q5_K", ""),
    "IQ4_XS": ("grouped", "Q5_K", ""),
    "Q4_K_M": ("more_bits", "Q6_K", ""),
    "Q5_K_M": ("more_bits", "Q6_K", ""),
    "Q4_K_S": ("first_four", "Q5_K", ""),
}
_DOWN: dict[str, _Rule] = {
    "Q2_K": ("always", "Q3_K", ""),
    "Q2_K_S": ("first_eighth", "Q4_K", ""),
    "Q3_K_M": ("first_sixteenth", "Q5_K", "Q4_K"),
    "IQ3_M": ("first_eighth_or_mixtral", "Q4_K", ""),
    "Q3_K_L": ("always", "Q5_K", ""),
    "Q4_K_M": ("more_bits", "Q6_K", ""),
    "IQ4_NL": ("first_eighth", "Q5_K", ""),
    "IQ4_XS": ("first_eighth", "Q5_K", ""),
    "Q5_K_M": ("more_bits", "Q6_K", ""),
    "Q4_K_S": ("first_eighth", "Q5_K", ""),
}
_ATTENTION_OUTPUT = {"Q2_K": "Q3_K", "IQ3_XXS": "IQ3_S", "Q3_K_M": "Q4_K", "Q3_K_L": "Q5_K", "IQ3_M": "Q4_K"}
# Of models with eight experts, whose attention is a small part.
_ATTENTION_OUTPUT_OF_EIGHT = frozenset(
    [
        "Q2_K",
        "IQ3_XS",
        "IQ3_XXS",
        "Q3_K_S",
        "Q3_K_M",
        "IQ4_NL",
        "Q4_K_S",
        "Q4_K_M",
        "IQ3_S",
        "IQ3_M",
        "IQ4_XS",
    ]
)
_QUERY_KEY = {"IQ3_XS": "IQ3_XXS", "IQ3_XXS": "IQ2_S"}
_UNTIED_EMBEDDING = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"), "Q2_K"),
    **dict.fromkeys(("IQ2_S", "IQ2_M", "IQ3_XXS"), "IQ3_S"),
    **dict.fromkeys(("TQ1_0", "TQ2_0"), "Q4_K"),
}
# Conditions that hold for all layers of a model, or for none.
_ALIKE = ("always", "grouped")
# Where a row is no multiple of a type's block.
_FALLBACK = {
    **dict.fromkeys(["IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"], "IQ4_NL"),
    **dict.fromkeys(("Q2_K", "Q3_K", "TQ1_0", "TQ2_0"), "Q4_0"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}


@lru_cache(maxsize=2048)
def _category(name: str) -> str:
    """The role that the rules go by; "" for tensors that get the base type."""
    if name in ("output.weight", "token_embd.weight", "per_layer_token_embd.weight"):
        return "output" if name == "output.weight" else "embedding"
    for part, role in (
        ("attn_v.weight", "value"),
        ("attn_k.weight", "key"),
        ("attn_q.weight", "query"),
        ("attn_output.weight", "attention_output"),
        ("ffn_up", "up"),
        ("ffn_gate", "up"),
        ("ffn_down", "down"),
    ):
        if part in name:
            return role
    return ""


class Mixture:
    """The types of one model's tensors in one file type; asked for each in the file's order."""

    def __init__(self, arch: Architecture, file_type: str) -> None:
        self.file_type, self.base = file_type, BASE_TYPE[file_type]
        self.layers, self.tied = arch.layers, arch.tied_embeddings
        mixers = [group.token_mixer for group in arch.groups]
        channel = [g.channel_mixer for g in arch.groups if isinstance(g.channel_mixer, MixtureOfExperts)]
        self.experts = max((moe.experts for moe in channel), default=0)
        first = mixers[0]
        self.sharing = 0  # query heads to one key-value head
        if isinstance(first, Attention):
            self.sharing = first.heads // first.kv_heads
        elif isinstance(first, LatentAttention):
            self.sharing = first.heads
        # Models that llama.cpp calls 70B: eighty dense layers with grouped queries.
        self.seventy = self.layers == 80 and not self.experts and self.sharing > 1
        self.values = sum(
            group.count
            for group in arch.groups
            if isinstance(group.token_mixer, Attention)
            and not (group.token_mixer.reuses_cache or group.token_mixer.key_is_value)
        )
        self.values_seen = self.downs_seen = 0

    def varies(self, tensor: GgufTensor) -> bool:
        """Whether the same tensor of another layer may get another type."""
        if not tensor.matrix or TENSOR_TYPES[self.base].block == 1:
            return False
        role = _category(tensor.name)
        if self.file_type in _LOWEST:
            return role == "down"
        if role == "up":
            return self.file_type == "IQ3_XS"
        rules = {"value": _VALUE, "down": _DOWN}.get(role, {})
        return self.file_type in rules and rules[self.file_type][0] not in _ALIKE

    def type_of(self, tensor: GgufTensor) -> str:
        """Name of the tensor's type."""
        return self.type_at(tensor, tensor.layer)

    def type_at(self, tensor: GgufTensor, layer: int) -> str:
        """Name of the type of such a tensor in another layer."""
        if not tensor.matrix:
            return "F32"
        if TENSOR_TYPES[self.base].block == 1:
            return self.base
        return _fitting(self._chosen(tensor, layer), tensor.columns)

    def _chosen(self, tensor: GgufTensor, layer: int) -> str:
        role = _category(tensor.name)
        if role == "output" or (role == "embedding" and self.tied):
            return self._output(tensor)
        if self.file_type == "MXFP4_MOE":
            return "MXFP4" if tensor.stacked else "Q8_0"
        if role == "embedding":
            return _UNTIED_EMBEDDING.get(self.file_type, self.base)
        if self.file_type in _LOWEST:
            return self._lowest(role)
        match role:
            case "value":
                return self._value()
            case "down":
                return self._down(layer)
            case "key" if self.experts == 8:
                return "Q8_0"
            case "key" | "query":
                return _QUERY_KEY.get(self.file_type, self.base)
            case "attention_output":
                return self._attention_output()
            case "up" if self.file_type == "IQ3_XS" and not self._edge(layer):
                return "IQ3_XXS"
        return self.base

    def _output(self, tensor: GgufTensor) -> str:
        if self.file_type == "MXFP4_MOE" or tensor.columns % TENSOR_TYPES[self.base].block:
            return "Q8_0"
        if self.file_type in _LOWEST or self.file_type == "IQ3_XXS":
            return "Q5_K"
        return self.base if self.base == "Q8_0" else "Q6_K"

    def _lowest(self, role: str) -> str:
        third = "IQ3_S" if self.file_type in ("IQ2_S", "IQ2_M") else ""
        if role == "value":
            return "Q4_K" if self.sharing >= 4 or self.experts >= 4 else third or "Q2_K"
        if role == "key" and self.experts == 8:
            return "Q4_K"
        if role == "down":
            self.downs_seen += 1
            return (third or "Q2_K") if self.downs_seen <= self.layers // 8 else self.base
        if role == "attention_output":
            if self.experts == 8:
                return "Q5_K"
            return "IQ2_XXS" if self.file_type in ("IQ1_S", "IQ1_M") else third or self.base
        return self.base

    def _value(self) -> str:
        chosen = self._by_rule(_VALUE, self.values_seen, self.values)
        self.values_seen += 1
        if self.seventy and chosen in ("Q3_K", "Q4_K"):
            chosen = "Q5_K"
        return "Q8_0" if self.experts == 8 else chosen

    def _down(self, layer: int) -> str:
        # Layers of models with experts are known by their number, of others by counting.
        place = layer if self.experts else self.downs_seen
        self.downs_seen += 1
        return self._by_rule(_DOWN, place, self.layers)

    def _attention_output(self) -> str:
        if self.experts == 8:
            return "Q5_K" if self.file_type in _ATTENTION_OUTPUT_OF_EIGHT else self.base
        return _ATTENTION_OUTPUT.get(self.file_type, self.base)

    def _edge(self, layer: int) -> bool:
        return layer < self.layers // 8 or layer >= 7 * self.layers // 8

    def _by_rule(self, rules: dict[str, _Rule], place: int, count: int) -> str:
        rule = rules.get(self.file_type)
        if rule is None:
            return self.base
        condition, then, otherwise = rule
        return then if self._holds(condition, place, count) else otherwise or self.base

    def _holds(self, condition: str, place: int, count: int) -> bool:
        match condition:
            case "always":
                return True
            case "grouped":
                return self.sharing >= 4
            case "first_two":
                return place < 2
            case "first_four":
                return place < 4
            case "first_sixteenth":
                return place < count // 16
        eighth = count // 8
        more = place < eighth or place >= 7 * count // 8 or (place - eighth) % 3 == 2
        if condition == "more_bits":
            return more
        return place < eighth or (condition == "first_eighth_or_mixtral" and self.experts == 8 and more)


def _fitting(name: str, columns: int) -> str:
    """The type itself, or the one taken for rows that its blocks do not divide."""
    if columns % TENSOR_TYPES[name].block == 0:
        return name
    other = _FALLBACK.get(name, "F16")
    return other if columns % TENSOR_TYPES[other].block == 0 else "F16"


def is_outside(tensor: GgufTensor) -> bool:
    """Whether the tensor belongs to no layer."""
    return tensor.layer == OUTSIDE
