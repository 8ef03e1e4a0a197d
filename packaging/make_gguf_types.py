"""Write resources/data/gguf/types.json from the constants of an installed or unpacked ``gguf`` package.

The package itself is no dependency: importing it takes numpy, requests, yaml and a quarter of a
second, and all that is needed of it are two tables.  Usage: make_gguf_types.py [PATH OF constants.py]
"""

import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "resources" / "data" / "gguf" / "types.json"


def main(arguments):
    if arguments:
        source, release = Path(arguments[0]), arguments[1]
    else:
        place = importlib.util.find_spec("gguf").origin
        source, release = Path(place).with_name("constants.py"), version("gguf")
    spec = importlib.util.spec_from_file_location("gguf_constants", source)
    constants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(constants)
    types = {
        one.name: {"id": one.value, "block": sizes[0], "bytes": sizes[1]}
        for one, sizes in constants.GGML_QUANT_SIZES.items()
    }
    files = {
        one.name.removeprefix("MOSTLY_").removeprefix("ALL_"): one.value
        for one in constants.LlamaFileType
        if one.name != "GUESSED"
    }
    tree = {
        "source": "https://pypi.org/project/gguf/%s/ gguf/constants.py" % release,
        "types": types,
        "file_types": files,
        "value_types": {one.name: one.value for one in constants.GGUFValueType},
    }
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for key, value in tree.items():
        if isinstance(value, dict):
            inner = ",\n".join("  %s: %s" % (json.dumps(k), json.dumps(v)) for k, v in value.items())
            rows.append(" %s: {\n%s\n }" % (json.dumps(key), inner))
        else:
            rows.append(" %s: %s" % (json.dumps(key), json.dumps(value)))
    TARGET.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
