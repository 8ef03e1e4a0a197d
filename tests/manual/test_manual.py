"""The manual: both languages whole, every link and picture leads somewhere."""

import re

import pytest

import resources
from core.manual import LICENCES, PAGES, find, headings, licence_text, page, slug, title
from core.words import LANGUAGES, Words

_LINK = re.compile(r"\[[^\]]+\]\(([\w]+)\.md(?:#([^)]+))?\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(picture:([\w-]+)\)")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", PAGES)
def test_a_page_is_whole(key: str, language: str) -> None:
    words = Words(language)
    text = page(key, words)
    assert title(key, words) != key
    assert "{{" not in text
    for target, heading in _LINK.findall(text):
        assert target in PAGES
        if heading:
            assert heading in {slug(name) for _, name in headings(target, words)}
    for name in _PICTURE.findall(text):
        assert resources.read_bytes(f"help/pictures/{name}-en-light.png").startswith(b"\x89PNG")


@pytest.mark.parametrize("key", PAGES)
def test_both_languages_have_the_same_headings(key: str) -> None:
    levels = [[level for level, _ in headings(key, Words(language))] for language in LANGUAGES]
    assert levels[0] == levels[1]


@pytest.mark.parametrize("key", PAGES)
def test_chinese_pages_are_in_chinese(key: str) -> None:
    text = page(key, Words("zh_CN"))
    chinese = len(re.findall(r"[\u4e00-\u9fff]", text))
    assert chinese > (0.05 if key == "accuracy" else 0.1) * len(text)


def test_no_file_is_left_over() -> None:
    for language in LANGUAGES:
        there = {name.rpartition("/")[2] for name in resources.names(f"help/{language}", ".md")}
        assert there == {f"{key}.md" for key in PAGES}


def test_what_is_sought_is_found() -> None:
    assert find("", Words()) == PAGES
    assert find("littles LAW".replace("littles", "little's"), Words())[0] == "glossary"
    assert "symptoms" in find("首 token 慢", Words("zh_CN"))
    assert find("zzyzx", Words()) == ()


def test_licences_are_read_from_their_folder_alone() -> None:
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in licence_text("LGPL-3.0.txt")
    assert licence_text("../i18n/en.json") == ""
    assert licence_text("/etc/hostname") == ""
    assert f"{LICENCES}/LGPL-3.0.txt" in resources.names(LICENCES, ".txt")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", PAGES)
def test_no_line_of_a_listing_is_cut(key: str, language: str) -> None:
    """Listings do not wrap: what the narrowest page has room for, Chinese letters twice as wide."""
    for block in re.findall(r"^```.*?\n(.*?)^```", page(key, Words(language)), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            wide = sum(2 if "\u2e80" <= letter <= "\uffef" else 1 for letter in line)
            assert wide <= 90, line
