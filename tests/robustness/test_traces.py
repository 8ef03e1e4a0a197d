"""Trace files as people have them: the public forms, and what is wrong in one is said with its line.

Forms: Azure LLM inference traces
(https://github.com/Azure/AzurePublicDataset/blob/master/AzureLLMInferenceDataset2023.md) and Mooncake
(https://github.com/kvcache-ai/Mooncake, FAST25-release/traces).
"""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cli import main
from core.errors import InferometerError, UnreadableFile
from core.serving.trace import is_trace, parse_trace
from core.words import Words

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2225670,879,55
"""
MOONCAKE = """{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, 49]}
{"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46, 47, 98, 99]}
"""

LONG = int(os.environ.get("INFEROMETER_FUZZ", "0"))


def refused(text):
    with pytest.raises(UnreadableFile) as caught:
        parse_trace(text.encode() if isinstance(text, str) else text)
    problem = caught.value.problems[0]
    sentence = Words("en").problem(problem)
    assert "{" not in sentence
    return problem, sentence


def test_azure():
    trace = parse_trace(AZURE.encode())
    assert trace.arrival == pytest.approx([0.0, 4.314579, 4.541977], abs=1e-6)
    assert trace.prompt.tolist() == [374, 396, 879]
    assert trace.output.tolist() == [44, 109, 55]


def test_mooncake_shares_its_blocks():
    trace = parse_trace(MOONCAKE.encode())
    assert trace.arrival.tolist() == [0.0, pytest.approx(3.053)]
    assert [key for key, _ in trace.chains[0]] == [46, 47, 48, 49]
    assert trace.chains[1][1] == (47, 1024)


def test_own_form_with_prefixes():
    trace = parse_trace(b"timestamp,input,output,prefix\n0,900,10,a\n1,700,10,a\n2,800,10,\n")
    assert trace.chains == ((("a", 700),), (("a", 700),), ())


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_marks_of_order(separator):
    head = separator.join(("Timestamp", "Input", "Output"))
    text = f"\ufeff{head}\n5{separator}10{separator}1\n\n3{separator}20{separator}2\n"
    trace = parse_trace(text.encode())
    assert trace.arrival.tolist() == [0.0, 2.0]
    assert trace.prompt.tolist() == [20, 10]  # in the order of time, whatever that of the rows


def test_missing_columns_are_named():
    problem, sentence = refused("time,tokens\n1,2\n")
    assert problem.code == "trace.columns"
    assert "input" in sentence
    assert "output" in sentence


def test_missing_fields_are_named_with_the_line():
    problem, sentence = refused('{"timestamp": 1, "input": 3, "output": 4}\n{"timestamp": 2, "input": 3}\n')
    assert problem.code == "trace.fields"
    assert problem.values["line"] == 2
    assert "output" in sentence


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("-1,10,10", "trace.negative"),
        ("1,-10,10", "trace.negative"),
        ("soon,10,10", "trace.number"),
        ("1,many,10", "trace.number"),
        ("1,nan,10", "trace.number"),
        ("1,10,1e999", "trace.number"),
        ("1,10,99999999999999", "trace.many_tokens"),
        ("1,10", "trace.short"),
    ],
)
def test_a_wrong_row_is_told_with_its_line(row, code):
    problem, sentence = refused(f"timestamp,input,output\n0,10,10\n{row}\n")
    assert problem.code == code
    assert problem.values["line"] == 3
    assert "3" in sentence


@pytest.mark.parametrize(
    "row",
    ['"1,10,10', '1,"10,10', '1,10,"10', '1,10,10,"a'],
    ids=["time", "input", "output", "prefix"],
)
@pytest.mark.parametrize("rows", [1, 3, 100_000])
def test_a_quote_left_open_is_told_with_the_line_where_it_stands(row, rows):
    """It swallows what follows: the line where that ends says nothing."""
    problem, _ = refused("\ntimestamp,input,output,prefix\n\n0,10,10,b\n" + row + "\n" + "2,10,10,c\n" * rows)
    assert problem.values["line"] == 5
    assert problem.code == "trace.quote"


def test_a_wrong_row_over_several_lines_is_told_with_the_first():
    problem, _ = refused('note,timestamp,input,output\n"a\nb",0,10,10\n"c\n\nd",soon,10,10\n"e",2,10,10\n')
    assert problem.code == "trace.number" and problem.values["line"] == 4


def test_texts_over_several_lines_are_read():
    trace = parse_trace(b'timestamp,input,output,prompt\n0,10,10,"a\nb ""c"""\n1,20,20,"d\n\ne"\n')
    assert trace.prompt.tolist() == [10, 20]
    line = '{"timestamp": 1, "input": 3, "output": 4, "prompt": "a\u2028b"}\n'
    assert len(parse_trace(line.encode() * 2)) == 2, "a line ends where the file says so"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "trace.empty"),
        (b"timestamp,input,output\n", "trace.empty"),
        (b"\xff\xfe\x00", "trace.not_text"),
        (b"a\0b", "trace.not_text"),
        (b"{not json}\n", "trace.json"),
        (b'{"timestamp": 1, "input": 2, "output": 3}\n[1]\n', "trace.json"),
        (b'{"timestamp": 1, "input": 2, "output": 3, "hash_ids": "x"}\n', "trace.hashes"),
        (b'{"timestamp": true, "input": 2, "output": 3}\n', "trace.number"),
    ],
)
def test_what_is_no_trace_is_refused(data, code):
    assert refused(data)[0].code == code


def test_zero_tokens_still_take_a_step():
    trace = parse_trace(b"timestamp,input,output\n0,0,0\n")
    assert trace.prompt.tolist() == trace.output.tolist() == [1.0]


def test_a_million_rows():
    numbers = np.random.default_rng(1).integers(1, 2000, (1_000_000, 2)).tolist()
    rows = "\n".join(f"{i * 0.01:.2f},{a},{b}" for i, (a, b) in enumerate(numbers))
    trace = parse_trace(f"timestamp,input,output\n{rows}\n".encode())
    assert len(trace) == 1_000_000
    assert trace.prompt.sum() == sum(a for a, _ in numbers)


@settings(max_examples=LONG or 100)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_trace_or_a_sentence(data):
    try:
        parse_trace(data)
    except InferometerError as error:
        assert Words("en").problem(error.problems[0])


@settings(max_examples=LONG or 100)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["timestamp", "input", "output", "hash_ids", "prefix", "prefix_tokens"]),
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=5)
            | st.lists(st.integers()),
        ),
        max_size=4,
    )
)
def test_any_objects_are_a_trace_or_a_sentence(rows):
    data = "\n".join(json.dumps(row) for row in rows).encode()
    try:
        parse_trace(data)
    except InferometerError as error:
        assert Words("en").problem(error.problems[0])


def test_the_command_names_file_and_line(tmp_path, samples, capsys):
    bad = tmp_path / "trace.csv"
    bad.write_text("timestamp,input,output\n1,2,x\n", encoding="utf-8")
    assert main(["simulate", str(samples[0]), "--trace", str(bad)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "trace.csv" in said.err
    assert "2" in said.err
    assert "Traceback" not in said.err


def test_the_command_simulates_a_trace(tmp_path, samples, capsys):
    good = tmp_path / "trace.jsonl"
    good.write_text(MOONCAKE, encoding="utf-8")
    table = tmp_path / "requests.csv"
    assert main(["simulate", str(samples[0]), "--trace", str(good), "--json", "--csv", str(table)]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["requests"] == {"asked": 2, "done": 2, "refused": 0}
    lines = table.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3
    assert lines[2].split(",")[7] == "1024"  # two blocks of 512 tokens, read before


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
@pytest.mark.parametrize(
    "heading",
    ["时间,输入长度,输出长度", "到达时间（秒）,输入 token 数,输出 token 数", "时间戳;提示词长度;生成长度"],
)
def test_chinese_headings_are_read(heading, encoding):
    mark = ";" if ";" in heading else ","
    rows = "\n".join(mark.join(row) for row in (("0", "200", "20"), ("1.5", "300", "30")))
    data = f"{heading}\n{rows}\n".encode(encoding)
    trace = parse_trace(data)
    assert trace.arrival.tolist() == [0.0, 1.5]
    assert trace.prompt.tolist() == [200, 300] and trace.output.tolist() == [20, 30]
    assert is_trace(data)


def test_what_begins_as_a_trace_is_known():
    assert is_trace(AZURE.encode()) and is_trace(MOONCAKE.encode())
    for other in (
        b"",
        b"\xff\xfe\x00",
        b"name,value\n1,2\n",
        b'{"model": "x"}\n',
        "模型,显存\n".encode("gb18030"),
    ):
        assert not is_trace(other)


def test_commas_between_semicolons_are_decimal_marks():
    found = parse_trace(b"timestamp;input;output\n0,5;100;10\n2,75;200;20\n")
    assert found.arrival.tolist() == [0.0, 2.25] and found.prompt.tolist() == [100.0, 200.0]


def test_blank_lines_above_the_heading_count():
    assert len(parse_trace(b"\n\r\n  \ntimestamp,input,output\n0,100,10\n1,50,5\n")) == 2
    with pytest.raises(UnreadableFile) as refused:
        parse_trace(b"\n\ntimestamp,input,output\n0,100,10\n-1,50,5\n")
    assert refused.value.problems[0].values["line"] == 5
    with pytest.raises(UnreadableFile) as refused:
        parse_trace(b'\n{"timestamp": 0, "input": 1, "output": 1}\n[]\n')
    assert refused.value.problems[0].values["line"] == 3


@pytest.mark.parametrize("head", ["arrival_s,prompt_tokens,output_tokens", "time_s,input_len,output_len"])
def test_customary_names_of_columns_are_known(head):
    trace = parse_trace(f"{head}\n0,10,1\n2,20,2\n".encode())
    assert (trace.arrival.tolist(), trace.prompt.tolist(), trace.output.tolist()) == (
        [0, 2],
        [10, 20],
        [1, 2],
    )


def test_all_columns_are_asked_for_at_once():
    _, sentence = refused("when,how\n1,2\n")
    assert all(name in sentence.partition("needs")[2] for name in ("timestamp", "input", "output"))


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("form", ["table", "with prefixes", "lines"])
def test_times_since_1970_are_of_the_unit_that_they_are_dates_in(unit, form):
    """100 s of milliseconds would be 27.8 hours of seconds."""
    times = [1_700_000_000 * unit + seconds * unit for seconds in (0, 40, 100)]
    if form == "lines":
        text = "".join(f'{{"timestamp": {t}, "input": 10, "output": 2}}\n' for t in times)
    else:
        more = ",a" if form == "with prefixes" else ""
        head = "timestamp,input,output" + (",prefix" if more else "")
        text = "\n".join([head, *(f"{t},10,2{more}" for t in times)])
    assert parse_trace(text.encode()).arrival == pytest.approx([0.0, 40.0, 100.0], abs=1e-5)


def test_times_that_begin_with_0_are_seconds_however_long():
    trace = parse_trace(b"timestamp,input,output\n0,10,2\n1000000,10,2\n")
    assert trace.arrival.tolist() == [0.0, 1e6]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("text", [AZURE, MOONCAKE, "时间,输入,输出\n0,10,2\n3,10,2\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_lines_end_as_on_any_system(end, text, encoding):
    data = text.replace("\n", end).encode(encoding)
    assert is_trace(data)
    assert parse_trace(data).arrival.tolist() == parse_trace(text.encode()).arrival.tolist()


@pytest.mark.parametrize("time", ["1e300", "1e20"])
@pytest.mark.parametrize("prefix", [False, True])
def test_times_beyond_all_dates_are_refused(time, prefix):
    rows = ["timestamp,input,output,prefix", "0,10,2,a", f"{time},10,2,a"]
    problem, sentence = refused("\n".join(row if prefix else row.rpartition(",")[0] for row in rows))
    assert problem.code == "trace.late" and problem.values["line"] == 3
    assert time in sentence


@pytest.mark.parametrize("prefix", ["", ",a"])
def test_a_trace_in_which_milliseconds_are_lost_is_refused(prefix):
    head = "timestamp,input,output" + (",prefix" if prefix else "")
    problem, sentence = refused(f"{head}\n0,10,2{prefix}\n1e18,10,2{prefix}\n")
    assert problem.code == "trace.long" and "30 years" in sentence


@pytest.mark.parametrize("time", ["arrival", "arrival_time", "time", "timestamp"])
@pytest.mark.parametrize("prompt", ["prompt", "prompt_tokens", "input", "input_tokens", "input_length"])
@pytest.mark.parametrize("output", ["output", "output_tokens", "output_length", "completion_tokens"])
def test_columns_have_the_names_that_people_give_them(time, prompt, output):
    table = f"{time},{prompt},{output}\n0,900,10\n1.5,700,20\n"
    trace = parse_trace(table.encode())
    assert is_trace(table.encode())
    assert trace.arrival.tolist() == [0.0, 1.5]
    assert (trace.prompt.tolist(), trace.output.tolist()) == ([900, 700], [10, 20])


def test_a_text_beside_its_number_of_tokens_is_not_read_as_one():
    line = {"arrival": 0, "prompt": "why?", "prompt_tokens": 7, "output": "so", "output_tokens": 3}
    trace = parse_trace(json.dumps(line).encode())
    assert (trace.prompt.tolist(), trace.output.tolist()) == ([7.0], [3.0])


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize(
    "text", ["arrival,question,output\n0,1,2\n", '{"arrival": 0, "question": 1, "output": 2}\n']
)
def test_a_missing_column_is_told_with_what_is_there_and_what_is_taken(language, text):
    with pytest.raises(UnreadableFile) as caught:
        parse_trace(text.encode())
    said = Words(language).problem(caught.value.problems[0])
    assert "arrival, question, output" in said and "prompt_tokens" in said
    accepted = str(caught.value.problems[0].values["accepted"]).split(", ")
    for name in accepted:
        parse_trace(f"arrival,{name},output\n0,1,2\n".encode())


def test_a_line_without_fields_is_told_as_that():
    with pytest.raises(UnreadableFile) as error:
        parse_trace(b'{"timestamp": 1, "input": 2, "output": 3}\n{}\n')
    (problem,) = error.value.problems
    assert problem.code == "trace.no_fields" and problem.values["line"] == 2
    for language in ("en", "zh_CN"):
        assert "{" not in Words(language).problem(problem)
