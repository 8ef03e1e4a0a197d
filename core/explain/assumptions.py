"""What is taken for granted where the scenario leaves it open, said so that a person can object."""

from core.latency.efficiency import halves_accumulation
from core.latency.machine import Link, hand_over_of, link_of
from core.latency.offload import placement
from core.spec.deployment import Deployment
from core.spec.host import Host
from core.spec.scenario import Scenario
from core.units import show_count, three_digits
from core.words import Phrase

SPREADS = ("vllm", "sglang", "trtllm")  # engines whose devices exchange data in every layer


def assumptions(scenario: Scenario) -> tuple[Phrase, ...]:
    """Sentences on links, network and host that nobody chose; none where nothing hangs on them."""
    return (*link_assumptions(scenario), *_copies(scenario), *_host(scenario))


def _copies(scenario: Scenario) -> tuple[Phrase, ...]:
    """Copies of the attention take every step together, and each is taken to have as much to do in it."""
    place, work = scenario.deployment, scenario.workload
    copies = min(place.attention_data_parallel, place.tensor_parallel)
    if copies < 2 or scenario.engine.name not in SPREADS:
        return ()
    values: dict[str, object] = {"copies": show_count(copies)}
    few = work.load == "users" and work.users < copies * place.replicas
    return (Phrase("assumed.copies_few" if few else "assumed.copies", values),)


def link_assumptions(scenario: Scenario) -> tuple[Phrase, ...]:
    """Those on how the devices reach each other."""
    place, device, engine = scenario.deployment, scenario.accelerator, scenario.engine.name
    if engine not in SPREADS:
        if place.tensor_parallel == 1 or engine == "textbook":
            return ()  # a textbook counts no exchange, which its own note says
        return (Phrase("assumed.no_exchange", {"engine": Phrase(f"engine_notes.engines.{engine}")}),)
    found = list(_group(scenario))
    if place.prefill_accelerators:
        found.append(_hand_over(hand_over_of(device, place), place))
    return tuple(found)


def _group(scenario: Scenario) -> tuple[Phrase, ...]:
    """How the devices of one copy reach each other, where the catalogue or a default said it."""
    place, device = scenario.deployment, scenario.accelerator
    count = place.tensor_parallel if place.tensor_parallel > 1 else place.group
    if count < 2:
        return ()
    link = link_of(device, place, count, halves_accumulation(device))
    values: dict[str, object] = {"gpu": device.name, "count": show_count(count), "rate": _gigabytes(link)}
    if link.kind == "network" or link_of(device, place, place.group, False).kind == "network":
        wide = f"{place.network_gbit_per_s:g}"
        return (
            Phrase("assumed.network", {**values, "network": wide, "servers": show_count(_servers(place))}),
        )
    if place.link != "auto":
        return ()
    if "bridge" in device.scale_up.kind and link.kind == "bridge":
        return (Phrase("assumed.bridge", values),)
    if device.scale_up.gbps_per_direction is None and device.pcie.gbps_per_direction is None:
        return (Phrase("assumed.unknown_link", values),)
    if link.kind == "pcie_staged":
        return (Phrase("assumed.staged", values),)
    if "bridge" in device.scale_up.kind:
        most = show_count(device.scale_up.max_devices)
        return (Phrase("assumed.bridge_too_short", {**values, "most": most}),)
    return ()


def _servers(place: Deployment) -> int:
    """Servers that one copy fills; eight devices stand in one where nobody said how many."""
    each = place.devices_of_a_node if place.nodes > 1 else min(8, place.group)
    return max(2, -(-place.group // each))


def _hand_over(link: Link, place: Deployment) -> Phrase:
    if link.kind == "network":
        return Phrase("assumed.hand_over_network", {"network": f"{place.network_gbit_per_s:g}"})
    return Phrase("assumed.hand_over", {"rate": _gigabytes(link)})


def _gigabytes(link: Link) -> str:
    return three_digits(link.bytes_per_second / 1e9)


def _host(scenario: Scenario) -> tuple[Phrase, ...]:
    """The computer around the devices, where it works and nobody described it."""
    device, host = scenario.accelerator, scenario.host
    place = placement(scenario.model.architecture, scenario.engine, device)
    if place.anything and host == Host():
        values: dict[str, object] = {"cores": host.cores, "rate": f"{host.memory_bandwidth_gbps:g}"}
        return (Phrase("assumed.host", values),)
    engine = scenario.engine
    left = engine.n_gpu_layers is not None and engine.n_gpu_layers <= scenario.model.architecture.layers
    kept = left or engine.n_cpu_moe > 0 or engine.kv_on_host
    if kept and engine.name in ("llamacpp", "ollama") and device.unified_memory and device.kind != "cpu":
        return (Phrase("assumed.one_memory", {"gpu": device.name}),)
    return ()
