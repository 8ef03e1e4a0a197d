"""The devices of the catalogue."""

import json
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

import resources
from core.catalog.entries import Folders, from_folders, in_file, own_folders
from core.catalog.search import Searchable, Shelf, compact, search, suggestions, tokens
from core.errors import NotFound, Problem
from core.spec.accelerator import Accelerator


@cache
def _file() -> TypeAdapter[tuple[Accelerator, ...]]:
    return TypeAdapter(tuple[Accelerator, ...])


@dataclass(frozen=True)
class _Catalogue:
    accelerators: dict[str, Accelerator]
    searchable: Shelf
    exact: dict[str, str]
    problems: tuple[Problem, ...]


def _catalogue(folders: Folders | None) -> _Catalogue:
    return _catalogue_of(own_folders("accelerators") if folders is None else folders)


@cache
def _catalogue_of(folders: Folders) -> _Catalogue:
    problems: list[Problem] = []
    found: dict[str, Accelerator] = {}
    for name in resources.names("data/accelerators", ".json"):
        found.update({device.name: device for device in _file().validate_json(resources.read_bytes(name))})
    for user in from_folders(folders, problems):
        try:
            device = Accelerator.model_validate_json(json.dumps(user.entry))
            found[device.name] = device  # the user's own entry replaces ours
        except ValidationError as error:
            path = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
            problems.append(in_file(Problem("catalog.bad_field", values={"name": path}), user.place))
    searchable = Shelf(
        Searchable(
            d.name,
            d.name,
            d.aliases,
            (f"{d.memory_gb_nominal:g}gb", *tokens(d.architecture), *tokens(d.vendor)),
            str(d.year or ""),
        )
        for d in found.values()
    )
    exact = {compact(alias): d.name for d in found.values() for alias in d.aliases}
    exact.update({compact(name): name for name in found})
    return _Catalogue(found, searchable, exact, tuple(problems))


def all_accelerators(folders: Folders | None = None) -> tuple[Accelerator, ...]:
    """Every device, ours by vendor and then the user's."""
    return tuple(_catalogue(folders).accelerators.values())


def accelerator_problems(folders: Folders | None = None) -> tuple[Problem, ...]:
    """What is wrong with the user's files; the path of each problem is the file and its entry."""
    return _catalogue(folders).problems


def load_accelerator(name: str, folders: Folders | None = None) -> Accelerator:
    """The device with this name or alias in any spelling.

    Raises NotFound with ``catalog.accelerator_not_found`` and suggestions.
    """
    catalogue = _catalogue(folders)
    found = catalogue.exact.get(compact(name))
    if found is None:
        near = ", ".join(suggestions(catalogue.searchable, name))
        code = "catalog.accelerator_not_found" if near else "catalog.accelerator_unknown"
        raise NotFound(Problem(code, ("accelerator",), {"name": name[:80], "suggestions": near}))
    return catalogue.accelerators[found]


def search_accelerators(
    query: str, limit: int | None = None, folders: Folders | None = None, mend: bool = True
) -> list[Accelerator]:
    """Devices that answer ``query``, best first; of equally good ones the newest first.

    ``mend``: as for models.
    """
    catalogue = _catalogue(folders)
    return [catalogue.accelerators[key] for key in search(catalogue.searchable, query, limit, mend)]


def forget() -> None:
    """Read the files anew at the next question."""
    _catalogue_of.cache_clear()
