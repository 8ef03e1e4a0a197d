"""The methods of the program's records, compiled when it is frozen.

``dataclasses`` writes the text of each method and compiles it whenever a class is made: a sixth of the
start.  Here a window is made once and the texts are noted; the frozen program looks each up before it
compiles it (``start.py``).  What a text compiles to follows from the text alone, so one that is not here, or
no longer used, changes nothing but the time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MODULE = "record_methods"
NOTE = '''"""Written by packaging/freeze/records.py: what dataclasses would compile at the start."""

CODES = {}
'''
START = """
import dataclasses, json, os
texts = set()
def note(text, names, into):
    texts.add(text)
    exec(text, names, into)
dataclasses.exec = note
from gui import app
started = app.start(app.application(), None)
print(json.dumps(sorted(texts)), flush=True)
os._exit(0)
"""


def texts() -> list[str]:
    """What ``dataclasses`` compiles until there is a window; what follows its paint would vary."""
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-c", START]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def write(folder: Path, compiled: list[str]) -> None:
    """The module of compiled texts; each defines ``__create_fn__``, as its first words say."""
    parts = [f"{text}\nCODES[{text!r}] = __create_fn__.__code__\n" for text in compiled]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{MODULE}.py").write_text("\n".join([NOTE, *parts]), encoding="utf-8")
