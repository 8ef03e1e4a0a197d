"""Numbers in words where they count something: "十六个用户", "eight users", "a pair of 3090s"."""

import re

NUMBERS = {
    "one": 1,
    "single": 1,
    "two": 2,
    "dual": 2,
    "pair": 2,
    "couple": 2,
    "three": 3,
    "four": 4,
    "quad": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "sixteen": 16,
    "twenty": 20,
    "单": 1,
    "一": 1,
    "二": 2,
    "两": 2,
    "双": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
PEOPLE = "users?|people|persons?|clients?|customers?|developers?|employees|colleagues|seats?"
_DIGITS = "一二三四五六七八九两"
# What is counted behind a Chinese numeral; "四位" alone are 4 bits.
PEOPLE_ZH = "[个名位路]?(?:用户|并发)|个?人|名?(?:员工|同事)"
_CHINESE = re.compile(rf"([{_DIGITS}]?十[{_DIGITS}]?|[{_DIGITS}])(?=\s*(?:{PEOPLE_ZH}|[张块]|卡))")
_WORDS = "|".join(name for name in NUMBERS if name.isascii())
_ENGLISH = re.compile(rf"(?<![a-z])({_WORDS})(?=\s+(?:concurrent\s+)?(?:{PEOPLE})(?![a-z]))")
_OF = re.compile(r"(?<![a-z])(?:a\s+)?(pair|couple)\s+of\s+")


def with_digits(text: str) -> str:
    """The text with digits for what counts users or devices, up to 99."""
    text = _OF.sub(r"\1 ", text)
    text = _ENGLISH.sub(lambda found: str(NUMBERS[found[1]]), text)
    return _CHINESE.sub(lambda found: f" {_value(found[1])} ", text)


def _value(said: str) -> int:
    """Tens and ones: "十六" is 16, "二十" 20, "三十二" 32."""
    tens, ten, ones = said.rpartition("十")
    return (10 * NUMBERS.get(tens, 1) if ten else 0) + NUMBERS.get(ones, 0)
