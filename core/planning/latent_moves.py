"""Layouts for mixtures of experts with latent attention: copies of the attention, experts dealt out whole.

Latent attention has one cache for all heads, so tensor parallelism keeps it on every device of a group
anew; copies of the attention keep each request once.  The degrees are those that the search tries
(``search_space.layouts``), and besides half a server's, where a long prompt has more devices to itself.
"""

from collections.abc import Iterator

from core.memory.capacity import Change
from core.planning.search_space import NODE, sparse_and_latent
from core.planning.suggestion import Move
from core.results import Estimate
from core.spec.engine import SERVERS
from core.spec.scenario import Scenario
from core.words import Phrase

_EFFORT = 2.0  # a switch of the engine


def latent_moves(point: Estimate) -> Iterator[Move]:
    """Copies of the attention inside a group, whole experts, and both."""
    scenario = point.scenario
    place = scenario.deployment
    tp = place.tensor_parallel
    if tp < 2 or not _divides(scenario):
        return
    copied, dealt = place.attention_data_parallel > 1, place.expert_parallel > 1
    if not copied:
        for copies in _degrees(scenario):
            yield _copies(copies)
    if not dealt:
        title = Phrase("advice.titles.expert_split", {"ep": str(tp)})
        uneven = (Phrase("advice.cautions.expert_split"),)
        yield Move("expert_split", title, (Change("deployment.expert_parallel", tp),), _EFFORT, uneven)
    if not copied and not dealt:
        yield _both(tp)


def _divides(scenario: Scenario) -> bool:
    """Whether the engine divides a group so, and the model gains by it."""
    return scenario.engine.name in SERVERS and all(sparse_and_latent(scenario.model))


def _degrees(scenario: Scenario) -> tuple[int, ...]:
    """Numbers of copies to try; TensorRT-LLM knows one on each device of the group only."""
    tp = scenario.deployment.tensor_parallel
    if scenario.engine.name == "trtllm":
        return (tp,)
    within = min(tp, NODE)
    return tuple(n for n in dict.fromkeys((within, within // 2, tp)) if n > 1 and tp % n == 0)


def _copies(copies: int) -> Move:
    title = Phrase("advice.titles.dp_attention", {"dp": str(copies)})
    cautions = (Phrase("advice.cautions.dp_attention"),)
    changes = (Change("deployment.attention_data_parallel", copies),)
    return Move("dp_attention", title, changes, _EFFORT, cautions)


def _both(tp: int) -> Move:
    title = Phrase("advice.titles.dp_experts", {"dp": str(tp), "ep": str(tp)})
    changes = (
        Change("deployment.expert_parallel", tp),
        Change("deployment.attention_data_parallel", tp),
    )
    cautions = (Phrase("advice.cautions.dp_attention"), Phrase("advice.cautions.expert_split"))
    return Move("dp_experts", title, changes, _EFFORT + 1, cautions)
