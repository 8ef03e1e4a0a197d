"""Tooltips of text that comes from files: Qt would read tags in it."""


def plain(text: str) -> str:
    """The text as a tooltip that shows every character of it, and loads nothing."""
    if "<" not in text:
        return text
    from html import escape

    return f"<qt>{escape(text)}</qt>".replace("\n", "<br>")
