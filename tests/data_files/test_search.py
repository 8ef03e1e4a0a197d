"""What people type, and what they should get."""

import json
from pathlib import Path

import pytest

from core.catalog import accelerators, models
from core.catalog.accelerators import accelerator_problems, load_accelerator, search_accelerators
from core.catalog.models import all_models, load_model, model_problems, search_models
from core.catalog.search import Searchable, Shelf, search
from core.errors import NotFound
from core.model.parameters import stored_parameters
from core.words import Words


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("qwen 32b", ["Qwen3-32B", "Qwen2.5-32B-Instruct"]),
        ("dsv3", ["DeepSeek-V3"]),
        ("llama 70b", ["Llama-3.3-70B-Instruct", "Llama-3.1-70B-Instruct"]),
        ("llama 8b", ["Llama-3.1-8B-Instruct"]),
        ("Qwen3-32B 4 bit", ["Qwen3-32B"]),
        ("qwen3 32b awq", ["Qwen3-32B"]),
        ("Qwen3-32B-Q4_K_M.gguf", ["Qwen3-32B"]),
        ("gemma 3 27b 4-bit", ["gemma-3-27b-it"]),
        ("qwne3 32b int4", ["Qwen3-32B"]),
        ("llama-3.1-8b", ["Llama-3.1-8B-Instruct"]),
        ("LLAMA 3.1 8B", ["Llama-3.1-8B-Instruct"]),
        ("meta-llama/Llama-3.1-8B-Instruct", ["Llama-3.1-8B-Instruct"]),
        ("misstral 7b", ["Mistral-7B-Instruct-v0.3"]),
        ("gpt oss", ["gpt-oss-20b", "gpt-oss-120b"]),
        ("405b", ["Llama-3.1-405B-Instruct"]),
        ("r1", ["DeepSeek-R1"]),
        ("30b a3b", ["Qwen3-30B-A3B"]),
        ("gemma 27b", ["gemma-3-27b-it", "gemma-2-27b-it"]),
        ("qwen3 next", ["Qwen3-Next-80B-A3B-Instruct"]),
        ("qwen 3.6 27b", ["Qwen3.6-27B"]),
        ("qwen3.5 35b", ["Qwen3.5-35B-A3B"]),
        ("deepseek v4", ["DeepSeek-V4-Pro", "DeepSeek-V4-Flash"]),
        ("dsv4 flash", ["DeepSeek-V4-Flash"]),
        ("kimi k3", ["Kimi-K3"]),
        ("k2.5", ["Kimi-K2.5"]),
        ("gemma 3n", ["gemma-3n-E4B-it", "gemma-3n-E2B-it"]),
        ("gemma 4 e4b", ["gemma-4-E4B-it"]),
        ("nemotron nano 9b", ["NVIDIA-Nemotron-Nano-9B-v2"]),
        ("jamba", ["AI21-Jamba-Large-1.5", "AI21-Jamba-Mini-1.5"]),
        ("codestral mamba", ["Mamba-Codestral-7B-v0.1"]),
        ("codestral", ["Codestral-22B-v0.1"]),
        ("lfm 1.2b", ["LFM2-1.2B"]),
        ("minimax m1", ["MiniMax-M1-80k"]),
        ("glm 5.3", ["GLM-5.3", "GLM-5.3-Flash"]),
        ("glm 4.5 air", ["GLM-4.5-Air"]),
        ("llama 3.2 11b", ["Llama-3.2-11B-Vision-Instruct"]),
        ("granite small", ["granite-4.0-h-small"]),
        ("falcon h1", ["Falcon-H1-34B-Instruct", "Falcon-H1-7B-Base"]),
        ("235b", ["Qwen3-235B-A22B"]),
        ("qwen 2.4t", ["Qwen3.8-2.4T-A95B"]),
        ("gemma3:27b", ["gemma-3-27b-it"]),
        ("llama3.3:70b", ["Llama-3.3-70B-Instruct"]),
        ("r1 distill 32b", ["DeepSeek-R1-Distill-Qwen-32B"]),
    ],
)
def test_models_are_found(query: str, first: list[str]) -> None:
    found = [model.name for model in search_models(query, 10)]
    assert found[: len(first)] == first


def test_a_family_comes_before_what_only_sounds_like_it() -> None:
    found = [model.family for model in search_models("nemotron 3")]
    assert found[:3] == ["Nemotron 3"] * 3 and "Nemotron NAS" in found


@pytest.mark.parametrize("query", ["linear attention", "hybrid", "vision", "moe"])
def test_models_are_found_by_how_they_are_made(query: str) -> None:
    found = search_models(query)
    assert 10 <= len(found) < len(all_models()) // 2 + 20
    if query == "hybrid":
        assert {"Qwen3-Next-80B-A3B-Instruct", "AI21-Jamba-Mini-1.5"} <= {model.name for model in found}


def test_a_bare_size_finds_models_of_that_size() -> None:
    found = search_models("8b", 20)
    assert len(found) >= 15
    assert all(7.5e9 < model.parameters < 9e9 for model in found)
    assert "Llama-3.1-8B-Instruct" in {model.name for model in found}
    assert {m.name for m in search_models("671b")} >= {"DeepSeek-V3", "DeepSeek-R1"}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("4090", ["RTX 4090", "RTX 4090 Laptop", "RTX 4090 D"]),
        ("rtx4090", ["RTX 4090"]),
        ("4090 laptop", ["RTX 4090 Laptop"]),
        ("h100", ["H100 SXM5 80GB"]),
        ("NVIDIA H100 80GB HBM3", ["H100 SXM5 80GB"]),
        ("mi300x", ["Instinct MI300X"]),
        ("m4 max", ["Apple M4 Max (40-core GPU)"]),
        ("a100 40gb", ["A100 SXM4 40GB", "A100 PCIe 40GB"]),
        ("3090 ti", ["RTX 3090 Ti"]),
        ("b200", ["B200 SXM"]),
    ],
)
def test_accelerators_are_found(query: str, first: list[str]) -> None:
    assert [device.name for device in search_accelerators(query, 10)][: len(first)] == first


def test_an_empty_question_lists_everything() -> None:
    assert len(search_models("")) == len(all_models())
    assert len(search_accelerators("  ", 5)) == 5


@pytest.mark.parametrize("query", ["xyzzy", "…", "' OR 1=1", "\x00", "a" * 100_000, "((((", "4090 " * 5000])
def test_odd_questions_have_an_answer(query: str) -> None:
    assert isinstance(search_models(query, 5), list)
    assert isinstance(search_accelerators(query, 5), list)


def test_every_entry_finds_itself_first_by_name() -> None:
    for model in all_models():
        assert search_models(model.id, 1)[0].id == model.id
    for device in accelerators.all_accelerators():
        assert search_accelerators(device.name, 1)[0].name == device.name
        assert load_accelerator(device.name) is device


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(NotFound) as caught:
        load_model("Llama-3.1-9B")
    sentence = Words("en").problem(caught.value.problems[0])
    assert "Llama-3.1-9B" in sentence and "meta-llama/" in sentence
    with pytest.raises(NotFound) as caught:
        load_accelerator("RTX 4095")
    assert "RTX 4090" in Words("en").problem(caught.value.problems[0])
    with pytest.raises(NotFound) as caught:
        load_accelerator("\x00…")
    assert Words("en").problem(caught.value.problems[0])


def test_a_user_folder_adds_models_and_reports_what_is_broken(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 100,
        "max_position_embeddings": 2048,
    }
    (tmp_path / "a.json").write_text(json.dumps([{"name": "My Tiny", "config": config}]), "utf-8")
    (tmp_path / "b.json").write_text('[{"name": "Cut', "utf-8")
    (tmp_path / "c.json").write_text('[1, {"config": {}}, {"name": "No configuration"}]', "utf-8")
    broken = {**config, "num_attention_heads": "four"}
    (tmp_path / "d.json").write_text(json.dumps({"name": "Wrong", "config": broken}), "utf-8")
    (tmp_path / "e.json").write_bytes(b"\xff\xfe\x00garbage")
    (tmp_path / "f.json").write_text("[" * 100_000, "utf-8")
    arch = load_model("llama 3.1 8b").architecture
    numbers = {"name": "By numbers", "max_context": 4096, "architecture": json.loads(arch.model_dump_json())}
    (tmp_path / "g.json").write_text(json.dumps(numbers), "utf-8")
    folders = (tmp_path, tmp_path / "missing")
    assert len(all_models(folders)) == len(all_models()) + 2
    assert stored_parameters(load_model("my tiny", folders).architecture) > 0
    assert load_model("By numbers", folders).architecture == arch
    assert [m.name for m in search_models("my tiny", 1, folders)] == ["My Tiny"]
    told = [Words("en").located(problem) for problem in model_problems(folders)]
    assert len(told) == 7
    assert all(f"{letter}.json" in sentence for letter, sentence in zip("bcccdef", told, strict=True))
    assert all(not sentence.startswith("problems.") and "{" not in sentence for sentence in told)


def test_a_user_folder_adds_accelerators(tmp_path: Path) -> None:
    device = {
        "name": "My Card",
        "memory_gb_nominal": 48,
        "memory_bandwidth_gbps": 1000,
        "peak_tflops": {"fp16": 200},
    }
    bad = {**device, "name": "Bad Card", "memory_bandwidth_gbps": -1}
    (tmp_path / "cards.json").write_text(json.dumps([device, bad]), "utf-8")
    (tmp_path / "cut.json").write_text("{", "utf-8")
    folders = (tmp_path,)
    assert load_accelerator("my card", folders).memory_gb_nominal == 48
    assert {p.code for p in accelerator_problems(folders)} == {"catalog.bad_field", "file.cut_off"}


def test_forgetting_reads_anew(tmp_path: Path) -> None:
    folders = (tmp_path,)
    before = len(all_models(folders))
    entry = {"name": "Later", "max_context": 10, "architecture": {}}
    arch = load_model("llama 3.1 8b").architecture
    entry["architecture"] = json.loads(arch.model_dump_json())
    (tmp_path / "later.json").write_text(json.dumps(entry), "utf-8")
    models.forget()
    accelerators.forget()
    assert len(all_models(folders)) == before + 1


@pytest.mark.parametrize(
    ("query", "family"),
    [
        ("通义千问", "Qwen"),
        ("智谱", "GLM"),
        ("混元模型", "Hunyuan"),
        ("百川", "Baichuan"),
        ("深度求索", "DeepSeek"),
    ],
)
def test_chinese_names_of_families_find_them(query: str, family: str) -> None:
    found = search_models(query)
    assert 0 < len(found) < 100
    assert family.lower() in found[0].name.lower()


@pytest.mark.parametrize(
    ("query", "vendor"),
    [("英伟达", "NVIDIA"), ("昇腾", "Huawei"), ("苹果", "Apple"), ("英特尔显卡", "Intel")],
)
def test_chinese_names_of_vendors_find_their_devices(query: str, vendor: str) -> None:
    assert {device.vendor for device in search_accelerators(query)} == {vendor}


def test_what_no_name_holds_finds_nothing() -> None:
    """Not everything, as if nothing had been asked."""
    for query in ("不存在", "qwen 不存在", "нет", "ない"):
        assert search_models(query) == [] and search_accelerators(query) == [], query
    assert search_accelerators("4090显卡")[0].name == "RTX 4090"
    assert len(search_models("")) > 200


def test_an_entry_with_a_chinese_name_is_found_by_it() -> None:
    own = Searchable("own", "我的问答 7B")
    assert search([own, Searchable("b", "Qwen 7B")], "问答") == ["own"]
    assert search([own, Searchable("b", "Qwen 7B")], "我的问答 7b") == ["own"]
    assert search([own], "别的 7b") == []


@pytest.mark.parametrize("query", ["llama70b", "lama 70", "lama 70b"])
def test_glued_and_misspelt_words_find_what_they_begin_and_not_only_what_has_them_in_its_midst(
    query: str,
) -> None:
    from core.catalog.models import search_models

    names = [hit.name for hit in search_models(query)]
    assert {"Llama-3.3-70B-Instruct", "Llama-3.1-70B-Instruct"} <= set(names[:4])
    assert "DeepSeek-R1-Distill-Llama-70B" in names


@pytest.mark.parametrize("query", ["lama 70", "qwen3-32b awq", "mistrl", "7b", "千问 32b", ""])
def test_what_was_found_once_is_found_again(query: str) -> None:
    shelf = Shelf(Searchable(m.id, m.name, m.aliases) for m in all_models())
    for mend in (True, False, True):
        assert search(shelf, query, 12, mend) == search(list(shelf), query, 12, mend)
    search(shelf, query).clear()  # an answer is the asker's own
    assert search(shelf, query) == search(list(shelf), query)
