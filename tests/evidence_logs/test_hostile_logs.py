"""Whatever is dropped on the readers of logs: runs or a sentence, in bounded time, never an exception.

Short by default; INFEROMETER_FUZZ=20000 sets the number of spoilt files for a long run, as for the importers.
"""

import gzip
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evidence.readers.detect import read_files

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIXTURES = HERE / "fixtures"
SPEC = importlib.util.spec_from_file_location("hostile", HERE.parent / "evidence_readers" / "test_hostile.py")
assert SPEC and SPEC.loader
hostile = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hostile)
LONG = int(os.environ.get("INFEROMETER_FUZZ", "0"))
# What the lines of these logs are made of, in places where it does not belong.
MARKS = [
    *(b"Available KV cache memory: ", b"LLM engine (v0.11.0) with config: ", b"server_args=ServerArgs("),
    *(b"Load weight end. ", b"KV Cache is allocated. #tokens: 9", b"buffer size = ", b"eval time = "),
    *(
        b"loaded meta data with",
        b" GiB",
        b" MiB",
        b"\r",
        b"mem usage=",
        b"graph end.",
        b"'model': ",
        b"(pid=1)",
    ),
    *(b"| NVIDIA-SMI 1", b"# gpu pwr", b'{"ph": "X", "cat": "kernel", ', b'"dur": ', b'"traceEvents": ['),
    *(b"TTFT(ms)", "吞吐量".encode(), b"setting.engine", b"\x1f\x8b", b"--", b"9" * 300, b"1e400", b"-5"),
]


def samples() -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(FIXTURES.iterdir())]


@pytest.mark.slow
def test_spoilt_logs() -> None:
    chance, known, taken, tried = random.Random(3), samples(), 0, 0
    for _ in hostile.until_tired(chance):
        name, data = chance.choice(known)
        for _ in range(chance.choice((1, 1, 3))):
            data = (
                hostile.spoilt(data, chance) if chance.random() < 0.5 else hostile.spoilt_value(data, chance)
            )
        if chance.random() < 0.4:
            at = chance.randrange(len(data) + 1)
            data = data[:at] + chance.choice(MARKS) * chance.choice((1, 1, 2, 500)) + data[at:]
        if chance.random() < 0.1:
            data = data + b"\n" + chance.choice(known)[1]
        if chance.random() < 0.1:
            data = gzip.compress(data)[: chance.choice((10**9, 200, 40))]
        tried += 1
        taken += bool(hostile.checked(data, name).runs)
    assert tried > 50 and taken > tried // 4


@pytest.mark.slow
@settings(max_examples=LONG // 20 or 120)
@given(st.sampled_from(samples()), st.lists(st.sampled_from(MARKS) | st.binary(max_size=40), max_size=12))
def test_marks_in_any_order(sample: tuple[str, bytes], pieces: list[bytes]) -> None:
    hostile.checked(b"".join(pieces), sample[0])
    hostile.checked(sample[1][:300] + b"\n" + b" ".join(pieces), sample[0])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_other_encodings_and_ends_of_lines_read_the_same(path: Path, encoding: str) -> None:
    wanted = read_files([path]).runs
    text = path.read_text(encoding="utf-8")
    for changed in (text, text.replace("\n", "\r\n")):
        reading = hostile.checked(changed.encode(encoding), path.name)
        assert reading.runs == wanted


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_files_that_end_too_early(path: Path) -> None:
    data = path.read_bytes()
    for share in (0.05, 0.3, 0.5, 0.8, 0.97):
        hostile.checked(data[: int(len(data) * share)], path.name)


def test_control_characters_and_colours_do_not_matter() -> None:
    text = (FIXTURES / "vllm_0_11.log").read_text(encoding="utf-8")
    coloured = "".join(f"\x1b[1;32m{line}\x1b[0m\x07\n" for line in text.splitlines())
    wanted = read_files([FIXTURES / "vllm_0_11.log"]).runs
    assert hostile.checked(coloured, "vllm_0_11.log").runs == wanted


def test_no_entity_of_an_xml_is_expanded() -> None:
    bomb = '<!DOCTYPE n [<!ENTITY a "' + "x" * 1000 + '"><!ENTITY b "' + "&a;" * 1000 + '">]>'
    text = (FIXTURES / "nvidia_smi_x.xml").read_text(encoding="utf-8").replace("RTX 3080 Ti", "&b;")
    reading = hostile.checked(bomb + text, "q.xml")
    assert reading.runs[0].setting.accelerator == "NVIDIA GeForce &b;"


MEASURED = """
import resource, sys, time
from pathlib import Path
from core.evidence.readers.detect import read_files
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    started = time.process_time()
    reading = read_files([Path(name)])
    assert not any(p.code == "reading.fault" for p in reading.problems), reading.problems
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(Path(name).name, len(reading.runs), len(reading.problems), memory, seconds)
"""


def large(folder: Path) -> None:
    """Large files, up to a line of a hundred megabytes, each made to keep one reader busy."""
    mega = 2**20
    long = b"INFO Available KV cache memory: 12.00 GiB " * (100 * mega // 43)
    (folder / "one_line.log").write_bytes(long)
    (folder / "no_marks.log").write_bytes(b"GPU KV cache size: 1,000 tokens\n" + b"x" * 100 * mega)
    capture = (
        b"[2025-09-11 10:26:00 TP0] Capture Capture Capture graph end. mem usage=" + b"Capture " * 900 + b"\n"
    )
    (folder / "captures.log").write_bytes(
        b"max_total_num_tokens=5, \n" + capture * (20 * mega // len(capture))
    )
    bars = b"Loading safetensors checkpoint shards: 50% Completed | 5/9\r" * (20 * mega // 60)
    (folder / "bars.log").write_bytes(b"Model loading took 12.0 GiB\n" + bars)
    buffers = b"load_tensors: CUDA0 model buffer size = 1.00 MiB\n"
    (folder / "buffers.log").write_bytes(buffers * (20 * mega // len(buffers)))
    row = b"2025/07/03 13:31:10.123, 0, 97 %, 70000 MiB\n"
    head = b"timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
    (folder / "samples.csv").write_bytes(head + row * (6 * mega // len(row)))
    event = json.dumps(
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2.0}
    ).encode()
    listed = b'{"traceEvents": [\n' + (event + b",\n") * (30 * mega // len(event))
    (folder / "half_a_trace.json").write_bytes(listed)
    (folder / "string.json").write_bytes(b'{"traceEvents": [{"ph": "X", "name": "' + b"a" * 100 * mega)
    (folder / "nested.json").write_bytes(b'{"traceEvents": [' + b'{"args":' * (20 * mega // 8))
    with gzip.open(folder / "bomb.json.gz", "wb", compresslevel=1) as file:
        file.write(b'{"traceEvents": [')
        for _ in range(150):
            file.write(bytes(mega))
    with gzip.open(folder / "bomb.log.gz", "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b" " * mega)
    runs = b'{"format": "inferometer-runs", "version": 1}\n' + b"[" * 20 * mega
    (folder / "runs.jsonl").write_bytes(runs)
    cells = "模型,输入长度,TTFT(ms),TPOT(ms)\n".encode() + b"m,1,2,3\n" * (2 * mega // 8)
    (folder / "table.csv").write_bytes(cells)
    (folder / "wide.csv").write_bytes(b"model,input,ttft_ms,tpot_ms" + b",x" * (5 * mega) + b"\n1,2,3,4\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in the units of Linux")
def test_large_files_end_and_their_memory_is_bounded(tmp_path: Path) -> None:
    large(tmp_path)
    asked = [sys.executable, "-c", MEASURED, *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=600)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(list(tmp_path.iterdir()))
    for name, runs, problems, kibibytes, _ in lines:
        assert int(runs) or int(problems), name
        assert int(kibibytes) < 1200 * 1024, f"{name}: {kibibytes} KiB"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0
