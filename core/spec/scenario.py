"""The whole question: a model on devices under an engine and a load, with targets."""

from pydantic import Field

from core.spec.accelerator import Accelerator
from core.spec.base import Line, Spec
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.host import Host
from core.spec.model import Model
from core.spec.search import Search
from core.spec.simulation import Simulation
from core.spec.speculative import Speculative
from core.spec.workload import Targets, Workload


class Scenario(Spec):
    """Self-contained: model and device are stored inside, so a file means the same for ever."""

    name: Line = ""
    model: Model
    accelerator: Accelerator
    deployment: Deployment = Field(default_factory=Deployment)
    precision: Precision = Field(default_factory=Precision)
    engine: Engine = Field(default_factory=Engine)
    workload: Workload = Field(default_factory=Workload)
    targets: Targets = Field(default_factory=Targets)
    speculative: Speculative = Field(default_factory=Speculative)
    host: Host = Field(default_factory=Host)
    simulation: Simulation = Field(default_factory=Simulation)
    search: Search = Field(default_factory=Search)
    notes: str = Field("", max_length=100_000)
