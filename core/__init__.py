"""Inferometer's core: from a scenario to numbers, without a window.

``core.estimator.estimate`` is the one entry.
"""

import sys
from types import ModuleType


def _without_plugins() -> None:
    """Put an empty list of plug-ins in the place of pydantic's search for them.

    Its module loads the reader of installed packages, and that the parts of e-mail and of the network, at
    every start: a twentieth of it, for plug-ins that the program does not have.
    """
    name = "pydantic.plugin._loader"
    if name not in sys.modules:
        stands_in = ModuleType(name)
        stands_in.get_plugins = tuple  # type: ignore[attr-defined]
        sys.modules[name] = stands_in


_without_plugins()
