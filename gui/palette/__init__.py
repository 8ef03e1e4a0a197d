"""The command palette: what it finds, how well it matches, whole questions typed into it."""
