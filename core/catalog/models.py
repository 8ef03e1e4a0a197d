"""The models of the catalogue: an index that is cheap to read, and models built when asked for."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from core.catalog.entries import Entry, Folders, from_folders, in_file, own_folders, packaged, texts
from core.catalog.search import Searchable, Shelf, compact, search, suggestions, tokens
from core.errors import InferometerError, InvalidScenario, NotFound, Problem
from core.importers.hf.reader import ALIASES
from core.spec.architecture import Architecture
from core.spec.model import Model

_MAX_TEXT = 300


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """What a list shows of a model.

    ``parameters`` are stored, ``active_parameters`` are read for one token; 0 where a user's file
    does not say.
    """

    id: str
    name: str
    family: str
    aliases: tuple[str, ...]
    parameters: int
    active_parameters: int
    max_context: int
    released: str
    published_weight_format: str


@dataclass(frozen=True)
class _Catalogue:
    models: tuple[CatalogModel, ...]
    entries: dict[str, Entry]
    searchable: Shelf
    exact: dict[str, str]  # compact spelling → id
    problems: tuple[Problem, ...]


def _light(entry: Entry) -> CatalogModel:
    return CatalogModel(
        entry["id"],
        entry["name"],
        entry["family"],
        tuple(entry["aliases"]),
        entry["parameters"],
        entry["parameters_active"],
        entry["max_context"],
        entry["released"],
        entry["published_weight_format"],
    )


def _tags(model: CatalogModel, entry: Entry) -> tuple[str, ...]:
    """The family, the make, and the size as people say it where the name leaves it out."""
    named = any(word[-1] in "bm" and word[:1].isdecimal() for word in tokens(model.name))
    size = model.parameters / 1e9
    return (*tokens(model.family), *_make(entry), *(() if named or size < 1 else (f"{size:.0f}b",)))


def _make(entry: Entry) -> Iterator[str]:
    """Words for how a model is made."""
    config = entry.get("config")
    config = config if isinstance(config, dict) else {}
    text = config.get("text_config")
    text = text if isinstance(text, dict) and text else config
    if any(_count(text.get(name)) > 1 for name in ALIASES["experts"]):
        yield "moe"
    if isinstance(config.get("vision_config"), dict):
        yield from ("vision", "multimodal")
    if _count(entry.get("recurrent_state_bytes_per_seq")):
        yield from ("linear", "attention", "recurrent")
        if _count(entry.get("kv_bytes_per_token_16bit")):
            yield "hybrid"


def _text(value: Any, fallback: str = "") -> str:
    return value[:_MAX_TEXT] if isinstance(value, str) else fallback


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15 else 0


def _user_entry(entry: Entry, place: str) -> Entry:
    """A user's entry completed to the form of ours, after building it once to see that it can be."""
    name = _text(entry.get("name")) or _text(entry.get("id"))
    if not name:
        raise InvalidScenario(Problem("catalog.no_name", ("name",), {"file": place}))
    model = _build({**entry, "name": name})
    return {
        **entry,
        "id": _text(entry.get("id"), name) or name,
        "name": name,
        "family": model.family,
        "aliases": list(texts(entry.get("aliases"))),
        "parameters": _count(entry.get("parameters")),
        "parameters_active": _count(entry.get("parameters_active")),
        "max_context": model.max_context,
        "released": model.released,
        "published_weight_format": model.published_weight_format,
    }


def _stated(entry: Entry, tower: str) -> int | None:
    stated = entry.get("towers_stated")
    return _count(stated[tower]) if isinstance(stated, dict) and tower in stated else None


def _build(entry: Entry) -> Model:
    context = entry.get("max_context")
    stated = context if isinstance(context, int) and not isinstance(context, bool) else None
    if "architecture" in entry:
        try:
            return Model(
                name=entry["name"],
                family=_text(entry.get("family")),
                released=_text(entry.get("released")),
                licence=_text(entry.get("licence")),
                max_context=stated or 0,
                published_weight_format=_text(entry.get("published_weight_format")),
                architecture=Architecture.model_validate_json(json.dumps(entry["architecture"])),
                sources=texts(entry.get("sources")),
            )
        except ValidationError as error:
            path = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
            raise InvalidScenario(Problem("catalog.bad_field", (path,), {"name": path})) from None
    config = entry.get("config")
    if not isinstance(config, dict):
        raise InvalidScenario(Problem("catalog.no_config", ("config",)))
    # The reader of configurations is only needed when a model is loaded, not to list them.
    from core.importers.hf_config import model_from_config

    return model_from_config(
        config,
        entry["name"],
        family=_text(entry.get("family")),
        released=_text(entry.get("released")),
        licence=_text(entry.get("licence")),
        max_context_stated=stated,
        published_weight_format=_text(entry.get("published_weight_format")),
        sources=texts(entry.get("sources")),
        vision_parameters_stated=_stated(entry, "vision"),
        audio_parameters_stated=_stated(entry, "audio"),
    )


def _catalogue(folders: Folders | None) -> _Catalogue:
    return _catalogue_of(own_folders("models") if folders is None else folders)


@cache
def _catalogue_of(folders: Folders) -> _Catalogue:
    problems: list[Problem] = []
    entries = {entry["id"]: entry for entry in packaged("models")}
    for found in from_folders(folders, problems):
        try:
            entry = _user_entry(found.entry, found.place)
            entries[entry["id"]] = entry  # the user's own entry replaces ours
        except InferometerError as error:
            problems.append(in_file(error.problems[0], found.place))
    models = tuple(_light(entry) for entry in entries.values())
    searchable = Shelf(
        Searchable(m.id, m.name, m.aliases, _tags(m, entries[m.id]), m.released, m.family) for m in models
    )
    exact: dict[str, str] = {}
    # A whole name wins over an alias, an id over both.
    for spellings in ("aliases", "name", "id"):
        for m in models:
            for text in m.aliases if spellings == "aliases" else (getattr(m, spellings),):
                exact[compact(text)] = m.id
    return _Catalogue(models, entries, searchable, exact, tuple(problems))


def all_models(folders: Folders | None = None) -> tuple[CatalogModel, ...]:
    """Every model, ours by file and then the user's.  No architecture is built."""
    return _catalogue(folders).models


def model_problems(folders: Folders | None = None) -> tuple[Problem, ...]:
    """What is wrong with the user's files; the path of each problem is the file and its entry."""
    return _catalogue(folders).problems


def load_model(name: str, folders: Folders | None = None) -> Model:
    """The model with this id, name or alias in any spelling.

    ``folders``: of the user's own entries; None: those of ``use_own``, as in all searches here.
    Raises NotFound with ``catalog.model_not_found`` and suggestions.
    """
    return _loaded(name, own_folders("models") if folders is None else folders)


@cache
def _loaded(name: str, folders: Folders) -> Model:
    catalogue = _catalogue(folders)
    found = catalogue.exact.get(compact(name))
    if found is None:
        near = ", ".join(suggestions(catalogue.searchable, name))
        code = "catalog.model_not_found" if near else "catalog.model_unknown"
        raise NotFound(Problem(code, ("model",), {"name": name[:80], "suggestions": near}))
    return _build(catalogue.entries[found])


def search_models(
    query: str, limit: int | None = None, folders: Folders | None = None, mend: bool = True
) -> list[CatalogModel]:
    """Models that answer ``query``, best first; of equally good ones the newest first.

    ``mend``: a word that none has is taken for one that is like it.
    """
    catalogue = _catalogue(folders)
    by_id = {model.id: model for model in catalogue.models}
    return [by_id[key] for key in search(catalogue.searchable, query, limit, mend)]


def forget() -> None:
    """Read the files anew at the next question."""
    _catalogue_of.cache_clear()
    _loaded.cache_clear()
