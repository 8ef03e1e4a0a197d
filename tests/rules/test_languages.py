"""Both languages say the same things, each as it is written: keys, places, punctuation, spaces."""

import ast
import json
import re
import string
from pathlib import Path
from typing import Any

import pytest

from core.typesetting import fill_chinese
from core.units import show_time
from core.words import LANGUAGES, Words, counted, percent

ROOT = Path(__file__).resolve().parents[2]
HAN = r"\u4e00-\u9fff"
# Words that stay as they are in Chinese: units, abbreviations, products, formats, families of devices
# and models, and the terms of the field that are said in English.
KEPT = {
    *("GB", "GFLOP", "Gbit", "GiB", "MiB", "TFLOPS", "FLOP", "USD", "ms", "tok", "req", "KV", "HBM", "HBM3e"),
    *("TTFT", "TPOT", "ITL", "GPU", "CPU", "TP", "PP", "EP", "DP", "RAG", "token", "prefill", "n-gram"),
    *("FP32", "TF32", "FP16", "BF16", "FP8", "FP4", "INT8", "INT4", "PDF", "pdf", "Markdown", "md"),
    *("vLLM", "SGLang", "TensorRT-LLM", "llama.cpp", "ik", "Ollama", "Transformers", "MLX", "Inferometer"),
    *("PCIe", "NVLink", "Infinity", "Fabric", "HCCS", "RoCE", "ICI", "Xe", "Link", "Unified", "Bus"),
    *("NeuronLink", "CUDA", "ROCm", "SYCL", "Metal", "Vulkan", "Ada", "GeForce", "Ampere", "Blackwell"),
    *("CDNA", "Hopper", "Pascal", "Radeon", "Gated", "DeltaNet", "Kimi", "Delta", "Attention", "Mamba"),
    *("all-reduce", "English"),
}
# What an engine calls a thing itself stays in the engine's English.
_LATIN = r"[A-Z]+[0-9]+\b|[A-Za-z][A-Za-z0-9.-]*[A-Za-z]"  # INT8, or two letters or more
ENGINE_WORDS = {"free blocks", "free cells"}
# Names of things, which stand alone: no full-width punctuation in them.
LABEL = re.compile(
    r"(fields\..*\.label|cards\.\w+\.(name|brief)|forms\.(sections|facts|units|groups)\..*|actions\.\w+"
    r"|window\.(tabs|workspaces)\..*|.*\.columns\..*|glossary\.\w+\.name|operators\..*|parts\..*"
    r"|plots\.(\w+\.)?title|ledger\.\w+|(derivation|compare|explore)\.(steps|titles|results|sections)\..*)$"
)


def texts(language: str) -> dict[str, str]:
    flat: dict[str, str] = {}

    def walk(prefix: str, node: dict[str, Any]) -> None:
        for key, value in node.items():
            if isinstance(value, dict):
                walk(f"{prefix}{key}.", value)
            else:
                flat[prefix + key] = value

    walk("", json.loads((ROOT / f"resources/i18n/{language}.json").read_text(encoding="utf-8")))
    return flat


ENGLISH, CHINESE = texts("en"), texts("zh_CN")


def places(text: str) -> list[tuple[str, str]]:
    return sorted((name, spec or "") for _, name, spec, _ in string.Formatter().parse(text) if name)


def failing(pattern: str) -> dict[str, str]:
    """Chinese texts in which a pattern is found; a place counts as the Latin letter X."""
    return {k: t for k, t in CHINESE.items() if re.search(pattern, re.sub(r"\{[^}]*\}", "X", t))}


def test_catalogues_ship_for_every_language() -> None:
    shipped = {path.stem for path in (ROOT / "resources/i18n").glob("*.json")}
    assert shipped == set(LANGUAGES)


def test_both_languages_have_the_same_keys() -> None:
    assert sorted(ENGLISH.keys() - CHINESE.keys()) == []
    assert sorted(CHINESE.keys() - ENGLISH.keys()) == []


def test_every_sample_has_a_name_in_both_languages() -> None:
    shipped = [path.stem for path in (ROOT / "resources/samples").glob("*.json")]
    assert shipped
    for language in LANGUAGES:
        assert {f"samples.{name}" for name in shipped} <= texts(language).keys()


def test_both_languages_have_the_same_order() -> None:
    """So that a person can read the two files side by side."""
    assert list(ENGLISH) == list(CHINESE)


def test_texts_have_the_same_places_in_both_languages() -> None:
    shared = ENGLISH.keys() & CHINESE.keys()
    assert [k for k in sorted(shared) if places(ENGLISH[k]) != places(CHINESE[k])] == []


def foreign(text: str) -> list[str]:
    """Latin words of a text that have no place in Chinese by themselves."""
    words = re.findall(_LATIN, re.sub(r"\{[^}]*\}", "", text))
    return [] if text in ENGINE_WORDS else [word for word in words if word not in KEPT]


def test_nothing_is_left_untranslated() -> None:
    same = {key: text for key, text in CHINESE.items() if text == ENGLISH.get(key) and foreign(text)}
    assert same == {}


def test_chinese_is_written_in_chinese() -> None:
    """A text without any Han character consists of words that stay as they are."""
    latin = {k: t for k, t in CHINESE.items() if not re.search(f"[{HAN}]", t) and foreign(t)}
    assert latin == {}


def test_words_that_are_kept_are_in_use() -> None:
    said = " ".join(t for t in CHINESE.values() if not re.search(f"[{HAN}]", t) or t in ENGLISH.values())
    used = set(re.findall(_LATIN, said))
    assert sorted(KEPT - used) == []
    assert set(CHINESE.values()) >= ENGINE_WORDS


def test_chinese_has_a_space_beside_latin_letters_and_digits() -> None:
    assert failing(f"[{HAN}][A-Za-z0-9$]|[A-Za-z0-9%][{HAN}]") == {}


def test_chinese_has_no_space_between_han_characters_or_at_full_width_marks() -> None:
    assert failing(f"[{HAN}] +[{HAN}]|[，。；：？！、）] | [，。；：？！、（]|[{HAN}] “|” [{HAN}]") == {}


def test_chinese_sentences_have_full_width_punctuation() -> None:
    assert failing(f"[{HAN}][,;:?!]|[,;:?!] ?[{HAN}]|[{HAN}]\\.( |$)") == {}
    assert {k: t for k, t in CHINESE.items() if re.search(r"\}[,;:] |[,;:] \{", t)} == {}
    sentences = {k: t for k, t in CHINESE.items() if re.search("[，。；？！]", t)}
    assert {k: t for k, t in sentences.items() if re.search(f"[{HAN}] ?\\(|\\)[{HAN}]", t)} == {}


def test_chinese_sentences_end_where_the_english_ones_do() -> None:
    endings = {".": "。", "?": "？"}
    shared = ENGLISH.keys() & CHINESE.keys()
    told = {k for k in shared if ENGLISH[k][-1:] in endings and len(ENGLISH[k].split()) > 2}
    wrong = {k: CHINESE[k] for k in told if not re.search("[。？)}）]$", CHINESE[k])}
    # A place at the end brings its own full stop.
    assert {k: t for k, t in wrong.items() if ENGLISH[k][-1:] == "."} == {}


def test_chinese_labels_have_no_full_width_punctuation() -> None:
    labels = {k: t for k, t in CHINESE.items() if LABEL.match(k)}
    assert len(labels) > 100
    assert {k: t for k, t in labels.items() if re.search("[，。；：？！（）]", t)} == {}


def test_shares_are_written_as_the_language_does() -> None:
    assert {k: t for k, t in ENGLISH.items() if re.search(r"[\d}]%", t)} == {}
    assert failing(r"[\dX] %") == {}
    assert Words("en").phrase(percent(0.76)) == "76 %"
    assert Words("zh_CN").phrase(percent(0.76)) == "76%"
    assert Words("zh_CN").phrase(percent(-0.0123, 1, "+")) == "-1.2%"


def test_no_code_writes_a_percent_sign_itself() -> None:
    """Through ``core.words.percent`` only, or a share reads as English in Chinese."""
    found = set()
    development = {"core/evidence/fit_streams.py"}  # prints for whoever fits the factors
    for path in sorted(path for folder in ("core", "gui") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for part in node.values:
                spec = part.format_spec if isinstance(part, ast.FormattedValue) else None
                written = isinstance(part, ast.Constant) and str(part.value).lstrip().startswith("%")
                if written or (spec is not None and ast.unparse(spec).strip("f'\"").endswith("%")):
                    found.add(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert sorted(place for place in found if place.partition(":")[0] not in development) == []


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("最小的改动是改为 {x}。", "KV 缓存", "最小的改动是改为 KV 缓存。"),
        ("最小的改动是改为 {x}。", "提示词", "最小的改动是改为提示词。"),
        ("受限于{x}，", "算力", "受限于算力，"),
        ("受限于{x}，", "prefill", "受限于 prefill，"),
        ("{x}的时间", "76%", "76% 的时间"),
        ("{x} 的时间", "其他", "其他的时间"),
        ("没有“{x}”。", "qwen 模型x", "没有“qwen 模型x”。"),
        ("{x}：", "RTX 4090", "RTX 4090："),
        ("剩余 {x}", "", "剩余 "),
    ],
)
def test_places_are_filled_with_the_space_that_chinese_wants(text: str, value: str, said: str) -> None:
    assert fill_chinese(text, {"x": value}) == said


def test_formats_of_places_are_kept() -> None:
    assert fill_chinese("共{n:,}个", {"n": 16384}) == "共 16,384 个"


def test_words_fill_inner_phrases_in_their_language() -> None:
    assert Words("zh_CN")("verdict.few_users", users=counted("units.users", 1), target="2") == (
        "可服务 1 个用户，目标为 2。"
    )


def test_several_values_are_a_list_and_a_number_with_its_unit_is_none() -> None:
    names = {"engines": ("llama.cpp", "Ollama", "vLLM"), "names": ("A", "B")}
    assert "llama.cpp、Ollama、vLLM" in CHINESE_WORDS("verdict.engines_there", **names)
    assert "A, B" in Words("en")("calibrate.refused.devices", **names)
    assert "581 ms" in CHINESE_WORDS("palette.first_token", limit=show_time(0.581))


CHINESE_WORDS = Words("zh_CN")


def test_an_unknown_language_speaks_english() -> None:
    assert Words("tlh")("actions.save") == ENGLISH["actions.save"]


# One thing has one name: a pattern that may not be written, what is written instead, keys that may.
ONE_NAME: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("方案", "场景", frozenset()),
    ("项目文件", "场景文件", frozenset()),
    ("推测解码|猜测解码", "投机解码", frozenset()),
    ("(?<![a-zA-Z_(（])decode(?![a-zA-Z_])", "解码", frozenset()),
    ("吞吐量", "吞吐", frozenset()),
    ("预测带", "预测区间", frozenset()),
    ("token 间(?!延迟)", "token 间延迟", frozenset()),
    (r"(?<![\w.])\d+ ?bit(?!s?[a-z])", "位", frozenset()),
    ("现象表|常见疑问", "常见问题与排查, 概念问答", frozenset()),
    ("预填充", "prefill", frozenset({"glossary.prefill.name"})),
    ("CUDA [Gg]raphs?(?!，从)", "CUDA 图", frozenset()),
    ("内核|核函数", "kernel", frozenset()),
    ("加速卡|加速器|显卡", "GPU 或设备", frozenset()),
    ("症状", "现象", frozenset()),
    ("物理下限|物理上限", "物理极限", frozenset()),
    ("性能追踪|跟踪文件|(?<![a-zA-Z_-])trace(?![a-zA-Z_])", "轨迹或性能分析轨迹", frozenset()),
    ("条运行", "次运行", frozenset()),
    ("首 token 时间|首词|首字", "首 token 延迟", frozenset()),
    ("每 token 延迟|每输出 token 时间", "每 token 时间", frozenset()),
    ("词元|令牌", "token", frozenset()),
    ("开机日志|引导日志", "启动日志", frozenset()),
)
_CODE = re.compile(r"```.*?```|`[^`\n]*`|\{\{[^}]*\}\}|\]\([^)]*\)", re.DOTALL)


def chinese_writing() -> dict[str, str]:
    """Texts of the catalogue by key and the pages of help by name, without what is code in them."""
    pages = (ROOT / "resources/help/zh_CN").glob("*.md")
    plain = {path.name: _CODE.sub("", path.read_text(encoding="utf-8")) for path in pages}
    return {key: re.sub(r"\{[^}]*\}", "X", text) for key, text in CHINESE.items()} | plain


@pytest.mark.parametrize(("pattern", "instead", "allowed"), ONE_NAME, ids=[one[0] for one in ONE_NAME])
def test_one_thing_has_one_chinese_name(pattern: str, instead: str, allowed: frozenset[str]) -> None:
    writing = chinese_writing()
    assert len(writing) > 3000
    found = {key: text for key, text in writing.items() if re.search(pattern, text)}
    told = {key: re.findall(f".{{0,12}}(?:{pattern}).{{0,12}}", text) for key, text in found.items()}
    assert {key: said for key, said in told.items() if key not in allowed} == {}, f"say {instead}"
    assert allowed <= found.keys()


def test_the_manual_has_full_width_brackets_in_chinese_sentences() -> None:
    pages = [path for path in (ROOT / "resources/help/zh_CN").glob("*.md") if path.name != "accuracy.md"]
    found = {}
    for path in pages:
        text = re.sub(
            r"```.*?```|`[^`]*`|\]\([^)]*\)|\$\$.*?\$\$", "", path.read_text(encoding="utf-8"), flags=re.S
        )
        found[path.name] = re.findall(f".{{0,8}}[{HAN}] ?\\([^)]*\\).{{0,4}}", text)
    assert {name: told for name, told in found.items() if told} == {}


def test_a_button_is_not_called_like_a_workspace() -> None:
    """Or nobody knows which of the two is meant."""
    workspaces = {text for key, text in CHINESE.items() if key.startswith("window.workspaces.")}
    assert len(workspaces) > 4
    own = {key: text for key, text in CHINESE.items() if key.startswith("recommending.")}
    assert {key for key, text in own.items() if text in workspaces} == {"recommending.title"}


MOST_USERS = (
    "cards.concurrent_users.name",
    "fields.targets.users.label",
    "advice.effects.concurrent_users",
    "derivation.titles.concurrent_users",
    "derivation.steps.most_users",
    "compare.results.concurrent_users",
    "explore.results.concurrent_users",
    "recommend.columns.users",
    "recommending.heads.users",
)


def test_the_most_users_have_one_name() -> None:
    """Card, target, tables and working say the same of the same; the glossary explains it by that name."""
    for catalogue in (ENGLISH, CHINESE):
        names = {catalogue[key] for key in MOST_USERS}
        assert len(names) == 1
        assert names.pop() in catalogue["glossary.concurrency.text"]
        assert catalogue[MOST_USERS[0]] != catalogue["page.figures.max_concurrency"]  # vLLM's, at its length
