"""How many devices, joined by what, and how the model is laid over them."""

from typing import Literal

from core.spec.base import Spec, declared

# "auto": the fast link of the device where it has one, else PCIe.  "pcie_host": devices that cannot
# reach each other copy through host memory (no peer access, or sockets apart).
LinkChoice = Literal["auto", "scale_up", "pcie", "pcie_host"]

_SERVERS = ("vllm", "sglang", "trtllm")


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
    expert_parallel: int = declared(1, kind="count", step=1, ge=1, le=1024, engines=_SERVERS)
    attention_data_parallel: int = declared(1, kind="count", step=1, ge=1, le=1024, engines=_SERVERS)

    @property
    def replicas(self) -> int:
        """Independent copies of the model that share the requests."""
        return max(1, self.accelerators // (self.tensor_parallel * self.pipeline_parallel))

    @property
    def attention_tensor_parallel(self) -> int:
        """Devices that share one copy of the attention."""
        return max(1, self.tensor_parallel // self.attention_data_parallel)
