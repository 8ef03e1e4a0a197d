"""Whatever is dropped on the readers: runs or a sentence, in bounded time and memory, never an exception.

Short by default (about a minute); INFEROMETER_FUZZ=20000 sets the number of spoilt files for a long run, as
for the importers.
"""

import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evidence.readers.common import Reading
from core.evidence.readers.detect import READERS, read_text
from core.evidence.run import FIGURES, STATISTICS
from core.evidence.run_json import from_tree, to_tree
from core.words import Words

FIXTURES = Path(__file__).parent / "fixtures"
LONG = int(os.environ.get("INFEROMETER_FUZZ", "0"))
SECONDS = 24 * 3600.0 if LONG else 8.0
MOST_SECONDS = 20.0  # of the processor: whoever takes longer over a file as people have them hangs
WORDS = (Words("en"), Words("zh_CN"))
EVIL = [
    b"\0",
    b"\xff\xfe",
    b"\xff" * 8,
    b"\r",
    b"\r\n",
    b"\n",
    b"\x1b[",
    b"\x1b]0;",
    b"|",
    b",",
    b'"',
    b"'",
    b"}",
    b"{",
    b"[" * 2000,
    b"{" * 50,
    b'{"a":' * 2000,
    b"]",
    b"=" * 200,
    b" " * 5000,
    b"-",
    b"nan",
    b"Infinity",
    b"1e308",
    b"1e999",
    b"-1",
    b"0",
    b"9" * 10_000,
    b"1" * 400,
    b"." * 50,
    b":",
    b"::::",
    "±µ，".encode(),
    b"\\u",
    b'"\\ud800"',
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"1,234",
    b"1.2.3",
    b"\xe2\x80",
    b"x" * 20_000,
    b"%s",
    b"{0}",
]


def checked(data: bytes | str, name: str, seconds: float = MOST_SECONDS) -> Reading:
    """Read, and look at everything that comes back."""
    started = time.process_time()
    reading = read_text(data, name)
    spent = time.process_time() - started
    assert spent < seconds, f"{spent} s"
    assert reading.runs or reading.problems
    for problem in reading.problems:
        assert problem.code != "reading.fault", problem.values
        assert problem.values["file"] == name and isinstance(problem.values["line"], int)
        for words in WORDS:
            said = words.problem(problem)
            assert said and not said.startswith("problems.") and len(said) < 2000
            said.encode()
    for run in reading.runs:
        for (figure, statistic), value in run.figures.items():
            assert figure in FIGURES and statistic in STATISTICS
            assert math.isfinite(value) and value >= 0
        assert all(math.isfinite(value) for value in run.ledger.values())
        for words in WORDS:
            for phrase in run.conversions:
                assert not words.phrase(phrase).startswith("conversions.")
        text = json.dumps(to_tree(run), allow_nan=False)
        assert len(text) < 2_000_000
        assert from_tree(json.loads(text)) == run
    return reading


def samples() -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(FIXTURES.iterdir())]


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few places overwritten, cut out, doubled or cut off."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(7):
            case 0 if out:
                out[at % len(out)] = chance.randrange(256)
            case 1:
                out[at : at + chance.choice((1, 4, 8))] = chance.choice(EVIL)
            case 2:
                del out[at : at + chance.choice((1, 2, 8, 64, 512))]
            case 3:
                out[at:at] = out[at : at + chance.choice((8, 64, 512, 4096))]
            case 4:
                del out[at:]
            case 5:
                out[at:at] = chance.choice(EVIL)
            case _ if out:
                out[at % len(out)] ^= 1 << chance.randrange(8)
    return bytes(out)


def spoilt_value(data: bytes, chance: random.Random) -> bytes:
    """One value of a JSON text, or one cell of a table, replaced."""
    marks = [i for i, c in enumerate(data) if c in b":|,"]
    if not marks:
        return data
    at = chance.choice(marks) + 1
    end = min((found for c in b",}|\n" if (found := data.find(bytes((c,)), at)) >= 0), default=len(data))
    return data[:at] + chance.choice(EVIL) + data[end:]


def until_tired(chance: random.Random) -> Iterator[random.Random]:
    ends = time.monotonic() + SECONDS
    for _ in range(LONG or 10**9):
        if time.monotonic() > ends:
            return
        yield chance


@pytest.mark.slow
def test_spoilt_files() -> None:
    chance, known, taken, tried = random.Random(7), samples(), 0, 0
    for _ in until_tired(chance):
        name, data = chance.choice(known)
        for _ in range(chance.choice((1, 1, 3))):
            data = spoilt(data, chance) if chance.random() < 0.6 else spoilt_value(data, chance)
        if chance.random() < 0.1:
            data = data + b"\n" + chance.choice(known)[1]
        if chance.random() < 0.05:
            data = data.decode("utf-8", "replace").encode(
                chance.choice(("utf-16", "utf-16-be", "latin-1")), "replace"
            )
        tried += 1
        taken += bool(checked(data, name).runs)
    assert tried > 50 and taken > tried // 4


def every_value(tree: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield (*path, key)
            yield from every_value(part, (*path, key))
    elif isinstance(tree, list):
        for index, part in enumerate(tree[:3]):
            yield (*path, index)
            yield from every_value(part, (*path, index))


STRANGE = [
    None,
    True,
    -1,
    0,
    1e308,
    1e-308,
    float("nan"),
    float("inf"),
    10**300,
    "x",
    "",
    "1",
    [],
    {},
    [1],
    {"a": 1},
]
STRANGE += [
    [{}],
    "x" * 5000,
    {"unit": "ms", "avg": "x"},
    {"mean": {}},
    "-inf",
    "\ud800",
    [None],
    [[[]]],
    {"": ""},
]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.name)
def test_every_field_of_another_kind(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = json.JSONDecoder().raw_decode(text)[0]
    places = list(every_value(tree))
    chance = random.Random(3)
    for place in places:
        for value in STRANGE if len(places) < 40 else chance.sample(STRANGE, 5):
            copy = json.loads(json.dumps(tree))
            inner = copy
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            checked(json.dumps(copy), path.name)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "completed",
                    "request_throughput",
                    "mean_ttft_ms",
                    "median_tpot_ms",
                    "performance",
                    "engine",
                    "world_info",
                    "benchmarks",
                    "metrics",
                    "config",
                    "strategy",
                    "time_to_first_token",
                    "unit",
                    "avg",
                    "avg_ts",
                    "n_gen",
                    "n_prompt",
                    "avg_ns",
                    "speed_tg",
                    "speed_pp",
                    "pp",
                    "pl",
                    "tg",
                    "t_tg",
                    "batch_size",
                    "input_len",
                    "output_len",
                    "latency",
                    "prefill_latency",
                    "output_throughput",
                    "elapsed_time",
                    "requests_per_second",
                    "avg_latency",
                    "percentiles",
                    "latencies",
                    "eval_count",
                    "eval_duration",
                    "timings",
                    "predicted_per_second",
                    "results_ttft_s_mean",
                    "results",
                    "ttft_s",
                    "input_config",
                    "telemetry_data",
                    "run_info",
                    "successful",
                    "mean",
                    "server_info",
                    "args",
                    "draft_n",
                    "draft_n_accepted",
                    "predicted_n",
                    "request_rate",
                    "num_prompts",
                    "failed",
                    "p50",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@pytest.mark.slow
@settings(max_examples=LONG // 10 or 400)
@given(st.dictionaries(st.text(max_size=5), TREES, max_size=2) | TREES)
def test_any_tree_of_known_names(tree: object) -> None:
    checked(json.dumps(tree), "x.json")


LINES = st.sampled_from(
    [
        "============ Serving Benchmark Result ============",
        "Mean TTFT (ms):    3",
        "Max ITL (ms): 1e400",
        "=" * 50,
        "Throughput: 1 requests/s, 2 tokens/s",
        "Total num prompt tokens: 9",
        "Avg latency: . seconds",
        "Avg latency: 1",
        "Prefill. latency: 1.0 s, throughput: 3 token/s",
        "Total. latency: 0 s, throughput: 0 token/s",
        "batch size: 0",
        "latency: 1 s",
        "ttft: 9 s",
        "output throughput: 0 tok/s",
        "Decode 0. Batch size: 0, latency: 1 s",
        "| model | size | params | test | t/s |",
        "| a | 1 GiB | 1 B | pp512 | 3 ± 1 |",
        "| a | 1 GiB | 1 B | tg0 | 0 |",
        "| PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s |",
        "| 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |",
        "|---|",
        "Metric,avg,p50",
        "Time To First Token (ms),1,2",
        'Inter Token Latency (ms),"1,2",3',
        "Metric,Value",
        "",
        "total duration: 1h1m1s",
        "eval count: 0 token(s)",
        "eval duration: 0s",
        "eval rate: 0 tokens/s",
        "$ ",
        "Averages: prompt_tps=0, generation_tps=0",
        "Trial 1: prompt_tps=1, generation_tps=1",
        "= PERFORMANCE OVERVIEW",
        "Timing with prompt_tokens=0, generation_tokens=0, batch_size=0.",
        "[TPOT] P50: 3",
        "Total Latency (ms): 3",
        "INSERT INTO llama_bench (n_gen, avg_ts) VALUES ('1', '2');",
        "build_commit,n_gen,avg_ts",
        "a,1,2",
        "build: a",
    ]
)


@pytest.mark.slow
@settings(max_examples=LONG // 10 or 400)
@given(st.lists(LINES | st.text(max_size=30), max_size=20))
def test_any_lines(parts: list[str]) -> None:
    checked("\n".join(parts), "x.txt")


@pytest.mark.slow
@settings(max_examples=LONG // 10 or 200)
@given(st.binary(max_size=400) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes(data: bytes) -> None:
    checked(data, "x.bin")


NUMBERS = b"9" * 10_000
BLOCK = (FIXTURES / "vllm_serve_console.txt").read_bytes()
LINE = (FIXTURES / "vllm_serve_2026.json").read_bytes().strip()
SHORT_HOSTILE = {
    "digits.json": b'{"completed": ' + NUMBERS + b', "request_throughput": ' + NUMBERS + b"}",
    "negative_digits.json": b'{"avg_latency": -' + NUMBERS + b', "latencies": []}',
    "huge.json": b'{"avg_latency": 1e308, "std_latency": 1e309, "percentiles": {"50": NaN, "99": -Infinity}}',
    "deep.json": b'{"benchmarks": ' + b"[" * 5000,
    "deep_closed.json": b'{"request_latency": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "deep_objects.json": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "repeated.json": b'{"request_throughput": {"request_throughput": {"avg": 1}}}\n' * 2000,
    "halves.jsonl": (LINE[:300] + b"\n") * 3000,
    "braces.txt": b'{"\n' * 20_000,
    "brackets.txt": b"[{\n" * 20_000,
    "lists.txt": b'[{"a":1},\n' * 20_000,
    "bars.md": b"| test | t/s | size |\n" + b"|" * 200_000 + b"\n" + b"| pp512 | 3 |\n" * 3000,
    "commas.csv": b"Metric,avg," + b"," * 200_000 + b"\n" + b"," * 200_000,
    "quotes.csv": b"n_gen,avg_ts\n" + b'"' * 100_001 + b",1\n",
    "spaces.txt": b"============ Serving Benchmark Result ============\nMean TTFT (ms):"
    + b" " * 100_000
    + b"x\n",
    "colons.txt": b"============ Serving Benchmark Result ============\n" + b"a: " * 50_000,
    "inserts.sql": b"INSERT INTO llama_bench (" + b"a," * 3000 + b") VALUES (" + b"'" * 5000 + b");\n",
    "escapes.txt": b"\x1b[" * 100_000 + b"\x1b]" * 100_000,
    "returns.txt": b"\r" * 200_000 + b"Avg latency: 1 seconds",
    "minutes.txt": b"total duration: " + b"1m" * 5000 + b"\neval duration: 1s\neval count: 3 token(s)\n",
    "rules.txt": b"=" * 300_000,
    "zeros.bin": bytes(300_000),
    # Headers whose spaces kept a pattern busy for minutes.
    "wide_heads.csv": b"model," + b" " * 3000 + b"(" + b" " * 3000 + b"(" + b" " * 500 + b"0,ttft\nx,1,2\n",
    "one_head.txt": b"$ mlx"
    + b" " * 965
    + b"("
    + b" " * 2327
    + b"("
    + b" " * 517
    + b"0"
    + b" " * 1188
    + b"h",
}


@pytest.mark.parametrize("name", sorted(SHORT_HOSTILE))
def test_hostile_files(name: str) -> None:
    checked(SHORT_HOSTILE[name], name)


def test_the_good_part_of_a_hostile_paste_is_read() -> None:
    junk = b"\n".join((b"x" * 3_000_000, b'{"' * 1000, b"\0\xff" * 1000, b"|" * 100_000))
    reading = checked(junk + b"\n" + BLOCK + junk, "x.txt")
    assert len(reading.runs) == 2


def calls(data: bytes, name: str) -> int:
    """Functions that are called while it is read."""
    count = 0

    def seen(_frame: object, event: str, _what: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        read_text(data, name)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.parents[1].glob("evidence_*/fixtures/*")), ids=lambda p: p.name
)
def test_twice_as_much_is_twice_the_work(path: Path) -> None:
    data = path.read_bytes().rstrip() + b"\n"
    read_text(data, path.name)  # what is prepared once
    assert calls(16 * data, path.name) < 2.3 * calls(8 * data, path.name)


MEASURED = """
import resource, sys, time
from pathlib import Path
from core.evidence.readers.detect import read_files
read_files([Path(sys.argv[1])])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    started = time.process_time()
    reading = read_files([Path(name)])
    seconds = time.process_time() - started
    codes = ",".join(sorted({p.code for p in reading.problems}))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(Path(name).name, len(reading.runs), grown, f"{seconds:.2f}", codes or "-")
"""
MIB = 2**20
# What it begins with, what is repeated how often, what it ends with.
HANGS_S = 600.0
BIG = {
    "line.txt": (b"GPU KV cache size: ", b"x" * MIB, 100, b""),
    "line.json": (LINE[:-1] + b', "x": "', b"y" * MIB, 100, b'"}'),
    "numbers.json": (LINE[:-1] + b', "itls": [', b"0.01," * 1000, 20_000, b"0]}"),
    "few_numbers.json": (LINE[:-1] + b', "itls": [', b"0.0123456789," * 1000, 4800, b"0]}"),
    "table.md": (b"| test | t/s | params |", " pp512 | 3 ± 1 |".encode() * 1000, 6000, b""),
    "braces.json": (b"", b"{" * MIB, 100, b""),
    "lines.log": (b"", b"INFO 01-01 10:00:00 worker: nothing of note\n" * 1000, 2000, b""),
    "progress.log": (b"", b"99%|##########|\r" * 1000, 6000, b""),
    "objects.log": (b"", b'{"level": "info", "msg": "request_latency"}\n' * 1000, 250, b""),
    "broken.log": (b"", b'{"level": "info, "request_latency"\n' * 1000, 2000, b""),
    "lists.log": (b"", b'[{"request_latency": 1},\n' * 1000, 2000, b""),
}


FEW = ("line.txt", "line.json", "few_numbers.json", "objects.log")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in the units of Linux")
@pytest.mark.parametrize("name", sorted(BIG) if LONG else FEW)
def test_a_hundred_megabytes_do_not_hang(tmp_path: Path, name: str) -> None:
    """Many of them are one line: it ends, in less than 450 MB (alone 260); seconds are printed."""
    head, unit, count, tail = BIG[name]
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(head)
        for _ in range(count):
            file.write(unit)
        file.write(tail)
    (tmp_path / "small.txt").write_bytes(BLOCK)
    asked = [sys.executable, "-c", MEASURED, str(tmp_path / "small.txt"), str(path)]
    place = Path(__file__).parents[2]
    done = subprocess.run(asked, cwd=place, capture_output=True, text=True, check=True, timeout=HANGS_S)
    path.unlink()
    print(done.stdout)
    runs, kibibytes, _, codes = done.stdout.splitlines()[-1].split()[1:]
    assert int(kibibytes) < 450 * 1024, done.stdout
    assert "reading.fault" not in codes, done.stdout
    assert int(runs) or codes != "-", done.stdout


def test_readers_are_registered_once() -> None:
    keys = [reader.KEY for reader in READERS]
    assert len(keys) == len(set(keys))
