"""Many scenarios at once: curves, searches, comparisons."""
