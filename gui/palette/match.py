"""How well a text answers what is typed: letters in order, better at word starts and side by side."""

from dataclasses import dataclass

_MOST_TEXT = 160


@dataclass(frozen=True, slots=True)
class Match:
    """``score`` rises with fitness; ``places`` are the letters that were found; ``whole``: no word of the
    query is found by scattered letters only.
    """

    score: float
    places: tuple[int, ...]
    whole: bool = True


def match(query: str, text: str) -> Match | None:
    """The best match of all words of the query within the text; None where one is missing.

    Every word is looked for by itself, so "3090 qwen" finds "Qwen on RTX 3090".
    """
    words = query.lower().split()
    lowered = text.lower()[:_MOST_TEXT]
    if len(lowered) != len(text[:_MOST_TEXT]):  # a letter that has no lower case of one letter
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text[:_MOST_TEXT])
    score, places, pieces = 0.0, set[int](), True
    for word in words:
        found = _word(word, lowered)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
        pieces = pieces and found.whole
    return Match(score - 0.02 * len(lowered), tuple(sorted(places)), pieces)


def _word(word: str, text: str) -> Match | None:
    whole = _whole(word, text)
    return whole if whole is not None else _scattered(word, text)


def _whole(word: str, text: str) -> Match | None:
    """The word in one piece, at the start of a word if it can be."""
    best: Match | None = None
    start = text.find(word)
    while start >= 0:
        score = 2.0 * len(word) + (8.0 if start == 0 else 5.0 if _starts(text, start) else 0.0)
        if best is None or score > best.score:
            best = Match(score, tuple(range(start, start + len(word))))
        start = text.find(word, start + 1)
    return best


def _scattered(word: str, text: str) -> Match | None:
    """Letters in order, taken at starts of words where they are; no more gaps than letters."""
    places: list[int] = []
    score, at = 0.0, 0
    for letter in word:
        near = text.find(letter, at)
        if near < 0:
            return None
        chosen = near
        if near != at or not places:
            ahead = next((i for i in range(near, len(text)) if text[i] == letter and _starts(text, i)), None)
            chosen = ahead if ahead is not None and ahead - near < 24 else near
        if places and chosen == places[-1] + 1:
            score += 1.5
        elif _starts(text, chosen):
            score += 1.2
        else:
            score -= 1.0
        places.append(chosen)
        at = chosen + 1
    return Match(score, tuple(places), False) if score > 0.35 * len(word) else None


def _starts(text: str, index: int) -> bool:
    """Whether a word begins there; digits after letters and CJK count as beginnings."""
    if index == 0:
        return True
    before, here = text[index - 1], text[index]
    return not before.isalnum() or (here.isdigit() != before.isdigit()) or ord(here) > 0x2E7F
