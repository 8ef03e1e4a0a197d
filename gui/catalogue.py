"""The catalogue as the window sees it: ours and, where there is a folder, the user's own."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from core.catalog import accelerators, models
from core.catalog.entries import use_own
from core.catalog.models import CatalogModel
from core.errors import InferometerError, Problem
from core.files import user_catalogue
from core.spec.accelerator import Accelerator
from core.spec.model import Model

_MOST_HITS = 60


class Catalogue(QObject):
    """Searches and saves.  ``saved`` carries the name of a new entry."""

    saved = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder: Path | None = None

    def use(self, folder: Path | None) -> None:
        """Take the entries of a folder too; it need not exist yet."""
        self._folder = folder
        use_own(folder)

    @property
    def can_save(self) -> bool:
        """Whether there is a folder to save to."""
        return self._folder is not None

    def _folders(self, kind: str) -> tuple[Path, ...]:
        return (self._folder / kind,) if self._folder is not None else ()

    # -- models ----------------------------------------------------------------------------------

    def search_models(self, query: str, mend: bool = True) -> list[CatalogModel]:
        """Models that answer, best first; with ``mend`` also to words that are like theirs."""
        return models.search_models(query, _MOST_HITS, self._folders("models"), mend)

    def model(self, name: str) -> Model:
        """The model with this name.  Raises NotFound."""
        return models.load_model(name, self._folders("models"))

    def save_model(self, model: Model) -> Path:
        """Keep a model.  Raises UnwritableFile; only with a folder."""
        assert self._folder is not None
        path = user_catalogue.save_model(self._folder / "models", model)
        self.saved.emit(model.name)
        return path

    def has_model(self, model: Model) -> bool:
        """Whether the catalogue has exactly this model."""
        try:
            return self.model(model.name).architecture == model.architecture
        except InferometerError:
            return False

    # -- devices ---------------------------------------------------------------------------------

    def search_accelerators(self, query: str, mend: bool = True) -> list[Accelerator]:
        """Devices that answer, best first; with ``mend`` also to words that are like theirs."""
        return accelerators.search_accelerators(query, _MOST_HITS, self._folders("accelerators"), mend)

    def accelerator(self, name: str) -> Accelerator:
        """The device with this name.  Raises NotFound."""
        return accelerators.load_accelerator(name, self._folders("accelerators"))

    def save_accelerator(self, device: Accelerator) -> Path:
        """Keep a device.  Raises UnwritableFile; only with a folder."""
        assert self._folder is not None
        path = user_catalogue.save_accelerator(self._folder / "accelerators", device)
        self.saved.emit(device.name)
        return path

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the user's files; nothing is read where there are none."""
        if self._folder is None or not self._folder.is_dir():
            return ()
        found = models.model_problems(self._folders("models"))
        return (*found, *accelerators.accelerator_problems(self._folders("accelerators")))
