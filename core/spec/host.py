"""The machine around the devices, as far as work is left to it."""

from core.spec.base import Spec, declared

_HOSTED = ("llamacpp", "ollama", "vllm", "sglang", "transformers")


class Host(Spec):
    """Memory and processor of the computer that holds the devices.

    The defaults are a desktop with two channels of DDR5-5600 and sixteen cores of AVX2 at about 4 GHz.
    """

    memory_bandwidth_gbps: float = declared(89.6, unit="GB/s", step=10, ge=1, le=100_000, engines=_HOSTED)
    cores: int = declared(16, kind="count", step=1, ge=1, le=4096, engines=_HOSTED)
    gflops_per_core: float = declared(128.0, unit="GFLOP/s", step=16, ge=1, le=100_000, engines=_HOSTED)

    @property
    def peak_flops(self) -> float:
        """FP32 peak of all cores, FLOP/s."""
        return self.cores * self.gflops_per_core * 1e9
