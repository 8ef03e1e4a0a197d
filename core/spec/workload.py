"""What is asked of the service, and what it should reach."""

from typing import Literal

from core.spec.base import Spec, declared


class Workload(Spec):
    """Either ``users`` who each wait for an answer before the next question, or an arrival rate."""

    load: Literal["users", "requests"] = declared("users", kind="choice", choices="load")
    users: int = declared(8, unit="users", kind="count", step=1, ge=1, le=10**6)
    request_rate: float = declared(1.0, unit="1/s", step=0.1, ge=1e-6, le=1e6)
    prompt_tokens: int = declared(4096, unit="tokens", kind="count", step=256, ge=1, le=10**9)
    output_tokens: int = declared(512, unit="tokens", kind="count", step=64, ge=1, le=10**9)
    shared_prefix_tokens: int = declared(0, unit="tokens", kind="count", step=256, ge=0, le=10**9)

    @property
    def tokens_per_request(self) -> int:
        """Length of a finished request, prompt and answer."""
        return self.prompt_tokens + self.output_tokens


class Targets(Spec):
    """Limits; None: no target."""

    time_to_first_token_s: float | None = declared(2.0, unit="s", step=0.1, ge=1e-4, le=1e5)
    time_per_output_token_ms: float | None = declared(100.0, unit="ms", step=5, ge=1e-3, le=1e6)
    users: int | None = declared(None, unit="users", kind="count", step=1, ge=1, le=10**6)
