"""The window around the workspaces: bars, menu, messages, pages of its own."""
