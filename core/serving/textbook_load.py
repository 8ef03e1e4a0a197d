"""Load by the plain formulas: no interference, no overhead; throughput = batch / decode step."""

import numpy as np

from core.latency.textbook import TextbookPlan
from core.quantities import FloatArray
from core.serving.load import LoadCurve

_MANY = 1e12  # sequences, where nothing limits them


def textbook_times(plan: TextbookPlan, running: FloatArray, prompt: float) -> tuple[FloatArray, float]:
    """Seconds of a decode step with ``running`` sequences of one replica, and of reading a prompt."""
    step = np.maximum(plan.read_bytes / plan.bandwidth, 2 * plan.parameters * running / plan.peak)
    return step, 2 * plan.parameters * prompt / plan.peak


def textbook_closed(
    plan: TextbookPlan,
    users: FloatArray,
    replicas: int,
    limit: float,
    prompt: float,
    output: float,
) -> LoadCurve:
    """``users`` (n,) in the system, ``limit`` of them inside one replica."""
    inside = np.minimum(users / replicas, limit)
    step, read = textbook_times(plan, inside, prompt)
    life = read + step * np.maximum(output - 1, 0)
    queue = (users / replicas - inside) / inside * life
    return _curve(
        users, inside * replicas, queue, read, step, inside * replicas / step, output, np.ones_like(users)
    )


def textbook_open(
    plan: TextbookPlan, rate: FloatArray, replicas: int, limit: float, prompt: float, output: float
) -> LoadCurve:
    """``rate`` (n,) requests per second over all replicas."""
    answers = rate / replicas * output
    most = np.minimum(np.atleast_1d(limit), _MANY)
    ceiling = most / textbook_times(plan, most, prompt)[0]
    stable = answers < ceiling
    # Little's law; where the load is stable the weights, not the arithmetic, set the step.
    running = np.where(stable, np.minimum(answers * plan.read_bytes / plan.bandwidth, limit), limit)
    step, read = textbook_times(plan, running, prompt)
    queue = np.where(stable, 0.0, np.inf)
    tokens = np.minimum(answers, ceiling) * replicas
    users = np.where(stable, rate * (read + step * np.maximum(output - 1, 0)), np.inf)
    # The first token of an answer comes from the prompt: nobody decodes who is not in the system.
    running = np.minimum(running, users / replicas)
    return _curve(users, running * replicas, queue, read, step, tokens, output, stable.astype(float))


def _curve(
    users: FloatArray,
    running: FloatArray,
    queue: FloatArray,
    read: float,
    step: FloatArray,
    tokens: FloatArray,
    output: float,
    stable: FloatArray,
) -> LoadCurve:
    def rows(values: FloatArray | float) -> FloatArray:
        return np.array(np.broadcast_to(values, (3, len(users))))

    return LoadCurve(
        users=users,
        running=rows(running),
        time_to_first_token=rows(queue + read),
        queue_seconds=rows(queue),
        prefill_seconds=rows(read),
        other_prefills_seconds=rows(0.0),
        base_seconds=rows(0.0),
        transfer_seconds=rows(0.0),
        time_per_output_token=rows(step),
        output_tokens_per_second=rows(tokens),
        requests_per_second=rows(tokens / output),
        prefill_share=rows(0.0),
        stable=stable,
    )
