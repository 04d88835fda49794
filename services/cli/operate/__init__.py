"""The commands of operators: over the internal port, as the person named in the token."""
