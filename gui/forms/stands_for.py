"""What stands in an empty field: the value that the engine takes for it."""

from core.explain.automatic import automatic
from core.spec.scenario import Scenario
from core.words import Words
from gui.fields.binder import Placeholder
from gui.fields.quantity_edit import QuantityEdit


def stands_for(path: str, words: Words, empty: str = "forms.engine_default") -> Placeholder:
    """The words of an empty field: ``empty`` where no value can be told, the key ``empty_is`` with one."""

    def said(scenario: Scenario, editor: QuantityEdit) -> str:
        value = automatic(scenario, path)
        if value is not None:
            return words(f"{empty}_is", value=editor.text_of(value))
        return words("forms.by_memory" if scenario.engine.name == "sglang" else empty)

    return said
