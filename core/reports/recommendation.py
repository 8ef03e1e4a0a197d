"""A search for hardware in words and as JSON."""

from collections.abc import Sequence
from typing import Any

from core.catalog.calibrations import applying
from core.estimator import estimate
from core.explain.engine_notes import not_measured
from core.memory.capacity import Change
from core.planning.capacity_search import times_at
from core.planning.engine_settings import path_of
from core.planning.offers import Offer, Shortfall
from core.planning.recommend import Failure, Recommendation
from core.planning.search_space import Combination
from core.planning.verify import confirmed
from core.planning.what_runs import Runs, WhatRuns
from core.quantities import Range
from core.reports.as_json import to_json
from core.reports.as_text import table
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.units import show_bytes, show_count, show_time, show_tokens, three_digits, time_in
from core.words import Phrase, Words, counted, numbered, percent

FORMAT = "inferometer-recommendation"
SCHEMA = 1
_SHOWN = 12
_AT_ONCE = ("max_num_seqs", "max_batch_size", "n_parallel")  # settings whose one has words of its own
_WHOLE = ("users", "budget")  # reasons whose amounts are whole numbers


def headline(state: Recommendation) -> Phrase:
    """The best offer, or that there is none."""
    if not state.offers:
        return Phrase("recommend.headline.none" if state.finished else "recommend.headline.searching")
    best = state.offers[0]
    rank, values = best.scenario.search.rank, {"hardware": hardware(best.combination)}
    if best.verified is not None and not confirmed(best):
        return Phrase("recommend.headline.refused", values)
    speed = estimate(best.scenario).speed if state.finished and untested(best) else None
    if speed is None:
        return Phrase(f"recommend.headline.{rank}", values)
    values["each"] = between(speed.time_per_output_token)
    return Phrase(f"recommend.headline.{rank}_untested", values)


def untested(offer: Offer) -> bool:
    """Whether its figures are generic: nobody measured the device, or the format on one of its family."""
    return not_measured(offer.scenario) is not None


def best_measured(state: Recommendation) -> Phrase | None:
    """The first offer that measurements stand behind, where the best is none; None where it is one."""
    if not state.finished or not state.offers or not untested(state.offers[0]):
        return None
    for number, offer in enumerate(state.offers, 1):
        if not untested(offer):
            price = "–" if offer.price is None else f"${offer.price:,.0f}"
            named = f"{show_count(offer.count)} × {offer.device.name}"  # its row tells the rest
            values = {"hardware": named, "number": show_count(number), "price": price}
            return Phrase("recommend.best_measured", values)
    return Phrase("recommend.none_measured")


def between(times: Range) -> Phrase:
    """ "45 to 140 ms", both ends in the unit of the greater; once where they read alike."""
    high = show_time(times.high)
    low = time_in(times.low, high.unit)
    if low == high.number:
        return Phrase("recommend.once", {"time": high})
    values = {"low": low, "high": high.number, "unit": high.unit}
    return Phrase("recommend.between", values)


def detail(state: Recommendation) -> Phrase:
    """How many combinations are offered."""
    rank = state.offers[0].scenario.search.rank if state.offers else "price"
    values = {
        "meeting": show_count(len(state.offers)),
        "total": show_count(state.total),
        "rank": Phrase(f"choices.ranks.{rank}"),
    }
    refused = len(_refused(state))
    if refused:
        return Phrase("recommend.detail_refused", {**values, "refused": show_count(refused)})
    return Phrase("recommend.detail", values)


def _refused(state: Recommendation) -> list[Offer]:
    """Offers of which a simulation has shown that they miss a target."""
    return [offer for offer in state.offers if offer.verified is not None and not confirmed(offer)]


def hardware(combination: Combination) -> Phrase:
    """Devices and weights: "4 × RTX 3090, AWQ INT4"."""
    return Phrase(
        "recommend.hardware",
        {
            "count": show_count(combination.deployment.accelerators),
            "device": combination.device.name,
            "format": formats(combination),
        },
    )


def formats(combination: Combination) -> Phrase:
    """The weights, and the KV cache where it is not the scenario's: "AWQ INT4, KV FP8"."""
    label = WEIGHT_FORMATS[combination.weights].label
    if not combination.other_cache:
        return Phrase("recommend.weights", {"weights": label})
    cache = CACHE_FORMATS[combination.cache].label
    return Phrase("recommend.formats", {"weights": label, "cache": cache})


def layout(combination: Combination) -> Phrase:
    """How the model lies over the devices: "TP 4", "TP 2 · 2 copies"; a dash for a single device."""
    place = combination.deployment
    parts = [
        Phrase("choices.tp", {"degree": show_count(place.tensor_parallel)})
        if place.tensor_parallel > 1
        else None,
        Phrase("choices.pp", {"stages": show_count(place.pipeline_parallel)})
        if place.pipeline_parallel > 1
        else None,
        Phrase("choices.ep", {"degree": show_count(place.expert_parallel)})
        if place.expert_parallel > 1
        else None,
        Phrase("choices.dp", {"degree": show_count(place.attention_data_parallel)})
        if place.attention_data_parallel > 1
        else None,
        Phrase("choices.copies", {"copies": show_count(place.replicas)}) if place.replicas > 1 else None,
    ]
    found = [part for part in parts if part is not None]
    if not found:
        return Phrase("recommend.one_device")
    joined = found[0]
    for part in found[1:]:
        joined = Phrase("recommend.joined", {"first": joined, "second": part})
    return joined


def settings(offer: Offer) -> Phrase | None:
    """What is set otherwise than in the scenario: "8,192 prompt tokens a step"; None for nothing."""
    found: Phrase | None = None
    for name, value in offer.combination.settings:
        shown: object = show_count(value) if isinstance(value, int) else value
        if isinstance(value, float):
            shown = percent(value)
        elif name == "max_model_len":
            shown = show_tokens(float(value))
        values = {
            "value": shown,
            "share": percent(offer.scenario.speculative.acceptance),
            "each": show_tokens(offer.scenario.engine.longest_request),
        }
        key = f"recommend.settings.{path_of(name)}"
        key = numbered(key, float(value)) if name in _AT_ONCE else key
        said = Phrase(key, values)
        found = said if found is None else Phrase("recommend.joined", {"first": found, "second": said})
    return found


def reason(failure: Failure) -> Phrase:
    """Why combinations fail: "Too slow per token"."""
    return Phrase(f"recommend.reasons.{failure.reason}")


def nearest(failure: Failure) -> Phrase:
    """The combination that comes nearest, with what it needs and what there is."""
    short = failure.short
    value, limit = _amount(short, short.value), _amount(short, short.limit)
    told = Phrase("recommend.nearest.at_least", {"value": value}) if short.at_least else value
    values = {"hardware": hardware(failure.nearest), "value": told}
    if failure.reason in ("unsupported", "no_price"):
        return Phrase(f"recommend.nearest.{failure.reason}", values)
    said = Phrase(f"recommend.nearest.{failure.reason}", {**values, "limit": limit})
    if value != limit or short.value == short.limit or short.reason in _WHOLE:
        return said
    # Alike in three digits: what is missing says why it fails.
    by = _amount(short, abs(short.value - short.limit))
    return Phrase("recommend.nearest.close", {"what": said, "by": by})


def _amount(short: Shortfall, value: float) -> object:
    if short.reason in ("weights", "cache"):
        shown = show_bytes(value)
        return f"{shown.number} {shown.unit}"
    if short.reason in ("per_token", "first_token"):
        return _time(value)
    if short.reason == "users":
        return counted("units.users", round(value))
    if short.reason == "budget":
        return f"${value:,.0f}"
    return three_digits(value)


def _time(seconds: float) -> str:
    shown = show_time(seconds)
    return f"{shown.number} {shown.unit}"


def changes_of(offer: Offer) -> tuple[Change, ...]:
    """What makes the scenario of a search this offer, for opening it as one undoable step."""
    combination = offer.combination
    return (
        Change("accelerator", combination.device),
        Change("deployment", combination.deployment),
        Change("precision.weights", combination.weights),
        Change("precision.kv_cache", combination.cache),
        *(Change(path_of(name), value) for name, value in combination.settings),
    )


def recommendation_text(state: Recommendation, words: Words) -> str:
    """Headline, the best rows, why the others fail."""
    columns = ("hardware", "parallel", "price", "first_token", "per_token", "speed", "users")
    rows = [[words(f"recommend.columns.{key}") for key in columns]]
    for offer in state.offers[:_SHOWN]:
        rows.append(
            [
                words.phrase(hardware(offer.combination)) + _mark(offer),
                _laid(offer, words),
                "–" if offer.price is None else f"${offer.price:,.0f}",
                _time(offer.time_to_first_token),
                _time(offer.time_per_output_token),
                three_digits(offer.output_tokens_per_second),
                show_count(offer.most_users),
            ]
        )
        if offer.verified is not None:
            share, done = offer.verified.scenario.simulation.percentile, offer.verified.done
            refused = offer.verified.refused
            told = {"p": f"{100 * share:g}", "n": show_count(done), "refused": show_count(refused)}
            label = words(f"recommend.{'verified_refused' if refused else 'verified'}", **told)
            # As the window: what nobody measured is told as a range.
            first, each = (
                words.phrase(between(times)) if untested(offer) else _time(times.expected)
                for times in times_at(offer.verified, share)
            )
            rows.append([label, "", "", first, each, "", ""])
    failing = [
        [show_count(f.count), words.phrase(reason(f)), words.phrase(nearest(f))] for f in state.failures
    ]
    blocks = [f"{words.phrase(headline(state))}\n  {words.phrase(detail(state))}"]
    if state.offers:
        blocks.append("\n".join(f"  {line}" for line in table(rows, right=range(2, 7))))
        if len(state.offers) > _SHOWN:
            values = {"shown": show_count(_SHOWN), "total": show_count(len(state.offers))}
            blocks[-1] += f"\n  {words('recommend.first_rows', **values)}"
        if names := [words.phrase(hardware(offer.combination)) for offer in _refused(state)]:
            blocks.append(f"  {words('recommend.refused', names=words.listed(names))}")
        measured = best_measured(state)
        blocks += [f"  {words.phrase(measured)}"] if measured is not None else []
        blocks += _footnote(state.offers[:_SHOWN], words)
    if failing:
        lines = "\n".join(f"  {line}" for line in table(failing, right=(0,)))
        blocks.append(f"{words('recommend.why')}\n{lines}")
    return "\n\n".join(blocks) + "\n"


def _laid(offer: Offer, words: Words) -> str:
    """Layout, and what else is set."""
    other, laid = settings(offer), words.phrase(layout(offer.combination))
    if other is None:
        return laid
    set_so = words.phrase(other)
    if offer.combination.deployment.accelerators == 1:
        return set_so
    return words("recommend.joined", first=laid, second=set_so)


def _set_so(offer: Offer, words: Words) -> str:
    """Formats, and what else is set."""
    other, stored = settings(offer), words.phrase(formats(offer.combination))
    return stored if other is None else words("recommend.joined", first=stored, second=words.phrase(other))


def _mark(offer: Offer) -> str:
    """Behind what nobody measured."""
    return " *" if untested(offer) else ""


def _footnote(offers: Sequence[Offer], words: Words) -> list[str]:
    return [f"  * {words('recommend.not_measured')}"] if any(map(_mark, offers)) else []


def recommendation_json(state: Recommendation, words: Words) -> str:
    """All offers and failures.

    ``{"format", "schema", "headline", "searched", "total", "meeting", "passed_over", "offers": [offer, …],
    "failures": [{"reason", "count", "nearest", "value", "limit", "text"}, …], "near": [offer, …]}``;
    ``passed_over``: combinations of hardware that is offered in a better one.
    """
    return to_json(
        {
            "format": FORMAT,
            "schema": SCHEMA,
            "headline": words.phrase(headline(state)),
            "searched": state.searched,
            "total": state.total,
            "meeting": state.meeting,
            "passed_over": state.total - state.meeting - sum(f.count for f in state.failures),
            "offers": [_offer(o) for o in state.offers],
            "failures": [
                {
                    "reason": f.reason,
                    "count": f.count,
                    "nearest": _combination(f.nearest),
                    "value": f.short.value,
                    "limit": f.short.limit,
                    "at_least": f.short.at_least,
                    "text": words.phrase(nearest(f)),
                }
                for f in state.failures
            ],
            "near": [_offer(o) for o in state.near],
        }
    )


def _combination(combination: Combination) -> dict[str, Any]:
    return {
        "device": combination.device.name,
        "deployment": combination.deployment.model_dump(mode="json"),
        "weights": combination.weights,
        "kv_cache": combination.cache,
        "engine_settings": dict(combination.settings),
        "price_usd": combination.price,
    }


def _offer(offer: Offer) -> dict[str, Any]:
    tree = {
        **_combination(offer.combination),
        "time_to_first_token_s": offer.time_to_first_token,
        "time_per_output_token_s": offer.time_per_output_token,
        "output_tokens_per_s": offer.output_tokens_per_second,
        "requests_per_s": offer.requests_per_second,
        "most_users": offer.most_users,
        "watts": offer.watts,
        "joules_per_token": offer.joules_per_token,
        "usd_per_hour": offer.usd_per_hour,
        "usd_per_million_tokens": offer.usd_per_million_tokens,
        "measured": not_measured(offer.scenario) is None,
        "calibration": applied.name if (applied := applying(offer.scenario)) is not None else None,
        "missed": list(offer.missed),
        "pareto": offer.on_frontier,
    }
    if offer.verified is not None:
        first, each = offer.verified.time_to_first_token, offer.verified.time_per_output_token
        share = offer.verified.scenario.simulation.percentile
        at = times_at(offer.verified, share)
        tree["simulated"] = {
            "requests": offer.verified.done,
            "refused": offer.verified.refused,
            "percentile": share,
            "time_to_first_token_s": at[0].expected,
            "time_per_output_token_s": at[1].expected,
            "meets": confirmed(offer),
            "time_to_first_token_p95_s": first.p95.expected,
            "time_per_output_token_p95_s": each.p95.expected,
            "meeting": offer.verified.meeting,
        }
    return tree


def what_runs_text(state: WhatRuns, words: Words, tokens: int) -> str:
    """The largest good models, then those that miss a target; ``tokens`` of one request of the workload."""
    columns = ("model", "format", "longest", "users", "first_token", "per_token")
    rows = [[words(f"recommend.columns.{key}") for key in columns]]
    good = [r for r in state.runs if r.good]
    shown = (good or list(state.runs))[: 2 * _SHOWN]
    rows.extend(_runs_row(runs, words) for runs in shown)
    values = {
        "good": show_count(len(good)),
        "near": show_count(len(state.runs) - len(good)),
        "total": show_count(state.total),
        "large": show_count(state.too_large),
    }
    if state.too_short:
        values |= {"short": show_count(state.too_short), "tokens": show_count(tokens)}
    head = words(f"recommend.what_runs.headline{'_short' if state.too_short else ''}", **values)
    if state.refused:
        head = words.sentences((head, refused(state, words)))
    if len(rows) == 1:
        return f"{head}\n"
    lines = [f"  {line}" for line in table(rows, right=range(2, 6))]
    note = not_measured(shown[0].offer.scenario)  # one device and engine for all
    if note is not None:
        lines += ["", f"  {words.phrase(note)}"]
    return head + "\n\n" + "\n".join(lines) + "\n"


def refused(state: WhatRuns, words: Words) -> str:
    """How many models the engine does not run on the device, "" for none."""
    if not state.refused:
        return ""
    key = "none" if state.refused == state.total else "some"
    return words(f"recommend.what_runs.refused_{key}", count=show_count(state.refused))


def longest(runs: Runs) -> str:
    """Tokens of the longest request; a dash where not all users have a place at once."""
    return show_tokens(runs.longest) if runs.longest else "–"


def _runs_row(runs: Runs, words: Words) -> list[str]:
    return [
        runs.model.name,
        _set_so(runs.offer, words),
        longest(runs),
        show_count(runs.offer.most_users),
        _time(runs.offer.time_to_first_token),
        _time(runs.offer.time_per_output_token),
    ]


def what_runs_json(state: WhatRuns) -> str:
    """All models that start.

    ``{"format", "schema", "searched", "total", "too_large", "too_short",
    "refused", "models": [{"id", "good", "longest", offer}]}``
    """
    return to_json(
        {
            "format": "inferometer-what-runs",
            "schema": SCHEMA,
            "searched": state.searched,
            "total": state.total,
            "too_large": state.too_large,
            "too_short": state.too_short,
            "refused": state.refused,
            "models": [
                {
                    "id": r.model.id,
                    "name": r.model.name,
                    "good": r.good,
                    "longest": r.longest,
                    **_offer(r.offer),
                }
                for r in state.runs
            ],
        }
    )
