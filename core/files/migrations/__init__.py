"""Old scenario files, brought up to date one step at a time.

One module a step, named ``from_<n>.py``, with one function ``migrate(tree) -> tree`` that turns the
tree of schema n into that of schema n + 1.  A step is frozen once it has shipped: it imports nothing
of ``core.spec`` (which goes on changing) and is never edited.  A file of the old schema is kept under
``tests/scenario_files`` for good.  To raise the schema: write the step, list it in ``STEPS``, raise
``CURRENT_SCHEMA``.

Schema 1 is the first, so there is no step yet.
"""

from collections.abc import Callable
from typing import Any

Tree = dict[str, Any]

CURRENT_SCHEMA = 1
STEPS: dict[int, Callable[[Tree], Tree]] = {}


def migrate(tree: Tree, schema: int) -> Tree:
    """Return the tree of the current schema.  ``schema`` is from 1 to ``CURRENT_SCHEMA``."""
    for step in range(schema, CURRENT_SCHEMA):
        tree = STEPS[step](tree)
    return tree
