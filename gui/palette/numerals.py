"""Numbers that are not written in digits alone: "十六个用户", "eight users", "输入8千", "16,000 tokens"."""

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
# "8千", "1.5万", "一百二十八", "1万2千"; not the names that have such signs: 千问, 百川, 零一万物.
_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_ARABIC = r"\d+(?:\.\d+)?"
_LARGE = re.compile(
    rf"(?<![a-z\d.])(?:{_ARABIC}\s*[百千万]|[{_DIGITS}十][{_DIGITS}十零]*[百千万])"
    rf"(?:{_ARABIC}[百千万]|[{_DIGITS}十百千万零])*(?![问川亿物])"
)
_PIECE = re.compile(rf"{_ARABIC}|[{_DIGITS}十百千万零]")
# Large numbers are of tokens where nothing else is beside them.
_COUNTS_ELSE = re.compile(rf"\s*(?:{PEOPLE_ZH}|{PEOPLE}|[张块卡]|个?请求|tok)")
_COUNTED_ELSE = re.compile(rf"([\d百千万{_DIGITS}]\s*)?(?:(?:{PEOPLE_ZH})数?|{PEOPLE}|每秒)[\s:=为是]*$")
_THOUSANDS = re.compile(r"(?<![a-z\d.,])\d{1,3}(?:,\d{3})+(?!,?\d)")
_OF = re.compile(r"(?<![a-z])(?:a\s+)?(pair|couple)\s+of\s+")


def without_separators(text: str) -> str:
    """The text with "16000" for "16,000"."""
    return _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)


def with_digits(text: str) -> str:
    """The text with digits for what counts users or devices, and for thousands in Chinese."""
    text = _OF.sub(r"\1 ", text)
    text = _ENGLISH.sub(lambda found: str(NUMBERS[found[1]]), text)
    text = _LARGE.sub(lambda found: _large(found, text), text)
    return _CHINESE.sub(lambda found: f" {_value(found[1]):.0f} ", text)


def _large(found: re.Match[str], text: str) -> str:
    number = f"{_value(found[0]):.0f}"
    before = _COUNTED_ELSE.search(text[: found.start()])
    named = before is not None and before[1] is None  # "并发1千", but "8人 1千"
    return f" {number} " if named or _COUNTS_ELSE.match(text, found.end()) else f" {number} tokens "


def _value(said: str) -> float:
    """What a numeral says: "十六" is 16, "一百零八" 108, "1.5万" 15,000, "一万五" 15,000."""
    total = section = number = 0.0
    unit = 1
    for piece in _PIECE.findall(said):
        if piece == "万":
            total, section, number = (total + section + number) * _UNITS[piece], 0.0, 0.0
        elif piece in _UNITS:
            section, number = section + (number or 1) * _UNITS[piece], 0.0
        elif piece != "零":
            number = float(NUMBERS.get(piece) or piece)
        unit = _UNITS.get(piece, 1 if piece == "零" else unit)
    return total + section + number * (unit / 10 if unit >= _UNITS["百"] else 1)
