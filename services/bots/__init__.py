"""Players without a person: stand-ins and table fillers, over the public API. See README.md."""
