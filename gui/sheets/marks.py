"""How a model that a person made or changed is marked: in its sources, and in its name."""

from core.model.numbers import is_edited, textbook_model
from core.spec.edited import EDITED
from core.spec.model import Model
from core.words import Words

__all__ = ["badge", "bare_name", "by_numbers", "is_edited", "mark_changes", "marked"]


def marked(before: Model, model: Model, words: Words) -> Model:
    """The model with the mark of an edited one; at the first edit its name says so too."""
    if is_edited(before):
        return model
    sources = model.sources if EDITED in model.sources else (*model.sources, EDITED)
    name = words("sheet.edited_name", name=before.name)[:300]
    return model.model_copy(update={"name": name, "sources": sources})


def badge(name: str, edited: bool, words: Words) -> str:
    """What stands beside a name of something that may be edited; nothing where the name says it."""
    said = words("sheet.edited")
    return said if edited and said not in name else ""


def bare_name(name: str, words: Words) -> str:
    """The name above a sheet, whose badge says what has been changed."""
    return name.removesuffix(words("sheet.edited_name", name="")) or name


def by_numbers(words: Words) -> Model:
    """The textbook's model to start from, marked as a person's own."""
    start = textbook_model(words("sheet.textbook_name"))
    return start.model_copy(update={"sources": (EDITED,)})


def mark_changes(model: Model, words: Words) -> list[tuple[str, object]]:
    """The same mark as changes of fields."""
    new = marked(model, model, words)
    return [] if new == model else [("model.name", new.name), ("model.sources", new.sources)]
