"""What the workspaces say, as text and rows: no widget in here."""
