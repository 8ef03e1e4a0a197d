"""Any input to any importer: a result or a typed refusal, in bounded time and memory, nothing else opened.

Real-shaped files are spoilt at random, and Hypothesis makes texts.  Short by default (about twenty
seconds); INFEROMETER_FUZZ=20000 sets the number of spoilt files for a long run.
"""

import builtins
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import resources
from core.catalog.models import load_model
from core.errors import InferometerError
from core.files.opening import opened
from core.importers.engine_command import apply_command, parse_command
from core.importers.local_hardware import (
    hardware_of,
    parse_cpuinfo,
    parse_meminfo,
    parse_nvidia_smi,
    parse_rocm_smi,
    parse_system_profiler,
)
from core.importers.model_names import resolve
from core.importers.recognise import apply_import, recognise
from core.spec.scenario import Scenario
from core.words import Words

PLACE = Path(__file__).parents[1] / "importers" / "model_files.py"
SPEC = importlib.util.spec_from_file_location("model_files", PLACE)
assert SPEC and SPEC.loader
files = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(files)

WORDS = Words("en")
LONG = int(os.environ.get("INFEROMETER_FUZZ", "0"))
INPUTS = LONG or 10**9
SECONDS = 24 * 3600.0 if LONG else 6.0  # of each of the three kinds of files
MOST_SECONDS = 20.0  # of the processor: whoever takes longer over one of them hangs
MOST_BYTES = 200 * 2**20
# What breaks readers: sizes beyond everything, signs, ends of numbers.
EVIL = [
    b"\0",
    b"\xff",
    b"\xff" * 8,
    b"\0" * 8,
    b"\x7f" + b"\xff" * 7,
    (2**40).to_bytes(8, "little"),
    b"\x09\0\0\0",
]
EVIL_JSON = [
    *(b"null", b"-1", b"0", b"1e999", b"99999999999999999999999999", b"true", b'"x"', b"[]", b"{}", b"NaN"),
    *(b"1.5", b"[" * 100, b'"\\ud800"', b"2147483648", b"1000000000", b'["a"]', b'{"a":{"a":{"a":1}}}', b""),
]


def said(error: InferometerError) -> None:
    """Every refusal has words."""
    assert error.problems
    for problem in error.problems:
        sentence = WORDS.problem(problem)
        assert not sentence.startswith("problems.") and sentence
        sentence.encode()
        assert len(sentence) < 2000


def attempt(run: Callable[[], Any]) -> bool:
    """Run an importer; True when it took the input."""
    started = time.process_time()
    try:
        run()
    except InferometerError as error:
        said(error)
        return False
    finally:
        assert time.process_time() - started < MOST_SECONDS
    return True


@contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """Fail on anything opened outside ``folder`` and the program's own data, and on any process."""
    seen: list[str] = []
    roots = (str(folder), str(Path(str(resources.__file__)).parent))

    def check(path: Any) -> None:
        text = os.fspath(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        if text and not os.path.abspath(text).startswith(roots):  # noqa: PTH100
            seen.append(text)

    real_open, real_io = builtins.open, io.open

    def spying(path: Any, *rest: Any, **named: Any) -> Any:
        check(path)
        return real_open(path, *rest, **named)

    def forbidden(*words: Any, **_: Any) -> Any:
        raise AssertionError(f"something was run: {words}")

    patch = pytest.MonkeyPatch()
    patch.setattr(builtins, "open", spying)
    patch.setattr(io, "open", spying)
    for module, name in (("os", "system"), ("subprocess", "Popen"), ("os", "posix_spawn")):
        patch.setattr(f"{module}.{name}", forbidden)
    try:
        yield seen
    finally:
        patch.undo()
        assert io.open is real_io
    assert not seen


def spoilt(data: bytes, chance: random.Random, pieces: list[bytes]) -> bytes:
    """The bytes with a few places overwritten, cut out, doubled or cut off."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(7):
            case 0 if out:
                out[at % len(out)] = chance.randrange(256)
            case 1:
                out[at : at + chance.choice((1, 4, 8))] = chance.choice(pieces)
            case 2:
                del out[at : at + chance.choice((1, 2, 8, 64))]
            case 3:
                out[at:at] = out[at : at + chance.choice((8, 64, 512))]
            case 4:
                del out[at:]
            case 5:
                out[at:at] = chance.choice(pieces)
            case _ if out:
                out[at % len(out)] ^= 1 << chance.randrange(8)
    return bytes(out)


def spoilt_tree(tree: Any, chance: random.Random) -> bytes:
    """JSON with the values of a few fields replaced, or fields dropped."""
    text = json.dumps(tree).encode()
    for _ in range(chance.choice((1, 1, 2, 4))):
        marks = [i for i, c in enumerate(text) if c == ord(":")]
        if not marks:
            break
        at = chance.choice(marks) + 1
        end = min((text.find(c, at) for c in (b",", b"}") if text.find(c, at) >= 0), default=len(text))
        text = text[:at] + chance.choice(EVIL_JSON) + text[end:]
    return text


def gguf_samples() -> list[tuple[bytes, int]]:
    made = []
    for entry, name in (
        ("Llama-3.2-1B", "llama"),
        ("gpt-oss-20b", "gpt-oss"),
        ("DeepSeek-V2-Lite", "deepseek2"),
    ):
        arch = load_model(entry).architecture
        few = arch.groups[: 2 if len(arch.groups) > 1 else 1]
        arch = arch.model_copy(
            update={"groups": tuple(g.model_copy(update={"count": min(2, g.count)}) for g in few)}
        )
        keys = files.gguf_keys(arch, name, 4096)
        keys["tokenizer.ggml.tokens"] = ["a", "b", "c"]
        made.append(files.gguf_bytes(keys, files.gguf_layout(arch, "BF16")))
    return made


def configs() -> list[dict[str, Any]]:
    return [
        entry["config"]
        for name in resources.names("data/models", ".json")
        for entry in json.loads(resources.read_bytes(name))
        if "config" in entry
    ]


def until_tired(chance: random.Random) -> Iterator[random.Random]:
    ends = time.monotonic() + SECONDS
    for _ in range(INPUTS):
        if time.monotonic() > ends:
            return
        yield chance


def use(path: Path, base: Scenario) -> None:
    """What opening in a window does: recognised, put into the scenario, and without one on defaults."""
    found = recognise(path)
    if found.kind != "document":
        apply_import(found, base)
    opened(found)


@pytest.mark.slow
def test_spoilt_gguf_files(scenario: Scenario, tmp_path: Path) -> None:
    chance, samples = random.Random(1), gguf_samples()
    path, taken = tmp_path / "m.gguf", 0
    with watched(tmp_path):
        for _ in until_tired(chance):
            head, size = chance.choice(samples)
            data = spoilt(head, chance, EVIL)
            with path.open("wb") as file:
                file.write(data)
                file.truncate(max(len(data), size if chance.random() < 0.9 else len(data)))
            taken += attempt(lambda: use(path, scenario))
    assert taken  # some damage does not matter; otherwise nothing is tested but the first check


@pytest.mark.slow
def test_spoilt_safetensors_folders(scenario: Scenario, tmp_path: Path) -> None:
    chance = random.Random(2)
    every = [c for c in configs() if c.get("hidden_size")]
    layout = {f"model.layers.{n}.mlp.up_proj.weight": ("BF16", [64, 64]) for n in range(3)}
    layout |= {
        "lm_head.weight": ("BF16", [100, 64]),
        "model.layers.0.mlp.experts.1.w1.weight_packed": ("I32", [8, 8]),
    }
    head, size = files.safetensors_bytes(layout, format="pt")
    index = {
        "metadata": {"total_size": 1},
        "weight_map": dict.fromkeys(layout, "model-00001-of-00001.safetensors"),
    }
    names = ["model.safetensors", "model-00001-of-00001.safetensors"]
    taken = 0
    with watched(tmp_path):
        for _ in until_tired(chance):
            which = chance.randrange(3)
            config = chance.choice(every)
            (tmp_path / "config.json").write_bytes(
                spoilt_tree(config, chance) if which == 0 else json.dumps(config).encode()
            )
            data = spoilt(head, chance, [*EVIL, *EVIL_JSON]) if which == 1 else head
            for name in names:
                with (tmp_path / name).open("wb") as file:
                    file.write(data)
                    file.truncate(max(size, len(data)))
            place = tmp_path / "model.safetensors.index.json"
            place.write_bytes(spoilt_tree(index, chance) if which == 2 else json.dumps(index).encode())
            named = chance.choice([tmp_path, tmp_path / "config.json", place, *(tmp_path / n for n in names)])
            taken += attempt(lambda named=named: use(named, scenario))  # type: ignore[misc]
    assert taken


@pytest.mark.slow
def test_spoilt_texts(scenario: Scenario, tmp_path: Path) -> None:
    chance = random.Random(3)
    texts = [
        (
            b"CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --max-model-len 32K "
            b'--speculative-config \'{"method": "mtp", "num_speculative_tokens": 2}\' --kv-cache-dtype fp8'
        ),
        b"docker run --gpus '\"device=0,1\"' -e A=b vllm/vllm-openai:v0.11.0 --model Qwen/Qwen2.5-7B-Instruct-AWQ",  # noqa: E501
        b"./llama-server -m models/Qwen3-30B-A3B-Q4_K_M.gguf -c 32768 -ngl 99 -ncmoe 20 -fa -ctk q8_0 -np 4",
        b"python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention",  # noqa: E501
        b"OLLAMA_NUM_PARALLEL=2 ollama run qwen3:30b-a3b-q4_K_M",
        b"trtllm-serve Qwen/Qwen3-32B --tp_size 4 --kv_cache_free_gpu_memory_fraction 0.8",
        b"name, memory.total [MiB]\nNVIDIA H100 80GB HBM3, 81559 MiB\n",
        b"hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q5_K_M",
        json.dumps(
            {"card0": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "206141652992"}}
        ).encode(),
        json.dumps(
            {"SPHardwareDataType": [{"chip_type": "Apple M3 Max", "physical_memory": "64 GB"}]}
        ).encode(),
        json.dumps({"model": {"num_params_G": 7, "max_context": 4096}, "hardware": {}, "batch": {}}).encode(),
    ]
    pieces = [
        b" --",
        b"'",
        b'"',
        b"\\\n",
        b"=",
        b" -1 ",
        b"999999999999999",
        b";",
        b"$(touch x)",
        b"`touch x`",
        *EVIL,
    ]
    every, path, taken = configs(), tmp_path / "any.txt", 0
    with watched(tmp_path):
        for _ in until_tired(chance):
            if chance.random() < 0.3:
                data = spoilt_tree(chance.choice(every), chance)
            else:
                data = spoilt(chance.choice(texts), chance, pieces)
            path.write_bytes(data)
            taken += attempt(lambda: use(path, scenario))
            pasted = data.decode(errors="replace")
            attempt(lambda pasted=pasted: recognise(pasted))  # type: ignore[misc]
    assert taken and sorted(p.name for p in tmp_path.iterdir()) == ["any.txt"]


@pytest.mark.slow
@settings(max_examples=LONG // 20 or 150)
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda b: b.decode("latin-1")))
def test_any_text(text: str) -> None:
    attempt(lambda: recognise(text))
    attempt(lambda: resolve(text))
    attempt(lambda: parse_command("vllm serve " + text))
    for parse in (parse_nvidia_smi, parse_rocm_smi, parse_cpuinfo, parse_meminfo, parse_system_profiler):
        attempt(lambda parse=parse: parse(text))  # type: ignore[misc]
    attempt(lambda: hardware_of(parse_nvidia_smi(text)))


WORD = st.sampled_from(
    [
        *(
            "--tensor-parallel-size",
            "-tp",
            "--max-model-len",
            "-c",
            "-ngl",
            "--model",
            "-m",
            "-fa",
            "--dtype",
            "-q",
        ),
        *(
            "--gpu-memory-utilization",
            "--kv-cache-dtype",
            "-ctk",
            "--enable-expert-parallel",
            "-dp",
            "--block-size",
        ),
        *(
            "0",
            "1",
            "-1",
            "2",
            "8",
            "0.9",
            "32k",
            "1e9",
            "999999999999999",
            "auto",
            "fp8",
            "on",
            "'",
            "Qwen/Qwen3-8B",
        ),
    ]
)


@pytest.mark.slow
@settings(max_examples=LONG // 20 or 200)
@given(
    st.sampled_from(["vllm serve", "sglang.launch_server", "trtllm-serve", "llama-server", "ollama run"]),
    st.lists(WORD | st.text(max_size=12), max_size=12),
)
def test_any_options(program: str, words: list[str]) -> None:
    base = _BASE

    def run() -> None:
        apply_command(parse_command(f"{program} {' '.join(words)}"), base)

    attempt(run)


def _base() -> Scenario:
    from core.files import scenario_file

    return scenario_file.loads(resources.read_bytes(resources.names("samples", ".json")[0]))


_BASE = _base()


# Resident memory beyond what the program itself takes, and seconds, for each of the files named.
MEASURED = """
import resource, sys, time
from pathlib import Path
from core.errors import InferometerError
from core.importers.recognise import recognise
from core.importers.model_names import resolve
resolve("qwen3:8b")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    started = time.process_time()
    try:
        recognise(Path(name))
    except InferometerError:
        pass
    seconds = time.process_time() - started
    print(Path(name).name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, seconds)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in the units of Linux")
def test_memory_is_bounded_and_it_ends(tmp_path: Path) -> None:
    """The largest headers that are taken, and claims far beyond them, in under 200 MB."""
    hostile: dict[str, tuple[bytes, int]] = {
        # As many keys, names and numbers as the limits let through, and a file of zeros behind.
        "zeros.gguf": (b"GGUF" + (3).to_bytes(4, "little") + (10**5).to_bytes(8, "little") + (20_000).to_bytes(8, "little"), 10**9),  # noqa: E501
        "texts.gguf": (
            b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little")
            + (1).to_bytes(8, "little") + b"k" + (9).to_bytes(4, "little") + (8).to_bytes(4, "little")
            + (2_000_000).to_bytes(8, "little"),
            10**9,
        ),
        "numbers.gguf": (
            b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (20_000).to_bytes(8, "little")
            + b"".join(
                (4).to_bytes(8, "little") + f"{n:04}".encode() + (9).to_bytes(4, "little") + (0).to_bytes(4, "little")  # noqa: E501
                + (16_000).to_bytes(8, "little") + bytes(16_000)
                for n in range(200)
            ),
            10**9,
        ),
        "wide.safetensors": ((12 * 2**20).to_bytes(8, "little") + b'{"a":[' + b"[]," * (4 * 2**20 - 10) + b"[]]}", 10**9),  # noqa: E501
        "deep.json": (b"[" * 10**6, 10**6),
        "many.json": (b'{"model_type":"llama","x":[' + b"1," * (3 * 10**6) + b"1]}", 0),
    }  # fmt: skip
    for name, (data, size) in hostile.items():
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(data)
            file.truncate(max(size, len(data)))
    asked = [sys.executable, "-c", MEASURED, *map(str, sorted(tmp_path.iterdir()))]
    place = PLACE.parents[2]
    done = subprocess.run(asked, cwd=place, capture_output=True, text=True, check=True, timeout=600)
    print(done.stdout)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(hostile)
    for _, kibibytes, _ in lines:
        assert int(kibibytes) * 1024 < MOST_BYTES, done.stdout
