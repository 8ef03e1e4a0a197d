"""The mark of what a person has changed by hand, as a source says it."""

EDITED = "edited"
