"""Tooltips of text that comes from files: Qt would read tags in it."""

from html import escape


def plain(text: str) -> str:
    """The text as a tooltip that shows every character of it, and loads nothing."""
    if "<" not in text:
        return text
    return f"<qt>{escape(text)}</qt>".replace("\n", "<br>")
