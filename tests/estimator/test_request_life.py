"""The course of a request, the gaps between its tokens, and the arrival rate for a number of users."""

import math

import numpy as np
import pytest

from core.estimator import estimate
from core.explain.engine_notes import engine_notes, profile_label
from core.files import scenario_file
from core.latency.efficiency import SERVER_ENGINES, profile_names
from core.latency.local_profile import profile_names as local_profile_names
from core.planning.arrival_rate import rate_for_users
from core.planning.request_life import request_life, token_gaps
from core.planning.started import started
from core.spec.change import with_values
from core.words import Words


@pytest.fixture(params=range(3))
def sample(request, samples):
    return scenario_file.load(samples[request.param])


def test_the_parts_of_a_life_follow_each_other_and_end_where_the_cards_say(sample):
    point = estimate(sample)
    life = request_life(started(point))
    assert life.spans[0].start == 0
    for before, after in zip(life.spans, life.spans[1:], strict=False):
        assert before.end == after.start
        assert after.seconds > 0
    speed = point.speed
    assert life.first_token == pytest.approx(speed.time_to_first_token.expected, rel=1e-9)
    answer = (sample.workload.output_tokens - 1) * speed.time_per_output_token.expected
    assert life.end == pytest.approx(life.first_token + answer, rel=1e-9)


def test_the_cache_grows_to_all_tokens_and_their_bytes(sample):
    point = estimate(sample)
    life = request_life(started(point))
    work = sample.workload
    assert (np.diff(life.seconds) >= 0).all()
    assert (np.diff(life.tokens) >= 0).all()
    assert life.tokens[-1] == work.prompt_tokens + work.output_tokens - 1
    assert life.chunk_ends[-1] == pytest.approx(life.first_token)
    assert len(life.chunk_ends) == math.ceil(work.prompt_tokens / life.chunk_tokens - 1e-9)
    # Bytes per token of a plain cache times its tokens, within one page of 16 tokens.
    assert life.cache_bytes[-1] == pytest.approx(
        life.tokens[-1] * life.bytes_per_token, abs=16 * life.bytes_per_token
    )


def test_a_shared_prefix_is_there_from_the_start(scenario):
    changed = with_values(scenario, {"workload.shared_prefix_tokens": 512})
    life = request_life(started(estimate(changed)))
    own = life.span("own_prompt")
    inside = life.seconds > own.start
    assert life.tokens[inside].min() >= 512


def test_gaps_between_tokens_average_to_the_time_per_output_token(sample):
    point = estimate(sample)
    gaps = token_gaps(sample, point.speed)
    assert gaps.long >= gaps.usual > 0
    mean = gaps.usual + gaps.long_share * (gaps.long - gaps.usual)
    assert mean == pytest.approx(point.speed.time_per_output_token.expected, rel=1e-9)


def test_one_user_is_never_interrupted(scenario):
    alone = with_values(scenario, {"workload.users": 1, "workload.load": "users"})
    point = estimate(alone)
    assert token_gaps(alone, point.speed).long_share == 0
    assert request_life(started(point)).others_seconds == 0


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8, 1.0, 1.5])
def test_the_rate_for_a_number_of_users_keeps_so_many(sample, share):
    arriving = with_values(sample, {"workload.load": "requests"})
    point = estimate(sample)
    users = max(1.0, round(share * point.capacity.max_users))
    rate = rate_for_users(arriving, users, point.capacity.kv_tokens)
    found = estimate(with_values(arriving, {"workload.request_rate": rate})).speed
    assert found.stable
    assert found.users == pytest.approx(users, rel=0.03)


def test_what_does_not_start_is_shown_with_a_change_that_does(scenario):
    small = {"accelerator.memory_gb_nominal": 12.0, "accelerator.memory_mib_reported": 12_288}
    running = started(estimate(with_values(scenario, small)))
    assert running.change is not None
    assert running.estimate.speed is running.speed
    tiny = {"accelerator.memory_gb_nominal": 0.2, "accelerator.memory_mib_reported": 200}
    assert started(estimate(with_values(scenario, tiny))) is None


def test_every_profile_has_a_name_in_words():
    words = Words("en")
    names = {name for engine in SERVER_ENGINES for name in profile_names(engine)}
    names |= {name for engine in ("llamacpp", "mlx", "transformers") for name in local_profile_names(engine)}
    missing = {name for name in names if not words.has(profile_label(name).key)}
    assert not missing


def test_notes_tell_expanded_weights_from_native_ones(scenario):
    keys = {
        note.key for note in engine_notes(estimate(with_values(scenario, {"precision.weights": "awq_g128"})))
    }
    assert "engine_notes.expanded" in keys
    assert "engine_notes.half_rate" in keys  # GeForce: FP32 sums at half the FP16 rate, NVIDIA Ada whitepaper
    keys = {note.key for note in engine_notes(estimate(with_values(scenario, {"precision.weights": "fp8"})))}
    assert "engine_notes.native" in keys
