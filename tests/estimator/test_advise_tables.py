"""Glossary, symptoms and the precision table: complete, linked and right."""

import pytest

from core.estimator import estimate
from core.explain.derivation import derive, keys_of
from core.explain.glossary import ENTRIES, alphabetical
from core.explain.precision import precision_table, task_of, weight_caution
from core.explain.setting import setting_advice, setting_of
from core.explain.symptoms import findings, symptom_table
from core.spec.change import with_values
from core.spec.workload import Workload
from core.words import Words

WORDS = Words("en")


def test_every_entry_has_words_and_links_that_exist():
    for entry in ENTRIES.values():
        assert WORDS.has(entry.name.key), entry.key
        assert WORDS.has(entry.text.key), entry.key
        assert set(entry.see) <= set(ENTRIES), entry.key
    names = [WORDS.phrase(e.name).casefold() for e in alphabetical(WORDS)]
    assert names == sorted(names)


def test_derivations_link_to_entries_and_derivations_that_exist(scenario):
    point = estimate(scenario)
    for key in keys_of(point):
        working = derive(point, key)
        for step in (*working.steps, *working.textbook):
            assert not step.glossary or step.glossary in ENTRIES, (key, step.glossary)
            assert not step.more or derive(point, step.more) is not None, (key, step.more)


def test_the_table_has_the_seven_symptoms_of_the_article():
    table = symptom_table()
    assert [s.key for s in table] == [
        "slow_first_token", "slow_generation", "low_throughput", "out_of_memory",
        "slower_with_context", "jitter", "low_utilisation",
    ]  # fmt: skip
    for symptom in table:
        assert len(symptom.causes) >= 3
        for cause in symptom.causes:
            assert cause.glossary in ENTRIES, cause
            assert cause.advice
            for phrase in (cause.text, cause.check, cause.remedy, symptom.name, symptom.metric):
                assert WORDS.has(phrase.key), phrase.key


def test_remedies_are_suggestions_with_a_reason():
    for symptom in symptom_table():
        for cause in symptom.causes:
            for key in cause.advice:
                assert WORDS.has(f"advice.reasons.{key}") or key in (
                    "other_device",
                    "more_devices",
                    "second_copy",
                )


def test_findings_of_a_model_that_does_not_fit(scenario):
    small = with_values(
        scenario, {"accelerator.memory_gb_nominal": 12.0, "accelerator.memory_mib_reported": 12288}
    )
    found = {f.symptom.key: f for f in findings(estimate(small))}
    assert found["out_of_memory"].causes[0].key == "weights"


@pytest.mark.parametrize(
    ("label", "size_7b", "size_70b"),
    [
        ("FP32", 28, 280),
        ("FP16", 14, 140),
        ("INT8 W8A8", 7, 70),
        ("FP8 per tensor", 7, 70),
        ("INT4, plain", 3.5, 35),
    ],
)
def test_bytes_per_precision_are_those_of_the_article(label, size_7b, size_70b):
    """Teaching article A: 7B is 28 / 14 / 7 / 3.5 GB, 70B is 280 / 140 / 70 / 35 GB."""
    row = next(r for r in precision_table() if r.format == label)
    assert (row.size_7b_gb, row.size_70b_gb) == (size_7b, size_70b)
    assert WORDS.has(row.quality.key) and WORDS.has(row.use.key)


def test_quality_caution_follows_the_task():
    """Article B: INT4 shows in code, maths and long documents, and is fine for chat and summaries."""
    code = task_of(Workload(prompt_tokens=1536, output_tokens=64))
    chat = task_of(Workload(prompt_tokens=1024, output_tokens=256))
    long = task_of(Workload(prompt_tokens=40_000, output_tokens=300))
    assert (code, chat, long) == ("code", "chat", "long_document")
    assert weight_caution(4, code).key == weight_caution(4, long).key != weight_caution(4, chat).key
    assert weight_caution(8, code).key == weight_caution(8, chat).key


@pytest.mark.parametrize(("users", "setting"), [(1, "personal"), (16, "company"), (200, "service")])
def test_the_setting_follows_the_users(scenario, users, setting):
    other = with_values(scenario, {"workload.users": users})
    assert setting_of(other) == setting
    assert WORDS.has(setting_advice(other).key)
