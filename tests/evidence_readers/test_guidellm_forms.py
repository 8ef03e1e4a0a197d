"""GuideLLM's report as YAML, CSV and console text says what its JSON says; the YAML reader against PyYAML.

Shapes: https://github.com/vllm-project/guidellm/blob/main/src/guidellm/benchmark/outputs/csv.py and
/console.py, and of 0.3 src/guidellm/benchmark/output.py of that release.
"""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evidence.readers.detect import read_files, read_text
from core.yaml_subset import NotRead, parse

FIXTURES = Path(__file__).parent / "fixtures"


def runs(name):
    return read_files([FIXTURES / name]).runs


@pytest.mark.parametrize("stem", ["guidellm_03", "guidellm_07"])
def test_yaml_says_what_the_json_says(stem):
    for json_run, yaml_run in zip(runs(f"{stem}.json"), runs(f"{stem}.yaml"), strict=True):
        assert (yaml_run.figures, yaml_run.setting) == (json_run.figures, json_run.setting)
        assert yaml_run.conversions == json_run.conversions


def test_csv_of_one_row_of_headers():
    alone, eight = runs("guidellm_03.csv")
    assert (alone.setting.concurrency, eight.setting.concurrency) == (1, 8)
    assert alone.setting.model == "meta-llama/Llama-3.1-8B-Instruct" and alone.setting.requests == 30
    assert alone.figure("time_to_first_token", "mean") == pytest.approx(0.0598)
    assert alone.figure("time_to_first_token", "p99") == pytest.approx(0.0598 * 1.3)
    assert alone.figure("time_to_first_token", "max") == pytest.approx(0.0598 * 1.5)
    assert eight.figure("time_per_output_token", "mean") == pytest.approx(0.0246)
    assert eight.figure("end_to_end", "p90") == pytest.approx(6.53 * 1.1)
    assert eight.figure("output_throughput", "mean") == pytest.approx(309.8)


def test_csv_of_three_rows_of_headers_and_a_row_of_another_width():
    reading = read_files([FIXTURES / "guidellm_05.csv"])
    (run,) = reading.runs
    assert (run.setting.concurrency, run.setting.model) == (16, "Qwen/Qwen3-32B")
    assert run.figure("time_per_output_token", "mean") == pytest.approx(0.0282)  # theirs is inter token
    assert run.figure("total_throughput", "mean") == pytest.approx(2512)
    (told,) = reading.problems
    assert told.code == "reading.row" and told.values["line"] == 5


def test_console_of_one_table():
    alone, rated = runs("guidellm_console_02.txt")
    assert (alone.setting.input_tokens, alone.setting.output_tokens, alone.setting.requests) == (1024, 256, 6)
    assert alone.figure("end_to_end", "p99") == 4.91
    assert rated.setting.request_rate == 2.06 and rated.setting.concurrency == pytest.approx(10.93)
    assert rated.figure("time_to_first_token", "mean") == pytest.approx(0.0964)
    assert rated.figure("time_per_output_token", "p50") == pytest.approx(0.0224)


def test_console_of_a_table_for_each_subject():
    alone, constant = runs("guidellm_console_05.txt")
    assert alone.figure("time_to_first_token", "p50") == pytest.approx(0.5234)
    assert alone.figure("time_per_output_token", "p95") == pytest.approx(0.0414)
    assert constant.figure("output_throughput", "mean") == 34.9
    assert constant.setting.output_tokens == 128


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n\tb: inter_token_latency_ms: 2\n", 2),
        ("time_to_first_token_ms: 1\n? complex\n: key\n", 2),
        ("time_to_first_token_ms: *nothing\n", 1),
        ("time_to_first_token_ms: {a: 1}\n", 1),
        ("inter_token_latency_ms:\n" + "".join(" " * i + "k:\n" for i in range(1, 80)), 62),
    ],
)
def test_yaml_beyond_the_subset_is_refused_with_its_line(text, line):
    with pytest.raises(NotRead) as refused:
        parse(text)
    assert refused.value.line == line


def test_a_refused_yaml_names_the_line():
    reading = read_text("benchmarks:\n- metrics:\n    inter_token_latency_ms: *gone\n", "b.yaml")
    assert [(p.code, p.values["line"]) for p in reading.problems] == [("reading.yaml", 3)]


def test_tags_make_no_object_and_aliases_no_copies():
    text = 'a: !!python/object/apply:os.system\n  args: ["false"]\nb: &x\n  k: 1\nc: *x\n'
    tree = parse(text)
    assert tree["a"] == {"args": ["false"]} and tree["c"] is tree["b"]


WORDS = st.sampled_from(
    [
        "a: b",
        "it's",
        "x # y",
        "- dash",
        'q"uote',
        "line\nbreak",
        "",
        "true",
        "1.5",
        "null",
        "é中文",
        "~",
        "long words " * 20,
        "trail ",
        "\\back",
        "{x}",
        "[y]",
        "&a",
        "*b",
        "!t",
        "%p",
        "@q",
        "? k",
        "|",
        ">",
    ]
)
PLAIN = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | WORDS | st.floats(0.001, 1e6)
TREES = st.recursive(
    PLAIN,
    lambda t: (
        st.lists(t, max_size=4)
        | st.dictionaries(WORDS.filter(lambda word: 0 < len(word) < 30 and "\n" not in word), t, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [gpu]", ["gpu"]),
        ("a: [--model, 'two words', 2] # said", ["--model", "two words", 2]),
        ("a: []", []),
        ('a: ["x, y", z]', ["x, y", "z"]),
    ],
)
def test_a_sequence_of_words_in_one_line_is_read(text, expected):
    assert parse(text) == {"a": expected}


@pytest.mark.parametrize("text", ["a: [b, [c]]", "a: {b: c}", "a: [b: {c}]", "a: [b", "a: ['b]"])
def test_other_collections_in_one_line_are_refused(text):
    with pytest.raises(NotRead):
        parse(text)


@settings(deadline=None, max_examples=60)
@given(tree=st.dictionaries(st.text("abc_", min_size=1), TREES, max_size=5), width=st.sampled_from([20, 80]))
def test_what_pyyaml_writes_is_read_as_it_was(tree, width):
    assert parse(yaml.dump(tree, width=width)) == tree


@settings(deadline=None, max_examples=100)
@given(text=st.text("ab:- \n'\"[]{}&*!|>#\\\t", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse(text)
    except NotRead as refused:
        assert 0 <= refused.line <= text.count("\n") + 1
    else:
        json.dumps(found, default=str)
