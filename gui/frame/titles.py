"""What a scenario without a file is called, in the language of the window."""

from core.spec.scenario import Scenario
from core.words import Words


class Titles:
    """Names by what is estimated, and names that the program gave in another language."""

    def __init__(self, words: Words) -> None:
        self._words = words  # they go over to another language
        self._spoken = {words.language}

    def describe(self, scenario: Scenario) -> str:
        """What to call a scenario that has outgrown its name."""
        from core.reports.title import described

        return described(scenario, self._words)

    def said(self, name: str, scenario: Scenario) -> str:
        """A name in the language of the window: until that changes it is so anyway."""
        self._spoken.add(self._words.language)
        if len(self._spoken) == 1:
            return name
        from core.reports.title import in_language

        return in_language(name, scenario, self._words)


__all__ = ["Titles"]
