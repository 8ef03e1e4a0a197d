"""How many devices, joined by what, and how the model is laid over them."""

from typing import Literal

from core.spec.base import Spec, declared
from core.spec.engine import SERVERS

# "auto": the fast link of the device where it has one, else PCIe.  "pcie": devices below host bridges that
# reach each other; "pcie_switch": all below one switch; "pcie_sockets": spread over both sockets of a
# server; "pcie_host": no peer access, copies go through host memory.
LinkChoice = Literal["auto", "scale_up", "pcie", "pcie_switch", "pcie_sockets", "pcie_host"]


class Deployment(Spec):
    """``accelerators`` = ``tensor_parallel`` × ``pipeline_parallel`` × replicas.

    ``expert_parallel`` and ``attention_data_parallel`` divide the tensor-parallel group once more:
    of its devices each holds 1/expert_parallel of the experts whole, and the attention is copied
    ``attention_data_parallel`` times, each copy with requests and cache of its own.
    """

    accelerators: int = declared(1, kind="count", step=1, ge=1, le=4096)
    tensor_parallel: int = declared(1, kind="choice", choices="tensor_parallel", ge=1, le=1024)
    link: LinkChoice = declared("auto", kind="choice", choices="links")
    pipeline_parallel: int = declared(1, kind="count", step=1, ge=1, le=256)
    expert_parallel: int = declared(1, kind="count", step=1, ge=1, le=1024, engines=SERVERS)
    attention_data_parallel: int = declared(1, kind="count", step=1, ge=1, le=1024, engines=SERVERS)
    # Servers that the devices stand in, as many in each; 1: as few as the fast link allows.
    nodes: int = declared(1, kind="count", step=1, ge=1, le=4096)
    network_gbit_per_s: float = declared(400.0, unit="Gbit/s", step=100, ge=0.1, le=100_000)  # of one device
    # Of the devices, those that only read prompts and hand the cache over; 0: every one does both.
    prefill_accelerators: int = declared(0, kind="count", step=1, ge=0, le=4096, engines=SERVERS)

    @property
    def replicas(self) -> int:
        """Independent copies of the model that share the requests; without those that only read prompts."""
        return max(1, (self.accelerators - self.prefill_accelerators) // self.group)

    @property
    def readers(self) -> int:
        """Copies of the model that only read prompts."""
        return self.prefill_accelerators // self.group

    @property
    def group(self) -> int:
        """Devices of one copy of the model."""
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def devices_of_a_node(self) -> int:
        """Devices in one server."""
        return max(1, self.accelerators // self.nodes)

    @property
    def attention_tensor_parallel(self) -> int:
        """Devices that share one copy of the attention."""
        return max(1, self.tensor_parallel // self.attention_data_parallel)
