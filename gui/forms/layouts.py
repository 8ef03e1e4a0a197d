"""How a number of devices can be divided: tensor parallelism, pipeline stages, copies."""

from typing import NamedTuple

from core.spec.checks import check
from core.spec.scenario import Scenario

_MOST_OFFERED = 48
# These engines lay whole layers on each device unless told otherwise.
_BY_LAYERS = ("llamacpp", "ollama", "transformers")
_ABOUT = {"deployment.tensor_parallel", "deployment.pipeline_parallel"}


class Layout(NamedTuple):
    """``devices`` in all, of which ``tensor`` × ``pipeline`` hold one copy of the model."""

    devices: int
    tensor: int
    pipeline: int = 1

    @property
    def group(self) -> int:
        """Devices of one copy."""
        return self.tensor * self.pipeline

    @property
    def copies(self) -> int:
        """Copies of the model."""
        return max(1, self.devices // self.group)


def layout_of(scenario: Scenario) -> Layout:
    """The layout of a scenario."""
    place = scenario.deployment
    return Layout(place.accelerators, place.tensor_parallel, place.pipeline_parallel)


def customary(layout: Layout, before: Scenario, after: Scenario) -> Layout:
    """The layout as another engine would divide the same group: by layers or inside them."""
    if (before.engine.name in _BY_LAYERS) == (after.engine.name in _BY_LAYERS):
        return layout
    mixed = layout.tensor > 1 and layout.pipeline > 1
    return layout if mixed else Layout(layout.devices, layout.pipeline, layout.tensor)


def _allowed(scenario: Scenario, layout: Layout) -> bool:
    """Whether nothing speaks against it; divisions inside a group are set with it, so they do not count."""
    place = scenario.deployment.model_copy(
        update={
            "accelerators": layout.devices,
            "tensor_parallel": layout.tensor,
            "pipeline_parallel": layout.pipeline,
            "expert_parallel": 1,
            "attention_data_parallel": _kept_copies(scenario, layout),
        }
    )
    tried = scenario.model_copy(update={"deployment": place})
    return not any(_ABOUT & set(p.paths) and p.severity == "error" for p in check(tried))


def _kept_copies(scenario: Scenario, layout: Layout) -> int:
    """Copies of the attention that remain: with them, fewer devices share the heads."""
    place = scenario.deployment
    if place.attention_data_parallel == place.tensor_parallel > 1:
        return layout.tensor
    return place.attention_data_parallel if layout.tensor % place.attention_data_parallel == 0 else 1


def allowed_tensor_parallel(scenario: Scenario, count: int) -> list[int]:
    """Degrees that divide the count and cut no head of the model."""
    allowed = [
        n for n in range(1, min(count, 1024) + 1) if count % n == 0 and _allowed(scenario, Layout(count, n))
    ]
    return allowed or [1]


def allowed_layouts(scenario: Scenario, count: int) -> list[Layout]:
    """Layouts of ``count`` devices: degrees first, then with pipeline stages."""
    most = min(scenario.model.architecture.layers, 256)
    degrees = allowed_tensor_parallel(scenario, count)
    found = [
        Layout(count, tensor, pipeline)
        for tensor in degrees
        for pipeline in range(1, min(count // tensor, most) + 1)
        if count % (tensor * pipeline) == 0
    ]
    found.sort(key=lambda it: (it.pipeline > 1, it.group, it.pipeline))
    return found[:_MOST_OFFERED]


def fitting_layout(scenario: Scenario, count: int, intent: Layout) -> Layout:
    """A layout of ``count`` devices in the spirit of ``intent``, the layout before the change.

    One copy over all devices stays one copy over all; otherwise the group stays as large as it can,
    and what divided it before divides it again.
    """
    wanted = count if intent.group == intent.devices else intent.group
    layers = scenario.engine.name in _BY_LAYERS
    by_layers = layers if intent.group == 1 else intent.tensor == 1 and intent.pipeline > 1

    def likeness(layout: Layout) -> tuple[int, int, int]:
        keeps = layout.tensor == intent.tensor if by_layers else layout.pipeline == intent.pipeline
        return layout.group, int(keeps), layout.pipeline if by_layers else layout.tensor

    fitting = [layout for layout in allowed_layouts(scenario, count) if layout.group <= wanted]
    return max(fitting, key=likeness, default=Layout(count, 1))
