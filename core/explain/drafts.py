"""Where a draft cannot be what was meant."""

from core.errors import Problem
from core.model.parameters import stored_parameters
from core.spec.scenario import Scenario
from core.units import three_digits


def draft_notes(scenario: Scenario) -> tuple[Problem, ...]:
    """A warning where a draft model is no smaller than the model it drafts for."""
    draft = scenario.speculative
    if draft.kind != "draft_model" or not draft.draft_parameters:
        return ()
    size = stored_parameters(scenario.model.architecture)
    if draft.draft_parameters < size:
        return ()
    values: dict[str, object] = {
        "draft": f"{three_digits(draft.draft_parameters / 1e9)}B",
        "model": scenario.model.name,
        "size": f"{three_digits(size / 1e9)}B",
    }
    return (Problem("draft_too_large", ("speculative.draft_parameters",), values, "warning"),)
