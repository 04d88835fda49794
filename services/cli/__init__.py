"""`pit`: everything a person or a supervisor starts."""
