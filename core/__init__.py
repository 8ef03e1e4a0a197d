"""Inferometer's core: from a scenario to numbers, without a window.

``core.estimator.estimate`` is the one entry.
"""

import sys
from types import ModuleType


def _stand_in(name: str) -> ModuleType:
    """An empty module in the place of one that is not loaded; nothing where it is."""
    return sys.modules.setdefault(name, ModuleType(name))


def _leave_out() -> None:
    """What libraries would load at every start for nothing.

    pydantic searches for plug-ins, which the program does not have: its module loads the reader of installed
    packages, and that the parts of e-mail and of the network.  numpy gives its functions their documentation,
    one by one.
    """
    plugins = "pydantic.plugin._loader"
    if plugins not in sys.modules:
        _stand_in(plugins).get_plugins = tuple  # type: ignore[attr-defined]
    _stand_in("numpy._core._add_newdocs")
    _stand_in("numpy._core._add_newdocs_scalars")


_leave_out()
