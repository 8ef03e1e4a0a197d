"""The devices that llama.cpp names before its tables: one line each, in the words of the back end."""

import re
from dataclasses import dataclass

from core.evidence.readers.common import text_of

_FOUND = re.compile(r"ggml_\w{2,10}_init: found (\d{1,3}) \w{2,10} devices|ggml_vulkan: Found (\d{1,3}) ")
_DEVICE = re.compile(
    r"^ {1,4}Device (\d{1,3}): ([^,\n]{2,100}), (?:compute capability|gfx)[^\n]{0,200}$"  # CUDA, HIP
    r"|^ggml_vulkan: (\d{1,3}) = ([^|(\n]{2,100})"
    r"|^ggml_metal\w{0,20}_init: GPU name: {1,6}([^\n(]{2,100})",
    re.MULTILINE,
)
_BEFORE = 20_000  # characters above a table that are looked at


@dataclass(frozen=True, slots=True)
class Named:
    """What stands above a table: a name, "" for none, and how many devices have it."""

    name: str = ""
    count: int = 1


def devices_above(text: str, line: int) -> Named:
    """The devices of the nearest start of the program above a line (from 1)."""
    end = 0
    for _ in range(line - 1):
        end = text.find("\n", end) + 1
    part = text[max(0, end - _BEFORE) : end]
    starts = list(_FOUND.finditer(part))
    part = part[starts[-1].start() :] if starts else part
    found: dict[str, str] = {}
    for one in _DEVICE.finditer(part):
        number = one[1] or one[3] or "0"
        found[number] = text_of((one[2] or one[4] or one[5]).strip())
    names = list(dict.fromkeys(found.values()))
    return Named(" + ".join(names), len(found)) if names else Named()
