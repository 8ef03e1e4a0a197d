"""Texts in cells of tables that spreadsheets open.

A text that a spreadsheet would take for a formula is led by an apostrophe (OWASP, CSV injection).
"""

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet computes."""
    return f"'{text}" if text.lstrip(" ").startswith(_STARTS) else text
