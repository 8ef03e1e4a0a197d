"""How many devices, joined by what, and how the model is laid over them."""

from typing import Literal

from core.spec.base import Spec, declared

# "auto": the fast link of the device where it has one, else PCIe.
LinkChoice = Literal["auto", "scale_up", "pcie"]


class Deployment(Spec):
    """``accelerators`` = ``tensor_parallel`` × replicas."""

    accelerators: int = declared(1, kind="count", step=1, ge=1, le=4096)
    tensor_parallel: int = declared(1, kind="choice", choices="tensor_parallel", ge=1, le=1024)
    link: LinkChoice = declared("auto", kind="choice", choices="links")

    @property
    def replicas(self) -> int:
        """Independent copies of the model that share the requests."""
        return max(1, self.accelerators // self.tensor_parallel)
