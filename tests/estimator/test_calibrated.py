"""A scenario names a calibration: what it changes, where it does not apply, what is said, and its file."""

import json

import pytest

from core.catalog import calibrations
from core.catalog.calibrations import calibration_named, calibration_of, calibration_problems, use_folders
from core.errors import UnreadableFile
from core.estimator import estimate
from core.explain.calibration_state import calibration_notes, calibration_status
from core.files import calibration_file, scenario_file
from core.files.opening import open_document
from core.spec.calibration import Calibration, CalibrationErrors, SetupFactors
from core.spec.change import with_values
from core.words import LANGUAGES, Words


@pytest.fixture
def folder(tmp_path):
    use_folders(tmp_path)
    yield tmp_path
    use_folders()


def fitted(**values):
    errors = CalibrationErrors(figures=12, runs=6, before=0.21, after=0.05)
    return Calibration.model_validate({"name": "mine", "engine": "vllm", "errors": errors, **values})


def named(scenario, name="mine"):
    return with_values(scenario, {"engine.calibration": name})


def test_a_named_calibration_changes_the_estimate_and_is_told(folder, scenario):
    plain = estimate(scenario)
    calibration_file.save_in(folder, fitted(bandwidth=0.8, accelerators=("RTX 4090",)))
    point = estimate(named(scenario))
    assert plain.calibration == "" and point.calibration == "mine"
    ratio = point.speed.time_per_output_token.expected / plain.speed.time_per_output_token.expected
    assert 1.1 < ratio < 1.26  # most of the step is reading memory
    note = next(note for note in point.notes if note.code == "calibration.in_use")
    assert note.severity == "note"
    assert Words("en").problem(note).count("21") == 1 and "6 runs" in Words("en").problem(note)
    assert Words("en").phrase(calibration_status(point.scenario)) == "calibrated: mine"
    assert Words("en").phrase(calibration_status(scenario)) == "not calibrated"


def test_a_missing_calibration_is_a_problem_and_the_estimate_is_without(folder, scenario):
    point, plain = estimate(named(scenario, "gone")), estimate(scenario)
    assert point.calibration == "" and point.speed == plain.speed
    assert [(n.code, n.severity) for n in point.notes if "calibration" in n.code] == [
        ("calibration.missing", "warning")
    ]


@pytest.mark.parametrize("where", [{"engine": "sglang"}, {"accelerators": ("H100 SXM5 80GB",)}])
def test_a_calibration_of_another_engine_or_device_does_not_apply(folder, scenario, where):
    calibration_file.save_in(folder, fitted(bandwidth=0.5, **where))
    point = estimate(named(scenario))
    assert point.speed == estimate(scenario).speed and point.calibration == ""
    assert any(n.code == "calibration.elsewhere" for n in point.notes)


def test_the_reserve_is_taken_from_the_cache(folder, scenario):
    calibration_file.save_in(folder, fitted(reserve_gib=1.0))
    plain, point = estimate(scenario).ledger, estimate(named(scenario)).ledger
    assert plain.kv_pool_bytes - point.kv_pool_bytes == 2**30
    assert point.bytes_of("runtime") - plain.bytes_of("runtime") == 2**30
    assert sum(line.bytes for line in point.lines) == point.device_bytes


def test_a_set_up_has_factors_of_its_own_and_others_do_not(folder, scenario):
    own = SetupFactors(
        model=scenario.model.name,
        weights="bf16",
        kv_cache="bf16",
        version=scenario.engine.version,
        time=1.5,
    )
    calibration_file.save_in(folder, fitted(setups=(own,)))
    plain, point = estimate(scenario).speed, estimate(named(scenario)).speed
    ratio = point.time_per_output_token.expected / plain.time_per_output_token.expected
    assert ratio == pytest.approx(1.5, rel=0.03)
    narrow = with_values(scenario, {"precision.weights": "awq_g128"})
    assert estimate(named(narrow)).speed == estimate(narrow).speed


def test_the_band_left_is_the_calibration_s(folder, scenario):
    calibration_file.save_in(folder, fitted(step_band=(0.98, 1.02)))
    found = estimate(named(scenario)).speed.time_per_output_token
    assert found.low / found.expected == pytest.approx(0.98, abs=0.01)
    assert found.high / found.expected == pytest.approx(1.02, abs=0.01)


def test_llama_cpp_is_calibrated_too(folder, scenario):
    local = with_values(
        scenario, {"engine.name": "llamacpp", "precision.weights": "gguf_q4_k_m", "workload.users": 1}
    )
    local = with_values(local, {"precision.kv_cache": "fp16"})
    calibration_file.save_in(folder, fitted(bandwidth=0.7, engine="llamacpp"))
    ratio = (
        estimate(named(local)).speed.time_per_output_token.expected
        / estimate(local).speed.time_per_output_token.expected
    )
    assert 1.1 < ratio < 1 / 0.7 + 0.01


def test_a_calibration_beside_the_scenario_is_found(tmp_path, scenario):
    use_folders()
    calibration_file.save(tmp_path / calibration_file.file_name("mine"), fitted(bandwidth=0.8))
    path = tmp_path / "scenario.json"
    scenario_file.save(path, named(scenario))
    assert estimate(open_document(path).scenario).calibration == "mine"
    use_folders()


def test_the_file_comes_back_as_it_was_and_newer_fields_are_passed_over(tmp_path):
    whole = fitted(bandwidth=0.9, setups=(SetupFactors(model="A/B", time=1.1),), step_band=(0.9, 1.1))
    data = calibration_file.dumps(whole)
    assert calibration_of(data) == whole and calibration_file.dumps(calibration_of(data)) == data
    tree = json.loads(data) | {"later": 1}
    assert calibration_of(json.dumps(tree).encode()) == whole


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"format": "other"}, "calibration.not_one"),
        ({"schema": 99}, "file.newer"),
        ({"bandwidth": "fast"}, "field.type_number"),
        ({"bandwidth": 0}, "field.too_small"),
        ({"name": ""}, "field.text_too_short"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(change, code):
    tree = json.loads(calibration_file.dumps(fitted())) | change
    with pytest.raises(UnreadableFile) as refusal:
        calibration_of(json.dumps(tree).encode())
    assert refusal.value.problems[0].code == code


def test_a_broken_file_in_the_folder_hides_no_other(folder):
    (folder / "broken.calibration.json").write_text("{", encoding="utf-8")
    calibration_file.save_in(folder, fitted())
    assert calibration_named("mine") is not None
    assert [p.paths for p in calibration_problems()] == [("broken.calibration.json",)]
    assert calibrations.calibration_names("vllm", "RTX 4090") == ("mine",)
    assert calibrations.calibration_names("sglang", "RTX 4090") == ()


@pytest.mark.parametrize("text", ["{", None])
def test_a_broken_calibration_that_a_scenario_names_is_told_as_broken(folder, scenario, text):
    tree = json.loads(calibration_file.dumps(fitted())) | {"bandwidth": 0}
    file = folder / ("mine.calibration.json" if text else "under-another-name.calibration.json")
    file.write_text(text or json.dumps(tree), encoding="utf-8")
    calibrations.forget()
    [note] = calibration_notes(named(scenario))
    assert note.code == "calibration.broken" and note.severity == "warning"
    for language in LANGUAGES:
        said = Words(language).problem(note)
        assert file.name in said and "{" not in said
    assert estimate(named(scenario)).ledger == estimate(scenario).ledger
    [missing] = calibration_notes(named(scenario, "somebody else's"))
    assert missing.code == "calibration.missing"
