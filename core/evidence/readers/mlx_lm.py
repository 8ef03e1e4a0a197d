"""``mlx_lm.benchmark``: the lines it prints, one run a set of averages.

Tokens/s of prompt and generation are apart and, with a batch, over all its sequences; memory is in 10⁹ bytes.
"""

import re

from core.evidence.readers.common import Builder, Reading, lines, number, problem, text_of, together
from core.units import three_digits

KEY = "mlx_lm"
WHOLE = False
_TIMING = re.compile(
    r"Timing with prompt_tokens=(\d{1,9}), generation_tokens=(\d{1,9})(?:, batch_size=(\d{1,9}))?"
)
_RESULT = re.compile(r"(Trial (\d{1,9})|Averages):\s{1,9}(.{1,500})")
_PAIR = re.compile(r"\b(prompt_tps|generation_tps|peak_memory|total_time)=([\d.]{1,30})")
_MODEL = re.compile(r"--model[ =]([^\s'\"]{1,200})")


def looks_like(text: str, _name: str) -> bool:
    """Whether one of the lines is there."""
    return "generation_tps=" in text


def read(text: str, name: str) -> Reading:
    """One run for each line of averages; trials give the spread, and the mean where averages are missing."""
    readings: list[Reading] = []
    trials: list[dict[str, str]] = []
    shape: tuple[str, ...] = ()
    began, model = 0, ""
    for at, line in lines(text):
        if "--model" in line:
            found = _MODEL.search(line)
            model = found.group(1) if found else model
        timing = _TIMING.search(line)
        if timing:
            readings += _pending(trials, shape, model, name, began)
            trials, shape, began = [], timing.groups(default="1"), at
        result = _RESULT.search(line) if "_tps=" in line else None
        if result is None:
            continue
        pairs = dict(_PAIR.findall(result.group(3)))
        if result.group(2):
            trials.append(pairs)
            began = began or at
        else:
            readings.append(_run(pairs, trials, shape, model, name, began or at))
            trials, began = [], 0
    readings += _pending(trials, shape, model, name, began)
    return together(readings)


def _pending(
    trials: list[dict[str, str]], shape: tuple[str, ...], model: str, name: str, line: int
) -> list[Reading]:
    """Trials whose averages are missing: their own mean."""
    if not trials:
        return []
    mean = {
        key: str(sum(number(trial.get(key)) or 0.0 for trial in trials) / len(trials)) for key in trials[0]
    }
    cut = Reading((), (problem("no_averages", name, line, "warning", n=len(trials)),))
    return [_run(mean, trials, shape, model, name, line), cut]


def _run(
    pairs: dict[str, str],
    trials: list[dict[str, str]],
    shape: tuple[str, ...],
    model: str,
    name: str,
    line: int,
) -> Reading:
    build = Builder(KEY, name, line)
    prompt, made, batch = (number(part) for part in (shape or ("", "", "1")))
    build.set(engine="mlx", model=text_of(model), input_tokens=prompt, output_tokens=made, concurrency=batch)
    build.put("prompt_throughput", "mean", pairs.get("prompt_tps"))
    build.put("decode_throughput", "mean", pairs.get("generation_tps"))
    _spread(build, "prompt_throughput", "prompt_tps", trials)
    _spread(build, "decode_throughput", "generation_tps", trials)
    reading, rate = number(pairs.get("prompt_tps")), number(pairs.get("generation_tps"))
    if reading and prompt:
        build.put("time_to_first_token", "mean", prompt * (batch or 1.0) / reading)
        build.converted(
            "first_of_rate_of_prompt", n=f"{prompt * (batch or 1.0):g}", rate=three_digits(reading)
        )
    if rate and batch:
        build.put("user_throughput", "mean", rate / batch)
        build.put("time_per_output_token", "mean", batch / rate)
        build.converted("token_of_rate", rate=three_digits(rate / batch))
        if batch > 1:
            build.converted("user_of_total", total=three_digits(rate), n=f"{batch:g}")
    if build.put("memory_used", "max", pairs.get("peak_memory"), 1e9):
        build.converted("decimal_gigabytes")
    build.put("end_to_end", "mean", pairs.get("total_time"))
    build.rest["trials"] = len(trials)
    return build.reading()


def _spread(build: Builder, figure: str, key: str, trials: list[dict[str, str]]) -> None:
    values = [value for trial in trials if (value := number(trial.get(key))) is not None]
    if len(values) > 1:
        build.put(figure, "min", min(values))
        build.put(figure, "max", max(values))
